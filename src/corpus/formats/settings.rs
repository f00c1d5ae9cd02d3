//! YAML, TOML and INI as they are in the file, comments included, with the path of their sections
//! as headings.

use super::columns::Tables;
use super::format::{Extract, Format};
use super::lines::lines;
use crate::corpus::outline::Heading;

pub(super) const YAML: Format = Format::for_lines("YAML", &["yaml", "yml"], without_marks);

pub(super) const TOML: Format =
    Format::for_lines("TOML", &["toml"], |text| with_headings(text, sections));

pub(super) const INI: Format = Format::for_lines(
    "INI",
    &["ini", "cfg", "conf", "service", "desktop", "editorconfig"],
    |text| with_headings(text, sections),
);

/// The escapes of the characters inside of a word that nobody sees.
const MARKS: &[&str] = &[
    "\\u00AD", "\\u00ad", "\\xAD", "\\xad", "\\u200B", "\\u200b", "\\u2060",
];

/// Keys this deep are headings: those below are close to their values.
const HEADING_LEVELS: usize = 2;
/// Maximum size of a key that is a heading.
const MAX_TITLE_BYTES: usize = 100;

fn without_marks(text: String) -> Extract {
    let mut tables = Tables::default();
    for (start, line) in lines(&text) {
        let mut is_quoted = false;
        let mut at = 0;
        tables.leave_out_marks(start, line, MARKS, |mark| {
            is_quoted = is_quoted_after(&line[at..mark.start], is_quoted);
            at = mark.end;
            // outside of quotes, a backslash is one
            !is_quoted && line[mark.clone()].starts_with('\\')
        });
    }
    tables.label(with_headings(text, yaml))
}

/// Returns whether text in double quotes is open after a part of a line.
fn is_quoted_after(part: &str, mut is_quoted: bool) -> bool {
    let mut is_escaped = false;
    for byte in part.bytes() {
        is_quoted ^= byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && is_quoted && !is_escaped;
    }
    is_quoted
}

fn with_headings(text: String, find: fn(&str) -> Vec<Heading>) -> Extract {
    Extract {
        headings: find(&text),
        ..Extract::verbatim(text)
    }
}

/// Returns the sections of a file, with the comments directly above them: lines as `[name]` or
/// `[[name]]`, outside of strings over several lines.
fn sections(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut comments = Comments::default();
    let mut open_quote = None;
    for (start, line) in lines(text) {
        let content = line.trim();
        let was_open = open_quote.is_some();
        open_quote = quote_after(content, open_quote);
        let begin = comments.begin(start, content, "#;");
        if was_open || content.is_empty() {
            continue;
        }

        let name = content.strip_prefix('[');
        let name = name.and_then(|rest| rest.split_once(']'));
        let name = name.map(|(name, _)| name.trim_matches(['[', ' ', '"']));
        if let Some(title) = name.filter(|name| !name.is_empty() && name.len() <= MAX_TITLE_BYTES) {
            headings.push(Heading::new(begin..start + line.len(), 1, title));
        }
    }
    headings
}

