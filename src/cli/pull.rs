//! `models pull` and `models recommend`: downloads a model and reports how to use it, and lists
//! those that suit this machine.

use crate::config::Paths;
use crate::event::{MachineMemory, ModelRole, OfferedModel, Problem, PulledModel, harmless};
use crate::llm::memory::machine_memory;
use crate::llm::{FoundModel, Runtime, discover};
use crate::pull::{self, ModelTable, PullError, PullSettings, Reference};
use crate::story::words;

use super::failure::{Failure, Stopped};
use super::interrupt::Interrupt;
use super::output::{Output, table};

/// Downloads a model.
pub fn pull(reference: &str, paths: &Paths, out: &mut Output) -> Result<(), Stopped> {
    let reference: Reference = reference
        .parse()
        .map_err(|error: Problem| Failure::from(error).into_usage())?;
    let interrupt = Interrupt::listen()?;
    let settings = PullSettings::from_environment();

    let pulled = pull::pull(&reference, &settings, &mut |progress| {
        out.steady_progress_line(|| words::pull_progress(progress));
        interrupt.flow()
    });
    out.clear_progress();
    let pulled = pulled.map_err(|error| match error {
        PullError::Stopped(_) => Stopped::Interrupted,
        error => error.into(),
    })?;

    if out.json {
        return Ok(out.json_pretty(&pulled)?);
    }
    let is_pulled = |model: &FoundModel| model.name == pulled.name;
    let found = discover(paths).into_iter().find(is_pulled);
    if let Some(problem) = found.as_ref().and_then(|found| found.problem.as_ref()) {
        return Err(problem.clone().into());
    }
    let role = found.and_then(|found| found.role);
    Ok(out.text(&harmless(&report(&pulled, role)))?)
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

    let PulledModel { name, file, .. } = pulled;
    let size = words::bytes(pulled.bytes);
    format!("{name} ({size}) {done}: {file}\nuse it: ragscope FOLDER {use_it}\n")
}

/// Lists the models that can be downloaded, for `memory_bytes` or for what this machine has free.
pub fn recommend(
    memory_bytes: Option<u64>,
    paths: &Paths,
    out: &mut Output,
) -> Result<(), Stopped> {
    let memory = match memory_bytes {
        Some(bytes) => MachineMemory {
            device: "--memory".to_owned(),
            free_bytes: Some(bytes),
            timely_bytes: None,
        },
        None => machine_memory(&Runtime::start(&paths.log_file())?),
    };
    let models = ModelTable::new()?;
    let offers = models.offers(&memory);

    if out.json {
        return Ok(out.json_pretty(&serde_json::json!({
            "made": models.made,
            "memory": memory,
            "models": offers,
        }))?);
    }
    for role in [
        ModelRole::Generator,
        ModelRole::Embedder,
        ModelRole::Reranker,
    ] {
        let of_role = offers.iter().filter(|offer| offer.role == role);
        let list = offer_list(&Vec::from_iter(of_role), &memory);
        out.text(&format!("{}\n{list}\n", role.name()))?;
    }
    Ok(out.dim(&remarks(&models.made, &memory))?)
}

/// Returns the models of a role, three lines each.
fn offer_list(offers: &[&OfferedModel], memory: &MachineMemory) -> String {
    let rows = offers.iter().map(|offer| offer_row(offer, memory));
    let rows: Vec<[String; 4]> = rows.collect();
    let mut text = String::new();
    for (line, offer) in table(&rows).lines().zip(offers) {
        text.push_str(&format!(
            "{line}\n    {}; {}\n    ragscope models pull {}\n",
            offer.languages, offer.note, offer.reference
        ));
    }
    text
}

fn offer_row(offer: &OfferedModel, memory: &MachineMemory) -> [String; 4] {
    let mark = if offer.is_best { "*" } else { " " };
    let is_slow = memory.is_slow_with(offer.role, offer.need.file_bytes);
    let fits = words::fit(offer.fits, is_slow);

    let checked = if offer.checked.is_empty() { " ?" } else { "" };
    [
        format!("{mark} {}", offer.name),
        format!("{}{checked}", words::bytes(offer.need.file_bytes)),
        fits.to_owned(),
        offer.licence.clone(),
    ]
}

fn remarks(made: &str, memory: &MachineMemory) -> String {
    let room = match memory.free_bytes {
        Some(bytes) => format!("{} for models ({})", words::bytes(bytes), memory.device),
        None => "this system does not report its free memory: give it with --memory".to_owned(),
    };
    format!(
        "* suits {room}: with a context of 8,192 tokens, room to compute, and the embedder and the reranker beside it; without a GPU it reads three sources in 8 s.\nThe bundled models need less than 0.2 GB. The list is of {made}; sizes marked ? were compared with no other source.\n"
    )
}
