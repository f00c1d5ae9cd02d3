//! `doctor`: checks the build and the machine, and reports how to fix problems.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::config::{Config, Layers, Paths, assets_folder};
use crate::engine::{LINKER_ADVICE, sentence_model};
use crate::event::{Flow, ModelCard, ModelRole, Problem, StopFlag, harmless};
use crate::files;
use crate::index::{Health, health};
use crate::llm::bundled::listed;
use crate::llm::memory::{machine_memory, shortage};
use crate::llm::rpc::RpcWorker;
use crate::llm::server::{ServerEmbedder, ServerReranker, connect_generator};
use crate::llm::{
    Embedder, LlmError, Reranker as _, Runtime, TEMPLATE_ADVICE, linker_misfit, load_embedder,
    open_generator, resolve,
};
use crate::probe::{Probe, ProbeError};
use crate::remote::remote_health;
use crate::story::words;

use super::failure::{Exit, Stopped};
use super::output::Output;

/// Minimum size of the screen, columns and rows.
const MIN_SCREEN: (u16, u16) = (60, 16);

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    what: String,
    state: State,
    found: String,
    /// The way to fix it; `None` when there is no problem.
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    /// Works, but less well than it could.
    Poor,
    /// A failure.
    Wrong,
}

impl Check {
    fn good(what: &str, found: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: State::Good,
            found: found.into(),
            advice: None,
        }
    }

    fn poor(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::of(what, State::Poor, Problem::new(found, advice))
    }

    fn wrong(what: &str, problem: impl Into<Problem>) -> Self {
        Self::of(what, State::Wrong, problem.into())
    }

    fn of(what: &str, state: State, problem: Problem) -> Self {
        Self {
            what: what.to_owned(),
            state,
            found: problem.error,
            advice: problem.advice,
        }
    }
}

