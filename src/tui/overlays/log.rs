use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Scene, View};
use crate::tui::viewport::{Content, Scroll};

/// Warnings and failures, the latest first.
pub struct Log;

impl View for Log {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Warnings and failures".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let lines: Vec<String> = scene
            .state
            .log
            .iter()
            .map(|entry| format!("{} {}", entry.text, entry.advice))
            .collect();
        Copied::lines("the log", &lines)
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    if scene.state.log.is_empty() {
        content.gap();
        content.paragraph(
            "Nothing went wrong so far.",
            scene.style(Tone::Quiet),
            "   ",
            cells,
        );
    }
    for entry in scene.state.log.iter().rev() {
        let (sign, tone) = if entry.failed {
            ("✗", Tone::Bad)
        } else {
            ("!", Tone::Doubt)
        };
        content.paragraph(
            &format!("{sign} {}", entry.text),
            scene.style(tone),
            "  ",
            cells,
        );
        if !entry.advice.is_empty() {
            content.paragraph(&entry.advice, scene.style(Tone::Text), "    ", cells);
        }
    }
    content
}
