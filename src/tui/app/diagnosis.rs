//! Runs that try changes of the run on the screen: its diagnosis, and its variants.

use crate::config::Setting;
use crate::event::{Command, Event, SessionEvent};
use crate::letters;
use crate::story::{Expected, Run};
use crate::tui::diagnosing::Diagnosing;
use crate::tui::overlays;
use crate::tui::text;
use crate::tui::trial::End;
use crate::tui::ui::{Field, Purpose};
use crate::tui::variants::{MAX_CHOSEN, Variants, parse_settings};

use super::base::App;
use super::effect::Effect;

impl App {
    /// Opens the input of what the answer should have been; the diagnosis of this run, where there
    /// is one.
    pub(super) fn open_diagnosis(&mut self) {
        let known = self.ui.work.diagnosing.as_ref();
        let is_known = known.is_some_and(|known| self.is_tried(known.run(), known.end));
        if is_known {
            self.open_list(overlays::Diagnosis);
        } else if self.can_try() {
            self.ui.field = Some(Field::new(Purpose::Expected, ""));
        }
    }

    /// Opens the list of variants of the run on the screen, with those that were tried.
    pub(super) fn open_variants(&mut self) {
        let known = self.ui.work.variants.as_ref();
        let is_known = known.is_some_and(|known| self.is_tried(&known.run, known.end));
        if !is_known {
            if !self.can_try() {
                return;
            }
            let Some(mut variants) = self.scene().run.map(Variants::new) else {
                return;
            };
            match &self.state.model_list {
                Some(list) => variants.add_model(list),
                None => self.send(Command::ListModels),
            }
            self.ui.work.variants = Some(Box::new(variants));
        }
        self.open_list(overlays::Variants);
    }

    pub(super) fn toggle_variant(&mut self, at: usize) {
        let variants = self.ui.work.variants.as_mut();
        if variants.is_some_and(|variants| !variants.toggle(at)) {
            self.refuse(format!("{MAX_CHOSEN} at most: take another one back first"));
        }
    }

    /// Adds a variant with these settings to the list.
    ///
    /// # Errors
    /// A setting that a question cannot change, for the user.
    pub(super) fn add_variant(&mut self, typed: &str) -> Result<(), String> {
        let settings = parse_settings(typed)?;
        for (key, value) in &settings {
            // the settings of the run are stronger than those of any preset
            if key == "preset" {
                let error = "a variant has the preset of the run: settings choose another";
                return Err(error.to_owned());
            }
            self.check_setting(key, value)?;
            if let Some(later) = Setting::find(key).and_then(Setting::read_later) {
                return Err(format!("{key} is read {later}"));
            }
        }
        let variants = self.ui.work.variants.as_mut();
        match variants.filter(|_| !settings.is_empty()) {
            Some(variants) => variants.add_typed(&text::one_line(typed), settings),
            None => Ok(()),
        }
    }

    /// Tries the variants that are chosen, one after the other.
    pub(super) fn try_variants(&mut self) {
        if !self.can_try() {
            return;
        }
        if let Some(variants) = &mut self.ui.work.variants {
            variants.begin();
        }
        self.continue_variants();
        self.select_first();
    }

    /// Returns whether the trials of a run are those of the run on the screen, in progress or
    /// complete.
    fn is_tried(&self, run: &Run, end: Option<End>) -> bool {
        let is_shown = self.scene().run.is_some_and(|shown| shown.id == run.id);
        is_shown && matches!(end, None | Some(End::Finished))
    }

    /// Returns whether changes of the run on the screen can be tried; says why where they cannot.
    fn can_try(&mut self) -> bool {
        if !self.has_engine() {
            return false;
        }

        let reason = match self.scene().run {
            None => Some("nothing has been asked yet"),
            Some(run) if run.outcome.is_none() => Some("the run is not finished yet"),
            Some(_) if self.ui.work.is_running() => {
                Some("something else is running: stop it first")
            }
            Some(_) => self.why_not_opened(),
        };
        if let Some(reason) = reason {
            self.refuse(reason);
        }
        reason.is_none()
    }

    /// Finds where the run on the screen went wrong; without text, a passage is searched that
    /// answers its question.
    pub(super) fn diagnose(&mut self, expected: &str) {
        let Some(run) = self.scene().run else {
            return;
        };
        let is_empty = letters::normalise(expected).is_empty();
        let expected = (!is_empty).then(|| Expected::from_text(expected));
        let diagnosing = Diagnosing::new(run, expected);
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

    /// Passes an event of the engine to the trials in progress.
    pub(super) fn trials_receive(&mut self, event: &Event) {
        let diagnosing = self.ui.work.diagnosing.as_mut();
        if diagnosing.is_some_and(|diagnosing| diagnosing.receive(event)) {
            self.continue_diagnosis();
        }
        let variants = self.ui.work.variants.as_mut();
        if variants.is_some_and(|variants| variants.receive(event)) {
            self.continue_variants();
        }
        if let (Event::Session(SessionEvent::ModelsListed { .. }), Some(variants), Some(list)) =
            (event, &mut self.ui.work.variants, &self.state.model_list)
        {
            variants.add_model(list);
        }
    }

    fn continue_variants(&mut self) {
        let variants = self.ui.work.variants.as_mut();
        if let Some(command) = variants.and_then(|variants| variants.next_command()) {
            self.send(command);
        }
    }

    /// Stops what the engine does for the user.
    pub(super) fn stop(&mut self) {
        self.effects.push(Effect::Stop);
        self.notify("stopping …");
    }
}
