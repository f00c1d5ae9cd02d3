//! The uncertainty pane: a bar per sentence, the entropy of the tokens of one, and the gate that
//! decides about retrieval.

use ratatui::text::{Line, Span};

use crate::config::{AnswerPrompt, RetrieverKind};
use crate::event::{Decision, GateCard, UncertainRegion, Uncertainty as Measured};
use crate::story::words::{self, is_in_nats, is_of_words, is_unsure, measure};
use crate::story::{
    Certainty, GUESSING, Origin, Run, Step, Token, UNSURE, least_sure_word, word_entropies,
};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Action, Copied, Item, Page, Request, Scene, Scroll, Tone, View};

use super::answer;

/// A full bar of an entropy, unless a value or a threshold is higher; nats. A uniform choice among
/// seven tokens has 1.95.
const FULL_BAR: f32 = 2.0;
/// The highest sign of the sparkline, unless a token is higher; nats.
const FULL_SPARK: f32 = 3.0;

/// Cells of a token in the table, of its text and of its bar.
const TOKEN_NAME: usize = 16;
const TOKEN_BAR: usize = 10;
const TOKEN_COLUMN: usize = 1 + TOKEN_NAME + 6 + 8 + TOKEN_BAR + 2;
/// Cells of the alternatives of a token, where a sentence has any.
const ALTERNATIVES: usize = 40;

/// The uncertainty of each sentence and of its words.
pub struct Uncertainty;

impl View for Uncertainty {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.settled_run() else {
            return page.remark("The uncertainty of each sentence of an answer, and of its words.");
        };

        let full_bar = full_bar(run);
        let steps = run.steps.iter().enumerate();
        for (row, step) in steps.filter(|(_, step)| !step.is_rule()) {
            for version in 0..=step.replaced.len() {
                let name = if version == 0 {
                    format!("s{}", step.step)
                } else {
                    " ↳".to_owned()
                };
                let line = match run.shown_uncertainty(step, version) {
                    Some(shown) => {
                        let certainty = run.certainty(step, version);
                        measured_row(page, &name, &shown, full_bar, certainty)
                    }
                    None if version < step.replaced.len() => state_row(page, &name, "no better"),
                    None => open_row(page, &name, run, step),
                };
                page.item(Item::new(row, 0), line);
            }
        }
        if let Some(step) = shown_step(scene, run) {
            token_rows(page, run, step);
            let region = region_of(run, step);
            if scene.ui.panes.zoomed {
                zoomed_rows(page, step, region);
            } else if region.is_some() {
                word_rows(page, "words", step.first_tokens(), region);
            }
            if let Some(region) = region {
                region_row(page, region);
            }
        }
        if !page.is_empty() {
            page.gap();
        }
        gate_rows(page, run, full_bar);
        whole_answer_rows(page, run);
    }

    fn absence(&self, scene: &Scene<'_>) -> Option<String> {
        let Some(run) = scene.run else {
            return Some("how sure the model was of each sentence and of its words".to_owned());
        };
        let is_quoted = run.settings.answer.prompt == AnswerPrompt::Quotes;
        let is_over = is_quoted || !scene.ui.is_in_progress(run);
        let is_measured = |step: &Step| step.uncertainties().any(|known| known.is_some());
        let is_generated = |step: &Step| is_measured(step) || !step.tokens.is_empty();
        let is_empty = is_over && !run.steps.iter().any(is_generated);
        is_empty.then(|| "no sentence was generated".to_owned())
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        answer::copy_sentence(scene)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        let passage = answer::cited_passage(scene).filter(|_| action == Action::OpenSource)?;
        Some(Request::OpenSource(passage))
    }
}

/// Writes the measures of the whole answer: of its tokens, of its context, and of sampled answers.
fn whole_answer_rows(page: &mut Page<'_>, run: &Run) {
    if run.outcome.is_none() || !page.scene.ui.panes.zoomed {
        return;
    }

    let dense = run.refinement.answer_understanding();
    let dense = dense.map(|of| format!("dense semantic entropy {:.2} nats", of.dse));
    let measures = [perplexity(run), dense, sampled_measures(run)];
    let measures = text::join(measures.into_iter().flatten(), " · ");
    if !measures.is_empty() {
        page.text(Tone::Quiet, " ", &format!("whole answer: {measures}"));
    }
}

