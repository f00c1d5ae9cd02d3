//! Making links: the attention between the chunks of a document, read window by window (SAKI-RAG, section 3.1).

use std::ops::Range;
use std::time::Instant;

use crate::config::{LinkerKind, LinkerSettings};
use crate::engine::error::WorkerError;
use crate::engine::run::OpenGenerator;
use crate::event::{ChunkText, Event, Flow, IndexPhase, LinkReport, ModelCard, SkippedFile};
use crate::index::{ChunkLinks, Index, LinkRecipe, Position, Progress, Search as _};
use crate::llm::{Layers, LlmError, Prompt};
use crate::methods::joined::repeated;
use crate::methods::saki::{LinkMaker, windows};

/// Places of a window that are not for chunks: the sink in front, and what a tokenizer adds.
const RESERVED: u32 = 8;

/// What links of these settings are made with. `embedder` made the vectors that a sentence-level model reads.
pub fn recipe(settings: &LinkerSettings, model: &ModelCard, embedder: &ModelCard) -> LinkRecipe {
    let LinkerSettings {
        kind,
        links,
        window,
        direction,
        ..
    } = settings;
    let (linker, embedder) = match kind {
        LinkerKind::Off => ("off", ""),
        LinkerKind::Tokens => ("tokens", ""),
        LinkerKind::Sentence => ("sentence", embedder.fingerprint.as_str()),
    };
    LinkRecipe {
        linker: linker.to_owned(),
        model: model.fingerprint.clone(),
        model_file: model.file.clone(),
        embedder: embedder.to_owned(),
        settings: format!("links {links}, window {window}, direction {direction:?}"),
    }
}

/// Link every document of an index that has no links of the recipe in use.
pub fn link_all(
    index: &Index,
    model: &mut dyn OpenGenerator,
    settings: &LinkerSettings,
    publish: &mut dyn FnMut(Event) -> Flow,
) -> Result<Option<LinkReport>, WorkerError> {
    let started = Instant::now();
    let before = index.linked();
    let mut report = LinkReport {
        corpus: index.card(),
        linker: format!("{:?}", settings.kind).to_lowercase(),
        model: model.card().file.clone(),
        documents: before.documents,
        chunks: before.chunks,
        linked: 0,
        known: before.documents,
        skipped: Vec::new(),
        wall_ms: 0,
    };
    if let Some(other) = before.other_models.first() {
        let text = format!(
            "the links of this index were made with {}: they are not used, and `ragscope links {} --rebuild` makes new ones",
            other.model_file, report.corpus.folder
        );
        let _ = publish(Event::Warned { text });
        return Ok(Some(report));
    }
    if before.unlinked.is_empty() {
        return Ok(Some(report));
    }
    let total: u64 = before
        .unlinked
        .iter()
        .map(|(_, chunks)| u64::from(*chunks))
        .sum();
    let mut progress = Progress::new(publish);
    let mut done = 0;
    for (path, count) in &before.unlinked {
        let chunks = index.document(path)?;
        let ids: Vec<u64> = chunks.iter().map(|chunk| chunk.id).collect();
        let vectors = index.vectors(&ids);
        let mut flow = |of_document: usize| {
            let done = done + of_document as u64;
            let (file, worked) = (Some(path.as_str()), (done, started.elapsed()));
            progress.step(&Position {
                phase: IndexPhase::Linking,
                done,
                total: Some(total),
                file,
                worked,
            })
        };
        match link(model, settings, (&chunks, &vectors), &mut flow) {
            Ok(links) => {
                index.keep_links(path, &links)?;
                report.linked += 1;
                report.documents += 1;
                report.chunks += u64::from(*count);
            }
            Err(LlmError::Stopped) => return Ok(None),
            // one document that cannot be linked does not keep the others from it
            Err(error) => report.skipped.push(SkippedFile {
                path: path.clone(),
                reason: error.to_string(),
            }),
        }
        done += u64::from(*count);
    }
    index.tidy_links()?;
    report.wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let _ = publish(Event::LinksFinished {
        report: report.clone(),
    });
    Ok(Some(report))
}

