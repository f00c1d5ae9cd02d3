//! `models pull`: downloads a model and reports how to use it.

use crate::config::Paths;
use crate::event::{ModelRole, PulledModel, harmless};
use crate::llm::{FoundModel, discover};
use crate::pull::{self, PullSettings, Reference};
use crate::story::words;

use super::failure::{Exit, Failure, Stopped};
use super::interrupt::Interrupt;
use super::output::Output;

/// Downloads a model.
pub fn pull(reference: &str, paths: &Paths, out: &mut Output) -> Result<Exit, Stopped> {
    let reference: Reference = reference.parse()?;
    let interrupt = Interrupt::listen()?;
    let settings = PullSettings::of_process();

    let pulled = pull::pull(&reference, &settings, &mut |progress| {
        out.steady_progress_line(|| words::pull_progress(progress));
        interrupt.flow()
    });
    out.clear_progress();
    let pulled = pulled?;

    if out.json {
        out.json_pretty(&pulled)?;
        return Ok(Exit::Done);
    }
    let is_pulled = |model: &FoundModel| model.name == pulled.name;
    let found = discover(paths).into_iter().find(is_pulled);
    if let Some(problem) = found.as_ref().and_then(|found| found.problem.as_ref()) {
        return Err(Failure::from_message(problem).into());
    }
    let role = found.and_then(|found| found.role);
    out.text(&harmless(&report(&pulled, role)))?;
    Ok(Exit::Done)
}

fn report(pulled: &PulledModel, role: Option<ModelRole>) -> String {
    let done = if pulled.received_bytes == 0 {
        "is here already"
    } else {
        "downloaded"
    };
    let use_it = match role {
        Some(ModelRole::Generator) | None => format!("--model {}", pulled.name),
        Some(role) => format!("--set {}.model={}", role.name(), pulled.name),
    };
    format!(
        "{} ({}) {done}: {}\nuse it: ragscope FOLDER {use_it}\n",
        pulled.name,
        words::bytes(pulled.bytes),
        pulled.file
    )
}
