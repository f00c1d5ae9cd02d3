//! The uncertainty pane: a bar per sentence, the entropy of the tokens of one, and the gate that decides about retrieval.

use ratatui::text::{Line, Span};

use crate::event::{Decision, GateCard, Uncertainty as Measured, UncertaintyMeasure, Utility};
use crate::story::words::measure;
use crate::story::{Run, Step, words_of};
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll};

use super::answer;

/// A full bar of an entropy, unless a value or a threshold is higher; nats. A uniform choice among seven tokens has 1.95.
const FULL_BAR: f32 = 2.0;
/// Minimum width for the name of the measure.
const NAMED_FROM: usize = 68;
/// The highest sign of the sparkline, unless a token is higher; nats.
const FULL_SPARK: f32 = 3.0;

/// The uncertainty of each sentence and of its words.
pub struct Uncertainty;

impl View for Uncertainty {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Uncertainty.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        answer::copied(scene)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        let passage = answer::cited(scene).filter(|_| action == Action::OpenSource)?;
        Some(Request::OpenSource(passage))
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut page = Page::new(scene, cells);
    let Some(run) = scene.settled_run() else {
        page.remark("The uncertainty of each sentence of an answer, and of its words.");
        return page.content;
    };

    let full_bar = full_bar(run);
    for (row, step) in run.steps.iter().enumerate() {
        for (version, measured) in step.measured().enumerate() {
            let name = if version == 0 {
                format!("s{}", step.step)
            } else {
                " ↳".to_owned()
            };
            let line = match measured {
                Some(uncertainty) => measured_row(&page, &name, uncertainty, full_bar),
                None => open_row(&page, &name, run, step),
            };
            page.item(Item { row, part: 0 }, line);
        }
    }
    if let Some(step) = shown_step(scene, run) {
        token_rows(&mut page, step);
        word_rows(&mut page, run, step);
    }
    if !page.is_empty() {
        page.gap();
    }
    gate_rows(&mut page, run, full_bar);
    whole_answer_rows(&mut page, run);
    page.content
}

/// Writes the measures of the whole answer: of its tokens, of its context, and of sampled answers.
fn whole_answer_rows(page: &mut Page<'_>, run: &Run) {
    if run.outcome.is_none() {
        return;
    }

    let mut measures = Vec::new();
    measures.extend(perplexity(run));
    measures.extend(
        run.refinement
            .of_the_answer()
            .map(|understanding| format!("dense semantic entropy {:.2} nats", understanding.dse)),
    );
    measures.extend(sampled_measures(run));
    if !measures.is_empty() {
        let words = format!("whole answer: {}", measures.join(" · "));
        page.text(Tone::Quiet, " ", &words);
    }
}

fn perplexity(run: &Run) -> Option<String> {
    let logprobs: Vec<f32> = run
        .steps
        .iter()
        .flat_map(|step| &step.tokens)
        .map(|token| token.logprob)
        .collect();
    if logprobs.is_empty() {
        return None;
    }

    let mean = logprobs.iter().sum::<f32>() / logprobs.len() as f32;
    // a line may break behind a hyphen, and what rounds to zero is not a negative number
    let shown = format!("{:.2}", (mean * 100.0).round() / 100.0 + 0.0).replace('-', "\u{2212}");
    Some(format!(
        "perplexity {:.2}, mean log-probability {shown} nats",
        (-mean).exp()
    ))
}

fn sampled_measures(run: &Run) -> Option<String> {
    let belief = run.utility().and_then(Utility::belief)?;
    let of = &belief.uncertainty;
    Some(format!(
        "samples: semantic entropy {:.2}, by likelihood {:.2}, degree {:.2}, meanings {:.1}",
        of.discrete_semantic_entropy, of.semantic_entropy, of.degree, of.eigenvalue
    ))
}

