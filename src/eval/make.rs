//! Questions about a folder, for people who have none: the generator writes them, and answers them again before they are kept.

use serde::Serialize;

use super::metrics::{exact_match, normalised};
use crate::config::prompts::PromptName;
use crate::corpus::{Document, fold_white_space, sentences};
use crate::event::Flow;
use crate::llm::{Decoding, LlmError, Prompt, Random, Sampling, StopRule};
use crate::methods::{MethodError, ModelCalls};

/// Candidates that are written about at once.
const BATCH: usize = 8;
/// So many candidates are tried for each question that is wanted.
const TRIES: usize = 6;
/// A sentence of fewer words says too little to ask about.
const FEWEST_WORDS: usize = 4;
const QUESTION_TOKENS: u32 = 64;
const ANSWER_TOKENS: u32 = 32;

/// A question as a line of a question file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    pub id: String,
    pub question: String,
    pub answers: Vec<String>,
    pub evidence: Vec<MadeEvidence>,
    /// `written` by the generator, or `gap`: the sentence with a gap where the answer was.
    pub kind: &'static str,
}

/// Where the answer of a [`Made`] question stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MadeEvidence {
    pub file: String,
    pub quote: String,
}

/// How far the making of questions is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    pub kept: usize,
    pub wanted: usize,
    pub tried: usize,
}

/// A sentence, what could be asked for in it, and what stands around it.
struct Candidate<'a> {
    document: &'a Document,
    sentence: String,
    answer: String,
    passage: String,
}

/// Write questions about sentences of the documents, drawn by `seed`. A question is kept when it does not give its answer away and the
/// generator, shown the passage, answers it with just that. Where the generator writes no question, one with a gap is tried.
///
/// # Errors
/// The failures of the generator; a user's prompt file that cannot be read.
pub fn make_questions(
    calls: &mut dyn ModelCalls,
    documents: &[Document],
    (wanted, seed): (usize, u64),
    observe: &mut dyn FnMut(Making) -> Flow,
) -> Result<Vec<Made>, MethodError> {
    let candidates: Vec<Candidate<'_>> =
        Random::new(seed).shuffled(documents.iter().flat_map(candidates).collect());
    let mut made: Vec<Made> = Vec::new();
    let mut tried = 0;
    for batch in candidates
        .chunks(BATCH)
        .take((wanted * TRIES).div_ceil(BATCH))
    {
        if made.len() >= wanted
            || observe(Making {
                kept: made.len(),
                wanted,
                tried,
            }) == Flow::Stop
        {
            break;
        }
        tried += batch.len();
        let asked = match asked(calls, batch) {
            // what is made so far stays
            Err(MethodError::Model(LlmError::Stopped)) => break,
            asked => asked?,
        };
        for (at, candidate) in batch.iter().enumerate() {
            let Some((kind, question)) = &asked[at] else {
                continue;
            };
            if made.len() < wanted && !made.iter().any(|known| known.question == *question) {
                made.push(candidate.made(made.len() + 1, question, kind));
            }
        }
    }
    Ok(made)
}

/// The question about each candidate that the generator answers itself, and its kind.
fn asked(
    calls: &mut dyn ModelCalls,
    batch: &[Candidate<'_>],
) -> Result<Vec<Option<(&'static str, String)>>, MethodError> {
    let mut asked = vec![None; batch.len()];
    let gaps: Vec<String> = batch.iter().map(Candidate::gap).collect();
    // the generator writes no question about some, or one that it does not answer itself
    for (kind, questions) in [("written", written(calls, batch)?), ("gap", gaps)] {
        let right = answered(calls, batch, &questions)?;
        for (at, question) in questions
            .into_iter()
            .enumerate()
            .filter(|(at, _)| right[*at])
        {
            asked[at].get_or_insert((kind, question));
        }
    }
    Ok(asked)
}

impl Candidate<'_> {
    /// The sentence with a gap in the place of the answer.
    fn gap(&self) -> String {
        format!(
            "What is missing in \"{}\"?",
            self.sentence.replacen(&self.answer, "____", 1)
        )
    }

    /// Is this a question, and one that does not give its answer away?
    fn is_asked_by(&self, question: &str) -> bool {
        question.ends_with('?')
            && question.split_whitespace().count() >= FEWEST_WORDS
            && !normalised(question).contains(&normalised(&self.answer))
    }

    fn made(&self, number: usize, question: &str, kind: &'static str) -> Made {
        Made {
            id: format!("q{number:03}"),
            question: question.to_owned(),
            answers: vec![self.answer.clone()],
            evidence: vec![MadeEvidence {
                file: self.document.path.clone(),
                quote: self.sentence.clone(),
            }],
            kind,
        }
    }
}

