//! The answer to a question for all of something: each passage is read by itself, and what they
//! name is put together. A small model that reads all of them at once leaves most out.

use std::collections::BTreeSet;

use crate::corpus::{begins_item, language};
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Passages, Run, Sentence, context};
use crate::event::{Citation, Hit, saturating_u32};
use crate::llm::{Completion, Decoding, End, Token};
use crate::methods::ModelCalls as _;
use crate::methods::joined::chunks_of;

use super::marks::without_last_marks;
use super::rows::section;
use super::sources::Supports;
use super::wording::{is_entry, stems};

/// Passages that a small model reads at once without leaving much out.
pub const AT_ONCE: usize = 4;
/// Passages that are read in one batch: the first entries do not wait for the last passage.
const IN_BATCH: usize = 3;
/// Maximum length of what one passage names.
const MAX_TOKENS: u32 = 160;
/// Maximum number of further parts of lists that are read.
const MAX_REST: usize = 8;
/// Least share of the words of an entry that its passage holds.
const MIN_HELD: f32 = 0.6;
/// Ways to say that a passage names nothing, in lower case.
const NONE: &[&str] = &[
    "none", "n/a", "nothing", "keine", "nichts", "aucun", "rien", "ninguno", "nada", "无", "没有",
];

/// Words behind which a question asks for something of each entry, which a row of a table has, in
/// lower case.
#[rustfmt::skip]
const DETAILED: &[&str] = &[
    " with ", " and their ", " mit ", " avec ", " et leur", " con ", " y su",
];

/// Writes what each passage names of what the question asks for, each entry once and with its
/// passage. The answer is empty where they name nothing. Where a passage is a part of a list, its
/// other parts are read, too, and added to the passages.
///
/// # Errors
///
/// Failures of the model and of the index.
pub fn write_list(
    run: &mut Run<'_>,
    gate: &dyn Gate,
    passages: &mut Passages,
) -> Result<Answer, RunError> {
    let mut list = List::default();
    list.read(run, gate, passages, 0)?;
    let rest = find_rest(run, passages, &list)?;
    if !rest.is_empty() {
        let known = passages.hits.len();
        passages.hits.extend(rest);
        run.emit_read(run.question.to_owned(), &passages.hits);
        context::publish(run, passages)?;
        list.read(run, gate, passages, known)?;
    }
    let text = list.answer.text.trim_end().to_owned();
    Ok(Answer {
        short: text.clone(),
        text,
        ..list.answer
    })
}

/// Returns the chunks beside the passages of which the list has more than one item or row, as far
/// as they stand below the same headings and fit: a long list is in several chunks.
fn find_rest(run: &Run<'_>, passages: &Passages, list: &List) -> Result<Vec<Hit>, RunError> {
    let Some(corpus) = &run.tools.corpus else {
        return Ok(Vec::new());
    };
    let items = list.answer.citations.iter().filter(|one| {
        let quote = one.quote.as_deref();
        quote.is_some_and(is_entry)
    });
    let labels: Vec<u32> = items.map(|one| one.label).collect();
    let is_part = |label: &u32| labels.iter().filter(|one| *one == label).count() > 1;
    let parts = (1..)
        .zip(&passages.hits)
        .filter(|(label, _)| is_part(label));

    let mut hits = passages.hits.clone();
    for (_, part) in parts {
        let chunks = corpus.index.document(&part.chunk.document)?;
        let (section, own) = section(&part.chunk, &chunks);
        let behind = chunks[own.end..section.end].iter();
        let before = chunks[section.start..own.start].iter().rev();
        for chunk in behind.chain(before) {
            let is_known = hits
                .iter()
                .any(|hit| chunks_of(&hit.chunk).contains(&chunk.id));
            if is_known || hits.len() >= passages.hits.len() + MAX_REST {
                continue;
            }
            let rank = saturating_u32(hits.len()) + 1;
            hits.push(Hit::with_rank(chunk.clone(), rank));
            if !context::fits(run, &hits)? {
                hits.pop();
                break;
            }
        }
    }
    Ok(hits.split_off(passages.hits.len()))
}

