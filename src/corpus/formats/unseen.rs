//! The parts of a text of markup that a reader of it does not see: the marks between the letters of
//! a word that show where a line may break, also where it does, and the data of pictures.

use std::ops::Range;

use crate::corpus::terminal::is_invisible;

/// A longer reference is none.
const MAX_REFERENCE_BYTES: usize = 30;
/// Maximum size of the type in front of the data of a picture.
const MAX_TYPE_BYTES: usize = 100;
/// Data of another type that is longer says nothing to a reader, either.
const MAX_DATA_BYTES: usize = 200;
/// References to characters that nobody sees.
#[rustfmt::skip]
const REFERENCES: [&str; 9] = [
    "shy", "ZeroWidthSpace", "NegativeVeryThinSpace", "NegativeThinSpace", "NegativeMediumSpace",
    "NegativeThickSpace", "NoBreak", "lrm", "rlm",
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
        let length = mark.map(|mark| mark.len());
        let length = length.or_else(|| reference_length(rest));
        found.extend(length.map(|length| at..at + length));
        // a backslash may escape another
        let first = rest.chars().next().map_or(1, char::len_utf8);
        at += length.unwrap_or(if rest.starts_with("\\\\") { 2 } else { first });
    }
    found
}

/// Returns where a line has verbatim text between two of a sign, which begin behind no letter.
pub(super) fn verbatim_parts(line: &str, sign: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut open = None;
    for (at, _) in line.match_indices(sign) {
        match open.take() {
            Some(start) => parts.push(start..at),
            None if line[..at].ends_with(char::is_alphanumeric) => {}
            None => open = Some(at),
        }
    }
    parts
}

/// Returns whether a position is in one of some parts, which are in order.
pub(super) fn is_within(parts: &[Range<usize>], at: usize) -> bool {
    let after = parts.partition_point(|part| part.start <= at);
    after > 0 && at < parts[after - 1].end
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
        let length = data.len() - data.trim_start_matches(is_data).len();
        let is_picture = text[start..].starts_with("data:image/") || length > MAX_DATA_BYTES;
        is_picture.then_some(start..at + MARK.len() + length)
    })
}

/// Returns where a soft hyphen ends a line inside of a word, with the white space to its next
/// letter.
pub(super) fn broken_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    const HYPHEN: char = '\u{ad}';
    text.match_indices(HYPHEN).filter_map(|(at, hyphen)| {
        let after = &text[at + hyphen.len()..];
        let line_end = after.trim_start_matches([' ', '\t', '\r']);
        let next = line_end.strip_prefix('\n')?.trim_start_matches([' ', '\t']);
        let is_in_word =
            text[..at].ends_with(char::is_alphabetic) && next.starts_with(char::is_alphabetic);
        is_in_word.then_some(at..text.len() - next.len())
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
    fn words_broken_by_soft_hyphens() {
        let text = "A co\u{ad}\r\n  ordinator\u{ad}\n\nand a light\u{ad}house\u{ad}\n1 day";
        let expected = "A coordinator\u{ad}\n\nand a light\u{ad}house\u{ad}\n1 day";
        assert_eq!(without(text, broken_words(text)), expected);
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
            (
                "`data:text/plain;base64,SGVsbG8=`",
                "`data:text/plain;base64,SGVsbG8=`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(without(text, picture_data(text)), expected);
        }
    }
}
