//! llama-server's own interface: its template, its tokens, its probabilities.

use std::collections::HashMap;
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{ServerClient, ServerRequest};
use super::reply::{ReplyPiece, ReplyStep};
use crate::config::GeneratorSettings;
use crate::event::{Alternative, ModelCard, lock, saturating_u32};
use crate::llm::error::{LlmError, Result};
use crate::llm::template::parts::{self, PromptPart, SYSTEM_MARK, USER_MARK};
use crate::llm::template::thought::{Opening, Thoughts};
use crate::llm::values::{Decoding, End, Prompt, Rendered};

/// The most likely tokens of which the server gives the probability with each token. The entropy
/// counts all others as one.
pub(super) const LIKELY_TOKENS: u32 = 100;
/// The same where labels are looked for.
const LABEL_TOKENS: u32 = 400;
/// A bias that makes a token certain, while its probability stays that of the model.
const CERTAIN: f32 = 1e5;
/// Maximum number of alternatives that are listed of a token, and the minimum probability of each.
const ALTERNATIVES: usize = 5;
const MIN_ALTERNATIVE: f32 = 0.01;
/// Texts whose tokens are kept.
const KEPT_TEXTS: usize = 512;

/// The answer of a server to `/props`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Props {
    pub default_generation_settings: Option<DefaultSettings>,
    pub total_slots: u32,
    pub model_path: String,
    pub model_ftype: String,
    pub bos_token: String,
    pub build_info: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct DefaultSettings {
    pub n_ctx: u32,
}

/// A generator behind llama-server.
pub(super) struct Native {
    pub context_tokens: u32,
    model: String,
    bos_token: String,
    /// No template: the prompt is the text of its turns.
    pub is_plain: bool,
    pub thoughts: Thoughts,
    /// The template around the marks of texts, by whether there is a system turn and whether the
    /// model thinks.
    turns: Mutex<HashMap<(bool, bool), String>>,
    tokens: Mutex<HashMap<(String, Parse), Vec<i32>>>,
}

/// The way in which a text becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Parse {
    /// Plain text, whatever it contains.
    Plain,
    /// Control tokens are parsed.
    Control,
    /// The same as `Control`, with the token in front that the vocabulary adds.
    Start,
}

#[derive(Debug, Deserialize)]
struct Applied {
    prompt: String,
}

#[derive(Debug, Deserialize)]
struct Tokenized {
    tokens: Vec<i32>,
}

/// A part of a streamed answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NativeChunk {
    content: String,
    stop: bool,
    stop_type: String,
    truncated: bool,
    tokens_evaluated: u32,
    tokens_predicted: u32,
    completion_probabilities: Option<Vec<Likely>>,
    timings: Timings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timings {
    cache_n: Option<u32>,
}

/// A token with its probability, and the most likely ones in its place.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Likely {
    id: Option<i32>,
    pub token: String,
    bytes: Option<Vec<u8>>,
    logprob: Option<f32>,
    pub top_logprobs: Vec<Likely>,
}

impl Likely {
    pub fn logprob(&self) -> f32 {
        // a probability of zero has no logarithm in JSON
        self.logprob.unwrap_or(f32::MIN).min(0.0)
    }

    /// Returns the most likely tokens but the chosen one.
    fn alternatives(&self) -> Vec<Alternative> {
        self.top_logprobs
            .iter()
            .filter(|other| other.token != self.token && other.logprob() > MIN_ALTERNATIVE.ln())
            .take(ALTERNATIVES)
            .map(|other| Alternative {
                text: other.token.clone(),
                logprob: other.logprob(),
            })
            .collect()
    }

    pub fn piece(&self) -> ReplyPiece {
        let top: Vec<f32> = self.top_logprobs.iter().map(Self::logprob).collect();
        let bytes = self.bytes.as_deref().unwrap_or(self.token.as_bytes());
        ReplyPiece {
            id: self.id.unwrap_or(-1),
            bytes: bytes.to_vec(),
            logprob: self.logprob(),
            entropy: entropy(&top),
            alternatives: self.alternatives(),
            is_thought: false,
        }
    }
}