/// A line of what a passage names.
struct Entry {
    text: String,
    tokens: Vec<Token>,
}

/// The answer so far, with the words of each entry.
#[derive(Default)]
struct List {
    answer: Answer,
    known: Vec<BTreeSet<String>>,
}

impl List {
    /// Adds what the passages name, from the one with this index on.
    fn read(
        &mut self,
        run: &mut Run<'_>,
        gate: &dyn Gate,
        passages: &Passages,
        from: usize,
    ) -> Result<(), RunError> {
        let supports = Supports::new(run.question, passages);
        let decoding = Decoding::greedy(MAX_TOKENS, run.tools.config.seed);
        let asked = run.question.to_lowercase();
        let is_detailed = DETAILED.iter().any(|word| asked.contains(word));
        let labelled: Vec<(u32, &Hit)> = (1..).zip(&passages.hits).skip(from).collect();

        for batch in labelled.chunks(IN_BATCH) {
            let prompts = batch.iter().map(|(_, hit)| {
                let passage = hit.chunk.embedded_text();
                context::entries_prompt(run.tools.prompts, run.question, &passage)
            });
            let prompts: Vec<_> = prompts.collect();
            let completions = run.complete("list", &prompts, &decoding)?;
            for ((label, hit), completion) in batch.iter().zip(completions) {
                let language = language(&hit.chunk.text);
                // an entry is too short to know its own language
                let held = stems(&hit.chunk.text_with_place(), language);
                for mut entry in entries(&completion) {
                    let words = stems(&entry.text, language);
                    if !is_held(&words, &held) {
                        continue;
                    }
                    let cited = supports.cite(&format!("{} [{label}]", entry.text));
                    let own = cited.into_iter().filter(|one| one.label == *label);
                    let own: Vec<Citation> = own.collect();
                    let quote = own.first().and_then(|one| one.quote.as_deref());
                    if let Some(row) = quote.filter(|row| is_detailed && row.starts_with('|')) {
                        entry.text = with_cells(&entry.text, row);
                    }
                    self.add(run, gate, entry, words, own);
                }
            }
            run.keep(self.answer.clone());
        }
        Ok(())
    }

    /// Adds an entry of these words and emits it, where it has a source and says more than the
    /// entries before.
    fn add(
        &mut self,
        run: &mut Run<'_>,
        gate: &dyn Gate,
        entry: Entry,
        words: BTreeSet<String>,
        citations: Vec<Citation>,
    ) {
        let is_known = self.known.iter().any(|known| words.is_subset(known));
        if citations.is_empty() || is_known {
            return;
        }

        self.known.push(words);
        let uncertainty = gate.decide_early(&entry.tokens);
        let mut tokens = entry.tokens;
        if let Some(first) = tokens.first_mut() {
            first.text.insert_str(0, "- ");
        }
        if let Some(last) = tokens.last_mut() {
            last.text.push('\n');
        }
        let sentence = Sentence {
            step: saturating_u32(self.known.len()),
            raw: format!("- {}\n", entry.text),
            tokens,
            citations,
            uncertainty,
        };
        run.emit_tokens(&sentence);
        if let Some(uncertainty) = sentence.uncertainty.clone() {
            run.emit(sentence.to_event(uncertainty));
        }
        self.answer.text.push_str(&sentence.raw);
        self.answer.citations.extend(sentence.citations.clone());
        self.answer.sentences.push(sentence);
    }
}

/// Returns the entries of a completion, without the marks of a list; a line that was cut off is
/// none.
fn entries(completion: &Completion) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut line: Vec<Token> = Vec::new();
    for token in &completion.tokens {
        // a token may end one line and begin the next
        for (at, part) in token.text.split('\n').enumerate() {
            if at > 0 {
                entries.extend(entry(std::mem::take(&mut line)));
            }
            line.push(Token {
                text: part.to_owned(),
                ..token.clone()
            });
        }
    }
    if completion.end != End::MaxTokens {
        entries.extend(entry(line));
    }
    entries
}

