//! Choosing in overlays: settings, recorded runs, the palette.

use crate::config::{Layers, Setting, settings_list};
use crate::event::Command;
use crate::tui::keys::Action;
use crate::tui::overlays::{self, PaletteEntry};
use crate::tui::theme::Theme;
use crate::tui::viewport::Item;

use super::{App, Effect, Field, Overlay, Purpose};

impl App {
    pub(in crate::tui) fn choose(&mut self) {
        let Some((overlay, scroll)) = &self.ui.overlay else {
            return;
        };
        let Some(item) = scroll.selected else { return };
        match overlay {
            Overlay::Settings => self.change_setting(item, 1),
            Overlay::Sessions => self.open_session(item),
            Overlay::Palette => self.accept_field(),
            Overlay::Utility => self.choose_reference(item),
            Overlay::Comparison => self.ask_under(item),
            Overlay::Source(_)
            | Overlay::Prompts
            | Overlay::Help(_)
            | Overlay::Report
            | Overlay::Log
            | Overlay::Whereabouts => {}
        }
    }

    fn open_session(&mut self, item: Item) {
        let chosen = self
            .state
            .sessions
            .as_ref()
            .and_then(|sessions| sessions.runs.get(item.row))
            .cloned();
        let Some(chosen) = chosen else { return };
        // a run of this session is here already, and may still be going on
        if let Some(here) = self.state.runs.iter().position(|run| run.id == chosen.run) {
            self.ui.turn = Some(here);
            self.ui.overlay = None;
            self.ui.forget_places();
            return;
        }
        self.ui.opened.push(chosen.run);
        self.send(Command::OpenRun {
            file: chosen.file.into(),
        });
    }

    pub(in crate::tui) fn change_back(&mut self) {
        if let Some(item) = self
            .ui
            .overlay
            .as_ref()
            .and_then(|(_, scroll)| scroll.selected)
        {
            self.change_setting(item, -1);
        }
    }

    pub(in crate::tui) fn reset_setting(&mut self) {
        if let Some(setting) = self.selected_setting() {
            self.ui.overrides.retain(|(key, _)| *key != setting.key);
            self.take_effect_now(&setting.key);
        }
    }

    fn selected_setting(&self) -> Option<Setting> {
        let (_, scroll) = self.ui.overlay.as_ref()?;
        settings_list().into_iter().nth(scroll.selected?.row)
    }

    /// A choice goes to the next one; anything else is typed.
    fn change_setting(&mut self, item: Item, by: isize) {
        let Some(setting) = settings_list().into_iter().nth(item.row) else {
            return;
        };
        if let Some(when) = overlays::read_later(&setting.key) {
            let file = self.options.paths.config_file();
            self.tell(
                format!(
                    "{} is read {when}: set it in {}",
                    setting.key,
                    file.display()
                ),
                true,
            );
            return;
        }
        let current = overlays::current_value(&self.scene(), &setting);
        let choices = self.choices(&setting);
        if choices.is_empty() {
            self.ui.field = Some(Field {
                purpose: Purpose::Setting(setting.key),
                text: super::ask::typed(&current),
            });
            return;
        }
        let at = choices
            .iter()
            .position(|choice| *choice == current)
            .unwrap_or(0);
        let next = (at + choices.len()).saturating_add_signed(by) % choices.len();
        self.override_setting(&setting.key, &choices[next]);
    }

    /// The names that a setting may take; empty when it is no choice.
    fn choices(&self, setting: &Setting) -> Vec<String> {
        match setting.key.as_str() {
            "preset" => self.ui.presets().map(str::to_owned).collect(),
            "screen.theme" => Theme::names(&self.options.paths.config.join("themes")),
            _ if matches!(setting.default.as_str(), "true" | "false") => {
                vec!["true".to_owned(), "false".to_owned()]
            }
            _ => setting.choices.clone(),
        }
    }

    /// Notes a setting for the next run, after asking the configuration whether it makes sense.
    pub(super) fn override_setting(&mut self, key: &str, value: &str) {
        if let Err(error) = self.check_setting(key, value) {
            self.tell(error, true);
            return;
        }
        self.ui.overrides.retain(|(changed, _)| changed != key);
        self.ui.overrides.push((key.to_owned(), value.to_owned()));
        self.take_effect_now(key);
        if (key == "preset" || key.starts_with("chunker."))
            && self.ui.next_cut() != self.ui.cut
            && self.ui.player.is_none()
        {
            let sign = self.keymap.sign(Action::Reindex);
            self.tell(
                format!("the chunks stay as they are cut: {sign} cuts the folder anew for these settings"),
                false,
            );
        }
    }

