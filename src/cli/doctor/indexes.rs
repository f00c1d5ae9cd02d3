//! The indexes of this machine, and the database of one on other machines.

use std::collections::HashSet;
use std::path::Path;

use super::check::Check;
use crate::config::{Config, CorpusSettings, Paths};
use crate::corpus;
use crate::event::Flow;
use crate::index::{Health, health};
use crate::remote::remote_health;
use crate::story::words;

/// Checks every index: its files, checksums and counts, and what its folder holds beside them.
pub(super) fn indexes(paths: &Paths, settings: &CorpusSettings) -> Vec<Check> {
    let indexes = paths.indexes();
    let found = health(&indexes);
    if found.is_empty() {
        let found = format!("none yet in {}", indexes.display());
        return vec![Check::good("indexes", found)];
    }
    let found = found.into_iter();
    found.map(|health| index(health, settings)).collect()
}

/// Checks the database of an index on other machines: whether it can be reached, and what it holds.
pub(super) fn database(config: &Config) -> Option<Check> {
    let what = "database";
    let shown = |version: &str| format!("{version} at {}", config.index.url);

    Some(match remote_health(&config.index) {
        Ok(None) => return None,
        Ok(Some(health)) => {
            let found = format!(
                "{}: collection {}, {}, {}, {}",
                shown(&health.version),
                health.collection,
                words::quantity(health.parts as u64, "part"),
                words::quantity(health.documents, "document"),
                words::quantity(health.chunks, "chunk"),
            );
            if health.is_open {
                let advice = "let the server offer TLS, and take sslmode=disable out of index.url";
                let found = format!("{found}; what is sent is not encrypted");
                Check::poor(what, found, advice)
            } else {
                Check::good(what, found)
            }
        }
        Err(error) => Check::wrong(what, error),
    })
}

fn index(health: Health, settings: &CorpusSettings) -> Check {
    let left_out = left_out(&health, settings);
    let documents = words::quantity(health.documents, "document");
    let chunks = words::quantity(health.chunks, "chunk");
    let found = format!(
        "{}: {documents}, {chunks}, generation {}{}",
        health.folder,
        health.generation,
        left_out.map_or(String::new(), |left_out| format!("; {left_out}"))
    );

    match health.problem {
        Some(problem) => Check::wrong("index", problem),
        None if Path::new(&health.folder).is_dir() => Check::good("index", found),
        None => {
            let root = health.root.display();
            let advice = format!("the folder no longer exists: delete {root} to free its space");
            Check::poor("index", found, &advice)
        }
    }
}

/// Returns the files of a folder that are not read; `None` without any, and where the folder cannot
/// be read.
fn left_out(health: &Health, settings: &CorpusSettings) -> Option<String> {
    let folder = Path::new(&health.folder);
    let walked = corpus::walk(folder, settings, &mut |_| Flow::Continue).ok()?;
    let omitted = corpus::count_omitted(folder, settings, &walked);
    let mut skipped = health.skipped.clone();
    let present: HashSet<&str> = walked.files.iter().map(|file| file.path.as_str()).collect();
    skipped.retain(|file| present.contains(file.path.as_str()));
    skipped.extend(walked.skipped);
    words::files_not_read(&skipped, &omitted, &health.folder)
}
