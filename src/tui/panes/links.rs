use crate::tui::theme::Tone;
use crate::tui::viewport::Content;

use super::{Scene, role_off};

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    content.gap();
    if let Some(run) = scene.run {
        let says = role_off::words(scene, run, "linker", "No links");
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        content.gap();
    }
    let what = "A linker ties sentences together: which sentence of a source leans on which other, and which of them an answer leans on.";
    content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
    content
}
