//! Runs of one question side by side, with what differs marked.

use std::collections::BTreeSet;

use ratatui::text::{Line, Span};

use crate::config::{Reader, SETTINGS, Setting};
use crate::event::{Hit, Outcome};
use crate::tui::keys::{Action, Context};
use crate::tui::state::Run;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Cells of the column of names, and the fewest of a run's.
const NAMES: usize = 11;
const NARROWEST: usize = 24;
/// More runs than this are not told apart at a glance.
const MOST_RUNS: usize = 4;

/// A cell: its look, and its text before it is wrapped.
type Cell = (Tone, String);

/// Runs of one question side by side.
pub struct Comparison;

impl View for Comparison {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Runs of this question side by side".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(170, 90)
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        scene.run?;
        let lines: Vec<String> = of_question(scene)
            .map(|run| format!("{}: {}", run.preset, answer(run)))
            .collect();
        Copied::lines("the answers", &lines)
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
        let preset = scene.ui.next_run.presets().nth(row)?;
        Some(Request::AskUnder(preset.to_owned()))
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let runs = compared(scene, cells);
    let Some(first) = runs.first() else {
        content.gap();
        content.paragraph(
            "Nothing has been asked yet.",
            scene.style(Tone::Quiet),
            "   ",
            cells,
        );
        return content;
    };
    content.paragraph(&first.question, scene.style(Tone::Question), "  ", cells);
    content.gap();
    let mut rows = Rows {
        scene,
        width: (cells.saturating_sub(NAMES) / runs.len()).max(1),
        content: &mut content,
    };
    rows.add(
        "preset",
        runs.iter()
            .map(|run| (Tone::Strong, heading(run)))
            .collect(),
    );
    rows.add("answer", marked(runs.iter().map(|run| answer(run))));
    let longest = runs.iter().map(|run| run.steps.len()).max().unwrap_or(0);
    for at in 0..longest {
        let sentence = |run: &&Run| {
            run.steps
                .get(at)
                .map_or_else(|| "·".to_owned(), |step| step.text.clone())
        };
        rows.add(&format!("s{}", at + 1), marked(runs.iter().map(sentence)));
    }
    for (at, chunks) in contexts(&runs).into_iter().enumerate() {
        rows.add(if at == 0 { "context" } else { "" }, chunks);
    }
    rows.add(
        "doubt",
        runs.iter().map(|run| (Tone::Text, doubt(run))).collect(),
    );
    if runs.iter().any(|run| run.utility.is_some()) {
        rows.add("utility", runs.iter().map(|run| utility(run)).collect());
    }
    rows.add(
        "cost",
        runs.iter().map(|run| (Tone::Quiet, cost(run))).collect(),
    );
    rows.add("settings", differing_settings(&runs));
    let hidden = of_question(scene).count() - runs.len();
    if hidden > 0 {
        let says = format!(
            "{} of this question not shown: too many for this width",
            text::counted(hidden as u64, "older run")
        );
        content.paragraph(&says, scene.style(Tone::Quiet), "  ", cells);
    }
    content.gap();
    offers(scene, &mut content, cells);
    content
}

/// The runs on the question of the shown one, oldest first, as many as fit; the shown one is among them.
fn compared<'a>(scene: &Scene<'a>, cells: usize) -> Vec<&'a Run> {
    let Some(shown) = scene.run else {
        return Vec::new();
    };
    let fit = (cells.saturating_sub(NAMES) / NARROWEST).clamp(2, MOST_RUNS);
    let mut runs: Vec<&Run> = of_question(scene).collect();
    while runs.len() > fit {
        // the oldest goes, unless it is the shown one
        runs.remove(usize::from(runs[0].id == shown.id));
    }
    runs
}

/// Every run on the question of the shown one, oldest first.
fn of_question<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Run> {
    let question = scene.run.map(|run| run.question.as_str());
    scene
        .state
        .runs
        .iter()
        .filter(move |run| Some(run.question.as_str()) == question)
}

/// Lays cells beside each other.
struct Rows<'a, 's> {
    scene: &'a Scene<'s>,
    /// Cells of a run's column.
    width: usize,
    content: &'a mut Content,
}

