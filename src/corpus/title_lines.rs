//! Title lines: short lines that stand alone above what they are about, in a format that marks no
//! heading there, or has none: underlined, bold, between signs, in capitals, or plain.

use std::ops::Range;

use super::outline::Heading;
use super::sentence::{begins_item, fold_white_space};

/// Most characters of a title line.
const MAX_CHARS: usize = 60;
/// Most words of a plain one: longer ones are captions and sentences.
const MAX_PLAIN_WORDS: usize = 5;
/// Least number of lines of one style, where the signs alone do not say that it is a title.
const MIN_LINES: usize = 2;
/// A paragraph of fewer characters is content only if it ends as a sentence.
const MIN_CONTENT_CHARS: usize = 60;
/// Shortest line of signs below a title.
const MIN_UNDERLINE: usize = 3;

/// How a title line is set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Above a line of this sign.
    Underlined(u8),
    /// Between equal signs, as many as these (MediaWiki).
    Signs(usize),
    Bold,
    Capitals,
    Plain,
}

impl Style {
    /// Returns whether nothing but a title is set so.
    fn is_sure(self) -> bool {
        matches!(self, Self::Underlined(_) | Self::Signs(_))
    }
}

/// A paragraph: its lines without line ends, with its range.
struct Paragraph<'t> {
    range: Range<usize>,
    lines: Vec<&'t str>,
}

/// Returns the title lines of a text from `start` on, outside of the headings and the rows of
/// tables that are known, each below the heading that it stands under.
pub(super) fn title_lines(
    text: &str,
    start: usize,
    headings: &[Heading],
    rows: &[Range<usize>],
) -> Vec<Heading> {
    let paragraphs = paragraphs(text, start);
    let mut found: Vec<(Style, Range<usize>, &str)> = Vec::new();
    let mut is_code = false;
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let fences = paragraph.lines.iter().filter(|line| is_fence(line)).count();
        is_code ^= fences % 2 == 1;
        if is_code || fences > 0 || is_known(&paragraph.range, headings, rows) {
            continue;
        }
        let Some((style, title)) = title_of(&paragraph.lines) else {
            continue;
        };
        let next = paragraphs.get(at + 1);
        if style.is_sure() || next.is_some_and(|next| is_content(next, headings)) {
            found.push((style, paragraph.range.clone(), title));
        }
    }

    let count = |style: Style| found.iter().filter(|(other, ..)| *other == style).count();
    let mut styles: Vec<Style> = Vec::new();
    let mut titles = Vec::new();
    for (style, range, title) in &found {
        if !style.is_sure() && count(*style) < MIN_LINES {
            continue;
        }
        if !styles.contains(style) {
            styles.push(*style);
        }
        let depth = styles.iter().position(|known| known == style).unwrap_or(0);
        let above = headings.iter().rev();
        let above = above.filter(|heading| !heading.title.is_empty());
        let mut above = above.skip_while(|heading| heading.range.start > range.start);
        let level = above.next().map_or(0, |heading| usize::from(heading.level)) + 1 + depth;
        let level = u8::try_from(level).unwrap_or(u8::MAX);
        titles.push(Heading::new(range.clone(), level, fold_white_space(title)));
    }
    titles
}

/// Returns the paragraphs of a text from `start` on, with the white space in front of their lines.
fn paragraphs(text: &str, start: usize) -> Vec<Paragraph<'_>> {
    let mut paragraphs: Vec<Paragraph<'_>> = Vec::new();
    let mut at = start;
    let mut is_open = false;
    for line in text[start..].split_inclusive('\n') {
        let bare = line.trim_end();
        if bare.is_empty() {
            is_open = false;
        } else {
            let range = at..at + bare.len();
            match paragraphs.last_mut().filter(|_| is_open) {
                Some(last) => {
                    last.range.end = range.end;
                    last.lines.push(bare);
                }
                None => paragraphs.push(Paragraph {
                    range,
                    lines: vec![bare],
                }),
            }
            is_open = true;
        }
        at += line.len();
    }
    paragraphs
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns whether a range overlaps a heading or the row of a table.
fn is_known(range: &Range<usize>, headings: &[Heading], rows: &[Range<usize>]) -> bool {
    let overlaps = |other: &Range<usize>| other.start < range.end && range.start < other.end;
    let heading = headings.partition_point(|heading| heading.range.end <= range.start);
    let row = rows.partition_point(|row| row.end <= range.start);
    headings[heading..]
        .first()
        .is_some_and(|heading| overlaps(&heading.range))
        || rows[row..].first().is_some_and(overlaps)
}

/// Returns whether a paragraph may be what a title is about: sentences, or a list.
fn is_content(paragraph: &Paragraph<'_>, headings: &[Heading]) -> bool {
    let last = paragraph.lines.last().map_or("", |line| line);
    let is_list = paragraph.lines.iter().any(|line| begins_item(line.trim()));
    let chars: usize = paragraph
        .lines
        .iter()
        .map(|line| line.chars().count())
        .sum();
    let ends = last.ends_with(['.', '!', '?', ':', ';', '。', '！', '？']);
    !is_known(&paragraph.range, headings, &[]) && (is_list || ends || chars > MIN_CONTENT_CHARS)
}

