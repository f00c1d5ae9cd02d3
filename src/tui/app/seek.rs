//! Looking for a passage that should have been found.

use crate::event::Command;
use crate::tui::panes::Pane;

use super::{App, Field, Overlay, Purpose};

/// The settings that the lists of a query depend on.
const SETTINGS: [&str; 6] = [
    "retriever.pool",
    "retriever.fusion",
    "retriever.bm25_weight",
    "retriever.vector_weight",
    "retriever.rrf_k",
    "embedder.model",
];

impl App {
    /// Types words of a passage. The beginning of what is selected in Retrieval is offered.
    pub(in crate::tui) fn open_seek(&mut self) {
        if self.scene().run.is_none_or(|run| run.lookups.is_empty()) {
            self.tell("nothing was looked up in this run", true);
        } else if self.ui.player.is_some() {
            self.tell("a replay has no index to look into", true);
        } else if self.has_engine() {
            let marked = self.marked().unwrap_or_default();
            self.ui.field = Some(Field {
                purpose: Purpose::Passage,
                text: super::ask::typed(&marked),
            });
        }
    }

    fn marked(&self) -> Option<String> {
        let scene = self.scene();
        let hit = scene
            .selected_hit()
            .filter(|_| self.ui.pane == Pane::Retrieval)?;
        // a heading says little about the chunk below it
        let line = hit
            .chunk
            .text
            .lines()
            .find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
        Some(
            line.split_whitespace()
                .take(12)
                .collect::<Vec<_>>()
                .join(" "),
        )
    }

    /// Asks the index for the chunks that hold these words, and for their places in the lists of this run's queries.
    pub(super) fn seek(&mut self, phrase: &str) {
        let Some(run) = self.scene().run.filter(|_| !phrase.is_empty()) else {
            return;
        };
        let queries = run
            .lookups
            .iter()
            .map(|lookup| (lookup.step, lookup.query.clone()))
            .collect();
        // as the run that is shown looked it up
        let setting = |key: &&str| Some(((*key).to_owned(), run.setting(key)?));
        let overrides = SETTINGS.iter().filter_map(setting).collect();
        self.state.sought = None;
        self.send(Command::Seek {
            phrase: phrase.to_owned(),
            queries,
            overrides,
        });
        self.open(Overlay::Whereabouts);
    }

    /// Nothing comes of it: the log says why.
    pub(super) fn seek_failed(&mut self) {
        if matches!(self.ui.overlay, Some((Overlay::Whereabouts, _))) {
            self.ui.overlay = None;
        }
    }
}
