//! The indexes of this machine, and the database of one on other machines.

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
    let omitted = omitted_files(Path::new(&health.folder), settings);
    let documents = words::quantity(health.documents, "document");
    let chunks = words::quantity(health.chunks, "chunk");
    let found = format!(
        "{}: {documents}, {chunks}, generation {}{}",
        health.folder,
        health.generation,
        omitted.map_or(String::new(), |omitted| format!("; {omitted}"))
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

/// Returns the files of a folder that settings leave out; `None` without any, and where the folder
/// cannot be read.
fn omitted_files(folder: &Path, settings: &CorpusSettings) -> Option<String> {
    let walked = corpus::walk(folder, settings, &mut |_| Flow::Continue).ok()?;
    words::omitted_files(&corpus::count_omitted(folder, settings, &walked))
}
