//! Text as cells: widths, clipping, wrapping, and the small signs (bars, sparklines) that panes
//! use.
//!
//! Every width here is counted in terminal cells by grapheme, as ratatui draws them.

use std::borrow::Cow;
use std::ops::Range;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Cells from which on a long name is cut in its middle.
const MIN_MIDDLE: usize = 24;

pub use crate::letters::is_dense;
pub use crate::story::text::{join, many_lines, one_line};
pub use crate::story::words::{count, duration, lines, location, quantity, time_left};

/// Returns the width in cells.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(grapheme_width).sum()
    }
}

fn grapheme_width(grapheme: &str) -> usize {
    // one byte may be a control character, which has no width there
    if grapheme.len() == 1 {
        1
    } else {
        usize::from(grapheme.cell_width())
    }
}

/// Clips a text to `cells`; `…` replaces its end.
pub fn clip(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    let end = end_of_cells(text, cells - 1);
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// Clips a text to `cells`; `…` replaces its start. The end of a path matters more than its start.
pub fn clip_start(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }

    let mut start = text.len();
    let mut used = 0;

    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme_width(grapheme);
        if used > cells - 1 {
            break;
        }
        start = at;
    }

    Cow::Owned(format!("…{}", &text[start..]))
}

/// Returns the name of a file in its path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Clips a path to `cells`; `…` replaces the end of its folder, then all of it, and of a name that
/// is longer the middle.
pub fn clip_middle(path: &str, cells: usize) -> Cow<'_, str> {
    if width(path) <= cells {
        return Cow::Borrowed(path);
    }
    let room = cells.saturating_sub(1);
    let name = file_name(path);
    let folder = &path[..path.len() - name.len()];
    let (head, tail) = match room.checked_sub(width(name)) {
        None if width(name) == cells || cells < MIN_MIDDLE => ("", name),
        None => (&name[..end_of_cells(name, room / 3)], name),
        Some(0) => ("", path),
        // fewer letters of the folder say nothing
        Some(1..4) => return Cow::Owned(format!("…/{name}")),
        Some(spare) => {
            let head = end_of_cells(folder, (spare - 1).min(room / 3));
            (&folder[..head], path)
        }
    };
    let tail = clip_start(tail, cells - width(head));
    Cow::Owned(format!("{head}{tail}"))
}

/// Pads or clips a text to `cells`, flush left.
pub fn left(text: &str, cells: usize) -> String {
    let text = clip(text, cells);
    format!("{text}{}", " ".repeat(cells - width(&text).min(cells)))
}

/// Pads or clips a text to `cells`, flush right.
pub fn right(text: &str, cells: usize) -> String {
    let text = clip(text, cells);
    format!("{}{text}", " ".repeat(cells - width(&text).min(cells)))
}

/// Returns the byte offset after the graphemes that fit into `cells`.
pub fn end_of_cells(text: &str, cells: usize) -> usize {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme_width(grapheme);
        if used > cells {
            return at;
        }
    }
    text.len()
}

/// Returns the byte ranges of the rows of `text` at `cells` per row: broken at line ends, else
/// after white space, else (a word longer than a row, or a script without spaces) between
/// graphemes. At least one row.
pub fn wrap(text: &str, cells: usize) -> Vec<Range<usize>> {
    let cells = cells.max(1);
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        wrap_line(text, start..start + line.len(), cells, &mut rows);
        start += line.len() + 1;
    }
    rows
}

/// Returns the rows of `text` at `cells` per row.
pub fn rows(text: &str, cells: usize) -> impl Iterator<Item = &str> {
    wrap(text, cells).into_iter().map(|range| &text[range])
}

/// Returns the rows of `text` at `cells` per row, at most `count`: the last one says where more of
/// it is left out.
pub fn first_rows(text: &str, cells: usize, count: usize) -> Vec<Cow<'_, str>> {
    let rows = wrap(text, cells);
    let is_long = rows.len() > count;
    let shown = rows.into_iter().take(count).enumerate();
    shown
        .map(|(at, range)| {
            if is_long && at + 1 == count {
                clip(&text[range.start..], cells)
            } else {
                text[range].into()
            }
        })
        .collect()
}

