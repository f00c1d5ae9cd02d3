//! The linker: hits are joined with the chunks that they are linked with, the second axis of retrieval (SAKI-RAG, section 3.2).

use std::collections::{BTreeSet, HashMap};

use crate::config::LinkJoin;
use crate::engine::error::RunError;
use crate::engine::run::{Found, HitStage, Run, pins};
use crate::event::{
    ChunkText, DocumentLinks, Event, Flow, Hit, LinkedChunk, LinkedText, Relative, Stage,
};
use crate::index::ChunkLinks;
use crate::llm::LlmError;
use crate::methods::joined;

use super::link_builder;

/// A question waits for the links of a document that has none yet, if it has at most so many chunks.
const LINKED_ON_DEMAND: usize = 512;
/// Chunks of a document that are told with their links: more cannot be drawn.
const TOLD_CHUNKS: usize = 160;

/// Joins hits with their relatives.
pub struct ByAttention;

/// A document with its links.
struct Linked {
    chunks: Vec<ChunkText>,
    links: ChunkLinks,
}

impl HitStage for ByAttention {
    fn apply(
        &mut self,
        run: &mut Run<'_>,
        _question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        let config = run.tools.config;
        let or_k = |number: u32| if number == 0 { config.retriever.k } else { number } as usize;
        let Found {
            kept: mut seeds,
            dropped,
            spare,
        } = found;
        let mut set_aside = seeds.split_off(seeds.len().min(or_k(config.linker.candidates)));
        set_aside.extend(spare);
        let documents = read_documents(run, &seeds)?;
        let texts: Vec<Vec<LinkedText>> = seeds
            .iter()
            .map(|seed| {
                let may_join = |chunk: &ChunkText| !pins::decided(&config.retriever, chunk);
                let document = documents.get(&seed.chunk.document);
                grow(
                    seed,
                    document,
                    (or_k(config.linker.relatives), config.linker.join),
                    may_join,
                )
            })
            .collect();
        let linked = in_turn(texts);
        run.emit(Event::ChunksLinked {
            step: run.step,
            linked: linked
                .iter()
                .filter(|text| !text.relatives.is_empty())
                .cloned()
                .collect(),
        });
        let kept: Vec<Hit> = linked.into_iter().map(|text| text.hit).collect();
        let ids = kept.iter().map(|hit| hit.chunk.id).collect();
        run.emit(Event::StageFinished {
            step: run.step,
            stage: Stage::Linked,
            kept: ids,
            dropped: Vec::new(),
        });
        Ok(Found {
            kept,
            dropped,
            spare: set_aside,
        })
    }
}

/// The documents of the hits with their links, and tell them. Without links a hit has no relatives.
fn read_documents(run: &mut Run<'_>, seeds: &[Hit]) -> Result<HashMap<String, Linked>, RunError> {
    let mut documents = HashMap::new();
    let mut unlinked = 0;
    for path in seeds
        .iter()
        .map(|seed| &seed.chunk.document)
        .collect::<BTreeSet<_>>()
    {
        match read(run, path)? {
            Some(linked) => {
                let places = seeds.iter().filter_map(|seed| linked.place(seed.chunk.id));
                let links = linked.told(path, places.collect());
                run.emit(Event::LinksRead {
                    step: run.step,
                    links,
                });
                documents.insert(path.clone(), linked);
            }
            None => unlinked += 1,
        }
    }
    if unlinked > 0 {
        let text = format!(
            "{unlinked} documents of the hits are not linked yet: their chunks come without relatives"
        );
        run.emit(Event::Warned { text });
    }
    Ok(documents)
}

fn read(run: &mut Run<'_>, path: &str) -> Result<Option<Linked>, RunError> {
    let Some(corpus) = run.tools.corpus.as_ref() else {
        return Ok(None);
    };
    let index = corpus.index;
    let chunks = index.document(path).map_err(RunError::Search)?;
    if let Some(links) = index.links(path).map_err(RunError::Search)? {
        return Ok(Some(Linked { chunks, links }));
    }
    if chunks.len() > LINKED_ON_DEMAND {
        return Ok(None);
    }
    let ids: Vec<u64> = chunks.iter().map(|chunk| chunk.id).collect();
    let vectors = index.vectors(&ids);
    let model = match run.tools.linker.as_mut() {
        Some(model) => &mut **model,
        None => &mut *run.tools.generator,
    };
    let made = link_builder::link(
        model,
        &run.tools.config.linker,
        (&chunks, &vectors),
        &mut |_| Flow::Continue,
    );
    let links = match made {
        Ok(links) => links,
        Err(LlmError::Stopped) => return Err(LlmError::Stopped.into()),
        // what cannot be linked comes without relatives
        Err(error) => {
            run.emit(Event::Warned {
                text: format!("{path} is not linked: {error}"),
            });
            return Ok(None);
        }
    };
    index.keep_links(path, &links).map_err(RunError::Search)?;
    Ok(Some(Linked { chunks, links }))
}

