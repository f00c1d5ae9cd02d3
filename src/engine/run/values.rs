//! What the stages of a run hand on to each other.

use std::collections::HashMap;

use crate::event::{Citation, ContextOrigin, DroppedChunk, Event, Hit, Uncertainty, Unmeasured};
use crate::llm::{Entailment, Hidden, Prompt, Token};
use crate::methods::Meaning;
use crate::methods::dense::{Measured, Rephrasings};

/// What a lookup is needed for.
#[derive(Clone, Copy)]
pub struct Need<'n> {
    pub question: &'n str,
    /// The sentences of the answer so far.
    pub confirmed: &'n [String],
    /// The sentence that was doubted; None before the answer begins.
    pub doubted: Option<&'n Sentence>,
}

/// What the stages between the retriever and the context hand on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The chunks still in the race, best first.
    pub kept: Vec<Hit>,
    /// The chunks that fell out, with the reason.
    pub dropped: Vec<DroppedChunk>,
    /// Chunks that a stage set aside because others come first, best first.
    pub spare: Vec<Hit>,
}

/// The chunks that the answer is written from, in the order of their labels `[1]`, `[2]`, …
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passages {
    pub hits: Vec<Hit>,
    /// Chunks that were found and earned a place, but ranked below the cut: best first.
    pub spare: Vec<Hit>,
    /// Every chunk that was found and is not among the hits, with the reason.
    pub dropped: Vec<DroppedChunk>,
}

impl Passages {
    /// What they say, in the order of their labels.
    pub fn texts(&self) -> Vec<&str> {
        self.hits
            .iter()
            .map(|hit| hit.chunk.text.as_str())
            .collect()
    }
}

/// What is known of a context: None where nobody measured it, else how it was understood, or why that cannot be said.
pub type Known = Option<Result<Understood, Unmeasured>>;

/// A context that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    /// Its number among the measured contexts of the step, from 1.
    pub round: u32,
    pub origin: ContextOrigin,
    pub measured: Measured,
}

/// What is known of the contexts of a run.
#[derive(Debug, Default)]
pub struct Contexts {
    pub rephrasings: Rephrasings,
    /// The step of the last measured context, and its number.
    pub last: (u32, u32),
    /// Unit vectors of chunks that are in no index.
    pub vectors: HashMap<u64, Vec<f32>>,
}

/// What the entailment judge said, by question and pair.
pub type Judged = HashMap<(String, Meaning, Meaning), Entailment>;

/// A sentence as it came from the generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    pub step: u32,
    /// As it was written, white space and all.
    pub raw: String,
    pub tokens: Vec<Token>,
    pub citations: Vec<Citation>,
    /// What the gate said of it while the stream went on; None when it is still to be judged.
    pub uncertainty: Option<Uncertainty>,
}

impl Sentence {
    /// What it says.
    pub fn text(&self) -> &str {
        self.raw.trim()
    }

    /// The event that tells of it.
    pub fn finished(&self, uncertainty: Uncertainty) -> Event {
        let (step, text, citations) = (self.step, self.text().to_owned(), self.citations.clone());
        Event::StepFinished {
            step,
            text,
            uncertainty,
            citations,
        }
    }
}

/// A sentence that is not part of the answer yet.
pub struct Draft {
    pub sentence: Sentence,
    /// What it was written from, the confirmed sentences before it included.
    pub prompt: Prompt,
    /// The hidden states that the gate asked for.
    pub hidden: Vec<Hidden>,
}

/// A written answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// What follows "the answer is", otherwise the whole text.
    pub short: String,
    pub citations: Vec<Citation>,
    /// A limit of the settings cut it off.
    pub limit_reached: bool,
    /// The steps that were looked up, with the passages that each was written from in the end.
    pub lookups: Vec<(u32, Passages)>,
}
