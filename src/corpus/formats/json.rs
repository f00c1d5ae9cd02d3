//! JSON and JSON lines: a value is a line with its path (`scripts.build: tsc`), since a bracket
//! says nothing of where it is; an object in an array is a paragraph. Comments are kept. Any input
//! gives some text, and a file that ends early all that it has.

use super::format::{Extract, Format};
use crate::corpus::offsets::Traced;
use crate::corpus::outline::Heading;

#[rustfmt::skip]
pub(super) const FORMAT: Format = Format::for_lines(
    "JSON",
    &["json", "jsonl", "ndjson", "jsonc", "json5", "geojson", "webmanifest"],
    |source| extract(&source),
);

/// Number of keys in the path of a value, from the innermost one.
const PATH_KEYS: usize = 3;
/// Maximum size of a key in a path.
const MAX_KEY_BYTES: usize = 60;
/// Values of an array share a line up to this size.
const MAX_ARRAY_LINE_BYTES: usize = 400;
/// Keys of the outermost objects are headings.
const HEADING_LEVELS: usize = 2;

/// Returns the values of a text as lines with their paths.
pub(super) fn extract(source: &str) -> Extract {
    let mut lines = Lines::new(source);
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at = match bytes[at] {
            b'{' | b'[' => {
                lines.open(bytes[at] == b'{');
                at + 1
            }
            b'}' | b']' => {
                lines.close();
                at + 1
            }
            b',' => {
                lines.key = None;
                at + 1
            }
            b'"' => {
                let end = string_end(bytes, at + 1);
                lines.string(at + 1..end);
                end + 1
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = comment_end(source, at);
                lines.comment(at..end);
                end
            }
            byte if byte == b':' || byte.is_ascii_whitespace() => at + 1,
            _ => {
                let end = scalar_end(source, at);
                lines.scalar(at..end);
                end
            }
        };
    }

    Extract {
        headings: lines.headings,
        ..Extract::from_traced(lines.traced)
    }
}

type Part = std::ops::Range<usize>;

/// Returns where a string ends: at its quote, or with the file.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn comment_end(source: &str, at: usize) -> usize {
    let is_line = source[at..].starts_with("//");
    let mark = if is_line { "\n" } else { "*/" };
    let end = source[at..].find(mark).map(|end| at + end + mark.len());
    end.unwrap_or(source.len())
}

/// Returns the end of a number or word. Outside of an object or array, which is no JSON, that is
/// the end of the line.
fn scalar_end(source: &str, at: usize) -> usize {
    let is_end = |c: char| c.is_ascii_whitespace() || "{}[],:\"".contains(c);
    let first = source[at..].chars().next().map_or(1, char::len_utf8);
    let end = source[at + first..].find(is_end);
    end.map_or(source.len(), |end| at + first + end)
}

/// An open object or array.
struct Container {
    is_object: bool,
    /// Whether its key is in the path.
    has_key: bool,
    /// Whether its key is a heading.
    has_heading: bool,
}

/// The text of a file, line by line.
#[derive(Default)]
struct Lines<'a> {
    source: &'a str,
    traced: Traced,
    headings: Vec<Heading>,
    containers: Vec<Container>,
    /// The keys of the containers.
    path: Vec<String>,
    /// The key whose value comes next.
    key: Option<String>,
    /// Headings that begin with the next line; those without a title end a section.
    due: Vec<(u8, String)>,
    /// Line ends before the next line.
    line_ends: &'static str,
    /// Start of the line of the array whose values are being read.
    array_line: Option<usize>,
}

impl<'a> Lines<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            traced: Traced::with_capacity(source.len()),
            line_ends: "\n",
            ..Self::default()
        }
    }

    fn open(&mut self, is_object: bool) {
        let key = self.key.take();
        let has_key = key.is_some();
        let has_heading = has_key && self.path.len() < HEADING_LEVELS;
        if let Some(key) = key {
            if has_heading {
                self.due.push((self.path.len() as u8 + 1, key.clone()));
                self.line_ends = "\n\n";
            }
            self.path.push(key);
        } else if is_object {
            self.line_ends = "\n\n";
        }

        self.array_line = None;
        self.containers.push(Container {
            is_object,
            has_key,
            has_heading,
        });
    }

    fn close(&mut self) {
        self.key = None;
        self.array_line = None;
        let Some(container) = self.containers.pop() else {
            return;
        };
        if container.has_key {
            self.path.pop();
        }
        if container.has_heading {
            self.due.push((self.path.len() as u8 + 1, String::new()));
            self.line_ends = "\n\n";
        }
    }

    fn string(&mut self, part: Part) {
        let is_key = self.key.is_none() && self.containers.last().is_some_and(|c| c.is_object);
        if is_key {
            let mut key = String::new();
            unescape(self.source, part, |text, _| key.push_str(text));
            key.truncate(key.floor_char_boundary(MAX_KEY_BYTES));
            self.key = Some(key);
            return;
        }
        if self.source[part.clone()].trim().is_empty() {
            self.key = None;
            return;
        }

        self.begin_value(part.start);
        let traced = &mut self.traced;
        unescape(self.source, part, |text, at| {
            if at.len() == text.len() {
                traced.copy(text, at.start as u64);
            } else {
                traced.stand_for(text, at.start as u64, at.len() as u32);
            }
        });
    }

    fn scalar(&mut self, part: Part) {
        let text = &self.source[part.clone()];
        let is_key = self.key.is_none() && self.containers.last().is_some_and(|c| c.is_object);
        if is_key {
            // a key without quotes, as in JSON5
            self.key = Some(text[..text.floor_char_boundary(MAX_KEY_BYTES)].to_owned());
        } else if text == "null" {
            self.key = None;
        } else {
            self.begin_value(part.start);
            self.traced.copy(text, part.start as u64);
        }
    }

    fn comment(&mut self, part: Part) {
        let text = self.source[part.clone()].trim_end();
        self.begin_line(part.start);
        self.traced.copy(text, part.start as u64);
        self.line_ends = "\n";
        self.array_line = None;
    }

    /// Writes what is before a value: its path, or the separator of an array.
    fn begin_value(&mut self, at: usize) {
        let key = self.key.take();
        let continues = self.array_line.is_some_and(|start| {
            key.is_none() && self.traced.text.len() - start < MAX_ARRAY_LINE_BYTES
        });
        if continues {
            let is_outside = self.containers.is_empty();
            let separator = if is_outside { " " } else { ", " };
            self.traced.stand_for(separator, at as u64, 0);
            return;
        }

        self.begin_line(at);
        self.line_ends = "\n";
        self.array_line = key.is_none().then_some(self.traced.text.len());
        let keys = self.path.iter().chain(&key);
        let skipped = (self.path.len() + usize::from(key.is_some())).saturating_sub(PATH_KEYS);
        let path: Vec<&str> = keys.skip(skipped).map(String::as_str).collect();
        if !path.is_empty() {
            self.traced
                .stand_for(&format!("{}: ", path.join(".")), at as u64, 0);
        }
    }

    fn begin_line(&mut self, at: usize) {
        if !self.traced.text.is_empty() {
            self.traced.stand_for(self.line_ends, at as u64, 0);
        }
        let start = self.traced.text.len();
        let due = self.due.drain(..);
        self.headings
            .extend(due.map(|(level, title)| Heading::new(start..start, level, title)));
    }
}

