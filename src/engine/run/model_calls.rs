//! The model calls of a run: each is emitted with its exact prompt, and its cost is counted.

use std::cell::RefCell;
use std::ops::Range;
use std::slice;

use crate::config::prompts::PromptName;
use crate::config::{JudgeModel, RerankerModel};
use crate::engine::error::RunError;
use crate::event::{Flow, ModelRole, RunEvent, StopError, saturating_u32};
use crate::llm::{
    Completion, Decoding, End, Entailment, HiddenAt, Labelled, LlmError, Prompt, Tapped, Taps,
    Token,
};
use crate::methods::{JudgementKind, Meaning, ModelCalls, cosine, judge_by_words};

use super::state::{Observe, Run};

/// Number of pairs that the generator judges at a time; in between the user sees how many are left.
const JUDGED_AT_ONCE: usize = 8;

/// Tokens of a batch between two reports of it, each of which hears whether the user has stopped.
const TOKENS_PER_PROGRESS: u32 = 16;

/// Reports of the reading of a prompt, at most, after the first.
const READING_REPORTS: usize = 8;

/// Log-probability of a token that a model excludes, nats.
const LEAST_LOGPROB: f32 = -100.0;

/// A call of the generator whose tokens are observed.
pub struct Call<'a> {
    /// The purpose that the prompt inspector shows.
    pub purpose: &'a str,
    pub prompt: &'a Prompt,
    pub decoding: Decoding,
    /// Texts of the prompt, in order, whose share of the attention is wanted; empty for none.
    pub attend_to: &'a [String],
    /// Positions whose hidden states are wanted.
    pub hidden: &'a [HiddenAt],
}

/// Observes each token of a call. The first argument publishes the events that follow from it.
pub type TokenObserver<'o> = dyn FnMut(Observe<'_>, &Token) -> Flow + 'o;

