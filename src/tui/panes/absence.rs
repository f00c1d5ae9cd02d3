//! The reason that a pane has nothing to show in a run, in one line.

use crate::event::{LeftOut, Part};
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
        None if run.lookups.is_empty() && run.gate.is_some() => {
            "skipped: no sentence was uncertain".to_owned()
        }
        None => "did not run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{GateCard, UncertaintyMeasure};
    use crate::story::Lookup;

    #[test]
    fn a_skipped_stage_has_its_own_reason() {
        let run_of = |reason| {
            let mut run = Run::default();
            let mut lookup = Lookup::default();
            lookup.left_out.push((vec![Part::Refiner], reason));
            run.lookups.push(lookup);
            run
        };
        let reason = |run: &Run| skip_reason(run, Part::Refiner);
        assert_eq!(
            reason(&run_of(LeftOut::NotNeeded)),
            "skipped: the sentence was certain without it"
        );
        let no_time = LeftOut::NoTime {
            needed_ms: 39_100,
            left_ms: 21_200,
        };
        assert_eq!(
            reason(&run_of(no_time)),
            "skipped: about 39.1 s needed, 21.2 s of the time left · enter here runs it"
        );
        assert_eq!(
            skip_reason(&run_of(LeftOut::NotNeeded), Part::Linker),
            "did not run"
        );
        let mut gated = Run::default();
        gated.gate = Some(GateCard {
            measure: UncertaintyMeasure::Probe,
            threshold: 0.5,
            probe: None,
            fallback: None,
        });
        assert_eq!(reason(&gated), "skipped: no sentence was uncertain");
        assert_eq!(reason(&Run::default()), "did not run");
    }
}
