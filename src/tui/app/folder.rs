//! The folder of documents: typed, completed, or one of those before.

use std::ffi::OsStr;
use std::path::Path;

use crate::event::Command;
use crate::story::words;
use crate::tui::folders::typed_path;
use crate::tui::pane::Pane;
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
        let (files, (kept, path)) = match &field.purpose {
            Purpose::Folder => (Files::None, ("", field.text.as_str())),
            Purpose::Model => (Files::With("gguf"), ("", field.text.as_str())),
            Purpose::Filter => (Files::All, last_term(field.text.as_str())),
            _ => return,
        };
        let purpose = field.purpose.clone();
        let (parent, begun) = path.rsplit_once('/').unwrap_or((".", path));
        let shown = &path[..path.len() - begun.len()];

        let parents = if purpose == Purpose::Filter {
            let roots = self.open_folders().into_iter();
            // what begins at the root is in none of them
            let roots = roots.filter(|_| !path.starts_with('/'));
            roots.map(|root| typed_path(&root).join(parent)).collect()
        } else {
            let parent = if parent.is_empty() { "/" } else { parent };
            vec![typed_path(parent)]
        };
        let mut names: Vec<String> = parents
            .iter()
            .flat_map(|parent| names_in(parent, begun, files))
            .collect();
        names.sort_unstable();
        names.dedup();
        let (completed, remark) = match names.as_slice() {
            [] => (
                path.to_owned(),
                Some("no name there begins like this".to_owned()),
            ),
            [name] => (format!("{shown}{name}"), None),
            [first, ..] => {
                let end = names.iter().map(|name| common_bytes(first, name)).min();
                let common = &first[..end.unwrap_or(0)];
                let listed = names.iter().take(MAX_NAMES);
                let listed = listed.map(|name| without_slash(name));
                let listed = listed.collect::<Vec<_>>().join("  ");
                (format!("{shown}{common}"), Some(listed))
            }
        };
        // blanks are between the terms of a filter
        let has_blank = purpose == Purpose::Filter && completed.contains(char::is_whitespace);
        let [open, close] = match names.as_slice() {
            // a folder is continued
            [name] if has_blank && !name.ends_with('/') => ["\"", "\""],
            _ if has_blank => ["\"", ""],
            _ => ["", ""],
        };
        let field = Field::new(purpose, &format!("{kept}{open}{completed}{close}"));
        self.ui.field = Some(Field {
            error: remark,
            ..field
        });
    }

    /// Returns the folders that are open, as they are typed.
    fn open_folders(&self) -> Vec<String> {
        match &self.state.corpus {
            Some(corpus) if corpus.folders.is_empty() => vec![corpus.folder.clone()],
            Some(corpus) => corpus.folders.clone(),
            None => Vec::new(),
        }
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

/// The files that a completion has besides folders.
#[derive(Clone, Copy)]
enum Files {
    None,
    With(&'static str),
    All,
}

/// Returns a filter in two parts: what is before its last term, and that term, without the
/// quotation mark that opens it.
fn last_term(filter: &str) -> (&str, &str) {
    let is_quoted = filter.matches('"').count() % 2 == 1;
    match filter.rfind('"').filter(|_| is_quoted) {
        Some(quote) => (&filter[..quote], &filter[quote + 1..]),
        None => filter.split_at(filter.rfind(' ').map_or(0, |blank| blank + 1)),
    }
}

/// Returns the names in a folder that begin like this: of its folders, with a slash, and of these
/// files; hidden ones only where a dot was typed.
fn names_in(parent: &Path, begun: &str, files: Files) -> Vec<String> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let path = entry.path();
        let name = entry.file_name().into_string().ok()?;
        if path.is_dir() {
            return Some(format!("{name}/"));
        }
        let is_wanted = match files {
            Files::None => false,
            Files::With(ending) => path.extension() == Some(OsStr::new(ending)),
            Files::All => true,
        };
        is_wanted.then_some(name)
    });
    names
        .filter(|name| name.starts_with(begun))
        .filter(|name| begun.starts_with('.') || !name.starts_with('.'))
        .collect()
}

/// Returns the bytes that two names have in common at their beginning.
fn common_bytes(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars());
    let differing = same.into_iter().find(|((_, a), b)| a != b);
    differing.map_or(one.len().min(other.len()), |((at, _), _)| at)
}
