//! Counts the files that ignore files and hidden names leave out of a corpus.

use std::collections::HashMap;
use std::fs::{DirEntry, read_dir};
use std::path::{Path, PathBuf};

use ignore::overrides::Override;

use super::walk::{IGNORE_FILES, Walked, globs, inside, is_included, own_folders};
use crate::config::CorpusSettings;
use crate::event::{OmittedBy, OmittedFiles};

/// Returns how many files of a folder a walk left out, by each setting that did. Files that
/// `corpus.include` does not name count as little as the folders of version control.
pub fn count_omitted(
    folder: &Path,
    settings: &CorpusSettings,
    walked: &Walked,
) -> Vec<OmittedFiles> {
    // the walk had the same globs
    let Ok(include) = globs(folder, &settings.include) else {
        return Vec::new();
    };
    let search = Search {
        folder,
        settings,
        walked,
        include,
        own: own_folders(folder),
    };
    let mut omitted = HashMap::new();
    let mut visited: Vec<&PathBuf> = walked.folders.keys().collect();
    visited.sort();
    for folder in visited {
        search.add_missing(folder, &mut omitted);
    }

    let mut omitted: Vec<OmittedFiles> = omitted.into_values().collect();
    let mut pictures = OmittedFiles::new(OmittedBy::Pictures);
    for picture in &walked.pictures {
        pictures.add(1, picture.clone());
    }
    omitted.push(pictures);
    omitted.retain(|omitted| omitted.files > 0);
    omitted.sort_by_key(|omitted| omitted.by);
    omitted
}

struct Search<'a> {
    folder: &'a Path,
    settings: &'a CorpusSettings,
    walked: &'a Walked,
    include: Override,
    own: Vec<PathBuf>,
}

impl Search<'_> {
    /// Adds the entries of a folder that the walk did not come to.
    fn add_missing(&self, folder: &Path, omitted: &mut HashMap<OmittedBy, OmittedFiles>) {
        let mut entries = entries(folder);
        if self.walked.folders.get(folder) == Some(&entries.len()) {
            return;
        }
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if self.is_known(&path) {
                continue;
            }

            let by = self.cause(&path);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let all: &mut OmittedFiles = omitted.entry(by).or_insert_with(|| OmittedFiles::new(by));
            let files = if is_folder {
                self.count_below(path.clone(), OmittedFiles::MAX_FILES - all.files)
            } else {
                u64::from(is_included(&self.include, &path))
            };
            if files > 0 {
                let slash = if is_folder { "/" } else { "" };
                all.add(files, inside(self.folder, &path) + slash);
            }
        }
    }

    /// Returns whether the walk came to an entry, or no setting is why it did not.
    fn is_known(&self, path: &Path) -> bool {
        let name = inside(self.folder, path);
        let Walked {
            files,
            skipped,
            pictures,
            folders,
        } = self.walked;

        folders.contains_key(path)
            || files.binary_search_by(|file| file.path.cmp(&name)).is_ok()
            || skipped
                .binary_search_by(|file| file.path.cmp(&name))
                .is_ok()
            || pictures.binary_search(&name).is_ok()
            || is_of_version_control(path)
            || self.own.iter().any(|own| own == path)
    }

    fn cause(&self, path: &Path) -> OmittedBy {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_hidden = !self.settings.hidden && name.starts_with(b".");
        if is_hidden || !self.settings.gitignore {
            OmittedBy::Hidden
        } else {
            OmittedBy::IgnoreFiles
        }
    }

    /// Counts the files below a folder, up to a number: a folder of build results or packages can
    /// hold more than the corpus.
    fn count_below(&self, folder: PathBuf, max: u64) -> u64 {
        let mut files = 0;
        let mut seen = 0;
        let mut folders = vec![folder];

        while let Some(folder) = folders.pop() {
            for entry in entries(&folder) {
                seen += 1;
                if files >= max || seen > OmittedFiles::MAX_FILES {
                    return files;
                }

                let path = entry.path();
                if is_of_version_control(&path) {
                    continue;
                }

                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else {
                    files += u64::from(is_included(&self.include, &path));
                }
            }
        }

        files
    }
}

/// Returns the entries of a folder; none where it cannot be read, which the walk reports.
fn entries(folder: &Path) -> Vec<DirEntry> {
    read_dir(folder).into_iter().flatten().flatten().collect()
}

fn is_of_version_control(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == ".git" || IGNORE_FILES.iter().any(|ignore| name == *ignore))
}
