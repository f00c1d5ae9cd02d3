//! Writing a part of a collection.

use std::thread;
use std::time::Duration;

use postgres::types::ToSql;
use postgres::{Client, Transaction};

use super::connection::{AtDatabase as _, Database};
use super::ids::part_start;
use super::publish::publish_words;
use super::read::{check_format, document};
use super::rows::{add_chunks, add_documents, add_vectors, delete, json};
use super::tables::{add_extension, lock_number, setup, tables};
use super::values::{
    Claim, FORMAT, MAX_EXACT_VECTORS, PartCard, PartChange, PartState, SentDocument, StoredDocument,
};
use crate::event::{StopError, WorkError};

/// Time between two looks at whether the observer stopped.
const LATENCY: Duration = Duration::from_millis(20);

/// A connection that writes one part. It holds the part from [`Self::begin`] to [`Self::end`].
pub struct PartWriter {
    client: Client,
    database: Database,
    /// The number of the part that it holds.
    part: Option<i32>,
    /// The embedder and the width that its vectors have, where they replace those of another.
    replaces: Option<(String, u32)>,
}

impl PartWriter {
    pub(super) fn new(client: Client, database: Database) -> Self {
        Self {
            client,
            database,
            part: None,
            replaces: None,
        }
    }

    /// Creates the tables where they are missing, and checks their format.
    fn create(&mut self, claim: &Claim) -> Result<(), WorkError> {
        let database = &self.database;
        let schema = &database.schema;
        let mut setup = setup(&mut self.client, database)?;

        // to_regclass gives null for a table that is missing, where a cast to regclass fails
        let asked = "select to_regclass($1) is not null";
        let known = setup.query_one(asked, &[&format!("{schema}.meta")]);

        if !known.at(database)?.get::<_, bool>(0) {
            add_extension(&mut setup, database)?;
            let tables = tables(schema, claim.width.max(1));
            setup.batch_execute(&tables).at(database)?;
            let begin = format!("insert into {schema}.meta values ($1, $2, $3)");
            let values: &[&(dyn ToSql + Sync)] =
                &[&(FORMAT as i32), &claim.embedder, &(claim.width as i32)];
            setup.execute(&begin, values).at(database)?;
        }

        let meta = format!("select version from {schema}.meta");
        let version: i32 = setup.query_one(&meta, &[]).at(database)?.get(0);
        check_format(i64::from(version), database)?;

        setup.commit().at(database)
    }

    /// Returns the part of a claim, which is added where it is missing.
    fn take(&mut self, claim: &Claim) -> Result<PartCard, WorkError> {
        let database = &self.database;
        let schema = &database.schema;
        let mut setup = setup(&mut self.client, database)?;
        let asked = format!("select card from {schema}.part order by number");
        let rows = setup.query(&asked, &[]).at(database)?;
        let cards = rows.iter().map(|row| serde_json::from_str(row.get(0)));
        let cards: Vec<PartCard> = cards.collect::<serde_json::Result<_>>().at(database)?;

        let others = cards.iter().filter(|card| card.name != claim.name);
        let has_others = others.clone().any(|card| card.has_vectors);
        self.replaces = find_replacement(&mut setup, claim, has_others, database)?;
        let card = match claim.find_in(&cards, schema)? {
            Some(card) => card.clone(),
            None => {
                let card = claim.new_part(&cards, schema)?;
                let add = format!("insert into {schema}.part values ($1, $2, $3)");
                let added = setup.execute(&add, &[&(card.number as i32), &card.name, &json(&card)]);
                added.at(database)?;
                card
            }
        };
        setup.commit().at(database)?;
        Ok(card)
    }

    /// Takes the lock of a part, which ends with the connection.
    fn lock(&mut self, card: &PartCard) -> Result<(), WorkError> {
        let number = card.number as i32;
        let schema = &self.database.schema;
        let take = "select pg_try_advisory_lock($1, $2)";
        let taken = self
            .client
            .query_one(take, &[&lock_number(schema), &number]);

        if !taken.at(&self.database)?.get::<_, bool>(0) {
            let part = &card.name;
            return Err(WorkError::new(
                format!("another ragscope is writing the part {part} of the collection {schema}"),
                "questions work meanwhile; index again when it is done",
            ));
        }

        self.part = Some(number);
        Ok(())
    }

    /// Returns whether there are enough vectors for a graph and it is not built.
    fn is_graph_due(&mut self) -> Result<bool, WorkError> {
        let schema = &self.database.schema;
        let asked = format!(
            "select (select sum((card::json ->> 'chunks')::bigint) from {schema}.part)::bigint, \
             to_regclass('{schema}.vector_graph') is not null"
        );
        let row = self.client.query_one(&asked, &[]).at(&self.database)?;
        let vectors = row.get::<_, Option<i64>>(0).unwrap_or(0) as u64;
        let is_built: bool = row.get(1);
        Ok(!is_built && vectors > MAX_EXACT_VECTORS)
    }

    /// Takes a part, and creates the collection and the part where they are missing.
    ///
    /// # Errors
    /// A part of another owner, or one that another process is writing; another embedder; a
    /// collection that is full.
    pub fn begin(&mut self, claim: &Claim) -> Result<PartState, WorkError> {
        self.create(claim)?;
        let card = self.take(claim)?;
        self.lock(&card)?;

        let database = &self.database;
        let schema = &database.schema;
        // read again: another writer may have published before the lock was free
        let asked = format!("select card from {schema}.part where number = $1");
        let row = self.client.query_one(&asked, &[&self.part]).at(database)?;
        let mut state = PartState {
            card: serde_json::from_str(row.get(0)).at(database)?,
            ..PartState::default()
        };
        let asked = format!(
            "select id, part, path, key, entry, chunks, live from {schema}.document where part = $1"
        );
        for row in self.client.query(&asked, &[&self.part]).at(database)? {
            state.insert(document(&row), row.get("live"));
        }
        Ok(state)
    }

