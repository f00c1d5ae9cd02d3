//! Rerankers by file: a sequence-classification model, or a generator that is asked with the template
//! it was trained with.

use std::path::Path;

use super::error::LlmError;
use super::generator::{LlamaGenerator, load_generator};
use super::judge::{LlamaClassifier, load_classifying_reranker};
use super::load::LoadRequest;
use super::rerank_template::{RerankPart, parts};
use super::role::{Generator as _, Reranker, Scorer as _};
use super::values::Prompt;
use super::{discover, gguf};
use crate::config::{
    Config, EmbedderSettings, GeneratorSettings, GpuLayers, RerankerSettings, ServerSettings,
    Thinking,
};
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// The setting that takes the template of the model.
const AUTO: &str = "auto";

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
    pub template: String,
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
                gpu_layers: GpuLayers::Auto,
                device: config.embedder.device.clone(),
                thinking: Thinking::Off,
                rpc: Vec::new(),
                url: String::new(),
                ..config.generator.clone()
            },
            template: config.reranker.template.clone(),
            server: (!config.reranker.url.is_empty())
                .then(|| (config.reranker.clone(), config.server.clone())),
        }
    }
}

/// A reranker on llama.cpp.
pub enum LlamaReranker {
    Classifier(Box<LlamaClassifier>),
    Generator(Box<GenerativeReranker>),
}

/// Loads a reranker: a model with a rank head, or a generator that replies with yes or no.
///
/// # Errors
/// As [`super::load_generator`]; [`LlmError::Settings`] for a template without its placeholders.
pub fn load_reranker(
    runtime: &super::runtime::Runtime,
    file: &Path,
    settings: &RerankerLoad,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaReranker, LlmError> {
    let template = template(&settings.template)?;
    let metadata = gguf::Metadata::read(file)?;
    if discover::role(&metadata) == ModelRole::Generator {
        let generator = load_generator(runtime, file, &settings.generator, stop, progress)?;
        return Ok(LlamaReranker::Generator(Box::new(GenerativeReranker::new(
            generator, template,
        ))));
    }

    let request = LoadRequest {
        runtime,
        file,
        stop,
        progress,
    };
    let classifier = load_classifying_reranker(request, &settings.model, template)?;
    Ok(LlamaReranker::Classifier(Box::new(classifier)))
}

/// Reads the template that the setting names; `None` for that of the model.
fn template(setting: &str) -> Result<Option<String>, LlmError> {
    if setting == AUTO {
        return Ok(None);
    }
    let advice =
        "set reranker.template to auto, or to a text file that holds {query} and {document}";
    let text = std::fs::read_to_string(setting).map_err(|error| {
        LlmError::settings(
            format!("the rerank template {setting} cannot be read ({error})"),
            advice,
        )
    })?;
    if text.contains("{query}") && text.contains("{document}") {
        Ok(Some(text))
    } else {
        Err(LlmError::settings(
            format!("the rerank template {setting} lacks {{query}} or {{document}}"),
            advice,
        ))
    }
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
pub struct GenerativeReranker {
    generator: LlamaGenerator,
    system: &'static str,
    user: String,
    card: ModelCard,
}

impl GenerativeReranker {
    fn new(generator: LlamaGenerator, template: Option<String>) -> Self {
        let name = if template.is_some() { "file" } else { "qwen3" };
        let card = ModelCard {
            role: ModelRole::Reranker,
            chat_template: name.to_owned(),
            ..generator.card().clone()
        };
        let system = if template.is_some() { "" } else { QWEN3_SYSTEM };
        Self {
            generator,
            system,
            user: template.unwrap_or_else(|| QWEN3_USER.to_owned()),
            card,
        }
    }
}

impl Reranker for LlamaReranker {
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError> {
        match self {
            Self::Classifier(classifier) => classifier.rerank(question, texts),
            Self::Generator(reranker) => reranker.rerank(question, texts),
        }
    }

    fn card(&self) -> &ModelCard {
        match self {
            Self::Classifier(classifier) => classifier.card(),
            Self::Generator(reranker) => &reranker.card,
        }
    }
}

impl Reranker for GenerativeReranker {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError> {
        let prompts: Vec<Prompt> = texts
            .iter()
            .map(|text| Prompt {
                system: self.system.to_owned(),
                user: fill(&self.user, question, text),
                reply: String::new(),
            })
            .collect();
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

    #[test]
    fn a_template_names_both_texts() {
        assert_eq!(template("auto").expect("the model's"), None);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rerank.txt");
        let setting = file.display().to_string();
        for (text, expected) in [
            (None, "cannot be read"),
            (Some("{query}"), "lacks"),
            (Some("{document}"), "lacks"),
        ] {
            if let Some(text) = text {
                std::fs::write(&file, text).expect("written");
            }
            let error = template(&setting).expect_err("no template").to_string();
            assert!(error.contains(expected), "{error}");
        }
        std::fs::write(&file, "{query} {document}").expect("written");
        assert!(template(&setting).expect("a template").is_some());
    }
}
