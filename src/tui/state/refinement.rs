use crate::event::{
    AddedChunk, ClassifiedChunk, Event, RecutDocument, RefinementEnd, Understanding, Unmeasured,
    VariedChunk,
};

use super::{harmless_text, one_line};

/// The measured contexts of a run and what became of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refinement {
    pub rounds: Vec<Round>,
    /// The documents that were cut again.
    pub recut: Vec<RecutDocument>,
    /// The best round and why it ended, once refinement is over.
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
    /// Did the model call it sufficient, and with which probability?
    pub evaluated: Option<(bool, Option<f32>)>,
    pub classes: Vec<ClassifiedChunk>,
    /// What was dropped and what was added to make the next one.
    pub change: Option<Change>,
}

/// What a round did to its context.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub dropped: Vec<u64>,
    pub added: Vec<AddedChunk>,
}

impl Refinement {
    /// The chunk of a round by its place, from 1: those of the context, then those that were added.
    #[must_use]
    pub fn chunk(&self, round: usize, place: usize) -> Option<u64> {
        let round = self.rounds.get(round)?;
        let added = round
            .change
            .iter()
            .flat_map(|change| &change.added)
            .map(|added| added.chunk);
        round
            .chunks
            .iter()
            .map(|chunk| chunk.chunk)
            .chain(added)
            .nth(place.checked_sub(1)?)
    }

    /// What was measured of the context that the answer was written from: of the best round, or of the last one.
    #[must_use]
    pub fn of_the_answer(&self) -> Option<&Understanding> {
        let best = self.finished.as_ref().map(|(best, _)| *best);
        let written_from = self
            .rounds
            .iter()
            .rev()
            .find(|round| best.is_none_or(|best| round.round == best))?;
        written_from.measured.as_ref().ok()
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::DocumentsRecut { documents, .. } => {
                let harmless = |known: &RecutDocument| RecutDocument {
                    document: one_line(&known.document),
                    fault: known.fault.as_deref().map(one_line),
                    ..known.clone()
                };
                self.recut = documents.iter().map(harmless).collect();
            }
            Event::UnderstandingMeasured {
                step,
                round,
                understanding,
            } => {
                let replies = understanding
                    .replies
                    .iter()
                    .map(|reply| one_line(reply.trim()))
                    .collect();
                let measured = Understanding {
                    replies,
                    chunks: Vec::new(),
                    ..understanding.clone()
                };
                self.begin((*step, *round), Ok(measured), &understanding.chunks);
            }
            Event::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks,
            } => {
                self.begin((*step, *round), Err(*reason), chunks);
            }
            Event::ContextEvaluated {
                step,
                round,
                sufficient,
                probability,
            } => {
                self.round((*step, *round), |round| {
                    round.evaluated = Some((*sufficient, *probability))
                });
            }
            Event::ChunksClassified {
                step,
                round,
                chunks,
            } => {
                let harmless = |chunk: &ClassifiedChunk| ClassifiedChunk {
                    without: chunk.without.as_deref().map(harmless_text),
                    ..chunk.clone()
                };
                self.round((*step, *round), |round| {
                    round.classes = chunks.iter().map(harmless).collect()
                });
            }
            Event::ContextRefined {
                step,
                round,
                dropped,
                added,
            } => {
                let change = Change {
                    dropped: dropped.clone(),
                    added: added.clone(),
                };
                self.round((*step, *round), |round| round.change = Some(change));
            }
            Event::RefinementFinished { best, end, .. } => self.finished = Some((*best, *end)),
            _ => {}
        }
    }

    fn begin(
        &mut self,
        (step, round): (u32, u32),
        measured: Result<Understanding, Unmeasured>,
        chunks: &[VariedChunk],
    ) {
        let varied = |chunk: &VariedChunk| VariedChunk {
            rephrasing: chunk.rephrasing.as_deref().map(harmless_text),
            ..chunk.clone()
        };
        let (evaluated, classes, change) = (None, Vec::new(), None);
        let chunks = chunks.iter().map(varied).collect();
        self.rounds.push(Round {
            step,
            round,
            measured,
            chunks,
            evaluated,
            classes,
            change,
        });
    }

    fn round(&mut self, place: (u32, u32), change: impl FnOnce(&mut Round)) {
        if let Some(round) = self
            .rounds
            .iter_mut()
            .rev()
            .find(|known| (known.step, known.round) == place)
        {
            change(round);
        }
    }
}
