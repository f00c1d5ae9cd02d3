use ratatui::text::Line;

use crate::tui::keys::{Action, Context};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Request, Scene, Size, View};
use crate::tui::viewport::{Content, Scroll};

/// The keys that work where help was called.
pub struct Help {
    /// The contexts that held there, the nearest first.
    pub contexts: Vec<Context>,
}

impl View for Help {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Keys that work here".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, &self.contexts, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(76, 60)
    }

    fn act(&self, action: Action, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        // the key that opened help closes it
        matches!(action, Action::Help | Action::HelpKey).then_some(Request::Close)
    }
}

fn content(scene: &Scene<'_>, contexts: &[Context], cells: usize) -> Content {
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
