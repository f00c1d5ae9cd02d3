//! One list out of several, fair to each.

use std::collections::HashSet;
use std::hash::Hash;

/// Returns the first item of every list, then the second of every list, and so on. An item whose
/// key an earlier one has is left out.
pub fn in_turn<'i, T, K: Eq + Hash>(lists: &[&'i [T]], key: impl Fn(&T) -> K) -> Vec<&'i T> {
    let turns = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let mut seen = HashSet::new();
    (0..turns)
        .flat_map(|turn| lists.iter().filter_map(move |list| list.get(turn)))
        .filter(|item| seen.insert(key(item)))
        .collect()
}
