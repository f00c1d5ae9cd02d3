//! The link builder: reads the attention between the chunks of a document, window by window
//! (SAKI-RAG, section 3.1).

use std::ops::Range;

use crate::config::{LinkerKind, LinkerSettings};
use crate::event::{ChunkText, Flow, ModelCard, saturating_u32};
use crate::index::{ChunkLinks, IndexError, LinkRecipe, Search};
use crate::llm::{Layers, LlmError, OpenGenerator, Prompt};
use crate::methods::joined::overlap;
use crate::methods::saki::{self, LinkMaker, windows};

/// Number of links kept per chunk: several times what a hit is joined with (`linker.relatives`).
const LINKS: usize = 8;
/// Length of the windows in which a document is read, in tokens (in chunks for a sentence-level
/// model): the attention of a window takes memory by the square of its length.
const WINDOW: u32 = 1024;
/// Positions of a window that are not for chunks: the attention sink, and what a tokenizer adds.
const RESERVED: u32 = 8;

/// Returns the recipe of links with these settings. `embedder` is the model whose vectors a
/// sentence-level model reads.
pub fn recipe(settings: &LinkerSettings, model: &ModelCard, embedder: &ModelCard) -> LinkRecipe {
    let embedder = match settings.kind {
        LinkerKind::Sentence => embedder.fingerprint.as_str(),
        LinkerKind::Off | LinkerKind::Tokens | LinkerKind::Neighbours => "",
    };
    LinkRecipe {
        linker: settings.kind.name().to_owned(),
        model: model.fingerprint.clone(),
        model_file: model.file.clone(),
        embedder: embedder.to_owned(),
        settings: format!("links {LINKS}, window {WINDOW}, lift"),
    }
}

/// Returns the links between the chunks of a document of the index, or why it cannot be linked:
/// [`LlmError::Stopped`]; vectors that are not as wide as the model; what the model fails with.
/// `flow` is asked before each window, with the number of chunks that are done.
///
/// # Errors
/// The index cannot be read.
pub fn link(
    index: &dyn Search,
    model: &mut dyn OpenGenerator,
    settings: &LinkerSettings,
    chunks: &[ChunkText],
    flow: &mut dyn FnMut(usize) -> Flow,
) -> Result<Result<ChunkLinks, LlmError>, IndexError> {
    let ids: Vec<u64> = chunks.iter().map(|chunk| chunk.id).collect();
    let vectors = index.vectors(&ids)?;
    Ok(link_chunks(model, settings, chunks, &vectors, flow))
}

fn link_chunks(
    model: &mut dyn OpenGenerator,
    settings: &LinkerSettings,
    chunks: &[ChunkText],
    vectors: &[Option<Vec<f32>>],
    flow: &mut dyn FnMut(usize) -> Flow,
) -> Result<ChunkLinks, LlmError> {
    if chunks.len() < 2 {
        return Ok(vec![Vec::new(); chunks.len()]);
    }
    if settings.kind == LinkerKind::Neighbours {
        return Ok(saki::link_neighbours(chunks.len(), LINKS));
    }

    let context_tokens = WINDOW.min(model.card().context_tokens);
    let max_tokens = context_tokens.saturating_sub(RESERVED).max(2);
    let lengths = match settings.kind {
        LinkerKind::Off | LinkerKind::Neighbours | LinkerKind::Sentence => vec![1; chunks.len()],
        LinkerKind::Tokens => lengths(model, chunks)?,
    };

    let mut maker = LinkMaker::new(LINKS);
    for window in windows(&lengths, max_tokens) {
        flow(window.start).check()?;
        let rows = match settings.kind {
            LinkerKind::Off | LinkerKind::Neighbours => Vec::new(),
            LinkerKind::Tokens => {
                let lengths = &lengths[window.clone()];
                attend_texts(model, &chunks[window.clone()], lengths, max_tokens)?
            }
            LinkerKind::Sentence => attend_vectors(model, &vectors[window.clone()])?,
        };
        maker.window(window.start, &rows);
    }
    Ok(maker.finish())
}

/// Returns the number of tokens of each chunk in the model's vocabulary.
fn lengths(model: &dyn OpenGenerator, chunks: &[ChunkText]) -> Result<Vec<u32>, LlmError> {
    let bare = count(model, "")?;
    let length = |chunk: &ChunkText| Ok(count(model, &chunk.text)?.saturating_sub(bare) + 1);
    chunks.iter().map(length).collect()
}

fn count(model: &dyn OpenGenerator, text: &str) -> Result<u32, LlmError> {
    let rendered = model.render(&Prompt::user(text))?;
    Ok(saturating_u32(rendered.tokens.len()))
}

/// Returns the attention between chunks that the model reads as text. Chunks that are too long for
/// it are read as far as they fit.
fn attend_texts(
    model: &mut dyn OpenGenerator,
    chunks: &[ChunkText],
    lengths: &[u32],
    max_tokens: u32,
) -> Result<Vec<Vec<f32>>, LlmError> {
    // the first token is an attention sink: a line break in front keeps it out of the first chunk
    let mut text = "\n".to_owned();
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut end = 0;
    for chunk in chunks {
        // chunks may overlap in the document; what the one before has said is not read twice
        let overlap = if chunk.bytes[0] < end {
            overlap(text.trim_end(), &chunk.text)
        } else {
            0
        };
        end = chunk.bytes[1];

        let start = text.len();
        text.push_str(fitting(&chunk.text[overlap..], lengths, max_tokens));
        parts.push(start..text.len());
        text.push('\n');
    }
    model.attend(&text, &parts, Layers::All)
}

/// Returns the part of a chunk's text that is read where the chunks of its window together have
/// more than `max_tokens`: the same share of each, less a tenth, since text is cut by bytes.
fn fitting<'t>(text: &'t str, lengths: &[u32], max_tokens: u32) -> &'t str {
    let tokens: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let max_tokens = u64::from(max_tokens);
    if tokens <= max_tokens {
        return text;
    }
    let bytes = (text.len() as u64 * max_tokens / tokens) as usize * 9 / 10;
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the attention between chunks that the model reads as vectors. Their mean is put in front
/// of them as the attention sink.
fn attend_vectors(
    model: &mut dyn OpenGenerator,
    vectors: &[Option<Vec<f32>>],
) -> Result<Vec<Vec<f32>>, LlmError> {
    let width = vectors.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let mut mean = vec![0.0_f32; width];
    for vector in vectors.iter().flatten() {
        for (sum, number) in mean.iter_mut().zip(vector) {
            *sum += number;
        }
    }
    let squares: f32 = mean.iter().map(|number| number * number).sum();
    let length = squares.sqrt().max(f32::MIN_POSITIVE);
    for number in &mut mean {
        *number /= length;
    }

    let units = vectors.iter();
    let units = units.map(|vector| vector.clone().unwrap_or_else(|| vec![0.0; width]));
    let inputs: Vec<Vec<f32>> = std::iter::once(mean).chain(units).collect();
    let rows = model.attend_vectors(&inputs, Layers::All)?;
    // the row and the column of the sink belong to no chunk
    let rows = rows.into_iter().skip(1);
    Ok(rows.map(|row| row.into_iter().skip(1).collect()).collect())
}
