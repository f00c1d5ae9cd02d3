//! The state of the screen.

use ratatui::layout::Rect;

use crate::event::{Command, Problem, Record};
use crate::tui::hyperlinks::Addresses;
use crate::tui::keys::{Action, Context, Keymap};
use crate::tui::layout::{Layout, Needs, layout};
use crate::tui::options::Options;
use crate::tui::overlays::Open;
use crate::tui::pdf_page::PdfPage;
use crate::tui::screen::PaneRows;
use crate::tui::state::State;
use crate::tui::theme::{Depth, Theme};
use crate::tui::ui::{Focus, Notice, Ui};
use crate::tui::view::{Passage, Scene};
use crate::tui::waterfall;
use crate::tui::{ascii, chrome};

use super::behind::{Behind, Opening};
use super::effect::Effect;
use super::pace::Pace;

/// The screen.
pub struct App {
    pub(super) state: State,
    /// The state that is shown while the screen is frozen.
    pub(super) frozen: Option<Box<State>>,
    /// The recorded run that is to be played when all of it is here.
    pub(super) opening: Option<Opening>,
    /// The passage that is to be opened in the user's editor when the path of its document is here.
    pub(super) editing: Option<Passage>,
    /// The session behind a run that is played from the list of threads.
    pub(super) behind: Option<Behind>,
    /// The records of a run of the demo that come one stage after the other.
    pub(super) pace: Pace,
    pub(in crate::tui) ui: Ui,
    pub(super) overlay: Option<Open>,
    /// The rows of the panes on the screen, as of the last frame.
    pub(super) rows: Vec<PaneRows>,
    /// The page of a PDF that is shown in the place of everything else.
    pub(in crate::tui) page: Option<PdfPage>,
    pub(super) theme: Theme,
    pub(super) keymap: Keymap,
    pub(in crate::tui) options: Options,
    pub(super) depth: Depth,
    pub(super) is_ascii: bool,
    pub(super) addresses: Addresses,
    pub(in crate::tui) size: Rect,
    pub(super) effects: Vec<Effect>,
    pub(super) changed: bool,
}

impl App {
    /// Creates the screen before the first record.
    ///
    /// # Errors
    /// When the theme or the keymap is unknown, unreadable or invalid.
    pub fn new(options: Options, depth: Depth) -> Result<Self, Problem> {
        let theme = Theme::load(
            &options.config.screen.theme,
            &options.paths.config.join("themes"),
            depth,
        )?;

        let mut keymap = Keymap::load(&options.paths.keymap_file())?;
        let mut ui = Ui::new(&options);
        ui.work.is_opening = options.opens_folders;
        let screen = &options.config.screen;

        let is_ascii = ascii::is_wanted(screen.charset, options.has_plain_locale);
        keymap.show_in_ascii(is_ascii);

        let mut app = Self {
            state: State::default(),
            frozen: None,
            opening: None,
            editing: None,
            behind: None,
            pace: Pace::default(),
            ui,
            overlay: None,
            rows: Vec::new(),
            page: None,
            theme,
            keymap,
            options,
            depth,
            is_ascii,
            addresses: Addresses::default(),
            size: Rect::default(),
            effects: Vec::new(),
            changed: true,
        };

        app.prepare();
        Ok(app)
    }

    /// Creates the screen of a recorded run.
    ///
    /// # Errors
    /// As [`App::new`].
    pub fn replaying(
        records: Vec<Record>,
        options: Options,
        depth: Depth,
    ) -> Result<Self, Problem> {
        let mut app = Self::new(options, depth)?;
        app.start_player(records);
        Ok(app)
    }

    /// Sets the size of the screen.
    pub fn resize(&mut self, width: u16, height: u16) {
        let size = Rect::new(0, 0, width, height);
        self.changed |= size != self.size;
        self.size = size;
    }

    /// Returns the effects since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns whether there is something new to draw, and resets that.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Reports something in the status line.
    pub fn notify(&mut self, text: impl Into<String>) {
        self.set_notice(text.into(), false);
    }

    /// Reports in the status line that something is impossible or failed.
    pub fn refuse(&mut self, text: impl Into<String>) {
        self.set_notice(text.into(), true);
    }

    fn set_notice(&mut self, text: String, failed: bool) {
        self.ui.notice = Some(Notice {
            text,
            failed,
            since: self.ui.clock,
        });
        self.changed = true;
    }

    /// Returns the input of drawing.
    pub(super) fn scene(&self) -> Scene<'_> {
        let state = self.shown_state();
        Scene {
            state,
            run: state.run(self.ui.work.turn),
            ui: &self.ui,
            theme: &self.theme,
            keymap: &self.keymap,
            options: &self.options,
            typed: self.overlay.as_ref().map_or("", Open::typed_text),
            frozen: self.frozen.is_some(),
            marks_struck: self.is_ascii,
            is_played_from_list: self.behind.is_some(),
        }
    }

    /// Returns the state on the screen: the live one, or the frozen one.
    pub(super) fn shown_state(&self) -> &State {
        self.frozen.as_deref().unwrap_or(&self.state)
    }

    pub(super) fn layout(&self) -> Option<Layout> {
        let needs = Needs {
            focused: self.ui.panes.focused,
            beside: self.ui.panes.beside,
            zoomed: self.ui.panes.zoomed,
            progress: self.shown_state().indexing.is_some(),
            input_rows: self.ui.question.rows(self.size.width),
            alone: self.ui.panes.alone,
            stage_rows: waterfall::rows(&self.scene(), self.size.height),
            tour_rows: chrome::tour_rows(&self.scene(), self.size.width),
            panes: self.ui.panes.needs,
        };
        layout(self.size, needs)
    }

    /// Returns the active contexts of keys, the most specific first.
    pub(super) fn contexts(&self) -> Vec<Context> {
        let mut contexts = Vec::with_capacity(4);
        if self.ui.field.is_some() {
            contexts.push(Context::Field);
        } else if let Some(open) = &self.overlay {
            if open.line.is_some() {
                contexts.push(Context::Field);
            } else {
                contexts.extend_from_slice(open.view.contexts());
                contexts.push(Context::Reading);
            }
        } else if self.ui.panes.focus == Focus::Input {
            contexts.push(Context::Input);
        } else {
            contexts.push(match self.ui.player {
                Some(_) => Context::Replay,
                None => Context::Session,
            });
            contexts.extend([Context::Panes, Context::Reading]);
        }

        contexts.push(Context::Everywhere);
        contexts
    }

    pub(super) fn run_action(&mut self, action: Action) {
        action.run(self);
        self.changed = true;
    }

    pub(super) fn send(&mut self, command: Command) {
        self.effects.push(Effect::Send(command));
    }

    /// Returns whether there is an engine behind the screen; notifies the user when there is none.
    pub(super) fn has_engine(&mut self) -> bool {
        if self.behind.is_some() {
            let leave = self.keymap.sign(Action::Quit);
            self.refuse(format!("a recorded run is played: {leave} leaves it"));
        } else if self.ui.player.is_some() {
            self.refuse("this is a recorded run: open its folder with `ragscope FOLDER` to ask");
        }
        self.ui.player.is_none()
    }
}
