use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::text::{Line, Span};

use crate::tui::keys::{Action, Context};
use crate::tui::panes::Scene;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::{Content, Item};

/// Something to choose by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Action(Action),
    Preset(String),
    Theme(String),
    /// A suggested question by its number.
    Suggestion(usize, String),
}

impl Entry {
    fn words(&self) -> String {
        match self {
            Self::Action(action) => {
                let info = action.info();
                format!("{}: {}", info.name.replace('-', " "), info.doc)
            }
            Self::Preset(name) => format!("preset {name}: for the next run"),
            Self::Theme(name) => format!("theme {name}"),
            Self::Suggestion(_, question) => format!("ask: {question}"),
        }
    }
}

/// All that can be chosen, best match for what is typed first; nothing typed, everything in its order.
pub(in crate::tui) fn entries(scene: &Scene<'_>) -> Vec<Entry> {
    let typed = scene.ui.field.as_ref().map_or("", |field| field.typed());
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let (mut matcher, mut letters) = (Matcher::new(Config::DEFAULT), Vec::new());
    let mut scored: Vec<(u32, Entry)> = all(scene)
        .filter_map(|entry| {
            Some((
                pattern.score(Utf32Str::new(&entry.words(), &mut letters), &mut matcher)?,
                entry,
            ))
        })
        .collect();
    // stable: equals keep their order
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, entry)| entry).collect()
}

fn all(scene: &Scene<'_>) -> impl Iterator<Item = Entry> {
    let replaying = scene.ui.player.is_some();
    let valid = move |action: &&Action| match action.info().context {
        Context::Panes => true,
        Context::Replay => replaying,
        Context::Reading => !matches!(action, Action::PaletteByColon),
        Context::Everywhere => !matches!(
            action,
            Action::Palette | Action::HelpKey | Action::QuitNow | Action::Back
        ),
        Context::Input | Context::Field | Context::Choosing | Context::Settings => false,
    };
    let actions = Action::ALL.iter().filter(valid).copied().map(Entry::Action);
    let presets = scene
        .ui
        .presets()
        .map(|name| Entry::Preset(name.to_owned()));
    let themes = scene
        .ui
        .themes
        .iter()
        .map(|name| Entry::Theme(name.clone()));
    let suggestions = scene.ui.suggestions.iter().enumerate();
    let suggestions = suggestions
        .map(|(number, suggestion)| Entry::Suggestion(number, suggestion.question.clone()));
    actions
        .chain(presets.chain(suggestions).filter(move |_| !replaying))
        .chain(themes)
}

/// From this width on commands are listed with their names.
const NAMES_FROM: usize = 70;

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    for (row, entry) in entries(scene).into_iter().enumerate() {
        let keys = match &entry {
            Entry::Action(action) => scene.keymap.sign(*action),
            Entry::Preset(_) | Entry::Theme(_) | Entry::Suggestion(..) => String::new(),
        };
        let words = entry.words();
        let (name, doc) = words.split_once(": ").unwrap_or((&words, ""));
        // where both have no room, the name of an action goes: what it does says more
        let (name, doc, name_room) = match &entry {
            _ if cells >= NAMES_FROM => (name, doc, 18),
            Entry::Action(_) | Entry::Suggestion(..) => (doc, "", cells.saturating_sub(12)),
            Entry::Preset(_) | Entry::Theme(_) => (words.as_str(), "", cells.saturating_sub(12)),
        };
        let room = cells.saturating_sub(name_room + 12);
        content.item(
            Item { row, part: 0 },
            Line::from(vec![
                Span::raw("  "),
                scene.span(Tone::Text, text::left(name, name_room)),
                scene.span(Tone::Quiet, text::left(doc, room)),
                scene.span(Tone::Key, text::right(&keys, 9)),
            ]),
        );
    }
    if content.rows.is_empty() {
        content.line(scene.span(Tone::Quiet, "  no command has these letters"));
    }
    content
}
