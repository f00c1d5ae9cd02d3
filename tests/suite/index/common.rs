//! A folder, an index beside it, and a cheap embedder that remembers its texts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ragscope::config::{Config, Layers};
use ragscope::corpus::TokenCounter;
use ragscope::event::{Flow, IndexReport, ModelCard, ModelRole};
use ragscope::index::{Collection, Search as _, Update};
use ragscope::llm::{Embedder, LlmError};

pub const WIDTH: usize = 64;

/// A folder of documents and a folder for indexes.
pub struct Corpus(tempfile::TempDir);

impl Corpus {
    pub fn new() -> Self {
        let corpus = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(corpus.folder()).expect("a folder");
        corpus
    }

    pub fn with(files: &[(&str, &str)]) -> Self {
        let corpus = Self::new();
        files
            .iter()
            .for_each(|(path, text)| corpus.write(path, text));
        corpus
    }

    pub fn folder(&self) -> PathBuf {
        self.0.path().join("docs")
    }

    pub fn indexes(&self) -> PathBuf {
        self.0.path().join("indexes")
    }

    /// Returns the folder of the index.
    pub fn index_folder(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.indexes()).expect("indexes");
        entries.next().expect("an index").expect("an entry").path()
    }

    pub fn open(&self) -> Collection {
        Collection::open(&[self.folder()], &self.indexes()).expect("an index")
    }

    pub fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let file = self.folder().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, bytes).expect("written");
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder().join(path)).expect("removed");
    }

    pub fn rename(&self, from: &str, to: &str) {
        fs::rename(self.folder().join(from), self.folder().join(to)).expect("renamed");
    }

    /// Replaces a file by another one with its time.
    pub fn replace_in_time(&self, path: &str, text: &str) {
        let file = self.folder().join(path);
        let time = fs::metadata(&file).and_then(|about| about.modified());
        let other = self.folder().join("replacement");
        fs::write(&other, text).expect("written");
        fs::File::options()
            .append(true)
            .open(&other)
            .and_then(|other| other.set_modified(time?))
            .expect("dated");
        fs::rename(other, file).expect("replaced");
    }

    pub fn touch(&self, path: &str) {
        let file = fs::File::options()
            .append(true)
            .open(self.folder().join(path))
            .expect("a file");
        file.set_modified(SystemTime::now() + Duration::from_secs(9))
            .expect("touched");
    }
}

/// An embedder that adds up a direction for each word: texts that share words are similar.
pub struct WordEmbedder {
    card: ModelCard,
    texts: Vec<String>,
    /// Time that a call takes.
    pub pause: Duration,
    /// Texts that hold this get NaN; empty for none.
    pub fails_on: &'static str,
    /// Receives the texts of each call when the next one begins or when the embedder is dropped: by
    /// then their vectors are stored.
    pub kept: Option<Box<dyn FnMut(&[String])>>,
    last: Vec<String>,
}

impl WordEmbedder {
    pub fn new(fingerprint: &str) -> Self {
        let card = ModelCard {
            name: "words".into(),
            file: "words".into(),
            fingerprint: fingerprint.into(),
            architecture: "none".into(),
            quantisation: "none".into(),
            device: "CPU".into(),
            width: WIDTH as u32,
            context_tokens: 512,
            ..ModelCard::unknown(ModelRole::Embedder)
        };
        Self {
            card,
            texts: Vec::new(),
            pause: Duration::ZERO,
            fails_on: "",
            kept: None,
            last: Vec::new(),
        }
    }

    /// Returns every text that was embedded.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    fn report_stored(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept(&std::mem::take(&mut self.last));
        }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        if !self.fails_on.is_empty() && text.contains(self.fails_on) {
            return vec![f32::NAN; WIDTH];
        }
        let mut vector = vec![0.01; WIDTH];
        for word in text
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let hash = word
                .bytes()
                .fold(self.card.fingerprint.len(), |hash, byte| {
                    hash * 31 % 65_521 + usize::from(byte)
                });
            vector[hash % WIDTH] += 1.0;
        }
        let length = vector
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        vector.into_iter().map(|number| number / length).collect()
    }
}

impl Embedder for WordEmbedder {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        self.report_stored();
        let end = std::time::Instant::now() + self.pause;
        while std::time::Instant::now() < end {
            std::hint::spin_loop();
        }
        self.last = texts.iter().map(|text| (*text).to_owned()).collect();
        self.texts.extend_from_slice(&self.last);
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

impl Drop for WordEmbedder {
    fn drop(&mut self) {
        self.report_stored();
    }
}

pub fn config() -> Config {
    Layers::defaults().config().expect("the defaults")
}

/// Returns the counter of the bundled embedder.
pub fn counter() -> TokenCounter {
    TokenCounter::from_gguf(&bundled_embedder(), &crate::llm::runtime())
        .expect("the bundled vocabulary")
}

pub fn bundled_embedder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf")
}

pub fn update(index: &mut Collection, embedder: &mut dyn Embedder) -> IndexReport {
    update_with(index, &config(), embedder)
}

pub fn update_with(
    index: &mut Collection,
    config: &Config,
    embedder: &mut dyn Embedder,
) -> IndexReport {
    match index
        .update(config, embedder, &counter(), &mut |_| Flow::Continue)
        .expect("an update")
    {
        Update::Finished(report) => *report,
        Update::Interrupted => panic!("the observer always continues"),
    }
}

/// Returns the documents that a question finds, best first.
pub fn documents(index: &Collection, embedder: &mut dyn Embedder, question: &str) -> Vec<String> {
    let vector = embedder.embed(&[question]).expect("a vector").remove(0);
    let found = index
        .search(
            question,
            &vector,
            &embedder.card().fingerprint,
            &config().retriever,
        )
        .expect("an answer");
    found
        .hits
        .into_iter()
        .map(|hit| hit.chunk.document)
        .collect()
}
