//! Commands to the engine: questions, repeated runs, indexing, folders, measurements.

use crate::config::{RetrieverKind, UnderstandingKind};
use crate::event::{Ask, Command, CorpusCard, Hit, LeftOut, Outcome, Part};
use crate::story::{Origin, Run, Step};
use crate::tui::keys::Action;
use crate::tui::options::Suggestion;
use crate::tui::pane::Pane;
use crate::tui::ui::{Field, Purpose};
use crate::tui::viewport::Item;
use crate::tui::{overlays, text, waterfall};

use super::base::App;
use super::effect::Effect;

impl App {
    pub(super) fn ask(&mut self) {
        let question = self.ui.question.text.as_str().trim().to_owned();
        if question.is_empty() {
            if !self.take_offer() {
                self.refuse("type a question first");
            }
            return;
        }
        if !self.has_engine() {
            return;
        }
        if self.lacks_folder() {
            let open = self.scene().keys_from_here(Action::OpenFolder);
            return self.refuse(format!("no folder is open yet: {open} opens one"));
        }

        if self.ui.question.submit(&question) {
            self.effects.push(Effect::Remember {
                file: self.options.paths.history_file(),
                text: question.clone(),
            });
        }
        self.ui.panes.release();
        let thread = self.continued_thread(&question);
        self.put(Ask {
            question,
            thread,
            ..Ask::default()
        });
    }

    /// Returns whether the engine would refuse a question because no folder is open. What was typed
    /// stays in the line then, for the folder that is opened next.
    fn lacks_folder(&self) -> bool {
        let is_ready = self.state.generator().is_some() && !self.ui.work.is_opening;
        let needs_folder = self.ui.next_run.config().retriever.kind != RetrieverKind::Off;
        is_ready && needs_folder && self.state.corpus.is_none()
    }

    pub(super) fn again(&mut self) {
        if self.has_engine() && !self.ask_again(Vec::new(), Vec::new()) {
            self.refuse("nothing has been asked yet");
        }
    }

    /// Asks the question again with the settings as they are now; the sentences before the selected
    /// one stay.
    pub(super) fn again_from(&mut self) {
        if !self.has_engine() {
            return;
        }

        let selected = match self.ui.panes.focused {
            Pane::Uncertainty => [Pane::Uncertainty, Pane::Answer],
            _ => [Pane::Answer, Pane::Uncertainty],
        }
        .into_iter()
        .find_map(|pane| self.ui.scroll(pane).selected);
        let Some((run, selected)) = self.scene().run.zip(selected) else {
            return self.refuse("select the sentence to start from, in Answer or Uncertainty");
        };

        let confirmed = first_sentences(run, selected.row);
        self.ask_again(confirmed, Vec::new());
    }

    /// Continues the answer of the run on the screen where a limit cut it off.
    pub(super) fn continue_answer(&mut self) {
        let run = self.scene().run;
        let Some(run) = run.filter(|run| run.outcome == Some(Outcome::LimitReached)) else {
            return self.refuse("no limit cut this answer off");
        };

        let confirmed = first_sentences(run, whole_sentences(run));
        let preset = ("preset".to_owned(), run.preset.clone());
        self.ask_again(confirmed, vec![preset]);
    }

    /// Asks the question of the shown run again, under its preset, and measures in this run alone
    /// whether the model understands the context.
    pub(super) fn measure_context(&mut self) {
        let Some(run) = self.scene().run else {
            return self.refuse("nothing has been asked yet");
        };
        let is_measured = run.settings.understanding.kind != UnderstandingKind::Off;
        if is_measured && run.outcome != Some(Outcome::Stopped) {
            return self.refuse("this run measured its context: see Refinement");
        }

        self.repeat_with("understanding.kind", "dense", Pane::Refinement);
    }

    /// Asks the question of the shown run again, under its preset, with a setting for this run
    /// alone, and shows the pane of that.
    fn repeat_with(&mut self, key: &str, value: &str, pane: Pane) {
        let Some(run) = self.scene().run else { return };
        let settings = [("preset", run.preset.as_str()), (key, value)];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        if self.ask_again(Vec::new(), settings.to_vec()) {
            self.focus(pane);
        }
    }

