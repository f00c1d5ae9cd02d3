//! Choosing and downloading models.

use crate::event::{Command, LocalModel, ModelRole, PulledModel};
use crate::story::text::one_line;
use crate::story::words;
use crate::tui::folders::typed_path;
use crate::tui::keys::Action;
use crate::tui::overlays;

use super::base::App;
use super::effect::Effect;

impl App {
    pub(super) fn open_models(&mut self) {
        if self.has_engine() {
            self.send(Command::ListModels);
            self.open_list(overlays::Models::default());
        }
    }

    /// Gives a model its role and loads it; returns whether it does. One that is larger than the
    /// free memory is loaded when it is chosen twice.
    pub(super) fn use_model(&mut self, model: &LocalModel) -> bool {
        let Some(role) = model.role else { return false };
        if let Some(shortage) = self.shortage(model)
            && self.ui.work.confirmed_model.as_ref() != Some(&model.file)
        {
            self.ui.work.confirmed_model = Some(model.file.clone());
            let choose = self.keymap.sign(Action::Choose);
            self.refuse(format!(
                "{} {shortage}: {choose} again loads it, parts of it are then read from the disk again and again",
                model.name
            ));
            return false;
        }

        self.load_model(role, &model.setting);
        true
    }

    /// Loads the generator in the file whose path is typed.
    ///
    /// # Errors
    /// A path that is no file, for the user.
    pub(super) fn load_typed_model(&mut self, typed: &str) -> Result<(), String> {
        if typed.is_empty() {
            return Ok(());
        }
        let path = typed_path(typed);
        match path.metadata() {
            Ok(about) if about.is_file() => {}
            Ok(_) => return Err("this is a folder: type the file in it".to_owned()),
            Err(error) => return Err(words::why_not_found(&error, "file")),
        }

        let recent = &mut self.ui.recent_models;
        let is_new = recent.first().is_none_or(|last| last != typed);
        recent.retain(|known| known != typed);
        recent.insert(0, typed.to_owned());
        if is_new {
            self.effects.push(Effect::Remember {
                file: self.options.paths.model_history_file(),
                text: typed.to_owned(),
            });
        }
        // the screen shows how it is loaded
        self.overlay = None;
        let path = std::path::absolute(&path).unwrap_or(path);
        self.load_model(ModelRole::Generator, &path.display().to_string());
        Ok(())
    }

    /// Gives a role a model, as the settings name it, and loads it.
    fn load_model(&mut self, role: ModelRole, setting: &str) {
        let key = format!("{}.model", role.name());
        self.override_setting(&key, setting);
        let overrides = self.ui.next_run.overrides.clone();
        if role == ModelRole::Embedder && self.state.corpus.is_some() {
            // the vectors of the index are those of the old one
            self.ui.next_run.note_indexing();
            self.send(Command::Reindex {
                rebuild: false,
                overrides,
            });
        } else {
            self.send(Command::LoadModels { overrides });
        }
        self.notify(format!("{key} = {setting}, for the next runs"));
    }

    /// Returns what a model lacks, in words; `None` where it fits.
    fn shortage(&self, model: &LocalModel) -> Option<String> {
        let list = self.state.model_list.as_ref()?;
        let free_bytes = list.memory.free_bytes?;
        let need = model.need?;
        (need.bytes() > free_bytes).then(|| words::memory(need, free_bytes))
    }

    pub(super) fn pull_model(&mut self, reference: String) {
        if self.state.pull.is_some() {
            return self.refuse("a download is under way: wait for it, or stop it first");
        }
        let lists = self.scene().keys_from_here(Action::Models);
        self.notify(format!(
            "downloading {reference}: {lists} shows how far it is"
        ));
        self.send(Command::PullModel { reference });
    }

    pub(super) fn stop_pull(&mut self) {
        self.notify("stopping the download …");
        self.send(Command::StopPull);
    }

    pub(super) fn model_pulled(&mut self, model: &PulledModel) {
        let name = one_line(&model.name);
        if self.ui.work.awaited_model.take().as_ref() == Some(&model.reference) {
            self.notify(format!("{name} is here"));
            self.ui.work.arrived_model = Some(name);
            return;
        }

        let (action, does) = match self.overlay {
            Some(_) => (Action::Choose, "uses it"),
            None => (Action::Models, "lists the models"),
        };
        let key = self.keymap.sign(action);
        self.notify(format!("{name} is here: {key} {does}"));
    }
}
