//! A generator elsewhere: in a process of its own, which is this program again, or behind another ragscope.
//!
//! llama.cpp ends its process when a worker that holds layers fails. In a process of its own that costs the
//! call, with the name of the worker, and never the program; the next question loads the model again. The
//! same messages over a connection ([`relay`]) are a generator on another machine. Tokens are shown one by
//! one, and each waits for the answer of the observer, so that a call gives what it gives in this process.

mod link;
mod message;
pub mod relay;
mod serve;

pub use link::{Channel, GeneratorProcess, SUBCOMMAND};
pub use serve::serve_generator;

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::LlmError;
use super::error::ServerError;
use super::role::{Generator, LoadedGenerator, Scorer, Tap};
use super::rpc::RpcWorker;
use super::values::{
    Completion, Decoding, Labelled, Layers, Prompt, Rendered, Tapped, Taps, Token,
};
use crate::config::GeneratorSettings;
use crate::event::{CallUsage, Flow, ModelCard, StopFlag};
use link::{Broken, Link, Observers, OwnProcess};
use message::{Outcome, Request, Value};

/// A generator elsewhere.
pub struct IsolatedGenerator {
    link: Mutex<Link>,
    place: Place,
    card: ModelCard,
    reply_start: &'static str,
    can_share_prefixes: bool,
    is_attention_cheap: bool,
    usage: CallUsage,
    stop: StopFlag,
}

/// Where a generator is, for the reason of a broken link.
enum Place {
    /// In a process of this machine, with its layers on these workers.
    Workers(Vec<String>),
    /// On this host.
    Server(String),
}

