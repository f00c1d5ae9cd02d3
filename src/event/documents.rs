//! The documents: the corpus, its index, and a source that is shown.

use serde::{Deserialize, Serialize};

use super::place::PlaceFrom;

/// A corpus and the state of its index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CorpusCard {
    /// The folder as the user named it; of several folders, their names joined by `, `.
    pub folder: String,
    /// The folders as the user named them, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    pub documents: u64,
    pub chunks: u64,
    /// Number of the index generation in use; of several indexes, the sum.
    pub generation: u64,
    /// Whether another process writes this index, or one of them, and this one only reads.
    pub read_only: bool,
    /// Whether it is the corpus of the demo.
    #[serde(default)]
    pub demo: bool,
    /// Whether the index has no vectors, so that only its words can be searched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words_only: bool,
}

impl CorpusCard {
    /// Returns whether the folder was indexed, even if nothing in it could be read.
    pub fn is_indexed(&self) -> bool {
        self.generation > 0
    }

    /// Returns the folders as they are named on the command line.
    pub fn arguments(&self) -> String {
        if self.folders.is_empty() {
            self.folder.clone()
        } else {
            self.folders.join(" ")
        }
    }
}

/// A phase of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexPhase {
    /// Walking the folder and comparing it with the manifest.
    Scanning,
    /// Reading, splitting and counting.
    Reading,
    /// Computing vectors.
    Embedding,
    /// Writing the new generation.
    Writing,
    /// Reading the attention between the chunks of documents.
    Linking,
}

/// The progress of indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexProgress {
    pub phase: IndexPhase,
    /// Finished units: files while scanning and reading, chunks while embedding and writing.
    pub done: u64,
    /// Number of units of the phase, when known. While files are still being read, the number of
    /// chunks is estimated from their bytes.
    pub total: Option<u64>,
    /// The current file.
    pub file: Option<String>,
    /// Units per second, once measured.
    pub rate_per_s: Option<f32>,
    /// Estimated milliseconds until the phase ends, once measured.
    pub left_ms: Option<u64>,
}

/// A file that was not indexed, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path inside the corpus.
    pub path: String,
    pub reason: String,
}

impl SkippedFile {
    pub fn new(path: &str, reason: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// The files of a folder that are not in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFiles {
    /// The first that holds a passage, and why it is not in the index.
    pub holding: Option<SkippedFile>,
    /// The files that could not be read, and may hold it.
    pub unreadable: Vec<SkippedFile>,
}

/// The result of an update of the index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexReport {
    pub corpus: CorpusCard,
    pub added: u64,
    pub changed: u64,
    pub unchanged: u64,
    pub removed: u64,
    /// Paths of the documents that were added, changed or removed; the first ones, at most
    /// [`IndexReport::MAX_UPDATED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updated: Vec<String>,
    /// Chunks whose vector was computed in this update.
    pub embedded: u64,
    /// Chunks whose vector was known already.
    pub reused: u64,
    /// The neighbouring sentences of the corpus, with chunks by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbouringSentences>,
    /// Files that are not in the index and why.
    pub skipped: Vec<SkippedFile>,
    /// Files that settings leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedFiles>,
    /// Files that are in the index, with what could not be read of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<NotedFile>,
    pub wall_ms: u64,
}

impl IndexReport {
    /// Maximum number of paths in `updated`.
    pub const MAX_UPDATED: usize = 1000;

    /// Notes a document that was added, changed or removed.
    pub fn note_updated(&mut self, path: &str) {
        if self.updated.len() < Self::MAX_UPDATED {
            self.updated.push(path.to_owned());
        }
    }
}

/// Files that a setting leaves out of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedFiles {
    pub by: OmittedBy,
    /// The number of files; counting ends at [`OmittedFiles::MAX_FILES`].
    pub files: u64,
    /// The first ones; the name of a folder that is left out whole ends with `/`.
    pub names: Vec<String>,
}

/// The settings that leave out files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OmittedBy {
    /// `corpus.gitignore`: the globs of .gitignore and .ignore files.
    IgnoreFiles,
    /// `corpus.hidden`: names that begin with a dot.
    Hidden,
    /// `corpus.ocr`: pictures, as files and in documents.
    Pictures,
}

impl OmittedFiles {
    /// Maximum number of files that are counted.
    pub const MAX_FILES: u64 = 10_000;
    /// Maximum number of names.
    const MAX_NAMES: usize = 3;

    pub fn new(by: OmittedBy) -> Self {
        Self {
            by,
            files: 0,
            names: Vec::new(),
        }
    }

    /// Adds files that are left out under this name.
    pub fn add(&mut self, files: u64, name: String) {
        self.files = (self.files + files).min(Self::MAX_FILES);
        if self.names.len() < Self::MAX_NAMES {
            self.names.push(name);
        }
    }

    /// Returns two lists as one, with an entry for each setting.
    pub fn merge_lists(mut all: Vec<Self>, other: Vec<Self>) -> Vec<Self> {
        for one in other {
            match all.iter_mut().find(|known| known.by == one.by) {
                Some(known) => known.merge(one),
                None => all.push(one),
            }
        }
        all
    }

    /// Adds those of another folder.
    fn merge(&mut self, other: Self) {
        self.files = (self.files + other.files).min(Self::MAX_FILES);
        self.names.extend(other.names);
        self.names.truncate(Self::MAX_NAMES);
    }
}

/// A file that was read, with a remark on how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedFile {
    /// Path inside the corpus.
    pub path: String,
    /// A remark, e.g. `read as windows-1251: it is not UTF-8`.
    pub note: String,
}

/// Pairs of neighbouring sentences, and those of them that are in one chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbouringSentences {
    pub pairs: u64,
    pub joined: u64,
}

/// The text of a document, for the source viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Path inside the corpus.
    pub document: String,
    /// Absolute path, for an editor.
    pub path: String,
    /// Lines of the file from `from_line`, without line ends, control characters replaced.
    pub lines: Vec<String>,
    /// Line number of the first of `lines`, from 1.
    pub from_line: u32,
    /// The places of a document that is not text (pages, sheets), with the lines where they begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFrom>,
    /// Form of the lines, for a viewer that renders them.
    #[serde(default, skip_serializing_if = "SourceForm::is_lines")]
    pub form: SourceForm,
    /// The lines to highlight, from 1, both inclusive.
    pub first_line: u32,
    pub last_line: u32,
    /// Whether the file changed since it was indexed: the lines may no longer be what was
    /// retrieved.
    #[serde(default)]
    pub changed: bool,
}

/// The form of the lines of a document, besides text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceForm {
    #[default]
    Lines,
    Markdown,
    /// Rows in the order of their lines. Lines of no row are text.
    Table {
        rows: Vec<TableRow>,
    },
}

impl SourceForm {
    /// Returns whether the lines are nothing but text.
    pub fn is_lines(&self) -> bool {
        *self == Self::Lines
    }
}

/// A row of a table, with its lines in the document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// Number of the first line, from 1, both inclusive.
    pub first_line: u32,
    pub last_line: u32,
    /// Whether it names the columns of the rows below it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub header: bool,
    pub cells: Vec<String>,
}
