//! Chats that WhatsApp exports as text: `31/01/2024, 10:04 - Ann: text`, or with the date in
//! brackets. The text is as in the file, and each day is a heading.

use super::format::{Extract, Format};
use super::lines::lines;
use crate::corpus::outline::Heading;

pub(super) const FORMAT: Format = Format::for_lines("WhatsApp chat", &[], extract);

/// Lines in which messages must begin, of a file that is a chat.
const MIN_MESSAGES: usize = 2;
/// A chat begins within this many bytes.
const HEAD_BYTES: usize = 4 << 10;
/// Marks of direction that phones write before a message.
const MARKS: [char; 4] = ['\u{200e}', '\u{200f}', '\u{202a}', '\u{feff}'];

/// Returns whether a text file is a chat: its first line begins a message, and another one does.
pub(super) fn is_chat(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let is_begun = lines.next().is_some_and(|line| day(line).is_some());
    is_begun && 1 + lines.filter_map(day).count() >= MIN_MESSAGES
}

fn extract(source: String) -> Extract {
    let mut headings: Vec<Heading> = Vec::new();

    for (start, line) in lines(&source) {
        let Some(day) = day(line) else { continue };
        if headings.last().is_none_or(|last| last.title != day) {
            headings.push(Heading::new(start..start, 1, day));
        }
    }

    Extract {
        headings,
        ..Extract::verbatim(source)
    }
}

/// Returns the day of a line that begins a message, as the phone wrote it.
fn day(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(MARKS);
    let (stamp, end) = match line.strip_prefix('[') {
        Some(line) => (line, "] "),
        None => (line, " - "),
    };
    let (stamp, _) = stamp.split_once(end)?;
    let (day, time) = stamp.split_once([',', ' '])?;
    let time = time.trim_start();

    let is_part = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let day = day.trim_end_matches('.');
    let parts = day.split(['/', '.', '-']);
    let is_day = day.split(['/', '.', '-']).count() == 3 && { parts }.all(is_part);
    let hour = time.split([':', '.']).next()?;
    let is_time = is_part(hour) && time.len() > hour.len() && time.chars().count() <= 16;
    (is_day && is_time).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_a_chat_are_headings() {
        let cases = [
            (
                "31/01/2024, 10:04 - Messages are encrypted.\n31/01/2024, 10:05 - Ann: The lamp\nis out.\n01/02/2024, 08:00 - Bo: Lit.\n",
                vec![("31/01/2024", 0), ("01/02/2024", 86)],
            ),
            (
                "\u{200e}[1/31/24, 9:41:02\u{202f}PM] Ann: a\n[2/1/24, 8:00:00\u{202f}AM] Bo: b\n",
                vec![("1/31/24", 0), ("2/1/24", 34)],
            ),
            (
                "31.01.24, 21:41 - Ann: a\n31.01.24, 21:42 - Bo: b\n",
                vec![("31.01.24", 0)],
            ),
        ];
        for (source, expected) in cases {
            assert!(is_chat(source.as_bytes()), "{source}");
            let extract = extract(source.to_owned());
            assert_eq!(extract.text, source);
            let headings = extract.headings.iter();
            let found: Vec<(&str, usize)> = headings
                .map(|heading| (heading.title.as_str(), heading.range.start))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn other_texts_are_not_chats() {
        for text in [
            "31/01/2024, 10:04 - Ann: one line\n",
            "2024-01-31 10:04:00 - INFO started\nmore\n",
            "Meeting notes\n31/01/2024, 10:04 - Ann: a\n31/01/2024, 10:05 - Bo: b\n",
            "[1] a\n[2] b\n",
            "",
        ] {
            assert!(!is_chat(text.as_bytes()), "{text}");
        }
    }
}
