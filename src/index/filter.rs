//! Limits a search to some documents of the index.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::manifest::DocumentEntry;
use crate::config::{FilteredDocument, Matcher};

/// The words of a phrase with their places in it, as documents in each language have them; none for
/// a text without words.
pub(super) type Phrase = BTreeSet<Vec<(usize, String)>>;

/// The documents and chunks that a search is limited to.
pub(super) struct Filter {
    /// Paths of the documents.
    pub documents: Vec<String>,
    /// The ids of the chunks, in ascending order.
    pub chunks: Arc<[u64]>,
    /// Whether each row of the vectors is one of the chunks, and perhaps of others as well: equal
    /// texts share a row.
    pub rows: Vec<bool>,
    /// Number of such rows.
    pub row_count: usize,
}

/// Returns whether a filter lets a document with this path in the corpus through.
pub(super) fn lets_through(matcher: &Matcher<'_>, path: &str, entry: &DocumentEntry) -> bool {
    matcher.lets_through(FilteredDocument {
        path,
        format: &entry.format,
        date: &date(entry),
    })
}

/// Returns the date of a document: the one that it gives itself or its file name has, otherwise
/// the day of its file's last change, here.
pub(super) fn date(entry: &DocumentEntry) -> String {
    if let Some(date) = &entry.metadata.date {
        return date.clone();
    }
    let seconds = i64::try_from(entry.times.modified_ns / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .map(|time| time.to_zoned(TimeZone::system()).date().to_string())
        .unwrap_or_default()
}
