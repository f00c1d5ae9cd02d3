//! What the screen is at a moment, and what keys, the mouse and records do to it. Nothing here touches a terminal: what must happen
//! outside comes out as an [`Effect`].

mod ask;
mod by_hand;
mod choose;
mod comparison;
mod folder;
mod input;
mod look;
mod mouse;
mod overlay;
mod replay;
mod ui;
mod seek;
mod utility;

use std::path::PathBuf;
use std::time::Duration;

use ratatui::layout::Rect;

use crate::config::{Config, Paths};
use crate::event::{Command, Event, Record};

use super::keys::{Action, Context, Keymap};
use super::layout::{Layout, Needs, layout};
use super::panes::{Pane, Scene};
use super::player::Player;
use super::state::State;
use super::text;
use super::theme::{Depth, Theme};
use super::viewport::Scroll;

pub(super) use ask::prompt;
pub use ui::{Field, Focus, Notice, Origin, Overlay, Purpose, SourceView, Ui, Wanted};

/// Names of operations that the screen waits for.
const ASKING: &str = "ask";
const OPENING_SOURCE: &str = "open source";
const MEASURING: &str = "measure";
const SEEKING: &str = "seek";
/// The whole engine thread.
const ENGINE: &str = "engine";

/// What the screen needs to know from the program.
#[derive(Debug, Clone)]
pub struct Options {
    /// The settings in force, before anything is changed on the screen.
    pub config: Config,
    /// Where themes, the keymap, presets and the history of questions are.
    pub paths: Paths,
    /// Where runs and screens are saved.
    pub save_folder: PathBuf,
    /// Questions to offer before the first one.
    pub suggestions: Vec<Suggestion>,
}

/// A question to offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub question: String,
    /// The preset that it is meant for.
    pub preset: String,
    /// What to look at in the answer.
    pub shows: String,
}

/// Something that must happen outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Hand a command to the engine.
    Send(Command),
    /// Stop what runs.
    Stop,
    /// Put text on the clipboard of the terminal.
    Copy(String),
    /// Take the mouse, or give it back.
    Mouse(bool),
    /// Write a file and tell the outcome.
    Write { path: PathBuf, text: String },
    /// Keep a question for the history.
    Remember(String),
    /// Leave.
    Quit,
}

/// The screen.
pub struct App {
    state: State,
    /// What is shown while the screen is frozen.
    frozen: Option<Box<State>>,
    ui: Ui,
    theme: Theme,
    keymap: Keymap,
    options: Options,
    depth: Depth,
    size: Rect,
    effects: Vec<Effect>,
    changed: bool,
}

impl App {
    /// The screen before the first record.
    ///
    /// # Errors
    /// A theme or keymap that is unknown, unreadable or wrong.
    pub fn new(options: Options, depth: Depth) -> anyhow::Result<Self> {
        let theme = Theme::load(
            &options.config.screen.theme,
            &options.paths.config.join("themes"),
            depth,
        )?;
        let keymap = Keymap::load(&options.paths.keymap_file())?;
        let ui = Ui::new(&options);
        let mut app = Self {
            state: State::default(),
            frozen: None,
            ui,
            theme,
            keymap,
            options,
            depth,
            size: Rect::default(),
            effects: Vec::new(),
            changed: true,
        };
        app.prepare();
        Ok(app)
    }

    /// The screen of a recorded run.
    ///
    /// # Errors
    /// As [`App::new`].
    pub fn replaying(records: Vec<Record>, options: Options, depth: Depth) -> anyhow::Result<Self> {
        let mut app = Self::new(options, depth)?;
        app.ui.player = Some(Player::new(records));
        app.ui.focus = Focus::Panes;
        app.advance(Duration::ZERO);
        Ok(app)
    }

    /// Takes a record in.
    pub fn apply(&mut self, record: &Record) {
        self.state.apply(record);
        self.changed |= self.frozen.is_none();
        match &record.event {
            Event::RunStarted { .. } => self.run_appeared(&record.run),
            Event::SourceOpened { source } => self.source_arrived(source),
            Event::RunFinished { .. } => self.run_ended(&record.run),
            Event::UtilityMeasured { of: Some(_), .. } => {
                self.ui.measuring = None;
                if matches!(self.ui.overlay, Some((Overlay::Utility, _))) {
                    self.select_first();
                }
            }
            Event::SessionsListed { .. }
                if matches!(self.ui.overlay, Some((Overlay::Sessions, _))) =>
            {
                self.select_first()
            }
            Event::OperationFailed { operation, .. } => self.told_of_failure(operation),
            Event::OperationStopped { operation } => self.told_of_stop(operation),
            Event::Warned { .. } => {
                let text = self
                    .state
                    .log
                    .last()
                    .map_or(String::new(), |entry| entry.text.clone());
                self.ui.notice = Some(Notice { text, failed: true });
            }
            _ => {}
        }
    }

