//! The rewriter: the question as keywords, beside the question itself (ChunkRAG, section 3).

use crate::config::prompts::PromptName;
use crate::engine::error::RunError;
use crate::engine::run::{Rewriter, Run};
use crate::event::Event;
use crate::llm::{Decoding, Sampling, StopRule};
use crate::methods::{ModelCalls, cosine};

/// A search query is no longer than this.
const MOST_TOKENS: u32 = 48;

/// The generator writes the keywords. What it writes is not used when it says nothing or something else than the question.
pub struct ByGenerator;

impl Rewriter for ByGenerator {
    fn rewrite(&mut self, run: &mut Run<'_>, question: &str) -> Result<String, RunError> {
        let prompt = run.prompt(PromptName::RewriteQuery, &[("q", question)])?;
        let stop = StopRule {
            texts: vec!["\n".to_owned()],
        };
        let decoding = Decoding {
            max_tokens: MOST_TOKENS,
            sampling: Sampling::GREEDY,
            seed: run.tools.config.seed,
            stop,
        };
        let written = ModelCalls::complete(run, "rewrite question", &[prompt], &decoding)?;
        let rewritten = written
            .first()
            .map_or("", |completion| completion.text.trim())
            .to_owned();
        let cosine = if rewritten.is_empty() {
            None
        } else {
            Some(likeness(run, question, &rewritten)?)
        };
        let used = cosine.is_some_and(|cosine| cosine >= run.tools.config.rewriter.least_cosine);
        run.emit(Event::QuestionRewritten {
            question: question.to_owned(),
            rewritten: rewritten.clone(),
            cosine,
            least_cosine: run.tools.config.rewriter.least_cosine,
            used,
        });
        // the lookup asks for both: a keyword that the rewrite lost is still looked for
        Ok(if used {
            with_new_words(question, &rewritten)
        } else {
            question.to_owned()
        })
    }
}

fn likeness(run: &mut Run<'_>, question: &str, rewritten: &str) -> Result<f32, RunError> {
    let vectors = run.embed(&[question, rewritten])?;
    let likeness = vectors
        .first()
        .zip(vectors.get(1))
        .map_or(0.0, |(a, b)| cosine(a, b));
    Ok(if likeness.is_finite() { likeness } else { 0.0 })
}

/// The question, and behind it the words of the rewrite that it does not hold.
fn with_new_words(question: &str, rewritten: &str) -> String {
    let bare = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let known: Vec<String> = question.split_whitespace().map(bare).collect();
    let new = rewritten
        .split_whitespace()
        .filter(|word| !bare(word).is_empty() && !known.contains(&bare(word)));
    std::iter::once(question)
        .chain(new)
        .collect::<Vec<&str>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::with_new_words;

    #[test]
    fn only_new_words_are_added() {
        let cases = [
            (
                "Who built the Heron?",
                "heron builder",
                "Who built the Heron? builder",
            ),
            ("Who built it?", "who built", "Who built it?"),
            ("誰が建てた", "灯台 建築", "誰が建てた 灯台 建築"),
        ];
        for (question, rewritten, expected) in cases {
            assert_eq!(with_new_words(question, rewritten), expected);
        }
    }
}
