//! Looking for a passage that should have been found.

use crate::event::Command;
use crate::tui::panes::Pane;

use super::{App, Field, Overlay, Purpose};

impl App {
    /// Types words of a passage. The beginning of what is selected in Retrieval is offered.
    pub(in crate::tui) fn open_seek(&mut self) {
        if self.scene().run.is_none_or(|run| run.lookups.is_empty()) {
            self.tell("nothing was looked up in this run", true);
        } else if self.ui.player.is_some() {
            self.tell("a replay has no index to look into", true);
        } else if self.has_engine() {
            let marked = self.marked().unwrap_or_default();
            self.ui.field = Some(Field { purpose: Purpose::Passage, text: super::ask::typed(&marked) });
        }
    }

    fn marked(&self) -> Option<String> {
        let item = self.ui.scroll(Pane::Retrieval).selected.filter(|_| self.ui.pane == Pane::Retrieval)?;
        let hit = self.scene().run?.lookups.get(item.row)?.hits().get(item.part.checked_sub(1)?)?;
        Some(hit.chunk.text.lines().next()?.split_whitespace().take(12).collect::<Vec<_>>().join(" "))
    }

    /// Asks the index for the chunks that hold these words, and for their places in the lists of this run's queries.
    pub(super) fn seek(&mut self, phrase: &str) {
        let Some(run) = self.scene().run.filter(|_| !phrase.is_empty()) else { return };
        let queries = run.lookups.iter().map(|lookup| (lookup.step, lookup.query.clone())).collect();
        let overrides = self.ui.overrides.clone();
        self.state.sought = None;
        self.send(Command::Seek { phrase: phrase.to_owned(), queries, overrides });
        self.open(Overlay::Whereabouts);
    }
}
