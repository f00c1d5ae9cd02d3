//! `explain`: what became of a passage at every stage of a question.

use std::path::PathBuf;

use crate::event::Ask;
use crate::story::PassageTrace;

use super::failure::{Exit, Stopped};
use super::folders::join_names;
use super::work::Work;

impl Work<'_> {
    /// Asks a question and traces the chunks that contain a phrase.
    pub fn explain(
        mut self,
        folders: &[PathBuf],
        question: &str,
        phrase: &str,
    ) -> Result<Exit, Stopped> {
        if phrase.trim().is_empty() {
            return Err(Stopped::usage(
                "the expected text is empty",
                "pass a few words of the missing passage with --expect",
            ));
        }
        self.prepare_silently(folders, question)?;
        let (_, run) = self.ask_and_follow(&Ask::new(question))?;
        let queries = PassageTrace::queries(&run);
        let lookups =
            self.run(|worker, publish| worker.trace_passage(phrase, &queries, &[], publish))?;
        let trace = PassageTrace::new(&run, phrase, &lookups);

        let out = &mut self.observer.out;
        out.print_line(&trace, || trace.text(&join_names(folders)))?;
        let is_found = trace.is_found();
        Ok(if is_found { Exit::Done } else { Exit::Failed })
    }
}
