//! The screen: a fold over records.
//!
//! | module | what it is |
//! |---|---|
//! | [`state`] | the fold of all records |
//! | [`options`], [`folders`] | the options, and how folders are typed |
//! | [`trial`], [`diagnosing`], [`variants`] | runs that try a change of settings |
//! | [`ui`] | the state that the user controls: focus, positions, typed text, changed settings |
//! | [`keys`] | every action, declared once |
//! | [`scene`], [`page`] | the input of drawing, and a builder of rows |
//! | [`view`] | the trait of panes and overlays |
//! | [`offer`] | the folders and the model that enter takes where nothing is typed |
//! | [`pane`], [`panes`], [`overlays`] | the content, as rows |
//! | [`document`] | the lines of a document, rendered |
//! | [`screen`], [`chrome`], [`status`], [`waterfall`] | the parts of the screen |
//! | [`layout`], [`viewport`] | their positions |
//! | [`theme`], [`text`] | its look |
//! | [`player`], [`save`], [`picture`] | recorded runs, files |
//! | [`hyperlinks`] | locations that the terminal opens |
//! | [`tour`] | the guided tour |
//! | [`pdf_page`] | a page of a PDF as a picture |
//! | [`app`] | the reaction to keys and records |
//! | [`event_loop`], [`terminal`], [`editor`] | the outside |
//!
//! Nothing here waits for the engine: commands go down a channel and records come up another.

pub mod trial;
pub mod diagnosing;
pub mod variants;
pub mod options;
pub mod folders;
pub mod theme;
pub mod text;
pub mod hyperlinks;
pub mod viewport;
pub mod state;
pub mod player;
pub mod keys;
pub mod pane;
pub mod layout;
pub mod ui;
pub mod scene;
pub mod page;
pub mod view;
pub mod offer;
pub mod document;
pub mod panes;
pub mod fuzzy;
pub mod overlays;
pub mod tour;
pub mod waterfall;
pub mod chrome;
pub mod status;
pub mod screen;
pub mod save;
pub mod picture;
pub mod ascii;
pub mod pdf_page;
pub mod app;
pub mod event_loop;
pub mod terminal;
pub mod editor;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui_image::picker::Picker;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::event::{Command, Problem, Record, StopFlag};

pub use app::App;
use app::Effect;
use event_loop::{After, Inputs, drive, unusable};
pub use options::{Options, Suggestion};
use pdf_page::PdfPage;
use terminal::TerminalGuard;
use theme::Depth;

/// The connection to the engine.
pub struct Link {
    /// Sends a command without waiting.
    pub commands: Box<dyn Fn(Command)>,
    pub records: UnboundedReceiver<Record>,
    pub stop: StopFlag,
}

/// The way in which the screen was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// The user quit.
    Left,
    /// The user chose the demo, which is another session.
    Demo,
    /// A signal with this number asked the process to end.
    Signal(u8),
}

/// Shows the screen until the user quits. The first frame comes before any record.
///
/// # Errors
/// When the theme or keymap is invalid (before the terminal is touched), or the terminal cannot be
/// used.
pub fn run(link: Link, options: Options) -> Result<Ended, Problem> {
    let app = App::new(options, Depth::from_environment())?;
    show(app, link.records, |effect| match effect {
        Effect::Stop => link.stop.stop(),
        Effect::Send(command) => (link.commands)(command),
        _ => {}
    })
}

/// Shows a recorded run until the user quits: play, pause, step, speed; no engine and no model.
/// With `repeats` it plays again and again.
///
/// # Errors
/// As [`run`].
pub fn replay(records: Vec<Record>, options: Options, repeats: bool) -> Result<Ended, Problem> {
    let mut app = App::replaying(records, options, Depth::from_environment())?;
    if repeats {
        app.repeat();
    }
    let (_commands, nothing) = unbounded_channel();
    show(app, nothing, |_| {})
}

