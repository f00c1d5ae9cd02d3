//! The calibration of verdicts, by model and folder.

use std::io;
use std::path::{Path, PathBuf};

use super::kept::Kept;
use crate::event::VerdictFit;

/// The fits of the verdicts on answers of each model over each folder.
pub struct VerdictFits(Kept<VerdictFit>);

impl VerdictFits {
    /// Reads the fits that were kept; none where the file cannot be read.
    pub fn read(file: PathBuf) -> Self {
        Self(Kept::read(file))
    }

    /// Returns the fit of a model, by its fingerprint, over folders, by their canonical paths.
    pub fn get(&self, model: &str, folders: &[&Path]) -> Option<VerdictFit> {
        self.0.get(&key(model, folders))
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
    ) -> io::Result<()> {
        self.0.set(key(model, folders), fit)
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
