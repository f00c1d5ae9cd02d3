use ratatui::text::{Line, Span};

use crate::config::{AnswerPrompt, Config, SETTINGS, Setting, SettingReader};
use crate::story::words;
use crate::tui::ui::Purpose;
use crate::tui::view::{
    Action, Context, Copied, Filter, Item, Page, Request, Scene, Scroll, Size, Tone, View,
};
use crate::tui::{fuzzy, text};

/// The setting that a run chooses by itself where nothing sets it.
const CHUNKS: &str = "retriever.k";
/// Cells before and after the names.
const MARGINS: usize = 4;
/// Minimum cells for a value where names are long.
const MIN_VALUE: usize = 24;

/// Every setting with its value for the next run.
#[derive(Debug)]
pub struct Settings;

impl View for Settings {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Settings".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, scroll: &Scroll) {
        let typed = page.scene.typed;
        if typed.is_empty() {
            every_setting(page, scroll);
        } else {
            matching_settings(page, scroll, typed);
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(110, 90)
    }

    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let setting = selection(scroll)?;
        let value = setting.text(&scene.ui.next_run.config());
        let words = format!("{} = {value}", setting.key);
        Some(Copied::new("the setting", words))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Settings, Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "change"),
            (Action::Search, "find"),
            (Action::RunChanged, "run again"),
        ]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let setting = selection(scroll)?;
        match action {
            Action::Choose | Action::Accept => Some(change(scene, setting, 1)),
            Action::ChangeBack => Some(change(scene, setting, -1)),
            Action::ResetSetting => Some(Request::Reset(setting.key)),
            _ => None,
        }
    }

    fn filter(&self) -> Option<Filter> {
        Some(Filter {
            is_permanent: false,
            stays_open: true,
            hints: &[(Action::Back, "all settings"), (Action::Accept, "change")],
        })
    }
}

fn selection(scroll: &Scroll) -> Option<&'static Setting> {
    SETTINGS.get(scroll.selected?.row)
}

/// Changes a setting: a choice advances by `by` steps, any other value is typed.
fn change(scene: &Scene<'_>, setting: &Setting, by: isize) -> Request {
    if let Some(when) = setting.read_later()
        && !is_read_by_next_index(setting)
    {
        let file = scene.options.paths.config_file();
        let file = file.display();
        return Request::Refuse(format!("{} is read {when}: set it in {file}", setting.key));
    }

    let current = setting.text(&scene.ui.next_run.config());
    let choices = choices(scene, setting);
    if choices.is_empty() {
        return Request::Type(Purpose::Setting(setting.key.to_owned()), current);
    }

    let at = choices.iter().position(|choice| *choice == current);
    let next = (at.unwrap_or(0) + choices.len()).saturating_add_signed(by) % choices.len();
    Request::Set {
        key: setting.key,
        value: choices[next].clone(),
    }
}

/// Returns whether the next update of the index reads it from here.
fn is_read_by_next_index(setting: &Setting) -> bool {
    setting.section() == Some("chunker")
}

/// The names that a setting may take; empty when it is not a choice.
fn choices(scene: &Scene<'_>, setting: &Setting) -> Vec<String> {
    let next = &scene.ui.next_run;
    match setting.key {
        "screen.theme" => scene.ui.themes.clone(),
        _ if setting.value(&next.settings).is_bool() => vec!["true".to_owned(), "false".to_owned()],
        _ => explained_choices(scene, setting)
            .map(|(name, _)| name)
            .collect(),
    }
}

/// Writes all settings in their order, each section with its explanation.
fn every_setting(page: &mut Page<'_>, scroll: &Scroll) {
    let mut section = None;
    for (row, setting) in SETTINGS.iter().enumerate() {
        if row == 0 || setting.section() != section {
            section = setting.section();
            if row > 0 {
                page.gap();
            }
            let about = setting.section_doc();
            let about = about.map_or("  Presets and chance.".to_owned(), |doc| format!("  {doc}"));
            page.clip(Tone::Strong, &about);
        }
        setting_rows(page, scroll, row, setting);
    }
}

/// Writes the settings whose names match the typed letters, best match first, then those whose
/// explanation has them as words.
fn matching_settings(page: &mut Page<'_>, scroll: &Scroll, typed: &str) {
    let by_name = fuzzy::matching(typed, SETTINGS.iter().enumerate(), |(_, setting)| {
        setting.key.to_owned()
    });
    let words = typed.to_lowercase();
    let by_doc = SETTINGS.iter().enumerate().filter(|(row, setting)| {
        let is_listed = by_name.iter().any(|(listed, _)| listed == row);
        !is_listed && setting.doc().to_lowercase().contains(words.trim())
    });

    for (row, setting) in by_name.iter().copied().chain(by_doc) {
        setting_rows(page, scroll, row, setting);
    }
    if page.is_empty() {
        page.line(page.span(Tone::Quiet, "  no matching setting"));
    }
}

