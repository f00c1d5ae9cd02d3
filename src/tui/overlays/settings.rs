use ratatui::text::{Line, Span};

use crate::config::{Setting, settings_list};
use crate::tui::keys::{Action, Context};
use crate::tui::state::setting;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::ui::Purpose;
use crate::tui::view::{Copied, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Cells of the column of names.
const NAMES: usize = 26;

/// Every setting with the value that the next run will have.
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
        let known = selected(scroll)?;
        let value = current_value(scene, &known);
        Some(Copied::new(
            "the setting",
            format!("{} = {value}", known.key),
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
        let known = selected(scroll)?;
        match action {
            Action::Choose => Some(changed(scene, &known, 1)),
            Action::ChangeBack => Some(changed(scene, &known, -1)),
            Action::ResetSetting => Some(Request::Reset(known.key)),
            _ => None,
        }
    }
}

fn selected(scroll: &Scroll) -> Option<Setting> {
    settings_list().into_iter().nth(scroll.selected?.row)
}

/// Changes a setting: a choice becomes the one `by` steps further on, anything else is typed.
fn changed(scene: &Scene<'_>, known: &Setting, by: isize) -> Request {
    if let Some(when) = read_later(&known.key) {
        let file = scene.paths.config_file();
        return Request::Refuse(format!(
            "{} is read {when}: set it in {}",
            known.key,
            file.display()
        ));
    }

    let current = current_value(scene, known);
    let choices = choices(scene, known);
    if choices.is_empty() {
        return Request::Type(Purpose::Setting(known.key.clone()), current);
    }

    let at = choices
        .iter()
        .position(|choice| *choice == current)
        .unwrap_or(0);
    let next = (at + choices.len()).saturating_add_signed(by) % choices.len();
    Request::Set {
        key: known.key.clone(),
        value: choices[next].clone(),
    }
}

/// The names that a setting may take; empty when it is not a choice.
fn choices(scene: &Scene<'_>, known: &Setting) -> Vec<String> {
    match known.key.as_str() {
        "preset" => scene.ui.next_run.presets().map(str::to_owned).collect(),
        "screen.theme" => scene.ui.themes.clone(),
        _ if matches!(known.default.as_str(), "true" | "false") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        _ => known.choices.clone(),
    }
}

fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
    let mut content = Content::default();
    let mut group = String::new();
    for (row, known) in settings_list().into_iter().enumerate() {
        let (section, name) = known.key.split_once('.').unwrap_or(("run", &known.key));
        if section != group {
            if !group.is_empty() {
                content.gap();
            }
            group = section.to_owned();
            content.line(scene.span(Tone::Strong, format!("  {}", section.replace('_', " "))));
        }
        let item = Item { row, part: 0 };
        content.item(item, setting_row(scene, name, &known, cells));
        if scroll.selected == Some(item) {
            for range in text::wrap(&known.doc, cells.saturating_sub(8)) {
                let doc = scene.span(Tone::Quiet, known.doc[range].to_owned());
                content.item(item, Line::from(vec![Span::raw("      "), doc]));
            }
        }
    }
    content
}

fn setting_row(scene: &Scene<'_>, name: &str, known: &Setting, cells: usize) -> Line<'static> {
    let value = current_value(scene, known);
    let before = value_before(scene, known);
    let changed = value != before;
    let later = read_later(&known.key);
    let (sign, tone) = match (changed, later) {
        (true, None) => ("● ", Tone::Doubt),
        (false, None) => ("  ", Tone::Text),
        (_, Some(_)) => ("  ", Tone::Quiet),
    };
    let before = match (changed, later) {
        (_, Some(when)) => format!("   read {when}"),
        (true, None) => format!("   was {before}"),
        (false, None) => String::new(),
    };
    let choices = match known.choices.as_slice() {
        [] | [_] => String::new(),
        several => format!("   {}", several.join(" | ")),
    };
    let room = cells.saturating_sub(NAMES + 8);
    let value = text::clip(if value.is_empty() { "\"\"" } else { &value }, room).into_owned();
    let more = text::clip(
        &format!("{before}{choices}"),
        room.saturating_sub(text::width(&value)),
    )
    .into_owned();
    Line::from(vec![
        Span::raw("    "),
        scene.span(Tone::Text, text::left(name, NAMES)),
        scene.span(tone, format!("{sign}{value}")),
        scene.span(Tone::Quiet, more),
    ])
}

/// When a setting is read that no single run reads; None for all others.
fn read_later(key: &str) -> Option<&'static str> {
    const WITH_THE_INDEX: &[&str] = &["chunker.", "corpus.", "embedder.model"];
    const WITH_THE_PROBE: &[&str] = &[
        "probe.questions",
        "probe.passages",
        "probe.lambda",
        "probe.hidden",
        "probe.dropout",
        "probe.learning_rate",
        "probe.weight_decay",
        "probe.batch",
        "probe.epochs",
        "probe.patience",
    ];
    const AT_THE_START: &[&str] = &["record.", "screen.frames_per_second"];
    let is_one_of = |names: &[&str]| names.iter().any(|name| key.starts_with(name));
    if is_one_of(WITH_THE_INDEX) {
        Some("when a folder is indexed")
    } else if is_one_of(WITH_THE_PROBE) {
        Some("when a probe is trained")
    } else {
        is_one_of(AT_THE_START).then_some("when the program starts")
    }
}

/// The value that the next run will have.
pub fn current_value(scene: &Scene<'_>, known: &Setting) -> String {
    scene
        .ui
        .next_run
        .value(&known.key)
        .unwrap_or_else(|| known.default.trim_matches('"').to_owned())
}

/// The value of the run on the screen, else of the program as it was started.
fn value_before(scene: &Scene<'_>, known: &Setting) -> String {
    let of_run = scene.run.and_then(|run| run.setting(&known.key));
    of_run
        .or_else(|| setting(&scene.ui.next_run.settings, &known.key))
        .unwrap_or_else(|| known.default.trim_matches('"').to_owned())
}

/// How many settings the next run will have otherwise than the run on the screen. Settings of the screen need no run.
pub fn changed_settings(scene: &Scene<'_>) -> usize {
    if scene.ui.next_run.overrides.is_empty() {
        return 0;
    }
    let of_runs = settings_list().into_iter();
    let of_runs = of_runs
        .filter(|known| !known.key.starts_with("screen.") && read_later(&known.key).is_none());
    of_runs
        .filter(|known| current_value(scene, known) != value_before(scene, known))
        .count()
}
