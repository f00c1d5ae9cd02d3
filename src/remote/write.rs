//! Writing a part of a collection.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use postgres::binary_copy::BinaryCopyInWriter;
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Transaction};

use super::connection::Database;
use super::error::RemoteError;
use super::ids::part_start;
use super::postings::{self, BUCKET_CHUNKS, BlockBuilder};
use super::read::{check_format, document};
use super::types::Half;
use super::values::{
    Change, Claim, FORMAT, MAX_EXACT_VECTORS, NewDocument, PartCard, PartState, StoredDocument,
    Words,
};

/// The number of the lock under which tables are created and parts are numbered.
const SETUP_LOCK: i32 = -1;
/// Time between two looks at whether the observer stopped.
const LATENCY: Duration = Duration::from_millis(20);

/// A connection that writes one part. It holds the part from [`Self::begin`] to [`Self::end`].
pub struct Writer {
    client: Client,
    database: Database,
    /// The number of the part that it holds.
    part: Option<i32>,
    /// The embedder and the width that its vectors have, where they replace those of another.
    replaces: Option<(String, u32)>,
}

impl Writer {
    pub(super) fn new(client: Client, database: Database) -> Self {
        Self {
            client,
            database,
            part: None,
            replaces: None,
        }
    }

    /// Creates the tables where they are missing, and checks their format.
    fn create(&mut self, claim: &Claim) -> Result<(), RemoteError> {
        let database = self.database.clone();
        let failed = |error: postgres::Error| database.failure(&error);
        let schema = &database.schema;
        let mut setup = setup(&mut self.client, &database)?;
        let known = setup
            .query_one(
                "select to_regclass($1) is not null",
                &[&format!("{schema}.meta")],
            )
            .map_err(failed)?;
        if !known.get::<_, bool>(0) {
            add_extension(&mut setup, &database)?;
            setup
                .batch_execute(&tables(schema, claim.width.max(1)))
                .map_err(failed)?;
            let begun = format!("insert into {schema}.meta values ($1, $2, $3)");
            setup
                .execute(
                    &begun,
                    &[&(FORMAT as i32), &claim.embedder, &(claim.width as i32)],
                )
                .map_err(failed)?;
        }
        let meta = format!("select version from {schema}.meta");
        let version: i32 = setup.query_one(&meta, &[]).map_err(failed)?.get(0);
        check_format(i64::from(version), &database)?;
        setup.commit().map_err(failed)
    }

    /// Returns the part of a claim, which is added where it is missing.
    fn take(&mut self, claim: &Claim) -> Result<PartCard, RemoteError> {
        let database = self.database.clone();
        let failed = |error: postgres::Error| database.failure(&error);
        let schema = &database.schema;
        let mut setup = setup(&mut self.client, &database)?;
        let asked = format!("select card from {schema}.part order by number");
        let rows = setup.query(&asked, &[]).map_err(failed)?;
        let cards: Result<Vec<PartCard>, _> = rows
            .iter()
            .map(|row| serde_json::from_str(row.get(0)))
            .collect();
        let cards = cards.map_err(|error| database.damage(error))?;

        let others = cards.iter().filter(|card| card.name != claim.name);
        let has_others = others.clone().any(|card| card.has_vectors);
        self.replaces = find_replacement(&mut setup, claim, has_others, &database)?;
        let card = match claim.known(&cards, schema)? {
            Some(card) => card.clone(),
            None => {
                let card = claim.new_part(&cards, schema)?;
                let add = format!("insert into {schema}.part values ($1, $2, $3)");
                setup
                    .execute(&add, &[&(card.number as i32), &card.name, &json(&card)])
                    .map_err(failed)?;
                card
            }
        };
        setup.commit().map_err(failed)?;
        Ok(card)
    }

    /// Takes the lock of a part, which ends with the connection.
    fn lock(&mut self, card: &PartCard) -> Result<(), RemoteError> {
        let number = card.number as i32;
        let taken = self
            .client
            .query_one(
                "select pg_try_advisory_lock($1, $2)",
                &[&lock_number(&self.database.schema), &number],
            )
            .map_err(|error| self.database.failure(&error))?;
        if !taken.get::<_, bool>(0) {
            return Err(RemoteError::InUse {
                part: card.name.clone(),
                collection: self.database.schema.clone(),
            });
        }
        self.part = Some(number);
        Ok(())
    }

