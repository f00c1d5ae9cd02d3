//! A finished generation that can be searched.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use super::error::FileError;
use super::filter::{Filter, lets_through};
use super::layout::{Layout, Pointer};
use super::lexical::analyser::phrase_words;
use super::lexical::{Lexical, StoredChunk};
use super::manifest::Manifest;
use super::mentions::DocumentNames;
use super::names::Names;
use super::vectors::rows::ScoredRow;
use super::vectors::{VectorStore, WantedRows};
use crate::config::DocumentFilter;

/// The folder of tantivy's files inside a generation.
pub(super) const LEXICAL: &str = "lexical";

/// Maximum number of rows of a filter that are searched one by one: about as long as in an index
/// without segments.
const MAX_NARROW_ROWS: usize = 65_536;

/// A generation with its parts in memory.
pub(super) struct Generation {
    pub manifest: Manifest,
    pub lexical: Lexical,
    /// The languages of the documents and of their chunks.
    pub languages: BTreeSet<String>,
    /// Every chunk, by id.
    pub chunks: Vec<StoredChunk>,
    /// Positions in `chunks`, by the row of their vector: chunks with the same text share one.
    by_row: Vec<u32>,
    /// Whether a chunk uses each row.
    is_used: Vec<bool>,
    /// The number of vectors that a chunk uses.
    pub used_rows: u32,
    /// Read from the manifest when a search needs them.
    document_names: OnceLock<DocumentNames>,
}

/// Size of the candidate list of a search in a segment: with it a database of a million chunks had
/// a recall@10 of 0.993 against exact search (`benches/database.rs`).
pub const EF_SEARCH: usize = 128;

impl Generation {
    /// Opens the generation that a pointer names and the vectors that it uses, and verifies every
    /// file and every count.
    pub fn open(layout: &Layout, pointer: &Pointer) -> Result<(Self, VectorStore), FileError> {
        let folder = layout.generation(pointer.generation);
        let manifest = Manifest::read(&folder, &pointer.manifest)?;
        for file in &manifest.files {
            file.verify(&folder)?;
        }

        let card = &manifest.vectors;
        let file = layout.root.join(&card.file);
        let rows = [manifest.graph_rows, card.rows];
        let vectors = VectorStore::read(&file, manifest.embedder(), card.width as usize, rows)?;
        Ok((Self::load(&folder, manifest)?, vectors))
    }

    /// Opens the files of a generation, which are verified already.
    pub fn load(folder: &Path, manifest: Manifest) -> Result<Self, FileError> {
        let lexical_folder = folder.join(LEXICAL);
        let lexical = Lexical::open(&lexical_folder)?;
        let chunks = lexical.chunks(&lexical_folder)?;
        check_counts(folder, &manifest, &chunks)?;

        let mut by_row: Vec<u32> = (0..chunks.len() as u32).collect();
        // texts that are the same share a row, so a row may have several chunks
        by_row.sort_unstable_by_key(|at| (chunks[*at as usize].row, *at));
        let mut is_used = vec![false; manifest.vectors.rows as usize];
        for chunk in &chunks {
            is_used[chunk.row as usize] = true;
        }
        let used_rows = is_used.iter().filter(|is_used| **is_used).count() as u32;

        let documents = manifest.documents.values();
        let languages =
            documents.flat_map(|entry| entry.other_languages.iter().chain([&entry.language]));
        let languages = languages.cloned().collect();
        Ok(Self {
            manifest,
            lexical,
            languages,
            chunks,
            by_row,
            is_used,
            used_rows,
            document_names: OnceLock::new(),
        })
    }

    /// Returns the number of vectors of chunks that are gone.
    pub fn unused_rows(&self) -> u32 {
        self.manifest.vectors.rows - self.used_rows
    }

    /// Returns the documents by their names.
    pub fn document_names(&self) -> &DocumentNames {
        let documents = self.manifest.documents.iter();
        let titled = documents.map(|(path, entry)| (path.as_str(), entry.title.as_deref()));
        self.document_names
            .get_or_init(|| DocumentNames::new(titled))
    }

    /// Returns the chunk with this id.
    pub fn chunk(&self, id: u64) -> Option<StoredChunk> {
        let at = self.chunks.binary_search_by_key(&id, |chunk| chunk.id);
        Some(self.chunks[at.ok()?])
    }

    /// Returns the documents and rows that a filter lets through, by the names of the documents in
    /// the corpus; `None` for an empty filter.
    pub fn filter(
        &self,
        names: &Names,
        filter: &DocumentFilter,
    ) -> tantivy::Result<Option<Filter>> {
        if filter.is_empty() {
            return Ok(None);
        }

        let matcher = filter.matcher();
        let documents = self.manifest.documents.iter();
        let documents: Vec<String> = documents
            .filter(|(path, entry)| lets_through(&matcher, &names.document(path), entry))
            .map(|(path, _)| path.clone())
            .collect();

        let chunks = self.filtered_chunks(&documents, filter)?;
        let mut rows = vec![false; self.manifest.vectors.rows as usize];
        for id in &chunks {
            if let Some(chunk) = self.chunk(*id) {
                rows[chunk.row as usize] = true;
            }
        }
        Ok(Some(Filter {
            row_count: rows.iter().filter(|is_used| **is_used).count(),
            documents,
            chunks: chunks.into(),
            rows,
        }))
    }

