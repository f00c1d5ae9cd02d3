use crate::tui::theme::Tone;
use crate::tui::viewport::Content;

use super::{Scene, role_off};

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    content.gap();
    if let Some(run) = scene.run {
        let says = role_off::words(scene, run, "refiner", "No rounds");
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        content.gap();
    }
    let what = "A refiner repairs the context in rounds: what was missing, what was looked up again, and whether it was enough then.";
    content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
    content
}
