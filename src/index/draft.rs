//! A generation that is being written. Nobody reads it before it is published; when it is dropped
//! instead, the next one overwrites it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::FileError;
use super::generation::LEXICAL;
use super::layout::{Layout, Pointer};
use super::lexical::LexicalWriter;
use super::manifest::{DocumentEntry, FORMAT, Manifest, Recipe, StoredFile, VectorsCard};
use super::vectors::VectorStore;
use crate::corpus::FoundFile;
use crate::event::ChunkText;
use crate::files;

/// A generation before it is published.
pub(super) struct Draft {
    folder: PathBuf,
    pub manifest: Manifest,
    lexical: LexicalWriter,
    /// Files of the previous generation, which are the same files on disk.
    shared: HashMap<String, StoredFile>,
}

impl Draft {
    /// Begins generation `number`, with everything that `base` has, or empty.
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
            // another version of the program may read what this one could not
            manifest.skipped.clear();
            manifest.program = Manifest::PROGRAM.to_owned();
        }
        manifest.format = FORMAT;
        manifest.generation = number;
        manifest.recipe = Some(recipe);

        Ok(Self {
            lexical: LexicalWriter::open(&lexical)?,
            folder,
            manifest,
            shared,
        })
    }

    /// Adds a document, or replaces it. `rows` has the row of each chunk's vector; a chunk without
    /// one is left out and noted.
    pub fn put(
        &mut self,
        path: &str,
        mut entry: DocumentEntry,
        chunks: Vec<ChunkText>,
        rows: &[Option<u32>],
    ) -> Result<(), FileError> {
        self.remove(path);
        self.manifest.skipped.remove(path);

        let all = chunks.len();
        entry.chunks = 0;
        entry.other_languages.clear();
        for (chunk, row) in chunks.into_iter().zip(rows) {
            let Some(row) = *row else {
                continue;
            };
            let id = self.manifest.next_chunk + u64::from(entry.chunks);
            entry.chunks += 1;
            let chunk = ChunkText { id, ..chunk };
            let language = self.lexical.add(&chunk, row, &entry.language)?;
            if language != entry.language {
                let language = language.to_owned();
                entry.other_languages.insert(language);
            }
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

    /// Removes a document, if it is there.
    pub fn remove(&mut self, path: &str) {
        if let Some(entry) = self.manifest.documents.remove(path) {
            self.lexical.remove(path);
            self.manifest.chunks -= u64::from(entry.chunks);
        }
    }

    /// Notes the new times of a file whose content did not change.
    pub fn touch(&mut self, file: &FoundFile) {
        if let Some(entry) = self.manifest.documents.get_mut(&file.path) {
            entry.times = file.times;
        }
    }

    /// Deletes the draft.
    pub fn discard(self) {
        drop(self.lexical);
        // what cannot be deleted is deleted when the next generation of this number begins
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Writes everything and makes it the generation in use. `should_merge` merges many small
    /// segments, which takes longer.
    pub fn publish(
        self,
        layout: &Layout,
        vectors: &VectorStore,
        should_merge: bool,
    ) -> Result<(Manifest, Pointer), FileError> {
        let folder = self.folder.clone();
        let before = layout.current()?;

        self.write(layout, vectors, should_merge).inspect_err(|_| {
            // frees a full disk, unless the last rename was done before the failure
            if layout.current().is_ok_and(|now| now == before) {
                let _ = fs::remove_dir_all(&folder);
            }
        })
    }

    fn write(
        mut self,
        layout: &Layout,
        vectors: &VectorStore,
        should_merge: bool,
    ) -> Result<(Manifest, Pointer), FileError> {
        self.lexical.finish(should_merge)?;
        vectors.sync()?;

        self.manifest.vectors = VectorsCard {
            file: vectors.name(),
            rows: vectors.rows(),
            width: vectors.width() as u32,
        };
        self.manifest.graph_rows = vectors.covered_rows();

        for name in files_of(&self.folder)? {
            // tantivy never changes a file that bears the name of a segment
            let known = self.shared.remove(&name).filter(|_| is_segment(&name));
            let file = known.map_or_else(|| StoredFile::for_file(&self.folder, &name), Ok)?;
            self.manifest.files.push(file);
        }

        let manifest = self.manifest.write(&self.folder)?;
        let pointer = Pointer {
            generation: self.manifest.generation,
            manifest,
        };

        // the folder of the generation must be on disk before the pointer that names it
        files::sync_folder(&layout.root).map_err(|error| FileError::write(&layout.root, error))?;
        layout.make_current(&pointer)?;
        Ok((self.manifest, pointer))
    }
}

/// Makes the same files available in another folder: as hard links where the file system has them,
/// else as copies.
fn share(from: &Path, to: &Path, files: &[StoredFile]) -> Result<(), FileError> {
    for StoredFile { name, .. } in files {
        let from = from.join(name);
        let to = to.join(name);
        // a link costs no room; file systems without links get a copy
        fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(|_| ()))
            .map_err(|error| FileError::write(&to, error))?;
    }
    Ok(())
}

/// Returns the names of the files of a generation, besides its manifest, in order.
fn files_of(folder: &Path) -> Result<Vec<String>, FileError> {
    let lexical = folder.join(LEXICAL);
    let mut names = Vec::new();
    for entry in fs::read_dir(&lexical).map_err(|error| FileError::read(&lexical, error))? {
        let entry = entry.map_err(|error| FileError::read(&lexical, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // tantivy's locks, which belong to its writer
        if !name.ends_with(".lock") {
            names.push(format!("{LEXICAL}/{name}"));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns whether this is a file of one segment: tantivy names those by the 32 hexadecimal digits
/// of the segment.
fn is_segment(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    // tantivy names the files of a segment by its id, 32 hexadecimal digits
    name.len() > 32 && name.as_bytes()[..32].iter().all(u8::is_ascii_hexdigit)
}
