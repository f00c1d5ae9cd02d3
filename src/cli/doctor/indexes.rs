//! The indexes of this machine, and the database of one on other machines.

use std::path::Path;

use super::check::Check;
use crate::config::{Config, Paths};
use crate::index::{Health, health};
use crate::remote::remote_health;
use crate::story::words;

/// Checks every index: its files, checksums and counts.
pub(super) fn indexes(paths: &Paths) -> Vec<Check> {
    let indexes = paths.indexes();
    let found = health(&indexes);
    if found.is_empty() {
        return vec![Check::good(
            "indexes",
            format!("none yet in {}", indexes.display()),
        )];
    }
    found.into_iter().map(index).collect()
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
                Check::poor(
                    what,
                    format!("{found}; what is sent is not encrypted"),
                    advice,
                )
            } else {
                Check::good(what, found)
            }
        }
        Err(error) => Check::wrong(what, error),
    })
}

fn index(health: Health) -> Check {
    let documents = words::quantity(health.documents, "document");
    let chunks = words::quantity(health.chunks, "chunk");
    let found = format!(
        "{}: {documents}, {chunks}, generation {}",
        health.folder, health.generation
    );

    match health.problem {
        Some(problem) => Check::wrong("index", problem),
        None if Path::new(&health.folder).is_dir() => Check::good("index", found),
        None => Check::poor(
            "index",
            found,
            &format!(
                "the folder no longer exists: delete {} to free its space",
                health.root.display()
            ),
        ),
    }
}
