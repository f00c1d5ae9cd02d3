//! The search in the focused view.

/// A search, from the first letter until it is cleared.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The text to search for; empty for none.
    pub needle: String,
    /// The row of the last match.
    pub match_row: Option<usize>,
}
