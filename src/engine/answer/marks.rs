//! The marks of sources in the sentences that a model writes: `[2]`.

use std::ops::Range;

/// Brackets around labels: the prompt asks for the first ones, and models write others.
const BRACKETS: [(char, char); 4] = [('[', ']'), ('【', '】'), ('［', '］'), ('(', ')')];
/// Words beside the numbers of labels, in lower case.
#[rustfmt::skip]
const SOURCE_WORDS: &[&str] = &[
    "source", "sources", "document", "documents", "passage", "passages", "quelle", "quellen",
    "dokument", "fuente", "fuentes", "documento", "fonte", "来源", "出典",
];
const JOINING_WORDS: &[&str] = &["and", "und", "et", "y", "e"];
/// Maximum number of sources in a range of labels.
const MAX_MARKED: u32 = 20;

/// Returns a sentence without the labels that it names, and without the spaces in front of them.
pub fn without_marks(sentence: &str) -> String {
    let mut kept = String::with_capacity(sentence.len());
    let mut end = 0;
    for (range, _) in find_marks(sentence) {
        kept.push_str(sentence[end..range.start].trim_end_matches(' '));
        end = range.end;
    }
    kept + &sentence[end..]
}

/// Returns a text without the marks that it ends with, and the white space around them.
pub fn without_last_marks(text: &str) -> &str {
    let mut text = text.trim_end();
    while text.ends_with(BRACKETS.map(|(_, close)| close)) {
        let last = find_marks(text).pop();
        match last.filter(|(range, _)| range.end == text.len()) {
            Some((range, _)) => text = text[..range.start].trim_end(),
            None => break,
        }
    }
    text
}

/// Returns the labels that a sentence names: `[2]`, `[1, 3]`.
pub fn marks(sentence: &str) -> Vec<u32> {
    let found = find_marks(sentence);
    let mut labels: Vec<u32> = found.into_iter().flat_map(|(_, labels)| labels).collect();
    labels.dedup();
    labels
}

/// Returns where a sentence names labels, with them. Brackets in code are none: `rows[3]`.
fn find_marks(sentence: &str) -> Vec<(Range<usize>, Vec<u32>)> {
    let mut found = Vec::new();
    for (open, close) in BRACKETS {
        for (start, _) in sentence.match_indices(open) {
            let from = start + open.len_utf8();
            let Some(length) = sentence[from..].find(close) else {
                break;
            };

            let labels = read_labels(&sentence[from..from + length], open == '(');
            let is_code = sentence[..start].matches('`').count() % 2 == 1;
            if let Some(labels) = labels.filter(|_| !is_code) {
                found.push((start..from + length + close.len_utf8(), labels));
            }
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    // `[1†[2]` has one inside the other
    let mut end = 0;
    found.retain(|(range, _)| {
        let is_outside = range.start >= end;
        end = end.max(range.end);
        is_outside
    });
    found
}

/// Returns the labels in a bracket: `2`, `1, 3`, `1-3`, `Source 2`, `1†L3`; `None` where it holds
/// anything else, as a number of sources, or `needs_word` and no word in front says that they are
/// sources.
fn read_labels(inside: &str, needs_word: bool) -> Option<Vec<u32>> {
    let inside = inside.split('†').next().unwrap_or_default().to_lowercase();
    let parts = inside.split(|c: char| c.is_whitespace() || ",;/&#^".contains(c));
    let mut has_word = false;
    let mut labels = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        if let Some((first, last)) = part.split_once(['-', '–']) {
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            let is_range = first < last && last - first <= MAX_MARKED;
            labels.extend((first..=last).take_while(|_| is_range));
        } else if let Ok(label) = part.parse() {
            labels.push(label);
        } else if labels.is_empty() && SOURCE_WORDS.contains(&part.trim_end_matches(':')) {
            has_word = true;
        } else if !JOINING_WORDS.contains(&part) {
            return None;
        }
    }
    let is_mark = !labels.is_empty() && (has_word || !needs_word);
    is_mark.then_some(labels)
}