/// Calls `each` with the pieces of a string: runs that are as in the file, and characters that an
/// escape stands for.
fn unescape(source: &str, part: Part, mut each: impl FnMut(&str, Part)) {
    let text = &source[..part.end];
    let mut at = part.start;
    while at < part.end {
        let run = text[at..].find('\\').unwrap_or(part.end - at);
        if run > 0 {
            each(&text[at..at + run], at..at + run);
            at += run;
            continue;
        }

        let (c, length) = escape(&text[at..]);
        each(c.encode_utf8(&mut [0; 4]), at..at + length);
        at += length;
    }
}

/// Returns the character that an escape stands for, and the length of the escape.
fn escape(text: &str) -> (char, usize) {
    let Some(second) = text[1..].chars().next() else {
        return ('\\', 1);
    };

    let plain = match second {
        'n' => '\n',
        't' => '\t',
        'r' | 'b' | 'f' => ' ',
        'u' => {
            let Some(high) = hex(text.get(2..6)) else {
                return ('\\', 1);
            };
            let low = hex(text.get(8..12)).filter(|_| text.get(6..8) == Some("\\u"));
            let pair = low.map(|low| char::decode_utf16([high, low]).next());
            return match (char::from_u32(u32::from(high)), pair) {
                (Some(c), _) => (c, 6),
                (None, Some(Some(Ok(c)))) => (c, 12),
                (None, _) => (char::REPLACEMENT_CHARACTER, 6),
            };
        }
        other => other,
    };

    (plain, 1 + second.len_utf8())
}

fn hex(digits: Option<&str>) -> Option<u16> {
    u16::from_str_radix(digits?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_lines_with_their_paths() {
        let cases = [
            (
                r#"{"name": "x", "scripts": {"build": "tsc", "test": null}, "keywords": ["a", "b"], "n": 1.5}"#,
                "name: x\n\nscripts.build: tsc\n\nkeywords: a, b\n\nn: 1.5",
            ),
            (
                r#"{"users": [{"name": "Ann", "tags": []}, {"name": "Bob"}]}"#,
                "users.name: Ann\n\nusers.name: Bob",
            ),
            ("{\"q\": \"a\"}\n{\"q\": \"b\"}\n", "q: a\n\nq: b"),
            (r#"{"a":{"b":{"c":{"d":true}}}}"#, "b.c.d: true"),
            (
                r#"{"t": "a\"b\\\n\u00e9\ud83d\ude00\ud800\q"}"#,
                "t: a\"b\\\né😀\u{fffd}q",
            ),
            (
                "{ // first\n a: 1, /* b */ 'c': 2 }",
                "// first\na: 1\n/* b */\n'c': 2",
            ),
            ("[1, 2]\n[3]", "1, 2\n3"),
            ("{\"a\": \"never closed", "a: never closed"),
            ("]]}{\"a\"", ""),
            ("plain words", "plain words"),
        ];
        for (source, text) in cases {
            assert_eq!(extract(source).text, text, "{source}");
        }
    }

    #[test]
    fn outer_keys_are_headings_and_values_are_traced() {
        let source = r#"{"a": {"b": {"c": "caf\u00e9"}}, "d": "x"}"#;
        let found = extract(source);
        let titles: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(titles, [(1, "a"), (2, "b"), (2, ""), (1, "")]);
        for (words, part) in [("caf", "caf"), ("é", "\\u00e9"), ("x", "x")] {
            let at = found.text.rfind(words).expect(words);
            let origin = found.origin.source_range(at..at + words.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], part);
        }
    }
}
