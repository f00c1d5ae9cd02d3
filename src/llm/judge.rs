//! The reranker and the entailment judge as sequence-classification GGUFs.
//!
//! Without such a model the engine asks the generator with a prompt
//! ([`super::Scorer::classify`]).

use std::path::Path;

use llama_cpp_2::token::LlamaToken;

use super::error::{LlmError, Result};
use super::ffi::{Pooling, class_label};
use super::gguf::Metadata;
use super::load::LoadRequest;
use super::pool::{Pool, Required};
use super::rerank_template::{RerankPart, parts};
use super::role::{EntailmentJudge, Reranker};
use super::runtime::Runtime;
use super::template;
use super::values::Entailment;
use crate::config::EmbedderSettings;
use crate::event::{Flow, ModelCard, ModelRole, StopFlag, logistic};

/// A sequence-classification model on llama.cpp (rank pooling in its metadata).
pub struct LlamaClassifier {
    pool: Pool,
    card: ModelCard,
    classes: usize,
    /// Classes of entailment, neutral and contradiction, if the model names its classes so.
    judgements: Option<[usize; 3]>,
    /// The text around a pair, where the model was trained on one.
    template: Option<String>,
}

/// The metadata key with the text that a reranker was trained on, for one question and one
/// document.
const TEMPLATE_KEY: &str = "tokenizer.chat_template.rerank";

/// Loads a reranker from a sequence-classification GGUF.
///
/// # Errors
/// As [`super::load_embedder`]; [`LlmError::Unusable`] for a model that does not classify.
pub(super) fn load_classifying_reranker(
    request: LoadRequest,
    settings: &EmbedderSettings,
) -> Result<LlamaClassifier> {
    let template = Metadata::read(request.file)?
        .text(TEMPLATE_KEY)
        .map(str::to_owned);
    let mut classifier = LlamaClassifier::load(request, ModelRole::Reranker, settings)?;
    let name = if template.is_some() { "gguf" } else { "" };
    name.clone_into(&mut classifier.card.chat_template);
    classifier.template = template;
    Ok(classifier)
}