fn perplexity(run: &Run) -> Option<String> {
    let logprobs: Vec<f32> = run.tokens().map(|token| token.logprob).collect();
    if logprobs.is_empty() {
        return None;
    }
    let mean = logprobs.iter().sum::<f32>() / logprobs.len() as f32;
    let perplexity = (-mean).exp();
    // a line may break behind a hyphen, and what rounds to zero is not a negative number
    let shown = format!("{:.2}", words::hundredths(mean)).replace('-', "\u{2212}");
    Some(format!(
        "perplexity {perplexity:.2}, mean log-probability {shown} nats"
    ))
}

fn sampled_measures(run: &Run) -> Option<String> {
    let of = &run.sampled.as_ref()?.uncertainty;

    let kernel = of
        .kernel_heat
        .map(|entropy| format!(", kernel entropy {entropy:.2}"));

    Some(format!(
        "samples: semantic entropy {:.2}, by likelihood {:.2}, degree {:.2}, meanings {:.1}{}",
        of.discrete_semantic_entropy,
        of.semantic_entropy,
        of.degree,
        of.eigenvalue,
        kernel.unwrap_or_default()
    ))
}

/// The value of a full bar: the largest entropy or threshold of the run, at least [`FULL_BAR`].
fn full_bar(run: &Run) -> f32 {
    let measured = run.steps.iter().flat_map(|step| shown_measures(run, step));
    let in_nats = measured.filter(|of| is_in_nats(of.measure));
    let values = in_nats.flat_map(|of| [Some(of.value), of.threshold]);
    values.flatten().fold(FULL_BAR, f32::max)
}

/// Returns the bars of a sentence, one for each version that was measured.
fn shown_measures(run: &Run, step: &Step) -> impl Iterator<Item = Measured> {
    let versions = 0..=step.replaced.len();
    versions.filter_map(|version| run.shown_uncertainty(step, version))
}

fn name_span(page: &Page<'_>, name: &str) -> Span<'static> {
    page.span(Tone::Strong, format!(" {name:<4}"))
}

/// Returns the row of a sentence that was not measured.
fn open_row(page: &Page<'_>, name: &str, run: &Run, step: &Step) -> Line<'static> {
    let state = match step.origin {
        Origin::Reused => "reused from the previous run",
        Origin::Given => "not generated",
        Origin::Generated if page.scene.ui.is_in_progress(run) => "being written",
        Origin::Generated => "not finished",
    };
    state_row(page, name, state)
}

/// Returns a row with words in the place of a measure.
fn state_row(page: &Page<'_>, name: &str, state: &str) -> Line<'static> {
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
    certainty: Option<Certainty>,
) -> Line<'static> {
    let (full_bar, unit) = if is_in_nats(uncertainty.measure) {
        (full_bar, " nats")
    } else {
        (1.0, "")
    };

    let mut line = Line::from(name_span(page, name));
    let is_uncertain = certainty
        .as_ref()
        .is_some_and(|known| is_of_words(uncertainty) && *known != Certainty::Sure);
    let tone = if is_uncertain || is_unsure(uncertainty) {
        Tone::Warning
    } else {
        Tone::Bar
    };
    line.spans
        .extend(measured_bar(page, uncertainty, full_bar, tone));
    line.push_span(page.span(Tone::Text, format!(" {:.2}", uncertainty.value)));
    let unit = if page.scene.ui.panes.zoomed { unit } else { "" };
    line.push_span(page.span(Tone::Quiet, format!("{unit}  ")));

    if let Some(threshold) = uncertainty.threshold {
        let sign = if uncertainty.value > threshold {
            '>'
        } else {
            '≤'
        };
        line.push_span(page.span(Tone::Text, format!("{sign} {threshold:.2}  ")));
    }
    line.push_span(decision_span(page, uncertainty, certainty));
    line
}

/// Returns the bar of a value with a tick at the threshold.
fn measured_bar(
    page: &Page<'_>,
    uncertainty: &Measured,
    full_bar: f32,
    tone: Tone,
) -> Vec<Span<'static>> {
    let cells = bar_cells(page.cells);
    let (filled, rest) = text::bar(uncertainty.value / full_bar, cells);
    let place = |threshold: f32| (threshold / full_bar * cells as f32).round() as usize;
    let tick = uncertainty.threshold.map(place);
    let end = filled.chars().count();
    let signs = filled.chars().chain(rest.chars()).enumerate();
    let looks = signs.map(|(at, sign)| match tick {
        Some(tick) if tick == at => (Tone::Text, '│'),
        _ if at < end => (tone, sign),
        _ => (Tone::Track, sign),
    });
    let looks: Vec<(Tone, char)> = looks.collect();
    let runs = looks.chunk_by(|one, other| one.0 == other.0);
    runs.map(|run| {
        let signs: String = run.iter().map(|(_, sign)| *sign).collect();
        page.span(run[0].0, signs)
    })
    .collect()
}

fn bar_cells(cells: usize) -> usize {
    if cells >= 70 { 20 } else { 10 }
}

fn decision_span(
    page: &Page<'_>,
    uncertainty: &Measured,
    certainty: Option<Certainty>,
) -> Span<'static> {
    match uncertainty.decision {
        Decision::Measured => certainty_span(page, certainty),
        // a sentence is rewritten once
        Decision::Keep if is_unsure(uncertainty) => page.span(Tone::Warning, "still unsure, kept"),
        Decision::Keep => page.span(Tone::Text, "kept"),
        Decision::Retrieve => page.span(Tone::Warning, "searched"),
        Decision::Expand => page.span(Tone::Warning, "more passages"),
    }
}

