//! Doubles of the models: replies from a script, vectors from hashed words.
//!
//! They keep what the traits promise: streaming, stop rules, limits, stopping, order.

use std::collections::VecDeque;
use std::ops::Range;

use ragscope::event::{CallUsage, Flow, ModelCard, ModelRole};
use ragscope::llm::{
    Completion, Decoding, Embedder, End, Generator, Labelled, Layers, LlmError, Prompt, Rendered,
    Scorer, Tap, Tapped, Taps, Token,
};

/// A generator that replies from a script.
#[derive(Debug, Clone)]
pub struct ScriptedGenerator {
    rules: Vec<(String, String)>,
    queue: VecDeque<String>,
    entropies: Vec<(String, f32)>,
    judgements: Vec<(String, String, f32)>,
    masses: Vec<(String, f32)>,
    card: ModelCard,
    usage: CallUsage,
    /// Every prompt that was completed, in order.
    pub seen: Vec<Prompt>,
    /// Prompt tokens that it reads per second; 0 for an unknown rate.
    pub reading_rate: f32,
}

impl Default for ScriptedGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedGenerator {
    /// A generator whose every reply is empty.
    pub fn new() -> Self {
        Self {
            rules: Vec::new(),
            queue: VecDeque::new(),
            entropies: Vec::new(),
            judgements: Vec::new(),
            masses: Vec::new(),
            card: card(ModelRole::Generator, 8, 2048),
            usage: CallUsage::default(),
            seen: Vec::new(),
            reading_rate: 0.0,
        }
    }

    /// Adds a rule: the reply to prompts that contain `part` in the system turn, the user turn or
    /// the reply so far. The first rule that matches counts.
    pub fn when(mut self, part: &str, reply: &str) -> Self {
        self.rules.push((part.to_owned(), reply.to_owned()));
        self
    }

    /// Adds the reply to the next prompt that no rule matches.
    pub fn then(mut self, reply: &str) -> Self {
        self.queue.push_back(reply.to_owned());
        self
    }

    /// Sets the entropy (nats) of every token that contains `part`; others have 0.1.
    pub fn unsure_of(mut self, part: &str, entropy: f32) -> Self {
        self.entropies.push((part.to_owned(), entropy));
        self
    }

    /// Sets the probability of `label` for prompts that contain `part`; the other labels share the
    /// rest. The first that matches counts.
    pub fn judging(mut self, part: &str, label: &str, probability: f32) -> Self {
        self.judgements
            .push((part.to_owned(), label.to_owned(), probability));
        self
    }

    /// Begins only this share of the replies to prompts that contain `part` with a label; of
    /// others, all.
    pub fn labelling(mut self, part: &str, mass: f32) -> Self {
        self.masses.push((part.to_owned(), mass));
        self
    }

    /// Sets the size of the context in tokens, which are words here.
    pub fn with_context(mut self, tokens: u32) -> Self {
        self.card.context_tokens = tokens;
        self
    }

    /// Returns the rest of the scripted reply, after the reply so far where it begins with that.
    fn reply(&mut self, prompt: &Prompt) -> String {
        let rule = self.rules.iter().find(|(part, _)| {
            [&prompt.system, &prompt.user, &prompt.reply]
                .iter()
                .any(|text| text.contains(part.as_str()))
        });
        let reply = match rule {
            Some((_, reply)) => reply.clone(),
            None => self.queue.pop_front().unwrap_or_default(),
        };
        reply
            .strip_prefix(prompt.reply.as_str())
            .map(str::to_owned)
            .unwrap_or(reply)
    }

    fn token(&self, text: &str) -> Token {
        let entropy = self
            .entropies
            .iter()
            .find(|(part, _)| text.contains(part.as_str()))
            .map_or(0.1, |(_, value)| *value);
        Token {
            id: hash(text) as i32 & 0xffff,
            text: text.to_owned(),
            logprob: -entropy,
            entropy,
            attention: Vec::new(),
            is_thought: false,
            alternatives: Vec::new(),
        }
    }
}

