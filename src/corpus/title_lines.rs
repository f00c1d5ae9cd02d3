//! Title lines: short lines that stand alone above what they are about, in a format that marks no
//! heading there, or has none: underlined, bold, between signs, in capitals, or plain.

use std::collections::HashMap;
use std::ops::Range;

use super::formats::Extract;
use super::outline::Heading;
use super::sentence::{adornment, begins_item, fold_white_space, is_code_fence};
use crate::letters::is_dense;

/// Most characters of a title line.
const MAX_CHARS: usize = 60;
/// Most title lines of a document.
const MAX_TITLES: usize = 100_000;
/// Most words of a plain one: longer ones are captions and sentences.
const MAX_PLAIN_WORDS: usize = 5;
/// Least number of lines of one style, where the signs alone do not say that it is a title.
const MIN_LINES: usize = 2;
/// A paragraph of fewer characters is content only if it ends as a sentence.
const MIN_CONTENT_CHARS: usize = 60;
/// Most signs at each side of a title.
const MAX_SIGNS: usize = 6;
/// Words in front of the number of a page, in lower case.
const PAGE: &[&str] = &["page", "seite", "página", "pagina", "sida", "side"];
/// Columns by which a line of signs may be longer than the title above it.
const MAX_OVERHANG: usize = 12;
/// Shortest line of signs below a title.
const MIN_UNDERLINE: usize = 3;

/// The way in which a title line is set.
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
    /// Returns its rank: the sections that a mark sets apart hold those that none does.
    fn rank(self) -> usize {
        match self {
            Self::Underlined(_) => 0,
            Self::Signs(signs) => signs,
            Self::Bold | Self::Capitals => MAX_SIGNS + 1,
            Self::Plain => MAX_SIGNS + 2,
        }
    }

    /// Returns whether nothing but a title is set so.
    fn is_sure(self) -> bool {
        matches!(self, Self::Underlined(_) | Self::Signs(_))
    }
}

/// A line that may be a title.
struct TitleLine<'t> {
    style: Style,
    range: Range<usize>,
    title: &'t str,
}

/// Adds the title lines of a text, outside of the headings and the rows of tables that are known,
/// each below the heading that it stands under.
pub(super) fn add_title_lines(extract: &mut Extract) {
    let titles = with_levels(find_lines(extract), &extract.headings);
    extract.headings.extend(titles);
    extract.headings.sort_by_key(|heading| heading.range.start);
}

/// Returns the lines that may be titles, in order.
fn find_lines(extract: &Extract) -> Vec<TitleLine<'_>> {
    let text = extract.text.as_str();
    let mut found = Vec::new();
    // the sign of the block of code that is open
    let mut code: Option<char> = None;
    let mut paragraphs = paragraphs(text, extract.front_matter_end).peekable();
    while let Some(range) = paragraphs.next() {
        let was_code = code.is_some();
        let mut has_fence = false;
        for sign in text[range.clone()].lines().filter_map(fence_sign) {
            has_fence = true;
            // a block ends with the sign that it began with
            code = match code {
                Some(open) if open == sign => None,
                Some(open) => Some(open),
                None => Some(sign),
            };
        }
        if was_code || has_fence || is_heading(&range, extract) || is_row(&range, extract) {
            continue;
        }

        let Some((style, title)) = title_of(&text[range.clone()]) else {
            continue;
        };
        let is_about =
            |next: &Range<usize>| !is_heading(next, extract) && is_content(&text[next.clone()]);
        if style.is_sure() || paragraphs.peek().is_some_and(is_about) {
            found.push(TitleLine {
                style,
                range,
                title,
            });
        }
        if found.len() == MAX_TITLES {
            break;
        }
    }
    found
}