    fn run_appeared(&mut self, run: &str) {
        let recorded =
            self.ui.player.is_some() || self.ui.opened.iter().any(|opened| opened == run);
        if !recorded {
            self.ui.pending = None;
            self.ui.live = Some(run.to_owned());
        }
        self.ui.turn = None;
        self.ui.forget_places();
        // a recorded run that was chosen shows itself
        if matches!(self.ui.overlay, Some((Overlay::Sessions, _))) {
            self.ui.overlay = None;
        }
    }

    fn run_ended(&mut self, run: &str) {
        if self.ui.live.as_deref() == Some(run) {
            self.ui.live = None;
            // what was said about it while it ran is over
            self.ui.notice = self.ui.notice.take().filter(|notice| notice.failed);
        }
    }

    fn told_of_stop(&mut self, operation: &str) {
        match operation {
            ASKING => self.ui.pending = None,
            MEASURING => self.ui.measuring = None,
            _ => {}
        }
        self.tell(format!("stopped: {}", text::one_line(operation)), false);
    }

    fn told_of_failure(&mut self, operation: &str) {
        match operation {
            ASKING => self.ui.pending = None,
            OPENING_SOURCE => self.source_failed(),
            MEASURING => self.ui.measuring = None,
            SEEKING => self.seek_failed(),
            ENGINE => (self.ui.pending, self.ui.live, self.ui.measuring) = (None, None, None),
            _ => {}
        }
        if let Some(entry) = self.state.log.last() {
            let text = if entry.advice.is_empty() {
                entry.text.clone()
            } else {
                format!("{}: {}", entry.text, entry.advice)
            };
            self.ui.notice = Some(Notice { text, failed: true });
        }
    }

    /// The size of the screen.
    pub fn resize(&mut self, width: u16, height: u16) {
        let size = Rect::new(0, 0, width, height);
        self.changed |= size != self.size;
        self.size = size;
    }

    /// What must happen outside since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Is there something new to draw? Asking makes it old.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Tells the person something in the status line.
    pub fn tell(&mut self, text: impl Into<String>, failed: bool) {
        self.ui.notice = Some(Notice {
            text: text.into(),
            failed,
        });
        self.changed = true;
    }

    /// Brings what depends on size and look up to date; called before drawing.
    pub fn prepare(&mut self) {
        self.dress_input();
        self.prepare_source();
    }

    pub(super) fn frames_per_second(&self) -> u32 {
        self.options.config.screen.frames_per_second.max(1)
    }

    pub(super) fn size(&self) -> Rect {
        self.size
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// What drawing may look at.
    pub(super) fn scene(&self) -> Scene<'_> {
        let state = self.shown();
        Scene {
            state,
            run: state.run(self.ui.turn),
            ui: &self.ui,
            theme: &self.theme,
            keymap: &self.keymap,
        }
    }

    /// The state on the screen: the live one, or the one it was frozen at.
    pub(super) fn shown(&self) -> &State {
        self.frozen.as_deref().unwrap_or(&self.state)
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Is a question being answered, or waiting for that, or a context being measured?
    pub(super) fn running(&self) -> bool {
        self.ui.pending.is_some() || self.ui.live.is_some() || self.ui.measuring.is_some()
    }

    pub(super) fn layout(&self) -> Option<Layout> {
        let needs = Needs {
            focused: self.ui.pane,
            beside: self.ui.beside,
            zoomed: self.ui.zoomed,
            progress: self.shown().indexing.is_some(),
            input_rows: self.input_rows(),
        };
        layout(self.size, needs)
    }

    /// Where keys mean what, the nearest first.
    pub(super) fn contexts(&self) -> Vec<Context> {
        let mut contexts = Vec::with_capacity(4);
        if self.ui.field.is_some() {
            contexts.push(Context::Field);
        } else if let Some((overlay, _)) = &self.ui.overlay {
            contexts.extend_from_slice(overlay.contexts());
            contexts.push(Context::Reading);
        } else if self.ui.focus == Focus::Input {
            contexts.push(Context::Input);
        } else {
            contexts.extend(self.ui.player.is_some().then_some(Context::Replay));
            contexts.extend([Context::Panes, Context::Reading]);
        }
        contexts.push(Context::Everywhere);
        contexts
    }

    fn run_action(&mut self, action: Action) {
        action.run(self);
        self.changed = true;
    }

    fn send(&mut self, command: Command) {
        self.effects.push(Effect::Send(command));
    }

    /// False, and said so, when there is no engine behind the screen.
    fn has_engine(&mut self) -> bool {
        if self.ui.player.is_some() {
            self.tell(
                "this is a recorded run: open its folder with `ragscope FOLDER` to ask",
                true,
            );
        }
        self.ui.player.is_none()
    }

    fn scroll_mut(&mut self, pane: Pane) -> &mut Scroll {
        &mut self.ui.scrolls[pane as usize]
    }
}
