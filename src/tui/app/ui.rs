use std::path::Path;

use ratatui_textarea::TextArea;
use serde_json::Value;

use crate::config::{Layers, Place, preset_names};
use crate::event::Source;
use crate::tui::keys::Context;
use crate::tui::panes::Pane;
use crate::tui::player::Player;
use crate::tui::state::{Run, setting};
use crate::tui::theme::Theme;
use crate::tui::viewport::{Content, Scroll};

use super::{Options, Suggestion};

/// Who has the keys when no overlay is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Input,
    Panes,
}

/// A short message in the status line, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub failed: bool,
}

/// What lies over the panes.
#[derive(Debug, Clone)]
pub enum Overlay {
    Source(Box<SourceView>),
    Prompts,
    Settings,
    Sessions,
    /// The contexts whose keys are valid where help was called.
    Help(Vec<Context>),
    Palette,
    Report,
    Log,
    Utility,
    Comparison,
    Whereabouts,
}

impl Overlay {
    /// The contexts that hold in it besides reading.
    #[must_use]
    pub fn contexts(&self) -> &'static [Context] {
        match self {
            Self::Settings => &[Context::Settings, Context::Choosing],
            Self::Sessions | Self::Palette | Self::Utility | Self::Comparison => {
                &[Context::Choosing]
            }
            Self::Source(_)
            | Self::Prompts
            | Self::Help(_)
            | Self::Report
            | Self::Log
            | Self::Whereabouts => &[],
        }
    }
}

/// A place that the source viewer was asked to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub document: String,
    pub first_line: u32,
    pub last_line: u32,
}

/// The source viewer.
#[derive(Debug, Clone)]
pub struct SourceView {
    pub wanted: Wanted,
    /// None until it has been read.
    pub source: Option<Source>,
    /// Where the text comes from.
    pub origin: Origin,
    /// Where the window was put; the person moved on when it stands elsewhere.
    pub put_at: usize,
    /// The rows, at the width in cells for which they were made.
    pub rows: Option<(usize, Content)>,
}

/// Where the text in the source viewer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The passage as the run recorded it, until the document has been read.
    Waiting,
    /// The passage as the run recorded it: the reason why the document is not opened.
    Recorded(&'static str),
    /// The document could not be read: why.
    Failed(String),
    /// The document as it is now.
    Document,
}

/// A line of text being typed, and what for.
#[derive(Debug, Clone)]
pub struct Field {
    pub purpose: Purpose,
    pub text: TextArea<'static>,
}

/// What a typed line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Search,
    Palette,
    /// A value of the setting with this name.
    Setting(String),
    /// A right answer, to measure the utility of the context toward.
    Reference,
    /// Words of a passage that should have been found.
    Passage,
    /// The path of a folder of documents.
    Folder,
}

impl Field {
    /// The line as typed.
    #[must_use]
    pub fn typed(&self) -> &str {
        self.text.lines().first().map_or("", String::as_str)
    }
}

/// What the person did to the screen: focus, places, what is open, what is being typed.
#[derive(Debug, Clone)]
pub struct Ui {
    pub focus: Focus,
    pub pane: Pane,
    /// The pane below the answer where there is room for two.
    pub beside: Pane,
    pub zoomed: bool,
    pub(super) scrolls: [Scroll; 5],
    /// The run on the screen; None for the latest.
    pub turn: Option<usize>,
    /// The run that is being answered now: recordings that are opened never are.
    pub(super) live: Option<String>,
    /// Recorded runs that were asked for, by their names.
    pub(super) opened: Vec<String>,
    /// The run whose context is being measured.
    pub measuring: Option<String>,
    /// A question that was handed over and has not begun.
    pub pending: Option<String>,
    pub input: TextArea<'static>,
    pub history: Vec<String>,
    /// Place in the history while going through it, and what was typed before.
    pub(super) recalled: Option<(usize, String)>,
    pub overlay: Option<(Overlay, Scroll)>,
    pub field: Option<Field>,
    /// What is searched for; empty for nothing.
    pub needle: String,
    /// The row of the last match.
    pub(super) match_row: Option<usize>,
    pub notice: Option<Notice>,
    /// Settings changed on the screen, for the next run.
    pub overrides: Vec<(String, String)>,
    /// How the chunks of the index are cut.
    pub(super) cut: Vec<String>,
    /// The settings that the program was started with.
    pub settings: Value,
    pub mouse: bool,
    pub player: Option<Player>,
    pub suggestions: Vec<Suggestion>,
    /// The names of all themes.
    pub themes: Vec<String>,
    /// Every preset with its settings.
    presets: Vec<(String, Value)>,
}

