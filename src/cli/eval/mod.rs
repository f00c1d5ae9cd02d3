//! `eval`: asks every question of a file under each preset, and compares the results.

mod corpus;
mod variants;
mod paper;
mod asked;
mod journal;
mod answers;
mod calls;
mod make;
mod verdicts;

use std::path::Path;

use crate::cli::args::{Evaluation, Shared};
use crate::cli::call::CommandCall;
use crate::cli::demo;
use crate::cli::failure::{Exit, Failure, Stopped};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::Output;
use crate::config::{Layers, Paths};
use crate::eval::verdicts::VerdictTable;
use crate::eval::{
    self, DepthMetric, Ended, FittedVerdicts, PaperTable, Plan, Published, Report, Row,
};
use crate::files;
use crate::trace::{Journal, VerdictFits};
use answers::Setting;
use asked::AskedQuestions;
use corpus::documents;
use variants::Variant;

/// Evaluates, and prints the tables. `--preset` takes presets separated by commas.
pub fn run(what: &Evaluation, call: CommandCall<'_>) -> Result<Exit, Stopped> {
    if let Some(folder) = &what.make_questions {
        return make::run(folder, what.limit, call);
    }
    if what.paper.is_some() && call.flags.preset.is_some() {
        return Err(Stopped::usage(
            "--paper has its own presets: those of the table's rows",
            "leave out --preset",
        ));
    }

    let layers = evaluated_layers(what, call.flags, call.paths)?;
    if let Some(table) = what.paper.as_deref().and_then(VerdictTable::find) {
        let questions = what.questions.as_deref();
        return verdicts::run(table, questions, what.limit, &layers, call);
    }

    evaluate(what, &layers, call)
}

/// Asks the questions under each preset, and prints the tables.
fn evaluate(what: &Evaluation, layers: &Layers, call: CommandCall<'_>) -> Result<Exit, Stopped> {
    let CommandCall { flags, paths, out } = call;
    let interrupt = Interrupt::listen()?;
    let table = what.paper.as_deref().and_then(PaperTable::find);
    let variants = match table {
        Some(table) => paper_variants(table, what, layers, paths, out)?,
        None => variants::variants(what, flags.preset.as_deref(), layers)?,
    };
    let asked = AskedQuestions::read(what, paths, &variants, out)?;
    let config = layers.config()?;
    let files = asked.files(&config)?;
    let documents = documents(&files, &config);
    let missing = eval::find_missing_evidence(&asked.questions, &documents);
    warn(out, &asked.remarks, "of the question file");
    warn(out, &missing, "about evidence");

    let name = journal::name(&variants, &asked, &files, what, paths)?;
    let presets = variants.iter().map(|variant| variant.name.clone());
    let plan = Plan {
        presets: presets.collect(),
        questions: asked.questions.clone(),
    };
    let mut journal = journal::open(&name, &plan, what, paths, out)?;
    let setting = Setting {
        asked: &asked,
        paths,
        interrupt: &interrupt,
        what,
    };
    let ended = answers::ask(&plan, &variants, &mut journal, &setting, out)?;
    if ended == Ended::Stopped {
        return Err(stop(&plan, &journal, out));
    }

    let mut report = Report::new(&plan.presets, journal.rows(), &what.at);
    report.published = table.map(|table| publish(table, &report, what, &config.generator.model));
    report.remarks = asked.remarks;
    report.missing_evidence = missing;
    if let Some(folder) = asked.folder.as_ref().filter(|_| what.fit_verdict) {
        report.fitted_verdicts = fit_verdicts(journal.rows(), folder, paths, out)?;
    }
    print(&report, &journal, what.report.as_deref(), out)?;
    let wanted = what.min_recall;
    wanted.map_or(Ok(Exit::Done), |wanted| check_recall(&report, wanted, out))
}

/// Fits the verdict to the answers of each model over a folder, and keeps what predicts better.
fn fit_verdicts(
    rows: &[Row],
    folder: &Path,
    paths: &Paths,
    out: &mut Output,
) -> Result<Vec<FittedVerdicts>, Stopped> {
    let fitted = match eval::fit_verdicts(rows) {
        Ok(fitted) => fitted,
        Err(reason) => {
            out.remark(&format!("the verdict was not fitted: {reason}"));
            return Ok(Vec::new());
        }
    };

    let unwritten = |error: std::io::Error| {
        Failure::new(
            format!("the verdict was not fitted ({error})"),
            "check the folder and the home of the program",
        )
    };
    let folder = folder.canonicalize().map_err(unwritten)?;
    let mut kept = VerdictFits::read(paths.verdict_fits_file());
    for of_model in &fitted {
        let kept = kept.keep(&of_model.model, &[&folder], of_model.fit);
        kept.map_err(unwritten)?;
    }
    Ok(fitted)
}

