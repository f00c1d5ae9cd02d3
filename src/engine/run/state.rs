//! What every role of a run works with: the models, the corpus, the settings, and the stream of events.

use std::ops::Range;
use std::time::Instant;

use crate::engine::error::RunError;
use crate::event::{
    CallUsage, Event, Flow, Hit, ModelCard, ModelRole, Outcome, Retrieval, RunUsage,
};
use crate::llm::{Completion, Decoding, End, HiddenAt, LlmError, Prompt, Tapped, Taps, Token};
use crate::methods::ModelCalls as _;

use super::tools::Tools;
use super::values::{Answer, Contexts, Judged};

/// A call of the generator.
pub struct Call<'a> {
    /// What it is for, as the prompt inspector shows it.
    pub purpose: &'a str,
    pub prompt: &'a Prompt,
    pub decoding: Decoding,
    /// Texts of the prompt, in order, whose share of the attention is wanted; empty for none.
    pub attend_to: &'a [String],
    /// Positions whose hidden states are wanted.
    pub hidden: &'a [HiddenAt],
}

/// Sees each token of a call, with a way to publish what follows from it.
pub type TokenObserver<'o> = dyn FnMut(&mut dyn FnMut(Event) -> Flow, &Token) -> Flow + 'o;

/// A run under way.
pub struct Run<'a> {
    pub tools: Tools<'a>,
    /// The sentence of the answer that the work is for; 0 before the first.
    pub step: u32,
    publish: &'a mut dyn FnMut(Event) -> Flow,
    usage: RunUsage,
    started: Instant,
    stopped: bool,
    /// The answer as far as it is written.
    written: Answer,
    /// What the entailment judge said in this run.
    pub judged: Judged,
    /// What is known of contexts that were measured in this run.
    pub contexts: Contexts,
}

impl<'a> Run<'a> {
    pub fn new(tools: Tools<'a>, publish: &'a mut dyn FnMut(Event) -> Flow) -> Self {
        Self {
            tools,
            step: 0,
            publish,
            usage: RunUsage::default(),
            started: Instant::now(),
            stopped: false,
            written: Answer::default(),
            judged: Judged::default(),
            contexts: Contexts::default(),
        }
    }

    /// Publish an event, and remember whether the observer wants to stop.
    pub fn emit(&mut self, event: Event) {
        if (self.publish)(event) == Flow::Stop {
            self.stopped = true;
        }
    }

