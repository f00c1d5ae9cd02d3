//! The models: whether they are intact, fit, load and answer.

use std::path::Path;
use std::time::Instant;

use super::check::{Check, CheckState};
use super::self_test;
use crate::config::{Config, Paths};
use crate::engine::{LINKER_ADVICE, SENTENCE_MODEL};
use crate::event::{Flow, ModelCard, ModelRole, Problem, StopFlag};
use crate::llm::memory::{machine_memory, shortage};
use crate::llm::server::{ServerEmbedder, ServerReranker, connect_generator};
use crate::llm::{
    Embedder, LlmError, Reranker as _, Runtime, TEMPLATE_ADVICE, bundled, linker_misfit,
    load_embedder, open_generator, resolve,
};
use crate::probe::{self, Probe};
use crate::story::words;

/// A model that was loaded, and the milliseconds that it took.
type Loaded<T = ModelCard> = Result<(T, u128), LlmError>;

/// Checks that the bundled files are intact: a damaged weight may load and only answer worse.
pub(super) fn bundled_models(folder: &Path) -> Check {
    let what = "bundled models";
    let mut names = Vec::new();
    let mut wrong = Vec::new();

    for model in bundled::models() {
        match model.is_unchanged(folder) {
            Ok(true) => names.push(model.file),
            Ok(false) => {
                let file = model.file;
                wrong.push(format!("{file} differs from the file that MODELS.md lists"));
            }
            Err(error) => wrong.push(format!("{} cannot be read ({error})", model.file)),
        }
    }
    if wrong.is_empty() {
        let found = format!("as MODELS.md lists them: {}", names.join(", "));
        return Check::good(what, found);
    }
    let advice = format!(
        "restore it in {} (`git checkout -- assets/models` in the checkout); if you trained it yourself, update its checksum in MODELS.md",
        folder.display()
    );
    Check::poor(what, wrong.join("; "), &advice)
}

/// Checks that the generator fits the free memory, before it is loaded.
pub(super) fn memory(runtime: &Runtime, config: &Config, paths: &Paths) -> Option<Check> {
    let what = "memory";
    if !config.generator.url.is_empty() {
        return None;
    }

    let file = resolve(&config.generator.model, paths).ok()?;
    Some(match shortage(runtime, &file, &config.generator).ok()? {
        Some((need, free_bytes)) => {
            let memory = words::memory(need, free_bytes);
            Check::poor(
                what,
                format!("{} {memory}", config.generator.model),
                "choose a smaller model (`ragscope models recommend`), or lower generator.context_tokens; what does not fit is read from the disk again and again",
            )
        }
        // each worker has a line of its own
        None if !config.generator.rpc.is_empty() => return None,
        None => {
            let memory = machine_memory(runtime);
            let free = memory.free_bytes.map(words::bytes);
            let free = free.unwrap_or("an unknown size".to_owned());
            Check::good(what, format!("{free} free on {}", memory.device))
        }
    })
}

/// Checks each model of the settings, and what depends on it.
pub(super) fn models(runtime: &Runtime, config: &Config, paths: &Paths) -> Vec<Check> {
    let stop = StopFlag::default();
    let generator = generator(runtime, config, paths, &stop);
    let mut embedder = embedder(runtime, config, paths, &stop);
    let vectors = embedder.as_mut().ok();
    let vectors = vectors.map(|(embedder, _)| self_test::vectors(&mut **embedder));
    let embedder = embedder.map(|(embedder, ms)| (embedder.card().clone(), ms));
    let card = |loaded: &Loaded| loaded.as_ref().ok().map(|(card, _)| card.clone());
    let generates = card(&generator);
    let embeds = card(&embedder);

    let mut checks = vec![
        model(ModelRole::Generator, generator),
        model(ModelRole::Embedder, embedder),
    ];
    checks.extend(vectors);
    if !config.reranker.url.is_empty() {
        let connect = || ServerReranker::connect(&config.reranker, &config.server, &stop);
        let connected = time(|| Ok(connect()?.card().clone()));
        checks.push(model(ModelRole::Reranker, connected));
    }
    if generates.as_ref().is_some_and(|card| card.practice) {
        let advice = "`ragscope models recommend` lists models for this machine";
        checks.push(Check::poor("generator", words::PRACTICE, advice));
    }
    checks.extend(generates.map(|card| probe(config, paths, &card)));
    checks.extend(embeds.and_then(|card| linker(paths, &card)));
    checks
}