/// Returns the figures of a paper's table beside those of a report.
fn publish(table: &PaperTable, report: &Report, what: &Evaluation, model: &str) -> Published {
    let dataset = what.dataset.as_deref();
    Published::new(
        table,
        &report.presets,
        &report.understanding,
        dataset,
        model,
    )
}

/// Fails when a preset finds less of the evidence than is wanted.
fn check_recall(report: &Report, wanted: f64, out: &mut Output) -> Result<Exit, Stopped> {
    let mut exit = Exit::Done;

    for preset in &report.presets {
        let found = preset.found.as_ref();
        let deepest = found.and_then(|found| {
            let depth = found.depths.last()?;
            Some((found.by_depth[DepthMetric::Recall].last()?, depth))
        });
        let Some((recall, depth)) = deepest.filter(|(recall, _)| **recall < wanted) else {
            continue;
        };

        exit = Exit::Failed;
        out.remark(&format!(
            "{}: recall at {depth} is {recall:.3}, less than {wanted}",
            preset.preset
        ));
    }

    Ok(exit)
}

/// Returns the rows of a paper's table, and reports what differs from the paper.
fn paper_variants(
    table: &PaperTable,
    what: &Evaluation,
    layers: &Layers,
    paths: &Paths,
    out: &mut Output,
) -> Result<Vec<Variant>, Stopped> {
    let model = layers.config()?.generator.model;
    paper::remark(table, &model, what.dataset.as_deref(), out);
    let rows = paper::variants(table, what.dataset.as_deref(), layers)?;
    paper::remark_probes(&rows, paths, out)?;
    Ok(rows)
}

/// Reports how to continue after a stop, and returns it.
fn stop(plan: &Plan, journal: &Journal<Row>, out: &mut Output) -> Stopped {
    let done = journal.rows().len();
    let total = plan.presets.len() * plan.questions.len();
    out.remark(&format!(
        "stopped after {done} of {total} answers; run the same command again to continue"
    ));
    Stopped::Interrupted
}

/// Returns the settings without a preset: those of the demo when it is evaluated, then the flags.
fn evaluated_layers(what: &Evaluation, flags: &Shared, paths: &Paths) -> Result<Layers, Stopped> {
    let without_preset = Shared {
        preset: None,
        ..flags.clone()
    };
    let mut layers = demo::choose_layers(what.demo, &without_preset, paths)?;

    if let Some(samples) = what.samples {
        let kind = if samples == 0 { "off" } else { "soft" };
        let settings = [
            ("utility.samples", &*samples.to_string()),
            ("utility.kind", kind),
        ];
        for (key, value) in settings {
            let set = layers.set("--samples", key, value);
            set.map_err(variants::usage)?;
        }
    }
    Ok(layers)
}

/// Prints the report, and writes its HTML page to `file`.
fn print(
    report: &Report,
    journal: &Journal<Row>,
    file: Option<&Path>,
    out: &mut Output,
) -> Result<(), Stopped> {
    if let Some(file) = file {
        let page = eval::page(report, journal.rows());
        let shown = file.display();
        files::save(file, page).map_err(|error| {
            Failure::new(format!("cannot write {shown} ({error})"), "check the path")
        })?;
        out.remark(&format!("wrote {shown}"));
    }

    out.print(report, || eval::markdown(report))
}

/// Prints the first remarks on standard error, and the number of the others.
fn warn(out: &mut Output, remarks: &[String], what: &str) {
    const MAX_SHOWN: usize = 5;
    for remark in remarks.iter().take(MAX_SHOWN) {
        out.remark(&format!("warning: {remark}"));
    }
    if let Some(more @ 1..) = remarks.len().checked_sub(MAX_SHOWN) {
        out.remark(&format!(
            "warning: {more} more {what}; --json and --report list them all"
        ));
    }
}
