//! The five panes, one file each. A pane turns what it is shown into rows; it knows neither where
//! it is drawn nor how far it is scrolled.

mod absence;
mod ready;
mod funnel;
mod sentences;
mod answer;
mod uncertainty;
mod retrieval;
mod links;
mod refinement;

use super::pane::Pane;
use super::view::View;

/// The view of a pane.
pub fn view(pane: Pane) -> &'static dyn View {
    match pane {
        Pane::Answer => &answer::Answer,
        Pane::Uncertainty => &uncertainty::Uncertainty,
        Pane::Retrieval => &retrieval::Retrieval,
        Pane::Links => &links::Links,
        Pane::Refinement => &refinement::Refinement,
    }
}
