//! The plain mode: questions and answers line by line, with what happens as sentences. A screen
//! reader can follow it, and it needs no more than a line of text.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use crate::event::{Advice as _, Ask, Hit, Outcome, Thread, harmless};
use crate::story::{Run, last_runs, turns, words};

use super::failure::{Exit, Stopped};
use super::folders::check_asked;
use super::text::{Detail, RunText};
use super::work::Work;

const HELP: &str = "\
Type a question and press enter. A question continues the conversation.
/source 2      prints the passage that [2] stands for
/preset NAME   asks the next questions under another preset
/new           begins a new conversation
/help          prints this
/quit          leaves, as ctrl-d does; ctrl-c stops an answer
";

/// The questions so far.
#[derive(Default)]
struct Conversation {
    runs: Vec<Run>,
    /// The preset of the next question, where another one was chosen.
    preset: Option<String>,
}

impl Conversation {
    fn thread(&self) -> Thread {
        Thread {
            id: self.runs.first().map(|run| run.id.clone()),
            turns: turns(last_runs(&self.runs)),
        }
    }

    /// Returns the passage with this number in the last answer.
    fn source(&self, number: &str) -> Option<&Hit> {
        let number: u32 = number.trim_matches(['[', ']']).parse().ok()?;
        let hits = self.runs.last()?.numbered_hits();
        let found = hits.into_iter().find(|(label, _)| *label == number);
        found.map(|(_, hit)| hit)
    }
}

impl Work<'_> {
    /// Answers questions from standard input about these folders, until it ends.
    pub fn converse(mut self, folders: &[PathBuf]) -> Result<Exit, Stopped> {
        let is_typed = io::stdin().is_terminal();
        if !folders.is_empty() {
            self.prepare(folders)?;
        }
        if is_typed {
            let documents = words::quantity(self.observer.documents(), "document");
            self.print(&format!(
                "Indexed: {documents}. /help lists what you can type.\n"
            ))?;
        }

        let mut conversation = Conversation::default();
        loop {
            if is_typed {
                self.print("\nquestion: ")?;
            }
            let mut line = String::new();
            self.interrupt.leave_at_once(true);
            let read = io::stdin().lock().read_line(&mut line)?;
            self.interrupt.leave_at_once(false);
            if read == 0 || !self.obey(line.trim(), folders, &mut conversation)? {
                return Ok(Exit::Done);
            }
        }
    }

    /// Does what a line says. Returns false when the user leaves.
    fn obey(
        &mut self,
        line: &str,
        folders: &[PathBuf],
        conversation: &mut Conversation,
    ) -> Result<bool, Stopped> {
        let Some(command) = line.strip_prefix('/') else {
            if !line.is_empty() {
                self.answer(line, folders, conversation)?;
            }
            return Ok(true);
        };

        let (name, value) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "source" => match conversation.source(value.trim()) {
                Some(hit) => {
                    let place = words::chunk_location(&hit.chunk);
                    self.print(&format!("{place}\n{}\n", hit.chunk.text))?;
                }
                None => self.print("The last answer has no passage with this number.\n")?,
            },
            "preset" => self.choose_preset(value.trim(), conversation)?,
            "new" => {
                conversation.runs.clear();
                self.print("A new conversation begins.\n")?;
            }
            "help" => self.print(HELP)?,
            "quit" | "exit" => return Ok(false),
            _ => self.print(&format!("/{name} is not known; /help lists what is.\n"))?,
        }

        Ok(true)
    }

    fn choose_preset(
        &mut self,
        name: &str,
        conversation: &mut Conversation,
    ) -> Result<(), Stopped> {
        let setting = ("preset".to_owned(), name.to_owned());
        let layers = self.layers.with(&[setting]);
        if let Err(error) = layers.and_then(|layers| layers.config()) {
            let advice = error.advice().unwrap_or_default();
            return self.print(&format!("{error}\n{advice}\n"));
        }
        conversation.preset = Some(name.to_owned());
        self.print(&format!(
            "The next question is asked under preset {name}.\n"
        ))
    }

    fn answer(
        &mut self,
        question: &str,
        folders: &[PathBuf],
        conversation: &mut Conversation,
    ) -> Result<(), Stopped> {
        if let Err(failure) = check_asked(folders, question) {
            self.observer.out.problem(&failure.problem);
            return Ok(());
        }

        self.interrupt.begin();
        if !folders.is_empty() {
            // what was saved since the last question is found by this one
            self.follow_change()?;
        }
        let preset = conversation.preset.iter();
        let asked = Ask {
            overrides: preset
                .map(|name| ("preset".to_owned(), name.clone()))
                .collect(),
            thread: conversation.thread(),
            ..Ask::new(question)
        };
        self.observer.show_as(RunText::new(Detail::Events));

        match self.ask_and_follow(&asked) {
            Ok((Outcome::Failed(problem), _)) => self.observer.out.problem(&problem),
            Ok((Outcome::Stopped, _)) | Err(Stopped::Interrupted) => {
                self.print("\nThe answer was stopped.\n")?;
            }
            Ok((Outcome::Completed | Outcome::LimitReached, run)) => conversation.runs.push(run),
            Err(Stopped::Failure(failure)) => self.observer.out.problem(&failure.problem),
            Err(closed @ Stopped::OutputClosed) => return Err(closed),
        }
        Ok(())
    }

    fn print(&mut self, text: &str) -> Result<(), Stopped> {
        Ok(self.observer.out.text(&harmless(text))?)
    }
}
