//! Finding entries by a few of their letters.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Returns the entries whose words match the typed text, best match first: the one with this name,
/// which stands before a colon, then those whose names begin like it; without text, all in order.
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

    let name = typed.trim().to_lowercase();
    let mut scored: Vec<(_, T)> = entries
        .filter_map(|entry| {
            let words = words(&entry);
            let score = pattern.score(Utf32Str::new(&words, &mut letters), &mut matcher)?;
            let of_entry = words.split(": ").next().unwrap_or_default().to_lowercase();
            let rank = (of_entry == name, of_entry.starts_with(&name), score);
            Some((Reverse(rank), entry))
        })
        .collect();
    // stable: equals keep their order
    scored.sort_by_key(|(rank, _)| *rank);
    scored.into_iter().map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_with_this_name_comes_first_then_those_that_begin_with_it() {
        let names = [
            "retriever.kind",
            "retriever.keep: hits",
            "retriever.k: chunks",
        ];
        let first = |typed: &str| {
            let found = matching(typed, names.into_iter(), |name| (*name).to_owned());
            found.first().copied()
        };
        assert_eq!(first("retriever.k"), Some("retriever.k: chunks"));
        assert_eq!(first("retriever.ke"), Some("retriever.keep: hits"));
        assert_eq!(first(""), Some("retriever.kind"));
        let models = ["measure context: the model", "models: choose a model"];
        let found = matching("model", models.into_iter(), |name| (*name).to_owned());
        assert_eq!(found[0], models[1]);
    }
}
