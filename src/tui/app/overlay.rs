//! Opening overlays, serving the requests of views, changing settings, saving.

use std::path::PathBuf;

use crate::config::{Location, LocationPart, Setting};
use crate::event::{ChunkText, Command, Source, SourceForm};
use crate::story::words;
use crate::tui::keys::Action;
use crate::tui::overlays::{self, Open, Origin};
use crate::tui::theme::Theme;
use crate::tui::ui::{Field, Focus, Purpose};
use crate::tui::view::{Passage, Request, View};
use crate::tui::{ascii, panes, picture, save};

use super::base::App;
use super::effect::Effect;
use super::look::Match;

impl App {
    /// Opens an overlay.
    pub(super) fn open(&mut self, view: impl View + 'static) {
        self.ui.field = None;
        self.ui.search.needle.clear();
        self.overlay = Some(Open::new(view));
    }

    /// Opens an overlay with its first item selected.
    pub(super) fn open_list(&mut self, view: impl View + 'static) {
        self.open(view);
        self.select_first();
    }

    /// Opens the palette on the pages of the guide.
    pub(in crate::tui) fn open_guide(&mut self) {
        self.open(overlays::Palette);
        if let Some(line) = self.overlay.as_mut().and_then(|open| open.line.as_mut()) {
            line.insert(overlays::GUIDE);
        }
        self.select_first();
    }

    pub(super) fn open_help(&mut self) {
        if let Some(Request::Close) = self.request(Action::Help) {
            return self.close_overlay();
        }
        let contexts = self.contexts();
        let below = self.overlay.take();
        self.open(overlays::Help { contexts });
        if let Some(open) = &mut self.overlay {
            open.below = below.map(Box::new);
        }
    }

    /// Closes the overlay; the one that help was opened over is there again.
    pub(super) fn close_overlay(&mut self) {
        let below = self.overlay.take().and_then(|open| open.below);
        self.overlay = below.map(|below| *below);
    }

    pub(super) fn open_sessions(&mut self) {
        if self.has_engine() {
            self.send(Command::ListSessions);
            self.open_list(overlays::Sessions::default());
        }
    }

    /// Returns the request of the focused overlay or pane for an action.
    pub(super) fn request(&self, action: Action) -> Option<Request> {
        let scene = self.scene();
        match &self.overlay {
            Some(open) => open.view.act(action, &scene, &open.scroll),
            None => {
                let pane = self.ui.panes.focused;
                panes::view(pane).act(action, &scene, self.ui.scroll(pane))
            }
        }
    }

    /// Passes an action to the focused view.
    pub(super) fn act(&mut self, action: Action) {
        if let Some(request) = self.request(action) {
            self.perform(request);
        }
    }

    /// Passes an action to the focused view; `otherwise` is shown when the view does not handle it.
    pub(super) fn act_or(&mut self, action: Action, otherwise: &str) {
        match self.request(action) {
            Some(request) => self.perform(request),
            None => self.refuse(otherwise),
        }
    }

    pub(super) fn perform(&mut self, request: Request) {
        match request {
            Request::Close => self.close_overlay(),
            Request::Refuse(reason) => self.refuse(reason),
            Request::Set { key, value } => {
                let shown = match key {
                    "preset" => words::preset_name(&value),
                    _ => &value,
                };
                self.notify(format!("{key} = {shown}"));
                self.override_setting(key, &value);
            }
            Request::Reset(key) => self.reset_setting(key),
            Request::TogglePlace { key, chunk } => self.toggle_place(key, &chunk),
            Request::Type(purpose, text) => self.ui.field = Some(Field::new(purpose, &text)),
            Request::Measure { samples } => self.measure_with(samples),
            Request::TypeReference => self.type_reference(),
            Request::OpenSource(passage) => self.open_source(passage),
            Request::OpenThread(runs, chosen) => self.open_thread(runs, chosen),
            Request::PlayThread(runs, chosen) => self.play_thread(runs, chosen),
            Request::UseModel(model) => {
                self.use_model(&model);
            }
            Request::PullModel(reference) => self.pull_model(reference),
            Request::SwitchSource => {
                self.ui.raw_sources = !self.ui.raw_sources;
                if let Some(open) = &mut self.overlay {
                    open.rebuild();
                }
            }
            Request::ShowPage { file, page } => self.effects.push(Effect::ShowPage { file, page }),
            Request::StopPull => self.stop_pull(),
            // another use of the engine would wait for it
            Request::StopMeasuring => {
                self.stop();
                self.overlay = None;
            }
            Request::AskWith(settings) => self.ask_with(settings),
            Request::StopTrials => self.stop(),
            Request::ToggleVariant(at) => self.toggle_variant(at),
            Request::TryVariants => self.try_variants(),
            Request::Preset(name) => self.choose_preset(&name),
            Request::Theme(name) => {
                self.notify(format!("theme {name}"));
                self.override_setting("screen.theme", &name);
            }
            Request::Suggest(number) => {
                self.take_suggestion(number);
                self.ui.panes.focus = Focus::Input;
            }
            Request::OpenGuide(page) => self.open(overlays::Guide::new(page)),
            Request::Perform(action) => {
                // actions of panes mean the pane, wherever the palette was opened
                self.ui.panes.focus = Focus::Panes;
                self.run_action(action);
            }
        }
    }

