//! The model picker: the models on this machine, and those that can be downloaded.

use std::collections::BTreeSet;

use ratatui::text::{Line, Span};

use crate::event::{
    Event, LocalModel, MemoryNeed, ModelCard, ModelList, ModelRole, OfferedModel, Problem,
    SessionEvent, harmless,
};
use crate::story::words;
use crate::tui::offer::answers_for_practice;
use crate::tui::state::{Model, State};
use crate::tui::text;
use crate::tui::ui::Purpose;
use crate::tui::view::{
    Action, Content, Context, Copied, Item, Page, Reaction, Request, Scene, Scroll, Tone, View,
};

/// Cells of the columns besides the name.
const ROLES: usize = 10;
const SIZES: usize = 9;
const FITS: usize = 10;
const MARGINS: usize = 7;
/// Minimum cells of a name: the other columns yield.
const MIN_NAME: usize = 20;

/// The models by role, to use or to download one.
#[derive(Debug, Default)]
pub struct Models {
    /// The name of a model that was downloaded while this was open.
    pulled: Option<String>,
    /// The row that is to be selected.
    wanted: Option<usize>,
    /// Whether the list has come once: a later one keeps the selection.
    is_listed: bool,
}

/// A row that can be chosen.
#[derive(Debug, Clone, Copy)]
enum Entry<'a> {
    Local(&'a LocalModel),
    Offered(&'a OfferedModel),
    /// A model in use that is in no place of models: its path was given.
    Given(&'a ModelCard),
    /// A file whose path is typed.
    Other,
}

impl View for Models {
    fn title(&self, scene: &Scene<'_>) -> String {
        let memory = scene.state.model_list.as_ref().map(|list| &list.memory);
        let free_bytes = memory.and_then(|memory| memory.free_bytes);
        let Some((memory, free_bytes)) = memory.zip(free_bytes) else {
            return "Models".to_owned();
        };
        let size = words::bytes(free_bytes);
        match memory.device.as_str() {
            "CPU" => format!("Models ({size} of memory free)"),
            device => format!("Models ({size} free on {device})"),
        }
    }

    fn write(&self, page: &mut Page<'_>, scroll: &Scroll) {
        let scene = page.scene;
        if let Some(progress) = &scene.state.pull {
            page.text(Tone::Strong, "  ", &words::pull_progress(progress));
            let back = scene.keymap.sign(Action::Back);
            let quit = scene.keymap.sign(Action::Quit);
            let keys =
                format!("{back} stops the download, {quit} closes this list while it continues");
            page.text(Tone::Quiet, "  ", &keys);
            page.gap();
        }
        let Some(list) = &scene.state.model_list else {
            let words = format!("   looking for models …{}", scene.elapsed_words());
            return page.line(page.span(Tone::Quiet, words));
        };

        // the row that the list opens with is selected once there are rows
        let wanted = self.wanted.map(|row| Item::new(row, 0));
        let selected = wanted.or(scroll.selected);
        let here = list.local.len() + other_models_in_use(scene.state, list).count();
        for (row, entry) in entries(scene.state, list).enumerate() {
            if row == 0 && here > 0 {
                page.line(page.span(Tone::Strong, "  On this machine"));
            }
            if row == here && !list.offered.is_empty() {
                page.gap();
                let title = format!("  To download (list of {})", list.made);
                page.line(page.span(Tone::Strong, title));
            }
            let item = Item::new(row, 0);
            page.item(item, entry_row(page, list, entry));
            if selected == Some(item) {
                for detail in details(list, entry) {
                    page.item_text(item, Tone::Quiet, "      ", &detail);
                }
            }
        }
        if list.offered.iter().any(|model| model.is_best) {
            page.gap();
            let legend = "★ the largest with room in memory for the models beside it; without a GPU, one that reads three sources in 8 s";
            page.text(Tone::Quiet, "  ", legend);
        }
    }

    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        match selection(scene, scroll)? {
            Entry::Local(model) => Some(Copied::new("the path of the model", &model.file)),
            Entry::Offered(model) => {
                let command = format!("ragscope models pull {}", model.reference);
                Some(Copied::new("the command", command))
            }
            Entry::Given(_) | Entry::Other => None,
        }
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Back, "close"), (Action::Choose, "use or download")]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        match action {
            Action::Back => scene.state.pull.is_some().then_some(Request::StopPull),
            Action::Choose => Some(match selection(scene, scroll)? {
                Entry::Local(model) => match &model.problem {
                    Some(problem) => Request::Refuse(problem.line()),
                    None => Request::UseModel(Box::new(model.clone())),
                },
                Entry::Offered(model) => Request::PullModel(model.reference.clone()),
                Entry::Given(card) => Request::Refuse(format!("{} is in use", card.file)),
                Entry::Other => Request::Type(Purpose::Model, String::new()),
            }),
            _ => None,
        }
    }

    fn is_waiting(&self, state: &State) -> bool {
        state.model_list.is_none()
    }

    fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        match event {
            Event::Session(SessionEvent::ModelPulled { model }) => {
                self.pulled = Some(model.name.clone());
                Reaction::Redraw
            }
            Event::Session(SessionEvent::ModelsListed { .. }) => {
                let was_listed = std::mem::replace(&mut self.is_listed, true);
                let pulled = self.pulled.take();
                if let Some(pulled) = &pulled {
                    let mut local = state.model_list.iter().flat_map(|list| &list.local);
                    self.wanted = local.position(|model| model.name == *pulled);
                } else if !was_listed {
                    self.wanted = best_row(state);
                }
                if was_listed || pulled.is_some() || self.wanted.is_some() {
                    Reaction::Redraw
                } else {
                    Reaction::SelectFirst
                }
            }
            _ => Reaction::Nothing,
        }
    }

    fn settle(&mut self, content: &Content, height: usize, scroll: &mut Scroll) {
        let Some(row) = self.wanted.take() else {
            return;
        };
        let item = Item::new(row, 0);
        if let Some(rows) = content.rows_of(item) {
            scroll.selected = Some(item);
            scroll.show(rows, content, height);
        }
    }
}

