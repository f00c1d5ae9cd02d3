//! Threads: the parts of a text that have dates of their own, such as mails one below the other,
//! and the lines of a mail that quote an earlier one.

use std::ops::Range;

use crate::corpus::{Format, fold_white_space, is_month, named_dates, split_words};
use crate::event::Hit;

use super::wording::{WEEKDAYS, has_digit};

/// Fields of a message that hold its date, in lower case.
#[rustfmt::skip]
const DATE_FIELDS: &[&str] = &[
    "date", "sent", "datum", "gesendet", "envoyé", "fecha", "enviado", "日期", "发送时间", "时间",
];
/// Words of the line above what is quoted, in lower case: `On 3 March 2026, Ann wrote:`.
#[rustfmt::skip]
const WROTE: &[&str] = &["wrote", "schrieb", "écrit", "escribió"];

/// The date of a part of a text.
pub struct DatedPart {
    /// The byte at which it begins.
    pub at: usize,
    /// `None` of a quotation of an unknown day.
    pub date: Option<String>,
}

/// Returns the parts of a passage whose date is not that of its document: below a line with the
/// date of a message or one that begins with a day, and what a message quotes.
pub fn dated_parts(hit: &Hit) -> Vec<DatedPart> {
    let text = &hit.chunk.text;
    let is_message = Format::for_path(&hit.chunk.document).place == "message";
    let mut parts: Vec<DatedPart> = Vec::new();
    // the date of the text around a quotation, and that of the line above it
    let mut around = hit.date.clone();
    let mut introduced = None;
    let mut is_quoted = false;
    let mut is_after_blank = true;
    let mut at = 0;

    for line in text.split_inclusive('\n') {
        let begins_quotation = !is_quoted && is_quotation(line);
        if begins_quotation && (is_message || introduced.is_some()) {
            is_quoted = true;
            let date = introduced.take();
            parts.push(DatedPart { at, date });
        } else if let Some(date) = quoted_date(line) {
            introduced = Some(date);
        } else if let Some(date) = line_date(line, is_after_blank) {
            around = Some(date.clone());
            (is_quoted, introduced) = (false, None);
            parts.push(DatedPart {
                at,
                date: Some(date),
            });
        } else if is_quoted && !is_quotation(line) && !line.trim().is_empty() {
            is_quoted = false;
            let date = around.clone();
            parts.push(DatedPart { at, date });
        }
        is_after_blank = line.trim().is_empty();
        at += line.len();
    }
    parts
}

/// Returns the day of a line above a quotation.
fn quoted_date(line: &str) -> Option<String> {
    let is_introduction = line.trim_end().ends_with([':', '：'])
        && split_words(line).any(|word| WROTE.contains(&word));
    named_dates(line)
        .into_iter()
        .next()
        .filter(|_| is_introduction)
}

/// Returns the day of what follows a line: that of a message, or of an entry that begins with it.
fn line_date(line: &str, is_after_blank: bool) -> Option<String> {
    let is_day = |date: &String| date.len() == "2024-01-31".len();
    if let Some(value) = date_field(line) {
        return named_dates(value).into_iter().find(is_day);
    }

    // an entry of an agenda begins with another day than that on which it was written
    let bare = line.trim_start_matches(['#', '[', '*', ' ']);
    let first = bare.split_whitespace().next().unwrap_or_default();
    let is_of_date = |word: &str| {
        let is_weekday = WEEKDAYS.contains(&word.to_lowercase().as_str());
        is_weekday || has_digit(word) || is_month(word) || word == "de"
    };
    let is_log = first.len() > 9 && first.starts_with(|c: char| c.is_ascii_digit());
    let is_alone = is_after_blank && split_words(line).all(is_of_date);
    let is_heading = line.starts_with(['#', '[']) && has_digit(first);
    let start: Vec<&str> = bare.split_whitespace().take(4).collect();
    let start = match (is_log, is_alone || is_heading) {
        (true, _) => first.to_owned(),
        (false, true) => start.join(" "),
        (false, false) => return None,
    };
    named_dates(&start).into_iter().find(is_day)
}

