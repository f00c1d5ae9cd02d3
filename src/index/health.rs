//! Checks the indexes for `ragscope doctor`.

use std::path::{Path, PathBuf};

use super::generation::Generation;
use super::layout::Layout;
use crate::event::{Problem, SkippedFile};
use crate::files;

/// An index and whether its files are intact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The folder of documents, by its canonical path.
    pub folder: String,
    /// The folder of the index.
    pub root: PathBuf,
    /// 0 before the first finished generation.
    pub generation: u64,
    pub documents: u64,
    pub chunks: u64,
    /// Vectors in use, with those of documents that are gone.
    pub vectors: u64,
    /// Files without text, as they were when they were read.
    pub skipped: Vec<SkippedFile>,
    /// The fault and what to do; `None` for an intact index.
    pub problem: Option<Problem>,
}

/// Verifies every index in `indexes`: its files, their checksums, and that its parts have the same
/// chunks. Takes no lock.
pub fn health(indexes: &Path) -> Vec<Health> {
    let entries = std::fs::read_dir(indexes).into_iter().flatten().flatten();
    let mut found: Vec<Health> = entries.filter_map(|entry| check(entry.path())).collect();
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    found
}

fn check(root: PathBuf) -> Option<Health> {
    let folder = files::read(&root.join("corpus")).ok()?;
    let folder = String::from_utf8_lossy(&folder).into_owned();
    let layout = Layout { root };

    let opened = layout.current().and_then(|pointer| {
        pointer
            .map(|pointer| {
                let opened = Generation::open(&layout, &pointer)?;
                opened.1.verify()?;
                Ok(opened)
            })
            .transpose()
    });

    let mut health = Health {
        folder,
        root: layout.root,
        ..Health::default()
    };

    match opened {
        Ok(Some((generation, vectors))) => {
            health.generation = generation.manifest.generation;
            health.documents = generation.manifest.documents.len() as u64;
            health.chunks = generation.manifest.chunks;
            health.vectors = u64::from(vectors.rows());
            let skipped = generation.manifest.skipped.into_iter();
            let skipped = skipped.map(|(path, entry)| SkippedFile {
                path,
                reason: entry.reason,
            });
            health.skipped = skipped.collect();
        }
        Ok(None) => {}
        Err(error) => health.problem = Some(error.for_folder(&health.folder).into()),
    }

    Some(health)
}