fn show(
    mut app: App,
    records: UnboundedReceiver<Record>,
    engine: impl Fn(Effect),
) -> Result<Ended, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| unusable("cannot start the screen", &error))?;
    let guard = TerminalGuard::new(app.options.config.screen.mouse)
        .map_err(|error| unusable("the screen needs a terminal", &error))?;
    let mut terminal = Terminal::new(CrosstermBackend::new(std::io::stdout()))
        .map_err(|error| unusable("cannot use the terminal", &error))?;

    let inputs = Inputs {
        terminal: guard.events(),
        records,
    };

    let pictures = OnceCell::new();
    let mut ended = Ended::Left;
    let mut perform = |effect: Effect, app: &mut App| match effect {
        Effect::ShowPage { file, page } => show_page(file, page, app, &guard, &pictures),
        Effect::OpenDemo => {
            ended = Ended::Demo;
            After::Quit
        }
        effect => outside(effect, app, &guard, &engine),
    };

    let shown = runtime.block_on(drive(&mut terminal, &mut app, inputs, &mut perform));
    let ended = guard.signal().map_or(ended, Ended::Signal);
    let panics = guard.panics();

    // the terminal is restored before anything is reported
    drop(guard);
    // ratatui's destructor shows the cursor once more, and panics where stderr is closed as well
    std::mem::forget(terminal);
    shown?;

    if panics.is_empty() {
        Ok(ended)
    } else {
        Err(Problem::new(
            format!("a part of the program failed ({})", panics.join("; ")),
            "please report it",
        ))
    }
}

/// Carries out an effect.
fn outside(
    effect: Effect,
    app: &mut App,
    guard: &TerminalGuard,
    engine: &impl Fn(Effect),
) -> After {
    match effect {
        Effect::Quit => return After::Quit,
        Effect::Edit { path, line } => return edit(&path, line, app, guard),
        Effect::Redraw => return After::Redraw,
        Effect::Suspend => return suspend(app, guard),
        Effect::Send(_) | Effect::Stop | Effect::ShowPage { .. } | Effect::OpenDemo => {
            engine(effect);
        }
        Effect::Copy(text) => {
            if let Err(error) = terminal::copy(&text) {
                app.refuse(format!("not copied: {error}"));
            }
        }
        Effect::Mouse(captured) => {
            if let Err(error) = terminal::set_mouse(captured) {
                app.refuse(format!("cannot switch the mouse: {error}"));
            }
        }
        Effect::Write { path, text } => match terminal::write_file(&path, &text) {
            Ok(()) => app.notify(format!("saved {}", path.display())),
            Err(error) => app.refuse(format!("cannot save {}: {error}", path.display())),
        },
        Effect::Remember { file, text } => remember(&file, &text, app),
    }
    After::Continue
}

/// Opens a document in the user's editor, and comes back when that ends.
fn edit(path: &Path, line: u32, app: &mut App, guard: &TerminalGuard) -> After {
    let Some(editor) = editor::from_environment() else {
        app.refuse("no editor is set: set $VISUAL or $EDITOR, then restart ragscope");
        return After::Continue;
    };

    let mut command = editor::command(&editor, path, line);

    match guard.leave_to(app.ui.mouse, || command.status()) {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => app.refuse(format!("`{editor}` ended with {status}")),
        Ok(Err(error)) | Err(error) => {
            app.refuse(format!("cannot run the editor `{editor}`: {error}"));
        }
    }
    After::Redraw
}

/// Stops the process as a shell does; the terminal is the shell's until it continues the process.
fn suspend(app: &mut App, guard: &TerminalGuard) -> After {
    match guard.leave_to(app.ui.mouse, terminal::stop_process) {
        Ok(Ok(())) => {}
        Ok(Err(error)) | Err(error) => app.refuse(format!("cannot suspend: {error}")),
    }
    After::Redraw
}

/// Shows a page of a PDF as a picture. The terminal is asked once how it shows pictures.
fn show_page(
    file: PathBuf,
    page: u32,
    app: &mut App,
    guard: &TerminalGuard,
    pictures: &OnceCell<Picker>,
) -> After {
    let setting = app.options.config.screen.pictures;

    let ask = || guard.pause_reading(|| pdf_page::ask_terminal(setting));
    match PdfPage::new(file, page, pictures.get_or_init(ask), app.size) {
        Ok(page) => app.show_page(page),
        // after the last page there is nothing to draw
        Err(_) if app.page.is_some() => return After::Continue,
        Err(error) => app.refuse(error.to_string()),
    }
    After::Redraw
}

fn remember(file: &Path, text: &str, app: &mut App) {
    let line = serde_json::Value::from(text).to_string();
    if let Err(error) = terminal::append_line(file, &line) {
        let file = file.display();
        app.refuse(format!("cannot add to the history {file}: {error}"));
    }
}