    /// Sends documents. When this returns, a kill no longer loses them; readers do not see them.
    pub fn stage(&mut self, documents: &[SentDocument]) -> Result<(), WorkError> {
        let database = &self.database;
        let mut batch = self.client.transaction().at(database)?;
        add_documents(&mut batch, documents, database)?;
        add_chunks(&mut batch, documents, database)?;
        add_vectors(&mut batch, documents, database)?;
        batch.commit().at(database)
    }

    /// Deletes staged documents.
    pub fn unstage(&mut self, documents: &[StoredDocument]) -> Result<(), WorkError> {
        let database = &self.database;
        let mut batch = self.client.transaction().at(database)?;
        delete(&mut batch, documents, "staged_vector", database)?;
        batch.commit().at(database)
    }

    /// Makes a change visible to readers, all of it at once.
    pub fn publish(&mut self, change: PartChange<'_>) -> Result<(), WorkError> {
        let database = &self.database;
        let schema = &database.schema;
        let mut publishing = self.client.transaction().at(database)?;
        delete(&mut publishing, &change.removed, "vector", database)?;

        // a document has the id of its first chunk
        let added = change.added.iter().map(|one| one.first_chunk as i64);
        let added: Vec<i64> = added.collect();
        let make_live = format!("update {schema}.document set live = true where id = any($1)");
        publishing.execute(&make_live, &[&added]).at(database)?;
        if let Some((embedder, width)) = &self.replaces {
            replace_embedder(&mut publishing, embedder, *width, schema).at(database)?;
        }

        let first = part_start(change.card.number) as i64;
        let after = part_start(change.card.number + 1) as i64;
        let moved = format!(
            "with moved as (delete from {schema}.staged_vector where id >= $1 and id < $2 returning id, v) \
             insert into {schema}.vector select id, v from moved"
        );
        publishing.execute(&moved, &[&first, &after]).at(database)?;

        let number = change.card.number as i32;
        let card = json(&change.card);
        publish_words(&mut publishing, change, database)?;
        let update = format!("update {schema}.part set card = $1 where number = $2");
        publishing
            .execute(&update, &[&card, &number])
            .at(database)?;
        publishing.commit().at(database)?;
        self.replaces = None;
        Ok(())
    }

    /// Builds what makes searches fast, where that is due. What is published can be searched
    /// meanwhile.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] once `is_stopped` returns `true`; the next call begins again.
    pub fn optimise(&mut self, is_stopped: &mut dyn FnMut() -> bool) -> Result<(), WorkError> {
        if !self.is_graph_due()? {
            return Ok(());
        }

        let schema = &self.database.schema;
        let build = format!(
            "create index if not exists vector_graph on {schema}.vector using hnsw (v halfvec_ip_ops) \
             with (m = 16, ef_construction = 100); analyze {schema}.vector"
        );

        // PostgreSQL cancels a statement over a second connection, while this one waits for it
        let token = self.client.cancel_token();
        let client = &mut self.client;
        let database = &self.database;
        thread::scope(|scope| {
            let building = scope.spawn(move || client.batch_execute(&build));
            let mut is_cancelled = false;

            while !building.is_finished() {
                if !is_cancelled && is_stopped() {
                    is_cancelled = true;
                    database.cancel(&token)?;
                }
                thread::sleep(LATENCY);
            }

            let built = building.join().map_err(|_| WorkError::from(StopError))?;
            if is_cancelled {
                return Err(StopError.into());
            }
            built.at(database)
        })
    }

    /// Gives the part back.
    pub fn end(&mut self) {
        if let Some(number) = self.part.take() {
            // a connection that is gone has no lock
            let _ = self.client.query(
                "select pg_advisory_unlock($1, $2)",
                &[&lock_number(&self.database.schema), &number],
            );
        }
    }
}

/// Makes the collection one of another embedder. No other part has vectors, and those of this one
/// were just deleted.
fn replace_embedder(
    publishing: &mut Transaction<'_>,
    embedder: &str,
    width: u32,
    schema: &str,
) -> Result<(), postgres::Error> {
    publishing.batch_execute(&format!(
        "drop index if exists {schema}.vector_graph; \
         alter table {schema}.vector alter column v type halfvec({})",
        width.max(1)
    ))?;

    let meta = format!("update {schema}.meta set embedder = $1, width = $2");
    publishing.execute(&meta, &[&embedder, &(width as i32)])?;
    Ok(())
}

/// Returns the embedder and the width of a claim where they replace those of the collection; an
/// error where other parts have vectors of another embedder.
fn find_replacement(
    setup: &mut Transaction<'_>,
    claim: &Claim,
    has_others: bool,
    database: &Database,
) -> Result<Option<(String, u32)>, WorkError> {
    let schema = &database.schema;
    let asked = format!("select embedder, width from {schema}.meta");
    let row = setup.query_one(&asked, &[]).at(database)?;
    let known: String = row.get(0);
    let known_width = row.get::<_, i32>(1) as u32;
    let is_same = known == claim.embedder && known_width == claim.width;

    if is_same || claim.embedder.is_empty() && has_others {
        return Ok(None);
    }

    if has_others {
        let Claim {
            embedder, width, ..
        } = claim;
        return Err(WorkError::new(
            format!(
                "the collection {schema} holds vectors of {known_width} numbers by another embedder ({known}); this one ({embedder}) makes {width}"
            ),
            "index with the embedder of the collection, or set index.collection to a new name",
        ));
    }

    Ok(Some((claim.embedder.clone(), claim.width)))
}
