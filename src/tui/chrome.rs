//! The frame around the panes: header, progress, tabs, stages, tour and input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize as _;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::event::{CorpusCard, ModelRole, Outcome};

use crate::story::{Run, words};

use super::keys::Action;
use super::layout::{Layout, split_left, split_right};
use super::pane::Pane;
use super::panes;
use super::player::Player;
use super::state::Model;
use super::text;
use super::theme::Tone;
use super::tour::Tour;
use super::ui::{Focus, PROMPT};
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
    let shown = shown_corpus(scene).filter(|_| scene.ui.player.is_none());
    match shown.and(scene.state.corpus.as_ref()) {
        Some(now) if scene.is_over_other_folders() => format!(" → next {}", now.folder),
        Some(_) | None => String::new(),
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
    if let Some(Model::Loading { fraction, .. }) = generator(scene)
        && of_run.is_none()
    {
        let words = format!("loading the generator {:>3.0} % ", fraction * 100.0);
        return vec![scene.span(Tone::Quiet, words)];
    }
    let Some(card) = of_run.or(scene.state.generator()) else {
        return Vec::new();
    };

    let practice = if words::is_for_practice(card, shown_corpus(scene)) {
        "  practice"
    } else {
        ""
    };
    let device = text::one_line(&words::device(card));
    let mut spans = vec![
        scene.span(Tone::Text, model_name(&card.file)),
        scene.span(Tone::Text, next_model_words(scene, &card.file)),
        scene.span(Tone::Warning, practice),
        scene.span(Tone::Quiet, format!("  {device}")),
    ];
    if let Some(speed) = scene.run.and_then(Run::tokens_per_second) {
        spans.push(scene.span(Tone::Quiet, format!("  {speed:.0} tok/s")));
    }
    spans.push(Span::raw(" "));
    spans
}

fn generator<'a>(scene: &Scene<'a>) -> Option<&'a Model> {
    scene.state.models.get(&ModelRole::Generator)
}

/// Returns the generator of the next run, where the run on the screen used another one.
fn next_model_words(scene: &Scene<'_>, shown: &str) -> String {
    let next = generator(scene).map(Model::file);
    let next = next.filter(|next| *next != shown && scene.ui.player.is_none());
    next.map_or_else(String::new, |next| format!(" → next {}", model_name(next)))
}

/// Returns the name of a model's file, without its ending.
fn model_name(file: &str) -> String {
    let file = text::one_line(file);
    file.strip_suffix(".gguf").unwrap_or(&file).to_owned()
}

/// Draws one line at the left, one at the right.
pub(super) fn ends(left: Line<'_>, right: Line<'_>, area: Rect, buffer: &mut Buffer) {
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
    let phase = format!(" {:<10}", words::index_phase(progress.phase));
    let mut line = Line::from(scene.span(Tone::Quiet, phase));
    if let Some(total) = progress.total.filter(|total| *total > 0) {
        let share = progress.done as f32 / total as f32;
        let bar = scene.bar(share, (width / 6).clamp(8, 30));
        line.spans.extend(bar);
    }

    line.push_span(scene.span(Tone::Text, format!("  {}", words::index_done(progress))));
    let rate = progress.rate_per_s.map(words::rate);
    let left = progress.left_ms.map(text::time_left);
    for part in [rate, left].into_iter().flatten() {
        line.push_span(scene.span(Tone::Quiet, format!("  {part}")));
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
        let mut name = scene.span(tone, tab(pane));
        if focused {
            name = name.underlined();
        }
        line.spans.extend([Span::raw(" "), name, Span::raw(" ")]);
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
        scene.span(Tone::Quiet, text::clip(&words, room)),
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

/// Returns the state of a run, with its cost once it is over.
pub(super) fn run_words(scene: &Scene<'_>, run: &Run) -> String {
    if run.outcome.is_some() {
        let ended = ended_words(run);
        let time = text::duration(run.usage.wall_ms);
        let tokens = text::quantity(run.usage.tokens_generated, "token");
        return format!("{ended} {time}, {tokens}");
    }
    if !scene.ui.is_in_progress(run) {
        return "the recording ends before the run".to_owned();
    }

    let dots = if run.is_written() { "" } else { " …" };
    format!("{}{dots}{}", run.activity(), scene.elapsed_words())
}

fn ended_words(run: &Run) -> &'static str {
    match run.outcome {
        None | Some(Outcome::Completed) => "done in",
        Some(Outcome::Stopped) => "stopped after",
        Some(Outcome::LimitReached) => "cut off after",
        Some(Outcome::Failed(_)) => "failed after",
    }
}

/// Returns the rows of the guided tour, with the rule above them; 0 outside of it.
pub fn tour_rows(scene: &Scene<'_>, width: u16) -> u16 {
    let stop = Tour::new(scene).stop();
    let cells = usize::from(width).saturating_sub(2);
    stop.map_or(0, |stop| {
        text::rows(&stop.words(scene.keymap), cells).count() as u16 + 1
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
    let rows = text::rows(&words, width.saturating_sub(2))
        .map(|row| Line::from(vec![Span::raw(" "), scene.span(Tone::Text, row)]));
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
        let quiet = scene.span(Tone::Quiet, text::clip(&question.empty, room));
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
