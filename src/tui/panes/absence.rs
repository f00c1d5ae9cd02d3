//! The reason that a pane has nothing to show in a run, in one line.

use crate::config::{RefinerKind, StageUse};
use crate::event::{Decision, LeftOut, Outcome, Part, QuestionKind};
use crate::story::Run;
use crate::story::words::{self, duration};
use crate::tui::view::Scene;

/// Maximum number of presets that are named.
const MAX_NAMED: usize = 4;

/// Returns that a role is off in a run, with the presets in which it is on.
pub(super) fn off(scene: &Scene<'_>, run: &Run, role: &str) -> String {
    let with: Vec<&str> = scene.ui.next_run.presets_with(role).collect();
    let preset = words::preset(&run.preset);
    if with.contains(&run.preset.as_str()) {
        return format!("turned off in the settings of this run; {preset} has it");
    }

    let others = match with.as_slice() {
        [] => return format!("not in {preset}"),
        [one] => format!("{one} has it"),
        many if many.len() > MAX_NAMED => "most others have it".to_owned(),
        many => format!("{} have it", many.join(", ")),
    };
    format!("not in {preset}: {others}")
}

/// Returns why a part that is on did nothing in a run that is over.
pub(super) fn skip_reason(run: &Run, part: Part) -> String {
    match run.left_out(part) {
        Some(LeftOut::NotNeeded) => "skipped: the sentence was certain without it".to_owned(),
        Some(LeftOut::NoTime { needed_ms, left_ms }) => format!(
            "skipped: about {} needed, {} of the time left · enter here runs it",
            duration(needed_ms),
            duration(left_ms)
        ),
        None => unsaid_reason(run, part).to_owned(),
    }
}

/// Returns why a part did nothing where no event of the run says it.
fn unsaid_reason(run: &Run, part: Part) -> &'static str {
    let is_escalated = match part {
        Part::Rewriter | Part::Utility => false,
        Part::Linker | Part::Filter | Part::Reranker | Part::Understanding | Part::Refiner => {
            run.settings.stages.when == StageUse::AsNeeded
        }
    };
    let is_searched = run.lookups.iter().any(|lookup| lookup.step > 0);
    let is_uncertain = run.steps.iter().any(|step| {
        let mut known = step.uncertainties().flatten();
        known.any(|known| known.decision == Decision::Retrieve)
    });
    let is_measured = run.calls.iter().any(|call| call.purpose == "rephrase");
    let is_in_parts = part == Part::Understanding && run.settings.refiner.kind == RefinerKind::Off;
    let is_sure = run.gate.is_some() && !run.steps.is_empty() && !is_searched && !is_uncertain;
    let has_read = run.lookups.iter().any(|lookup| !lookup.hits().is_empty());

    match &run.outcome {
        Some(Outcome::Stopped) if is_measured && is_in_parts => {
            "stopped before two chunks were reworded and compared"
        }
        Some(Outcome::Stopped) if is_measured => "stopped while it was measured",
        Some(Outcome::Stopped) => "not reached: the run was stopped before it",
        Some(Outcome::Failed(_)) => "not reached: the run failed before it",
        _ if run.lookups.is_empty() && is_sure => "skipped: no sentence was uncertain",
        _ if run.lookups.is_empty() => "skipped: nothing was searched",
        _ if run.scope.kind == QuestionKind::Summary => "skipped: the document was read in order",
        _ if !has_read => "skipped: nothing was found",
        _ if is_escalated && run.is_quoted() => "skipped: the answer is of quotations",
        _ if is_escalated && is_sure => "skipped: no sentence was uncertain",
        Some(Outcome::Completed | Outcome::LimitReached) | None => "did not run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{
        ChunkText, GateCard, Hit, Problem, Retrieval, Scope, Uncertainty, UncertaintyMeasure,
    };
    use crate::story::{Lookup, Origin, Step};

    fn make_left_out(reason: LeftOut) -> Run {
        let mut run = Run::default();
        let mut lookup = Lookup::default();
        lookup.left_out.push((vec![Part::Refiner], reason));
        run.lookups.push(lookup);
        run
    }

    /// Returns a run that retrieved a chunk at its start and wrote a sentence that a gate judged.
    fn make_gated(decision: Decision) -> Run {
        let mut run = Run::default();
        run.gate = Some(GateCard {
            measure: UncertaintyMeasure::Probe,
            threshold: 0.5,
            probe: None,
            fallback: None,
        });
        run.settings.stages.when = StageUse::AsNeeded;
        let mut lookup = Lookup::default();
        lookup.retrieval = Some(Retrieval {
            query: "the lamp".to_owned(),
            hits: vec![Hit::with_rank(ChunkText::default(), 1)],
            bm25_found: 1,
            vector_found: 1,
            wall_us: 1,
            filter: None,
            documents: Default::default(),
        });
        run.lookups.push(lookup);
        run.steps.push(Step {
            step: 1,
            uncertainty: Some(Uncertainty {
                measure: UncertaintyMeasure::Probe,
                value: 0.4,
                threshold: Some(0.5),
                decision,
            }),
            ..Step::default()
        });
        run.outcome = Some(Outcome::Completed);
        run
    }

    fn change_gated(decision: Decision, change: impl FnOnce(&mut Run)) -> Run {
        let mut run = make_gated(decision);
        change(&mut run);
        run
    }

    /// Each reason with its opposite: another value gives other words.
    #[test]
    fn the_reason_of_a_part_that_did_nothing_is_worded_from_the_values() {
        use Decision::{Keep, Retrieve};

        let no_time = LeftOut::NoTime {
            needed_ms: 39_100,
            left_ms: 21_200,
        };
        let failure = Outcome::Failed(Problem::new("the model is gone", "load it again"));
        let sure = "skipped: no sentence was uncertain";
        let cases = [
            (
                make_left_out(LeftOut::NotNeeded),
                "skipped: the sentence was certain without it",
            ),
            (
                make_left_out(no_time),
                "skipped: about 39.1 s needed, 21.2 s of the time left · enter here runs it",
            ),
            (make_gated(Keep), sure),
            (make_gated(Retrieve), "did not run"),
            (
                change_gated(Keep, |run| run.settings.stages.when = StageUse::Always),
                "did not run",
            ),
            (change_gated(Keep, |run| run.gate = None), "did not run"),
            (
                change_gated(Keep, |run| run.lookups[0].step = 1),
                "did not run",
            ),
            (change_gated(Keep, |run| run.lookups.clear()), sure),
            (
                change_gated(Retrieve, |run| run.lookups.clear()),
                "skipped: nothing was searched",
            ),
            (
                change_gated(Keep, |run| run.lookups[0].retrieval = None),
                "skipped: nothing was found",
            ),
            (
                change_gated(Keep, |run| {
                    run.scope = Scope {
                        kind: QuestionKind::Summary,
                        ..Scope::default()
                    };
                }),
                "skipped: the document was read in order",
            ),
            (
                change_gated(Keep, |run| run.outcome = Some(Outcome::Stopped)),
                "not reached: the run was stopped before it",
            ),
            (
                change_gated(Keep, |run| run.steps[0].origin = Origin::Given),
                "skipped: the answer is of quotations",
            ),
            (
                change_gated(Keep, |run| run.outcome = Some(failure)),
                "not reached: the run failed before it",
            ),
        ];
        for (run, expected) in cases {
            assert_eq!(skip_reason(&run, Part::Refiner), expected);
        }

        // a part that does not wait for an uncertain sentence
        assert_eq!(skip_reason(&make_gated(Keep), Part::Utility), "did not run");
    }
}
