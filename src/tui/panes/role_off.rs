//! One calm line for what a preset leaves off.

use crate::tui::state::Run;

use crate::tui::view::Scene;

/// `before`, because the role is off in this preset; which presets have it on, when any has.
pub(super) fn words(scene: &Scene<'_>, run: &Run, role: &str, before: &str) -> String {
    let on: Vec<&str> = scene.ui.next_run.presets_with(role).collect();
    let other = match on.as_slice() {
        [] => String::new(),
        [one] => format!(" Preset {one} has it on."),
        many => format!(" Presets {} have it on.", many.join(", ")),
    };
    format!(
        "{before}: the {role} is off in preset {}.{other}",
        run.preset
    )
}