/// Returns the lines as headings: a style is a level below the heading above, those that a mark
/// sets apart before the others.
fn with_levels(found: Vec<TitleLine<'_>>, headings: &[Heading]) -> Vec<Heading> {
    let mut styles: Vec<(Style, usize)> = Vec::new();
    // what each of several things has, is a part of each
    let mut times: HashMap<&str, usize> = HashMap::new();
    for line in &found {
        *times.entry(line.title).or_default() += 1;
        match styles.iter_mut().find(|(known, _)| *known == line.style) {
            Some((_, count)) => *count += 1,
            None => styles.push((line.style, 1)),
        }
    }
    styles.retain(|(style, count)| style.is_sure() || *count >= MIN_LINES);
    styles.sort_by_key(|(style, _)| style.rank());

    let mut titles = Vec::new();
    let mut level_above = 0;
    let mut headings = headings.iter().peekable();
    for TitleLine {
        style,
        range,
        title,
    } in found
    {
        while let Some(heading) = headings.next_if(|heading| heading.range.start <= range.start) {
            let ends = heading.title.is_empty();
            level_above = heading.level.saturating_sub(u8::from(ends));
        }
        if let Some(depth) = styles.iter().position(|(known, _)| *known == style) {
            let is_part = !style.is_sure() && times[title] > 1;
            let level = usize::from(level_above) + 1 + depth + usize::from(is_part);
            let level = u8::try_from(level).unwrap_or(u8::MAX);
            titles.push(Heading::new(range, level, fold_white_space(title)));
        }
    }
    titles
}

/// Returns the paragraphs of a text from `start` on, with the white space in front of their lines.
fn paragraphs(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start;
    let mut lines = text[start..].split_inclusive('\n').peekable();
    std::iter::from_fn(move || {
        let is_blank = |line: &&str| line.trim().is_empty();
        while let Some(blank) = lines.next_if(is_blank) {
            at += blank.len();
        }
        let mut range = at..at;
        while let Some(line) = lines.next_if(|line| !is_blank(line)) {
            range.end = at + line.trim_end().len();
            at += line.len();
        }
        (!range.is_empty()).then_some(range)
    })
}

/// Returns the sign of a line that begins or ends a block of code.
fn fence_sign(line: &str) -> Option<char> {
    let line = line.trim_start();
    line.chars().next().filter(|_| is_code_fence(line))
}

/// Returns whether a range overlaps a heading.
fn is_heading(range: &Range<usize>, extract: &Extract) -> bool {
    let headings = &extract.headings;
    let at = headings.partition_point(|heading| heading.range.end <= range.start);
    let next = headings.get(at);
    next.is_some_and(|heading| overlaps(&heading.range, range))
}

/// Returns whether a range overlaps the row of a table.
fn is_row(range: &Range<usize>, extract: &Extract) -> bool {
    let rows = &extract.rows;
    let at = rows.partition_point(|row| row.end <= range.start);
    rows.get(at).is_some_and(|row| overlaps(row, range))
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns whether a paragraph may be what a title is about: sentences, or a list.
fn is_content(paragraph: &str) -> bool {
    let is_list = || paragraph.lines().any(|line| begins_item(line.trim()));
    let ends = paragraph.ends_with(['.', '!', '?', ':', ';', '。', '！', '？']);
    ends || paragraph.chars().count() > MIN_CONTENT_CHARS || is_list()
}

/// Returns the style of a paragraph that is a title, and its words; `None` for another paragraph.
fn title_of(paragraph: &str) -> Option<(Style, &str)> {
    let mut lines = paragraph.lines();
    let line = lines.next()?.trim_end();
    let underline = match lines.next() {
        Some(below) => Some(underline_sign(line, below)?),
        None => None,
    };
    if lines.next().is_some() || line.starts_with(char::is_whitespace) {
        return None;
    }

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
    } else if (1..=MAX_SIGNS).contains(&signs)
        && let Some(title) = between(&"=".repeat(signs))
    {
        (Style::Signs(signs), title)
    } else if is_capitals(line) {
        (Style::Capitals, line)
    } else {
        (Style::Plain, line)
    };

    let title = title.trim().trim_end_matches([':', '：']);
    let is_fitting = style != Style::Plain || is_plain_title(title, line);
    (is_title(title) && is_fitting).then_some((style, title))
}

