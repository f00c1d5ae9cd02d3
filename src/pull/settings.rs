//! Settings of a pull: sources of models, and the folders for them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::llm::CacheFolders;

const HUGGING_FACE: &str = "https://huggingface.co";

/// Sources of models, and the folders for them.
#[derive(Debug, Clone)]
pub struct PullSettings {
    /// Address of Hugging Face or of a mirror.
    pub endpoint: String,
    /// Access token for `endpoint`; no other host receives it.
    pub token: Option<String>,
    /// The cache of Hugging Face's tools.
    pub hugging_face: PathBuf,
    /// Ollama's store.
    pub ollama: PathBuf,
    /// The user wants no network.
    pub is_offline: bool,
    /// Returns the free bytes of the disk that holds a folder.
    pub free_bytes: fn(&Path) -> io::Result<u64>,
    /// Time before the first of several retries; each further one waits twice as long.
    pub retry_pause: Duration,
    /// Time without a byte after which a connection counts as broken.
    pub patience: Duration,
}

impl PullSettings {
    /// Reads the variables of Hugging Face's tools and of Ollama.
    pub fn from_environment() -> Self {
        let folders = CacheFolders::from_environment();
        let ollama = folders.ollama().into_iter().next().unwrap_or_default();
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| HUGGING_FACE.to_owned()),
            token: variable("HF_TOKEN").or_else(|| {
                let file = std::fs::read_to_string(folders.hugging_face_token());
                trim(&file.ok()?)
            }),
            hugging_face: folders.hugging_face(),
            ollama,
            is_offline: variable("HF_HUB_OFFLINE").is_some_and(|value| is_on(&value)),
            free_bytes: |folder| fs4::available_space(folder),
            retry_pause: Duration::from_millis(500),
            patience: Duration::from_secs(60),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    trim(&std::env::var(name).ok()?)
}

/// Returns a value without the blanks around it; `None` for an empty one.
fn trim(value: &str) -> Option<String> {
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns whether a variable is set as Hugging Face's tools read it.
fn is_on(value: &str) -> bool {
    ["1", "on", "yes", "true"]
        .iter()
        .any(|on| value.eq_ignore_ascii_case(on))
}
