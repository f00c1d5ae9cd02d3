//! Links between the chunks of documents, in a file that only grows: a document is linked once, whatever happens to the process.
//!
//! ```text
//! header   "RAGLINK1", length of the recipe (u32), the recipe as JSON
//! record   key of the document (16 bytes), chunks (u32), for each chunk: count (u32), then count × (chunk u32, weight f32);
//!          blake3 of all that (8 bytes)
//! ```
//!
//! All numbers are little-endian. The key is made of the document's checksum and of how it was cut, so that links outlive generations
//! and an unchanged document is never linked again. Each recipe (model and settings) has a file of its own. A record that a kill cut
//! short has a wrong checksum and is cut off before the next one is written.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::layout::{Layout, replace};
use crate::event::Link;

const MAGIC: &[u8; 8] = b"RAGLINK1";
const PREFIX: &str = "links-";
const CHECK_BYTES: usize = 8;
/// No recipe is longer than this; a header that says so is none.
const MOST_RECIPE_BYTES: u32 = 64 << 10;
/// A record that says it is longer than this is damaged.
const MOST_RECORD_BYTES: u64 = 1 << 30;
/// So many records of documents that are gone are never worth a new file.
const WASTE_RECORDS: usize = 64;

/// The first half of blake3 of what identifies a document and its chunks.
pub(super) type DocumentKey = [u8; 16];

/// What links are made with. Another recipe makes other links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecipe {
    /// The linker, as the settings name it.
    pub linker: String,
    /// Fingerprint and file name of the model whose attention is read.
    pub model: String,
    pub model_file: String,
    /// Fingerprint of the embedder whose vectors are fed to it; empty where it reads text.
    pub embedder: String,
    /// What else decides, as `name value` pairs.
    pub settings: String,
}

/// The links of a document: for each chunk, in order, its strongest.
pub type ChunkLinks = Vec<Vec<Link>>;

/// The links that one recipe made.
#[derive(Debug)]
pub(super) struct LinkStore {
    file: PathBuf,
    pub recipe: LinkRecipe,
    /// Where the payload of each record begins, and its length.
    records: HashMap<DocumentKey, (u64, usize)>,
    /// Where the last whole record ends.
    end: u64,
    /// May this process write? Otherwise new links are kept in memory.
    writable: bool,
    unwritten: HashMap<DocumentKey, ChunkLinks>,
}

impl LinkStore {
    /// Open the links of a recipe, or begin them.
    pub fn open(layout: &Layout, recipe: &LinkRecipe, writable: bool) -> Result<Self, FileError> {
        let header = header(recipe);
        let name = blake3::hash(&header).to_hex();
        let file = layout.root.join(format!("{PREFIX}{}", &name[..12]));
        let (records, end) = (HashMap::new(), header.len() as u64);
        let mut store = Self {
            file,
            recipe: recipe.clone(),
            records,
            end,
            writable,
            unwritten: HashMap::new(),
        };
        if store.is_begun() {
            store.load()?;
        }
        Ok(store)
    }