    /// Chooses the selected entry; one that is out of sight is shown first.
    pub(super) fn choose(&mut self) {
        if !self.reveal_selected() {
            self.act_or(Action::Choose, "select an entry first");
        }
    }

    /// Accepts the typed line, in the status line or above the rows of an overlay.
    pub(super) fn accept(&mut self) {
        if let Some(field) = self.ui.field.take() {
            if let Err(error) = self.accept_field(&field) {
                // the text stays for the user to correct
                let error = Some(error);
                self.ui.field = Some(Field { error, ..field });
            }
        } else if let Some(open) = &self.overlay
            && open.line.is_some()
        {
            let stays_open = open.stays_open();
            if self.reveal_selected() {
                return;
            }
            // the entries depend on what is typed, so they are asked for before the overlay goes
            let request = self.request(Action::Accept);
            if !stays_open {
                self.overlay = None;
            }
            if let Some(request) = request {
                self.perform(request);
            }
        }
    }

    /// Accepts the line typed in the status line.
    ///
    /// # Errors
    /// The reason that it is refused, for the user.
    fn accept_field(&mut self, field: &Field) -> Result<(), String> {
        let typed = field.text.as_str().trim();
        match &field.purpose {
            Purpose::Search => self.go_to_match(Match::Here),
            Purpose::Setting(key) => self.try_override(key, typed)?,
            Purpose::Reference => self.measure_against(typed),
            Purpose::Expected => self.diagnose(typed),
            Purpose::Variant => self.add_variant(typed)?,
            Purpose::Folder => self.open_typed_folders(typed)?,
            Purpose::Model => self.load_typed_model(typed)?,
            Purpose::Filter => self.filter_documents(typed)?,
            Purpose::ThreadName(thread) => self.rename_thread(thread, typed)?,
        }
        Ok(())
    }

    /// Moves in the rows below the typed line, or through the paths of before.
    pub(super) fn move_below_input(&mut self, by: isize) {
        let purpose = self.ui.field.as_ref().map(|field| &field.purpose);
        let overlay = self.overlay.as_ref();
        let has_line = overlay.is_some_and(|open| open.line.is_some());
        if matches!(purpose, Some(Purpose::Folder | Purpose::Model)) {
            self.take_recent_path(by);
        } else if purpose.is_none() && has_line {
            self.change_scroll(|scroll, content, height| scroll.select_by(by, content, height));
        }
    }

    /// Opens the document of a passage; until it is read, and if it cannot be, shows the passage as
    /// the run recorded it.
    fn open_source(&mut self, passage: Passage) {
        let reason = self.why_not_opened();
        let origin = reason.map_or(Origin::Waiting, Origin::Recorded);
        if origin == Origin::Waiting {
            self.request_source(&passage);
        }

        let recorded = self.recorded_source(&passage);
        let mut view = overlays::Source::new(passage, recorded, origin);
        if let Some(run) = self.scene().run {
            view = view.with_run(run);
        }
        self.open(view);
    }

    /// Requests the document of what is selected, for the user's editor.
    pub(super) fn edit_source(&mut self) {
        let Some(Request::OpenSource(passage)) = self.request(Action::OpenSource) else {
            return self.refuse("nothing to edit: select a hit or a sentence with a citation");
        };
        if let Some(reason) = self.why_not_opened() {
            return self.refuse(reason);
        }
        self.request_source(&passage);
        // an engine that writes an answer sends the path after it
        self.notify(format!("opening {} in the editor …", passage.document));
        self.editing = Some(passage);
    }

