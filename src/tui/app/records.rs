//! The reaction to records of the engine.

use crate::event::{Event, IndexReport, Operation, Record, RunEvent, SessionEvent};
use crate::story::words;
use crate::tui::keys::Action;
use crate::tui::view::Reaction;

use super::base::App;

impl App {
    /// Handles a record of the engine. While a run is played from the list, it waits for the end of
    /// that.
    pub fn apply(&mut self, record: &Record) {
        if let Some(behind) = &mut self.behind {
            behind.waiting.push(record.clone());
        } else if self.is_paced(record) {
            self.pace.push(record);
            self.take_due();
        } else {
            self.take_in(record);
        }
    }

    fn take_in(&mut self, record: &Record) {
        self.fold(record);
        self.collect(record);
    }

    /// Returns whether a record waits until its stage is shown: those of a run of the demo.
    fn is_paced(&self, record: &Record) -> bool {
        let corpus = self.state.corpus.as_ref();
        let is_demo = corpus.is_some_and(|known| known.demo) && self.ui.player.is_none();
        let is_run = matches!(record.event, Event::Run(_));
        self.pace.is_waiting() || is_demo && is_run && !self.ui.work.is_hurried
    }

    /// Takes in the records that are due.
    pub(super) fn take_due(&mut self) {
        while let Some(record) = self.pace.next(self.ui.clock) {
            let before = self.count_stages(&record.run);
            self.take_in(&record);
            if before > 0 && self.count_stages(&record.run) > before {
                self.pace.show_stage(self.ui.clock);
            }
        }
    }

    /// Takes in all records that wait: the user is ahead of them.
    pub(super) fn hurry(&mut self) {
        self.ui.work.is_hurried = true;
        for record in self.pace.take_all() {
            self.take_in(&record);
        }
    }

    fn count_stages(&self, run: &str) -> usize {
        let mut runs = self.state.runs.iter().rev();
        let run = runs.find(|known| known.id == run);
        run.map_or(0, |run| run.stages.len())
    }

    /// Folds a record, of the engine or of a recorded run.
    pub(super) fn fold(&mut self, record: &Record) {
        let stages = self.count_stages(&record.run);
        self.state.apply(record);
        if self.count_stages(&record.run) > stages {
            self.ui.work.stage_since = Some(self.ui.clock);
        }
        self.changed |= self.frozen.is_none();

        match &record.event {
            Event::Run(RunEvent::RunStarted { .. }) => self.run_appeared(&record.run),
            Event::Run(RunEvent::RunFinished { .. }) => self.run_ended(&record.run),
            Event::Session(SessionEvent::UtilityMeasured { .. }) => self.ui.work.measuring = None,
            Event::Session(SessionEvent::ModelPulled { model }) => self.model_pulled(model),
            Event::Session(SessionEvent::IndexFinished { report }) => self.folder_changed(report),
            Event::Session(SessionEvent::SourceOpened { source }) => self.edit_opened(source),
            Event::Session(SessionEvent::OperationFailed { operation, .. }) => {
                self.operation_failed(*operation);
            }
            Event::Session(SessionEvent::OperationStopped { operation }) => {
                self.operation_stopped(*operation);
            }
            Event::Run(RunEvent::Warned { .. }) | Event::Session(SessionEvent::Warned { .. }) => {
                self.show_last_entry();
            }
            Event::Session(SessionEvent::Searched { retrieval }) => self.filter_counted(retrieval),
            Event::Session(SessionEvent::ModelsListed { .. }) => self.use_awaited_model(),
            Event::Session(SessionEvent::ModelLoaded { .. }) => self.look_for_a_model(),
            Event::Session(SessionEvent::CorpusOpened { corpus }) => {
                self.ui.work.is_opening = false;
                self.look_for_a_model();
                self.look_for_questions(corpus);
            }
            Event::Session(SessionEvent::QuestionsSuggested { questions }) => {
                self.suggest(questions);
            }
            _ => {}
        }
        self.leave_empty_stop();
        self.trials_receive(&record.event);
        self.overlay_receives(&record.event);
    }