impl Run<'_> {
    /// Calls the generator once; `observe` sees each token.
    pub fn stream(
        &mut self,
        call: &Call<'_>,
        observe: &mut TokenObserver<'_>,
    ) -> Result<Tapped, RunError> {
        if self.is_stopped() {
            return Ok(Tapped {
                completion: Completion {
                    text: String::new(),
                    tokens: Vec::new(),
                    thoughts: String::new(),
                    end: End::Stopped,
                },
                hidden: Vec::new(),
            });
        }

        let rendered = self.tools.generator.render(call.prompt)?;
        let taps = Taps {
            hidden: call.hidden.to_vec(),
            attention: spans(&rendered.text, call.attend_to),
        };
        let prompts = slice::from_ref(call.prompt);
        let first = self.emit_model_calls(call.purpose, prompts)?;

        // the caller may end the completion, but only the observer of the run stops the run
        let (tools, emit) = self.split();
        let emit = RefCell::new(emit);
        let mut observe = |_branch: usize, token: &Token| observe(&mut *emit.borrow_mut(), token);
        let step = (rendered.tokens.len() / READING_REPORTS).max(1);
        let mut reported = None;
        let mut read = |read: usize| {
            if reported.is_some_and(|reported| read < reported + step) {
                return;
            }
            reported = Some(read);
            // a stop ends the batch, and is heard with the first token
            let _ = emit.borrow_mut()(RunEvent::PromptProgressed {
                call: first,
                read: saturating_u32(read),
            });
        };
        let tapped = tools.generator.complete_watched(
            call.prompt,
            &call.decoding,
            &taps,
            &mut read,
            &mut observe,
        )?;
        drop(emit);

        self.emit_usage(first);
        let tapped = tapped.into_iter().next();
        tapped.ok_or_else(|| LlmError::Backend("no completion for a prompt".to_owned()).into())
    }

    /// Lets the generator write one line, and returns it trimmed.
    pub fn write_line(
        &mut self,
        purpose: &str,
        prompt: Prompt,
        max_tokens: u32,
    ) -> Result<String, LlmError> {
        let decoding = Decoding::one_line(max_tokens, self.tools.config.seed);
        let completions = self.complete(purpose, &[prompt], &decoding)?;
        let written = completions.first().map_or("", |first| first.text.trim());
        Ok(written.to_owned())
    }

    /// Returns the log-probability of each text as the continuation of its prompt, nats.
    pub fn score(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        texts: &[&str],
    ) -> Result<Vec<f32>, LlmError> {
        self.check_stopped()?;
        let first = self.emit_model_calls(purpose, prompts)?;
        let scored = self.tools.generator.score(prompts, texts)?;
        self.emit_usage(first);
        self.check_stopped()?;

        // events hold finite numbers
        let least = |logprob: &f32| logprob.max(LEAST_LOGPROB);
        let sums = scored.iter().map(|row| row.iter().map(least).sum());
        Ok(sums.collect())
    }

    /// Emits the calls that these prompts are and returns the number of the first. Equal prompts
    /// are one call with several branches.
    pub(super) fn emit_model_calls(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
    ) -> Result<u32, LlmError> {
        let mut distinct: Vec<(&Prompt, u32)> = Vec::new();
        for prompt in prompts {
            match distinct.iter_mut().find(|(known, _)| *known == prompt) {
                Some((_, branches)) => *branches += 1,
                None => distinct.push((prompt, 1)),
            }
        }

        let first = self.usage.model_calls;
        let is_single = distinct.len() == 1;
        for (prompt, branches) in distinct {
            let rendered = self.tools.generator.render(prompt)?;
            let expected_ms = self.expected_ms(&rendered.tokens)?.filter(|_| is_single);
            let call = self.usage.model_calls;
            self.usage.model_calls += 1;
            self.emit(RunEvent::ModelCalled {
                call,
                purpose: purpose.to_owned(),
                role: ModelRole::Generator,
                prompt: rendered.text,
                prompt_tokens: saturating_u32(rendered.tokens.len()),
                branches,
                reply_bytes: saturating_u32(prompt.reply.len()),
                expected_ms,
            });
        }
        Ok(first)
    }

    /// Returns the time until this prompt is read, without what it shares with the prompt before
    /// it, or with the instructions; `None` where the rate of the generator is unknown.
    fn expected_ms(&mut self, prompt: &[i32]) -> Result<Option<u64>, LlmError> {
        let rate = self.tools.reading_rate;
        if rate <= 0.0 {
            return Ok(None);
        }
        if self.last_prompt.is_empty() {
            self.last_prompt = self.tools.render_instructions()?;
        }
        let shared = prompt.iter().zip(&self.last_prompt);
        let shared = shared.take_while(|(token, known)| token == known);
        let unread = prompt.len() - shared.count();
        self.last_prompt = prompt.to_vec();
        Ok(Some((unread as f32 / rate * 1000.0) as u64))
    }

    /// Emits and counts the usage of the calls since number `first` together.
    pub(super) fn emit_usage(&mut self, first: u32) {
        let usage = self.tools.generator.usage();
        self.usage.prompt_tokens_evaluated += u64::from(usage.prompt_tokens_evaluated);
        self.usage.prompt_tokens_reused += u64::from(usage.prompt_tokens_reused);
        self.usage.tokens_generated += u64::from(usage.tokens_generated);
        self.calls_us += usage.wall_us;

        let calls = self.usage.model_calls - first;
        self.emit(RunEvent::ModelCallFinished {
            call: first,
            calls,
            usage,
        });
    }

    pub(super) fn check_stopped(&self) -> Result<(), StopError> {
        Flow::stop_if(self.is_stopped()).check()
    }

    /// Asks the entailment judge about pairs that this run has not judged yet: word overlap, a
    /// model of its own, or the generator.
    fn judge(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        if let Some(judge) = self.tools.judge.as_mut() {
            return judge.judge(question, pairs);
        }

        if self.tools.config.judge.model == JudgeModel::Words {
            return Ok(pairs.iter().map(|(a, b)| judge_by_words(a, b)).collect());
        }

        let prompts = pairs.iter().map(|(first, second)| {
            let values = [
                ("question", question),
                ("first", first.trim()),
                ("second", second.trim()),
            ];
            self.prompt(PromptName::Entailment, &values)
        });
        let prompts: Vec<Prompt> = prompts.collect();

        let mut judged = Vec::with_capacity(prompts.len());
        for part in prompts.chunks(JUDGED_AT_ONCE) {
            if prompts.len() > 1 {
                self.emit(RunEvent::CallsProgressed {
                    purpose: JudgementKind::ENTAILMENT.purpose.to_owned(),
                    begun: saturating_u32(judged.len() + 1),
                    total: saturating_u32(prompts.len()),
                });
            }
            let rows = self.classify(JudgementKind::ENTAILMENT, part)?;
            let rows = rows.iter();
            judged.extend(rows.map(|row| Entailment::from_row(&row.shares)));
        }
        Ok(judged)
    }
}