/// Returns the mark of the TOML string over several lines that is open after a line.
fn quote_after(line: &str, mut open: Option<&'static str>) -> Option<&'static str> {
    let mut rest = line;
    loop {
        let marks: &[&'static str] = match &open {
            Some(mark) => std::slice::from_ref(mark),
            None => &["\"\"\"", "'''"],
        };

        let first = marks
            .iter()
            .filter_map(|mark| Some((rest.find(mark)?, *mark)))
            .min();
        let Some((at, mark)) = first else {
            return open;
        };

        rest = &rest[at + mark.len()..];
        open = if open.is_some() { None } else { Some(mark) };
    }
}

/// Returns the keys of a YAML file that have other keys below them.
fn yaml(text: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut comments = Comments::default();
    // the indentation of the keys that a line is below, and of a block of text
    let mut path: Vec<usize> = Vec::new();
    let mut block: Option<usize> = None;
    for (start, line) in lines(text) {
        let content = line.trim();
        let begin = comments.begin(start, content, "#");
        let column = line.len() - line.trim_start().len();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if block.is_some_and(|block| column > block) {
            continue;
        }

        block = is_block(content).then_some(column);
        // an item is below the key above it, which may begin as far in
        let indentation = column + usize::from(content.starts_with("- "));
        let outer = path.partition_point(|key| *key < indentation);
        let ends = path.len() > outer;
        path.truncate(outer);

        let level = outer + 1;
        let title = key_of_section(content).or_else(|| name_of_item(content));
        let title = title.filter(|_| level <= HEADING_LEVELS);
        if let Some(title) = title {
            path.push(indentation);
            headings.push(Heading::new(begin..start + line.len(), level as u8, title));
        } else if ends || content == "---" {
            let level = level.min(HEADING_LEVELS) as u8;
            headings.push(Heading::new(start..start, level, ""));
        }
    }
    headings
}

/// Returns whether a line begins a block of text: its indicator is the last word.
fn is_block(content: &str) -> bool {
    let value = content.rsplit([' ', '\t']).next().unwrap_or_default();
    value.starts_with(['|', '>']) && value.len() <= 3
}

/// Returns the key of a line that has no value of its own.
fn key_of_section(content: &str) -> Option<&str> {
    let (key, value) = content.split_once(':')?;
    let value = value.trim();
    let has_no_value = value.is_empty() || value.starts_with(['#', '&', '!']);
    let key = without_quotes(key);
    let is_key =
        !key.is_empty() && !key.starts_with(['-', '{', '[']) && key.len() <= MAX_TITLE_BYTES;
    (has_no_value && is_key).then_some(key)
}

/// Returns the name of an item of a list, in its first line: `- name: Alba`.
fn name_of_item(content: &str) -> Option<&str> {
    let (key, value) = content.strip_prefix("- ")?.split_once(": ")?;
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    let value = without_quotes(value);
    let is_name = ["name", "title", "id"].contains(&without_quotes(key)) && !is_block(content);
    (is_name && !value.is_empty() && value.len() <= MAX_TITLE_BYTES).then_some(value)
}

/// Returns a key or a value without the quotes around it.
fn without_quotes(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// The comment lines directly above a line.
#[derive(Default)]
struct Comments {
    start: Option<usize>,
}

impl Comments {
    /// Returns where the comments begin that belong to a line; its own start when there are none.
    fn begin(&mut self, start: usize, content: &str, marks: &str) -> usize {
        let begin = self.start.unwrap_or(start);
        let is_comment = content.starts_with(|c| marks.contains(c));
        self.start = is_comment.then_some(begin);
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::format::Reader;

    #[track_caller]
    fn check(format: &Format, text: &str, expected: &[(u8, &str, &str)]) {
        let Reader::Text(read) = format.reader else {
            panic!("{} is read as text", format.name);
        };
        let found = read(text.to_owned());
        assert_eq!(found.text, text);
        let headings: Vec<_> = found
            .headings
            .iter()
            .map(|heading| {
                (
                    heading.level,
                    heading.title.as_str(),
                    &text[heading.range.clone()],
                )
            })
            .collect();
        assert_eq!(headings, expected, "{}", format.name);
    }

    #[test]
    fn escapes_inside_of_words_are_left_out() {
        let source = "a: \"light\\u00ADhouse\"\npath: C:\\xadir\n";
        let found = without_marks(source.to_owned());
        assert_eq!(found.text, "a: \"lighthouse\"\npath: C:\\xadir\n");
    }

    #[test]
    fn sections_and_keys_are_headings() {
        check(
            &TOML,
            "a = 1\n\n# The profile.\n[profile.dev]\nb = \"\"\"\n[no]\n\"\"\"\n[[bin]]\n",
            &[
                (1, "profile.dev", "# The profile.\n[profile.dev]"),
                (1, "bin", "[[bin]]"),
            ],
        );
        check(
            &INI,
            "; first\r\n[Unit]\r\nAfter=x\r\n",
            &[(1, "Unit", "; first\r\n[Unit]")],
        );
        check(
            &YAML,
            "name: x\n# Jobs.\njobs:\n  build:\n    steps:\n      - run: |\n          no:\n        with:\n  test: {}\nlast: 1\n",
            &[
                (1, "jobs", "# Jobs.\njobs:"),
                (2, "build", "  build:"),
                (2, "", ""),
                (1, "", ""),
            ],
        );
        check(
            &YAML,
            "lamps:\n- name: \"Alba\"\n  size:\n    m: 1\n- 'name': Brio\n",
            &[
                (1, "lamps", "lamps:"),
                (2, "Alba", "- name: \"Alba\""),
                (2, "Brio", "- 'name': Brio"),
            ],
        );
    }
}
