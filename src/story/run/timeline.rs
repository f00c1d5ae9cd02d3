//! The stages of a run: the fold of their times, the name of each and what it decided.

use std::mem::discriminant;

use crate::event::{LeftOut, Part, RunEvent, Stage};
use crate::story::lookup::Lookup;
use crate::story::step::Origin;
use crate::story::words::{
    ablation, follow_up, gate_decision, is_unsure, part_name, quantity, support, utility_change,
};

use super::stage::{RunStage, StageKind};
use super::state::Run;

impl Run {
    /// Takes in when an event happened, before it is folded: the time since the event before was
    /// spent on its work.
    pub(super) fn add_to_stages(&mut self, event: &RunEvent, t_us: u64) {
        let kind = self.kind_of(event);
        let (read, written) = self.tokens_of(event);

        // the times of a recorded run may be anything
        let start_us = self.stages.last().map_or(0, |stage| stage.end_us);
        let t_us = t_us.max(start_us);
        match (self.stages.last_mut(), kind) {
            (Some(last), None) => last.end_us = t_us,
            (Some(last), Some(kind)) if last.kind.join(kind).is_some() => {
                last.kind = last.kind.join(kind).unwrap_or(kind);
                last.end_us = t_us;
            }
            (_, Some(kind)) => self.stages.push(RunStage {
                kind,
                start_us,
                end_us: t_us,
                read: 0,
                written: 0,
            }),
            (None, None) => {}
        }
        if let Some(last) = self.stages.last_mut() {
            last.read += u64::from(read);
            last.written += u64::from(written);
        }
    }

    /// Returns the prompt tokens that an event says were evaluated, and the tokens generated.
    fn tokens_of(&self, event: &RunEvent) -> (u32, u32) {
        let RunEvent::ModelCallFinished { call, usage, .. } = event else {
            let is_token = matches!(event, RunEvent::TokenGenerated { .. });
            return (0, u32::from(is_token));
        };
        let call = self.calls.iter().rfind(|known| known.call == *call);
        // the tokens of an answer are events of their own
        let is_answer = call.is_some_and(|call| call.purpose == "answer");
        let written = if is_answer { 0 } else { usage.tokens_generated };
        (usage.prompt_tokens_evaluated, written)
    }

    /// Returns the work that an event is of; `None` for one that continues the work before it.
    fn kind_of(&self, event: &RunEvent) -> Option<StageKind> {
        Some(match event {
            RunEvent::FollowUpRewritten { .. } | RunEvent::QuestionRewritten { .. } => {
                StageKind::Rewrite
            }
            RunEvent::QueryWritten { step, .. } | RunEvent::RetrievalFinished { step, .. } => {
                let lookup = self.lookup_at(*step);
                StageKind::Search { lookup }
            }
            RunEvent::LinksRead { step, .. } | RunEvent::ChunksLinked { step, .. } => {
                let lookup = self.lookup_at(*step);
                StageKind::Link { lookup }
            }
            RunEvent::ChunksGraded { step, .. }
            | RunEvent::ChunksJudged { step, .. }
            | RunEvent::ChunksReranked { step, .. } => {
                let lookup = self.lookup_at(*step);
                StageKind::Grade { lookup }
            }
            RunEvent::UnderstandingMeasured { .. } | RunEvent::UnderstandingSkipped { .. } => {
                let round = self.refinement.rounds.len();
                StageKind::Measure { round }
            }
            RunEvent::ModelCalled { purpose, .. } => return self.kind_of_call(purpose),
            RunEvent::StepStarted { step }
            | RunEvent::TokenGenerated { step, .. }
            | RunEvent::ThoughtGenerated { step, .. }
            | RunEvent::StepFinished { step, .. }
            | RunEvent::StepGiven { step, .. } => {
                let begins = matches!(event, RunEvent::StepStarted { .. });
                self.writing(*step, begins)
            }
            RunEvent::SupportMeasured { .. } => StageKind::Support,
            RunEvent::StepCited { .. } | RunEvent::VerdictGiven { .. } => StageKind::Check,
            RunEvent::StepAblated { .. } => StageKind::Ablate,
            RunEvent::UtilityMeasured { .. } | RunEvent::AnswerSampled { .. } => StageKind::Weigh,
            _ => return None,
        })
    }

