//! The folder of documents: typed, completed, or one of those before.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::DocumentFilter;
use crate::event::Command;
use crate::files::unique_names;
use crate::story::words;
use crate::tui::folders::typed_path;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::ui::{Field, Purpose};

use super::base::App;

/// Names that a message lists.
const MAX_NAMES: usize = 8;

impl App {
    /// Opens the input of the folders to open, filled with the open ones, which typing replaces.
    pub(super) fn open_folder(&mut self) {
        if self.ui.player.is_some() {
            self.refuse("a replay has no folder");
        } else if self.has_engine() {
            let corpus = self.state.corpus.as_ref();
            let folder = corpus.map_or_else(String::new, |corpus| corpus.folder.clone());
            self.ui.field = Some(Field::with_selection(Purpose::Folder, &folder));
        }
    }

    /// Opens a folder, or several with commas between them, and updates the index of each. A path
    /// may begin with `~`, as in a shell.
    ///
    /// # Errors
    /// A path that is no folder, for the user.
    pub(super) fn open_typed_folders(&mut self, typed: &str) -> Result<(), String> {
        let typed = &normalise_path(typed);
        let names: Vec<&str> = if typed_path(typed).is_dir() {
            // its name may hold a comma
            vec![typed.as_str()]
        } else {
            let names = typed.split(',').map(str::trim).map(without_slash);
            names.filter(|name| !name.is_empty()).collect()
        };

        for name in &names {
            match typed_path(name).metadata() {
                Ok(about) if about.is_dir() => {}
                Ok(_) => {
                    return Err(format!(
                        "{name} is a file: enter the folder that contains it"
                    ));
                }
                Err(error) => {
                    let reason = words::why_not_found(&error, "folder");
                    return Err(format!("cannot open {name}: {reason}"));
                }
            }
        }
        if !names.is_empty() {
            self.ui.panes.scroll_mut(Pane::Answer).selected = None;
            let recent = &mut self.ui.recent_folders;
            recent.retain(|folder| folder != typed);
            recent.insert(0, typed.to_owned());
            let folders = names.into_iter().map(typed_path).collect();
            self.ui.work.is_opening = true;
            self.send(Command::Open { folders });
        }
        Ok(())
    }

    /// Completes the path that is typed, as far as the names there agree; of a filter, its last
    /// term among the names in the open folders.
    pub(super) fn complete(&mut self) {
        let Some(field) = &self.ui.field else { return };
        let typed = field.text.as_str();
        let purpose = field.purpose.clone();
        let is_filter = purpose == Purpose::Filter;
        let (kept, path) = match &purpose {
            Purpose::Folder | Purpose::Model => ("", typed.to_owned()),
            Purpose::Filter => {
                let (kept, term) = last_term(typed);
                (kept, DocumentFilter::unescape(&term))
            }
            _ => return,
        };
        let split = path.rfind('/').map_or(0, |slash| slash + 1);
        let (shown, begun) = path.split_at(split);

        let mut names: Vec<String> = if is_filter {
            let roots = self.open_folders().into_iter();
            let names = roots.map(|(name, root)| names_of_documents(&name, &root, shown, begun));
            names.flatten().collect()
        } else {
            let parent = if shown.is_empty() { "." } else { shown };
            let is_gguf = |file: &Path| file.extension() == Some(OsStr::new("gguf"));
            let is_wanted = |file: &Path| purpose == Purpose::Model && is_gguf(file);
            names_in(&typed_path(parent), begun, is_wanted)
        };
        names.sort_unstable();
        names.dedup();
        let Some(end) = names.iter().map(|name| common_bytes(&names[0], name)).min() else {
            let error = Some("no name there begins like this".to_owned());
            let field = field.clone();
            self.ui.field = Some(Field { error, ..field });
            return;
        };

        let mut completed = format!("{shown}{}", &names[0][..end]);
        if is_filter {
            // blanks are between the terms of a filter; a folder is continued
            let has_blank = completed.contains(char::is_whitespace);
            let is_whole = names.len() == 1 && !completed.ends_with('/');
            let open = if has_blank { "\"" } else { "" };
            let close = if is_whole { open } else { "" };
            completed = format!("{kept}{open}{}{close}", DocumentFilter::escape(&completed));
        }
        let listed = names.iter().take(MAX_NAMES).map(|name| without_slash(name));
        self.ui.field = Some(Field {
            error: (names.len() > 1).then(|| text::join(listed, "  ")),
            ..Field::new(purpose, &completed)
        });
    }

