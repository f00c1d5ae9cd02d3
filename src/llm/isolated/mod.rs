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

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use serde::de::DeserializeOwned;

use super::error::{LlmError, Result};
use super::generator::load_generator;
use super::log;
use super::role::{Generator, LoadedGenerator, Scorer, Tap};
use super::rpc::RpcWorker;
use super::runtime::Runtime;
use super::values::{
    Completion, Decoding, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};
use crate::config::{Config, GeneratorSettings};
use crate::event::{CallUsage, Flow, ModelCard, StopError, StopFlag, lock};
use link::{GeneratorProcess, ObserveSteps};
use message::{CallOutcome, GeneratorRequest, LoadedCard, Rows, Shown};

/// A generator in a process of its own.
pub struct IsolatedGenerator {
    /// `None` once it broke.
    process: Mutex<Option<GeneratorProcess>>,
    /// The workers that hold its layers.
    workers: Vec<String>,
    loaded: LoadedCard,
    usage: CallUsage,
    stop: StopFlag,
}

impl IsolatedGenerator {
    /// Asks the workers of the settings, and loads a generator over them.
    ///
    /// # Errors
    /// As [`super::load_generator`]; a worker that does not answer; [`LlmError::Backend`] when the
    /// system has no room for another process or thread.
    pub fn load(
        file: &Path,
        settings: &GeneratorSettings,
        stop: &StopFlag,
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<Self> {
        for endpoint in &settings.rpc {
            RpcWorker::ask(endpoint)?;
        }

        let no_process =
            |error: io::Error| LlmError::Backend(format!("no process for the model ({error})"));
        let config = Config {
            generator: settings.clone(),
            ..Config::default()
        };
        let request = GeneratorRequest::Load {
            file: file.to_owned(),
            log_file: log::path(),
            settings: serde_json::to_value(config).map_err(|error| no_process(error.into()))?,
        };
        let mut process = GeneratorProcess::start().map_err(no_process)?;

        let mut observe = |shown| match shown {
            Shown::Loading(share) => progress(share),
            Shown::Token { .. } => Flow::Continue,
        };
        let called = process.call(&request, &mut observe, stop);
        let outcome: Option<CallOutcome<LoadedCard>> =
            called.map_err(|_| lost_worker(&settings.rpc))?;
        Ok(Self {
            loaded: outcome.ok_or(StopError)?.result?,
            process: Mutex::new(Some(process)),
            workers: settings.rpc.clone(),
            usage: CallUsage::default(),
            stop: stop.clone(),
        })
    }

    /// Ends the process, as a crash of llama.cpp does. For tests.
    pub fn end(&mut self) {
        *lock(&self.process) = None;
    }

    fn call<T: DeserializeOwned>(
        &self,
        request: &GeneratorRequest,
        observe: ObserveSteps<'_>,
    ) -> Result<CallOutcome<T>> {
        let mut process = lock(&self.process);
        let called = match process.as_mut() {
            Some(process) => process.call(request, observe, &self.stop),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        if !matches!(called, Ok(Some(_))) {
            *process = None;
        }

        let outcome = called.map_err(|_| lost_worker(&self.workers))?;
        Ok(outcome.ok_or(StopError)?)
    }

    /// Makes a call and keeps its cost.
    fn counted_call<T: DeserializeOwned>(
        &mut self,
        request: &GeneratorRequest,
        observe: ObserveSteps<'_>,
    ) -> Result<T> {
        let outcome = self.call(request, observe)?;
        self.usage = outcome.usage;
        outcome.result
    }

    /// Makes a call that shows nothing on the way.
    fn quiet_call<T: DeserializeOwned>(&mut self, request: &GeneratorRequest) -> Result<T> {
        self.counted_call(request, &mut |_| Flow::Continue)
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
        &self.loaded.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered> {
        let request = GeneratorRequest::Render(prompt.clone());
        self.call(&request, &mut |_| Flow::Continue)?.result
    }

    fn reply_start(&self) -> &'static str {
        if self.loaded.has_space_first { " " } else { "" }
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
        self.quiet_call(&request)
    }

    fn score(&mut self, prompts: &[Prompt], continuations: &[&str]) -> Result<Vec<Vec<f32>>> {
        let request = GeneratorRequest::Score {
            prompts: prompts.to_vec(),
            continuations: texts(continuations),
        };
        let Rows(scores) = self.quiet_call(&request)?;
        Ok(scores)
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

        self.counted_call(&request, &mut |shown| match shown {
            Shown::Token { prompt, token } => observe(prompt, &token),
            Shown::Loading(_) => Flow::Continue,
        })
    }

    fn is_attention_cheap(&self) -> bool {
        self.loaded.is_attention_cheap
    }

    fn attend(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>> {
        let Rows(rows) = self.quiet_call(&GeneratorRequest::Attend {
            text: text.to_owned(),
            parts: parts.to_vec(),
            layers,
        })?;
        Ok(rows)
    }

    fn attend_vectors(&mut self, vectors: &[Vec<f32>], layers: Layers) -> Result<Vec<Vec<f32>>> {
        let Rows(rows) = self.quiet_call(&GeneratorRequest::AttendVectors {
            vectors: Rows(vectors.to_vec()),
            layers,
        })?;
        Ok(rows)
    }
}

impl LoadedGenerator for IsolatedGenerator {
    fn can_share_prefixes(&self) -> bool {
        self.loaded.can_share_prefixes
    }

    fn has_inside(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        let mut process = lock(&self.process);
        process.take_if(|process| process.has_ended());
        process.is_none()
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
