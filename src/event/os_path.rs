//! Paths as serde values, those included that are not Unicode, for `#[serde(with = "os_path")]`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a path as the bytes (or wide characters) that the system has for it.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_os_str().serialize(serializer)
}

/// Reads a path.
///
/// # Errors
/// A path of another system.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    OsString::deserialize(deserializer).map(PathBuf::from)
}

/// Lists of paths.
pub mod list {
    use super::{Deserialize, Deserializer, OsString, PathBuf, Serializer};

    /// Writes each path as [`super::serialize`] does.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    /// Reads paths.
    ///
    /// # Errors
    /// Paths of another system.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsString>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }
}
