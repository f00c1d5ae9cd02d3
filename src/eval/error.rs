//! The error of a question file.

use std::path::Path;

use crate::event::Problem;

/// Returns the error of a file that does not hold questions.
pub(super) fn not_questions(file: &Path, reason: &str) -> Problem {
    Problem::new(
        format!("{} is not a question file ({reason})", file.display()),
        "give JSON lines with `question` and `answers`, or a dataset that `ragscope eval --help` lists",
    )
}
