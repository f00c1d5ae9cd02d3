//! Where documents were cut by meaning, by their text and the settings: the sentences of a text are embedded once.
//!
//! A text file that only grows, one line a document: key, checksum of the rest, and the places of the chunks in the text
//! (`0-61 62-130`). A line that a kill or a full disk cut short has a wrong checksum and counts for nothing.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use super::error::FileError;
use super::vectors::dot;
use crate::corpus::{Document, SemanticCut};

/// Changes when the same text and settings would be cut elsewhere.
const VERSION: u8 = 1;
const CHECK_DIGITS: usize = 16;

/// Hash of a text, the settings and the embedder, hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CutKey(String);

impl CutKey {
    pub fn of(document: &Document, cut: SemanticCut, embedder: &str) -> Self {
        let SemanticCut {
            tokens,
            similarity,
            characters,
        } = cut;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(&[VERSION])
            .update(&tokens.to_le_bytes())
            .update(&similarity.to_le_bytes());
        hasher
            .update(&characters.to_le_bytes())
            .update(embedder.as_bytes())
            .update(&[0]);
        hasher.update(document.text.as_bytes());
        Self(hasher.finalize().to_hex()[..32].to_owned())
    }
}

/// Places of chunks, by key.
#[derive(Debug)]
pub(super) struct Cuts {
    file: PathBuf,
    /// None until they are needed.
    known: Option<HashMap<CutKey, Vec<Range<usize>>>>,
}

impl Cuts {
    pub const FILE: &str = "cuts";

    pub fn new(file: PathBuf) -> Self {
        Self { file, known: None }
    }

    /// Where this document was cut before.
    pub fn find(
        &mut self,
        key: &CutKey,
        document: &Document,
    ) -> Result<Option<Vec<Range<usize>>>, FileError> {
        let places = self.known()?.get(key);
        Ok(places
            .filter(|places| {
                places
                    .iter()
                    .all(|place| document.text.get(place.clone()).is_some())
            })
            .cloned())
    }

    /// Remember where a document was cut; on disk too when this process is the writer.
    pub fn keep(
        &mut self,
        key: CutKey,
        places: &[Range<usize>],
        writer: bool,
    ) -> Result<(), FileError> {
        if writer {
            self.append(&line(&key, places))
                .map_err(|error| FileError::write(&self.file, error))?;
        }
        self.known()?.insert(key, places.to_vec());
        Ok(())
    }

    fn append(&self, line: &str) -> std::io::Result<()> {
        let mut out = File::options()
            .create(true)
            .append(true)
            .read(true)
            .open(&self.file)?;
        let mut last = [b'\n'];
        if out.seek(SeekFrom::End(0))? > 0 {
            out.seek(SeekFrom::End(-1))?;
            out.read_exact(&mut last)?;
        }
        // what a torn line left must not take this one with it
        let torn = if last == *b"\n" { "" } else { "\n" };
        out.write_all(format!("{torn}{line}\n").as_bytes())
    }

    fn known(&mut self) -> Result<&mut HashMap<CutKey, Vec<Range<usize>>>, FileError> {
        if self.known.is_none() {
            let bytes = match std::fs::read(&self.file) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(FileError::read(&self.file, error)),
            };
            self.known = Some(
                String::from_utf8_lossy(&bytes)
                    .lines()
                    .filter_map(parse)
                    .collect(),
            );
        }
        Ok(self.known.get_or_insert_default())
    }
}

fn line(key: &CutKey, places: &[Range<usize>]) -> String {
    let mut text = String::new();
    for place in places {
        let _ = write!(text, " {}-{}", place.start, place.end);
    }
    format!("{} {}{text}", key.0, check(&key.0, text.trim_start()))
}

fn parse(line: &str) -> Option<(CutKey, Vec<Range<usize>>)> {
    let (key, rest) = line.split_once(' ')?;
    let (found, places) = rest.split_once(' ').unwrap_or((rest, ""));
    if found != check(key, places) {
        return None;
    }
    let place = |text: &str| {
        let (start, end) = text.split_once('-')?;
        Some(start.parse().ok()?..end.parse().ok()?)
    };
    Some((
        CutKey(key.to_owned()),
        places
            .split_whitespace()
            .map(place)
            .collect::<Option<Vec<_>>>()?,
    ))
}

fn check(key: &str, places: &str) -> String {
    blake3::hash(format!("{key} {places}").as_bytes()).to_hex()[..CHECK_DIGITS].to_owned()
}

/// How near each sentence is to the one before it, as their vectors come in order.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    last: Vec<f32>,
    pub similarities: Vec<f32>,
}

impl Extend<Vec<f32>> for Neighbours {
    /// Take in the vectors of the sentences that come next.
    fn extend<I: IntoIterator<Item = Vec<f32>>>(&mut self, vectors: I) {
        for vector in vectors {
            if !self.last.is_empty() {
                self.similarities.push(dot(&self.last, &vector));
            }
            self.last = vector;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: SemanticCut = SemanticCut {
        tokens: 64,
        similarity: 0.6,
        characters: 0,
    };

    #[test]
    fn cuts_are_found_again_and_a_torn_line_costs_itself_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(Cuts::FILE);
        let document = |text: &str| Document::new("a.txt", text.into()).expect("a document");
        let (first, second) = (
            document("Ann sails. Bob sings."),
            document("Cara grows apples."),
        );
        let (a, b) = (
            CutKey::of(&first, CUT, "one"),
            CutKey::of(&second, CUT, "one"),
        );
        let mut cuts = Cuts::new(file.clone());
        cuts.keep(a.clone(), &[0..10, 11..21], true).expect("kept");
        // a kill in the middle of the next line
        let torn = line(&b, std::slice::from_ref(&(0..18)));
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .and_then(|mut out| out.write_all(&torn.as_bytes()[..torn.len() - 3]))
            .expect("torn");
        let mut again = Cuts::new(file.clone());
        assert_eq!(
            again.find(&a, &first).expect("read"),
            Some(vec![0..10, 11..21])
        );
        assert_eq!(again.find(&b, &second).expect("read"), None);
        again
            .keep(b.clone(), std::slice::from_ref(&(0..18)), true)
            .expect("kept");
        let mut third = Cuts::new(file);
        assert_eq!(
            third.find(&a, &first).expect("read"),
            Some(vec![0..10, 11..21])
        );
        assert_eq!(
            third.find(&b, &second).expect("read"),
            Some(std::iter::once(0..18).collect())
        );
        assert_eq!(
            third.find(&a, &second).expect("read"),
            None,
            "places beyond the text are no places"
        );
    }

    #[test]
    fn a_key_stands_for_text_settings_and_embedder() {
        let document = |text: &str| Document::new("a.txt", text.into()).expect("a document");
        let key = |text: &str, cut, embedder| CutKey::of(&document(text), cut, embedder);
        let one = key("Ann sails.", CUT, "one");
        assert_eq!(one, key("Ann sails.", CUT, "one"));
        assert_ne!(one, key("Ann sings.", CUT, "one"));
        assert_ne!(one, key("Ann sails.", CUT, "two"));
        assert_ne!(
            one,
            key(
                "Ann sails.",
                SemanticCut {
                    similarity: 0.8,
                    ..CUT
                },
                "one"
            )
        );
    }
}
