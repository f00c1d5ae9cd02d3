//! One number per chunk and run.
//!
//! A prompt counts its passages from 1, and a run has several prompts: `[1]` of one sentence and
//! `[1]` of the next can be different chunks. Events name a chunk by one number, counted in the
//! order in which the chunks of the run first came into a context. Tokens and prompts stay what the
//! model wrote and read.

use std::collections::BTreeMap;
use std::ops::Range;

use super::answer::Citation;
use super::run::RunEvent;
use super::text::FENCE;
use super::utility::Utility;

/// The numbers of the chunks of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbering {
    numbers: BTreeMap<u64, u32>,
    /// The chunks of the last context of each step, in the order of the prompt.
    contexts: BTreeMap<u32, Vec<u64>>,
    /// The finished sentences by step: as the model wrote them, and their labels by what the prompt
    /// counted.
    sentences: BTreeMap<u32, Sentence>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sentence {
    written: String,
    labels: Labels,
    /// The numbers of its citations; `None` where its marks are not the model's.
    cited: Option<Vec<u32>>,
}

/// Words in the place of a citation where no source holds the sentence.
pub const NO_SOURCE: &str = "[no source]";

/// Words in front of a mark that is a part of the sentence, in lower case.
const BEFORE_NAMED: &[&str] = &[
    "to", "in", "from", "by", "and", "or", "of", "source", "sources", "passage", "passages", "see",
    "zu", "aus", "nach", "laut", "und", "oder", "von", "quelle", "quellen", "selon", "dans", "de",
    "et", "ou", "según", "en", "y", "o", "fuente", "fuentes",
];

/// Words in front of the source of a whole sentence, in lower case.
#[rustfmt::skip]
const LEADING: &[&str] = &[
    "according", "as", "based", "per", "stated", "on", "to", "in", "the", "source", "sources",
    "passage", "document", "laut", "gemäß", "nach", "quelle", "selon", "la", "según", "fuente",
];

/// The number in the run of each passage of a prompt.
type Labels = BTreeMap<u32, u32>;

/// Numbers chunks, which have a label in values of several types.
macro_rules! number_all {
    ($numbering:ident, $chunks:expr) => {
        for named in $chunks {
            named.label = $numbering.number_of(named.chunk);
        }
    };
}

impl Numbering {
    /// Numbers everything in an event that names a chunk, and the marks in its text.
    pub fn number(&mut self, event: &mut RunEvent) {
        match event {
            RunEvent::StepFinished {
                step,
                text,
                citations,
                ..
            }
            | RunEvent::StepCited {
                step,
                text,
                citations,
            } => self.number_sentence(*step, text, citations, true),
            RunEvent::StepGiven {
                step,
                text,
                citations,
            } => self.number_sentence(*step, text, citations, false),
            RunEvent::RunFinished { text, answer, .. } => {
                *answer = self.short(answer, text);
                *text = self.whole(text);
            }
            _ => {}
        }

        self.number_chunks(event);
    }

    fn number_sentence(
        &mut self,
        step: u32,
        text: &mut String,
        citations: &[Citation],
        is_generated: bool,
    ) {
        let number = |cited: &Citation| self.get(cited.chunk).unwrap_or(cited.label);
        let mut labels = self.labels(step);
        labels.extend(citations.iter().map(|cited| (cited.label, number(cited))));
        let cited = citations.iter().map(number).collect();
        let sentence = Sentence {
            written: text.clone(),
            labels,
            cited: Some(cited).filter(|_| is_generated),
        };
        *text = sentence.number(text);
        self.sentences.insert(step, sentence);
    }

    /// Numbers everything in an event that names a chunk. An event that is numbered already stays
    /// as it is.
    pub fn number_chunks(&mut self, event: &mut RunEvent) {
        match event {
            RunEvent::ContextBuilt { step, context } => {
                number_all!(self, &mut context.chunks);
                let chunks = context.chunks.iter().map(|used| used.chunk).collect();
                self.contexts.insert(*step, chunks);
            }
            RunEvent::UnderstandingMeasured { understanding, .. }
            | RunEvent::UnderstandingProgressed { understanding, .. } => {
                number_all!(self, &mut understanding.chunks);
            }
            RunEvent::UnderstandingSkipped { chunks, .. } => number_all!(self, chunks),
            RunEvent::StepAttributed { chunks, .. } => number_all!(self, chunks),
            RunEvent::StepAblated { chunks, .. } => number_all!(self, chunks),
            RunEvent::UtilityMeasured { utility, .. } => self.number_utility(utility),
            RunEvent::StepFinished { citations, .. }
            | RunEvent::StepCited { citations, .. }
            | RunEvent::StepGiven { citations, .. }
            | RunEvent::RunFinished { citations, .. } => number_all!(self, citations),
            _ => {}
        }
    }

