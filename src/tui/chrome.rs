//! The frame around the panes: header, progress, tabs, input and status line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::event::{CorpusCard, ModelRole, Outcome};

use crate::story::{Phase, Run, words};

use super::keys::Action;
use super::layout::{Layout, split_left, split_right};
use super::offer::offers;
use super::overlays::{self, Open};
use super::pane::Pane;
use super::panes;
use super::player::Player;
use super::state::Model;
use super::text;
use super::theme::Tone;
use super::tour::Tour;
use super::ui::{Field, Focus, Notice, PROMPT, Purpose};
use super::view::Scene;
use super::waterfall;

/// Minimum cells at which the preset is named as such.
const NAMED_FROM: usize = 80;
/// Cells of the number and the title of a pane that is a line, with the gap behind them.
const TAB_CELLS: usize = 16;
/// Minimum cells of the folder beside the preset.
const MIN_FOLDER: usize = 8;

/// Maximum cells of the filter of documents.
const MAX_FILTER: usize = 24;

/// Maximum number of changed settings that are named.
const MAX_NAMED: usize = 2;

/// Draws program, folder and preset on the left; model, device and speed on the right. The least
/// important parts are omitted when they do not fit.
pub fn header(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let name = scene.span(Tone::Focus, " ragscope ");
    let mut right = Line::from(model_spans(scene));

    let corpus = shown_corpus(scene);
    let mut folder = corpus.map_or(String::new(), |corpus| format!(" {}", corpus.folder));
    let size = corpus.map_or(String::new(), |corpus| {
        format!(" ({})", words::corpus_size(corpus))
    });
    let preset = preset_words(scene, width >= NAMED_FROM);

    // speed and device go before the preset does
    let filter = filter_words(scene);
    let needed = name.width() + MIN_FOLDER + text::width(&preset) + text::width(&filter) + 2;
    while right.width() + needed > width && right.spans.pop().is_some() {}

    let mut room = width.saturating_sub(name.width() + right.width() + 2);
    // a folder is recognised by its end, a preset is not
    let folder_room = room
        .saturating_sub(text::width(&preset) + text::width(&filter))
        .max(MIN_FOLDER.min(room));
    let next = next_folder_words(scene);
    if text::width(&folder) + text::width(&next) <= folder_room {
        folder.push_str(&next);
    }
    let folder = text::clip_start(&folder, folder_room).into_owned();
    room -= text::width(&folder);
    let mut fitting = |part: String| {
        if text::width(&part) <= room {
            room -= text::width(&part);
            part
        } else {
            String::new()
        }
    };
    let preset = fitting(preset);
    let filter = fitting(filter);
    let size = fitting(size);
    let left = Line::from(vec![
        name,
        scene.span(Tone::Text, folder),
        scene.span(Tone::Quiet, size),
        scene.span(Tone::Text, preset),
        scene.span(Tone::Warning, filter),
    ]);
    ends(left, right, area, buffer);
}

/// Returns the documents that the next run is limited to.
fn filter_words(scene: &Scene<'_>) -> String {
    let filter = scene.ui.next_run.config().retriever.filter;
    if filter.is_empty() || scene.ui.player.is_some() {
        return String::new();
    }
    let filter = text::one_line(&filter.to_string());
    format!("  only {}", text::clip(&filter, MAX_FILTER))
}

/// Returns the folder of the next run, where the run on the screen used another one.
fn next_folder_words(scene: &Scene<'_>) -> String {
    let now = scene.state.corpus.as_ref();
    match (shown_corpus(scene), now) {
        (Some(shown), Some(now)) if shown.folder != now.folder && scene.ui.player.is_none() => {
            format!(" → next {}", now.folder)
        }
        (Some(_) | None, _) => String::new(),
    }
}

/// Returns the preset of the run on the screen, and the one of the next run where it is another.
fn preset_words(scene: &Scene<'_>, is_named: bool) -> String {
    let next = scene.ui.next_run.preset_name();
    let shown = scene.run.map_or(next, |run| run.preset.as_str());
    let name = words::preset_name(shown);
    let mut preset = match shown {
        "" => return String::new(),
        _ if !is_named => format!("  {name}"),
        _ => format!("   {}", words::preset(shown)),
    };
    if shown != next && scene.ui.player.is_none() {
        preset.push_str(&format!(" → next {}", words::preset_name(next)));
    }
    preset
}

