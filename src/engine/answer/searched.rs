//! The answer to a question that is searched: what is retrieved for it, how far that answers it,
//! and the form that an answer from it can have.

use std::cell::OnceCell;

use crate::config::{AnswerPrompt, Config};
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Need, Passages, Run, context};
use crate::event::{Problem, QuestionKind, RunEvent, Scope, Support};

use super::bounds::has_bound;
use super::each::Answered;
use super::files::give_files;
use super::labels::{choose_fields, choose_labelled};
use super::lists::{AT_ONCE, write_list};
use super::lookup::retrieve;
use super::quotes::{add_quotes, give, is_unclear, refuse};
use super::refusals::unclear_refusal;
use super::rows::{FoundEntries, choose_rows, give_entries};
use super::scope::{asks_for_entries, list_subject, said_about};
use super::sections::choose_sections;
use super::support::{self, can_judge};
use super::translated::translate;
use super::updates::give_update;
use super::verdict::Statements;
use super::wording::numbers;
use super::write::write;

/// Retrieves passages, and answers from them where they answer the question. `searched` keeps what
/// is searched in place of it.
///
/// # Errors
///
/// Failures of the models and of the index.
pub fn search_and_answer<'q>(
    run: &mut Run<'q>,
    gate: &mut dyn Gate,
    scope: &Scope,
    confirmed: &[String],
    searched: &'q OnceCell<String>,
) -> Result<Answered, RunError> {
    let (config, asked) = (run.tools.config, run.question);
    let mut passages = search(run, gate, scope, confirmed, searched)?;
    let rows = find_entries(run, asked, scope, &mut passages)?;

    let mut found = Answered {
        passages,
        ..Answered::default()
    };
    if rows.is_some() {
        found.support = Some(support::accept(run));
    } else if is_measured(config) {
        let (support, ranked) = support::measure(run, &found.passages, scope)?;
        found.support = Some(support);
        found.ranked = ranked;
    }
    let about = said_about(run.question, &scope.documents);
    let is_said = about.is_some_and(|about| found.ranked.keep_about(&about));
    if is_said {
        found.support = Some(support::accept(run));
    }
    // what was searched in its place may be a translation
    run.question = asked;

    found.answer = match (rows, found.support) {
        (Some(rows), _) => give_entries(run, rows),
        (None, Some(known)) if scope.kind == QuestionKind::Files => {
            give_files(run, &scope.subjects, &found.passages, known.supported)
        }
        (None, Some(_)) if is_said => give(run, std::mem::take(&mut found.ranked), true),
        (None, Some(known)) if is_quoted(config) || !known.supported => {
            quote(run, scope, &mut found, known)?
        }
        (None, Some(known)) if is_long_list(run, scope, &found.passages) => {
            list(run, gate, scope, &mut found, known)?
        }
        (None, Some(_)) => match give_update(run, scope, confirmed, &found.passages) {
            Some(newest) => newest,
            None => write_or_quote(run, gate, confirmed, &mut found)?,
        },
        (None, None) => write(run, gate, &found.passages, confirmed)?,
    };
    Ok(found)
}

