use crate::event::{
    AddedChunk, ClassifiedChunk, RechunkedDocument, RefinementEnd, Understanding, Unmeasured,
    VariedChunk,
};

use super::text::{many_lines, one_line};

/// The measured contexts of a run and what became of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refinement {
    pub rounds: Vec<Round>,
    /// The documents that were re-chunked.
    pub rechunked: Vec<RechunkedDocument>,
    /// The best round and why refinement ended, once it has.
    pub finished: Option<(u32, RefinementEnd)>,
}

/// A context that was measured, or could not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    pub step: u32,
    pub round: u32,
    pub measured: Result<Understanding, Unmeasured>,
    /// The chunks of the context, in the order of their labels.
    pub chunks: Vec<VariedChunk>,
    pub evaluated: Option<Evaluated>,
    pub classes: Vec<ClassifiedChunk>,
    /// The change that made the next context of this one.
    pub change: Option<Change>,
}

/// The verdict of the model on the context of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluated {
    /// The verdict that the context is sufficient, and the probability of that.
    pub sufficient: bool,
    pub probability: Option<f32>,
    /// True when it answers with more than "unknown".
    pub answered: bool,
}

/// The chunks that a round dropped from its context, and those that it added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub dropped: Vec<u64>,
    pub added: Vec<AddedChunk>,
}

impl Refinement {
    /// Returns the chunk of a round by its position, from 1: those of the context, then those that
    /// were added.
    pub fn chunk(&self, round: usize, position: usize) -> Option<u64> {
        let round = self.rounds.get(round)?;
        let own = round.chunks.iter().map(|chunk| chunk.chunk);
        let added = round.change.iter().flat_map(|change| &change.added);
        own.chain(added.map(|added| added.chunk))
            .nth(position.checked_sub(1)?)
    }

    /// Returns the number of the round whose context is measured or repaired.
    pub(super) fn round_in_progress(&self) -> usize {
        let is_rechunked = !self.rechunked.is_empty() && self.rounds.len() == 1;
        let is_over = |round: &Round| round.change.is_some() || is_rechunked;
        let is_next = self.rounds.last().is_none_or(is_over);
        self.rounds.len() + usize::from(is_next)
    }

    /// Returns the understanding of the context that the answer was written from: of the best
    /// round, or of the last one.
    pub fn answer_understanding(&self) -> Option<&Understanding> {
        let best = self.finished.map(|(best, _)| best);
        let written_from = self
            .rounds
            .iter()
            .rfind(|round| best.is_none_or(|best| round.round == best))?;
        written_from.measured.as_ref().ok()
    }

    pub(super) fn set_rechunked(&mut self, documents: &[RechunkedDocument]) {
        let harmless = |known: &RechunkedDocument| RechunkedDocument {
            document: one_line(&known.document),
            error: known.error.as_deref().map(one_line),
            ..known.clone()
        };
        self.rechunked = documents.iter().map(harmless).collect();
    }

    pub(super) fn add_measured(&mut self, step: u32, round: u32, measured: &Understanding) {
        let replies = measured.replies.iter();
        let understanding = Understanding {
            replies: replies.map(|reply| one_line(reply.trim())).collect(),
            chunks: Vec::new(),
            ..measured.clone()
        };
        self.begin(step, round, Ok(understanding), &measured.chunks);
    }

    /// Begins a round whose context was measured, or could not be.
    pub(super) fn begin(
        &mut self,
        step: u32,
        round: u32,
        measured: Result<Understanding, Unmeasured>,
        chunks: &[VariedChunk],
    ) {
        let harmless = |chunk: &VariedChunk| VariedChunk {
            rephrasing: chunk.rephrasing.as_deref().map(many_lines),
            ..chunk.clone()
        };

        self.rounds.push(Round {
            step,
            round,
            measured,
            chunks: chunks.iter().map(harmless).collect(),
            evaluated: None,
            classes: Vec::new(),
            change: None,
        });
    }

    /// Returns a round of a step, to add to.
    pub(super) fn round(&mut self, step: u32, round: u32) -> Option<&mut Round> {
        self.rounds
            .iter_mut()
            .rfind(|known| known.step == step && known.round == round)
    }
}

impl Round {
    pub(super) fn set_classes(&mut self, chunks: &[ClassifiedChunk]) {
        let harmless = |chunk: &ClassifiedChunk| ClassifiedChunk {
            without: chunk.without.as_deref().map(many_lines),
            ..chunk.clone()
        };
        self.classes = chunks.iter().map(harmless).collect();
    }
}
