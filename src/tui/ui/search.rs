//! The search in what has the keys.

/// A search, from the first letter until it is cleared.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// What is searched for; empty for nothing.
    pub needle: String,
    /// The row of the last match.
    pub match_row: Option<usize>,
}
