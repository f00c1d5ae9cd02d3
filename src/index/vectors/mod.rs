//! Vectors by content, in a file that only grows: a text is embedded once, whatever happens to the
//! process.
//!
//! ```text
//! header   "RAGSVEC1", width (u32), blake3 of the embedder's fingerprint (16 bytes)
//! record   key of the text (16 bytes), width × f32, blake3 of both (8 bytes)
//! ```
//!
//! All numbers are little-endian. A record that a kill or a full disk cut short has a wrong
//! checksum and is removed before the next one is written. Generations name how many rows they use;
//! rows behind them belong to unfinished work and are found by their keys.
//!
//! The first rows of a large file are in [segments](crate::index::vectors::segment): a search ranks
//! them by 8 bits and reads the best ones from this file, whose checksums it verifies then. The
//! rows behind them, and all rows of a small file, are in memory as plain `f32` in blocks and are
//! searched exactly: 1.5 KB per chunk at 384 numbers.

pub(in crate::index) mod rows;
mod graph;
pub(in crate::index) mod segment;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::FileError;
use crate::event::Flow;
use crate::files::{self, Links};
use crate::index::vectors::rows::{Key, ScoredRow, embedder_hash, first, keep_best, sort};
use crate::llm::dot;
use graph::Graph;
use segment::{NewSegment, SEGMENT_ROWS, Segment, WholeQuery};

const MAGIC: &[u8; 8] = b"RAGSVEC1";
const HEADER_BYTES: u64 = 28;
const CHECK_BYTES: usize = 8;
/// Rows per block of memory: large enough to scan quickly, small enough to grow without copying
/// everything. A segment has a whole number of blocks.
const BLOCK_ROWS: usize = if cfg!(test) { 10 } else { 1024 };
const _: () = assert!((SEGMENT_ROWS as usize).is_multiple_of(BLOCK_ROWS));

/// Maximum number of rows without segments: they are searched one by one.
///
/// Measured with 384 numbers per row: 65,536 rows take 6 ms one by one on one core.
pub(in crate::index) const MAX_EXACT_ROWS: u32 = if cfg!(test) { 40 } else { 65_536 };
/// More rows than wanted are read in full: 8 bits rank them only nearly right.
const EXTRA_ROWS: usize = 32;

/// The rows that are wanted of a search.
#[derive(Clone, Copy)]
pub(in crate::index) struct WantedRows<'a> {
    pub count: usize,
    /// Size of the candidate list of a segment; `None` to compare every row.
    pub ef: Option<usize>,
    /// Returns whether a row may be found.
    pub is_used: &'a (dyn Fn(u32) -> bool + Sync),
}

/// Vectors of one embedder, in memory and on disk.
pub(in crate::index) struct VectorStore {
    file: PathBuf,
    embedder: String,
    width: usize,
    /// The first rows.
    segments: Vec<Segment>,
    /// The rows behind them, in memory, with their keys.
    blocks: Vec<Vec<f32>>,
    keys: HashMap<Key, u32>,
    /// Number of all rows.
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

    /// Opens the first `rows` of a file, all of which must be intact; `covered` of them have
    /// segments.
    pub fn read(
        file: &Path,
        embedder: &str,
        width: usize,
        [covered, rows]: [u32; 2],
    ) -> Result<Self, FileError> {
        let mut store = Self::empty(file, embedder, width);

        let numbers = (0..covered / SEGMENT_ROWS).into_par_iter();
        let segments = numbers.map(|number| Segment::open(file, embedder, width, number));
        store.segments = segments.collect::<Result<_, FileError>>()?;
        store.rows = store.covered_rows();
        store.load(Some(rows))?;

        let intact = store.rows;
        if intact == rows {
            Ok(store)
        } else {
            Err(FileError::for_damage(
                file,
                format_args!("only {intact} of {rows} vectors are intact"),
            ))
        }
    }

    /// Reads the intact rows of a file that no generation uses and removes the rest, to continue
    /// where a kill stopped the work.
    pub fn recover(file: &Path, embedder: &str, width: usize) -> Result<Self, FileError> {
        let mut store = Self::empty(file, embedder, width);
        store.use_segments()?;
        store.recover_tail()?;
        Ok(store)
    }

    /// Reads the intact rows behind those in memory and removes the rest.
    pub fn recover_tail(&mut self) -> Result<(), FileError> {
        self.load(None)?;
        self.truncate_file()?;
        self.use_segments()
    }

