//! `probe`: trains the probe of a generator, and describes weights files.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::{Paths, demo_corpus};
use crate::engine::{Calibration, ProbeQuestion};
use crate::eval::QuestionSet;
use crate::event::{
    ProbeCard, ProbeFigures, ProbeLabels, ProbeLayers, ProbeTurns, Problem, harmless,
};
use crate::files;
use crate::probe;
use crate::story::words;

use super::args::{Calibrating, ProbeCommand, Training};
use super::call::CommandCall;
use super::demo;
use super::failure::{Failure, Stopped};
use super::folders::check_folders;
use super::output::Output;
use super::work::Work;

/// The split of a question file that is kept out of training.
const HELD_OUT: &str = "held_out";

/// Runs `probe`.
pub fn run(what: &ProbeCommand, call: CommandCall<'_>) -> Result<(), Stopped> {
    match what {
        ProbeCommand::Train(training) => train(training, call),
        ProbeCommand::Calibrate(calibrating) => calibrate(calibrating, call),
        ProbeCommand::Show { file } => show(file.as_deref(), call.paths, call.out),
    }
}

fn train(what: &Training, call: CommandCall<'_>) -> Result<(), Stopped> {
    let CommandCall { flags, paths, out } = call;
    let layers = demo::choose_layers(what.demo, flags, paths)?;
    let folders = folders_or_demo(&what.folders);
    check_folders(&folders)?;

    let questions = read_questions(&what.questions, out)?;
    let file = what.out.as_deref();
    let trained = {
        let mut work = Work::new(layers, paths, out)?;
        work.prepare(&folders)?;
        work.run(|worker, publish| worker.train_probe(questions, file, publish))?
    };

    if !out.json {
        out.text(&harmless(&card_text(&trained.file, &trained.card)))?;
    }

    Ok(())
}

/// Returns these folders; the demo's when there are none.
fn folders_or_demo(folders: &[PathBuf]) -> Vec<PathBuf> {
    if folders.is_empty() {
        vec![demo_corpus()]
    } else {
        folders.to_owned()
    }
}

/// Reads the questions of these files, each question once.
fn read_questions(files: &[PathBuf], out: &mut Output) -> Result<Vec<ProbeQuestion>, Stopped> {
    let mut questions: Vec<ProbeQuestion> = Vec::new();
    for file in files {
        let set = QuestionSet::read(file, None)?;
        for remark in &set.remarks {
            out.remark(&format!("{}: {remark}", file.display()));
        }
        for question in set.questions {
            let mut known = questions.iter();
            if !known.any(|known| known.question == question.question) {
                questions.push(ProbeQuestion {
                    question: question.question,
                    answers: question.answers,
                    held_out: question.split == HELD_OUT,
                });
            }
        }
    }

    Ok(questions)
}

fn calibrate(what: &Calibrating, call: CommandCall<'_>) -> Result<(), Stopped> {
    let CommandCall { flags, paths, out } = call;
    let mut layers = demo::choose_layers(what.demo, flags, paths)?;
    layers.set("--limit", "probe.questions", &what.limit.to_string())?;
    let folders = folders_or_demo(&what.folders);
    check_folders(&folders)?;
    let mut questions = read_questions(&what.questions, out)?;
    questions.truncate(what.limit as usize);

    let found = {
        let mut work = Work::new(layers, paths, out)?;
        work.prepare(&folders)?;
        work.run(|worker, publish| worker.calibrate(questions, publish))?
    };
    let preset = preset_name(&found.generator);
    let file = paths.config.join("presets").join(format!("{preset}.toml"));
    write_preset(&file, &preset_text(&found))?;
    let value = serde_json::json!({ "calibration": found, "preset": preset, "file": file });
    out.print(&value, || calibration_text(&found, &preset, &file))
}

/// Returns the name of the preset for a generator: `searag-` and its file name.
fn preset_name(generator: &str) -> String {
    let stem = generator.trim_end_matches(".gguf").to_lowercase();
    format!("searag-{stem}")
}

/// Returns SEARAG with these thresholds.
fn preset_text(found: &Calibration) -> String {
    format!(
        "# SEARAG for {}: the gate compares the token entropy with a threshold from {} of its own sentences.\n[retriever]\nkind = \"hybrid\"\n\n[gate]\nkind = \"token_entropy\"\nthreshold = {:.3}\n\n[query]\nkind = \"in_turn\"\n",
        found.generator, found.sentences, found.token_entropy_threshold
    )
}

fn write_preset(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| files::replace(file, text.as_bytes()));
    written.map_err(|error| {
        Failure::new(
            format!("cannot write {} ({error})", file.display()),
            "grant yourself write permission, or free some space",
        )
    })
}