    /// Returns the work that a model is called for.
    fn kind_of_call(&self, purpose: &str) -> Option<StageKind> {
        let last = self.stages.last().map(|stage| stage.kind);
        Some(match purpose {
            "answer" => {
                let searched = self.lookups.last().filter(|lookup| lookup.step > 0);
                let next = self.steps.last().map_or(1, |step| step.step + 1);
                match (last, searched) {
                    // drafts are written after each other, a sentence again after its lookup
                    (Some(StageKind::Write { .. }), _) | (_, None) => self.writing(next, false),
                    (_, Some(lookup)) => self.writing(lookup.step, true),
                }
            }
            "rewrite follow-up" | "rewrite question" => StageKind::Rewrite,
            "rephrase" | "understanding" => StageKind::Measure {
                round: self.refinement.rounds.len(),
            },
            "relevant" | "rerank" | "grade" | "reflect" | "critic" => StageKind::Grade {
                lookup: self.lookups.len().saturating_sub(1),
            },
            "support" => StageKind::Support,
            "citation" => StageKind::Check,
            "ablation" => StageKind::Ablate,
            "utility samples" | "utility" | "answer samples" => StageKind::Weigh,
            // judgements and samples belong to the work around them
            _ => return None,
        })
    }

    /// Returns the writing of a sentence; one that begins replaces the sentence that is there.
    fn writing(&self, step: u32, begins: bool) -> StageKind {
        let known = self.steps.iter().rfind(|known| known.step == step);
        let version = known.map_or(0, |known| {
            known.replaced.len() + usize::from(begins && !known.tokens.is_empty())
        });
        StageKind::Write {
            first: step,
            last: step,
            version,
        }
    }

    /// Returns the name of a stage.
    pub fn stage_name(&self, kind: StageKind) -> String {
        match kind {
            StageKind::Rewrite => "question".to_owned(),
            StageKind::Search { lookup: 0 } => "search".to_owned(),
            StageKind::Search { .. } => "search again".to_owned(),
            StageKind::Link { .. } => "link".to_owned(),
            StageKind::Grade { .. } => "grade".to_owned(),
            StageKind::Measure { round } => format!("measure {}", round + 1),
            StageKind::Write {
                version: 1..,
                first,
                ..
            } => format!("rewrite s{first}"),
            StageKind::Write { .. } if self.gate.is_none() => "write".to_owned(),
            StageKind::Write { first, last, .. } if first == last => format!("draft s{first}"),
            StageKind::Write { first, last, .. } => format!("draft s{first}-{last}"),
            StageKind::Support => "check sources".to_owned(),
            StageKind::Check => "verdict".to_owned(),
            StageKind::Ablate => "leave out".to_owned(),
            StageKind::Weigh => "utility".to_owned(),
        }
    }

    /// Returns the parts that a stage had no time for.
    pub fn parts_without_time(&self, kind: StageKind) -> Vec<Part> {
        let lookup = match kind {
            StageKind::Search { lookup } => self.lookups.get(lookup),
            _ => None,
        };
        let parts = lookup.into_iter().flat_map(Lookup::parts_without_time);
        parts.collect()
    }

    /// Returns what the last stage is doing, or what it decided in a run that is
    /// not over.
    pub fn stage_activity(&self, kind: StageKind) -> String {
        let call = self.calls.last().filter(|call| call.batch.is_none());
        let is_own = call.is_some_and(|call| {
            let of_call = self.kind_of_call(&call.purpose);
            // judgements and samples are of the work around them
            of_call.is_none_or(|of_call| discriminant(&of_call) == discriminant(&kind))
        });
        if let StageKind::Write { last, .. } = kind {
            let known = self.steps.iter().find(|step| step.step == last);
            let is_begun = known.is_some_and(|step| !step.tokens.is_empty());
            return if is_own && !is_begun {
                format!("{} …", self.activity())
            } else {
                format!("writing sentence {last} …")
            };
        }

        let decided = self.stage_decision(kind);
        if is_own {
            format!("{} …", self.activity())
        } else if decided.is_empty() {
            format!("{} …", stage_work(kind))
        } else {
            decided
        }
    }

    /// Returns what a stage decided; empty while it has not.
    pub fn stage_decision(&self, kind: StageKind) -> String {
        let of_lookup = |at: usize, words: fn(&Lookup) -> String| {
            let lookup = self.lookups.get(at);
            lookup.map_or_else(String::new, words)
        };
        match kind {
            StageKind::Rewrite => {
                let understood = self.follow_up.as_ref().and_then(follow_up);
                let rewritten = self.rewritten.as_ref();
                let words = understood.or_else(|| Some(rewritten?.text.clone()));
                words.unwrap_or_else(|| "asked by itself".to_owned())
            }
            StageKind::Search { lookup } => of_lookup(lookup, lookup_words),
            StageKind::Link { lookup } => of_lookup(lookup, linking_words),
            StageKind::Grade { lookup } => of_lookup(lookup, narrowing_words),
            StageKind::Measure { round } => round_words(self, round),
            StageKind::Write {
                first,
                last,
                version,
            } => writing_words(self, first, last, version),
            StageKind::Support => self.support.map_or_else(String::new, support),
            StageKind::Check => {
                let verdict = self.verdict.as_ref();
                let name = verdict.map(|one| self.search_extent().verdict_name(one.kind));
                name.unwrap_or_default()
            }
            StageKind::Ablate => {
                let mut words = self.steps.iter().filter_map(ablation);
                words.next().unwrap_or_default()
            }
            StageKind::Weigh => {
                let change = self.utility().map(|utility| utility_change(utility.delta));
                change.unwrap_or_default()
            }
        }
    }
}

