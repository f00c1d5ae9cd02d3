//! A generator behind a model server.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use super::capabilities::Capabilities;
use super::card::{file_name, named_card};
use super::chat::{CHAT, Chat, LIKELY_TOKENS, Trial};
use super::http::{Called, Client, Request};
use super::native::{self, Native, Props, lacks_probabilities, read};
use super::reply::Reply;
use crate::config::GeneratorSettings;
use crate::event::{CallUsage, Flow, ModelCard, ModelRole, elapsed_us, saturating_u32};
use crate::llm::bundled;
use crate::llm::error::LlmError;
use crate::llm::error::ServerError;
use crate::llm::reply_start;
use crate::llm::role::{Generator, LoadedGenerator, Scorer, Tap};
use crate::llm::scorer::{
    LEAD_TOKENS, MIN_FIRST_TOKEN, Spelling, SpellingRow, behind, is_lead, read_labels, spellings,
};
use crate::llm::template::Opening;
use crate::llm::template::thought::Splitter;
use crate::llm::values::{
    Completion, Decoding, End, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};

/// A generator behind a model server. What it cannot do is an error that names the setting.
pub(super) struct ServerGenerator {
    client: Client,
    api: Api,
    card: ModelCard,
    capabilities: Capabilities,
    reply_start: &'static str,
    usage: CallUsage,
}

enum Api {
    Native(Box<Native>),
    Chat(Chat),
}

