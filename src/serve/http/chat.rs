//! Chat completions: the last message of the user is the question, those before it are its thread.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::event::{Decision, Outcome, Record, RunEvent, Turn};
use crate::host::DocumentFlags;
use crate::serve::queue::{self, Caller, QuestionRequest, Refusal};
use crate::story::{Origin, Run, words};

use super::body::read_json;
use super::models::preset_of;
use super::reply::{HttpFailure, json_reply, now_s, text_of};
use super::state::HttpState;
use super::stream::{self, Events, Left};

/// The line above the sources at the end of an answer.
const SOURCES: &str = "\n\nSources:\n";

/// A request of `POST /v1/chat/completions`. Other parameters of the interface are accepted and
/// have no effect.
#[derive(Debug, Deserialize)]
pub struct ChatRequest {
    /// `ragscope` for the settings of the server, or `ragscope/PRESET`, as /v1/models lists them
    model: String,
    /// The last message of the user is the question. User and assistant messages before it are its
    /// thread; others have no effect
    messages: Vec<Message>,
    /// Whether the answer is sent as server-sent events while it is written
    #[serde(default)]
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Number of answers: 1
    n: Option<u32>,
    /// Seed of every random choice
    seed: Option<u64>,
    /// Maximum tokens of the answer
    max_completion_tokens: Option<u32>,
    /// The older name of `max_completion_tokens`
    max_tokens: Option<u32>,
    /// Extensions that other servers do not have
    ragscope: Option<ChatExtension>,
}

/// The extra field of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatExtension {
    /// Limits the documents that are searched
    #[serde(default)]
    documents: DocumentFlags,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    /// Whether the last event has the number of tokens
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    /// `user`, `assistant`, `system` and others
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    /// `text`; others are refused
    r#type: String,
    text: Option<String>,
}

impl Message {
    /// Returns the text of the message.
    fn text(&self) -> Result<String, HttpFailure> {
        match &self.content {
            None => Ok(String::new()),
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Parts(parts)) => {
                let texts = parts.iter().map(|part| match (&*part.r#type, &part.text) {
                    ("text", Some(text)) => Ok(text.as_str()),
                    (other, _) => Err(HttpFailure::invalid(format!(
                        "a message has a part of type {other:?}: send text"
                    ))),
                });
                Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
            }
        }
    }
}

impl ChatRequest {
    /// Returns the question with its thread.
    fn question(&self) -> Result<QuestionRequest, HttpFailure> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(HttpFailure::invalid("`n` is not 1: send several requests"));
        }
        let is_user = |message: &Message| message.role == "user";
        let Some(last) = self.messages.iter().rposition(is_user) else {
            return Err(HttpFailure::invalid(
                "there is no message of the user: send the question as one",
            ));
        };

        let mut turns: Vec<Turn> = Vec::new();
        for message in &self.messages[..last] {
            let text = message.text()?;
            match (&*message.role, turns.last_mut()) {
                ("user", _) => turns.push(Turn {
                    question: text,
                    answer: String::new(),
                }),
                ("assistant", Some(turn)) => turn.answer.push_str(without_sources(&text)),
                _ => {}
            }
        }
        turns.retain(|turn| !turn.answer.trim().is_empty());
        let documents = self.ragscope.as_ref().map(|extra| extra.documents.clone());
        Ok(QuestionRequest {
            text: self.messages[last].text()?,
            turns,
            preset: None,
            documents: documents.unwrap_or_default(),
            seed: self.seed,
            // OpenAI renamed `max_tokens`; clients send either
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
        })
    }
}

