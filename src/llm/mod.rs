//! The models by role, behind small traits, on llama.cpp.
//!
//! The prompts of a call become a radix tree of tokens (`tree`), which a scheduler evaluates
//! (`schedule`) over a KV cache that it does the bookkeeping of (`cells`). Every `unsafe` block is
//! in `ffi`.
//!
//! This module does not know retrieval: it turns prompts into text, labels into probabilities and
//! text into vectors.

mod exact;
pub mod labels;
mod values;
mod error;
mod role;
pub mod gguf;
mod model_file;
pub mod bundled;
mod log;
mod threads;
mod cells;
mod ffi;
mod runtime;
pub mod rpc;
mod fit;
mod load;
pub mod memory;
pub mod discover;
mod stream;
mod template;
mod numbers;
mod growing;
mod tree;
mod row_reader;
mod schedule;
mod kept_prompt;
mod draft;
mod reply_start;
mod writer;
mod generator;
mod scorer;
mod tap;
mod pool;
mod prefixes;
mod embedder;
mod no_embedder;
mod rerank_template;
mod judge;
mod reranker;
mod linker;
mod vocabulary;
pub mod server;
pub mod isolated;

pub use discover::{CacheFolders, FoundModel, ModelSource, discover, resolve};
pub use embedder::{LlamaEmbedder, load_embedder};
pub use error::LlmError;
pub use ffi::{CrashName, contain_crashes};
pub use generator::{LlamaGenerator, load_generator, load_linker};
pub use isolated::{IsolatedGenerator, open_generator};
pub use judge::{LlamaClassifier, load_entailment_judge};
pub use linker::linker_misfit;
pub use no_embedder::NoEmbedder;
pub use numbers::{Random, dot};
pub use prefixes::prefixes_of;
pub use reranker::{RerankerLoad, load_reranker};
pub use role::{
    Embedder, EntailmentJudge, Generator, LoadedGenerator, OpenGenerator, Reranker, Scorer, Tap,
};
pub use runtime::{Device, Runtime};
pub use template::{TEMPLATE_ADVICE, jinja, sandbox};
pub use threads::limit_spinning;
pub use values::{
    Completion, Decoding, End, Entailment, Hidden, HiddenAt, Labelled, Layers, Prompt, Rendered,
    StopRule, Tapped, Taps, Token,
};
pub use vocabulary::LlamaVocabulary;