impl Generator for ScriptedGenerator {
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>, LlmError> {
        self.usage = CallUsage {
            context_tokens: self.card.context_tokens,
            ..CallUsage::default()
        };
        for prompt in prompts {
            let prompt_tokens =
                u32::try_from(self.render(prompt)?.tokens.len()).unwrap_or(u32::MAX);
            if prompt_tokens >= self.card.context_tokens {
                return Err(LlmError::PromptTooLong {
                    prompt_tokens,
                    context_tokens: self.card.context_tokens,
                });
            }
            self.usage.prompt_tokens_evaluated += prompt_tokens;
        }
        self.seen.extend_from_slice(prompts);
        let mut completions = Vec::new();
        let mut flow = Flow::Continue;
        for (branch, prompt) in prompts.iter().enumerate() {
            let reply = self.reply(prompt);
            let mut completion = Completion {
                text: String::new(),
                tokens: Vec::new(),
                thoughts: String::new(),
                end: End::Turn,
            };
            for word in words(&reply) {
                if flow == Flow::Stop {
                    completion.end = End::Stopped;
                    break;
                }
                if completion.tokens.len() >= decoding.max_tokens as usize {
                    completion.end = End::MaxTokens;
                    break;
                }
                let token = self.token(word);
                flow = observe(branch, &token);
                completion.text.push_str(word);
                completion.tokens.push(token);
                self.usage.tokens_generated += 1;
                let stops = decoding.stop.texts.iter().filter(|stop| !stop.is_empty());
                let leading = completion.text.len() - completion.text.trim_start().len();
                if let Some(at) = stops
                    .filter_map(|stop| completion.text[leading..].find(stop.as_str()))
                    .min()
                {
                    completion.text.truncate(leading + at);
                    completion.end = End::StopRule;
                    break;
                }
            }
            completions.push(completion);
        }
        Ok(completions)
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError> {
        let text = format!("{}\n{}\n{}", prompt.system, prompt.user, prompt.reply);
        let tokens = words(&text)
            .map(|word| hash(word) as i32 & 0xffff)
            .collect();
        Ok(Rendered { text, tokens })
    }

    fn reply_start(&self) -> &'static str {
        " "
    }

    fn usage(&self) -> CallUsage {
        self.usage
    }
}

impl Scorer for ScriptedGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>, LlmError> {
        if let Some(label) = labels.iter().find(|label| label.trim().is_empty()) {
            let error = format!("the label `{label}` has no token in the model's vocabulary");
            return Err(LlmError::new(error, "give it a text that is not empty"));
        }
        self.seen.extend_from_slice(prompts);
        let row = |prompt: &Prompt| {
            let judged = self.judgements.iter().find(|(part, label, _)| {
                (prompt.user.contains(part.as_str()) || prompt.system.contains(part.as_str()))
                    && labels.contains(&label.as_str())
            });
            let Some((_, judged, probability)) = judged else {
                return vec![1.0 / labels.len() as f32; labels.len()];
            };
            let rest = (1.0 - probability) / (labels.len().max(2) - 1) as f32;
            labels
                .iter()
                .map(|label| if label == judged { *probability } else { rest })
                .collect()
        };
        let mass = |prompt: &Prompt| {
            let known = self.masses.iter();
            known
                .filter(|(part, _)| prompt.user.contains(part.as_str()))
                .map(|(_, mass)| *mass)
                .next()
                .unwrap_or(1.0)
        };
        let labelled = prompts.iter().map(|prompt| Labelled {
            shares: row(prompt),
            mass: mass(prompt),
            greedy: None,
        });
        Ok(labelled.collect())
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let scored = |(prompt, text): (&Prompt, &&str)| {
            let known = self.rules.iter().any(|(part, reply)| {
                prompt.user.contains(part.as_str()) && reply.contains(text.trim())
            });
            words(text)
                .map(|_| if known { -0.1 } else { -1.0 })
                .collect()
        };
        Ok(prompts.iter().zip(continuations).map(scored).collect())
    }
}