impl Linked {
    fn place(&self, chunk: u64) -> Option<usize> {
        self.chunks.iter().position(|known| known.id == chunk)
    }

    /// The chunks around these places with their links.
    fn told(&self, document: &str, places: Vec<usize>) -> DocumentLinks {
        let first = places
            .iter()
            .min()
            .copied()
            .unwrap_or(0)
            .saturating_sub(TOLD_CHUNKS / 4);
        let shown = first..(first + TOLD_CHUNKS).min(self.chunks.len());
        let first = shown.end.saturating_sub(TOLD_CHUNKS).min(shown.start);
        let whole = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let linked = self
            .chunks
            .iter()
            .zip(&self.links)
            .skip(first)
            .take(shown.end - first);
        let chunks = linked.map(|(chunk, links)| LinkedChunk {
            chunk: chunk.id,
            lines: chunk.lines,
            links: links.clone(),
        });
        DocumentLinks {
            document: document.to_owned(),
            first: whole(first),
            of: whole(self.chunks.len()),
            chunks: chunks.collect(),
        }
    }
}

/// The texts of a hit: with each of its strongest relatives (algorithm 1), or with all of them (equation 6). A hit without relatives
/// stays as it is.
fn grow(
    seed: &Hit,
    document: Option<&Linked>,
    (most, join): (usize, LinkJoin),
    may_join: impl Fn(&ChunkText) -> bool,
) -> Vec<LinkedText> {
    let alone = || {
        vec![LinkedText {
            hit: seed.clone(),
            seed: seed.chunk.id,
            relatives: Vec::new(),
        }]
    };
    let Some((document, place)) =
        document.and_then(|linked| Some((linked, linked.place(seed.chunk.id)?)))
    else {
        return alone();
    };
    let links = document.links.get(place).map_or(&[][..], Vec::as_slice);
    let relatives: Vec<(&ChunkText, f32)> = links
        .iter()
        .filter_map(|link| Some((document.chunks.get(link.to as usize)?, link.weight)))
        .filter(|(chunk, _)| may_join(chunk))
        .take(most)
        .collect();
    let groups: Vec<&[(&ChunkText, f32)]> = match join {
        LinkJoin::Pairs => relatives.chunks(1).collect(),
        LinkJoin::All => Some(relatives.as_slice())
            .filter(|all| !all.is_empty())
            .into_iter()
            .collect(),
    };
    let texts: Vec<LinkedText> = groups
        .into_iter()
        .filter_map(|group| {
            let chunks: Vec<&ChunkText> = std::iter::once(&seed.chunk)
                .chain(group.iter().map(|(chunk, _)| *chunk))
                .collect();
            let relatives = group
                .iter()
                .map(|(chunk, weight)| Relative {
                    chunk: chunk.id,
                    weight: *weight,
                })
                .collect();
            let hit = Hit {
                chunk: joined::join(&chunks)?,
                ..seed.clone()
            };
            Some(LinkedText {
                hit,
                seed: seed.chunk.id,
                relatives,
            })
        })
        .collect();
    if texts.is_empty() { alone() } else { texts }
}

/// The first text of every hit, then the second of every hit, and so on; a text that two hits lead to comes once.
fn in_turn(texts: Vec<Vec<LinkedText>>) -> Vec<LinkedText> {
    let turns = texts.iter().map(Vec::len).max().unwrap_or(0);
    let mut seen = BTreeSet::new();
    let mut linked: Vec<LinkedText> = (0..turns)
        .flat_map(|turn| texts.iter().filter_map(move |of_hit| of_hit.get(turn)))
        .filter(|text| seen.insert(text.hit.chunk.id))
        .cloned()
        .collect();
    for (rank, text) in (1..).zip(&mut linked) {
        text.hit.fused.rank = rank;
    }
    linked
}
