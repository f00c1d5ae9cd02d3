//! Runs of one question side by side, with what differs marked.

use std::collections::BTreeSet;

use ratatui::text::Span;

use crate::config::{SETTINGS, Setting, SettingReader};
use crate::event::{Hit, Outcome};
use crate::story::{Run, words};
use crate::tui::text;
use crate::tui::view::{
    Action, Context, Copied, Item, Page, Request, Scene, Scroll, Size, Tone, View,
};

/// Cells of the column of names.
const NAMES: usize = 12;
/// Minimum cells of a run's column.
const MIN_COLUMN: usize = 24;
/// More runs than this cannot be compared at a glance.
const MAX_RUNS: usize = 4;

/// A cell of the table, before it is wrapped.
pub(super) struct Cell {
    tone: Tone,
    text: String,
}

impl Cell {
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            tone,
            text: text.into(),
        }
    }
}

/// Runs of one question side by side.
pub struct Comparison;

impl View for Comparison {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Runs of this question side by side".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let runs = runs_to_compare(scene, page.cells);
        let Some(first) = runs.first() else {
            return page.remark("Nothing has been asked yet.");
        };

        page.text(Tone::Question, "  ", first.standalone());
        page.gap();
        let numbers = runs.iter().map(|run| number_cell(scene, run)).collect();
        table_rows(page, numbers, &runs);

        let hidden = runs_of_question(scene).count() - runs.len();
        if hidden > 0 {
            let hidden = text::quantity(hidden as u64, "older run");
            let words = format!("{hidden} of this question not shown: too many for this width");
            page.text(Tone::Quiet, "  ", &words);
        }
        page.gap();
        preset_rows(page);
    }

    fn size(&self) -> Size {
        Size::with_max_rows(170, 90)
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        scene.run?;
        let line = |run: &Run| format!("{}: {}", words::preset_name(&run.preset), answer(run));
        Copied::lines("the answers", runs_of_question(scene).map(line))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "ask under this preset"),
            (Action::Copy, "copy"),
        ]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let row = scroll.selected.filter(|_| action == Action::Choose)?.row;
        let preset = scene.ui.next_run.presets().get(row)?;
        let settings = vec![("preset".to_owned(), preset.name.clone())];
        Some(Request::AskWith(settings))
    }
}

/// Returns the number of runs that fit beside each other.
pub(super) fn columns_that_fit(cells: usize) -> usize {
    (cells.saturating_sub(NAMES) / MIN_COLUMN).max(2)
}

/// Writes runs beside each other below their names.
pub(super) fn table_rows(page: &mut Page<'_>, names: Vec<Cell>, runs: &[&Run]) {
    let width = (page.cells.saturating_sub(NAMES) / runs.len().max(1)).max(1);
    Row::new("", names).write(page, width);
    for row in table(runs) {
        row.write(page, width);
    }
    if runs.len() > 1 {
        let legend = "≠ differs from the first column, or is a chunk that not every context has";
        page.text(Tone::Quiet, "  ", legend);
    }
}

/// The runs with the question of the shown one, oldest first, as many as fit; the shown one is
/// among them.
fn runs_to_compare<'a>(scene: &Scene<'a>, cells: usize) -> Vec<&'a Run> {
    let Some(shown) = scene.run else {
        return Vec::new();
    };
    let fitting = columns_that_fit(cells).min(MAX_RUNS);
    let mut runs: Vec<&Run> = runs_of_question(scene).collect();
    while runs.len() > fitting {
        // the oldest goes, unless it is the shown one
        runs.remove(usize::from(runs[0].id == shown.id));
    }
    runs
}

/// The number of a run, as in the title of the answer.
fn number_cell(scene: &Scene<'_>, run: &Run) -> Cell {
    let number = scene.run_number(run);
    let is_shown = scene.run.is_some_and(|shown| shown.id == run.id);
    let tone = if is_shown { Tone::Focus } else { Tone::Strong };
    Cell::new(tone, format!("run {number}"))
}

/// Every run with the question of the shown one, oldest first.
fn runs_of_question<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Run> {
    let question = scene.run.map(Run::standalone);
    let runs = scene.state.runs.iter();
    runs.filter(move |run| Some(run.standalone()) == question)
}

/// A row of the table: a cell per run.
struct Row {
    name: String,
    cells: Vec<Cell>,
}

