//! Limits a search to some documents of the index.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::generation::Generation;
use super::manifest::DocumentEntry;
use super::names::Names;
use crate::config::{DocumentFilter, FilteredDocument};

/// The documents and chunks that a search is limited to.
pub(super) struct Filter {
    /// Paths of the documents.
    pub documents: Vec<String>,
    /// Whether each row of the vectors is one of their chunks.
    pub rows: Vec<bool>,
    /// Number of such rows.
    pub row_count: usize,
}

impl Filter {
    /// Finds the documents that a filter lets through, by their names in the corpus; `None` for an
    /// empty filter.
    pub fn new(
        generation: &Generation,
        names: &Names,
        filter: &DocumentFilter,
    ) -> tantivy::Result<Option<Self>> {
        if filter.is_empty() {
            return Ok(None);
        }

        let matcher = filter.matcher();
        let lets_through = |path: &str, entry: &DocumentEntry| {
            matcher.lets_through(FilteredDocument {
                path: &names.document(path),
                format: &entry.format,
                date: &date(entry),
            })
        };
        let documents: Vec<String> = generation
            .manifest
            .documents
            .iter()
            .filter(|(path, entry)| lets_through(path, entry))
            .map(|(path, _)| path.clone())
            .collect();

        let mut rows = vec![false; generation.manifest.vectors.rows as usize];
        for id in generation.lexical.ids_in(&documents)? {
            if let Some(chunk) = generation.chunk(id) {
                rows[chunk.row as usize] = true;
            }
        }
        Ok(Some(Self {
            row_count: rows.iter().filter(|is_used| **is_used).count(),
            documents,
            rows,
        }))
    }
}

/// Returns the date of a document: the one that it gives itself, otherwise the day of its file's last
/// change, here.
pub(super) fn date(entry: &DocumentEntry) -> String {
    if let Some(date) = &entry.metadata.date {
        return date.clone();
    }
    let seconds = i64::try_from(entry.modified_ns / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .map(|time| time.to_zoned(TimeZone::system()).date().to_string())
        .unwrap_or_default()
}
