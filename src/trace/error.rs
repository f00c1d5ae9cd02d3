//! The errors of recorded runs. Every message names the file.

use std::fmt::Display;
use std::path::Path;

use crate::event::Problem;

/// Returns the error of a file or a folder that cannot be read.
pub(super) fn unreadable(file: &Path, reason: impl Display) -> Problem {
    Problem::new(
        format!("cannot read {} ({reason})", file.display()),
        "`ragscope paths` says where recorded runs are",
    )
}

/// Returns the error of a file that cannot be written.
pub(super) fn unwritable(file: &Path, reason: impl Display) -> Problem {
    Problem::new(
        format!("cannot write {} ({reason})", file.display()),
        "free some space, or set record.enabled=false",
    )
}

/// Returns the error of a line that is not a record.
pub(super) fn damage(file: &Path, line: usize, reason: impl Display) -> Problem {
    Problem::new(
        format!("cannot read {}, line {line} ({reason})", file.display()),
        "choose another file: this one is damaged, or not a recorded run",
    )
}
