//! A fixed number of rows of a vector file, ready to be searched where they lie on disk: in 8 bits,
//! with the links that hnsw_rs built between them and the keys of their texts.
//!
//! ```text
//! header   "RAGSSEG1", number of the segment, rows, width, entry, levels above the lowest
//!          (u32 each), 4 bytes of 0, blake3 of the embedder's fingerprint (16 bytes)
//! levels   number of rows of each level (u32)
//! scales   rows × f32: what a step of the row's numbers is worth
//! codes    rows × width × i8
//! lowest   rows × 32 × u16: the links of the lowest level
//! upper    per level: rows (u16 each), then 16 × u16 links per row
//! keys     rows × 16 bytes; then the rows in the order of their keys (u16 each)
//! check    blake3 of all that is above (32 bytes)
//! ```
//!
//! All numbers are little-endian. Rows of a vector file never change, so neither does a segment: it
//! is written once, when its rows are complete, and every generation of the index shares it. It is
//! mapped into memory, not read: what searches do not touch takes no memory, and the system takes
//! the rest back when another program needs it. What 8 bits rank is only a choice of rows; their
//! scores come from the vectors in full.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tantivy::directory::{Directory as _, MmapDirectory, OwnedBytes};

use super::graph::{Graph, LINKS, LOWEST_LINKS, Level, MAX_LEVELS, MAX_ROWS};
use super::rows::{Key, ScoredRow, embedder_hash, keep_best};
use crate::files::{self, Links};
use crate::index::error::FileError;

const MAGIC: &[u8; 8] = b"RAGSSEG1";
const HEADER_BYTES: usize = 48;
const CHECK_BYTES: usize = 32;
const KEY_BYTES: usize = size_of::<Key>();

/// Number of rows of a segment.
///
/// Measured with 384 numbers per row on two cores with other work (`benches/scale.rs`): searching
/// 30 of them takes 6 ms; building one takes 25 to 40 seconds, which is what a kill costs at most.
pub(in crate::index) const SEGMENT_ROWS: u32 = if cfg!(test) { 20 } else { 32_768 };
const _: () = assert!(SEGMENT_ROWS as usize <= MAX_ROWS);

/// A mapped segment.
pub(in crate::index) struct Segment {
    bytes: OwnedBytes,
    number: u32,
    width: usize,
    entry: u16,
    parts: Parts,
    upper: Vec<Level>,
}

/// The places of the parts in the file.
struct Parts {
    scales: Range<usize>,
    codes: Range<usize>,
    lowest: Range<usize>,
    upper: Range<usize>,
    keys: Range<usize>,
    order: Range<usize>,
    /// Number of bytes of all of them with the header.
    end: usize,
}

impl Parts {
    fn new(rows: usize, width: usize, levels: &[usize]) -> Option<Self> {
        let mut end = HEADER_BYTES + 4 * levels.len();

        let mut part = |bytes: Option<usize>| {
            let start = end;
            end = start.checked_add(bytes?)?;
            Some(start..end)
        };

        let upper = levels.iter().sum::<usize>() * 2 * (1 + LINKS);
        Some(Self {
            scales: part(rows.checked_mul(4))?,
            codes: part(rows.checked_mul(width))?,
            lowest: part(rows.checked_mul(2 * LOWEST_LINKS))?,
            upper: part(Some(upper))?,
            keys: part(rows.checked_mul(KEY_BYTES))?,
            order: part(rows.checked_mul(2))?,
            end,
        })
    }
}

/// A query in whole numbers, so that its products with the numbers of a row are exact.
pub(in crate::index) struct WholeQuery {
    numbers: Vec<i16>,
    scale: f32,
}

impl WholeQuery {
    pub fn new(query: &[f32]) -> Self {
        // no sum of products exceeds 32 bits
        let most = i32::MAX / (128 * query.len().max(1) as i32);
        let (numbers, scale) = whole(query, most.min(8191) as f32);
        Self {
            numbers: numbers.map(|number| number as i16).collect(),
            scale,
        }
    }
}

/// Rounds numbers to whole ones of at most `most`, and returns them with the value of 1.
fn whole(numbers: &[f32], most: f32) -> (impl Iterator<Item = f32>, f32) {
    let largest = numbers
        .iter()
        .fold(0.0, |largest: f32, number| largest.max(number.abs()));
    let scale = if largest > 0.0 { largest / most } else { 1.0 };
    (
        numbers.iter().map(move |number| (number / scale).round()),
        scale,
    )
}

