//! Reads a folder as documents, and splits documents into sentences and chunks.
//!
//! In reading order: [`walk()`] lists the files, [`read`] makes a [`Document`] of one (of a binary
//! one in a worker process, which [`run_reader`] runs), [`sentences`] and a [`SplitMethod`] split
//! it, and a [`TokenCounter`] counts the tokens of a text for the embedder.
//!
//! This module knows nothing of vectors or of generation. Document text is data: it is kept as it
//! is in the file, and made harmless where it is shown. A document that cannot be read gives a
//! reason and never ends the program.

mod error;
mod offsets;
mod outline;
mod terminal;
mod code_page;
mod decode;
mod language;
mod sentence;
mod negation;
mod name_date;
mod options;
mod formats;
mod worker;
mod title_lines;
mod walk;
mod omitted;
mod watch;
mod document;
mod tokens;
mod chunk;

pub use chunk::{FixedSplit, SemanticSplit, Sentences, SplitMethod, chunks_at, fixed_chunks};
pub use document::{Document, ReadHeading, ReadLine, SourceLines, read, source_lines};
pub use formats::{FORMATS, Format, UNREAD, Unread};
pub use language::{detect_language, language};
pub use name_date::{date_in_text, is_month, named_dates};
pub use negation::count_negations;
pub use omitted::count_omitted;
pub use options::ReadOptions;
pub use sentence::{
    begins_item, fold_white_space, is_heading, named_cells, sentences, split_words,
};
pub use tokens::TokenCounter;
pub use walk::{FileTimes, FoundFile, Walked, find_file, locate, walk};
pub use watch::Watcher;
pub use worker::{SUBCOMMAND, run_reader};