/// Writes a setting; below the selected one its explanation and that of each choice.
fn setting_rows(page: &mut Page<'_>, scroll: &Scroll, row: usize, setting: &Setting) {
    let item = Item::new(row, 0);
    let value = setting.text(&page.scene.ui.next_run.config());
    page.item(item, setting_row(page, setting, &value));
    if scroll.selected != Some(item) {
        return;
    }

    page.item_text(item, Tone::Quiet, "      ", &setting.doc());
    for (name, doc) in explained_choices(page.scene, setting) {
        let mark = if name == value { '▸' } else { ' ' };
        let words = format!("{mark} {}: {doc}", shown_value(setting, &name));
        page.item_hanging(item, Tone::Quiet, "      ", "  ", &words);
    }
}

/// Returns the choices of a setting that explain themselves, each with its sentence.
fn explained_choices(
    scene: &Scene<'_>,
    setting: &Setting,
) -> impl Iterator<Item = (String, String)> {
    let presets = scene.ui.next_run.presets().iter();
    let presets = presets.filter(|_| setting.key == "preset");
    let presets = presets.map(|preset| (preset.name.clone(), preset.doc.clone()));
    let choices = setting.choices.iter();
    presets.chain(choices.map(|choice| (choice.name.to_owned(), choice.doc())))
}

fn setting_row(page: &Page<'_>, setting: &Setting, value: &str) -> Line<'static> {
    let before = value_before(page.scene, setting);
    let chosen = chunks_by_prompt(page.scene).filter(|_| setting.key == CHUNKS);
    let changed = value != before && chosen.is_none();
    let is_fixed = setting.read_later().is_some() && !is_read_by_next_index(setting);
    let (sign, tone) = match (changed, is_fixed) {
        (true, false) => ("● ", Tone::Warning),
        (false, false) => ("  ", Tone::Text),
        (_, true) => ("  ", Tone::Quiet),
    };

    let mut more = String::new();
    if let Some(chunks) = chosen {
        more.push_str(&format!("   {chunks} with prompt sources"));
    }
    if changed && !is_fixed {
        more.push_str(&format!("   was {}", shown_value(setting, &before)));
    }
    if setting.is_read_by(SettingReader::Index) {
        more.push_str("   needs re-indexing");
    } else if let Some(when) = setting.read_later() {
        more.push_str(&format!("   read {when}"));
    }
    if !setting.choices.is_empty() {
        let names = text::join(setting.choices.iter().map(|choice| choice.name), " | ");
        more.push_str(&format!("   {names}"));
    }

    let widths = SETTINGS.iter().map(|setting| text::width(setting.key));
    let most = page.cells.saturating_sub(MARGINS + MIN_VALUE);
    let names = widths.max().unwrap_or(0).min(most);
    let room = page
        .cells
        .saturating_sub(names + MARGINS + text::width(sign));
    let value = shown_value(setting, value);
    let value = text::clip(if value.is_empty() { "\"\"" } else { value }, room);
    let more = text::clip(&more, room.saturating_sub(text::width(&value)));
    Line::from(vec![
        Span::raw("  "),
        page.span(Tone::Text, text::left(setting.key, names)),
        Span::raw("  "),
        page.span(tone, format!("{sign}{value}")),
        page.span(Tone::Quiet, more),
    ])
}

/// Returns a value as the screen names it.
fn shown_value<'v>(setting: &Setting, value: &'v str) -> &'v str {
    match setting.key {
        "preset" => words::preset_name(value),
        _ => value,
    }
}

/// Returns the number of chunks that the next run chooses by itself where it has the prompt
/// sources; `None` where one is set, and where it has another prompt.
fn chunks_by_prompt(scene: &Scene<'_>) -> Option<u32> {
    let next = &scene.ui.next_run;
    let config = next.config();
    let is_default = |config: &Config| config.retriever.k == Config::default().retriever.k;
    let is_set = scene.options.sets_chunks && is_default(&next.settings)
        || next.overrides.iter().any(|(key, _)| key == CHUNKS);
    let may_be_sources = matches!(
        config.answer.prompt,
        AnswerPrompt::Auto | AnswerPrompt::Sources
    );
    (!is_set && is_default(&config) && may_be_sources).then(|| config.chunks_of_sources())
}

/// Returns the value in the run on the screen; without a run, the value at the start of the
/// program.
fn value_before(scene: &Scene<'_>, setting: &Setting) -> String {
    match scene.run {
        Some(run) => run.setting(setting),
        None => setting.text(&scene.ui.next_run.settings),
    }
}

/// Returns the settings that differ between the next run and the run on the screen, without those
/// of the screen, and without those that a run chooses by itself where nothing sets them.
pub fn changed_settings(scene: &Scene<'_>) -> Vec<&'static str> {
    let overrides = &scene.ui.next_run.overrides;
    if overrides.is_empty() {
        return Vec::new();
    }

    let next = scene.ui.next_run.config();
    let unset = Config::default();
    let of_run = scene.run.map(|run| &run.settings);
    let before = of_run.unwrap_or(&scene.ui.next_run.settings);
    let is_set = |setting: &&Setting| {
        let is_changed = overrides.iter().any(|(key, _)| key == setting.key);
        is_changed || setting.text(&next) != setting.text(&unset)
    };
    let is_of_run = |setting: &&Setting| {
        !setting.is_read_by(SettingReader::Screen) && setting.read_later().is_none()
    };
    let settings = SETTINGS.iter().filter(is_of_run).filter(is_set);
    settings
        .filter(|setting| setting.text(&next) != setting.text(before))
        .map(|setting| setting.key)
        .collect()
}
