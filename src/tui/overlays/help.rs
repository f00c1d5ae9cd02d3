use ratatui::text::Line;

use crate::tui::keys::{Action, Context};
use crate::tui::panes::Scene;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::Content;

pub(super) fn content(scene: &Scene<'_>, contexts: &[Context], cells: usize) -> Content {
    let mut content = Content::default();
    let valid = |context: Context| {
        Action::ALL
            .iter()
            .copied()
            .filter(move |action| action.info().context == context)
    };
    let with_keys =
        |context: Context| valid(context).filter(|action| !scene.keymap.keys(*action).is_empty());
    let widest = contexts
        .iter()
        .flat_map(|context| with_keys(*context))
        .map(|action| text::width(&scene.keymap.signs(action)));
    let keys = widest.max().unwrap_or(0) + 2;
    for context in contexts {
        if !content.rows.is_empty() {
            content.gap();
        }
        content.line(scene.span(Tone::Strong, format!(" {}", context.title())));
        for action in with_keys(*context) {
            let (signs, doc) = (scene.keymap.signs(action), action.info().doc);
            for (at, range) in text::wrap(doc, cells.saturating_sub(keys + 4))
                .into_iter()
                .enumerate()
            {
                content.line(Line::from(vec![
                    scene.span(
                        Tone::Key,
                        format!("   {}", text::left(if at == 0 { &signs } else { "" }, keys)),
                    ),
                    scene.span(Tone::Text, doc[range].to_owned()),
                ]));
            }
        }
    }
    content.gap();
    let place = "Keys are changed in keymap.toml; `ragscope paths` prints where it goes. Select text with the mouse while it is released, or with shift held.";
    content.paragraph(place, scene.style(Tone::Quiet), " ", cells);
    content
}
