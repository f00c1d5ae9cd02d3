//! The activity of a run, from what it has done.

use crate::config::ChunkerKind;
use crate::story::step::Step;
use crate::story::words;

use super::state::Run;

/// Shortest reading of a prompt whose expected time is shown.
const MIN_EXPECTED_MS: u64 = 1500;

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has happened yet.
    Starting,
    /// The index is searched.
    Retrieving,
    /// The model reads the prompt.
    Reading,
    /// The model generates tokens.
    Writing,
    /// Over.
    Done,
}

impl Run {
    /// Returns what the run is doing, from what it has done.
    pub fn phase(&self) -> Phase {
        if self.outcome.is_some() {
            Phase::Done
        } else if self.steps.iter().any(|step| !step.tokens.is_empty()) {
            Phase::Writing
        } else if !self.calls.is_empty() {
            Phase::Reading
        } else if !self.lookups.is_empty() {
            Phase::Retrieving
        } else {
            Phase::Starting
        }
    }

    /// Returns what the run is doing in words: `round 1, rephrasing chunk 2 of 3`.
    pub fn activity(&self) -> String {
        let call = self.calls.last().filter(|call| call.batch.is_none());
        let is_reading = self.steps.iter().all(|step| step.tokens.is_empty());
        let call = call.filter(|call| is_reading || call.purpose != "answer");

        let work = match call {
            Some(call) if call.purpose == "answer" => {
                let tokens = words::quantity(call.prompt_tokens.into(), "token");
                let read = self.reading.map_or_else(String::new, |reading| {
                    format!(", {}", words::count(reading.begun.into()))
                });
                format!("{}{read} of {tokens}", words::call(&call.purpose, None))
            }
            Some(call) => words::call(&call.purpose, self.measuring.or(self.begun)),
            None if self.is_rechunking() => "re-chunking the documents by meaning".to_owned(),
            None => self.phase_words(),
        };

        // less is over before it is read
        let expected = call.and_then(|call| call.expected_ms);
        let expected = expected.filter(|expected| *expected >= MIN_EXPECTED_MS);
        let reading = self.reading.filter(|_| call.is_some());
        let work = match (reading.and_then(|reading| reading.left_ms()), expected) {
            (Some(_), _) => format!("{work}{}", words::left(reading)),
            (None, Some(expected)) => format!("{work}, about {} s", (expected + 500) / 1000),
            (None, None) => work,
        };
        if self.is_refining() {
            format!("round {}, {work}", self.refinement.round_in_progress())
        } else {
            work
        }
    }

    /// Returns whether the documents are re-chunked: after a first round that is uncertain.
    fn is_rechunking(&self) -> bool {
        let refinement = &self.refinement;
        let is_uncertain = refinement.rounds.first().is_some_and(|first| {
            let measured = first.measured.as_ref();
            measured.is_ok_and(|measured| !measured.certain)
        });
        self.settings.chunker.kind == ChunkerKind::Adaptive
            && self.is_refining()
            && is_uncertain
            && refinement.rounds.len() == 1
            && refinement.rechunked.is_empty()
    }

    /// Returns whether the context is measured and repaired.
    fn is_refining(&self) -> bool {
        let has_begun = self.calls.iter().any(|call| call.purpose == "rephrase");
        has_begun && self.refinement.finished.is_none() && self.steps.is_empty()
    }

    fn phase_words(&self) -> String {
        match self.phase() {
            Phase::Starting => "starting".to_owned(),
            Phase::Retrieving => "retrieving".to_owned(),
            Phase::Reading => "reading the prompt".to_owned(),
            Phase::Writing if self.verdict.is_some() => "finishing".to_owned(),
            Phase::Writing => {
                let next = |step: &Step| step.step + u32::from(step.uncertainty.is_some());
                let step = self.steps.last().map_or(1, next);
                format!("writing sentence {step}")
            }
            Phase::Done => String::new(),
        }
    }
}
