//! The build, the devices, the folders and the terminal.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;

use super::check::Check;
use crate::config::{Config, Paths};
use crate::event::Problem;
use crate::files;
use crate::llm::Runtime;
use crate::llm::rpc::RpcWorker;
use crate::story::words;

/// Minimum size of the screen, columns and rows.
const MIN_SCREEN: (u16, u16) = (60, 16);

pub(super) fn build(runtime: &Runtime) -> Check {
    let features = runtime.features();
    let found = format!(
        "ragscope {}, {}",
        env!("CARGO_PKG_VERSION"),
        features.join(" ")
    );
    let slow = cfg!(target_arch = "x86_64") && !features.iter().any(|feature| feature == "AVX2");

    if slow {
        Check::poor(
            "build",
            found,
            "models run without AVX2: use a release build, which selects kernels for the processor",
        )
    } else {
        Check::good("build", found)
    }
}

pub(super) fn devices(runtime: &Runtime) -> Check {
    let found: Vec<String> = runtime
        .devices()
        .iter()
        .map(|device| {
            format!(
                "{} ({}, {})",
                device.name,
                device.description.trim(),
                words::bytes(device.memory_bytes)
            )
        })
        .collect();

    if found.is_empty() {
        return Check::wrong(
            "devices",
            Problem::new("llama.cpp found no device", "rebuild with `make demo`"),
        );
    }

    Check::good("devices", found.join(", "))
}

/// Checks each worker of the settings: whether it answers, and its memory.
pub(super) fn workers(config: &Config) -> Vec<Check> {
    let check = |endpoint: &String| match RpcWorker::ask(endpoint) {
        Ok(worker) => {
            let memory: Vec<String> = worker
                .devices
                .iter()
                .map(|device| {
                    format!(
                        "{} free of {}",
                        words::bytes(device.free_bytes),
                        words::bytes(device.memory_bytes)
                    )
                })
                .collect();
            let [major, minor, patch] = worker.version;
            Check::good(
                "worker",
                format!(
                    "{endpoint}: {}, protocol {major}.{minor}.{patch}",
                    memory.join(" and ")
                ),
            )
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

    all.map(|(what, folder)| match try_writing(folder) {
        Ok(()) if files::is_private(folder).is_ok_and(|is_private| !is_private) => Check::wrong(
            what,
            Problem::new(
                format!("other users can read {}", folder.display()),
                "it belongs to another user: set RAGSCOPE_HOME to a folder of your own",
            ),
        ),
        Ok(()) => Check::good(what, folder.display().to_string()),
        Err(error) => Check::wrong(
            what,
            Problem::new(
                format!("cannot write {} ({error})", folder.display()),
                "grant yourself write permission, free some space, or set RAGSCOPE_HOME to another folder",
            ),
        ),
    })
    .into()
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    files::private_folder(folder)?;
    let written = fs::write(&probe, b"ragscope doctor\n");
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

pub(super) fn terminal() -> Check {
    if !std::io::stdout().is_terminal() {
        return Check::good(
            "terminal",
            "not a terminal: the screen needs one, the other commands do not",
        );
    }

    let name = std::env::var("TERM").unwrap_or_default();
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    let colours = crossterm::style::available_color_count();
    let found = format!("{name}, {columns}x{rows}, {colours} colours");

    if name == "dumb" {
        return Check::poor(
            "terminal",
            found,
            "the screen does not work in a dumb terminal: use another one",
        );
    }

    if columns < MIN_SCREEN.0 || rows < MIN_SCREEN.1 {
        return Check::poor(
            "terminal",
            found,
            "enlarge it to at least 60 columns and 16 rows for the screen",
        );
    }

    Check::good("terminal", found)
}
