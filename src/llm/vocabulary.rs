//! The vocabulary of a model file, without its weights.

use std::path::Path;

use llama_cpp_2::model::LlamaModel;

use super::error::Result;
use super::ffi::ModelParams;
use super::load::refusal;
use super::runtime::Runtime;
use super::template::tokenize;
use super::{ffi, log};

/// Splits text into the tokens of a model, as llama.cpp does it. It can be shared between threads.
#[derive(Debug)]
pub struct LlamaVocabulary {
    model: LlamaModel,
}

impl LlamaVocabulary {
    /// Loads the vocabulary of the model in `file`.
    ///
    /// # Errors
    /// A file that llama.cpp refuses.
    pub fn load(runtime: &Runtime, file: &Path) -> Result<Self> {
        log::clear_errors();
        let params = ModelParams::VOCABULARY;
        let loaded = ffi::load_model(runtime.backend(), file, params, &mut |_| true);
        let (model, _) = loaded.ok_or_else(|| refusal(file))?;
        Ok(Self { model })
    }

    /// Returns the number of tokens of `text`, without special ones.
    pub fn count(&self, text: &str) -> usize {
        tokenize(&self.model, text, false, false).len()
    }
}
