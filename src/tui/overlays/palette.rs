//! The command palette.

use ratatui::text::Line;

use crate::guide;
use crate::story::words;
use crate::tui::view::{
    Action, Context, Filter, Item, Page, Request, Scene, Scroll, Size, Tone, View,
};
use crate::tui::{fuzzy, text};

/// Every command by name, filtered by the typed text.
#[derive(Debug)]
pub struct Palette;

const HINTS: &[(Action, &str)] = &[(Action::Back, "close"), (Action::Choose, "run")];

impl View for Palette {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Commands".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        for (row, entry) in matching_entries(scene).into_iter().enumerate() {
            page.item(Item::new(row, 0), entry_row(page, &entry));
        }
        if page.is_empty() {
            page.line(scene.span(Tone::Quiet, "  no matching command"));
        }
    }

    fn size(&self) -> Size {
        Size::with_rows(112, 24)
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        HINTS
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let row = scroll.selected.filter(|_| action == Action::Accept)?.row;
        let entry = matching_entries(scene).into_iter().nth(row)?;
        Some(match entry {
            Entry::Action(action) => Request::Perform(action),
            Entry::Preset(name) => Request::Preset(name),
            Entry::Theme(name) => Request::Theme(name),
            Entry::Suggestion(number, _) => Request::Suggest(number),
            Entry::Guide(page) => Request::OpenGuide(page),
        })
    }

    fn filter(&self) -> Option<Filter> {
        Some(Filter {
            is_permanent: true,
            stays_open: false,
            hints: HINTS,
        })
    }
}

/// Begins the words of every page of the guide.
pub const GUIDE: &str = "guide: ";

/// An entry that can be chosen by name.
#[derive(Debug, Clone)]
enum Entry {
    Action(Action),
    Preset(String),
    Theme(String),
    /// A suggested question by its number.
    Suggestion(usize, String),
    Guide(&'static guide::Page),
}

impl Entry {
    fn words(&self) -> String {
        match self {
            Self::Action(action) => {
                let info = action.info();
                format!("{}: {}", info.name.replace('-', " "), info.doc)
            }
            Self::Preset(name) => match words::preset_name(name) {
                same if same == name => format!("preset {name}: for the next run"),
                other => format!("preset {name}: {other}, for the next run"),
            },
            Self::Theme(name) => format!("theme {name}"),
            Self::Suggestion(_, question) => format!("ask: {question}"),
            Self::Guide(page) => format!("{GUIDE}{}", page.title()),
        }
    }
}

/// Returns the entries that match the typed text, best match first; without text, all in order.
fn matching_entries(scene: &Scene<'_>) -> Vec<Entry> {
    fuzzy::matching(scene.typed, all(scene), Entry::words)
}

fn all(scene: &Scene<'_>) -> impl Iterator<Item = Entry> {
    let replaying = scene.ui.player.is_some();
    let is_listed = move |action: &&Action| match action.info().context {
        Context::Panes => true,
        Context::Session => !replaying,
        Context::Replay => replaying,
        Context::Reading => !matches!(action, Action::PaletteByColon),
        Context::Everywhere => !matches!(
            action,
            Action::Palette | Action::HelpKey | Action::QuitNow | Action::Back
        ),
        _ => false,
    };
    let actions = Action::ALL.iter().filter(is_listed).copied();
    let actions = actions.map(Entry::Action);

    let presets = scene.ui.next_run.presets().iter();
    let presets = presets.map(|preset| Entry::Preset(preset.name.clone()));
    let suggestions = scene.ui.question.suggestions.iter().enumerate();
    let suggestions = suggestions
        .map(|(number, suggestion)| Entry::Suggestion(number, suggestion.question.clone()));
    let of_engine = presets.chain(suggestions).filter(move |_| !replaying);

    let themes = scene.ui.themes.iter().cloned().map(Entry::Theme);
    let pages = guide::PAGES.iter().map(Entry::Guide);
    actions.chain(of_engine).chain(themes).chain(pages)
}

/// Minimum cells at which commands are listed with their names.
const NAMED_FROM: usize = 70;
/// Cells of the column of names.
const NAMES: usize = 18;
/// Maximum cells of the keys, and what separates the columns.
const KEYS: usize = 9;
const MARGINS: usize = 3;

fn entry_row(page: &Page<'_>, entry: &Entry) -> Line<'static> {
    let keys = match entry {
        Entry::Action(action) => page.scene.keymap.sign(*action),
        Entry::Preset(_) | Entry::Theme(_) | Entry::Suggestion(..) | Entry::Guide(_) => {
            String::new()
        }
    };
    let keys = format!(" {}", text::right(&keys, text::width(&keys).min(KEYS)));
    let room = page.cells.saturating_sub(text::width(&keys) + MARGINS);
    let words = entry.words();
    let (name, doc) = words.split_once(": ").unwrap_or((&words, ""));

    let mut line = Line::from("  ");
    if page.cells >= NAMED_FROM {
        line.push_span(page.span(Tone::Text, text::left(name, NAMES)));
        line.push_span(page.span(Tone::Text, " "));
        let doc = text::left(doc, room.saturating_sub(NAMES + 1));
        line.push_span(page.span(Tone::Quiet, doc));
    } else {
        // where both have no room, the name of an action goes: its doc says more
        let shown = match entry {
            Entry::Action(_) | Entry::Suggestion(..) => doc,
            Entry::Preset(_) | Entry::Theme(_) | Entry::Guide(_) => words.as_str(),
        };
        line.push_span(page.span(Tone::Text, text::left(shown, room)));
    }
    line.push_span(page.span(Tone::Key, keys));
    line
}