impl Rows<'_, '_> {
    fn add(&mut self, name: &str, cells: Vec<Cell>) {
        if cells.iter().all(|(_, text)| text.is_empty()) {
            return;
        }
        let inner = self.width.saturating_sub(2).max(1);
        let wrapped: Vec<Vec<String>> = cells
            .iter()
            .map(|(_, cell)| {
                text::wrap(cell, inner)
                    .into_iter()
                    .map(|range| cell[range].to_owned())
                    .collect()
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let name = if at == 0 { name } else { "" };
            let mut line = vec![
                self.scene
                    .span(Tone::Quiet, format!("  {}", text::left(name, NAMES - 2))),
            ];
            for ((tone, _), rows) in cells.iter().zip(&wrapped) {
                let row = rows.get(at).map_or("", String::as_str);
                line.push(self.scene.span(*tone, text::left(row, inner)));
                line.push(Span::raw("  "));
            }
            self.content.line(Line::from(line));
        }
    }
}

fn heading(run: &Run) -> String {
    let ended = match &run.outcome {
        None => "  in progress …",
        Some(Outcome::Completed) => "",
        Some(Outcome::Stopped) => "  ■ stopped",
        Some(Outcome::LimitReached) => "  ■ cut off",
        Some(Outcome::Failed { .. }) => "  ✗ failed",
    };
    format!("{}{ended}", run.preset)
}

fn answer(run: &Run) -> String {
    if run.answer.is_empty() {
        "·".to_owned()
    } else {
        run.answer.clone()
    }
}

/// The first cell as it is, and the others marked where they say something else.
fn marked(texts: impl Iterator<Item = String>) -> Vec<Cell> {
    let bare = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<&str>>()
            .join(" ")
            .trim_end_matches('.')
            .to_lowercase()
    };
    let texts: Vec<String> = texts.collect();
    let first = texts.first().map(|text| bare(text)).unwrap_or_default();
    let mark = |text: String| {
        if bare(&text) == first {
            (Tone::Text, text)
        } else {
            (Tone::Doubt, format!("≠ {text}"))
        }
    };
    texts.into_iter().map(mark).collect()
}

/// The settings in which the runs differ, other than the preset's name; those of the screen are no part of a run.
fn differing_settings(runs: &[&Run]) -> Vec<Cell> {
    let of_runs = SETTINGS
        .iter()
        .filter(|setting| setting.key != "preset" && !setting.is_read_by(Reader::Screen));
    let differing: Vec<&Setting> = of_runs
        .filter(|setting| {
            let values: BTreeSet<String> = runs.iter().map(|run| run.setting(setting)).collect();
            values.len() > 1
        })
        .collect();
    let of = |run: &&Run| {
        let lines = differing
            .iter()
            .map(|setting| format!("{} {}", setting.key, run.setting(setting)));
        (Tone::Quiet, lines.collect::<Vec<String>>().join("\n"))
    };
    runs.iter().map(of).collect()
}

/// The chunks of each context, a row a place in the prompt; marked where not all runs have them.
fn contexts(runs: &[&Run]) -> Vec<Vec<Cell>> {
    let hits: Vec<Vec<&Hit>> = runs.iter().map(|run| run.context_hits()).collect();
    let longest = hits.iter().map(Vec::len).max().unwrap_or(0);
    let everywhere = |chunk: u64| {
        hits.iter()
            .all(|hits| hits.iter().any(|hit| hit.chunk.id == chunk))
    };
    let cell = |hits: &Vec<&Hit>, at: usize| match hits.get(at) {
        None => (Tone::Quiet, "·".to_owned()),
        Some(hit) => {
            let shown = text::location(&hit.chunk.document, hit.chunk.lines);
            match everywhere(hit.chunk.id) {
                true => (Tone::Text, format!("[{}] {shown}", at + 1)),
                false => (Tone::Doubt, format!("≠ [{}] {shown}", at + 1)),
            }
        }
    };
    (0..longest)
        .map(|at| hits.iter().map(|hits| cell(hits, at)).collect())
        .collect()
}

/// The sentence that was doubted most.
fn doubt(run: &Run) -> String {
    let measured = run
        .steps
        .iter()
        .filter_map(|step| Some((step.step, step.uncertainty.as_ref()?.value)));
    let most = measured.max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or_else(
        || "·".to_owned(),
        |(step, value)| format!("most in s{step}: {value:.2}"),
    )
}

fn utility(run: &Run) -> Cell {
    match &run.utility {
        None => (Tone::Quiet, "not measured".to_owned()),
        Some(utility) if utility.delta < 0.0 => (Tone::Bad, format!("{:+.2}", utility.delta)),
        Some(utility) => (Tone::Good, format!("{:+.2}", utility.delta)),
    }
}

fn cost(run: &Run) -> String {
    let usage = &run.usage;
    let tokens = usage.prompt_tokens_evaluated + usage.tokens_generated;
    format!(
        "{}, {}\n{} in {}",
        text::counted(usage.retrievals.into(), "lookup"),
        text::counted(usage.model_calls.into(), "model call"),
        text::counted(tokens, "token"),
        text::duration(usage.wall_ms),
    )
}

fn offers(scene: &Scene<'_>, content: &mut Content, cells: usize) {
    content.paragraph(
        "ask it under a preset, with the settings as they are now:",
        scene.style(Tone::Quiet),
        "  ",
        cells,
    );
    for (row, preset) in scene.ui.next_run.presets().enumerate() {
        let asked = if of_question(scene).any(|run| run.preset == preset) {
            "   asked"
        } else {
            ""
        };
        let line = vec![
            scene.span(Tone::Text, format!("    {preset}")),
            scene.span(Tone::Quiet, asked),
        ];
        content.item(Item { row, part: 0 }, Line::from(line));
    }
}