/// Returns whether words may be a title, however they are set.
fn is_title(title: &str) -> bool {
    // "No", she said
    let said = title.trim_end_matches(['"', '\'', '”', '’', '»', '«', '“', '」', '』', ')', '）']);
    let ends = ['.', ',', ';', '!', '…', '。', '，', '、', '！', '-', '–'];
    let is_speech = said.len() < title.len() && said.ends_with(['?', '？']);
    let begins = title.starts_with(|c: char| c.is_alphanumeric() && !c.is_lowercase());

    begins
        && title.chars().take(MAX_CHARS + 1).count() <= MAX_CHARS
        && title.chars().any(char::is_alphabetic)
        && !said.ends_with(ends)
        && !is_speech
        && !title.contains(['\t', '|', '@', '{', '}', '<', '>', '='])
        // columns, and the address of a page
        && !title.contains("  ")
        && !title.contains("://")
        && !begins_item(title)
        && !is_page(title)
}

/// Returns whether a title in plain letters is short enough, and the whole line: what ends with a
/// colon leads to a list.
fn is_plain_title(title: &str, line: &str) -> bool {
    let dense = title.chars().filter(|c| is_dense(*c)).count();
    let words = title.split_whitespace().count() + dense / 2;
    let signs = ['。', '，', '！', '？', ':', '：', '“', '”'];
    words <= MAX_PLAIN_WORDS && title.len() == line.len() && !title.contains(signs)
}

/// Returns whether a line is the number of a page.
fn is_page(title: &str) -> bool {
    let parts = title.split_once(' ');
    parts.is_some_and(|(word, rest)| {
        PAGE.contains(&word.to_lowercase().as_str())
            && rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the sign of a line that underlines the one above it: a run of it, about as long.
fn underline_sign(line: &str, below: &str) -> Option<u8> {
    let below = below.trim_end();
    let length = line.chars().count();
    let is_as_long = (length..=length + MAX_OVERHANG).contains(&(below.len() + 1));
    let is_sign = |sign: &u8| b"=-~^*\"#+".contains(sign);
    adornment(below).filter(|sign| is_sign(sign) && is_as_long && below.len() >= MIN_UNDERLINE)
}

/// Returns whether the letters of a line are capitals, and more than an abbreviation.
fn is_capitals(line: &str) -> bool {
    let capitals = line.chars().filter(|c| c.is_uppercase()).count();
    capitals > 2 && !line.contains(char::is_lowercase)
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
            // the parts of each, a mark before a plain line, pages, speech
            (
                "Alba\n\nGrey.\n\nGuarantee\n\nTwo years.\n\nBrio\n\nRed.\n\nGuarantee\n\nFive years.\n",
                "1 Alba|2 Guarantee|1 Brio|2 Guarantee",
            ),
            (
                "Intro\n\nYes.\n\nAlba\n====\n\nGrey.\n\nNote well\n\nSold out.\n",
                "2 Intro|1 Alba|2 Note well",
            ),
            ("Alba\n\nGrey.\n\nPage 3\n\nGrey.\n\nPage 4\n\nGrey.\n", ""),
            ("Tom said “No.”\n\nGrey.\n\nTom said “Yes?”\n\nGrey.\n", ""),
            (
                "张三说：“我不去了。”\n\n灰色。\n\n李四说：“好。”\n\n红色。\n",
                "",
            ),
            ("Added in: v8\n\nIt is.\n\nAdded in: v9\n\nIt is.\n", ""),
            ("Total due\n-----------------------------\n\nPay.\n", ""),
        ];
        for (text, expected) in cases {
            let found = titles_of(Extract::verbatim(text.to_owned())).into_iter();
            let found: Vec<String> = found
                .map(|heading| format!("{} {}", heading.level, heading.title))
                .collect();
            assert_eq!(found.join("|"), expected, "{text:?}");
        }
    }

    #[test]
    fn title_lines_are_below_the_heading_above_them() {
        let extract = || Extract {
            headings: vec![Heading::new(0..5, 2, "Lamps")],
            ..Extract::verbatim("Lamps\n\nAlba\n\nGrey.\n\nBrio\n\nRed.\n".to_owned())
        };
        let found = titles_of(extract());
        let levels: Vec<u8> = found.iter().map(|heading| heading.level).collect();
        assert_eq!(levels, [2, 3, 3]);

        let rows = vec![6..7, 20..24];
        let with_rows = Extract { rows, ..extract() };
        assert_eq!(titles_of(with_rows).len(), 1);
    }

    fn titles_of(mut extract: Extract) -> Vec<Heading> {
        add_title_lines(&mut extract);
        extract.headings
    }
}