    /// Returns whether there are enough vectors for a graph and it is not built.
    fn is_graph_due(&mut self) -> Result<bool, RemoteError> {
        let schema = &self.database.schema;
        let asked = format!(
            "select (select sum((card::json ->> 'chunks')::bigint) from {schema}.part)::bigint, \
             to_regclass('{schema}.vector_graph') is not null"
        );
        let row = self.client.query_one(&asked, &[]);
        let row = row.map_err(|error| self.database.failure(&error))?;
        let vectors = row.get::<_, Option<i64>>(0).unwrap_or(0) as u64;
        let is_built: bool = row.get(1);
        Ok(!is_built && vectors > MAX_EXACT_VECTORS)
    }

    /// Takes a part, and creates the collection and the part where they are missing.
    ///
    /// # Errors
    /// [`RemoteError::PartTaken`], [`RemoteError::InUse`], [`RemoteError::OtherEmbedder`],
    /// [`RemoteError::TooManyParts`].
    pub fn begin(&mut self, claim: &Claim) -> Result<PartState, RemoteError> {
        self.create(claim)?;
        let card = self.take(claim)?;
        self.lock(&card)?;

        let schema = &self.database.schema;
        let failed = |error| self.database.failure(&error);
        // read again: another writer may have published before the lock was free
        let asked = format!("select card from {schema}.part where number = $1");
        let row = self.client.query_one(&asked, &[&self.part]);
        let card = serde_json::from_str(row.map_err(failed)?.get(0));
        let mut state = PartState {
            card: card.map_err(|error| self.database.damage(error))?,
            ..PartState::default()
        };
        let asked = format!(
            "select id, part, path, key, entry, chunks, live from {schema}.document where part = $1"
        );
        for row in self.client.query(&asked, &[&self.part]).map_err(failed)? {
            state.insert(document(&row), row.get("live"));
        }
        Ok(state)
    }

    /// Sends documents. When this returns, a kill no longer loses them; readers do not see them.
    pub fn stage(&mut self, documents: &[NewDocument]) -> Result<(), RemoteError> {
        let database = self.database.clone();
        let failed = |error: postgres::Error| database.failure(&error);
        let mut batch = self.client.transaction().map_err(failed)?;
        add_documents(&mut batch, documents, &database)?;
        add_chunks(&mut batch, documents, &database)?;
        add_vectors(&mut batch, documents, &database)?;
        batch.commit().map_err(failed)
    }

    /// Deletes staged documents.
    pub fn unstage(&mut self, documents: &[StoredDocument]) -> Result<(), RemoteError> {
        let database = self.database.clone();
        let mut batch = self
            .client
            .transaction()
            .map_err(|error| database.failure(&error))?;
        delete(&mut batch, documents, "staged_vector", &database)?;
        batch.commit().map_err(|error| database.failure(&error))
    }

    /// Makes a change visible to readers, all of it at once.
    pub fn publish(&mut self, change: Change<'_>) -> Result<(), RemoteError> {
        let database = self.database.clone();
        let failed = |error: postgres::Error| database.failure(&error);
        let schema = &database.schema;
        let mut publishing = self.client.transaction().map_err(failed)?;
        delete(&mut publishing, &change.removed, "vector", &database)?;

        let added: Vec<i64> = change
            .added
            .iter()
            .map(|one| one.first_chunk as i64)
            .collect();
        let make_live = format!("update {schema}.document set live = true where id = any($1)");
        publishing.execute(&make_live, &[&added]).map_err(failed)?;
        if let Some((embedder, width)) = &self.replaces {
            // no other part has vectors, and those of this one were just deleted
            let replace = format!(
                "drop index if exists {schema}.vector_graph; \
                 alter table {schema}.vector alter column v type halfvec({})",
                width.max(&1)
            );
            publishing.batch_execute(&replace).map_err(failed)?;
            let meta = format!("update {schema}.meta set embedder = $1, width = $2");
            publishing
                .execute(&meta, &[embedder, &(*width as i32)])
                .map_err(failed)?;
        }
        let first = part_start(change.card.number) as i64;
        let after = part_start(change.card.number + 1) as i64;
        let moved = format!(
            "with moved as (delete from {schema}.staged_vector where id >= $1 and id < $2 returning id, v) \
             insert into {schema}.vector select id, v from moved"
        );
        publishing
            .execute(&moved, &[&first, &after])
            .map_err(failed)?;

        publish_words(
            &mut publishing,
            change.words,
            &change.removed,
            &change.added,
            &change.after,
            &database,
        )?;
        let card = format!("update {schema}.part set card = $1 where number = $2");
        publishing
            .execute(&card, &[&json(&change.card), &(change.card.number as i32)])
            .map_err(failed)?;
        publishing.commit().map_err(failed)?;
        self.replaces = None;
        Ok(())
    }