/// Returns what a stage does while no model is called for it.
fn stage_work(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Rewrite => "rewriting the question",
        StageKind::Search { .. } => "searching",
        StageKind::Link { .. } => "joining linked texts",
        StageKind::Grade { .. } => "grading",
        StageKind::Measure { .. } => "measuring the context",
        StageKind::Write { .. } => "writing",
        StageKind::Support | StageKind::Check => "checking the answer",
        StageKind::Ablate => "leaving out each source",
        StageKind::Weigh => "measuring the utility",
    }
}

fn lookup_words(lookup: &Lookup) -> String {
    let late: Vec<&str> = lookup.parts_without_time().map(part_name).collect();
    let mut words = match (&lookup.retrieval, &lookup.context) {
        (None, _) => return String::new(),
        (Some(_), None) => format!("{} found", lookup.found),
        // links add to what was found
        (Some(_), Some(context)) if late.is_empty() || context.chunks.len() > lookup.found => {
            let passages = quantity(context.chunks.len() as u64, "passage");
            format!("{} found → {passages} read", lookup.found)
        }
        (Some(_), Some(context)) => {
            format!("{} of {} read", context.chunks.len(), lookup.found)
        }
    };
    let is_needless = |reason: &LeftOut| *reason == LeftOut::NotNeeded;
    let needless = lookup.left_out.iter().filter(|(_, why)| is_needless(why));
    let needless: usize = needless.map(|(parts, _)| parts.len()).sum();
    if needless > 0 {
        let stages = quantity(needless as u64, "stage");
        words.push_str(&format!(", {stages} not needed"));
    }
    match late.as_slice() {
        [] => {}
        [part] => words.push_str(&format!(", no time: {part}")),
        parts => {
            let stages = quantity(parts.len() as u64, "stage");
            words.push_str(&format!(", no time: {stages}"));
        }
    }
    words
}

fn linking_words(lookup: &Lookup) -> String {
    joined_texts(lookup).map_or_else(String::new, |texts| {
        let texts = quantity(texts as u64, "joined text");
        format!("{} → {texts}", lookup.found)
    })
}

/// Returns the number of texts that the hits of a lookup were joined to.
fn joined_texts(lookup: &Lookup) -> Option<usize> {
    let mut stages = lookup.funnel.stages();
    let linked = stages.find(|narrowed| narrowed.stage == Stage::Linked)?;
    Some(linked.kept)
}

fn narrowing_words(lookup: &Lookup) -> String {
    let texts = joined_texts(lookup).unwrap_or(lookup.found);
    let kept = lookup.funnel.stages().last();
    let kept = kept.filter(|narrowed| narrowed.stage != Stage::Linked);
    let reranked = lookup.funnel.reranked_texts();
    let kept = kept.map(|narrowed| format!("{texts} → {}", narrowed.kept));
    let reranked = reranked.map(|texts| format!("{texts} reranked"));
    let words: Vec<String> = [kept, reranked].into_iter().flatten().collect();
    words.join(", ")
}

fn round_words(run: &Run, round: usize) -> String {
    let rounds = &run.refinement.rounds;
    let words = match rounds.get(round).map(|round| &round.measured) {
        None => String::new(),
        Some(Err(_)) => "not measured".to_owned(),
        Some(Ok(known)) if known.certain => format!("same if reworded ({:.2})", known.dse),
        Some(Ok(known)) => format!("changes if reworded ({:.2})", known.dse),
    };
    // rounds before it were measured whole
    let is_last = round + 1 == rounds.len();
    match run.refinement.part_words().filter(|_| is_last) {
        Some(part) => format!("{words}, {part}"),
        None => words,
    }
}

fn writing_words(run: &Run, first: u32, last: u32, version: usize) -> String {
    let range = first..=last;
    let steps = run.steps.iter();
    let steps = steps.filter(|one| range.contains(&one.step) && one.origin != Origin::Reused);
    let steps: Vec<_> = steps.collect();
    let sentences = quantity(steps.len() as u64, "sentence");
    if !steps.is_empty() && steps.iter().all(|step| step.origin == Origin::Given) {
        return format!("{sentences} given, nothing generated");
    }
    if run.gate.is_none() {
        return sentences;
    }

    let versions = steps.iter().filter_map(|step| {
        let measured = step.uncertainties().nth(version).flatten()?;
        Some((step.step, measured))
    });
    let mut words = String::new();
    for (step, measured) in versions {
        words = match gate_decision(measured) {
            unsure if is_unsure(measured) => format!("s{step} {unsure}"),
            sure if words.is_empty() => sure,
            _ => words,
        };
    }
    words
}