/// Returns whether the model was sure of the words of a sentence.
fn certainty_span(page: &Page<'_>, certainty: Option<Certainty>) -> Span<'static> {
    let clip = |word: String| text::clip(&word, TOKEN_NAME).into_owned();
    let (tone, certainty) = match certainty {
        None => return page.span(Tone::Quiet, "measured"),
        Some(Certainty::Sure) => (Tone::Quiet, Certainty::Sure),
        Some(Certainty::UnsureOfWording) => (Tone::Warning, Certainty::UnsureOfWording),
        Some(Certainty::UnsureOf(word)) => (Tone::Warning, Certainty::UnsureOf(clip(word))),
        Some(Certainty::Guessing(word)) => (Tone::Warning, Certainty::Guessing(clip(word))),
    };
    page.span(tone, words::certainty(&certainty))
}

/// The sentence whose tokens are shown: the selected one; else the one being written; else the most
/// uncertain one.
fn shown_step<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<&'a Step> {
    let selected = [Pane::Uncertainty, Pane::Answer]
        .into_iter()
        .find_map(|pane| scene.ui.scroll(pane).selected)
        .and_then(|item| run.steps.get(item.row));

    let steps = run.steps.iter();
    let in_progress = if scene.ui.is_in_progress(run) {
        run.steps.last()
    } else {
        steps.max_by(|a, b| highest(run, a).total_cmp(&highest(run, b)))
    };

    let shown = selected.or(in_progress);
    shown.filter(|step| !step.first_tokens().is_empty())
}

/// The highest bar of a sentence; 0 for none.
fn highest(run: &Run, step: &Step) -> f32 {
    let values = shown_measures(run, step).map(|of| of.value);
    values.fold(0.0, f32::max)
}

fn token_rows(page: &mut Page<'_>, run: &Run, step: &Step) {
    let tokens = step.first_tokens();
    let top = highest_sign(tokens);
    let name = format!(" tokens of s{}  ", step.step);
    let room = page.cells.saturating_sub(text::width(&name)).max(1);

    page.gap();
    for (at, tokens) in tokens.chunks(room).enumerate() {
        let name = text::left(if at == 0 { &name } else { "" }, text::width(&name));
        let signs = text::sparkline(tokens.iter().map(|token| token.entropy), top);
        page.line(vec![
            page.span(Tone::Quiet, name),
            page.span(Tone::Bar, signs),
        ]);
    }

    // the row of a sentence that no gate judged names its word
    let is_zoomed = page.scene.ui.panes.zoomed;
    let mut measured = step.uncertainties().flatten();
    let is_measured = measured.any(|known| known.decision == Decision::Measured);
    if is_zoomed || !is_measured {
        least_sure_row(page, run, step);
    }
}

