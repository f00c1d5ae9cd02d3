//! The postings of a part as they are published.

use std::collections::{BTreeMap, BTreeSet};

use postgres::Transaction;
use postgres::types::Type;

use super::connection::{AtDatabase as _, Database};
use super::postings::{self, BUCKET_CHUNKS, BlockBuilder};
use super::rows::copy;
use super::values::{ChunkWords, PartChange, StoredDocument};
use crate::event::WorkError;

/// Replaces the postings of every bucket in which chunks are removed or added.
pub(super) fn publish_words(
    publishing: &mut Transaction<'_>,
    change: PartChange<'_>,
    database: &Database,
) -> Result<(), WorkError> {
    let schema = &database.schema;
    let moved = change.removed.iter().chain(&change.added);
    let touched: BTreeSet<u64> = moved
        .flat_map(|one| postings::bucket(one.first_chunk)..=postings::bucket(one.chunks().end))
        .collect();
    let buckets: Vec<i64> = touched.iter().map(|bucket| *bucket as i64).collect();
    let clear = format!("delete from {schema}.posting where bucket = any($1)");
    publishing.execute(&clear, &[&buckets]).at(database)?;

    let mut bucket_words = BucketWords {
        documents: change
            .after
            .iter()
            .map(|one| (one.first_chunk, one))
            .collect(),
        words: change.words,
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
    words: &'a mut dyn FnMut(&StoredDocument) -> Result<Vec<ChunkWords>, WorkError>,
    /// The document that was analysed last: one that reaches into the next bucket is analysed once.
    last: Option<(u64, Vec<ChunkWords>)>,
}

impl BucketWords<'_> {
    fn build(&mut self, bucket: u64) -> Result<BlockBuilder, WorkError> {
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