    /// Is there a file with a whole header? It is written with the first record.
    fn is_begun(&self) -> bool {
        read_recipe(&self.file).as_ref() == Some(&self.recipe)
    }

    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Are there no links at all?
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.unwritten.is_empty()
    }

    /// Find every whole record and cut the rest off.
    fn load(&mut self) -> Result<(), FileError> {
        let mut file =
            File::open(&self.file).map_err(|error| FileError::read(&self.file, error))?;
        let length = file
            .metadata()
            .map_err(|error| FileError::read(&self.file, error))?
            .len();
        file.seek(SeekFrom::Start(self.end))
            .map_err(|error| FileError::read(&self.file, error))?;
        let mut reader = BufReader::new(file);
        while let Some((key, payload)) = read_record(&mut reader, length - self.end.min(length)) {
            self.records.insert(key, (self.end, payload.len()));
            self.end += (payload.len() + CHECK_BYTES) as u64;
        }
        if self.writable && self.end < length {
            let cut = File::options()
                .write(true)
                .open(&self.file)
                .and_then(|file| file.set_len(self.end));
            cut.map_err(|error| FileError::write(&self.file, error))?;
        }
        Ok(())
    }

    pub fn holds(&self, key: &DocumentKey) -> bool {
        self.records.contains_key(key) || self.unwritten.contains_key(key)
    }

    /// The links of a document; None when it was not linked.
    pub fn get(&mut self, key: &DocumentKey) -> Result<Option<ChunkLinks>, FileError> {
        if let Some(links) = self.unwritten.get(key) {
            return Ok(Some(links.clone()));
        }
        if !self.records.contains_key(key) {
            return Ok(None);
        }
        if let Some(links) = self.read(key) {
            return Ok(Some(links));
        }
        // the process that writes may have written the file anew
        (self.records, self.end) = (HashMap::new(), header(&self.recipe).len() as u64);
        if self.is_begun() {
            self.load()?;
        }
        Ok(self.read(key))
    }

    /// The links of a record; None when something else stands where it was.
    fn read(&self, key: &DocumentKey) -> Option<ChunkLinks> {
        let (start, length) = self.records.get(key)?;
        let mut file = File::open(&self.file).ok()?;
        file.seek(SeekFrom::Start(*start)).ok()?;
        let (found, payload) =
            read_record(&mut BufReader::new(file), (length + CHECK_BYTES) as u64)?;
        (found == *key).then(|| decode(&payload[key.len()..]))?
    }

    /// Keep the links of a document. When this returns, a kill no longer loses them.
    pub fn put(&mut self, key: DocumentKey, links: &ChunkLinks) -> Result<(), FileError> {
        if !self.writable {
            self.unwritten.insert(key, links.clone());
            return Ok(());
        }
        if self.records.is_empty() && !self.is_begun() {
            replace(&self.file, &header(&self.recipe))?;
        }
        let mut bytes = encode(&key, links);
        let payload = bytes.len();
        bytes.extend_from_slice(&blake3::hash(&bytes).as_bytes()[..CHECK_BYTES]);
        let write = || {
            let mut file = File::options().write(true).open(&self.file)?;
            file.seek(SeekFrom::Start(self.end))?;
            file.write_all(&bytes)?;
            file.set_len(self.end + bytes.len() as u64)?;
            file.sync_data()
        };
        write().map_err(|error: std::io::Error| FileError::write(&self.file, error))?;
        self.records.insert(key, (self.end, payload));
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Write the file anew without the documents that are gone, when those are the greater part.
    pub fn tidy(&mut self, alive: &HashSet<DocumentKey>) -> Result<(), FileError> {
        let gone = self
            .records
            .keys()
            .filter(|key| !alive.contains(*key))
            .count();
        if !self.writable || gone <= WASTE_RECORDS + self.records.len() / 2 {
            return Ok(());
        }
        let mut bytes = header(&self.recipe);
        for key in self.records.keys().filter(|key| alive.contains(*key)) {
            let Some(links) = self.read(key) else {
                continue;
            };
            let start = bytes.len();
            bytes.extend(encode(key, &links));
            let check = blake3::hash(&bytes[start..]);
            bytes.extend_from_slice(&check.as_bytes()[..CHECK_BYTES]);
        }
        replace(&self.file, &bytes)?;
        (self.records, self.end) = (HashMap::new(), header(&self.recipe).len() as u64);
        self.load()
    }

    /// The recipes of the same linker whose model is another one.
    pub fn of_other_models(layout: &Layout, recipe: &LinkRecipe) -> Vec<LinkRecipe> {
        let other = |found: &LinkRecipe| {
            found.linker == recipe.linker
                && (found.model != recipe.model || found.embedder != recipe.embedder)
        };
        files(layout)
            .iter()
            .filter_map(|file| read_recipe(file))
            .filter(other)
            .collect()
    }

    /// Throw away every link that the same linker made, with whatever model.
    pub fn forget(layout: &Layout, recipe: &LinkRecipe) -> Result<(), FileError> {
        for file in files(layout) {
            if read_recipe(&file).is_none_or(|found| found.linker == recipe.linker) {
                fs::remove_file(&file).map_err(|error| FileError::write(&file, error))?;
            }
        }
        Ok(())
    }
}

