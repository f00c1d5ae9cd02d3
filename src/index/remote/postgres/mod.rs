//! A collection in PostgreSQL: a schema with the documents, the chunks, their vectors (pgvector) and
//! the blocks of postings.
//!
//! A reader sees one snapshot (`repeatable read`). A writer sends documents in transactions of their own
//! under `live = false`, where nothing refers to them, and publishes all of them in one. BM25 is
//! computed from the postings, since `ts_rank` of PostgreSQL knows nothing of how common a word is.

mod connection;
mod read;
mod types;
mod write;

use std::cell::RefCell;

use postgres::{Client, IsolationLevel};

use super::error::RemoteError;
use crate::config::IndexSettings;
use connection::Database;

pub(super) use read::Snapshot;
pub(super) use write::Writer;

/// A collection in a database.
pub(super) struct Postgres {
    database: Database,
    /// `None` before the first use and after a failure.
    client: RefCell<Option<Client>>,
}

impl Postgres {
    /// Prepares the connection that settings describe; nothing is sent yet.
    ///
    /// # Errors
    /// An address that cannot be used, or that holds a password; a key that cannot be read.
    pub fn new(settings: &IndexSettings) -> Result<Self, RemoteError> {
        Ok(Self {
            database: Database::new(settings)?,
            client: RefCell::default(),
        })
    }

    /// Runs `work` on the open connection, or on a new one where the server has closed it.
    fn with_client<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        let open = self.client.borrow_mut().take();
        let mut client = match open.filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.database.connect()?,
        };
        let done = work(&mut client)?;
        self.client.replace(Some(client));
        Ok(done)
    }

    /// Runs `look` on the collection as it is now, whatever is published meanwhile.
    pub fn view<T>(
        &self,
        look: impl FnOnce(&mut Snapshot<'_>) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        self.with_client(|client| {
            let transaction = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .map_err(|error| self.database.failed(&error))?;
            look(&mut Snapshot::new(transaction, &self.database)?)
        })
    }

    /// Connects as a writer.
    pub fn writer(&self) -> Result<Writer, RemoteError> {
        let client = self.database.connect()?;
        Ok(Writer::new(client, self.database.clone()))
    }

    /// Returns whether what is sent can be read on the way.
    pub fn is_open(&self) -> bool {
        self.database.is_open()
    }

    /// Returns the name and the version of the database.
    pub fn version(&self) -> Result<String, RemoteError> {
        self.with_client(|client| {
            let asked = "select current_setting('server_version'), \
                 (select extversion::text from pg_extension where extname = 'vector')";
            let row = client
                .query_one(asked, &[])
                .map_err(|error| self.database.failed(&error))?;
            let server: String = row.get(0);
            let vectors: Option<String> = row.get(1);
            let vectors = vectors.map_or("without pgvector".to_owned(), |version| {
                format!("pgvector {version}")
            });
            Ok(format!("PostgreSQL {server}, {vectors}"))
        })
    }
}
