//! The parts of a text of markup that a reader of it does not see: the marks between the letters of
//! a word that show where a line may break, and the data of pictures.

use std::ops::Range;

use crate::corpus::terminal::is_invisible;

/// A longer reference is none.
const MAX_REFERENCE_BYTES: usize = 30;
/// Maximum size of the type in front of the data of a picture.
const MAX_TYPE_BYTES: usize = 100;
/// References to characters that nobody sees.
const REFERENCES: [&str; 9] = [
    "shy",
    "ZeroWidthSpace",
    "NegativeVeryThinSpace",
    "NegativeThinSpace",
    "NegativeMediumSpace",
    "NegativeThickSpace",
    "NoBreak",
    "lrm",
    "rlm",
];

/// Returns the length of the reference to a character that nobody sees (`&shy;`, `&#8203;`) with
/// which a text begins.
pub(super) fn reference_length(text: &str) -> Option<usize> {
    let head = &text[..text.floor_char_boundary(MAX_REFERENCE_BYTES)];
    let (name, _) = head.strip_prefix('&')?.split_once(';')?;
    let number = name.strip_prefix('#').map(|number| {
        let hexadecimal = number.strip_prefix(['x', 'X']);
        hexadecimal.map_or_else(|| number.parse(), |digits| u32::from_str_radix(digits, 16))
    });
    let character = number.and_then(Result::ok).and_then(char::from_u32);
    let is_unseen = character.is_some_and(is_invisible) || REFERENCES.contains(&name);
    is_unseen.then_some(name.len() + 2)
}

/// Returns where the marks of a line are: references, and those of its markup.
pub(super) fn unseen_marks(line: &str, marks: &[&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let mark = marks.iter().find(|mark| rest.starts_with(**mark));
        let length = mark
            .map(|mark| mark.len())
            .or_else(|| reference_length(rest));
        found.extend(length.map(|length| at..at + length));
        // a backslash may escape another
        let first = rest.chars().next().map_or(1, char::len_utf8);
        at += length.unwrap_or(if rest.starts_with("\\\\") { 2 } else { first });
    }
    found
}

/// Returns where the data of pictures is: `data:image/png;base64,iVBO…`.
pub(super) fn picture_data(text: &str) -> impl Iterator<Item = Range<usize>> {
    const MARK: &str = ";base64,";
    text.match_indices(MARK).filter_map(|(at, _)| {
        let begin = text.ceil_char_boundary(at.saturating_sub(MAX_TYPE_BYTES));
        let head = text[begin..at].rsplit(char::is_whitespace).next()?;
        let start = at - (head.len() - head.rfind("data:")?);
        let data = &text[at + MARK.len()..];
        let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=%-_".contains(c);
        let end = text.len() - data.trim_start_matches(is_data).len();
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str, parts: impl Iterator<Item = Range<usize>>) -> String {
        let mut kept = String::new();
        let mut at = 0;
        for part in parts {
            kept += &text[at..part.start];
            at = part.end;
        }
        kept + &text[at..]
    }

    #[test]
    fn marks_within_words() {
        let cases = [
            ("light&shy;house", "lighthouse"),
            ("light&#173;ho&#xAD;use&#8203;", "lighthouse"),
            ("li{zwsp}ght\\-house \\\\- é", "lighthouse \\\\- é"),
            ("a &amp; b &#x; &", "a &amp; b &#x; &"),
        ];
        for (line, expected) in cases {
            let marks = unseen_marks(line, &["\\-", "{zwsp}"]);
            assert_eq!(without(line, marks.into_iter()), expected);
        }
    }

    #[test]
    fn data_of_pictures() {
        let cases = [
            ("![a](data:image/png;base64,iVBO/+w==) b", "![a]() b"),
            (
                "[1]: <data:image/svg+xml;charset=utf-8;base64,QUJD>",
                "[1]: <>",
            ),
            (
                "what ;base64, means, or data: x;base64,AA",
                "what ;base64, means, or data: x;base64,AA",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(without(text, picture_data(text)), expected);
        }
    }
}
