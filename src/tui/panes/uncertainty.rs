use ratatui::text::{Line, Span};

use crate::event::{
    Decision, DoubtedRegion, GateCard, Uncertainty as Measured, UncertaintyMeasure,
};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::state::{Run, Step, words};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll};

use super::answer;

/// A full bar of an entropy, unless a value or a threshold is higher; nats. A uniform choice among seven tokens has 1.95.
const FULL_BAR: f32 = 2.0;
/// The highest sign of the sparkline, unless a token is higher; nats.
const FULL_SPARK: f32 = 3.0;

/// How uncertain the model was of each sentence, and of which word.
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
    let mut content = Content::default();
    let Some(run) = scene.settled_run() else {
        content.gap();
        let what =
            "For each sentence of an answer: how unsure the model was of it, and of which word.";
        content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };
    let top = full_bar(run);
    for (row, step) in run.steps.iter().enumerate() {
        for (version, measured) in step.measured().enumerate() {
            let name = if version == 0 {
                format!("s{}", step.step)
            } else {
                " ↳".to_owned()
            };
            let line = match measured {
                Some(uncertainty) => measured_row(scene, &name, uncertainty, top, cells),
                None => open_row(scene, &name, (run, step), cells),
            };
            content.item(Item { row, part: 0 }, line);
        }
    }
    if let Some(step) = selected_step(scene, run) {
        token_rows(scene, step, cells, &mut content);
        word_rows(scene, (run, step), cells, &mut content);
    }
    if !content.rows.is_empty() {
        content.gap();
    }
    gate_rows(scene, run, top, cells, &mut content);
    whole_rows(scene, run, cells, &mut content);
    content
}

/// What other measures say of the whole answer: of its tokens, of its context, and of answers that were sampled.
fn whole_rows(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    if run.outcome.is_none() {
        return;
    }
    let logprobs: Vec<f32> = run
        .steps
        .iter()
        .flat_map(|step| &step.tokens)
        .map(|token| token.logprob)
        .collect();
    let mut says = Vec::new();
    if !logprobs.is_empty() {
        let mean = logprobs.iter().sum::<f32>() / logprobs.len() as f32;
        // A line may break behind a hyphen, and what rounds to zero is no negative number.
        let shown = format!("{:.2}", (mean * 100.0).round() / 100.0 + 0.0).replace('-', "\u{2212}");
        says.push(format!(
            "perplexity {:.2}, mean log-probability {shown} nats",
            (-mean).exp()
        ));
    }
    says.extend(
        run.refinement
            .of_the_answer()
            .map(|understanding| format!("DENSE {:.2} nats", understanding.dse)),
    );
    let sampled = run
        .utility
        .as_ref()
        .and_then(|utility| utility.beliefs.get(1).or(utility.beliefs.first()));
    says.extend(sampled.map(|belief| {
        let of = &belief.uncertainty;
        format!(
            "samples: semantic entropy {:.2}, by likelihood {:.2}, degree {:.2}, meanings {:.1}",
            of.discrete_semantic_entropy, of.semantic_entropy, of.degree, of.eigenvalue
        )
    }));
    if !says.is_empty() {
        let says = format!("whole answer: {}", says.join(" · "));
        content.paragraph(&says, scene.style(Tone::Quiet), " ", cells);
    }
}

fn full_bar(run: &Run) -> f32 {
    let measured = run.steps.iter().flat_map(Step::measured).flatten();
    let entropies = measured.filter(|uncertainty| uncertainty.measure != UncertaintyMeasure::Probe);
    entropies
        .flat_map(|uncertainty| [Some(uncertainty.value), uncertainty.threshold])
        .flatten()
        .fold(FULL_BAR, f32::max)
}

fn name_span(scene: &Scene<'_>, name: &str) -> Span<'static> {
    scene.span(Tone::Strong, format!(" {name:<4}"))
}

/// A sentence that nothing is known of yet.
fn open_row(
    scene: &Scene<'_>,
    name: &str,
    (run, step): (&Run, &Step),
    cells: usize,
) -> Line<'static> {
    let says = match scene.ui.is_in_progress(run) {
        _ if step.given => "taken over",
        true => "being written",
        false => "not finished",
    };
    Line::from(vec![
        name_span(scene, name),
        scene.span(Tone::Track, "░".repeat(bar_cells(cells))),
        scene.span(Tone::Quiet, format!(" {says}")),
    ])
}

fn measured_row(
    scene: &Scene<'_>,
    name: &str,
    uncertainty: &Measured,
    top: f32,
    cells: usize,
) -> Line<'static> {
    let is_share = uncertainty.measure == UncertaintyMeasure::Probe;
    let mut line = Line::from(name_span(scene, name));
    for span in scene.bar(
        uncertainty.value / if is_share { 1.0 } else { top },
        bar_cells(cells),
    ) {
        line.push_span(span);
    }
    line.push_span(scene.span(Tone::Text, format!(" {:.2}", uncertainty.value)));
    let unit = if is_share { "" } else { " nats" };
    let measure = if cells >= 56 {
        format!("{unit:<5}  {:<16} ", measure(uncertainty.measure))
    } else {
        format!("{unit}  ")
    };
    line.push_span(scene.span(Tone::Quiet, measure));
    if let Some(threshold) = uncertainty.threshold {
        let sign = if uncertainty.value > threshold {
            '>'
        } else {
            '≤'
        };
        line.push_span(scene.span(Tone::Text, format!("{sign} {threshold:.2}  ")));
    }
    let (tone, decision) = decision(uncertainty);
    line.push_span(scene.span(tone, decision));
    line
}

