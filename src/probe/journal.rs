//! What was collected so far, one line a finished question, so that a stopped collection goes on where it was.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ProbeError;

/// A sentence of a walk: how the model felt about it, and how it turned out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Features of the hidden states, as [`super::features`] makes them; empty where the sentence ended with its first token.
    pub features: Vec<f32>,
    /// Discrete semantic entropy of the sampled sentences, nats.
    pub entropy: f64,
    /// The same of a second, independent set of samples, for held-out questions.
    pub second_entropy: Option<f64>,
    /// Mean token entropy of the sentence, nats.
    pub token_entropy: f32,
    /// Was it written from passages?
    pub looked_up: bool,
}

/// A finished question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walked {
    pub question: String,
    /// Is it kept out of training?
    pub held_out: bool,
    pub samples: Vec<Sample>,
}

/// The file of finished questions.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    walked: Vec<Walked>,
}

impl Journal {
    /// Open or begin the journal. What a kill left half written is dropped.
    ///
    /// # Errors
    /// What the disk refuses.
    pub fn open(path: &Path) -> Result<Self, ProbeError> {
        let unwritable = |error: std::io::Error| unwritable(path, &error);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(unwritable)?;
        let (mut walked, mut whole) = (Vec::new(), 0);
        let mut reader = BufReader::new(&file);
        let mut line = String::new();
        // a line that is no text ends the readable part, too
        while reader.read_line(&mut line).unwrap_or(0) > 0 {
            let Some(question) = serde_json::from_str(&line).ok().filter(|_| line.ends_with('\n')) else { break };
            walked.push(question);
            whole += line.len() as u64;
            line.clear();
        }
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(unwritable)?;
        Ok(Self { path: path.to_owned(), file, walked })
    }

    /// The finished questions, in the order in which they were finished.
    #[must_use]
    pub fn walked(&self) -> &[Walked] {
        &self.walked
    }

    /// Add a finished question.
    ///
    /// # Errors
    /// What the disk refuses.
    pub fn add(&mut self, question: Walked) -> Result<(), ProbeError> {
        let mut line = serde_json::to_string(&question).map_err(|error| ProbeError::Unwritable {
            file: self.path.display().to_string(),
            reason: error.to_string(),
        })?;
        line.push('\n');
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.flush())
            .map_err(|error| unwritable(&self.path, &error))?;
        self.walked.push(question);
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> ProbeError {
    ProbeError::Unwritable { file: path.display().to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_dropped_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/journal.jsonl");
        let walked = |question: &str| Walked { question: question.to_owned(), held_out: false, samples: Vec::new() };
        let mut journal = Journal::open(&path).expect("opened");
        journal.add(walked("a?")).expect("added");
        journal.add(walked("b?")).expect("added");
        let whole = std::fs::read(&path).expect("read");
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("cut");
            let mut journal = Journal::open(&path).expect("opened");
            let known = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(journal.walked().len(), known, "cut at {cut}");
            journal.add(walked("c?")).expect("added");
            let again = Journal::open(&path).expect("opened again");
            assert_eq!(again.walked().last().map(|walked| walked.question.as_str()), Some("c?"), "cut at {cut}");
            assert_eq!(again.walked().len(), known + 1);
        }
    }
}
