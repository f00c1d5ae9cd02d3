//! The probe: a small network that reads hidden states of the generator and estimates how uncertain
//! it is of the sentence that begins.
//!
//! SEARAG, section 3.1 and appendices A and B. In reading order: `features` are taken from hidden
//! states; a `journal` keeps the samples, one per sentence, with their hidden states in a file beside it; `train` fits the `network` with the
//! `optimiser` and measures it; `weights` keeps it in a file, which is refused for any other
//! generator.
//!
//! This module calls no model and knows nothing of a run: the samples are collected elsewhere.

mod features;
mod journal;
mod network;
mod optimiser;
mod train;
mod weights;

pub use features::{features, position};
pub use journal::{Sample, SampleJournal, SampledQuestion, narrow};
pub use train::{Epoch, train};
pub use weights::{describe, files, find};

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::config::{Config, Paths, ProbeFile, assets_folder};
use crate::event::{Advice, ModelCard, ProbeCard, ProbeLayers, StatePosition};
use crate::methods::searag::Standard;
use crate::trace::JournalError;
use network::Network;

/// Version of the weights file.
pub const FORMAT: u32 = 1;

/// A trained probe.
#[derive(Debug, Clone)]
pub struct Probe {
    pub card: ProbeCard,
    standard: Standard,
    network: Network,
}

/// An error with a probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("the probe {file} cannot be read ({reason})")]
    Unreadable { file: String, reason: String },
    #[error("the probe {file} cannot be written ({reason})")]
    Unwritable { file: String, reason: String },
    #[error("the probe {file} does not fit ({reason})")]
    Unfit { file: String, reason: String },
    #[error("no probe was trained for {generator}")]
    None { generator: String },
    #[error("the probe reads hidden states, which the model server {host} does not give")]
    Inside { host: String },
    #[error(
        "{certain} certain and {uncertain} uncertain sentences are too few to train on, each needs {needed}"
    )]
    TooFew {
        certain: usize,
        uncertain: usize,
        needed: usize,
    },
    #[error(
        "{right} right and {wrong} wrong answers are known of {questions} questions, each needs one"
    )]
    NoAnswers {
        right: usize,
        wrong: usize,
        questions: usize,
    },
    #[error("the generator wrote no usable question about any of {asked} passages")]
    NoQuestions { asked: usize },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("stopped")]
    Stopped,
}

impl Advice for ProbeError {
    fn advice(&self) -> Option<Cow<'_, str>> {
        let advice = match self {
            Self::Unreadable { .. } => "train it again with `ragscope probe train`",
            Self::Unwritable { .. } => "check the folder and the space on its disk",
            Self::Unfit { .. } => "train one for this model with `ragscope probe train`",
            Self::None { .. } => "train one with `ragscope probe train FOLDER`",
            Self::Inside { .. } => {
                "set gate.kind to token_entropy, or run the model here or behind another ragscope"
            }
            Self::TooFew { .. } => {
                "ask more questions (probe.questions, or --questions with a longer file)"
            }
            Self::NoQuestions { .. } => "give it questions with --questions FILE",
            Self::NoAnswers { .. } => {
                "give it questions with answers with --questions FILE, some of which the model knows"
            }
            Self::Journal(error) => return error.advice(),
            Self::Stopped => return None,
        };
        Some(advice.into())
    }
}

impl Probe {
    /// Reads a weights file.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of a newer format.
    pub fn load(file: &Path) -> Result<Self, ProbeError> {
        weights::load(file)
    }

    /// Returns the probe that the settings name for this generator, and its file.
    ///
    /// # Errors
    /// None was trained for it, or the one that is named does not fit.
    pub fn named(
        config: &Config,
        paths: &Paths,
        generator: &ModelCard,
    ) -> Result<(PathBuf, Self), ProbeError> {
        let folders = folders(paths);
        let position = config.probe.position;
        let file = match &config.gate.probe {
            ProbeFile::Auto => find(&folders, generator, &config.probe)?,
            ProbeFile::File(named) => {
                let beside = folders
                    .iter()
                    .map(|folder| folder.join(named))
                    .find(|file| file.is_file());
                beside.unwrap_or_else(|| named.into())
            }
        };

        let probe = Self::load(&file)?;
        probe.check(&file, generator, position)?;
        Ok((file, probe))
    }

    /// Writes a weights file; a kill leaves the old one or the new one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), ProbeError> {
        weights::save(self, file)
    }

    /// Checks that the probe reads this generator at this position.
    ///
    /// # Errors
    /// [`ProbeError::Unfit`] with the reason.
    pub fn check(
        &self,
        file: &Path,
        generator: &ModelCard,
        position: StatePosition,
    ) -> Result<(), ProbeError> {
        let card = &self.card;
        let reason = if card.fingerprint != generator.fingerprint {
            format!(
                "it was trained for {}, the generator is {}, another file",
                card.generator, generator.file
            )
        } else if (card.layers, card.width) != (generator.layers, generator.width) {
            format!(
                "it reads {} layers of width {}, the generator has {} of width {}",
                card.layers, card.width, generator.layers, generator.width
            )
        } else if card.position != position {
            return Err(misplaced(file, card.position, position));
        } else {
            return Ok(());
        };

        Err(ProbeError::Unfit {
            file: file.display().to_string(),
            reason,
        })
    }

    /// Returns how uncertain the generator is of the sentence, in 0..=1: 1 - sigmoid(logit), since
    /// label 1 means certain.
    ///
    /// # Errors
    /// Features of another width.
    pub fn uncertainty(&self, features: &[f32]) -> Result<f32, ProbeError> {
        let card = &self.card;
        let range = |reads| features::range(reads, card.layers, card.width);
        let expected = range(ProbeLayers::All).len();
        if features.len() != expected {
            let reason = format!(
                "it reads {expected} numbers, the generator gave {}",
                features.len()
            );
            return Err(ProbeError::Unfit {
                file: card.generator.clone(),
                reason,
            });
        }

        let read = self.standard.apply(&features[range(card.reads)]);
        let logit = self.network.logit(&read);
        let uncertainty = 1.0 / (1.0 + logit.exp());
        if uncertainty.is_finite() {
            return Ok(uncertainty);
        }
        let reason = "its numbers are not finite".to_owned();
        Err(ProbeError::Unreadable {
            file: format!("for {}", card.generator),
            reason,
        })
    }
}

/// Returns the folders of weights files: the user's, then the bundled one.
pub fn folders(paths: &Paths) -> [PathBuf; 2] {
    [paths.probes(), assets_folder().join("probes")]
}

/// The error of a probe that reads another token than the settings name.
fn misplaced(file: &Path, reads: StatePosition, asked: StatePosition) -> ProbeError {
    let reason = format!(
        "it reads the {}, probe.position asks for the {}",
        name(reads),
        name(asked)
    );
    ProbeError::Unfit {
        file: file.display().to_string(),
        reason,
    }
}

fn name(position: StatePosition) -> &'static str {
    match position {
        StatePosition::FirstToken => "first token",
        StatePosition::LastPromptToken => "last token of the prompt",
    }
}