    /// Builds what makes searches fast, where that is due. What is published can be searched
    /// meanwhile.
    ///
    /// # Errors
    /// [`RemoteError::Stopped`] once `is_stopped` returns `true`; the next call begins again.
    pub fn optimise(&mut self, is_stopped: &mut dyn FnMut() -> bool) -> Result<(), RemoteError> {
        if !self.is_graph_due()? {
            return Ok(());
        }
        let schema = &self.database.schema;
        let build = format!(
            "create index if not exists vector_graph on {schema}.vector using hnsw (v halfvec_ip_ops) \
             with (m = 16, ef_construction = 100); analyze {schema}.vector"
        );
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
            let built = building.join().map_err(|_| RemoteError::Stopped)?;
            if is_cancelled {
                return Err(RemoteError::Stopped);
            }
            built.map_err(|error| database.failure(&error))
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

/// Adds pgvector to the database.
fn add_extension(setup: &mut Transaction<'_>, database: &Database) -> Result<(), RemoteError> {
    let added = setup.batch_execute("create extension if not exists vector");
    added.map_err(|error| match error.code() {
        Some(
            &SqlState::INSUFFICIENT_PRIVILEGE
            | &SqlState::FEATURE_NOT_SUPPORTED
            | &SqlState::UNDEFINED_FILE
            | &SqlState::INVALID_PARAMETER_VALUE,
        ) => RemoteError::NoVectors {
            place: database.place.clone(),
            reason: error
                .as_db_error()
                .map_or_else(String::new, |error| error.message().to_owned()),
        },
        _ => database.failure(&error),
    })
}

/// Returns the embedder and the width of a claim where they replace those of the collection; an
/// error where other parts have vectors of another embedder.
fn find_replacement(
    setup: &mut Transaction<'_>,
    claim: &Claim,
    has_others: bool,
    database: &Database,
) -> Result<Option<(String, u32)>, RemoteError> {
    let schema = &database.schema;
    let asked = format!("select embedder, width from {schema}.meta");
    let row = setup
        .query_one(&asked, &[])
        .map_err(|error| database.failure(&error))?;
    let known: String = row.get(0);
    let known_width = row.get::<_, i32>(1) as u32;
    let is_same = known == claim.embedder && known_width == claim.width;
    if is_same || claim.embedder.is_empty() && has_others {
        return Ok(None);
    }
    if has_others {
        return Err(RemoteError::OtherEmbedder {
            collection: schema.clone(),
            known,
            known_width,
            embedder: claim.embedder.clone(),
            width: claim.width,
        });
    }
    Ok(Some((claim.embedder.clone(), claim.width)))
}

/// Begins a transaction that one writer of the collection has at a time.
fn setup<'c>(client: &'c mut Client, database: &Database) -> Result<Transaction<'c>, RemoteError> {
    let failed = |error: postgres::Error| database.failure(&error);
    let mut setup = client.transaction().map_err(failed)?;
    setup
        .execute(
            "select pg_advisory_xact_lock($1, $2)",
            &[&lock_number(&database.schema), &SETUP_LOCK],
        )
        .map_err(failed)?;
    Ok(setup)
}