/// The value of a full bar: the largest entropy or threshold of the run, at least [`FULL_BAR`].
fn full_bar(run: &Run) -> f32 {
    run.steps
        .iter()
        .flat_map(Step::measured)
        .flatten()
        .filter(|uncertainty| uncertainty.measure != UncertaintyMeasure::Probe)
        .flat_map(|uncertainty| [Some(uncertainty.value), uncertainty.threshold])
        .flatten()
        .fold(FULL_BAR, f32::max)
}

fn name_span(page: &Page<'_>, name: &str) -> Span<'static> {
    page.span(Tone::Strong, format!(" {name:<4}"))
}

/// Returns the row of a sentence that was not measured.
fn open_row(page: &Page<'_>, name: &str, run: &Run, step: &Step) -> Line<'static> {
    let state = if step.given {
        "reused from the previous run"
    } else if page.scene.ui.is_in_progress(run) {
        "being written"
    } else {
        "not finished"
    };
    Line::from(vec![
        name_span(page, name),
        page.span(Tone::Track, "░".repeat(bar_cells(page.cells))),
        page.span(Tone::Quiet, format!(" {state}")),
    ])
}

fn measured_row(
    page: &Page<'_>,
    name: &str,
    uncertainty: &Measured,
    full_bar: f32,
) -> Line<'static> {
    let is_probability = uncertainty.measure == UncertaintyMeasure::Probe;
    let full_bar = if is_probability { 1.0 } else { full_bar };
    let unit = if is_probability { "" } else { " nats" };

    let mut line = Line::from(name_span(page, name));
    let bar = page
        .scene
        .bar(uncertainty.value / full_bar, bar_cells(page.cells));
    line.spans.extend(bar);
    line.push_span(page.span(Tone::Text, format!(" {:.2}", uncertainty.value)));
    let measure = if page.cells >= NAMED_FROM {
        format!("{unit:<5}  {:<16} ", measure(uncertainty.measure))
    } else {
        format!("{unit}  ")
    };
    line.push_span(page.span(Tone::Quiet, measure));

    if let Some(threshold) = uncertainty.threshold {
        let sign = if uncertainty.value > threshold {
            '>'
        } else {
            '≤'
        };
        line.push_span(page.span(Tone::Text, format!("{sign} {threshold:.2}  ")));
    }
    line.push_span(decision_span(page, uncertainty));
    line
}

fn bar_cells(cells: usize) -> usize {
    if cells >= 70 { 20 } else { 10 }
}

fn decision_span(page: &Page<'_>, uncertainty: &Measured) -> Span<'static> {
    match uncertainty.decision {
        Decision::Measured => page.span(Tone::Quiet, "measured"),
        Decision::Keep => page.span(Tone::Good, "✓ keep"),
        Decision::Retrieve => page.span(Tone::Warning, "? retrieve"),
        Decision::Expand => page.span(Tone::Warning, "? retrieve more"),
    }
}

/// The sentence whose tokens are shown: the selected one; else the one being written; else the most uncertain one.
fn shown_step<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<&'a Step> {
    let selected = [Pane::Uncertainty, Pane::Answer]
        .into_iter()
        .find_map(|pane| scene.ui.scroll(pane).selected)
        .and_then(|item| run.steps.get(item.row));
    let in_progress = if scene.ui.is_in_progress(run) {
        run.steps.last()
    } else {
        run.steps
            .iter()
            .max_by(|a, b| highest(a).total_cmp(&highest(b)))
    };
    selected
        .or(in_progress)
        .filter(|step| !step.first_tokens().is_empty())
}

/// The highest uncertainty that was measured of a sentence; 0 for none.
fn highest(step: &Step) -> f32 {
    step.measured()
        .flatten()
        .map(|uncertainty| uncertainty.value)
        .fold(0.0, f32::max)
}

fn token_rows(page: &mut Page<'_>, step: &Step) {
    let tokens = step.first_tokens();
    let top = tokens
        .iter()
        .map(|token| token.entropy)
        .fold(FULL_SPARK, f32::max);
    let name = format!(" tokens of s{}  ", step.step);
    let room = page.cells.saturating_sub(text::width(&name)).max(1);

    page.gap();
    for (at, tokens) in tokens.chunks(room).enumerate() {
        let name = if at == 0 {
            name.clone()
        } else {
            " ".repeat(text::width(&name))
        };
        let signs = text::sparkline(tokens.iter().map(|token| token.entropy), top);
        page.line(Line::from(vec![
            page.span(Tone::Quiet, name),
            page.span(Tone::Bar, signs),
        ]));
    }

    if let Some((word, entropy)) = step.most_uncertain_word() {
        let word = text::clip(&word, page.cells.saturating_sub(36)).into_owned();
        page.line(Line::from(vec![
            page.span(Tone::Quiet, " most uncertain token: "),
            page.span(Tone::Warning, format!("\"{word}\"")),
            page.span(Tone::Text, format!("  {entropy:.2}")),
            page.span(Tone::Quiet, " nats"),
        ]));
    }
}

/// The entropy of each word of a regenerated sentence, with the region that the query was made of.
fn word_rows(page: &mut Page<'_>, run: &Run, step: &Step) {
    let region = run
        .lookups
        .iter()
        .filter(|lookup| lookup.step == step.step)
        .find_map(|lookup| lookup.region);
    let Some(region) = region.filter(|_| !step.replaced.is_empty()) else {
        return;
    };

    let name = " words  ";
    let room = page.cells.saturating_sub(text::width(name)).max(1);
    let mut line = Line::from(page.span(Tone::Quiet, name));
    let mut used = 0;
    let first = region.first_word.map_or(0, |first| first as usize);
    for (at, (word, entropy)) in words_of(step.first_tokens()).into_iter().enumerate() {
        let mark = if at == first { "▸" } else { "" };
        let word = format!("{mark}{} ", text::clip(&word, room.saturating_sub(8)));
        let number = format!("{entropy:.2}  ");
        let width = text::width(&word) + text::width(&number);
        if used > 0 && used + width > room {
            let next = Line::from(" ".repeat(text::width(name)));
            page.line(std::mem::replace(&mut line, next));
            used = 0;
        }
        used += width;
        let tone = if at >= first {
            Tone::Warning
        } else {
            Tone::Text
        };
        line.push_span(page.span(tone, word));
        line.push_span(page.span(Tone::Quiet, number));
    }
    page.line(line);

    let threshold = region.threshold;
    let explanation = if region.first_word.is_some() {
        format!("uncertain from ▸ on: the first word above {threshold:.2} nats")
    } else {
        format!("no word is above {threshold:.2} nats: the whole sentence is uncertain")
    };
    page.text(Tone::Quiet, " ", &explanation);
}

fn gate_rows(page: &mut Page<'_>, run: &Run, full_bar: f32) {
    let gate = match &run.gate {
        Some(gate) => gate_words(gate),
        None => "gate off: uncertainty is shown but triggers no retrieval".to_owned(),
    };
    let has_nats = run
        .gate
        .as_ref()
        .is_none_or(|gate| gate.measure != UncertaintyMeasure::Probe);
    let bar = if has_nats {
        format!(" · bar scale 0 to {full_bar:.1} nats")
    } else {
        String::new()
    };
    page.text(Tone::Quiet, " ", &format!("{gate}{bar}"));

    if let Some(reason) = run.gate.as_ref().and_then(|gate| gate.fallback.as_ref()) {
        page.text(Tone::Warning, " ", &format!("probe not used: {reason}"));
    }
}

fn gate_words(gate: &GateCard) -> String {
    let auroc = gate
        .probe
        .as_ref()
        .and_then(|probe| probe.held_out)
        .and_then(|figures| figures.auroc)
        .map_or(String::new(), |auroc| {
            format!(" (AUROC {auroc:.2} held out)")
        });
    format!(
        "gate: {}{auroc}, retrieves above {:.2}",
        measure(gate.measure),
        gate.threshold
    )
}
