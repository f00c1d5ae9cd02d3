//! The threshold of the gate for a model without a probe, from its own sentences.
//!
//! A token entropy means another thing for each model. The sentences of a few answers are sampled
//! as for a probe (SEARAG, section 3.1): their semantic entropy separates certain from uncertain
//! ones, and the threshold of the token entropy is the one that separates them alike.

use serde::Serialize;

use crate::engine::error::RunError;
use crate::methods::largest_by;
use crate::methods::searag::entropy_threshold;
use crate::probe::Sample;

use super::operations::Worker;
use super::probe_questions::ProbeQuestion;
use super::probing::{FIRST_THRESHOLD, for_collecting};
use super::stamp::Publish;

/// The thresholds of the gate for a generator, and the sentences that they come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// File name of the generator.
    pub generator: String,
    pub sentences: usize,
    /// Sentences with a semantic entropy above its threshold.
    pub uncertain: usize,
    /// Nats.
    pub semantic_entropy_threshold: f64,
    /// Nats.
    pub token_entropy_threshold: f64,
    /// Mean of the shares of certain and of uncertain sentences that the token entropy puts on the
    /// same side; `None` where all sentences are of one kind and the threshold is the median.
    pub agreement: Option<f64>,
}

impl Worker {
    /// Sets the thresholds of the gate for the generator by its own sentences over the open corpus;
    /// without questions the generator writes them. After a stop, the next call continues with the
    /// sentences collected so far.
    ///
    /// # Errors
    /// No corpus is open; no sentence was written; models, index and disk; a stop.
    pub fn calibrate(
        &mut self,
        questions: Vec<ProbeQuestion>,
        publish: Publish<'_>,
    ) -> Result<Calibration, RunError> {
        let config = for_collecting(self.layers.config()?);
        self.with_sentences(&config, questions, publish, |sentences, generator, _| {
            let samples = sentences.iter().flat_map(|question| &question.samples);
            let samples: Vec<&Sample> = samples.collect();
            calibration(generator.file.clone(), &samples).ok_or_else(|| {
                RunError::new(
                    "the generator wrote no sentence to calibrate the gate with",
                    "ask other questions with --questions FILE",
                )
            })
        })
    }
}

/// Returns the thresholds by these sentences; `None` without any.
fn calibration(generator: String, samples: &[&Sample]) -> Option<Calibration> {
    let with_features = samples.iter().filter(|sample| !sample.features.is_empty());
    let (entropies, features): (Vec<f64>, Vec<Vec<f32>>) = with_features
        .map(|sample| (sample.entropy, sample.wide_features()))
        .unzip();
    let semantic = entropy_threshold(&entropies, &features).unwrap_or(FIRST_THRESHOLD);

    let sentence = |sample: &&Sample| Sentence {
        token_entropy: f64::from(sample.token_entropy),
        is_uncertain: sample.entropy > semantic,
    };
    let sentences: Vec<Sentence> = samples.iter().map(sentence).collect();
    let split = Split::best(&sentences)?;
    Some(Calibration {
        generator,
        sentences: sentences.len(),
        uncertain: count_uncertain(&sentences),
        semantic_entropy_threshold: semantic,
        token_entropy_threshold: split.threshold,
        agreement: split.agreement,
    })
}

/// A sentence with both measures of its uncertainty.
#[derive(Debug, Clone, Copy)]
struct Sentence {
    token_entropy: f64,
    is_uncertain: bool,
}

fn count_uncertain(sentences: &[Sentence]) -> usize {
    let uncertain = sentences.iter().filter(|sentence| sentence.is_uncertain);
    uncertain.count()
}

/// A threshold of the token entropy.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Split {
    threshold: f64,
    agreement: Option<f64>,
}

impl Split {
    /// Returns the threshold, midway between two sentences, that agrees best with what is
    /// uncertain; the lowest of equal ones. The median where all are of one kind; `None` without
    /// sentences.
    fn best(sentences: &[Sentence]) -> Option<Self> {
        let entropies = sentences.iter().map(|sentence| sentence.token_entropy);
        let mut entropies: Vec<f64> = entropies.collect();
        entropies.sort_by(f64::total_cmp);
        let median = *entropies.get(entropies.len() / 2)?;

        let uncertain = count_uncertain(sentences);
        if uncertain == 0 || uncertain == sentences.len() {
            return Some(Self {
                threshold: median,
                agreement: None,
            });
        }
        let pairs = entropies.windows(2);
        let splits = pairs.map(|pair| f64::midpoint(pair[0], pair[1]));
        let splits = splits.map(|threshold| Self {
            threshold,
            agreement: Some(agreement(sentences, threshold)),
        });
        largest_by(splits, |split| split.agreement)
    }
}

/// Returns the mean of the shares of certain and of uncertain sentences that a threshold puts on
/// their side.
fn agreement(sentences: &[Sentence], threshold: f64) -> f64 {
    let share = |is_uncertain: bool| {
        let of_kind = || {
            let sentences = sentences.iter();
            sentences.filter(move |sentence| sentence.is_uncertain == is_uncertain)
        };
        let right = of_kind().filter(|one| (one.token_entropy > threshold) == is_uncertain);
        right.count() as f64 / of_kind().count().max(1) as f64
    };
    f64::midpoint(share(true), share(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::narrow;

    #[test]
    fn the_threshold_separates_as_the_semantic_entropy_does() {
        let split = |threshold, agreement| {
            Some(Split {
                threshold,
                agreement,
            })
        };
        let cases = [
            (Vec::new(), None),
            (vec![(0.3, false)], split(0.3, None)),
            (
                vec![(2.0, true), (1.0, true), (3.0, true)],
                split(2.0, None),
            ),
            (
                vec![(2.0, true), (0.5, false), (1.0, false), (3.0, true)],
                split(1.5, Some(1.0)),
            ),
            // one of two uncertain sentences is below every certain one
            (
                vec![(0.1, true), (1.0, false), (2.0, false), (4.0, true)],
                split(3.0, Some(0.75)),
            ),
        ];
        for (sentences, expected) in cases {
            let sentences: Vec<Sentence> = sentences
                .iter()
                .map(|&(token_entropy, is_uncertain)| Sentence {
                    token_entropy,
                    is_uncertain,
                })
                .collect();
            assert_eq!(Split::best(&sentences), expected);
        }
    }

    #[test]
    fn a_calibration_counts_its_sentences() {
        let sample = |entropy: f64, token_entropy: f32| Sample {
            features: narrow(&[entropy as f32, 1.0]),
            entropy,
            second_entropy: None,
            first_token_entropy: None,
            token_entropy,
            has_passages: false,
        };
        let samples = [
            sample(0.0, 0.2),
            sample(0.1, 0.4),
            sample(1.9, 1.6),
            sample(2.0, 1.2),
        ];
        let samples: Vec<&Sample> = samples.iter().collect();
        let found = calibration("m.gguf".to_owned(), &samples).expect("a calibration");
        assert_eq!((found.sentences, found.uncertain), (4, 2));
        assert!(
            (found.token_entropy_threshold - 0.8).abs() < 1e-6,
            "{found:?}"
        );
        assert_eq!(found.agreement, Some(1.0));
        assert_eq!(calibration(String::new(), &[]), None);
    }
}