/// Adds staged documents without their chunks.
fn add_documents(
    batch: &mut Transaction<'_>,
    documents: &[NewDocument],
    database: &Database,
) -> Result<(), RemoteError> {
    let failed = |error: postgres::Error| database.failure(&error);
    let schema = &database.schema;
    let add = format!(
        "insert into {schema}.document (id, part, path, key, entry, chunks, live) \
         values ($1, $2, $3, $4, $5, $6, false)"
    );
    let add = batch.prepare(&add).map_err(failed)?;
    for NewDocument { stored, .. } in documents {
        let values: &[&(dyn ToSql + Sync)] = &[
            &(stored.first_chunk as i64),
            &(stored.part as i32),
            &stored.path,
            &stored.key,
            &stored.entry,
            &(stored.count as i32),
        ];
        batch.execute(&add, values).map_err(failed)?;
    }
    Ok(())
}

/// Adds the texts of the chunks of documents.
fn add_chunks(
    batch: &mut Transaction<'_>,
    documents: &[NewDocument],
    database: &Database,
) -> Result<(), RemoteError> {
    let schema = &database.schema;
    let types = [Type::INT8, Type::INT8, Type::TEXT];
    let into = format!("copy {schema}.chunk (id, document, body) from stdin binary");
    copy(batch, database, &into, &types, |write| {
        for NewDocument { stored, chunks } in documents {
            let document = stored.first_chunk as i64;
            for chunk in chunks {
                write(&[&(chunk.text.id as i64), &document, &json(&chunk.text)])?;
            }
        }
        Ok(())
    })
}

/// Adds the vectors of the chunks of documents, if there are any.
fn add_vectors(
    batch: &mut Transaction<'_>,
    documents: &[NewDocument],
    database: &Database,
) -> Result<(), RemoteError> {
    let chunks = documents.iter().flat_map(|document| &document.chunks);
    let mut chunks = chunks.filter(|chunk| !chunk.vector.is_empty()).peekable();
    if chunks.peek().is_none() {
        return Ok(());
    }

    let schema = &database.schema;
    // the type `halfvec` has another number in every database
    let columns = batch
        .prepare(&format!("select id, v from {schema}.staged_vector"))
        .map_err(|error| database.failure(&error))?;
    let columns = columns.columns().iter();
    let types: Vec<Type> = columns.map(|column| column.type_().clone()).collect();
    let into = format!("copy {schema}.staged_vector (id, v) from stdin binary");
    copy(batch, database, &into, &types, |write| {
        for chunk in chunks {
            write(&[&(chunk.text.id as i64), &Half(&chunk.vector)])?;
        }
        Ok(())
    })
}

/// Deletes documents with their chunks and vectors. `vectors` is the table that has those.
fn delete(
    batch: &mut Transaction<'_>,
    documents: &[StoredDocument],
    vectors: &str,
    database: &Database,
) -> Result<(), RemoteError> {
    let schema = &database.schema;
    let ids: Vec<i64> = documents.iter().map(|one| one.first_chunk as i64).collect();
    if ids.is_empty() {
        return Ok(());
    }
    for table in [vectors, "chunk"] {
        let of_documents = format!(
            "delete from {schema}.{table} using {schema}.document \
             where document.id = any($1) and {table}.id >= document.id and {table}.id < document.id + document.chunks"
        );
        batch
            .execute(&of_documents, &[&ids])
            .map_err(|error| database.failure(&error))?;
    }
    let themselves = format!("delete from {schema}.document where id = any($1)");
    batch
        .execute(&themselves, &[&ids])
        .map_err(|error| database.failure(&error))?;
    Ok(())
}

/// Replaces the postings of every bucket in which chunks are removed or added.
fn publish_words(
    publishing: &mut Transaction<'_>,
    words: &mut dyn FnMut(&StoredDocument) -> Result<Vec<Words>, RemoteError>,
    removed: &[StoredDocument],
    added: &[StoredDocument],
    after: &[StoredDocument],
    database: &Database,
) -> Result<(), RemoteError> {
    let schema = &database.schema;
    let touched: BTreeSet<u64> = removed
        .iter()
        .chain(added)
        .flat_map(|one| postings::bucket(one.first_chunk)..=postings::bucket(one.chunks().end))
        .collect();
    let buckets: Vec<i64> = touched.iter().map(|bucket| *bucket as i64).collect();
    let clear = format!("delete from {schema}.posting where bucket = any($1)");
    publishing
        .execute(&clear, &[&buckets])
        .map_err(|error| database.failure(&error))?;

    let mut bucket_words = BucketWords {
        documents: after.iter().map(|one| (one.first_chunk, one)).collect(),
        words,
        last: None,
    };
    let types = [Type::TEXT, Type::INT8, Type::INT4, Type::BYTEA];
    let into = format!("copy {schema}.posting (word, bucket, count, data) from stdin binary");
    copy(publishing, database, &into, &types, |write| {
        for bucket in touched {
            for (word, block) in bucket_words.build(bucket)?.finish() {
                write(&[
                    &word,
                    &(block.bucket as i64),
                    &(block.count as i32),
                    &block.data,
                ])?;
            }
        }
        Ok(())
    })
}

