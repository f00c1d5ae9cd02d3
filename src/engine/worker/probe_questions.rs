//! The questions that a probe is trained on where the user names none: the generator writes one per
//! chunk of the corpus.

use std::path::Path;
use std::time::Instant;

use crate::config::prompts::PromptName;
use crate::corpus::{fold_white_space, language, split_words};
use crate::engine::error::RunError;
use crate::engine::run::{Run, Tools};
use crate::event::{
    ChunkText, ProbePhase, ProbeProgress, SessionEvent, StopFlag, WorkError, elapsed_ms,
};
use crate::index::{Collection, is_content_word};
use crate::llm::{Decoding, Prompt, Random};
use crate::methods::ModelCalls;

use super::stamp::Emit;

/// The number of questions that are written at once.
const BATCH_SIZE: usize = 8;
/// Maximum length of a question.
const MAX_TOKENS: u32 = 48;

/// A question to collect sentences from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProbeQuestion {
    pub question: String,
    /// Answers of the question, where they are known.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Whether it is kept out of training, to evaluate the probe with.
    pub held_out: bool,
}

/// The observer of a long operation: it sees events, and stops.
pub struct Observer<'o> {
    pub stop: &'o StopFlag,
    pub publish: Emit<'o>,
}

impl Observer<'_> {
    /// Emits the progress.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] when the observer stops.
    pub fn emit(&mut self, progress: ProbeProgress) -> Result<(), WorkError> {
        (self.publish)(SessionEvent::ProbeProgressed { progress }).check()?;
        Ok(self.stop.flow().check()?)
    }
}

/// The questions written so far, and the number of chunks that they come from.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Questions {
    asked: usize,
    written: Vec<ProbeQuestion>,
}

/// Writes one question per sampled chunk. Each batch is kept in `file`, so that a stop does not
/// lose it.
pub fn written_questions(
    tools: &mut Tools<'_>,
    index: &Collection,
    file: &Path,
    observer: &mut Observer<'_>,
) -> Result<Vec<ProbeQuestion>, RunError> {
    let started = Instant::now();
    let mut questions = Questions::read(file);
    let before = questions.asked;
    let mut random = Random::new(tools.config.seed);
    let chunks = index.sample(tools.config.probe.questions as usize, &mut random)?;

    for batch in chunks[before.min(chunks.len())..].chunks(BATCH_SIZE) {
        let replies = replies(tools, batch, observer.stop)?;
        for (chunk, reply) in batch.iter().zip(replies) {
            questions.add(reply.trim(), chunk);
        }
        questions.asked += batch.len();
        questions.keep(file);

        let done = questions.asked as u64;
        let total = chunks.len() as u64;
        let new = (questions.asked - before).max(1) as u64;
        let each_ms = elapsed_ms(started) / new;
        observer.emit(ProbeProgress {
            phase: ProbePhase::WritingQuestions,
            done,
            total,
            sentences: 0,
            loss: None,
            left_ms: Some(each_ms.saturating_mul(total - done)),
        })?;
    }

    if questions.written.is_empty() {
        let asked = chunks.len();
        return Err(RunError::new(
            format!("the generator wrote no usable question about any of {asked} passages"),
            "give it questions with --questions FILE",
        ));
    }
    Ok(questions.written)
}

/// Returns the generator's reply about each chunk.
fn replies(
    tools: &mut Tools<'_>,
    chunks: &[ChunkText],
    stop: &StopFlag,
) -> Result<Vec<String>, RunError> {
    let decoding = Decoding::one_line(MAX_TOKENS, tools.config.seed);
    let mut publish = |_event| stop.flow();
    let mut run = Run::new(tools.reborrow(), "", &mut publish);
    let prompts = chunks.iter().map(|chunk| {
        let text = fold_white_space(&chunk.text);
        run.prompt(PromptName::WriteQuestion, &[("passage", &text)])
    });
    let prompts: Vec<Prompt> = prompts.collect();

    let replies = run.complete("question", &prompts, &decoding)?;
    Ok(replies.into_iter().map(|reply| reply.text).collect())
}

impl Questions {
    fn read(file: &Path) -> Self {
        let bytes = std::fs::read(file).ok();
        bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Adds a reply if it is a new question about the chunk.
    fn add(&mut self, question: &str, chunk: &ChunkText) {
        let is_known = self.written.iter().any(|known| known.question == question);
        if is_known || !is_question_about(question, &chunk.text) {
            return;
        }
        self.written.push(ProbeQuestion {
            question: question.to_owned(),
            answers: Vec::new(),
            held_out: false,
        });
    }

    /// Replaces the file as a whole. A failure costs the next try its time and nothing else.
    fn keep(&self, file: &Path) {
        let part = file.with_extension("part");
        let _ = file
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&part, serde_json::to_vec(self).unwrap_or_default()))
            .and_then(|()| std::fs::rename(&part, file));
    }
}

/// Returns whether a reply asks something, and shares a content word with the text.
fn is_question_about(question: &str, text: &str) -> bool {
    let words = |text: &str| -> Vec<String> { split_words(text).map(str::to_lowercase).collect() };
    let of_text = words(text);
    let language = language(text);

    question.ends_with(['?', '？', '؟'])
        && words(question)
            .iter()
            .any(|word| is_content_word(word, language) && of_text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::is_question_about;

    #[test]
    fn a_question_asks_and_has_to_do_with_its_text() {
        let text = "The Silver Heron was built in Lorusgate.";
        let cases = [
            ("Where was the Silver Heron built?", true),
            ("The Silver Heron was built in Lorusgate.", false),
            ("Where was it?", false),
            ("", false),
        ];
        for (question, expected) in cases {
            assert_eq!(is_question_about(question, text), expected, "{question}");
        }
    }
}
