//! `ask`: answers one question over folders.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{FirstAnswer, RetrieverKind};
use crate::event::{Ask, Event, Outcome, RunEvent, Thread};

use super::failure::{Exit, Stopped};
use super::folders::check_asked;
use super::text::RunText;
use super::threads::NamedThread;
use super::work::Work;

/// Time that a question at a terminal waits for the vectors of a new folder.
const PATIENCE: Duration = Duration::from_secs(2);

/// A question for `ask`.
pub struct AskedQuestion<'a> {
    pub folders: &'a [PathBuf],
    pub text: &'a str,
    /// The thread that it continues or begins, where one is named.
    pub thread: Option<NamedThread>,
    /// Prints the run when there is no `--json`.
    pub shown: RunText,
}

impl Work<'_> {
    /// Updates the index, then answers one question.
    pub fn ask(mut self, question: AskedQuestion<'_>) -> Result<Exit, Stopped> {
        if question.text.trim().is_empty() {
            let advice = "pass it in quotes after the folder";
            return Err(Stopped::usage("the question is empty", advice));
        }

        check_asked(question.folders, question.text)?;
        self.run(|worker, publish| worker.check_question(question.text, publish))?;
        let config = self.layers.config()?;

        if config.retriever.kind != RetrieverKind::Off {
            let patience = match config.index.first_answer {
                FirstAnswer::Words => Some(Duration::ZERO),
                FirstAnswer::Auto => Some(PATIENCE).filter(|_| self.observer.out.is_terminal()),
                FirstAnswer::Vectors => None,
            };
            self.prepare_within(question.folders, patience)?;
        }

        self.observer.show_as(question.shown);
        let outcome = self.ask_in_thread(question.text, question.thread.as_ref())?;
        self.observer.show_recording()?;

        match outcome {
            Outcome::Completed | Outcome::LimitReached => Ok(Exit::Done),
            Outcome::Stopped => Ok(Exit::Interrupted),
            // the last record holds the error
            Outcome::Failed { .. } if self.observer.out.json => Ok(Exit::Failed),
            Outcome::Failed(problem) => Err(problem.into()),
        }
    }

    /// Asks a question that continues or begins a thread.
    fn ask_in_thread(
        &mut self,
        question: &str,
        thread: Option<&NamedThread>,
    ) -> Result<Outcome, Stopped> {
        let asked = Ask {
            thread: thread.map_or_else(Thread::default, |thread| thread.continued.clone()),
            ..Ask::new(question)
        };

        let new = thread.filter(|thread| thread.continued.id.is_none());
        let mut named = Ok(());

        let outcome = self.run(|worker, publish| {
            worker.ask(&asked, &mut |record| {
                if let Event::Run(RunEvent::RunStarted { .. }) = &record.event {
                    named = new.map_or(Ok(()), |thread| thread.begin(&record.run));
                }
                publish(record)
            })
        });

        if let Err(error) = named {
            let text = format!("the thread has no name: {error}");
            self.observer.out.warning(&text, error.advice.as_deref());
        }

        outcome
    }
}