/// The words of the chunks of a part, bucket by bucket.
struct BucketWords<'a> {
    /// The documents by their first chunk.
    documents: BTreeMap<u64, &'a StoredDocument>,
    /// Returns the words of each chunk of a document, in its order.
    words: &'a mut dyn FnMut(&StoredDocument) -> Result<Vec<Words>, RemoteError>,
    /// The document that was analysed last: one that reaches into the next bucket is analysed once.
    last: Option<(u64, Vec<Words>)>,
}

impl BucketWords<'_> {
    fn build(&mut self, bucket: u64) -> Result<BlockBuilder, RemoteError> {
        let ids = bucket * BUCKET_CHUNKS..(bucket + 1) * BUCKET_CHUNKS;
        let before = self.documents.range(..ids.start).next_back();
        let inside = self.documents.range(ids.clone());
        let mut builder = BlockBuilder::default();
        for (_, document) in before.into_iter().chain(inside) {
            let chunks = document.chunks();
            if chunks.end <= ids.start {
                continue;
            }
            let known = self.last.take();
            let known = known.filter(|(id, _)| *id == document.first_chunk);
            let (_, of_document) = match known {
                Some(known) => self.last.insert(known),
                None => {
                    let words = (self.words)(document)?;
                    self.last.insert((document.first_chunk, words))
                }
            };
            for (chunk, words) in chunks.zip(of_document.iter()) {
                if ids.contains(&chunk) {
                    builder.add(chunk, words);
                }
            }
        }
        Ok(builder)
    }
}

type WriteRow<'w> = dyn FnMut(&[&(dyn ToSql + Sync)]) -> Result<(), RemoteError> + 'w;

/// Copies rows into a table.
fn copy(
    batch: &mut Transaction<'_>,
    database: &Database,
    into: &str,
    types: &[Type],
    rows: impl FnOnce(&mut WriteRow<'_>) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    let writer = batch
        .copy_in(into)
        .map_err(|error| database.failure(&error))?;
    let mut writer = BinaryCopyInWriter::new(writer, types);
    rows(&mut |row| writer.write(row).map_err(|error| database.failure(&error)))?;
    writer
        .finish()
        .map(|_| ())
        .map_err(|error| database.failure(&error))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the number of the locks of a collection.
fn lock_number(schema: &str) -> i32 {
    let hash = blake3::hash(format!("ragscope/{schema}").as_bytes());
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&hash.as_bytes()[..4]);
    i32::from_le_bytes(bytes)
}

/// Returns the statements that create the tables.
fn tables(schema: &str, width: u32) -> String {
    format!(
        "create schema if not exists {schema};
         create table {schema}.meta (version integer not null, embedder text not null, width integer not null);
         create table {schema}.part (number integer primary key, name text not null unique, card text not null);
         create table {schema}.document (id bigint primary key, part integer not null, path text not null,
             key text not null, entry text not null, chunks integer not null, live boolean not null,
             unique (part, path, live));
         create table {schema}.chunk (id bigint primary key, document bigint not null, body text not null);
         create table {schema}.vector (id bigint primary key, v halfvec({width}) not null);
         create table {schema}.staged_vector (id bigint primary key, v halfvec not null);
         create table {schema}.posting (word text collate \"C\" not null, bucket bigint not null,
             count integer not null, data bytea not null, primary key (word, bucket));
         create index posting_bucket on {schema}.posting (bucket);"
    )
}
