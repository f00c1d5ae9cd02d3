use ratatui::text::Line;

use crate::event::{Decision, Uncertainty, UncertaintyMeasure};
use crate::tui::state::{Run, Step};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::{Content, Item};

use super::{Pane, Scene};

/// A full bar, unless a value or a threshold is higher; nats. A uniform choice among seven tokens has 1.95.
const FULL_BAR: f32 = 2.0;
/// The highest sign of the sparkline, unless a token is higher; nats.
const FULL_SPARK: f32 = 3.0;

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(run) = scene.run.filter(|_| scene.ui.pending.is_none()) else {
        content.gap();
        let what = "For each sentence of an answer: how unsure the model was of it, and of which word.";
        content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };
    let top = full_bar(run);
    for (row, step) in run.steps.iter().enumerate() {
        content.item(Item { row, part: 0 }, step_row(scene, (run, step), top, cells));
    }
    if let Some(step) = selected_step(scene, run) {
        token_rows(scene, step, cells, &mut content);
    }
    if !content.rows.is_empty() {
        content.gap();
    }
    gate_rows(scene, run, top, cells, &mut content);
    content
}

fn full_bar(run: &Run) -> f32 {
    let measured = run.steps.iter().filter_map(|step| step.uncertainty.as_ref());
    measured.flat_map(|uncertainty| [Some(uncertainty.value), uncertainty.threshold]).flatten().fold(FULL_BAR, f32::max)
}

fn step_row(scene: &Scene<'_>, (run, step): (&Run, &Step), top: f32, cells: usize) -> Line<'static> {
    let mut line = Line::from(scene.span(Tone::Strong, format!(" {:<4}", format!("s{}", step.step))));
    let Some(uncertainty) = &step.uncertainty else {
        let says = if scene.ui.goes_on(run) { "being written" } else { "not finished" };
        line.push_span(scene.span(Tone::Track, "░".repeat(bar_cells(cells))));
        line.push_span(scene.span(Tone::Quiet, format!(" {says}")));
        return line;
    };
    for span in scene.bar(uncertainty.value / top, bar_cells(cells)) {
        line.push_span(span);
    }
    line.push_span(scene.span(Tone::Text, format!(" {:.2}", uncertainty.value)));
    let measure =
        if cells >= 56 { format!(" nats  {:<15}", measure(uncertainty.measure)) } else { " nats  ".to_owned() };
    line.push_span(scene.span(Tone::Quiet, measure));
    if let Some(threshold) = uncertainty.threshold {
        let sign = if uncertainty.value > threshold { '>' } else { '≤' };
        line.push_span(scene.span(Tone::Text, format!("{sign} {threshold:.2}  ")));
    }
    let (tone, decision) = decision(uncertainty);
    line.push_span(scene.span(tone, decision));
    line
}

fn bar_cells(cells: usize) -> usize {
    if cells >= 70 { 20 } else { 10 }
}

fn measure(measure: UncertaintyMeasure) -> &'static str {
    match measure {
        UncertaintyMeasure::TokenEntropy => "token entropy",
        UncertaintyMeasure::SemanticEntropy => "semantic entropy",
        UncertaintyMeasure::Probe => "probe",
    }
}

fn decision(uncertainty: &Uncertainty) -> (Tone, &'static str) {
    match uncertainty.decision {
        Decision::Measured => (Tone::Quiet, "measured"),
        Decision::Keep => (Tone::Good, "✓ keep"),
        Decision::LookUp => (Tone::Doubt, "? look up"),
        Decision::Expand => (Tone::Doubt, "? look further"),
    }
}

/// The selected sentence; else the one being written; else the one that was doubted most.
fn selected_step<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<&'a Step> {
    let selected = scene.ui.scroll(Pane::Answer).selected.and_then(|item| run.steps.get(item.row));
    let doubt = |step: &Step| step.uncertainty.as_ref().map_or(0.0, |uncertainty| uncertainty.value);
    let telling = match scene.ui.goes_on(run) {
        true => run.steps.last(),
        false => run.steps.iter().max_by(|a, b| doubt(a).total_cmp(&doubt(b))),
    };
    selected.or(telling).filter(|step| !step.tokens.is_empty())
}

fn token_rows(scene: &Scene<'_>, step: &Step, cells: usize, content: &mut Content) {
    let top = step.tokens.iter().map(|token| token.entropy).fold(FULL_SPARK, f32::max);
    let name = format!(" tokens of s{}  ", step.step);
    let room = cells.saturating_sub(text::width(&name)).max(1);
    content.gap();
    for (at, tokens) in step.tokens.chunks(room).enumerate() {
        let name = if at == 0 { name.clone() } else { " ".repeat(text::width(&name)) };
        let signs = text::sparkline(tokens.iter().map(|token| token.entropy), top);
        content.line(Line::from(vec![scene.span(Tone::Quiet, name), scene.span(Tone::Bar, signs)]));
    }
    if let Some((word, entropy)) = step.most_uncertain_word() {
        let word = text::clip(&word, cells.saturating_sub(32)).into_owned();
        content.line(Line::from(vec![
            scene.span(Tone::Quiet, " least sure of "),
            scene.span(Tone::Doubt, format!("\"{word}\"")),
            scene.span(Tone::Text, format!("  {entropy:.2}")),
            scene.span(Tone::Quiet, " nats"),
        ]));
    }
}

fn gate_rows(scene: &Scene<'_>, run: &Run, top: f32, cells: usize, content: &mut Content) {
    let gate = run.setting("gate.kind").unwrap_or_default();
    let says = match gate.as_str() {
        "" => return,
        "off" => "gate off: measured and shown, nothing follows".to_owned(),
        kind => format!("gate: {kind}"),
    };
    content.paragraph(&format!("{says} · a full bar is {top:.1} nats"), scene.style(Tone::Quiet), " ", cells);
}
