//! A module uses only what its row of the layer table lists.

use std::path::Path;

/// Module, and what it may use besides itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("event", &[]),
    ("config", &["event"]),
    ("append_log", &[]),
    ("files", &[]),
    ("process", &[]),
    ("trace", &["event", "append_log", "files"]),
    ("story", &["event", "config"]),
    ("llm", &["event", "config", "process"]),
    ("pull", &["event", "files", "story", "llm"]),
    ("corpus", &["event", "config", "files", "process", "llm"]),
    (
        "index",
        &["event", "config", "append_log", "files", "llm", "corpus"],
    ),
    ("methods", &["event", "config", "llm", "corpus", "index"]),
    (
        "probe",
        &["event", "config", "files", "trace", "llm", "methods"],
    ),
    (
        "engine",
        &[
            "event", "config", "trace", "llm", "corpus", "index", "methods", "probe",
        ],
    ),
    (
        "eval",
        &[
            "event", "config", "trace", "story", "llm", "corpus", "index", "methods", "engine",
        ],
    ),
    (
        "cli",
        &[
            "event", "config", "files", "process", "trace", "story", "llm", "pull", "corpus",
            "index", "methods", "probe", "engine", "eval",
        ],
    ),
    ("tui", &["event", "config", "files", "story"]),
];

#[test]
fn modules_use_only_what_their_row_lists() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (module, may_use) in MAY_USE {
        for file in rust_files(&source, module) {
            let text = std::fs::read_to_string(&file).expect("a source file");
            for used in crate_paths(&text) {
                seen += 1;
                let allowed = used == *module || may_use.contains(&used);
                assert!(
                    allowed,
                    "{} uses crate::{used}, which the layer table does not list",
                    file.display()
                );
            }
        }
    }
    assert!(
        seen > 20,
        "only {seen} crate:: paths found: the test no longer reads the source"
    );
}

#[test]
fn unsafe_code_is_in_one_file() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in rust_files_below(&source)
        .into_iter()
        .filter(|file| !file.ends_with("llm/ffi.rs"))
    {
        let text = std::fs::read_to_string(&file).expect("a source file");
        assert!(
            !text.contains("unsafe {") && !text.contains("(unsafe_code"),
            "{}",
            file.display()
        );
    }
}

fn crate_paths(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("crate::").map(|(at, found)| {
        let rest = &text[at + found.len()..];
        &rest[..rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())]
    })
}

fn rust_files(source: &Path, module: &str) -> Vec<std::path::PathBuf> {
    let file = source.join(format!("{module}.rs"));
    if file.is_file() {
        vec![file]
    } else {
        rust_files_below(&source.join(module))
    }
}

fn rust_files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}
