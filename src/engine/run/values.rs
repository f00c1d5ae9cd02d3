//! The values that the stages of a run hand on to each other.

use std::collections::{HashMap, HashSet};

use crate::event::{Citation, ContextOrigin, DroppedChunk, Hit, RunEvent, Uncertainty, Unmeasured};
use crate::llm::{Entailment, Hidden, Prompt, Token};
use crate::methods::Meaning;
use crate::methods::dense::{Measured, Rephrasings};

/// The chunks of one lookup, on their way from the retriever into the prompt.
///
/// Until [`choose`](super::context::choose) builds the context, `hits` are the candidates, best
/// first; from then on they are the passages of the prompt, in the order of their labels `[1]`,
/// `[2]`, …
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passages {
    /// The chunks that every stage so far has kept.
    pub hits: Vec<Hit>,
    /// Chunks that no stage objected to, but that rank below the hits; best first.
    pub spare: Vec<Hit>,
    /// The retrieved chunks that are not among the hits, each with the reason.
    pub dropped: Vec<DroppedChunk>,
    /// Text by which the hits are judged: the question, and for a later sentence what the answer
    /// has found so far, which names the subject of the next search.
    pub sought: String,
    /// Searches with which a reranker compares the hits: the best texts for each are taken in turn.
    pub searches: Vec<Searched>,
    /// The tokens that the context takes of the hits, in place of `retriever.k` of them.
    pub wanted_tokens: Option<f64>,
}

impl Passages {
    /// Candidates fresh from a retrieval, best first.
    pub fn from_hits(hits: Vec<Hit>) -> Self {
        Self {
            hits,
            ..Self::default()
        }
    }
}

/// Returns the documents of some hits, each once, in their order.
pub fn documents<'h>(hits: impl IntoIterator<Item = &'h Hit>) -> Vec<&'h str> {
    let mut seen = HashSet::new();
    let documents = hits.into_iter().map(|hit| hit.chunk.document.as_str());
    documents
        .filter(|document| seen.insert(*document))
        .collect()
}

/// The query of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Text of the query as it is shown.
    pub text: String,
    /// Searches, one after the other; usually the text alone.
    pub searches: Vec<Searched>,
}

/// One search of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    pub text: String,
    /// Maximum number of its hits that are taken beside those of other searches.
    pub most: usize,
}

impl Searched {
    /// A search whose hits are all taken.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            most: usize::MAX,
        }
    }

    /// Returns the part of a ranking for this search, best first, that is taken.
    pub fn take_from<'r, T>(&self, ranking: &'r [T]) -> &'r [T] {
        &ranking[..ranking.len().min(self.most)]
    }
}

/// The state of the answer at a lookup.
#[derive(Clone, Copy, Default)]
pub struct Need<'n> {
    /// The sentences of the answer so far.
    pub confirmed: &'n [String],
    /// The uncertain sentence; `None` before the answer begins.
    pub uncertain: Option<&'n Sentence>,
    /// The subjects of the question's scope, which are searched beside it.
    pub subjects: &'n [String],
}

/// The understanding of a context: `None` where no stage has measured it, otherwise the
/// measurement, or the reason why there is none.
pub type Known = Option<Result<Understood, Unmeasured>>;

/// A measured context.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    /// Number of the context among the measured ones of the step, from 1.
    pub round: u32,
    pub origin: ContextOrigin,
    pub measured: Measured,
}

/// The contexts of a run that were measured, as far as later ones build on them.
#[derive(Debug, Default)]
pub struct Contexts {
    pub rephrasings: Rephrasings,
    /// Unit vectors of chunks that are not in the index.
    pub vectors: HashMap<u64, Vec<f32>>,
    last_step: u32,
    last_round: u32,
}

impl Contexts {
    /// Returns the number of the next measured context of this step.
    pub fn next_round(&mut self, step: u32) -> u32 {
        if self.last_step != step {
            self.last_step = step;
            self.last_round = 0;
        }
        self.last_round += 1;
        self.last_round
    }
}

/// The judgements of the entailment judge, by question and pair of texts.
pub type Judged = HashMap<(String, Meaning, Meaning), Entailment>;

/// A sentence of the answer as it came from the generator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence {
    pub step: u32,
    /// The text with the white space around it.
    pub raw: String,
    pub tokens: Vec<Token>,
    pub citations: Vec<Citation>,
    /// The gate's early decision, from the tokens alone; `None` when the gate must still judge.
    pub uncertainty: Option<Uncertainty>,
}

impl Sentence {
    /// Returns the text without the white space around it.
    pub fn text(&self) -> &str {
        self.raw.trim()
    }

    /// Returns the event that ends the step of this sentence.
    pub fn to_event(&self, uncertainty: Uncertainty) -> RunEvent {
        RunEvent::StepFinished {
            step: self.step,
            text: self.text().to_owned(),
            uncertainty,
            citations: self.citations.clone(),
        }
    }
}

/// Returns the event of a token of a step.
pub fn token_event(step: u32, token: &Token) -> RunEvent {
    RunEvent::TokenGenerated {
        step,
        text: token.text.clone(),
        logprob: token.logprob,
        entropy: token.entropy,
        alternatives: token.alternatives.clone(),
    }
}

/// A sentence that is not part of the answer yet.
pub struct Draft {
    pub sentence: Sentence,
    /// The prompt that it continues, the confirmed sentences before it included.
    pub prompt: Prompt,
    /// The sentences of the answer before it.
    pub confirmed: Vec<String>,
    /// The hidden states that the gate asked for.
    pub hidden: Vec<Hidden>,
}

/// A written answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// The short answer that the text states, otherwise the whole text.
    pub short: String,
    pub citations: Vec<Citation>,
    /// Whether a limit of the settings ended it.
    pub limit_reached: bool,
    /// The lookups of uncertain sentences.
    pub lookups: Vec<StepLookup>,
    /// The sentences that were generated, with their tokens.
    pub sentences: Vec<Sentence>,
    /// The number of steps that no model wrote, behind them.
    pub given: u32,
}

/// The stages that a lookup goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// None: the hits stay as they are retrieved.
    Least,
    /// All stages of the preset.
    Full,
}

/// The passages that an uncertain sentence was written from in the end.
#[derive(Debug, Clone, PartialEq)]
pub struct StepLookup {
    pub step: u32,
    pub passages: Passages,
}
