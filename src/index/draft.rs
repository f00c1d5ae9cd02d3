//! A generation in the making. Nobody reads it before it is published; when it is dropped instead, the next one writes over it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::FileError;
use super::generation::{GRAPH, LEXICAL};
use super::graph::Graph;
use super::layout::{Layout, Pointer, sync_folder};
use super::lexical::LexicalWriter;
use super::manifest::{DocumentEntry, FORMAT, Manifest, Recipe, StoredFile, VectorsCard};
use super::vectors::VectorStore;
use crate::corpus::{Chunk, FoundFile};
use crate::event::ChunkText;

pub(super) struct Draft {
    folder: PathBuf,
    pub manifest: Manifest,
    lexical: LexicalWriter,
    /// Files of the generation before, which are the same file on disk here.
    shared: HashMap<String, StoredFile>,
}

impl Draft {
    /// Begin generation `number`, with everything that `base` holds, or empty.
    pub fn begin(
        layout: &Layout,
        number: u64,
        recipe: Recipe,
        base: Option<&Manifest>,
    ) -> Result<Self, FileError> {
        let folder = layout.generation(number);
        let lexical = folder.join(LEXICAL);
        // what a killed process left under this number was never published
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(FileError::write(&folder, error));
            }
            _ => fs::create_dir_all(&lexical).map_err(|error| FileError::write(&lexical, error))?,
        }
        let mut manifest = base.cloned().unwrap_or_default();
        if let Some(base) = base {
            share(&layout.generation(base.generation), &folder, &base.files)?;
        }
        let shared = manifest
            .files
            .drain(..)
            .map(|file| (file.name.clone(), file))
            .collect();
        if manifest.program != Manifest::PROGRAM {
            manifest.skipped.clear();
            manifest.program = Manifest::PROGRAM.to_owned();
        }
        (manifest.format, manifest.generation, manifest.recipe) = (FORMAT, number, Some(recipe));
        Ok(Self {
            lexical: LexicalWriter::open(&lexical)?,
            folder,
            manifest,
            shared,
        })
    }

    /// Put a document in, in the place of what there was of it. `rows` holds the row of each chunk's vector; a chunk without one is
    /// left out and noted.
    pub fn put(
        &mut self,
        path: &str,
        mut entry: DocumentEntry,
        chunks: Vec<Chunk>,
        rows: &[Option<u32>],
    ) -> Result<(), FileError> {
        self.remove(path);
        self.manifest.skipped.remove(path);
        let all = chunks.len();
        entry.chunks = 0;
        for (chunk, row) in chunks
            .into_iter()
            .zip(rows)
            .filter_map(|(chunk, row)| row.map(|row| (chunk, row)))
        {
            let id = self.manifest.next_chunk + u64::from(entry.chunks);
            entry.chunks += 1;
            let Chunk {
                bytes,
                lines,
                headings,
                tokens,
                text,
            } = chunk;
            let (document, parts) = (path.to_owned(), Vec::new());
            let chunk = ChunkText {
                id,
                document,
                headings,
                bytes,
                lines,
                tokens,
                text,
                parts,
            };
            self.lexical.add(&chunk, row, &entry.language)?;
        }
        let left_out = all - entry.chunks as usize;
        if left_out > 0 {
            entry.note = Some(format!(
                "{left_out} of its {all} chunks are left out: the embedder gave no vector for them"
            ));
        }
        self.manifest.next_chunk += u64::from(entry.chunks);
        self.manifest.chunks += u64::from(entry.chunks);
        self.manifest.documents.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Take a document out, if it is there.
    pub fn remove(&mut self, path: &str) {
        if let Some(entry) = self.manifest.documents.remove(path) {
            self.lexical.remove(path);
            self.manifest.chunks -= u64::from(entry.chunks);
        }
    }

    /// The content of a document is what it was; its file has another time.
    pub fn touch(&mut self, file: &FoundFile) {
        if let Some(entry) = self.manifest.documents.get_mut(&file.path) {
            entry.modified_ns = file.modified_ns;
        }
    }

    /// Use this graph from now on.
    pub fn set_graph(&mut self, graph: &Graph) -> Result<(), FileError> {
        let file = self.folder.join(GRAPH);
        self.shared.remove(GRAPH);
        self.manifest.graph_rows = graph.rows();
        graph.write(&file)
    }

    /// Give the disk its bytes back.
    pub fn discard(self) {
        drop(self.lexical);
        // what stays is deleted when the next generation of this number begins
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Write everything down and make it the generation in use. `tidy` takes the time to merge what lies in many pieces.
    pub fn publish(
        self,
        layout: &Layout,
        vectors: &VectorStore,
        tidy: bool,
    ) -> Result<(Manifest, Pointer), FileError> {
        let folder = self.folder.clone();
        let before = layout.current()?;
        self.write(layout, vectors, tidy).inspect_err(|_| {
            // a full disk gets its bytes back, unless the last rename was done before the failure
            if layout.current().is_ok_and(|now| now == before) {
                let _ = fs::remove_dir_all(&folder);
            }
        })
    }

    fn write(
        mut self,
        layout: &Layout,
        vectors: &VectorStore,
        tidy: bool,
    ) -> Result<(Manifest, Pointer), FileError> {
        self.lexical.finish(tidy)?;
        vectors.sync()?;
        let file = vectors
            .file()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self.manifest.vectors = VectorsCard {
            file,
            rows: vectors.rows(),
            width: vectors.width() as u32,
        };
        for name in files_of(&self.folder, self.manifest.graph_rows > 0)? {
            // tantivy never changes a file that bears the name of a segment
            let known = self
                .shared
                .remove(&name)
                .filter(|_| is_segment(&name) || name == GRAPH);
            let file = known.map_or_else(|| StoredFile::of(&self.folder, &name), Ok)?;
            self.manifest.files.push(file);
        }
        let manifest = self.manifest.write(&self.folder)?;
        let pointer = Pointer {
            generation: self.manifest.generation,
            manifest,
        };
        sync_folder(&layout.root).map_err(|error| FileError::write(&layout.root, error))?;
        layout.make_current(&pointer)?;
        Ok((self.manifest, pointer))
    }
}

/// The same files in another folder: hard links where the file system has them, else copies.
fn share(from: &Path, to: &Path, files: &[StoredFile]) -> Result<(), FileError> {
    for StoredFile { name, .. } in files {
        let (from, to) = (from.join(name), to.join(name));
        fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(|_| ()))
            .map_err(|error| FileError::write(&to, error))?;
    }
    Ok(())
}

/// Names of the files that make a generation, besides its manifest, in order.
fn files_of(folder: &Path, graph: bool) -> Result<Vec<String>, FileError> {
    let lexical = folder.join(LEXICAL);
    let mut names: Vec<String> = graph.then(|| GRAPH.to_owned()).into_iter().collect();
    for entry in fs::read_dir(&lexical).map_err(|error| FileError::read(&lexical, error))? {
        let entry = entry.map_err(|error| FileError::read(&lexical, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".lock") {
            names.push(format!("{LEXICAL}/{name}"));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Is it a file of one segment? tantivy names those by the 32 hexadecimal digits of the segment.
fn is_segment(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.len() > 32 && name.as_bytes()[..32].iter().all(u8::is_ascii_hexdigit)
}