    /// Reads the attention to each chunk from the next run on, which is the question of the shown
    /// run. Where that read it, leaves out each chunk in turn, once.
    pub(super) fn read_attention(&mut self) {
        let Some(run) = self.scene().run else {
            return self.refuse("nothing has been asked yet");
        };

        if run.is_ablated() {
            return self.refuse("this run left out each chunk: see Links");
        }

        if run.reads_attention() {
            self.repeat_with("answer.attribution", "causal", Pane::Links);
        } else if self.has_engine() {
            self.ui.next_run.set("answer.attribution", "on");
            self.again();
            self.focus(Pane::Links);
        }
    }

    /// Asks the question of the shown run with these settings, and compares.
    pub(super) fn ask_with(&mut self, settings: Vec<(String, String)>) {
        if self.ask_again(Vec::new(), settings) {
            self.open(overlays::Comparison);
        }
    }

    pub(super) fn shown_question(&self) -> Option<String> {
        self.scene().run.map(|run| run.question.clone())
    }

    /// Asks the question of the shown run again, in its thread: after these sentences, with these
    /// settings. Returns whether there are a run and an engine.
    fn ask_again(&mut self, confirmed: Vec<String>, overrides: Vec<(String, String)>) -> bool {
        let Some(question) = self.shown_question().filter(|_| self.has_engine()) else {
            return false;
        };
        let thread = self.thread_of_run(0);
        self.put(Ask {
            question,
            confirmed,
            overrides,
            thread,
        });
        true
    }

    /// Sends a question to the engine with the settings changed on the screen; it replaces one that
    /// is being answered.
    fn put(&mut self, asked: Ask) {
        if self.ui.work.is_running() {
            self.effects.push(Effect::Stop);
        }
        self.ui.work.is_quitting = false;
        self.ui.work.is_hurried = false;
        let is_repeated = self.shown_question().as_ref() == Some(&asked.question);
        self.frozen = None;
        self.overlay = None;
        self.ui.work.turn = None;
        self.ui.work.since = None;
        self.ui.work.begins_thread = false;
        if is_repeated {
            self.ui.panes.reset_scrolls_but_hit();
        } else {
            self.ui.panes.reset_scrolls();
        }

        self.ui.work.pending = Some(text::many_lines(&asked.question));
        let overrides = [self.ui.next_run.overrides.clone(), asked.overrides].concat();
        self.send(Command::Ask(Ask { overrides, ..asked }));
    }

    /// Focuses the question line, which takes a selected suggestion.
    pub(super) fn focus_input(&mut self) {
        self.act(Action::FocusInput);
        if self.has_engine() {
            self.ui.panes.focus_input();
        }
    }

    /// Runs what the selected stage had no time for, or opens the source of the selected row;
    /// without one it focuses the question line.
    pub(super) fn open_selected(&mut self) {
        if self.is_late_stage_selected() {
            let pane = self.ui.panes.focused;
            return self.repeat_with("stages.budget_seconds", "0", pane);
        }
        let is_selected = self.ui.scroll(self.ui.panes.focused).selected.is_some();
        match self.request(Action::OpenSource).filter(|_| is_selected) {
            Some(request) => self.perform(request),
            None if self.take_offer() || self.run_skipped() => {}
            None => self.focus_input(),
        }
    }

    fn is_late_stage_selected(&self) -> bool {
        let scene = self.scene();
        let stage = scene.settled_run().zip(self.ui.panes.stage);
        stage.is_some_and(|(run, at)| waterfall::can_run_now(&scene, run, at))
    }