    /// Numbers the chunks whose utility was measured.
    pub fn number_utility(&mut self, utility: &mut Utility) {
        number_all!(self, &mut utility.hits);
    }

    /// Returns an unfinished sentence with the numbers of the run in its marks.
    pub fn number_text(&self, step: u32, text: &str) -> String {
        renumber(text, &self.labels(step))
    }

    /// Returns the number of a chunk that has one.
    pub fn get(&self, chunk: u64) -> Option<u32> {
        self.numbers.get(&chunk).copied()
    }

    /// Returns the number of a chunk, which gets the next one where it has none.
    fn number_of(&mut self, chunk: u64) -> u32 {
        let next = super::number::saturating_u32(self.numbers.len() + 1);
        *self.numbers.entry(chunk).or_insert(next)
    }

    /// Returns the number of each passage of the prompt that a sentence is written from: that of
    /// its own lookup, else that of the question's.
    fn labels(&self, step: u32) -> Labels {
        let of_step = self.contexts.get(&step).or_else(|| self.contexts.get(&0));
        let chunks = of_step.map_or(&[][..], Vec::as_slice);
        let numbers = chunks.iter().filter_map(|chunk| self.numbers.get(chunk));
        (1..).zip(numbers.copied()).collect()
    }

    /// Returns the whole answer with the numbers of each sentence.
    fn whole(&self, text: &str) -> String {
        let mut numbered = String::with_capacity(text.len());
        let mut rest = text;
        for sentence in self.sentences.values() {
            let Some((before, after)) = rest.split_once(sentence.written.as_str()) else {
                continue;
            };
            numbered.push_str(before);
            numbered.push_str(&sentence.number(&sentence.written));
            rest = after;
        }
        numbered + rest
    }

    /// Returns the short answer with the numbers of the sentence that states it.
    fn short(&self, answer: &str, text: &str) -> String {
        if answer == text {
            return self.whole(text);
        }
        let mut sentences = self.sentences.values().rev();
        match sentences.find(|sentence| sentence.written.contains(answer)) {
            Some(sentence) => sentence.number(answer),
            None => self.number_text(0, answer),
        }
    }
}

impl Sentence {
    /// Returns its text with the numbers of the run in the marks of its citations alone: what the
    /// model named and no source holds would be taken for a citation.
    fn number(&self, text: &str) -> String {
        let Some(cited) = &self.cited else {
            return renumber(text, &self.labels);
        };
        // a block of code is as it was written
        if text.contains(FENCE) {
            return text.to_owned();
        }
        let mut numbered = String::with_capacity(text.len());
        let mut end = 0;
        let mut is_dropped = false;

        for Range { start, end: close } in marks(text) {
            let between = &text[end..start - 1];
            // "[1], [2]" of which the first went
            let is_comma = is_dropped && between.trim() == ",";
            numbered.push_str(if is_comma { " " } else { between });

            let mark = self.mark(&numbered, &text[start..close], cited);
            is_dropped = mark.is_none();
            end = close + 1;
            match mark {
                Some(mark) if mark == NO_SOURCE && leads(&numbered, &text[end..]) => {
                    let said = text[end..].trim_start_matches([',', '，', ' ']);
                    return begin_with_capital(&self.number(said));
                }
                Some(mark) => numbered.push_str(&mark),
                None => numbered.truncate(without_separator(&numbered).len()),
            }
        }

        let rest = &text[end..];
        let is_first = numbered.is_empty();
        numbered + if is_first { rest.trim_start() } else { rest }
    }

    /// Returns what stands in the place of a mark; `None` where it goes.
    fn mark(&self, before: &str, inside: &str, cited: &[u32]) -> Option<String> {
        let named = inside.split(',');
        let known = named.filter_map(|label| self.labels.get(&label.trim().parse().ok()?));
        let held = known.filter(|number| cited.contains(number));
        let held: Vec<String> = held.map(u32::to_string).collect();
        if !held.is_empty() {
            return Some(format!("[{}]", held.join(", ")));
        }
        if is_of_text(before, inside) {
            return Some(format!("[{inside}]"));
        }
        if !is_named_next(before) {
            return None;
        }

        let mark = cited.first().map(|number| format!("[{number}]"));
        let mark = mark.unwrap_or_else(|| NO_SOURCE.to_owned());
        // "[1] and [1]"
        let is_repeated = without_separator(before).ends_with(&mark);
        (!is_repeated).then_some(mark)
    }
}

