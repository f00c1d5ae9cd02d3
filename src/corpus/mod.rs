//! Reads a folder as documents, and splits documents into sentences and chunks.
//!
//! In reading order: [`walk()`] lists the files, [`read`] makes a [`Document`] of one (of a binary
//! one in a worker process, which [`run_reader`] runs), [`sentences`] and a [`SplitMethod`] split
//! it, and a [`TokenCounter`] counts the tokens of a text for the embedder.
//!
//! This module knows nothing of vectors or of generation. Document text is data: it is kept as it
//! is in the file, and made harmless where it is shown. A document that cannot be read gives a
//! reason and never ends the program.

mod walk;
mod watch;
mod formats;
mod options;
mod worker;
mod document;
mod offsets;
mod decode;
mod terminal;
mod language;
mod sentence;
mod tokens;
mod chunk;

pub use chunk::{
    Chunk, FixedSplit, SemanticSplit, Sentences, SplitMethod, chunks_at, fixed_chunks,
};
pub use document::{Document, SourceLines, read, source_lines};
pub use formats::{FORMATS, Format, UNREAD, Unread};
pub use language::language;
pub use options::ReadOptions;
pub use sentence::{fold_white_space, sentences};
pub use tokens::TokenCounter;
pub(crate) use walk::modified_ns;
pub use walk::{FoundFile, Walked, locate, walk};
pub use watch::Watcher;
pub use worker::{SUBCOMMAND, run_reader};

use std::borrow::Cow;

use crate::event::Advice;

/// The reason why a folder cannot be walked.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    #[error("there is no folder {folder}")]
    Missing { folder: String },
    #[error("{folder} is a file")]
    NotAFolder { folder: String },
    #[error("the folder {folder} cannot be read ({reason})")]
    Unreadable { folder: String, reason: String },
    #[error("the folder {folder} is not read: {reason}")]
    IgnoreFiles { folder: String, reason: String },
    #[error("corpus.include: `{glob}` is not a glob ({reason})")]
    BadGlob { glob: String, reason: String },
    #[error("stopped")]
    Stopped,
}

impl Advice for CorpusError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Missing { .. } => Some("check the path".into()),
            Self::NotAFolder { .. } => {
                Some("give the folder that holds it (corpus.include can name single files)".into())
            }
            Self::IgnoreFiles { .. } => Some(
                "shorten them, or read the folder without them: corpus.gitignore = false".into(),
            ),
            Self::Unreadable { .. } => Some("check its permissions".into()),
            Self::BadGlob { .. } => Some("write it as in a .gitignore file, e.g. `*.md`".into()),
            Self::Stopped => None,
        }
    }
}
