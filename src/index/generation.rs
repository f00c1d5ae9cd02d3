//! A finished generation, open for questions.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::FileError;
use super::graph::Graph;
use super::layout::{Layout, Pointer};
use super::lexical::{Lexical, Place};
use super::manifest::Manifest;
use super::vectors::{Near, VectorStore};

/// Folder of tantivy's files inside a generation, and the file of the graph.
pub(super) const LEXICAL: &str = "lexical";
pub(super) const GRAPH: &str = "graph";

pub(super) struct Generation {
    pub manifest: Manifest,
    pub lexical: Lexical,
    /// Languages of the documents.
    pub languages: BTreeSet<String>,
    /// Every chunk, by id.
    places: Vec<Place>,
    /// Places by the row of their vector: chunks with the same text share one.
    by_row: Vec<u32>,
    /// Rows that a chunk uses.
    alive: Vec<bool>,
    used_rows: u32,
    graph: Option<Graph>,
}

impl Generation {
    /// Open the generation that a pointer names and the vectors it uses, and verify every file and every count.
    pub fn open(layout: &Layout, pointer: &Pointer) -> Result<(Self, VectorStore), FileError> {
        let folder = layout.generation(pointer.generation);
        let manifest = Manifest::read(&folder, &pointer.manifest)?;
        for file in &manifest.files {
            file.verify(&folder)?;
        }
        let card = &manifest.vectors;
        let file = layout.root.join(&card.file);
        let vectors =
            VectorStore::read(&file, manifest.embedder(), card.width as usize, card.rows)?;
        Ok((Self::load(&folder, manifest)?, vectors))
    }

    /// Open the files of a generation, which are known to be whole.
    pub fn load(folder: &Path, manifest: Manifest) -> Result<Self, FileError> {
        let lexical_folder = folder.join(LEXICAL);
        let lexical = Lexical::open(&lexical_folder)?;
        let places = lexical.places(&lexical_folder)?;
        check_counts(folder, &manifest, &places)?;
        let graph = match manifest.graph_rows {
            0 => None,
            rows => Some(Graph::read(&folder.join(GRAPH), rows)?),
        };
        let mut by_row: Vec<u32> = (0..places.len() as u32).collect();
        by_row.sort_unstable_by_key(|at| (places[*at as usize].row, *at));
        let mut alive = vec![false; manifest.vectors.rows as usize];
        places
            .iter()
            .for_each(|place| alive[place.row as usize] = true);
        let used_rows = alive.iter().filter(|alive| **alive).count() as u32;
        let languages = manifest
            .documents
            .values()
            .map(|entry| entry.language.clone())
            .collect();
        Ok(Self {
            manifest,
            lexical,
            languages,
            places,
            by_row,
            alive,
            used_rows,
            graph,
        })
    }

    /// Vectors that a chunk has.
    pub fn used_rows(&self) -> u32 {
        self.used_rows
    }

    /// Vectors of chunks that are gone.
    pub fn unused_rows(&self) -> u32 {
        self.manifest.vectors.rows - self.used_rows
    }

    /// Every chunk, by id.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    pub fn place(&self, id: u64) -> Option<Place> {
        self.places
            .binary_search_by_key(&id, |place| place.id)
            .ok()
            .map(|at| self.places[at])
    }

    /// The `count` chunks nearest to a query, with their cosines, best first. Rows that no graph covers are searched exactly.
    pub fn nearest(
        &self,
        vectors: &VectorStore,
        query: &[f32],
        count: usize,
        ef: usize,
    ) -> Vec<(f32, u64)> {
        let rows = self.manifest.vectors.rows;
        let alive = |row: u32| self.alive[row as usize];
        let covered = self.graph.as_ref().map_or(0, Graph::rows);
        let mut near = vectors.nearest(query, covered..rows, count, &alive);
        if let Some(graph) = &self.graph {
            near.extend(graph.nearest(vectors, query, (count, ef), &alive));
            near = super::vectors::sorted(near);
        }
        let chunks = near
            .into_iter()
            .flat_map(|Near { row, score }| self.chunks_of(row).map(move |id| (score, id)));
        chunks.take(count).collect()
    }

    /// Every chunk with its cosine, best first.
    pub fn all_nearest(&self, vectors: &VectorStore, query: &[f32]) -> Vec<(f32, u64)> {
        let rows = self.manifest.vectors.rows;
        let near = vectors.nearest(query, 0..rows, rows as usize, &|row| {
            self.alive[row as usize]
        });
        near.into_iter()
            .flat_map(|Near { row, score }| self.chunks_of(row).map(move |id| (score, id)))
            .collect()
    }

    /// Where every chunk is stored, by id.
    pub fn addresses(&self) -> impl Iterator<Item = tantivy::DocAddress> {
        self.places.iter().map(|place| place.address)
    }

    /// Chunks whose vector is a row, by id.
    fn chunks_of(&self, row: u32) -> impl Iterator<Item = u64> {
        let first = self
            .by_row
            .partition_point(|at| self.places[*at as usize].row < row);
        let places = self.by_row[first..]
            .iter()
            .map(|at| self.places[*at as usize]);
        places
            .take_while(move |place| place.row == row)
            .map(|place| place.id)
    }
}

/// The parts of a generation must agree with each other.
fn check_counts(folder: &Path, manifest: &Manifest, places: &[Place]) -> Result<(), FileError> {
    let of_documents: u64 = manifest
        .documents
        .values()
        .map(|entry| u64::from(entry.chunks))
        .sum();
    let held = places.len() as u64;
    if manifest.chunks != held || of_documents != held {
        let what = format_args!(
            "it holds {held} chunks; its manifest says {} and {of_documents}",
            manifest.chunks
        )
        .to_string();
        return Err(FileError::damaged(folder, what));
    }
    let rows = manifest.vectors.rows;
    if places.iter().any(|place| place.row >= rows) || manifest.graph_rows > rows {
        return Err(FileError::damaged(
            folder,
            format_args!("it names vectors beyond its {rows}"),
        ));
    }
    match places.is_sorted_by(|a, b| a.id < b.id) {
        true => Ok(()),
        false => Err(FileError::damaged(folder, "two chunks have the same id")),
    }
}
