//! A run folded into spans, by the semantic conventions of OpenTelemetry for generative AI
//! (<https://github.com/open-telemetry/semantic-conventions-genai>, version 0.1: attributes `gen_ai.*`).
//!
//! One span is the run (`invoke_agent ragscope`), with one below it for each search (`retrieval`) and each batch of model calls
//! (`chat` for a generator). The uncertainty of each sentence is an event `gen_ai.evaluation.result` of the run, whose label is
//! the decision of the gate. Names without a convention begin with `ragscope.`. `openinference.span.kind` is what Phoenix
//! distinguishes spans by, and `retrieval.documents.*` where it reads the documents of a search (OpenInference). Texts of questions, prompts, answers and documents are left out unless they are asked for, as the
//! conventions demand.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{self as proto, ResourceSpans, ScopeSpans, Status};
use serde_json::{Value, json};

use crate::event::{
    CallUsage, Citation, CorpusCard, ModelCard, ModelRole, Outcome, Record, Retrieval, RunEvent,
    RunUsage, Uncertainty,
};
use crate::story::words;

const NAME: &str = "ragscope";
/// Bytes of the identifiers of the protocol.
const TRACE_ID_BYTES: usize = 16;
const SPAN_ID_BYTES: usize = 8;

/// Whether texts are part of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Included,
    LeftOut,
}

