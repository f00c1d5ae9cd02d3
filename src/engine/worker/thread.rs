//! The engine thread: it obeys commands, and works in the background between them.

use std::time::{Duration, Instant};

use crate::engine::error::RunError;
use crate::engine::stages::utility::FinishedRun;
use crate::event::{Advice, Command, Flow, Operation, Record, SessionEvent, is_stop};
use crate::index::{Collection, Search as _};

use super::background::{BackgroundTasks, Overrides, Task};
use super::inbox::{Inbox, Next};
use super::operations::Worker;
use super::stamp::Publish;

/// Time that the first question about a folder waits for its words.
const FIRST_READING: Duration = Duration::from_secs(2);

impl Worker {
    /// Serves commands until the sender is gone. Background tasks yield to a command within one
    /// batch.
    pub fn serve(&mut self, commands: &Inbox, publish: Publish<'_>) {
        let mut tasks = BackgroundTasks::from([(Task::Load, Overrides::new())]);
        loop {
            let next = if tasks.is_empty() {
                commands.wait()
            } else {
                commands.poll()
            };

            match next {
                Next::Command(command) => {
                    let had_none = self.has_no_vectors();
                    let follows = self.obey(command, publish);
                    // a question of the demo waited for what was pending
                    if had_none && !self.has_no_vectors() {
                        tasks.remove(&Task::Update);
                    }
                    tasks.extend(follows);
                    if self.index.is_none() {
                        tasks.retain(|task, _| *task == Task::Load);
                    }
                    commands.settle();
                }
                Next::Nothing => {
                    self.run_task(&mut tasks, commands, publish);
                    commands.settle();
                }
                Next::Gone => return,
            }
        }
    }

    fn has_no_vectors(&self) -> bool {
        self.index.as_ref().is_some_and(Collection::has_no_vectors)
    }

    /// Carries out one command and returns the background tasks that follow from it.
    fn obey(&mut self, command: Command, publish: Publish<'_>) -> BackgroundTasks {
        let operation = command.operation();
        self.carry_out(command, publish).unwrap_or_else(|error| {
            self.report_end(operation, &error, publish);
            BackgroundTasks::new()
        })
    }

    fn carry_out(
        &mut self,
        command: Command,
        publish: Publish<'_>,
    ) -> Result<BackgroundTasks, RunError> {
        let mut tasks = BackgroundTasks::new();

        match command {
            Command::Ask(asked) => {
                self.read_unread(publish);
                if !self.complete_demo(&asked.overrides, publish)? {
                    let operation = Operation::Ask;
                    self.emit(SessionEvent::OperationStopped { operation }, publish);
                    return Ok(tasks);
                }
                self.ask(&asked, publish)?;
                // the run used the links that there were; the rest of the corpus follows
                let overrides = asked.overrides;
                if self.index.is_some() && self.wants_links(&overrides).unwrap_or(false) {
                    tasks.insert(Task::Link, overrides);
                }
            }
            Command::Open { folders } => {
                self.index_overrides.clear();
                self.open(&folders, false, publish)?;
                tasks.insert(Task::Update, Overrides::new());
            }
            Command::Reindex { rebuild, overrides } => {
                self.index_overrides = overrides;
                self.reopen(rebuild, publish)?;
                tasks.insert(Task::Update, Overrides::new());
            }
            Command::Refresh => {
                tasks.insert(Task::Refresh, Overrides::new());
            }
            Command::OpenSource {
                document,
                first_line,
                last_line,
            } => self.open_source(&document, [first_line, last_line], publish)?,
            Command::Search { query, overrides } => {
                let retrieval = self.search(&query, &overrides, publish)?;
                self.emit(SessionEvent::Searched { retrieval }, publish);
            }
            Command::SuggestQuestions => {
                let questions = self.example_questions()?;
                self.emit(SessionEvent::QuestionsSuggested { questions }, publish);
            }
            Command::MeasureUtility {
                run,
                question,
                hits,
                own,
                overrides,
            } => {
                let finished = FinishedRun {
                    run: &run,
                    question: &question,
                    hits: &hits,
                    own: &own,
                };
                self.measure_utility(&finished, &overrides, publish)?;
            }
            Command::TracePassage {
                phrase,
                queries,
                overrides,
            } => {
                self.trace_passage(&phrase, &queries, &overrides, publish)?;
            }
            Command::Try(asked) => self.try_change(&asked, publish)?,
            Command::SearchOtherFiles { phrase } => {
                self.search_other_files(&phrase, publish)?;
            }
            Command::LoadModels { overrides } => {
                self.load(&overrides, publish)?;
            }
            // the front end answers these itself: it keeps the recorded runs and downloads models
            Command::ListSessions
            | Command::OpenRun { .. }
            | Command::RenameThread { .. }
            | Command::ListModels
            | Command::PullModel { .. }
            | Command::StopPull => {}
        }

        Ok(tasks)
    }

