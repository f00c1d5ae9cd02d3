//! Settles a sentence that the gate must judge: it is kept, or regenerated from the passages of a
//! lookup (SEARAG, algorithm 1 and section 3.3).

use crate::config::FirstSentence;
use crate::engine::error::RunError;
use crate::engine::run::{Draft, Effort, Gate, Need, Passages, Query, Run, StepLookup, context};
use crate::engine::stages::rerank_hits;
use crate::event::{Decision, DropReason, DroppedChunk, Hit, Uncertainty, saturating_u32};
use crate::llm::{End, LlmError};
use crate::methods::searag::should_expand;

use super::lookup::{Lookup, passages, retrieve};
use super::writing::Writing;

/// Maximum passages of a retry with more of them (SEARAG, section 3.3).
const MAX_EXPANDED: usize = 10;

/// A regenerated sentence that can replace the draft.
struct Regenerated {
    draft: Draft,
    /// The end of its completion.
    end: End,
    uncertainty: Uncertainty,
}

/// The result of regenerating a sentence.
enum Regeneration {
    Accepted(Box<Regenerated>),
    /// There is no sentence to keep.
    Rejected(EmittedSince),
}

/// The tokens that were emitted for a step after those of the sentence that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmittedSince {
    Nothing,
    AnotherSentence,
}

impl Writing<'_> {
    /// Lets the gate judge a draft, and confirms it or the sentence that replaces it. `end` is the
    /// end of the draft's completion; returned is that of the confirmed sentence.
    pub fn settle(
        &mut self,
        run: &mut Run<'_>,
        gate: &mut dyn Gate,
        draft: Draft,
        end: End,
    ) -> Result<End, RunError> {
        run.step = draft.sentence.step;
        let replacement = self.replacement(run, gate, &draft);
        run.step = 0;

        match replacement {
            Ok(Some(regenerated)) => {
                self.confirm(regenerated.draft.sentence);
                Ok(regenerated.end)
            }
            Ok(None) => {
                self.confirm(draft.sentence);
                Ok(end)
            }
            // a failure loses nothing that was written before it
            Err(error) => {
                self.confirm(draft.sentence);
                Err(error)
            }
        }
    }

    /// Returns whether the next sentence is regenerated from passages whatever the gate measures:
    /// it is the first, and nothing was read yet.
    pub fn retrieves_first(&self, run: &Run<'_>, gate: &dyn Gate) -> bool {
        let config = run.tools.config;
        let is_first = self.confirmed.is_empty() && self.passages.hits.is_empty();
        match config.gate.first_sentence {
            FirstSentence::Judge => false,
            FirstSentence::Retrieve => {
                is_first && context::needs_corpus(config) && gate.card(run).is_some()
            }
        }
    }

    /// Returns the sentence that replaces an uncertain draft; `None` when the draft is kept.
    fn replacement(
        &mut self,
        run: &mut Run<'_>,
        gate: &mut dyn Gate,
        draft: &Draft,
    ) -> Result<Option<Regenerated>, RunError> {
        if run.is_stopped() {
            return Ok(None);
        }
        let uncertainty = self.judge(run, gate, draft)?;
        let is_uncertain = uncertainty.decision == Decision::Retrieve;
        if !is_uncertain || !context::needs_corpus(run.tools.config) || run.is_stopped() {
            return Ok(None);
        }

        let effort = run.first_effort(gate);
        let Lookup { query, passages } = retrieve(run, &self.need(draft), effort)?;

        // SEARAG, section 3.3: regenerate the sentence from what was retrieved
        let regeneration = self.regenerate(run, gate, &passages)?;
        let mut lookup = StepLookup {
            step: draft.sentence.step,
            passages,
        };
        let first = match regeneration {
            Regeneration::Accepted(first) => *first,
            Regeneration::Rejected(since) => {
                emit_kept(run, draft, uncertainty, since);
                self.lookups.push(lookup);
                return Ok(None);
            }
        };

        let more = match effort {
            Effort::Least => self.escalate(run, draft, &query, &first)?,
            Effort::Full => expand_if_risen(run, &uncertainty, &query, &first, &lookup.passages)?,
        };
        let (kept, since) = match more {
            None => (first, EmittedSince::Nothing),
            Some(passages) => match self.regenerate(run, gate, &passages)? {
                Regeneration::Accepted(second)
                    if effort == Effort::Full || second.is_better_than(&first) =>
                {
                    lookup.passages = passages;
                    (*second, EmittedSince::Nothing)
                }
                Regeneration::Accepted(_) => (first, EmittedSince::AnotherSentence),
                Regeneration::Rejected(since) => (first, since),
            },
        };
        emit_kept(run, &kept.draft, kept.uncertainty.clone(), since);
        self.lookups.push(lookup);
        Ok(Some(kept))
    }

    /// Returns the state of the answer at a lookup for an uncertain sentence.
    fn need<'n>(&'n self, draft: &'n Draft) -> Need<'n> {
        Need {
            confirmed: &self.confirmed,
            uncertain: Some(&draft.sentence),
            ..Need::default()
        }
    }

    /// Lets the gate judge a draft, and emits that it is finished.
    fn judge(
        &self,
        run: &mut Run<'_>,
        gate: &mut dyn Gate,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        let mut uncertainty = gate.judge(run, draft)?;
        if self.retrieves_first(run, gate) {
            uncertainty.decision = Decision::Retrieve;
        }
        run.emit(draft.sentence.to_event(uncertainty.clone()));
        Ok(uncertainty)
    }

    /// Returns the passages after all stages of the preset, where the gate is still uncertain of
    /// the sentence that was regenerated with the least effort. It is written once more from them,
    /// and the less uncertain one of the two is kept.
    fn escalate(
        &self,
        run: &mut Run<'_>,
        draft: &Draft,
        query: &Query,
        first: &Regenerated,
    ) -> Result<Option<Passages>, RunError> {
        if first.uncertainty.decision != Decision::Retrieve {
            run.emit_not_needed();
            return Ok(None);
        }
        if run.is_stopped() {
            return Ok(None);
        }
        emit_expanded(run, first);
        passages(run, &self.need(draft), query, Effort::Full).map(Some)
    }

    /// Writes the sentence again from these passages and lets the gate judge it.
    fn regenerate(
        &mut self,
        run: &mut Run<'_>,
        gate: &mut dyn Gate,
        passages: &Passages,
    ) -> Result<Regeneration, RunError> {
        if passages.hits.is_empty() || run.is_stopped() {
            return Ok(Regeneration::Rejected(EmittedSince::Nothing));
        }

        let written = self.complete(run, gate, passages, &|_| None);
        // an interrupted sentence is not part of the answer here: the draft before it is
        self.interrupted = None;
        let (draft, end) = match written {
            Ok((Some(draft), end)) => (draft, end),
            Ok((None, _)) | Err(RunError::Model(LlmError::PromptTooLong { .. })) => {
                return Ok(Regeneration::Rejected(EmittedSince::Nothing));
            }
            Err(error) => return Err(error),
        };

        // a sentence that a limit or the user cut short is not better than a whole one
        if run.is_stopped() || matches!(end, End::MaxTokens | End::ContextFull) {
            return Ok(Regeneration::Rejected(EmittedSince::AnotherSentence));
        }
        let uncertainty = gate.judge(run, &draft)?;
        Ok(Regeneration::Accepted(Box::new(Regenerated {
            draft,
            end,
            uncertainty,
        })))
    }
}