/// Returns the entropy of a distribution of which only the largest probabilities are known, nats:
/// the rest counts as one token, so that the true entropy is at least this.
fn entropy(logprobs: &[f32]) -> f32 {
    let known: f64 = logprobs.iter().map(|one| f64::from(*one).exp()).sum();
    let of_known: f64 = logprobs
        .iter()
        .map(|one| -f64::from(*one).exp() * f64::from(*one))
        .sum();
    let rest = (1.0 - known).max(0.0);
    let of_rest = if rest > 1e-6 { -rest * rest.ln() } else { 0.0 };
    (of_known + of_rest).max(0.0) as f32
}

impl Native {
    /// Learns the template of the server.
    pub fn new(
        client: &ServerClient,
        props: &Props,
        model: &str,
        settings: &GeneratorSettings,
    ) -> Result<Self> {
        let mut native = Self {
            context_tokens: props
                .default_generation_settings
                .as_ref()
                .map_or(0, |settings| settings.n_ctx),
            model: model.to_owned(),
            bos_token: props.bos_token.clone(),
            is_plain: settings.chat_template == ModelCard::NO_TEMPLATE,
            thoughts: Thoughts::without_marks(settings),
            turns: Mutex::default(),
            tokens: Mutex::default(),
        };

        if !native.is_plain {
            let end = prompt_end(&native.turns(client, false, false)?);
            let thoughtful = prompt_end(&native.turns(client, false, true)?);
            let mut is_token = HashMap::new();

            for text in ["<think>", "</think>", "<|channel|>", "<|message|>"] {
                let tokens = native.tokenize(client, text, Parse::Control)?;
                is_token.insert(text, tokens.len() == 1);
            }

            let has_token = |text: &str| is_token.get(text).copied().unwrap_or(false);
            native.thoughts = Thoughts::new(settings, has_token, &end, &thoughtful);
        }

        Ok(native)
    }

    /// Returns the decoding with the texts that end a turn.
    pub fn decoding(&self, decoding: &Decoding) -> Decoding {
        let mut decoding = decoding.clone();
        if self.is_plain {
            let stops = parts::PLAIN_STOPS.map(str::to_owned);
            decoding.stop.texts.extend(stops);
        }
        decoding
    }

    /// Returns the text and tokens of a prompt.
    pub fn render(
        &self,
        client: &ServerClient,
        prompt: &Prompt,
        opening: Opening,
    ) -> Result<Rendered> {
        let parts = self.parts(client, prompt, opening)?;
        let text: String = parts.iter().map(|part| part.text.as_str()).collect();
        let start = |text: &str| {
            let writes_start = !self.bos_token.is_empty() && text.starts_with(&self.bos_token);
            if writes_start {
                Parse::Control
            } else {
                Parse::Start
            }
        };

        let mut texts = parts.iter().filter(|part| !part.is_template);
        if !texts.any(|part| may_hold_control_text(&part.text)) {
            let tokens = self.tokenize(client, &text, start(&text))?;
            return Ok(Rendered { text, tokens });
        }
        // only the control texts of the template are parsed
        let mut tokens = Vec::new();
        for part in parts.iter().filter(|part| !part.text.is_empty()) {
            let parse = match (part.is_template, tokens.is_empty()) {
                (true, true) => start(&part.text),
                (true, false) => Parse::Control,
                (false, _) => Parse::Plain,
            };
            tokens.extend(self.tokenize(client, &part.text, parse)?);
        }
        Ok(Rendered { text, tokens })
    }

    fn parts(
        &self,
        client: &ServerClient,
        prompt: &Prompt,
        opening: Opening,
    ) -> Result<Vec<PromptPart>> {
        if self.is_plain {
            return Ok(vec![
                PromptPart::plain(&parts::plain_turns(&prompt.system, &prompt.user)),
                PromptPart::plain(&prompt.reply),
            ]);
        }

        let is_thinking = opening == Opening::Reply;
        let turns = self.turns(client, !prompt.system.is_empty(), is_thinking)?;
        let tail = self.thoughts.tail_for(opening);
        Ok(parts::parts(&turns, prompt, tail))
    }