/// The sentences of a document that hold a name or a number to ask for.
fn candidates(document: &Document) -> Vec<Candidate<'_>> {
    let ranges = sentences(&document.text, document.language);
    let text = |at: usize| fold_white_space(&document.text[ranges[at].clone()]);
    let mut found = Vec::new();
    for at in 0..ranges.len() {
        let sentence = text(at);
        if sentence.split(' ').count() < FEWEST_WORDS || !sentence.ends_with(['.', '!']) {
            continue;
        }
        if let Some(answer) = last_name(&sentence) {
            let around = at.saturating_sub(1)..(at + 2).min(ranges.len());
            let passage = around.map(text).collect::<Vec<String>>().join(" ");
            found.push(Candidate {
                document,
                answer,
                passage,
                sentence,
            });
        }
    }
    found
}

/// The last run of capitalised words or numbers that does not begin the sentence.
fn last_name(sentence: &str) -> Option<String> {
    let words: Vec<&str> = sentence.split(' ').collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let names =
        |word: &&str| bare(word).starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let end = words.iter().skip(1).rposition(names)? + 2;
    let mut start = end - 1;
    // a comma or a full stop inside ends the name
    while start > 1 && names(&words[start - 1]) && words[start - 1].ends_with(char::is_alphanumeric)
    {
        start -= 1;
    }
    let name = words[start..end].join(" ");
    let name = name.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    (!name.is_empty()).then_some(name)
}

/// What the generator asks about each candidate; empty where that is no question.
fn written(
    calls: &mut dyn ModelCalls,
    batch: &[Candidate<'_>],
) -> Result<Vec<String>, MethodError> {
    let prompts = batch
        .iter()
        .map(|candidate| {
            calls.prompt(
                PromptName::MakeQuestion,
                &[("a", &candidate.answer), ("c", &candidate.passage)],
            )
        })
        .collect::<Result<Vec<Prompt>, MethodError>>()?;
    let said = calls.complete("write a question", &prompts, &greedy(QUESTION_TOKENS))?;
    let question = |(candidate, said): (&Candidate<'_>, &str)| {
        let question = said
            .trim()
            .trim_start_matches("Question:")
            .trim()
            .to_owned();
        if candidate.is_asked_by(&question) {
            question
        } else {
            String::new()
        }
    };
    Ok(batch
        .iter()
        .zip(said.iter().map(|said| said.text.as_str()))
        .map(question)
        .collect())
}

/// Does the generator, shown the passage, answer each question with just the answer? Not where there is no question.
fn answered(
    calls: &mut dyn ModelCalls,
    batch: &[Candidate<'_>],
    questions: &[String],
) -> Result<Vec<bool>, MethodError> {
    let asked: Vec<usize> = (0..batch.len())
        .filter(|at| !questions[*at].is_empty())
        .collect();
    let prompts = asked
        .iter()
        .map(|at| {
            let passage = format!("[1] {}", batch[*at].passage);
            calls.prompt(
                PromptName::QaShort,
                &[("c", &passage), ("q", &questions[*at])],
            )
        })
        .collect::<Result<Vec<Prompt>, MethodError>>()?;
    let mut right = vec![false; batch.len()];
    if !prompts.is_empty() {
        for (at, said) in
            asked
                .iter()
                .zip(calls.complete("answer it", &prompts, &greedy(ANSWER_TOKENS))?)
        {
            right[*at] = exact_match(&said.text, &batch[*at].answer) > 0.5;
        }
    }
    Ok(right)
}

fn greedy(max_tokens: u32) -> Decoding {
    Decoding {
        max_tokens,
        sampling: Sampling::GREEDY,
        seed: 0,
        stop: StopRule {
            texts: vec!["\n".to_owned()],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn the_last_name_or_number_is_asked_for() {
        let cases = [
            ("Tam Reeve was born in Lorby.", Some("Lorby")),
            ("It was lit in 1838 by Mira Oakes.", Some("Mira Oakes")),
            (
                "The Winter Star, a ship, sailed to Port St Anne!",
                Some("Port St Anne"),
            ),
            (
                "Sails were made by Tam, Mira and Selas Haridaman.",
                Some("Selas Haridaman"),
            ),
            ("About 350 people live there.", Some("350")),
            ("Ropes hold what they hold.", None),
        ];
        for (sentence, name) in cases {
            assert_eq!(last_name(sentence).as_deref(), name, "{sentence}");
        }
    }
}
