//! Variants of a run: its question with one setting changed each.

use crate::config::{AnswerPrompt, Location, LocationPart};
use crate::event::{Command, Event, Operation, Scope};
use crate::story::{Run, Settings};

use super::trial::{self, End, is_stopped};

/// A change with its run.
#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    pub settings: Settings,
    /// `None` before it is over.
    pub run: Option<Run>,
}

/// The variants of a run.
#[derive(Debug, Clone)]
pub struct Variants {
    pub run: Run,
    pub all: Vec<Variant>,
    trial: Run,
    /// `None` while there are runs to come.
    pub end: Option<End>,
}

impl Variants {
    pub fn new(run: &Run) -> Self {
        Self {
            all: variants(run),
            run: run.clone(),
            trial: Run::default(),
            end: None,
        }
    }

    /// Returns the finished runs, and that of the change that is being tried once it writes.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        let finished = self.all.iter().filter_map(|variant| variant.run.as_ref());
        let is_written = self.end.is_none() && !self.trial.steps.is_empty();
        finished.chain(is_written.then_some(&self.trial))
    }

    /// Returns what is being done; empty once it has ended.
    pub fn activity(&self) -> String {
        let next = self.all.iter().find(|variant| variant.run.is_none());
        match next.filter(|_| self.end.is_none()) {
            Some(next) => format!("trying {}: {}", next.name, self.trial.activity()),
            None => String::new(),
        }
    }

    /// Returns the command for the next variant.
    pub fn next_command(&mut self) -> Option<Command> {
        let next = self.all.iter().find(|variant| variant.run.is_none());
        let command = next.map(|next| trial::command(&self.run, &next.settings));
        if command.is_none() {
            self.end = Some(End::Finished);
        }
        command
    }

    /// Takes in an event of the engine. Returns whether a run is over.
    pub fn receive(&mut self, event: &Event) -> bool {
        let Event::Session(event) = event else {
            return false;
        };
        if self.end.is_some() {
            return false;
        }
        self.end = End::from_event(event, &[Operation::Diagnose]);

        let Some(run) = trial::receive(&mut self.trial, event) else {
            return false;
        };
        if is_stopped(&run) {
            self.end = Some(End::Stopped);
            return false;
        }
        let next = self.all.iter_mut().find(|variant| variant.run.is_none());
        if let Some(next) = next {
            next.run = Some(run);
        }
        true
    }
}

/// Returns the changes that show on what an answer depends: fewer and more chunks, without the
/// first, another prompt, and the whole folder where the words of the question gave it a scope.
fn variants(run: &Run) -> Vec<Variant> {
    let mut all = Vec::new();
    let mut add = |name: String, key: &str, value: String| {
        all.push(Variant {
            name,
            settings: vec![(key.to_owned(), value)],
            run: None,
        });
    };

    let retriever = &run.settings.retriever;
    let hits = run.numbered_hits();
    if let Some((label, first)) = hits.first() {
        let k = retriever.k;
        for k in [k.saturating_sub(1), k + 2].into_iter().filter(|k| *k > 0) {
            add(format!("k = {k}"), "retriever.k", k.to_string());
        }
        let first = Location {
            document: first.chunk.document.clone(),
            part: LocationPart::Bytes(first.chunk.bytes),
        };
        let excluded = retriever.excluded.iter().chain([&first]);
        let excluded: Vec<String> = excluded.map(Location::to_string).collect();
        let excluded = toml::Value::from(excluded).to_string();
        add(format!("without [{label}]"), "retriever.excluded", excluded);
    }

    let (name, prompt) = match run.settings.answer.prompt {
        AnswerPrompt::Quotes => ("answered from the sources", "sources"),
        _ => ("quotations alone", "quotes"),
    };
    // a model for practice writes nothing of use over documents of one's own
    let is_answerable = prompt == "quotes" || !run.is_practice();
    if !hits.is_empty() && is_answerable {
        add(name.to_owned(), "answer.prompt", prompt.to_owned());
    }
    if run.scope != Scope::default() {
        add(
            "as a question about one fact".to_owned(),
            "answer.scope",
            false.to_string(),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::QuestionKind;

    #[test]
    fn a_scope_can_be_left_out() {
        let scope = |run: &Run| {
            let mut variants = variants(run).into_iter();
            variants.find_map(|variant| {
                variant
                    .settings
                    .into_iter()
                    .find(|(key, _)| key == "answer.scope")
            })
        };
        let mut run = Run::default();
        assert_eq!(scope(&run), None);
        run.scope.kind = QuestionKind::Listing;
        assert_eq!(
            scope(&run),
            Some(("answer.scope".to_owned(), "false".to_owned()))
        );
    }
}
