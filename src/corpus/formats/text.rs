//! Plain text: also every file of no other format whose bytes are text. Its headings are the
//! numbered ones of manuals and standards. The rows of a table that is drawn in it have the names
//! of its columns.

use super::format::{Extract, Format};
use super::lines::lines;
use super::markup_tables::{Line, plain_tables};
use crate::corpus::outline::Heading;

pub(super) const FORMAT: Format = Format::for_lines("text", &["txt", "text"], extract);

/// Longest line that is a heading, bytes.
const MAX_HEADING_BYTES: usize = 80;

fn extract(text: String) -> Extract {
    let lines: Vec<Line<'_>> = lines(&text).collect();
    let headings = numbered_headings(&lines);
    let tables = plain_tables(&text, &lines);
    tables.label(Extract {
        headings,
        ..Extract::verbatim(text)
    })
}

/// Returns the lines with numbers of chapters (`2. Pumps`, `2.1 Guarantee`) that stand alone; none
/// where no number has two parts: a list has numbers, too.
fn numbered_headings(lines: &[Line<'_>]) -> Vec<Heading> {
    let is_blank = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.is_none_or(|(_, line)| line.trim().is_empty())
    };
    let alone = (0..lines.len()).filter(|at| is_blank(at.checked_sub(1)) && is_blank(Some(at + 1)));
    let headings = alone.filter_map(|at| {
        let (start, line) = lines[at];
        let level = level_of(line)?;
        Some(Heading::new(start..start + line.len(), level, line.trim()))
    });
    let headings: Vec<Heading> = headings.collect();
    let has_sections = headings.iter().any(|heading| heading.level > 1);
    if has_sections { headings } else { Vec::new() }
}

/// Returns how many parts the number in front of a title has; `None` for another line.
fn level_of(line: &str) -> Option<u8> {
    let (number, title) = line.trim_end().split_once(char::is_whitespace)?;
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let is_number =
        |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let is_title = title.trim_start().starts_with(char::is_alphabetic)
        && !title.ends_with(['.', ',', ';', ':', '?', '!'])
        && line.len() <= MAX_HEADING_BYTES;
    let level = u8::try_from(parts.len()).ok()?;
    (parts.iter().all(is_number) && is_title).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_that_stand_alone_are_headings() {
        let cases = [
            (
                "MACHINES\n\n1. Pumps\n\nText.\n\n1.1  Guarantee\n\n2 years.\n\n2. Lamps\n",
                "1 1. Pumps|2 1.1  Guarantee|1 2. Lamps",
            ),
            // a list, a table of contents, sentences, a version
            ("1. Milk\n\n2. Bread\n", ""),
            ("1. Pumps\n1.1 Guarantee\n2. Lamps\n", ""),
            ("1. Buy milk.\n\n1.1 Then go home.\n", ""),
            ("1.2.2024 The lamp was lit\n\n3.14 15\n", ""),
        ];
        for (text, expected) in cases {
            let headings = extract(text.to_owned()).headings.into_iter();
            let found: Vec<String> = headings
                .map(|heading| format!("{} {}", heading.level, heading.title))
                .collect();
            assert_eq!(found.join("|"), expected, "{text:?}");
        }
    }
}
