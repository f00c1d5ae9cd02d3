//! The demo corpus is what its README says.

use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/corpus")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the corpus") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn the_corpus_has_many_short_documents_in_three_formats() {
    let files = files_below(&corpus());
    assert!(files.len() >= 60, "only {} documents", files.len());
    for format in ["md", "txt", "html"] {
        let count = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == format)).count();
        assert!(count >= 10, "only {count} documents in {format}");
    }
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text in UTF-8");
        let words = text.split_whitespace().count();
        assert!((10..=400).contains(&words), "{} has {words} words", file.display());
        assert!(text.ends_with('\n') && !text.contains('\r'), "{}: odd line ends", file.display());
    }
}