/// Answers a request of `POST /v1/chat/completions`.
pub async fn complete(
    State(server): State<Arc<HttpState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpFailure> {
    let request: ChatRequest = read_json(&headers, body).await?;
    let preset = preset_of(&request.model, &server.engine.status().presets)?;
    let question = QuestionRequest {
        preset: preset.map(str::to_owned),
        ..request.question()?
    };

    // dropped with this future, or with the reply: the client has left
    let (wanting, caller) = Caller::new(None);
    let (sender, mut records) = mpsc::unbounded_channel();
    let engine = Arc::clone(&server);
    let run = tokio::spawn(async move {
        let observe = move |record: &Record| {
            // a client that has left needs no records
            let _ = sender.send(record.clone());
        };
        queue::ask(question, &engine.engine, &caller, observe).await
    });

    let reply = ChatReply {
        model: request.model,
        created: now_s(),
        lists_sources: server.lists_sources,
        run: Run::default(),
        is_gated: false,
        sent: String::new(),
    };
    if request.stream != Some(true) {
        return whole_answer(reply, run).await;
    }

    // what fails before the run begins has a status
    let Some(first) = records.recv().await else {
        let refused = run.await.map_err(|_| Refusal::for_end())?;
        return Err(refused.err().unwrap_or_else(Refusal::for_end).into());
    };
    let (events, response) = stream::open(wanting);
    let wants_usage = request
        .stream_options
        .is_some_and(|options| options.include_usage);
    tokio::spawn(async move {
        // nobody is left who would read what went wrong
        let _ = stream_answer(reply, wants_usage, first, records, run, events).await;
    });
    Ok(response)
}

/// The records of a finished run, or why there are none.
type Answered = tokio::task::JoinHandle<Result<Vec<Arc<Record>>, Refusal>>;

/// Sends an answer once it is complete.
async fn whole_answer(mut reply: ChatReply, run: Answered) -> Result<Response, HttpFailure> {
    let answered = run.await.map_err(|_| Refusal::for_end())??;
    for record in &answered {
        reply.apply(record);
    }
    let answer = queue::answer(&answered)?;
    json_reply(&reply.whole(answer)?)
}

/// Sends an answer while it is written.
async fn stream_answer(
    mut reply: ChatReply,
    wants_usage: bool,
    first: Record,
    mut records: mpsc::UnboundedReceiver<Record>,
    run: Answered,
    events: Events,
) -> Result<(), Left> {
    reply.apply(&first);
    let start = json!({ "role": "assistant", "content": "" });
    let extra = json!({ "run": reply.run.id });
    events.send(&reply.chunk(start, None, Some(extra))).await?;
    while let Some(record) = events.wait(records.recv()).await? {
        if let Some(text) = reply.apply(&record) {
            let delta = json!({ "content": text });
            events.send(&reply.chunk(delta, None, None)).await?;
        }
    }

    let answered = run.await.map_err(|_| Refusal::for_end()).flatten();
    let answer = answered.and_then(|records| queue::answer(&records));
    match answer {
        Ok(answer) => {
            let sources = reply.sources();
            if !sources.is_empty() {
                let delta = json!({ "content": sources });
                events.send(&reply.chunk(delta, None, None)).await?;
            }
            let reason = Some(reply.finish_reason());
            events
                .send(&reply.chunk(json!({}), reason, Some(answer)))
                .await?;
            if wants_usage {
                let mut chunk = reply.object("chat.completion.chunk");
                // OpenAI's last chunk has the usage and no choice
                chunk["choices"] = json!([]);
                chunk["usage"] = reply.usage();
                events.send(&text_of(&chunk)).await?;
            }
        }
        Err(refusal) => {
            let failure = HttpFailure::from(refusal);
            events.send(&text_of(&failure.to_json())).await?;
        }
    }
    // the end of a stream in OpenAI's interface
    events.send("[DONE]").await
}

/// An answer on its way to the client.
struct ChatReply {
    model: String,
    /// Seconds since 1970-01-01 UTC.
    created: u64,
    lists_sources: bool,
    run: Run,
    /// Whether a sentence may be written again.
    is_gated: bool,
    /// The text that the client has.
    sent: String,
}

impl ChatReply {
    /// Takes in a record of the run and returns the text that it adds for good.
    fn apply(&mut self, record: &Record) -> Option<String> {
        let event = record.event.run()?;

        if self.run.id.is_empty() {
            self.run.id.clone_from(&record.run);
        }
        self.run.apply(event, record.t_us);

        let text = match event {
            RunEvent::GateChosen { .. } => {
                self.is_gated = true;
                return None;
            }
            RunEvent::TokenGenerated { .. } if self.is_gated => return None,
            RunEvent::TokenGenerated { .. } | RunEvent::StepFinished { .. } => self.settled_text(),
            RunEvent::RunFinished { text, .. } => text.clone(),
            RunEvent::StepCited { .. } => {
                // a mark that was sent and holds no longer cannot be taken back
                self.sent = self.settled_text();
                return None;
            }
            _ => return None,
        };

        let added = text.strip_prefix(&self.sent)?.to_owned();
        self.sent = text;
        (!added.is_empty()).then_some(added)
    }

    /// Returns the part of the answer that is not written again.
    fn settled_text(&self) -> String {
        let mut text = String::new();
        for (at, step) in self.run.steps.iter().enumerate() {
            let decision = step.uncertainty.as_ref().map(|known| known.decision);
            let is_final = match decision {
                Some(Decision::Keep | Decision::Measured) => true,
                Some(Decision::Retrieve | Decision::Expand) => false,
                None => step.origin != Origin::Generated,
            };

            if !is_final && self.is_gated {
                break;
            }

            if !text.is_empty() {
                text.push_str(&self.run.space_before(at));
            }

            let end = if is_final {
                step.text.len()
            } else {
                closed_bytes(&step.text)
            };
            text.push_str(&step.text[..end]);
        }

        text
    }

    /// Returns the cited sources as lines, where the server adds them.
    fn sources(&self) -> String {
        let cited = |number: u32| {
            let mut citations = self.run.citations.iter();
            citations.any(|citation| citation.label == number)
        };

        let hits = self.run.numbered_hits().into_iter();
        let lines: Vec<String> = hits
            .filter(|(number, _)| self.lists_sources && cited(*number))
            .map(|(number, hit)| format!("[{number}] {}", words::chunk_location(&hit.chunk)))
            .collect();

        if lines.is_empty() {
            return String::new();
        }

        format!("{SOURCES}{}", lines.join("\n"))
    }

    fn finish_reason(&self) -> &'static str {
        match self.run.outcome {
            Some(Outcome::LimitReached) => "length",
            Some(Outcome::Completed | Outcome::Stopped | Outcome::Failed(_)) | None => "stop",
        }
    }

    fn usage(&self) -> Value {
        let usage = self.run.usage;
        let prompt = usage.prompt_tokens_evaluated + usage.prompt_tokens_reused;
        json!({
            "prompt_tokens": prompt,
            "completion_tokens": usage.tokens_generated,
            "total_tokens": prompt + usage.tokens_generated,
            "prompt_tokens_details": { "cached_tokens": usage.prompt_tokens_reused },
        })
    }

    fn object(&self, kind: &str) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.run.id),
            "object": kind,
            "created": self.created,
            "model": self.model,
        })
    }

    /// Returns the answer as one object.
    fn whole(&self, answer: Value) -> Result<Value, HttpFailure> {
        let content = self.run.text.clone() + &self.sources();
        let mut object = self.object("chat.completion");
        object["choices"] = json!([{
            "index": 0,
            "message": { "role": "assistant", "content": content, "refusal": null },
            "logprobs": null,
            "finish_reason": self.finish_reason(),
        }]);
        object["usage"] = self.usage();
        object["ragscope"] = answer;
        Ok(object)
    }

    /// Returns an event of the answer.
    fn chunk(&self, delta: Value, finish_reason: Option<&str>, extra: Option<Value>) -> String {
        let mut object = self.object("chat.completion.chunk");
        object["choices"] = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason }]);
        if let Some(extra) = extra {
            object["ragscope"] = extra;
        }
        text_of(&object)
    }
}