/// Returns whether a text says no more than that a source follows, up to a comma: without a source
/// "According to [no source], it is red" says nothing that "It is red" does not.
fn leads(before: &str, behind: &str) -> bool {
    let mut words = before.split_whitespace().map(str::to_lowercase);
    behind.starts_with([',', '，']) && words.all(|word| LEADING.contains(&word.as_str()))
}

fn begin_with_capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    // "iPhone" begins so anywhere
    if letters.clone().next().is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    let first = first.into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Returns a text without what joins a mark to the one that it ends with: a comma, or a word.
fn without_separator(text: &str) -> &str {
    let text = text.trim_end();
    let joined = text.rfind(']').filter(|close| {
        let separator = text[close + 1..].trim();
        separator == "," || BEFORE_NAMED.contains(&separator)
    });
    joined.map_or(text, |close| &text[..=close])
}

/// Returns whether a bracket is no mark: an element of a list in code, or a number of the text.
fn is_of_text(before: &str, inside: &str) -> bool {
    let is_element = before.ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == ']');
    is_element || inside.trim().len() > 1 && !inside.contains(',')
}

/// Returns whether a text ends with a word that the mark of a source completes.
fn is_named_next(text: &str) -> bool {
    let words = text.split_whitespace();
    words
        .last()
        .is_some_and(|word| BEFORE_NAMED.contains(&word.to_lowercase().as_str()))
}

/// Returns a text with other numbers in its marks `[1]` and `[1, 3]`.
fn renumber(text: &str, labels: &Labels) -> String {
    let is_same = labels.iter().all(|(label, number)| label == number);
    if is_same {
        return text.to_owned();
    }

    let mut numbered = String::with_capacity(text.len());
    let mut end = 0;
    for Range { start, end: close } in marks(text) {
        numbered.push_str(&text[end..start]);
        let inside = text[start..close].split(',').map(|label| {
            let known = label.trim().parse().ok();
            let number = known.and_then(|label: u32| labels.get(&label));
            let space = &label[..label.len() - label.trim_start().len()];
            // a passage that the prompt did not have must not become another one
            number.map_or_else(|| format!("{space}?"), |number| format!("{space}{number}"))
        });
        numbered.push_str(&inside.collect::<Vec<_>>().join(","));
        end = close;
    }
    numbered + &text[end..]
}

