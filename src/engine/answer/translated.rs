//! A question in another language than the documents: it is searched for and judged in theirs, and
//! answered in its own.

use crate::config::AnswerPrompt;
use crate::config::prompts::PromptName;
use crate::corpus::language;
use crate::engine::error::RunError;
use crate::engine::run::{Run, Searched, context, documents};
use crate::event::{Hit, RunEvent};
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
    let Some(name) = main_language(&hits).and_then(language_name) else {
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

/// Returns the language that most of the documents of these hits have: the first hit of a question
/// in another language is often there by chance. Of as many, that of the first.
fn main_language(hits: &[Hit]) -> Option<&'static str> {
    let first_of = |document: &str| hits.iter().find(|hit| hit.chunk.document == document);
    let found = documents(hits).into_iter().filter_map(first_of);
    let found: Vec<&str> = found.map(|hit| language(&hit.chunk.text)).collect();
    let votes = |one: &&&'static str| found.iter().filter(|other| other == one).count();
    found.iter().rev().max_by_key(votes).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_translated_into_the_language_of_most_documents() {
        let french =
            "Réunir le tout et laisser mijoter à feu doux. Tante Odile n'y met pas de sucre.";
        let english = "Chop the onion and the carrots and fry them in oil for six minutes.";
        let texts = [
            ("a.md", french),
            ("b.md", english),
            ("a.md", french),
            ("c.md", english),
        ];
        let hits: Vec<Hit> = (1..)
            .zip(texts)
            .map(|(rank, (document, text))| Hit::from_text(rank, document, text))
            .collect();
        assert_eq!(main_language(&hits), Some("en"));
        assert_eq!(main_language(&hits[..2]), Some("fr"));
        assert_eq!(main_language(&[]), None);
    }
}