/// Attention goes evenly to the parts that hold the token's word. There are no hidden states.
impl Tap for ScriptedGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>, LlmError> {
        let texts = prompts
            .iter()
            .map(|prompt| Ok(self.render(prompt)?.text))
            .collect::<Result<Vec<_>, LlmError>>()?;
        let look = |branch: usize, token: &Token| {
            let parts = taps.attention.get(branch).into_iter().flatten();
            let parts: Vec<&str> = parts.map(|part| &texts[branch][part.clone()]).collect();
            Token {
                attention: looks_at(&token.text, &parts),
                ..token.clone()
            }
        };
        let completions = self.complete(prompts, decoding, &mut |branch, token| {
            observe(branch, &look(branch, token))
        })?;
        let tapped = |(branch, completion): (usize, Completion)| {
            let tokens = completion
                .tokens
                .iter()
                .map(|token| look(branch, token))
                .collect();
            Tapped {
                completion: Completion {
                    tokens,
                    ..completion
                },
                hidden: Vec::new(),
            }
        };
        Ok(completions.into_iter().enumerate().map(tapped).collect())
    }

    fn attend(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        _layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let parts: Vec<&str> = parts.iter().map(|part| &text[part.clone()]).collect();
        Ok(parts.iter().map(|part| looks_at(part, &parts)).collect())
    }

    fn attend_vectors(
        &mut self,
        vectors: &[Vec<f32>],
        _layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        Ok(vectors
            .iter()
            .map(|_| vec![1.0 / vectors.len() as f32; vectors.len()])
            .collect())
    }
}

/// Returns the share of each part, by the words that it has in common with `text`.
fn looks_at(text: &str, parts: &[&str]) -> Vec<f32> {
    let shared = |part: &&str| {
        words(text)
            .filter(|word| part.contains(word.trim()))
            .count() as f32
    };
    let counts: Vec<f32> = parts.iter().map(shared).collect();
    let all: f32 = counts.iter().sum::<f32>().max(1.0);
    counts.into_iter().map(|count| count / all).collect()
}

/// An embedder that adds up hashed words: texts that share words are similar.
#[derive(Debug, Clone)]
pub struct ScriptedEmbedder {
    card: ModelCard,
    /// Texts embedded so far.
    pub embedded: usize,
}

impl Default for ScriptedEmbedder {
    fn default() -> Self {
        Self::new(64)
    }
}

impl ScriptedEmbedder {
    /// An embedder of vectors with `width` numbers.
    pub fn new(width: u32) -> Self {
        Self {
            card: card(ModelRole::Embedder, width.max(1), 512),
            embedded: 0,
        }
    }
}

impl Embedder for ScriptedEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        self.embedded += texts.len();
        Ok(texts
            .iter()
            .map(|text| vector(text, self.card.width as usize))
            .collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

fn vector(text: &str, width: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f32; width];
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let hash = hash(&word.to_lowercase());
        sum[hash as usize % width] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
    }
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length == 0.0 {
        sum[0] = 1.0;
        return sum;
    }
    sum.iter().map(|x| x / length).collect()
}

/// Splits text into words, each with the white space before it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(|c: char| !c.is_whitespace())?;
        let end = rest[word..]
            .find(char::is_whitespace)
            .map_or(rest.len(), |end| word + end);
        let (now, later) = rest.split_at(end);
        rest = later;
        Some(now)
    })
}

fn hash(text: &str) -> u64 {
    let bytes: [u8; 32] = blake3::hash(text.as_bytes()).into();
    bytes
        .iter()
        .take(8)
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn card(role: ModelRole, width: u32, context_tokens: u32) -> ModelCard {
    ModelCard {
        name: "scripted".to_owned(),
        file: "scripted".to_owned(),
        fingerprint: format!("scripted-{width}"),
        architecture: "scripted".to_owned(),
        quantisation: "none".to_owned(),
        layers: 1,
        device: "CPU".to_owned(),
        width,
        context_tokens,
        chat_template: if role == ModelRole::Generator {
            "scripted".to_owned()
        } else {
            String::new()
        },
        ..ModelCard::unknown(role)
    }
}
