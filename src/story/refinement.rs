use crate::event::{
    AddedChunk, ClassifiedChunk, RechunkedDocument, RefinementEnd, Understanding, Unmeasured,
    VariedChunk,
};

use super::text::{clean, many_lines, one_line};

/// The measured contexts of a run and what became of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refinement {
    pub rounds: Vec<Round>,
    /// The first chunks of the context that is being measured.
    unfinished: Option<Round>,
    /// The chunks of the last round's context, where the run was stopped before all were measured.
    pub partial: Option<u32>,
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
        if self.partial.is_some() {
            return None;
        }
        let best = self.finished.map(|(best, _)| best);
        let mut rounds = self.rounds.iter();
        let written_from = rounds.rfind(|one| best.is_none_or(|best| one.round == best))?;
        written_from.measured.as_ref().ok()
    }

    /// Returns how many chunks were measured where the run was stopped before all were.
    pub fn part_words(&self) -> Option<String> {
        let measured = self.rounds.last()?.chunks.len();
        Some(format!("{measured} of {} chunks", self.partial?))
    }

    pub(super) fn set_rechunked(&mut self, documents: &[RechunkedDocument]) {
        self.rechunked = documents.to_vec();
        for known in &mut self.rechunked {
            clean(known.error.iter_mut().chain([&mut known.document]));
        }
    }

    pub(super) fn add_measured(&mut self, step: u32, round: u32, measured: Understanding) {
        self.add_part(step, round, measured);
        self.rounds.extend(self.unfinished.take());
    }

    /// Takes in what is measured of a context so far.
    pub(super) fn add_part(&mut self, step: u32, round: u32, mut measured: Understanding) {
        for reply in &mut measured.replies {
            *reply = one_line(reply.trim());
        }
        let chunks = std::mem::take(&mut measured.chunks);
        self.unfinished = Some(Round::new(step, round, Ok(measured), chunks));
    }

    /// Keeps what was measured of a context of `chunks` chunks before the run was stopped.
    pub(super) fn keep_part(&mut self, chunks: Option<u32>) {
        if let Some(round) = self.unfinished.take() {
            self.partial = chunks;
            self.rounds.push(round);
        }
    }

    /// Adds a round whose context could not be measured.
    pub(super) fn add_unmeasured(
        &mut self,
        step: u32,
        round: u32,
        reason: Unmeasured,
        chunks: Vec<VariedChunk>,
    ) {
        self.unfinished = None;
        let unmeasured = Round::new(step, round, Err(reason), chunks);
        self.rounds.push(unmeasured);
    }

    /// Returns a round of a step, to add to.
    pub(super) fn round(&mut self, step: u32, round: u32) -> Option<&mut Round> {
        let mut rounds = self.rounds.iter_mut();
        rounds.rfind(|known| known.step == step && known.round == round)
    }
}

impl Round {
    fn new(
        step: u32,
        round: u32,
        measured: Result<Understanding, Unmeasured>,
        mut chunks: Vec<VariedChunk>,
    ) -> Self {
        for chunk in &mut chunks {
            chunk.rephrasing = chunk.rephrasing.as_deref().map(many_lines);
        }
        Self {
            step,
            round,
            measured,
            chunks,
            evaluated: None,
            classes: Vec::new(),
            change: None,
        }
    }

    pub(super) fn set_classes(&mut self, chunks: Vec<ClassifiedChunk>) {
        self.classes = chunks;
        for chunk in &mut self.classes {
            chunk.without = chunk.without.as_deref().map(many_lines);
        }
    }
}
