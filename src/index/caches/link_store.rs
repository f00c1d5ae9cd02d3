//! Keeps the links between the chunks of documents: a document is linked once, whatever happens to
//! the process.
//!
//! The key of a document is made of its checksum and of how it was chunked, so that links outlive
//! generations and an unchanged document is never linked again. Each recipe (model and settings)
//! has an [`AppendLog`] of its own, and the recipe is its head.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::append_log::{AppendLog, Span, read_head};
use crate::event::Link;
use crate::files::{self, Links};
use crate::index::error::FileError;

const PREFIX: &str = "links-";
/// Up to this many records of documents that are gone are not worth a new file.
const WASTE_RECORDS: usize = 64;

/// Identifies a document and its chunks: the first half of a blake3 hash, hex.
pub(in crate::index) type DocumentKey = String;

/// The linker, the models and the settings that make links. Another recipe makes other links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecipe {
    /// The linker, as the settings name it.
    pub linker: String,
    /// Fingerprint and file name of the model whose attention is read.
    pub model: String,
    pub model_file: String,
    /// Fingerprint of the embedder whose vectors are fed to it; empty where it reads text.
    pub embedder: String,
    /// The other settings that count, as `name value` pairs.
    pub settings: String,
}

/// The links of a document: for each chunk, in order, its strongest.
pub type ChunkLinks = Vec<Vec<Link>>;

/// The links of one document.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LinkedDocument {
    key: DocumentKey,
    links: ChunkLinks,
}

/// The links that one recipe made.
#[derive(Debug)]
pub(in crate::index) struct LinkStore {
    file: PathBuf,
    pub recipe: LinkRecipe,
    /// Whether this process may write. Otherwise new links are kept in memory.
    pub is_writable: bool,
    /// `None` where this process may not write, and before the first links.
    log: Option<AppendLog<LinkedDocument>>,
    /// The position of each document in the file.
    spans: HashMap<DocumentKey, Span>,
    unwritten: HashMap<DocumentKey, ChunkLinks>,
}

impl LinkStore {
    /// Opens the links of a recipe. The file is created with the first links.
    pub fn open(root: &Path, recipe: &LinkRecipe, is_writable: bool) -> Result<Self, FileError> {
        let recipe_json = serde_json::to_vec(recipe).unwrap_or_default();
        let name = blake3::hash(&recipe_json).to_hex();
        let mut store = Self {
            file: root.join(format!("{PREFIX}{}", &name[..12])),
            recipe: recipe.clone(),
            is_writable,
            log: None,
            spans: HashMap::new(),
            unwritten: HashMap::new(),
        };
        store.load()?;
        Ok(store)
    }

