//! The status line: messages and the state of the screen, and the keys to press; or a line that is
//! typed.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::chrome::{ends, run_words};
use super::keys::Action;
use super::layout::{split_left, split_right};
use super::offer::offers;
use super::overlays::{self, Open};
use super::text;
use super::theme::Tone;
use super::ui::{Field, Focus, Notice, Purpose};
use super::view::Scene;
use super::waterfall;

/// Maximum number of changed settings that are named.
const MAX_NAMED: usize = 2;
/// Minimum cells of a line that is typed: the hints beside it yield.
const MIN_TYPED: usize = 20;
/// Cells after each hint.
const HINT_GAP: usize = 2;
/// A key with what it does.
type KeyHint = (Action, &'static str);

/// Draws the state of the screen at the left, and the keys to press at the right.
pub fn draw(scene: &Scene<'_>, overlay: Option<&Open>, area: Rect, buffer: &mut Buffer) {
    if let Some(field) = &scene.ui.field {
        return field_line(scene, field, area, buffer);
    }

    let (left, keys) = status_parts(scene, overlay, area);
    ends(left, hint_line(scene, keys), area, buffer);
}

/// Returns the key whose hint is at a place of the status line.
pub fn hint_at(
    scene: &Scene<'_>,
    overlay: Option<&Open>,
    area: Rect,
    position: Position,
) -> Option<Action> {
    if !area.contains(position) || scene.ui.field.is_some() {
        return None;
    }
    let (_, keys) = status_parts(scene, overlay, area);

    let mut end = 0;
    let ends = keys.into_iter().map(|key| {
        end += hint_width(scene, key);
        (key.0, end)
    });
    let ends: Vec<(Action, usize)> = ends.collect();
    let (_, width) = *ends.last()?;
    let start = usize::from(area.right()).checked_sub(width)?;
    let cell = usize::from(position.x).checked_sub(start)?;
    let (action, _) = ends.into_iter().find(|(_, end)| cell < *end)?;
    Some(action)
}

/// Returns the state of the screen in words, and the keys that fit beside it.
fn status_parts(
    scene: &Scene<'_>,
    overlay: Option<&Open>,
    area: Rect,
) -> (Line<'static>, Vec<KeyHint>) {
    let mut left = Line::from(" ");
    for banner in banners(scene) {
        left.push_span(scene.span(Tone::Banner, format!(" {banner} ")));
        left.push_span(Span::raw(" "));
    }
    if let Some(badge) = badge(scene, overlay) {
        left.push_span(scene.span(Tone::Warning, badge));
        left.push_span(Span::raw("  "));
    }
    let width = usize::from(area.width);
    // the key of help stays visible
    let keys = useful_keys(scene, overlay);
    let first = keys.first().map_or(0, |key| hint_width(scene, *key));
    let room = width.saturating_sub(left.width() + first + 2);
    left.push_span(match &scene.ui.notice {
        Some(notice) => notice_span(scene, notice, overlay, room),
        None => {
            // the status line is the last of the screen
            let has_stages = waterfall::rows(scene, area.bottom()) > 0;
            let hides_run = has_stages || overlay.is_some();
            let words = status_words(scene, hides_run);
            scene.span(Tone::Quiet, text::clip(&words, room))
        }
    });

    let room = width.saturating_sub(left.width() + 2);
    (left, keys_within(scene, keys, room))
}

/// Returns the number of warnings and errors that the user has not seen, with the key that shows
/// them; `None` while the last of them is written out.
fn badge(scene: &Scene<'_>, overlay: Option<&Open>) -> Option<String> {
    let unseen = scene.state.log.len().saturating_sub(scene.ui.seen_entries);
    let is_shown = scene.ui.notice.as_ref().is_some_and(|notice| notice.failed);
    if unseen == 0 || is_shown {
        return None;
    }

    let entries = scene.state.log.iter().rev().take(unseen);
    let errors = entries.filter(|entry| entry.failed.is_some()).count();
    let counts = [(errors, "error"), (unseen - errors, "warning")].into_iter();
    let counts = counts.filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, kind)| text::quantity(count as u64, kind));
    let log = log_hint(scene, overlay, "");
    Some(format!("! {}{log}", text::join(counts, ", ")))
}

/// Returns the key of the log with what it does, in brackets; nothing above an overlay, where it
/// has no meaning.
fn log_hint(scene: &Scene<'_>, overlay: Option<&Open>, does: &str) -> String {
    match overlay {
        Some(_) => String::new(),
        None => format!(" ({}{does})", scene.keys_from_here(Action::Log)),
    }
}