/// A model that a server lists.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Listed {
    pub id: String,
    owned_by: String,
    meta: Option<Meta>,
    /// vLLM's name of the context length.
    max_model_len: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Meta {
    n_embd: u32,
    n_params: u64,
    size: u64,
    n_ctx: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Listing {
    data: Vec<Listed>,
}

/// Returns the model that the setting names, or else the first that the server lists. A server that lists
/// none is believed to have it.
pub(super) fn listed(client: &Client, wanted: &str) -> Result<Listed, LlmError> {
    let listing = match client.json(Request::get("/v1/models")) {
        Ok(listing) => read::<Listing>(client, listing)?.data,
        Err(LlmError::Server(ServerError::Rejected { .. })) => Vec::new(),
        Err(error) => return Err(error),
    };
    let names: Vec<&str> = listing.iter().map(|one| one.id.as_str()).collect();
    let found = if wanted.is_empty() {
        listing.first()
    } else {
        listing.iter().find(|one| one.id == wanted)
    };
    match found {
        Some(found) => Ok(found.clone()),
        None if listing.is_empty() => Ok(Listed {
            id: wanted.to_owned(),
            ..Listed::default()
        }),
        None => Err(ServerError::NoModel {
            host: client.host(),
            model: wanted.to_owned(),
            known: names.join(", "),
        }
        .into()),
    }
}

impl Listed {
    /// Returns whether a program with this name owns the model.
    pub fn is_of(&self, owner: &str) -> bool {
        self.owned_by == owner
    }
}

impl ServerGenerator {
    /// Learns what the server of a model can do.
    ///
    /// # Errors
    /// As [`super::connect_generator`].
    pub fn connect(
        mut client: Client,
        model: &Listed,
        settings: &GeneratorSettings,
    ) -> Result<Self, LlmError> {
        let props = props(&client)?;

        let mut card = card(&client, model);
        let (api, capabilities) = match &props {
            Some(props) => {
                client.limit(props.total_slots);
                let native = Native::new(&client, props, &model.id, settings)?;
                card.context_tokens = native.context_tokens;
                if native.is_plain {
                    ModelCard::NO_TEMPLATE.clone_into(&mut card.chat_template);
                }
                card.quantisation.clone_from(&props.model_ftype);
                let file = file_name(&props.model_path);
                if !file.is_empty() {
                    file.clone_into(&mut card.file);
                }
                card.practice = bundled::listed().iter().any(|one| one.file == card.file);
                let capabilities = try_native(&client, props, &native)?;
                (Api::Native(Box::new(native)), capabilities)
            }
            None => {
                let (chat, capabilities) = try_chat(&client, model)?;
                (Api::Chat(chat), capabilities)
            }
        };
        if capabilities.likely_tokens == 0 {
            return Err(lacks_probabilities(&client));
        }
        card.server = capabilities.words();

        let mut generator = Self {
            client,
            api,
            card,
            capabilities,
            reply_start: "",
            usage: CallUsage::default(),
        };
        generator.learn_reply_start()?;
        Ok(generator)
    }

    /// Returns what the server can do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Learns how the model begins a reply. Only llama-server takes a reply that begins with a space as
    /// it is.
    fn learn_reply_start(&mut self) -> Result<(), LlmError> {
        if matches!(self.api, Api::Chat(_)) {
            return Ok(());
        }
        self.reply_start = reply_start::learn(self)?;
        self.usage = CallUsage::default();
        Ok(())
    }

    fn request(
        &self,
        prompt: &Prompt,
        decoding: &Decoding,
        seed: u64,
    ) -> Result<Request, LlmError> {
        match &self.api {
            Api::Native(native) => {
                let opening = native.opening(prompt);
                let tokens = native.render(&self.client, prompt, opening)?.tokens;
                native.check_length(tokens.len(), 1)?;
                Ok(native.completion(&tokens, prompt, decoding, seed))
            }
            Api::Chat(chat) => Ok(chat.completion(prompt, decoding, seed)),
        }
    }

    fn record_usage(&mut self, started: Instant, replies: &[Reply]) {
        let sum = |of: fn(&Reply) -> u32| replies.iter().map(of).sum::<u32>();
        let reused = sum(|reply| reply.reused_tokens);
        self.usage = CallUsage {
            prompt_tokens_evaluated: sum(|reply| reply.prompt_tokens).saturating_sub(reused),
            prompt_tokens_reused: reused,
            tokens_generated: sum(|reply| reply.generated),
            wall_us: elapsed_us(started),
            context_used: replies
                .iter()
                .map(|reply| reply.prompt_tokens + reply.generated)
                .max()
                .unwrap_or(0),
            context_tokens: self.card.context_tokens,
        };
    }

    /// Records the cost of a call that writes nothing.
    fn record_reading(&mut self, started: Instant, prompt_tokens: usize) {
        self.usage = CallUsage {
            prompt_tokens_evaluated: saturating_u32(prompt_tokens),
            wall_us: elapsed_us(started),
            context_tokens: self.card.context_tokens,
            ..CallUsage::default()
        };
    }

    /// Returns the error of a call that the server has nothing for.
    fn lacks(&self, what: &str, advice: &str) -> LlmError {
        self.client.lacks(what, advice).into()
    }
}

/// Asks for llama-server's own interface; `None` where it has another one.
fn props(client: &Client) -> Result<Option<Props>, LlmError> {
    match client.json(Request::get("/props")) {
        Ok(props) => {
            let props: Props = serde_json::from_value(props).unwrap_or_default();
            Ok(Some(props).filter(|props| props.default_generation_settings.is_some()))
        }
        // a server that has no such path, or answers it in its own way
        Err(LlmError::Server(ServerError::Rejected { .. } | ServerError::Unreadable { .. })) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn try_native(client: &Client, props: &Props, native: &Native) -> Result<Capabilities, LlmError> {
    let tokens = native.plain_tokens(client, "one two three")?;
    let trial = |samples: u32| {
        let body = json!({
            "prompt": tokens, "n_predict": 1, "n_probs": 2, "temperature": 0.0,
            "cache_prompt": true, "n_cmpl": samples,
        });
        client.json(Request::post("/completion", body))
    };
    let answers = trial(2)?;
    let samples = answers.as_array().map_or(1, Vec::len);
    let again = trial(1)?;
    let first = |answer: &Value| match answer.as_array() {
        Some(answers) => answers.first().cloned().unwrap_or_default(),
        None => answer.clone(),
    };
    let answer = first(&again);
    let likely = answer.pointer("/completion_probabilities/0/top_logprobs");
    let has_likely = likely.and_then(Value::as_array).is_some();
    let reused = answer.pointer("/timings/cache_n").and_then(Value::as_u64);
    Ok(Capabilities {
        interface: format!("llama-server {}", props.build_info),
        likely_tokens: if has_likely { native::LIKELY_TOKENS } else { 0 },
        several_samples: samples > 1,
        given_text: true,
        prefix_cache: reused.is_some_and(|reused| reused > 0),
        parallel: client.parallel(),
    })
}

/// Tries a chat with less and less, until the server takes it.
fn try_chat(client: &Client, model: &Listed) -> Result<(Chat, Capabilities), LlmError> {
    let trial = |samples: u32, likely: u32| {
        let mut body = json!({
            "model": model.id, "max_tokens": 1,
            "messages": [{"role": "user", "content": "Answer with one word: is water wet, yes or no?"}],
        });
        if samples > 1 {
            body["n"] = json!(samples);
        }
        if likely > 0 {
            body["logprobs"] = json!(true);
            body["top_logprobs"] = json!(likely);
        }
        let answer = client.json(Request::post(CHAT, body))?;
        Trial::read(client, answer)
    };
    let mut tried = None;
    for (samples, likely) in [(2, LIKELY_TOKENS), (1, LIKELY_TOKENS), (1, 5), (1, 0)] {
        match trial(samples, likely) {
            Ok(found) => {
                tried = Some(found);
                break;
            }
            Err(LlmError::Server(ServerError::Rejected { status, .. }))
                if likely > 0 && status != 404 => {}
            Err(error) => return Err(error),
        }
    }
    let tried = tried.unwrap_or_default();
    let again = match tried.likely_tokens {
        0 => Trial::default(),
        likely => trial(1, likely)?,
    };
    let chat = Chat {
        model: model.id.clone(),
        is_vllm: model.is_of("vllm"),
        likely_tokens: tried.likely_tokens,
    };
    let owner = if model.owned_by.is_empty() {
        String::new()
    } else {
        format!(" ({})", model.owned_by)
    };
    let capabilities = Capabilities {
        interface: format!("OpenAI-compatible{owner}"),
        likely_tokens: tried.likely_tokens,
        several_samples: tried.choices > 1,
        given_text: false,
        prefix_cache: again.cached_tokens > 0,
        parallel: client.parallel(),
    };
    Ok((chat, capabilities))
}

/// Describes a model of a server.
fn card(client: &Client, model: &Listed) -> ModelCard {
    let meta = model.meta.clone().unwrap_or_default();
    ModelCard {
        file_bytes: meta.size,
        fingerprint: blake3::hash(format!("{} {}", model.id, meta.n_params).as_bytes())
            .to_hex()
            .to_string(),
        parameters: meta.n_params,
        width: meta.n_embd,
        context_tokens: model.max_model_len.unwrap_or(meta.n_ctx),
        chat_template: "server".to_owned(),
        ..named_card(ModelRole::Generator, &client.host(), &model.id)
    }
}

impl Generator for ServerGenerator {
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>, LlmError> {
        let started = Instant::now();
        let decoding = &match &self.api {
            Api::Native(native) => native.decoding(decoding),
            Api::Chat(_) => decoding.clone(),
        };
        let mut requests = Vec::with_capacity(prompts.len());
        for (prompt, seed) in prompts.iter().zip(decoding.seed..) {
            requests.push(self.request(prompt, decoding, seed)?);
        }
        let mut replies: Vec<Reply> = prompts
            .iter()
            .map(|prompt| {
                Reply::new(match &self.api {
                    Api::Native(native) => native.splitter(prompt),
                    Api::Chat(_) => Splitter::new(None, false),
                })
            })
            .collect();
        if decoding.max_tokens == 0 {
            let empty = |reply: Reply| Completion {
                end: End::MaxTokens,
                ..reply.finish()
            };
            return Ok(replies.into_iter().map(empty).collect());
        }

        let called = self.client.call(&requests, &mut |at, value| {
            let step = match &self.api {
                Api::Native(native) => native.step(&self.client, value)?,
                Api::Chat(chat) => chat.step(&self.client, value)?,
            };
            Ok(replies[at].take(step, decoding, &mut |token| observe(at, token)))
        });
        self.record_usage(started, &replies);
        let is_whole = replies.iter().all(Reply::has_ended);
        match called? {
            Called::Done if !is_whole => Err(self.client.cut().into()),
            Called::Done | Called::Stopped => Ok(replies.into_iter().map(Reply::finish).collect()),
        }
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError> {
        match &self.api {
            Api::Native(native) => native.render(&self.client, prompt, native.opening(prompt)),
            Api::Chat(_) => Ok(Rendered {
                text: Chat::text(prompt),
                tokens: Vec::new(),
            }),
        }
    }

    fn reply_start(&self) -> &'static str {
        self.reply_start
    }

    fn usage(&self) -> CallUsage {
        self.usage
    }
}

impl Scorer for ServerGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>, LlmError> {
        let started = Instant::now();
        let client = &self.client;
        let native = match &self.api {
            Api::Native(native) => native,
            Api::Chat(chat) => {
                let requests = prompts.iter().map(|prompt| chat.first_token(prompt));
                let answers = client.all_json(requests.collect())?;
                let labelled = answers
                    .into_iter()
                    .map(|answer| chat.labelled(client, answer, labels))
                    .collect();
                self.record_reading(started, 0);
                return labelled;
            }
        };

        let spellings = spellings(labels, &mut |text| native.plain_tokens(client, text))?;
        let mut rendered = Vec::with_capacity(prompts.len());
        for prompt in prompts {
            let tokens = native.render(client, prompt, Opening::Answer)?.tokens;
            native.check_length(tokens.len(), 1)?;
            rendered.push(tokens);
        }
        let rows = label_rows(native, client, &rendered, &spellings)?;
        self.record_reading(started, rendered.iter().map(Vec::len).sum());
        Ok(rows
            .iter()
            .map(|row| read_labels(row, &spellings, labels))
            .collect())
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let started = Instant::now();
        let native = match &self.api {
            Api::Native(native) => native,
            Api::Chat(_) => {
                return Err(self.lacks(
                    "log-probabilities of given text",
                    "set utility.kind to hard, or use llama-server",
                ));
            }
        };

        let mut places = Vec::new();
        let mut lengths = Vec::new();
        for (prompt, continuation) in prompts.iter().zip(continuations) {
            let rendered = native.render(&self.client, prompt, Opening::Answer)?.tokens;
            let opens_turn =
                prompt.reply.is_empty() && !continuation.starts_with(char::is_whitespace);
            let start = if opens_turn { self.reply_start } else { "" };
            let text = format!("{start}{continuation}");
            let targets = native.plain_tokens(&self.client, &text)?;
            if continuation.trim().is_empty() || targets.is_empty() {
                return Err(LlmError::BadLabel {
                    label: (*continuation).to_owned(),
                });
            }
            native.check_length(rendered.len() + targets.len(), 0)?;
            lengths.push(targets.len());
            places.extend(walk(&rendered, &targets));
        }
        let logprobs = native.forced(&self.client, &places)?;
        let evaluated = places.len();
        let mut rest = logprobs.as_slice();
        let scores = lengths
            .into_iter()
            .map(|length| {
                let (now, later) = rest.split_at(length);
                rest = later;
                now.to_vec()
            })
            .collect();
        self.record_reading(started, evaluated);
        Ok(scores)
    }
}

/// The replies to prompts up to where each may name a label.
struct Begun {
    /// The tokens that each has in front of every label.
    leads: Vec<Vec<i32>>,
    /// ln p of the likely tokens behind them.
    first: Vec<HashMap<i32, f32>>,
}

/// Follows the greedy reply to each prompt through the tokens in front of its labels.
fn begun(
    native: &Native,
    client: &Client,
    rendered: &[Vec<i32>],
    spellings: &[Spelling],
) -> Result<Begun, LlmError> {
    let mut leads = vec![Vec::new(); rendered.len()];
    let mut first = native.next_tokens(client, rendered)?;
    for _ in 0..LEAD_TOKENS {
        let mut led = Vec::new();
        for (at, likely) in first.iter().enumerate() {
            let best = likely.iter().max_by(|a, b| a.1.total_cmp(b.1));
            let longer: Vec<i32> = leads[at]
                .iter()
                .copied()
                .chain(best.map(|best| *best.0))
                .collect();
            if longer.len() > leads[at].len() && is_lead(&longer, spellings) {
                led.push((at, longer));
            }
        }
        if led.is_empty() {
            break;
        }

        let prompts: Vec<Vec<i32>> = led
            .iter()
            .map(|(at, lead)| [rendered[*at].as_slice(), lead].concat())
            .collect();
        for ((at, lead), likely) in led.into_iter().zip(native.next_tokens(client, &prompts)?) {
            leads[at] = lead;
            first[at] = likely;
        }
    }
    Ok(Begun { leads, first })
}

/// Reads each spelling after each prompt, where the reply has its first word. The server gives no other tokens
/// behind the first: a token that more than half of the replies have is the greedy one.
fn label_rows(
    native: &Native,
    client: &Client,
    rendered: &[Vec<i32>],
    spellings: &[Spelling],
) -> Result<Vec<SpellingRow>, LlmError> {
    let Begun { leads, first } = begun(native, client, rendered, spellings)?;
    let mut rows: Vec<SpellingRow> = Vec::with_capacity(rendered.len());
    let mut places = Vec::new();
    let mut owners = Vec::new();
    for (at, (tokens, likely)) in rendered.iter().zip(&first).enumerate() {
        let lead = &leads[at];
        let read = [tokens.as_slice(), lead].concat();
        let top = likely.values().copied().fold(f32::NEG_INFINITY, f32::max);
        let logprob = |spelling: &Spelling| likely.get(behind(lead, spelling)?.first()?).copied();
        let mut row: Vec<f32> = spellings
            .iter()
            .map(|spelling| logprob(spelling).unwrap_or(f32::NEG_INFINITY))
            .collect();
        let best = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for (number, spelling) in spellings.iter().enumerate() {
            if row[number] < best + MIN_FIRST_TOKEN.ln() {
                row[number] = f32::NEG_INFINITY;
            } else if row[number].is_finite() {
                let rest = behind(lead, spelling).unwrap_or_default();
                for (evaluated, target) in walk(&read, rest).into_iter().skip(1) {
                    places.push((evaluated, target));
                    owners.push((at, number));
                }
            }
        }
        rows.push(SpellingRow {
            greedy: row
                .iter()
                .map(|logprob| logprob.is_finite() && *logprob >= top)
                .collect(),
            logprobs: row,
        });
    }
    for ((at, number), logprob) in owners.into_iter().zip(native.forced(client, &places)?) {
        rows[at].logprobs[number] += logprob;
        rows[at].greedy[number] &= logprob.exp() > 0.5;
    }
    Ok(rows)
}

/// Returns each target with the tokens in front of it.
fn walk(prompt: &[i32], targets: &[i32]) -> Vec<(Vec<i32>, i32)> {
    targets
        .iter()
        .enumerate()
        .map(|(at, target)| ([prompt, &targets[..at]].concat(), *target))
        .collect()
}

/// What to do where attention is wanted.
const ATTENTION_ADVICE: &str = "turn off answer.attribution and linker.kind, or run the model here";

impl Tap for ServerGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>, LlmError> {
        if !taps.hidden.is_empty() {
            return Err(self.lacks(
                "hidden states",
                "set gate.kind to token_entropy, or run the model here",
            ));
        }
        if !taps.attention.is_empty() {
            return Err(self.lacks("attention", ATTENTION_ADVICE));
        }
        let completions = self.complete(prompts, decoding, observe)?;
        let untapped = |completion| Tapped {
            completion,
            hidden: Vec::new(),
        };
        Ok(completions.into_iter().map(untapped).collect())
    }

    fn attend(
        &mut self,
        _text: &str,
        _parts: &[Range<usize>],
        _layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        Err(self.lacks("attention", ATTENTION_ADVICE))
    }

    fn attend_vectors(
        &mut self,
        _vectors: &[Vec<f32>],
        _layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        Err(self.lacks("attention", ATTENTION_ADVICE))
    }
}

impl LoadedGenerator for ServerGenerator {
    fn can_share_prefixes(&self) -> bool {
        self.capabilities.prefix_cache
    }

    fn has_inside(&self) -> bool {
        false
    }

    fn is_lost(&self) -> bool {
        false
    }
}
