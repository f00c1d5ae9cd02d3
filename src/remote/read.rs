//! A collection as a reader sees it: one snapshot of the database.

use std::collections::HashMap;
use std::fmt::Display;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Row, Transaction};

use super::connection::{AtDatabase as _, Database};
use super::postings::{self, Block, CorpusCounts};
use super::types::{Half, Widened};
use super::values::{
    Allowed, ChunkWithEntry, CorpusHead, FORMAT, MAX_EXACT_VECTORS, Nearest, PartCard, ScoredId,
    StoredDocument,
};
use crate::event::{ChunkText, Problem, WorkError};

/// Time after which a search is given up.
const TIMEOUT_MS: u32 = 60_000;
/// Rows that a cursor returns at a time.
const FETCHED_ROWS: i32 = 256;
/// pgvector takes no larger candidate list.
const MAX_EF: usize = 1000;

/// A snapshot of a database. Ids of chunks are those of the collection, paths of documents those
/// inside their part.
pub struct Snapshot<'a> {
    transaction: Transaction<'a>,
    database: &'a Database,
    head: CorpusHead,
}

impl<'a> Snapshot<'a> {
    /// Reads what can be searched; nothing where there is no collection yet.
    pub(super) fn new(
        mut transaction: Transaction<'a>,
        database: &'a Database,
    ) -> Result<Self, WorkError> {
        let schema = &database.schema;

        // `local` ends with the transaction: a connection may serve another reader next
        let settings = format!("set local statement_timeout = {TIMEOUT_MS}");
        transaction.batch_execute(&settings).at(database)?;

        let asked = format!(
            "select version, embedder, width, card from {schema}.meta left join {schema}.part on true order by number"
        );
        let head = match transaction.query(&asked, &[]) {
            Ok(rows) => head(&rows, database)?,
            Err(error) if is_absent(&error) => CorpusHead::default(),
            Err(error) => return Err(database.failure(&error)),
        };

        Ok(Self {
            transaction,
            database,
            head,
        })
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, WorkError> {
        // without a part there may be no tables, and there is nothing in them
        if self.head.parts.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction.query(statement, values).at(self.database)
    }

    /// Returns the error of an entry that is not what this program writes.
    pub fn damage(&self, reason: impl Display) -> WorkError {
        self.database.damage(reason)
    }

    fn schema(&self) -> &'a str {
        &self.database.schema
    }

    /// Compares the vectors of these chunks, or all, one by one.
    fn exactly(
        &mut self,
        vector: &[f32],
        wanted: &Nearest<'_>,
    ) -> Result<Vec<ScoredId>, WorkError> {
        let schema = self.schema();
        let count = wanted.count as i64;
        // the sum keeps the graph out
        let order = "order by (v <#> $1) + 0, id limit $2";

        let rows = match wanted.allowed {
            None => {
                let asked =
                    format!("select id, (v <#> $1) + 0 as distance from {schema}.vector {order}");
                self.query(&asked, &[&Half(vector), &count])?
            }
            Some(allowed) => {
                let starts: Vec<i64> = allowed.chunks.iter().map(|one| one.start as i64).collect();
                let ends: Vec<i64> = allowed.chunks.iter().map(|one| one.end as i64).collect();
                let asked = format!(
                    "select id, (v <#> $1) + 0 as distance from unnest($3::bigint[], $4::bigint[]) as allowed (first, after) \
                     join {schema}.vector on id >= first and id < after {order}"
                );
                self.query(&asked, &[&Half(vector), &count, &starts, &ends])?
            }
        };

        Ok(rows.iter().map(read_scored).collect())
    }