    /// Returns whether there are no links at all.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.unwritten.is_empty()
    }

    /// Finds the records of the file, if there is one.
    fn load(&mut self) -> Result<(), FileError> {
        self.log = None;
        self.spans.clear();

        let mut options = File::options();
        let options = options.read(true).write(self.is_writable);
        let opened = files::open_with(&self.file, options, Links::Followed);
        match opened.and_then(|file| self.load_from(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(FileError::read(&self.file, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn load_from(&mut self, file: File) -> io::Result<()> {
        let spans = &mut self.spans;
        let visit = |span, document: LinkedDocument| {
            spans.insert(document.key, span);
        };

        if self.is_writable {
            self.log = Some(AppendLog::open(file, &self.recipe, visit)?);
        } else {
            AppendLog::read(&file, &self.recipe, visit)?;
        }
        Ok(())
    }

    /// Returns whether a document was linked.
    pub fn contains(&self, key: &DocumentKey) -> bool {
        self.spans.contains_key(key) || self.unwritten.contains_key(key)
    }

    /// Returns the links of a document; `None` when it was not linked.
    pub fn get(&mut self, key: &DocumentKey) -> Result<Option<ChunkLinks>, FileError> {
        if let Some(links) = self.unwritten.get(key) {
            return Ok(Some(links.clone()));
        }
        if !self.spans.contains_key(key) {
            return Ok(None);
        }
        if let Some(document) = self.read(key) {
            return Ok(Some(document.links));
        }

        // The process that writes may have replaced the file.
        self.load()?;
        Ok(self.read(key).map(|document| document.links))
    }

    /// Returns the record of a document; `None` when something else is where it was.
    fn read(&self, key: &DocumentKey) -> Option<LinkedDocument> {
        let span = self.spans.get(key)?;
        let file = files::open(&self.file, Links::Followed).ok()?;
        let document: LinkedDocument = AppendLog::read_at(&file, *span).ok()??;
        (document.key == *key).then_some(document)
    }

    /// Keeps the links of a document. When this returns, neither a kill nor a power cut loses them.
    pub fn put(&mut self, key: DocumentKey, links: &ChunkLinks) -> Result<(), FileError> {
        let links = links.clone();
        if !self.is_writable {
            self.unwritten.insert(key, links);
            return Ok(());
        }

        let document = LinkedDocument { key, links };
        let span = self
            .append(&document)
            .map_err(|error| FileError::write(&self.file, error))?;
        self.spans.insert(document.key, span);
        Ok(())
    }

    fn append(&mut self, document: &LinkedDocument) -> io::Result<Span> {
        let log = match &mut self.log {
            Some(log) => log,
            None => {
                let file = files::open_or_create(&self.file)?;
                self.file.parent().map_or(Ok(()), files::sync_folder)?;
                self.log
                    .insert(AppendLog::open(file, &self.recipe, |_, _| {})?)
            }
        };
        let span = log.append(document)?;
        log.sync()?;
        Ok(span)
    }

    /// Rewrites the file without the documents that are gone, when those are the greater part.
    pub fn compact(&mut self, alive: &HashSet<DocumentKey>) -> Result<(), FileError> {
        let is_alive = |key: &&DocumentKey| alive.contains(*key);
        let gone = self.spans.len() - self.spans.keys().filter(is_alive).count();
        if !self.is_writable || gone <= WASTE_RECORDS + self.spans.len() / 2 {
            return Ok(());
        }

        let kept = self.spans.keys().filter(is_alive);
        let documents = kept.filter_map(|key| self.read(key));
        let bytes = AppendLog::compact(&self.recipe, documents)
            .map_err(|error| FileError::write(&self.file, error))?;

        // Windows does not replace a file that is open.
        self.log = None;
        files::replace(&self.file, &bytes).map_err(|error| FileError::write(&self.file, error))?;
        self.load()
    }

    /// Returns the recipes of the same linker with other models.
    pub fn other_models(root: &Path, recipe: &LinkRecipe) -> Vec<LinkRecipe> {
        let other = |found: &LinkRecipe| {
            found.linker == recipe.linker
                && (found.model != recipe.model || found.embedder != recipe.embedder)
        };
        link_files(root)
            .iter()
            .filter_map(|file| read_recipe(file))
            .filter(other)
            .collect()
    }

    /// Deletes every link that the same linker made, whichever model it used.
    pub fn forget(root: &Path, recipe: &LinkRecipe) -> Result<(), FileError> {
        for file in link_files(root) {
            if read_recipe(&file).is_none_or(|found| found.linker == recipe.linker) {
                fs::remove_file(&file).map_err(|error| FileError::write(&file, error))?;
            }
        }
        Ok(())
    }
}

/// Returns the key of a document, from the checksum of its file, how it was chunked, and how many
/// chunks that gave.
pub(in crate::index) fn document_key(checksum: &str, chunking: &str, chunks: u32) -> DocumentKey {
    let hash = blake3::hash(format!("{checksum}\0{chunking}\0{chunks}").as_bytes());
    hash.to_hex()[..32].to_owned()
}

/// Returns every file of links.
pub(in crate::index) fn link_files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_links = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    entries.filter(is_links).map(|entry| entry.path()).collect()
}

fn read_recipe(file: &Path) -> Option<LinkRecipe> {
    read_head(&files::open(file, Links::Followed).ok()?).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(model: &str) -> LinkRecipe {
        let text = |text: &str| text.to_owned();
        LinkRecipe {
            linker: text("tokens"),
            model: text(model),
            model_file: text("m.gguf"),
            embedder: String::new(),
            settings: text("links 8"),
        }
    }

    fn links(chunks: u32) -> ChunkLinks {
        (0..chunks)
            .map(|at| {
                (0..at % 3)
                    .map(|to| Link {
                        to,
                        weight: 0.5 / (at + 1) as f32,
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn links_are_read_back_and_a_torn_record_is_dropped() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().to_owned();
        let keys = [1_u32, 2, 3].map(|n| document_key("checksum", "fixed", n));
        let mut store = LinkStore::open(&root, &recipe("a"), true).expect("a store");
        for (key, chunks) in keys.iter().zip([4, 0, 7]) {
            store.put(key.clone(), &links(chunks)).expect("kept");
        }
        let file = store.file.clone();
        let whole = fs::read(&file).expect("bytes");
        let is_line_end = |byte: &u8| *byte == b'\n';
        let before_last = whole[..whole.len() - 1].iter().rposition(is_line_end);
        let without_last = before_last.expect("a record before the last") + 1;
        for cut in [whole.len(), whole.len() - 1, without_last + 5, without_last] {
            fs::write(&file, &whole[..cut]).expect("cut");
            let mut store = LinkStore::open(&root, &recipe("a"), true).expect("a store");
            assert_eq!(store.get(&keys[0]).expect("read"), Some(links(4)));
            assert_eq!(store.get(&keys[1]).expect("read"), Some(links(0)));
            assert_eq!(store.contains(&keys[2]), cut == whole.len(), "cut at {cut}");
            if cut < whole.len() {
                assert_eq!(
                    fs::metadata(&file).expect("a file").len() as usize,
                    without_last
                );
            }
        }
        // a kill while the header was written
        fs::write(&file, &whole[..20]).expect("cut");
        assert!(
            !LinkStore::open(&root, &recipe("a"), true)
                .expect("a store")
                .contains(&keys[0])
        );
    }

    #[test]
    fn each_recipe_has_its_own_links_and_other_models_are_listed() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().to_owned();
        let key = document_key("checksum", "fixed", 1);
        LinkStore::open(&root, &recipe("a"), true)
            .and_then(|mut store| store.put(key.clone(), &links(2)))
            .expect("kept");
        let other = LinkStore::open(&root, &recipe("b"), true).expect("a store");
        assert!(
            !other.contains(&key) && !other.file.exists(),
            "opening a recipe leaves no trace"
        );
        assert_eq!(LinkStore::other_models(&root, &recipe("b")), [recipe("a")]);
        assert!(LinkStore::other_models(&root, &recipe("a")).is_empty());
        LinkStore::forget(&root, &recipe("b")).expect("forgotten");
        assert!(
            !LinkStore::open(&root, &recipe("a"), true)
                .expect("a store")
                .contains(&key)
        );
    }

    #[test]
    fn a_reader_keeps_links_in_memory() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().to_owned();
        let key = document_key("checksum", "fixed", 1);
        let mut store = LinkStore::open(&root, &recipe("a"), false).expect("a store");
        store.put(key.clone(), &links(3)).expect("kept");
        assert_eq!(store.get(&key).expect("read"), Some(links(3)));
        assert!(!store.file.exists());
    }

    #[test]
    fn a_reader_finds_its_links_after_the_writer_rewrote_the_file() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().to_owned();
        let mut writer = LinkStore::open(&root, &recipe("a"), true).expect("a store");
        let keys: Vec<DocumentKey> = (0..200)
            .map(|n| document_key("checksum", "fixed", n))
            .collect();
        for (key, chunks) in keys.iter().zip(3..) {
            writer.put(key.clone(), &links(chunks)).expect("kept");
        }
        let mut reader = LinkStore::open(&root, &recipe("a"), false).expect("a store");
        writer
            .compact(&keys[190..].iter().cloned().collect())
            .expect("compacted");
        assert_eq!(reader.get(&keys[195]).expect("read"), Some(links(198)));
        assert_eq!(reader.get(&keys[3]).expect("read"), None, "it is gone");
    }

    #[test]
    fn records_of_documents_that_are_gone_are_dropped() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().to_owned();
        let mut store = LinkStore::open(&root, &recipe("a"), true).expect("a store");
        let keys: Vec<DocumentKey> = (0..200)
            .map(|n| document_key("checksum", "fixed", n))
            .collect();
        for key in &keys {
            store.put(key.clone(), &links(5)).expect("kept");
        }
        let before = fs::metadata(&store.file).expect("a file").len();
        store
            .compact(&keys[..10].iter().cloned().collect())
            .expect("compacted");
        assert!(fs::metadata(&store.file).expect("a file").len() < before / 5);
        assert_eq!(store.get(&keys[3]).expect("read"), Some(links(5)));
        assert!(!store.contains(&keys[11]));
    }
}
