//! Makes questions about a folder: the generator writes them, and answers them before they are
//! kept.

use serde::Serialize;

use super::metrics::{exact_match, normalise};
use crate::config::prompts::PromptName;
use crate::corpus::{Document, fold_white_space, sentences};
use crate::event::Flow;
use crate::llm::{Decoding, LlmError, Prompt, Random};
use crate::methods::ModelCalls;

/// Number of candidates per batch.
const BATCH: usize = 8;
/// Number of candidates that are tried per question.
const TRIES: usize = 6;
/// Minimum number of words of a sentence and of a question.
const MIN_WORDS: usize = 4;
const QUESTION_TOKENS: u32 = 64;
const ANSWER_TOKENS: u32 = 32;

/// A question as a line of a question file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneratedQuestion {
    pub id: String,
    pub question: String,
    pub answers: Vec<String>,
    pub evidence: Vec<GeneratedEvidence>,
    /// `written` by the generator, or `gap`: the sentence with a gap where the answer was.
    pub kind: &'static str,
}

/// The sentence that answers a [`GeneratedQuestion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneratedEvidence {
    pub file: String,
    pub quote: String,
}

/// The progress of making questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakeProgress {
    pub kept: usize,
    pub wanted: usize,
    pub tried: usize,
}

/// A sentence, a name or number in it that can be asked for, and the sentences around it.
struct AskableSentence<'a> {
    document: &'a Document,
    sentence: String,
    answer: String,
    passage: String,
}

/// Makes questions about sentences of the documents, drawn by `seed`. A question is kept when it
/// does not contain its answer and the generator, given the passage, answers it correctly. Where
/// the generator writes no question, a sentence with a gap is tried.
///
/// # Errors
/// The failures of the generator; a user's prompt file that cannot be read.
pub fn make_questions(
    calls: &mut dyn ModelCalls,
    documents: &[Document],
    wanted: usize,
    seed: u64,
    observe: &mut dyn FnMut(MakeProgress) -> Flow,
) -> Result<Vec<GeneratedQuestion>, LlmError> {
    let candidates: Vec<AskableSentence<'_>> =
        Random::new(seed).shuffle(documents.iter().flat_map(candidates).collect());
    let mut made: Vec<GeneratedQuestion> = Vec::new();
    let mut tried = 0;
    for batch in candidates
        .chunks(BATCH)
        .take((wanted * TRIES).div_ceil(BATCH))
    {
        let making = MakeProgress {
            kept: made.len(),
            wanted,
            tried,
        };
        if made.len() >= wanted || observe(making) == Flow::Stop {
            break;
        }

        tried += batch.len();
        let asked = match ask(calls, batch) {
            // keep what is made so far
            Err(LlmError::Stopped(_)) => break,
            asked => asked?,
        };
        for (at, candidate) in batch.iter().enumerate() {
            let Some((kind, question)) = &asked[at] else {
                continue;
            };
            if made.len() < wanted && !made.iter().any(|known| known.question == *question) {
                made.push(candidate.build(made.len() + 1, question, kind));
            }
        }
    }
    Ok(made)
}

/// Returns the question about each candidate that the generator answers correctly, and its kind.
fn ask(
    calls: &mut dyn ModelCalls,
    batch: &[AskableSentence<'_>],
) -> Result<Vec<Option<(&'static str, String)>>, LlmError> {
    let mut asked = vec![None; batch.len()];
    let gaps: Vec<String> = batch.iter().map(AskableSentence::gap).collect();
    // the generator writes no question about some, or one that it does not answer correctly
    for (kind, questions) in [("written", write_questions(calls, batch)?), ("gap", gaps)] {
        let right = answer_rightly(calls, batch, &questions)?;
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

impl AskableSentence<'_> {
    /// Returns the sentence with a gap instead of the answer.
    fn gap(&self) -> String {
        format!(
            "What is missing in \"{}\"?",
            self.sentence.replacen(&self.answer, "____", 1)
        )
    }

    /// Returns whether this is a question that does not contain its answer.
    fn is_asked_by(&self, question: &str) -> bool {
        question.ends_with('?')
            && question.split_whitespace().count() >= MIN_WORDS
            && !normalise(question).contains(&normalise(&self.answer))
    }

    fn build(&self, number: usize, question: &str, kind: &'static str) -> GeneratedQuestion {
        GeneratedQuestion {
            id: format!("q{number:03}"),
            question: question.to_owned(),
            answers: vec![self.answer.clone()],
            evidence: vec![GeneratedEvidence {
                file: self.document.path.clone(),
                quote: self.sentence.clone(),
            }],
            kind,
        }
    }
}

/// Returns the sentences of a document with a name or a number to ask for.
fn candidates(document: &Document) -> Vec<AskableSentence<'_>> {
    let ranges = sentences(&document.text, document.language);
    let text = |at: usize| fold_white_space(&document.text[ranges[at].clone()]);
    let mut found = Vec::new();

    for at in 0..ranges.len() {
        let sentence = text(at);
        if sentence.split(' ').count() < MIN_WORDS || !sentence.ends_with(['.', '!']) {
            continue;
        }

        if let Some(answer) = last_name(&sentence) {
            let around = at.saturating_sub(1)..(at + 2).min(ranges.len());
            let passage = around.map(text).collect::<Vec<String>>().join(" ");
            found.push(AskableSentence {
                document,
                answer,
                passage,
                sentence,
            });
        }
    }

    found
}

/// Returns the last run of capitalised words or numbers that does not begin the sentence.
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

/// Returns the question that the generator writes about each candidate; empty where that is not a
/// question.
fn write_questions(
    calls: &mut dyn ModelCalls,
    batch: &[AskableSentence<'_>],
) -> Result<Vec<String>, LlmError> {
    let prompt = |candidate: &AskableSentence<'_>| {
        let answer = ("answer", candidate.answer.as_str());
        let passage = ("passage", candidate.passage.as_str());
        calls.prompt(PromptName::MakeQuestion, &[answer, passage])
    };
    let prompts: Vec<Prompt> = batch.iter().map(prompt).collect();
    let decoding = Decoding::one_line(QUESTION_TOKENS, 0);
    let replies = calls.complete("write a question", &prompts, &decoding)?;

    let questions = batch.iter().zip(&replies).map(|(candidate, reply)| {
        let question = reply.text.trim().trim_start_matches("Question:").trim();
        let question = Some(question).filter(|question| candidate.is_asked_by(question));
        question.unwrap_or_default().to_owned()
    });
    Ok(questions.collect())
}

/// Returns whether the generator, given the passage, answers each question correctly; `false` where
/// there is no question.
fn answer_rightly(
    calls: &mut dyn ModelCalls,
    batch: &[AskableSentence<'_>],
    questions: &[String],
) -> Result<Vec<bool>, LlmError> {
    let asked: Vec<usize> = (0..batch.len())
        .filter(|at| !questions[*at].is_empty())
        .collect();
    let prompt = |at: &usize| {
        let context = format!("[1] {}", batch[*at].passage);
        let values = [("context", &*context), ("question", &questions[*at])];
        calls.prompt(PromptName::QaShort, &values)
    };
    let prompts: Vec<Prompt> = asked.iter().map(prompt).collect();

    let mut is_right = vec![false; batch.len()];
    if !prompts.is_empty() {
        let replies =
            calls.complete("answer it", &prompts, &Decoding::one_line(ANSWER_TOKENS, 0))?;
        for (at, reply) in asked.into_iter().zip(replies) {
            is_right[at] = exact_match(&reply.text, &batch[at].answer) > 0.5;
        }
    }
    Ok(is_right)
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
