//! A run folded into spans, by the semantic conventions of OpenTelemetry for generative AI
//! (<https://github.com/open-telemetry/semantic-conventions-genai>, version 0.1: attributes `gen_ai.*`).
//!
//! One span is the run (`invoke_agent ragscope`), with one below it for each search (`retrieval`) and each batch of model calls
//! (`chat` for a generator). The uncertainty of each sentence is an event `gen_ai.evaluation.result` of the run, whose label is
//! the decision of the gate. Names without a convention begin with `ragscope.`. `openinference.span.kind` is what Phoenix
//! distinguishes spans by. Texts of questions, prompts, answers and documents are left out unless they are asked for, as the
//! conventions demand.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::event::{
    CallUsage, Citation, CorpusCard, ModelCard, ModelRole, Outcome, Record, Retrieval, RunEvent,
    RunUsage, Uncertainty,
};

const NAME: &str = "ragscope";
/// Kinds and status codes of the protocol (opentelemetry/proto/trace/v1/trace.proto).
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const STATUS_ERROR: u8 = 2;

/// Whether texts are part of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Included,
    LeftOut,
}

/// Returns the request of a trace (`ExportTraceServiceRequest`, in JSON); `None` for records that are no run.
pub fn trace(records: &[Record], content: Content) -> Option<Value> {
    let mut trace = Trace::begin(records.first()?, content)?;
    for record in records {
        if let Some(event) = record.event.run() {
            trace.apply(event, record.t_us);
        }
    }
    Some(trace.request())
}

/// A trace that grows with the records of a run.
struct Trace {
    content: Content,
    run: String,
    /// When the run started, since 1970-01-01 UTC.
    started: Duration,
    models: Vec<ModelCard>,
    corpus: Option<String>,
    root: Span,
    children: Vec<Span>,
    /// The batch of model calls that is open.
    open: Option<Batch>,
    uncertain: i64,
}

/// Model calls that end together.
struct Batch {
    first: u32,
    started_us: u64,
    purpose: String,
    role: ModelRole,
    prompt: String,
}

/// A span, with times in microseconds since the run started.
struct Span {
    name: String,
    kind: u8,
    from_us: u64,
    to_us: u64,
    attributes: Vec<Value>,
    events: Vec<Value>,
    error: Option<String>,
}

impl Span {
    fn new(name: String, kind: u8, [from_us, to_us]: [u64; 2]) -> Self {
        Self {
            name,
            kind,
            from_us,
            to_us,
            attributes: Vec::new(),
            events: Vec::new(),
            error: None,
        }
    }

    fn set(&mut self, key: &str, value: impl Into<Attribute>) {
        self.attributes.push(attribute(key, value.into()));
    }
}

