//! Opening another folder of documents.

use std::path::PathBuf;

use crate::event::Command;

use super::{App, Field, Purpose};

impl App {
    /// Types the path of a folder. That of the folder that is open is offered.
    pub(in crate::tui) fn open_folder(&mut self) {
        if self.ui.player.is_some() {
            self.tell("a replay has no folder", true);
        } else if self.has_engine() {
            let now = self
                .state
                .corpus
                .as_ref()
                .map_or(String::new(), |corpus| corpus.folder.clone());
            self.ui.field = Some(Field {
                purpose: Purpose::Folder,
                text: super::ask::typed(&now),
            });
        }
    }

    /// Opens it and brings its index up to date. A path may begin with `~`, as in a shell.
    pub(super) fn open_typed_folder(&mut self, typed: &str) {
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let folder = match typed.strip_prefix('~').zip(home()) {
            Some((rest, home)) => home.join(rest.trim_start_matches('/')),
            None => PathBuf::from(typed),
        };
        match folder.metadata() {
            _ if typed.is_empty() => {}
            Ok(about) if about.is_dir() => self.send(Command::Open { folder }),
            Ok(_) => self.tell(
                format!("{typed} is a file: name the folder that it is in"),
                true,
            ),
            Err(error) => self.tell(
                format!("cannot open {typed} ({error}): check the path"),
                true,
            ),
        }
    }
}
