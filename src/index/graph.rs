//! Approximate nearest neighbours: hnsw_rs builds the graph (Malkov and Yashunin 2016), and only its
//! links are kept.
//!
//! Rows of the vector store never change, so neither does a graph over the first `rows` of them:
//! generations share it, new rows behind it are searched exactly, unused rows are stepped over. The
//! links are searched here rather than by hnsw_rs because its own dump repeats every vector, keeps both
//! copies in memory and trusts the file that it reads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use hnsw_rs::prelude::{Distance, Hnsw};

use super::error::FileError;
use super::layout::replace;
use super::manifest::missing_or_unreadable;
use super::vectors::{ScoredRow, VectorStore, dot, sorted};
use crate::event::Flow;
use crate::files;

const MAGIC: u32 = u32::from_le_bytes(*b"RGH1");
/// Links per row (twice as many in the lowest level), and the size of the candidate list while
/// building: measured in `benches/index.rs`.
const LINKS: usize = 16;
const EF_CONSTRUCTION: usize = 100;
const MAX_LEVELS: usize = 16;
/// Number of rows that are inserted between two calls of the observer.
const BATCH_ROWS: u32 = 512;

/// Links between the first rows of a vector store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    rows: u32,
    entry: u32,
    /// From the lowest, which has every row.
    levels: Vec<Level>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Level {
    /// The rows of the level, ascending.
    rows: Vec<u32>,
    /// The start of the links of each row in `links`, and the end of the last.
    starts: Vec<u32>,
    links: Vec<u32>,
}

/// The distance of unit vectors. That of hnsw_rs uses no SIMD instructions and panics when rounding
/// makes a cosine exceed 1.
#[derive(Debug, Clone, Copy)]
struct Cosine;

impl Distance<f32> for Cosine {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        (1.0 - dot(a, b)).max(0.0)
    }
}

impl Graph {
    /// Links every row of a store. `progress` receives the number of rows that are linked; `None` when
    /// it returns [`Flow::Stop`].
    pub fn build(store: &VectorStore, progress: &mut dyn FnMut(u32) -> Flow) -> Option<Self> {
        let rows = store.rows();
        let hnsw = Hnsw::new(LINKS, rows as usize, MAX_LEVELS, EF_CONSTRUCTION, Cosine);
        for start in (0..rows).step_by(BATCH_ROWS as usize) {
            let end = rows.min(start + BATCH_ROWS);
            let batch: Vec<(&[f32], usize)> = (start..end)
                .map(|row| (store.row(row), row as usize))
                .collect();
            if start == 0 {
                // rows that are inserted into an empty graph in parallel do not see each other, and
                // some would never be linked to the rest
                for row in &batch {
                    hnsw.insert_slice(*row);
                }
            } else {
                hnsw.parallel_insert_slice(&batch);
            }
            if progress(end) == Flow::Stop {
                return None;
            }
        }
        Some(Self::flatten(&hnsw, rows))
    }

    /// Copies the links of a graph.
    fn flatten(hnsw: &Hnsw<f32, Cosine>, rows: u32) -> Self {
        let mut points: Vec<_> = hnsw.get_point_indexation().into_iter().collect();
        points.sort_unstable_by_key(|point| point.get_origin_id());
        let top = points
            .iter()
            .map(|point| point.get_point_id().0)
            .max()
            .unwrap_or(0);

        let mut levels: Vec<Level> = (0..=top)
            .map(|_| Level {
                starts: vec![0],
                ..Level::default()
            })
            .collect();
        let mut entry = 0;

        for point in &points {
            let row = point.get_origin_id() as u32;
            let highest = point.get_point_id().0;
            if highest == top {
                entry = row;
            }
            let neighbours = point.get_neighborhood_id();
            for (level, neighbours) in levels
                .iter_mut()
                .zip(&neighbours)
                .take(usize::from(highest) + 1)
            {
                level.rows.push(row);
                level
                    .links
                    .extend(neighbours.iter().map(|neighbour| neighbour.d_id as u32));
                level.starts.push(level.links.len() as u32);
            }
        }
        Self {
            rows,
            entry,
            levels,
        }
    }