/// Writes the word that the verdict names, else the one of the highest entropy; in a zoomed pane
/// with its number.
fn least_sure_row(page: &mut Page<'_>, run: &Run, step: &Step) {
    let named = run.unsure_word(step).filter(|_| step.replaced.is_empty());
    let named = named.map(|word| (word.text.clone(), words::likely(word.probability)));
    let highest = || {
        let (word, entropy) = least_sure_word(step.first_tokens())?;
        Some((word, format!("{entropy:.2} nats")))
    };
    let Some((word, number)) = named.or_else(highest) else {
        return;
    };

    let word = text::clip(&word, page.cells.saturating_sub(36));
    let mut line = Line::from(vec![
        page.span(Tone::Quiet, " least sure of: "),
        page.span(Tone::Warning, format!("\"{word}\"")),
    ]);
    if page.scene.ui.panes.zoomed {
        line.push_span(page.span(Tone::Quiet, format!("  {number}")));
    }
    page.line(line);
}

/// The entropy of the highest sign of the sparkline.
fn highest_sign(tokens: &[Token]) -> f32 {
    let entropies = tokens.iter().map(|token| token.entropy);
    entropies.fold(FULL_SPARK, f32::max)
}

/// The uncertain region of a regenerated sentence, which the query was made of.
fn region_of(run: &Run, step: &Step) -> Option<UncertainRegion> {
    let lookups = run.lookups.iter();
    lookups
        .filter(|lookup| lookup.step == step.step && !step.replaced.is_empty())
        .find_map(|lookup| lookup.region)
}

/// Writes the words and the tokens of every version of a sentence, oldest first.
fn zoomed_rows(page: &mut Page<'_>, step: &Step, region: Option<UncertainRegion>) {
    page.gap();

    for (version, replaced) in step.replaced.iter().enumerate() {
        let region = region.filter(|_| version == 0);
        word_rows(page, "replaced", &replaced.tokens, region);
        token_table(page, &replaced.tokens);
    }

    word_rows(page, "words", &step.tokens, None);
    token_table(page, &step.tokens);
    let legend = format!(
        "mean entropy of the tokens of each word, nats; marked from {UNSURE} and from {GUESSING} on"
    );
    page.text(Tone::Quiet, " ", &legend);
    page.gap();
}

/// The tone of an entropy.
fn entropy_tone(entropy: f32) -> Tone {
    if entropy >= GUESSING {
        Tone::Bad
    } else if entropy >= UNSURE {
        Tone::Warning
    } else {
        Tone::Text
    }
}

/// Writes each token with its probability and its entropy, in as many columns as fit.
fn token_table(page: &mut Page<'_>, tokens: &[Token]) {
    let has_alternatives = tokens.iter().any(|token| !token.alternatives.is_empty());
    let alternatives = if has_alternatives { ALTERNATIVES } else { 0 };
    let columns = (page.cells / (TOKEN_COLUMN + alternatives)).max(1);
    let per_column = tokens.len().div_ceil(columns).max(1);
    let top = highest_sign(tokens);

    let head = format!(
        " {}{:>6}{:>6}  {}{}",
        text::left("token", TOKEN_NAME),
        "prob.",
        "nats",
        " ".repeat(TOKEN_BAR + 2),
        text::left("other likely tokens", alternatives)
    );
    let heads = columns.min(tokens.len().div_ceil(per_column));
    page.clip(Tone::Quiet, &head.repeat(heads));
    for row in 0..per_column {
        let mut line = Line::default();
        for token in tokens.iter().skip(row).step_by(per_column) {
            let tone = entropy_tone(token.entropy);
            let name = visible(&token.text);
            let name = text::left(&text::clip(&name, TOKEN_NAME - 1), TOKEN_NAME);
            let probability = token.logprob.exp();
            line.push_span(page.span(tone, format!(" {name}")));
            line.push_span(page.span(Tone::Quiet, format!("{probability:>6.2}")));
            line.push_span(page.span(tone, format!("{:>6.2}  ", token.entropy)));
            let bar = page.scene.bar(token.entropy / top, TOKEN_BAR);
            line.spans.extend(bar);
            line.push_span(Span::raw("  "));
            let others = alternatives_of(token);
            let others = text::clip(&others, alternatives.saturating_sub(2));
            line.push_span(page.span(Tone::Quiet, text::left(&others, alternatives)));
        }
        page.line(line);
    }
    page.gap();
}

