//! One question answered, from `RunStarted` to `RunFinished`.

use crate::config::Config;
use crate::config::prompts::Prompts;
use crate::engine::error::{AskError, RunError};
use crate::engine::run::context::looks_up_at_start;
use crate::engine::run::{Answer, Need, Passages, Roles, Run, Tools, context};
use crate::event::{Event, FORMAT, Flow, Outcome};
use crate::llm::{Generator, LlmError};

use super::lookup::look_up;
use super::write::write;

/// Answer `question`: the run as a person would tell it. The answer begins with the `confirmed` sentences. Every event goes to `publish`; when it answers [`Flow::Stop`] the run
/// ends within one decode step, and what was written so far stays.
///
/// # Errors
/// Only before anything ran: an empty question, one that does not fit the context, no corpus where the preset needs one. What fails
/// later ends the run with [`Outcome::Failed`].
pub fn ask<'a>(
    tools: Tools<'a>,
    question: &str,
    confirmed: &[String],
    publish: &'a mut dyn FnMut(Event) -> Flow,
) -> Result<Outcome, AskError> {
    let question = check_question(tools.config, tools.prompts, tools.generator, question)?;
    if context::needs_corpus(tools.config) && tools.corpus.is_none() {
        return Err(AskError::NoCorpus {
            preset: tools.config.preset.clone(),
        });
    }
    let mut roles = Roles::of(&tools);
    let mut run = Run::new(tools, publish);
    run.emit(started(&run, question, confirmed));
    tell_gate(&mut run, &roles);
    let outcome = match answer_question(&mut run, &mut roles, question, confirmed) {
        Ok(written) => run.finish(written),
        Err(error) => run.fail(&error),
    };
    Ok(outcome)
}

fn answer_question(
    run: &mut Run<'_>,
    roles: &mut Roles,
    question: &str,
    confirmed: &[String],
) -> Result<Answer, RunError> {
    let passages = match looks_up_at_start(run.tools.config) {
        true => {
            look_up(
                run,
                roles,
                &Need {
                    question,
                    confirmed,
                    doubted: None,
                },
            )?
            .passages
        }
        false => Passages::default(),
    };
    let answer = write(run, roles, question, &passages, confirmed)?;
    run.keep(answer.clone());
    let at_start = (0, &passages);
    for (step, passages) in
        std::iter::once(at_start).chain(answer.lookups.iter().map(|(step, found)| (*step, found)))
    {
        run.step = step;
        match roles.utility.measure(run, question, passages) {
            Ok(()) => {}
            Err(RunError::Model(LlmError::Stopped)) => break,
            // a meter changes nothing, and a failing one neither: the answer stands
            Err(error) => run.emit(Event::Warned {
                text: format!("what the lookup was worth was not measured: {error}"),
            }),
        }
    }
    Ok(answer)
}

/// Say which gate decides, and why it is not the one of the settings.
fn tell_gate(run: &mut Run<'_>, roles: &Roles) {
    let Some(gate) = roles.gate.card(run) else {
        return;
    };
    if let Some(reason) = &gate.fallback {
        run.emit(Event::Warned {
            text: format!("the gate reads the token entropy instead of the probe: {reason}"),
        });
    }
    run.emit(Event::GateChosen { gate });
}

/// The question, trimmed, when it can be asked: it says something and fits the context.
pub fn check_question<'q>(
    config: &Config,
    prompts: &Prompts,
    generator: &dyn Generator,
    question: &'q str,
) -> Result<&'q str, AskError> {
    let question = question.trim();
    if question.is_empty() {
        return Err(AskError::EmptyQuestion);
    }
    let prompt = context::prompt(config, prompts, question, &[])?;
    let question_tokens = context::count(generator, &prompt)?;
    let context_tokens = generator.card().context_tokens;
    if question_tokens > context::available(config, context_tokens) {
        return Err(AskError::QuestionTooLong {
            question_tokens,
            context_tokens,
        });
    }
    Ok(question)
}

fn started(run: &Run<'_>, question: &str, confirmed: &[String]) -> Event {
    let config: &Config = run.tools.config;
    Event::RunStarted {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        question: question.to_owned(),
        preset: config.preset.clone(),
        settings: serde_json::to_value(config).unwrap_or_default(),
        models: run.models(),
        corpus: run.tools.corpus.as_ref().map(|corpus| corpus.card()),
        seed: config.seed,
        started_at: std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs()),
        confirmed: confirmed.to_vec(),
    }
}