    /// Reads the words of a folder that was never read, as far as a question can wait: it may be
    /// asked while the models are loading, and would find nothing.
    fn read_unread(&mut self, publish: Publish<'_>) {
        let index = self.index.as_ref();
        if index.is_none_or(|index| index.card().is_indexed()) {
            return;
        }
        let deadline = Instant::now() + FIRST_READING;
        // a failure is reported by the task, which is still pending
        let _ = self.update_words(&mut |record| {
            Flow::stop_if(publish(record) == Flow::Stop || Instant::now() >= deadline)
        });
    }

    /// Computes the vectors of the demo before a question that searches with them: its questions
    /// show what vectors find, and it takes some seconds. Over other folders words alone do.
    /// Returns `false` when it was interrupted.
    fn complete_demo(
        &mut self,
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<bool, RunError> {
        let config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_ref();
        let is_demo = index.is_some_and(|index| index.card().demo) && self.has_no_vectors();
        if !is_demo || !config.retriever.kind.has_vectors() {
            return Ok(true);
        }
        Ok(self.update_words(publish)? && self.update(publish)?.is_some())
    }

    /// Carries out the background task with the highest priority.
    fn run_task(&mut self, tasks: &mut BackgroundTasks, commands: &Inbox, publish: Publish<'_>) {
        let Some((task, overrides)) = tasks.pop_first() else {
            return;
        };
        if task == Task::Update {
            // it compares the folder, too
            tasks.remove(&Task::Refresh);
        }
        let mut publish =
            |record: Record| Flow::stop_if(publish(record) == Flow::Stop || commands.is_waiting());

        let operation = task.operation();
        let done = match task {
            Task::Load => self.load(&[], &mut publish),
            Task::Update => match self.update_words(&mut publish) {
                Ok(true) => self.update(&mut publish).map(|report| report.is_some()),
                interrupted => interrupted,
            },
            Task::Refresh => self.refresh(&mut publish),
            Task::Link => {
                let linked = self.link(&overrides, false, &mut publish);
                linked.map(|report| report.is_some())
            }
        };
        match done {
            Err(error) => self.report_failure(operation, &error, &mut publish),
            Ok(false) if commands.is_waiting() => {
                tasks.insert(task, overrides);
            }
            // a stop without a command is the user's: the rest waits until it is asked for again
            Ok(false) => self.emit(SessionEvent::OperationStopped { operation }, &mut publish),
            Ok(true) => {
                // new chunks have no links yet
                if operation == Operation::Index && self.wants_links(&[]).unwrap_or(false) {
                    tasks.insert(Task::Link, Overrides::new());
                }
            }
        }
    }

    /// Emits that an operation was stopped by the user, or failed.
    fn report_end(&mut self, operation: Operation, error: &RunError, publish: Publish<'_>) {
        if is_stop(error) {
            self.emit(SessionEvent::OperationStopped { operation }, publish);
        } else {
            self.report_failure(operation, error, publish);
        }
    }

    fn report_failure(&mut self, operation: Operation, error: &RunError, publish: Publish<'_>) {
        let problem = error.to_problem();
        self.emit(
            SessionEvent::OperationFailed { operation, problem },
            publish,
        );
    }
}
