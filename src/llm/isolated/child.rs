//! The side of the process: it loads one generator and carries out calls.

use std::io::{self, StdoutLock, stdin, stdout};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use super::message::{CallOutcome, CallValue, GeneratorReply, GeneratorRequest};
use crate::config::Config;
use crate::event::{CallUsage, Flow, StopFlag};
use crate::llm::error::{LlmError, Result};
use crate::llm::generator::{LlamaGenerator, load_generator};
use crate::llm::role::{Generator as _, LoadedGenerator as _, Scorer as _, Tap as _};
use crate::llm::runtime::Runtime;
use crate::llm::values::Token;
use crate::process::frame;

/// Carries out requests on stdin until it is closed. The process never outlives the program that
/// started it.
///
/// # Errors
/// Stdout that is closed.
pub fn run_generator() -> io::Result<()> {
    let stop = StopFlag::default();
    let mut link = ProgramLink {
        requests: requests(&stop),
        out: stdout().lock(),
        fault: None,
    };
    let mut generator = None;

    while let Ok(request) = link.requests.recv() {
        stop.mark_taken();
        let result = carry_out(request, &mut generator, &mut link, &stop);
        if let Some(fault) = link.fault {
            return Err(fault);
        }
        let usage = generator
            .as_ref()
            .map_or_else(CallUsage::default, LlamaGenerator::usage);
        link.send(&GeneratorReply::Done(CallOutcome { result, usage }))?;
    }
    Ok(())
}

/// Reads requests on a thread of its own, which sets the flag on request and ends the process
/// when the program is gone.
fn requests(stop: &StopFlag) -> Receiver<GeneratorRequest> {
    let (sender, receiver) = channel();
    let stop = stop.clone();

    std::thread::spawn(move || {
        let mut input = stdin().lock();
        while let Ok(bytes) = frame::read(&mut input) {
            let is_sent = match serde_json::from_slice(&bytes) {
                Ok(GeneratorRequest::Interrupt) => {
                    stop.stop();
                    true
                }
                Ok(seen @ GeneratorRequest::Seen { .. }) => sender.send(seen).is_ok(),
                Ok(request) => {
                    stop.mark_sent();
                    sender.send(request).is_ok()
                }
                Err(_) => false,
            };
            if !is_sent {
                break;
            }
        }
        std::process::exit(0);
    });

    receiver
}

struct ProgramLink<'a> {
    requests: Receiver<GeneratorRequest>,
    out: StdoutLock<'a>,
    /// The reason why a message could not be sent in the middle of a call.
    fault: Option<io::Error>,
}

impl ProgramLink<'_> {
    fn send(&mut self, reply: &GeneratorReply) -> io::Result<()> {
        frame::write(&mut self.out, &serde_json::to_vec(reply)?)
    }

    /// Sends a message in the middle of a call, which ends where that fails.
    fn show(&mut self, reply: &GeneratorReply) -> Flow {
        match self.send(reply) {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.fault = Some(error);
                Flow::Stop
            }
        }
    }

    /// Shows a token to the program and waits for what it says.
    fn token(&mut self, prompt: usize, token: &Token) -> Flow {
        let reply = GeneratorReply::Token {
            prompt,
            token: token.clone(),
        };
        if self.show(&reply) == Flow::Stop {
            return Flow::Stop;
        }
        match self.requests.recv() {
            Ok(GeneratorRequest::Seen { continues: true }) => Flow::Continue,
            Ok(_) | Err(_) => Flow::Stop,
        }
    }
}

fn carry_out(
    request: GeneratorRequest,
    slot: &mut Option<LlamaGenerator>,
    link: &mut ProgramLink<'_>,
    stop: &StopFlag,
) -> Result<CallValue> {
    if let GeneratorRequest::Load {
        file,
        log_file,
        settings,
    } = request
    {
        let runtime = Runtime::start(log_file.as_deref().unwrap_or(Path::new("")))?;
        let settings = Config::from_recording(&settings).generator;
        let generator = load_generator(&runtime, &file, &settings, stop, &mut |share| {
            link.show(&GeneratorReply::Loading(share))
        })?;

        return Ok(describe(slot.insert(generator)));
    }

    match slot {
        Some(generator) => call(request, generator, link),
        None => Err(LlmError::Backend("no model is loaded".to_owned())),
    }
}

/// Describes a generator to the program.
fn describe(generator: &LlamaGenerator) -> CallValue {
    CallValue::Loaded {
        card: Box::new(generator.card().clone()),
        has_space_first: !generator.reply_start().is_empty(),
        can_share_prefixes: generator.can_share_prefixes(),
        is_attention_cheap: generator.is_attention_cheap(),
    }
}

/// Carries out a call to the generator.
fn call(
    request: GeneratorRequest,
    generator: &mut LlamaGenerator,
    link: &mut ProgramLink<'_>,
) -> Result<CallValue> {
    let mut observe = |prompt: usize, token: &Token| link.token(prompt, token);

    Ok(match request {
        GeneratorRequest::Load { .. }
        | GeneratorRequest::Seen { .. }
        | GeneratorRequest::Interrupt => {
            return Err(LlmError::Backend("an answer to no question".to_owned()));
        }
        GeneratorRequest::Complete {
            prompts,
            decoding,
            taps,
        } => CallValue::Completed(generator.complete_tapped(
            &prompts,
            &decoding,
            &taps,
            &mut observe,
        )?),
        GeneratorRequest::Classify { prompts, labels } => {
            CallValue::Labelled(generator.classify(&prompts, &as_strs(&labels))?)
        }
        GeneratorRequest::Score {
            prompts,
            continuations,
        } => CallValue::Rows(generator.score(&prompts, &as_strs(&continuations))?),
        GeneratorRequest::Attend {
            text,
            parts,
            layers,
        } => CallValue::Rows(generator.attend(&text, &parts, layers)?),
        GeneratorRequest::AttendVectors { vectors, layers } => {
            CallValue::Rows(generator.attend_vectors(&vectors, layers)?)
        }
        GeneratorRequest::Render(prompt) => CallValue::Rendered(generator.render(&prompt)?),
    })
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