/// The key of a document, from the checksum of its file, how it was cut, and how many chunks that gave.
pub(super) fn document_key(checksum: &str, cut: &str, chunks: u32) -> DocumentKey {
    let hash = blake3::hash(format!("{checksum}\0{cut}\0{chunks}").as_bytes());
    let mut key = DocumentKey::default();
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

/// Every file of links.
pub(super) fn files(layout: &Layout) -> Vec<PathBuf> {
    let entries = fs::read_dir(&layout.root).into_iter().flatten().flatten();
    let is_links = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    entries.filter(is_links).map(|entry| entry.path()).collect()
}

fn header(recipe: &LinkRecipe) -> Vec<u8> {
    let recipe = serde_json::to_vec(recipe).unwrap_or_default();
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&(recipe.len() as u32).to_le_bytes());
    header.extend(recipe);
    header
}

fn read_recipe(file: &Path) -> Option<LinkRecipe> {
    let mut file = BufReader::new(File::open(file).ok()?);
    let (mut magic, mut length) = ([0; 8], [0; 4]);
    file.read_exact(&mut magic).ok()?;
    file.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length);
    if &magic != MAGIC || length > MOST_RECIPE_BYTES {
        return None;
    }
    let mut recipe = vec![0; length as usize];
    file.read_exact(&mut recipe).ok()?;
    serde_json::from_slice(&recipe).ok()
}

/// The key of the next record and its payload, key included; None where no whole record is left in `most` bytes.
fn read_record(reader: &mut impl std::io::Read, most: u64) -> Option<(DocumentKey, Vec<u8>)> {
    let most = most.min(MOST_RECORD_BYTES) as usize;
    let mut payload = Vec::new();
    let mut take = |payload: &mut Vec<u8>, bytes: usize| {
        let start = payload.len();
        if start + bytes + CHECK_BYTES > most {
            return None;
        }
        payload.resize(start + bytes, 0);
        reader.read_exact(&mut payload[start..]).ok()
    };
    take(&mut payload, 16)?;
    let key: DocumentKey = payload[..16].try_into().ok()?;
    take(&mut payload, 4)?;
    for _ in 0..last_u32(&payload) {
        take(&mut payload, 4)?;
        let count = last_u32(&payload) as usize;
        take(&mut payload, count.checked_mul(8)?)?;
    }
    let mut check = [0; CHECK_BYTES];
    reader.read_exact(&mut check).ok()?;
    (blake3::hash(&payload).as_bytes()[..CHECK_BYTES] == check).then_some((key, payload))
}

