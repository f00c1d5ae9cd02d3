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
/// Minimum cells of the names and of the times: most runs need no more.
const NAME: usize = 8;
const TIME: usize = 7;
/// Minimum cells of the bars: the words beside them get the rest where they need it.
const BAR: usize = 10;

/// Returns the rows of the waterfall on a screen of a height, with the rule above it.
pub fn rows(scene: &Scene<'_>, height: u16) -> u16 {
    if scene.run.is_none() || height < TALL || scene.ui.panes.zoomed {
        return 0;
    }
    let stages = scene.settled_run().map_or(0, |run| run.stages.len());
    let most = usize::from(height / SHARE).saturating_sub(1);
    stages.clamp(MIN_ROWS, most.max(MIN_ROWS)) as u16 + 1
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
            let item = row.and_then(|row| item(row, 0));
            if is_draft {
                (Pane::Uncertainty, item)
            } else {
                (Pane::Answer, item)
            }
        }
        StageKind::Rewrite | StageKind::Weigh => (Pane::Retrieval, None),
        StageKind::Support | StageKind::Check => (Pane::Answer, None),
    }
}

/// Returns the stage whose row is at a position of the waterfall.
pub fn stage_at(scene: &Scene<'_>, area: Rect, position: Position) -> Option<usize> {
    let run = scene.settled_run().filter(|_| area.contains(position))?;
    let row = usize::from(position.y - area.y).checked_sub(1)?;
    let at = first_shown(scene, run, area) + row;
    (at < run.stages.len()).then_some(at)
}

/// Returns the first stage in sight: the end of the run is, or the selected stage, or what the
/// wheel chose.
fn first_shown(scene: &Scene<'_>, run: &Run, area: Rect) -> usize {
    let last_first = last_first(run, area);
    let panes = &scene.ui.panes;
    let chosen = panes.stages_top.or(panes.stage);
    chosen.unwrap_or(last_first).min(last_first)
}

/// Returns the first stage in sight where the last one is.
fn last_first(run: &Run, area: Rect) -> usize {
    let shown = usize::from(area.height.saturating_sub(1));
    run.stages.len().saturating_sub(shown)
}

/// Returns the first stage in sight after the window has moved by rows; `None` where it keeps to
/// the end, as it does until a stage is selected.
pub fn first_after(scene: &Scene<'_>, area: Rect, rows: isize) -> Option<usize> {
    let run = scene.settled_run()?;
    let last_first = last_first(run, area);
    let first = first_shown(scene, run, area).saturating_add_signed(rows);
    let is_at_end = first >= last_first && scene.ui.panes.stage.is_none();
    (!is_at_end).then_some(first.min(last_first))
}

/// Draws a rule with the numbers of the run in it, and the stages below; a question that waits to
/// become a run has none.
pub fn draw(scene: &Scene<'_>, numbers: &str, area: Rect, buffer: &mut Buffer) {
    let mut areas = area.rows();
    let Some(first) = areas.next() else {
        return;
    };
    let run = scene.settled_run();
    let first_shown = run.map_or(0, |run| first_shown(scene, run, area));
    rule(scene, numbers, first_shown, area).render(first, buffer);
    let Some(run) = run else {
        return;
    };

    let width = usize::from(area.width);
    let stages = run.stages.iter().enumerate();
    let rows: Vec<StageRow> = stages
        .map(|(at, stage)| stage_row(scene, run, at, stage))
        .collect();
    let columns = Columns::new(&rows, width);
    let all_us = end_of(scene, run).max(1);
    for (area, (at, row)) in areas.zip(rows.iter().enumerate().skip(first_shown)) {
        row.line(scene, columns, all_us).render(area, buffer);
        if scene.ui.panes.stage == Some(at) {
            buffer.set_style(area, scene.style(Tone::Selection));
            scene.span(Tone::Focus, "▸").render(area, buffer);
        }
    }
}

