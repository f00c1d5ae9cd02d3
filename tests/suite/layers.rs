//! A module uses only what its row of the layer table lists, and inside a module a file uses only
//! the files and folders that are declared above it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Module, and what it may use besides itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("letters", &[]),
    ("event", &[]),
    ("files", &[]),
    ("config", &["letters", "event", "files"]),
    ("guide", &["event", "config"]),
    ("append_log", &[]),
    ("process", &[]),
    ("net", &["event"]),
    ("trace", &["event", "append_log", "files"]),
    ("story", &["letters", "event", "config"]),
    ("llm", &["event", "config", "files", "process", "net"]),
    ("pull", &["event", "files", "net", "story", "llm"]),
    (
        "corpus",
        &["letters", "event", "config", "files", "process", "llm"],
    ),
    ("remote", &["event", "config", "net"]),
    (
        "index",
        &[
            "letters",
            "event",
            "config",
            "append_log",
            "files",
            "llm",
            "corpus",
            "remote",
        ],
    ),
    (
        "methods",
        &["letters", "event", "config", "llm", "corpus", "index"],
    ),
    (
        "probe",
        &["event", "config", "files", "trace", "llm", "methods"],
    ),
    (
        "engine",
        &[
            "letters", "event", "config", "trace", "llm", "corpus", "index", "methods", "probe",
        ],
    ),
    (
        "eval",
        &[
            "letters", "event", "config", "trace", "story", "llm", "corpus", "index", "methods",
            "engine",
        ],
    ),
    (
        "host",
        &[
            "event", "config", "process", "trace", "story", "llm", "pull", "corpus", "remote",
            "engine",
        ],
    ),
    (
        "serve",
        &["event", "config", "files", "trace", "story", "host"],
    ),
    (
        "cli",
        &[
            "letters", "event", "config", "guide", "files", "trace", "story", "llm", "pull",
            "corpus", "remote", "index", "probe", "engine", "eval", "host", "serve",
        ],
    ),
    (
        "tui",
        &["letters", "event", "config", "guide", "files", "story"],
    ),
];

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
fn a_row_lists_only_modules_that_are_declared_above_it() {
    let root = Source {
        path: Vec::new(),
        text: std::fs::read_to_string(source_folder().join("lib.rs")).expect("a source file"),
    };
    let modules: Vec<&str> = MAY_USE.iter().map(|(module, _)| *module).collect();
    assert_eq!(root.declared(), modules, "lib.rs and the layer table");

    for (row, (module, may_use)) in MAY_USE.iter().enumerate() {
        for used in *may_use {
            assert!(
                modules[..row].contains(used),
                "{module} lists {used}, which is not above it"
            );
        }
    }
}

