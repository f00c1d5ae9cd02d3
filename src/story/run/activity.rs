//! The activity of a run, from what it has done.

use crate::config::ChunkerKind;
use crate::story::step::Step;
use crate::story::words;

use super::state::Run;

/// Shortest reading of a prompt whose expected time is shown.
const MIN_EXPECTED_MS: u64 = 1500;

impl Run {
    /// Returns whether the model writes the answer, or has written it.
    pub fn is_written(&self) -> bool {
        self.steps.iter().any(|step| !step.tokens.is_empty())
    }

    /// Returns what the run is doing in words: `round 1, rephrasing chunk 2 of 3`.
    pub fn activity(&self) -> String {
        let call = self.calls.last().filter(|call| call.batch.is_none());
        let call = call.filter(|call| !self.is_written() || call.purpose != "answer");

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

    /// Returns what the run is doing where no call of a model says it.
    fn phase_words(&self) -> String {
        let phase = if self.outcome.is_some() {
            ""
        } else if self.is_written() && self.verdict.is_some() {
            "finishing"
        } else if self.is_written() {
            let next = |step: &Step| step.step + u32::from(step.uncertainty.is_some());
            let step = self.steps.last().map_or(1, next);
            return format!("writing sentence {step}");
        } else if !self.calls.is_empty() {
            "reading the prompt"
        } else if !self.lookups.is_empty() {
            "retrieving"
        } else {
            "starting"
        };
        phase.to_owned()
    }
}
