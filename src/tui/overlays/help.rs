use ratatui::text::Line;

use crate::tui::keys::{Action, Context};
use crate::tui::panes::Scene;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::Content;

/// Cells of the column of keys.
const KEYS: usize = 24;

pub(super) fn content(scene: &Scene<'_>, contexts: &[Context], cells: usize) -> Content {
    let mut content = Content::default();
    for context in contexts {
        if !content.rows.is_empty() {
            content.gap();
        }
        content.line(scene.span(Tone::Strong, format!(" {}", context.title())));
        let here = Action::ALL.iter().filter(|action| action.info().context == *context);
        for action in here.filter(|action| !scene.keymap.keys(**action).is_empty()) {
            content.line(Line::from(vec![
                scene.span(Tone::Key, format!("   {}", text::left(&scene.keymap.signs(*action), KEYS))),
                scene.span(Tone::Text, text::clip(action.info().doc, cells.saturating_sub(KEYS + 4)).into_owned()),
            ]));
        }
    }
    content.gap();
    let place = "Keys are changed in keymap.toml; `ragscope paths` prints where it goes. Select text with the mouse while it is released, or with shift held.";
    content.paragraph(place, scene.style(Tone::Quiet), " ", cells);
    content
}
