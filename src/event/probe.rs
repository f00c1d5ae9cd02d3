//! The values of events about gates and the probe.

use serde::{Deserialize, Serialize};

use super::answer::UncertaintyMeasure;
use super::problem::Problem;

/// The layers whose hidden states a probe reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeLayers {
    /// All but the first.
    #[default]
    All,
    /// The one in the middle of these.
    Middle,
}

/// The label of a training sentence of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeLabels {
    /// Whether its semantic entropy is low.
    #[default]
    SemanticEntropy,
    /// Whether the answer that it is part of is right.
    Accuracy,
}

/// The sentences that a probe is trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeTurns {
    /// Every sentence of an answer, after those before it, and again with retrieved passages.
    #[default]
    Multi,
    /// The first sentence alone, from the question.
    Single,
}

/// The gate of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateCard {
    /// The measure in use, which is not the named one where there is a `fallback`.
    pub measure: UncertaintyMeasure,
    /// Sentences above it are uncertain; in the measure's own unit.
    pub threshold: f32,
    /// The probe that it reads.
    pub probe: Option<ProbeCard>,
    /// The reason why it does not measure what the settings name.
    pub fallback: Option<Problem>,
}

/// The description of a probe: its generator, its training and its quality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeCard {
    /// Version of the weights file.
    pub format: u32,
    /// File name and fingerprint of the generator whose states it reads.
    pub generator: String,
    pub fingerprint: String,
    /// Layers of the generator, and the width of each.
    pub layers: u32,
    pub width: u32,
    /// The layers that are read.
    #[serde(default)]
    pub reads: ProbeLayers,
    #[serde(default)]
    pub labels: ProbeLabels,
    #[serde(default)]
    pub turns: ProbeTurns,
    /// Units of the hidden layer; 2 stand for a logistic regression.
    pub hidden: u32,
    /// The semantic entropy that separates certain from uncertain sentences, nats, and the weight
    /// of the variance term that found it.
    pub entropy_threshold: f64,
    pub lambda: f64,
    /// Sentences sampled for each entropy.
    pub samples: u32,
    pub seed: u64,
    /// The training set: questions, and sentences of each class.
    pub questions: u64,
    pub certain: u64,
    pub uncertain: u64,
    /// Figures on sentences of held-out questions; `None` without any.
    pub held_out: Option<ProbeFigures>,
}

/// The quality with which a probe separates uncertain sentences from certain ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProbeFigures {
    pub questions: u64,
    pub sentences: u64,
    /// Sentences of the uncertain class: those whose sampled semantic entropy is above the
    /// threshold, or those of wrong answers where the probe was trained by accuracy.
    pub uncertain: u64,
    /// AUROC of the probe; `None` when only one class occurs.
    pub auroc: Option<f64>,
    /// Share of right decisions of the probe at 0.5.
    pub accuracy: f64,
    /// AUROC of the entropy of the first token, which the probe reads too; `None` in older files.
    #[serde(default)]
    pub first_token_auroc: Option<f64>,
    /// AUROC of the mean token entropy of the whole sentence.
    pub token_entropy_auroc: Option<f64>,
    /// AUROC of the semantic entropy of a second, independent set of samples: the upper bound of a
    /// probe that was trained by semantic entropy.
    pub semantic_entropy_auroc: Option<f64>,
    /// Microseconds of one reading of the probe, median.
    pub reading_us: u64,
}

/// A phase of the training of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbePhase {
    /// The generator writes questions about the corpus.
    WritingQuestions,
    /// Questions are answered sentence by sentence, and each sentence is sampled.
    Collecting,
    /// The network is trained; units are epochs.
    Training,
}

/// The progress of the training of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeProgress {
    pub phase: ProbePhase,
    /// Finished questions or epochs, and all of them.
    pub done: u64,
    pub total: u64,
    /// Sentences collected so far.
    pub sentences: u64,
    /// Loss on the validation part, while the network is trained.
    pub loss: Option<f32>,
    /// Estimated milliseconds until the phase ends, once measured.
    pub left_ms: Option<u64>,
}
