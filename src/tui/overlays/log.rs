//! The log overlay.

use crate::tui::page::Page;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Scene, View};
use crate::tui::viewport::{Content, Scroll};

/// Warnings and errors, the latest first.
pub struct Log;

impl View for Log {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Warnings and errors".to_owned()
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
    let mut page = Page::new(scene, cells);
    if scene.state.log.is_empty() {
        page.remark("No warnings or errors so far.");
    }
    for entry in scene.state.log.iter().rev() {
        let tone = if entry.failed {
            Tone::Bad
        } else {
            Tone::Warning
        };
        let sign = if entry.failed { "✗" } else { "!" };
        page.text(tone, "  ", &format!("{sign} {}", entry.text));
        if !entry.advice.is_empty() {
            page.text(Tone::Text, "    ", &entry.advice);
        }
    }
    page.content
}
