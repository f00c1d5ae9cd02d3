//! The parts of the screen that have keys of their own.

/// The part of the screen in which an action is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Always, even while text is typed.
    Everywhere,
    /// While no text is typed: panes and overlays.
    Reading,
    /// While a pane is focused.
    Panes,
    /// While a pane is focused and no recorded run is replayed.
    Session,
    /// While a recorded run is replayed.
    Replay,
    /// While the question is typed.
    Input,
    /// While a search, a name or a value is typed.
    Field,
    /// While a list to choose from is open.
    Choosing,
    /// While the settings are open.
    Settings,
    /// While the list of threads is open.
    Threads,
    /// While the source of a passage is open.
    Source,
}

impl Context {
    /// Returns the title in help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "Everywhere",
            Self::Reading => "Reading",
            Self::Panes => "Panes and runs",
            Self::Session => "Panes, no replay",
            Self::Replay => "Replay",
            Self::Input => "Asking",
            Self::Field => "Typing",
            Self::Choosing => "Choosing",
            Self::Settings => "Settings",
            Self::Threads => "Threads",
            Self::Source => "Source",
        }
    }

    /// Every context, in the order of help.
    pub const ALL: &[Self] = &[
        Self::Input,
        Self::Panes,
        Self::Session,
        Self::Replay,
        Self::Settings,
        Self::Threads,
        Self::Source,
        Self::Choosing,
        Self::Field,
        Self::Reading,
        Self::Everywhere,
    ];

    /// Contexts that are active at the same time: within one of these sets a key has one meaning.
    pub(super) const COMBINATIONS: &[&[Self]] = &[
        &[Self::Input, Self::Everywhere],
        &[Self::Field, Self::Everywhere],
        &[Self::Session, Self::Panes, Self::Reading, Self::Everywhere],
        &[Self::Replay, Self::Panes, Self::Reading, Self::Everywhere],
        &[Self::Source, Self::Reading, Self::Everywhere],
        &[
            Self::Settings,
            Self::Choosing,
            Self::Reading,
            Self::Everywhere,
        ],
        &[
            Self::Threads,
            Self::Choosing,
            Self::Reading,
            Self::Everywhere,
        ],
    ];
}
