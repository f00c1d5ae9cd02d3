//! One line about a role that is off in a preset.

use crate::story::Run;

use crate::tui::view::Scene;

/// Returns `before` with the reason, that the role is off in this preset, and the presets in which
/// it is on.
pub(super) fn words(scene: &Scene<'_>, run: &Run, role: &str, before: &str) -> String {
    let on: Vec<&str> = scene.ui.next_run.presets_with(role).collect();
    let other = match on.as_slice() {
        [] => String::new(),
        [one] => format!(" Preset {one} turns it on."),
        many => format!(" Presets {} turn it on.", many.join(", ")),
    };
    format!(
        "{before}: the {role} is off in preset {}.{other}",
        run.preset
    )
}
