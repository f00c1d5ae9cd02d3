//! `mcp`: the folders by the Model Context Protocol over stdin and stdout.

use std::path::PathBuf;

use crate::config::{Layers, Paths};
use crate::serve::mcp;

use super::failure::{Exit, Stopped};
use super::folders::check_folders;

/// Serves these folders until stdin ends.
pub fn run(folders: &[PathBuf], layers: Layers, paths: &Paths) -> Result<Exit, Stopped> {
    check_folders(folders)?;
    mcp::run(folders, layers, paths)?;
    Ok(Exit::Done)
}
