//! Vectors by content, in a file that only grows: a text is embedded once, whatever happens to the
//! process.
//!
//! ```text
//! header   "RAGSVEC1", width (u32), blake3 of the embedder's fingerprint (16 bytes)
//! record   key of the text (16 bytes), width × f32, blake3 of both (8 bytes)
//! ```
//!
//! All numbers are little-endian. A record that a kill or a full disk cut short has a wrong checksum and
//! is removed before the next one is written. Generations name how many rows they use; rows behind them
//! belong to unfinished work and are found by their keys.
//!
//! In memory the vectors are flat: plain `f32` rows in large blocks, neither mapped from the file nor
//! quantised. Loading reads every record anyway, since a damaged row must never be used; exact search
//! and the graph read rows at full speed from contiguous memory, where the file has keys and checksums
//! in between; and scores are those of the embedder, so that a small index ranks exactly. The price is
//! 1.5 KB per chunk at 384 numbers: 150 MB for 100,000 chunks.

use crate::files::{self, Links};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::FileError;
use super::manifest::missing_or_unreadable;

const MAGIC: &[u8; 8] = b"RAGSVEC1";
const HEADER_BYTES: u64 = 28;
const CHECK_BYTES: usize = 8;
/// Rows per block of memory: large enough to scan quickly, small enough to grow without copying
/// everything.
const BLOCK_ROWS: usize = 1024;

/// The first half of the blake3 hash of the embedder's fingerprint and a text.
pub(super) type Key = [u8; 16];

/// A row with its cosine similarity to the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScoredRow {
    pub row: u32,
    pub score: f32,
}

/// Vectors of one embedder, in memory and on disk.
#[derive(Debug)]
pub(super) struct VectorStore {
    file: PathBuf,
    embedder: String,
    width: usize,
    blocks: Vec<Vec<f32>>,
    keys: HashMap<Key, u32>,
    rows: u32,
}

impl VectorStore {
    /// Creates an empty file.
    pub fn create(file: &Path, embedder: &str, width: usize) -> Result<Self, FileError> {
        let write = || {
            let mut out = File::create(file)?;
            out.write_all(&header(embedder, width))?;
            out.sync_all()
        };
        write().map_err(|error| FileError::write(file, error))?;
        Ok(Self::empty(file, embedder, width))
    }

    /// Reads the first `rows` of a file, all of which must be intact.
    pub fn read(file: &Path, embedder: &str, width: usize, rows: u32) -> Result<Self, FileError> {
        let mut store = Self::empty(file, embedder, width);
        store.load(Some(rows))?;
        let intact = store.rows;
        if intact == rows {
            Ok(store)
        } else {
            Err(FileError::damaged(
                file,
                format_args!("only {intact} of {rows} vectors are intact"),
            ))
        }
    }

    /// Reads the intact rows of a file that no generation uses and removes the rest, to continue where
    /// a kill stopped the work.
    pub fn recover(file: &Path, embedder: &str, width: usize) -> Result<Self, FileError> {
        let mut store = Self::empty(file, embedder, width);
        store.recover_tail()?;
        Ok(store)
    }

    /// Reads the intact rows behind those in memory and removes the rest.
    pub fn recover_tail(&mut self) -> Result<(), FileError> {
        self.load(None)?;
        self.truncate_file()
    }

    fn empty(file: &Path, embedder: &str, width: usize) -> Self {
        Self {
            file: file.to_owned(),
            embedder: embedder.to_owned(),
            width,
            blocks: Vec::new(),
            keys: HashMap::new(),
            rows: 0,
        }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the key of a text.
    pub fn key(&self, text: &str) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(self.embedder.as_bytes())
            .update(&[0])
            .update(text.as_bytes());
        first(hasher.finalize())
    }

    /// Returns the row of a text that was embedded before.
    pub fn find(&self, key: &Key) -> Option<u32> {
        self.keys.get(key).copied()
    }

    /// Returns the unit vector of a row.
    pub fn row(&self, row: u32) -> &[f32] {
        let block = row as usize / BLOCK_ROWS;
        let at = row as usize % BLOCK_ROWS;
        &self.blocks[block][at * self.width..][..self.width]
    }