    /// Returns the template around the marks of the texts, with a space on both sides of each.
    fn turns(&self, client: &ServerClient, has_system: bool, is_thinking: bool) -> Result<String> {
        let key = (has_system, is_thinking);
        let known = lock(&self.turns).get(&key).cloned();
        if let Some(turns) = known {
            return Ok(turns);
        }

        let mut messages = Vec::new();
        if has_system {
            messages.push(json!({"role": "system", "content": format!(" {SYSTEM_MARK} ")}));
        }
        messages.push(json!({"role": "user", "content": format!(" {USER_MARK} ")}));

        let body = json!({
            "model": self.model,
            "messages": messages,
            "chat_template_kwargs": {"enable_thinking": is_thinking},
        });
        let applied: Applied = client.json(ServerRequest::post("/apply-template", body))?;

        if !applied.prompt.contains(USER_MARK) {
            let reason = "its chat template leaves the question out";
            return Err(client.unreadable(reason));
        }

        lock(&self.turns).insert(key, applied.prompt.clone());
        Ok(applied.prompt)
    }

    /// Returns the tokens of a text as plain text.
    pub fn plain_tokens(&self, client: &ServerClient, text: &str) -> Result<Vec<i32>> {
        self.tokenize(client, text, Parse::Plain)
    }

    fn tokenize(&self, client: &ServerClient, text: &str, parse: Parse) -> Result<Vec<i32>> {
        let key = (text.to_owned(), parse);
        let known = lock(&self.tokens).get(&key).cloned();
        if let Some(tokens) = known {
            return Ok(tokens);
        }

        let body = json!({
            "model": self.model,
            "content": text,
            "add_special": parse == Parse::Start,
            "parse_special": parse != Parse::Plain,
        });
        let Tokenized { tokens } = client.json(ServerRequest::post("/tokenize", body))?;

        let mut kept = lock(&self.tokens);
        if kept.len() >= KEPT_TEXTS {
            kept.clear();
        }

        kept.insert(key, tokens.clone());
        Ok(tokens)
    }

    /// Returns the request that continues tokens.
    pub fn completion(
        &self,
        tokens: &[i32],
        prompt: &Prompt,
        decoding: &Decoding,
        seed: u64,
    ) -> ServerRequest {
        let thoughts = self.thoughts.max_tokens_of(prompt);
        ServerRequest::stream(
            "/completion",
            json!({
                "model": self.model,
                "prompt": tokens,
                "n_predict": decoding.max_tokens.saturating_add(thoughts),
                "n_probs": LIKELY_TOKENS,
                "stream": true,
                // a stopped call has no last event, which else says what was reused
                "timings_per_token": true,
                "cache_prompt": true,
                "seed": seed as u32,
                // its defaults would cut the distribution
                "samplers": ["temperature"],
                "temperature": decoding.temperature,
                "repeat_penalty": 1.0,
            }),
        )
    }

    /// Reads a part of a streamed answer.
    pub fn step(&self, client: &ServerClient, value: Value) -> Result<ReplyStep> {
        let chunk: NativeChunk = client.read(value)?;

        let likely = chunk.completion_probabilities.unwrap_or_default();
        if likely.is_empty() && !chunk.content.is_empty() {
            return Err(lacks_probabilities(client));
        }
        let used = chunk.tokens_evaluated + chunk.tokens_predicted;

        let end = match chunk.stop_type.as_str() {
            "eos" | "word" => End::Turn,
            _ if chunk.truncated || (self.context_tokens > 0 && used >= self.context_tokens) => {
                End::ContextFull
            }
            _ => End::MaxTokens,
        };

        Ok(ReplyStep {
            // the end of the turn is a token without text
            pieces: likely
                .iter()
                .map(Likely::piece)
                .filter(|piece| !piece.bytes.is_empty())
                .collect(),
            end: chunk.stop.then_some(end),
            prompt_tokens: (chunk.tokens_evaluated > 0).then_some(chunk.tokens_evaluated),
            reused_tokens: chunk.timings.cache_n,
        })
    }

    /// Returns the probabilities of the next token after each list of tokens, the most likely
    /// first.
    pub fn next_tokens(
        &self,
        client: &ServerClient,
        prompts: &[Vec<i32>],
    ) -> Result<Vec<HashMap<i32, f32>>> {
        let requests = prompts
            .iter()
            .map(|tokens| self.one_token(tokens, LABEL_TOKENS, &json!([])));
        let answers = client.all_json(requests.collect())?;

        answers
            .into_iter()
            .map(|answer| {
                let first = first_likely(client, answer)?;
                let top = first.top_logprobs.iter();
                Ok(top
                    .filter_map(|one| Some((one.id?, one.logprob())))
                    .collect())
            })
            .collect()
    }