/// Returns a notice; one that does not fit ends with the key of the log.
fn notice_span(
    scene: &Scene<'_>,
    notice: &Notice,
    overlay: Option<&Open>,
    room: usize,
) -> Span<'static> {
    let tone = if notice.failed {
        Tone::Warning
    } else {
        Tone::Notice
    };
    let words = text::one_line(&notice.text);
    let log = log_hint(scene, overlay, " shows all");
    let log_width = text::width(&log);

    let shown = if text::width(&words) > room && room > 2 * log_width {
        format!("{}{log}", text::clip(&words, room - log_width))
    } else {
        text::clip(&words, room).into_owned()
    };
    scene.span(tone, shown)
}

fn field_line(scene: &Scene<'_>, field: &Field, area: Rect, buffer: &mut Buffer) {
    let mut label = field.label();
    // an example yields to what is typed
    let is_narrow = usize::from(area.width) < text::width(&label) + MIN_TYPED;
    if let Some((name, _)) = label.split_once(" (").filter(|_| is_narrow) {
        label = format!("{name}: ");
    }
    let [label_area, area] = split_left(area, text::width(&label) as u16);
    scene.span(Tone::Focus, label).render(label_area, buffer);

    let beside = match &field.error {
        Some(error) => {
            // what was typed stays in sight
            let typed = text::width(field.text.as_str()) as u16 + 3;
            let room = usize::from(area.width.saturating_sub(typed).max(area.width / 2));
            let error = scene.span(Tone::Warning, text::clip(error, room));
            Line::from(vec![error, Span::raw(" ")])
        }
        None => {
            let room = usize::from(area.width).saturating_sub(MIN_TYPED);
            let keys = field_keys(&field.purpose);
            hint_line(scene, keys_within(scene, keys, room))
        }
    };

    let [typed, beside_area] = split_right(area, beside.width() as u16);
    if typed.width > 0 {
        let style = scene.style(Tone::Text);
        field.text.draw(typed, buffer, style, true);
    }
    (&beside).render(beside_area, buffer);
}

fn field_keys(purpose: &Purpose) -> Vec<KeyHint> {
    let of_path: &[KeyHint] = match purpose {
        Purpose::Folder | Purpose::Model => {
            &[(Action::NextPane, "complete"), (Action::FieldUp, "before")]
        }
        Purpose::Filter => &[(Action::NextPane, "complete")],
        _ => &[],
    };
    let accept = match purpose {
        Purpose::Expected => "accept, or find one",
        _ => "accept",
    };
    let always = [(Action::Accept, accept), (Action::Back, "cancel")];
    [of_path, &always].concat()
}

/// Returns the modes that the user must not forget.
fn banners(scene: &Scene<'_>) -> Vec<String> {
    let mut banners = Vec::new();
    if scene.frozen {
        let resume = scene.keymap.sign(Action::Freeze);
        banners.push(format!("frozen ({resume} resumes)"));
    }
    if !scene.ui.mouse {
        let turn_on = scene.keymap.sign(Action::Mouse);
        banners.push(format!("mouse off ({turn_on} turns it on)"));
    }
    banners
}

/// Returns the changed settings, the search, and the state of the run with its cost where nothing
/// else shows it.
fn status_words(scene: &Scene<'_>, hides_run: bool) -> String {
    let mut words = String::new();

    let changed = overlays::changed_settings(scene);
    if !changed.is_empty() && scene.ui.player.is_none() {
        let settings = match changed.as_slice() {
            few if few.len() <= MAX_NAMED => few.join(", "),
            many => text::quantity(many.len() as u64, "setting"),
        };
        words.push_str(&format!("changed for the next run: {settings}   "));
    }

    let needle = &scene.ui.search.needle;
    if !needle.is_empty() {
        words.push_str(&format!("search \"{needle}\"   "));
    }

    if let Some(work) = waiting_words(scene) {
        words.push_str(&work);
    } else if let Some(run) = scene.settled_run().filter(|_| !hides_run) {
        words.push_str(&run_words(scene, run));
    }

    words
}

/// Returns the work besides a run that the user waits for, with the time that it takes.
fn waiting_words(scene: &Scene<'_>) -> Option<String> {
    let work = if scene.ui.work.pending.is_some() {
        scene.waiting_for()
    } else if scene.ui.work.measuring.is_some() {
        let step = &scene.state.measurement;
        let gap = if step.is_empty() { "" } else { ": " };
        format!("measuring the context{gap}{step}")
    } else {
        scene.ui.work.trials()?
    };
    Some(format!("{work}{}", scene.elapsed_words()))
}

