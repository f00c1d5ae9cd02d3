//! The offers of a screen without a question: folders to open, and a model that writes answers.

use crate::event::{LocalModel, ModelList, ModelRole, OfferedModel};
use crate::story::words;

use super::folders;
use super::state::State;
use super::view::Scene;

/// Maximum number of earlier folders that are offered.
const MAX_RECENT: usize = 5;

/// Something that enter takes while nothing is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// A folder that was opened before, as it is typed.
    Recent(String),
    /// The working directory, as it is typed.
    Here(String),
    /// The bundled corpus with its questions.
    Demo,
    /// A folder whose path is typed.
    Other,
    /// A model on this machine.
    Use(Box<LocalModel>),
    /// A model to download.
    Download(Box<OfferedModel>),
}

impl Offer {
    /// Returns what enter does to it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Recent(_) | Self::Here(_) | Self::Demo | Self::Other => "open",
            Self::Use(_) => "load",
            Self::Download(_) => "download",
        }
    }
}

/// Returns the offers of the screen, the best first.
pub fn offers(scene: &Scene<'_>) -> Vec<Offer> {
    let work = &scene.ui.work;
    let is_asked = scene.run.is_some() || work.pending.is_some() || work.is_opening;
    if is_asked || scene.ui.player.is_some() {
        Vec::new()
    } else if scene.state.corpus.is_none() {
        folder_offers(scene)
    } else {
        model_offer(scene).into_iter().collect()
    }
}

/// Returns the folders to open; the working directory where it is neither the whole disk nor all of
/// the user's files.
fn folder_offers(scene: &Scene<'_>) -> Vec<Offer> {
    let recent = scene.ui.recent_folders.iter().take(MAX_RECENT);
    let mut offers: Vec<Offer> = recent.cloned().map(Offer::Recent).collect();

    let here = folders::display_path(&scene.options.save_folder);
    let is_too_much = here == "~" || here == "/";
    let is_known = scene.ui.recent_folders.contains(&here);
    if !is_too_much && !is_known {
        offers.push(Offer::Here(here));
    }

    offers.extend([Offer::Demo, Offer::Other]);
    offers
}

/// Returns the model to use in the place of one for practice: the largest on this machine that
/// fits, else the best of those to download.
pub fn model_offer(scene: &Scene<'_>) -> Option<Offer> {
    let state = scene.state;
    let is_live = scene.ui.player.is_none() && state.pull.is_none();
    if !is_live || !answers_for_practice(state) {
        return None;
    }

    let list = state.model_list.as_ref()?;
    let local = list.local.iter().filter(|model| is_usable(model, list));
    let local = local.max_by_key(|model| model.bytes).cloned();
    let offered = list.best_generator().map(|at| list.offered[at].clone());
    let download = offered.map(Box::new).map(Offer::Download);
    local.map(Box::new).map(Offer::Use).or(download)
}

/// Returns whether a model can write answers on this machine, and is not for practice.
fn is_usable(model: &LocalModel, list: &ModelList) -> bool {
    let memory = &list.memory;
    let fits = model.need.and_then(|need| memory.fits(need)) != Some(false);
    let is_slow = memory.is_slow_with(ModelRole::Generator, model.bytes);
    let is_generator = model.role == Some(ModelRole::Generator) && model.problem.is_none();
    is_generator && model.source != LocalModel::BUNDLED && fits && !is_slow
}

/// Returns whether the generator is a bundled one and the documents are the user's own.
pub fn answers_for_practice(state: &State) -> bool {
    let corpus = state.corpus.as_ref();
    let generator = state.generator();
    generator.is_some_and(|card| words::is_for_practice(card, corpus))
}
