use ratatui::text::{Line, Span};

use crate::config::{Reader, SETTINGS, Setting};
use crate::tui::keys::{Action, Context};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::ui::Purpose;
use crate::tui::view::{Copied, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Cells of the column of names.
const NAMES: usize = 26;

/// Every setting with its value for the next run.
pub struct Settings;

impl View for Settings {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Settings".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
        content(scene, scroll, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(110, 90)
    }

    fn copied(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let setting = selected(scroll)?;
        let value = setting.text(&scene.ui.next_run.config());
        Some(Copied::new(
            "the setting",
            format!("{} = {value}", setting.key),
        ))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Settings, Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "change"),
            (Action::RunChanged, "run again"),
        ]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let setting = selected(scroll)?;
        match action {
            Action::Choose => Some(changed(scene, setting, 1)),
            Action::ChangeBack => Some(changed(scene, setting, -1)),
            Action::ResetSetting => Some(Request::Reset(setting.key)),
            _ => None,
        }
    }
}

fn selected(scroll: &Scroll) -> Option<&'static Setting> {
    SETTINGS.get(scroll.selected?.row)
}

/// Changes a setting: a choice advances by `by` steps, any other value is typed.
fn changed(scene: &Scene<'_>, setting: &Setting, by: isize) -> Request {
    if let Some(when) = setting.read_later() {
        let file = scene.options.paths.config_file();
        return Request::Refuse(format!(
            "{} is read {when}: set it in {}",
            setting.key,
            file.display()
        ));
    }

    let current = setting.text(&scene.ui.next_run.config());
    let choices = choices(scene, setting);
    if choices.is_empty() {
        return Request::Type(Purpose::Setting(setting.key.to_owned()), current);
    }

    let at = choices
        .iter()
        .position(|choice| *choice == current)
        .unwrap_or(0);
    let next = (at + choices.len()).saturating_add_signed(by) % choices.len();
    Request::Set {
        key: setting.key,
        value: choices[next].clone(),
    }
}

/// The names that a setting may take; empty when it is not a choice.
fn choices(scene: &Scene<'_>, setting: &Setting) -> Vec<String> {
    match setting.key {
        "preset" => scene.ui.next_run.presets().map(str::to_owned).collect(),
        "screen.theme" => scene.ui.themes.clone(),
        _ if setting.value(&scene.ui.next_run.settings).is_bool() => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        _ => setting
            .choices
            .iter()
            .map(|choice| choice.name.to_owned())
            .collect(),
    }
}

fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
    let mut content = Content::default();
    let next = scene.ui.next_run.config();
    let mut group = "";
    for (row, setting) in SETTINGS.iter().enumerate() {
        let section = setting.section().unwrap_or("run");
        if section != group {
            if !group.is_empty() {
                content.gap();
            }
            group = section;
            content.line(scene.span(Tone::Strong, format!("  {section}")));
        }

        let item = Item { row, part: 0 };
        let value = setting.text(&next);
        content.item(item, setting_row(scene, setting, &value, cells));
        if scroll.selected == Some(item) {
            for paragraph in explanation(setting) {
                for range in text::wrap(&paragraph, cells.saturating_sub(8)) {
                    let doc = scene.span(Tone::Quiet, paragraph[range].to_owned());
                    content.item(item, Line::from(vec![Span::raw("      "), doc]));
                }
            }
        }
    }
    content
}

/// The doc of a setting, then that of each of its choices.
fn explanation(setting: &Setting) -> impl Iterator<Item = String> {
    let choices = setting
        .choices
        .iter()
        .map(|choice| format!("{}: {}", choice.name, choice.doc()));
    std::iter::once(setting.doc()).chain(choices)
}

fn setting_row(scene: &Scene<'_>, setting: &Setting, value: &str, cells: usize) -> Line<'static> {
    let before = value_before(scene, setting);
    let changed = value != before;
    let later = setting.read_later();
    let (sign, tone) = match (changed, later) {
        (true, None) => ("● ", Tone::Warning),
        (false, None) => ("  ", Tone::Text),
        (_, Some(_)) => ("  ", Tone::Quiet),
    };
    let before = match (changed, later) {
        (_, Some(when)) => format!("   read {when}"),
        (true, None) => format!("   was {before}"),
        (false, None) => String::new(),
    };
    let names: Vec<&str> = setting.choices.iter().map(|choice| choice.name).collect();
    let choices = match names.as_slice() {
        [] => String::new(),
        names => format!("   {}", names.join(" | ")),
    };
    let room = cells.saturating_sub(NAMES + 8);
    let value = text::clip(if value.is_empty() { "\"\"" } else { value }, room).into_owned();
    let more = text::clip(
        &format!("{before}{choices}"),
        room.saturating_sub(text::width(&value)),
    )
    .into_owned();
    Line::from(vec![
        Span::raw("    "),
        scene.span(Tone::Text, text::left(setting.name(), NAMES)),
        scene.span(tone, format!("{sign}{value}")),
        scene.span(Tone::Quiet, more),
    ])
}

/// Returns the value in the run on the screen; without a run, the value at the start of the program.
fn value_before(scene: &Scene<'_>, setting: &Setting) -> String {
    match scene.run {
        Some(run) => run.setting(setting),
        None => setting.text(&scene.ui.next_run.settings),
    }
}

/// Returns the number of settings that differ between the next run and the run on the screen. Settings of
/// the screen do not count.
pub fn changed_settings(scene: &Scene<'_>) -> usize {
    if scene.ui.next_run.overrides.is_empty() {
        return 0;
    }
    let next = scene.ui.next_run.config();
    SETTINGS
        .iter()
        .filter(|setting| !setting.is_read_by(Reader::Screen) && setting.read_later().is_none())
        .filter(|setting| setting.text(&next) != value_before(scene, setting))
        .count()
}
