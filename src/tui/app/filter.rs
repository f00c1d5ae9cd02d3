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

    /// Limits the next runs to these documents; an empty filter lifts the limit. The quotation mark
    /// of a folder that was completed may be open.
    ///
    /// # Errors
    /// The reason that it is not a filter, for the user.
    pub(super) fn filter_documents(&mut self, typed: &str) -> Result<(), String> {
        let is_open = typed.matches('"').count() % 2 == 1;
        let close = if is_open { "\"" } else { "" };
        self.limit_to(&format!("{typed}{close}").parse::<DocumentFilter>()?);
        Ok(())
    }

    fn limit_to(&mut self, filter: &DocumentFilter) {
        let text = filter.to_string();
        let value = toml::Value::from(text.clone()).to_string();
        self.override_setting("retriever.filter", &value);

        if filter.is_empty() {
            let again = self.keymap.sign(Action::Again);
            self.notify(format!("all documents: {again} runs the question again"));
        } else {
            // the search counts the documents
            self.notify(format!("{filter}: counting the documents …"));
            self.send(Command::Search {
                query: self.shown_question().unwrap_or(text),
                overrides: self.ui.next_run.overrides.clone(),
            });
        }
    }

    /// Says how many documents the filter lets through. Where none has a word of it for its path,
    /// the word is looked for in their names.
    pub(super) fn filter_counted(&mut self, retrieval: &Retrieval) {
        let Some(filtered) = &retrieval.filter else {
            return;
        };
        let counted = words::filter(filtered);
        if filtered.documents > 0 {
            let again = self.scene().keys_from_here(Action::Again);
            return self.notify(format!("only {counted}; {again} runs the question again"));
        }
        match self.ui.next_run.config().retriever.filter.in_names() {
            Some(named) => self.limit_to(&named),
            None => {
                let others = self.scene().keys_from_here(Action::Filter);
                self.refuse(format!("only {counted}; {others} chooses others"));
            }
        }
    }
}