/// Finds what a rule reads out of the documents by all words of the question. What its bounds are
/// on is in the language of the documents, so that a translation which keeps them is read, too.
fn find_entries(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Option<FoundEntries>, RunError> {
    let translated = run.question;
    let is_kept = translated != asked
        && has_bound(asked)
        && has_bound(translated)
        && numbers(asked) == numbers(translated);
    let questions = [asked, translated]
        .into_iter()
        .take(if is_kept { 2 } else { 1 });
    for question in questions {
        if let Some(rows) = choose_rows(run, question, scope, passages)? {
            return Ok(Some(rows));
        }
        if let Some(fields) = choose_fields(run, question, scope, passages)? {
            return Ok(Some(fields));
        }
    }
    choose_labelled(run, asked, scope, passages)
}

/// Returns whether answers with these settings are quotations.
pub fn is_quoted(config: &Config) -> bool {
    config.answer.prompt == AnswerPrompt::Quotes
}

/// Returns whether it is measured how far the passages answer a question.
fn is_measured(config: &Config) -> bool {
    let is_for_people = is_quoted(config) || config.answer.prompt == AnswerPrompt::Sources;
    is_for_people && context::needs_corpus(config)
}

/// Returns whether the question asks for entries from more passages than are read at once.
fn is_long_list(run: &Run<'_>, scope: &Scope, passages: &Passages) -> bool {
    asks_for_entries(scope, run.question) && passages.hits.len() > AT_ONCE && can_judge(run)
}

/// Retrieves the passages that stand in the prompt from the first sentence on, if any do; the
/// question of the run becomes what was searched in its place.
fn search<'q>(
    run: &mut Run<'q>,
    gate: &dyn Gate,
    scope: &Scope,
    confirmed: &[String],
    searched: &'q OnceCell<String>,
) -> Result<Passages, RunError> {
    let config = run.tools.config;
    // what is quoted is found first: no sentence is written that could be uncertain
    let at_start = is_quoted(config) || config.retriever.at_start.or(run.tools.probe.is_err());
    if !context::needs_corpus(config) || !at_start {
        return Ok(Passages::default());
    }

    let need = Need {
        confirmed,
        subjects: &scope.subjects,
        ..Need::default()
    };
    let effort = run.first_effort(gate);
    let other = translate(run)?.or_else(|| list_subject(scope, run.question));
    if let Some(text) = other {
        run.question = searched.get_or_init(|| text);
    }
    Ok(retrieve(run, &need, effort)?.passages)
}

/// Quotes the sections or the sentences that fit, below a refusal where they do not answer.
fn quote(
    run: &mut Run<'_>,
    scope: &Scope,
    found: &mut Answered,
    known: Support,
) -> Result<Answer, RunError> {
    let (asked, passages) = (run.question, &mut found.passages);
    if let Some(sections) = choose_sections(run, asked, scope, passages, known.supported)? {
        found.support = Some(support::accept(run));
        return Ok(give_entries(run, sections));
    }

    let ranked = std::mem::take(&mut found.ranked);
    Ok(if is_unclear(&known) {
        let text = unclear_refusal(run);
        refuse(run, ranked, Answer::default(), text)
    } else {
        give(run, ranked, known.supported)
    })
}

/// Writes a list from passages that are read in turn; where they give no entry, the sections or
/// the sentences that come near.
fn list(
    run: &mut Run<'_>,
    gate: &dyn Gate,
    scope: &Scope,
    found: &mut Answered,
    known: Support,
) -> Result<Answer, RunError> {
    let answer = write_list(run, gate, &mut found.passages)?;
    if !answer.text.is_empty() || run.is_stopped() {
        return Ok(answer);
    }

    let (asked, passages) = (run.question, &mut found.passages);
    if let Some(sections) = choose_sections(run, asked, scope, passages, false)? {
        return Ok(give_entries(run, sections));
    }
    found.support = Some(Support {
        supported: false,
        ..known
    });
    Ok(give(run, std::mem::take(&mut found.ranked), false))
}

/// Writes an answer, and quotes the sources below one that says nothing.
fn write_or_quote(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    confirmed: &[String],
    found: &mut Answered,
) -> Result<Answer, RunError> {
    let answer = write(run, gate, &found.passages, confirmed)?;
    if run.is_stopped() {
        return Ok(answer);
    }

    if answer.text.is_empty() {
        let text = "the model wrote nothing: its sources are quoted".to_owned();
        run.emit(RunEvent::warning(Problem::without_advice(text)));
    }
    if Statements::new(run.question, &answer).is_silent() {
        return Ok(add_quotes(run, std::mem::take(&mut found.ranked), answer));
    }
    Ok(answer)
}