    /// Returns the number of rows that it covers.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns about `count` rows with the highest cosine similarity among those that `is_used` lets
    /// through, best first. `ef` is the size of the candidate list in the lowest level.
    pub fn nearest(
        &self,
        store: &VectorStore,
        query: &[f32],
        count: usize,
        ef: usize,
        is_used: &dyn Fn(u32) -> bool,
    ) -> Vec<ScoredRow> {
        let Some((lowest, upper)) = self.levels.split_first().filter(|_| self.rows > 0) else {
            return Vec::new();
        };
        let score = |row: u32| {
            Candidate(ScoredRow {
                row,
                score: dot(query, store.row(row)),
            })
        };

        let entry = descend(upper, score(self.entry), &score);
        let found = self.search_level(lowest, entry, ef.max(count), &score, is_used);
        let mut near = sorted(found.into_iter().map(|candidate| candidate.0).collect());
        near.truncate(count);
        near
    }

    /// Searches a level from a row on (algorithm 2 of the paper) and returns its `ef` best rows.
    fn search_level(
        &self,
        level: &Level,
        entry: Candidate,
        ef: usize,
        score: &dyn Fn(u32) -> Candidate,
        is_used: &dyn Fn(u32) -> bool,
    ) -> Vec<Candidate> {
        let mut is_seen = vec![false; self.rows as usize];
        is_seen[entry.0.row as usize] = true;
        let mut frontier = BinaryHeap::from([entry]);
        let mut kept = BinaryHeap::new();
        if is_used(entry.0.row) {
            kept.push(Reverse(entry));
        }

        let can_improve = |kept: &BinaryHeap<Reverse<Candidate>>, candidate: Candidate| {
            kept.len() < ef || kept.peek().is_some_and(|Reverse(worst)| candidate > *worst)
        };
        while let Some(candidate) = frontier.pop() {
            let is_worse = kept.peek().is_some_and(|Reverse(worst)| candidate < *worst);
            if kept.len() >= ef && is_worse {
                break;
            }
            for &row in level.links_of(candidate.0.row) {
                if std::mem::replace(&mut is_seen[row as usize], true) {
                    continue;
                }
                let found = score(row);
                if !can_improve(&kept, found) {
                    continue;
                }
                frontier.push(found);
                if is_used(row) {
                    kept.push(Reverse(found));
                    if kept.len() > ef {
                        kept.pop();
                    }
                }
            }
        }
        kept.into_iter()
            .map(|Reverse(candidate)| candidate)
            .collect()
    }

    /// Writes the graph as little-endian numbers of four bytes.
    pub fn write(&self, file: &Path) -> Result<(), FileError> {
        let mut numbers = vec![MAGIC, self.rows, self.entry, self.levels.len() as u32];
        for level in &self.levels {
            numbers.extend([level.rows.len() as u32, level.links.len() as u32]);
            numbers.extend(level.rows.iter().chain(&level.starts).chain(&level.links));
        }
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
        replace(file, &bytes)
    }

    /// Reads a graph over `rows` rows; every number in it is checked before it is used as an index.
    pub fn read(file: &Path, rows: u32) -> Result<Self, FileError> {
        let bytes = files::read(file).map_err(|error| missing_or_unreadable(file, &error))?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let graph = parse(&mut numbers)
            .filter(|graph| rest.is_empty() && numbers.next().is_none() && graph.is_over(rows));
        graph.ok_or_else(|| FileError::damaged(file, "it is not a graph over the vectors"))
    }

    /// Returns whether this is an intact graph over this number of rows.
    fn is_over(&self, rows: u32) -> bool {
        self.rows == rows
            && (self.entry < rows || rows == 0)
            && self
                .levels
                .first()
                .is_none_or(|lowest| lowest.rows.iter().copied().eq(0..rows))
            && self.levels.iter().all(|level| level.is_within(rows))
    }
}

impl Level {
    /// Returns the rows that a row is linked to.
    fn links_of(&self, row: u32) -> &[u32] {
        // the lowest level has a row at its own number; the few rows of the others are searched
        let at = match self.rows.get(row as usize) {
            Some(found) if *found == row => Some(row as usize),
            _ => self.rows.binary_search(&row).ok(),
        };
        at.map_or(&[], |at| {
            &self.links[self.starts[at] as usize..self.starts[at + 1] as usize]
        })
    }

    /// Returns whether every number is in range.
    fn is_within(&self, rows: u32) -> bool {
        self.starts.len() == self.rows.len() + 1
            && self.starts.is_sorted()
            && self.rows.is_sorted()
            && self
                .starts
                .last()
                .is_some_and(|end| *end as usize == self.links.len())
            && self.rows.iter().chain(&self.links).all(|row| *row < rows)
    }
}

