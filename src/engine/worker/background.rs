//! What the engine thread does while nobody asks for anything: one piece at a time, giving way to a command within one batch.

/// `key = value` settings on top of the configuration.
pub type Overrides = Vec<(String, String)>;

/// What is to be done.
#[derive(Debug, Default)]
pub struct Chores {
    /// Load the models, so that the first question does not wait for them.
    pub load: bool,
    /// Bring the index up to date.
    pub update: bool,
    /// Link what has no links, with these settings.
    pub link: Option<Overrides>,
}

/// A piece of work, in the order of need.
#[derive(Debug)]
pub enum Chore {
    Load,
    Update,
    Link(Overrides),
}

impl Chores {
    pub fn any(&self) -> bool {
        self.load || self.update || self.link.is_some()
    }

    /// Take on what a command asks for.
    pub fn add(&mut self, asked: Self) {
        self.load |= asked.load;
        self.update |= asked.update;
        self.link = asked.link.or(self.link.take());
    }

    /// A corpus that could not be opened has nothing to bring up to date.
    pub fn without_corpus(&mut self) {
        (self.update, self.link) = (false, None);
    }

    pub fn take(&mut self) -> Option<Chore> {
        if std::mem::take(&mut self.load) {
            Some(Chore::Load)
        } else if std::mem::take(&mut self.update) {
            Some(Chore::Update)
        } else {
            self.link.take().map(Chore::Link)
        }
    }

    pub fn put_back(&mut self, chore: Chore) {
        match chore {
            Chore::Load => self.load = true,
            Chore::Update => self.update = true,
            Chore::Link(overrides) => self.link = Some(overrides),
        }
    }
}

impl Chore {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Load => "load models",
            Self::Update => "index",
            Self::Link(_) => "link",
        }
    }
}
