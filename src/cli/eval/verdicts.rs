//! `eval --paper seper:1`: a judge of answers against people.

use std::path::Path;

use super::calls::with_calls;
use crate::cli::call::CommandCall;
use crate::cli::failure::{Exit, Stopped};
use crate::cli::interrupt::Interrupt;
use crate::config::{JudgeModel, Layers};
use crate::eval::verdicts::{self, VerdictTable};
use crate::llm::bundled;

/// Judges the answers of a file of EVOUNA and prints how far the judge agrees with people.
pub(super) fn run(
    table: &'static VerdictTable,
    questions: Option<&Path>,
    limit: Option<usize>,
    layers: &Layers,
    call: CommandCall<'_>,
) -> Result<Exit, Stopped> {
    let CommandCall { paths, out, .. } = call;
    let Some(file) = questions else {
        return Err(Stopped::usage(
            format!("{} needs a file of EVOUNA", table.name),
            "give its NQ.json or TQ.json",
        ));
    };
    let config = layers.config()?;
    let judge = match &config.judge.model {
        JudgeModel::Auto if is_bundled(&config.generator.model) => "words".to_owned(),
        JudgeModel::Auto | JudgeModel::Generator => config.generator.model.clone(),
        JudgeModel::Words => "words".to_owned(),
        JudgeModel::File(file) => file.clone(),
    };
    out.remark(&format!("{}: {}", table.name, table.title));
    out.remark(&format!(
        "the paper's figures are those of {}; here {judge} judges (judge.model)",
        table.model
    ));
    out.remark(&format!("left out: {}", table.left_out.join(", ")));

    let judged = verdicts::read(file, limit)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let interrupt = Interrupt::listen()?;
    let figures = with_calls(layers, paths, &interrupt, out, |calls, show| {
        verdicts::compare(calls, &judged, &name, table, &mut |done| {
            show(&|| format!("{done} of {} answers judged", judged.len()))
        })
    })?;

    let title = format!("{}, {} answers by {judge}", table.title, judged.len());
    let value = serde_json::json!({ "judge": judge, "verdicts": figures });
    out.print(&value, || verdicts::table(&title, &figures).markdown())?;
    Ok(Exit::Done)
}

fn is_bundled(model: &str) -> bool {
    let file = Path::new(model).file_name().unwrap_or_default();
    bundled::is_listed(&file.to_string_lossy())
}
