//! The five panes, one file each. A pane turns what it is shown into rows; it knows neither where
//! it is drawn nor how far it is scrolled.

mod absence;
mod ready;
mod funnel;
mod sentences;
mod answer;
mod uncertainty;
mod hit_columns;
mod retrieval;
mod links;
mod answer_matrix;
mod rounds;
mod refinement;

use super::pane::Pane;
use super::scene::Scene;
use super::view::{Content, Page, View};

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

/// Returns the rows of a pane at a width of `cells`.
pub fn content(pane: Pane, scene: &Scene<'_>, cells: usize) -> Content {
    let mut page = Page::new(scene, cells);
    view(pane).write(&mut page, scene.ui.scroll(pane));
    page.content
}