/// Returns what is between the brackets of each mark.
fn marks(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('[').filter_map(|(open, _)| {
        let start = open + 1;
        let end = start + text[start..].find(']')?;
        let is_number = |label: &str| {
            let label = label.trim();
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
        };
        text[start..end]
            .split(',')
            .all(is_number)
            .then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::answer::{
        Decision, Evidence, Outcome, RunUsage, Uncertainty, UncertaintyMeasure,
    };
    use crate::event::chunks::{Context, ContextChunk};

    fn context(step: u32, chunks: &[u64]) -> RunEvent {
        let chunks = (1..).zip(chunks);
        RunEvent::ContextBuilt {
            step,
            context: Context {
                chunks: chunks
                    .map(|(label, chunk)| ContextChunk {
                        label,
                        chunk: *chunk,
                        tokens: 1,
                    })
                    .collect(),
                dropped: Vec::new(),
                prompt_tokens: 1,
                available_tokens: 9,
            },
        }
    }

    fn citation(label: u32, chunk: u64) -> Citation {
        Citation {
            label,
            chunk,
            chunk_lines: Some([1, 1]),
            chunk_place: None,
            file: "a.md".to_owned(),
            first_line: 1,
            last_line: 1,
            place: None,
            quote: None,
            evidence: Evidence::Marked,
        }
    }

    fn finish_step(step: u32, text: &str, citations: Vec<Citation>) -> RunEvent {
        RunEvent::StepFinished {
            step,
            text: text.to_owned(),
            uncertainty: Uncertainty {
                measure: UncertaintyMeasure::Probe,
                value: 0.0,
                threshold: None,
                decision: Decision::Keep,
            },
            citations,
        }
    }

    fn number_event(numbering: &mut Numbering, mut event: RunEvent) -> (String, Vec<u32>) {
        numbering.number(&mut event);
        match event {
            RunEvent::StepFinished {
                text, citations, ..
            }
            | RunEvent::RunFinished {
                text, citations, ..
            } => (text, citations.iter().map(|cited| cited.label).collect()),
            RunEvent::ContextBuilt { context, .. } => (
                String::new(),
                context.chunks.iter().map(|used| used.label).collect(),
            ),
            _ => panic!("an event without chunks"),
        }
    }

    #[test]
    fn a_lead_without_its_source_goes() {
        for (text, expected) in [
            ("According to [1], the soup is red.", "The soup is red."),
            (
                "According to source [1], it costs 3 EUR [2].",
                "It costs 3 EUR.",
            ),
            (
                "The soup in [1], it is red.",
                "The soup in [no source], it is red.",
            ),
        ] {
            let mut numbering = Numbering::default();
            number_event(&mut numbering, context(1, &[70, 80]));
            let event = finish_step(1, text, Vec::new());
            assert_eq!(number_event(&mut numbering, event).0, expected);
        }
    }

    #[test]
    fn a_chunk_has_one_number_in_all_prompts_of_a_run() {
        let mut numbering = Numbering::default();
        let numbering = &mut numbering;
        assert_eq!(number_event(numbering, context(1, &[70, 80])).1, [1, 2]);
        assert_eq!(
            number_event(numbering, finish_step(1, "A [2].", vec![citation(2, 80)])),
            ("A [2].".to_owned(), vec![2])
        );
        assert_eq!(number_event(numbering, context(2, &[90, 70])).1, [3, 1]);
        assert_eq!(
            numbering.number_text(2, "B [1"),
            "B [1",
            "an open mark waits"
        );
        assert_eq!(numbering.number_text(2, "B [1]"), "B [3]");
        let both = vec![citation(1, 90), citation(2, 70)];
        assert_eq!(
            number_event(numbering, finish_step(2, "B [1, 2], x[5].", both)),
            ("B [3, 1], x[5].".to_owned(), vec![3, 1])
        );

        let end = RunEvent::RunFinished {
            outcome: Outcome::Completed,
            text: "A [2]. B [1, 2], x[5].".to_owned(),
            answer: "B [1".to_owned(),
            citations: vec![citation(2, 80), citation(1, 90), citation(2, 70)],
            usage: RunUsage::default(),
        };
        assert_eq!(
            number_event(numbering, end),
            ("A [2]. B [3, 1], x[5].".to_owned(), vec![2, 3, 1])
        );
    }

    #[test]
    fn marks_of_sources_that_do_not_hold_a_sentence_go() {
        let cases = [
            ("It sank in 1871 [2].", vec![], "It sank in 1871."),
            ("By [1] and [2] it sank.", vec![1], "By [1] it sank."),
            ("It sank. [1], [2], [2]", vec![1], "It sank. [1]"),
            ("It sank [2], [1].", vec![1], "It sank [1]."),
            ("It sank [1, 2].", vec![1], "It sank [1]."),
            ("[2] It sank.", vec![], "It sank."),
            (
                "According to [2], it sank.",
                vec![1],
                "According to [1], it sank.",
            ),
            ("According to [2], it sank.", vec![], "It sank."),
            (
                "It is `rows[2]`, of [1871].",
                vec![],
                "It is `rows[2]`, of [1871].",
            ),
        ];
        for (written, cited, expected) in cases {
            let numbering = &mut Numbering::default();
            number_event(numbering, context(0, &[70, 80]));
            let citations = cited
                .iter()
                .map(|label| citation(*label, 60 + 10 * u64::from(*label)));
            let found = number_event(numbering, finish_step(1, written, citations.collect()));
            assert_eq!(found, (expected.to_owned(), cited), "{written}");
        }
    }

    #[test]
    fn numbered_chunks_stay_as_they_are() {
        let mut numbering = Numbering::default();
        let mut first = context(0, &[7, 8]);
        let mut second = context(1, &[9, 8]);
        numbering.number(&mut first);
        numbering.number(&mut second);

        let mut reader = Numbering::default();
        for event in [first, second] {
            let mut again = event.clone();
            reader.number_chunks(&mut again);
            assert_eq!(again, event);
        }
    }
}
