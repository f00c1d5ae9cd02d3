//! A sentence that the gate was asked about: kept, or looked up and written again (SEARAG, algorithm 1 and section 3.3).

use super::answer::{Writing, Written};
use super::ask::{LookUp, look_up};
use super::passages::{self, Passages, needs_corpus};
use super::roles::{Draft, Found, Need, Roles, reranked};
use super::run::{Run, RunError};
use crate::event::{Decision, DropReason, DroppedChunk, Uncertainty};
use crate::llm::End;
use crate::methods::searag::asks_for_more;

impl Writing<'_> {
    /// Ask the gate about a sentence and confirm it, or what a lookup makes of it. `end` is how its completion ended; given back is how the
    /// completion of the confirmed sentence did.
    pub fn settle(&mut self, run: &mut Run<'_>, roles: &mut Roles, draft: Draft, end: End) -> Result<End, RunError> {
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
        let need = Need { question: self.question, confirmed: &self.confirmed, doubted: Some(&draft.sentence) };
        let LookUp { query, passages: found } = look_up(run, roles, &need)?;
        let Some((better, end, after)) = self.again(run, roles, &found)? else { return Ok(None) };
        let more = match asks_for_more(before.value, after.value, run.tools.config.gate.delta) {
            true => expand(run, self.question, &query, &found)?,
            false => None,
        };
        if let Some(more) = more {
            run.emit(better.sentence.finished(Uncertainty { decision: Decision::Expand, ..after.clone() }));
            if let Some((best, end, after)) = self.again(run, roles, &more)? {
                run.emit(best.sentence.finished(kept(after)));
                self.lookups.push((draft.sentence.step, more));
                return Ok(Some((best, end)));
            }
        } else {
            run.emit(better.sentence.finished(kept(after)));
        }
        self.lookups.push((draft.sentence.step, found));
        Ok(Some((better, end)))
    }

    /// The first sentence of a new text from these passages, and what the gate says of it. None when nothing came, or no passage is there.
    fn again(
        &mut self,
        run: &mut Run<'_>,
        roles: &mut Roles,
        passages: &Passages,
    ) -> Result<Option<(Draft, End, Uncertainty)>, RunError> {
        if passages.hits.is_empty() || run.stopped() {
            return Ok(None);
        }
        let Written { draft, end } = self.stream(run, roles, passages, &|_| None)?;
        let Some(draft) = draft.filter(|draft| !draft.sentence.text().is_empty() && !run.stopped()) else {
            return Ok(None);
        };
        let judged = roles.gate.judge(run, self.question, &draft)?;
        Ok(Some((draft, end, judged)))
    }
}

/// It is written again once and no more, whatever the gate says.
fn kept(judged: Uncertainty) -> Uncertainty {
    Uncertainty { decision: Decision::Keep, ..judged }
}

/// More of what was found, ordered anew, for the same number of places. None when there is no more.
fn expand(run: &mut Run<'_>, question: &str, query: &str, found: &Passages) -> Result<Option<Passages>, RunError> {
    let settings = &run.tools.config.gate;
    let wanted = (found.hits.len() + settings.expand_by as usize).min(settings.expand_to as usize);
    let added = wanted.saturating_sub(found.hits.len());
    if added == 0 || found.spare.is_empty() {
        return Ok(None);
    }
    let (taken, left) = found.spare.split_at(added.min(found.spare.len()));
    let k = u32::try_from(wanted).unwrap_or(u32::MAX);
    let below = |chunk| DroppedChunk { chunk, reason: DropReason::BelowK { k } };
    let dropped = left.iter().map(|hit| below(hit.chunk.id)).collect();
    let kept = reranked(run, query, found.hits.iter().chain(taken).cloned().collect())?;
    passages::choose(run, question, Found { kept, dropped, ..Found::default() }).map(Some)
}