/// Returns the row of the generator to download in the place of one for practice.
fn best_row(state: &State) -> Option<usize> {
    let list = state.model_list.as_ref()?;
    let best = list.best_generator();
    let best = best.filter(|_| answers_for_practice(state))?;
    Some(list.local.len() + other_models_in_use(state, list).count() + best)
}

fn entries<'a>(state: &'a State, list: &'a ModelList) -> impl Iterator<Item = Entry<'a>> {
    let local = list.local.iter().map(Entry::Local);
    let given = other_models_in_use(state, list).map(Entry::Given);
    let offered = list.offered.iter().map(Entry::Offered);
    local.chain(given).chain(offered).chain([Entry::Other])
}

/// The models in use that no place of models has.
fn other_models_in_use<'a>(
    state: &'a State,
    list: &'a ModelList,
) -> impl Iterator<Item = &'a ModelCard> {
    let loaded = state.models.values().filter_map(Model::card);
    let mut seen = BTreeSet::new();
    loaded.filter(move |card| {
        let mut local = list.local.iter();
        card.server.is_empty()
            && seen.insert(&card.file)
            && !local.any(|model| model.file_name() == card.file)
    })
}

fn selection<'a>(scene: &Scene<'a>, scroll: &Scroll) -> Option<Entry<'a>> {
    let list = scene.state.model_list.as_ref()?;
    entries(scene.state, list).nth(scroll.selected?.row)
}

fn entry_row(page: &Page<'_>, list: &ModelList, entry: Entry<'_>) -> Line<'static> {
    let mut room = page.cells.saturating_sub(ROLES + SIZES + FITS + MARGINS);
    let has_fit = room >= MIN_NAME;
    if !has_fit {
        room += FITS + 2;
    }
    let has_role = room >= MIN_NAME;
    if !has_role {
        room += ROLES + 1;
    }
    let (mark, role, name, bytes) = match entry {
        Entry::Local(model) => {
            let is_used = is_in_use(page.scene, model);
            let mark = if is_used { "● " } else { "  " };
            (mark, model.role, &model.name, model.bytes)
        }
        Entry::Offered(model) => {
            let mark = if model.is_best { "★ " } else { "  " };
            (mark, Some(model.role), &model.name, model.need.file_bytes)
        }
        Entry::Given(card) => ("● ", Some(card.role), &card.file, card.file_bytes),
        Entry::Other => {
            let words = "    another generator: type the path of its GGUF file";
            return Line::from(page.span(Tone::Text, text::clip(words, page.cells)));
        }
    };

    let fits = need(entry).and_then(|need| list.memory.fits(need));
    let is_slow = role.is_some_and(|role| list.memory.is_slow_with(role, bytes));
    let fit = words::fit(fits, is_slow);
    let tone = match fits {
        Some(true) if !is_slow => Tone::Text,
        Some(_) => Tone::Warning,
        None => Tone::Quiet,
    };

    let mut line = Line::from(vec![Span::raw("  "), page.span(Tone::Focus, mark)]);
    if has_role {
        let role = text::left(role.map_or("unusable", ModelRole::name), ROLES);
        line.push_span(page.span(Tone::Quiet, format!("{role} ")));
    }
    // the size of one that does not fit says so where nothing else does
    let size_tone = if has_fit { Tone::Text } else { tone };
    line.push_span(page.span(Tone::Text, text::left(name, room)));
    line.push_span(page.span(size_tone, text::right(&words::bytes(bytes), SIZES)));
    if has_fit {
        line.push_span(page.span(tone, format!("  {}", text::left(fit, FITS))));
    }
    line
}

/// Returns whether a role has loaded this file.
fn is_in_use(scene: &Scene<'_>, model: &LocalModel) -> bool {
    let mut loaded = scene.state.models.values().filter_map(Model::card);
    loaded.any(|card| card.file == model.file_name())
}

fn need(entry: Entry<'_>) -> Option<MemoryNeed> {
    match entry {
        Entry::Local(model) => model.need,
        Entry::Offered(model) => Some(model.need),
        Entry::Given(_) | Entry::Other => None,
    }
}

/// Returns what is shown of the selected entry.
fn details(list: &ModelList, entry: Entry<'_>) -> Vec<String> {
    let mut details = Vec::new();
    if let (Some(need), Some(free_bytes)) = (need(entry), list.memory.free_bytes) {
        details.push(words::memory(need, free_bytes));
    }

    match entry {
        Entry::Local(model) => {
            let file = harmless(&model.file);
            details.push(format!("{}, {}: {file}", model.source, model.architecture));
            details.extend(model.problem.as_ref().map(Problem::line));
        }
        Entry::Offered(model) => {
            let tokens = words::count(model.context_tokens);
            details.push(format!(
                "{}, {tokens} tokens of context, {}",
                model.licence, model.languages
            ));
            details.push(model.note.clone());
            let checked = if model.checked.is_empty() {
                "name and size not checked".to_owned()
            } else {
                format!("checked against {}", model.checked)
            };
            details.push(format!("{} ({checked})", model.reference));
        }
        Entry::Given(card) => details.push(format!(
            "in use, from another place: {}, {}",
            card.architecture, card.quantisation
        )),
        Entry::Other => {}
    }

    details
}
