//! Rows of documents, chunks and vectors as they are added and deleted.

use postgres::Transaction;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{ToSql, Type};

use super::connection::{AtDatabase as _, Database};
use super::types::Half;
use super::values::{SentDocument, StoredDocument};
use crate::event::WorkError;

/// Adds staged documents without their chunks.
pub(super) fn add_documents(
    batch: &mut Transaction<'_>,
    documents: &[SentDocument],
    database: &Database,
) -> Result<(), WorkError> {
    let schema = &database.schema;
    let add = format!(
        "insert into {schema}.document (id, part, path, key, entry, chunks, live) \
         values ($1, $2, $3, $4, $5, $6, false)"
    );
    let add = batch.prepare(&add).at(database)?;

    for SentDocument { stored, .. } in documents {
        let values: &[&(dyn ToSql + Sync)] = &[
            &(stored.first_chunk as i64),
            &(stored.part as i32),
            &stored.path,
            &stored.key,
            &stored.entry,
            &(stored.count as i32),
        ];
        batch.execute(&add, values).at(database)?;
    }

    Ok(())
}

/// Adds the texts of the chunks of documents.
pub(super) fn add_chunks(
    batch: &mut Transaction<'_>,
    documents: &[SentDocument],
    database: &Database,
) -> Result<(), WorkError> {
    let schema = &database.schema;
    let types = [Type::INT8, Type::INT8, Type::TEXT];
    let into = format!("copy {schema}.chunk (id, document, body) from stdin binary");

    copy(batch, database, &into, &types, |write| {
        for SentDocument { stored, chunks } in documents {
            let document = stored.first_chunk as i64;
            for chunk in chunks {
                write(&[&(chunk.text.id as i64), &document, &json(&chunk.text)])?;
            }
        }
        Ok(())
    })
}

/// Adds the vectors of the chunks of documents, if there are any.
pub(super) fn add_vectors(
    batch: &mut Transaction<'_>,
    documents: &[SentDocument],
    database: &Database,
) -> Result<(), WorkError> {
    let chunks = documents.iter().flat_map(|document| &document.chunks);
    let mut chunks = chunks.filter(|chunk| !chunk.vector.is_empty()).peekable();
    if chunks.peek().is_none() {
        return Ok(());
    }

    let schema = &database.schema;
    // the type `halfvec` has another number in every database
    let asked = format!("select id, v from {schema}.staged_vector");
    let prepared = batch.prepare(&asked).at(database)?;
    let columns = prepared.columns().iter();
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
pub(super) fn delete(
    batch: &mut Transaction<'_>,
    documents: &[StoredDocument],
    vectors: &str,
    database: &Database,
) -> Result<(), WorkError> {
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
        batch.execute(&of_documents, &[&ids]).at(database)?;
    }

    let themselves = format!("delete from {schema}.document where id = any($1)");
    batch.execute(&themselves, &[&ids]).at(database)?;
    Ok(())
}

pub(super) type WriteRow<'w> = dyn FnMut(&[&(dyn ToSql + Sync)]) -> Result<(), WorkError> + 'w;

/// Copies rows into a table.
pub(super) fn copy(
    batch: &mut Transaction<'_>,
    database: &Database,
    into: &str,
    types: &[Type],
    rows: impl FnOnce(&mut WriteRow<'_>) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let writer = batch.copy_in(into).at(database)?;
    let mut writer = BinaryCopyInWriter::new(writer, types);

    rows(&mut |row| writer.write(row).at(database))?;

    writer.finish().at(database)?;
    Ok(())
}

/// Returns a value as text.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
