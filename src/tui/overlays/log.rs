//! The log overlay.

use crate::tui::view::{Copied, Page, Scene, Scroll, Tone, View};

/// Warnings and errors, the latest first.
pub struct Log;

impl View for Log {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Warnings and errors".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        if scene.state.log.is_empty() {
            page.remark("No warnings or errors so far.");
        }

        for entry in scene.state.log.iter().rev() {
            let (tone, sign) = match entry.failed {
                Some(_) => (Tone::Bad, "✗"),
                None => (Tone::Warning, "!"),
            };
            let sign = format!("  {sign} ");
            page.text_with_sign(tone, &sign, &entry.problem.to_string());
            if let Some(advice) = &entry.problem.advice {
                page.text(Tone::Text, "    ", advice);
            }
        }
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let log = scene.state.log.iter();
        Copied::lines("the log", log.map(|entry| entry.problem.line()))
    }
}
