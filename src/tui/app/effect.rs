//! Changes outside the screen.

use std::path::PathBuf;

use crate::event::Command;

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
    /// Add a text to a history.
    Remember { file: PathBuf, text: String },
    /// Stop the process until the shell continues it.
    Suspend,
    /// Close the screen, and open that of the demo.
    OpenDemo,
    /// Close the screen.
    Quit,
}
