//! The filter of documents: typed, and counted by a search.

use crate::config::DocumentFilter;
use crate::event::{Command, Retrieval};
use crate::story::words;
use crate::tui::keys::Action;
use crate::tui::ui::{Field, Purpose};

use super::base::App;

impl App {
    /// Opens the input of the filter of documents, filled with the one in force.
    pub(super) fn type_filter(&mut self) {
        if self.has_engine() {
            let filter = self.ui.next_run.config().retriever.filter;
            self.ui.field = Some(Field::new(Purpose::Filter, &filter.to_string()));
        }
    }

    /// Limits the next runs to these documents; an empty filter lifts the limit.
    ///
    /// # Errors
    /// The reason that it is not a filter, for the user.
    pub(super) fn filter_documents(&mut self, typed: &str) -> Result<(), String> {
        let filter = typed.parse::<DocumentFilter>()?;
        let text = filter.to_string();
        self.override_setting("retriever.filter", &toml::Value::from(text).to_string());

        if filter.is_empty() {
            let again = self.keymap.sign(Action::Again);
            self.notify(format!("all documents: {again} runs the question again"));
        } else {
            // the search counts the documents
            self.notify(format!("{filter}: counting the documents …"));
            self.send(Command::Search {
                query: self.shown_question().unwrap_or_else(|| typed.to_owned()),
                overrides: self.ui.next_run.overrides.clone(),
            });
        }
        Ok(())
    }

    /// Says how many documents the filter lets through.
    pub(super) fn filter_counted(&mut self, retrieval: &Retrieval) {
        if let Some(filtered) = &retrieval.filter {
            let counted = words::filter(filtered);
            let again = self.scene().keys_from_here(Action::Again);
            self.notify(format!("only {counted}; {again} runs the question again"));
        }
    }
}