/// Returns the request that exports a run; `None` for records that are no run.
pub fn trace(records: &[Record], content: Content) -> Option<ExportTraceServiceRequest> {
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
#[derive(Default)]
struct Span {
    name: String,
    kind: SpanKind,
    from_us: u64,
    to_us: u64,
    attributes: Vec<KeyValue>,
    events: Vec<Event>,
    error: Option<String>,
}

impl Span {
    fn new(name: String, kind: SpanKind, [from_us, to_us]: [u64; 2]) -> Self {
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

impl From<Attribute> for AnyValue {
    fn from(attribute: Attribute) -> Self {
        let value = match attribute {
            Attribute::Text(text) => any_value::Value::StringValue(text),
            Attribute::Integer(number) => any_value::Value::IntValue(number),
            Attribute::Number(number) => any_value::Value::DoubleValue(number),
            Attribute::Texts(texts) => any_value::Value::ArrayValue(ArrayValue {
                values: texts
                    .into_iter()
                    .map(|text| Attribute::Text(text).into())
                    .collect(),
            }),
        };
        Self { value: Some(value) }
    }
}

fn attribute(key: &str, value: Attribute) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(value.into()),
        ..KeyValue::default()
    }
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
        let name = format!("invoke_agent {NAME}");
        let mut root = Span::new(name, SpanKind::Internal, [0, 0]);
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

    fn event(&mut self, name: &str, t_us: u64, attributes: Vec<KeyValue>) {
        let event = Event {
            time_unix_nano: self.time(t_us),
            name: name.to_owned(),
            attributes,
            ..Event::default()
        };
        self.root.events.push(event);
    }

    fn retrieved(&mut self, step: u32, retrieval: &Retrieval, t_us: u64) {
        let from_us = t_us.saturating_sub(retrieval.wall_us);
        let corpus = self.corpus.clone().unwrap_or_default();
        let name = format!("retrieval {corpus}");
        let mut span = Span::new(name, SpanKind::Client, [from_us, t_us]);
        span.set("gen_ai.operation.name", "retrieval");
        span.set("gen_ai.data_source.id", corpus);
        span.set("gen_ai.retrieval.top_k", retrieval.hits.len() as u64);
        span.set("openinference.span.kind", "RETRIEVER");
        span.set("ragscope.step", step);
        let mut documents = Vec::with_capacity(retrieval.hits.len());
        for (rank, hit) in retrieval.hits.iter().enumerate() {
            let [first, last] = hit.chunk.lines;
            let id = format!("{}:{first}-{last}", hit.chunk.document);
            let of_document = format!("retrieval.documents.{rank}.document");
            span.set(&format!("{of_document}.id"), id.as_str());
            span.set(&format!("{of_document}.score"), hit.fused.score);

            let mut document = json!({ "id": id, "score": hit.fused.score });
            if self.content == Content::Included {
                document["content"] = json!(hit.chunk.text);
                span.set(&format!("{of_document}.content"), hit.chunk.text.as_str());
            }
            documents.push(document);
        }
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
        let (operation, kind) = match batch.role {
            ModelRole::Embedder => ("embeddings", "EMBEDDING"),
            ModelRole::Reranker => ("chat", "RERANKER"),
            ModelRole::Generator | ModelRole::EntailmentJudge | ModelRole::Linker => {
                ("chat", "LLM")
            }
        };
        let name = format!("{operation} {model}");
        let mut span = Span::new(name, SpanKind::Client, [batch.started_us, t_us]);
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
        span.set("openinference.span.kind", kind);
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

    /// Returns a time of the run in nanoseconds since 1970-01-01 UTC.
    fn time(&self, t_us: u64) -> u64 {
        let time = self.started + Duration::from_micros(t_us);
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns an identifier of this run: the same each time that the run is folded.
    fn id(&self, of: &str, bytes: usize) -> Vec<u8> {
        let hash = blake3::hash(format!("{} {of}", self.run).as_bytes());
        hash.as_bytes()[..bytes].to_vec()
    }

    /// Encodes a span; `parent` is empty for that of the run.
    fn encoded(&self, span: Span, id: Vec<u8>, parent: &[u8]) -> proto::Span {
        proto::Span {
            trace_id: self.id("trace", TRACE_ID_BYTES),
            span_id: id,
            parent_span_id: parent.to_vec(),
            start_time_unix_nano: self.time(span.from_us),
            end_time_unix_nano: self.time(span.to_us),
            name: span.name,
            kind: span.kind.into(),
            attributes: span.attributes,
            events: span.events,
            status: span.error.map(|message| Status {
                message,
                code: StatusCode::Error.into(),
            }),
            ..proto::Span::default()
        }
    }

    fn request(mut self) -> ExportTraceServiceRequest {
        let root_id = self.id("run", SPAN_ID_BYTES);
        let root = std::mem::take(&mut self.root);
        let mut spans = vec![self.encoded(root, root_id.clone(), &[])];
        for (number, child) in std::mem::take(&mut self.children).into_iter().enumerate() {
            let id = self.id(&number.to_string(), SPAN_ID_BYTES);
            spans.push(self.encoded(child, id, &root_id));
        }

        let version = env!("CARGO_PKG_VERSION");
        let scope_spans = ScopeSpans {
            scope: Some(InstrumentationScope {
                name: NAME.to_owned(),
                version: version.to_owned(),
                ..InstrumentationScope::default()
            }),
            spans,
            ..ScopeSpans::default()
        };
        let resource = Resource {
            attributes: vec![
                attribute("service.name", NAME.into()),
                attribute("service.version", version.into()),
            ],
            ..Resource::default()
        };
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource),
                scope_spans: vec![scope_spans],
                ..ResourceSpans::default()
            }],
        }
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
        let place = words::citation_location(citation);
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

    fn folded(name: &str, content: Content) -> Vec<proto::Span> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
        let records = crate::trace::read_run(&folder.join(name)).expect("a recorded run");
        let request = trace(&records, content).expect("a run");
        request.resource_spans[0].scope_spans[0].spans.clone()
    }

    fn value<'v>(of: &'v [KeyValue], key: &str) -> Option<&'v any_value::Value> {
        let found = of.iter().find(|attribute| attribute.key == key);
        found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref())
    }

    fn text<'v>(of: &'v [KeyValue], key: &str) -> Option<&'v str> {
        match value(of, key)? {
            any_value::Value::StringValue(text) => Some(text),
            other => panic!("{key}: {other:?}"),
        }
    }

    #[test]
    fn a_run_is_a_span_with_its_lookups_and_calls() {
        let spans = folded("searag.jsonl", Content::Included);
        let root = &spans[0];
        assert_eq!(root.name, "invoke_agent ragscope");
        assert!(root.parent_span_id.is_empty());
        assert_eq!(
            text(&root.attributes, "ragscope.outcome"),
            Some("completed")
        );
        let of = |operation: &str| {
            let spans = spans.iter();
            spans
                .filter(|span| text(&span.attributes, "gen_ai.operation.name") == Some(operation))
                .collect::<Vec<_>>()
        };
        assert!(!of("retrieval").is_empty() && !of("chat").is_empty());
        let search = &of("retrieval")[0].attributes;
        let documents = text(search, "gen_ai.retrieval.documents").expect("documents");
        let documents: Value = serde_json::from_str(documents).expect("JSON");
        assert!(documents[0]["score"].is_number() && documents[0]["content"].is_string());
        assert_eq!(
            text(search, "retrieval.documents.0.document.content"),
            documents[0]["content"].as_str()
        );

        for span in &spans[1..] {
            assert_eq!(span.parent_span_id, root.span_id);
            assert_eq!(span.trace_id, root.trace_id);
            assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
            assert!(span.start_time_unix_nano >= root.start_time_unix_nano);
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            assert!(span.end_time_unix_nano <= root.end_time_unix_nano);
        }
        let judged = root.events.iter();
        let labels: Vec<&str> = judged
            .filter(|event| event.name == "gen_ai.evaluation.result")
            .filter_map(|event| text(&event.attributes, "gen_ai.evaluation.score.label"))
            .collect();
        assert!(
            labels.contains(&"retrieve") && labels.contains(&"keep"),
            "{labels:?}"
        );
        let uncertain = labels.iter().filter(|label| **label == "retrieve").count();
        assert_eq!(
            value(&root.attributes, "ragscope.uncertain_sentences"),
            Some(&any_value::Value::IntValue(uncertain as i64))
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
            let bare = format!("{:?}", folded(run, Content::LeftOut));
            let full = format!("{:?}", folded(run, Content::Included));
            for text in texts {
                let text = format!("{:?}", text.split('\n').next().expect("a line"));
                let text = text.trim_matches('"');
                assert!(!bare.contains(text), "{run}: {text}");
                assert!(full.contains(text), "{run}: {text}");
            }
        }
    }
}
