//! The requests that every protocol has: search and ask.

use std::sync::Arc;

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, RetrieverKind};
use crate::event::{
    Ask, Command, Event, Hit, Outcome, Problem, Record, RunEvent, SessionEvent, Thread, Turn,
    Verdict, json_value,
};
use crate::host::{DocumentFlags, search_settings};
use crate::story::{Run, mark_orders};

use super::caller::Caller;
use super::engine::SharedEngine;
use super::refusal::{Refusal, invalid};

/// Chunks that a search returns unless a number is given.
const SEARCH_LIMIT: u32 = 10;

/// A search of the folders.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// A question or keywords
    query: String,
    /// Maximum number of chunks, 1 to 1000; 10 if not given
    limit: Option<u32>,
    /// Limits the documents that are searched
    #[serde(default)]
    documents: DocumentFlags,
}

/// A question over the folders.
#[derive(Debug, Default)]
pub struct QuestionRequest {
    pub text: String,
    /// The turns before it, oldest first.
    pub turns: Vec<Turn>,
    /// Preset for the answer; the settings of the server if not given.
    pub preset: Option<String>,
    pub documents: DocumentFlags,
    pub seed: Option<u64>,
    pub max_tokens: Option<u32>,
}

/// The answer to a question. The records of the run have the rest.
#[derive(Serialize)]
struct RunAnswer<'a> {
    run: &'a str,
    /// The event `run_finished`.
    #[serde(flatten)]
    finished: &'a RunEvent,
    /// The event `step_finished` or `step_given` of each sentence of the answer, with the citations
    /// of `step_cited`.
    sentences: Vec<RunEvent>,
    sources: Vec<NumberedHit<'a>>,
    /// Whether the answer can be trusted; `null` for one that reads no documents.
    verdict: Option<&'a Verdict>,
    warnings: Vec<&'a RunEvent>,
}

/// A chunk of the context with its number in the answer.
#[derive(Serialize)]
struct NumberedHit<'a> {
    number: u32,
    #[serde(flatten)]
    hit: &'a Hit,
}

/// Returns the best chunks for a query.
///
/// # Errors
/// An empty query, a limit or filter that is none; as [`SharedEngine::request`].
pub async fn search(
    request: SearchRequest,
    engine: &SharedEngine,
    caller: &Caller,
) -> Result<Value, Refusal> {
    if request.query.trim().is_empty() {
        let advice = "pass a question or keywords";
        return Err(Refusal::invalid("the query is empty", advice));
    }
    let limit = request.limit.unwrap_or(SEARCH_LIMIT);
    let config = engine.layers.config()?;
    let mut overrides = search_settings(&config, limit);
    overrides.extend(request.documents.setting().map_err(invalid)?);
    check(engine, &overrides)?;
    engine.ready(caller).await?;

    let command = Command::Search {
        query: request.query,
        overrides,
    };
    let find = |event: &SessionEvent| match event {
        SessionEvent::Searched { retrieval } => Some(retrieval.clone()),
        _ => None,
    };
    let mut found = engine.request_value(command, caller, find).await?;
    if let Some(retrieval) = &mut found {
        retrieval.hits.truncate(limit as usize);
    }
    let mut found = to_json(&found)?;
    mark_orders(&mut found, "hits");
    Ok(found)
}

/// Answers a question, passes the records of its run to `observe` and returns them.
///
/// # Errors
/// An empty question, an unknown preset, a filter that is none; as [`SharedEngine::request`]. A run
/// that fails is none: its last record says so.
pub async fn ask(
    question: QuestionRequest,
    engine: &SharedEngine,
    caller: &Caller,
    mut observe: impl FnMut(&Record) + Send,
) -> Result<Vec<Arc<Record>>, Refusal> {
    if question.text.trim().is_empty() {
        let advice = "pass a question in plain words";
        return Err(Refusal::invalid("the question is empty", advice));
    }
    let mut overrides = Vec::new();
    let mut set = |key: &str, value: Option<String>| {
        overrides.extend(value.map(|value| (key.to_owned(), value)));
    };
    set("preset", question.preset);
    set("seed", question.seed.map(|seed| seed.to_string()));
    let max_tokens = question.max_tokens.map(|tokens| tokens.to_string());
    set("answer.max_tokens", max_tokens);
    overrides.extend(question.documents.setting().map_err(invalid)?);
    let config = check(engine, &overrides)?;
    if config.retriever.kind != RetrieverKind::Off {
        engine.ready(caller).await?;
    }

    let mut records = Vec::new();
    let command = Command::Ask(Ask {
        overrides,
        thread: Thread {
            id: None,
            turns: question.turns,
        },
        ..Ask::new(&question.text)
    });
    let observe = |record: &Arc<Record>| {
        let Event::Run(event) = &record.event else {
            return;
        };
        if matches!(event, RunEvent::RunStarted { .. }) {
            engine.owns(&record.run);
        }
        observe(record);
        records.push(Arc::clone(record));
    };
    engine.request(command, caller, observe).await?;
    Ok(records)
}

/// Returns the answer of a finished run as JSON.
///
/// # Errors
/// A run that failed is its problem; one that was stopped is cancelled.
pub fn answer(records: &[Arc<Record>]) -> Result<Value, Refusal> {
    let events = || records.iter().filter_map(|record| record.event.run());
    let finished = events().find(|event| matches!(event, RunEvent::RunFinished { .. }));
    let Some(finished @ RunEvent::RunFinished { outcome, .. }) = finished else {
        return Err(Problem::without_advice("the run did not finish").into());
    };
    match outcome {
        Outcome::Failed(problem) => return Err(problem.clone().into()),
        Outcome::Stopped => return Err(Refusal::for_cancellation()),
        Outcome::Completed | Outcome::LimitReached => {}
    }

    // a sentence that was written again replaces the one before
    let mut sentences: Vec<(u32, RunEvent)> = Vec::new();
    for event in events() {
        match event {
            RunEvent::StepFinished { step, .. } | RunEvent::StepGiven { step, .. } => {
                sentences.retain(|(known, _)| known != step);
                sentences.push((*step, event.clone()));
            }
            RunEvent::StepCited {
                step,
                text: cited,
                citations: judged,
            } => {
                let mut of_step = sentences.iter_mut().filter(|(known, _)| known == step);
                let sentence = of_step.next().map(|(_, sentence)| sentence);
                if let Some(RunEvent::StepFinished {
                    text, citations, ..
                }) = sentence
                {
                    text.clone_from(cited);
                    citations.clone_from(judged);
                }
            }
            _ => {}
        }
    }
    let run = Run::from_records(records);
    let hits = run.numbered_hits().into_iter();
    let answer = RunAnswer {
        run: &run.id,
        finished,
        sentences: sentences.into_iter().map(|(_, event)| event).collect(),
        sources: hits
            .map(|(number, hit)| NumberedHit { number, hit })
            .collect(),
        verdict: run.verdict.as_ref(),
        warnings: events()
            .filter(|event| matches!(event, RunEvent::Warned { .. }))
            .collect(),
    };
    let mut answer = to_json(&answer)?;
    mark_orders(&mut answer, "sources");
    Ok(answer)
}

/// Returns the settings of the server with these on top.
fn check(engine: &SharedEngine, overrides: &[(String, String)]) -> Result<Config, Refusal> {
    let layers = engine.layers.with(overrides).map_err(invalid)?;
    layers.config().map_err(invalid)
}

/// Returns the value that `--json` prints.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn to_json(value: &impl Serialize) -> Result<Value, Problem> {
    json_value(value)
        .map_err(|error| Problem::without_advice(format!("the result cannot be written ({error})")))
}
