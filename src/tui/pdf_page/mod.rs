//! A page of a PDF as a picture, in terminals that show pictures.
//!
//! The page takes the whole terminal until a key is pressed, as an editor does: a picture is no text,
//! and the screen knows cells alone. poppler's `pdftoppm` draws it, in a process of its own.

mod page;
mod protocol;
mod sixel;

use std::io::{self, Write};
use std::path::Path;

use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, WindowSize, disable_raw_mode,
    enable_raw_mode, window_size,
};
use crossterm::{cursor, execute};

pub use page::PageError;
pub use protocol::Protocol;

/// Cells in pixels where the terminal does not say.
const USUAL_CELL: [u16; 2] = [10, 20];

/// A page of a PDF.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    pub file: &'a Path,
    /// From 1.
    pub number: u32,
    /// The name of the document, for the caption.
    pub name: &'a str,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Next,
    Previous,
    Leave,
}

/// Shows a page, and those around it, until a key leaves it or `is_over` says so. The terminal is as
/// usual before and after.
///
/// # Errors
/// A first page that cannot be drawn; a terminal that cannot be written to.
pub fn show(
    page: Page<'_>,
    protocol: Protocol,
    is_over: impl Fn() -> bool,
) -> Result<(), PageError> {
    let size = picture_size()?;
    let mut number = page.number;
    let mut drawn = page::draw(page.file, number, size, protocol.form())?;

    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
    let shown = loop {
        if let Err(error) = present(&drawn, &Page { number, ..page }, protocol) {
            break Err(error.into());
        }
        let other = loop {
            match turn(&is_over) {
                Turn::Leave => break None,
                Turn::Previous if number == 1 => {}
                Turn::Previous => break Some(number - 1),
                Turn::Next => break Some(number + 1),
            }
        };
        let Some(other) = other else { break Ok(()) };
        // after the last page there is nothing to draw
        if let Ok(picture) = page::draw(page.file, other, size, protocol.form()) {
            drawn = picture;
            number = other;
        }
    };

    let mut out = io::stdout();
    out.write_all(protocol.forgotten())?;
    execute!(
        out,
        Clear(ClearType::All),
        LeaveAlternateScreen,
        cursor::Show
    )?;
    disable_raw_mode()?;
    shown
}

/// Returns the width and height of a picture in pixels: all but the last row, which has the caption.
fn picture_size() -> io::Result<[u16; 2]> {
    let WindowSize {
        rows,
        columns,
        width,
        height,
    } = window_size()?;
    let cell = [
        width.checked_div(columns).filter(|width| *width > 0),
        height.checked_div(rows).filter(|height| *height > 0),
    ];
    let [cell_width, cell_height] = [0, 1].map(|at| cell[at].unwrap_or(USUAL_CELL[at]));
    Ok([
        columns.saturating_mul(cell_width),
        rows.saturating_sub(1).max(1).saturating_mul(cell_height),
    ])
}

fn present(picture: &[u8], page: &Page<'_>, protocol: Protocol) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(protocol.forgotten())?;
    execute!(out, Clear(ClearType::All), cursor::MoveTo(0, 0))?;
    protocol.write(picture, &mut out)?;

    let rows = crossterm::terminal::size().map_or(24, |(_, rows)| rows);
    execute!(out, cursor::MoveTo(0, rows.saturating_sub(1)))?;
    let keys = "←→ other pages · any other key returns";
    write!(out, "{} p. {}   {keys}", page.name, page.number)?;
    out.flush()
}

/// Waits for a key. The terminal's own bytes are read here: crossterm never returns from a terminal
/// that was closed.
#[cfg(unix)]
fn turn(is_over: &impl Fn() -> bool) -> Turn {
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    loop {
        let stdin = io::stdin();
        let mut waiting = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waiting, PollTimeout::from(100_u8)) {
            _ if is_over() => return Turn::Leave,
            Ok(0) => {}
            Ok(_) => {
                let mut bytes = [0; 16];
                return match nix::unistd::read(&stdin, &mut bytes) {
                    Ok(count @ 1..) => Turn::of(&bytes[..count]),
                    Ok(0) | Err(_) => Turn::Leave,
                };
            }
            Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return Turn::Leave,
        }
    }
}

#[cfg(not(unix))]
fn turn(_is_over: &impl Fn() -> bool) -> Turn {
    use crossterm::event::{Event, KeyCode, KeyEventKind, read};

    loop {
        match read() {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                return match key.code {
                    KeyCode::Right | KeyCode::PageDown | KeyCode::Char('n' | ' ') => Turn::Next,
                    KeyCode::Left | KeyCode::PageUp | KeyCode::Char('p') => Turn::Previous,
                    _ => Turn::Leave,
                };
            }
            Ok(_) => {}
            Err(_) => return Turn::Leave,
        }
    }
}

#[cfg(unix)]
impl Turn {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            b"\x1b[C" | b"\x1bOC" | b"\x1b[6~" | b"n" | b" " => Self::Next,
            b"\x1b[D" | b"\x1bOD" | b"\x1b[5~" | b"p" => Self::Previous,
            _ => Self::Leave,
        }
    }
}