/// The content of a segment before it is written.
pub(in crate::index) struct NewSegment<'a> {
    pub number: u32,
    pub embedder: &'a str,
    pub keys: &'a [Key],
    pub vectors: &'a [&'a [f32]],
    pub graph: &'a Graph,
}

impl NewSegment<'_> {
    /// Writes the segment, complete or not at all.
    pub fn write(&self, file: &Path) -> Result<(), FileError> {
        let bytes = self.bytes();
        files::replace(file, &bytes).map_err(|error| FileError::write(file, error))
    }

    fn bytes(&self) -> Vec<u8> {
        let rows = self.vectors.len();
        let width = self.vectors.first().map_or(0, |vector| vector.len());
        let mut bytes = Vec::with_capacity(rows * (width + 96));
        bytes.extend(MAGIC);
        let levels = &self.graph.upper;
        for number in [
            self.number,
            rows as u32,
            width as u32,
            u32::from(self.graph.entry),
            levels.len() as u32,
            0,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(embedder_hash(self.embedder));
        for level in levels {
            bytes.extend((level.rows.len() as u32).to_le_bytes());
        }

        let mut codes = Vec::with_capacity(rows * width);
        for vector in self.vectors {
            // the same distance to both sides of 0: -128 is left out
            let (numbers, scale) = whole(vector, 127.0);
            codes.extend(numbers.map(|number| (number as i8).cast_unsigned()));
            bytes.extend(scale.to_le_bytes());
        }
        bytes.append(&mut codes);

        let mut extend = |numbers: &[u16]| {
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        };
        extend(&self.graph.lowest);
        for level in levels {
            extend(&level.rows);
            extend(&level.links);
        }

        let mut order: Vec<u16> = (0..rows).map(|row| row as u16).collect();
        // a text is found by its key in a binary search, without a table in memory
        order.sort_unstable_by_key(|row| self.keys[usize::from(*row)]);
        bytes.extend(self.keys.iter().flatten());
        bytes.extend(order.iter().flat_map(|row| row.to_le_bytes()));
        let check = blake3::hash(&bytes);
        bytes.extend(check.as_bytes());
        bytes
    }
}

impl Segment {
    /// Text between the name of the vectors and the number of the segment.
    pub const NAME: &str = ".segment-";

    /// Returns the file of a segment of a vector file.
    pub fn file(vectors: &Path, number: u32) -> PathBuf {
        let mut name = vectors.as_os_str().to_owned();
        name.push(format!("{}{number}", Self::NAME));
        name.into()
    }

    /// Maps a segment, and verifies its checksum and every number in it.
    pub fn open(
        vectors: &Path,
        embedder: &str,
        width: usize,
        number: u32,
    ) -> Result<Self, FileError> {
        let file = Self::file(vectors, number);

        // what is read through the mapping would count as memory of the process
        let read =
            files::read(&file).map_err(|error| FileError::missing_or_unreadable(&file, &error))?;
        let damaged = || FileError::for_damage(&file, "it is not a segment of the vectors");

        let mut segment = Self::parse(&read, embedder).ok_or_else(damaged)?;
        if segment.number != number || segment.width != width {
            return Err(damaged());
        }

        let (body, check) = read.split_at(segment.parts.end);
        if check
            != blake3::Hasher::new()
                .update_rayon(body)
                .finalize()
                .as_bytes()
        {
            return Err(FileError::for_damage(&file, "its checksum is wrong"));
        }

        segment.bytes = map(&file)?;
        if segment.bytes.len() != read.len() {
            return Err(damaged());
        }

        Ok(segment)
    }

    /// Reads the parts of a segment, and checks that every number is in range.
    fn parse(bytes: &[u8], embedder: &str) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        if header[..8] != *MAGIC || header[32..] != embedder_hash(embedder) {
            return None;
        }
        let number = |at: usize| u32_at(header, 8 + 4 * at);
        let width = number(2)? as usize;
        let entry = u16::try_from(number(3)?).ok()?;
        let levels = number(4)? as usize;
        if number(1)? != SEGMENT_ROWS || !is_row(entry) || levels > MAX_LEVELS {
            return None;
        }

