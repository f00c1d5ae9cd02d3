//! Quoted history in the text of a mail: lines with `>`, and what follows a line that says that a
//! message is quoted or forwarded. Words that an earlier message of the file holds are left out,
//! and history at the end is apart from the new text.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::ops::Range;

use crate::corpus::sentence::split_words;

/// Words that are compared together: a quotation is wrapped again, so its lines differ.
const SHINGLE_WORDS: usize = 4;
/// Lines that name the fields of a message that is quoted without `>`: as many follow each other.
const MIN_FIELDS: usize = 3;
/// Names of these fields, in lower case and in the languages of Outlook that have most users.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "from", "sent", "date", "to", "cc", "subject", "von", "gesendet", "datum", "an", "betreff",
    "de", "envoyé", "à", "objet", "enviado", "para", "asunto", "assunto", "da", "inviato", "a",
    "oggetto", "van", "verzonden", "aan", "onderwerp",
];
/// Words that end the line above a quotation, as in `On Monday, Ann wrote:`.
#[rustfmt::skip]
const WROTE: &[&str] = &[
    "wrote", "schrieb", "écrit", "escribió", "escreveu", "scritto", "schreef", "skrev",
];
/// Longest line above a quotation.
const MAX_INTRODUCTION_CHARS: usize = 200;
/// Lines above a marked quotation, with blank ones, in which its introduction is looked for.
const MAX_LINES_ABOVE: usize = 3;
/// A longer text is not one of a conversation.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Characters of a blank line, quoted or not.
const BLANK: [char; 4] = ['>', ' ', '\t', '\u{a0}'];
/// Dashes around the words that say that a message is quoted: `-----Original Message-----`.
const RULE: &str = "----";

/// The words of the messages so far.
#[derive(Default)]
pub(super) struct Quotes {
    /// Hashes of runs of words. Four bytes each: a line is left out for all its runs.
    shingles: HashSet<u32>,
    /// Hashes of the words of whole lines, for shorter quotations.
    lines: HashSet<u32>,
}

/// The text of a message without quotations that are known.
#[derive(Debug, PartialEq)]
pub(super) struct Unquoted {
    /// The new text, with the quotations inside of it.
    pub text: String,
    /// The quotations after it.
    pub history: String,
    /// Whether lines were left out.
    pub is_shorter: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LineKind {
    New,
    /// The line that says who wrote what is quoted.
    Introduction,
    Quoted,
}

/// A line of a message.
struct Line<'t> {
    text: &'t str,
    kind: LineKind,
    is_kept: bool,
}

impl Line<'_> {
    fn has_words(&self) -> bool {
        split_words(self.text).next().is_some()
    }
}

impl Quotes {
    /// Removes the quotations of earlier messages from the text of a message, and remembers the
    /// rest of it.
    pub fn unquote(&mut self, text: &str) -> Unquoted {
        if text.len() > MAX_TEXT_BYTES {
            return Unquoted {
                text: text.to_owned(),
                history: String::new(),
                is_shorter: false,
            };
        }

        let mut lines = classify(text);
        self.drop_known(&mut lines);
        let kept: Vec<&Line<'_>> = lines.iter().filter(|line| line.is_kept).collect();
        self.remember(&kept);

        let is_new = |line: &&Line<'_>| line.kind == LineKind::New && line.has_words();
        let last_new = kept.iter().rposition(is_new);
        let (new, history) = kept.split_at(last_new.map_or(0, |last| last + 1));
        let has_history = history.iter().any(|line| line.has_words());
        Unquoted {
            text: join_lines(new),
            history: join_lines(if has_history { history } else { &[] }),
            is_shorter: kept.len() < lines.len(),
        }
    }

