//! `diagnose`: where the answer to a question went wrong.

use std::path::PathBuf;

use crate::eval;
use crate::event::{Ask, OtherFiles, Outcome, TracedLookup};
use crate::letters;
use crate::story::{Expected, Inquiry, Run, Settings};

use super::failure::Stopped;
use super::work::Work;

impl Work<'_> {
    /// Asks a question, names the first broken link of its chain, and tries what changes it.
    pub fn diagnose(
        mut self,
        folders: &[PathBuf],
        question: &str,
        expected: Option<&str>,
    ) -> Result<(), Stopped> {
        if expected.is_some_and(|text| letters::normalise(text).is_empty()) {
            return Err(Stopped::usage(
                "the expected text is empty",
                "pass the answer or a few words of its passage with --expect, or leave it out",
            ));
        }
        self.prepare_silently(folders, question)?;

        let expected = expected.map(Expected::from_text);
        let mut asked = AskedAgain {
            work: &mut self,
            question,
        };
        let run = asked.ask(&Settings::new())?;
        // the trials are no questions of the user
        asked.work.observer.stop_recording();
        if let Some(Outcome::Failed(problem)) = run.outcome {
            return Err(problem.into());
        }
        let diagnosis = eval::diagnose(&run, expected, &mut asked)?;

        let out = &mut self.observer.out;
        out.print_line(&diagnosis, || diagnosis.text())
    }
}

/// A question that is asked with one change after the other.
struct AskedAgain<'w, 'a> {
    work: &'w mut Work<'a>,
    question: &'w str,
}

impl Inquiry for AskedAgain<'_, '_> {
    type Error = Stopped;

    fn ask(&mut self, settings: &Settings) -> Result<Run, Stopped> {
        let asked = Ask {
            overrides: settings.clone(),
            ..Ask::new(self.question)
        };
        let (outcome, run) = self.work.ask_and_follow(&asked)?;
        match outcome {
            Outcome::Stopped => Err(Stopped::Interrupted),
            Outcome::Completed | Outcome::LimitReached | Outcome::Failed(_) => Ok(run),
        }
    }

    fn trace(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
    ) -> Result<Vec<TracedLookup>, Stopped> {
        self.work
            .run(|worker, publish| worker.trace_passage(phrase, queries, &[], publish))
    }

    fn search_other_files(&mut self, phrase: &str) -> Result<OtherFiles, Stopped> {
        self.work
            .run(|worker, publish| worker.search_other_files(phrase, publish))
    }
}