/// Runs all checks and prints them; the command fails when one of them does.
pub fn run(
    layers: Result<Layers, Stopped>,
    paths: &Paths,
    out: &mut Output,
) -> Result<Exit, Stopped> {
    let mut checks = Vec::new();
    let config = match layers.map(|layers| layers.config()) {
        Ok(Ok(config)) => Some(config),
        Ok(Err(error)) => {
            checks.push(Check::wrong("settings", error));
            None
        }
        Err(Stopped::Failure(failure)) => {
            checks.push(Check::wrong("settings", failure.problem));
            None
        }
        Err(stopped) => return Err(stopped),
    };
    checks.extend(folders(paths));
    checks.push(bundled_models(&assets_folder().join("models")));
    match Runtime::start(&paths.log_file()) {
        Ok(runtime) => {
            checks.push(build(&runtime));
            checks.push(devices(&runtime));
            checks.extend(config.iter().flat_map(workers));
            let config_memory = |config| memory(&runtime, config, paths);
            checks.extend(config.iter().filter_map(config_memory));
            checks.extend(
                config
                    .iter()
                    .flat_map(|config| models(&runtime, config, paths)),
            );
        }
        Err(error) => checks.push(Check::wrong("llama.cpp", error)),
    }
    checks.extend(indexes(paths));
    checks.extend(config.iter().filter_map(engine));
    checks.push(terminal());
    print(&checks, out)?;
    Ok(if checks.iter().any(|check| check.state == State::Wrong) {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn print(checks: &[Check], out: &mut Output) -> std::io::Result<()> {
    if out.json {
        return out.json_pretty(&serde_json::json!({ "checks": checks }));
    }
    let width = checks
        .iter()
        .map(|check| check.what.chars().count())
        .max()
        .unwrap_or(0);
    for check in checks {
        let mark = match check.state {
            State::Good => "ok    ",
            State::Poor => "note  ",
            State::Wrong => "WRONG ",
        };
        out.text(&harmless(&format!(
            "{mark}{:<width$}  {}\n",
            check.what, check.found
        )))?;
        if let Some(advice) = &check.advice {
            out.text(&harmless(&format!("      {:<width$}  fix: {advice}\n", "")))?;
        }
    }
    Ok(())
}

fn build(runtime: &Runtime) -> Check {
    let features = runtime.features();
    let found = format!(
        "ragscope {}, {}",
        env!("CARGO_PKG_VERSION"),
        features.join(" ")
    );
    let slow = cfg!(target_arch = "x86_64") && !features.iter().any(|feature| feature == "AVX2");

    if slow {
        Check::poor(
            "build",
            found,
            "models run without AVX2: use a release build, which selects kernels for the processor",
        )
    } else {
        Check::good("build", found)
    }
}

fn devices(runtime: &Runtime) -> Check {
    let found: Vec<String> = runtime
        .devices()
        .iter()
        .map(|device| {
            format!(
                "{} ({}, {})",
                device.name,
                device.description.trim(),
                words::bytes(device.memory_bytes)
            )
        })
        .collect();
    if found.is_empty() {
        return Check::wrong(
            "devices",
            Problem::new("llama.cpp found no device", "rebuild with `make demo`"),
        );
    }
    Check::good("devices", found.join(", "))
}

/// Checks each worker of the settings: whether it answers, and its memory.
fn workers(config: &Config) -> Vec<Check> {
    let check = |endpoint: &String| match RpcWorker::ask(endpoint) {
        Ok(worker) => {
            let memory: Vec<String> = worker
                .devices
                .iter()
                .map(|device| {
                    format!(
                        "{} free of {}",
                        words::bytes(device.free_bytes),
                        words::bytes(device.memory_bytes)
                    )
                })
                .collect();
            let [major, minor, patch] = worker.version;
            Check::good(
                "worker",
                format!(
                    "{endpoint}: {}, protocol {major}.{minor}.{patch}",
                    memory.join(" and ")
                ),
            )
        }
        Err(error) => Check::wrong("worker", error),
    };
    config.generator.rpc.iter().map(check).collect()
}

fn folders(paths: &Paths) -> Vec<Check> {
    let all = [
        ("settings folder", &paths.config),
        ("data folder", &paths.data),
        ("sessions", &paths.sessions()),
        ("cache", &paths.cache),
    ];
    all.map(|(what, folder)| match try_writing(folder) {
        Ok(()) if files::is_private(folder).is_ok_and(|is_private| !is_private) => Check::wrong(
            what,
            Problem::new(
                format!("other users can read {}", folder.display()),
                "it belongs to another user: set RAGSCOPE_HOME to a folder of your own",
            ),
        ),
        Ok(()) => Check::good(what, folder.display().to_string()),
        Err(error) => Check::wrong(
            what,
            Problem::new(
                format!("cannot write {} ({error})", folder.display()),
                "grant yourself write permission, free some space, or set RAGSCOPE_HOME to another folder",
            ),
        ),
    })
    .into()
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    files::private_folder(folder)?;
    let written = fs::write(&probe, b"ragscope doctor\n");
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

/// Checks that the bundled files are intact: a damaged weight may load and only answer worse.
fn bundled_models(folder: &Path) -> Check {
    let what = "bundled models";
    let mut names = Vec::new();
    let mut wrong = Vec::new();

    for model in listed() {
        match model.is_unchanged(folder) {
            Ok(true) => names.push(model.file),
            Ok(false) => wrong.push(format!(
                "{} differs from the file that MODELS.md lists",
                model.file
            )),
            Err(error) => wrong.push(format!("{} cannot be read ({error})", model.file)),
        }
    }
    if wrong.is_empty() {
        return Check::good(
            what,
            format!("as MODELS.md lists them: {}", names.join(", ")),
        );
    }
    let advice = format!(
        "restore it in {} (`git checkout -- assets/models` in the checkout); if you trained it yourself, update its checksum in MODELS.md",
        folder.display()
    );
    Check::poor(what, wrong.join("; "), &advice)
}

/// Whether the generator fits the free memory, before it is loaded.
fn memory(runtime: &Runtime, config: &Config, paths: &Paths) -> Option<Check> {
    let what = "memory";
    if !config.generator.url.is_empty() {
        return None;
    }
    let file = resolve(&config.generator.model, paths).ok()?;
    Some(match shortage(runtime, &file, &config.generator).ok()? {
        Some((need, free_bytes)) => Check::poor(
            what,
            format!(
                "{} {}",
                config.generator.model,
                words::memory(need, free_bytes)
            ),
            "choose a smaller model (`ragscope models recommend`), or lower generator.context_tokens; what does not fit is read from the disk again and again",
        ),
        // each worker has a line of its own
        None if !config.generator.rpc.is_empty() => return None,
        None => {
            let memory = machine_memory(runtime);
            let free_bytes = memory
                .free_bytes
                .map_or("an unknown size".to_owned(), words::bytes);
            Check::good(what, format!("{free_bytes} free on {}", memory.device))
        }
    })
}

fn models(runtime: &Runtime, config: &Config, paths: &Paths) -> Vec<Check> {
    let stop = StopFlag::default();
    let mut silent = |_fraction: f32| Flow::Continue;
    let generator = if config.generator.url.is_empty() {
        loaded(&config.generator.model, paths, |file| {
            open_generator(runtime, file, &config.generator, &stop, &mut silent)
                .map(|model| model.card().clone())
        })
    } else {
        timed(|| {
            let connected = connect_generator(&config.generator, &config.server, &stop)?;
            Ok(connected.generator.card().clone())
        })
    };
    let mut silent = |_fraction: f32| Flow::Continue;
    let embedder = if config.embedder.url.is_empty() {
        loaded(&config.embedder.model, paths, |file| {
            load_embedder(runtime, file, &config.embedder, &stop, &mut silent)
                .map(|model| model.card().clone())
        })
    } else {
        timed(|| {
            ServerEmbedder::connect(&config.embedder, &config.server, &stop)
                .map(|model| model.card().clone())
        })
    };
    let reranker = (!config.reranker.url.is_empty()).then(|| {
        let connected = timed(|| {
            ServerReranker::connect(&config.reranker, &config.server, &stop)
                .map(|model| model.card().clone())
        });
        model(ModelRole::Reranker, connected)
    });
    let of_generator = generator
        .as_ref()
        .ok()
        .map(|(card, _)| probe(config, paths, card));
    let is_practice = generator.as_ref().is_ok_and(|(card, _)| card.practice);
    let practice = is_practice.then(|| {
        Check::poor(
            "generator",
            words::PRACTICE,
            "`ragscope models recommend` lists models for this machine",
        )
    });
    let of_linker = embedder
        .as_ref()
        .ok()
        .and_then(|(card, _)| linker(config, paths, card));
    let models = [
        model(ModelRole::Generator, generator),
        model(ModelRole::Embedder, embedder),
    ];
    models
        .into_iter()
        .chain(reranker)
        .chain(practice)
        .chain(of_generator)
        .chain(of_linker)
        .collect()
}

/// Checks that the sentence-level linker reads the vectors of this embedder. The generator links
/// otherwise, so that it is not a failure.
fn linker(config: &Config, paths: &Paths, embedder: &ModelCard) -> Option<Check> {
    let what = ModelRole::Linker.name();
    let model = sentence_model(&config.linker.model);
    let file = resolve(model, paths).ok()?;
    match linker_misfit(&file, embedder) {
        Ok(None) => Some(Check::good(
            what,
            format!("{model} reads the vectors of {}", embedder.file),
        )),
        Ok(Some(reason)) => Some(Check::poor(
            what,
            format!("{reason}; with linker.kind = \"sentence\" the generator links instead"),
            LINKER_ADVICE,
        )),
        Err(error) => Some(Check::wrong(what, error)),
    }
}

/// Checks the probe. The gate falls back to the token entropy, so a missing probe is not a failure.
fn probe(config: &Config, paths: &Paths, generator: &ModelCard) -> Check {
    if !config.generator.url.is_empty() {
        let error = ProbeError::Inside {
            host: generator.device.clone(),
        };
        let Problem { error, advice } = error.into();
        let error = format!("{error}; the gate uses the token entropy instead");
        return Check::of("probe", State::Poor, Problem { error, advice });
    }
    match Probe::named(config, paths, generator) {
        Ok((file, probe)) => {
            let auroc = probe.card.held_out.and_then(|figures| figures.auroc);
            let quality = auroc.map_or("not measured".to_owned(), |auroc| {
                format!("AUROC {auroc:.2} held out")
            });
            Check::good(
                "probe",
                format!("{} for {} ({quality})", file.display(), generator.file),
            )
        }
        Err(error) => {
            let Problem { error, advice } = error.into();
            let error = format!("{error}; the gate uses the token entropy instead");
            Check::of("probe", State::Poor, Problem { error, advice })
        }
    }
}

fn loaded(
    name: &str,
    paths: &Paths,
    load: impl FnOnce(&PathBuf) -> Result<ModelCard, LlmError>,
) -> Result<(ModelCard, u128), LlmError> {
    let file = resolve(name, paths)?;
    timed(|| load(&file))
}

fn timed(
    load: impl FnOnce() -> Result<ModelCard, LlmError>,
) -> Result<(ModelCard, u128), LlmError> {
    let started = Instant::now();
    let card = load()?;
    Ok((card, started.elapsed().as_millis()))
}

fn model(role: ModelRole, loaded: Result<(ModelCard, u128), LlmError>) -> Check {
    match loaded {
        Ok((card, ms)) if !card.server.is_empty() => {
            let found = format!(
                "{} on the server {}, connected in {ms} ms; {}",
                card.file, card.device, card.server
            );
            Check::good(role.name(), found)
        }
        Ok((card, ms)) => {
            let found = format!(
                "{} ({} {}, {}), loaded on {} in {ms} ms, {} tokens of context{}",
                card.file,
                card.architecture,
                card.quantisation,
                words::bytes(card.file_bytes),
                words::device(&card),
                card.context_tokens,
                words::prefixes(&card.prefixes)
            );
            if card.template_fallback.is_empty() {
                Check::good(role.name(), found)
            } else {
                Check::poor(
                    role.name(),
                    format!("{found}; {}", card.template_fallback),
                    TEMPLATE_ADVICE,
                )
            }
        }
        Err(error) => Check::wrong(role.name(), error),
    }
}

fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        return Check::good(
            "terminal",
            "not a terminal: the screen needs one, the other commands do not",
        );
    }
    let name = std::env::var("TERM").unwrap_or_default();
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    let colours = crossterm::style::available_color_count();
    let found = format!("{name}, {columns}x{rows}, {colours} colours");
    if name == "dumb" {
        return Check::poor(
            "terminal",
            found,
            "the screen does not work in a dumb terminal: use another one",
        );
    }
    if columns < MIN_SCREEN.0 || rows < MIN_SCREEN.1 {
        return Check::poor(
            "terminal",
            found,
            "enlarge it to at least 60 columns and 16 rows for the screen",
        );
    }
    Check::good("terminal", found)
}

/// Checks every index: its files, checksums and counts.
fn indexes(paths: &Paths) -> Vec<Check> {
    let indexes = paths.indexes();
    let found = health(&indexes);
    if found.is_empty() {
        return vec![Check::good(
            "indexes",
            format!("none yet in {}", indexes.display()),
        )];
    }
    found.into_iter().map(index).collect()
}

/// Checks the database of an index on other machines: whether it can be reached, and what it holds.
fn engine(config: &Config) -> Option<Check> {
    let what = "database";
    let shown = |version: &str| format!("{version} at {}", config.index.url);
    Some(match remote_health(&config.index) {
        Ok(None) => return None,
        Ok(Some(health)) => {
            let found = format!(
                "{}: collection {}, {}, {}, {}",
                shown(&health.version),
                health.collection,
                words::counted(health.parts as u64, "part"),
                words::counted(health.documents, "document"),
                words::counted(health.chunks, "chunk"),
            );
            if health.is_open {
                let advice = "let the server offer TLS, and take sslmode=disable out of index.url";
                Check::poor(
                    what,
                    format!("{found}; what is sent is not encrypted"),
                    advice,
                )
            } else {
                Check::good(what, found)
            }
        }
        Err(error) => Check::wrong(what, error),
    })
}

fn index(health: Health) -> Check {
    let Health {
        folder,
        root,
        generation,
        documents,
        chunks,
        problem,
        ..
    } = health;
    let documents = words::counted(documents, "document");
    let chunks = words::counted(chunks, "chunk");
    let found = format!("{folder}: {documents}, {chunks}, generation {generation}");
    match problem {
        Some(problem) => Check::wrong("index", problem),
        None if Path::new(&folder).is_dir() => Check::good("index", found),
        None => Check::poor(
            "index",
            found,
            &format!(
                "the folder no longer exists: delete {} to free its space",
                root.display()
            ),
        ),
    }
}