fn wrap_line(text: &str, line: Range<usize>, cells: usize, rows: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    let mut used = 0;
    let mut break_at = None;

    for (offset, grapheme) in text[line.clone()].grapheme_indices(true) {
        let at = line.start + offset;
        let wide = grapheme_width(grapheme);
        let space = grapheme.chars().all(char::is_whitespace);
        if used + wide > cells && !space {
            let end: usize = break_at.unwrap_or(at);
            rows.push(trim_row(text, start..end));
            start = end;
            break_at = None;
            used = width(&text[start..at]);
        }

        used += wide;
        let end = at + grapheme.len();
        // the parts of a date or of a number of a kind stay together
        let is_hyphen = grapheme == "-" && text[end..].starts_with(char::is_alphabetic);
        if space || wide > 1 || is_hyphen {
            break_at = Some(end);
        }
    }

    rows.push(trim_row(text, start..line.end));
}

fn trim_row(text: &str, row: Range<usize>) -> Range<usize> {
    row.start..row.start + text[row.clone()].trim_end().len()
}

/// Returns the filled and the empty part of a bar of `cells` cells, filled to `share` (0..=1).
pub fn bar(share: f32, cells: usize) -> (String, String) {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut filled = (share * cells as f32).round() as usize;
    // a cell for what is small, none for what reads as 0.00
    if filled == 0 && share >= 0.005 && cells > 0 {
        filled = 1;
    }
    ("█".repeat(filled), "░".repeat(cells - filled))
}

/// Returns one sign per value, the highest from `top` on.
pub fn sparkline(values: impl Iterator<Item = f32>, top: f32) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = SIGNS.len() - 1;
    values
        .map(|value| SIGNS[((value / top).clamp(0.0, 1.0) * last as f32).round() as usize])
        .collect()
}

/// Seconds since 1970 as `2026-11-20 14:03`, in a time zone.
pub fn date(seconds: u64, zone: &TimeZone) -> String {
    to_zone(seconds, zone)
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// Seconds since 1970 as `2026-11-20 14:03 +01:00`: a date that is still right in another time
/// zone.
pub fn date_with_offset(seconds: u64, zone: &TimeZone) -> String {
    to_zone(seconds, zone)
        .strftime("%Y-%m-%d %H:%M %:z")
        .to_string()
}

/// A moment in a time zone; the latest that there is for a number beyond it.
fn to_zone(seconds: u64, zone: &TimeZone) -> Zoned {
    let moment = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::MAX);
    moment.to_zoned(zone.clone())
}

/// Returns the byte ranges where `needle` occurs in `text`, without regard to case. Nothing matches
/// an empty needle.
pub fn matches(text: &str, needle: &str) -> Vec<Range<usize>> {
    let needle: Vec<char> = needle.chars().flat_map(char::to_lowercase).collect();
    let Some(last) = needle.len().checked_sub(1) else {
        return Vec::new();
    };

    // lower case may change lengths, so each folded character keeps its range
    let folded: Vec<(char, Range<usize>)> = text
        .char_indices()
        .flat_map(|(at, c)| {
            c.to_lowercase()
                .map(move |lower| (lower, at..at + c.len_utf8()))
        })
        .collect();

    let mut found: Vec<Range<usize>> = Vec::new();
    for part in folded.windows(needle.len()) {
        let is_same = part.iter().map(|(c, _)| c).eq(&needle);
        let start = part[0].1.start;
        if is_same && found.last().is_none_or(|before| before.end <= start) {
            found.push(start..part[last].1.end);
        }
    }
    found
}

