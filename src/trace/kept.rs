//! Findings that the program keeps in a file from one start to the next, by their names.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// Values by their names, in a file that is replaced as a whole.
pub(super) struct Kept<T> {
    file: PathBuf,
    values: BTreeMap<String, T>,
}

impl<T: Copy + Serialize + DeserializeOwned> Kept<T> {
    /// Reads what was kept before; nothing where the file cannot be read.
    pub fn read(file: PathBuf) -> Self {
        let text = files::read_text(&file).unwrap_or_default();
        Self {
            file,
            values: serde_json::from_str(&text).unwrap_or_default(),
        }
    }

    pub fn get(&self, name: &str) -> Option<T> {
        self.values.get(name).copied()
    }

    /// Keeps a value in the place of an earlier one; without one, forgets that.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn set(&mut self, name: String, value: Option<T>) -> io::Result<()> {
        match value {
            Some(value) => self.values.insert(name, value),
            None => self.values.remove(&name),
        };
        let text = serde_json::to_string_pretty(&self.values)?;
        files::replace(&self.file, text.as_bytes())
    }
}
