//! Measuring what the context of a finished run was worth.

use crate::event::{Command, Hit};
use crate::tui::overlays;
use crate::tui::viewport::Item;

use super::{App, Field, Overlay, Purpose};

impl App {
    /// Opens the measurement of the run; one that was not measured yet is measured now.
    pub(in crate::tui) fn open_utility(&mut self) {
        self.open(Overlay::Utility);
        let scene = self.scene();
        let wanted = scene
            .run
            .is_some_and(|run| run.utility.is_none() && overlays::why_not_measured(run).is_none());
        if wanted && self.ui.measuring.is_none() && self.has_engine() {
            self.measure(Vec::new());
        }
        self.select_first();
    }

    /// Types a right answer when the line is chosen that says what is measured toward.
    pub(super) fn choose_reference(&mut self, item: Item) {
        if item == overlays::REFERENCE && self.ui.measuring.is_none() && self.has_engine() {
            self.ui.field = Some(Field {
                purpose: Purpose::Reference,
                text: super::ask::typed(""),
            });
        }
    }

    /// Measures toward this answer; an empty one is the run's own.
    pub(super) fn measure_toward(&mut self, answer: &str) {
        let references = if answer.is_empty() {
            Vec::new()
        } else {
            vec![answer.to_owned()]
        };
        let references = toml::Value::from(references).to_string();
        self.measure(vec![("utility.references".to_owned(), references)]);
    }

    fn measure(&mut self, references: Vec<(String, String)>) {
        let Some(run) = self.scene().run else { return };
        let hits: Vec<Hit> = run.context_hits().into_iter().cloned().collect();
        let (id, question, own) = (run.id.clone(), run.question.clone(), run.answer.clone());
        let overrides = [self.ui.overrides.clone(), references].concat();
        self.ui.measuring = Some(id.clone());
        self.send(Command::MeasureUtility {
            run: id,
            question,
            hits,
            own,
            overrides,
        });
    }
}