/// Returns where a text ends without the citation mark that is not closed yet: its number is known
/// only then.
fn closed_bytes(text: &str) -> usize {
    let open = text.rfind('[').filter(|at| {
        let inside = &text.as_bytes()[at + 1..];
        inside.iter().all(|byte| b"0123456789, ".contains(byte))
    });
    open.unwrap_or(text.len())
}

/// Returns an answer without the list of sources that this server added to it.
fn without_sources(answer: &str) -> &str {
    answer
        .rsplit_once(SOURCES)
        .map_or(answer, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(messages: &Value) -> Result<QuestionRequest, u16> {
        let request = json!({ "model": "ragscope", "messages": messages });
        let request: ChatRequest = serde_json::from_value(request).expect("a request");
        let question = request.question();
        question.map_err(|failure| failure.status.as_u16())
    }

    #[test]
    fn the_last_message_of_the_user_is_the_question() {
        let messages = json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Who is Tam?" },
            { "role": "assistant", "content": "A smith. [1]\n\nSources:\n[1] people.md:3" },
            { "role": "user", "content": "no answer to this one" },
            { "role": "user", "content": [{ "type": "text", "text": "Where was he born?" }] },
        ]);
        let question = question(&messages).expect("a question");
        assert_eq!(question.text, "Where was he born?");
        let turn = Turn {
            question: "Who is Tam?".to_owned(),
            answer: "A smith. [1]".to_owned(),
        };
        assert_eq!(question.turns, [turn]);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let image =
            json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }]);
        for messages in [
            json!([]),
            json!([{ "role": "system", "content": "a" }]),
            image,
        ] {
            assert_eq!(question(&messages).err(), Some(400), "{messages}");
        }
    }

    #[test]
    fn a_mark_is_sent_once_it_is_closed() {
        for (text, sent) in [
            ("a [1", "a "),
            ("a [1]", "a [1]"),
            ("a [b", "a [b"),
            ("a [", "a "),
        ] {
            assert_eq!(&text[..closed_bytes(text)], sent);
        }
    }
}
