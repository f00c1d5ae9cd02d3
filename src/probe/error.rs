//! The errors of a weights file.

use std::fmt::Display;
use std::path::Path;

use crate::event::Problem;

/// Returns the error of a file that cannot be read for a reason.
pub(super) fn unreadable<R: Display>(file: &Path) -> impl Fn(R) -> Problem {
    move |reason| {
        Problem::new(
            format!("the probe {} cannot be read ({reason})", file.display()),
            "train it again with `ragscope probe train`",
        )
    }
}

/// Returns the error of a probe of another generator.
pub(super) fn unfit(file: &Path, reason: impl Display) -> Problem {
    Problem::new(
        format!("the probe {} does not fit ({reason})", file.display()),
        "train one for this model with `ragscope probe train`",
    )
}
