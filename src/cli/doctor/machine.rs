//! The build, the devices, the folders and the terminal.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::check::Check;
use crate::config::{Config, Paths};
use crate::event::Problem;
use crate::files;
use crate::llm::Runtime;
use crate::llm::rpc::RpcWorker;
use crate::story::text::join;
use crate::story::words;

/// Minimum size of the screen, columns and rows.
const MIN_SCREEN: (u16, u16) = (60, 16);

pub(super) fn build(runtime: &Runtime) -> Check {
    let features = runtime.features();
    let version = env!("CARGO_PKG_VERSION");
    let found = format!("ragscope {version}, {}", features.join(" "));
    let slow = cfg!(target_arch = "x86_64") && !features.iter().any(|feature| feature == "AVX2");
    if slow {
        let advice =
            "models run without AVX2: use a release build, which selects kernels for the processor";
        Check::poor("build", found, advice)
    } else {
        Check::good("build", found)
    }
}

pub(super) fn devices(runtime: &Runtime) -> Check {
    let devices = runtime.devices();
    if devices.is_empty() {
        let problem = Problem::new("llama.cpp found no device", "rebuild with `make demo`");
        return Check::wrong("devices", problem);
    }
    let found = devices.iter().map(|device| {
        let memory = words::bytes(device.memory_bytes);
        format!("{} ({}, {memory})", device.name, device.description.trim())
    });
    Check::good("devices", join(found, ", "))
}

/// Checks each worker of the settings: whether it answers, and its memory.
pub(super) fn workers(config: &Config) -> Vec<Check> {
    let check = |endpoint: &String| match RpcWorker::ask(endpoint) {
        Ok(worker) => {
            let memory = worker.devices.iter().map(|device| {
                let [free, all] = [device.free_bytes, device.memory_bytes].map(words::bytes);
                format!("{free} free of {all}")
            });
            let memory = join(memory, " and ");
            let [major, minor, patch] = worker.version;
            let found = format!("{endpoint}: {memory}, protocol {major}.{minor}.{patch}");
            Check::good("worker", found)
        }
        Err(error) => Check::wrong("worker", error),
    };

    config.generator.rpc.iter().map(check).collect()
}

pub(super) fn folders(paths: &Paths) -> Vec<Check> {
    let all = [
        ("settings folder", &paths.config),
        ("data folder", &paths.data),
        ("sessions", &paths.sessions()),
        ("cache", &paths.cache),
    ];

    let check = |(what, folder): (&str, &PathBuf)| {
        let shown = folder.display();
        let problem = match try_writing(folder) {
            Ok(()) if files::is_private(folder).is_ok_and(|is_private| !is_private) => {
                Problem::new(
                    format!("other users can read {shown}"),
                    "it belongs to another user: set RAGSCOPE_HOME to a folder of your own",
                )
            }
            Ok(()) => return Check::good(what, shown.to_string()),
            Err(error) => Problem::new(
                format!("cannot write {shown} ({error})"),
                "grant yourself write permission, free some space, or set RAGSCOPE_HOME to another folder",
            ),
        };
        Check::wrong(what, problem)
    };
    all.map(check).into()
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    files::private_folder(folder)?;
    let written = fs::write(&probe, b"ragscope doctor\n");
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

pub(super) fn terminal() -> Check {
    let what = "terminal";
    if !std::io::stdout().is_terminal() {
        let found = "not a terminal: the screen needs one, the other commands do not";
        return Check::good(what, found);
    }

    let name = std::env::var("TERM").unwrap_or_default();
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    let colours = crossterm::style::available_color_count();
    let found = format!("{name}, {columns}x{rows}, {colours} colours");

    if name == "dumb" {
        let advice = "the screen does not work in a dumb terminal: use another one";
        Check::poor(what, found, advice)
    } else if columns < MIN_SCREEN.0 || rows < MIN_SCREEN.1 {
        let advice = "enlarge it to at least 60 columns and 16 rows for the screen";
        Check::poor(what, found, advice)
    } else {
        Check::good(what, found)
    }
}