/// A value of an attribute.
enum Attribute {
    Text(String),
    Integer(i64),
    Number(f64),
    Texts(Vec<String>),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Attribute {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f32> for Attribute {
    fn from(number: f32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Vec<String>> for Attribute {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

/// Encodes an attribute; in JSON, integers of 64 bits are texts.
fn attribute(key: &str, value: Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Integer(number) => json!({ "intValue": number.to_string() }),
        Attribute::Number(number) => json!({ "doubleValue": number }),
        Attribute::Texts(texts) => {
            let texts = texts.into_iter().map(|text| json!({ "stringValue": text }));
            json!({ "arrayValue": { "values": texts.collect::<Vec<_>>() } })
        }
    };
    json!({ "key": key, "value": value })
}

impl Trace {
    fn begin(first: &Record, content: Content) -> Option<Self> {
        let Some(RunEvent::RunStarted {
            question,
            preset,
            models,
            corpus,
            seed,
            started_at,
            thread,
            ..
        }) = first.event.run()
        else {
            return None;
        };
        let mut root = Span::new(format!("invoke_agent {NAME}"), INTERNAL, [0, 0]);
        root.set("gen_ai.operation.name", "invoke_agent");
        root.set("gen_ai.agent.name", NAME);
        root.set("gen_ai.agent.version", env!("CARGO_PKG_VERSION"));
        root.set("gen_ai.provider.name", NAME);
        root.set(
            "gen_ai.conversation.id",
            thread.as_ref().unwrap_or(&first.run).as_str(),
        );
        root.set("gen_ai.request.seed", *seed);
        root.set("openinference.span.kind", "CHAIN");
        root.set("ragscope.run", first.run.as_str());
        root.set("ragscope.preset", preset.as_str());
        if let Some(model) = model_of(models, ModelRole::Generator) {
            root.set("gen_ai.request.model", model);
        }
        if content == Content::Included {
            root.set("gen_ai.input.messages", message("user", question, None));
            root.set("input.value", question.as_str());
        }
        Some(Self {
            content,
            run: first.run.clone(),
            started: started(&first.run, *started_at),
            models: models.clone(),
            corpus: corpus.as_ref().map(CorpusCard::arguments),
            root,
            children: Vec::new(),
            open: None,
            uncertain: 0,
        })
    }

    fn apply(&mut self, event: &RunEvent, t_us: u64) {
        self.root.to_us = self.root.to_us.max(t_us);
        match event {
            RunEvent::RetrievalFinished { step, retrieval } => {
                self.retrieved(*step, retrieval, t_us);
            }
            RunEvent::ModelCalled {
                call,
                purpose,
                role,
                prompt,
                ..
            } if self.open.is_none() => {
                self.open = Some(Batch {
                    first: *call,
                    started_us: t_us,
                    purpose: purpose.clone(),
                    role: *role,
                    prompt: prompt.clone(),
                });
            }
            RunEvent::ModelCallFinished { calls, usage, .. } => self.called(*calls, *usage, t_us),
            RunEvent::ContextBuilt { step, context } => {
                let attributes = vec![
                    attribute("ragscope.step", (*step).into()),
                    attribute(
                        "ragscope.context.chunks",
                        (context.chunks.len() as u64).into(),
                    ),
                    attribute(
                        "ragscope.context.dropped",
                        (context.dropped.len() as u64).into(),
                    ),
                    attribute(
                        "ragscope.context.prompt_tokens",
                        context.prompt_tokens.into(),
                    ),
                ];
                self.event("ragscope.context", t_us, attributes);
            }
            RunEvent::StepFinished {
                step,
                text,
                uncertainty,
                citations,
            } => self.sentence(*step, text, uncertainty, citations, t_us),
            RunEvent::UtilityMeasured { step, utility } => {
                let attributes = vec![
                    attribute("gen_ai.evaluation.name", "utility of the context".into()),
                    attribute("gen_ai.evaluation.score.value", utility.delta.into()),
                    attribute("ragscope.step", (*step).into()),
                ];
                self.event("gen_ai.evaluation.result", t_us, attributes);
            }
            RunEvent::Warned { text, .. } => {
                let attributes = vec![attribute("ragscope.warning", text.as_str().into())];
                self.event("ragscope.warned", t_us, attributes);
            }
            RunEvent::RunFinished {
                outcome,
                text,
                citations,
                usage,
                ..
            } => self.finished(outcome, text, citations, usage),
            _ => {}
        }
    }

    fn event(&mut self, name: &str, t_us: u64, attributes: Vec<Value>) {
        let time = self.time(t_us);
        let event = json!({ "name": name, "timeUnixNano": time, "attributes": attributes });
        self.root.events.push(event);
    }

    fn retrieved(&mut self, step: u32, retrieval: &Retrieval, t_us: u64) {
        let from_us = t_us.saturating_sub(retrieval.wall_us);
        let corpus = self.corpus.clone().unwrap_or_default();
        let mut span = Span::new(format!("retrieval {corpus}"), CLIENT, [from_us, t_us]);
        span.set("gen_ai.operation.name", "retrieval");
        span.set("gen_ai.data_source.id", corpus);
        span.set("gen_ai.retrieval.top_k", retrieval.hits.len() as u64);
        span.set("openinference.span.kind", "RETRIEVER");
        span.set("ragscope.step", step);
        let documents: Vec<Value> = retrieval
            .hits
            .iter()
            .map(|hit| {
                let [first, last] = hit.chunk.lines;
                let id = format!("{}:{first}-{last}", hit.chunk.document);
                let mut document = json!({ "id": id, "score": hit.fused.score });
                if self.content == Content::Included {
                    document["content"] = json!(hit.chunk.text);
                }
                document
            })
            .collect();
        span.set(
            "gen_ai.retrieval.documents",
            Value::from(documents).to_string(),
        );
        if self.content == Content::Included {
            span.set("gen_ai.retrieval.query.text", retrieval.query.as_str());
            span.set("input.value", retrieval.query.as_str());
        }
        self.children.push(span);
    }

    fn called(&mut self, calls: u32, usage: CallUsage, t_us: u64) {
        let Some(batch) = self.open.take() else {
            return;
        };
        let model = model_of(&self.models, batch.role).unwrap_or_else(|| batch.role.name());
        let operation = match batch.role {
            ModelRole::Embedder => "embeddings",
            ModelRole::Generator
            | ModelRole::Reranker
            | ModelRole::EntailmentJudge
            | ModelRole::Linker => "chat",
        };
        let mut span = Span::new(
            format!("{operation} {model}"),
            CLIENT,
            [batch.started_us, t_us],
        );
        span.set("gen_ai.operation.name", operation);
        span.set("gen_ai.provider.name", NAME);
        span.set("gen_ai.request.model", model);
        let prompt_tokens = usage.prompt_tokens_evaluated + usage.prompt_tokens_reused;
        span.set("gen_ai.usage.input_tokens", prompt_tokens);
        span.set(
            "gen_ai.usage.cache_read.input_tokens",
            usage.prompt_tokens_reused,
        );
        span.set("gen_ai.usage.output_tokens", usage.tokens_generated);
        span.set("openinference.span.kind", "LLM");
        span.set("ragscope.purpose", batch.purpose);
        span.set("ragscope.call", batch.first);
        span.set("ragscope.calls", calls);
        if self.content == Content::Included {
            span.set(
                "gen_ai.input.messages",
                message("user", &batch.prompt, None),
            );
            span.set("input.value", batch.prompt);
        }
        self.children.push(span);
    }

    fn sentence(
        &mut self,
        step: u32,
        text: &str,
        uncertainty: &Uncertainty,
        citations: &[Citation],
        t_us: u64,
    ) {
        let name = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let measure = name(json!(uncertainty.measure));
        let decision = name(json!(uncertainty.decision));
        if decision == "retrieve" || decision == "expand" {
            self.uncertain += 1;
        }
        let mut attributes = vec![
            attribute(
                "gen_ai.evaluation.name",
                format!("uncertainty ({measure})").into(),
            ),
            attribute("gen_ai.evaluation.score.value", uncertainty.value.into()),
            attribute("gen_ai.evaluation.score.label", decision.into()),
            attribute("ragscope.step", step.into()),
            attribute("ragscope.citations", places(citations).into()),
        ];
        if let Some(threshold) = uncertainty.threshold {
            attributes.push(attribute("ragscope.threshold", threshold.into()));
        }
        if self.content == Content::Included {
            attributes.push(attribute("gen_ai.evaluation.explanation", text.into()));
        }
        self.event("gen_ai.evaluation.result", t_us, attributes);
    }

    fn finished(
        &mut self,
        outcome: &Outcome,
        text: &str,
        citations: &[Citation],
        usage: &RunUsage,
    ) {
        let (name, reason) = match outcome {
            Outcome::Completed => ("completed", "stop"),
            Outcome::Stopped => ("stopped", "stop"),
            Outcome::LimitReached => ("limit_reached", "length"),
            Outcome::Failed(_) => ("failed", "error"),
        };
        let prompt_tokens = usage.prompt_tokens_evaluated + usage.prompt_tokens_reused;
        let root = &mut self.root;
        root.set("gen_ai.response.finish_reasons", vec![reason.to_owned()]);
        root.set("gen_ai.usage.input_tokens", prompt_tokens);
        root.set(
            "gen_ai.usage.cache_read.input_tokens",
            usage.prompt_tokens_reused,
        );
        root.set("gen_ai.usage.output_tokens", usage.tokens_generated);
        root.set("ragscope.outcome", name);
        root.set("ragscope.retrievals", usage.retrievals);
        root.set("ragscope.uncertain_sentences", self.uncertain);
        root.set("ragscope.citations", places(citations));
        if let Outcome::Failed(problem) = outcome {
            root.set("error.type", "ragscope.failed");
            root.error = Some(problem.line());
        }
        if self.content == Content::Included {
            root.set(
                "gen_ai.output.messages",
                message("assistant", text, Some(reason)),
            );
            root.set("output.value", text);
        }
    }

    /// Returns a time of the run in the nanoseconds of the protocol.
    fn time(&self, t_us: u64) -> String {
        (self.started + Duration::from_micros(t_us))
            .as_nanos()
            .to_string()
    }

    /// Returns an id of this run, as hexadecimal digits: the same each time that the run is folded.
    fn id(&self, of: &str, bytes: usize) -> String {
        let hash = blake3::hash(format!("{} {of}", self.run).as_bytes());
        hash.to_hex()[..2 * bytes].to_owned()
    }

    fn encoded(&self, span: &Span, id: &str, parent: Option<&str>) -> Value {
        let mut encoded = json!({
            "traceId": self.id("trace", 16),
            "spanId": id,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": self.time(span.from_us),
            "endTimeUnixNano": self.time(span.to_us),
            "attributes": span.attributes,
            "events": span.events,
        });
        if let Some(parent) = parent {
            encoded["parentSpanId"] = json!(parent);
        }
        if let Some(error) = &span.error {
            encoded["status"] = json!({ "code": STATUS_ERROR, "message": error });
        }
        encoded
    }

    fn request(self) -> Value {
        let root = self.id("run", 8);
        let mut spans = vec![self.encoded(&self.root, &root, None)];
        for (number, child) in self.children.iter().enumerate() {
            let id = self.id(&number.to_string(), 8);
            spans.push(self.encoded(child, &id, Some(&root)));
        }
        let version = env!("CARGO_PKG_VERSION");
        let resource = BTreeMap::from([("service.name", NAME), ("service.version", version)]);
        let resource = resource
            .into_iter()
            .map(|(key, value)| attribute(key, value.into()));
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource.collect::<Vec<_>>() },
            "scopeSpans": [{ "scope": { "name": NAME, "version": version }, "spans": spans }],
        }] })
    }
}

