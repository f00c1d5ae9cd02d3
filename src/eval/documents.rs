//! The passages of a question set as a folder of documents.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::questions::{Passage, Question, QuestionSet};
use crate::corpus::fold_white_space;

/// Documents in one subfolder.
const FOLDER_DOCUMENTS: usize = 1000;
/// Longest part of a file's name that comes from its title, characters.
const MAX_NAME: usize = 60;

/// The documents that the passages of some questions make: passages with the same title are one
/// document, with its title as the first line.
#[derive(Debug, Default)]
pub struct Documents {
    /// Path inside the folder, and text.
    files: Vec<(String, String)>,
    /// The document of each passage, by the passage's number in the set.
    of_passage: HashMap<usize, usize>,
}

impl Documents {
    /// Returns the documents of these questions: their own passages, and those of the set as a
    /// whole.
    pub fn new(set: &QuestionSet, questions: &[Question]) -> Self {
        let own = questions.iter().flat_map(|question| &question.passages);
        let numbers: BTreeSet<usize> = own.copied().chain(0..set.shared).collect();

        let mut documents = Self::default();
        let mut by_title: HashMap<&str, usize> = HashMap::new();
        for number in numbers {
            let passage = &set.passages[number];
            let known = by_title.get(passage.title.as_str()).copied();
            let document = match known.filter(|_| !passage.title.is_empty()) {
                Some(document) => {
                    let text = &mut documents.files[document].1;
                    text.push('\n');
                    text.push_str(passage.text.trim());
                    text.push('\n');
                    document
                }
                None => documents.add(passage),
            };
            by_title.insert(&passage.title, document);
            documents.of_passage.insert(number, document);
        }
        documents
    }

    fn add(&mut self, passage: &Passage) -> usize {
        let number = self.files.len();
        let title = fold_white_space(&passage.title);
        let head = if title.is_empty() {
            String::new()
        } else {
            format!("{title}\n\n")
        };
        let folder = number / FOLDER_DOCUMENTS;
        let path = format!("{folder:03}/{number:06}{}.txt", name_part(&title));
        self.files
            .push((path, format!("{head}{}\n", passage.text.trim())));
        number
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the paths of the documents of a question's own passages.
    pub fn paths(&self, question: &Question) -> Vec<&str> {
        let own = question.passages.iter();
        let documents: BTreeSet<usize> = own
            .filter_map(|passage| self.of_passage.get(passage).copied())
            .collect();
        documents
            .into_iter()
            .map(|document| self.files[document].0.as_str())
            .collect()
    }

    /// Writes them into a folder of `parent` that is named after `name` and their content, unless
    /// they are there, and returns that folder.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn write(&self, parent: &Path, name: &str) -> io::Result<PathBuf> {
        let mut hasher = blake3::Hasher::new();
        for (path, text) in &self.files {
            hasher.update(path.as_bytes());
            hasher.update(&text.len().to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        let folder = parent.join(format!("{name}-{}", &hash[..12]));
        if folder.is_dir() {
            // `ragscope clean` removes by date what is no longer used
            let _ = std::fs::File::open(&folder)
                .and_then(|opened| opened.set_modified(SystemTime::now()));
            return Ok(folder);
        }

        // a folder with its final name is complete
        let draft = parent.join(format!("{name}-{}.part", &hash[..12]));
        if draft.exists() {
            std::fs::remove_dir_all(&draft)?;
        }
        for (path, text) in &self.files {
            let file = draft.join(path);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&file, text)?;
        }
        std::fs::rename(&draft, &folder)?;
        Ok(folder)
    }
}

/// Returns the part of a file's name that comes from its title: `-the-title`, or nothing.
fn name_part(title: &str) -> String {
    let mut part = String::new();
    for letter in title.chars().take(MAX_NAME) {
        if letter.is_alphanumeric() {
            if part.is_empty() {
                part.push('-');
            }
            part.extend(letter.to_lowercase());
        } else if !part.is_empty() && !part.ends_with('-') {
            part.push('-');
        }
    }
    part.trim_end_matches('-').to_owned()
}
