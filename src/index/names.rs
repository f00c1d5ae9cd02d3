//! The names of folders that are searched as one corpus: what makes the ids of their chunks and the
//! paths of their documents unique.

use std::path::Path;

use super::caches::rechunk_cache::Rechunked;
use crate::event::{ChunkText, IndexReport, SessionEvent};
use crate::files::unique_names;
use crate::remote::part_start;

/// The names of one folder in the corpus. Those of a folder that is open alone change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    number: u64,
    /// Text in front of the paths of the documents: empty, or it ends with `/`.
    prefix: String,
}

impl Names {
    /// Returns the names of these folders, in their order. None of them is inside another.
    pub fn for_folders(folders: &[&Path]) -> Vec<Self> {
        if folders.len() < 2 {
            return vec![Self::default(); folders.len()];
        }

        let names = unique_names(folders);
        let numbered = (0..).zip(names);
        numbered
            .map(|(number, name)| Self {
                number,
                prefix: format!("{name}/"),
            })
            .collect()
    }

    /// Returns the names of a part whose paths begin with this folder; with none, its paths are
    /// those of the part alone.
    pub fn for_part(number: u64, folder: Option<&str>) -> Self {
        Self {
            number,
            prefix: folder.map_or_else(String::new, |folder| format!("{folder}/")),
        }
    }

    /// Returns the id in the corpus of a chunk with this id in its index, and the reverse.
    pub fn chunk_id(&self, id: u64) -> u64 {
        id ^ part_start(self.number)
    }

    /// Returns the path in the corpus of a document.
    pub fn document(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Returns the path inside the folder of a document of the corpus; `None` when another folder
    /// has it.
    pub fn own_document<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.prefix)
    }

    /// Names a chunk of the folder.
    pub fn chunk(&self, chunk: ChunkText) -> ChunkText {
        ChunkText {
            id: self.chunk_id(chunk.id),
            document: self.document(&chunk.document),
            ..chunk
        }
    }

    /// Names a document of the folder that was re-chunked, and its chunks.
    pub fn name_rechunked(&self, rechunked: Rechunked) -> Rechunked {
        if *self == Self::default() {
            return rechunked;
        }

        let named =
            |(chunk, vector): &(ChunkText, Vec<f32>)| (self.chunk(chunk.clone()), vector.clone());
        let chunks = rechunked
            .chunks
            .map(|chunks| chunks.iter().map(named).collect::<Vec<_>>().into());
        Rechunked {
            document: self.document(&rechunked.document),
            chunks,
            ..rechunked
        }
    }

    /// Names the file of a progress.
    pub fn event(&self, mut event: SessionEvent) -> SessionEvent {
        if let SessionEvent::IndexProgressed { progress } = &mut event {
            progress.file = progress.file.take().map(|file| self.document(&file));
        }
        event
    }

    /// Names the files of a report.
    pub fn report(&self, mut report: IndexReport) -> IndexReport {
        let updated = report.updated.iter_mut();
        let skipped = report.skipped.iter_mut().map(|file| &mut file.path);
        let noted = report.noted.iter_mut().map(|file| &mut file.path);
        let omitted = report.omitted.iter_mut();
        let omitted = omitted.flat_map(|files| &mut files.names);
        for path in updated.chain(skipped).chain(noted).chain(omitted) {
            *path = self.document(path);
        }
        report
    }
}

/// The part of a collection that a folder is.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderPart {
    pub name: String,
    /// The machine and the folder.
    pub owner: String,
    /// Whether the user named it.
    pub is_named: bool,
}

impl FolderPart {
    /// Returns the part that a folder is. `setting` is the name that the user set; it is in front
    /// of the names of several folders.
    pub fn new(folder: &Path, setting: &str, is_alone: bool) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = if name.is_empty() {
            "folder".into()
        } else {
            name
        };

        // a slash ends the name of a part in a path
        let setting = setting.replace('/', "-");

        Self {
            name: match setting.as_str() {
                "" => name.into_owned(),
                _ if is_alone => setting.clone(),
                _ => format!("{setting}-{name}"),
            },
            owner: format!("{}:{}", host_name(), folder.display()),
            is_named: !setting.is_empty(),
        }
    }
}

/// Returns the name of this machine.
fn host_name() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok();
    #[cfg(not(unix))]
    let name = std::env::var_os("COMPUTERNAME");
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_no_name_begins_with_another() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&["/x/docs"], &[""]),
            (&["/x/docs", "/y/notes"], &["docs/", "notes/"]),
            (&["/a/docs", "/b/docs"], &["a/docs/", "b/docs/"]),
            (
                &["/x/a/docs", "/y/a/docs", "/z/b/docs"],
                &["x/a/docs/", "y/a/docs/", "b/docs/"],
            ),
            (&["/a", "/y/a"], &["a/", "y/a/"]),
            // `a/docs` would hold what the third folder has in `docs`
            (
                &["/x/a/docs", "/x/b/docs", "/y/a"],
                &["x/a/docs/", "b/docs/", "y/a/"],
            ),
        ];
        for (folders, expected) in cases {
            let paths: Vec<&Path> = folders.iter().map(Path::new).collect();
            let names = Names::for_folders(&paths);
            let prefixes: Vec<&str> = names.iter().map(|names| names.prefix.as_str()).collect();
            assert_eq!(prefixes, expected, "{folders:?}");
        }
    }

    #[test]
    fn ids_of_different_folders_differ_and_are_reversible() {
        let folders = ["/a", "/b", "/c"].map(Path::new);
        let names = Names::for_folders(&folders);
        for id in [0, 7, part_start(1) - 1, 1 << 52 | 7] {
            let ids: Vec<u64> = names.iter().map(|names| names.chunk_id(id)).collect();
            assert!(ids[0] == id && ids[1] != id && ids[2] != ids[1], "{ids:?}");
            assert_eq!(names[2].chunk_id(ids[2]), id);
            assert!(ids.iter().all(|of| of >> 52 == id >> 52), "{ids:?}");
        }
    }
}