impl IsolatedGenerator {
    /// Asks the workers of the settings, and loads a generator over them.
    ///
    /// # Errors
    /// As [`super::load_generator`]; [`LlmError::Worker`] for a worker that does not answer.
    pub fn load(
        file: &Path,
        settings: &GeneratorSettings,
        stop: &StopFlag,
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<Self, LlmError> {
        let process = OwnProcess::load(file, settings)?;
        let link = Link::new(Box::new(process), None);
        Self::over(link, Place::Workers(settings.rpc.clone()), stop, progress)
    }

    /// Uses the generator that a server loads for this connection. The server sends something at least
    /// once in `silence` during a call.
    ///
    /// # Errors
    /// As [`super::load_generator`], there; [`LlmError::Server`] for a connection that breaks.
    pub(super) fn served(
        channel: Box<dyn Channel>,
        host: String,
        silence: Duration,
        stop: &StopFlag,
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<Self, LlmError> {
        let link = Link::new(channel, Some(silence));
        Self::over(link, Place::Server(host), stop, progress)
    }

    fn over(
        mut link: Link,
        place: Place,
        stop: &StopFlag,
        progress: &mut dyn FnMut(f32) -> Flow,
    ) -> Result<Self, LlmError> {
        let mut observers = Observers {
            loading: progress,
            token: &mut |_, _| Flow::Continue,
        };
        let outcome = link
            .loaded(&mut observers, stop)
            .map_err(|broken| place.error(broken))?;
        let Value::Loaded {
            card,
            has_space_first,
            can_share_prefixes,
            is_attention_cheap,
        } = outcome.result?
        else {
            return Err(other_answer());
        };
        Ok(Self {
            link: Mutex::new(link),
            place,
            card: *card,
            reply_start: if has_space_first { " " } else { "" },
            can_share_prefixes,
            is_attention_cheap,
            usage: CallUsage::default(),
            stop: stop.clone(),
        })
    }

    /// Describes the model by its host and what that can do.
    pub(super) fn describe(&mut self, host: String, server: String) {
        self.card.device = host;
        self.card.server = server;
    }

    /// Ends the process, as a crash of llama.cpp does. For tests.
    pub fn end(&mut self) {
        self.link().end();
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, request: &Request, observers: &mut Observers<'_>) -> Result<Outcome, LlmError> {
        let called = self.link().call(request, observers, &self.stop);
        called.map_err(|broken| self.place.error(broken))
    }

    /// Makes a call that shows nothing on the way.
    fn quiet_call(&mut self, request: &Request) -> Result<Value, LlmError> {
        self.observed_call(request, &mut |_, _| Flow::Continue)
    }

    fn observed_call(
        &mut self,
        request: &Request,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Value, LlmError> {
        let outcome = self.call(
            request,
            &mut Observers {
                loading: &mut |_| Flow::Continue,
                token: observe,
            },
        )?;
        self.usage = outcome.usage;
        outcome.result
    }
}

impl Place {
    /// Returns what users are shown about a broken link.
    fn error(&self, broken: Broken) -> LlmError {
        match (self, broken) {
            (_, Broken::Stuck) => LlmError::Stopped,
            (Self::Workers(workers), _) => lost_worker(workers),
            (Self::Server(host), broken) => {
                let host = host.clone();
                match broken {
                    Broken::Unreadable(reason) => ServerError::Unreadable { host, reason },
                    Broken::Silent(silence) => ServerError::Silent {
                        host,
                        seconds: silence.as_secs(),
                    },
                    Broken::Gone | Broken::Stuck => ServerError::Cut { host },
                }
                .into()
            }
        }
    }
}

/// Returns the error of a process that ended: most likely it lost a worker.
fn lost_worker(workers: &[String]) -> LlmError {
    let asked = workers.iter().map(|worker| RpcWorker::ask(worker));
    let fault = asked.filter_map(Result::err).next();
    fault.unwrap_or_else(|| {
        LlmError::settings(
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
    ) -> Result<Vec<Completion>, LlmError> {
        let request = Request::Complete {
            prompts: prompts.to_vec(),
            decoding: decoding.clone(),
            taps: None,
        };
        let Value::Completed(tapped) = self.observed_call(&request, observe)? else {
            return Err(other_answer());
        };
        Ok(tapped.into_iter().map(|one| one.completion).collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn render(&self, prompt: &Prompt) -> Result<Rendered, LlmError> {
        let outcome = self.call(
            &Request::Render(prompt.clone()),
            &mut Observers {
                loading: &mut |_| Flow::Continue,
                token: &mut |_, _| Flow::Continue,
            },
        )?;
        let Value::Rendered(rendered) = outcome.result? else {
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
    fn classify(&mut self, prompts: &[Prompt], labels: &[&str]) -> Result<Vec<Labelled>, LlmError> {
        let request = Request::Classify {
            prompts: prompts.to_vec(),
            labels: texts(labels),
        };
        let Value::Labelled(labelled) = self.quiet_call(&request)? else {
            return Err(other_answer());
        };
        Ok(labelled)
    }

    fn score(
        &mut self,
        prompts: &[Prompt],
        continuations: &[&str],
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        let request = Request::Score {
            prompts: prompts.to_vec(),
            continuations: texts(continuations),
        };
        self.rows(&request)
    }
}

impl IsolatedGenerator {
    fn rows(&mut self, request: &Request) -> Result<Vec<Vec<f32>>, LlmError> {
        let Value::Rows(rows) = self.quiet_call(request)? else {
            return Err(other_answer());
        };
        Ok(rows)
    }
}

impl Tap for IsolatedGenerator {
    fn complete_tapped(
        &mut self,
        prompts: &[Prompt],
        decoding: &Decoding,
        taps: &Taps,
        observe: &mut dyn FnMut(usize, &Token) -> Flow,
    ) -> Result<Vec<Tapped>, LlmError> {
        let request = Request::Complete {
            prompts: prompts.to_vec(),
            decoding: decoding.clone(),
            taps: Some(taps.clone()),
        };
        let Value::Completed(tapped) = self.observed_call(&request, observe)? else {
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
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        self.rows(&Request::Attend {
            text: text.to_owned(),
            parts: parts.to_vec(),
            layers,
        })
    }

    fn attend_vectors(
        &mut self,
        vectors: &[Vec<f32>],
        layers: Layers,
    ) -> Result<Vec<Vec<f32>>, LlmError> {
        self.rows(&Request::AttendVectors {
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
        self.link().is_lost()
    }
}
