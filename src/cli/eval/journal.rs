//! The journal of an evaluation: its name, and the answers that it holds.

use std::path::PathBuf;

use super::asked::AskedQuestions;
use super::variants::Variant;
use crate::cli::args::Evaluation;
use crate::cli::failure::Stopped;
use crate::cli::output::Output;
use crate::config::{Config, Paths, assets_folder};
use crate::corpus::FoundFile;
use crate::eval::{Plan, Row};
use crate::llm;
use crate::trace::Journal;

/// Opens the journal of this evaluation, and reports the answers that it already contains.
pub(super) fn open(
    name: &str,
    plan: &Plan,
    what: &Evaluation,
    paths: &Paths,
    out: &mut Output,
) -> Result<Journal<Row>, Stopped> {
    let file = format!("{name}.jsonl");
    let mut journal = Journal::open(&paths.evaluations().join(file), name)?;
    if what.fresh {
        journal.clear()?;
    }

    if plan.count_left(&journal) == 0 {
        out.remark("every question is already answered; --fresh asks them again");
    } else if !journal.rows().is_empty() {
        let known = journal.rows().len();
        out.remark(&format!(
            "continuing after {known} answers; --fresh starts over"
        ));
    }
    Ok(journal)
}

/// Returns the name of this evaluation: a hash of the settings, the questions, the documents, and
/// the files that an answer depends on (models, prompts, probes and the program).
pub(super) fn name(
    variants: &[Variant],
    asked: &AskedQuestions,
    files: &[FoundFile],
    what: &Evaluation,
    paths: &Paths,
) -> Result<String, Stopped> {
    let mut hasher = blake3::Hasher::new();
    if what.diagnose {
        hasher.update(b"diagnosed");
    }
    if what.stress {
        hasher.update(b"stressed");
    }
    let mut dependencies = program_files(paths);
    for variant in variants {
        let config = variant.layers.config()?;
        let settings = serde_json::to_string(&config).unwrap_or_default();
        hasher.update(settings.as_bytes());
        dependencies.extend(model_files(&config, paths));
    }

    dependencies.sort();
    dependencies.dedup();
    for file in dependencies {
        if let Ok(about) = file.metadata() {
            let modified = about.modified().ok();
            let stamp = format!("{} {} {modified:?}", file.display(), about.len());
            hasher.update(stamp.as_bytes());
        }
    }
    for question in &asked.questions {
        let limit = asked.limits.get(&question.id);
        hasher.update(format!("{question:?} {limit:?}").as_bytes());
    }
    for file in files {
        let stamp = format!("{} {} {}", file.path, file.bytes, file.times.modified_ns);
        hasher.update(stamp.as_bytes());
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Returns the program with the prompts and probes that it may read.
fn program_files(paths: &Paths) -> Vec<PathBuf> {
    let folders = [
        paths.config.join("prompts"),
        paths.probes(),
        assets_folder().join("probes"),
    ];

    let folders = folders.into_iter().flat_map(std::fs::read_dir);
    let files = folders.flatten().flatten().map(|entry| entry.path());
    std::env::current_exe().into_iter().chain(files).collect()
}

/// Returns the files of the models that a configuration names.
fn model_files(config: &Config, paths: &Paths) -> Vec<PathBuf> {
    let models = [
        Some(config.generator.model.as_str()),
        Some(config.embedder.model.as_str()),
        config.reranker.model.file(),
        config.judge.model.file(),
    ];
    // a model that cannot be found is reported where it is loaded
    let found = models.into_iter().flatten();
    found
        .filter_map(|model| llm::resolve(model, paths).ok())
        .collect()
}
