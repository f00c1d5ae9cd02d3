//! The background tasks: what the engine thread does while no command waits.

use std::collections::BTreeMap;

use crate::event::Operation;

/// `key = value` settings on top of the configuration.
pub type Overrides = Vec<(String, String)>;

/// The background tasks that are pending, with their settings.
pub type BackgroundTasks = BTreeMap<Task, Overrides>;

/// A background task, in priority order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Load the models, so that the first question does not wait for them.
    Load,
    /// Update the index.
    Update,
    /// Update the index if the folder changed.
    Refresh,
    /// Link the documents that have no links, with these settings.
    Link,
}

impl Task {
    /// Returns the operation that the task is.
    pub fn operation(self) -> Operation {
        match self {
            Self::Load => Operation::LoadModels,
            Self::Update | Self::Refresh => Operation::Index,
            Self::Link => Operation::Link,
        }
    }
}
