//! A generator in a process of its own: this program again, started with a hidden subcommand.
//!
//! llama.cpp ends its process when a worker that holds layers fails. Here that costs the call, with
//! the name of the worker, and never the program; the next question loads the model again. Tokens are
//! shown one by one, and each waits for the answer of the observer, so that a call gives what it gives
//! in this process.

mod message;
mod serve;

pub use serve::serve_generator;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::rpc::RpcWorker;
use super::{
    Completion, Decoding, Generator, Labelled, Layers, LlmError, LoadedGenerator, Prompt, Rendered,
    Scorer, Tap, Tapped, Taps, Token, log,
};
use crate::config::{Config, GeneratorSettings};
use crate::event::{CallUsage, Flow, ModelCard, StopFlag};
use crate::process::{Pipes, Process, frame};
use message::{Outcome, Reply, Request, Value};

/// The hidden subcommand of the process.
pub const SUBCOMMAND: &str = "__generate";

/// Time between two looks at whether the user stopped the call.
const LATENCY: Duration = Duration::from_millis(20);
/// Time that a stopped call has to end. A worker whose machine is gone without a word would keep it.
const ENDING: Duration = Duration::from_secs(10);

/// A generator in a process of its own.
pub struct IsolatedGenerator {
    link: Mutex<Link>,
    card: ModelCard,
    reply_start: &'static str,
    can_share_prefixes: bool,
    usage: CallUsage,
    workers: Vec<String>,
    stop: StopFlag,
    is_lost: AtomicBool,
}

/// The process and its pipes.
struct Link {
    process: Process,
    requests: ChildStdin,
    replies: Receiver<Reply>,
}

/// What a call does with what the process shows on the way.
struct Observers<'a> {
    loading: &'a mut dyn FnMut(f32) -> Flow,
    token: &'a mut dyn FnMut(usize, &Token) -> Flow,
}

/// Why a call has no outcome.
enum Broken {
    /// The process ended.
    Gone,
    /// The user stopped the call, and it did not end in time.
    Stuck,
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
        for endpoint in &settings.rpc {
            RpcWorker::ask(endpoint)?;
        }

        let config = Config {
            generator: settings.clone(),
            ..Config::default()
        };
        let load = Request::Load {
            file: file.to_owned(),
            log_file: log::path(),
            settings: serde_json::to_value(config)
                .map_err(|error| LlmError::Backend(error.to_string()))?,
        };
        let mut observers = Observers {
            loading: progress,
            token: &mut |_, _| Flow::Continue,
        };
        let mut link = Link::start()
            .map_err(|error| LlmError::Backend(format!("no process for the model ({error})")))?;
        let outcome = link
            .call(&load, &mut observers, stop)
            .map_err(|broken| broken.error(&settings.rpc))?;
        let Value::Loaded {
            card,
            has_space_first,
            can_share_prefixes,
        } = outcome.result?
        else {
            return Err(other_answer());
        };
        Ok(Self {
            link: Mutex::new(link),
            card: *card,
            reply_start: if has_space_first { " " } else { "" },
            can_share_prefixes,
            usage: CallUsage::default(),
            workers: settings.rpc.clone(),
            stop: stop.clone(),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Ends the process, as a crash of llama.cpp does. For tests.
    pub fn end(&mut self) {
        let link = self.link.get_mut().unwrap_or_else(PoisonError::into_inner);
        link.process.end();
    }

    fn call(&self, request: &Request, observers: &mut Observers<'_>) -> Result<Outcome, LlmError> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(Broken::Gone.error(&self.workers));
        }
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.call(request, observers, &self.stop).map_err(|broken| {
            link.process.end();
            self.is_lost.store(true, Ordering::Relaxed);
            broken.error(&self.workers)
        })
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

impl Broken {
    /// Returns what users are shown: a process that ended most likely lost a worker.
    fn error(&self, workers: &[String]) -> LlmError {
        if matches!(self, Self::Stuck) {
            return LlmError::Stopped;
        }
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
}

impl Link {
    fn start() -> io::Result<Self> {
        let (process, Pipes { input, mut output }) = Process::start(SUBCOMMAND)?;
        let (sender, replies) = channel();
        std::thread::Builder::new()
            .name("generator".to_owned())
            .spawn(move || {
                while let Ok(bytes) = frame::read(&mut output)
                    && let Ok(reply) = serde_json::from_slice(&bytes)
                    && sender.send(reply).is_ok()
                {}
            })?;
        Ok(Self {
            process,
            requests: input,
            replies,
        })
    }

    fn call(
        &mut self,
        request: &Request,
        observers: &mut Observers<'_>,
        stop: &StopFlag,
    ) -> Result<Outcome, Broken> {
        self.send(request)?;
        let mut interrupted: Option<Instant> = None;
        loop {
            if stop.is_set() && interrupted.is_none() {
                self.send(&Request::Interrupt)?;
                interrupted = Some(Instant::now());
            }
            match self.replies.recv_timeout(LATENCY) {
                Ok(Reply::Done(outcome)) => return Ok(outcome),
                Ok(Reply::Loading(share)) => {
                    if (observers.loading)(share) == Flow::Stop && interrupted.is_none() {
                        self.send(&Request::Interrupt)?;
                        interrupted = Some(Instant::now());
                    }
                }
                Ok(Reply::Token { prompt, token }) => {
                    let continues = (observers.token)(prompt, &token) == Flow::Continue;
                    self.send(&Request::Seen { continues })?;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Broken::Gone),
                Err(RecvTimeoutError::Timeout) => {
                    if interrupted.is_some_and(|since| since.elapsed() > ENDING) {
                        return Err(Broken::Stuck);
                    }
                }
            }
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), Broken> {
        let bytes = serde_json::to_vec(request).map_err(|_| Broken::Gone)?;
        frame::write(&mut self.requests, &bytes).map_err(|_| Broken::Gone)
    }
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

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}