/// The links between the chunks of a document, which come in its order with their vectors. `flow` is asked before each window with
/// the number of chunks that are done.
///
/// # Errors
/// [`LlmError::Stopped`]; vectors that are not as wide as the model; what the model fails with.
pub fn link(
    model: &mut dyn OpenGenerator,
    settings: &LinkerSettings,
    document: (&[ChunkText], &[Option<Vec<f32>>]),
    flow: &mut dyn FnMut(usize) -> Flow,
) -> Result<ChunkLinks, LlmError> {
    let (chunks, vectors) = document;
    if chunks.len() < 2 {
        return Ok(vec![Vec::new(); chunks.len()]);
    }
    let most = settings
        .window
        .min(model.card().context_tokens)
        .saturating_sub(RESERVED)
        .max(2);
    let lengths = match settings.kind {
        LinkerKind::Off | LinkerKind::Sentence => vec![1; chunks.len()],
        LinkerKind::Tokens => lengths(model, chunks)?,
    };
    let mut maker = LinkMaker::new(settings.links as usize, settings.direction);
    for window in windows(&lengths, most) {
        if flow(window.start) == Flow::Stop {
            return Err(LlmError::Stopped);
        }
        let rows = match settings.kind {
            LinkerKind::Off => Vec::new(),
            LinkerKind::Tokens => {
                let tokens = lengths[window.clone()]
                    .iter()
                    .map(|length| u64::from(*length))
                    .sum();
                attend_texts(model, &chunks[window.clone()], tokens, most)?
            }
            LinkerKind::Sentence => attend_vectors(model, &vectors[window.clone()])?,
        };
        maker.window(window.start, &rows);
    }
    Ok(maker.finish())
}

/// Tokens of each chunk by the model's vocabulary.
fn lengths(model: &dyn OpenGenerator, chunks: &[ChunkText]) -> Result<Vec<u32>, LlmError> {
    let bare = count_of(model, "")?;
    chunks
        .iter()
        .map(|chunk| Ok(count_of(model, &chunk.text)?.saturating_sub(bare) + 1))
        .collect()
}

fn count_of(model: &dyn OpenGenerator, text: &str) -> Result<u32, LlmError> {
    Ok(u32::try_from(model.render(&Prompt::user(text))?.tokens.len()).unwrap_or(u32::MAX))
}

/// Attention between chunks that the model reads as text. Chunks that are too long for it are read as far as they fit.
fn attend_texts(
    model: &mut dyn OpenGenerator,
    chunks: &[ChunkText],
    tokens: u64,
    most: u32,
) -> Result<Vec<Vec<f32>>, LlmError> {
    // the first token drinks attention whatever it says: a line break in front of the first chunk is the one
    let mut text = "\n".to_owned();
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut end = 0;
    for chunk in chunks {
        let overlap = if chunk.bytes[0] < end {
            repeated(text.trim_end(), &chunk.text)
        } else {
            0
        };
        end = chunk.bytes[1];
        let new = &chunk.text[overlap..];
        let read = match u64::from(most) < tokens {
            true => {
                &new[..new.floor_char_boundary(
                    (new.len() as u64 * u64::from(most) / tokens) as usize * 9 / 10,
                )]
            }
            false => new,
        };
        let start = text.len();
        text.push_str(read);
        parts.push(start..text.len());
        text.push('\n');
    }
    model.attend(&text, &parts, Layers::All)
}

/// Attention between chunks that the model reads as vectors. In front of them stands their mean, which takes the attention that the
/// first place gets whatever it says.
fn attend_vectors(
    model: &mut dyn OpenGenerator,
    vectors: &[Option<Vec<f32>>],
) -> Result<Vec<Vec<f32>>, LlmError> {
    let width = vectors.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let mut mean = vec![0.0_f32; width];
    for vector in vectors.iter().flatten() {
        mean.iter_mut()
            .zip(vector)
            .for_each(|(sum, number)| *sum += number);
    }
    let length = mean
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    mean.iter_mut()
        .for_each(|number| *number /= length.max(f32::MIN_POSITIVE));
    let units = vectors
        .iter()
        .map(|vector| vector.clone().unwrap_or_else(|| vec![0.0; width]));
    let rows = model.attend_vectors(
        &std::iter::once(mean).chain(units).collect::<Vec<_>>(),
        Layers::All,
    )?;
    Ok(rows
        .into_iter()
        .skip(1)
        .map(|row| row.into_iter().skip(1).collect())
        .collect())
}