    /// Appends vectors, all or none, and keeps them in memory. When this returns, a kill no longer
    /// loses them.
    pub fn append(&mut self, new: &[(Key, Vec<f32>)]) -> Result<(), FileError> {
        let mut bytes = Vec::with_capacity(new.len() * self.record_bytes());
        for (key, vector) in new {
            if vector.len() != self.width {
                return Err(FileError::write(
                    &self.file,
                    "the embedder gave a vector of another width",
                ));
            }
            let start = bytes.len();
            bytes.extend_from_slice(key);
            for number in vector {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            let check: [u8; CHECK_BYTES] = first(blake3::hash(&bytes[start..]));
            bytes.extend_from_slice(&check);
        }

        self.write_behind(&bytes)
            .map_err(|error| FileError::write(&self.file, error))?;
        for (key, vector) in new {
            self.keep(*key, vector.iter().copied());
        }
        Ok(())
    }

    fn write_behind(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = File::options().write(true).open(&self.file)?;
        let end = self.end();
        out.seek(SeekFrom::Start(end))?;
        out.write_all(bytes).inspect_err(|_| {
            // a torn record is removed at the next start anyway: this only frees a full disk
            let _ = out.set_len(end);
        })
    }

    /// Makes appended vectors survive a power cut.
    pub fn sync(&self) -> Result<(), FileError> {
        files::open(&self.file, Links::Followed)
            .and_then(|file| file.sync_data())
            .map_err(|error| FileError::write(&self.file, error))
    }

    /// Returns the `count` rows of `range` with the highest cosine similarity among those that
    /// `is_used` lets through, best first, equal ones by row.
    pub fn nearest(
        &self,
        query: &[f32],
        range: Range<u32>,
        count: usize,
        is_used: &(dyn Fn(u32) -> bool + Sync),
    ) -> Vec<ScoredRow> {
        let blocks = range.start as usize / BLOCK_ROWS..(range.end as usize).div_ceil(BLOCK_ROWS);
        let best = blocks
            .into_par_iter()
            .map(|block| {
                let first = block * BLOCK_ROWS;
                let mut near = Vec::with_capacity(BLOCK_ROWS);
                for (row, vector) in
                    (first as u32..).zip(self.blocks[block].chunks_exact(self.width))
                {
                    if range.contains(&row) && is_used(row) {
                        near.push(ScoredRow {
                            row,
                            score: dot(query, vector),
                        });
                    }
                }
                keep_best(near, count)
            })
            .reduce(Vec::new, |mut a, b| {
                a.extend(b);
                keep_best(a, count)
            });
        sorted(best)
    }

    fn keep(&mut self, key: Key, vector: impl Iterator<Item = f32>) {
        if (self.rows as usize).is_multiple_of(BLOCK_ROWS) {
            self.blocks
                .push(Vec::with_capacity(BLOCK_ROWS * self.width));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend(vector);
            self.keys.insert(key, self.rows);
            self.rows += 1;
        }
    }

    fn record_bytes(&self) -> usize {
        size_of::<Key>() + self.width * size_of::<f32>() + CHECK_BYTES
    }

    /// Returns where the rows in memory end in the file.
    fn end(&self) -> u64 {
        HEADER_BYTES + u64::from(self.rows) * self.record_bytes() as u64
    }

    /// Loads records behind those in memory, up to `limit` rows or the first that is damaged.
    fn load(&mut self, limit: Option<u32>) -> Result<(), FileError> {
        let file = self.file.clone();
        let mut input = files::open(&file, Links::Followed)
            .map_err(|error| missing_or_unreadable(&file, &error))?;
        let mut found = [0; HEADER_BYTES as usize];
        let is_complete =
            read_whole(&mut input, &mut found).map_err(|error| FileError::read(&file, error))?;
        if !is_complete || found != header(&self.embedder, self.width) {
            return Err(FileError::damaged(
                &file,
                "its header is not that of this embedder",
            ));
        }
        input
            .seek(SeekFrom::Start(self.end()))
            .map_err(|error| FileError::read(&file, error))?;

        let mut input = BufReader::with_capacity(1 << 20, input);
        let mut record = vec![0; self.record_bytes()];
        let body_bytes = record.len() - CHECK_BYTES;
        let key_bytes = size_of::<Key>();
        while limit.is_none_or(|limit| self.rows < limit) {
            // an I/O error must not count as the end of the file: the rest would be removed
            if !read_whole(&mut input, &mut record)
                .map_err(|error| FileError::read(&file, error))?
            {
                break;
            }
            let (body, check) = record.split_at(body_bytes);
            if first::<CHECK_BYTES>(blake3::hash(body)) != check {
                break;
            }
            let mut key = Key::default();
            key.copy_from_slice(&body[..key_bytes]);
            let numbers = body[key_bytes..]
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes));
            self.keep(key, numbers);
        }
        Ok(())
    }

    fn truncate_file(&self) -> Result<(), FileError> {
        let truncate = || {
            File::options()
                .write(true)
                .open(&self.file)?
                .set_len(self.end())
        };
        truncate().map_err(|error| FileError::write(&self.file, error))
    }
}

