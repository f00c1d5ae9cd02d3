//! The calibration of verdicts, by model and folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::event::VerdictFit;
use crate::files;

/// The fits of the verdicts on answers of each model over each folder.
pub struct VerdictFits {
    file: PathBuf,
    fits: BTreeMap<String, VerdictFit>,
}

impl VerdictFits {
    /// Reads the fits that were kept; none where the file cannot be read.
    pub fn read(file: PathBuf) -> Self {
        let text = files::read_text(&file).unwrap_or_default();
        Self {
            file,
            fits: serde_json::from_str(&text).unwrap_or_default(),
        }
    }

    /// Returns the fit of a model, by its fingerprint, over folders, by their canonical paths.
    pub fn get(&self, model: &str, folders: &[&Path]) -> Option<VerdictFit> {
        self.fits.get(&key(model, folders)).copied()
    }

    /// Keeps a fit in the place of an earlier one; without one, forgets that.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(
        &mut self,
        model: &str,
        folders: &[&Path],
        fit: Option<VerdictFit>,
    ) -> std::io::Result<()> {
        let key = key(model, folders);
        match fit {
            Some(fit) => self.fits.insert(key, fit),
            None => self.fits.remove(&key),
        };
        let text = serde_json::to_string_pretty(&self.fits)?;
        files::replace(&self.file, text.as_bytes())
    }
}

fn key(model: &str, folders: &[&Path]) -> String {
    let paths = folders.iter().map(|path| path.to_string_lossy());
    let key: Vec<_> = std::iter::once(model.into()).chain(paths).collect();
    key.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_of_a_model_and_a_folder() {
        let home = tempfile::tempdir().expect("temporary folder");
        let read = || VerdictFits::read(home.path().join("fits.json"));
        let (notes, mail) = (Path::new("/notes"), Path::new("/mail"));
        let fit = VerdictFit {
            slope: 0.5,
            constant: -1.0,
            answers: 40,
        };

        read().keep("model", &[notes], Some(fit)).expect("written");
        assert_eq!(read().get("model", &[notes]), Some(fit));
        assert_eq!(read().get("model", &[notes, mail]), None);
        assert_eq!(read().get("other", &[notes]), None);

        read().keep("model", &[notes], None).expect("written");
        assert_eq!(read().get("model", &[notes]), None);
    }
}