/// Returns when a run started: its id begins with the milliseconds since 1970, its first record has the seconds.
fn started(run: &str, started_at: u64) -> Duration {
    let id = run.split('-').next().and_then(|id| id.parse().ok());
    let exact = id.map(Duration::from_millis);
    exact
        .filter(|exact| exact.as_secs().abs_diff(started_at) <= 1)
        .unwrap_or(Duration::from_secs(started_at))
}

fn model_of(models: &[ModelCard], role: ModelRole) -> Option<&str> {
    let mut models = models.iter();
    let model = models.find(|model| model.role == role);
    model.map(|model| model.name.as_str())
}

/// Returns the cited places, each once.
fn places(citations: &[Citation]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for citation in citations {
        let place = format!(
            "{}:{}-{}",
            citation.file, citation.first_line, citation.last_line
        );
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns a message in the JSON of the conventions.
fn message(role: &str, text: &str, finish_reason: Option<&str>) -> String {
    let mut message = json!({ "role": role, "parts": [{ "type": "text", "content": text }] });
    if let Some(reason) = finish_reason {
        message["finish_reason"] = json!(reason);
    }
    Value::from(vec![message]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn folded(name: &str, content: Content) -> Vec<Value> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
        let records = crate::trace::read_run(&folder.join(name)).expect("a recorded run");
        let request = trace(&records, content).expect("a run");
        let spans = request.pointer("/resourceSpans/0/scopeSpans/0/spans");
        spans.and_then(Value::as_array).cloned().expect("spans")
    }

    fn value<'v>(of: &'v Value, key: &str) -> Option<&'v Value> {
        let attributes = of["attributes"].as_array().expect("attributes");
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        found.and_then(|attribute| attribute["value"].as_object()?.values().next())
    }

    #[test]
    fn a_run_is_a_span_with_its_lookups_and_calls() {
        let spans = folded("searag.jsonl", Content::Included);
        let root = &spans[0];
        assert_eq!(root["name"], "invoke_agent ragscope");
        assert_eq!(value(root, "ragscope.outcome"), Some(&json!("completed")));
        let of = |kind: &str| {
            let spans = spans.iter();
            spans
                .filter(|span| value(span, "gen_ai.operation.name") == Some(&json!(kind)))
                .collect::<Vec<_>>()
        };
        assert!(!of("retrieval").is_empty() && !of("chat").is_empty());
        let documents = value(of("retrieval")[0], "gen_ai.retrieval.documents").expect("documents");
        let documents: Value =
            serde_json::from_str(documents.as_str().expect("text")).expect("JSON");
        assert!(documents[0]["score"].is_number() && documents[0]["content"].is_string());

        let time = |span: &Value, key: &str| {
            span[key]
                .as_str()
                .and_then(|time| time.parse::<u128>().ok())
                .expect("a time")
        };
        for span in &spans[1..] {
            assert_eq!(span["parentSpanId"], root["spanId"]);
            assert_eq!(span["traceId"], root["traceId"]);
            assert!(
                time(span, "startTimeUnixNano") >= time(root, "startTimeUnixNano"),
                "{span}"
            );
            assert!(
                time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"),
                "{span}"
            );
            assert!(
                time(span, "endTimeUnixNano") <= time(root, "endTimeUnixNano"),
                "{span}"
            );
        }
        let labels: Vec<&Value> = root["events"]
            .as_array()
            .expect("events")
            .iter()
            .filter(|event| event["name"] == "gen_ai.evaluation.result")
            .filter_map(|event| value(event, "gen_ai.evaluation.score.label"))
            .collect();
        assert!(
            labels.contains(&&json!("retrieve")) && labels.contains(&&json!("keep")),
            "{labels:?}"
        );
        let uncertain = labels.iter().filter(|label| **label == "retrieve").count();
        assert_eq!(
            value(root, "ragscope.uncertain_sentences"),
            Some(&json!(uncertain.to_string()))
        );
    }

    #[test]
    fn texts_are_left_out_unless_they_are_asked_for() {
        for run in ["naive.jsonl", "searag.jsonl", "funnel.jsonl"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
            let records = crate::trace::read_run(&folder.join(run)).expect("a recorded run");
            let texts = records
                .iter()
                .filter_map(|record| match record.event.run()? {
                    RunEvent::RunStarted { question, .. } => Some(question.clone()),
                    RunEvent::RetrievalFinished { retrieval, .. } => {
                        Some(retrieval.hits.first()?.chunk.text.clone())
                    }
                    RunEvent::StepFinished { text, .. } => Some(text.clone()),
                    _ => None,
                });
            let bare = Value::from(folded(run, Content::LeftOut)).to_string();
            let full = Value::from(folded(run, Content::Included)).to_string();
            for text in texts {
                let text = json!(text.split('\n').next().expect("a line")).to_string();
                let text = text.trim_matches('"');
                assert!(!bare.contains(text), "{run}: {text}");
                assert!(full.contains(text), "{run}: {text}");
            }
        }
    }
}
