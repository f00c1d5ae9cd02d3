//! The published form of a question set.

use super::beside::Beside;
use super::record::Record;
use crate::eval::questions::{Passage, QuestionEntry};

/// A question set in its published form.
pub struct Dataset {
    /// Name that `--dataset` takes.
    pub name: &'static str,
    /// The set and its forms.
    pub about: &'static str,
    /// Files with the questions in a published folder; empty for a set that is one file.
    pub(super) questions: &'static [&'static str],
    /// Returns whether a record is of this set, for a file whose set is not named.
    pub(super) is_record: fn(&Record) -> bool,
    /// Returns the passages that belong to the set as a whole.
    pub(super) shared: fn(&Beside) -> Vec<Passage>,
    /// Returns the questions of a record, each or the whole with its fault.
    pub(super) read: fn(&Record, &Beside) -> Result<Vec<Fallible>, String>,
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A question, or its name and the fault of it.
pub type Fallible = Result<QuestionEntry, (String, String)>;

/// Returns a record's one question.
pub fn one(entry: impl Into<QuestionEntry>) -> Result<Vec<Fallible>, String> {
    Ok(vec![Ok(entry.into())])
}
