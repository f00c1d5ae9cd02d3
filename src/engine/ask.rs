//! One question answered, from `RunStarted` to `RunFinished`.

use crate::config::prompts::Prompts;
use crate::config::{Config, ConfigError};
use crate::event::{Event, FORMAT, Flow, Outcome};
use crate::llm::{Generator, LlmError};

use super::answer;
use super::passages;
use super::roles::Roles;
use super::run::{Run, RunError, Tools};

/// Why a question was not asked at all. Nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the question is empty: type what you want to know")]
    EmptyQuestion,
    #[error(
        "the question needs {question_tokens} tokens and the context holds {context_tokens}: shorten it, or raise generator.context_tokens"
    )]
    QuestionTooLong { question_tokens: u32, context_tokens: u32 },
    #[error("no corpus is open and preset `{preset}` looks things up: name a folder, or use --preset closed-book")]
    NoCorpus { preset: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] LlmError),
}

/// Answer `question`: the run as a person would tell it. Every event goes to `publish`; when it answers [`Flow::Stop`] the run
/// ends within one decode step, and what was written so far stays.
///
/// # Errors
/// Only before anything ran: an empty question, one that does not fit the context, no corpus where the preset needs one. What fails
/// later ends the run with [`Outcome::Failed`].
pub fn ask<'a>(
    tools: Tools<'a>,
    question: &str,
    publish: &'a mut dyn FnMut(Event) -> Flow,
) -> Result<Outcome, AskError> {
    let question = check_question(tools.config, tools.prompts, tools.generator, question)?;
    if passages::needs_corpus(tools.config) && tools.corpus.is_none() {
        return Err(AskError::NoCorpus { preset: tools.config.preset.clone() });
    }
    let mut roles = Roles::of(tools.config);
    let mut run = Run::new(tools, publish);
    run.emit(started(&run, question));
    let outcome = match answer_question(&mut run, &mut roles, question) {
        Ok(written) => run.finish(written),
        Err(error) => run.fail(&error),
    };
    Ok(outcome)
}

fn answer_question(run: &mut Run<'_>, roles: &mut Roles, question: &str) -> Result<answer::Answer, RunError> {
    let rewritten = roles.rewriter.rewrite(run, question)?;
    let query = roles.query_writer.write(run, &rewritten)?;
    let found = roles.retriever.retrieve(run, &query)?;
    let found = roles.linker.apply(run, question, found)?;
    let found = roles.filter.apply(run, question, found)?;
    let found = roles.reranker.apply(run, question, found)?;
    let passages = passages::choose(run, question, found)?;
    let understood = roles.understanding.measure(run, question, &passages)?;
    let (passages, understood) = roles.chunker.recut(run, question, passages, understood)?;
    let passages = roles.refiner.refine(run, question, passages, understood)?;
    let answer = answer::write(run, roles.gate.as_mut(), question, &passages)?;
    run.keep(answer.clone());
    roles.utility.measure(run, question, &passages)?;
    Ok(answer)
}

/// The question, trimmed, when it can be asked: it says something and fits the context.
pub(super) fn check_question<'q>(
    config: &Config,
    prompts: &Prompts,
    generator: &dyn Generator,
    question: &'q str,
) -> Result<&'q str, AskError> {
    let question = question.trim();
    if question.is_empty() {
        return Err(AskError::EmptyQuestion);
    }
    let prompt = passages::prompt(config, prompts, question, &[])?;
    let question_tokens = passages::count(generator, &prompt)?;
    let context_tokens = generator.card().context_tokens;
    if question_tokens > passages::available(config, context_tokens) {
        return Err(AskError::QuestionTooLong { question_tokens, context_tokens });
    }
    Ok(question)
}

fn started(run: &Run<'_>, question: &str) -> Event {
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
    }
}
