//! AsciiDoc, reStructuredText and Org, line by line: titles, items and the marks inside a line
//! become looks; blocks of code and everything else stay as they are written.

use std::ops::Range;

use ratatui::style::Modifier;

use crate::event::{HeadingLines, MarkupLanguage};
use crate::tui::theme::Tone;

use super::lines::{Drawn, Lines, heading};
use super::styled::{Look, Row, Styled};

/// Marked text ends within this size.
const MAX_MARKED_BYTES: usize = 500;

/// A mark around text, and the look that it means.
type Mark = (&'static str, Look);

const BOLD: Look = Look::TEXT.with(Modifier::BOLD);
const ITALIC: Look = Look::TEXT.with(Modifier::ITALIC);
const CODE: Look = Look::new(Tone::Code);

/// Returns every line rendered.
pub fn render(
    lines: &Lines,
    language: MarkupLanguage,
    headings: &[HeadingLines],
    from_line: u32,
    cells: usize,
) -> Vec<Drawn> {
    let mut is_code = false;
    let mut drawn: Vec<Drawn> = (0..lines.count())
        .map(|at| {
            let is_fence = is_fence(&lines.text[lines.line(at)], language);
            is_code ^= is_fence;
            let words = if is_fence {
                lines.plain(at, Look::QUIET)
            } else if is_code {
                lines.plain(at, CODE)
            } else {
                inline(lines, at, language)
            };
            Drawn::new(words.wrap(cells))
        })
        .collect();

    for heading in headings {
        let first = heading.first_line.saturating_sub(from_line) as usize;
        let last = heading.last_line.saturating_sub(from_line) as usize;
        for (at, drawn) in drawn.iter_mut().enumerate().take(last + 1).skip(first) {
            *drawn = Drawn::new(title_rows(lines, at, heading, cells));
        }
    }
    drawn
}

/// Returns the rows of a line of a heading: its title without marks, nothing for a line of signs.
fn title_rows(lines: &Lines, at: usize, title: &HeadingLines, cells: usize) -> Vec<Row> {
    let range = lines.line(at);
    let line = &lines.text[range.clone()];
    let look = heading(title.level);
    let Some(start) = line.find(&title.title) else {
        let is_rule = !line.contains(char::is_alphanumeric);
        return if is_rule {
            Vec::new()
        } else {
            lines.plain(at, look).wrap(cells)
        };
    };

    let start = range.start + start;
    let mut words = Styled::default();
    words.push(&title.title, start..start + title.title.len(), look);
    words.wrap(cells)
}

/// Returns whether a line begins or ends a block whose text has no marks.
fn is_fence(line: &str, language: MarkupLanguage) -> bool {
    let line = line.trim();
    let is_run_of = |sign: char| line.len() >= 4 && line.chars().all(|c| c == sign);

    match language {
        MarkupLanguage::AsciiDoc => is_run_of('-') || is_run_of('.') || line.starts_with("```"),
        MarkupLanguage::RestructuredText => false,
        MarkupLanguage::Org => {
            let word = line.split_whitespace().next().unwrap_or_default();
            [
                "#+begin_src",
                "#+end_src",
                "#+begin_example",
                "#+end_example",
            ]
            .iter()
            .any(|fence| word.eq_ignore_ascii_case(fence))
        }
    }
}

/// The marks of a language, longer ones before their parts.
fn marks(language: MarkupLanguage) -> &'static [Mark] {
    match language {
        MarkupLanguage::AsciiDoc => &[("**", BOLD), ("*", BOLD), ("_", ITALIC), ("`", CODE)],
        MarkupLanguage::RestructuredText => {
            &[("``", CODE), ("**", BOLD), ("*", ITALIC), ("`", ITALIC)]
        }
        MarkupLanguage::Org => &[("*", BOLD), ("/", ITALIC), ("=", CODE), ("~", CODE)],
    }
}

