//! The samples that a probe is trained on: sentences, by the question that they answer.
//!
//! A journal keeps the finished questions, one a line. The hidden states stand in a file beside it,
//! as numbers of half precision one after the other: those of a model of 8 B parameters have
//! 126,976 numbers a sentence, which are 0.25 MB there and five times that as text.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use half::vec::HalfFloatVecExt as _;
use serde::{Deserialize, Serialize};

use crate::trace::{Journal, JournalError};

const NUMBER_BYTES: u64 = size_of::<f16>() as u64;
const CHECK_DIGITS: usize = 16;

/// A sentence of an answer: the model's hidden states before it, and its measured entropy.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Features of the hidden states, from [`super::features()`], in half precision; empty where
    /// the sentence ended with its first token.
    pub features: Vec<f16>,
    /// Discrete semantic entropy of the sampled sentences, nats.
    pub entropy: f64,
    /// The entropy of a second, independent set of samples, for held-out questions.
    pub second_entropy: Option<f64>,
    /// Entropy of the first token of the sentence, nats; `None` in older journals.
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
#[derive(Debug, Clone, PartialEq)]
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

/// The finished questions of a collection, on disk and in memory.
#[derive(Debug)]
pub struct SampleJournal {
    journal: Journal<SampleRow>,
    states: File,
    states_path: PathBuf,
    /// End of the states of the last question, in bytes.
    end: u64,
    questions: Vec<SampledQuestion>,
}

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
struct SampleRow {
    question: String,
    held_out: bool,
    #[serde(default)]
    right: Option<bool>,
    samples: Vec<Measured>,
    /// The beginning of the blake3 hash of the question's states.
    check: String,
}

/// A sample without its features.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    /// Number of its features; they stand behind those of the sample before it.
    features: usize,
    entropy: f64,
    second_entropy: Option<f64>,
    #[serde(default)]
    first_token_entropy: Option<f32>,
    token_entropy: f32,
    has_passages: bool,
}

impl SampleJournal {
    /// Opens the journal of the collection `name`, with the file of its states beside it. What a
    /// kill left torn is removed; a journal whose states are gone or damaged, or of another
    /// collection, starts over.
    ///
    /// # Errors
    /// A file that cannot be created, read or written; another process that writes it.
    pub fn open(path: &Path, name: &str) -> Result<Self, JournalError> {
        let journal: Journal<SampleRow> = Journal::open(path, name)?;
        let states_path = path.with_extension("f16");
        let states = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&states_path);

        let mut opened = Self {
            journal,
            states: states.map_err(|error| file_error(&states_path, error))?,
            states_path,
            end: 0,
            questions: Vec::new(),
        };

        opened
            .read()
            .map_err(|error| file_error(&opened.states_path, error))?;

        if opened.questions.len() < opened.journal.rows().len() {
            opened.clear()?;
        }

        Ok(opened)
    }

    /// Reads the states of every row up to the first that is damaged, and cuts off what no row has.
    fn read(&mut self) -> io::Result<()> {
        self.states.seek(SeekFrom::Start(0))?;
        let mut states = io::BufReader::new(&self.states);

        for row in self.journal.rows() {
            let numbers: usize = row.samples.iter().map(|sample| sample.features).sum();
            let wanted = numbers as u64 * NUMBER_BYTES;

            let mut bytes = Vec::new();
            (&mut states).take(wanted).read_to_end(&mut bytes)?;

            if bytes.len() as u64 != wanted || check(&bytes) != row.check {
                return Ok(());
            }

            self.questions.push(row.with_states(&bytes));
            self.end += wanted;
        }

        self.states.set_len(self.end)
    }

    fn clear(&mut self) -> Result<(), JournalError> {
        self.questions.clear();
        self.end = 0;
        self.journal.clear()?;
        self.states
            .set_len(0)
            .map_err(|error| file_error(&self.states_path, error))
    }

    /// Adds a question: its states first, so that a row never lacks them.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn push(&mut self, question: SampledQuestion) -> Result<(), JournalError> {
        let features = question.samples.iter().flat_map(|one| &one.features);
        let bytes: Vec<u8> = features.flat_map(|number| number.to_le_bytes()).collect();
        self.states
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.states.write_all(&bytes))
            .map_err(|error| file_error(&self.states_path, error))?;

        self.journal
            .push(SampleRow::new(&question, check(&bytes)))?;
        self.end += bytes.len() as u64;
        self.questions.push(question);
        Ok(())
    }

    /// Returns the questions in the order in which they were added.
    pub fn questions(&self) -> &[SampledQuestion] {
        &self.questions
    }
}

