//! Threads: the runs that a question continues, their names, and their wordings.

use crate::config::FollowUpRewrite;
use crate::event::{Command, RunSummary, Thread};
use crate::story::{last_runs, turns};
use crate::tui::save;

use super::base::App;
use super::behind::Opening;

impl App {
    /// Returns the thread that a new question continues: that of the run on the screen, up to that
    /// run. A prepared question stands alone, and begins a thread.
    pub(super) fn continued_thread(&self, question: &str) -> Thread {
        let mut suggestions = self.ui.question.suggestions.iter();
        let is_prepared = suggestions.any(|suggestion| suggestion.question == question);
        if is_prepared || self.ui.work.begins_thread {
            Thread::default()
        } else {
            self.thread_of_run(1)
        }
    }

    /// Returns the thread of the run on the screen, with the turns before it and `more` from it on:
    /// none, to ask its question again. Over other folders a question begins a thread.
    pub(super) fn thread_of_run(&self, more: usize) -> Thread {
        let scene = self.scene();
        let Some(shown) = scene.run.filter(|_| !scene.is_over_other_folders()) else {
            return Thread::default();
        };

        let runs = scene.state.thread(shown.thread());
        let place = runs.iter().position(|run| run.id == shown.id);
        let end = place.map_or(0, |place| place + more);
        let before = last_runs(&runs[..end]);

        Thread {
            id: Some(shown.thread().to_owned()),
            turns: turns(before.iter().copied().filter(|run| {
                // the same question, asked again, does not follow from itself
                more > 0 || run.question != shown.question
            })),
        }
    }

    /// Has the next question begin a thread, or continue the present one again.
    pub(super) fn new_thread(&mut self) {
        if !self.has_engine() {
            return;
        }
        self.ui.work.begins_thread = !self.ui.work.begins_thread;
        if self.ui.work.begins_thread {
            self.ui.panes.focus_input();
            self.notify("the next question begins a new thread");
        } else {
            self.notify("the next question continues the thread");
        }
    }

    /// Has follow-up questions rewritten, or used as they are asked.
    pub(super) fn toggle_follow_ups(&mut self) {
        let (value, message) = match self.ui.next_run.config().thread.rewrite {
            FollowUpRewrite::Generator => ("off", "follow-up questions are used as they are asked"),
            FollowUpRewrite::Off => (
                "generator",
                "follow-up questions are rewritten to stand alone",
            ),
        };
        self.override_setting("thread.rewrite", value);
        self.notify(message);
    }

    /// Puts the wording that a follow-up question was given into the question line.
    pub(super) fn edit_wording(&mut self) {
        let follow_up = self.scene().run.and_then(|run| run.follow_up.as_ref());
        let wording = follow_up.map(|follow_up| follow_up.text.clone());
        match wording.filter(|wording| !wording.is_empty()) {
            None => self.refuse("this question was not rewritten"),
            Some(wording) => {
                if self.has_engine() {
                    self.ui.question.set(&wording);
                    self.ui.panes.focus_input();
                }
            }
        }
    }

    /// Opens the recorded runs of a thread that are not here, and shows the one at `chosen`.
    pub(super) fn open_thread(&mut self, mut runs: Vec<RunSummary>, chosen: usize) {
        // what is opened last is shown
        let chosen = runs.remove(chosen);
        runs.push(chosen.clone());
        runs.retain(|run| !self.state.runs.iter().any(|here| here.id == run.run));

        if runs.is_empty() {
            self.ui.work.turn = self.state.runs.iter().position(|run| run.id == chosen.run);
            self.overlay = None;
            self.ui.panes.reset_scrolls();
        }

        for run in runs {
            self.request_run(&run);
        }

        self.ui.work.begins_thread = false;
    }

    /// Opens the recorded runs of a thread, and plays the one at `chosen` when it is here.
    pub(super) fn play_thread(&mut self, runs: Vec<RunSummary>, chosen: usize) {
        if self.ui.work.is_running() {
            return self
                .refuse("a question is being answered: stop it, or wait, before you play a run");
        }

        let played = runs[chosen].clone();
        let is_here = self.state.runs.iter().any(|here| here.id == played.run);
        self.open_thread(runs, chosen);
        if is_here {
            self.request_run(&played);
        }
        self.opening = Some(Opening {
            run: played.run,
            records: Vec::new(),
        });
    }

    /// Requests the records of a recorded run.
    fn request_run(&mut self, run: &RunSummary) {
        self.ui.work.opened.push(run.run.clone());
        self.send(Command::OpenRun {
            file: run.file.clone().into(),
        });
    }

    /// Renames a thread.
    ///
    /// # Errors
    /// An empty name.
    pub(super) fn rename_thread(&mut self, thread: &str, name: &str) -> Result<(), String> {
        if name.is_empty() {
            return Err("a thread needs a name".to_owned());
        }
        self.send(Command::RenameThread {
            thread: thread.to_owned(),
            name: name.to_owned(),
        });
        Ok(())
    }

    pub(super) fn save_thread(&mut self) {
        let scene = self.scene();
        let Some(run) = scene.run else {
            return self.refuse("nothing has been asked yet");
        };
        let runs = scene.state.thread(run.thread());
        let first = runs.first().copied().unwrap_or(run);
        let name = format!("ragscope-thread-{}", save::name_run(first));
        let page = save::thread_markdown(&runs, &self.options.time_zone);
        self.write_new(&name, "md", page);
    }
}