fn bar_cells(cells: usize) -> usize {
    if cells >= 70 { 20 } else { 10 }
}

/// What is measured, as a person calls it.
pub(super) fn measure(measure: UncertaintyMeasure) -> &'static str {
    match measure {
        UncertaintyMeasure::TokenEntropy => "token entropy",
        UncertaintyMeasure::SemanticEntropy => "semantic entropy",
        UncertaintyMeasure::Probe => "probe",
    }
}

fn decision(uncertainty: &Measured) -> (Tone, &'static str) {
    match uncertainty.decision {
        Decision::Measured => (Tone::Quiet, "measured"),
        Decision::Keep => (Tone::Good, "✓ keep"),
        Decision::LookUp => (Tone::Doubt, "? look up"),
        Decision::Expand => (Tone::Doubt, "? look further"),
    }
}

/// The selected sentence; else the one being written; else the one that was doubted most.
fn selected_step<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<&'a Step> {
    let selected = [Pane::Uncertainty, Pane::Answer]
        .into_iter()
        .find_map(|pane| scene.ui.scroll(pane).selected)
        .and_then(|item| run.steps.get(item.row));
    let doubt = |step: &Step| {
        step.measured()
            .flatten()
            .map(|uncertainty| uncertainty.value)
            .fold(0.0, f32::max)
    };
    let telling = match scene.ui.is_in_progress(run) {
        true => run.steps.last(),
        false => run
            .steps
            .iter()
            .max_by(|a, b| doubt(a).total_cmp(&doubt(b))),
    };
    selected
        .or(telling)
        .filter(|step| !step.first_tokens().is_empty())
}

fn token_rows(scene: &Scene<'_>, step: &Step, cells: usize, content: &mut Content) {
    let tokens = step.first_tokens();
    let top = tokens
        .iter()
        .map(|token| token.entropy)
        .fold(FULL_SPARK, f32::max);
    let name = format!(" tokens of s{}  ", step.step);
    let room = cells.saturating_sub(text::width(&name)).max(1);
    content.gap();
    for (at, tokens) in tokens.chunks(room).enumerate() {
        let name = if at == 0 {
            name.clone()
        } else {
            " ".repeat(text::width(&name))
        };
        let signs = text::sparkline(tokens.iter().map(|token| token.entropy), top);
        content.line(Line::from(vec![
            scene.span(Tone::Quiet, name),
            scene.span(Tone::Bar, signs),
        ]));
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

/// The entropy of each word of a doubted sentence, with the region that the query was made of.
fn word_rows(scene: &Scene<'_>, (run, step): (&Run, &Step), cells: usize, content: &mut Content) {
    let region = run
        .lookups
        .iter()
        .filter(|lookup| lookup.step == step.step)
        .find_map(|lookup| lookup.region);
    let Some(DoubtedRegion {
        threshold,
        first_word,
    }) = region.filter(|_| !step.replaced.is_empty())
    else {
        return;
    };
    let name = " words  ";
    let room = cells.saturating_sub(text::width(name)).max(1);
    let mut line = Line::from(scene.span(Tone::Quiet, name));
    let mut used = 0;
    for (at, (word, entropy)) in words(step.first_tokens()).into_iter().enumerate() {
        let doubted = first_word.is_none_or(|first| at >= first as usize);
        let begins = doubted && at == first_word.map_or(0, |first| first as usize);
        let shown = format!(
            "{}{} ",
            if begins { "▸" } else { "" },
            text::clip(&word, room.saturating_sub(8))
        );
        let number = format!("{entropy:.2}  ");
        let width = text::width(&shown) + text::width(&number);
        if used > 0 && used + width > room {
            content.line(std::mem::replace(
                &mut line,
                Line::from(" ".repeat(text::width(name))),
            ));
            used = 0;
        }
        used += width;
        line.push_span(scene.span(if doubted { Tone::Doubt } else { Tone::Text }, shown));
        line.push_span(scene.span(Tone::Quiet, number));
    }
    content.line(line);
    let says = match first_word {
        Some(_) => format!("from ▸ on uncertain: the first word above {threshold:.2} nats"),
        None => format!("no word is above {threshold:.2} nats: all of it is uncertain"),
    };
    content.paragraph(&says, scene.style(Tone::Quiet), " ", cells);
}

fn gate_rows(scene: &Scene<'_>, run: &Run, top: f32, cells: usize, content: &mut Content) {
    let says = match &run.gate {
        Some(gate) => gate_words(gate),
        None => "gate off: measured and shown, nothing follows".to_owned(),
    };
    let has_nats = run
        .gate
        .as_ref()
        .is_none_or(|gate| gate.measure != UncertaintyMeasure::Probe);
    let bar = if has_nats {
        format!(" · a full bar is {top:.1} nats")
    } else {
        String::new()
    };
    content.paragraph(
        &format!("{says}{bar}"),
        scene.style(Tone::Quiet),
        " ",
        cells,
    );
    if let Some(reason) = run.gate.as_ref().and_then(|gate| gate.fallback.as_ref()) {
        content.paragraph(
            &format!("not the probe: {reason}"),
            scene.style(Tone::Doubt),
            " ",
            cells,
        );
    }
}

fn gate_words(gate: &GateCard) -> String {
    let name = measure(gate.measure);
    let held_out = gate.probe.as_ref().and_then(|probe| probe.held_out);
    let quality = held_out
        .and_then(|figures| figures.auroc)
        .map(|auroc| format!(" (AUROC {auroc:.2} held out)"));
    format!(
        "gate: {name}{}, doubts above {:.2}",
        quality.unwrap_or_default(),
        gate.threshold
    )
}
