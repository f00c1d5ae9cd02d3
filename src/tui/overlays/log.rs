use crate::tui::panes::Scene;
use crate::tui::theme::Tone;
use crate::tui::viewport::Content;

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
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

pub(super) fn copied(scene: &Scene<'_>) -> Option<(String, String)> {
    let lines: Vec<String> = scene
        .state
        .log
        .iter()
        .map(|entry| format!("{} {}", entry.text, entry.advice))
        .collect();
    (!lines.is_empty()).then(|| ("the log".to_owned(), lines.join("\n")))
}
