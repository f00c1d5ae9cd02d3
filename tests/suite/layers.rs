//! A module uses only what its row of the layer table lists, and inside a layered module a file uses
//! only the files and folders that are declared above it.

use std::path::{Path, PathBuf};

/// Module, and what it may use besides itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("event", &[]),
    ("config", &["event"]),
    ("trace", &["event"]),
    ("llm", &["event", "config"]),
    ("corpus", &["event", "config", "llm"]),
    ("index", &["event", "config", "llm", "corpus"]),
    ("methods", &["event", "config", "llm", "corpus", "index"]),
    ("probe", &["event", "config", "trace", "llm", "methods"]),
    (
        "engine",
        &[
            "event", "config", "trace", "llm", "corpus", "index", "methods", "probe",
        ],
    ),
    (
        "eval",
        &[
            "event", "config", "trace", "llm", "corpus", "index", "methods", "engine",
        ],
    ),
    (
        "cli",
        &[
            "event", "config", "trace", "llm", "corpus", "index", "methods", "probe", "engine",
            "eval",
        ],
    ),
    ("tui", &["event", "config"]),
];

/// Modules that are layered inside too: each `mod.rs` of theirs declares its files and folders from
/// the lowest to the highest.
const LAYERED: &[&str] = &["engine"];

#[test]
fn modules_use_only_what_their_row_lists() {
    let mut seen = 0;
    for (module, may_use) in MAY_USE {
        for file in sources(module) {
            for used in file.uses() {
                seen += 1;
                let allowed = used[0] == *module || may_use.contains(&used[0].as_str());
                assert!(
                    allowed,
                    "{} uses {}, which the layer table does not list",
                    file.path.join("::"),
                    used.join("::")
                );
            }
        }
    }
    assert!(
        seen > 1000,
        "only {seen} paths found: the test no longer reads the source"
    );
}

#[test]
fn files_of_a_layered_module_use_only_what_is_declared_above_them() {
    for module in LAYERED {
        let sources = sources(module);
        assert!(sources.len() > 5, "{module} is read");
        assert_eq!(upward_uses(&sources), Vec::<String>::new());
    }
}

#[test]
fn an_upward_use_is_found_however_it_is_written() {
    let filter_with = |text: &str| {
        let source = |path: &str, text: &str| Source {
            path: path.split("::").map(str::to_owned).collect(),
            text: text.to_owned(),
        };
        [
            source("engine", "mod run;\nmod stages;\npub mod worker;\n"),
            source("engine::stages", "mod gate;\nmod filter;\nmod linker;\n"),
            source("engine::stages::filter", text),
        ]
    };
    let upward = [
        "use crate::engine::worker::Worker;",
        "use crate::{config::Config, engine::{run::Run, worker::{self, Worker}}};",
        "use super::super::worker::Worker;",
        "fn f() { super::super::worker::start() }",
        "use super::linker::ByAttention;",
        "use super::{gate::judged, linker as other};",
        // a name that the room or the module hands on is above every file of it
        "use super::reranked;",
        "use crate::engine::Worker;",
        "#[cfg(test)]\nmod tests {\n    use super::super::linker::ByAttention;\n}",
    ];
    for text in upward {
        let found = upward_uses(&filter_with(text));
        assert_ne!(found, Vec::<String>::new(), "{text}");
    }
    let downward = [
        "use crate::engine::run::{Passages, Run, context::{self, count}};",
        "use super::super::run::Run as TheRun;",
        "use super::gate::{judged, sampling as _};",
        "use crate::tui::app::App;",
        "/// See [`crate::engine::worker::Worker`].",
        "pub(in crate::engine) fn f() {}",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    use super::super::gate::judged;\n}",
    ];
    for text in downward {
        let found = upward_uses(&filter_with(text));
        assert_eq!(found, Vec::<String>::new(), "{text}");
    }
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
            !text.contains("unsafe {") && !text.contains("allow(unsafe_code)"),
            "{}",
            file.display()
        );
    }
}

/// A source file: its path as a module, such as `engine::stages::linker`, and its text.
struct Source {
    path: Vec<String>,
    text: String,
}

