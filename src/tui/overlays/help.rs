//! The help overlay.

use crate::tui::text;
use crate::tui::view::{Action, Context, Page, Request, Scene, Scroll, Size, Tone, View};

/// The signs in front of the sentences of an answer.
const SIGNS: &str = "Signs in front of a sentence: ✓ a source holds it, ≈ a source has some of its words, ○ none does, ? the model was unsure, ≠ another source says \
     otherwise, · not judged: while it is written, or where the whole answer is uncertain.";

/// The ways to have other keys and the mouse.
const CHANGES: &str = "Change keys in keymap.toml; `ragscope paths` prints where it goes. Select text with the mouse while it is off, or with shift held.";

/// The keys that work where help was called.
pub struct Help {
    /// The contexts that held there.
    pub contexts: Vec<Context>,
}

impl View for Help {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Keys that work here".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let contexts = self.contexts.iter();
        let actions = contexts.flat_map(|context| actions_with_keys(scene, *context));
        let widths = actions.map(|action| text::width(&scene.keymap.signs(action)));
        let key_cells = widths.max().unwrap_or(0) + 2;

        let here = |context: &&Context| self.contexts.contains(context);
        for context in Context::ALL.iter().filter(here) {
            if !page.is_empty() {
                page.gap();
            }
            page.line(scene.span(Tone::Strong, format!(" {}", context.title())));
            for action in actions_with_keys(scene, *context) {
                if let Some(group) = group(action) {
                    page.gap();
                    page.text(Tone::Quiet, "   ", group);
                }
                action_rows(page, action, key_cells);
            }
        }

        page.gap();
        page.text(Tone::Quiet, " ", SIGNS);
        page.gap();
        let guide = "opens the guide: pages on documents, models, presets, settings and more";
        page.hint(Action::Guide, guide);
        page.gap();
        page.text(Tone::Quiet, " ", CHANGES);
    }

    fn size(&self) -> Size {
        Size::with_max_rows(76, 60)
    }

    fn act(&self, action: Action, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        // the key that opened help closes it
        matches!(action, Action::Help | Action::HelpKey).then_some(Request::Close)
    }
}

/// Returns the heading above an action that begins a group.
fn group(action: Action) -> Option<&'static str> {
    match action {
        Action::Pin => Some("choose what is read"),
        Action::Zoom => Some("move between runs and stages"),
        Action::Prompts => Some("find out why"),
        Action::Settings => Some("open a list"),
        Action::Save => Some("save"),
        Action::Reindex => Some("index"),
        Action::Answer => Some("go to a pane"),
        _ => None,
    }
}

fn actions_with_keys(scene: &Scene<'_>, context: Context) -> impl Iterator<Item = Action> {
    let actions = Action::ALL.iter().copied();
    actions
        .filter(move |action| action.info().context == context)
        .filter(|action| !scene.keymap.keys(*action).is_empty())
}

fn action_rows(page: &mut Page<'_>, action: Action, key_cells: usize) {
    let signs = page.scene.keymap.signs(action);
    let signs = format!("   {}", text::left(&signs, key_cells));
    let room = page.cells.saturating_sub(key_cells + 4);
    let signs = vec![page.span(Tone::Key, signs)];
    page.text_behind(signs, Tone::Text, action.info().doc, room);
}
