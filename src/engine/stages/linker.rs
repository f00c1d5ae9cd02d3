//! The linker: joins hits with the chunks that they are linked with, the second axis of retrieval
//! (SAKI-RAG, section 3.2).

use std::collections::{BTreeSet, HashMap};

use super::in_turn::in_turn;
use crate::config::RetrieverSettings;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Run, pins};
use crate::event::{
    Advice, ChunkText, DocumentLinks, Flow, Hit, LinkedChunk, LinkedText, Part, Problem, Relative,
    RunEvent, Stage, saturating_u32,
};
use crate::index::ChunkLinks;
use crate::llm::LlmError;
use crate::methods::joined;

use super::link_builder;

/// Maximum number of chunks of a document that is linked while a question waits.
const MAX_LINKED_ON_DEMAND: usize = 512;
/// Maximum number of chunks of a document in an event: more cannot be drawn.
const MAX_SHOWN_CHUNKS: usize = 160;

/// Joins hits with their relatives.
pub fn link(run: &mut Run<'_>, mut passages: Passages) -> Result<Passages, RunError> {
    if !run.should_run(Part::Linker, passages.hits.len()) {
        return Ok(passages);
    }

    let config = run.tools.config;
    let or_k = |number: u32| if number == 0 { config.retriever.k } else { number } as usize;

    let mut seeds = passages.hits;
    let candidates = or_k(config.linker.candidates).min(seeds.len());
    let mut spare = seeds.split_off(candidates);
    spare.append(&mut passages.spare);

    let documents = read_documents(run, &seeds)?;
    let max_relatives = or_k(config.linker.relatives);
    let texts = seeds.iter().map(|seed| {
        let document = documents.get(&seed.chunk.document).into_iter();
        let relatives = document.flat_map(|document| document.relatives(seed, &config.retriever));
        join(seed, relatives.take(max_relatives))
    });
    let texts: Vec<Vec<LinkedText>> = texts.collect();
    let linked = rank_in_turn(&texts);
    let joined = linked.iter().filter(|text| !text.relatives.is_empty());
    run.emit(RunEvent::ChunksLinked {
        step: run.step,
        linked: joined.cloned().collect(),
    });
    let hits: Vec<Hit> = linked.into_iter().map(|text| text.hit).collect();
    run.emit_stage(Stage::Linked, &hits, &[]);
    Ok(Passages {
        hits,
        spare,
        ..passages
    })
}

/// A document with its links.
struct LinkedDocument {
    chunks: Vec<ChunkText>,
    links: ChunkLinks,
}

/// Reads the documents of the hits with their links, and emits them. A document without links is
/// left out: its hits have no relatives.
fn read_documents(
    run: &mut Run<'_>,
    seeds: &[Hit],
) -> Result<HashMap<String, LinkedDocument>, RunError> {
    let paths: BTreeSet<&String> = seeds.iter().map(|seed| &seed.chunk.document).collect();

    let mut documents = HashMap::new();
    let mut unlinked = 0;
    for path in paths {
        let Some(document) = read_document(run, path)? else {
            unlinked += 1;
            continue;
        };
        let positions = seeds
            .iter()
            .filter_map(|seed| document.position(seed.chunk.id));
        let links = document.to_event(path, positions.min().unwrap_or(0));
        run.emit(RunEvent::LinksRead {
            step: run.step,
            links,
        });
        documents.insert(path.clone(), document);
    }

    if unlinked > 0 {
        run.emit(RunEvent::warning(Problem::without_advice(format!(
                "{unlinked} documents of the hits are not linked yet: their chunks come without relatives"
            ))));
    }
    Ok(documents)
}

