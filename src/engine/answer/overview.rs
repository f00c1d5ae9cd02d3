//! The answer to what a folder holds, from the names of its documents: no passage says that.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::corpus::{fold_white_space, split_words};

/// Questions for what the whole folder holds, in lower case and without signs.
#[rustfmt::skip]
const OVERVIEWS: &[&str] = &[
    "overview of this folder", "overview of the folder", "overview of these documents",
    "overview of my documents", "overview of the documents", "what is in this folder",
    "what s in this folder", "what is this folder about", "what are these documents about",
    "what documents are there", "what files are there", "which documents are there",
    "which files are there", "which documents do you have", "überblick über diesen ordner",
    "überblick über die dokumente", "was ist in diesem ordner", "welche dokumente gibt es",
    "welche dateien gibt es", "aperçu de ce dossier", "que contient ce dossier",
    "resumen de esta carpeta", "qué hay en esta carpeta", "这个文件夹里有什么",
];
/// Names of documents per folder, of all where the folders are few, and folders, that are said.
const MIN_NAMES: usize = 6;
const MAX_NAMES: usize = 48;
const MAX_FOLDERS: usize = 12;

/// Returns whether a question asks for what the whole folder holds.
pub fn asks_for_overview(question: &str) -> bool {
    let words: Vec<String> = split_words(question).map(str::to_lowercase).collect();
    let question = words.join(" ");
    OVERVIEWS.iter().any(|known| question.ends_with(known))
}

/// Returns the number of documents, and of each folder some names, the fullest folder first; the
/// documents that are in no folder have their names alone.
pub fn describe(documents: &[String]) -> String {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in documents {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        folders.entry(folder).or_default().push(name);
    }
    let mut folders: Vec<(&str, Vec<&str>)> = folders.into_iter().collect();
    // stable: of equal numbers by name
    folders.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));

    let count = documents.len();
    let noun = if count == 1 { "document" } else { "documents" };
    let mut text = format!("{count} {noun}:\n");
    let most = (MAX_NAMES / folders.len().max(1)).max(MIN_NAMES);
    for (folder, names) in folders.iter().take(MAX_FOLDERS) {
        let shown = names.iter().take(most).map(|name| fold_white_space(name));
        let shown: Vec<String> = shown.collect();
        let more = if names.len() > most { ", …" } else { "" };
        let folder = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder} ({}): ", names.len())
        };
        let _ = write!(text, "\n- {folder}{}{more}", shown.join(", "));
    }
    if let Some(rest @ 1..) = folders.len().checked_sub(MAX_FOLDERS) {
        let _ = write!(text, "\n- {rest} more folders");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_described_by_the_names_of_its_documents() {
        for (question, expected) in [
            ("Give me an overview of this folder", true),
            ("What's in this folder?", true),
            ("Was ist in diesem Ordner?", true),
            ("这个文件夹里有什么？", true),
            ("Give me an overview of the steam engine", false),
            ("Which files are there about Kenya?", false),
        ] {
            assert_eq!(asks_for_overview(question), expected, "{question}");
        }

        let paths = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let found = describe(&paths(&["a.md", "notes/b.txt", "notes/c.txt"]));
        assert_eq!(found, "3 documents:\n\n- notes (2): b.txt, c.txt\n- a.md");
        let many: Vec<String> = (0..20).map(|n| format!("{n}/a.md")).collect();
        assert!(describe(&many).ends_with("- 8 more folders"));
        let root: Vec<String> = (0..12).map(|n| format!("{n}.md")).collect();
        assert!(describe(&root).ends_with("10.md, 11.md"), "all of few");
        let root: Vec<String> = (0..90).map(|n| format!("{n}.md")).collect();
        assert!(describe(&root).ends_with("47.md, …"));
        assert_eq!(describe(&[]), "0 documents:\n");
    }
}
