//! The sentence-level model of the linker reads the vectors of one embedder.

use std::path::Path;

use super::error::Result;
use super::gguf::Metadata;
use crate::event::ModelCard;

/// The metadata key with the name of the embedder that a sentence-level model was trained on.
const EMBEDDER_KEY: &str = "ragscope.embedder";

/// The embedder of the bundled model, whose file does not name it.
const BUNDLED_EMBEDDER: &str = "all-MiniLM-L6-v2";

/// Returns why a sentence-level model cannot read the vectors of an embedder; `None` where it was
/// made for that embedder. Vectors of the same width but of another model would give links without
/// meaning.
///
/// # Errors
/// A file that cannot be read.
pub fn linker_misfit(file: &Path, embedder: &ModelCard) -> Result<Option<String>> {
    let metadata = Metadata::read(file)?;
    let made_for = metadata.text(EMBEDDER_KEY).unwrap_or(BUNDLED_EMBEDDER);
    Ok(misfit(made_for, embedder))
}

fn misfit(made_for: &str, embedder: &ModelCard) -> Option<String> {
    let is_named = |name: &str| name.to_lowercase().contains(&made_for.to_lowercase());
    let is_same = is_named(&embedder.name) || is_named(&embedder.file);
    if is_same && embedder.prefixes.document.is_empty() {
        return None;
    }

    let vectors = if is_same {
        format!("{} with a document prefix", embedder.file)
    } else {
        embedder.file.clone()
    };

    Some(format!(
        "the sentence-level linker reads vectors of {made_for}, and the embedder is {vectors}"
    ))
}
