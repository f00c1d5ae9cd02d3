//! `doctor`: checks the build and the machine, and reports how to fix problems.

mod check;
mod machine;
mod self_test;
mod models;
mod indexes;

use crate::config::assets_folder;
use crate::llm::Runtime;

use super::call::CommandCall;
use super::failure::{Exit, Stopped};
use super::output::{Output, table};
use check::{Check, CheckState};
use indexes::{database, indexes};
use machine::{build, devices, folders, terminal, workers};
use models::{bundled_models, memory, models};

/// Runs all checks and prints them; the command fails when one of them does.
pub fn run(call: CommandCall<'_>) -> Result<Exit, Stopped> {
    let mut checks = Vec::new();
    let layers = call.layers();
    let CommandCall { paths, out, .. } = call;
    let config = match layers.and_then(|layers| Ok(layers.config()?)) {
        Ok(config) => Some(config),
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
            if let Some(config) = &config {
                checks.extend(memory(&runtime, config, paths));
                checks.extend(models(&runtime, config, paths));
            }
        }
        Err(error) => checks.push(Check::wrong("llama.cpp", error)),
    }

    let settings = config.as_ref().map(|config| config.corpus.clone());
    checks.extend(indexes(paths, &settings.unwrap_or_default()));
    checks.extend(config.iter().filter_map(database));
    checks.push(terminal());

    print(&checks, out)?;
    let is_wrong = checks.iter().any(|check| check.state == CheckState::Wrong);
    Ok(if is_wrong { Exit::Failed } else { Exit::Done })
}

fn print(checks: &[Check], out: &mut Output) -> Result<(), Stopped> {
    let mut rows = Vec::new();
    for check in checks {
        let mark = match check.state {
            CheckState::Good => "ok    ",
            CheckState::Poor => "note  ",
            CheckState::Wrong => "WRONG ",
        };
        rows.push([format!("{mark}{}", check.what), check.found.clone()]);
        let fix = check.advice.iter();
        rows.extend(fix.map(|advice| [String::new(), format!("fix: {advice}")]));
    }

    let value = serde_json::json!({ "checks": checks });
    out.print(&value, || table(&rows))
}