/// Returns a line with the looks of its marks.
fn inline(lines: &Lines, at: usize, language: MarkupLanguage) -> Styled {
    let range = lines.line(at);
    let line = &lines.text[range.clone()];
    let mut words = Styled::default();
    let push = |words: &mut Styled, part: Range<usize>, look| {
        if !part.is_empty() {
            let source = range.start + part.start..range.start + part.end;
            words.push(&line[part], source, look);
        }
    };

    let mut written = 0;
    if let Some(bullet) = bullet(line) {
        push(&mut words, 0..bullet.start, Look::TEXT);
        words.sign("•");
        written = bullet.end;
    }
    let mut next = written;
    while next < line.len() {
        let Some(Marked { inside, look }) = find_marked(line, next, language) else {
            next += line[next..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        push(&mut words, written..next, Look::TEXT);
        push(&mut words, inside.clone(), look);
        // the closing mark is as long as the opening one
        next = inside.end + (inside.start - next);
        written = next;
    }
    push(&mut words, written..line.len(), Look::TEXT);
    words
}

/// Returns the sign in front of an item.
fn bullet(line: &str) -> Option<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let is_item = line[start..].starts_with("- ") || line[start..].starts_with("* ");
    is_item.then_some(start..start + 1)
}

/// Text between two marks.
struct Marked {
    inside: Range<usize>,
    look: Look,
}

/// Returns the marked text that begins at a position of a line: between two words, and not around
/// white space.
fn find_marked(line: &str, at: usize, language: MarkupLanguage) -> Option<Marked> {
    if line[..at]
        .chars()
        .next_back()
        .is_some_and(char::is_alphanumeric)
    {
        return None;
    }
    let (mark, look) = marks(language)
        .iter()
        .find(|(mark, _)| line[at..].starts_with(mark))?;

    let start = at + mark.len();
    let rest = &line[start..line.floor_char_boundary(start + MAX_MARKED_BYTES)];
    let is_end = |end: &usize| {
        let is_closed = !rest[..*end].ends_with(char::is_whitespace);
        let after = line[start + end + mark.len()..].chars().next();
        *end > 0 && is_closed && !after.is_some_and(char::is_alphanumeric)
    };
    let end = rest.match_indices(mark).map(|(end, _)| end).find(is_end)?;
    let is_text = !rest.starts_with(char::is_whitespace) && !rest.starts_with(mark);
    is_text.then(|| Marked {
        inside: start..start + end,
        look: *look,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Source, SourceForm};

    /// Returns each line with the marked texts in braces; a hidden line is `-`.
    fn draw_lines(
        language: MarkupLanguage,
        text: &str,
        headings: &[(u32, u32, &str)],
    ) -> Vec<String> {
        let heading = |(first_line, last_line, title): &(u32, u32, &str)| HeadingLines {
            first_line: *first_line,
            last_line: *last_line,
            level: 1,
            title: (*title).to_owned(),
        };
        let headings: Vec<HeadingLines> = headings.iter().map(heading).collect();
        let source = Source {
            document: "a.rst".to_owned(),
            path: "a.rst".to_owned(),
            lines: text.split('\n').map(str::to_owned).collect(),
            from_line: 1,
            places: Vec::new(),
            form: SourceForm::Lines,
            first_line: 1,
            last_line: 1,
            changed: false,
        };
        let shown = |piece: &crate::tui::document::styled::Piece| {
            if piece.look == Look::TEXT || piece.text == "•" {
                piece.text.clone()
            } else {
                format!("{{{}}}", piece.text)
            }
        };
        render(&Lines::from_source(&source), language, &headings, 1, 60)
            .iter()
            .map(|line| match line.rows.first() {
                Some(row) => row.iter().map(shown).collect(),
                None => "-".to_owned(),
            })
            .collect()
    }

    #[test]
    fn marks_become_looks() {
        use MarkupLanguage::{AsciiDoc, Org, RestructuredText};
        /// Language, text, headings with their lines, the lines as they are drawn.
        type Case = (
            MarkupLanguage,
            &'static str,
            &'static [(u32, u32, &'static str)],
            &'static [&'static str],
        );
        let cases: [Case; 6] = [
            (
                RestructuredText,
                "=====\nTides\n=====\n\nThe *old* **tables**: ``high``.",
                &[(1, 3, "Tides")],
                &["-", "{Tides}", "-", "", "The {old} {tables}: {high}."],
            ),
            (
                AsciiDoc,
                "== Tides ==\n* one *bold*\n----\n*code*\n----\na_b_c _it_",
                &[(1, 1, "Tides")],
                &[
                    "{Tides}",
                    "• one {bold}",
                    "{----}",
                    "{*code*}",
                    "{----}",
                    "a_b_c {it}",
                ],
            ),
            (
                Org,
                "* TODO Tides :a:\n- see /here/ and =x = y=\n#+BEGIN_SRC\n*x*\n#+END_SRC",
                &[(1, 1, "Tides")],
                &[
                    "{Tides}",
                    "• see {here} and {x = y}",
                    "{#+BEGIN_SRC}",
                    "{*x*}",
                    "{#+END_SRC}",
                ],
            ),
            (
                AsciiDoc,
                "2 * 3 * 4 and *open",
                &[],
                &["2 * 3 * 4 and *open"],
            ),
            (RestructuredText, "x*y*z `a`_ **", &[], &["x*y*z {a}_ **"]),
            (Org, "", &[], &[""]),
        ];
        for (language, text, headings, expected) in cases {
            assert_eq!(draw_lines(language, text, headings), expected, "{text:?}");
        }
    }
}
