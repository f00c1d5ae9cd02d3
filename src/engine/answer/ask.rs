//! One question answered, from `RunStarted` to `RunFinished`.

use std::cell::OnceCell;
use std::iter;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::AttributionKind;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Observe, Passages, Run, Tools, context};
use crate::engine::stages::follow_up;
use crate::engine::stages::gate::select_gate;
use crate::engine::stages::utility::SePer;
use crate::event::{Ask, FORMAT, Outcome, Part, Problem, QuestionKind, RunEvent, Scope};
use crate::llm::TEMPLATE_ADVICE;

use super::ablation::ablate;
use super::checks::check;
use super::each::{Answered, answer_each, names_one};
use super::sampled::sample;
use super::scope::{
    asks_each, asks_for_documents, has_scope, may_name_documents, read_scope, scoped_config,
};
use super::searched::{is_quoted, search_and_answer};
use super::summary::{quote_openings, summarise};
use super::without_search::{Unsearched, answer_without_search};

/// Answers a question with these tools, whose settings already include its overrides. Every event
/// goes to `publish`; when that stops the run, it ends within one decode step, and what was written
/// so far stays.
///
/// # Errors
/// Only before anything ran: an empty question, one that does not fit the context, no corpus where
/// the preset needs one. A later failure ends the run with [`Outcome::Failed`].
pub fn ask(mut tools: Tools<'_>, asked: &Ask, publish: Observe<'_>) -> Result<Outcome, RunError> {
    let question = check_question(&tools, &asked.question)?;
    if context::needs_corpus(tools.config) && tools.corpus.is_none() {
        let preset = &tools.config.preset;
        return Err(RunError::new(
            format!("no corpus is open and preset `{preset}` retrieves from one"),
            "name a folder, or use --preset closed-book",
        ));
    }

    let scope = match &tools.corpus {
        Some(corpus) if has_scope(tools.config) => {
            let documents = if may_name_documents(question) {
                corpus.index.documents()?
            } else {
                Vec::new()
            };
            read_scope(question, &documents)
        }
        Some(_) | None => Scope::default(),
    };
    let config = scoped_config(question, &scope, tools.config);
    let mut tools = Tools {
        config: &config,
        ..tools.reborrow()
    };
    let mut gate = select_gate(&tools);
    // outlive the run, whose question they are once a follow-up is rewritten, and while the sources
    // are searched for a translation, or for what is listed
    let (standalone, searched) = (OnceCell::new(), OnceCell::new());
    let mut run = Run::new(tools.reborrow(), question, &mut *publish);
    run.emit(start_event(&run, asked));
    let fallback = run.tools.generator.card().template_fallback.clone();
    if !fallback.is_empty() {
        run.emit(RunEvent::warning(Problem::new(fallback, TEMPLATE_ADVICE)));
    }
    if scope != Scope::default() {
        let scope = scope.clone();
        run.emit(RunEvent::ScopeChosen { scope });
    }
    emit_gate(&mut run, &*gate);

    // what is asked of the program or of the whole folder continues nothing
    let turns = match Unsearched::from_question(question, &config) {
        Some(_) => &[][..],
        None => &asked.thread.turns,
    };
    let answered = follow_up::rewrite(&mut run, turns).and_then(|rewritten| {
        run.question = standalone.get_or_init(|| rewritten);
        answer(&mut run, &mut *gate, &scope, &asked.confirmed, &searched)
    });
    Ok(match answered {
        Ok(written) => run.finish(written),
        Err(error) => run.fail(&error),
    })
}

/// Returns the question, trimmed, if it can be asked: it is not empty and fits the context.
pub fn check_question<'q>(tools: &Tools<'_>, question: &'q str) -> Result<&'q str, RunError> {
    let question = question.trim();
    if question.is_empty() {
        return Err(RunError::new(
            "the question is empty",
            "type what you want to know",
        ));
    }

    let prompt = context::prompt(tools.config, tools.prompts, question, &[]);
    let question_tokens = context::count(tools.generator, &prompt)?;
    let context_tokens = tools.generator.card().context_tokens;
    if question_tokens > context::available(tools.config, context_tokens) {
        return Err(RunError::new(
            format!(
                "the question needs {question_tokens} tokens and the context holds {context_tokens}"
            ),
            "shorten it, or raise generator.context_tokens",
        ));
    }
    Ok(question)
}

