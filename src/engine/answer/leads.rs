//! Leads: the lines that say what the ones below them are about, in which nothing says it again: a
//! question, a line that ends in a colon above a list, an item above items that are further in.

use std::ops::Range;

use crate::corpus::begins_item;
use crate::event::ChunkText;

use super::sources::SourceSentence;

/// The longest list that is quoted as one with its lead: bread and rolls are not two answers.
const MAX_LIST_BYTES: usize = 240;

/// A sentence, or a short list with its lead.
pub struct Unit {
    /// The sentences that it is of, by their indices.
    pub sentences: Range<usize>,
    /// The leads above it, by their indices.
    pub leads: Vec<usize>,
    /// Whether it is the lead of others, and says nothing by itself.
    pub is_lead: bool,
}

/// Returns the units of the sentences of a passage, in order.
pub fn units(chunk: &ChunkText, sentences: &[&SourceSentence]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut open: Vec<Lead> = Vec::new();
    let mut at = 0;
    while at < sentences.len() {
        let item = item_indent(chunk, sentences[at]);
        open.retain(|lead| lead.leads(at, item));
        let mut unit = Unit {
            sentences: at..at + 1,
            leads: open.iter().map(|lead| lead.sentence).collect(),
            is_lead: false,
        };

        if let Some(lead) = Lead::new(chunk, sentences, at) {
            let led = |next: &usize| lead.leads(*next, item_indent(chunk, sentences[*next]));
            let end = at + 1 + (at + 1..sentences.len()).take_while(led).count();
            let last = sentences[end - 1];
            let bytes = last.at + last.text.len() - sentences[at].at;
            if lead.indent.is_some() && bytes <= MAX_LIST_BYTES {
                unit.sentences.end = end;
            } else {
                unit.is_lead = true;
                open.push(lead);
            }
        }
        at = unit.sentences.end;
        units.push(unit);
    }
    units
}

/// A line that leads others.
struct Lead {
    sentence: usize,
    /// The indentation of the items that it leads; `None` of a question, which leads the sentence
    /// behind it.
    indent: Option<usize>,
}

impl Lead {
    fn new(chunk: &ChunkText, sentences: &[&SourceSentence], at: usize) -> Option<Self> {
        let text = sentences[at].text.as_str();
        let next = sentences.get(at + 1)?;
        let indent = if asks(text) {
            None
        } else {
            let below = item_indent(chunk, next)?;
            let is_above = match item_indent(chunk, sentences[at]) {
                Some(own) => own < below,
                None => without_emphasis(text).ends_with([':', '：']),
            };
            if !is_above {
                return None;
            }
            Some(below)
        };
        Some(Self {
            sentence: at,
            indent,
        })
    }

    /// Returns whether it leads a sentence behind it, which is an item of this indentation.
    fn leads(&self, at: usize, item: Option<usize>) -> bool {
        match self.indent {
            Some(indent) => item.is_some_and(|item| item >= indent),
            None => at == self.sentence + 1,
        }
    }
}

/// Returns whether a text of a document is a question; in a table of contents it is the text of a
/// link.
fn asks(text: &str) -> bool {
    without_emphasis(text).ends_with(['?', '？']) || text.contains("?](")
}

fn without_emphasis(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_whitespace() || "*_".contains(c))
}

/// Returns the indentation of an item of a list; `None` for another sentence.
fn item_indent(chunk: &ChunkText, sentence: &SourceSentence) -> Option<usize> {
    let before = &chunk.text[..sentence.at];
    let indent = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    begins_item(&sentence.text).then_some(indent)
}

#[cfg(test)]
mod tests {
    use super::super::sources::Supports;
    use super::*;
    use crate::engine::run::Passages;
    use crate::event::Hit;

    #[test]
    fn leads_say_what_the_lines_below_are_about() {
        let long = "x".repeat(MAX_LIST_BYTES);
        let cases = [
            (
                "**May I?**\nYes.\nAlways.",
                "**May I?**:|Yes. < **May I?**|Always.",
            ),
            (
                "Baker:\n\n* rye\n* rolls\n\nEnd.",
                "Baker:\n\n* rye\n* rolls|End.",
            ),
            (
                "- Bergen\n    - Guide: A\n- Bod\n    - Guide: B",
                "- Bergen\n    - Guide: A|- Bod\n    - Guide: B",
            ),
            ("Baker:\nall day.", "Baker:\nall day."),
            ("- one\n- two", "- one|- two"),
        ];
        let whole = |text: &str| units_of(text).join("|");
        for (text, expected) in cases {
            assert_eq!(whole(text), expected);
        }
        let listed = format!("Steps:\n- a {long}\n  - b\n- c\n\nd");
        let expected =
            format!("Steps::|- a {long}: < Steps:|- b < Steps: < - a {long}|- c < Steps:|d");
        assert_eq!(whole(&listed), expected);
    }

    fn units_of(text: &str) -> Vec<String> {
        let passages = Passages::from_hits(vec![Hit::from_text(1, "a.md", text)]);
        let supports = Supports::new("", &passages);
        let sentences: Vec<&SourceSentence> = supports.sources_of(0).collect();
        let shown = units(&passages.hits[0].chunk, &sentences)
            .into_iter()
            .map(|unit| {
                let [first, last] = [
                    sentences[unit.sentences.start],
                    sentences[unit.sentences.end - 1],
                ];
                let mut shown = text[first.at..last.at + last.text.len()].to_owned();
                shown.push_str(if unit.is_lead { ":" } else { "" });
                for lead in unit.leads {
                    shown.push_str(" < ");
                    shown.push_str(&sentences[lead].text);
                }
                shown
            });
        shown.collect()
    }
}
