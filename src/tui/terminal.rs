//! The terminal itself: taken when the screen opens, and given back whatever happens.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long the reader of keys waits before it looks whether the screen is still there.
const PATIENCE: Duration = Duration::from_millis(50);

/// The number of the interrupt signal.
const INTERRUPT: u8 = 2;

/// The terminal while the screen has it. Dropping gives it back.
pub struct Taken {
    reading: Arc<AtomicBool>,
    panics: Arc<Mutex<Vec<String>>>,
}

impl Taken {
    /// Takes the terminal: its other page, raw keys, paste as one event, the mouse when wanted.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn take(mouse: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        let taken = Self {
            reading: Arc::new(AtomicBool::new(true)),
            panics: Arc::default(),
        };
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        // terminals that do not know this ignore it; asking first could cost seconds before the first frame
        execute!(
            io::stdout(),
            PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)
        )?;
        if mouse {
            set_mouse(true)?;
        }
        restore_on_panic(Arc::clone(&taken.reading), Arc::clone(&taken.panics));
        Ok(taken)
    }

    /// What other threads said when they panicked: to be told once the terminal is back.
    #[must_use]
    pub fn panics(&self) -> Vec<String> {
        self.panics
            .lock()
            .map(|panics| panics.clone())
            .unwrap_or_default()
    }

    /// The events of the terminal, read by a thread of its own.
    pub fn events(&self) -> UnboundedReceiver<Event> {
        let (sender, receiver) = unbounded_channel();
        let reading = Arc::clone(&self.reading);
        std::thread::spawn(move || read_events(&reading, &sender));
        receiver
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back(&self.reading);
    }
}

fn read_events(reading: &AtomicBool, sender: &UnboundedSender<Event>) {
    while reading.load(Ordering::Relaxed) {
        let event = match crossterm::event::poll(PATIENCE) {
            Ok(false) => continue,
            Ok(true) => crossterm::event::read(),
            Err(error) => Err(error),
        };
        // a terminal that went away sends nothing more: the closed channel ends the screen
        let Ok(event) = event else { return };
        if sender.send(event).is_err() {
            return;
        }
    }
}

/// Gives the terminal back as it was, once: a second time would move the cursor of the page that is in sight again. Every step is
/// tried, whatever the others do.
fn give_back(reading: &AtomicBool) {
    if !reading.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(
        out,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste
    );
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// A panic of the screen's own thread gives the terminal back before it is reported. A panic elsewhere must not write over the
/// screen: it is kept for the end. Once the screen is gone, panics are reported as ever.
fn restore_on_panic(reading: Arc<AtomicBool>, panics: Arc<Mutex<Vec<String>>>) {
    let screen = std::thread::current().id();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == screen || !reading.load(Ordering::SeqCst) {
            give_back(&reading);
            report(panic);
        } else if let Ok(mut panics) = panics.lock() {
            panics.push(panic.to_string());
        }
    }));
}

/// Takes the mouse, or leaves it to the terminal.
///
/// # Errors
/// When the terminal cannot be written to.
pub fn set_mouse(taken: bool) -> io::Result<()> {
    if taken {
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
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

/// Base 64 as RFC 4648 has it.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let group = three
            .iter()
            .fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let sign = SIGNS[(group >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place > three.len() { '=' } else { sign });
        }
    }
    text
}

/// Writes a file, with its folder when that is missing.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Adds a line to a file, with its folder when that is missing.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    writeln!(file, "{line}")
}

/// Ends when the process is asked to end; gives the number of the signal.
pub async fn asked_to_end() -> u8 {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::interrupt(),
        ];
        if let [Ok(mut terminate), Ok(mut hangup), Ok(mut interrupt)] = kinds.map(signal) {
            let came = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = hangup.recv() => SignalKind::hangup(),
                _ = interrupt.recv() => SignalKind::interrupt(),
            };
            return u8::try_from(came.as_raw_value()).unwrap_or(INTERRUPT);
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    INTERRUPT
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_as_in_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
