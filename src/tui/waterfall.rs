//! The waterfall of a run: a row per stage with its time, its tokens and what it decided.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::story::{Run, RunStage, StageKind};

use super::keys::Action;
use super::pane::Pane;
use super::text;
use super::theme::Tone;
use super::view::Scene;
use super::viewport::Item;

/// Minimum rows of the screen.
const TALL: u16 = 30;
/// Minimum rows of stages: most runs need no more, so that the panes do not move.
const MIN_ROWS: usize = 3;
/// The waterfall takes at most one row of the screen in this many.
const SHARE: u16 = 5;
/// Cells of the name and of the time.
const NAME: usize = 14;
const TIME: usize = 9;

/// Returns the rows of the waterfall on a screen of a height, with the rule above it.
pub fn rows(scene: &Scene<'_>, height: u16) -> u16 {
    let Some(run) = scene
        .run
        .filter(|_| height >= TALL && !scene.ui.panes.zoomed)
    else {
        return 0;
    };
    let most = usize::from(height / SHARE).saturating_sub(1);
    run.stages.len().clamp(MIN_ROWS, most.max(MIN_ROWS)) as u16 + 1
}

/// Returns the pane that shows a stage, and the stage's place in it.
pub fn place_of(run: &Run, kind: StageKind) -> (Pane, Option<Item>) {
    let item = |row, part| Some(Item::new(row, part));
    match kind {
        StageKind::Search { lookup } | StageKind::Grade { lookup } => {
            (Pane::Retrieval, item(lookup, 1))
        }
        StageKind::Link { .. } | StageKind::Ablate => (Pane::Links, None),
        StageKind::Measure { round } => (Pane::Refinement, item(round, 0)),
        StageKind::Write { first, version, .. } => {
            let row = run.steps.iter().position(|step| step.step == first);
            let is_draft = run.gate.is_some() && version == 0;
            let pane = if is_draft {
                Pane::Uncertainty
            } else {
                Pane::Answer
            };
            (pane, row.and_then(|row| item(row, 0)))
        }
        StageKind::Rewrite | StageKind::Weigh => (Pane::Retrieval, None),
        StageKind::Support | StageKind::Check => (Pane::Answer, None),
    }
}

/// Returns the stage whose row is at a position of the waterfall.
pub fn stage_at(scene: &Scene<'_>, area: Rect, position: Position) -> Option<usize> {
    let run = scene.run.filter(|_| area.contains(position))?;
    let row = usize::from(position.y - area.y).checked_sub(1)?;
    let at = first_shown(scene, run, area) + row;
    (at < run.stages.len()).then_some(at)
}

/// Returns the first stage in sight: the end of the run is, or the selected stage.
fn first_shown(scene: &Scene<'_>, run: &Run, area: Rect) -> usize {
    let shown = usize::from(area.height.saturating_sub(1));
    let last_first = run.stages.len().saturating_sub(shown);
    scene.ui.panes.stage.unwrap_or(last_first).min(last_first)
}

/// Draws a rule with the numbers of the run in it, and the stages below.
pub fn draw(scene: &Scene<'_>, numbers: &str, area: Rect, buffer: &mut Buffer) {
    let Some(run) = scene.run.filter(|_| area.height > 0) else {
        return;
    };
    let width = usize::from(area.width);
    let above = match first_shown(scene, run, area) {
        0 => String::new(),
        above => {
            let key = scene.keys_from_here(Action::PreviousStage);
            format!(" {above} above ({key}) ──")
        }
    };
    let room = width.saturating_sub(6 + text::width(&above));
    let numbers = text::clip(numbers, room);
    let mut rule = Line::from(scene.span(Tone::Border, "── "));
    rule.push_span(scene.span(Tone::Quiet, format!("{numbers} ")));
    let rest = width.saturating_sub(rule.width() + text::width(&above));
    rule.push_span(scene.span(Tone::Border, "─".repeat(rest)));
    rule.push_span(scene.span(Tone::Quiet, above));

    let mut areas = area.rows();
    if let Some(first) = areas.next() {
        rule.render(first, buffer);
    }
    // no wider than the run needs: what was decided is behind them
    let tokens = run
        .stages
        .iter()
        .map(|stage| text::width(&token_words(stage)));
    let tokens = tokens.max().unwrap_or(0) + 2;
    let stages = run.stages.iter().enumerate();
    let shown = stages.skip(first_shown(scene, run, area));
    for (row, (at, stage)) in areas.zip(shown) {
        let is_selected = scene.ui.panes.stage == Some(at);
        stage_row(scene, run, stage, [width, tokens]).render(row, buffer);
        if is_selected {
            buffer.set_style(row, scene.style(Tone::Selection));
            scene.span(Tone::Focus, "▸").render(row, buffer);
        }
    }
}

/// Returns the time until which a run is known: while it is answered, the present.
fn end_of(scene: &Scene<'_>, run: &Run) -> u64 {
    let known = run.stages.last().map_or(0, |stage| stage.end_us);
    let since = scene.ui.work.since;
    let is_live = scene.ui.is_in_progress(run) && scene.ui.player.is_none();
    let elapsed = since.filter(|_| is_live).map_or(0, |since| {
        scene.ui.clock.saturating_sub(since).as_micros() as u64
    });
    known.max(elapsed)
}

/// Returns the tokens that a stage read and wrote; nothing for a stage without any.
fn token_words(stage: &RunStage) -> String {
    match (stage.read, stage.written) {
        (0, 0) => String::new(),
        (0, written) => format!("→ {} tokens", text::count(written)),
        (read, 0) => format!("{} tokens", text::count(read)),
        (read, written) => format!("{} → {} tokens", text::count(read), text::count(written)),
    }
}

/// Returns the row of a stage in as many cells; the tokens have their own column.
fn stage_row(
    scene: &Scene<'_>,
    run: &Run,
    stage: &RunStage,
    [width, token_cells]: [usize; 2],
) -> Line<'static> {
    let all_us = end_of(scene, run).max(1);
    let is_last = run.stages.last() == Some(stage);
    let is_open = is_last && scene.ui.is_in_progress(run);
    let end_us = if is_open { all_us } else { stage.end_us };
    let cells = (width / 5).clamp(10, 48);
    let cell_of = |us: u64| {
        let cell = (us as f64 / all_us as f64 * cells as f64).ceil() as usize;
        cell.min(cells)
    };
    let start = cell_of(stage.start_us).min(cells - 1);
    let filled = cell_of(end_us).saturating_sub(start).max(1);

    let time = text::duration(end_us.saturating_sub(stage.start_us) / 1_000);
    let tokens = token_words(stage);
    let decided = if is_open {
        format!("{} …", run.activity())
    } else {
        run.stage_decision(stage.kind)
    };
    let left = width.saturating_sub(1 + NAME + cells + TIME + token_cells + 3);

    let bar = if is_open { Tone::Focus } else { Tone::Bar };
    Line::from(vec![
        scene.span(
            Tone::Text,
            format!(" {:<NAME$}", run.stage_name(stage.kind)),
        ),
        Span::raw(" ".repeat(start)),
        scene.span(bar, "█".repeat(filled)),
        Span::raw(" ".repeat(cells - start - filled)),
        scene.span(Tone::Text, format!("{time:>TIME$}")),
        scene.span(Tone::Quiet, format!("{tokens:>token_cells$}  ")),
        scene.span(Tone::Text, text::clip(&decided, left).into_owned()),
    ])
}
