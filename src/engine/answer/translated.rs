//! A question in another language than the documents: it is searched for and judged in theirs, and
//! answered in its own.

use crate::config::AnswerPrompt;
use crate::config::prompts::PromptName;
use crate::corpus::language;
use crate::engine::error::RunError;
use crate::engine::run::{Run, Searched, context};
use crate::event::RunEvent;
use crate::index::{language_name, short_text_language};
use crate::methods::ModelCalls as _;

use super::support::can_judge;

/// Maximum length of the translation.
const MAX_TOKENS: u32 = 96;
/// Hits whose language is looked at.
const HITS: usize = 8;

/// Returns the question in the language of the passages that are found for it; `None` where one of
/// them has its language, or the generator is too small to translate.
///
/// # Errors
///
/// Failures of the models and of the index.
pub fn translate(run: &mut Run<'_>) -> Result<Option<String>, RunError> {
    if run.tools.config.answer.prompt != AnswerPrompt::Sources || !can_judge(run) {
        return Ok(None);
    }
    let question = run.question;
    if short_text_language(question).is_none() {
        return Ok(None);
    }
    let found = run.search(&[Searched::new(question)])?;
    let hits = found.into_iter().flat_map(|one| one.hits).take(HITS);
    let hits: Vec<_> = hits.collect();
    let first = hits.first().map(|hit| language(&hit.chunk.text));
    let Some(name) = first.and_then(language_name) else {
        return Ok(None);
    };
    if !context::is_translated(question, &hits) {
        return Ok(None);
    }

    let values = [("question", question), ("language", name)];
    let prompt = run.prompt(PromptName::Translate, &values);
    let rewritten = run.write_line("rewrite question", prompt, MAX_TOKENS)?;
    run.emit(RunEvent::QuestionRewritten {
        question: question.to_owned(),
        rewritten: rewritten.clone(),
        similarity: None,
        min_similarity: -1.0,
        used: !rewritten.is_empty(),
    });
    Ok(Some(rewritten).filter(|text| !text.is_empty()))
}