/// Returns the entry of a line; `None` where it names nothing.
fn entry(tokens: Vec<Token>) -> Option<Entry> {
    let line: String = tokens.iter().map(|token| token.text.as_str()).collect();
    let whole = line.trim();
    let text = match whole.split_once([' ', '\t']) {
        Some((_, rest)) if begins_item(whole) => rest,
        Some(_) | None => whole,
    };
    // a mark is that of another prompt
    let text = without_last_marks(text).trim();
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '/'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let (first, last) = (words.first()?, words.last()?);
    // "name: none" names nothing either, and a lead to the entries is none
    if text.ends_with(':') || NONE.contains(first) || NONE.contains(last) {
        return None;
    }

    let start = line.find(text)?;
    let mut at = 0;
    let of_text = tokens.into_iter().filter_map(|mut token| {
        let range = at..at + token.text.len();
        at = range.end;
        let held = range.start.max(start)..range.end.min(start + text.len());
        token.text = line.get(held)?.to_owned();
        (!token.text.is_empty()).then_some(token)
    });
    Some(Entry {
        tokens: of_text.collect(),
        text: text.to_owned(),
    })
}

/// Returns whether a passage holds most words of an entry.
fn is_held(words: &BTreeSet<String>, held: &BTreeSet<String>) -> bool {
    let common = words.intersection(held).count();
    !words.is_empty() && common as f32 >= words.len() as f32 * MIN_HELD
}

/// Returns an entry with the other cells of its row.
fn with_cells(text: &str, row: &str) -> String {
    let cells = row.split('|').map(str::trim);
    let others = cells.filter(|cell| {
        let value = cell.split_once(": ").map_or(*cell, |(_, value)| value);
        !value.is_empty() && !text.contains(value)
    });
    let others: Vec<&str> = others.collect();
    if others.is_empty() {
        return text.to_owned();
    }
    format!("{text}: {}", others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(texts: &[&str], end: End) -> Completion {
        let token = |text: &&str| Token {
            id: 1,
            text: (*text).to_owned(),
            logprob: -0.1,
            entropy: 0.1,
            attention: Vec::new(),
            is_thought: false,
            alternatives: Vec::new(),
        };
        Completion {
            text: texts.concat(),
            tokens: texts.iter().map(token).collect(),
            thoughts: String::new(),
            end,
        }
    }

    #[test]
    fn an_entry_of_a_table_is_completed_by_its_row() {
        let row = "| Festival: Kite Day | Town: Marickton | Day: 3 May |";
        assert_eq!(
            with_cells("Kite Day", row),
            "Kite Day: Town: Marickton, Day: 3 May"
        );
        let known = with_cells("Kite Day, Marickton", row);
        assert_eq!(known, "Kite Day, Marickton: Day: 3 May");
        assert_eq!(with_cells("Kite Day", "| Festival: Kite Day |"), "Kite Day");
    }

    #[test]
    fn the_lines_of_a_completion_are_entries_with_their_tokens() {
        let cases: [(&[&str], End, &[&str]); 5] = [
            (
                &["Kite", " Day", "\n", "Salt", " Fair"],
                End::Turn,
                &["Kite Day", "Salt Fair"],
            ),
            (
                &["-", " Kite", " Day", "\n", "2", ".", " Salt"],
                End::Turn,
                &["Kite Day", "Salt"],
            ),
            (
                &["Kite", " Day\nSalt", " Fa"],
                End::MaxTokens,
                &["Kite Day"],
            ),
            (&["none"], End::Turn, &[]),
            (
                &["The days", " are", ":\n", "- ", "Kite", ": none [1]"],
                End::Turn,
                &[],
            ),
        ];
        for (texts, end, expected) in cases {
            let found = entries(&completion(texts, end));
            let lines: Vec<&str> = found.iter().map(|entry| entry.text.as_str()).collect();
            assert_eq!(lines, expected);
            for entry in &found {
                let tokens = entry.tokens.iter().map(|token| token.text.as_str());
                assert_eq!(tokens.collect::<String>(), entry.text);
            }
        }
    }
}