    /// Marks the quoted lines that are known, and the introductions of which nothing is left.
    fn drop_known(&self, lines: &mut [Line<'_>]) {
        let mut at = 0;
        while at < lines.len() {
            let run = run_at(lines, at);
            at = run.end;
            if lines[run.start].kind != LineKind::Quoted {
                continue;
            }

            let block = &mut lines[run.clone()];
            self.drop_known_lines(block);
            let is_gone = !block.iter().any(|line| line.is_kept);
            if is_gone && block.iter().any(Line::has_words) {
                drop_introduction(&mut lines[..run.start]);
            }
        }
    }

    fn drop_known_lines(&self, block: &mut [Line<'_>]) {
        let lines = block.iter().enumerate();
        let words = lines.flat_map(|(at, line)| hashes(line.text).map(move |hash| (at, hash)));
        let words: Vec<(usize, u32)> = words.collect();
        let mut unknown = vec![false; block.len()];
        let mut known_until = 0;
        for (start, (line, _)) in words.iter().enumerate() {
            let shingle = words.get(start..start + SHINGLE_WORDS);
            if shingle.is_some_and(|shingle| self.shingles.contains(&hash_words(shingle))) {
                known_until = start + SHINGLE_WORDS;
            }
            unknown[*line] |= start >= known_until;
        }

        let is_known = |(line, unknown): (&Line<'_>, &bool)| {
            let has_words = line.has_words();
            has_words.then(|| !unknown || self.lines.contains(&hash_line(line.text)))
        };
        let known: Vec<Option<bool>> = block.iter().zip(&unknown).map(is_known).collect();
        // blank lines go with the lines before them, and at the beginning with those after
        let mut is_dropped = known.iter().flatten().next().copied().unwrap_or(true);
        for (line, known) in block.iter_mut().zip(known) {
            is_dropped = known.unwrap_or(is_dropped);
            line.is_kept = !is_dropped;
        }
    }

    fn remember(&mut self, kept: &[&Line<'_>]) {
        let words = kept.iter().flat_map(|line| hashes(line.text));
        let words: Vec<(usize, u32)> = words.map(|hash| (0, hash)).collect();
        self.shingles
            .extend(words.windows(SHINGLE_WORDS).map(hash_words));
        let lines = kept.iter().filter(|line| line.has_words());
        self.lines.extend(lines.map(|line| hash_line(line.text)));
    }
}

/// Returns the lines from one on that are of its kind.
fn run_at(lines: &[Line<'_>], start: usize) -> Range<usize> {
    let kind = lines[start].kind;
    let length = lines[start..].iter().take_while(|line| line.kind == kind);
    start..start + length.count()
}

/// Drops the introduction at the end of some lines, and the blank lines after it.
fn drop_introduction(before: &mut [Line<'_>]) {
    let is_blank = |line: &&mut Line<'_>| line.kind == LineKind::New && !line.has_words();
    let before = before.iter_mut().rev().skip_while(is_blank);
    let introduction = before.take_while(|line| line.kind == LineKind::Introduction);
    introduction.for_each(|line| line.is_kept = false);
}

fn classify(text: &str) -> Vec<Line<'_>> {
    let texts: Vec<&str> = text.lines().collect();
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(texts.len());
    let mut is_history = false;
    // lines of an introduction that are still to come
    let mut introduced = 0;

    for (at, text) in texts.iter().enumerate() {
        if introduced == 0 {
            introduced = introduction_lines(&texts[at..]);
        }
        let before = lines.last().map_or(LineKind::New, |line| line.kind);
        let kind = if is_marked(text) {
            if before != LineKind::Quoted {
                introduce(&mut lines);
            }
            // an introduction inside of the quotation is a part of it
            introduced = 0;
            LineKind::Quoted
        } else if introduced > 0 || (before == LineKind::Introduction && is_field(text)) {
            introduced = introduced.saturating_sub(1);
            // marked lines after it say themselves where the quotation ends
            let mut after = texts[at + 1 + introduced..].iter();
            let next = after.find(|text| !text.trim().is_empty());
            is_history |= next.is_some_and(|text| !is_marked(text));
            LineKind::Introduction
        } else if is_history {
            LineKind::Quoted
        } else {
            LineKind::New
        };
        lines.push(Line {
            text,
            kind,
            is_kept: true,
        });
    }

    lines
}

/// Marks the line before a marked quotation as its introduction where it ends with a colon, in
/// whatever language it is.
fn introduce(lines: &mut [Line<'_>]) {
    let near = lines.len().saturating_sub(MAX_LINES_ABOVE);
    let Some(last) = lines[near..].iter().rposition(Line::has_words) else {
        return;
    };
    let last = near + last;
    if lines[last].kind == LineKind::New && lines[last].text.trim_end().ends_with(':') {
        lines[last].kind = LineKind::Introduction;
        // long introductions break into two lines
        if last > 0 && lines[last - 1].text.starts_with("On ") {
            lines[last - 1].kind = LineKind::Introduction;
        }
    }
}

fn is_marked(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// Returns how many of the first lines introduce a quotation; 0 where they do not.
fn introduction_lines(lines: &[&str]) -> usize {
    let [first, rest @ ..] = lines else { return 0 };
    let near = lines.iter().take(MIN_FIELDS);
    let fields = near.take_while(|line| is_field(line)).count();
    if is_separator(first) || says_who_wrote(first) || fields >= MIN_FIELDS {
        return 1;
    }
    let next = rest.first().copied().unwrap_or_default();
    let is_broken = first.chars().any(|c| c.is_ascii_digit()) && !next.trim().is_empty();
    if is_broken && says_who_wrote(&format!("{first} {next}")) {
        return 2;
    }
    0
}

/// Returns whether a line is a rule with words in it, in whatever language they are.
fn is_separator(line: &str) -> bool {
    let line = line.trim().trim_matches('*');
    let words = line.trim_matches('-');
    let is_rule = line.starts_with(RULE) && line.ends_with(RULE);
    is_rule && words.chars().any(char::is_alphabetic) || line == "Begin forwarded message:"
}

/// Returns whether a line is like `On Monday, 3 March 2026, Ann wrote:`.
fn says_who_wrote(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(':')
        && line.chars().count() <= MAX_INTRODUCTION_CHARS
        && line.contains(|c: char| c.is_ascii_digit())
        && split_words(line).any(|word| WROTE.contains(&word))
}

/// Returns whether a line is a field of a message as programs write it into a text: `Sent: Monday`.
fn is_field(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else {
        return false;
    };
    // Gmail keeps the bold letters of the names
    let name = name.trim_matches([' ', '*', '\u{a0}']).to_lowercase();
    FIELDS.contains(&name.as_str())
}

/// Joins lines, with at most one blank line between two.
fn join_lines(lines: &[&Line<'_>]) -> String {
    let is_blank = |line: &&Line<'_>| line.text.trim_matches(BLANK).is_empty();
    let end = lines.iter().rposition(|line| !is_blank(line));
    let mut text = String::new();
    let mut is_after_blank = true;
    for line in &lines[..end.map_or(0, |last| last + 1)] {
        let is_blank = is_blank(line);
        if !(is_blank && is_after_blank) {
            text.push_str(line.text);
            text.push('\n');
        }
        is_after_blank = is_blank;
    }
    text.truncate(text.trim_end().len());
    text
}

fn hashes(line: &str) -> impl Iterator<Item = u32> {
    split_words(line).map(|word| hash(&word.to_lowercase()))
}

fn hash_words(words: &[(usize, u32)]) -> u32 {
    let hashes: Vec<u32> = words.iter().map(|(_, hash)| *hash).collect();
    hash(&hashes)
}

fn hash_line(line: &str) -> u32 {
    hash(&hashes(line).collect::<Vec<u32>>())
}

fn hash(value: &(impl Hash + ?Sized)) -> u32 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "The lamp of the north pier needs oil before the storm arrives tonight.\nCan you carry ten litres?\n\nAnn";

    fn reply(text: &str) -> (String, String) {
        let mut quotes = Quotes::default();
        quotes.unquote(FIRST);
        let Unquoted { text, history, .. } = quotes.unquote(text);
        (text, history)
    }

    #[test]
    fn what_an_earlier_message_says_is_left_out() {
        let cases = [
            // wrapped again
            (
                "Yes, at six.\n\nOn Tue, 3 Mar 2026 at 06:10, Ann <a@b> wrote:\n\n> The lamp of the north pier needs oil before\n> the storm arrives tonight.\n> Can you carry ten litres?\n>\n> Ann\n",
                "Yes, at six.",
            ),
            // answers between the lines, and a break in the introduction
            (
                "On Tue, 3 Mar 2026 at 06:10, Ann Oakes of the harbour\nboard wrote:\n> Can you carry ten litres?\nNo, five.\n> Ann\n",
                "No, five.",
            ),
            (
                "Only five.\n\n-----Original Message-----\nFrom: Ann\nSent: Tuesday\nTo: Bo\nSubject: Oil\n\nThe lamp of the north pier needs oil before the storm\narrives tonight.\nCan you carry ten litres?\n\nAnn\n",
                "Only five.",
            ),
            (
                "Nur fünf.\n\n________________________________\nVon: Ann\nGesendet: Dienstag\nAn: Bo\nBetreff: Oil\n\nCan you carry ten litres?\n",
                "Nur fünf.",
            ),
            // the message ends with the rest of a marked introduction
            (
                "Yes.\n\nBo wrote:\n> On Tue, 3 Mar 2026 at 06:10, Ann Oakes of the harbour\nboard wrote:",
                "Yes.\n\nBo wrote:\n> On Tue, 3 Mar 2026 at 06:10, Ann Oakes of the harbour\nboard wrote:",
            ),
            // a page has no marks
            (
                "Only five.\n\nAm 3. März 2026 schrieb Ann:\n\nCan you carry ten litres?\n\nAnn",
                "Only five.",
            ),
        ];
        for (text, new) in cases {
            assert_eq!(reply(text), (new.to_owned(), String::new()), "{text}");
        }
    }

    #[test]
    fn new_text_and_unknown_history_are_kept() {
        let cases = [
            (
                "> Who has the key of the lamp room?\nIris.\n\nOn 2 March Bo wrote:\n> Nobody answers\n> the telephone.",
                "> Who has the key of the lamp room?\nIris.",
                "On 2 March Bo wrote:\n> Nobody answers\n> the telephone.",
            ),
            (
                "See below.\n\n---------- Forwarded message ---------\nFrom: Port office\nDate: Monday\nSubject: Dues\n\nNorth quay pays 41.\n",
                "See below.",
                "---------- Forwarded message ---------\nFrom: Port office\nDate: Monday\nSubject: Dues\n\nNorth quay pays 41.",
            ),
            // below the quotation, without and with a mark
            (
                "On 3 March 2026 Ann wrote:\n> Can you carry ten litres?\n\nI can carry ten.",
                "\nI can carry ten.",
                "",
            ),
            (
                "Tools:\n- a can\n\nDate: tomorrow\nCan you carry ten litres?",
                "Tools:\n- a can\n\nDate: tomorrow\nCan you carry ten litres?",
                "",
            ),
        ];
        for (text, new, history) in cases {
            let expected = (new.trim_start().to_owned(), history.to_owned());
            assert_eq!(reply(text), expected, "{text}");
        }
    }
}
