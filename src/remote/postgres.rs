//! A collection in a database, as it is opened, and its health.

use std::cell::RefCell;

use postgres::{Client, IsolationLevel};

use super::connection::{AtDatabase as _, Database};
use super::read::Snapshot;
use super::write::PartWriter;
use crate::config::IndexSettings;
use crate::event::WorkError;

/// The state of an index on other machines, for `ragscope doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteHealth {
    /// Name and version of the database.
    pub version: String,
    pub collection: String,
    pub parts: usize,
    pub documents: u64,
    pub chunks: u64,
    /// Whether what is sent can be read on the way.
    pub is_open: bool,
}

/// A collection in a database.
pub struct Postgres {
    database: Database,
    /// `None` before the first use and after a failure.
    client: RefCell<Option<Client>>,
}

impl Postgres {
    /// Prepares the connection that settings describe; nothing is sent yet.
    ///
    /// # Errors
    /// An address that cannot be used, or that holds a password; a key that cannot be read; a name
    /// of the collection that is not a plain identifier.
    pub fn new(settings: &IndexSettings) -> Result<Self, WorkError> {
        let database = Database::new(settings)?;
        check_name(&settings.collection)?;
        Ok(Self {
            database,
            client: RefCell::default(),
        })
    }

    /// Runs `work` on the open connection, or on a new one where the server has closed it.
    fn with_client<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
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
        look: impl FnOnce(&mut Snapshot<'_>) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
        self.with_client(|client| {
            let transaction = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .at(&self.database)?;
            look(&mut Snapshot::new(transaction, &self.database)?)
        })
    }

    /// Connects as a writer.
    pub fn writer(&self) -> Result<PartWriter, WorkError> {
        let client = self.database.connect()?;
        Ok(PartWriter::new(client, self.database.clone()))
    }

    /// Returns the name and the version of the database.
    fn version(&self) -> Result<String, WorkError> {
        self.with_client(|client| {
            let asked = "select current_setting('server_version'), \
                 (select extversion::text from pg_extension where extname = 'vector')";

            let row = client.query_one(asked, &[]).at(&self.database)?;
            let server: String = row.get(0);
            let vectors: Option<String> = row.get(1);
            let vectors = vectors.map_or("without pgvector".to_owned(), |version| {
                format!("pgvector {version}")
            });

            Ok(format!("PostgreSQL {server}, {vectors}"))
        })
    }
}

/// Returns the state of the index of these settings; `None` for one of this machine.
///
/// # Errors
/// Settings that cannot be used; a database that cannot be reached or read.
pub fn remote_health(settings: &IndexSettings) -> Result<Option<RemoteHealth>, WorkError> {
    if settings.url.is_empty() {
        return Ok(None);
    }

    let postgres = Postgres::new(settings)?;
    let head = postgres.view(|view| Ok(view.head().clone()))?;

    Ok(Some(RemoteHealth {
        version: postgres.version()?,
        collection: settings.collection.clone(),
        parts: head.parts.len(),
        documents: head.parts.iter().map(|part| part.documents).sum(),
        chunks: head.parts.iter().map(|part| part.chunks).sum(),
        is_open: postgres.database.is_open(),
    }))
}

/// Checks that the name of a collection is a plain identifier.
fn check_name(name: &str) -> Result<(), WorkError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= 40 && name.chars().all(is_plain) && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(WorkError::new(
        "index.collection is not a valid name",
        "take up to 40 lower-case letters, digits and underscores, and begin with a letter",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_has_a_plain_name() {
        for (name, is_name) in [
            ("ragscope", true),
            ("notes_2", true),
            ("", false),
            ("2notes", false),
            ("Notes", false),
            ("pg_notes", false),
            ("a; drop table b", false),
        ] {
            assert_eq!(check_name(name).is_ok(), is_name, "{name}");
        }
    }
}
