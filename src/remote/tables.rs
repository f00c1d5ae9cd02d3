//! The tables of a collection, and the lock under which they are created.

use postgres::error::SqlState;
use postgres::{Client, Transaction};

use super::connection::{AtDatabase as _, Database};
use crate::event::WorkError;

/// The number of the lock under which tables are created and parts are numbered.
const SETUP_LOCK: i32 = -1;

/// Begins a transaction that one writer of the collection has at a time.
pub(super) fn setup<'c>(
    client: &'c mut Client,
    database: &Database,
) -> Result<Transaction<'c>, WorkError> {
    let mut setup = client.transaction().at(database)?;
    let lock = "select pg_advisory_xact_lock($1, $2)";
    let number = lock_number(&database.schema);
    setup.execute(lock, &[&number, &SETUP_LOCK]).at(database)?;
    Ok(setup)
}

/// Adds pgvector to the database.
pub(super) fn add_extension(
    setup: &mut Transaction<'_>,
    database: &Database,
) -> Result<(), WorkError> {
    let added = setup.batch_execute("create extension if not exists vector");

    added.map_err(|error| match error.code() {
        Some(
            &SqlState::INSUFFICIENT_PRIVILEGE
            | &SqlState::FEATURE_NOT_SUPPORTED
            | &SqlState::UNDEFINED_FILE
            | &SqlState::INVALID_PARAMETER_VALUE,
        ) => {
            let place = &database.place;
            let reason = error.as_db_error().map_or("", |error| error.message());
            WorkError::new(
                format!("the database at {place} has no extension `vector` ({reason})"),
                "install pgvector on the server and run CREATE EXTENSION vector as its administrator",
            )
        }
        _ => database.failure(&error),
    })
}

/// Returns the number of the locks of a collection.
pub(super) fn lock_number(schema: &str) -> i32 {
    let hash = blake3::hash(format!("ragscope/{schema}").as_bytes());
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&hash.as_bytes()[..4]);
    i32::from_le_bytes(bytes)
}

/// Returns the statements that create the tables.
pub(super) fn tables(schema: &str, width: u32) -> String {
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