    /// Has the observer asked to stop?
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    fn flow(&self) -> Flow {
        if self.stopped {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    /// The models of this run.
    pub fn models(&self) -> Vec<ModelCard> {
        let tools = &self.tools;
        let embedder = tools
            .corpus
            .as_ref()
            .map(|corpus| corpus.embedder.card().clone());
        let reranker = tools
            .reranker
            .as_ref()
            .map(|reranker| reranker.card().clone());
        let judge = tools.judge.as_ref().map(|judge| judge.card().clone());
        let linker = tools.linker.as_ref().map(|linker| ModelCard {
            role: ModelRole::Linker,
            ..linker.card().clone()
        });
        let others = embedder
            .into_iter()
            .chain(reranker)
            .chain(judge)
            .chain(linker);
        std::iter::once(tools.generator.card().clone())
            .chain(others)
            .collect()
    }

    /// One call of the generator, published with its exact prompt and its cost. `observe` sees each token.
    pub fn complete(
        &mut self,
        call: &Call<'_>,
        observe: &mut TokenObserver<'_>,
    ) -> Result<Tapped, RunError> {
        if self.stopped {
            let completion = Completion {
                text: String::new(),
                tokens: Vec::new(),
                end: End::Stopped,
            };
            return Ok(Tapped {
                completion,
                hidden: Vec::new(),
            });
        }
        let rendered = self.tools.generator.render(call.prompt)?;
        let taps = Taps {
            hidden: call.hidden.to_vec(),
            attention: parts(&rendered.text, call.attend_to),
        };
        let first = self.tell_calls(call.purpose, std::slice::from_ref(call.prompt))?;
        let (publish, stopped) = (&mut *self.publish, &mut self.stopped);
        // a stop rule of the caller ends the completion too, but only the observer of the run stops the run
        let mut publish = |event| {
            let flow = publish(event);
            *stopped |= flow == Flow::Stop;
            flow
        };
        let mut observe = |_branch: usize, token: &Token| observe(&mut publish, token);
        let prompts = std::slice::from_ref(call.prompt);
        let generator = &mut *self.tools.generator;
        let tapped = if taps == Taps::default() {
            // nothing is asked for: the plain call, with flash attention
            let bare = |completion| Tapped {
                completion,
                hidden: Vec::new(),
            };
            generator
                .complete(prompts, &call.decoding, &mut observe)?
                .into_iter()
                .map(bare)
                .collect()
        } else {
            generator.complete_tapped(prompts, &call.decoding, &taps, &mut observe)?
        };
        self.tell_cost(first);
        tapped.into_iter().next().ok_or_else(|| {
            LlmError::Backend("the generator gave no completion for a prompt".to_owned()).into()
        })
    }

    /// Tell what the generator is asked; prompts that are the same are one call with branches. Gives the number of the first call.
    pub(super) fn tell_calls(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
    ) -> Result<u32, RunError> {
        let first = self.usage.model_calls;
        let mut distinct: Vec<(&Prompt, u32)> = Vec::new();
        for prompt in prompts {
            match distinct.iter_mut().find(|(known, _)| *known == prompt) {
                Some((_, branches)) => *branches += 1,
                None => distinct.push((prompt, 1)),
            }
        }
        for (prompt, branches) in distinct {
            let rendered = self.tools.generator.render(prompt)?;
            let call = self.usage.model_calls;
            self.usage.model_calls += 1;
            self.emit(Event::ModelCalled {
                call,
                purpose: purpose.to_owned(),
                role: ModelRole::Generator,
                prompt: rendered.text,
                prompt_tokens: u32::try_from(rendered.tokens.len()).unwrap_or(u32::MAX),
                branches,
            });
        }
        Ok(first)
    }

    /// Tell and count what the calls since number `first` cost together.
    pub(super) fn tell_cost(&mut self, first: u32) {
        let usage: CallUsage = self.tools.generator.usage();
        self.usage.prompt_tokens_evaluated += u64::from(usage.prompt_tokens_evaluated);
        self.usage.prompt_tokens_reused += u64::from(usage.prompt_tokens_reused);
        self.usage.tokens_generated += u64::from(usage.tokens_generated);
        let calls = self.usage.model_calls - first;
        self.emit(Event::ModelCallFinished {
            call: first,
            calls,
            usage,
        });
    }

    /// Search the corpus; None when none is open.
    pub fn search(&mut self, query: &str) -> Result<Option<Retrieval>, RunError> {
        let Some(corpus) = self.tools.corpus.as_mut() else {
            return Ok(None);
        };
        let vectors = corpus.embedder.embed(&[query])?;
        let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
        self.usage.retrievals += 1;
        let embedder = &corpus.embedder.card().fingerprint;
        corpus
            .index
            .search(query, vector, embedder, &self.tools.config.retriever)
            .map(Some)
            .map_err(RunError::Search)
    }

    /// The unit vector of each hit: of a chunk that was cut again the one of this run, of a chunk the one in the index, of another text
    /// a new one.
    pub fn vectors(&mut self, hits: &[&Hit]) -> Result<Vec<Vec<f32>>, RunError> {
        let ids: Vec<u64> = hits.iter().map(|hit| hit.chunk.id).collect();
        let stored = self
            .tools
            .corpus
            .as_ref()
            .map_or_else(Vec::new, |corpus| corpus.index.vectors(&ids));
        let of_run = ids.iter().map(|id| self.contexts.vectors.get(id).cloned());
        let mut vectors: Vec<Option<Vec<f32>>> = of_run
            .zip(stored.into_iter().chain(std::iter::repeat(None)))
            .map(|(of_run, stored)| of_run.or(stored))
            .collect();
        let unknown = hits
            .iter()
            .zip(&vectors)
            .filter(|(_, vector)| vector.is_none());
        let new: Vec<&str> = unknown.map(|(hit, _)| hit.chunk.text.as_str()).collect();
        if !new.is_empty() {
            let mut embedded = self.embed(&new)?.into_iter();
            vectors
                .iter_mut()
                .filter(|vector| vector.is_none())
                .for_each(|vector| *vector = embedded.next());
        }
        Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Remember what was written, so that a failure after it does not lose it.
    pub fn keep(&mut self, answer: Answer) {
        self.written = answer;
    }

    /// The answer as far as it is written.
    pub fn written(&self) -> &Answer {
        &self.written
    }

    /// Publish the end of a run that went through, and how it ended.
    pub fn finish(&mut self, answer: Answer) -> Outcome {
        let outcome = match (self.flow(), answer.limit_reached) {
            (Flow::Stop, _) => Outcome::Stopped,
            (Flow::Continue, true) => Outcome::LimitReached,
            (Flow::Continue, false) => Outcome::Completed,
        };
        self.finished(outcome, answer)
    }

    /// Publish the end of a run that broke off.
    pub fn fail(&mut self, error: &RunError) -> Outcome {
        let outcome = match error {
            RunError::Model(LlmError::Stopped) => Outcome::Stopped,
            RunError::Model(_) | RunError::Config(_) | RunError::Probe(_) => Outcome::Failed {
                error: error.to_string(),
                advice: "run `ragscope doctor`".to_owned(),
            },
            RunError::Search(_) => Outcome::Failed {
                error: error.to_string(),
                advice: "rebuild the index with `ragscope index FOLDER --rebuild`".to_owned(),
            },
        };
        let written = std::mem::take(&mut self.written);
        self.finished(outcome, written)
    }

    fn finished(&mut self, outcome: Outcome, answer: Answer) -> Outcome {
        self.usage.wall_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.emit(Event::RunFinished {
            outcome: outcome.clone(),
            text: answer.text,
            answer: answer.short,
            citations: answer.citations,
            usage: self.usage,
        });
        outcome
    }
}

/// Where the texts stand in the prompt; none at all when one of them is not there word for word (a template may change text).
fn parts(prompt: &str, texts: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut from = 0;
    let found: Option<Vec<Range<usize>>> = texts
        .iter()
        .map(|text| {
            let start = from + prompt.get(from..)?.find(text.as_str())?;
            from = start + text.len();
            Some(start..from)
        })
        .collect();
    found
        .filter(|parts| !parts.is_empty())
        .into_iter()
        .collect()
}
