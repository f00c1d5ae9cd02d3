//! The side of the process: it loads one generator and carries out calls.

use std::io::{self, StdoutLock, stdin, stdout};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use serde::Serialize;

use super::message::{CallOutcome, GeneratorReply, GeneratorRequest, LoadedCard, Rows, Shown};
use crate::config::Config;
use crate::event::{CallUsage, Flow, StopFlag};
use crate::llm::error::{LlmError, Result};
use crate::llm::generator::{LlamaGenerator, load_generator};
use crate::llm::role::{Generator as _, LoadedGenerator as _, Scorer as _, Tap as _};
use crate::llm::runtime::Runtime;
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
    };
    let mut generator = None;

    while let Ok(request) = link.requests.recv() {
        stop.mark_taken();
        match (request, &mut generator) {
            (
                GeneratorRequest::Load {
                    file,
                    log_file,
                    settings,
                },
                slot,
            ) => {
                let log_file = log_file.unwrap_or_default();
                let loaded = load(&file, &log_file, &settings, &mut link, &stop);
                let card = loaded.map(|loaded| describe(slot.insert(loaded)));
                link.finish(card, CallUsage::default())?;
            }
            (request, Some(generator)) => call(request, generator, &mut link)?,
            (_, None) => link.fail("no model is loaded")?,
        }
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
        while let Ok(request) = frame::read_json(&mut input) {
            let is_sent = match request {
                GeneratorRequest::Interrupt => {
                    stop.stop();
                    true
                }
                seen @ GeneratorRequest::Seen { .. } => sender.send(seen).is_ok(),
                request => {
                    stop.mark_sent();
                    sender.send(request).is_ok()
                }
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
}

impl ProgramLink<'_> {
    /// Shows a step of a call to the program and waits for what it says. A call whose program is
    /// gone ends.
    fn show(&mut self, shown: Shown) -> Flow {
        let reply = GeneratorReply::<()>::Shown(shown);
        if frame::write_json(&mut self.out, &reply).is_err() {
            return Flow::Stop;
        }
        match self.requests.recv() {
            Ok(GeneratorRequest::Seen { continues: true }) => Flow::Continue,
            Ok(_) | Err(_) => Flow::Stop,
        }
    }

    /// Sends the end of a call.
    fn finish<T: Serialize>(&mut self, result: Result<T>, usage: CallUsage) -> io::Result<()> {
        let reply = GeneratorReply::Done(CallOutcome { result, usage });
        frame::write_json(&mut self.out, &reply)
    }

    /// Sends the end of a call that cannot be made.
    fn fail(&mut self, reason: &str) -> io::Result<()> {
        let error = LlmError::Backend(reason.to_owned());
        self.finish::<()>(Err(error), CallUsage::default())
    }
}

/// Loads a generator, and shows how far it is.
fn load(
    file: &Path,
    log_file: &Path,
    settings: &serde_json::Value,
    link: &mut ProgramLink<'_>,
    stop: &StopFlag,
) -> Result<LlamaGenerator> {
    let runtime = Runtime::start(log_file)?;
    let settings = Config::from_recording(settings).generator;
    load_generator(&runtime, file, &settings, stop, &mut |share| {
        link.show(Shown::Loading(share))
    })
}

/// Describes a generator to the program.
fn describe(generator: &LlamaGenerator) -> LoadedCard {
    LoadedCard {
        card: generator.card().clone(),
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
) -> io::Result<()> {
    match request {
        GeneratorRequest::Load { .. }
        | GeneratorRequest::Seen { .. }
        | GeneratorRequest::Interrupt => link.fail("an answer to no question"),
        GeneratorRequest::Complete {
            prompts,
            decoding,
            taps,
        } => {
            let mut observe = |prompt: usize, token: &_| {
                let token = Clone::clone(token);
                link.show(Shown::Token { prompt, token })
            };
            let tapped = generator.complete_tapped(&prompts, &decoding, &taps, &mut observe);
            link.finish(tapped, generator.usage())
        }
        GeneratorRequest::Classify { prompts, labels } => {
            let labelled = generator.classify(&prompts, &as_strs(&labels));
            link.finish(labelled, generator.usage())
        }
        GeneratorRequest::Score {
            prompts,
            continuations,
        } => {
            let scores = generator.score(&prompts, &as_strs(&continuations));
            link.finish(scores.map(Rows), generator.usage())
        }
        GeneratorRequest::Attend {
            text,
            parts,
            layers,
        } => {
            let rows = generator.attend(&text, &parts, layers);
            link.finish(rows.map(Rows), generator.usage())
        }
        GeneratorRequest::AttendVectors { vectors, layers } => {
            let rows = generator.attend_vectors(&vectors.0, layers);
            link.finish(rows.map(Rows), generator.usage())
        }
        GeneratorRequest::Render(prompt) => {
            let rendered = generator.render(&prompt);
            link.finish(rendered, generator.usage())
        }
    }
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