/// Returns what stands in the field of a message that holds its date.
fn date_field(line: &str) -> Option<&str> {
    let (name, value) = field(line)?;
    DATE_FIELDS.contains(&name.as_str()).then_some(value)
}

/// Returns the name of the field that a line may be, in lower case, and what stands in it.
pub fn field(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once([':', '：'])?;
    Some((
        name.trim_matches([' ', '*', '\u{a0}']).to_lowercase(),
        value,
    ))
}

/// Returns whether a sentence is a heading or the head of a message, whose date is no statement.
pub fn is_head(text: &str) -> bool {
    text.starts_with('#') || text.lines().any(|line| date_field(line).is_some())
}

/// Returns whether a line is quoted from a message.
pub fn is_quotation(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// The texts of passages without what they quote, by which the original of a quotation is found.
pub struct Originals(Vec<String>);

impl Originals {
    pub fn new(hits: &[Hit]) -> Self {
        let own = hits.iter().map(|hit| {
            let lines = hit.chunk.text.lines().filter(|line| !is_quotation(line));
            fold_white_space(&lines.collect::<Vec<_>>().join("\n"))
        });
        Self(own.collect())
    }

    /// Returns whether a sentence of a passage is quoted there and another passage is its source.
    pub fn has_source(&self, passage: usize, text: &str, sentence: Range<usize>) -> bool {
        let line = text[..sentence.start].rfind('\n').map_or(0, |end| end + 1);
        if !is_quotation(&text[line..]) {
            return false;
        }
        let lines = text[sentence]
            .lines()
            .map(|line| line.trim_start().trim_start_matches('>'));
        let bare = fold_white_space(&lines.collect::<Vec<_>>().join("\n"));
        let others = self.0.iter().enumerate().filter(|(at, _)| *at != passage);
        split_words(&bare).next().is_some() && others.clone().any(|(_, own)| own.contains(&bare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_thread_has_the_date_above_it() {
        let none: &[Option<&str>] = &[];
        for (path, text, expected) in [
            (
                "thread.txt",
                "From: A\nDate: Mon, 4 November 2024 09:12\n\nIt is 5518.\n\nFrom: B\nSent: \
                    2024-11-08\n\nIt is 7204.",
                &[Some("2024-11-04"), Some("2024-11-08")][..],
            ),
            (
                "notes.txt",
                "4 November 2024\n\nIt is 5518.\n\nFreitag, 8. November 2024\n\nIt is 7204.",
                &[Some("2024-11-04"), Some("2024-11-08")],
            ),
            (
                "log.txt",
                "2024-11-04 09:12 It is 5518.",
                &[Some("2024-11-04")],
            ),
            (
                "a.eml",
                "No.\n\nOn Mon, 4 November 2024, A wrote:\n> It is 5518.\n\nSorry.",
                &[Some("2024-11-04"), Some("2024-12-01")],
            ),
            ("a.eml", "No.\n\n> It is 5518.", &[None]),
            (
                "a.md",
                "It is\n3 June 2024.\n\n- 3 June 2024: launch\n\n> Note",
                none,
            ),
            (
                "a.md",
                "Date: unknown\n\n3 June 2024 is the day of the launch.",
                none,
            ),
        ] {
            let mut hit = Hit::from_text(1, path, text);
            hit.date = Some("2024-12-01".to_owned());
            let parts = dated_parts(&hit);
            let dates: Vec<Option<&str>> = parts.iter().map(|part| part.date.as_deref()).collect();
            assert_eq!(dates, expected, "{text}");
        }
    }

    #[test]
    fn a_quotation_of_another_source_is_of_that_one() {
        let reply = "No.\n\n> It is\n> 5518. Or not.\n> Sure.";
        let hits = [(1, reply), (2, "Hello,\nit is. It is 5518. Sure?")];
        let hits = hits.map(|(id, text)| Hit::from_text(id, "a.eml", text));
        let originals = Originals::new(&hits);
        for (sentence, is_known) in [("No.", false), ("It is\n> 5518.", true), ("Or not.", false)] {
            let at = reply.find(sentence).unwrap_or_default();
            let found = originals.has_source(0, reply, at..at + sentence.len());
            assert_eq!(found, is_known, "{sentence}");
        }
    }
}
