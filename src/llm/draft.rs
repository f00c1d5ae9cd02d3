//! Prompt lookup: a text that is written from sources often repeats them, so that the tokens that
//! followed the last ones before are a likely draft of the next ones. A draft is evaluated beside
//! the token in front of it, for little more than that token alone: the weights pass through the
//! memory once. Every token is sampled from its own row as it would be without a draft, and the
//! rest of a draft that was not met is dropped.

/// Tokens that must have stood together before, the longest first, and the most tokens that are
/// drafted after as many: a longer match is met more often.
const MATCHES: [(usize, usize); 2] = [(3, 8), (2, 3)];

/// Returns the tokens that followed where the end of a path stood before, the last such place.
pub(super) fn prompt_lookup(path: &[i32]) -> &[i32] {
    for (matched, drafted) in MATCHES {
        let Some(end) = path.len().checked_sub(matched) else {
            continue;
        };
        let (before, tail) = path.split_at(end);
        let stood = before.windows(matched).rposition(|window| window == tail);
        if let Some(at) = stood {
            let from = at + matched;
            return &path[from..path.len().min(from + drafted)];
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::prompt_lookup;

    #[test]
    fn the_longest_match_is_continued_where_it_stood_last() {
        let cases: [(&[i32], &[i32]); 6] = [
            (&[], &[]),
            (&[1, 2], &[]),
            (&[1, 2, 3, 4, 5], &[]),
            (
                &[1, 2, 3, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3],
                &[9, 9, 9, 9, 9, 9, 9, 1],
            ),
            (
                &[5, 1, 2, 7, 6, 1, 2, 8, 5, 1, 2],
                &[7, 6, 1, 2, 8, 5, 1, 2],
            ),
            (&[1, 2, 7, 1, 2, 8, 4, 1, 2], &[8, 4, 1]),
        ];
        for (path, draft) in cases {
            assert_eq!(prompt_lookup(path), draft, "{path:?}");
        }
    }
}
