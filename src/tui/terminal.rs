//! The terminal: set up when the screen opens, and restored in every case.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::sync::mpsc::{UnboundedReceiver, WeakUnboundedSender, unbounded_channel};

use crate::files;

/// The time after which the reader of keys checks whether the screen is still open.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The signals that ask the process to end.
const END_SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(unix)]
    signal_hook::consts::SIGHUP,
    #[cfg(unix)]
    signal_hook::consts::SIGQUIT,
];

/// The terminal while the screen uses it. Dropping the guard restores it.
pub struct TerminalGuard {
    reading: Arc<AtomicBool>,
    keys: Arc<Keys>,
    /// The signal that asked the process to end; 0 for none.
    signal: Arc<AtomicUsize>,
    panics: Arc<Mutex<Vec<String>>>,
}

/// The reader of keys: the screen, or another program for a while.
#[derive(Default)]
struct Keys {
    is_paused: AtomicBool,
    /// Held while an event is read.
    reader: Mutex<()>,
}

impl TerminalGuard {
    /// Sets the terminal up: alternate screen, raw mode, bracketed paste, the mouse when wanted.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn new(mouse: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        let guard = Self {
            reading: Arc::new(AtomicBool::new(true)),
            keys: Arc::default(),
            signal: Arc::default(),
            panics: Arc::default(),
        };

        for signal in END_SIGNALS {
            let number = usize::try_from(*signal).unwrap_or_default();
            signal_hook::flag::register_usize(*signal, Arc::clone(&guard.signal), number)?;
        }

        set_up(mouse)?;
        restore_on_panic(Arc::clone(&guard.reading), Arc::clone(&guard.panics));

        Ok(guard)
    }

    /// Leaves the terminal to a program that `run` runs, and takes it back when that ends.
    ///
    /// # Errors
    /// When the terminal cannot be set up again.
    pub fn leave_to<T>(&self, mouse: bool, run: impl FnOnce() -> T) -> io::Result<T> {
        self.pause_reading(|| {
            tear_down();
            let result = run();
            let is_set_up = enable_raw_mode().and_then(|()| set_up(mouse));
            is_set_up.map(|()| result)
        })
    }

    /// Runs something that reads from the terminal itself.
    pub fn pause_reading<T>(&self, run: impl FnOnce() -> T) -> T {
        self.keys.is_paused.store(true, Ordering::SeqCst);
        // once the lock is free no event is being read
        let reader = self.keys.reader.lock();
        let result = run();
        drop(reader);
        self.keys.is_paused.store(false, Ordering::SeqCst);
        result
    }

    /// The messages of other threads that panicked, to be reported once the terminal is restored.
    pub fn panics(&self) -> Vec<String> {
        let panics = self.panics.lock();
        panics.map(|panics| panics.clone()).unwrap_or_default()
    }

    /// The signal that asked the process to end.
    pub fn signal(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::Relaxed);
        u8::try_from(signal).ok().filter(|signal| *signal > 0)
    }

    /// The events of the terminal, read by a thread of its own. They end when a signal asks the
    /// process to end, and when the terminal is gone.
    pub fn events(&self) -> UnboundedReceiver<Event> {
        let (sender, receiver) = unbounded_channel();
        let reading = Arc::clone(&self.reading);
        let signal = Arc::clone(&self.signal);
        let is_wanted =
            move || reading.load(Ordering::Relaxed) && signal.load(Ordering::Relaxed) == 0;

        let events = sender.downgrade();
        let keys = Arc::clone(&self.keys);
        let is_still_wanted = is_wanted.clone();
        let reader = std::thread::spawn(move || read_events(is_still_wanted, &keys, &events));

        // crossterm never returns from `poll` once the terminal was closed (crossterm-rs/crossterm
        // issue 793), so the reader cannot notice the SIGHUP that comes with it: this thread does.
        std::thread::spawn(move || {
            while is_wanted() && !reader.is_finished() {
                std::thread::sleep(POLL_INTERVAL);
            }
            drop(sender);
        });
        receiver
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore(&self.reading);
    }
}

fn read_events(is_wanted: impl Fn() -> bool, keys: &Keys, events: &WeakUnboundedSender<Event>) {
    while is_wanted() {
        if keys.is_paused.load(Ordering::SeqCst) {
            std::thread::sleep(POLL_INTERVAL);
            continue;
        }

        let Ok(turn) = keys.reader.lock() else { return };
        let event = match crossterm::event::poll(POLL_INTERVAL) {
            Ok(false) => continue,
            Ok(true) => crossterm::event::read(),
            Err(error) => Err(error),
        };
        drop(turn);

        // a terminal that went away sends nothing more: the closed channel ends the screen
        let Ok(event) = event else { return };
        let Some(sender) = events.upgrade() else {
            return;
        };

        if sender.send(event).is_err() {
            return;
        }
    }
}

/// Sets up what the screen needs, in raw mode.
fn set_up(mouse: bool) -> io::Result<()> {
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )?;
    // terminals that do not know this ignore it; asking first could cost seconds before the first
    // frame
    execute!(
        io::stdout(),
        PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
    )?;

    if mouse { set_mouse(true) } else { Ok(()) }
}

/// Restores the terminal, once: a second time would move the cursor of the main screen.
fn restore(reading: &AtomicBool) {
    if reading.swap(false, Ordering::SeqCst) {
        tear_down();
    }
}

/// Leaves the terminal as it was. Every step is tried, even when another fails.
fn tear_down() {
    let mut out = io::stdout();
    let _ = execute!(
        out,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste
    );
    // tmux keeps rows of a screen that grew
    let clear = Clear(ClearType::All);
    let _ = execute!(out, clear, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// A panic of the screen's own thread restores the terminal before it is reported. A panic
/// elsewhere must not write over the screen: it is kept for the end. Once the screen is closed,
/// panics are reported as usual.
fn restore_on_panic(reading: Arc<AtomicBool>, panics: Arc<Mutex<Vec<String>>>) {
    let screen = std::thread::current().id();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == screen || !reading.load(Ordering::SeqCst) {
            restore(&reading);
            report(panic);
        } else if let Ok(mut panics) = panics.lock() {
            panics.push(panic.to_string());
        }
    }));
}

/// Stops the process as a shell does, until the shell continues it.
///
/// # Errors
/// Where processes cannot be stopped.
pub fn stop_process() -> io::Result<()> {
    #[cfg(unix)]
    return signal_hook::low_level::raise(signal_hook::consts::SIGTSTP);
    #[cfg(not(unix))]
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Captures the mouse, or leaves it to the terminal.
///
/// # Errors
/// When the terminal cannot be written to.
pub fn set_mouse(captured: bool) -> io::Result<()> {
    if captured {
        execute!(io::stdout(), EnableMouseCapture)
    } else {
        execute!(io::stdout(), DisableMouseCapture)
    }
}

/// Puts text on the clipboard of the terminal (OSC 52), which works over ssh too.
///
/// # Errors
/// When the terminal cannot be written to.
pub fn copy(text: &str) -> io::Result<()> {
    execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
}

/// Writes a file, with its folder when that is missing.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    create_parent(path)?;
    files::save(path, text)
}

/// Appends a line to a file, with its folder when that is missing.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    create_parent(path)?;
    let mut file = File::options().create(true).append(true).open(path)?;
    // `ragscope clean` shortens the history under this lock; some file systems have none
    let _ = file.lock();
    writeln!(file, "{line}")
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}
