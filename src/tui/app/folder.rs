//! The folder of documents: typed, completed, or one of those before.

use std::ffi::OsStr;
use std::path::Path;

use crate::event::Command;
use crate::story::words;
use crate::tui::folders::typed_path;
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
        let typed = without_slash(typed);
        let names: Vec<&str> = if typed_path(typed).is_dir() {
            // its name may hold a comma
            vec![typed]
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
            let recent = &mut self.ui.recent_folders;
            recent.retain(|folder| folder != typed);
            recent.insert(0, typed.to_owned());
            let folders = names.into_iter().map(typed_path).collect();
            self.ui.work.is_opening = true;
            self.send(Command::Open { folders });
        }
        Ok(())
    }

    /// Completes the path that is typed, as far as the names there agree.
    pub(super) fn complete(&mut self) {
        let Some(field) = &self.ui.field else { return };
        let ending = match &field.purpose {
            Purpose::Folder => None,
            Purpose::Model => Some("gguf"),
            _ => return,
        };
        let purpose = field.purpose.clone();
        let typed = field.text.as_str();
        let (parent, begun) = typed.rsplit_once('/').unwrap_or((".", typed));
        let shown = typed.len() - begun.len();
        let parent = if parent.is_empty() { "/" } else { parent };

        let names = names_in(&typed_path(parent), begun, ending);
        let (completed, remark) = match names.as_slice() {
            [] => (
                typed.to_owned(),
                Some("no name there begins like this".to_owned()),
            ),
            [name] => (format!("{}{name}", &typed[..shown]), None),
            [first, ..] => {
                let end = names.iter().map(|name| common_bytes(first, name)).min();
                let common = &first[..end.unwrap_or(0)];
                let listed = names.iter().take(MAX_NAMES);
                let listed = listed.map(|name| without_slash(name));
                let listed = listed.collect::<Vec<_>>().join("  ");
                (format!("{}{common}", &typed[..shown]), Some(listed))
            }
        };
        let field = Field::new(purpose, &completed);
        self.ui.field = Some(Field {
            error: remark,
            ..field
        });
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

/// Returns the names in a folder that begin like this, in order: of its folders, with a slash, and
/// of its files with this ending; hidden ones only where a dot was typed.
fn names_in(parent: &Path, begun: &str, ending: Option<&str>) -> Vec<String> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let path = entry.path();
        let name = entry.file_name().into_string().ok()?;
        if path.is_dir() {
            return Some(format!("{name}/"));
        }
        let has_ending = path
            .extension()
            .is_some_and(|own| Some(own) == ending.map(OsStr::new));
        has_ending.then_some(name)
    });
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(begun))
        .filter(|name| begun.starts_with('.') || !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    names
}

/// Returns the bytes that two names have in common at their beginning.
fn common_bytes(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars());
    let differing = same.into_iter().find(|((_, a), b)| a != b);
    differing.map_or(one.len().min(other.len()), |((at, _), _)| at)
}
