//! The rewriter: adds keywords to the question before retrieval, or puts them in its place
//! (ChunkRAG, section 3).

use crate::config::RewriterKind;
use crate::config::prompts::PromptName;
use crate::engine::error::RunError;
use crate::engine::run::Run;
use crate::event::{Part, RunEvent};
use crate::methods::query::bare;
use crate::methods::{ModelCalls as _, cosine, finite};

/// Maximum length of a rewritten question.
const MAX_TOKENS: u32 = 48;

/// Minimum cosine similarity of the rewritten question and the question: below it the generator
/// wrote about something else.
const MIN_SIMILARITY: f32 = 0.3;

/// Lets the generator write the keywords. They are used unless they are empty or ask for something
/// else than the question does; the paper's, which replace the question, unless they are empty.
pub fn rewrite(run: &mut Run<'_>) -> Result<String, RunError> {
    if !run.should_run(Part::Rewriter, 0) {
        return Ok(run.question.to_owned());
    }

    let replaces = run.tools.config.rewriter.kind == RewriterKind::Replace;
    let question = run.question;
    let prompt = run.prompt(PromptName::RewriteQuery, &[("question", question)]);
    let rewritten = run.write_line("rewrite question", prompt, MAX_TOKENS)?;
    let cosine = if rewritten.is_empty() {
        None
    } else {
        Some(similarity(run, &rewritten)?)
    };

    // no cosine is lower
    let min_similarity = if replaces { -1.0 } else { MIN_SIMILARITY };
    let used = cosine.is_some_and(|cosine| cosine >= min_similarity);
    run.emit(RunEvent::QuestionRewritten {
        question: question.to_owned(),
        rewritten: rewritten.clone(),
        similarity: cosine,
        min_similarity,
        used,
    });

    if used && replaces {
        Ok(rewritten)
    } else if used {
        // the question stays in the query: a keyword that the rewrite lost is still searched
        Ok(with_new_words(question, &rewritten))
    } else {
        Ok(question.to_owned())
    }
}

/// Returns the cosine similarity between the question and its rewriting.
fn similarity(run: &mut Run<'_>, rewritten: &str) -> Result<f32, RunError> {
    let vectors = run.embed(&[run.question, rewritten])?;
    let pair = vectors.first().zip(vectors.get(1));
    Ok(finite(pair.map_or(0.0, |(a, b)| cosine(a, b))))
}

/// Appends to the question those words of the rewriting that it lacks.
fn with_new_words(question: &str, rewritten: &str) -> String {
    let known: Vec<String> = question.split_whitespace().map(bare).collect();
    let mut words = vec![question];
    for word in rewritten.split_whitespace() {
        let bare = bare(word);
        if !bare.is_empty() && !known.contains(&bare) {
            words.push(word);
        }
    }
    words.join(" ")
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
