//! A corpus of several machines in PostgreSQL with pgvector: documents, chunks, vectors and the
//! blocks of postings.
//!
//! A reader sees one snapshot (`repeatable read`). A writer sends documents in transactions of
//! their own under `live = false`, where nothing refers to them, and publishes all of them in one.
//! BM25 is computed from the postings, since `ts_rank` of PostgreSQL knows nothing of how common a
//! word is.
//!
//! Nothing here knows of folders or of the index of this machine: a document comes with its entry
//! as text.

mod address;
mod ids;
mod values;
mod postings;
mod types;
mod connection;
mod read;
mod tables;
mod rows;
mod publish;
mod write;
mod postgres;

pub use address::{is_address, with_address};
pub use connection::remote_failure;
pub use ids::{MAX_PARTS, part_of, part_start};
pub use postgres::{Postgres, RemoteHealth, remote_health};
pub use read::Snapshot;
pub use values::{
    Allowed, ChunkWithEntry, ChunkWords, Claim, CorpusHead, Nearest, PartCard, PartChange,
    PartState, ScoredId, SentChunk, SentDocument, StoredDocument,
};
pub use write::PartWriter;
