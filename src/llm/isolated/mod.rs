//! A generator in a process of its own, which is this program again.
//!
//! llama.cpp ends its process when a worker that holds layers fails. In a process of its own that
//! costs the call, with the name of the worker, and never the program; the next question loads the
//! model again. Tokens are shown one by one, and each waits for the answer of the observer, so that
//! a call gives what it gives in this process.

mod message;
mod link;
mod child;

pub use child::run_generator;
pub use link::SUBCOMMAND;

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use super::error::{LlmError, Result};
use super::generator::load_generator;
use super::role::{Generator, LoadedGenerator, Scorer, Tap};
use super::rpc::RpcWorker;
use super::runtime::Runtime;
use super::values::{
    Completion, Decoding, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};
use crate::config::GeneratorSettings;
use crate::event::{CallUsage, Flow, ModelCard, StopError, StopFlag, lock};
use link::{ObserveTokens, ProcessLink};
use message::{CallOutcome, CallValue, GeneratorRequest};

/// A generator in a process of its own.
pub struct IsolatedGenerator {
    link: Mutex<ProcessLink>,
    /// The workers that hold its layers.
    workers: Vec<String>,
    card: ModelCard,
    reply_start: &'static str,
    can_share_prefixes: bool,
    is_attention_cheap: bool,
    usage: CallUsage,
    stop: StopFlag,
}

impl IsolatedGenerator {
    /// Asks the workers of the settings, and loads a generator over them.
    ///
    /// # Errors
    /// As [`super::load_generator`]; a worker that does not answer.
    pub fn load(
        file: &Path,
        settings: &GeneratorSettings,
        stop: &StopFlag,
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<Self> {
        let mut link = ProcessLink::load(file, settings)?;
        let outcome = link.wait_for_load(progress, stop);
        let outcome = outcome.map_err(|_| lost_worker(&settings.rpc))?;

        let CallValue::Loaded {
            card,
            has_space_first,
            can_share_prefixes,
            is_attention_cheap,
        } = outcome.ok_or(StopError)?.result?
        else {
            return Err(other_answer());
        };

        Ok(Self {
            link: Mutex::new(link),
            workers: settings.rpc.clone(),
            card: *card,
            reply_start: if has_space_first { " " } else { "" },
            can_share_prefixes,
            is_attention_cheap,
            usage: CallUsage::default(),
            stop: stop.clone(),
        })
    }

    /// Ends the process, as a crash of llama.cpp does. For tests.
    pub fn end(&mut self) {
        lock(&self.link).end();
    }

    fn call(&self, request: &GeneratorRequest, observe: ObserveTokens<'_>) -> Result<CallOutcome> {
        let called = lock(&self.link).call(request, observe, &self.stop);
        let outcome = called.map_err(|_| lost_worker(&self.workers))?;
        Ok(outcome.ok_or(StopError)?)
    }

    /// Makes a call that shows nothing on the way.
    fn quiet_call(&mut self, request: &GeneratorRequest) -> Result<CallValue> {
        self.observed_call(request, &mut |_, _| Flow::Continue)
    }

    fn rows(&mut self, request: &GeneratorRequest) -> Result<Vec<Vec<f32>>> {
        let CallValue::Rows(rows) = self.quiet_call(request)? else {
            return Err(other_answer());
        };
        Ok(rows)
    }

    fn observed_call(
        &mut self,
        request: &GeneratorRequest,
        observe: ObserveTokens<'_>,
    ) -> Result<CallValue> {
        let outcome = self.call(request, observe)?;
        self.usage = outcome.usage;
        outcome.result
    }
}

/// Returns the error of a process that ended: most likely it lost a worker.
fn lost_worker(workers: &[String]) -> LlmError {
    let asked = workers.iter().map(|worker| RpcWorker::ask(worker));
    let fault = asked.filter_map(Result::err).next();
    fault.unwrap_or_else(|| {
        LlmError::new(
            format!(
                "the connection to the workers broke, and they answer again: {}",
                workers.join(", ")
            ),
            "ask again; where it repeats, `ragscope paths` says where the log of llama.cpp is",
        )
    })
}

fn other_answer() -> LlmError {
    LlmError::Backend("the process of the model gave an answer to another question".to_owned())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

impl Generator for IsolatedGenerator {
    fn complete(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Completion>> {
        let tapped = self.complete_tapped(prompts, decoding, &Taps::default(), observe)?;
        Ok(tapped.into_iter().map(|one| one.completion).collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered> {
        let request = GeneratorRequest::Render(prompt.clone());
        let outcome = self.call(&request, &mut |_, _| Flow::Continue)?;
        let CallValue::Rendered(rendered) = outcome.result? else {
            return Err(other_answer());
        };
        Ok(rendered)
    }

    fn reply_start(&self) -> &'static str {
        self.reply_start
    }

    fn usage(&self) -> CallUsage {
        self.usage
    }
}

impl Scorer for IsolatedGenerator {
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>> {
        let request = GeneratorRequest::Classify {
            prompts: prompts.to_vec(),
            labels: texts(labels),
        };
        let CallValue::Labelled(labelled) = self.quiet_call(&request)? else {
            return Err(other_answer());
        };
        Ok(labelled)
    }

    fn score(&mut self, prompts: &[Prompt], continuations: &[&str]) -> Result<Vec<Vec<f32>>> {
        let request = GeneratorRequest::Score {
            prompts: prompts.to_vec(),
            continuations: texts(continuations),
        };
        self.rows(&request)
    }
}

impl Tap for IsolatedGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>> {
        let request = GeneratorRequest::Complete {
            prompts: prompts.to_vec(),
            decoding: decoding.clone(),
            taps: taps.clone(),
        };

        let CallValue::Completed(tapped) = self.observed_call(&request, observe)? else {
            return Err(other_answer());
        };

        Ok(tapped)
    }

    fn is_attention_cheap(&self) -> bool {
        self.is_attention_cheap
    }

    fn attend(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>> {
        self.rows(&GeneratorRequest::Attend {
            text: text.to_owned(),
            parts: parts.to_vec(),
            layers,
        })
    }

    fn attend_vectors(&mut self, vectors: &[Vec<f32>], layers: Layers) -> Result<Vec<Vec<f32>>> {
        self.rows(&GeneratorRequest::AttendVectors {
            vectors: vectors.to_vec(),
            layers,
        })
    }
}

impl LoadedGenerator for IsolatedGenerator {
    fn can_share_prefixes(&self) -> bool {
        self.can_share_prefixes
    }

    fn has_inside(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        lock(&self.link).is_lost()
    }
}

/// Loads the generator of the settings: in this process, or in one of its own where workers hold
/// its layers.
///
/// # Errors
/// As [`super::load_generator`] and [`IsolatedGenerator::load`].
pub fn open_generator(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<Box<dyn LoadedGenerator>> {
    if settings.rpc.is_empty() {
        let generator = load_generator(runtime, file, settings, stop, progress)?;
        Ok(Box::new(generator))
    } else {
        let generator = IsolatedGenerator::load(file, settings, stop, progress)?;
        Ok(Box::new(generator))
    }
}