/// Loads an entailment judge from a sequence-classification GGUF.
///
/// # Errors
/// As [`super::load_embedder`]; also [`LlmError::Unusable`] for a model without classes of
/// entailment, neutral and contradiction in its metadata.
pub fn load_entailment_judge(
    runtime: &Runtime,
    file: &Path,
    settings: &EmbedderSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaClassifier> {
    let request = LoadRequest {
        runtime,
        file,
        stop,
        progress,
    };

    let classifier = LlamaClassifier::load(request, ModelRole::EntailmentJudge, settings)?;
    if classifier.judgements.is_none() {
        let labels: Vec<String> = classifier.labels().into_iter().flatten().collect();
        let labels = labels.join(", ");
        let reason =
            format!("its classes [{labels}] are not entailment, neutral and contradiction");
        return Err(LlmError::unusable(file, reason));
    }

    Ok(classifier)
}

/// Finds the classes of entailment, neutral and contradiction by their labels.
fn judgements(labels: &[Option<String>]) -> Option<[usize; 3]> {
    let class = |part: &str| {
        labels
            .iter()
            .map(|label| label.as_deref().unwrap_or_default().to_lowercase())
            .position(|label| label.contains(part))
    };
    Some([class("entail")?, class("neutral")?, class("contradict")?])
}

impl LlamaClassifier {
    fn load(request: LoadRequest, role: ModelRole, settings: &EmbedderSettings) -> Result<Self> {
        let required = Required {
            role,
            pooling: Pooling::Rank,
            otherwise: "it is not a sequence-classification model: its pooling is not rank",
        };
        let (pool, card) = Pool::load(request, required, settings)?;

        let mut classifier = Self {
            classes: pool.context.model.n_cls_out() as usize,
            judgements: None,
            template: None,
            pool,
            card,
        };

        classifier.judgements = judgements(&classifier.labels());
        Ok(classifier)
    }

    /// Returns the label of each class, if the metadata has one.
    fn labels(&self) -> Vec<Option<String>> {
        let model = &self.pool.context.model;
        (0..model.n_cls_out())
            .map(|class| class_label(model, class))
            .collect()
    }

    /// Describes the model.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// Returns the output of the model for each pair of texts, one number per class.
    fn classes(&mut self, pairs: &[(String, String)]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<Vec<i32>> = pairs
            .iter()
            .map(|(first, second)| self.tokens(first, second))
            .collect();
        self.pool.rows(&tokens, self.classes)
    }

    /// Returns a pair in the format that such models are trained on: start, first text, end,
    /// separator, second text, end. If both texts are too long, both are truncated.
    fn tokens(&self, first: &str, second: &str) -> Vec<i32> {
        let model = &self.pool.context.model;
        if let Some(template) = &self.template {
            return self.in_template(template, first, second);
        }
        let vocabulary = model.vocab();

        // Vocabularies of the BERT family have no end of text: the separator closes a text.
        let mut end = vocabulary.eos();
        if end.0 < 0 {
            end = vocabulary.sep();
        }
        let special = |is_wanted: bool, token: LlamaToken| {
            Some(token.0).filter(|token| is_wanted && *token >= 0)
        };
        let start = special(vocabulary.should_add_bos(), vocabulary.bos());
        let end = special(vocabulary.should_add_eos(), end);
        let separator = special(vocabulary.should_add_sep(), vocabulary.sep());

        let mut tokens: Vec<i32> = start.into_iter().collect();
        tokens.extend(template::tokenize(model, first, false, false));
        tokens.truncate(self.pool.max_tokens / 2);
        tokens.extend(end.into_iter().chain(separator));
        tokens.extend(template::tokenize(model, second, false, false));
        tokens.truncate(self.pool.max_tokens - end.iter().len());
        tokens.extend(end);
        tokens
    }

    /// Returns a pair in the text that the model was trained on. Only the template writes special
    /// tokens; a document that is too long is truncated.
    fn in_template(&self, template: &str, query: &str, document: &str) -> Vec<i32> {
        let model = &self.pool.context.model;
        let mut before = Vec::new();
        let mut cut = Vec::new();
        let mut after = Vec::new();
        for part in parts(template) {
            let tokens = match part {
                RerankPart::Text(text) => template::tokenize(model, text, false, true),
                RerankPart::Query => template::tokenize(model, query, false, false),
                RerankPart::Document => {
                    cut = template::tokenize(model, document, false, false);
                    continue;
                }
            };
            if cut.is_empty() {
                before.extend(tokens);
            } else {
                after.extend(tokens);
            }
        }

        let room = self
            .pool
            .max_tokens
            .saturating_sub(before.len() + after.len());
        cut.truncate(room);
        before.extend(cut);
        before.extend(after);
        before.truncate(self.pool.max_tokens);
        before
    }
}

impl Reranker for LlamaClassifier {
    fn card(&self) -> &ModelCard {
        self.card()
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let pairs: Vec<(String, String)> = texts
            .iter()
            .map(|text| (question.to_owned(), (*text).to_owned()))
            .collect();
        let rows = self.classes(&pairs)?;

        // A single class is a logit. Of several (yes, no) llama.cpp returns probabilities, the
        // first of which is the relevance.
        let score = |row: &Vec<f32>| match row.as_slice() {
            [logit] => logistic(*logit),
            row => row[0].clamp(0.0, 1.0),
        };
        Ok(rows.iter().map(score).collect())
    }
}

impl EntailmentJudge for LlamaClassifier {
    fn card(&self) -> &ModelCard {
        self.card()
    }

    fn judge(&mut self, question: &str, pairs: &[(&str, &str)]) -> Result<Vec<Entailment>> {
        let Some(classes) = self.judgements else {
            return Err(LlmError::new(
                format!("{} does not judge entailment", self.card.file),
                "set judge.model to a model that does, or to generator or words",
            ));
        };

        let texts: Vec<(String, String)> = pairs
            .iter()
            .map(|(a, b)| (format!("{question} {a}"), format!("{question} {b}")))
            .collect();
        let rows = self.classes(&texts)?;
        Ok(rows
            .iter()
            .map(|row| Entailment::from_row(&softmax(classes.map(|class| row[class]))))
            .collect())
    }
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials = logits.map(|logit| (logit - largest).exp());
    let sum: f32 = exponentials.iter().sum();
    exponentials.map(|exponential| exponential / sum)
}
