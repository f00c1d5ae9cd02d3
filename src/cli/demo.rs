//! `demo`: the bundled corpus, its settings, and the questions prepared for it.

use std::fmt::Display;
use std::path::PathBuf;

use serde::Deserialize;

use crate::config::{Layers, Paths, demo_corpus, demo_folder};
use crate::event::harmless;

use super::args::Shared;
use super::ask::AskedQuestion;
use super::call::CommandCall;
use super::failure::{Exit, Failure, Stopped};
use super::settings::{self, with_flags};
use super::text::{Detail, RunText};
use super::work::Work;

/// A question of `assets/demo/prepared.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    pub question: String,
    pub preset: String,
    /// The right answer.
    pub answer: String,
    /// Points the reader to what the run demonstrates.
    pub shows: String,
}

/// Returns the file of the questions about it, with their answers.
pub fn question_file() -> PathBuf {
    demo_folder().join("questions.jsonl")
}

/// Returns the settings: those of the demo, then those of the user, then the flags.
///
/// # Errors
/// As [`super::settings::layers`]; a demo that is not where it should be.
pub fn layers(flags: &Shared, paths: &Paths) -> Result<Layers, Stopped> {
    let mut layers = Layers::load(paths)?;
    let own = demo_folder().join("ragscope.toml");
    layers.add_base_layer(&own).map_err(not_found)?;
    with_flags(layers, flags)
}

/// Returns the settings of a command: those of the demo, or of the user alone.
///
/// # Errors
/// As [`layers`].
pub(super) fn choose_layers(
    is_demo: bool,
    flags: &Shared,
    paths: &Paths,
) -> Result<Layers, Stopped> {
    if is_demo {
        layers(flags, paths)
    } else {
        settings::layers(flags, paths)
    }
}

/// Reads the questions prepared for the demo, in the order in which they are offered.
///
/// # Errors
/// A demo that is not where it should be.
pub fn questions() -> Result<Vec<Prepared>, Stopped> {
    #[derive(Deserialize)]
    struct File {
        question: Vec<Prepared>,
    }
    let file = demo_folder().join("prepared.toml");
    let wrong = |error: &dyn Display| not_found(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(&error))?;
    let known: File = toml::from_str(&text).map_err(|error| wrong(&error))?;
    Ok(known.question)
}

fn not_found(error: impl ToString) -> Failure {
    Failure::new(
        format!("cannot read the demo ({})", error.to_string()),
        "run ragscope in its checkout, or set RAGSCOPE_ASSETS to its assets folder",
    )
}

/// Asks the first prepared question and prints the run as text.
pub(super) fn print(call: CommandCall<'_>) -> Result<Exit, Stopped> {
    let CommandCall { flags, paths, out } = call;
    let mut layers = layers(flags, paths)?;
    let first = questions()?.into_iter().next();
    let prepared = first.ok_or_else(|| not_found("prepared.toml lists no question"))?;
    let preset = flags.preset.as_ref();
    let as_prepared = preset.is_none_or(|preset| *preset == prepared.preset);
    if flags.preset.is_none() {
        layers.set("demo", "preset", &prepared.preset)?;
    }

    // what the question shows takes vectors
    layers.set("demo", "index.first_answer", "vectors")?;

    let folders = [demo_corpus()];
    let exit = Work::new(layers, paths, out)?.ask(AskedQuestion {
        folders: &folders,
        text: &prepared.question,
        thread: None,
        shown: RunText::new(Detail::Run),
    })?;

    if !out.json {
        // `shows` describes a run under the preset that the question was prepared for
        let shows = if as_prepared {
            format!("{}\n", prepared.shows)
        } else {
            String::new()
        };
        let expected = prepared.answer;
        out.dim(&harmless(&format!("\nexpected: {expected}\n{shows}")))?;
    }

    Ok(exit)
}