/// Returns the rule above the stages, with the numbers of the run and how many stages are above.
fn rule(scene: &Scene<'_>, numbers: &str, above: usize, area: Rect) -> Line<'static> {
    let width = usize::from(area.width);
    let above = match above {
        0 => String::new(),
        above => {
            let key = scene.keys_from_here(Action::PreviousStage);
            format!(" {above} above ({key}) ──")
        }
    };
    let mut rule = Line::from(scene.span(Tone::Border, "──"));
    if !numbers.is_empty() {
        let room = width.saturating_sub(6 + text::width(&above));
        let numbers = text::clip(numbers, room);
        rule.push_span(scene.span(Tone::Quiet, format!(" {numbers} ")));
    }
    let rest = width.saturating_sub(rule.width() + text::width(&above));
    rule.push_span(scene.span(Tone::Border, "─".repeat(rest)));
    rule.push_span(scene.span(Tone::Quiet, above));
    rule
}

/// Returns the microseconds of a stage that are known: of the one in progress, those until now.
fn duration_us(scene: &Scene<'_>, run: &Run, stage: &RunStage) -> u64 {
    let known = stage.end_us.saturating_sub(stage.start_us);
    let is_live = is_open(scene, run, stage) && scene.ui.player.is_none();
    let since = scene.ui.work.stage_since.filter(|_| is_live);
    let elapsed = since.map_or(0, |since| {
        scene.ui.clock.saturating_sub(since).as_micros() as u64
    });
    known.max(elapsed)
}

/// Returns whether a stage is the one in progress.
fn is_open(scene: &Scene<'_>, run: &Run, stage: &RunStage) -> bool {
    run.stages.last() == Some(stage) && scene.ui.is_in_progress(run)
}

/// Returns the time until which a run is known: while it is answered, the present.
fn end_of(scene: &Scene<'_>, run: &Run) -> u64 {
    let last = run.stages.last();
    last.map_or(0, |last| last.start_us + duration_us(scene, run, last))
}

/// Returns the tokens that a stage read and wrote, with what each number is, and shorter; nothing
/// for a stage without any.
fn token_words(stage: &RunStage) -> [String; 2] {
    let [read, written] = [stage.read, stage.written].map(text::count);
    match (stage.read, stage.written) {
        (0, 0) => [String::new(), String::new()],
        (0, _) => [format!("{written} written"), format!("→ {written} tokens")],
        (_, 0) => [format!("{read} read"), format!("{read} tokens")],
        _ => [
            format!("{read} read, {written} written"),
            format!("{read} → {written} tokens"),
        ],
    }
}

/// The texts of the row of a stage.
struct StageRow {
    name: String,
    start_us: u64,
    duration_us: u64,
    time: String,
    tokens: [String; 2],
    decided: String,
    /// The keys that run what it had no time for.
    hint: String,
    is_open: bool,
}

/// Returns the texts of the row of a stage.
fn stage_row(scene: &Scene<'_>, run: &Run, at: usize, stage: &RunStage) -> StageRow {
    let is_open = is_open(scene, run, stage);
    let duration_us = duration_us(scene, run, stage);
    let decided = if is_open {
        run.stage_activity(stage.kind)
    } else {
        run.stage_decision(stage.kind)
    };

    let selected = scene.ui.panes.stage;
    let keys = if !can_run_now(scene, run, at) {
        None
    } else if selected == Some(at) {
        Some(scene.keys_from_here(Action::OpenSelected))
    } else if selected.map_or(0, |last| last + 1) == at {
        let select = scene.keys_from_here(Action::NextStage);
        let run_now = scene.keymap.sign(Action::OpenSelected);
        Some(format!("{select} {run_now}"))
    } else {
        None
    };

    // one that has just begun has no time yet
    let has_time = !is_open || duration_us > 0;
    let time = has_time.then(|| text::duration(duration_us / 1_000));
    StageRow {
        name: run.stage_name(stage.kind),
        start_us: stage.start_us,
        duration_us,
        time: time.unwrap_or_default(),
        tokens: token_words(stage),
        decided,
        hint: keys.map_or(String::new(), |keys| format!(" · {keys}: run now")),
        is_open,
    }
}

/// Returns whether the question can be asked again for what a stage had no time for.
pub fn can_run_now(scene: &Scene<'_>, run: &Run, at: usize) -> bool {
    let stage = run.stages.get(at);
    let is_late = stage.is_some_and(|stage| !run.parts_without_time(stage.kind).is_empty());
    is_late && run.outcome.is_some() && scene.ui.player.is_none()
}

/// The columns of the rows: as wide as the run needs, and the bars as wide as that leaves them.
#[derive(Clone, Copy)]
struct Columns {
    width: usize,
    name: usize,
    bar: usize,
    time: usize,
    tokens: usize,
    /// The form of the tokens: 0 with what each number is, 1 shorter.
    form: usize,
}

impl Columns {
    fn new(rows: &[StageRow], width: usize) -> Self {
        let widest = |cells: &dyn Fn(&StageRow) -> usize| rows.iter().map(cells).max().unwrap_or(0);
        let mut columns = Self {
            width,
            name: widest(&|row| text::width(&row.name)).max(NAME) + 1,
            bar: BAR,
            time: widest(&|row| text::width(&row.time)).max(TIME) + 1,
            tokens: widest(&|row| text::width(&row.tokens[0])) + 2,
            form: 0,
        };
        let words = widest(&|row| text::width(&row.decided) + text::width(&row.hint));
        if columns.words() < words {
            columns.form = 1;
            columns.tokens = widest(&|row| text::width(&row.tokens[1])) + 2;
        }
        let spare = columns.words().saturating_sub(words);
        columns.bar += spare.min((width / 5).clamp(BAR, 48) - BAR);
        columns
    }

    /// Returns the cells that are left for what was decided.
    fn words(&self) -> usize {
        let taken = 1 + self.name + self.bar + self.time + self.tokens + 2;
        self.width.saturating_sub(taken)
    }
}

impl StageRow {
    /// Returns the row in a run of `all_us` microseconds; the tokens have their own column.
    fn line(&self, scene: &Scene<'_>, columns: Columns, all_us: u64) -> Line<'static> {
        let cells = columns.bar;
        let cell_of = |us: u64| {
            let cell = (us as f64 / all_us as f64 * cells as f64).ceil() as usize;
            cell.min(cells)
        };
        let start = cell_of(self.start_us).min(cells - 1);
        let end = cell_of(self.start_us.saturating_add(self.duration_us));
        let filled = end.saturating_sub(start).max(1);

        let bar = if self.is_open { Tone::Focus } else { Tone::Bar };
        let name = text::left(&self.name, columns.name);
        let time = text::right(&self.time, columns.time);
        let tokens = text::right(&self.tokens[columns.form], columns.tokens);
        let room = columns.words();
        let decided = text::clip(&self.decided, room.saturating_sub(text::width(&self.hint)));
        let hint = text::clip(&self.hint, room);
        Line::from(vec![
            scene.span(Tone::Text, format!(" {name}")),
            Span::raw(" ".repeat(start)),
            scene.span(bar, "█".repeat(filled)),
            Span::raw(" ".repeat(cells - start - filled)),
            scene.span(Tone::Text, time),
            scene.span(Tone::Quiet, format!("{tokens}  ")),
            scene.span(Tone::Text, decided.into_owned()),
            scene.span(Tone::Notice, hint.into_owned()),
        ])
    }
}