        let counts = (0..levels).map(|level| {
            let count = u32_at(rest, 4 * level)?;
            (count <= SEGMENT_ROWS).then_some(count as usize)
        });
        let counts = counts.collect::<Option<Vec<usize>>>()?;
        let parts = Parts::new(SEGMENT_ROWS as usize, width, &counts)?;
        if bytes.len() != parts.end + CHECK_BYTES {
            return None;
        }
        for part in [&parts.lowest, &parts.upper, &parts.order] {
            if !u16s(&bytes[part.clone()]).all(is_row) {
                return None;
            }
        }

        let mut numbers = u16s(&bytes[parts.upper.clone()]);
        let mut take = |count: usize| numbers.by_ref().take(count).collect();
        let upper = counts.into_iter().map(|count| Level {
            rows: take(count),
            links: take(count * LINKS),
        });
        let upper = upper.collect();
        Some(Self {
            bytes: OwnedBytes::empty(),
            number: number(0)?,
            width,
            entry,
            parts,
            upper,
        })
    }

    /// Returns the number of its first row in the vector file.
    pub fn first(&self) -> u32 {
        self.number * SEGMENT_ROWS
    }

    /// Returns the key of a row.
    pub fn key(&self, row: u16) -> Key {
        let keys = &self.bytes[self.parts.keys.clone()];
        let key = keys.as_chunks().0.get(usize::from(row));
        key.copied().unwrap_or_default()
    }

    /// Returns the row of a text, in the vector file.
    pub fn find(&self, key: &Key) -> Option<u32> {
        let order = self.bytes[self.parts.order.clone()].as_chunks().0;
        let at = order.binary_search_by_key(key, |row| self.key(u16::from_le_bytes(*row)));
        let row = u16::from_le_bytes(order[at.ok()?]);
        Some(self.first() + u32::from(row))
    }

    /// Returns about `ef` rows that are nearest to a query among those that `is_used` lets through,
    /// with their similarities by 8 bits, in no order.
    pub fn nearest(
        &self,
        query: &WholeQuery,
        ef: usize,
        is_used: &dyn Fn(u32) -> bool,
    ) -> Vec<ScoredRow> {
        let entry = self.descend(self.score(query, self.entry), query);

        let is_used = |row: u16| is_used(self.first() + u32::from(row));
        self.search_lowest(entry, ef, query, &is_used)
            .into_iter()
            .map(|CodedRow { score, row }| ScoredRow {
                row: self.first() + u32::from(row),
                score,
            })
            .collect()
    }

    /// Returns the `count` rows that are nearest to a query among those that `is_used` lets
    /// through, with their similarities by 8 bits, in no order. Reads every such row.
    pub fn scan(
        &self,
        query: &WholeQuery,
        count: usize,
        is_used: &dyn Fn(u32) -> bool,
    ) -> Vec<ScoredRow> {
        let rows = (0..SEGMENT_ROWS).map(|at| (self.first() + at, at as u16));
        let used = rows.filter(|(row, _)| is_used(*row));
        let scored = used.map(|(row, at)| ScoredRow {
            row,
            score: self.score(query, at).score,
        });
        keep_best(scored.collect(), count)
    }

    /// Walks from a row to better and better ones, down to the level above the lowest.
    fn descend(&self, entry: CodedRow, query: &WholeQuery) -> CodedRow {
        let mut best = entry;
        // greedy search with one candidate, as in the upper levels of the paper
        for level in self.upper.iter().rev() {
            while let Ok(at) = level.rows.binary_search(&best.row) {
                let links = level.links[at * LINKS..][..LINKS].iter();
                let found = links.map(|row| self.score(query, *row)).max();
                let Some(better) = found.filter(|found| *found > best) else {
                    break;
                };
                best = better;
            }
        }
        best
    }

    /// Searches the lowest level from a row on (algorithm 2 of the paper) and returns its `ef` best
    /// rows.
    fn search_lowest(
        &self,
        entry: CodedRow,
        ef: usize,
        query: &WholeQuery,
        is_used: &dyn Fn(u16) -> bool,
    ) -> Vec<CodedRow> {
        let links = self.bytes[self.parts.lowest.clone()]
            .as_chunks::<{ 2 * LOWEST_LINKS }>()
            .0;
        let mut seen = SeenRows::default();
        seen.add(entry.row);

        let mut frontier = BinaryHeap::from([entry]);
        let mut kept = BinaryHeap::with_capacity(ef + 1);
        if is_used(entry.row) {
            kept.push(Reverse(entry));
        }
        let mut fresh = Vec::with_capacity(LOWEST_LINKS);
        while let Some(candidate) = frontier.pop() {
            let is_worse = kept.peek().is_some_and(|Reverse(worst)| candidate < *worst);
            // algorithm 2 ends where the nearest candidate is farther than the worst row kept
            if kept.len() >= ef && is_worse {
                break;
            }
            let linked = u16s(&links[usize::from(candidate.row)]);
            fresh.clear();
            // another process may have changed the file since it was verified
            fresh.extend(linked.filter(|row| is_row(*row) && seen.add(*row)));
            for row in &fresh {
                let found = self.score(query, *row);
                let can_improve =
                    kept.len() < ef || kept.peek().is_some_and(|Reverse(worst)| found > *worst);
                if !can_improve {
                    continue;
                }
                // a row that is not used still leads to others that are
                frontier.push(found);
                if is_used(*row) {
                    kept.push(Reverse(found));
                    if kept.len() > ef {
                        kept.pop();
                    }
                }
            }
        }
        let kept = kept.into_iter();
        kept.map(|Reverse(candidate)| candidate).collect()
    }

    /// Returns a row with its similarity to a query, by its 8 bits.
    fn score(&self, query: &WholeQuery, row: u16) -> CodedRow {
        let scales = self.bytes[self.parts.scales.clone()].as_chunks().0;
        let scale = f32::from_le_bytes(scales[usize::from(row)]);
        let codes = &self.bytes[self.parts.codes.clone()];
        let codes = &codes[usize::from(row) * self.width..][..self.width];
        let product = whole_dot(&query.numbers, codes) as f32;
        CodedRow {
            row,
            score: product * scale * query.scale,
        }
    }
}