/// Reads a document with its links; one that has none is linked now unless it is too long to wait
/// for.
fn read_document(run: &mut Run<'_>, path: &str) -> Result<Option<LinkedDocument>, RunError> {
    let Some(corpus) = run.tools.corpus.as_ref() else {
        return Ok(None);
    };
    let index = corpus.index;
    let chunks = index.document(path)?;
    if let Some(links) = index.links(path)? {
        return Ok(Some(LinkedDocument { chunks, links }));
    }
    if chunks.len() > MAX_LINKED_ON_DEMAND {
        return Ok(None);
    }

    let settings = &run.tools.config.linker;
    let model = match run.tools.linker.as_mut() {
        Some(model) => &mut **model,
        None => &mut *run.tools.generator,
    };
    match link_builder::link(index, model, settings, &chunks, &mut |_| Flow::Continue)? {
        Ok(links) => {
            index.keep_links(path, &links)?;
            Ok(Some(LinkedDocument { chunks, links }))
        }
        Err(error @ LlmError::Stopped(_)) => Err(error.into()),
        // a document that cannot be linked comes without relatives
        Err(error) => {
            run.emit(RunEvent::Warned {
                text: format!("{path} is not linked: {error}"),
                advice: error.to_problem().advice,
            });
            Ok(None)
        }
    }
}

impl LinkedDocument {
    fn position(&self, chunk: u64) -> Option<usize> {
        self.chunks.iter().position(|known| known.id == chunk)
    }

    /// Returns the chunks that a hit is linked with, strongest first. Chunks that the user pinned
    /// or excluded are not joined with anything.
    fn relatives(
        &self,
        seed: &Hit,
        settings: &RetrieverSettings,
    ) -> impl Iterator<Item = (&ChunkText, f32)> {
        let links = self.position(seed.chunk.id);
        let links = links.and_then(|position| self.links.get(position));
        let linked = links.into_iter().flatten();
        let linked =
            linked.filter_map(|link| Some((self.chunks.get(link.to as usize)?, link.weight)));
        linked.filter(|(chunk, _)| !pins::is_decided(settings, chunk))
    }

    /// Returns the chunks around the first hit of the document with their links.
    fn to_event(&self, document: &str, first_hit: usize) -> DocumentLinks {
        let first = first_hit.saturating_sub(MAX_SHOWN_CHUNKS / 4);
        let end = (first + MAX_SHOWN_CHUNKS).min(self.chunks.len());
        let first = end.saturating_sub(MAX_SHOWN_CHUNKS).min(first);

        let shown = self.chunks.iter().zip(&self.links);
        let shown = shown.skip(first).take(end - first);
        let chunks = shown.map(|(chunk, links)| LinkedChunk {
            chunk: chunk.id,
            lines: chunk.lines,
            place: chunk.place(chunk.lines),
            links: links.clone(),
        });
        DocumentLinks {
            document: document.to_owned(),
            first: saturating_u32(first),
            of: saturating_u32(self.chunks.len()),
            chunks: chunks.collect(),
        }
    }
}

/// Returns the texts of a hit: one with each of its strongest relatives, as algorithm 1 has it
/// (equation 6 joins all of them in one). A hit without relatives stays as it is.
fn join<'d>(seed: &Hit, relatives: impl Iterator<Item = (&'d ChunkText, f32)>) -> Vec<LinkedText> {
    let text = |chunk: ChunkText, relatives| LinkedText {
        hit: Hit {
            chunk,
            ..seed.clone()
        },
        seed: seed.chunk.id,
        relatives,
    };
    let texts = relatives.filter_map(|(relative, weight)| {
        let joined = joined::join(&[&seed.chunk, relative])?;
        let chunk = relative.id;
        Some(text(joined, vec![Relative { chunk, weight }]))
    });
    let texts: Vec<LinkedText> = texts.collect();
    if texts.is_empty() {
        vec![text(seed.chunk.clone(), Vec::new())]
    } else {
        texts
    }
}

/// Returns the first text of every hit, then the second of every hit, and so on. A text that two
/// hits lead to comes once.
fn rank_in_turn(texts: &[Vec<LinkedText>]) -> Vec<LinkedText> {
    let of_hits: Vec<&[LinkedText]> = texts.iter().map(Vec::as_slice).collect();
    let in_turn = in_turn(&of_hits, |text| text.hit.chunk.id);
    let mut linked: Vec<LinkedText> = in_turn.into_iter().cloned().collect();

    for (rank, text) in (1..).zip(&mut linked) {
        text.hit.fused.rank = rank;
    }
    linked
}
