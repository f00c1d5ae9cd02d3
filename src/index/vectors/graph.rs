//! Links between the rows of a segment, by which a search walks to the nearest ones: hnsw_rs builds
//! the graph (Malkov and Yashunin 2016), and only its links are kept.
//!
//! They are kept flat, with the same number of places for every row, so that a file of them is
//! searched where it lies. hnsw_rs' own dump repeats every vector, and what it loads is an object
//! on the heap per row and per link.

use hnsw_rs::prelude::{Distance, Hnsw};

use crate::event::Flow;
use crate::llm::dot;

/// Links per row, and twice as many in the lowest level, and the size of the candidate list while
/// building: measured in `benches/index.rs`.
pub(in crate::index) const LINKS: usize = 16;
pub(in crate::index) const LOWEST_LINKS: usize = 2 * LINKS;
const EF_CONSTRUCTION: usize = 100;
pub(in crate::index) const MAX_LEVELS: usize = 16;
/// Maximum number of rows of a graph: a link is a number of two bytes.
pub(in crate::index) const MAX_ROWS: usize = 1 << 16;
/// Number of rows that are inserted between two calls of the observer.
const BATCH_ROWS: usize = 512;

/// The links between some rows, which are numbered from 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::index) struct Graph {
    /// The row that a search begins at, in the highest level.
    pub entry: u16,
    /// [`LOWEST_LINKS`] per row. A row with fewer is linked to itself in the places that are left.
    pub lowest: Vec<u16>,
    /// The levels above the lowest, from the lower to the higher.
    pub upper: Vec<Level>,
}

/// A level that has some of the rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::index) struct Level {
    /// Ascending.
    pub rows: Vec<u16>,
    /// [`LINKS`] per row of the level, filled up as in the lowest.
    pub links: Vec<u16>,
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
    /// Links unit vectors, at most [`MAX_ROWS`]. `progress` receives the number of rows that are
    /// linked; `None` when it returns [`Flow::Stop`].
    pub fn build(vectors: &[&[f32]], progress: &mut dyn FnMut(usize) -> Flow) -> Option<Self> {
        if vectors.is_empty() {
            return Some(Self::default());
        }
        let hnsw = Hnsw::new(LINKS, vectors.len(), MAX_LEVELS, EF_CONSTRUCTION, Cosine);
        let rows: Vec<(&[f32], usize)> = vectors.iter().copied().zip(0..MAX_ROWS).collect();

        let mut linked = 0;
        for batch in rows.chunks(BATCH_ROWS) {
            if linked == 0 {
                // rows that are inserted into an empty graph in parallel do not see each other, and
                // some would never be linked to the rest
                for row in batch {
                    hnsw.insert_slice(*row);
                }
            } else {
                hnsw.parallel_insert_slice(&batch.to_vec());
            }
            linked += batch.len();
            if progress(linked) == Flow::Stop {
                return None;
            }
        }
        Some(Self::flatten(&hnsw))
    }

    /// Copies the links of a graph.
    fn flatten(hnsw: &Hnsw<f32, Cosine>) -> Self {
        let mut points: Vec<_> = hnsw.get_point_indexation().into_iter().collect();
        points.sort_unstable_by_key(|point| point.get_origin_id());

        let mut graph = Self::default();
        let mut top = 0;
        for point in &points {
            let row = point.get_origin_id() as u16;
            let highest = usize::from(point.get_point_id().0);
            let neighbours = point.get_neighborhood_id();
            let linked = |level: usize| {
                let linked = neighbours.get(level).into_iter().flatten();
                linked.map(|neighbour| neighbour.d_id as u16)
            };

            if highest >= top {
                top = highest;
                graph.entry = row;
            }
            extend(&mut graph.lowest, row, linked(0), LOWEST_LINKS);
            while graph.upper.len() < highest {
                graph.upper.push(Level::default());
            }
            for (level, at) in graph.upper.iter_mut().take(highest).zip(1..) {
                level.rows.push(row);
                extend(&mut level.links, row, linked(at), LINKS);
            }
        }
        graph
    }
}

/// Adds the links of a row: the first `count`, or itself in the places that are left.
fn extend(links: &mut Vec<u16>, row: u16, linked: impl Iterator<Item = u16>, count: usize) {
    let all = linked.chain(std::iter::repeat(row));
    links.extend(all.take(count));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(seed: usize) -> Vec<f32> {
        let angle = seed as f32 * 0.37;
        vec![angle.cos(), angle.sin()]
    }

    #[test]
    fn every_row_has_its_places_and_every_level_ascends() {
        let vectors: Vec<Vec<f32>> = (0..1500).map(unit).collect();
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let graph = Graph::build(&vectors, &mut |_| Flow::Continue).expect("a graph");
        assert_eq!(graph.lowest.len(), 1500 * LOWEST_LINKS);
        assert!(graph.lowest.iter().all(|row| *row < 1500));
        assert!(!graph.upper.is_empty());
        for level in &graph.upper {
            assert!(level.rows.is_sorted_by(|a, b| a < b));
            assert_eq!(level.links.len(), level.rows.len() * LINKS);
            assert!(level.links.iter().all(|row| *row < 1500));
        }
        let top = graph.upper.last().expect("a level");
        assert!(top.rows.contains(&graph.entry));
    }

    #[test]
    fn building_stops_when_the_observer_stops() {
        let vectors: Vec<Vec<f32>> = (0..1200).map(unit).collect();
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let mut stop = |rows| match rows {
            0..=600 => Flow::Continue,
            _ => Flow::Stop,
        };
        assert_eq!(Graph::build(&vectors, &mut stop), None);
        let empty = Graph::build(&[], &mut |_| Flow::Continue);
        assert_eq!(empty, Some(Graph::default()));
    }
}