impl Ui {
    pub(super) fn new(options: &Options) -> Self {
        let mut ui = Self {
            focus: Focus::Input,
            pane: Pane::Answer,
            beside: Pane::Retrieval,
            zoomed: false,
            scrolls: std::array::from_fn(|pane| {
                if pane == 0 {
                    Scroll::following()
                } else {
                    Scroll::default()
                }
            }),
            turn: None,
            live: None,
            opened: Vec::new(),
            measuring: None,
            pending: None,
            input: TextArea::default(),
            history: super::ask::read_history(&options.paths.history_file()),
            recalled: None,
            overlay: None,
            field: None,
            needle: String::new(),
            match_row: None,
            notice: None,
            overrides: Vec::new(),
            cut: Vec::new(),
            settings: serde_json::to_value(&options.config).unwrap_or_default(),
            mouse: options.config.screen.mouse,
            player: None,
            suggestions: options.suggestions.clone(),
            themes: Theme::names(&options.paths.config.join("themes")),
            presets: presets(&options.paths.config.join("presets")),
        };
        ui.cut = ui.next_cut();
        ui
    }

    /// Is more of this run to come, from the engine or from the player?
    #[must_use]
    pub fn goes_on(&self, run: &Run) -> bool {
        let played = self
            .player
            .as_ref()
            .is_some_and(|player| player.position().0 < player.position().1);
        run.outcome.is_none() && (played || self.live.as_ref() == Some(&run.id))
    }

    /// The place in a pane.
    #[must_use]
    pub fn scroll(&self, pane: Pane) -> &Scroll {
        &self.scrolls[pane as usize]
    }

    /// The names of all presets.
    pub fn presets(&self) -> impl Iterator<Item = &str> {
        self.presets.iter().map(|(name, _)| name.as_str())
    }

    /// The presets in which a role is on.
    pub fn presets_with<'a>(&'a self, role: &str) -> impl Iterator<Item = &'a str> {
        let key = format!("{role}.kind");
        let on = move |settings: &Value| setting(settings, &key).is_some_and(|kind| kind != "off");
        self.presets
            .iter()
            .filter(move |(_, settings)| on(settings))
            .map(|(name, _)| name.as_str())
    }

    /// The value of a setting in the next run: what was changed here, then what another preset brings, then as at the start.
    #[must_use]
    pub fn next_setting(&self, key: &str) -> Option<String> {
        let changed = |key: &str| {
            self.overrides
                .iter()
                .find(|(changed, _)| changed == key)
                .map(|(_, value)| value.clone())
        };
        let at_start = setting(&self.settings, key);
        changed(key)
            .or_else(|| {
                let of_preset = |name: &str| {
                    setting(
                        &self.presets.iter().find(|(known, _)| known == name)?.1,
                        key,
                    )
                };
                let before = of_preset(&setting(&self.settings, "preset")?);
                // what the person's own settings say is stronger than any preset
                changed("preset")
                    .and_then(|preset| of_preset(&preset))
                    .filter(|_| before == at_start)
            })
            .or(at_start)
    }

    /// The places that a setting names in the next run.
    #[must_use]
    pub fn next_places(&self, key: &str) -> Vec<Place> {
        #[derive(serde::Deserialize)]
        struct Named {
            places: Vec<Place>,
        }
        let value = self.next_setting(key).unwrap_or_default();
        toml::from_str::<Named>(&format!("places = {value}"))
            .map_or_else(|_| Vec::new(), |named| named.places)
    }

    /// How the chunks of an index would be cut by the settings of the next run: what counts of the chunker.
    pub(super) fn next_cut(&self) -> Vec<String> {
        let value = |key: &str| {
            self.next_setting(&format!("chunker.{key}"))
                .unwrap_or_default()
        };
        let (kind, keys): (&str, &[&str]) = match value("kind").as_str() {
            "semantic" => ("semantic", &["tokens", "similarity", "characters"]),
            // what is adaptive is cut again for a question, not in the index
            _ => ("fixed", &["tokens", "overlap_tokens", "sentences"]),
        };
        std::iter::once(kind.to_owned())
            .chain(keys.iter().map(|key| value(key)))
            .collect()
    }

    /// Back to the start of every pane, as a new run wants it.
    pub(super) fn forget_places(&mut self) {
        for (pane, scroll) in self.scrolls.iter_mut().enumerate() {
            *scroll = if pane == 0 {
                Scroll::following()
            } else {
                Scroll::default()
            };
        }
    }
}

/// The presets with the settings that each gives. A preset that cannot be read is left out here; choosing it says why.
fn presets(folder: &Path) -> Vec<(String, Value)> {
    let settings = |name: &str| {
        let layers = Layers::defaults()
            .with(&[("preset".to_owned(), name.to_owned())])
            .ok()?;
        serde_json::to_value(layers.config().ok()?).ok()
    };
    let with_settings = |name: String| {
        let settings = settings(&name).unwrap_or_default();
        (name, settings)
    };
    preset_names(folder)
        .into_iter()
        .map(with_settings)
        .collect()
}