    /// Asks the question again without a limit of time, where that kept the stage of the focused
    /// pane from running. Returns whether it did.
    fn run_skipped(&mut self) -> bool {
        let pane = self.ui.panes.focused;
        let parts: &[Part] = match pane {
            Pane::Links => &[Part::Linker],
            Pane::Refinement => &[Part::Understanding, Part::Refiner],
            Pane::Answer | Pane::Uncertainty | Pane::Retrieval => &[],
        };
        let run = self.scene().run;
        let lacked_time = run.is_some_and(|run| {
            let mut reasons = parts.iter().filter_map(|part| run.left_out(*part));
            reasons.any(|reason| matches!(reason, LeftOut::NoTime { .. }))
        });

        if lacked_time {
            self.repeat_with("stages.budget_seconds", "0", pane);
        }
        lacked_time
    }

    /// Puts a suggested question into the question line, and its preset into the next run.
    pub(super) fn take_suggestion(&mut self, number: usize) {
        let Some(suggestion) = self.ui.question.suggestions.get(number).cloned() else {
            return;
        };

        self.ui.question.set(&suggestion.question);
        let now = &self.ui.next_run.config().preset;
        if let Some(preset) = suggestion.preset.filter(|preset| preset != now) {
            self.override_setting("preset", &preset);
        }
        if self.scene().offers_questions() {
            self.ui.panes.scroll_mut(Pane::Answer).selected = Some(Item::new(number, 0));
        }
        if !suggestion.shows.is_empty() {
            self.notify(suggestion.shows);
        }
    }

    /// Returns the words of an empty question line after a prepared question: the next one and its
    /// key.
    pub(super) fn offered_question(&self) -> String {
        if self.ui.work.begins_thread {
            return "the first question of a new thread".to_owned();
        }
        let is_answered = self.scene().run.is_some();
        let next = self.next_suggestion().filter(|_| is_answered);
        next.map_or_else(String::new, |next| {
            let down = self.scene().keymap.sign(Action::HistoryForward);
            format!("{down} {}", self.ui.question.suggestions[next].question)
        })
    }

    /// Returns the suggestion after the one in the question line; `None` when the line contains
    /// something else.
    fn next_suggestion(&self) -> Option<usize> {
        let is_asked = self.scene().run.is_some();
        // of own documents people know more than headings once they ask
        if self.ui.player.is_some() || (is_asked && !self.ui.question.has_prepared()) {
            return None;
        }

        let typed = self.ui.question.text.as_str();
        let suggestions = &self.ui.question.suggestions;
        let place_of = |question: &str| {
            let mut suggestions = suggestions.iter();
            suggestions.position(|known| known.question == question)
        };

        let asked = self.scene().run.map(|run| run.question.as_str());
        let last = if typed.is_empty() {
            asked.and_then(place_of)
        } else {
            Some(place_of(typed)?)
        };

        let next = last.map_or(0, |last| (last + 1) % suggestions.len().max(1));
        (next < suggestions.len()).then_some(next)
    }

    /// Asks for questions about a corpus that was opened, unless there are prepared ones.
    pub(super) fn look_for_questions(&mut self, corpus: &CorpusCard) {
        let question = &mut self.ui.question;
        if question.has_prepared() || question.suggested_for == corpus.arguments() {
            return;
        }
        question.suggestions.clear();
        question.suggested_for.clear();
        if corpus.documents > 0 && self.has_engine() {
            self.ui.question.suggested_for = corpus.arguments();
            self.send(Command::SuggestQuestions);
        }
    }

    pub(super) fn suggest(&mut self, questions: &[String]) {
        let suggested = questions.iter().map(|question| Suggestion {
            question: text::one_line(question),
            preset: None,
            shows: String::new(),
        });
        self.ui.question.suggestions = suggested.collect();
    }

    pub(super) fn history_back(&mut self) {
        if !self.choose_offer(-1) {
            self.ui.question.back();
        }
    }

    /// Down in the text and the history; in an empty line, to the next suggestion or offer.
    pub(super) fn history_forward(&mut self) {
        if self.choose_offer(1) {
            return;
        }
        match self.next_suggestion() {
            Some(next) if !self.ui.question.is_recalled() => self.take_suggestion(next),
            _ => self.ui.question.forward(),
        }
    }

