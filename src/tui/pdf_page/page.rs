//! Drawing of a page by poppler's `pdftoppm`, which reads the file in a process of its own.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Maximum time for a page.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a picture: a screen of 8 bits and three colours has less.
const MAX_BYTES: u64 = 64 << 20;

/// The file format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Png,
    /// Portable pixmap: three bytes per pixel.
    Ppm,
}

/// Why a page is not shown.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("`pdftoppm`, which draws pages, is not installed (package poppler-utils)")]
    NotInstalled,
    #[error("`pdftoppm` cannot draw page {0}")]
    NotDrawn(u32),
    #[error("`pdftoppm` did not draw page {0} within {time} s", time = TIMEOUT.as_secs())]
    TimedOut(u32),
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Draws a page, from 1, into at most `size` pixels.
///
/// # Errors
/// A page that is not there; a program that is missing, fails or takes too long.
pub fn draw(file: &Path, page: u32, size: [u16; 2], form: Form) -> Result<Vec<u8>, PageError> {
    let [width, height] = size;
    let number = page.to_string();
    let mut command = Command::new("pdftoppm");
    command.args(["-f", &number, "-l", &number, "-singlefile"]);
    // the longer side, so that it fits whichever way the page is turned
    command.args(["-scale-to", &width.min(height).to_string()]);
    if form == Form::Png {
        command.arg("-png");
    }
    command.arg("--").arg(file);
    command
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
        Ok(Ok(picture)) if !picture.is_empty() && status.is_ok_and(|status| status.success()) => {
            Ok(picture)
        }
        Err(RecvTimeoutError::Timeout) => Err(PageError::TimedOut(page)),
        Ok(_) | Err(RecvTimeoutError::Disconnected) => Err(PageError::NotDrawn(page)),
    }
}
