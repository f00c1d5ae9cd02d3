//! Chat templates in a process of their own, which is this program again.
//!
//! The fuel of a template bounds its steps and the text that it writes. It bounds neither the depth
//! of its expressions and values nor what one filter allocates, and an overflow of the stack or the
//! end of the memory ends a process. So a template is parsed and rendered where that costs the
//! template alone: once as a model is loaded, around marks that stand for the texts of a prompt. It
//! can trim these texts, and neither change nor read them.

use std::io::{self, stdin, stdout};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::jinja::{ChatTemplate, Surroundings, TemplateError, Turn};
use super::parts::{SYSTEM_MARK, USER_MARK, parts};
use crate::llm::values::Prompt;
use crate::process::{Cause, Pipes, Process, frame, limit};

/// The hidden subcommand of the process.
pub const SUBCOMMAND: &str = "__template";

/// Memory that a template may take. Published ones take a few MiB.
const MAX_MEMORY_BYTES: u64 = 256 << 20;
/// Processor time of a template. Published ones take milliseconds.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Time by the clock: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum length of what a template writes around the texts of a prompt.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// A template to render.
#[derive(Debug, Serialize, Deserialize)]
struct TemplateRequest {
    source: String,
    bos_token: String,
    eos_token: String,
    /// The time as RFC 9557 has it.
    now: String,
}

/// The prompts of a template: without a system turn and with one, each without thoughts and with
/// them. Marks stand for the texts of the turns, and the error of a prompt is its reason.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renderings([[Result<String, String>; 2]; 2]);

impl Renderings {
    /// Renders a template in a process of its own.
    ///
    /// # Errors
    /// A source that is not a template; one that fails within the limits of the process.
    pub fn new(source: &str, surroundings: &Surroundings) -> Result<Self, TemplateError> {
        let cannot_try =
            |error: io::Error| TemplateError::new(format!("it cannot be tried ({error})"));
        let request = serde_json::to_vec(&TemplateRequest {
            source: source.to_owned(),
            bos_token: surroundings.bos_token.clone(),
            eos_token: surroundings.eos_token.clone(),
            now: surroundings.now.to_string(),
        });
        let request = request.map_err(|error| cannot_try(error.into()))?;

        let (
            mut process,
            Pipes {
                mut input,
                mut output,
            },
        ) = Process::start(SUBCOMMAND).map_err(cannot_try)?;
        let (sender, answers) = sync_channel(1);
        thread::Builder::new()
            .spawn(move || drop(sender.send(frame::read(&mut output))))
            .map_err(cannot_try)?;
        // how a process ended that reads nothing is seen below
        let _ = frame::write(&mut input, &request);

        let answer = match answers.recv_timeout(PATIENCE) {
            Ok(Ok(answer)) => serde_json::from_slice(&answer).ok(),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => None,
        };
        let answer: Option<Result<Self, String>> = answer;
        answer
            .unwrap_or_else(|| Err(reason(process.end().cause())))
            .map_err(TemplateError::new)
    }

    /// Renders in this process.
    fn within_limits(request: TemplateRequest) -> Result<Self, String> {
        let surroundings = Surroundings {
            bos_token: request.bos_token,
            eos_token: request.eos_token,
            now: request.now.parse().map_err(|error| format!("{error}"))?,
        };

        let template = ChatTemplate::parse(&request.source, surroundings);
        let template = template.map_err(|error| error.reason)?;

        let both = |system: &str| {
            [false, true].map(|is_thinking| {
                let text = render(&template, system, is_thinking).map_err(|error| error.reason)?;
                if text.len() > MAX_TEXT_BYTES {
                    return Err(format!("it writes more than {MAX_TEXT_BYTES} bytes"));
                }
                Ok(text)
            })
        };
        Ok(Self([both(""), both(&add_spaces(SYSTEM_MARK))]))
    }

    /// Returns a prompt: a system turn (left out if empty) and a user turn, up to the assistant's.
    ///
    /// # Errors
    /// A template that refuses such a prompt.
    pub fn fill(
        &self,
        system: &str,
        user: &str,
        is_thinking: bool,
    ) -> Result<String, TemplateError> {
        let Self(renderings) = self;
        let turns = &renderings[usize::from(!system.is_empty())][usize::from(is_thinking)];
        let turns = turns.as_ref().map_err(TemplateError::new)?;

        let prompt = Prompt {
            system: system.to_owned(),
            ..Prompt::user(user)
        };
        let parts = parts(turns, &prompt, "");
        Ok(parts.into_iter().map(|part| part.text).collect())
    }
}

/// Returns a mark between the spaces that show whether a template trims.
pub(super) fn add_spaces(mark: &str) -> String {
    format!(" {mark} ")
}

/// Returns for users why the process gave no answer.
fn reason(cause: Cause) -> String {
    match cause {
        Cause::Memory => {
            format!(
                "it takes more than {} MiB of memory",
                MAX_MEMORY_BYTES >> 20
            )
        }
        Cause::Time => "it does not end".to_owned(),
        Cause::Nesting => "it nests too deeply".to_owned(),
        Cause::Other => "it ended the process that tried it".to_owned(),
    }
}

fn render(
    template: &ChatTemplate,
    system: &str,
    is_thinking: bool,
) -> Result<String, TemplateError> {
    fn turn<'a>(role: &'a str, content: &'a str) -> Turn<'a> {
        Turn { role, content }
    }
    let user = add_spaces(USER_MARK);
    if system.is_empty() {
        return template.render(&[turn("user", &user)], is_thinking);
    }

    let turns = [turn("system", system), turn("user", &user)];
    template.render(&turns, is_thinking).or_else(|_| {
        // the templates of Gemma refuse a system turn: its text goes in front of the user's
        let joined = format!("{system}\n\n{user}");
        template.render(&[turn("user", &joined)], is_thinking)
    })
}

/// Renders the template that comes on stdin, and writes the result to stdout.
///
/// # Errors
/// Pipes that are closed; anything but a request.
pub fn run_template() -> io::Result<()> {
    // what a panic says is for nobody: the template cannot be used
    std::panic::set_hook(Box::new(|_| {}));
    let request: TemplateRequest = serde_json::from_slice(&frame::read(&mut stdin().lock())?)?;

    limit::memory(limit::mapped_bytes(), MAX_MEMORY_BYTES);
    limit::time(MAX_TIME);
    let answer = serde_json::to_vec(&Renderings::within_limits(request))?;
    frame::write(&mut stdout().lock(), &answer)
}