    pub(super) fn go_to_run(&mut self, by: isize, at_end: &str) {
        let shown = self.shown_state();
        let order = shown.order();
        let at = self.ui.work.turn.or(shown.latest);
        let Some(place) = at.and_then(|at| order.iter().position(|known| *known == at)) else {
            return self.refuse("nothing has been asked yet");
        };

        let to = place.saturating_add_signed(by).min(order.len() - 1);
        if to == place {
            return self.notify(at_end);
        }
        self.ui.work.turn = Some(order[to]);
        self.ui.panes.reset_scrolls();
    }

    /// Updates the index of the folder, or rebuilds it.
    pub(super) fn index_folder(&mut self, rebuild: bool, message: &str) {
        if self.has_engine() {
            self.ui.next_run.note_indexing();
            self.ui.work.is_indexing_asked = true;
            self.send(Command::Reindex {
                rebuild,
                overrides: self.ui.next_run.overrides.clone(),
            });
            self.notify(message);
        }
    }

    /// Opens the measurement of the run, and starts it if there is none and it is quick.
    pub(super) fn open_utility(&mut self) {
        self.open(overlays::Utility);

        let is_wanted = self.scene().run.is_some_and(|run| {
            run.utility().is_none() && overlays::why_not_measured(run).is_none()
        });
        let is_long = overlays::long_measurements(&self.scene()).is_some();
        if is_wanted && !is_long && self.ui.work.measuring.is_none() && self.has_engine() {
            self.measure(Vec::new());
        }
        self.select_first();
    }

    /// Measures with this many samples of each context.
    pub(super) fn measure_with(&mut self, samples: u32) {
        if self.has_engine() {
            self.measure(vec![("utility.samples".to_owned(), samples.to_string())]);
        }
    }

    /// Opens the input of a reference answer.
    pub(super) fn type_reference(&mut self) {
        if self.ui.work.measuring.is_none() && self.has_engine() {
            self.ui.field = Some(Field::new(Purpose::Reference, ""));
        }
    }

    /// Measures against this answer; without text, against the run's own answer.
    pub(super) fn measure_against(&mut self, answer: &str) {
        let references = Some(answer).filter(|answer| !answer.is_empty());
        let references = toml::Value::from(Vec::from_iter(references)).to_string();
        let mut overrides = vec![("utility.references".to_owned(), references)];
        // as many samples as before, whose cost was read
        let scene = self.scene();
        let known = scene.run.and_then(|run| run.utility()?.beliefs.first());
        if let Some(belief) = known {
            let samples = belief.samples.len().to_string();
            overrides.push(("utility.samples".to_owned(), samples));
        }
        self.measure(overrides);
    }

    fn measure(&mut self, references: Vec<(String, String)>) {
        let Some(run) = self.scene().run else { return };
        let hits: Vec<Hit> = run.context_hits().into_iter().cloned().collect();
        let command = Command::MeasureUtility {
            run: run.id.clone(),
            question: run.standalone().to_owned(),
            hits,
            own: run.answer.clone(),
            overrides: [self.ui.next_run.overrides.clone(), references].concat(),
        };
        let id = run.id.clone();
        self.state.begin_measurement(&id);
        self.ui.work.measuring = Some(id);
        self.send(command);
    }
}

/// Returns the first sentences of a run as the model wrote them, with the white space behind them.
fn first_sentences(run: &Run, count: usize) -> Vec<String> {
    let steps = run.steps.iter().enumerate().take(count);
    let written = steps.map(|(at, step)| {
        let text = step.raw_text();
        format!("{}{}", text.trim_end(), run.space_before(at + 1))
    });
    written.collect()
}

/// Returns the number of sentences of a run without the last, where a limit cut it off and there is
/// another one that this run wrote: it is written again as a whole.
fn whole_sentences(run: &Run) -> usize {
    let is_cut = |step: &Step| {
        let text = &step.text;
        text.ends_with(|c: char| c.is_alphanumeric() || c == ',')
    };
    let steps = run.steps.iter();
    let written = steps.filter(|step| step.origin == Origin::Generated);
    let is_continued = run.steps.last().is_some_and(is_cut) && written.count() > 1;
    run.steps.len() - usize::from(is_continued)
}
