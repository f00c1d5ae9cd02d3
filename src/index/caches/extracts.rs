//! The texts of binary documents as they were indexed, one file each. Opening a page of a long PDF
//! is instant, and shows the text that was retrieved even when the file has changed.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::corpus::Document;
use crate::files::{self, Links};
use crate::index::manifest::DocumentEntry;

/// The folder of the extracts.
#[derive(Debug, Clone)]
pub(in crate::index) struct Extracts {
    folder: PathBuf,
}

impl Extracts {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps the text of a binary document.
    pub fn write(&self, entry: &DocumentEntry, document: &Document) -> io::Result<()> {
        let Some((name, bytes)) = name(entry).zip(document.kept_bytes()) else {
            return Ok(());
        };
        fs::create_dir_all(&self.folder)?;
        let draft = self.folder.join(format!("{name}.draft"));
        let mut out = ZlibEncoder::new(fs::File::create(&draft)?, Compression::fast());
        out.write_all(&bytes)?;
        out.finish()?;
        fs::rename(draft, self.folder.join(name))
    }

    /// Returns a binary document as it was indexed; `None` for text, and when it was not kept.
    pub fn read(&self, path: &str, entry: &DocumentEntry) -> Option<Document> {
        let file = files::open(&self.folder.join(name(entry)?), Links::Followed).ok()?;
        let mut bytes = Vec::new();
        ZlibDecoder::new(file).read_to_end(&mut bytes).ok()?;
        Document::from_kept(path, &bytes)
    }

    /// Deletes the texts of all other documents. What cannot be deleted now is deleted next time.
    pub fn sweep<'e>(&self, documents: impl Iterator<Item = &'e DocumentEntry>) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let names: HashSet<String> = documents.filter_map(name).collect();
        for entry in entries.flatten() {
            if !names.contains(&*entry.file_name().to_string_lossy()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns the name of a kept text: by the file and by what read it. `None` for text, which is read
/// from its file.
fn name(entry: &DocumentEntry) -> Option<String> {
    if entry.reading.is_empty() || entry.blake3.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for part in [&entry.blake3, &entry.format, &entry.reading] {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    Some(hasher.finalize().to_hex()[..32].to_owned())
}
