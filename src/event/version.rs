//! The version of the run format.

use serde::{Deserialize, Serialize};

/// Version of the run format. A reader accepts any minor version of its own major one.
pub const FORMAT: FormatVersion = FormatVersion {
    major: 2,
    minor: 17,
};

/// Version of the run format, carried by [`RunEvent::RunStarted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatVersion {
    /// Changes when old readers can no longer read new records.
    pub major: u32,
    /// Changes when variants or fields were added.
    pub minor: u32,
}

impl FormatVersion {
    /// Returns whether the texts of a run name each chunk by one number; before 2.2 they had the
    /// labels of the prompt.
    pub fn has_numbers(self) -> bool {
        (self.major, self.minor) >= (2, 2)
    }
}
