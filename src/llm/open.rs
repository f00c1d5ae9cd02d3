//! The generator of the settings, wherever it runs.

use std::path::Path;

use super::error::Result;
use super::generator::load_generator;
use super::isolated::IsolatedGenerator;
use super::role::LoadedGenerator;
use super::runtime::Runtime;
use crate::config::GeneratorSettings;
use crate::event::{Flow, StopFlag};

/// Loads the generator of the settings: in this process, or in one of its own where workers hold
/// its layers.
///
/// # Errors
/// As [`load_generator`] and [`IsolatedGenerator::load`].
pub fn open_generator(
    runtime: &Runtime,
    file: &Path,
    settings: &GeneratorSettings,
    stop: &StopFlag,
    progress: &mut dyn FnMut(f32) -> Flow,
) -> Result<Box<dyn LoadedGenerator>> {
    if settings.rpc.is_empty() {
        let generator = load_generator(runtime, file, settings, stop, progress)?;
        Ok(Box::new(generator))
    } else {
        let generator = IsolatedGenerator::load(file, settings, stop, progress)?;
        Ok(Box::new(generator))
    }
}