impl Regenerated {
    fn is_better_than(&self, other: &Self) -> bool {
        let (own, other) = (&self.uncertainty, &other.uncertainty);
        own.measure != other.measure || own.value < other.value
    }
}

/// Returns more passages where the regenerated sentence is more uncertain than the draft before the
/// lookup: then it is written once more from them (SEARAG, equation 6).
fn expand_if_risen(
    run: &mut Run<'_>,
    before: &Uncertainty,
    query: &Query,
    first: &Regenerated,
    passages: &Passages,
) -> Result<Option<Passages>, RunError> {
    let after = &first.uncertainty;
    if before.measure != after.measure || !should_expand(before.value, after.value) {
        return Ok(None);
    }
    let expanded = expand(run, query, passages)?;
    if expanded.is_some() {
        emit_expanded(run, first);
    }
    Ok(expanded)
}

/// Emits that a regenerated sentence is written once more from more passages.
fn emit_expanded(run: &mut Run<'_>, first: &Regenerated) {
    run.emit(first.draft.sentence.to_event(Uncertainty {
        decision: Decision::Expand,
        ..first.uncertainty.clone()
    }));
}

/// Emits that a sentence is kept, whatever the gate decided: it is regenerated only once. Its
/// tokens are emitted again first, if those of another one were since.
fn emit_kept(run: &mut Run<'_>, draft: &Draft, uncertainty: Uncertainty, since: EmittedSince) {
    let sentence = &draft.sentence;

    if since == EmittedSince::AnotherSentence {
        run.emit_tokens(sentence);
    }

    run.emit(sentence.to_event(Uncertainty {
        decision: Decision::Keep,
        ..uncertainty
    }));
}

/// Returns the passages with some of the spare ones, reranked by the query; `None` when there are
/// none to add.
fn expand(
    run: &mut Run<'_>,
    query: &Query,
    passages: &Passages,
) -> Result<Option<Passages>, RunError> {
    let settings = &run.tools.config.gate;
    let known = passages.hits.len();
    let wanted = (known + settings.expand_by as usize).min(MAX_EXPANDED);
    let added = wanted.saturating_sub(known).min(passages.spare.len());
    if added == 0 {
        return Ok(None);
    }

    let (taken, left) = passages.spare.split_at(added);
    let hits: Vec<Hit> = passages.hits.iter().chain(taken).cloned().collect();
    let k = saturating_u32(wanted);
    let dropped = left.iter().map(|hit| DroppedChunk {
        chunk: hit.chunk.id,
        reason: DropReason::BelowK { k },
    });
    let candidates = Passages {
        hits: rerank_hits(run, &query.searches, hits)?,
        dropped: dropped.collect(),
        spare: Vec::new(),
        sought: passages.sought.clone(),
        searches: query.searches.clone(),
        wanted_tokens: None,
    };
    // all of them, as SEARAG's algorithm 1 has it
    context::choose_up_to(run, candidates, k).map(Some)
}