    /// Walks the graph until enough of the allowed chunks are found.
    fn by_graph(
        &mut self,
        vector: &[f32],
        wanted: &Nearest<'_>,
    ) -> Result<Vec<ScoredId>, WorkError> {
        let schema = self.schema();
        let ef = wanted.ef.max(wanted.count).clamp(1, MAX_EF);
        let settings = format!(
            "set local hnsw.ef_search = {ef}; set local hnsw.iterative_scan = strict_order; \
             set local enable_seqscan = off; set local enable_sort = off"
        );
        self.transaction
            .batch_execute(&settings)
            .at(self.database)?;
        let asked =
            format!("select id, v <#> $1 as distance from {schema}.vector order by v <#> $1");
        let Some(allowed) = wanted.allowed else {
            let asked = format!("{asked} limit {}", wanted.count);
            let rows = self.query(&asked, &[&Half(vector)])?;
            return Ok(rows.iter().map(read_scored).collect());
        };

        let mut found = Vec::new();
        self.each_row(&asked, &[&Half(vector)], |row| {
            let near = read_scored(row);
            found.extend(Some(near).filter(|near| allowed.contains(near.chunk)));
            Ok(found.len() < wanted.count)
        })?;
        Ok(found)
    }

    /// Shows the rows of a statement one by one, until `see` returns `false`.
    fn each_row(
        &mut self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
        mut see: impl FnMut(&Row) -> Result<bool, WorkError>,
    ) -> Result<(), WorkError> {
        let portal = self.transaction.bind(statement, values).at(self.database)?;
        loop {
            let rows = self.transaction.query_portal(&portal, FETCHED_ROWS);
            let rows = rows.at(self.database)?;
            for row in &rows {
                if !see(row)? {
                    return Ok(());
                }
            }
            if rows.len() < FETCHED_ROWS as usize {
                return Ok(());
            }
        }
    }

    pub fn head(&self) -> &CorpusHead {
        &self.head
    }

    /// Returns every document.
    pub fn documents(&mut self) -> Result<Vec<StoredDocument>, WorkError> {
        let schema = self.schema();
        let asked = format!(
            "select id, part, path, key, entry, chunks from {schema}.document where live order by id"
        );
        let rows = self.query(&asked, &[])?;
        Ok(rows.iter().map(document).collect())
    }

    /// Returns the chunks of a document, in its order.
    pub fn document(&mut self, part: u64, path: &str) -> Result<Vec<ChunkText>, WorkError> {
        let schema = self.schema();
        let asked = format!(
            "select chunk.body from {schema}.document join {schema}.chunk \
             on chunk.id >= document.id and chunk.id < document.id + document.chunks \
             where part = $1 and path = $2 and live order by chunk.id"
        );
        let rows = self.query(&asked, &[&(part as i32), &path])?;
        rows.iter().map(|row| chunk(row, self.database)).collect()
    }

    /// Returns the best chunks for any form of the words with their BM25 scores, best first.
    pub fn by_words(
        &mut self,
        words: &[Vec<String>],
        count: usize,
        allowed: Option<&Allowed>,
    ) -> Result<Vec<ScoredId>, WorkError> {
        let schema = self.schema();
        let asked =
            format!("select word, bucket, count, data from {schema}.posting where word = any($1)");
        let mut of_words: HashMap<String, Vec<Block>> = HashMap::new();
        let forms: Vec<&String> = words.iter().flatten().collect();
        for row in self.query(&asked, &[&forms])? {
            let block = Block {
                bucket: row.get::<_, i64>(1) as u64,
                count: row.get::<_, i32>(2) as u32,
                data: row.get(3),
            };
            of_words.entry(row.get(0)).or_default().push(block);
        }

        let parts = &self.head.parts;
        let counts = CorpusCounts {
            chunks: parts.iter().map(|part| part.chunks).sum(),
            words: parts.iter().map(|part| part.words).sum(),
        };
        // in the order of the query, so that the sums of scores are the same every time
        let blocks = words.iter().map(|forms| {
            let of_forms = forms.iter().filter_map(|form| of_words.remove(form));
            of_forms.flatten().collect()
        });
        let blocks: Vec<Vec<Block>> = blocks.collect();
        Ok(postings::best(&blocks, counts, count, allowed))
    }