impl Row {
    fn new(name: impl Into<String>, cells: Vec<Cell>) -> Self {
        Self {
            name: name.into(),
            cells,
        }
    }

    /// Writes the cells beside each other, `width` cells of the screen each.
    fn write(&self, page: &mut Page<'_>, width: usize) {
        if self.cells.iter().all(|cell| cell.text.is_empty()) {
            return;
        }

        let inner = width.saturating_sub(2).max(1);
        let rows = self
            .cells
            .iter()
            .map(|cell| text::rows(&cell.text, inner).collect());
        let wrapped: Vec<Vec<&str>> = rows.collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let name = if at == 0 { self.name.as_str() } else { "" };
            let name = format!("  {}", text::left(name, NAMES - 2));
            let mut line = vec![page.span(Tone::Quiet, name)];
            for (cell, rows) in self.cells.iter().zip(&wrapped) {
                let row = rows.get(at).copied().unwrap_or_default();
                line.push(page.span(cell.tone, text::left(row, inner)));
                line.push(Span::raw("  "));
            }
            page.line(line);
        }
    }
}

fn table(runs: &[&Run]) -> Vec<Row> {
    let column = |cell: fn(&Run) -> Cell| runs.iter().map(|run| cell(run)).collect();
    let answers = runs
        .iter()
        .map(|run| (short_answer(run), run.outcome.is_some()));
    let mut rows = vec![
        Row::new("preset", column(preset_cell)),
        Row::new("answer", mark_differences(answers)),
        Row::new("verdict", column(verdict_cell)),
    ];

    let sentences = runs.iter().map(|run| run.steps.len()).max().unwrap_or(0);
    for at in 0..sentences {
        let texts = runs.iter().map(|run| {
            let text = run.steps.get(at).map(|step| step.text.clone());
            let is_written = run.outcome.is_some() || at + 1 < run.steps.len();
            (text.unwrap_or_else(|| "·".to_owned()), is_written)
        });
        rows.push(Row::new(format!("s{}", at + 1), mark_differences(texts)));
    }

    for (at, cells) in context_cells(runs).into_iter().enumerate() {
        rows.push(Row::new(if at == 0 { "context" } else { "" }, cells));
    }
    rows.push(Row::new("uncertain", column(uncertainty_cell)));
    if runs.iter().any(|run| run.utility().is_some()) {
        rows.push(Row::new("utility", column(utility_cell)));
    }
    rows.push(Row::new("cost", column(cost_cell)));
    rows.push(Row::new("settings", setting_cells(runs)));
    rows
}

fn preset_cell(run: &Run) -> Cell {
    let outcome = match &run.outcome {
        None => "  in progress …",
        Some(Outcome::Completed) => "",
        Some(Outcome::Stopped) => "  ■ stopped",
        Some(Outcome::LimitReached) => "  ■ cut off",
        Some(Outcome::Failed(_)) => "  ✗ failed",
    };
    let name = words::preset_name(&run.preset);
    Cell::new(Tone::Strong, format!("{name}{outcome}"))
}

fn verdict_cell(run: &Run) -> Cell {
    let verdict = run.verdict.as_ref();
    let name = verdict.map(|verdict| run.search_extent().verdict_name(verdict.kind));
    Cell::new(Tone::Text, name.unwrap_or_default())
}

fn answer(run: &Run) -> String {
    if run.answer.is_empty() {
        "·".to_owned()
    } else {
        run.answer.clone()
    }
}

/// The answer where it is not the whole text, which the sentences show.
fn short_answer(run: &Run) -> String {
    let is_whole = run.short_answer().is_none() && run.answer.is_empty() == run.text.is_empty();
    if is_whole { String::new() } else { answer(run) }
}

/// The first text as it is, and the others marked where they differ from it. Of each the flag says
/// whether all of it is written.
fn mark_differences(texts: impl Iterator<Item = (String, bool)>) -> Vec<Cell> {
    let mut first = None;
    texts
        .map(|(text, is_written)| {
            let bare = comparable(&text);
            let first = first.get_or_insert_with(|| bare.clone());
            let may_be_same = !is_written && (text == "·" || first.starts_with(&bare));
            if bare == *first || may_be_same {
                Cell::new(Tone::Text, text)
            } else {
                Cell::new(Tone::Warning, format!("≠ {text}"))
            }
        })
        .collect()
}

