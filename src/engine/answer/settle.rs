//! A sentence that the gate was asked about: kept, or looked up and written again (SEARAG, algorithm 1 and section 3.3).

use crate::engine::error::RunError;
use crate::engine::run::context::needs_corpus;
use crate::engine::run::{Draft, Found, Need, Passages, Roles, Run, context};
use crate::engine::stages::reranked;
use crate::event::{Decision, DropReason, DroppedChunk, Event, Uncertainty};
use crate::llm::{End, LlmError, Token};
use crate::methods::searag::asks_for_more;

use super::lookup::{LookUp, look_up};
use super::writing::{Writing, Written};

impl Writing<'_> {
    /// Ask the gate about a sentence and confirm it, or what a lookup makes of it. `end` is how its completion ended; given back is how the
    /// completion of the confirmed sentence did.
    pub fn settle(
        &mut self,
        run: &mut Run<'_>,
        roles: &mut Roles,
        draft: Draft,
        end: End,
    ) -> Result<End, RunError> {
        run.step = draft.sentence.step;
        let settled = self.replace(run, roles, &draft);
        run.step = 0;
        match settled {
            Ok(Some((better, end))) => {
                self.confirm(better.sentence);
                Ok(end)
            }
            Ok(None) => {
                self.confirm(draft.sentence);
                Ok(end)
            }
            Err(error) => {
                // what was written before it failed stays written
                self.confirm(draft.sentence);
                Err(error)
            }
        }
    }

    /// What takes the place of a doubted sentence; None when it is kept.
    fn replace(
        &mut self,
        run: &mut Run<'_>,
        roles: &mut Roles,
        draft: &Draft,
    ) -> Result<Option<(Draft, End)>, RunError> {
        if run.stopped() {
            return Ok(None);
        }
        let before = roles.gate.judge(run, self.question, draft)?;
        run.emit(draft.sentence.finished(before.clone()));
        if before.decision != Decision::LookUp || !needs_corpus(run.tools.config) || run.stopped() {
            return Ok(None);
        }
        let need = Need {
            question: self.question,
            confirmed: &self.confirmed,
            doubted: Some(&draft.sentence),
        };
        let LookUp {
            query,
            passages: found,
        } = look_up(run, roles, &need)?;
        let step = draft.sentence.step;
        let (better, end, after) = match self.again(run, roles, &found)? {
            Again::Better(better, end, after) => (*better, end, after),
            Again::Nothing { told } => {
                keep_draft(run, draft, before, told);
                self.lookups.push((step, found));
                return Ok(None);
            }
        };
        let rose = before.measure == after.measure
            && asks_for_more(before.value, after.value, run.tools.config.gate.delta);
        let more = if rose {
            expand(run, self.question, &query, &found)?
        } else {
            None
        };
        let Some(more) = more else {
            run.emit(better.sentence.finished(kept(after)));
            self.lookups.push((step, found));
            return Ok(Some((better, end)));
        };
        run.emit(better.sentence.finished(Uncertainty {
            decision: Decision::Expand,
            ..after.clone()
        }));
        match self.again(run, roles, &more)? {
            Again::Better(best, end, after) => {
                run.emit(best.sentence.finished(kept(after)));
                self.lookups.push((step, more));
                Ok(Some((*best, end)))
            }
            Again::Nothing { told } => {
                keep_draft(run, &better, after, told);
                self.lookups.push((step, found));
                Ok(Some((better, end)))
            }
        }
    }

    /// The first sentence of a new text from these passages, and what the gate says of it.
    fn again(
        &mut self,
        run: &mut Run<'_>,
        roles: &mut Roles,
        passages: &Passages,
    ) -> Result<Again, RunError> {
        if passages.hits.is_empty() || run.stopped() {
            return Ok(Again::Nothing { told: false });
        }
        let written = self.stream(run, roles, passages, &|_| None);
        // what was torn off here never was a part of the answer
        self.torn = None;
        let Written { draft, end } = match written {
            Err(RunError::Model(LlmError::PromptTooLong { .. })) => {
                return Ok(Again::Nothing { told: false });
            }
            written => written?,
        };
        let Some(draft) = draft else {
            return Ok(Again::Nothing { told: false });
        };
        // a sentence that a limit or the user cut off is no better than a whole one
        if run.stopped() || matches!(end, End::MaxTokens | End::ContextFull) {
            return Ok(Again::Nothing { told: true });
        }
        let judged = roles.gate.judge(run, self.question, &draft)?;
        Ok(Again::Better(Box::new(draft), end, judged))
    }
}

/// What writing a sentence again brought.
enum Again {
    Better(Box<Draft>, End, Uncertainty),
    /// Nothing that can be kept; `told` when a part of it was published.
    Nothing {
        told: bool,
    },
}

/// The sentence stays after all. When another one was begun in its place it is published anew.
fn keep_draft(run: &mut Run<'_>, draft: &Draft, judged: Uncertainty, told: bool) {
    let (step, sentence) = (draft.sentence.step, &draft.sentence);
    if told {
        run.emit(Event::StepStarted { step });
        for Token {
            text,
            logprob,
            entropy,
            ..
        } in &sentence.tokens
        {
            run.emit(Event::TokenGenerated {
                step,
                text: text.clone(),
                logprob: *logprob,
                entropy: *entropy,
            });
        }
    }
    run.emit(sentence.finished(kept(judged)));
}

/// It is written again once and no more, whatever the gate says.
fn kept(judged: Uncertainty) -> Uncertainty {
    Uncertainty {
        decision: Decision::Keep,
        ..judged
    }
}

/// More of what was found, ordered anew, for the same number of places. None when there is no more.
fn expand(
    run: &mut Run<'_>,
    question: &str,
    query: &str,
    found: &Passages,
) -> Result<Option<Passages>, RunError> {
    let settings = &run.tools.config.gate;
    let wanted = (found.hits.len() + settings.expand_by as usize).min(settings.expand_to as usize);
    let added = wanted.saturating_sub(found.hits.len());
    if added == 0 || found.spare.is_empty() {
        return Ok(None);
    }
    let (taken, left) = found.spare.split_at(added.min(found.spare.len()));
    let k = u32::try_from(wanted).unwrap_or(u32::MAX);
    let below = |chunk| DroppedChunk {
        chunk,
        reason: DropReason::BelowK { k },
    };
    let dropped = left.iter().map(|hit| below(hit.chunk.id)).collect();
    let kept = reranked(
        run,
        query,
        found.hits.iter().chain(taken).cloned().collect(),
    )?;
    context::choose(
        run,
        question,
        Found {
            kept,
            dropped,
            ..Found::default()
        },
    )
    .map(Some)
}