    /// Returns the chunks with the highest cosine similarity, best first.
    pub fn by_vector(
        &mut self,
        vector: &[f32],
        wanted: Nearest<'_>,
    ) -> Result<Vec<ScoredId>, WorkError> {
        let all: u64 = self.head.parts.iter().map(|part| part.chunks).sum();
        let compared = wanted.allowed.map_or(all, |allowed| allowed.count);
        if wanted.is_exact || compared <= MAX_EXACT_VECTORS {
            self.exactly(vector, &wanted)
        } else {
            self.by_graph(vector, &wanted)
        }
    }

    /// Returns chunks with the entries of their documents, in any order.
    pub fn chunks(&mut self, ids: &[u64]) -> Result<Vec<ChunkWithEntry>, WorkError> {
        let schema = self.schema();
        let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();

        let asked = format!(
            "select body, entry from {schema}.chunk join {schema}.document on document.id = chunk.document \
             where chunk.id = any($1)"
        );
        let rows = self.query(&asked, &[&ids])?;

        let read = |row: &Row| {
            Ok(ChunkWithEntry {
                text: chunk(row, self.database)?,
                entry: row.get("entry"),
            })
        };
        rows.iter().map(read).collect()
    }

    /// Returns the unit vectors of chunks.
    pub fn vectors(&mut self, ids: &[u64]) -> Result<HashMap<u64, Vec<f32>>, WorkError> {
        let schema = self.schema();
        let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
        let asked = format!("select id, v from {schema}.vector where id = any($1)");
        let rows = self.query(&asked, &[&ids])?;
        let vector = |row: &Row| {
            let id: i64 = row.get(0);
            let Widened(numbers) = row.get(1);
            (id as u64, numbers)
        };
        Ok(rows.iter().map(vector).collect())
    }

    /// Shows every chunk, by id, until `see` returns `false`.
    pub fn each_chunk(&mut self, mut see: impl FnMut(ChunkText) -> bool) -> Result<(), WorkError> {
        if self.head.parts.is_empty() {
            return Ok(());
        }

        let schema = self.schema();
        let asked = format!(
            "select body from {schema}.chunk join {schema}.document on document.id = chunk.document \
             where live order by chunk.id"
        );
        let database = self.database;
        self.each_row(&asked, &[], |row| Ok(see(chunk(row, database)?)))
    }
}

/// Reads the head of a collection from the rows of its parts.
fn head(rows: &[Row], database: &Database) -> Result<CorpusHead, WorkError> {
    let mut head = CorpusHead::default();

    for row in rows {
        check_format(i64::from(row.get::<_, i32>("version")), database)?;
        head.embedder = row.get("embedder");
        head.width = row.get::<_, i32>("width") as u32;

        let Some(card) = row.get::<_, Option<&str>>("card") else {
            continue;
        };

        let card: PartCard = serde_json::from_str(card).at(database)?;
        if card.generation > 0 {
            head.parts.push(card);
        }
    }

    Ok(head)
}

/// Checks the format of a collection.
pub(super) fn check_format(found: i64, database: &Database) -> Result<(), Problem> {
    if found == FORMAT {
        return Ok(());
    }
    let Database { schema, place, .. } = database;
    Err(Problem::new(
        format!(
            "the collection {schema} at {place} has format {found} and this program reads {FORMAT}"
        ),
        "use the ragscope that wrote it, or set index.collection to a new name and index again",
    ))
}

/// Reads a chunk.
fn chunk(row: &Row, database: &Database) -> Result<ChunkText, WorkError> {
    serde_json::from_str(row.get("body")).at(database)
}

/// Reads a document.
pub(super) fn document(row: &Row) -> StoredDocument {
    StoredDocument {
        part: row.get::<_, i32>("part") as u64,
        path: row.get("path"),
        key: row.get("key"),
        entry: row.get("entry"),
        count: row.get::<_, i32>("chunks") as u32,
        first_chunk: row.get::<_, i64>("id") as u64,
    }
}

fn read_scored(row: &Row) -> ScoredId {
    ScoredId {
        chunk: row.get::<_, i64>(0) as u64,
        // pgvector gives the negative inner product, which index scans can order by
        score: -row.get::<_, f64>(1) as f32,
    }
}

/// Returns whether a statement failed because the collection does not exist.
fn is_absent(error: &postgres::Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME)
    )
}
