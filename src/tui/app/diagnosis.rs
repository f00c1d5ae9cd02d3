//! The diagnosis of the run on the screen.

use crate::event::Event;
use crate::letters;
use crate::story::Expected;
use crate::tui::diagnosing::{Diagnosing, End};
use crate::tui::overlays;
use crate::tui::ui::{Field, Purpose};

use super::base::App;
use super::effect::Effect;

impl App {
    /// Opens the input of what the answer should have been; the diagnosis of this run, where there
    /// is one.
    pub(super) fn open_diagnosis(&mut self) {
        let Some(run) = self.scene().run else {
            self.refuse("nothing has been asked yet");
            return;
        };

        let known = self.ui.work.diagnosing.as_ref();
        let is_known = known.is_some_and(|known| {
            known.run().id == run.id && matches!(known.end, None | Some(End::Finished))
        });
        if is_known {
            self.open_list(overlays::Diagnosis);
        } else if run.outcome.is_none() {
            self.refuse("the run is not finished yet");
        } else if self.has_engine() {
            match self.why_not_opened() {
                Some(reason) => self.refuse(reason),
                None => self.ui.field = Some(Field::new(Purpose::Expected, "")),
            }
        }
    }

    /// Finds where the run on the screen went wrong; without text, a passage is searched that
    /// answers its question.
    pub(super) fn diagnose(&mut self, expected: &str) {
        let expected =
            (!letters::normalise(expected).is_empty()).then(|| Expected::from_text(expected));
        let Some(run) = self.scene().run else {
            return;
        };

        let diagnosing = Diagnosing::new(run, expected);
        self.stop_measuring();
        self.ui.work.diagnosing = Some(Box::new(diagnosing));
        self.open(overlays::Diagnosis);
        self.continue_diagnosis();
    }

    fn continue_diagnosis(&mut self) {
        let diagnose = self.options.diagnose;
        let diagnosing = self.ui.work.diagnosing.as_mut();
        if let Some(command) = diagnosing.and_then(|known| known.next_command(diagnose)) {
            self.send(command);
        }
    }

    /// Passes an event of the engine to the diagnosis in progress.
    pub(super) fn diagnosis_receives(&mut self, event: &Event) {
        let diagnosing = self.ui.work.diagnosing.as_mut();
        if diagnosing.is_some_and(|diagnosing| diagnosing.receive(event)) {
            self.continue_diagnosis();
        }
    }

    pub(super) fn stop_diagnosis(&mut self) {
        self.effects.push(Effect::Stop);
        self.notify("stopping …");
    }
}
