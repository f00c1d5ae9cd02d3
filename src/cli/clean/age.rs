//! The unit in which limits of age are given.

use std::time::Duration;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