/// Returns the text of a token with its white space visible.
fn visible(token: &str) -> String {
    text::one_line(token).replace(' ', "·")
}

/// Returns the other likely tokens in the place of one, as `·clocks .61  ·books .20`.
fn alternatives_of(token: &Token) -> String {
    let others = token.alternatives.iter().map(|other| {
        let probability = words::score(other.logprob.exp(), 2);
        format!("{} {probability}", visible(&other.text))
    });
    text::join(others, "  ")
}

/// Writes the entropy of each word, with the start of the uncertain region.
fn word_rows(page: &mut Page<'_>, name: &str, tokens: &[Token], region: Option<UncertainRegion>) {
    let name = format!(" {name}  ");
    let indent = text::width(&name);
    let room = page.cells.saturating_sub(indent).max(1);
    let first = region.map(|region| region.first_word.map_or(0, |first| first as usize));

    let mut line = Line::from(page.span(Tone::Quiet, name));
    let mut used = 0;
    for (at, (word, entropy)) in word_entropies(tokens).into_iter().enumerate() {
        let mark = if Some(at) == first { "▸" } else { "" };
        let word = format!("{mark}{} ", text::clip(&word, room.saturating_sub(8)));
        let number = format!("{entropy:.2}  ");
        let width = text::width(&word) + text::width(&number);
        if used > 0 && used + width > room {
            let next = Line::from(" ".repeat(indent));
            page.line(std::mem::replace(&mut line, next));
            used = 0;
        }
        used += width;
        let tone = match first {
            Some(first) if at >= first => Tone::Warning,
            Some(_) => Tone::Text,
            None => entropy_tone(entropy),
        };
        line.push_span(page.span(tone, word));
        line.push_span(page.span(Tone::Quiet, number));
    }
    page.line(line);
}

fn region_row(page: &mut Page<'_>, region: UncertainRegion) {
    let threshold = region.threshold;
    let explanation = if region.first_word.is_some() {
        format!("unsure from ▸ on: the first word above {threshold:.2}")
    } else {
        format!("no word is above {threshold:.2}: unsure of the whole sentence")
    };
    page.text(Tone::Quiet, " ", &explanation);
}

fn gate_rows(page: &mut Page<'_>, run: &Run, full_bar: f32) {
    let gate = match &run.gate {
        Some(gate) => gate_words(gate),
        None if run.settings.retriever.kind == RetrieverKind::Off => {
            "this run searches nothing".to_owned()
        }
        None => "this run searches once, at the start".to_owned(),
    };
    let measured = || run.steps.iter().flat_map(Step::uncertainties).flatten();
    let are_of_words = measured().all(is_of_words);
    let of_bars = measured().next().filter(|of| is_in_nats(of.measure));
    let bar = match of_bars.filter(|_| page.scene.ui.panes.zoomed) {
        Some(known) => {
            let measure = if are_of_words {
                "entropy of the least sure word, or the mean where only the wording is unsure"
            } else {
                measure(known.measure)
            };
            format!(" · bars: {measure}, 0 to {full_bar:.1} nats")
        }
        None => String::new(),
    };
    page.text(Tone::Quiet, " ", &format!("{gate}{bar}"));

    if let Some(reason) = run.gate.as_ref().and_then(|gate| gate.fallback.as_ref()) {
        page.text(Tone::Warning, " ", &format!("probe not used: {reason}"));
    }
}

fn gate_words(gate: &GateCard) -> String {
    let figures = gate.probe.as_ref().and_then(|probe| probe.held_out);
    let auroc = figures.and_then(|figures| figures.auroc);
    let auroc = auroc.map_or(String::new(), |auroc| {
        let share = words::percent(auroc as f32);
        format!(" (right about {share} of the pairs of its test)")
    });
    let of_probe = if is_in_nats(gate.measure) {
        String::new()
    } else {
        format!("{} ", measure(gate.measure))
    };
    let threshold = gate.threshold;
    format!("an unsure sentence ({of_probe}above {threshold:.2}) is searched for{auroc}")
}