/// Returns the cells that a key takes with what it does.
fn hint_width(scene: &Scene<'_>, (action, what): KeyHint) -> usize {
    let hint = scene.hint(action, what);
    hint.iter().map(Span::width).sum::<usize>() + HINT_GAP
}

/// Returns the first of some keys, as many as fit.
fn keys_within(scene: &Scene<'_>, keys: Vec<KeyHint>, cells: usize) -> Vec<KeyHint> {
    let mut taken = 0;
    let keys = keys.into_iter();
    keys.take_while(|key| {
        taken += hint_width(scene, *key);
        taken <= cells
    })
    .collect()
}

fn hint_line(scene: &Scene<'_>, keys: Vec<KeyHint>) -> Line<'static> {
    let mut line = Line::default();
    for (action, what) in keys {
        line.spans.extend(scene.hint(action, what));
        line.push_span(Span::raw(" ".repeat(HINT_GAP)));
    }
    line
}

/// The keys of the question line.
const INPUT_KEYS: &[KeyHint] = &[
    (Action::HelpKey, "help"),
    (Action::Palette, "palette"),
    (Action::Ask, "ask"),
    (Action::NextPane, "panes"),
];
/// The keys of a replay.
const REPLAY_KEYS: &[KeyHint] = &[
    (Action::Help, "help"),
    (Action::Play, "play"),
    (Action::Step, "step"),
    (Action::OpenSource, "source"),
    (Action::Quit, "quit"),
];
/// The keys of a replay that the list of threads started.
const LISTED_REPLAY_KEYS: &[KeyHint] = &[
    (Action::Help, "help"),
    (Action::Play, "play"),
    (Action::Step, "step"),
    (Action::Faster, "faster"),
    (Action::Quit, "back to the session"),
];
/// The keys of the panes.
const PANE_KEYS: &[KeyHint] = &[
    (Action::Help, "help"),
    (Action::Palette, "palette"),
    (Action::FocusInput, "ask"),
    (Action::OpenSource, "source"),
    (Action::Zoom, "zoom"),
    (Action::Quit, "quit"),
    (Action::Again, "again"),
    (Action::Settings, "settings"),
    (Action::Comparison, "compare"),
    (Action::Utility, "utility"),
    (Action::Prompts, "prompts"),
    (Action::Search, "search"),
];

fn useful_keys(scene: &Scene<'_>, overlay: Option<&Open>) -> Vec<KeyHint> {
    if let Some(open) = overlay {
        let mut hints = open.hints().to_vec();
        // one key stops what the overlay does, and closes it after that
        if open.is_stopped_by_back(scene) {
            rename(&mut hints, Action::Back, "stop");
        }
        if open.content.items().next().is_none() {
            hints.retain(|(action, _)| *action != Action::Choose);
        }
        return hints;
    }

    let is_indexing = scene.ui.player.is_none() && scene.state.indexing.is_some();
    let can_stop =
        scene.ui.work.is_running() || (is_indexing && scene.ui.panes.focus == Focus::Panes);
    let stop = can_stop.then_some((Action::Back, "stop"));
    let keys = match scene.ui.panes.focus {
        Focus::Input => INPUT_KEYS,
        Focus::Panes if scene.is_played_from_list => LISTED_REPLAY_KEYS,
        Focus::Panes if scene.ui.player.is_some() => REPLAY_KEYS,
        Focus::Panes => PANE_KEYS,
    };
    let mut keys: Vec<KeyHint> = stop.into_iter().chain(keys.iter().copied()).collect();
    if scene.ui.question.text.is_empty() {
        // an empty question takes what is offered, and is not asked
        match offers(scene).first() {
            Some(offer) => {
                rename(&mut keys, Action::Ask, offer.verb());
                if scene.ui.panes.focus == Focus::Panes {
                    keys.insert(0, (Action::OpenSelected, offer.verb()));
                }
            }
            None => keys.retain(|(action, _)| *action != Action::Ask),
        }
    }
    keys
}

/// Changes what is said of a key.
fn rename(keys: &mut [KeyHint], action: Action, what: &'static str) {
    let of_action = keys.iter_mut().filter(|(known, _)| *known == action);
    of_action.for_each(|(_, words)| *words = what);
}