    /// Returns the ids of the chunks of these documents that hold the phrases of a filter and none
    /// of those that it excludes, in ascending order.
    fn filtered_chunks(
        &self,
        documents: &[String],
        filter: &DocumentFilter,
    ) -> tantivy::Result<Vec<u64>> {
        let mut chunks = self.lexical.ids_in(documents)?;
        chunks.sort_unstable();

        let languages: BTreeSet<&str> = self.languages.iter().map(String::as_str).collect();
        let wanted = filter.phrases.iter().map(|text| (text, true));
        let excluded = filter.excluded.iter().map(|text| (text, false));

        for (text, is_wanted) in wanted.chain(excluded) {
            let phrase = phrase_words(text, &languages);
            // without words it says nothing
            if !phrase.is_empty() {
                let holding: HashSet<u64> = self.lexical.ids_with(&phrase)?.into_iter().collect();
                chunks.retain(|id| holding.contains(id) == is_wanted);
            }
        }

        Ok(chunks)
    }

    /// Returns the `count` chunks nearest to a query, with their cosine similarity, best first.
    /// Rows without a segment are searched exactly, and few rows that a filter leaves one by one.
    ///
    /// # Errors
    /// Vectors on disk that are damaged.
    pub fn nearest(
        &self,
        vectors: &VectorStore,
        query: &[f32],
        count: usize,
        filter: Option<&Filter>,
    ) -> Result<Vec<(f32, u64)>, FileError> {
        let rows = self.manifest.vectors.rows;
        let is_used = |row: u32| {
            let row = row as usize;
            self.is_used[row] && filter.is_none_or(|filter| filter.rows[row])
        };

        // a walk through a graph meets too few of them
        let is_narrow = filter.is_some_and(|filter| filter.row_count <= MAX_NARROW_ROWS);
        let wanted = WantedRows {
            count,
            ef: (!is_narrow).then_some(EF_SEARCH),
            is_used: &is_used,
        };
        let near = vectors.nearest(query, rows, wanted)?;
        let is_let_through =
            |id: &u64| filter.is_none_or(|filter| filter.chunks.binary_search(id).is_ok());
        let near = self.with_chunks(near);
        Ok(near
            .filter(|(_, id)| is_let_through(id))
            .take(count)
            .collect())
    }

    /// Returns every chunk with its cosine similarity, best first.
    ///
    /// # Errors
    /// Vectors on disk that are damaged.
    pub fn all_nearest(
        &self,
        vectors: &VectorStore,
        query: &[f32],
    ) -> Result<Vec<(f32, u64)>, FileError> {
        let rows = self.manifest.vectors.rows;
        let near = vectors.all_nearest(query, rows, &|row| self.is_used[row as usize])?;
        Ok(self.with_chunks(near).collect())
    }

    fn with_chunks(&self, rows: Vec<ScoredRow>) -> impl Iterator<Item = (f32, u64)> {
        rows.into_iter()
            .flat_map(|ScoredRow { row, score }| self.chunks_of(row).map(move |id| (score, id)))
    }

    /// Returns the chunks whose vector is this row, by id.
    fn chunks_of(&self, row: u32) -> impl Iterator<Item = u64> {
        let row_of = |at: &u32| self.chunks[*at as usize].row;
        let first = self.by_row.partition_point(|at| row_of(at) < row);
        let chunks = self.by_row[first..]
            .iter()
            .map(|at| self.chunks[*at as usize]);
        chunks
            .take_while(move |chunk| chunk.row == row)
            .map(|chunk| chunk.id)
    }
}

/// Checks that the parts of a generation agree with each other.
fn check_counts(
    folder: &Path,
    manifest: &Manifest,
    chunks: &[StoredChunk],
) -> Result<(), FileError> {
    let of_documents: u64 = manifest
        .documents
        .values()
        .map(|entry| u64::from(entry.chunks))
        .sum();
    let stored = chunks.len() as u64;
    if manifest.chunks != stored || of_documents != stored {
        let counted = manifest.chunks;
        return Err(FileError::for_damage(
            folder,
            format_args!(
                "it holds {stored} chunks; its manifest says {counted} and {of_documents}"
            ),
        ));
    }

    let rows = manifest.vectors.rows;
    if chunks.iter().any(|chunk| chunk.row >= rows) || manifest.graph_rows > rows {
        return Err(FileError::for_damage(
            folder,
            format_args!("it names vectors beyond its {rows}"),
        ));
    }

    if chunks.is_sorted_by(|a, b| a.id < b.id) {
        Ok(())
    } else {
        Err(FileError::for_damage(folder, "two chunks have the same id"))
    }
}