impl SampleRow {
    fn new(question: &SampledQuestion, check: String) -> Self {
        let measured = |sample: &Sample| Measured {
            features: sample.features.len(),
            entropy: sample.entropy,
            second_entropy: sample.second_entropy,
            first_token_entropy: sample.first_token_entropy,
            token_entropy: sample.token_entropy,
            has_passages: sample.has_passages,
        };

        Self {
            question: question.question.clone(),
            held_out: question.held_out,
            right: question.right,
            samples: question.samples.iter().map(measured).collect(),
            check,
        }
    }

    fn with_states(&self, bytes: &[u8]) -> SampledQuestion {
        let mut numbers = bytes
            .chunks_exact(size_of::<f16>())
            .map(|number| f16::from_le_bytes([number[0], number[1]]));

        let samples = self.samples.iter().map(|measured| Sample {
            features: numbers.by_ref().take(measured.features).collect(),
            entropy: measured.entropy,
            second_entropy: measured.second_entropy,
            first_token_entropy: measured.first_token_entropy,
            token_entropy: measured.token_entropy,
            has_passages: measured.has_passages,
        });

        SampledQuestion {
            question: self.question.clone(),
            held_out: self.held_out,
            right: self.right,
            samples: samples.collect(),
        }
    }
}

fn check(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..CHECK_DIGITS].to_owned()
}

fn file_error(file: &Path, source: io::Error) -> JournalError {
    JournalError::Disk {
        file: file.to_owned(),
        source,
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

    /// A journal of two questions and its folder.
    fn write_journal() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sentences.jsonl");
        let mut journal = SampleJournal::open(&path, "work").expect("opened");
        journal.push(question(1)).expect("added");
        journal.push(question(2)).expect("added");
        (folder, path)
    }

    #[test]
    fn a_collection_continues_with_its_states() {
        let (_folder, path) = write_journal();
        let journal = SampleJournal::open(&path, "work").expect("opened");
        assert_eq!(journal.questions(), [question(1), question(2)]);
        drop(journal);

        let states = path.with_extension("f16");
        let whole = std::fs::read(&states).expect("read");
        assert_eq!(whole.len(), 12, "six numbers of two bytes");
        let narrowed = [1.0, -65504.0, 0.125];
        assert_eq!(question(1).samples[0].wide_features(), narrowed);

        // A kill between the states and their row leaves states without a row.
        std::fs::write(&states, [&whole[..], &[7; 5]].concat()).expect("torn");
        let mut journal = SampleJournal::open(&path, "work").expect("opened");
        journal.push(question(3)).expect("added");
        drop(journal);
        let journal = SampleJournal::open(&path, "work").expect("opened");
        assert_eq!(journal.questions(), [question(1), question(2), question(3)]);
    }

    #[test]
    fn a_collection_without_its_states_starts_over() {
        for damage in [&b""[..], &[0; 12]] {
            let (_folder, path) = write_journal();
            std::fs::write(path.with_extension("f16"), damage).expect("damaged");
            let mut journal = SampleJournal::open(&path, "work").expect("opened");
            assert_eq!(journal.questions(), []);
            journal.push(question(4)).expect("added");
            drop(journal);
            let journal = SampleJournal::open(&path, "work").expect("opened");
            assert_eq!(journal.questions(), [question(4)]);
        }
    }
}
