//! Runs of one question side by side.

use crate::tui::viewport::Item;

use super::{App, Overlay};

impl App {
    pub(in crate::tui) fn open_comparison(&mut self) {
        self.open(Overlay::Comparison);
    }

    /// Asks the question of the shown run under another preset, and keeps the comparison open.
    pub(super) fn ask_under(&mut self, item: Item) {
        let Some(preset) = self.ui.presets().nth(item.row).map(str::to_owned) else {
            return;
        };
        let Some(question) = self.scene().run.map(|run| run.question.clone()) else {
            return;
        };
        if self.has_engine() {
            self.put_with(question, Vec::new(), vec![("preset".to_owned(), preset)]);
            self.open_comparison();
        }
    }
}