/// Fills `bytes`. Returns whether the file was long enough.
fn read_whole(input: &mut impl std::io::Read, bytes: &mut [u8]) -> std::io::Result<bool> {
    match input.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn header(embedder: &str, width: usize) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&(width as u32).to_le_bytes());
    header[12..].copy_from_slice(&first::<16>(blake3::hash(embedder.as_bytes())));
    header
}

fn first<const N: usize>(hash: blake3::Hash) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&hash.as_bytes()[..N]);
    bytes
}

/// Sorts rows, best first; equal scores by row, so that a result never depends on threads.
pub(super) fn sorted(mut near: Vec<ScoredRow>) -> Vec<ScoredRow> {
    near.sort_unstable_by(better);
    near
}

fn keep_best(mut near: Vec<ScoredRow>, count: usize) -> Vec<ScoredRow> {
    if near.len() > count {
        near.select_nth_unstable_by(count, better);
        near.truncate(count);
    }
    near
}

fn better(a: &ScoredRow, b: &ScoredRow) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}

/// Returns the cosine similarity of unit vectors. Sixteen running sums let the compiler use the whole
/// width of the SIMD unit.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u32) -> Vec<f32> {
        let angle = seed as f32 * 0.37;
        vec![angle.cos(), angle.sin(), 0.0]
    }

    fn filled(file: &Path, count: u32) -> VectorStore {
        let mut store = VectorStore::create(file, "one", 3).expect("a store");
        let new: Vec<_> = (0..count)
            .map(|i| (store.key(&format!("text {i}")), vector(i)))
            .collect();
        store.append(&new).expect("written");
        store
    }

    #[test]
    fn vectors_are_found_by_their_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        let written = filled(&file, 2000);
        let read = VectorStore::read(&file, "one", 3, 2000).expect("read");
        for i in [0, 1023, 1024, 1999] {
            let row = read.find(&read.key(&format!("text {i}"))).expect("a row");
            assert_eq!(read.row(row), vector(i));
            assert_eq!(read.row(row), written.row(row));
        }
        assert_eq!(read.find(&read.key("text 2000")), None);
        let other = VectorStore::empty(&file, "two", 3);
        assert_ne!(
            read.key("text 1"),
            other.key("text 1"),
            "another embedder, another key"
        );
    }

    #[test]
    fn a_torn_tail_is_removed_and_a_damaged_row_is_never_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        filled(&file, 10);
        let whole = std::fs::read(&file).expect("bytes");
        let record = (whole.len() - HEADER_BYTES as usize) / 10;
        for cut in 1..record {
            std::fs::write(&file, &whole[..whole.len() - cut]).expect("cut");
            let mut store = VectorStore::recover(&file, "one", 3).expect("recovered");
            assert_eq!(store.rows(), 9);
            let key = store.key("new");
            store.append(&[(key, vector(77))]).expect("written");
            assert_eq!(
                VectorStore::read(&file, "one", 3, 10).expect("read").row(9),
                vector(77)
            );
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, &bytes).expect("damaged");
            assert!(
                matches!(
                    VectorStore::read(&file, "one", 3, 10),
                    Err(FileError::Damaged(_))
                ),
                "byte {at}"
            );
        }
    }

    #[test]
    fn the_nearest_rows_come_in_order_and_only_from_the_range() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = filled(&folder.path().join("vectors"), 3000);
        let query = vector(5);
        let near = store.nearest(&query, 100..2900, 20, &|row| row.is_multiple_of(2));
        assert_eq!(near.len(), 20);
        assert!(
            near.iter()
                .all(|near| (100..2900).contains(&near.row) && near.row.is_multiple_of(2))
        );
        let mut all: Vec<_> = (100..2900)
            .filter(|row: &u32| row.is_multiple_of(2))
            .map(|row| ScoredRow {
                row,
                score: dot(&query, store.row(row)),
            })
            .collect();
        all.sort_by(better);
        assert_eq!(near, all[..20]);
    }

    #[test]
    fn odd_widths_are_summed_to_the_end() {
        let (a, b): (Vec<f32>, Vec<f32>) = (vec![1.0; 19], vec![2.0; 19]);
        assert_eq!(dot(&a, &b), 38.0);
    }
}
