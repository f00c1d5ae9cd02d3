//! The tools: their names, descriptions and arguments, and what they do.

use rmcp::handler::server::common::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::args::DocumentFlags;
use crate::cli::search;
use crate::config::RetrieverKind;
use crate::event::{
    Ask, Command, Event, Hit, Outcome, Problem, Record, RunEvent, SessionEvent, Source, SourceForm,
};
use crate::story::{PassageTrace, words};

use super::engine::{Caller, Engine};
use super::runs;

/// Chunks that a search returns unless a number is given.
const SEARCH_LIMIT: u32 = 10;
/// Lines of a document that are returned unless a last line is given.
const SOURCE_LINES: u32 = 500;

/// A tool that clients call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolName {
    Status,
    Search,
    Ask,
    Explain,
    Measure,
    ReadSource,
}

impl ToolName {
    const ALL: [Self; 6] = [
        Self::Status,
        Self::Search,
        Self::Ask,
        Self::Explain,
        Self::Measure,
        Self::ReadSource,
    ];

    /// Returns the tool with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the declarations of all tools.
    ///
    /// # Errors
    /// When the arguments of a tool are no object.
    pub fn declarations() -> Result<Vec<Tool>, String> {
        Self::ALL.into_iter().map(Self::declaration).collect()
    }