/// Returns the present corpus, unless the run on the screen used another folder.
fn shown_corpus<'a>(scene: &Scene<'a>) -> Option<&'a CorpusCard> {
    let now = scene.state.corpus.as_ref();
    let of_run = scene.run.and_then(|run| run.corpus.as_ref());
    match (of_run, now) {
        (Some(of_run), Some(now)) if now.folder == of_run.folder => Some(now),
        (Some(of_run), _) => Some(of_run),
        (None, now) => now,
    }
}

fn model_spans(scene: &Scene<'_>) -> Vec<Span<'static>> {
    let of_run = scene.run.and_then(|run| run.model(ModelRole::Generator));
    let of_session = match scene.state.models.get(&ModelRole::Generator) {
        Some(Model::Ready { card, .. }) => Some(card.as_ref()),
        Some(Model::Loading { fraction, .. }) if of_run.is_none() => {
            return vec![scene.span(
                Tone::Quiet,
                format!("loading the generator {:>3.0} % ", fraction * 100.0),
            )];
        }
        _ => None,
    };

    let Some(card) = of_run.or(of_session) else {
        return Vec::new();
    };

    let corpus = shown_corpus(scene);
    let practice = if words::is_for_practice(card, corpus) {
        "  practice"
    } else {
        ""
    };
    let mut spans = vec![
        scene.span(Tone::Text, model_name(&card.file)),
        scene.span(Tone::Text, next_model_words(scene, &card.file)),
        scene.span(Tone::Warning, practice),
        scene.span(
            Tone::Quiet,
            format!("  {}", text::one_line(&words::device(card))),
        ),
    ];

    if let Some(speed) = scene.run.and_then(Run::tokens_per_second) {
        spans.push(scene.span(Tone::Quiet, format!("  {speed:.0} tok/s")));
    }
    spans.push(Span::raw(" "));

    spans
}

/// Returns the generator of the next run, where the run on the screen used another one.
fn next_model_words(scene: &Scene<'_>, shown: &str) -> String {
    let next = match scene.state.models.get(&ModelRole::Generator) {
        Some(Model::Ready { card, .. }) => &card.file,
        Some(Model::Loading { file, .. }) => file,
        None => return String::new(),
    };
    if next == shown || scene.ui.player.is_some() {
        return String::new();
    }
    format!(" → next {}", model_name(next))
}

/// Returns the name of a model's file, without its ending.
fn model_name(file: &str) -> String {
    let file = text::one_line(file);
    file.strip_suffix(".gguf").unwrap_or(&file).to_owned()
}

/// Draws one line at the left, one at the right.
fn ends(left: Line<'_>, right: Line<'_>, area: Rect, buffer: &mut Buffer) {
    let [left_area, right_area] = split_right(area, right.width() as u16);
    (&left).render(left_area, buffer);
    (&right).render(right_area, buffer);
}

/// Draws the progress of indexing: phase, bar, rate, time left.
pub fn progress(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(progress) = scene.state.indexing.as_ref().filter(|_| area.height > 0) else {
        return;
    };

    let width = usize::from(area.width);
    let mut line = Line::from(scene.span(
        Tone::Quiet,
        format!(" {:<10}", words::index_phase(progress.phase)),
    ));

    if let Some(total) = progress.total.filter(|total| *total > 0) {
        let share = progress.done as f32 / total as f32;
        line.spans
            .extend(scene.bar(share, (width / 6).clamp(8, 30)));
    }

    line.push_span(scene.span(Tone::Text, format!("  {}", words::index_done(progress))));
    let rate = progress
        .rate_per_s
        .map(|rate| format!("  {}", words::rate(rate)));
    let left = progress
        .left_ms
        .map(|ms| format!("  {}", text::time_left(ms)));
    for part in [rate, left].into_iter().flatten() {
        line.push_span(scene.span(Tone::Quiet, part));
    }

    let room = width.saturating_sub(line.width() + 4);
    if let Some(file) = progress.file.as_deref().filter(|_| room >= 12) {
        line.push_span(scene.span(Tone::Quiet, format!("  {}", text::clip_start(file, room))));
    }

    (&line).render(area, buffer);
}

/// Draws the panes by number, on a screen that does not show them all.
pub fn tabs(scene: &Scene<'_>, layout: &Layout, buffer: &mut Buffer) {
    if layout.tabs.height == 0 {
        return;
    }

    let mut line = Line::default();
    for pane in Pane::ALL {
        let focused = pane == scene.ui.panes.focused;
        let tone = match layout.pane(pane) {
            Some(_) if focused => Tone::Focus,
            Some(_) => Tone::Strong,
            None => Tone::Quiet,
        };
        let style = if focused {
            scene.style(tone).underlined()
        } else {
            scene.style(tone)
        };

        line.push_span(Span::raw(" "));
        line.push_span(Span::styled(tab(pane), style));
        line.push_span(Span::raw(" "));
    }

    (&line).render(layout.tabs, buffer);
}

fn tab(pane: Pane) -> String {
    format!("{} {}", pane.number(), pane.title())
}

/// Draws the line of a pane that is not open: why it has nothing to show, or what it would show.
pub fn draw_folded(scene: &Scene<'_>, pane: Pane, area: Rect, buffer: &mut Buffer) {
    let view = panes::view(pane);
    let words = view.absence(scene).unwrap_or_else(|| {
        let note = view.note(scene);
        let gap = if note.is_empty() { "" } else { " · " };
        let key = scene.from_here(&pane.number().to_string());
        format!("{note}{gap}{key} shows it")
    });
    let name = format!("  {:<TAB_CELLS$}", tab(pane));
    let room = usize::from(area.width).saturating_sub(name.len());
    Line::from(vec![
        scene.span(Tone::Strong, name),
        scene.span(Tone::Quiet, text::clip(&words, room).into_owned()),
    ])
    .render(area, buffer);
}

/// Returns the pane whose tab is at a column.
pub fn tab_at(column: u16) -> Option<Pane> {
    let mut end = 0;
    Pane::ALL.into_iter().find(|pane| {
        end += text::width(&tab(*pane)) + 2;
        usize::from(column) < end
    })
}

/// Draws the stages of the run below its numbers.
pub fn stages(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let numbers = scene.settled_run().map(|run| run_words(scene, run));
    waterfall::draw(scene, &numbers.unwrap_or_default(), area, buffer);
}

/// Returns the rows of the guided tour, with the rule above them; 0 outside of it.
pub fn tour_rows(scene: &Scene<'_>, width: u16) -> u16 {
    let stop = Tour::new(scene).stop();
    let cells = usize::from(width).saturating_sub(2);
    stop.map_or(0, |stop| {
        text::wrap(&stop.words(scene.keymap), cells).len() as u16 + 1
    })
}

/// Draws the stop of the guided tour: a rule with its number and the keys, then what it says.
pub fn tour(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let tour = Tour::new(scene);
    let Some(stop) = tour.stop() else {
        return;
    };

    let title = format!("── {} ", tour.title());
    let mut keys = Line::default();
    for (action, what) in [(Action::Tour, "next"), (Action::Back, "leave the tour")] {
        keys.push_span(Span::raw(" "));
        keys.spans.extend(scene.hint(action, what));
        keys.push_span(Span::raw(" "));
    }
    let width = usize::from(area.width);
    let rule = width.saturating_sub(text::width(&title) + keys.width());
    let mut head = Line::from(scene.span(Tone::Focus, title));
    head.push_span(scene.span(Tone::Focus, "─".repeat(rule)));
    head.spans.extend(keys.spans);

    let words = stop.words(scene.keymap);
    let rows = text::wrap(&words, width.saturating_sub(2));
    let rows = rows.into_iter().map(|range| {
        let row = scene.span(Tone::Text, words[range].to_owned());
        Line::from(vec![Span::raw(" "), row])
    });
    for (line, row) in std::iter::once(head).chain(rows).zip(area.rows()) {
        (&line).render(row, buffer);
    }
}

/// Draws the question being typed; in a replay, its progress.
pub fn input(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    buffer.set_style(area, scene.style(Tone::Field));
    if let Some(player) = &scene.ui.player {
        return player_line(scene, player, area, buffer);
    }

    let tone = if scene.ui.panes.focus == Focus::Input {
        Tone::Focus
    } else {
        Tone::Quiet
    };

    let [prompt, area] = split_left(area, text::width(PROMPT) as u16);
    scene.span(tone, PROMPT).render(prompt, buffer);

    if area.width > 1 && area.height > 0 {
        question_text(scene, area, buffer);
    }
}

fn question_text(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let question = &scene.ui.question;
    if question.text.is_empty() {
        let room = usize::from(area.width - 1);
        let words = text::clip(&question.empty, room).into_owned();
        let quiet = scene.span(Tone::Quiet, words);
        Line::from(vec![Span::raw(" "), quiet]).render(area, buffer);
    }
    let style = scene.style(Tone::Text);
    question.text.draw(area, buffer, style, question.is_active);
}

fn player_line(scene: &Scene<'_>, player: &Player, area: Rect, buffer: &mut Buffer) {
    let (at, of) = player.position();
    let (ms, all_ms) = player.time_ms();
    let (sign, state) = if player.is_playing() {
        ("▶", "playing")
    } else if at == of {
        ("■", "at the end")
    } else {
        ("‖", "paused")
    };
    let speed = if player.speed() == 1.0 {
        String::new()
    } else {
        format!(" at {}x", player.speed())
    };
    let share = if of == 0 { 1.0 } else { at as f32 / of as f32 };
    let times = format!("  {:.1} of {:.1} s", ms as f64 / 1e3, all_ms as f64 / 1e3);
    let records = format!("  record {at} of {of}");

    let mut line = Line::from(vec![
        scene.span(Tone::Focus, format!(" {sign} ")),
        scene.span(Tone::Text, format!("{state}{speed}  ")),
    ]);
    // the bar stays as long while the numbers grow
    let seconds = all_ms as f64 / 1e3;
    let widest =
        format!(" ■ at the end{speed}    {seconds:.1} of {seconds:.1} s  record {of} of {of} ");
    let cells = usize::from(area.width).saturating_sub(text::width(&widest));
    line.spans.extend(scene.bar(share, cells.clamp(6, 60)));
    line.push_span(scene.span(Tone::Text, times));
    line.push_span(scene.span(Tone::Quiet, records));
    (&line).render(area, buffer);
}

/// Minimum cells of a line that is typed: the hints beside it yield.
const MIN_TYPED: usize = 20;
/// Cells after each hint.
const HINT_GAP: usize = 2;
/// A key with what it does.
type KeyHint = (Action, &'static str);

/// Draws the state of the screen at the left, and the keys to press at the right.
pub fn status(scene: &Scene<'_>, overlay: Option<&Open>, area: Rect, buffer: &mut Buffer) {
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
            scene.span(Tone::Quiet, text::clip(&words, room).into_owned())
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
    let log = log_hint(scene, overlay, "");
    let entries = scene.state.log.iter().rev().take(unseen);
    let errors = entries.filter(|entry| entry.failed.is_some()).count();
    let counts = [(errors, "error"), (unseen - errors, "warning")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, kind)| text::quantity(count as u64, kind))
        .collect();
    let count = counts.join(", ");
    (unseen > 0 && !is_shown).then(|| format!("! {count}{log}"))
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
        "waiting for the engine".to_owned()
    } else if scene.ui.work.measuring.is_some() {
        let step = &scene.state.measurement;
        let gap = if step.is_empty() { "" } else { ": " };
        format!("measuring the context{gap}{step}")
    } else {
        scene.ui.work.trials()?
    };
    Some(format!("{work}{}", scene.elapsed_words()))
}

fn run_words(scene: &Scene<'_>, run: &Run) -> String {
    let phase = run.phase();
    if phase != Phase::Done && !scene.ui.is_in_progress(run) {
        return "the recording ends before the run".to_owned();
    }

    match phase {
        Phase::Starting | Phase::Retrieving | Phase::Reading => {
            format!("{} …{}", run.activity(), scene.elapsed_words())
        }
        Phase::Writing => format!("{}{}", run.activity(), scene.elapsed_words()),
        Phase::Done => format!(
            "{} {}, {}",
            ended_words(run),
            text::duration(run.usage.wall_ms),
            text::quantity(run.usage.tokens_generated, "token")
        ),
    }
}

fn ended_words(run: &Run) -> &'static str {
    match run.outcome {
        None | Some(Outcome::Completed) => "done in",
        Some(Outcome::Stopped) => "stopped after",
        Some(Outcome::LimitReached) => "cut off after",
        Some(Outcome::Failed(_)) => "failed after",
    }
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
