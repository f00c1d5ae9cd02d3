//! A page of a PDF as a picture, which takes the screen until a key is pressed.
//!
//! poppler's `pdftoppm` draws the page, in a process of its own; `ratatui-image` shows it, by the
//! protocol that the terminal answers to, or as half blocks.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crossterm::event::KeyCode;
use image::{DynamicImage, ImageFormat};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::widgets::Widget;
use ratatui_image::picker::{Picker, ProtocolType};
use ratatui_image::protocol::Protocol;
use ratatui_image::{Image, Resize};

use crate::config::Pictures;
use crate::event::harmless;

/// Maximum time for a page.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a picture: a screen of 8 bits and three colours has less.
const MAX_BYTES: u64 = 64 << 20;

/// The reason why a page is not shown.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("`pdftoppm`, which draws pages, is not installed (package poppler-utils)")]
    NotInstalled,
    #[error("`pdftoppm` cannot draw page {0}")]
    NotDrawn(u32),
    #[error("`pdftoppm` did not draw page {0} within {time} s", time = TIMEOUT.as_secs())]
    TimedOut(u32),
}

/// A page on the screen.
pub struct PdfPage {
    pub file: PathBuf,
    /// The number in the file, from 1.
    pub number: u32,
    drawn: DynamicImage,
    terminal: Picker,
    /// The picture as the terminal takes it, with the room that it was made for.
    shown: Option<(Size, Protocol)>,
}

/// The meaning of a key while a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKey {
    /// Show the page of this number.
    Turn(u32),
    Leave,
}

/// Asks the terminal how it shows pictures, unless the setting says so. Reads the answer from the
/// standard input.
pub fn ask_terminal(setting: Pictures) -> Picker {
    let protocol = match setting {
        Pictures::Blocks => return Picker::halfblocks(),
        Pictures::Auto => None,
        Pictures::Kitty => Some(ProtocolType::Kitty),
        Pictures::Iterm2 => Some(ProtocolType::Iterm2),
        Pictures::Sixel => Some(ProtocolType::Sixel),
    };
    let mut terminal = Picker::from_query_stdio().unwrap_or_else(|_| Picker::halfblocks());
    if let Some(protocol) = protocol {
        terminal.set_protocol_type(protocol);
    }
    terminal
}

impl PdfPage {
    /// Draws a page, from 1, for a screen of this size.
    ///
    /// # Errors
    /// A page that is not there; a program that is missing, fails or takes too long.
    pub fn new(
        file: PathBuf,
        number: u32,
        terminal: &Picker,
        screen: Rect,
    ) -> Result<Self, PageError> {
        let cell = terminal.font_size();
        let room = picture_room(screen);
        let width = u32::from(room.width) * u32::from(cell.width);
        let height = u32::from(room.height) * u32::from(cell.height);
        let picture = draw(&file, number, width.min(height))?;
        let drawn = image::load_from_memory_with_format(&picture, ImageFormat::Png)
            .map_err(|_| PageError::NotDrawn(number))?;

        Ok(Self {
            file,
            number,
            drawn,
            terminal: terminal.clone(),
            shown: None,
        })
    }

    /// Makes the picture fit a screen.
    pub fn fit(&mut self, screen: Rect) {
        let room = picture_room(screen);
        if self.shown.as_ref().is_some_and(|(size, _)| *size == room) {
            return;
        }
        let picture = self.drawn.clone();
        let protocol = self.terminal.new_protocol(picture, room, Resize::Fit(None));
        self.shown = protocol.ok().map(|protocol| (room, protocol));
    }

    /// Returns the line below the picture.
    pub fn caption(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let name = harmless(&name);
        let keys = "←→ other pages · any other key returns";
        format!("{name} p. {}   {keys}", self.number)
    }

    /// Draws the picture at the top left.
    pub fn draw(&self, buffer: &mut Buffer) {
        if let Some((_, protocol)) = &self.shown {
            Image::new(protocol).render(buffer.area, buffer);
        }
    }

    /// Returns the meaning of a key.
    pub fn key(&self, key: KeyCode) -> PageKey {
        match key {
            KeyCode::Right | KeyCode::PageDown | KeyCode::Char('n' | ' ') => {
                PageKey::Turn(self.number + 1)
            }
            KeyCode::Left | KeyCode::PageUp | KeyCode::Char('p') => {
                PageKey::Turn(self.number.saturating_sub(1).max(1))
            }
            _ => PageKey::Leave,
        }
    }
}

/// Returns the room of a picture: all rows but the last, which has the caption.
fn picture_room(screen: Rect) -> Size {
    Size::new(screen.width, screen.height.saturating_sub(1).max(1))
}

/// Draws a page as a PNG whose longer side has this number of pixels, so that it fits whichever way
/// the page is turned.
fn draw(file: &Path, page: u32, pixels: u32) -> Result<Vec<u8>, PageError> {
    let number = page.to_string();
    let mut command = Command::new("pdftoppm");
    command
        .args(["-f", &number, "-l", &number, "-singlefile", "-png"])
        .args(["-scale-to", &pixels.to_string(), "--"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());

    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => PageError::NotInstalled,
        _ => PageError::NotDrawn(page),
    })?;
    let output = child.stdout.take().ok_or(PageError::NotDrawn(page))?;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut picture = Vec::new();
        let read = output.take(MAX_BYTES).read_to_end(&mut picture);
        let _ = sender.send(read.map(|_| picture));
    });

    let read = receiver.recv_timeout(TIMEOUT);
    // one that has written its picture ends by itself
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait();
    match read {
        Ok(Ok(picture)) if status.is_ok_and(|status| status.success()) => Ok(picture),
        Err(RecvTimeoutError::Timeout) => Err(PageError::TimedOut(page)),
        Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(PageError::NotDrawn(page)),
    }
}
