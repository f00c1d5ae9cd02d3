//! Sentences of a document that say nothing by themselves: headings, the names of columns, and the
//! lines around a letter.

use std::collections::BTreeSet;

use crate::corpus::is_heading as is_heading_line;
use crate::event::Citation;

use super::threads::field;

/// Beginnings of a line that greets or takes leave, in lower case, and the words of the longest.
#[rustfmt::skip]
const GREETINGS: &[&str] = &[
    "dear", "hi", "hello", "hey", "good morning", "good afternoon", "best regards", "kind regards",
    "regards", "best wishes", "many thanks", "yours sincerely", "yours faithfully", "sincerely",
    "sehr geehrte", "sehr geehrter", "liebe", "lieber", "hallo", "guten tag", "guten morgen",
    "mit freundlichen grüßen", "viele grüße", "beste grüße", "cher", "chère", "chers", "bonjour",
    "madame", "monsieur", "cordialement", "bien à vous", "estimado", "estimada", "querido",
    "querida", "hola", "buenos días", "saludos", "un saludo", "尊敬的", "亲爱的", "您好", "你好",
    "此致",
];
const MAX_GREETING: usize = 6;
/// Names of the lines above a mail, in lower case.
#[rustfmt::skip]
const HEADERS: &[&str] = &[
    "from", "to", "cc", "bcc", "date", "sent", "subject", "reply-to", "von", "an", "datum",
    "gesendet", "betreff", "de", "à", "envoyé", "objet", "para", "fecha", "enviado", "asunto",
    "发件人", "收件人", "日期", "主题",
];
/// Words of the longest title.
const MAX_TITLE: usize = 14;

/// Returns whether a text only frames what a document says, which is of no use where it is not the
/// answer: a salutation, the lines above a mail, or the title in the first line of a text file.
pub fn frames_a_text(text: &str, place: &Citation) -> bool {
    let text = text.trim();
    let is_header = |line: &str| {
        let name = field(line).map(|(name, _)| name);
        name.is_some_and(|name| HEADERS.contains(&name.as_str()))
    };
    let ends = |text: &str| text.ends_with(['.', '!', '?', '。', '！', '？', ':', ';']);
    let is_title = place.first_line == 1
        && place.last_line == 1
        && place.file.ends_with(".txt")
        && !ends(text)
        && text.split_whitespace().count() <= MAX_TITLE;
    is_title || is_greeting(text) || text.lines().all(is_header)
}

/// Returns whether a text greets or takes leave and does nothing else.
fn is_greeting(text: &str) -> bool {
    let lower = text.to_lowercase();
    let begins = GREETINGS.iter().filter_map(|word| lower.strip_prefix(word));
    let mut begins = begins.filter(|rest| {
        let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() && c.len_utf8() < 3);
        is_whole
            && !rest
                .trim_end_matches([',', '!', '.', '，', '！', '：', ':'])
                .contains([',', '.', '?', '，', '。'])
    });
    begins.next().is_some()
        && lower.split_whitespace().count() <= MAX_GREETING
        && lower.chars().count() < 60
        && text.ends_with([',', '!', '，', '：', '！', ':'])
}

/// Returns whether a text is the beginning or the end of a longer one.
pub fn is_end(text: &str, whole: &str) -> bool {
    text.len() < whole.len() && (whole.starts_with(text) || whole.ends_with(text))
}

/// Returns whether a text of a document says nothing by itself: a heading, marked or underlined,
/// the line above a block of code, or the address of a link.
pub fn says_nothing(text: &str) -> bool {
    let underlines = ["===", "---", "~~~", "***", "^^^"];
    let is_fence = text.starts_with("```") && text.lines().count() == 1;
    let target = text.split_once("]: ").filter(|_| text.starts_with('['));
    let is_link = target.is_some_and(|(_, address)| {
        address
            .split(char::is_whitespace)
            .next()
            .is_some_and(|first| first.contains("://"))
    });
    is_fence
        || is_link
        || text.starts_with('#')
        || is_heading_line(text)
        || underlines.iter().any(|line| text.contains(line))
}

/// Returns whether a text is the row of a table that names its columns: another one has the first
/// and the last of the names in front of its values.
pub fn is_name_row(text: &str, all: &BTreeSet<String>) -> bool {
    let bars = ['|', ' '];
    let names = text.trim_matches(bars);
    // a row of a list table, one name a line
    if let Some(names) = text.strip_prefix("* - ") {
        let first = names.lines().next().unwrap_or_default();
        let named = format!("* - {first}: ");
        return all.iter().any(|other| other.starts_with(&named));
    }
    let one = format!("| {names}: ");
    if text.starts_with('|') && all.iter().any(|other| other.starts_with(&one)) {
        return true;
    }
    let Some(last) = names.rsplit(bars).next().filter(|last| *last != names) else {
        return false;
    };
    let last = format!("{last}: ");
    all.iter().any(|other| {
        let first = other.trim_start_matches(bars).split_once(": ");
        first.is_some_and(|(first, values)| names.starts_with(first) && values.contains(&last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Evidence;

    #[test]
    fn what_frames_a_letter_or_a_text_is_known() {
        for (text, line, expected) in [
            ("Dear Ms Garnier,", 5, true),
            ("Sehr geehrte Frau Garnier,", 5, true),
            ("Hi Tom,", 3, true),
            ("Chère Madame,", 3, true),
            ("Estimado señor Ruiz:", 3, true),
            ("尊敬的李先生：", 3, true),
            ("From: Ann\nTo: Tom\nDate: 3 May", 1, true),
            ("Betreff: Heizung", 4, true),
            ("Customer review of the Brisk 300, 12 June 2024", 1, true),
            ("Customer review of the Brisk 300, 12 June 2024", 9, false),
            ("The shop is closed on Sundays.", 1, false),
            (
                "Dear Jonas, a correction: the engineer cannot come.",
                5,
                false,
            ),
            ("Dear things cost more than cheap ones.", 5, false),
            ("Hidden costs,", 5, false),
            ("Keys handed over: 2 front door", 3, false),
        ] {
            let place = Citation {
                label: 1,
                chunk: 1,
                chunk_lines: None,
                chunk_place: None,
                file: "a.txt".to_owned(),
                first_line: line,
                last_line: line,
                place: None,
                quote: None,
                evidence: Evidence::Overlap { share: 1.0 },
            };
            assert_eq!(frames_a_text(text, &place), expected, "{text}");
        }
    }

    #[test]
    fn a_row_of_names_is_known_by_the_rows_below() {
        for (names, row, is_known) in [
            (
                "| Code | Meaning |",
                "| Code: 2 | Meaning: an error |",
                true,
            ),
            ("Code Meaning", "Code: 2     Meaning: an error", true),
            ("Note that it ends.", "Note: it ends: soon", false),
            ("Code", "Code: 2", false),
            ("| Exit code |", "| Exit code: 2 |", true),
        ] {
            let all = BTreeSet::from([names.to_owned(), row.to_owned()]);
            assert_eq!(is_name_row(names, &all), is_known, "{names}");
        }
    }
}
