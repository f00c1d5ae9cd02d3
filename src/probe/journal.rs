//! The samples that a probe is trained on: sentences, by the question that they answer.
//!
//! A journal keeps the finished questions, one a line. The hidden states stand in it as numbers of
//! half precision: those of a model of 8 B parameters have 126,976 numbers a sentence, which are
//! 0.34 MB in base64 and four times that as text.

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use half::vec::HalfFloatVecExt as _;
use serde::{Deserialize, Serialize};

use crate::trace::Journal;

/// The finished questions of a collection.
pub type SampleJournal = Journal<SampledQuestion>;

/// A sentence of an answer: the model's hidden states before it, and its measured entropy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Features of the hidden states, from [`super::features()`], in half precision; empty where
    /// the sentence ended with its first token.
    #[serde(with = "in_base64")]
    pub features: Vec<f16>,
    /// Discrete semantic entropy of the sampled sentences, nats; the mean token entropy where the
    /// labels are by accuracy.
    pub entropy: f64,
    /// The entropy of a second, independent set of samples, for held-out questions.
    pub second_entropy: Option<f64>,
    /// Entropy of the first token of the sentence, nats; `None` for one without tokens.
    pub first_token_entropy: Option<f32>,
    /// Mean token entropy of the sentence, nats.
    pub token_entropy: f32,
    /// Whether it was written with retrieved passages.
    pub has_passages: bool,
}

impl Sample {
    /// Returns the features in the precision of the network.
    pub fn wide_features(&self) -> Vec<f32> {
        self.features.to_f32_vec()
    }
}

/// A finished question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledQuestion {
    pub question: String,
    /// Whether it is kept out of training.
    pub held_out: bool,
    /// Whether its answer was right; `None` where no answer is known.
    pub right: Option<bool>,
    pub samples: Vec<Sample>,
}

impl SampledQuestion {
    /// Returns whether the second sample is the first sentence again, regenerated from passages.
    pub(super) fn has_regenerated_first(&self) -> bool {
        matches!(self.samples.as_slice(), [first, second, ..] if !first.has_passages && second.has_passages)
    }
}

/// Returns numbers in half precision; those beyond its range, 65,504, as its limit.
pub fn narrow(numbers: &[f32]) -> Vec<f16> {
    let limit = f16::MAX.to_f32();
    let within: Vec<f32> = numbers
        .iter()
        .map(|number| number.clamp(-limit, limit))
        .collect();
    Vec::from_f32_slice(&within)
}

/// Numbers in half precision as base64 of their bytes, little-endian.
mod in_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use half::f16;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(numbers: &[f16], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f16>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        let (numbers, _) = bytes.as_chunks();
        Ok(numbers.iter().copied().map(f16::from_le_bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(number: u16) -> SampledQuestion {
        let sample = |features: &[f32]| Sample {
            features: narrow(features),
            entropy: f64::from(number),
            second_entropy: None,
            first_token_entropy: Some(0.25),
            token_entropy: 0.5,
            has_passages: false,
        };
        let number_f32 = f32::from(number);
        SampledQuestion {
            question: format!("q{number}?"),
            held_out: false,
            right: (number != 2).then_some(number == 1),
            samples: vec![sample(&[number_f32, -1e9, 0.125]), sample(&[])],
        }
    }

    #[test]
    fn a_collection_continues_with_its_states() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sentences.jsonl");
        let open = || SampleJournal::open(&path, "work").expect("opened");
        let mut journal = open();
        journal.push(question(1)).expect("added");
        journal.push(question(2)).expect("added");
        drop(journal);
        assert_eq!(open().rows(), [question(1), question(2)]);
        let narrowed = [1.0, -65504.0, 0.125];
        assert_eq!(open().rows()[0].samples[0].wide_features(), narrowed);

        // a kill in the middle of a row
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..whole.len() - 9]).expect("torn");
        let mut journal = open();
        journal.push(question(3)).expect("added");
        drop(journal);
        assert_eq!(open().rows(), [question(1), question(3)]);
    }
}