    /// Returns ln p of each target after its tokens, nats: the target is made certain, and the
    /// server says what the model gave it.
    pub fn read_forced(
        &self,
        client: &ServerClient,
        places: &[(Vec<i32>, i32)],
    ) -> Result<Vec<f32>> {
        let requests = places
            .iter()
            .map(|(tokens, target)| self.one_token(tokens, 1, &json!([[target, CERTAIN]])));
        let answers = client.all_json(requests.collect())?;

        answers
            .into_iter()
            .zip(places)
            .map(|(answer, (_, target))| {
                let first = first_likely(client, answer)?;
                if first.id == Some(*target) {
                    Ok(first.logprob())
                } else {
                    Err(client.unreadable("it chose another token"))
                }
            })
            .collect()
    }

    fn one_token(&self, tokens: &[i32], likely: u32, bias: &Value) -> ServerRequest {
        ServerRequest::post(
            "/completion",
            json!({
                "model": self.model,
                "prompt": tokens,
                "n_predict": 1,
                "n_probs": likely,
                "cache_prompt": true,
                "temperature": 0.0,
                "samplers": ["temperature"],
                "repeat_penalty": 1.0,
                "logit_bias": bias,
            }),
        )
    }

    /// Checks that a prompt has a token, and that `room` more fit into the context.
    pub fn check_length(&self, prompt_tokens: usize, room: usize) -> Result<()> {
        let context_tokens = self.context_tokens as usize;
        if context_tokens > 0 && prompt_tokens + room > context_tokens {
            return Err(LlmError::PromptTooLong {
                prompt_tokens: saturating_u32(prompt_tokens),
                context_tokens: self.context_tokens,
            });
        }
        Ok(())
    }
}

fn first_likely(client: &ServerClient, answer: Value) -> Result<Likely> {
    let chunk: NativeChunk = client.read(answer)?;
    let likely = chunk.completion_probabilities.unwrap_or_default();
    likely
        .into_iter()
        .next()
        .ok_or_else(|| lacks_probabilities(client))
}

/// The error of a server without log-probabilities.
pub(super) fn lacks_probabilities(client: &ServerClient) -> LlmError {
    client
        .lacks(
            "log-probabilities of tokens",
            "the uncertainty of an answer is read from them: use llama-server, vLLM, LM Studio or Ollama from 0.12.11",
        )
}

/// Returns the text behind the question.
fn prompt_end(turns: &str) -> String {
    let end = turns.rfind(USER_MARK).map_or(0, |at| at + USER_MARK.len());
    turns[end..].trim_start_matches(' ').to_owned()
}

/// Returns whether a text may hold what the vocabulary parses as a control token, such as
/// `<|im_end|>`, `</s>`, `[INST]` or `<｜User｜>`.
fn may_hold_control_text(text: &str) -> bool {
    let opens = |at: usize, opening: char| {
        let next = text[at + opening.len_utf8()..].chars().next();
        match opening {
            '<' => next.is_some_and(|next| !next.is_whitespace() && !next.is_ascii_digit()),
            _ => next.is_some_and(|next| next == '/' || next.is_ascii_uppercase()),
        }
    };
    text.char_indices()
        .any(|(at, opening)| matches!(opening, '<' | '[') && opens(at, opening))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entropy_counts_what_is_not_listed_as_one_token() {
        let ln = |p: f32| p.ln();
        for (probabilities, expected) in [
            (&[1.0][..], 0.0),
            (&[0.5, 0.5], std::f32::consts::LN_2),
            (&[0.5], std::f32::consts::LN_2),
            (&[0.5, 0.25], 1.5 * std::f32::consts::LN_2),
        ] {
            let logprobs: Vec<f32> = probabilities.iter().copied().map(ln).collect();
            let found = entropy(&logprobs);
            assert!((found - expected).abs() < 1e-4, "{probabilities:?} {found}");
        }
        assert!(entropy(&[0.0, f32::MIN]).is_finite());
    }

    #[test]
    fn control_texts_are_suspected() {
        for (text, expected) in [
            ("[1] The lighthouse is 40 m tall, 3 < 4.", false),
            ("a<b", true),
            ("<|im_end|>", true),
            ("</s>", true),
            ("[INST] do", true),
            ("[/INST]", true),
            ("<｜User｜>", true),
        ] {
            assert_eq!(may_hold_control_text(text), expected, "{text}");
        }
    }
}