impl Source {
    /// Returns the paths that the file names, from the root of the crate.
    fn uses(&self) -> Vec<Vec<String>> {
        // in the tests of a file, `super` is the file itself
        let (code, tests) = match self.text.split_once("#[cfg(test)]\nmod tests {") {
            Some((code, tests)) => (code, tests),
            None => (self.text.as_str(), ""),
        };
        let mut tests_path = self.path.clone();
        tests_path.push("tests".to_owned());

        let mut uses = uses_in(code, &self.path);
        uses.extend(uses_in(tests, &tests_path));
        uses
    }

    /// Returns the names of the modules that the file declares, in their order.
    fn declared(&self) -> Vec<&str> {
        self.text
            .lines()
            .map(|line| line.strip_prefix("pub ").unwrap_or(line))
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect()
    }
}

/// Returns what each file of a module uses although it is not declared above it.
fn upward_uses(sources: &[Source]) -> Vec<String> {
    let mut upward = Vec::new();
    for source in sources {
        for used in source.uses() {
            // the first name in which the two paths differ decides; there is none where a file uses
            // its own items or its children, and another module has its row in the layer table
            let common = source.path.iter().zip(&used).take_while(|(a, b)| a == b);
            let common = common.count();
            if common == 0 || common == source.path.len() || common == used.len() {
                continue;
            }
            let parent = sources
                .iter()
                .find(|parent| parent.path == source.path[..common])
                .expect("the file that declares the module");
            let declared = parent.declared();
            let position = |name: &String| declared.iter().position(|known| known == name);
            let is_above = position(&used[common]).is_some_and(|position_of_used| {
                Some(position_of_used) < position(&source.path[common])
            });
            if !is_above {
                upward.push(format!(
                    "{} uses {}",
                    source.path.join("::"),
                    used.join("::")
                ));
            }
        }
    }
    upward
}

/// Returns the paths of a text that begin with `crate` or `super`, resolved as of this module.
fn uses_in(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let begins_path = |at: usize| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    };

    let mut uses = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root).filter(|(at, _)| begins_path(*at)) {
            let mut named = Vec::new();
            read_tree(&mut Vec::new(), &code[at..], &mut named);
            for path in named {
                let supers = path.iter().take_while(|name| *name == "super").count();
                let mut whole = match root {
                    "crate::" => Vec::new(),
                    _ => module[..module.len() - supers].to_vec(),
                };
                whole.extend(
                    path.into_iter()
                        .skip(supers.max(usize::from(root == "crate::"))),
                );
                if !whole.is_empty() {
                    uses.push(whole);
                }
            }
        }
    }
    uses
}

/// Reads a path, or a tree of paths in braces, and returns the text after it.
fn read_tree<'t>(prefix: &mut Vec<String>, text: &'t str, paths: &mut Vec<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut inside) = text.strip_prefix('{') {
        loop {
            inside = inside.trim_start();
            if let Some(after) = inside.strip_prefix('}') {
                return after;
            }
            let depth = prefix.len();
            inside = read_tree(prefix, inside, paths);
            prefix.truncate(depth);
            // behind a path there can be `as name`
            let end = inside.find([',', '}']).expect("the end of a tree");
            inside = inside[end..].trim_start_matches(',');
        }
    }

    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    if !name.is_empty() && name != "self" {
        prefix.push(name.to_owned());
    }
    match after.strip_prefix("::") {
        Some(after) => read_tree(prefix, after, paths),
        None => {
            paths.push(prefix.clone());
            after
        }
    }
}

/// Returns the files of a module.
fn sources(module: &str) -> Vec<Source> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = source.join(format!("{module}.rs"));
    let files = if file.is_file() {
        vec![file]
    } else {
        rust_files_below(&source.join(module))
    };
    files
        .into_iter()
        .map(|file| {
            let inside = file.strip_prefix(&source).expect("a path below src");
            let mut path: Vec<String> = inside
                .with_extension("")
                .components()
                .map(|name| name.as_os_str().to_string_lossy().into_owned())
                .collect();
            path.pop_if(|name| name == "mod");
            Source {
                path,
                text: std::fs::read_to_string(&file).expect("a source file"),
            }
        })
        .collect()
}

fn rust_files_below(folder: &Path) -> Vec<PathBuf> {
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