    fn declaration(self) -> Result<Tool, String> {
        // a run is recorded, but nothing that the user made is changed, and nothing leaves the machine
        let annotations = ToolAnnotations::new().read_only(true).open_world(false);
        let tool = Tool::new(self.name(), self.description(), self.schema()?);
        Ok(tool.with_annotations(annotations))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Search => "search",
            Self::Ask => "ask",
            Self::Explain => "explain",
            Self::Measure => "measure",
            Self::ReadSource => "read_source",
        }
    }

    /// Returns the description, which a model reads.
    fn description(self) -> &'static str {
        match self {
            Self::Status => {
                "Returns the folders that are served, the number of documents and chunks, the progress of indexing, the loaded \
                 models, the presets for `ask`, and the files that could not be read. Call it first, or when another tool \
                 says that the index is not ready."
            }
            Self::Search => {
                "Searches the documents by words and by meaning, and returns the best chunks with their text, document, lines and \
                 scores. Nothing is generated, so it is fast. Prefer it to `ask` when you will write the answer yourself."
            }
            Self::Ask => {
                "Answers a question from the documents with a local language model. Returns the answer, its sentences with the \
                 uncertainty of the model and citations, and the cited chunks (`sources`, by `number`). A sentence whose \
                 `uncertain` is true, or without citations, needs checking with `search` or `read_source`. Takes seconds to \
                 minutes."
            }
            Self::Explain => {
                "Returns what happened in a run of `ask`, step by step: the queries, the chunks that were retrieved, kept and \
                 dropped, the contexts and the sentences. With `expect`, traces the chunks that hold this phrase and returns \
                 their ranks and the stage that dropped them, to find out why a passage is missing from the answer."
            }
            Self::Measure => {
                "Measures what the retrieved context of a run of `ask` was worth: how much more the model believes in the answer \
                 with the context than without documents, and for each chunk alone and left out. A negative value means that \
                 the context misled the model. Samples several answers, which takes a while."
            }
            Self::ReadSource => {
                "Returns the text of a document, or lines of it. Pass the path of the document as `search` and `ask` name it. Only \
                 documents of the served folders can be read. When `more_lines` is true, continue after `last_line`."
            }
        }
    }

    fn schema(self) -> Result<std::sync::Arc<JsonObject>, String> {
        match self {
            Self::Status => schema_for_input::<StatusArguments>(),
            Self::Search => schema_for_input::<SearchArguments>(),
            Self::Ask => schema_for_input::<AskArguments>(),
            Self::Explain => schema_for_input::<ExplainArguments>(),
            Self::Measure => schema_for_input::<MeasureArguments>(),
            Self::ReadSource => schema_for_input::<ReadSourceArguments>(),
        }
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// Arguments that do not fit its schema; what the tool fails with.
    pub async fn call(
        self,
        arguments: JsonObject,
        engine: &Engine,
        caller: &mut Caller,
    ) -> Result<Value, Problem> {
        match self {
            Self::Status => {
                self.arguments::<StatusArguments>(arguments)?;
                to_json(&engine.status())
            }
            Self::Search => search(self.arguments(arguments)?, engine, caller).await,
            Self::Ask => ask(self.arguments(arguments)?, engine, caller).await,
            Self::Explain => explain(self.arguments(arguments)?, engine, caller).await,
            Self::Measure => measure(self.arguments(arguments)?, engine, caller).await,
            Self::ReadSource => read_source(self.arguments(arguments)?, engine, caller).await,
        }
    }

    fn arguments<T: DeserializeOwned>(self, arguments: JsonObject) -> Result<T, Problem> {
        T::deserialize(Value::Object(arguments)).map_err(|error| {
            Problem::new(
                format!("the arguments of `{}` do not fit ({error})", self.name()),
                "the input schema of the tool, in tools/list, names them",
            )
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct StatusArguments {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct SearchArguments {
    /// A question or keywords
    query: String,
    /// Maximum number of chunks, 1 to 1000; 10 if not given
    limit: Option<u32>,
    /// Limits the documents that are searched
    #[serde(default)]
    documents: DocumentFlags,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct AskArguments {
    /// A question that stands alone
    question: String,
    /// How to answer, e.g. `naive` or `closed-book` (without documents); `status` lists the presets. The user's
    /// choice if not given
    preset: Option<String>,
    /// Limits the documents that are searched
    #[serde(default)]
    documents: DocumentFlags,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct ExplainArguments {
    /// The `run` of an answer of `ask`
    run: String,
    /// Words of a passage that should have been found, exactly as in the document
    expect: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct MeasureArguments {
    /// The `run` of an answer of `ask`
    run: String,
    /// Answers that count as right; the answer of the run if not given
    #[serde(default)]
    references: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct ReadSourceArguments {
    /// Path of the document in the corpus
    document: String,
    /// First line, from 1; the first line of the document if not given
    first_line: Option<u32>,
    /// Last line, inclusive; 500 lines are returned if not given
    last_line: Option<u32>,
}

/// The answer to a question. The records of the run have the rest.
#[derive(Serialize)]
struct Answer<'a> {
    run: &'a str,
    /// The event `run_finished`.
    #[serde(flatten)]
    finished: &'a RunEvent,
    /// The event `step_finished` of each sentence of the answer.
    sentences: Vec<&'a RunEvent>,
    sources: Vec<NumberedHit<'a>>,
    warnings: Vec<&'a RunEvent>,
}

/// A chunk of the context with its number in the answer.
#[derive(Serialize)]
struct NumberedHit<'a> {
    number: u32,
    #[serde(flatten)]
    hit: &'a Hit,
}

/// Lines of a document.
#[derive(Serialize)]
struct SourceLines {
    #[serde(flatten)]
    source: Source,
    /// Whether the document has lines after the last one.
    more_lines: bool,
}

async fn search(
    arguments: SearchArguments,
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Value, Problem> {
    if arguments.query.trim().is_empty() {
        let advice = "pass a question or keywords";
        return Err(Problem::new("the query is empty", advice));
    }
    engine.ready(caller).await?;
    let limit = arguments.limit.unwrap_or(SEARCH_LIMIT);
    let mut overrides = search::settings(&engine.layers.config()?, limit);
    overrides.extend(arguments.documents.setting()?);

    let mut found = None;
    let command = Command::Search {
        query: arguments.query,
        overrides,
    };
    let observe = |record: Record| {
        if let Event::Session(SessionEvent::Searched { mut retrieval }) = record.event {
            retrieval.hits.truncate(limit as usize);
            found = Some(retrieval);
        }
        None
    };
    engine.request(command, caller, observe).await?;
    to_json(&found)
}

async fn ask(
    arguments: AskArguments,
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Value, Problem> {
    let preset = arguments.preset.map(|name| ("preset".to_owned(), name));
    let mut overrides = Vec::from_iter(preset);
    overrides.extend(arguments.documents.setting()?);
    let config = engine.layers.with(&overrides)?.config()?;
    if config.retriever.kind != RetrieverKind::Off {
        engine.ready(caller).await?;
    }

    let mut records = Vec::new();
    let command = Command::Ask(Ask {
        overrides,
        ..Ask::new(&arguments.question)
    });
    let observe = |record: Record| {
        let Event::Run(event) = &record.event else {
            return None;
        };
        if matches!(event, RunEvent::RunStarted { .. }) {
            engine.owns(&record.run);
        }
        let progress = progress_of_run(event);
        records.push(record);
        progress
    };
    engine.request(command, caller, observe).await?;
    answer(&records)
}

/// Returns the progress that an event of a run is: a lookup or a sentence.
fn progress_of_run(event: &RunEvent) -> Option<String> {
    match event {
        RunEvent::RetrievalFinished { retrieval, .. } => {
            let chunks = words::counted(retrieval.hits.len() as u64, "chunk");
            Some(format!("{chunks} for: {}", retrieval.query))
        }
        RunEvent::StepFinished { text, .. } => Some(text.clone()),
        _ => None,
    }
}

/// Returns the answer of a finished run; a failed run is its problem.
fn answer(records: &[Record]) -> Result<Value, Problem> {
    let events = || records.iter().filter_map(|record| record.event.run());
    let finished = events().find(|event| matches!(event, RunEvent::RunFinished { .. }));
    let Some(finished @ RunEvent::RunFinished { outcome, .. }) = finished else {
        return Err(Problem::without_advice("the run did not finish"));
    };
    if let Outcome::Failed(problem) = outcome {
        return Err(problem.clone());
    }

    // a sentence that was written again replaces the one before
    let mut sentences: Vec<(u32, &RunEvent)> = Vec::new();
    for event in events() {
        if let RunEvent::StepFinished { step, .. } = event {
            sentences.retain(|(known, _)| known != step);
            sentences.push((*step, event));
        }
    }
    let run = runs::fold(records);
    let hits = run.numbered_hits().into_iter();
    to_json(&Answer {
        run: &run.id,
        finished,
        sentences: sentences.into_iter().map(|(_, event)| event).collect(),
        sources: hits
            .map(|(number, hit)| NumberedHit { number, hit })
            .collect(),
        warnings: events()
            .filter(|event| matches!(event, RunEvent::Warned { .. }))
            .collect(),
    })
}

async fn explain(
    arguments: ExplainArguments,
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Value, Problem> {
    let records = runs::read(engine, &arguments.run)?;
    let Some(phrase) = arguments.expect.filter(|phrase| !phrase.trim().is_empty()) else {
        let steps: Vec<&Record> = records
            .iter()
            .filter(|record| runs::is_step(record))
            .collect();
        return Ok(json!({ "records": to_json(&steps)? }));
    };

    engine.ready(caller).await?;
    let run = runs::fold(&records);
    let mut traced = Vec::new();
    let command = Command::TracePassage {
        phrase: phrase.clone(),
        queries: PassageTrace::queries(&run),
        overrides: vec![("preset".to_owned(), run.preset.clone())],
    };
    let observe = |record: Record| {
        if let Event::Session(SessionEvent::PassageTraced { lookups, .. }) = record.event {
            traced = lookups;
        }
        None
    };
    engine.request(command, caller, observe).await?;
    to_json(&PassageTrace::new(&run, &phrase, &traced))
}

async fn measure(
    arguments: MeasureArguments,
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Value, Problem> {
    let run = runs::fold(&runs::read(engine, &arguments.run)?);
    let references = toml::Value::from(arguments.references).to_string();
    let command = Command::MeasureUtility {
        run: run.id.clone(),
        question: run.standalone().to_owned(),
        hits: run.context_hits().into_iter().cloned().collect(),
        own: run.answer.clone(),
        overrides: vec![("utility.references".to_owned(), references)],
    };

    let mut measured = None;
    let observe = |record: Record| match record.event {
        Event::Session(SessionEvent::MeasurementProgressed {
            purpose,
            begun,
            total,
        }) => Some(words::call(&purpose, (total > 0).then_some((begun, total)))),
        Event::Session(SessionEvent::UtilityMeasured { utility, .. }) => {
            measured = Some(utility);
            None
        }
        Event::Run(_) | Event::Session(_) => None,
    };
    engine.request(command, caller, observe).await?;
    to_json(&measured)
}

async fn read_source(
    arguments: ReadSourceArguments,
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Value, Problem> {
    let first = arguments.first_line.unwrap_or(1).max(1);
    let last = arguments
        .last_line
        .unwrap_or(first.saturating_add(SOURCE_LINES - 1));
    if last < first {
        return Err(Problem::new(
            format!("the last line {last} is before the first line {first}"),
            "pass lines in increasing order",
        ));
    }
    let source = source(&arguments.document, [first, last], engine, caller).await?;
    to_json(&lines_of(source))
}

/// Reads a document of the corpus, or the part of a large one around the lines.
///
/// # Errors
/// A path that is no document of the corpus.
pub async fn source(
    document: &str,
    [first_line, last_line]: [u32; 2],
    engine: &Engine,
    caller: &mut Caller,
) -> Result<Source, Problem> {
    engine.ready(caller).await?;
    let command = Command::OpenSource {
        document: document.to_owned(),
        first_line,
        last_line,
    };
    let mut opened = None;
    let observe = |record: Record| {
        if let Event::Session(SessionEvent::SourceOpened { source }) = record.event {
            opened = Some(source);
        }
        None
    };
    engine.request(command, caller, observe).await?;
    opened.ok_or_else(|| Problem::without_advice("the document was not read"))
}

/// Returns the lines of a source that were asked for, as text.
fn lines_of(mut source: Source) -> SourceLines {
    let before = source.first_line.saturating_sub(source.from_line) as usize;
    let count = (source.last_line - source.first_line) as usize + 1;
    let after = before + count;
    let more_lines = source.lines.len() > after;
    source.lines.truncate(after);
    source.lines.drain(..before.min(source.lines.len()));
    source.from_line = source.first_line;
    source.form = SourceForm::Lines;
    SourceLines { source, more_lines }
}

/// Returns the value that `--json` prints: through its text, in which a number has the digits of its own type.
fn to_json(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_string(value)
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|error| Problem::without_advice(format!("the result cannot be written ({error})")))
}