    /// Returns the folders that are open, each with what the paths of its documents begin with:
    /// nothing for one that is open alone.
    fn open_folders(&self) -> Vec<(String, PathBuf)> {
        let Some(corpus) = &self.state.corpus else {
            return Vec::new();
        };
        if corpus.folders.is_empty() {
            return vec![(String::new(), typed_path(&corpus.folder))];
        }
        let folders = corpus.folders.iter().map(|folder| typed_path(folder));
        let folders = folders.map(|folder| folder.canonicalize().unwrap_or(folder));
        let folders: Vec<PathBuf> = folders.collect();
        let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let names = unique_names(&paths).into_iter();
        let names: Vec<String> = names.map(|name| format!("{name}/")).collect();
        names.into_iter().zip(folders).collect()
    }

    /// Replaces the path that is typed by the next of those that were taken before.
    pub(super) fn take_recent_path(&mut self, by: isize) {
        let Some(field) = &self.ui.field else {
            return;
        };
        let recent = match field.purpose {
            Purpose::Model => &self.ui.recent_models,
            _ => &self.ui.recent_folders,
        };
        let purpose = field.purpose.clone();
        let at = recent.iter().position(|path| path == field.text.as_str());
        let next = match at {
            Some(at) => at.checked_add_signed(-by),
            None => Some(0),
        };
        match next.and_then(|next| recent.get(next)) {
            Some(path) => self.ui.field = Some(Field::new(purpose, path)),
            None => self.refuse("no other was opened before"),
        }
    }
}

/// Returns a path without the slash that completing it leaves: the same folder has one name.
fn without_slash(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path,
        path => path,
    }
}

/// Returns a path with one slash between its names: the same folder has one name.
fn normalise_path(path: &str) -> String {
    let mut normal = path.to_owned();
    while normal.contains("//") {
        normal = normal.replace("//", "/");
    }
    without_slash(&normal).to_owned()
}

/// Returns a filter in two parts: what is before its last term, and that term, without quotation
/// marks.
fn last_term(filter: &str) -> (&str, String) {
    let mut start = 0;
    let mut is_quoted = false;
    for (at, character) in filter.char_indices() {
        if character == '"' {
            is_quoted = !is_quoted;
        } else if character == ' ' && !is_quoted {
            start = at + 1;
        }
    }
    (&filter[..start], filter[start..].replace('"', ""))
}

/// Returns the names behind `shown` that begin like this, in the paths of the documents of a
/// folder: they begin with `name`.
fn names_of_documents(name: &str, root: &Path, shown: &str, begun: &str) -> Vec<String> {
    match shown.strip_prefix(name) {
        // what begins at the root is in no folder
        Some(inside) if !inside.starts_with('/') => names_in(&root.join(inside), begun, |_| true),
        _ => {
            let name = name.strip_prefix(shown);
            let name = name.filter(|name| !name.is_empty() && name.starts_with(begun));
            name.map(str::to_owned).into_iter().collect()
        }
    }
}

/// Returns the names in a folder that begin like this: of its folders, with a slash, and of these
/// files; hidden ones only where a dot was typed.
fn names_in(parent: &Path, begun: &str, is_wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let path = entry.path();
        let name = entry.file_name().into_string().ok()?;
        if path.is_dir() {
            Some(format!("{name}/"))
        } else {
            is_wanted(&path).then_some(name)
        }
    });
    let names = names.filter(|name| name.starts_with(begun));
    names
        .filter(|name| begun.starts_with('.') || !name.starts_with('.'))
        .collect()
}

/// Returns the bytes that two names have in common at their beginning.
fn common_bytes(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    same.map(|(a, _)| a.len_utf8()).sum()
}
