//! The panes by name: their numbers, titles and places on the screen.

/// A pane, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Answer,
    Uncertainty,
    Retrieval,
    Links,
    Refinement,
}

/// The two rows of panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotRow {
    Upper,
    Lower,
}

impl Pane {
    /// Every pane, by number.
    pub const ALL: [Self; 5] = [
        Self::Answer,
        Self::Uncertainty,
        Self::Retrieval,
        Self::Links,
        Self::Refinement,
    ];

    /// Returns the title in its frame.
    pub fn title(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Uncertainty => "Uncertainty",
            Self::Retrieval => "Retrieval",
            Self::Links => "Links",
            Self::Refinement => "Refinement",
        }
    }

    /// Returns its number, from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns its row on a screen that shows all panes, and its share of the row's width, relative
    /// to its neighbours.
    pub fn slot(self) -> (SlotRow, u16) {
        match self {
            Self::Answer => (SlotRow::Upper, 11),
            Self::Uncertainty => (SlotRow::Upper, 10),
            Self::Retrieval => (SlotRow::Lower, 11),
            Self::Links | Self::Refinement => (SlotRow::Lower, 5),
        }
    }

    /// Returns whether the pane keeps its end visible while rows are added.
    pub fn is_following(self) -> bool {
        self == Self::Answer
    }
}