/// The rows that a search has seen, one bit each.
struct SeenRows(Vec<u64>);

impl Default for SeenRows {
    fn default() -> Self {
        Self(vec![0; MAX_ROWS / 64])
    }
}

impl SeenRows {
    /// Adds a row, and returns whether it is new.
    fn add(&mut self, row: u16) -> bool {
        let word = &mut self.0[usize::from(row / 64)];
        let bit = 1 << (row % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Returns the sum of the products of whole numbers; `codes` are `i8`. In steps that the compiler
/// turns into SIMD instructions.
fn whole_dot(query: &[i16], codes: &[u8]) -> i32 {
    let (query, query_rest) = query.as_chunks::<32>();
    let (codes, codes_rest) = codes.as_chunks::<32>();
    let product = |(query, code): (&i16, &u8)| i32::from(*query) * i32::from(code.cast_signed());
    let steps = query.iter().zip(codes);
    let sum: i32 = steps
        .map(|(query, codes)| query.iter().zip(codes).map(product).sum::<i32>())
        .sum();
    sum + query_rest.iter().zip(codes_rest).map(product).sum::<i32>()
}

fn is_row(row: u16) -> bool {
    u32::from(row) < SEGMENT_ROWS
}

/// Maps a file into memory.
///
/// Mapping is unsafe, since another process could change the file: the file is of this program
/// alone and never changes. tantivy's directory holds that unsafe call, for its own files and for
/// any other, so that this module has none.
fn map(file: &Path) -> Result<OwnedBytes, FileError> {
    // a pipe in the place of a file would be waited for without end
    files::open(file, Links::Followed)
        .map_err(|error| FileError::missing_or_unreadable(file, &error))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = Path::new(file.file_name().unwrap_or_default());
    let mapped = MmapDirectory::open(folder)
        .map_err(|error| error.to_string())
        .and_then(|folder| folder.open_read(name).map_err(|error| error.to_string()))
        .and_then(|mapped| mapped.read_bytes().map_err(|error| error.to_string()));
    mapped.map_err(|error| FileError::read(file, error))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}

fn u16s(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|bytes| u16::from_le_bytes(*bytes))
}

/// A row, ordered by cosine similarity, then by the lower row.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CodedRow {
    score: f32,
    row: u16,
}

impl Eq for CodedRow {}

impl Ord for CodedRow {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for CodedRow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
