use ratatui::text::Line;

use crate::tui::state::{Run, Step, setting};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::{Content, Item};

use super::{Scene, role_off};

/// Chunks named a sentence; weaker ones would only be noise.
const CHUNKS_SHOWN: usize = 4;

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    if let Some(run) = scene.run {
        attended(scene, run, cells, &mut content);
        content.gap();
        let says = role_off::words(scene, run, "linker", "No links");
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
    }
    content.gap();
    let what = "A linker ties sentences together: which sentence of a source leans on which other, and which of them an answer leans on.";
    content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
    content
}

/// Which chunks each sentence of the answer attended to.
fn attended(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    let steps: Vec<&Step> = run.steps.iter().filter(|step| !step.attended.is_empty()).collect();
    if steps.is_empty() {
        if setting(&run.settings, "answer.attribution").as_deref() == Some("false") {
            content.gap();
            let how = "Set answer.attribution to see which chunks each sentence attends to.";
            content.paragraph(how, scene.style(Tone::Quiet), "   ", cells);
        }
        return;
    }
    for (row, step) in steps.iter().enumerate() {
        content.item(Item { row, part: 0 }, attended_row(scene, step, cells));
    }
    content.gap();
    let hint = "← the share of attention that went to each chunk while the sentence was written: a hint, not a cause";
    content.paragraph(hint, scene.style(Tone::Quiet), "   ", cells);
}

fn attended_row(scene: &Scene<'_>, step: &Step, cells: usize) -> Line<'static> {
    let mut line = Line::from(scene.span(Tone::Strong, format!(" {:<4}", format!("s{}", step.step))));
    line.push_span(scene.span(Tone::Quiet, "← "));
    for (place, attended) in step.attended.iter().take(CHUNKS_SHOWN).enumerate() {
        let tone = if place == 0 { Tone::Text } else { Tone::Quiet };
        line.push_span(scene.span(tone, format!("[{}] {:.2}  ", attended.label, attended.share)));
    }
    let room = cells.saturating_sub(line.width());
    line.push_span(scene.span(Tone::Quiet, text::clip(&step.text, room).into_owned()));
    line
}