    /// Uses the segments that an update wrote before it was stopped. One that is not of these
    /// vectors is deleted.
    fn use_segments(&mut self) -> Result<(), FileError> {
        loop {
            let number = self.segments.len() as u32;
            let file = Segment::file(&self.file, number);
            if self.width == 0 || !file.exists() {
                return Ok(());
            }

            match Segment::open(&self.file, &self.embedder, self.width, number) {
                Ok(segment) if self.has_rows_of(&segment) => self.attach(segment),
                Ok(_) | Err(FileError::Damaged(_)) => {
                    return std::fs::remove_file(&file)
                        .map_err(|error| FileError::write(&file, error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns whether the first and the last row of a segment are rows of the file.
    fn has_rows_of(&self, segment: &Segment) -> bool {
        [0, SEGMENT_ROWS - 1].into_iter().all(|row| {
            let record = self.record(segment.first() + row);
            record.is_ok_and(|(key, _)| key == segment.key(row as u16))
        })
    }

    /// Replaces rows in memory by a segment.
    fn attach(&mut self, segment: Segment) {
        self.segments.push(segment);
        let covered = self.covered_rows();
        if self.rows > covered {
            self.blocks.drain(..SEGMENT_ROWS as usize / BLOCK_ROWS);
            self.keys.retain(|_, row| *row >= covered);
        } else {
            self.blocks.clear();
            self.keys.clear();
            self.rows = covered;
        }
        // half of what the rows took is free for the next ones, the rest goes back
        self.keys.shrink_to_fit();
    }

    fn empty(file: &Path, embedder: &str, width: usize) -> Self {
        Self {
            file: file.to_owned(),
            embedder: embedder.to_owned(),
            width,
            segments: Vec::new(),
            blocks: Vec::new(),
            keys: HashMap::new(),
            rows: 0,
        }
    }

    /// Returns the number of rows that have segments.
    pub fn covered_rows(&self) -> u32 {
        self.segments.len() as u32 * SEGMENT_ROWS
    }

    /// Returns whether enough rows have no segment for the next one to be built.
    pub fn is_segment_due(&self) -> bool {
        self.width > 0
            && self.rows > MAX_EXACT_ROWS
            && self.rows - self.covered_rows() >= SEGMENT_ROWS
    }

    /// Builds the segment of the first rows that have none, and writes it. `progress` receives the
    /// number of rows that are linked; when it returns [`Flow::Stop`], nothing is written and
    /// `false` returned.
    pub fn build_segment(
        &mut self,
        progress: &mut dyn FnMut(u32) -> Flow,
    ) -> Result<bool, FileError> {
        let covered = self.covered_rows();
        let blocks = self.blocks.iter().take(SEGMENT_ROWS as usize / BLOCK_ROWS);
        let rows = blocks.flat_map(|block| block.chunks_exact(self.width));
        let vectors: Vec<&[f32]> = rows.collect();
        let mut linked = |rows: usize| progress(covered + rows as u32);
        let Some(graph) = Graph::build(&vectors, &mut linked) else {
            return Ok(false);
        };

        let mut keys = vec![Key::default(); vectors.len()];
        for (key, row) in &self.keys {
            if let Some(place) = keys.get_mut((row - covered) as usize) {
                *place = *key;
            }
        }
        // a power cut must not leave a segment of rows that are lost
        self.sync()?;
        let number = self.segments.len() as u32;
        let new = NewSegment {
            number,
            embedder: &self.embedder,
            keys: &keys,
            vectors: &vectors,
            graph: &graph,
        };
        new.write(&Segment::file(&self.file, number))?;
        let segment = Segment::open(&self.file, &self.embedder, self.width, number)?;
        self.attach(segment);
        Ok(true)
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the name of the file.
    pub fn name(&self) -> String {
        let name = self.file.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
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
        let in_memory = self.keys.get(key).copied();
        in_memory.or_else(|| self.segments.iter().find_map(|segment| segment.find(key)))
    }

    /// Returns the unit vector of a row.
    ///
    /// # Errors
    /// A row on disk that is damaged.
    pub fn row(&self, row: u32) -> Result<Cow<'_, [f32]>, FileError> {
        let Some(at) = row.checked_sub(self.covered_rows()) else {
            let (_, vector) = self.record(row)?;
            return Ok(vector.into());
        };
        let block = at as usize / BLOCK_ROWS;
        let at = at as usize % BLOCK_ROWS;
        Ok(self.blocks[block][at * self.width..][..self.width].into())
    }

    /// Reads a row from the file.
    fn record(&self, row: u32) -> Result<(Key, Vec<f32>), FileError> {
        let mut records = Records::new(self, row, 1)?;
        let record = records.next(self)?;
        record.ok_or_else(|| self.damaged_row(row))
    }

    fn damaged_row(&self, row: u32) -> FileError {
        FileError::for_damage(&self.file, format_args!("vector {row} is not intact"))
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
        let mut out = files::open_with(&self.file, File::options().write(true), Links::Followed)?;
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

    /// Returns the rows of the first `rows` with the highest cosine similarity, best first, equal
    /// ones by row. Those in memory are compared exactly; of the others, which a search of their
    /// segments chooses, the similarity is exact.
    ///
    /// # Errors
    /// Rows on disk that are damaged.
    pub fn nearest(
        &self,
        query: &[f32],
        rows: u32,
        wanted: WantedRows<'_>,
    ) -> Result<Vec<ScoredRow>, FileError> {
        let mut near = self.nearest_in_memory(query, rows, wanted);

        if !self.segments.is_empty() {
            let whole = WholeQuery::new(query);
            let is_used = |row| row < rows && (wanted.is_used)(row);
            let count = wanted.count.saturating_mul(2).saturating_add(EXTRA_ROWS);
            // each of several segments has only a part of the rows that are looked for
            let share = (self.segments.len() as f64).sqrt();
            let found: Vec<Vec<ScoredRow>> = self
                .segments
                .par_iter()
                .map(|segment| match wanted.ef {
                    Some(ef) => {
                        let ef = ((ef as f64 / share) as usize).max(wanted.count);
                        segment.nearest(&whole, ef, &is_used)
                    }
                    None => segment.scan(&whole, count, &is_used),
                })
                .collect();
            near.extend(self.in_full(query, keep_best(found.concat(), count))?);
        }

        let mut near = sort(near);
        near.truncate(wanted.count);
        Ok(near)
    }

    /// Replaces the similarities of rows on disk by exact ones.
    fn in_full(
        &self,
        query: &[f32],
        mut found: Vec<ScoredRow>,
    ) -> Result<Vec<ScoredRow>, FileError> {
        // in the order of the file, which a disk reads fastest
        found.sort_unstable_by_key(|found| found.row);
        let Some(first) = found.first() else {
            return Ok(found);
        };

        let mut records = Records::new(self, first.row, 1)?;
        for found in &mut found {
            records.skip_to(self, found.row)?;
            let record = records.next(self)?;
            let (_, vector) = record.ok_or_else(|| self.damaged_row(found.row))?;
            found.score = dot(query, &vector);
        }

        Ok(found)
    }

    fn nearest_in_memory(
        &self,
        query: &[f32],
        rows: u32,
        wanted: WantedRows<'_>,
    ) -> Vec<ScoredRow> {
        let covered = self.covered_rows();

        let best = self
            .blocks
            .par_iter()
            .enumerate()
            .map(|(block, vectors)| {
                let first = covered + (block * BLOCK_ROWS) as u32;
                let mut near = Vec::with_capacity(BLOCK_ROWS);
                for (row, vector) in (first..rows).zip(vectors.chunks_exact(self.width)) {
                    if (wanted.is_used)(row) {
                        near.push(ScoredRow {
                            row,
                            score: dot(query, vector),
                        });
                    }
                }
                keep_best(near, wanted.count)
            })
            .reduce(Vec::new, |mut a, b| {
                a.extend(b);
                keep_best(a, wanted.count)
            });

        sort(best)
    }

    /// Returns every row of the first `rows` that `is_used` lets through with its exact similarity,
    /// best first. Reads the whole file.
    ///
    /// # Errors
    /// Rows on disk that are damaged.
    pub fn all_nearest(
        &self,
        query: &[f32],
        rows: u32,
        is_used: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Vec<ScoredRow>, FileError> {
        let wanted = WantedRows {
            count: rows as usize,
            ef: None,
            is_used,
        };

        let mut near = self.nearest_in_memory(query, rows, wanted);
        let mut records = Records::new(self, 0, 1 << 20)?;
        for row in 0..self.covered_rows().min(rows) {
            let record = records.next(self)?;
            let (_, vector) = record.ok_or_else(|| self.damaged_row(row))?;
            if is_used(row) {
                let score = dot(query, &vector);
                near.push(ScoredRow { row, score });
            }
        }
        Ok(sort(near))
    }

    /// Verifies the rows that are only on disk. The others were verified when they were loaded.
    ///
    /// # Errors
    /// Rows that are damaged.
    pub fn verify(&self) -> Result<(), FileError> {
        // an index for keywords alone has no vectors
        if self.covered_rows() == 0 {
            return Ok(());
        }
        self.all_nearest(&[], self.covered_rows(), &|_| false)
            .map(|_| ())
    }

    fn keep(&mut self, key: Key, vector: impl Iterator<Item = f32>) {
        // a block never grows beyond what it was made with, so that it is never copied
        if self.rows.is_multiple_of(BLOCK_ROWS as u32) {
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

    /// Returns where a row begins in the file.
    fn place(&self, row: u32) -> u64 {
        HEADER_BYTES + u64::from(row) * self.record_bytes() as u64
    }

    /// Returns where the known rows end in the file.
    fn end(&self) -> u64 {
        self.place(self.rows)
    }

    /// Loads records behind those that are there, up to `limit` rows or the first that is damaged.
    fn load(&mut self, limit: Option<u32>) -> Result<(), FileError> {
        let mut records = Records::new(self, self.rows, 1 << 20)?;
        while limit.is_none_or(|limit| self.rows < limit) {
            let Some((key, vector)) = records.next(self)? else {
                break;
            };
            self.keep(key, vector.into_iter());
        }
        Ok(())
    }

    fn truncate_file(&self) -> Result<(), FileError> {
        files::open_with(&self.file, File::options().write(true), Links::Followed)
            .and_then(|file| file.set_len(self.end()))
            .map_err(|error| FileError::write(&self.file, error))
    }
}

/// The records of a vector file, which is open for reading.
struct Records {
    input: BufReader<File>,
    /// The row that is read next.
    row: u32,
    record: Vec<u8>,
}

impl Records {
    /// Begins at a row, after the header is verified. Reads at least `buffer_bytes` at once.
    fn new(store: &VectorStore, row: u32, buffer_bytes: usize) -> Result<Self, FileError> {
        let file = &store.file;
        let mut input = files::open(file, Links::Followed)
            .map_err(|error| FileError::missing_or_unreadable(file, &error))?;

        let mut found = [0; HEADER_BYTES as usize];
        let is_complete =
            read_whole(&mut input, &mut found).map_err(|error| FileError::read(file, error))?;
        if !is_complete || found != header(&store.embedder, store.width) {
            return Err(FileError::for_damage(
                file,
                "its header is not that of this embedder",
            ));
        }

        let record = vec![0; store.record_bytes()];
        let mut records = Self {
            input: BufReader::with_capacity(buffer_bytes.max(record.len()), input),
            row: u32::MAX,
            record,
        };

        records.skip_to(store, row)?;
        Ok(records)
    }

    fn skip_to(&mut self, store: &VectorStore, row: u32) -> Result<(), FileError> {
        if self.row != row {
            let at = SeekFrom::Start(store.place(row));
            let sought = self.input.seek(at);
            sought.map_err(|error| FileError::read(&store.file, error))?;
            self.row = row;
        }
        Ok(())
    }

    /// Reads the next record; `None` for one that is damaged or cut short.
    fn next(&mut self, store: &VectorStore) -> Result<Option<(Key, Vec<f32>)>, FileError> {
        // an I/O error must not count as the end of the file: the rest would be removed
        let is_complete = read_whole(&mut self.input, &mut self.record)
            .map_err(|error| FileError::read(&store.file, error))?;

        self.row += 1;
        let (body, check) = self.record.split_at(self.record.len() - CHECK_BYTES);
        if !is_complete || first::<CHECK_BYTES>(blake3::hash(body)) != check {
            return Ok(None);
        }

        let (key, numbers) = body.split_at(size_of::<Key>());
        let numbers = numbers.as_chunks().0.iter();
        let vector = numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let mut found = Key::default();
        found.copy_from_slice(key);
        Ok(Some((found, vector)))
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
    header[12..].copy_from_slice(&embedder_hash(embedder));
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::vectors::rows::better;

    const WIDTH: usize = 8;

    /// Returns a unit vector in a direction of its own.
    fn vector(seed: u32) -> Vec<f32> {
        let bytes = *blake3::hash(&seed.to_le_bytes()).as_bytes();
        let raw = bytes[..WIDTH].iter().map(|byte| f32::from(*byte) - 127.5);
        let raw: Vec<f32> = raw.collect();
        let length = dot(&raw, &raw).sqrt();
        raw.into_iter().map(|number| number / length).collect()
    }

    fn fill_store(file: &Path, count: u32) -> VectorStore {
        let mut store = VectorStore::create(file, "one", WIDTH).expect("a store");
        let new: Vec<_> = (0..count)
            .map(|i| (store.key(&format!("text {i}")), vector(i)))
            .collect();
        store.append(&new).expect("written");
        store
    }

    /// Returns a store with every segment that is due.
    fn with_segments(file: &Path, count: u32) -> VectorStore {
        let mut store = fill_store(file, count);
        while store.is_segment_due() {
            let is_built = store.build_segment(&mut |_| Flow::Continue);
            assert!(is_built.expect("written"));
        }
        store
    }

    fn read(file: &Path, rows: [u32; 2]) -> Result<VectorStore, FileError> {
        VectorStore::read(file, "one", WIDTH, rows)
    }

    #[test]
    fn vectors_are_found_by_their_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        let written = fill_store(&file, 2000);
        let read = read(&file, [0, 2000]).expect("read");
        for i in [0, 1023, 1024, 1999] {
            let row = read.find(&read.key(&format!("text {i}"))).expect("a row");
            assert_eq!(read.row(row).expect("a row")[..], vector(i));
            assert_eq!(
                read.row(row).expect("a row"),
                written.row(row).expect("a row")
            );
        }
        assert_eq!(read.find(&read.key("text 2000")), None);
        let other = VectorStore::empty(&file, "two", WIDTH);
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
        fill_store(&file, 10);
        let whole = std::fs::read(&file).expect("bytes");
        let record = (whole.len() - HEADER_BYTES as usize) / 10;
        for cut in 1..record {
            std::fs::write(&file, &whole[..whole.len() - cut]).expect("cut");
            let mut store = VectorStore::recover(&file, "one", WIDTH).expect("recovered");
            assert_eq!(store.rows(), 9);
            let key = store.key("new");
            store.append(&[(key, vector(77))]).expect("written");
            let store = read(&file, [0, 10]).expect("read");
            assert_eq!(store.row(9).expect("a row")[..], vector(77));
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, &bytes).expect("damaged");
            assert!(
                matches!(read(&file, [0, 10]), Err(FileError::Damaged(_))),
                "byte {at}"
            );
        }
    }

    #[test]
    fn the_nearest_rows_come_in_order_and_only_those_that_are_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = fill_store(&folder.path().join("vectors"), 3000);
        let query = vector(5);
        let is_used = |row: u32| row.is_multiple_of(2);
        let wanted = WantedRows {
            count: 20,
            ef: Some(10),
            is_used: &is_used,
        };
        let near = store.nearest(&query, 2900, wanted).expect("rows");
        let mut all: Vec<_> = (0..2900)
            .filter(|row: &u32| row.is_multiple_of(2))
            .map(|row| ScoredRow {
                row,
                score: dot(&query, &store.row(row).expect("a row")),
            })
            .collect();
        all.sort_by(better);
        assert_eq!(near, all[..20]);
        let listed = store.all_nearest(&query, 2900, &is_used).expect("rows");
        assert_eq!(listed, all);
    }

    #[test]
    fn segments_find_what_exact_search_finds() {
        let folder = tempfile::tempdir().expect("a folder");
        let exact = fill_store(&folder.path().join("exact"), 1510);
        let file = folder.path().join("vectors");
        let written = with_segments(&file, 1510);
        assert_eq!((written.covered_rows(), written.rows()), (1500, 1510));
        let read = read(&file, [1500, 1510]).expect("read");
        for store in [&written, &read] {
            for i in [0, 19, 20, 1499, 1500, 1509] {
                assert_eq!(store.find(&store.key(&format!("text {i}"))), Some(i));
                assert_eq!(store.row(i).expect("a row")[..], vector(i));
            }
            assert_eq!(store.find(&store.key("text 1510")), None);
        }

        let is_used = |row: u32| !row.is_multiple_of(3);
        let mut found = 0;
        for seed in 10_000..10_040 {
            let query = vector(seed);
            let wanted = |ef| WantedRows {
                count: 10,
                ef,
                is_used: &is_used,
            };
            let expected = exact.nearest(&query, 1505, wanted(None)).expect("rows");
            let scanned = read.nearest(&query, 1505, wanted(None)).expect("rows");
            assert_eq!(scanned, expected);
            let walked = read.nearest(&query, 1505, wanted(Some(10))).expect("rows");
            assert!(walked.iter().all(|near| is_used(near.row)));
            found += walked.iter().filter(|near| expected.contains(near)).count();
            let all = |store: &VectorStore| store.all_nearest(&query, 1505, &is_used);
            assert_eq!(all(&read).expect("rows"), all(&exact).expect("rows"));
        }
        assert!(found >= 390, "{found} of 400");
    }

    #[test]
    fn a_damaged_or_missing_segment_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        with_segments(&file, 70);
        let segment = Segment::file(&file, 1);
        let is_refused = || matches!(read(&file, [60, 70]), Err(FileError::Damaged(_)));
        assert!(!is_refused());

        let whole = std::fs::read(&segment).expect("bytes");
        for end in 0..whole.len() {
            std::fs::write(&segment, &whole[..end]).expect("cut");
            assert!(is_refused(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&segment, &bytes).expect("damaged");
            assert!(is_refused(), "byte {at}");
        }
        std::fs::copy(Segment::file(&file, 0), &segment).expect("copied");
        assert!(is_refused(), "another segment");
        std::fs::remove_file(&segment).expect("removed");
        assert!(is_refused(), "missing");
    }

    #[test]
    fn a_damaged_row_of_a_segment_is_refused_when_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        with_segments(&file, 70);
        let mut bytes = std::fs::read(&file).expect("bytes");
        let record = (bytes.len() - HEADER_BYTES as usize) / 70;
        bytes[HEADER_BYTES as usize + 30 * record + 20] ^= 1;
        std::fs::write(&file, &bytes).expect("damaged");

        let store = read(&file, [60, 70]).expect("its own checksum is right");
        assert!(matches!(store.row(30), Err(FileError::Damaged(_))));
        assert!(matches!(store.verify(), Err(FileError::Damaged(_))));
        let wanted = WantedRows {
            count: 5,
            ef: Some(5),
            is_used: &|_| true,
        };
        let near = store.nearest(&vector(30), 70, wanted);
        assert!(matches!(near, Err(FileError::Damaged(_))));
        assert_eq!(store.row(31).expect("a row")[..], vector(31));
    }

    #[test]
    fn segments_of_stopped_work_are_used_and_those_of_other_vectors_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        drop(with_segments(&file, 70));
        let recover = || VectorStore::recover(&file, "one", WIDTH).expect("recovered");
        assert_eq!((recover().covered_rows(), recover().rows()), (60, 70));

        // the last rows are lost, and with them the segment that has them
        let whole = std::fs::read(&file).expect("bytes");
        let record = (whole.len() - HEADER_BYTES as usize) / 70;
        std::fs::write(&file, &whole[..whole.len() - 20 * record]).expect("cut");
        assert_eq!((recover().covered_rows(), recover().rows()), (40, 50));
        assert!(!Segment::file(&file, 2).exists());

        // other vectors under the same name
        let other = folder.path().join("other");
        let mut store = VectorStore::create(&other, "one", WIDTH).expect("a store");
        let new: Vec<_> = (0..70)
            .map(|i| (store.key(&format!("other {i}")), vector(i)))
            .collect();
        store.append(&new).expect("written");
        std::fs::copy(&other, &file).expect("copied");
        assert_eq!((recover().covered_rows(), recover().rows()), (0, 70));
    }

    #[test]
    fn a_stop_writes_no_segment() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("vectors");
        let mut store = fill_store(&file, 70);
        let is_built = store
            .build_segment(&mut |_| Flow::Stop)
            .expect("no failure");
        assert!(!is_built);
        assert_eq!(store.covered_rows(), 0);
        assert!(!Segment::file(&file, 0).exists());
    }

    #[test]
    fn odd_widths_are_summed_to_the_end() {
        let (a, b): (Vec<f32>, Vec<f32>) = (vec![1.0; 19], vec![2.0; 19]);
        assert_eq!(dot(&a, &b), 38.0);
    }
}