fn generator(runtime: &Runtime, config: &Config, paths: &Paths, stop: &StopFlag) -> Loaded {
    if !config.generator.url.is_empty() {
        return time(|| {
            let connected = connect_generator(&config.generator, &config.server, stop)?;
            Ok(connected.generator.card().clone())
        });
    }
    let file = resolve(&config.generator.model, paths)?;
    let silent = &mut |_fraction: f32| Flow::Continue;
    let mut load = || open_generator(runtime, &file, &config.generator, stop, silent);
    time(|| Ok(load()?.card().clone()))
}

fn embedder(
    runtime: &Runtime,
    config: &Config,
    paths: &Paths,
    stop: &StopFlag,
) -> Loaded<Box<dyn Embedder>> {
    if !config.embedder.url.is_empty() {
        let connect = || ServerEmbedder::connect(&config.embedder, &config.server, stop);
        return time(|| Ok(Box::new(connect()?) as Box<dyn Embedder>));
    }
    let file = resolve(&config.embedder.model, paths)?;
    let silent = &mut |_fraction: f32| Flow::Continue;
    let mut load = || load_embedder(runtime, &file, &config.embedder, stop, silent);
    time(|| Ok(Box::new(load()?) as Box<dyn Embedder>))
}

/// Checks that the sentence-level linker reads the vectors of this embedder. The generator links
/// otherwise, so that it is not a failure.
fn linker(paths: &Paths, embedder: &ModelCard) -> Option<Check> {
    let what = ModelRole::Linker.name();
    let model = SENTENCE_MODEL;
    let file = resolve(model, paths).ok()?;

    Some(match linker_misfit(&file, embedder) {
        Ok(None) => {
            let found = format!("{model} reads the vectors of {}", embedder.file);
            Check::good(what, found)
        }
        Ok(Some(reason)) => {
            let instead = "with linker.kind = \"sentence\" the generator links instead";
            Check::poor(what, format!("{reason}; {instead}"), LINKER_ADVICE)
        }
        Err(error) => Check::wrong(what, error),
    })
}

/// Checks the probe. The gate falls back to the token entropy, so a missing probe is not a failure.
fn probe(config: &Config, paths: &Paths, generator: &ModelCard) -> Check {
    let found = if config.generator.url.is_empty() {
        Probe::for_generator(config, paths, generator)
    } else {
        Err(probe::no_inside(&generator.device))
    };

    match found {
        Ok((file, probe)) => {
            let auroc = probe.card.held_out.and_then(|figures| figures.auroc);
            let quality = auroc.map(|auroc| format!("AUROC {auroc:.2} held out"));
            let quality = quality.unwrap_or("not measured".to_owned());
            let found = format!("{} for {} ({quality})", file.display(), generator.file);
            Check::good("probe", found)
        }
        Err(error) => {
            let Problem { error, advice } = error;
            let error = format!("{error}; the gate uses the token entropy instead");
            Check::new("probe", CheckState::Poor, Problem { error, advice })
        }
    }
}

fn time<T>(load: impl FnOnce() -> Result<T, LlmError>) -> Loaded<T> {
    let started = Instant::now();
    let loaded = load()?;
    Ok((loaded, started.elapsed().as_millis()))
}

/// Describes a model that was loaded.
fn model(role: ModelRole, loaded: Loaded) -> Check {
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
                let found = format!("{found}; {}", card.template_fallback);
                Check::poor(role.name(), found, TEMPLATE_ADVICE)
            }
        }
        Err(error) => Check::wrong(role.name(), error),
    }
}