impl ModelCalls for Run<'_> {
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt {
        self.tools.prompts.fill(name, values).into()
    }

    fn complete(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, LlmError> {
        self.check_stopped()?;
        let first = self.emit_model_calls(purpose, prompts)?;
        let total = saturating_u32(prompts.len());
        let (mut begun, mut tokens) = (0, 0);
        let (tools, mut emit) = self.split();
        let mut observe = |branch: usize, _: &Token| {
            tokens += 1;
            let number = saturating_u32(branch + 1);
            let is_next = number > begun && total > 1;
            if !is_next && tokens % TOKENS_PER_PROGRESS != 0 {
                return Flow::Continue;
            }
            begun = begun.max(number);
            emit(RunEvent::CallsProgressed {
                purpose: purpose.to_owned(),
                begun,
                total,
            })
        };
        let completions = tools.generator.complete(prompts, decoding, &mut observe)?;
        drop(emit);
        self.emit_usage(first);
        self.check_stopped()?;

        // half a sample is none: what follows from it would not be what the method says
        let is_complete = |completion: &Completion| completion.end != End::Stopped;
        if completions.iter().all(is_complete) {
            Ok(completions)
        } else {
            Err(StopError.into())
        }
    }

    fn classify(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
    ) -> Result<Vec<Labelled>, LlmError> {
        self.check_stopped()?;
        self.read_judgements(kind, prompts)
    }

    fn entail(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        self.check_stopped()?;
        let key = |(a, b): &(&str, &str)| (question.to_owned(), Meaning::new(a), Meaning::new(b));
        let keys: Vec<_> = pairs.iter().map(key).collect();

        // texts that mean the same entail each other, and no pair is judged twice in a run
        let mut new: Vec<usize> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let is_known = key.1 == key.2
                || self.judged.contains_key(key)
                || new.iter().any(|other| keys[*other] == *key);
            if !is_known {
                new.push(at);
            }
        }
        if !new.is_empty() {
            let texts: Vec<(&str, &str)> = new.iter().map(|at| pairs[*at]).collect();
            let judged = self.judge(question, &texts)?;
            if judged.len() != new.len() {
                let counts = format!("{} judgements of {} pairs", judged.len(), new.len());
                return Err(LlmError::Backend(counts));
            }
            let new_keys = new.into_iter().map(|at| keys[at].clone());
            self.judged.extend(new_keys.zip(judged));
        }

        self.check_stopped()?;
        let judged = keys.iter().map(|key| self.judged.get(key).copied());
        Ok(judged
            .map(|one| one.unwrap_or(Entailment::CERTAIN))
            .collect())
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError> {
        self.check_stopped()?;
        if let Some(reranker) = self.tools.reranker.as_mut() {
            return reranker.rerank(question, texts);
        }

        if self.tools.config.reranker.model == RerankerModel::Embedder && !texts.is_empty() {
            let query = match self.tools.corpus.as_mut() {
                Some(corpus) => corpus.embedder.embed_queries(&[question])?,
                None => return Err(no_embedder()),
            };
            let query = query.first().map(Vec::as_slice).unwrap_or_default();
            let vectors = self.embed(texts)?;
            // a cosine in -1..=1 becomes a score in 0..=1
            let score = |text: &Vec<f32>| ((cosine(query, text) + 1.0) / 2.0).clamp(0.0, 1.0);
            return Ok(vectors.iter().map(score).collect());
        }

        let prompts = texts.iter().map(|text| {
            let values = [("passage", *text), ("question", question)];
            self.prompt(PromptName::JudgeRelevant, &values)
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let rows = self.classify(JudgementKind::relevance("rerank"), &prompts)?;
        Ok(rows.iter().map(|row| row.shares[0]).collect())
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        self.check_stopped()?;
        match self.tools.corpus.as_mut() {
            Some(corpus) => Ok(corpus.embedder.embed(texts)?),
            None => Err(no_embedder()),
        }
    }
}

/// Returns the error of a call that compares vectors, where no corpus is open.
fn no_embedder() -> LlmError {
    LlmError::new(
        "no embedder is loaded, since no corpus is open",
        "name a folder, or choose another preset",
    )
}

/// Returns the spans of the texts in the prompt; none at all when one of them is not there word for
/// word, since a chat template may change text.
fn spans(prompt: &str, texts: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut from = 0;
    let found: Option<Vec<Range<usize>>> = texts
        .iter()
        .map(|text| {
            let start = from + prompt.get(from..)?.find(text.as_str())?;
            from = start + text.len();
            Some(start..from)
        })
        .collect();

    Vec::from_iter(found.filter(|spans| !spans.is_empty()))
}
