//! The reranker and the entailment judge as sequence-classification GGUFs. Without such a model the generator is asked with a prompt
//! ([`super::Scorer::classify`]).

use std::path::Path;

use super::ffi::{Pooling, class_label};
use super::pool::Pool;
use super::runtime::Runtime;
use super::{LlmError, template};
use crate::config::EmbedderSettings;
use crate::event::{Flow, ModelCard, ModelRole, StopFlag};

/// Says how well texts fit a question.
pub trait Reranker {
    /// One number a text in 0..=1, in order; higher fits better.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; llama.cpp's own failures.
    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError>;

    /// What the model is.
    fn card(&self) -> &ModelCard;
}

/// Says whether one answer entails another.
pub trait EntailmentJudge {
    /// How the second answer of each pair follows from the first, for this question.
    ///
    /// # Errors
    /// [`LlmError::Stopped`]; llama.cpp's own failures.
    fn judge(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError>;

    /// What the model is.
    fn card(&self) -> &ModelCard;
}

/// Probabilities of the three judgements; they sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entailment {
    pub entailment: f32,
    pub neutral: f32,
    pub contradiction: f32,
}

impl Entailment {
    /// The three labels, as a generator is asked for them.
    pub const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];

    /// The judgement of a generator: a row of [`super::Scorer::classify`] over [`Self::LABELS`].
    #[must_use]
    pub fn of_row(row: &[f32]) -> Self {
        let at = |label: usize| row.get(label).copied().unwrap_or_default();
        Self {
            entailment: at(0),
            neutral: at(1),
            contradiction: at(2),
        }
    }

    /// What is known without a judge: a text entails itself.
    pub const CERTAIN: Self = Self {
        entailment: 1.0,
        neutral: 0.0,
        contradiction: 0.0,
    };

    /// Is entailment the likeliest of the three?
    #[must_use]
    pub fn is_entailed(&self) -> bool {
        self.entailment > self.neutral.max(self.contradiction)
    }
}

/// A sequence-classification model on llama.cpp (rank pooling in its metadata).
pub struct LlamaClassifier {
    pool: Pool,
    card: ModelCard,
    classes: usize,
    /// Class of entailment, neutral and contradiction, when the model names its classes so.
    judgements: Option<[usize; 3]>,
}

/// Load a reranker or an entailment judge from a sequence-classification GGUF.
///
/// # Errors
/// As [`super::load_embedder`]; [`LlmError::Unusable`] for a model that does not classify, and for an entailment judge whose metadata
/// names no classes of entailment, neutral and contradiction.
pub fn load_classifier(
    runtime: &Runtime,
    file: &Path,
    (role, settings): (ModelRole, &EmbedderSettings),
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<LlamaClassifier, LlmError> {
    let kind = (
        role,
        Pooling::Rank,
        "it is not a sequence-classification model: its pooling is not rank",
    );
    let (pool, card) = Pool::load(runtime, file, kind, (settings, stop), progress)?;
    let classes = pool.context.model().n_cls_out();
    let labels: Vec<Option<String>> = (0..classes)
        .map(|class| class_label(pool.context.model(), class))
        .collect();
    let judgements = judgements(&labels);
    if role == ModelRole::EntailmentJudge && judgements.is_none() {
        let named: Vec<&str> = labels.iter().flatten().map(String::as_str).collect();
        return Err(LlmError::Unusable {
            path: file.display().to_string(),
            reason: format!(
                "its classes [{}] are not entailment, neutral and contradiction",
                named.join(", ")
            ),
        });
    }
    Ok(LlamaClassifier {
        pool,
        card,
        classes: classes as usize,
        judgements,
    })
}

fn judgements(labels: &[Option<String>]) -> Option<[usize; 3]> {
    let class = |part: &str| {
        labels.iter().position(|label| {
            label
                .as_ref()
                .is_some_and(|label| label.to_lowercase().contains(part))
        })
    };
    Some([class("entail")?, class("neutral")?, class("contradict")?])
}

impl LlamaClassifier {
    /// What the model is.
    #[must_use]
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// What the model computes for each pair of texts, one number a class.
    fn classes(&mut self, pairs: &[(String, String)]) -> Result<Vec<Vec<f32>>, LlmError> {
        let tokens: Vec<Vec<i32>> = pairs
            .iter()
            .map(|(first, second)| self.tokens(first, second))
            .collect();
        self.pool.rows(&tokens, self.classes)
    }

    /// A pair as such models are trained: start, first text, end, separator, second text, end; the second is cut when both are too long.
    fn tokens(&self, first: &str, second: &str) -> Vec<i32> {
        let model = self.pool.context.model();
        let vocabulary = model.vocab();
        let end = if vocabulary.eos().0 >= 0 {
            vocabulary.eos()
        } else {
            vocabulary.sep()
        };
        let [start, end, separator] = [
            (vocabulary.should_add_bos(), vocabulary.bos()),
            (vocabulary.should_add_eos(), end),
            (vocabulary.should_add_sep(), vocabulary.sep()),
        ]
        .map(|(wanted, token)| Some(token.0).filter(|token| wanted && *token >= 0));
        let mut tokens: Vec<i32> = start.into_iter().collect();
        tokens.extend(template::tokens(model, first, false, false));
        tokens.truncate(self.pool.longest / 2);
        tokens.extend(end.into_iter().chain(separator));
        tokens.extend(template::tokens(model, second, false, false));
        tokens.truncate(self.pool.longest - end.iter().len());
        tokens.extend(end);
        tokens
    }
}

impl Reranker for LlamaClassifier {
    fn card(&self) -> &ModelCard {
        self.card()
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError> {
        let pairs: Vec<_> = texts
            .iter()
            .map(|text| (question.to_owned(), (*text).to_owned()))
            .collect();
        let rows = self.classes(&pairs)?;
        // one class is a logit; of several (yes, no) the first is the probability already
        Ok(rows
            .iter()
            .map(|row| {
                if row.len() == 1 {
                    1.0 / (1.0 + (-row[0]).exp())
                } else {
                    row[0].clamp(0.0, 1.0)
                }
            })
            .collect())
    }
}

impl EntailmentJudge for LlamaClassifier {
    fn card(&self) -> &ModelCard {
        self.card()
    }

    fn judge(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        let Some(classes) = self.judgements else {
            return Err(LlmError::Backend(format!(
                "{} does not judge entailment: choose another model for that",
                self.card.file
            )));
        };
        let texts: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (format!("{question} {a}"), format!("{question} {b}")))
            .collect();
        let rows = self.classes(&texts)?;
        Ok(rows
            .iter()
            .map(|row| {
                let [entailment, neutral, contradiction] = softmax(classes.map(|class| row[class]));
                Entailment {
                    entailment,
                    neutral,
                    contradiction,
                }
            })
            .collect())
    }
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shares = logits.map(|logit| (logit - most).exp());
    let whole: f32 = shares.iter().sum();
    shares.map(|share| share / whole)
}