fn calibration_text(found: &Calibration, preset: &str, file: &Path) -> String {
    let agreement = match found.agreement.map(|agreement| agreement * 100.0) {
        Some(percent) => format!("agreement with the semantic entropy {percent:.0} %"),
        None => "all of one kind, so the threshold is the median".to_owned(),
    };

    format!(
        "{}: {}, {} of them uncertain (semantic entropy above {:.2} nats)\n  uncertain above a token entropy of {:.3} nats ({agreement})\n  written to {}: use it with --preset {preset}\n",
        found.generator,
        words::quantity(found.sentences as u64, "sentence"),
        found.uncertain,
        found.semantic_entropy_threshold,
        found.token_entropy_threshold,
        file.display(),
    )
}

/// A weights file as `probe show --json` prints it.
#[derive(Serialize)]
struct Shown {
    file: PathBuf,
    probe: Option<ProbeCard>,
    /// The reason that it cannot be read.
    #[serde(flatten)]
    problem: Option<Problem>,
}

fn show(file: Option<&Path>, paths: &Paths, out: &mut Output) -> Result<(), Stopped> {
    let read = |file: PathBuf| (probe::describe(&file), file);
    let found: Vec<(Result<ProbeCard, Problem>, PathBuf)> = match file {
        Some(file) => vec![read(file.to_owned())],
        None => {
            let folders = probe::folders(paths).into_iter();
            let files = folders.flat_map(|folder| probe::files(&folder));
            files.map(read).collect()
        }
    };

    if let (Some(_), Some((Err(error), _))) = (file, found.first()) {
        return Err(error.clone().into());
    }

    if out.json {
        let shown = found.into_iter().map(|(card, file)| {
            let problem = card.as_ref().err().cloned();
            let probe = card.ok();
            Shown {
                file,
                probe,
                problem,
            }
        });
        let shown: Vec<Shown> = shown.collect();
        return Ok(out.json_pretty(&serde_json::json!({ "probes": shown }))?);
    }

    if found.is_empty() {
        out.text("No probe found: `ragscope probe train FOLDER` trains one.\n")?;
    }

    for (card, file) in &found {
        match card {
            Ok(card) => out.text(&harmless(&card_text(file, card)))?,
            Err(error) => out.text(&harmless(&format!("{}\n", error.line())))?,
        }
    }

    Ok(())
}

fn card_text(file: &Path, card: &ProbeCard) -> String {
    let turns = match card.turns {
        ProbeTurns::Multi => "sentences after those before them",
        ProbeTurns::Single => "first sentences alone",
    };
    let labels = match card.labels {
        ProbeLabels::SemanticEntropy => "their semantic entropy",
        ProbeLabels::Accuracy => "whether the answer is right",
    };
    let layers = match card.reads {
        ProbeLayers::All => "every layer but the first",
        ProbeLayers::Middle => "the middle layer",
    };

    let network = match card.hidden {
        2 => "logistic regression".to_owned(),
        units => format!("{units} hidden units"),
    };

    let mut text = format!(
        "{}\n  for {} (fingerprint {}), {} layers of width {}\n  reads the first token of a sentence in {layers}; {network}; seed {}\n  trained on {turns}, labelled by {labels}\n  certain up to a semantic entropy of {:.3} nats over {} samples (lambda {})\n  trained on {} questions: {} certain and {} uncertain sentences\n",
        file.display(),
        card.generator,
        &card.fingerprint[..card.fingerprint.len().min(12)],
        card.layers,
        card.width,
        card.seed,
        card.entropy_threshold,
        card.samples,
        card.lambda,
        card.questions,
        card.certain,
        card.uncertain,
    );

    text.push_str(&match &card.held_out {
        Some(figures) => figures_text(figures, card.labels),
        None => "  not measured: no question was held out\n".to_owned(),
    });
    text
}

/// Returns the figures of a probe on the questions that were held out.
fn figures_text(figures: &ProbeFigures, labels: ProbeLabels) -> String {
    let class = match labels {
        ProbeLabels::SemanticEntropy => "uncertain",
        ProbeLabels::Accuracy => "in wrong answers",
    };

    let area = |area: Option<f64>| area.map_or("-".to_owned(), |area| format!("{area:.3}"));
    format!(
        "  held out: {} sentences of {} questions, {} of them {class}\n    AUROC   probe {}   entropy of the first token {}, of the sentence {}   sampled again {}\n    accuracy at 0.5: {:.1} %; {:.2} ms per reading\n",
        figures.sentences,
        figures.questions,
        figures.uncertain,
        area(figures.auroc),
        area(figures.first_token_auroc),
        area(figures.token_entropy_auroc),
        area(figures.semantic_entropy_auroc),
        figures.accuracy * 100.0,
        figures.reading_us as f64 / 1e3,
    )
}