/// A text without regard to spaces, case and a full stop.
pub(super) fn comparable(text: &str) -> String {
    let words = text::join(text.split_whitespace(), " ");
    words.trim_end_matches('.').to_lowercase()
}

/// The settings in which the runs differ, other than the preset's name; those of the screen are not
/// part of a run.
fn setting_cells(runs: &[&Run]) -> Vec<Cell> {
    let is_differing = |setting: &&Setting| {
        let values: BTreeSet<String> = runs.iter().map(|run| run.setting(setting)).collect();
        let is_of_run = setting.key != "preset" && !setting.is_read_by(SettingReader::Screen);
        is_of_run && values.len() > 1
    };
    let differing: Vec<&Setting> = SETTINGS.iter().filter(is_differing).collect();

    let cell = |run: &&Run| {
        let lines = differing
            .iter()
            .map(|setting| format!("{} {}", setting.key, run.setting(setting)));
        Cell::new(Tone::Quiet, text::join(lines, "\n"))
    };
    runs.iter().map(cell).collect()
}

/// The chunks of each context, a row per label; marked where not all runs have the chunk.
fn context_cells(runs: &[&Run]) -> Vec<Vec<Cell>> {
    let contexts: Vec<Vec<(u32, &Hit)>> = runs.iter().map(|run| run.numbered_hits()).collect();
    // the number of a chunk is another one after an update of the index
    let is_same = |one: &Hit, other: &Hit| {
        let [one, other] = [&one.chunk, &other.chunk];
        one.document == other.document && one.bytes == other.bytes
    };
    let is_in_all = |chunk: &Hit| {
        let mut contexts = contexts.iter();
        contexts.all(|hits| hits.iter().any(|(_, hit)| is_same(hit, chunk)))
    };
    let cell = |known: Option<&(u32, &Hit)>| {
        let Some((number, hit)) = known else {
            return Cell::new(Tone::Quiet, "·");
        };
        let location = words::chunk_location(&hit.chunk);
        if is_in_all(hit) {
            Cell::new(Tone::Text, format!("[{number}] {location}"))
        } else {
            Cell::new(Tone::Warning, format!("≠ [{number}] {location}"))
        }
    };

    let longest = contexts.iter().map(Vec::len).max().unwrap_or(0);
    let row = |at: usize| contexts.iter().map(|hits| cell(hits.get(at))).collect();
    (0..longest).map(row).collect()
}

/// The most uncertain sentence.
fn uncertainty_cell(run: &Run) -> Cell {
    let measured = run
        .steps
        .iter()
        .filter_map(|step| Some((step.step, run.shown_uncertainty(step, step.replaced.len())?)));
    let highest = measured.max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let words = highest.map_or_else(
        || "·".to_owned(),
        |(step, measured)| format!("highest in s{step}: {:.2}", measured.value),
    );
    Cell::new(Tone::Text, words)
}

fn utility_cell(run: &Run) -> Cell {
    let Some(utility) = run.utility() else {
        return Cell::new(Tone::Quiet, "not measured");
    };
    let is_loss = utility.delta < 0.0;
    let tone = if is_loss { Tone::Bad } else { Tone::Text };
    Cell::new(tone, format!("{:+.2}", utility.delta))
}

fn cost_cell(run: &Run) -> Cell {
    let usage = &run.usage;
    let tokens = usage.prompt_tokens_evaluated + usage.tokens_generated;
    let words = format!(
        "{}, {}\n{} in {}",
        text::quantity(usage.retrievals.into(), "lookup"),
        text::quantity(usage.model_calls.into(), "model call"),
        text::quantity(tokens, "token"),
        text::duration(usage.wall_ms),
    );
    Cell::new(Tone::Quiet, words)
}

/// The presets to ask the question under.
fn preset_rows(page: &mut Page<'_>) {
    let head = "ask it under another preset, with the current settings:";
    page.text(Tone::Quiet, "  ", head);
    let scene = page.scene;
    for (row, preset) in scene.ui.next_run.presets().iter().enumerate() {
        let name = &preset.name;
        let is_asked = runs_of_question(scene).any(|run| run.preset == *name);
        let asked = if is_asked { "   asked" } else { "" };
        let name = page.span(Tone::Text, format!("    {}", words::preset_name(name)));
        let asked = page.span(Tone::Quiet, asked);
        page.item(Item::new(row, 0), vec![name, asked]);
    }
}