/// Retrieves, writes the answer, checks it, and measures how much each lookup helped.
fn answer<'q>(
    run: &mut Run<'q>,
    gate: &mut dyn Gate,
    scope: &'q Scope,
    confirmed: &[String],
    searched: &'q OnceCell<String>,
) -> Result<Answer, RunError> {
    let config = run.tools.config;
    if let Some(kind) = Unsearched::from_question(run.question, config) {
        return answer_without_search(run, gate, kind);
    }

    let (of_each, whole) = choose_halves(run, scope, confirmed)?;
    let searched_as = whole.as_ref().unwrap_or(scope);
    let mut answered = match (scope.kind, scope.documents.as_slice()) {
        (_, documents) if is_quoted(config) && asks_for_documents(scope) => {
            Answered::from(quote_openings(run, documents)?)
        }
        (QuestionKind::Summary, [document]) => Answered::from(summarise(run, gate, document)?),
        (_, _) if of_each => answer_each(run, gate, scope)?,
        (_, _) => search_and_answer(run, gate, searched_as, confirmed, searched)?,
    };
    run.keep(answered.answer.clone());
    // there is nothing to check
    if run.is_stopped() && answered.answer.text.is_empty() {
        return Ok(answered.answer);
    }

    let checked = if context::needs_corpus(config) {
        check(run, searched_as, &mut answered)
    } else {
        ControlFlow::Continue(())
    };
    // the halves have prompts of their own
    if checked.is_continue() && !of_each {
        let is_causal = config.answer.attribution == AttributionKind::Causal;
        let of_sources = is_causal && scope.kind != QuestionKind::Summary;
        let _ = measure(run, of_sources, &answered.answer, &answered.passages);
    }
    Ok(answered.answer)
}

/// Returns whether each of the two things of a question is asked about by itself, and the scope of
/// a question whose two names are those of one thing.
fn choose_halves(
    run: &mut Run<'_>,
    scope: &Scope,
    confirmed: &[String],
) -> Result<(bool, Option<Scope>), RunError> {
    let config = run.tools.config;
    let may_be_each = confirmed.is_empty()
        && asks_each(config, run.question, scope)
        && config.retriever.at_start.or(run.tools.probe.is_err());
    let is_one = may_be_each && names_one(run, scope)?;

    let whole = (is_one && scope.kind == QuestionKind::Fact).then(|| Scope {
        subjects: Vec::new(),
        ..scope.clone()
    });
    if let Some(scope) = whole.clone() {
        run.emit(RunEvent::ScopeChosen { scope });
    }
    Ok((may_be_each && !is_one, whole))
}

/// Measures the effect of each source, where that is asked for, how much each lookup helped, and
/// how far answers from the last one agree. None of it changes anything, so that a failure is only
/// a warning. Breaks where the user stopped the run.
fn measure(
    run: &mut Run<'_>,
    of_sources: bool,
    answer: &Answer,
    passages: &Passages,
) -> ControlFlow<()> {
    if of_sources {
        let ablated = ablate(run, answer, passages);
        run.warn_of_failure("the effect of each source", ablated)?;
    }

    let lookups = answer.lookups.iter();
    let of_steps = lookups.map(|lookup| (lookup.step, &lookup.passages));
    let of_all: Vec<(u32, &Passages)> = iter::once((0, passages)).chain(of_steps).collect();
    let mut meter = SePer::new(run.tools.config.utility.kind);
    for (step, passages) in &of_all {
        run.step = *step;
        // what has no time for one lookup has none for the next: that is said once
        if !run.should_run(Part::Utility, passages.hits.len()) {
            return ControlFlow::Break(());
        }
        let measured = meter.measure(run, passages);
        run.warn_of_failure("the utility of the context", measured)?;
    }

    if !answer.short.is_empty()
        && let Some((_, passages)) = of_all.last()
    {
        let sampled = sample(run, passages);
        run.warn_of_failure("the agreement of sampled answers", sampled)?;
    }
    ControlFlow::Continue(())
}

/// Emits which gate decides, and why it is not the one of the settings.
fn emit_gate(run: &mut Run<'_>, gate: &dyn Gate) {
    let Some(gate) = gate.card(run) else {
        return;
    };
    if let Some(reason) = &gate.fallback {
        run.emit(RunEvent::Warned {
            text: format!(
                "no trained detector for this model, so a rougher measure decides: {reason}"
            ),
            advice: reason.advice.clone(),
        });
    }
    run.emit(RunEvent::GateChosen { gate });
}

fn start_event(run: &Run<'_>, asked: &Ask) -> RunEvent {
    let config = run.tools.config;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    RunEvent::RunStarted {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        question: run.question.to_owned(),
        preset: config.preset.clone(),
        settings: serde_json::to_value(config).unwrap_or_default(),
        models: run.models(),
        corpus: run.tools.corpus.as_ref().map(|corpus| corpus.index.card()),
        seed: config.seed,
        started_at: since_epoch.map_or(0, |elapsed| elapsed.as_secs()),
        confirmed: asked.confirmed.clone(),
        thread: asked.thread.id.clone(),
    }
}
