//! A generator behind a model server.

use std::ops::Range;
use std::time::Instant;

use super::capabilities::Capabilities;
use super::card::file_name;
use super::chat::Chat;
use super::http::{Called, ServerClient, ServerRequest};
use super::labels::{label_rows, walk};
use super::listing::{ListedModel, card};
use super::native::{Native, lacks_probabilities};
use super::reply::ServerReply;
use super::trial::{props, try_chat, try_native};
use crate::config::GeneratorSettings;
use crate::event::{CallUsage, Flow, ModelCard, elapsed_us, saturating_u32};
use crate::llm::error::{LlmError, Result};
use crate::llm::role::{Generator, LoadedGenerator, Scorer, Tap};
use crate::llm::scorer::{read_labels, spellings};
use crate::llm::template::thought::{Opening, Splitter, THINK};
use crate::llm::values::{
    Completion, Decoding, End, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};
use crate::llm::{bundled, reply_start};

/// A generator behind a model server. What it cannot do is an error that names the setting.
pub(super) struct ServerGenerator {
    client: ServerClient,
    api: Api,
    card: ModelCard,
    pub capabilities: Capabilities,
    reply_start: &'static str,
    usage: CallUsage,
}

enum Api {
    Native(Box<Native>),
    Chat(Chat),
}

impl ServerGenerator {
    /// Learns what the server of a model can do.
    ///
    /// # Errors
    /// As [`super::connect_generator`].
    pub fn connect(
        mut client: ServerClient,
        model: &ListedModel,
        settings: &GeneratorSettings,
    ) -> Result<Self> {
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
                card.practice = bundled::is_listed(&card.file);
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

    /// Learns how the model begins a reply. Only llama-server takes a reply that begins with a
    /// space as it is.
    fn learn_reply_start(&mut self) -> Result<()> {
        if matches!(self.api, Api::Chat(_)) {
            return Ok(());
        }
        self.reply_start = reply_start::learn(self)?;
        self.usage = CallUsage::default();
        Ok(())
    }

    fn request(&self, prompt: &Prompt, decoding: &Decoding, seed: u64) -> Result<ServerRequest> {
        match &self.api {
            Api::Native(native) => {
                let opening = native.thoughts.opening(prompt);
                let tokens = native.render(&self.client, prompt, opening)?.tokens;
                native.check_length(tokens.len(), 1)?;
                Ok(native.completion(&tokens, prompt, decoding, seed))
            }
            Api::Chat(chat) => Ok(chat.completion(prompt, decoding, seed)),
        }
    }

    fn record_usage(&mut self, started: Instant, replies: &[ServerReply]) {
        let sum = |of: fn(&ServerReply) -> u32| replies.iter().map(of).sum::<u32>();
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
            ..CallUsage::default()
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
        self.client.lacks(what, advice)
    }
}

impl Generator for ServerGenerator {
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>> {
        let started = Instant::now();
        let decoding = &match &self.api {
            Api::Native(native) => native.decoding(decoding),
            Api::Chat(_) => decoding.clone(),
        };
        let mut requests = Vec::with_capacity(prompts.len());
        for (prompt, seed) in prompts.iter().zip(decoding.seed..) {
            requests.push(self.request(prompt, decoding, seed)?);
        }
        let mut replies: Vec<ServerReply> = prompts
            .iter()
            .map(|prompt| {
                ServerReply::new(match &self.api {
                    Api::Native(native) => native.thoughts.splitter(prompt),
                    // what model the server has is not known
                    Api::Chat(_) => Splitter::new(prompt.reply.is_empty().then_some(THINK), false),
                })
            })
            .collect();
        if decoding.max_tokens == 0 {
            let empty = |reply: ServerReply| Completion {
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
        let is_whole = replies.iter().all(ServerReply::has_ended);
        match called? {
            Called::Done if !is_whole => Err(self.client.cut()),
            Called::Done | Called::Stopped => {
                Ok(replies.into_iter().map(ServerReply::finish).collect())
            }
        }
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered> {
        match &self.api {
            Api::Native(native) => {
                native.render(&self.client, prompt, native.thoughts.opening(prompt))
            }
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
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>> {
        let started = Instant::now();
        let client = &self.client;
        let native = match &self.api {
            Api::Native(native) => native,
            Api::Chat(chat) => {
                let requests = prompts.iter().map(|prompt| chat.first_token(prompt));
                let answers = client.all_json(requests.collect())?;
                let labelled = answers
                    .into_iter()
                    .map(|answer| chat.read_label(client, answer, labels))
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

    fn score(&mut self, prompts: &[Prompt], continuations: &[&str]) -> Result<Vec<Vec<f32>>> {
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
                return Err(LlmError::bad_label(continuation));
            }
            native.check_length(rendered.len() + targets.len(), 0)?;
            lengths.push(targets.len());
            places.extend(walk(&rendered, &targets));
        }
        let logprobs = native.read_forced(&self.client, &places)?;
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

/// Advice where attention is wanted.
const ATTENTION_ADVICE: &str = "turn off answer.attribution and linker.kind, or run the model here";

impl Tap for ServerGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
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
    ) -> Result<Vec<Vec<f32>>> {
        Err(self.lacks("attention", ATTENTION_ADVICE))
    }

    fn attend_vectors(&mut self, _vectors: &[Vec<f32>], _layers: Layers) -> Result<Vec<Vec<f32>>> {
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
}
