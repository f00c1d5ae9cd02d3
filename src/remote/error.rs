//! Errors between the program and an index on other machines.

use std::borrow::Cow;

use crate::event::{Advice, Problem, StopError};

/// A failure of an index on other machines, named by its address without any password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    #[error("the index at {place} cannot be reached ({reason})")]
    Unreachable { place: String, reason: String },
    #[error("{place} refuses the user or the password ({reason})")]
    Denied { place: String, reason: String },
    /// Settings that cannot be used.
    #[error("{0}")]
    Settings(Problem),
    /// The database has no pgvector and this user may not add it.
    #[error("the database at {place} has no extension `vector` ({reason})")]
    NoVectors { place: String, reason: String },
    #[error(
        "the collection {collection} at {place} has format {found} and this program reads {expected}"
    )]
    OtherFormat {
        collection: String,
        place: String,
        found: i64,
        expected: i64,
    },
    /// Vectors of two embedders cannot be compared.
    #[error(
        "the collection {collection} holds vectors of {known_width} numbers by another embedder ({known}); this one ({embedder}) makes {width}"
    )]
    OtherEmbedder {
        collection: String,
        known: String,
        known_width: u32,
        embedder: String,
        width: u32,
    },
    #[error("the part {part} of the collection {collection} belongs to {owner}")]
    PartTaken {
        part: String,
        collection: String,
        owner: String,
    },
    #[error("another ragscope is writing the part {part} of the collection {collection}")]
    InUse { part: String, collection: String },
    #[error("the collection {collection} has {max} parts, and can have no more")]
    TooManyParts { collection: String, max: u64 },
    /// The text of a document is where it was indexed.
    #[error("the file {document} is not on this machine: its part was indexed by {owner}")]
    Elsewhere { document: String, owner: String },
    #[error("{document} is not in the collection {collection}")]
    UnknownDocument {
        document: String,
        collection: String,
    },
    #[error("the index at {place} failed ({reason})")]
    Failed { place: String, reason: String },
    #[error("what the index at {place} holds cannot be read ({reason})")]
    Damaged { place: String, reason: String },
    #[error("stopped")]
    Stopped(#[from] StopError),
}

impl RemoteError {
    /// The error of settings that cannot be used.
    pub(super) fn settings(error: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Settings(Problem::new(error, advice))
    }
}

impl Advice for RemoteError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Unreachable { .. } => {
                "start it, or correct index.url; `--set index.url=` searches the index of this machine"
            }
            Self::Denied { .. } => {
                "check the user in index.url, and set index.key to env:NAME or file:PATH"
            }
            Self::Settings(problem) => return problem.advice.as_deref().map(Cow::Borrowed),
            Self::NoVectors { .. } => {
                "install pgvector on the server and run CREATE EXTENSION vector as its administrator"
            }
            Self::OtherFormat { .. } => {
                "use the ragscope that wrote it, or set index.collection to a new name and index again"
            }
            Self::OtherEmbedder { .. } => {
                "index with the embedder of the collection, or set index.collection to a new name"
            }
            Self::PartTaken { .. } => {
                "set index.part to another name; the same name replaces that part"
            }
            Self::InUse { .. } => "questions work meanwhile; index again when it is done",
            Self::TooManyParts { .. } => {
                "index several folders as one, or set index.collection to a new name"
            }
            Self::Elsewhere { .. } => {
                "open it there; the chunks themselves are in the collection, and the answer cites their text"
            }
            Self::UnknownDocument { .. } => "index its folder again if the file is new",
            Self::Failed { .. } => "the log of the server says more",
            Self::Damaged { .. } => {
                "set index.collection to a new name and index again; the local index is not affected"
            }
            Self::Stopped(_) => return None,
        };
        Some(advice.into())
    }
}
