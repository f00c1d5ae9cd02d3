//! Reading a folder as documents, sentences and chunks; bad files are counted and the rest is read.

mod attached;
mod files;
mod office;
mod pictures;
mod reported;
mod variants;
mod tokens;
mod chunks;
mod textual;
mod binary;
mod documents;
mod untrusted;
mod pathological;
mod watch;
mod peak_memory;

use std::path::{Path, PathBuf};

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/models")
        .join(name)
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/corpus")
        .join(name)
}
