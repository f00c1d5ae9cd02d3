use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The sign in front of a block of code, and behind it.
pub const FENCE: &str = "```";

/// Returns whether a text ends inside of a block of code.
pub fn ends_in_code(text: &str) -> bool {
    !text.matches(FENCE).count().is_multiple_of(2)
}

/// Returns the words of tokens, with the white space around them and the tokens of each. A word
/// begins with white space; what is white space alone belongs to the word that it precedes.
pub fn group_words<T>(tokens: &[T], text: impl Fn(&T) -> &str) -> Vec<(String, Vec<&T>)> {
    let mut groups: Vec<(String, Vec<&T>)> = Vec::new();
    for token in tokens {
        let begins_word = text(token).starts_with(char::is_whitespace);
        match groups.last_mut() {
            Some((word, group)) if !begins_word || word.trim().is_empty() => {
                word.push_str(text(token));
                group.push(token);
            }
            Some(_) | None => groups.push((text(token).to_owned(), vec![token])),
        }
    }
    groups
}

/// Returns text as a part of an address: every byte is escaped but letters, digits and those kept.
pub fn percent_encode(text: &str, kept: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Returns text that is safe to show: escape sequences and control characters of documents, file
/// names and model output become visible signs, so that they never control the terminal. Line ends
/// and tabs stay.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_harmful) {
        let shown = |c: char| if is_harmful(c) { visible(c) } else { Some(c) };
        Cow::Owned(text.chars().filter_map(shown).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns whether a terminal would do something else with a character than to show it: a control
/// character, a mark that changes the direction of text and so can make a line look like another
/// one, a line end or hyphen whose cells terminals count differently, and a tag that nobody sees.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(
            c,
            SOFT_HYPHEN
                | '\u{61c}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Shows where a word may be divided, and nothing where it is not.
const SOFT_HYPHEN: char = '\u{ad}';

/// Returns the Unicode picture of a control character or line end, a replacement sign for the rest;
/// `None` for a soft hyphen.
fn visible(c: char) -> Option<char> {
    match u32::from(c) {
        // Unicode's pictures of control characters, in the same order
        code @ 0..=0x1f => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        0x2028 | 0x2029 => Some('\u{2424}'),
        _ if c == SOFT_HYPHEN => None,
        _ => Some(char::REPLACEMENT_CHARACTER),
    }
}

/// Returns the value that `--json` prints: through its text, in which a number has the digits of
/// its own type.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn json_value(value: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(value)?)
}

/// Writes the characters of JSON that a terminal would act on as escapes. They only occur in its
/// strings, so the value stays the same.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_raw = |c: char| c != '\n' && c != '\t' && is_harmful(c);
    if !json.chars().any(is_raw) {
        return Cow::Borrowed(json);
    }

    let mut escaped = String::with_capacity(json.len() + 16);

    for c in json.chars() {
        if is_raw(c) {
            // JSON escapes a character beyond U+FFFF as two halves (RFC 8259, section 7)
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }

    Cow::Owned(escaped)
}

/// The signs of which rules are drawn: between the rows of a table, below a heading.
const RULES: &[char] = &[
    '-', '=', '*', '~', '_', '+', '#', '^', '.', '`', '─', '━', '═',
];
/// Longer runs of one sign say no more than one of this length.
const MAX_RULE: usize = 3;

/// Returns a text as an embedder reads it: it takes each sign of a rule for a word, so that a table
/// drawn with signs would fill a chunk with its lines.
pub fn with_short_rules(text: &str) -> Cow<'_, str> {
    let kept = || {
        let mut run = (' ', 0);
        text.chars().filter(move |c| {
            run = if *c == run.0 {
                (*c, run.1 + 1)
            } else {
                (*c, 1)
            };
            run.1 <= MAX_RULE || !RULES.contains(c)
        })
    };
    if kept().count() == text.chars().count() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept().collect())
}

#[cfg(test)]
mod tests {
    use super::{escape_json, harmless, with_short_rules};

    #[test]
    fn rules_are_short() {
        for (text, expected) in [
            (
                "+-----+----+\n| 11  | Failed |",
                "+---+---+\n| 11  | Failed |",
            ),
            ("Exit codes\n**********\nAll", "Exit codes\n***\nAll"),
            ("a --- b 10000000 zzzzz", "a --- b 10000000 zzzzz"),
            ("═════ 7 ═════", "═══ 7 ═══"),
        ] {
            assert_eq!(with_short_rules(text), expected);
        }
    }

    #[test]
    fn control_characters_become_visible() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "␛[31mred"),
            ("a\rb\u{7f}\u{9b}1m", "a␍b␡\u{fffd}1m"),
            ("\u{202e}abc", "\u{fffd}abc"),
            ("soft\u{ad}ware", "software"),
            ("a\u{2028}b\u{2029}", "a\u{2424}b\u{2424}"),
            ("\u{200e}\u{e0041}", "\u{fffd}\u{fffd}"),
        ];
        for (text, expected) in cases {
            assert_eq!(harmless(text), expected);
        }
    }

    #[test]
    fn json_with_escapes_is_the_same_value() {
        let text = "a\u{9b}31m\u{202e}\u{7f}\u{e0041}\u{ad}ä\n";
        let json = serde_json::to_string(text).expect("JSON");
        let escaped = escape_json(&json);
        assert!(
            escaped.chars().all(|c| c == 'ä' || c.is_ascii_graphic()),
            "{escaped}"
        );
        let read: String = serde_json::from_str(&escaped).expect("JSON");
        assert_eq!(read, text);
    }
}
