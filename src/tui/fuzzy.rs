//! Finding entries by a few of their letters.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Returns the entries whose words match the typed text, best match first; without text, all in
/// order.
pub fn matching<T>(
    typed: &str,
    entries: impl Iterator<Item = T>,
    words: impl Fn(&T) -> String,
) -> Vec<T> {
    if typed.trim().is_empty() {
        return entries.collect();
    }

    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut letters = Vec::new();

    let mut scored: Vec<(u32, T)> = entries
        .filter_map(|entry| {
            let words = words(&entry);
            let score = pattern.score(Utf32Str::new(&words, &mut letters), &mut matcher)?;
            Some((score, entry))
        })
        .collect();
    // stable: equals keep their order
    scored.sort_by_key(|(score, _)| Reverse(*score));
    scored.into_iter().map(|(_, entry)| entry).collect()
}
