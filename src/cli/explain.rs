//! `explain`: what became of a passage at every stage of a question.

use std::path::PathBuf;

use crate::event::Ask;
use crate::story::words::LOST;
use crate::story::{PassageTrace, Run, TraceRow};

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
        out.print_line(&trace, || trace_text(&run, &trace, &join_names(folders)))?;
        let is_found = trace.is_found();
        Ok(if is_found { Exit::Done } else { Exit::Failed })
    }
}

/// Returns the trace of a passage as text.
fn trace_text(run: &Run, trace: &PassageTrace<'_>, folders: &str) -> String {
    let mut text = String::new();
    if let Some(rewritten) = &run.rewritten {
        let used = if rewritten.used { "" } else { " (not used)" };
        text.push_str(&format!("rewritten: {}{used}\n", rewritten.text));
    }

    let rows = trace.rows();
    if rows.is_empty() {
        let preset = &run.preset;
        text.push_str(&format!(
            "nothing was retrieved: preset {preset} answers without documents\n"
        ));
    }
    for row in rows {
        match row {
            TraceRow::Query {
                step: 0,
                text: query,
            } => text.push_str(&format!("query: {query}\n")),
            TraceRow::Query { step, text: query } => {
                text.push_str(&format!("sentence {step}: query: {query}\n"));
            }
            TraceRow::Missing(says) => text.push_str(&format!(
                "  {LOST} {says} `ragscope index {folders}` lists the files that were skipped.\n"
            )),
            TraceRow::Chunk(location) => text.push_str(&format!("  {location}\n")),
            TraceRow::Fact {
                name,
                text: fact,
                is_loss,
            } => {
                let sign = if is_loss { LOST } else { " " };
                text.push_str(&format!("  {sign} {name:<11} {fact}\n"));
            }
        }
    }
    text
}