/// Walks from a row to better and better ones, down to the level above the lowest.
fn descend(levels: &[Level], entry: Candidate, score: &dyn Fn(u32) -> Candidate) -> Candidate {
    let mut best = entry;
    for level in levels.iter().rev() {
        loop {
            let links = level.links_of(best.0.row).iter();
            let Some(better) = links
                .map(|row| score(*row))
                .max()
                .filter(|found| *found > best)
            else {
                break;
            };
            best = better;
        }
    }
    best
}

fn parse(numbers: &mut impl ExactSizeIterator<Item = u32>) -> Option<Graph> {
    if numbers.next()? != MAGIC {
        return None;
    }
    let rows = numbers.next()?;
    let entry = numbers.next()?;
    let count = numbers.next()? as usize;

    let mut levels = Vec::new();
    for _ in 0..count.min(MAX_LEVELS) {
        let rows = numbers.next()? as usize;
        let links = numbers.next()? as usize;
        let mut take = |count: usize| {
            (count <= numbers.len()).then(|| numbers.by_ref().take(count).collect::<Vec<u32>>())
        };
        levels.push(Level {
            rows: take(rows)?,
            starts: take(rows + 1)?,
            links: take(links)?,
        });
    }
    Some(Graph {
        rows,
        entry,
        levels,
    })
}

/// A row, ordered by cosine similarity, then by the lower row.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate(ScoredRow);

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0
            .score
            .total_cmp(&other.0.score)
            .then(other.0.row.cmp(&self.0.row))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 8;

    /// Returns a store of unit vectors in all directions.
    fn store(folder: &Path, rows: u32) -> VectorStore {
        let mut store =
            VectorStore::create(&folder.join("vectors"), "test", WIDTH).expect("a store");
        let new: Vec<_> = (0..rows)
            .map(|row| (store.key(&row.to_string()), unit(row)))
            .collect();
        store.append(&new).expect("written");
        store
    }

    fn unit(seed: u32) -> Vec<f32> {
        let bytes = *blake3::hash(&seed.to_le_bytes()).as_bytes();
        let raw: Vec<f32> = bytes[..WIDTH]
            .iter()
            .map(|byte| f32::from(*byte) - 127.5)
            .collect();
        let length = dot(&raw, &raw).sqrt();
        raw.into_iter().map(|number| number / length).collect()
    }

    #[test]
    fn a_graph_finds_what_exact_search_finds() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), 1500);
        let graph = Graph::build(&store, &mut |_| Flow::Continue).expect("a graph");
        let is_used = |row: u32| !row.is_multiple_of(3);
        let mut found = 0;
        let mut all = 0;
        for seed in 10_000..10_040 {
            let query = unit(seed);
            let exact = store.nearest(&query, 0..1500, 10, &is_used);
            let near = graph.nearest(&store, &query, 10, 100, &is_used);
            assert!(near.iter().all(|near| is_used(near.row)));
            found += near.iter().filter(|near| exact.contains(near)).count();
            all += exact.len();
        }
        assert!(found * 100 >= all * 97, "{found} of {all}");
    }

    #[test]
    fn a_graph_is_read_from_disk_and_a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), 40);
        let graph = Graph::build(&store, &mut |_| Flow::Continue).expect("a graph");
        let file = folder.path().join("graph");
        graph.write(&file).expect("written");
        assert_eq!(Graph::read(&file, 40).expect("read"), graph);
        assert!(Graph::read(&file, 41).is_err(), "a graph over other rows");
        let whole = std::fs::read(&file).expect("bytes");
        for end in 0..whole.len() {
            std::fs::write(&file, &whole[..end]).expect("cut");
            assert!(Graph::read(&file, 40).is_err(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&file, &bytes).expect("damaged");
            if let Ok(graph) = Graph::read(&file, 40) {
                // other links, but inside the rows
                graph.nearest(&store, &unit(1), 10, 20, &|_| true);
            }
        }
    }

    #[test]
    fn building_stops_when_the_observer_stops() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), 1200);
        assert_eq!(
            Graph::build(&store, &mut |rows| if rows > 600 {
                Flow::Stop
            } else {
                Flow::Continue
            }),
            None
        );
        let empty = Graph::default();
        assert!(empty.nearest(&store, &unit(1), 5, 5, &|_| true).is_empty());
    }
}
