//! Pinning hits to the context and excluding them from it, for the runs to come.

use crate::config::{Part, Place};
use crate::tui::keys::Action;
use crate::tui::panes::{self, Pane};

use super::App;

impl App {
    /// Into every context, found or not; or no longer.
    pub(in crate::tui) fn pin(&mut self) {
        self.toggle("retriever.pinned", ("pinned", "no longer pinned"));
    }

    /// Into no context, found or not; or no longer kept out.
    pub(in crate::tui) fn exclude(&mut self) {
        self.toggle("retriever.excluded", ("excluded", "no longer excluded"));
    }

    /// Takes the place of the selected hit into a list of places or out of it.
    fn toggle(&mut self, key: &str, (taken_in, taken_out): (&str, &str)) {
        let scene = self.scene();
        let Some(chunk) = scene
            .selected_hit()
            .filter(|_| self.ui.pane == Pane::Retrieval)
            .map(|hit| &hit.chunk)
        else {
            self.tell("select a hit in Retrieval", true);
            return;
        };
        let place = Place {
            document: chunk.document.clone(),
            part: Part::Bytes(chunk.bytes),
        };
        let shown = panes::place(&chunk.document, chunk.lines[0], chunk.lines[1]);
        let mut places = self.ui.next_places(key);
        let before = places.len();
        places.retain(|known| !known.names(chunk));
        let said = if places.len() < before {
            taken_out
        } else {
            places.push(place);
            taken_in
        };
        let names: Vec<String> = places.iter().map(Place::to_string).collect();
        self.override_setting(key, &toml::Value::from(names).to_string());
        let again = self.keymap.sign(Action::Again);
        self.tell(
            format!("{said}: {shown}; {again} runs the question again"),
            false,
        );
    }
}
