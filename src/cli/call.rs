//! The things that every command needs.

use crate::config::{Layers, Paths};

use super::args::Shared;
use super::failure::Stopped;
use super::output::Output;
use super::settings;
use super::work::Work;

/// The flags, the folders and the output of a command.
pub(super) struct CommandCall<'a> {
    pub flags: &'a Shared,
    pub paths: &'a Paths,
    pub out: &'a mut Output,
}

impl<'a> CommandCall<'a> {
    /// Returns the settings with the flags on top.
    pub fn layers(&self) -> Result<Layers, Stopped> {
        settings::layers(self.flags, self.paths)
    }

    /// Prepares a worker with these settings.
    pub fn work(self, layers: Layers) -> Result<Work<'a>, Stopped> {
        Work::new(layers, self.paths, self.out)
    }
}
