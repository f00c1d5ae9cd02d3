//! The state that the user controls: focus, positions, typed text, changed settings. One struct per
//! job; none of them draws, and none of them knows the engine.

mod typed_text;
mod field;
mod next_run;
mod panes;
mod question;
mod work;

pub use field::{Field, Purpose};
pub use next_run::NextRun;
pub use panes::{Focus, Panes};
pub use question::{PROMPT, QuestionLine};
pub use typed_text::TypedText;
pub use work::Work;

use question::read_history;

use std::time::Duration;

use crate::story::Run;
use crate::tui::folders::display_path;
use crate::tui::options::Options;
use crate::tui::pane::Pane;
use crate::tui::player::Player;
use crate::tui::theme::Theme;
use crate::tui::viewport::Scroll;

/// A short message in the status line, until the next key or for some seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub failed: bool,
    /// The time of the screen when it appeared.
    pub since: Duration,
}

/// A search, from the first letter until it is cleared.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The text to search for; empty for none.
    pub needle: String,
    /// The row of the last match.
    pub match_row: Option<usize>,
}

/// The state that the user controls.
#[derive(Debug, Clone)]
pub struct Ui {
    pub panes: Panes,
    pub question: QuestionLine,
    /// The folders that were opened before, as they are typed; the last one first.
    pub recent_folders: Vec<String>,
    /// The files of models whose paths were typed before, the last one first.
    pub recent_models: Vec<String>,
    /// A line being typed over the status line.
    pub field: Option<Field>,
    pub search: Search,
    pub work: Work,
    pub next_run: NextRun,
    pub notice: Option<Notice>,
    /// The stop of the guided tour; `None` outside of it.
    pub tour: Option<usize>,
    /// The number of entries of the log that the user has seen.
    pub seen_entries: usize,
    /// Time since the screen opened.
    pub clock: Duration,
    /// True while the screen captures the mouse.
    pub mouse: bool,
    /// The player of a recorded run; without one there is an engine behind the screen.
    pub player: Option<Player>,
    /// True while sources are shown as they are, not rendered.
    pub raw_sources: bool,
    /// The names of all themes.
    pub themes: Vec<String>,
}

impl Ui {
    pub fn new(options: &Options) -> Self {
        let mut recent_models = Vec::new();
        for model in read_history(&options.paths.model_history_file()) {
            recent_models.retain(|known| *known != model);
            recent_models.insert(0, model);
        }
        let recent_folders = options.recent_folders.iter();
        Self {
            panes: Panes::default(),
            question: QuestionLine::new(&options.paths.history_file(), options.suggestions.clone()),
            recent_folders: recent_folders.map(|path| display_path(path)).collect(),
            recent_models,
            field: None,
            search: Search::default(),
            work: Work::default(),
            next_run: NextRun::new(&options.config, &options.paths.config.join("presets")),
            notice: None,
            tour: None,
            seen_entries: 0,
            clock: Duration::ZERO,
            mouse: options.config.screen.mouse,
            player: None,
            raw_sources: false,
            themes: Theme::names(&options.paths.config.join("themes")),
        }
    }

    /// Returns the scroll position of a pane.
    pub fn scroll(&self, pane: Pane) -> &Scroll {
        self.panes.scroll(pane)
    }

    /// Returns whether this run is in progress, in the engine or in the player.
    pub fn is_in_progress(&self, run: &Run) -> bool {
        let player = self.player.as_ref();
        let is_played = player.is_some_and(|player| !player.is_at_end());

        run.outcome.is_none() && (is_played || self.work.live.as_ref() == Some(&run.id))
    }
}
