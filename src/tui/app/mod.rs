//! The state of the screen, and its reaction to keys, mouse and records. Nothing here touches a
//! terminal: a change outside is returned as an [`Effect`].

mod ask;
mod clock;
mod input;
mod look;
mod models;
mod overlay;
mod page;
mod replay;
mod thread;
mod tour;

use std::path::PathBuf;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::event::{
    Command, Event, IndexReport, Operation, Problem, Record, RunEvent, SessionEvent,
};
use crate::story::words;

use super::ascii;
use super::chrome;
use super::hyperlinks::{self, Addresses, Placed};
use super::keys::{Action, Context, Keymap, action_list};
use super::layout::{FRAME_ROWS, Layout, Needs, inside, layout};
use super::options::Options;
use super::overlays::{self, Open};
use super::pane::Pane;
use super::panes;
use super::pdf_page::PdfPage;
use super::screen::{PaneRows, Screen};
use super::state::State;
use super::theme::{Depth, Theme, Tone};
use super::ui::{Focus, Notice, Ui};
use super::view::{Passage, Reaction, Scene};
use replay::{Behind, Opening};

/// A change outside the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to the engine.
    Send(Command),
    /// Stop the operation in progress.
    Stop,
    /// Put text on the clipboard of the terminal.
    Copy(String),
    /// Capture the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Write a file and report the outcome.
    Write { path: PathBuf, text: String },
    /// Open a file in the user's editor, at a line from 1.
    Edit { path: PathBuf, line: u32 },
    /// Show a page of a PDF, from 1, as a picture.
    ShowPage { file: PathBuf, page: u32 },
    /// Draw everything again: a picture was on the screen.
    Redraw,
    /// Add a question to the history.
    Remember(String),
    /// Close the screen.
    Quit,
}