    fn check_setting(&self, key: &str, value: &str) -> Result<(), String> {
        if key == "preset" {
            // a preset of the user's folder is known by its name alone here; the engine reads it
            let known = self.ui.presets().any(|name| name == value);
            return if known {
                Ok(())
            } else {
                Err(format!("unknown preset `{value}`"))
            };
        }
        let layers = Layers::defaults().with(&[(key.to_owned(), value.to_owned())]);
        layers
            .and_then(|layers| layers.config())
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// Settings of the screen need no run.
    fn take_effect_now(&mut self, key: &str) {
        let value = |app: &Self| {
            let setting = settings_list()
                .into_iter()
                .find(|setting| setting.key == key)?;
            Some(overlays::current_value(&app.scene(), &setting))
        };
        match (key, value(self)) {
            ("screen.theme", Some(name)) => self.dress(&name),
            ("screen.mouse", Some(on)) => self.take_mouse(on == "true"),
            _ => {}
        }
    }

    fn dress(&mut self, name: &str) {
        match Theme::load(name, &self.options.paths.config.join("themes"), self.depth) {
            Ok(theme) => self.theme = theme,
            Err(error) => self.tell(format!("{error:#}"), true),
        }
    }

    pub(super) fn take_mouse(&mut self, taken: bool) {
        self.ui.mouse = taken;
        self.effects.push(Effect::Mouse(taken));
    }

    pub(in crate::tui) fn toggle_mouse(&mut self) {
        self.take_mouse(!self.ui.mouse);
    }

    pub(in crate::tui) fn open_palette(&mut self) {
        self.ui.overlay = Some((Overlay::Palette, Default::default()));
        self.ui.field = Some(Field {
            purpose: Purpose::Palette,
            text: super::ask::typed(""),
        });
        self.palette_typed();
    }

    pub(super) fn palette_typed(&mut self) {
        self.select_first();
    }

    pub(in crate::tui) fn field_up(&mut self) {
        self.move_in_palette(-1);
    }

    pub(in crate::tui) fn field_down(&mut self) {
        self.move_in_palette(1);
    }

    fn move_in_palette(&mut self, by: isize) {
        if self.is_palette() {
            self.change_place(|scroll, content, height| scroll.select_by(by, content, height));
        }
    }

    pub(in crate::tui) fn accept_field(&mut self) {
        // the palette's entries depend on what is typed, so they are asked for before the field goes
        let entry = self.selected_entry();
        let Some(field) = self.ui.field.take() else {
            return;
        };
        match &field.purpose {
            Purpose::Search => self.go_to_match(0),
            Purpose::Setting(key) => self.override_setting(key, field.typed().trim()),
            Purpose::Reference => self.measure_toward(field.typed().trim()),
            Purpose::Passage => self.seek(field.typed().trim()),
            Purpose::Folder => self.open_typed_folder(field.typed().trim()),
            Purpose::Palette => {
                self.ui.overlay = None;
                if let Some(entry) = entry {
                    self.run_entry(entry);
                }
            }
        }
    }

    fn selected_entry(&self) -> Option<PaletteEntry> {
        let (Overlay::Palette, scroll) = self.ui.overlay.as_ref()? else {
            return None;
        };
        overlays::palette_entries(&self.scene())
            .into_iter()
            .nth(scroll.selected?.row)
    }

    fn run_entry(&mut self, entry: PaletteEntry) {
        match entry {
            PaletteEntry::Action(action) => self.run_from_palette(action),
            PaletteEntry::Preset(name) => {
                self.override_setting("preset", &name);
                self.tell(
                    format!(
                        "preset {name} for the next run: {} runs the question again",
                        self.keymap.sign(Action::Again)
                    ),
                    false,
                );
            }
            PaletteEntry::Suggestion(number, _) => {
                self.take_suggestion(number);
                self.ui.focus = super::Focus::Input;
            }
            PaletteEntry::Theme(name) => {
                self.tell(format!("theme {name}"), false);
                self.override_setting("screen.theme", &name);
            }
        }
    }

    /// Actions of panes mean the pane, wherever the palette was opened.
    fn run_from_palette(&mut self, action: Action) {
        self.ui.focus = super::Focus::Panes;
        self.run_action(action);
    }
}
