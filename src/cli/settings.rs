//! The settings of a command: those of the user, with its flags on top.

use crate::config::{ConfigError, Layers, Paths};

use super::args::Shared;
use super::failure::{Failure, Stopped};

/// Returns the settings of the user with the flags on top, validated as a whole.
///
/// # Errors
/// On unknown names and values; those of flags are wrong usage.
pub fn layers(flags: &Shared, paths: &Paths) -> Result<Layers, Stopped> {
    with_flags(Layers::load(paths)?, flags)
}

/// Returns settings with the flags on top, validated as a whole.
///
/// # Errors
/// As [`layers`].
pub(super) fn with_flags(mut layers: Layers, flags: &Shared) -> Result<Layers, Stopped> {
    // an error in the files is not wrong usage
    if let Err(error @ ConfigError::Unusable(_)) = layers.config() {
        return Err(error.into());
    }

    let wrong_usage = |error: ConfigError| Failure::from(error).into_usage();
    let assignments = flags.assignments();
    for (flag, key, value) in &assignments {
        layers.set(flag, key, value).map_err(wrong_usage)?;
    }

    match layers.config() {
        Ok(_) => Ok(layers),
        Err(error) if assignments.is_empty() => Err(error.into()),
        Err(error) => Err(wrong_usage(error).into()),
    }
}
