//! Rerankers by file: a sequence-classification model, or a generator that is asked with the
//! template it was trained with.

use std::path::Path;

use super::error::Result;
use super::generator::{LlamaGenerator, load_generator};
use super::judge::load_classifying_reranker;
use super::load::LoadRequest;
use super::rerank_template::{RerankPart, parts};
use super::role::{Generator as _, Reranker, Scorer as _};
use super::runtime::Runtime;
use super::values::Prompt;
use super::{gguf, model_file};
use crate::config::{
    Config, EmbedderSettings, GeneratorSettings, OrAuto, RerankerSettings, ServerSettings, Thinking,
};
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// Qwen3-Reranker's words, as its model card prints them.
const QWEN3_SYSTEM: &str = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".";
const QWEN3_USER: &str = "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}";

/// The settings that a reranker is loaded with.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankerLoad {
    /// The file, and the device of a classifier.
    pub model: EmbedderSettings,
    /// The settings of a generator that reranks.
    pub generator: GeneratorSettings,
    /// The server that reranks in place of all these, and how it is asked.
    pub server: Option<(RerankerSettings, ServerSettings)>,
}

impl RerankerLoad {
    /// Returns the settings for this file.
    pub fn new(config: &Config, file: &str) -> Self {
        Self {
            model: EmbedderSettings {
                model: file.to_owned(),
                url: String::new(),
                ..config.embedder.clone()
            },
            generator: GeneratorSettings {
                model: file.to_owned(),
                context_tokens: 0,
                gpu_layers: OrAuto::Auto,
                device: config.embedder.device.clone(),
                thinking: Thinking::Off,
                rpc: Vec::new(),
                url: String::new(),
                ..config.generator.clone()
            },
            server: (!config.reranker.url.is_empty())
                .then(|| (config.reranker.clone(), config.server.clone())),
        }
    }
}

/// Loads a reranker: a model with a rank head, or a generator that replies with yes or no.
///
/// # Errors
/// As [`super::load_generator`].
pub fn load_reranker(
    runtime: &Runtime,
    file: &Path,
    settings: &RerankerLoad,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<Box<dyn Reranker + Send>> {
    let metadata = gguf::Metadata::read(file)?;
    if model_file::role(&metadata) == ModelRole::Generator {
        let generator = load_generator(runtime, file, &settings.generator, stop, progress)?;
        return Ok(Box::new(GenerativeReranker::new(generator)));
    }

    let request = LoadRequest {
        runtime,
        file,
        stop,
        progress,
    };
    let classifier = load_classifying_reranker(request, &settings.model)?;
    Ok(Box::new(classifier))
}

/// Puts a question and a text into a template. Braces in either stay as they are.
fn fill(template: &str, query: &str, document: &str) -> String {
    let mut text = String::with_capacity(template.len() + query.len() + document.len());
    for part in parts(template) {
        text.push_str(match part {
            RerankPart::Text(text) => text,
            RerankPart::Query => query,
            RerankPart::Document => document,
        });
    }
    text
}

/// A generator whose reply says whether a text fits the question, such as Qwen3-Reranker.
struct GenerativeReranker {
    generator: LlamaGenerator,
    card: ModelCard,
}

impl GenerativeReranker {
    fn new(generator: LlamaGenerator) -> Self {
        let card = ModelCard {
            role: ModelRole::Reranker,
            chat_template: "qwen3".to_owned(),
            ..generator.card().clone()
        };
        Self { generator, card }
    }
}

impl Reranker for GenerativeReranker {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let prompts: Vec<Prompt> = texts
            .iter()
            .map(|text| Prompt {
                system: QWEN3_SYSTEM.to_owned(),
                user: fill(QWEN3_USER, question, text),
                reply: String::new(),
            })
            .collect();
        // the model card compares the logits of these two words alone
        let rows = self.generator.classify(&prompts, &["yes", "no"])?;
        Ok(rows.iter().map(|row| row.shares[0]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_into_a_template_once() {
        let cases = [
            ("Q {query} D {document}.", "Q a{document} D b{query}."),
            ("{document}{query}", "b{query}a{document}"),
            ("{question} {query}", "{question} a{document}"),
            ("", ""),
        ];
        for (template, expected) in cases {
            assert_eq!(fill(template, "a{document}", "b{query}"), expected);
        }
    }
}
