//! The interface of OpenAI, which most servers have: turns in, text out, and the most likely tokens
//! where the server gives them. The template is the server's.

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{ServerClient, ServerRequest};
use super::native::{Likely, lacks_probabilities};
use super::reply::{ReplyPiece, ReplyStep};
use crate::llm::error::Result;
use crate::llm::labels::spellings;
use crate::llm::values::{Decoding, End, Labelled, Prompt};

/// The path of chats.
pub(super) const CHAT: &str = "/v1/chat/completions";
/// The most likely tokens that servers with this interface give at most.
pub(super) const LIKELY_TOKENS: u32 = 20;

/// A generator with the interface of OpenAI.
#[derive(Debug)]
pub(super) struct Chat {
    pub model: String,
    /// Whether it is vLLM, which takes more parameters than others know.
    pub is_vllm: bool,
    /// The most likely tokens that the server gives.
    pub likely_tokens: u32,
}

/// A part of a streamed answer, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatChunk {
    choices: Vec<ChatChoice>,
    usage: Option<ChatUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatChoice {
    delta: Option<ChatText>,
    message: Option<ChatText>,
    logprobs: Option<Logprobs>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatText {
    content: Option<String>,
    /// Thoughts, as llama-server and vLLM name them; Ollama's name is the second.
    reasoning_content: Option<String>,
    reasoning: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Logprobs {
    content: Option<Vec<Likely>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatUsage {
    prompt_tokens: u32,
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: u32,
}

/// Capabilities that a server showed in the answer to a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Trial {
    /// The most likely tokens with the first token.
    pub likely_tokens: u32,
    pub cached_tokens: u32,
}

impl Trial {
    /// Reads an answer.
    pub fn read(client: &ServerClient, answer: Value) -> Result<Self> {
        let chunk: ChatChunk = client.read(answer)?;

        let Some(first) = chunk.choices.first() else {
            return Err(client.unreadable("it holds no choice"));
        };

        let likely = first
            .logprobs
            .as_ref()
            .and_then(|logprobs| logprobs.content.as_ref()?.first())
            .map_or(0, |likely| likely.top_logprobs.len());

        Ok(Self {
            likely_tokens: u32::try_from(likely).unwrap_or(u32::MAX),
            cached_tokens: cached_tokens(chunk.usage.as_ref()),
        })
    }
}

fn cached_tokens(usage: Option<&ChatUsage>) -> u32 {
    usage
        .and_then(|usage| usage.prompt_tokens_details.as_ref())
        .map_or(0, |details| details.cached_tokens)
}

/// Returns the turns of a prompt that are not empty, each behind its role.
fn turns(prompt: &Prompt) -> impl Iterator<Item = (&'static str, &str)> {
    let turns = [
        ("system", prompt.system.as_str()),
        ("user", &prompt.user),
        ("assistant", &prompt.reply),
    ];
    turns.into_iter().filter(|(_, text)| !text.is_empty())
}

impl Chat {
    /// Returns the text of a prompt as it is shown: the turns as they are sent.
    pub fn text(prompt: &Prompt) -> String {
        let written = turns(prompt).map(|(role, text)| format!("[{role}]\n{text}"));
        written.collect::<Vec<String>>().join("\n\n")
    }

    /// Returns the turns of a prompt, and how the last one is continued.
    pub fn turns(&self, prompt: &Prompt) -> Value {
        let messages = turns(prompt).map(|(role, text)| json!({"role": role, "content": text}));
        let messages: Vec<Value> = messages.collect();
        let mut body = json!({"messages": messages});
        if self.is_vllm {
            // vLLM hands these to the template of the model; Qwen3's reads `enable_thinking`
            body["chat_template_kwargs"] = json!({"enable_thinking": false});
            if !prompt.reply.is_empty() {
                body["add_generation_prompt"] = json!(false);
                // without both, vLLM would end the assistant's turn and open another one
                body["continue_final_message"] = json!(true);
            }
        }

        body
    }

    /// Returns the body that all requests for a reply share.
    fn body(&self, prompt: &Prompt) -> Value {
        let mut body = self.turns(prompt);
        body["model"] = json!(self.model);
        body["logprobs"] = json!(true);
        body["top_logprobs"] = json!(self.likely_tokens);
        body
    }

    /// Returns the request that writes a reply, or continues the one of the prompt.
    pub fn completion(&self, prompt: &Prompt, decoding: &Decoding, seed: u64) -> ServerRequest {
        let mut body = self.body(prompt);
        body["max_tokens"] = json!(decoding.max_tokens);
        body["stream"] = json!(true);
        // a stream says how many tokens were read only if it is asked to
        body["stream_options"] = json!({"include_usage": true});
        body["seed"] = json!(seed as u32);
        body["temperature"] = json!(decoding.temperature);

        // some servers have another default, which would cut the distribution
        body["top_p"] = json!(1.0);

        if self.is_vllm {
            // vLLM takes the defaults of sampling from the model's generation_config.json
            body["top_k"] = json!(0);
            body["min_p"] = json!(0.0);
        }

        ServerRequest::stream(CHAT, body)
    }

    /// Reads a part of a streamed answer.
    pub fn step(&self, client: &ServerClient, value: Value) -> Result<ReplyStep> {
        let chunk: ChatChunk = client.read(value)?;
        let mut step = ReplyStep::default();
        if let Some(usage) = &chunk.usage {
            step.prompt_tokens = Some(usage.prompt_tokens);
            step.reused_tokens = Some(cached_tokens(Some(usage)));
        }
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(step);
        };

        // a streamed part has a `delta`, a whole answer a `message`
        let text = choice.delta.or(choice.message).unwrap_or_default();
        let likely = choice.logprobs.and_then(|one| one.content);
        let likely = likely.unwrap_or_default();
        let thought = text.reasoning_content.or(text.reasoning);
        let is_thought = thought.is_some_and(|thought| !thought.is_empty());
        let has_answer = text.content.is_some_and(|text| !text.is_empty());
        if likely.is_empty() && (is_thought || has_answer) {
            return Err(lacks_probabilities(client));
        }
        step.pieces = likely
            .iter()
            .map(|likely| ReplyPiece {
                is_thought,
                ..likely.piece()
            })
            .filter(|piece| !piece.bytes.is_empty())
            .collect();
        step.end = choice.finish_reason.map(|reason| match reason.as_str() {
            "length" => End::MaxTokens,
            _ => End::Turn,
        });
        Ok(step)
    }

    /// Returns the request for the first token of a reply.
    pub fn first_token(&self, prompt: &Prompt) -> ServerRequest {
        let mut body = self.body(prompt);
        // one token is enough: its alternatives carry the probabilities of all labels
        body["max_tokens"] = json!(1);
        body["temperature"] = json!(0.0);
        ServerRequest::post(CHAT, body)
    }

    /// Reads how likely the reply begins with each label: a token that begins the spellings of one
    /// label alone counts for it.
    pub fn read_label(
        &self,
        client: &ServerClient,
        answer: Value,
        labels: &[&str],
    ) -> Result<Labelled> {
        let chunk: ChatChunk = client.read(answer)?;
        let first = chunk.choices.into_iter().next();
        let likely = first
            .and_then(|choice| choice.logprobs?.content?.into_iter().next())
            .ok_or_else(|| lacks_probabilities(client))?;

        let known: Vec<Vec<String>> = labels.iter().map(|label| spellings(label)).collect();
        let mut masses = vec![0.0_f32; labels.len()];
        for token in &likely.top_logprobs {
            if let Some(label) = find_label(&token.token, &known) {
                masses[label] += token.logprob().exp();
            }
        }
        let mass: f32 = masses.iter().sum();
        let share = |of: f32| {
            if mass > 0.0 {
                of / mass
            } else {
                1.0 / labels.len() as f32
            }
        };
        Ok(Labelled {
            shares: masses.iter().copied().map(share).collect(),
            mass: mass.min(1.0),
            greedy: likely
                .top_logprobs
                .first()
                .and_then(|token| find_label(&token.token, &known)),
        })
    }
}

/// Returns the label that a token stands for: the one that it spells, else the only one whose
/// spellings it begins.
fn find_label(token: &str, known: &[Vec<String>]) -> Option<usize> {
    // vocabularies write a space in front of a word so: byte-level BPE as Ġ, SentencePiece as ▁
    let text = token.trim_start_matches(['Ġ', '▁']);
    if text.trim().is_empty() {
        return None;
    }

    let is_spelt = |spellings: &Vec<String>| spellings.iter().any(|one| one == text);
    if let Some(label) = known.iter().position(is_spelt) {
        return Some(label);
    }

    let mut begun = (0..known.len()).filter(|at| {
        let mut spellings = known[*at].iter();
        spellings.any(|one| one.starts_with(text))
    });
    let label = begun.next()?;
    begun.next().is_none().then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_the_label_that_it_spells_or_begins_alone() {
        let of = |labels: &[&str]| labels.iter().map(|label| spellings(label)).collect();
        let judgements: Vec<Vec<String>> = of(&["entailment", "neutral", "contradiction"]);
        let grades: Vec<Vec<String>> = of(&["1", "10", "7"]);
        for (token, known, expected) in [
            ("ent", &judgements, Some(0)),
            (" Ent", &judgements, Some(0)),
            ("▁neutral", &judgements, Some(1)),
            ("CONT", &judgements, Some(2)),
            ("n", &judgements, Some(1)),
            ("**", &judgements, None),
            ("The", &judgements, None),
            (" ", &judgements, None),
            ("1", &grades, Some(0)),
            ("10", &grades, Some(1)),
            ("70", &grades, None),
        ] {
            assert_eq!(find_label(token, known), expected, "{token}");
        }
    }
}