/// Returns the style of the lines of a paragraph that is a title, and its words; `None` for another
/// paragraph.
fn title_of<'t>(lines: &[&'t str]) -> Option<(Style, &'t str)> {
    let (line, underline) = match *lines {
        [line] => (line, None),
        [line, below] => (line, Some(underline_sign(line, below)?)),
        _ => return None,
    };
    let between = |sign: &str| {
        let inner = line
            .strip_prefix(sign)?
            .trim_end_matches(':')
            .strip_suffix(sign)?;
        Some(inner).filter(|inner| !inner.contains(sign))
    };
    let signs = line.len() - line.trim_start_matches('=').len();
    let (style, title) = if let Some(sign) = underline {
        (Style::Underlined(sign), line)
    } else if let Some(bold) = between("**").or_else(|| between("__")) {
        (Style::Bold, bold)
    } else if let Some(title) = between(&"=".repeat(signs)).filter(|_| signs > 0) {
        (Style::Signs(signs), title)
    } else if is_capitals(line) {
        (Style::Capitals, line)
    } else {
        (Style::Plain, line)
    };

    let title = title.trim().trim_end_matches([':', '：']);
    let is_plain = style == Style::Plain;
    let words = title.split_whitespace().count();
    let begins = title.starts_with(|c: char| c.is_alphanumeric() && !c.is_lowercase());
    let is_title = begins
        && title.chars().count() <= MAX_CHARS
        && title.chars().any(char::is_alphabetic)
        && !title.ends_with(['.', ',', ';', '!', '…', '。', '，', '、', '！', '-', '–'])
        && !title.contains(['\t', '|', '@', '{', '}', '<', '>', '='])
        && !title.contains("://")
        && !begins_item(title)
        && !(is_plain && (words > MAX_PLAIN_WORDS || title.len() < line.len()));
    is_title.then_some((style, title))
}

/// Returns the sign of a line that underlines the one above it: a run of it, about as long.
fn underline_sign(line: &str, below: &str) -> Option<u8> {
    let sign = *below.as_bytes().first()?;
    let is_run = below.len() >= MIN_UNDERLINE && below.bytes().all(|byte| byte == sign);
    let is_sign = b"=-~^*\"#+".contains(&sign);
    (is_run && is_sign && below.len() + 1 >= line.chars().count()).then_some(sign)
}

/// Returns whether all letters of a line that has some words are capitals.
fn is_capitals(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic());
    let cased = letters.filter(|c| c.is_uppercase() || c.is_lowercase());
    let counts = cased.fold([0, 0], |[upper, all], c| {
        [upper + usize::from(c.is_uppercase()), all + 1]
    });
    counts[0] == counts[1] && counts[1] > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_above_what_they_are_about_are_titles() {
        let cases = [
            (
                "Lamps\n=====\n\nAlba\n----\n\nIt is grey.\n",
                "1 Lamps|2 Alba",
            ),
            ("**Alba**\n\nGrey.\n\n**Brio:**\n\nRed.\n", "1 Alba|1 Brio"),
            (
                "== Alba ==\n\nGrey.\n\n=== Size ===\n\n- 2 m\n",
                "1 Alba|2 Size",
            ),
            ("ALBA\n\nGrey.\n\nBRIO 2\n\nRed.\n", "1 ALBA|1 BRIO 2"),
            ("Alba\n\nGrey.\n\nBrio Due\n\nRed.\n", "1 Alba|1 Brio Due"),
            // one of its kind, sentences, what ends a letter, code, a list
            ("Alba\n\nGrey.\n", ""),
            ("Hello Tom,\n\nIt broke.\n\nKind regards\n\nMira\n", ""),
            ("It is.\n\nGrey.\n\nIt was.\n\nRed.\n", ""),
            ("```\nAlba\n\nGrey.\n\nBrio\n\nRed.\n```\n", ""),
            ("- Alba\n\nGrey.\n\n- Brio\n\nRed.\n", ""),
        ];
        for (text, expected) in cases {
            let found = title_lines(text, 0, &[], &[]).into_iter();
            let found: Vec<String> = found
                .map(|heading| format!("{} {}", heading.level, heading.title))
                .collect();
            assert_eq!(found.join("|"), expected, "{text:?}");
        }
    }

    #[test]
    fn title_lines_are_below_the_heading_above_them() {
        let text = "Lamps\n\nAlba\n\nGrey.\n\nBrio\n\nRed.\n";
        let known = [Heading::new(0..5, 2, "Lamps")];
        let found = title_lines(text, 0, &known, &[]);
        let levels: Vec<u8> = found.iter().map(|heading| heading.level).collect();
        assert_eq!(levels, [3, 3]);
        assert!(title_lines(text, 0, &known, &[6..7, 20..24]).is_empty());
    }
}
