//! The checks of a written answer: the source of each statement, what says otherwise, and the
//! verdict on all of it.

use std::ops::ControlFlow;

use crate::engine::run::Run;
use crate::event::{QuestionKind, RunEvent, Scope};

use super::conflicts::add_otherwise;
use super::each::Answered;
use super::judged::judge_citations;
use super::quotes::{add_quotes, refuse};
use super::refusals::refusal;
use super::scope::has_scope;
use super::verdict::{Statements, judge};

/// Judges the citations of an answer, adds what a source says otherwise, and gives the verdict. An
/// answer without a source that is probably wrong becomes a refusal. Breaks where the user stopped
/// the run.
pub fn check(run: &mut Run<'_>, scope: &Scope, answered: &mut Answered) -> ControlFlow<()> {
    let Answered {
        answer,
        passages,
        support,
        ranked,
    } = answered;
    let mut statements = Statements::new(run.question, answer);
    let is_of_one_lookup = answer.lookups.is_empty();

    let is_judged = support.is_some_and(|support| support.stated.is_some());
    if is_judged && is_of_one_lookup {
        let judged = judge_citations(run, answer, statements.steps(), passages);
        run.keep(answer.clone());
        run.warn_of_failure("the source of each statement", judged)?;
        statements = Statements::new(run.question, answer);
    }

    // rows of a list differ, and so do two things that are named
    let is_fact = scope.kind == QuestionKind::Fact && scope.subjects.is_empty();
    let conflict = if is_of_one_lookup && is_fact && has_scope(run.tools.config) {
        let [uncited, _] = statements.steps();
        add_otherwise(run, answer, uncited, passages)
    } else {
        None
    };
    // a model says yes to what a text denies
    let is_denied = support.is_some_and(|support| support.by_rule && support.stated.is_some());
    if is_denied && conflict.is_none() && statements.steps()[1].is_empty() && !run.is_stopped() {
        *answer = add_quotes(run, std::mem::take(ranked), std::mem::take(answer));
        run.keep(answer.clone());
    } else if conflict.is_some() {
        run.keep(answer.clone());
    }

    let sources = answer.lookups.iter().map(|lookup| &lookup.passages);
    let sources = sources.chain([&*passages]).map(|known| known.hits.len());
    let fit = run.tools.verdict_fit;
    let verdict = judge(&statements, *support, sources.sum(), conflict, fit);
    if verdict.is_unfounded() && !is_denied && !statements.says_unanswered() {
        let text = refusal(run);
        *answer = refuse(run, std::mem::take(ranked), std::mem::take(answer), text);
        run.keep(answer.clone());
    }
    run.emit(RunEvent::VerdictGiven { verdict });
    ControlFlow::Continue(())
}
