//! The five panes. Each turns what it is shown into rows; none of them knows where it stands or how far it is scrolled.

mod answer;
mod funnel;
mod links;
mod ready;
mod refinement;
mod retrieval;
mod role_off;
mod uncertainty;

pub(super) use answer::place;
pub(super) use retrieval::reason_in_short as dropped_in_short;

use ratatui::style::Style;
use ratatui::text::Span;

use super::app::Ui;
use super::keys::Keymap;
use super::state::{Run, State};
use super::text;
use super::theme::{Theme, Tone};
use super::viewport::Content;
use crate::event::Hit;

/// A pane, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Answer,
    Uncertainty,
    Retrieval,
    Links,
    Refinement,
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

    /// The title in its frame.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Uncertainty => "Uncertainty",
            Self::Retrieval => "Retrieval",
            Self::Links => "Links",
            Self::Refinement => "Refinement",
        }
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Its rows at a width of `cells`.
    #[must_use]
    pub fn content(self, scene: &Scene<'_>, cells: usize) -> Content {
        match self {
            Self::Answer => answer::content(scene, cells),
            Self::Uncertainty => uncertainty::content(scene, cells),
            Self::Retrieval => retrieval::content(scene, cells),
            Self::Links => links::content(scene, cells),
            Self::Refinement => refinement::content(scene, cells),
        }
    }

    /// What copying the selected thing copies: what it is called, and its text.
    #[must_use]
    pub fn copied(self, scene: &Scene<'_>) -> Option<(String, String)> {
        match self {
            Self::Answer | Self::Uncertainty => answer::copied(scene),
            Self::Retrieval => retrieval::copied(scene),
            Self::Refinement => refinement::copied(scene),
            Self::Links => None,
        }
    }
}

/// All that drawing may look at.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub state: &'a State,
    /// The run on the screen.
    pub run: Option<&'a Run>,
    pub ui: &'a Ui,
    pub theme: &'a Theme,
    pub keymap: &'a Keymap,
}

impl Scene<'_> {
    /// The look of a role.
    #[must_use]
    pub fn style(&self, tone: Tone) -> Style {
        self.theme.style(tone)
    }

    /// Text in the look of a role.
    pub fn span(&self, tone: Tone, content: impl Into<String>) -> Span<'static> {
        Span::styled(content.into(), self.theme.style(tone))
    }

    /// A bar of `cells` cells.
    #[must_use]
    pub fn bar(&self, share: f32, cells: usize) -> [Span<'static>; 2] {
        let (filled, rest) = text::bar(share, cells);
        [self.span(Tone::Bar, filled), self.span(Tone::Track, rest)]
    }

    /// The hit that is selected in Retrieval.
    #[must_use]
    pub fn selected_hit(&self) -> Option<&Hit> {
        let item = self.ui.scroll(Pane::Retrieval).selected?;
        self.run?
            .lookups
            .get(item.row)?
            .hits()
            .get(item.part.checked_sub(1)?)
    }

    /// Something for the person to do, as `key what it does`.
    pub fn hint(&self, action: super::keys::Action, what: &str) -> [Span<'static>; 2] {
        [
            self.span(Tone::Key, self.keymap.sign(action)),
            self.span(Tone::Quiet, format!(" {what}")),
        ]
    }
}