/// Returns the words of a query to highlight: without punctuation, words of one letter and the most
/// common words; of scripts without spaces, the pairs of characters that the index searches.
pub fn content_words(text: &str) -> Vec<String> {
    const COMMON: &[&str] = &[
        "the", "and", "was", "were", "is", "are", "of", "in", "to", "for", "on", "at", "by", "an",
        "what", "who", "where", "when", "which", "how", "why", "did", "does", "do", "that", "this",
        "with", "from", "it", "its", "as", "be", "or", "has", "have", "had",
    ];

    let mut words: Vec<String> = text
        .unicode_words()
        .filter(|word| !word.chars().any(is_dense))
        .map(str::to_lowercase)
        .filter(|word| word.chars().nth(1).is_some() && !COMMON.contains(&word.as_str()))
        .collect();

    for run in text.split(|character| !is_dense(character)) {
        let characters: Vec<char> = run.chars().collect();
        match characters.as_slice() {
            [] => {}
            [alone] => words.push(alone.to_string()),
            several => words.extend(several.windows(2).map(String::from_iter)),
        }
    }

    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_name_and_the_beginning_of_its_folder() {
        for (path, cells, expected) in [
            ("people/reeve.md:3-9", 19, "people/reeve.md:3-9"),
            ("people/reeve.md:3-9", 18, "peop…/reeve.md:3-9"),
            ("people/reeve.md:3-9", 16, "…/reeve.md:3-9"),
            ("people/reeve.md:3-9", 6, "…d:3-9"),
            (
                "letters/a very long name of a letter.md:1-2",
                30,
                "a very lo…e of a letter.md:1-2",
            ),
            ("library/long-name.md:1-2", 17, "…long-name.md:1-2"),
            ("library/long-name.md:1-2", 16, "long-name.md:1-2"),
            ("people/reeve.md:3-9", 0, ""),
        ] {
            assert_eq!(clip_middle(path, cells), expected, "{path} at {cells}");
        }
    }

    #[test]
    fn wrapping_breaks_at_spaces_line_ends_and_wide_signs() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("", 5, &[""]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]),
            ("a\n\nb", 9, &["a", "", "b"]),
            ("日本語の文", 4, &["日本", "語の", "文"]),
            (
                "e\u{301}e\u{301}e\u{301}",
                2,
                &["e\u{301}e\u{301}", "e\u{301}"],
            ),
            ("日", 1, &["", "日"]),
            ("see by-law 7-12", 7, &["see by-", "law", "7-12"]),
        ];
        for (text, cells, expected) in cases {
            let rows: Vec<&str> = wrap(text, *cells)
                .into_iter()
                .map(|row| &text[row])
                .collect();
            assert_eq!(rows, *expected, "{text:?} at {cells}");
        }
    }

    #[test]
    fn clipping_keeps_the_width() {
        assert_eq!(clip("notes/school.md", 9), "notes/sc…");
        assert_eq!(clip_start("notes/school.md", 10), "…school.md");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(left("日本語", 4), "日… ");
        assert_eq!(right("7", 3), "  7");
        assert_eq!(clip("abc", 0), "");
    }

    #[test]
    fn dates_are_those_of_a_time_zone() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone");
        assert_eq!(date(1_795_183_431, &TimeZone::UTC), "2026-11-20 14:03");
        assert_eq!(date(1_795_183_431, &berlin), "2026-11-20 15:03");
        assert_eq!(
            date_with_offset(1_783_183_431, &berlin),
            "2026-07-04 18:43 +02:00"
        );
        assert_eq!(date(0, &TimeZone::UTC), "1970-01-01 00:00");
        assert!(!date(u64::MAX, &berlin).is_empty());
    }

    #[test]
    fn search_ignores_case_and_keeps_offsets() {
        assert_eq!(matches("Tam tAM", "tam"), [0..3, 4..7]);
        assert_eq!(matches("İstanbul istan", "stan"), [2..6, 11..15]);
        assert!(matches("x", "").is_empty());
    }

    #[test]
    fn words_of_a_query_are_words_or_pairs_of_characters() {
        assert_eq!(content_words("Who was Tam Reeve?"), ["tam", "reeve"]);
        assert_eq!(
            content_words("2021年公司 在"),
            ["2021", "年公", "公司", "在"]
        );
    }

    #[test]
    fn a_bar_shows_any_value_that_does_not_read_as_zero() {
        assert_eq!(bar(0.01, 4), ("█".to_owned(), "░░░".to_owned()));
        assert_eq!(bar(0.004, 4), (String::new(), "░░░░".to_owned()));
        assert_eq!(bar(f32::NAN, 2), (String::new(), "░░".to_owned()));
    }
}