#[test]
fn files_of_a_module_use_only_what_is_declared_above_them() {
    let mut upward = Vec::new();
    for (module, _) in MAY_USE {
        upward.extend(upward_uses(&sources(module)));
    }
    assert!(upward.is_empty(), "{}", upward.join("\n"));
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
        "fn f() -> Vec<super::super::worker::Worker> { Vec::new() }",
        "use super::linker::ByAttention;",
        "use super::{gate::judge, linker as other};",
        "pub use self::super::linker::ByAttention;",
        // what the room or the module itself declares, or hands on, is above every file of it
        "use super::rerank;",
        "use super::*;",
        "use crate::engine::Worker;",
        "use crate::engine::{self, run::Run};",
        "#[cfg(test)]\nmod tests {\n    use super::super::linker::ByAttention;\n}",
        "mod inner {\n    pub mod most {\n        use super::super::super::linker::ByAttention;\n    }\n}",
        "macro_rules! m {\n    () => {\n        $crate::engine::worker::start()\n    };\n}",
    ];
    for text in upward {
        let found = upward_uses(&filter_with(text));
        assert_ne!(found, Vec::<String>::new(), "{text}");
    }
    let downward = [
        "use crate::engine::run::{Passages, Run, context::{self, count}};",
        "use super::super::run::Run as TheRun;",
        "use super::gate::{judge, sampling as _};",
        "use self::inner::Inner;\nuse inner::*;",
        "use crate::tui::app::App;",
        "/// See [`crate::engine::worker::Worker`].",
        "pub(in crate::engine) fn f() {}",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    use super::super::gate::judge;\n}",
        "mod inner {\n    use super::Filter;\n}\nuse super::gate::judge;",
    ];
    for text in downward {
        let found = upward_uses(&filter_with(text));
        assert_eq!(found, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn unsafe_code_is_in_one_folder() {
    for file in rust_files_below(&source_folder())
        .into_iter()
        .filter(|file| !file.starts_with(source_folder().join("llm/ffi")))
    {
        let text = std::fs::read_to_string(&file).expect("a source file");
        assert!(
            !text.contains("unsafe {") && !text.contains("(unsafe_code"),
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
        let code: String = self
            .text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();

        let mut uses = Vec::new();
        for (at, module) in self.path_starts(&code) {
            let mut named = Vec::new();
            read_tree(&mut Vec::new(), &code[at..], &mut named);
            uses.extend(named.iter().map(|path| absolute(path, &module)));
        }
        uses.retain(|path| !path.is_empty());
        uses
    }

    /// Returns where in the code a path begins with `crate` or `super`, and the module that is
    /// named from: an inline module of the file is one of its own.
    fn path_starts(&self, code: &str) -> Vec<(usize, Vec<String>)> {
        let mut starts = Vec::new();
        let mut module = self.path.clone();
        let mut ends: Vec<String> = Vec::new();
        let mut offset = 0;
        for line in code.lines() {
            for root in ["crate::", "super::"] {
                let found = line.match_indices(root).map(|(at, _)| at);
                let whole = found.filter(|at| begins_path(&line[..*at]));
                starts.extend(whole.map(|at| (offset + at, module.clone())));
            }
            offset += line.len() + 1;

            // rustfmt closes an inline module at the indentation of the line that opens it
            if let Some(name) = inline_module(line) {
                let indentation = line.len() - line.trim_start().len();
                ends.push(format!("{}}}", " ".repeat(indentation)));
                module.push(name.to_owned());
            } else if ends.last().is_some_and(|end| line == end) {
                ends.pop();
                module.pop();
            }
        }
        starts
    }

    /// Returns the names of the modules that the file declares, in their order.
    fn declared(&self) -> Vec<&str> {
        self.text
            .lines()
            .map(without_visibility)
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect()
    }
}

/// Returns whether a path can begin after this text. The scope of a visibility is not a use.
fn begins_path(before: &str) -> bool {
    let inside_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    before.ends_with("self::") || !before.ends_with(inside_name) && !before.ends_with("pub(in ")
}

/// Returns the name of the module that a line such as `mod tests {` opens.
fn inline_module(line: &str) -> Option<&str> {
    let declaration = without_visibility(line.trim_start());
    declaration.strip_prefix("mod ")?.strip_suffix(" {")
}

fn without_visibility(line: &str) -> &str {
    let Some(after) = line.strip_prefix("pub") else {
        return line;
    };
    match after.strip_prefix('(') {
        Some(scope) => scope
            .split_once(") ")
            .map_or(line, |(_, declaration)| declaration),
        None => after.trim_start(),
    }
}

/// Returns a path that begins with `crate` or `super` from the root of the crate.
fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    let mut whole = match supers {
        0 => Vec::new(),
        _ => module[..module.len() - supers].to_vec(),
    };
    whole.extend_from_slice(&path[supers.max(1)..]);
    whole
}

/// Returns what each file of a module uses although it is not declared above it.
fn upward_uses(sources: &[Source]) -> Vec<String> {
    let mut upward = Vec::new();
    for source in sources {
        let mut seen = HashSet::new();
        for used in source.uses() {
            // the first name in which the two paths differ decides; there is none where a file uses
            // its own items or its children, and another module has its row in the layer table
            let common = source.path.iter().zip(&used).take_while(|(a, b)| a == b);
            let common = common.count();
            if common == 0 || common == source.path.len() {
                continue;
            }
            let parent = sources
                .iter()
                .find(|parent| parent.path == source.path[..common])
                .expect("the file that declares the module");
            let declared = parent.declared();
            let position = |name: &String| declared.iter().position(|known| known == name);
            let is_above = used
                .get(common)
                .and_then(position)
                .is_some_and(|used| Some(used) < position(&source.path[common]));
            let line = format!("{} uses {}", source.path.join("::"), used.join("::"));
            if !is_above && seen.insert(line.clone()) {
                upward.push(line);
            }
        }
    }
    upward
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
    let end = if text.starts_with('*') {
        1
    } else {
        text.find(|c| !is_name(c)).unwrap_or(text.len())
    };
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
    let folder = source_folder();
    let file = folder.join(format!("{module}.rs"));
    let files = if file.is_file() {
        vec![file]
    } else {
        rust_files_below(&folder.join(module))
    };
    files
        .into_iter()
        .map(|file| {
            let inside = file.strip_prefix(&folder).expect("a path below src");
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

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
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