    fn overlay_receives(&mut self, event: &Event) {
        let Some(open) = &mut self.overlay else {
            return;
        };
        match open.receive(event, &self.state) {
            Reaction::Nothing | Reaction::Redraw => {}
            Reaction::SelectFirst => self.select_first(),
            Reaction::Close => self.overlay = None,
        }
    }

    fn run_appeared(&mut self, run: &str) {
        let work = &mut self.ui.work;
        let is_recorded =
            self.ui.player.is_some() || work.opened.iter().any(|opened| opened == run);
        if !is_recorded {
            work.pending = None;
            work.live = Some(run.to_owned());
            // the time of what it waited for is not its own
            work.since = None;
        }
        work.turn = None;
        self.ui.panes.reset_scrolls();
        if !is_recorded {
            self.tour_question_asked();
        }
    }

    /// Says that a folder is ready for questions, or what an update of it changed.
    fn folder_changed(&mut self, report: &IndexReport) {
        let is_asked = std::mem::take(&mut self.ui.work.is_indexing_asked);
        let change = words::index_change(report);
        let is_first = report.unchanged == 0 && report.changed == 0 && report.removed == 0;

        let again = self.scene().keys_from_here(Action::Again);
        let asks_again = match self.scene().run {
            Some(run) if run.lacks_documents() || run.is_by_words_alone() => {
                format!(" · {again} asks again")
            }
            _ => String::new(),
        };

        let ready = || format!("{}{asks_again}", words::index_ready(report));
        match change {
            _ if report.corpus.documents == 0 => {
                let shows = self.scene().keys_from_here(Action::IndexReport);
                self.notify(format!("nothing to read in this folder: {shows} says why"));
            }
            Some(_) if is_first => self.notify(ready()),
            Some(change) => self.notify(format!("{change}{asks_again}")),
            None if report.embedded > 0 => self.notify(ready()),
            None if is_asked => {
                let files = words::quantity(report.corpus.documents, "file");
                self.notify(format!("up to date: {files}, nothing changed"));
            }
            None => {}
        }
    }

    fn run_ended(&mut self, run: &str) {
        if self.ui.work.live.as_deref() == Some(run) {
            self.ui.work.live = None;
            // messages about it while it ran are out of date
            self.ui.notice = self.ui.notice.take().filter(|notice| notice.failed);
        }
    }

    fn operation_stopped(&mut self, operation: Operation) {
        self.operation_ended(operation);
        // the user stopped it, and so has seen it
        if self.ui.seen_entries + 1 == self.state.log.len() {
            self.ui.seen_entries += 1;
        }
        let continues = if operation == Operation::Index {
            let update = self.scene().keys_from_here(Action::Reindex);
            format!("; {update} continues it")
        } else {
            String::new()
        };
        let stopped = words::operation(operation);
        self.notify(format!("{stopped} was stopped{continues}"));
    }

    fn operation_failed(&mut self, operation: Operation) {
        self.operation_ended(operation);
        self.show_last_entry();
    }

    /// The screen no longer waits for the operation.
    fn operation_ended(&mut self, operation: Operation) {
        match operation {
            Operation::Open => self.ui.work.is_opening = false,
            Operation::Ask => self.ui.work.pending = None,
            Operation::OpenRun => self.opening = None,
            Operation::OpenSource => self.editing = None,
            Operation::MeasureUtility => self.ui.work.measuring = None,
            Operation::Engine => self.ui.work.clear(),
            // what shows their result waits for it
            _ => {}
        }
    }

    /// Shows the last entry of the log in the status line.
    fn show_last_entry(&mut self) {
        if let Some(entry) = self.state.log.last() {
            self.refuse(entry.problem.line());
        }
    }
}
