//! The background tasks: what the engine thread does while no command waits.

use crate::event::Operation;

/// `key = value` settings on top of the configuration.
pub type Overrides = Vec<(String, String)>;

/// The background tasks that are pending.
#[derive(Debug, Default)]
pub struct BackgroundTasks {
    /// Load the models, so that the first question does not wait for them.
    pub load: bool,
    /// Update the index.
    pub update: bool,
    /// Update the index if the folder changed.
    pub refresh: bool,
    /// Link the documents that have no links, with these settings.
    pub link: Option<Overrides>,
}

/// A background task, in priority order.
#[derive(Debug)]
pub enum Task {
    Load,
    Update,
    Refresh,
    Link(Overrides),
}

impl BackgroundTasks {
    /// Only the models are to be loaded.
    pub fn load() -> Self {
        Self {
            load: true,
            ..Self::default()
        }
    }

    /// Only the index is to be updated.
    pub fn update() -> Self {
        Self {
            update: true,
            ..Self::default()
        }
    }

    /// The index is to be updated if the folder changed.
    pub fn refresh() -> Self {
        Self {
            refresh: true,
            ..Self::default()
        }
    }

    /// Returns whether any task is pending.
    pub fn is_pending(&self) -> bool {
        self.load || self.update || self.refresh || self.link.is_some()
    }

    /// Adds the tasks that follow from a command.
    pub fn add(&mut self, others: Self) {
        self.load |= others.load;
        self.update |= others.update;
        self.refresh |= others.refresh;
        self.link = others.link.or(self.link.take());
    }

    /// Removes the tasks that need an open corpus.
    pub fn without_corpus(&mut self) {
        self.update = false;
        self.refresh = false;
        self.link = None;
    }

    /// Takes the task with the highest priority.
    pub fn take(&mut self) -> Option<Task> {
        if std::mem::take(&mut self.load) {
            Some(Task::Load)
        } else if std::mem::take(&mut self.update) {
            // it compares the folder, too
            self.refresh = false;
            Some(Task::Update)
        } else if std::mem::take(&mut self.refresh) {
            Some(Task::Refresh)
        } else {
            self.link.take().map(Task::Link)
        }
    }

    /// Puts back a task that was interrupted.
    pub fn put_back(&mut self, task: Task) {
        match task {
            Task::Load => self.load = true,
            Task::Update => self.update = true,
            Task::Refresh => self.refresh = true,
            Task::Link(overrides) => self.link = Some(overrides),
        }
    }
}

impl Task {
    /// Returns the operation that the task is.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Load => Operation::LoadModels,
            Self::Update | Self::Refresh => Operation::Index,
            Self::Link(_) => Operation::Link,
        }
    }
}
