//! Taking what the screen offers: a folder, the demo, or a model that writes answers.

use crate::event::{Command, LocalModel, ModelRole};
use crate::tui::keys::Action;
use crate::tui::offer::{Offer, answers_for_practice, offers};
use crate::tui::pane::Pane;
use crate::tui::viewport::Item;

use super::base::App;
use super::effect::Effect;

impl App {
    /// Takes the selected offer, or the first; returns whether there is one. A question that is
    /// typed is never taken for that.
    pub(super) fn take_offer(&mut self) -> bool {
        if !self.ui.question.text.is_empty() {
            return false;
        }
        let offers = offers(&self.scene());
        let selected = self.ui.scroll(Pane::Answer).selected;
        let row = selected.map_or(0, |item| item.row);
        let Some(offer) = offers.into_iter().nth(row) else {
            return false;
        };
        // the choice stays while another folder is typed
        if offer != Offer::Other {
            self.ui.panes.scroll_mut(Pane::Answer).selected = None;
        }
        match offer {
            Offer::Recent(folder) | Offer::Here(folder) => {
                if let Err(error) = self.open_typed_folders(&folder) {
                    self.refuse(error);
                }
            }
            Offer::Demo => self.effects.push(Effect::OpenDemo),
            Offer::Other => self.open_folder(),
            Offer::Use(model) => {
                self.use_model(&model);
            }
            Offer::Download(model) => {
                self.ui.work.awaited_model = Some(model.reference.clone());
                self.pull_model(model.reference);
            }
        }
        true
    }

    /// Selects another folder of those that are offered; returns whether there are any.
    pub(super) fn choose_offer(&mut self, by: isize) -> bool {
        if self.state.corpus.is_some() || !self.ui.question.text.is_empty() {
            return false;
        }
        let count = offers(&self.scene()).len();
        if count == 0 {
            return false;
        }

        let selected = self.ui.scroll(Pane::Answer).selected;
        let row = selected.map_or(0, |item| item.row);
        let row = row.saturating_add_signed(by).min(count - 1);
        self.ui.panes.scroll_mut(Pane::Answer).selected = Some(Item::new(row, 0));
        self.show_selected();
        true
    }

    /// Asks for the models to choose from, once the generator turns out to be for practice.
    pub(super) fn look_for_a_model(&mut self) {
        let is_needed = self.state.corpus.is_some() && answers_for_practice(&self.state);
        if is_needed && self.ui.player.is_none() && !self.ui.work.is_model_sought {
            self.ui.work.is_model_sought = true;
            self.send(Command::ListModels);
        }
    }

    /// Loads the model that was downloaded because it was offered.
    pub(super) fn use_awaited_model(&mut self) {
        let Some(name) = self.ui.work.arrived_model.take() else {
            return;
        };
        let is_it = |model: &&LocalModel| model.name == name;
        let list = self.state.model_list.as_ref();
        let model = list.and_then(|list| list.local.iter().find(is_it)).cloned();
        match model {
            Some(model) if model.role == Some(ModelRole::Generator) => {
                if !self.use_model(&model) {
                    return;
                }
                let again = self.scene().keys_from_here(Action::Again);
                let asks = if self.scene().run.is_some() {
                    format!(": {again} asks again")
                } else {
                    String::new()
                };
                self.notify(format!("{name} is here and writes the next answers{asks}"));
            }
            Some(_) | None => {
                let lists = self.keymap.sign(Action::Models);
                self.refuse(format!(
                    "{name} is not a generator: {lists} lists the models"
                ));
            }
        }
    }
}