/// The screen.
pub struct App {
    state: State,
    /// The state that is shown while the screen is frozen.
    frozen: Option<Box<State>>,
    /// The recorded run that is to be played when all of it is here.
    opening: Option<Opening>,
    /// The passage that is to be opened in the user's editor when the path of its document is here.
    editing: Option<Passage>,
    /// The session behind a run that is played from the list of threads.
    behind: Option<Behind>,
    ui: Ui,
    overlay: Option<Open>,
    /// The rows of the panes on the screen, as of the last frame.
    rows: Vec<PaneRows>,
    /// The page of a PDF that is shown in the place of everything else.
    page: Option<PdfPage>,
    theme: Theme,
    keymap: Keymap,
    options: Options,
    depth: Depth,
    is_ascii: bool,
    has_hyperlinks: bool,
    addresses: Addresses,
    size: Rect,
    effects: Vec<Effect>,
    changed: bool,
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
        let ui = Ui::new(&options);
        let screen = &options.config.screen;
        let is_ascii = ascii::is_wanted(screen.charset, options.has_plain_locale);
        keymap.show_in_ascii(is_ascii);
        let has_hyperlinks = hyperlinks::are_wanted(screen.hyperlinks, options.has_hyperlinks);
        let mut app = Self {
            state: State::default(),
            frozen: None,
            opening: None,
            editing: None,
            behind: None,
            ui,
            overlay: None,
            rows: Vec::new(),
            page: None,
            theme,
            keymap,
            options,
            depth,
            is_ascii,
            has_hyperlinks,
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

    /// Handles a record of the engine. While a run is played from the list, it waits for the end of that.
    pub fn apply(&mut self, record: &Record) {
        match &mut self.behind {
            Some(behind) => behind.waiting.push(record.clone()),
            None => {
                self.fold(record);
                self.collect(record);
            }
        }
    }

    /// Folds a record, of the engine or of a recorded run.
    fn fold(&mut self, record: &Record) {
        self.state.apply(record);
        self.changed |= self.frozen.is_none();

        match &record.event {
            Event::Run(RunEvent::RunStarted { .. }) => self.run_appeared(&record.run),
            Event::Run(RunEvent::RunFinished { .. }) => self.run_ended(&record.run),
            Event::Session(SessionEvent::UtilityMeasured { .. }) => self.ui.work.measuring = None,
            Event::Session(SessionEvent::ModelPulled { model }) => self.model_pulled(model),
            Event::Session(SessionEvent::IndexFinished { report }) => self.folder_changed(report),
            Event::Session(SessionEvent::SourceOpened { source }) => self.edit_opened(source),
            Event::Session(SessionEvent::OperationFailed { operation, .. }) => {
                self.operation_failed(*operation);
            }
            Event::Session(SessionEvent::OperationStopped { operation }) => {
                self.operation_stopped(*operation);
            }
            Event::Run(RunEvent::Warned { .. }) | Event::Session(SessionEvent::Warned { .. }) => {
                self.show_last_entry();
            }
            _ => {}
        }
        self.overlay_receives(&record.event);
    }

    fn overlay_receives(&mut self, event: &Event) {
        let Some(open) = &mut self.overlay else {
            return;
        };
        match open.receive(event, &self.state) {
            Reaction::Nothing | Reaction::Redraw => {}
            Reaction::SelectFirst => self.select_first(),
            Reaction::Close => self.overlay = None,
        }
    }

    fn run_appeared(&mut self, run: &str) {
        let work = &mut self.ui.work;
        let is_recorded =
            self.ui.player.is_some() || work.opened.iter().any(|opened| opened == run);
        if !is_recorded {
            work.pending = None;
            work.live = Some(run.to_owned());
        }
        work.turn = None;
        self.ui.panes.reset_scrolls();
        if !is_recorded {
            self.tour_question_asked();
        }
    }

    /// Says that a folder is ready for questions, or what an update of it changed.
    fn folder_changed(&mut self, report: &IndexReport) {
        let is_asked = std::mem::take(&mut self.ui.work.is_indexing_asked);
        let change = words::index_change(report);
        let is_first = report.unchanged == 0 && report.changed == 0 && report.removed == 0;
        let again = self.keymap.sign(Action::Again);
        let asks_again = match self.scene().run {
            Some(run) if run.lacks_documents() || run.is_by_words_alone() => {
                format!(" · {again} asks again")
            }
            _ => String::new(),
        };
        match change {
            _ if report.corpus.documents == 0 => {
                let shows = self.keymap.sign(Action::IndexReport);
                self.notify(format!("nothing to read in this folder: {shows} says why"));
            }
            Some(_) if is_first => {
                let ready = words::index_ready(report);
                self.notify(format!("{ready}{asks_again}"));
            }
            Some(change) => self.notify(format!("{change}{asks_again}")),
            None if report.embedded > 0 => {
                let ready = words::index_ready(report);
                self.notify(format!("{ready}{asks_again}"));
            }
            None if is_asked => {
                let files = words::counted(report.corpus.documents, "file");
                self.notify(format!("up to date: {files}, nothing changed"));
            }
            None => {}
        }
    }

    fn run_ended(&mut self, run: &str) {
        if self.ui.work.live.as_deref() == Some(run) {
            self.ui.work.live = None;
            // messages about it while it ran are out of date
            self.ui.notice = self.ui.notice.take().filter(|notice| notice.failed);
        }
    }

    fn operation_stopped(&mut self, operation: Operation) {
        self.operation_ended(operation);
        // the user stopped it, and so has seen it
        if self.ui.seen_entries + 1 == self.state.log.len() {
            self.ui.seen_entries += 1;
        }
        self.notify(format!("stopped: {}", words::operation(operation)));
    }

    fn operation_failed(&mut self, operation: Operation) {
        self.operation_ended(operation);
        self.show_last_entry();
    }

    /// The screen no longer waits for the operation.
    fn operation_ended(&mut self, operation: Operation) {
        match operation {
            Operation::Ask => self.ui.work.pending = None,
            Operation::OpenRun => self.opening = None,
            Operation::OpenSource => self.editing = None,
            Operation::MeasureUtility => self.ui.work.measuring = None,
            Operation::Engine => self.ui.work.clear(),
            // what shows their result waits for it
            _ => {}
        }
    }

    /// Shows the last entry of the log in the status line.
    fn show_last_entry(&mut self) {
        if let Some(entry) = self.state.log.last() {
            self.refuse(entry.problem.line());
        }
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
        let since = self.ui.clock;
        self.ui.notice = Some(Notice {
            text,
            failed,
            since,
        });
        self.changed = true;
    }

    /// Updates everything that depends on size and theme; called before drawing.
    pub fn prepare(&mut self) {
        self.dress_input();
        self.prepare_panes();
        self.prepare_overlay();
        if let Some(page) = &mut self.page {
            page.fit(self.size);
        }
    }

    /// Builds the rows of the panes on the screen, and measures the room that they need. Their width does not depend on
    /// that room.
    fn prepare_panes(&mut self) {
        let scene = self.scene();
        self.ui.panes.needs.idle = Pane::ALL.map(|pane| panes::view(pane).is_idle(&scene));
        self.rows = self.build_rows(&self.scene());

        // a pane that has the screen to itself has all rows
        if self.rows.len() < 2 {
            return;
        }
        for PaneRows { pane, content } in &self.rows {
            let rows = u16::try_from(content.rows.len()).unwrap_or(u16::MAX);
            self.ui.panes.needs.rows[*pane as usize] = rows.saturating_add(FRAME_ROWS);
        }
    }

    /// Returns the rows of the panes on the screen.
    fn build_rows(&self, scene: &Scene<'_>) -> Vec<PaneRows> {
        let panes = self.layout().map_or(Vec::new(), |layout| layout.panes);
        let build = |(pane, frame)| {
            let cells = usize::from(inside(frame).width);
            let content = panes::view(pane).content(scene, self.ui.scroll(pane), cells);
            PaneRows { pane, content }
        };
        panes.into_iter().map(build).collect()
    }

    /// Styles the typed text by the theme.
    fn dress_input(&mut self) {
        let plain = self.theme.style(Tone::Text);
        let quiet = self.theme.style(Tone::Quiet);
        let is_active = self.ui.panes.focus == Focus::Input
            && self.overlay.is_none()
            && self.ui.field.is_none();
        let empty = if is_active {
            self.offered_question()
        } else {
            "i to type a question".to_owned()
        };
        self.ui.question.dress(plain, quiet, is_active, &empty);

        let field = self.ui.field.as_mut().map(|field| &mut field.text);
        let above_rows = self.overlay.as_mut().and_then(Open::line_mut);
        for line in field.into_iter().chain(above_rows) {
            line.set_style(plain);
            line.set_cursor_line_style(ratatui::style::Style::default());
            line.set_cursor_style(plain.reversed());
        }
    }

    fn prepare_overlay(&mut self) {
        // the overlay is out of the app while it looks at the app
        if let Some(mut open) = self.overlay.take() {
            open.prepare(&self.scene(), self.size);
            self.overlay = Some(open);
        }
    }

    /// Draws the screen without changing it.
    pub fn draw(&self, buffer: &mut Buffer) {
        if let Some(page) = &self.page {
            return self.draw_page(page, buffer);
        }
        let placed = self.draw_cells(self.scene(), &self.rows, buffer);
        let corpus = self.scene().run.and_then(|run| run.corpus.as_ref());
        if let Some(corpus) = corpus.filter(|_| self.has_hyperlinks) {
            self.addresses.write(&placed, corpus, buffer);
        }
    }

    /// Draws the screen without hyperlinks, and returns the places that it names.
    fn draw_cells(&self, scene: Scene<'_>, rows: &[PaneRows], buffer: &mut Buffer) -> Vec<Placed> {
        let screen = Screen {
            scene,
            overlay: self.overlay.as_ref(),
            layout: self.layout(),
            rows,
        };
        let placed = screen.draw(buffer);
        if self.is_ascii {
            ascii::replace(buffer);
        }
        placed
    }

    /// Returns the screen in its present state.
    pub(super) fn picture(&self) -> Buffer {
        self.picture_of(self.scene())
    }

    /// Returns the screen in its present state, to be saved without its looks.
    pub(super) fn text_picture(&self) -> Buffer {
        let scene = Scene {
            marks_struck: true,
            ..self.scene()
        };
        self.picture_of(scene)
    }

    fn picture_of(&self, scene: Scene<'_>) -> Buffer {
        let mut buffer = Buffer::empty(self.size);
        self.draw_cells(scene, &self.build_rows(&scene), &mut buffer);
        buffer
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the input of drawing.
    fn scene(&self) -> Scene<'_> {
        let state = self.shown();
        Scene {
            state,
            run: state.run(self.ui.work.turn),
            ui: &self.ui,
            theme: &self.theme,
            keymap: &self.keymap,
            options: &self.options,
            typed: self.overlay.as_ref().map_or("", Open::typed),
            frozen: self.frozen.is_some(),
            marks_struck: self.is_ascii,
            is_played_from_list: self.behind.is_some(),
        }
    }

    /// Returns the state on the screen: the live one, or the frozen one.
    fn shown(&self) -> &State {
        self.frozen.as_deref().unwrap_or(&self.state)
    }

    fn layout(&self) -> Option<Layout> {
        let needs = Needs {
            focused: self.ui.panes.focused,
            beside: self.ui.panes.beside,
            zoomed: self.ui.panes.zoomed,
            progress: self.shown().indexing.is_some(),
            input_rows: self.ui.question.rows(self.size.width),
            tour_rows: chrome::tour_rows(&self.scene(), self.size.width),
            panes: self.ui.panes.needs,
        };
        layout(self.size, needs)
    }

    /// Returns the active contexts of keys, the most specific first.
    fn contexts(&self) -> Vec<Context> {
        let mut contexts = Vec::with_capacity(4);
        if self.ui.field.is_some() {
            contexts.push(Context::Field);
        } else if let Some(open) = &self.overlay {
            if open.line().is_some() {
                contexts.push(Context::Field);
            } else {
                contexts.extend_from_slice(open.view.contexts());
                contexts.push(Context::Reading);
            }
        } else if self.ui.panes.focus == Focus::Input {
            contexts.push(Context::Input);
        } else {
            let is_replay = self.ui.player.is_some();
            let of_player = if is_replay {
                Context::Replay
            } else {
                Context::Session
            };
            contexts.extend([of_player, Context::Panes, Context::Reading]);
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

    /// Returns whether there is an engine behind the screen; notifies the user when there is none.
    fn has_engine(&mut self) -> bool {
        if self.behind.is_some() {
            let leave = self.keymap.sign(Action::Quit);
            self.refuse(format!("a recorded run is played: {leave} leaves it"));
        } else if self.ui.player.is_some() {
            self.refuse("this is a recorded run: open its folder with `ragscope FOLDER` to ask");
        }
        self.ui.player.is_none()
    }
}

macro_rules! dispatch {
    ($($action:ident = $name:literal $context:ident [$($key:literal),*] $doc:literal => $does:expr;)+) => {
        impl Action {
            /// Runs an action, as the list of actions declares it.
            fn run(self, app: &mut App) {
                let does: fn(&mut App) = match self { $(Self::$action => $does),+ };
                does(app);
            }
        }
    };
}

action_list!(dispatch);