fn last_u32(bytes: &[u8]) -> u32 {
    bytes
        .last_chunk::<4>()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn encode(key: &DocumentKey, links: &ChunkLinks) -> Vec<u8> {
    let mut bytes = key.to_vec();
    bytes.extend_from_slice(&(links.len() as u32).to_le_bytes());
    for of_chunk in links {
        bytes.extend_from_slice(&(of_chunk.len() as u32).to_le_bytes());
        for link in of_chunk {
            bytes.extend_from_slice(&link.to.to_le_bytes());
            bytes.extend_from_slice(&link.weight.to_le_bytes());
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<ChunkLinks> {
    let mut next = || {
        let (number, rest) = bytes.split_first_chunk::<4>()?;
        bytes = rest;
        Some(*number)
    };
    let chunks = u32::from_le_bytes(next()?);
    let mut links = Vec::new();
    for _ in 0..chunks {
        let count = u32::from_le_bytes(next()?);
        let mut of_chunk = Vec::new();
        for _ in 0..count {
            of_chunk.push(Link {
                to: u32::from_le_bytes(next()?),
                weight: f32::from_le_bytes(next()?),
            });
        }
        links.push(of_chunk);
    }
    Some(links)
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
    fn links_are_found_again_and_a_torn_record_is_cut_off() {
        let home = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: home.path().to_owned(),
        };
        let keys = [1_u32, 2, 3].map(|n| document_key("checksum", "fixed", n));
        let mut store = LinkStore::open(&layout, &recipe("a"), true).expect("a store");
        for (key, chunks) in keys.iter().zip([4, 0, 7]) {
            store.put(*key, &links(chunks)).expect("kept");
        }
        let file = store.file.clone();
        let whole = fs::read(&file).expect("bytes");
        let without_last = whole.len() - (encode(&keys[2], &links(7)).len() + CHECK_BYTES);
        for cut in [whole.len(), whole.len() - 1, without_last + 5, without_last] {
            fs::write(&file, &whole[..cut]).expect("cut");
            let mut store = LinkStore::open(&layout, &recipe("a"), true).expect("a store");
            assert_eq!(store.get(&keys[0]).expect("read"), Some(links(4)));
            assert_eq!(store.get(&keys[1]).expect("read"), Some(links(0)));
            assert_eq!(store.holds(&keys[2]), cut == whole.len(), "cut at {cut}");
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
            !LinkStore::open(&layout, &recipe("a"), true)
                .expect("a store")
                .holds(&keys[0])
        );
    }

    #[test]
    fn each_recipe_has_its_own_links_and_those_of_another_model_are_noticed() {
        let home = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: home.path().to_owned(),
        };
        let key = document_key("checksum", "fixed", 1);
        LinkStore::open(&layout, &recipe("a"), true)
            .and_then(|mut store| store.put(key, &links(2)))
            .expect("kept");
        let other = LinkStore::open(&layout, &recipe("b"), true).expect("a store");
        assert!(
            !other.holds(&key) && !other.file.exists(),
            "opening a recipe leaves no trace"
        );
        assert_eq!(
            LinkStore::of_other_models(&layout, &recipe("b")),
            [recipe("a")]
        );
        assert!(LinkStore::of_other_models(&layout, &recipe("a")).is_empty());
        LinkStore::forget(&layout, &recipe("b")).expect("forgotten");
        assert!(
            !LinkStore::open(&layout, &recipe("a"), true)
                .expect("a store")
                .holds(&key)
        );
    }

    #[test]
    fn who_may_not_write_keeps_links_in_memory() {
        let home = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: home.path().to_owned(),
        };
        let key = document_key("checksum", "fixed", 1);
        let mut store = LinkStore::open(&layout, &recipe("a"), false).expect("a store");
        store.put(key, &links(3)).expect("kept");
        assert_eq!(store.get(&key).expect("read"), Some(links(3)));
        assert!(!store.file.exists());
    }

    #[test]
    fn a_reader_finds_its_links_after_the_writer_wrote_the_file_anew() {
        let home = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: home.path().to_owned(),
        };
        let mut writer = LinkStore::open(&layout, &recipe("a"), true).expect("a store");
        let keys: Vec<DocumentKey> = (0..200)
            .map(|n| document_key("checksum", "fixed", n))
            .collect();
        for (key, chunks) in keys.iter().zip(3..) {
            writer.put(*key, &links(chunks)).expect("kept");
        }
        let mut reader = LinkStore::open(&layout, &recipe("a"), false).expect("a store");
        writer
            .tidy(&keys[190..].iter().copied().collect())
            .expect("tidied");
        assert_eq!(reader.get(&keys[195]).expect("read"), Some(links(198)));
        assert_eq!(reader.get(&keys[3]).expect("read"), None, "it is gone");
    }

    #[test]
    fn records_of_documents_that_are_gone_make_room() {
        let home = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: home.path().to_owned(),
        };
        let mut store = LinkStore::open(&layout, &recipe("a"), true).expect("a store");
        let keys: Vec<DocumentKey> = (0..200)
            .map(|n| document_key("checksum", "fixed", n))
            .collect();
        for key in &keys {
            store.put(*key, &links(5)).expect("kept");
        }
        let before = fs::metadata(&store.file).expect("a file").len();
        store
            .tidy(&keys[..10].iter().copied().collect())
            .expect("tidied");
        assert!(fs::metadata(&store.file).expect("a file").len() < before / 5);
        assert_eq!(store.get(&keys[3]).expect("read"), Some(links(5)));
        assert!(!store.holds(&keys[11]));
    }
}
