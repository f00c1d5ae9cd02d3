//! The models: in use, found on this machine, offered for download.

use serde::{Deserialize, Serialize};

use super::number::is_zero;
use super::problem::Problem;

/// The models by role.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelRole {
    /// Writes answers.
    #[default]
    Generator,
    /// Turns text into vectors.
    Embedder,
    /// Orders texts by their fit to a question.
    Reranker,
    /// Judges whether one answer entails another.
    EntailmentJudge,
    /// Links chunks by its attention.
    Linker,
}

impl ModelRole {
    /// Returns the name in settings and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
            Self::EntailmentJudge => "entailment_judge",
            Self::Linker => "linker",
        }
    }
}

/// The description of a loaded model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    pub role: ModelRole,
    /// Name from the file's metadata, else the file name.
    pub name: String,
    /// File name without its folder.
    pub file: String,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// blake3 over size, metadata and a sample of the weights, as hex: it identifies the model.
    pub fingerprint: String,
    /// Architecture name of the GGUF (`llama`, `bert`, …).
    pub architecture: String,
    /// Quantisation, e.g. `Q4_K_M`, as the file describes itself.
    pub quantisation: String,
    pub parameters: u64,
    pub layers: u32,
    /// Layers that run on a GPU.
    pub gpu_layers: u32,
    /// Name of the device that holds them, or `CPU`; several names have ` + ` between them.
    pub device: String,
    /// Bytes that the model takes on that device: weights, KV cache and the results between layers.
    /// 0 on the CPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub device_bytes: u64,
    /// Width of a hidden state or an embedding.
    pub width: u32,
    /// Size of the context in tokens.
    pub context_tokens: u32,
    /// The chat template in use: `gguf`, `none`, a file or a name. Empty for roles without one.
    pub chat_template: String,
    /// The reason why another template stands in for the model's own; empty when none does.
    #[serde(default)]
    pub template_fallback: String,
    /// Whether it is a generator that comes with the program: made for its demo, and often wrong
    /// about other documents.
    #[serde(default)]
    pub practice: bool,
    /// Abilities of the model's server; empty for a model that runs here. The device is then its
    /// host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// Texts in front of each text that an embedder reads.
    #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
}

impl ModelCard {
    /// The name of the chat template of models that have none.
    pub const NO_TEMPLATE: &str = "none";

    /// Returns whether its prompts are plain text, as for base models.
    pub fn has_plain_prompts(&self) -> bool {
        self.chat_template == Self::NO_TEMPLATE
    }

    /// A model of which only the role is known.
    pub fn unknown(role: ModelRole) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }
}

/// The texts in front of queries and documents that an embedder was trained with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefixes {
    pub query: String,
    pub document: String,
}

impl Prefixes {
    /// Returns whether the model reads texts as they are.
    pub fn is_empty(&self) -> bool {
        self.query.is_empty() && self.document.is_empty()
    }
}

/// The free memory that models can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineMemory {
    /// Name of the device: `CPU`, or a GPU with more.
    pub device: String,
    /// `None` if the system does not report it.
    pub free_bytes: Option<u64>,
    /// Size of the largest generator that reads a few sources in time; `None` on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timely_bytes: Option<u64>,
}

impl MachineMemory {
    /// Returns whether a model fits; `None` where the free memory is not known.
    pub fn fits(&self, need: MemoryNeed) -> Option<bool> {
        Some(need.bytes() <= self.free_bytes?)
    }

    /// Returns whether a model of this size reads sources too slowly here.
    pub fn is_slow_with(&self, role: ModelRole, file_bytes: u64) -> bool {
        let most = self.timely_bytes.unwrap_or(u64::MAX);
        role == ModelRole::Generator && file_bytes > most
    }
}

/// The memory that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNeed {
    pub file_bytes: u64,
    /// The KV cache; 0 for a model without one.
    pub cache_bytes: u64,
}

impl MemoryNeed {
    /// Returns the sum.
    pub fn bytes(self) -> u64 {
        self.file_bytes.saturating_add(self.cache_bytes)
    }

    /// Returns the sum with room for the arithmetic.
    pub fn roomy_bytes(self) -> u64 {
        self.bytes().saturating_add(self.file_bytes / 5)
    }
}

/// A model that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedModel {
    pub name: String,
    pub role: ModelRole,
    /// The argument of `ragscope models pull`.
    pub reference: String,
    pub need: MemoryNeed,
    /// Whether it fits into the memory of this machine; `None` if that is not known.
    pub fits: Option<bool>,
    /// Whether this is the recommended one of its role.
    pub is_best: bool,
    pub licence: String,
    /// Tokens of context that it was trained for.
    pub context_tokens: u64,
    pub languages: String,
    pub note: String,
    /// The listing with which the name and size were compared; empty if with none.
    pub checked: String,
}

/// A model file on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalModel {
    /// The file name, or Ollama's `model:tag`.
    pub name: String,
    /// The value of the setting that selects it: the name, or the path where the name means another
    /// file.
    pub setting: String,
    pub file: String,
    /// The place where it was found.
    pub source: String,
    /// The role that its metadata suggests; `None` if it cannot be used.
    pub role: Option<ModelRole>,
    /// Size of the file; of all pieces of a split one.
    pub bytes: u64,
    /// Architecture name of the GGUF; empty if it cannot be read.
    pub architecture: String,
    pub need: Option<MemoryNeed>,
    /// The reason why it cannot be used.
    pub problem: Option<Problem>,
}

impl LocalModel {
    /// The source of those that come with the program.
    pub const BUNDLED: &str = "bundled";

    /// Returns the name of its file without the folder.
    pub fn file_name(&self) -> &str {
        let mut names = self.file.rsplit(['/', '\\']);
        names.next().unwrap_or(&self.file)
    }
}

/// The models to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    pub local: Vec<LocalModel>,
    /// Models that are not here.
    pub offered: Vec<OfferedModel>,
    /// The date of the list of those.
    pub made: String,
    pub memory: MachineMemory,
}

impl ModelList {
    /// Returns the place of the best generator among the models to download.
    pub fn best_generator(&self) -> Option<usize> {
        let mut offered = self.offered.iter();
        offered.position(|model| model.is_best && model.role == ModelRole::Generator)
    }
}

/// The phase of a download of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullPhase {
    /// Asking the server for the files of the model.
    Listing,
    /// Waiting for another process that downloads the same file.
    Waiting,
    /// Checking what an earlier attempt left.
    Checking,
    Downloading,
}

/// Progress of a download of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullProgress {
    /// The model, as the user named it.
    pub reference: String,
    pub phase: PullPhase,
    /// The file at hand.
    pub file: String,
    /// Bytes on the disk, of all files.
    pub done_bytes: u64,
    /// Size of all files; 0 until it is known.
    pub total_bytes: u64,
    /// Bytes per second, once measured.
    pub rate_bytes_per_s: Option<f64>,
    /// Estimated milliseconds until the end, once measured.
    pub left_ms: Option<u64>,
}

/// A model that was downloaded, or was here already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledModel {
    /// The model, as the user named it.
    pub reference: String,
    /// The value of `generator.model` and `--model`.
    pub name: String,
    /// Path of the file; of the first piece of a split one.
    pub file: String,
    /// Size of the model.
    pub bytes: u64,
    /// Bytes that came over the network.
    pub received_bytes: u64,
}