    /// Opens a document in the user's editor, if that was requested.
    pub(super) fn edit_opened(&mut self, source: &Source) {
        let is_wanted = |passage: &mut Passage| passage.document == source.document;
        let Some(passage) = self.editing.take_if(is_wanted) else {
            return;
        };

        if source.places.is_empty() {
            self.effects.push(Effect::Edit {
                path: source.path.clone().into(),
                line: passage.first_line,
            });
        } else {
            let open = self.keymap.sign(Action::OpenSource);
            let document = passage.document;
            self.refuse(format!(
                "{document} is not a text file: {open} shows its text"
            ));
        }
    }

    fn request_source(&mut self, passage: &Passage) {
        self.send(Command::OpenSource {
            document: passage.document.clone(),
            first_line: passage.first_line,
            last_line: passage.last_line,
        });
    }

    /// Returns the reason that the document itself is unavailable; `None` when it can be requested.
    pub(super) fn why_not_opened(&self) -> Option<&'static str> {
        if self.ui.player.is_some() {
            return Some("a replay does not open documents");
        }
        let of_run = self.scene().run.and_then(|run| run.corpus.as_ref());
        let open = self.state.corpus.as_ref();
        let is_same = of_run.map(|corpus| &corpus.folder) == open.map(|corpus| &corpus.folder);
        (!is_same).then_some("the run used a different folder")
    }

    /// Returns the passage as the run recorded it.
    fn recorded_source(&self, passage: &Passage) -> Option<Source> {
        let hit = self.scene().run?.hit(passage.chunk)?;
        Some(Source {
            document: passage.document.clone(),
            path: passage.document.clone(),
            lines: hit.chunk.text.lines().map(str::to_owned).collect(),
            from_line: hit.chunk.lines[0],
            places: hit.chunk.places.clone(),
            form: SourceForm::Lines,
            first_line: passage.first_line,
            last_line: passage.last_line,
            changed: false,
        })
    }

    /// Adds a chunk to the locations that a setting lists for the next runs, or removes it. A chunk
    /// that becomes pinned is no longer excluded, and one that becomes excluded no longer pinned.
    fn toggle_place(&mut self, key: &str, chunk: &ChunkText) {
        let is_added = !self.take_back(key, chunk);
        if is_added {
            let mut locations = self.ui.next_run.locations(key);
            locations.push(Location {
                document: chunk.document.clone(),
                part: LocationPart::Bytes(chunk.bytes),
            });
            self.set_locations(key, &locations);
            let other = match key {
                "retriever.pinned" => "retriever.excluded",
                _ => "retriever.pinned",
            };
            self.take_back(other, chunk);
        }

        let name = key.rsplit('.').next().unwrap_or(key);
        let before = if is_added { "" } else { "no longer " };
        let location = words::chunk_location(chunk);
        let again = self.keymap.sign(Action::Again);
        self.notify(format!(
            "{before}{name}: {location}; {again} runs the question again"
        ));
    }

    /// Removes the locations of a chunk from those that a setting lists for the next runs. Returns
    /// whether there were any.
    fn take_back(&mut self, key: &str, chunk: &ChunkText) -> bool {
        let mut locations = self.ui.next_run.locations(key);
        let before = locations.len();
        locations.retain(|known| !known.covers(chunk));
        let is_removed = locations.len() < before;
        if is_removed {
            self.set_locations(key, &locations);
        }
        is_removed
    }

    fn set_locations(&mut self, key: &str, locations: &[Location]) {
        let names: Vec<String> = locations.iter().map(Location::to_string).collect();
        self.override_setting(key, &toml::Value::from(names).to_string());
    }

    fn choose_preset(&mut self, name: &str) {
        self.override_setting("preset", name);
        let again = self.keymap.sign(Action::Again);
        let preset = words::preset(name);
        self.notify(format!(
            "{preset} for the next run: {again} runs the question again"
        ));
    }

    /// Changes a setting for the next run, if the configuration accepts the value.
    pub(super) fn override_setting(&mut self, key: &str, value: &str) {
        if let Err(error) = self.try_override(key, value) {
            self.refuse(error);
        }
    }

    /// Changes a setting for the next run.
    ///
    /// # Errors
    /// What the setting takes instead of this value, for the user.
    fn try_override(&mut self, key: &str, value: &str) -> Result<(), String> {
        self.check_setting(key, value)?;
        self.ui.next_run.set(key, value);
        self.apply_screen_setting(key);
        let is_about_chunks = key == "preset" || key.starts_with("chunker.");
        if is_about_chunks && self.ui.next_run.needs_indexing() && self.ui.player.is_none() {
            let sign = self.keymap.sign(Action::Reindex);
            self.notify(format!(
                "chunking settings apply after re-indexing: press {sign}"
            ));
        }
        Ok(())
    }

    fn reset_setting(&mut self, key: &str) {
        self.ui.next_run.reset(key);
        self.apply_screen_setting(key);
    }

    pub(super) fn check_setting(&self, key: &str, value: &str) -> Result<(), String> {
        if key == "preset" {
            // a preset of the user's folder is known by its name alone here; the engine reads it
            let mut presets = self.ui.next_run.presets().iter();
            let known = presets.find(|preset| preset.name == value);
            return known
                .map(|_| ())
                .ok_or_else(|| format!("unknown preset `{value}`"));
        }
        let setting = Setting::find(key).ok_or_else(|| format!("unknown setting `{key}`"))?;
        setting.set(&mut self.ui.next_run.config(), &setting.parse(value))
    }

    /// Applies a setting of the screen at once: it needs no run.
    fn apply_screen_setting(&mut self, key: &str) {
        let screen = self.ui.next_run.config().screen;
        match key {
            "screen.theme" => {
                let folder = self.options.paths.config.join("themes");
                match Theme::load(&screen.theme, &folder, self.depth) {
                    Ok(theme) => self.theme = theme,
                    Err(problem) => self.refuse(problem.line()),
                }
            }
            "screen.charset" => {
                self.is_ascii = ascii::is_wanted(screen.charset, self.options.has_plain_locale);
                self.keymap.show_in_ascii(self.is_ascii);
            }
            "screen.mouse" => self.take_mouse(screen.mouse),
            _ => {}
        }
    }

    pub(super) fn take_mouse(&mut self, taken: bool) {
        self.ui.mouse = taken;
        self.effects.push(Effect::Mouse(taken));
    }

    pub(super) fn save_run(&mut self) {
        let Some(run) = self.scene().run else {
            return self.refuse("nothing has been asked yet");
        };
        let name = format!("ragscope-{}", save::name_run(run));
        let page = save::run_markdown(run, &self.options.time_zone);
        self.write_new(&name, "md", page);
    }

    pub(super) fn save_screen(&mut self) {
        let page = save::rows(&self.text_picture());
        self.write_new("ragscope-screen", "txt", page);
    }

    pub(super) fn save_picture(&mut self) {
        let picture = picture::svg(&self.picture());
        self.write_new("ragscope-screen", "svg", picture);
    }

    /// Returns where files are saved: the working directory, unless the corpus contains it and
    /// would have them as its documents.
    fn save_folder(&self) -> PathBuf {
        let folder = &self.options.save_folder;

        let corpus = self.scene().state.corpus.as_ref();
        let names = corpus.map(|corpus| match corpus.folders.as_slice() {
            [] => vec![corpus.folder.clone()],
            several => several.to_vec(),
        });

        let is_inside = |name: &String| {
            let of_corpus = std::fs::canonicalize(name);
            let own = std::fs::canonicalize(folder);
            matches!((of_corpus, own), (Ok(of_corpus), Ok(own)) if own.starts_with(&of_corpus))
        };

        if names.into_iter().flatten().any(|name| is_inside(&name)) {
            self.options.paths.saved_files()
        } else {
            folder.clone()
        }
    }

    /// Writes a file under the first free name, so that nothing is overwritten.
    pub(super) fn write_new(&mut self, name: &str, ending: &str, text: String) {
        let folder = self.save_folder();
        let numbered = (2_u32..).map(|number| format!("{name}-{number}.{ending}"));
        let names = std::iter::once(format!("{name}.{ending}")).chain(numbered);
        let mut paths = names.map(|name| folder.join(name));
        if let Some(path) = paths.find(|path| path.symlink_metadata().is_err()) {
            self.effects.push(Effect::Write { path, text });
        }
    }
}
