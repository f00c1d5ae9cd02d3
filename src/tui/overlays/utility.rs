//! The utility of the context of a run: how much each chunk helped the model, and the answers that
//! show it.

use std::collections::BTreeMap;

use ratatui::text::{Line, Span};

use crate::config::{Config, JudgeModel};
use crate::event::{
    Belief, BeliefSample, Event, HitUtility, SePerForm, SessionEvent, Utility as Measured,
};
use crate::story::{Run, words};
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::view::{
    Action, Context, Copied, Item, Page, Reaction, Request, Scene, Scroll, Size, Tone, View,
};

/// Cells of a bar of a chunk: half of it for each sign.
const HALF_BAR: usize = 8;

/// Cells before the values of the summary.
const INDENT: usize = 12;
/// The item that changes the reference answer; beliefs follow.
const REFERENCE: Item = Item::new(0, 0);

/// Samples of a context in the short measurement.
const FEW_SAMPLES: u32 = 2;

/// Seconds from which a measurement begins only when its cost was read.
const LONG_SECONDS: f64 = 20.0;

/// Tokens of a sampled answer, at most.
const ANSWER_TOKENS: f64 = 32.0;

/// Tokens of a comparison of two answers that no other one shares.
const COMPARISON_TOKENS: f64 = 40.0;

/// The meaning of the two numbers of a chunk.
const LEGEND: &str = "alone: belief with this chunk only minus belief without documents; negative: it misled the model. left out: change of \
     belief when this chunk is removed.";

/// The utility of a run's context (ΔSePer).
pub struct Utility;

impl View for Utility {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Context utility: how much the context helped".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.run else {
            return page.remark("Nothing has been asked yet.");
        };

        let is_measuring = scene.ui.work.measuring.as_ref() == Some(&run.id);
        if is_measuring && run.unfinished_utility.is_none() {
            page.remark(
                "Sampling answers without documents, with all chunks, with each chunk alone, and without each chunk …",
            );
            page.gap();
            page.remark(&progress_words(scene));
        } else if let Some(utility) = run.utility() {
            if is_measuring {
                page.remark(&progress_words(scene));
                page.gap();
            } else if run.unfinished_utility.is_some() {
                page.remark(&stopped_words(run, utility));
                page.gap();
            }
            let figures = Figures { run, utility };
            figures.summary_rows(page);
            figures.chunk_rows(page);
            figures.belief_rows(page, scroll);
        } else if let Some(reason) = why_not(run) {
            page.remark(reason);
        } else if let Some(offers) = long_measurements(scene) {
            offer_rows(page, &offers);
        } else if scene.ui.player.is_some() {
            page.remark(
                "A replay has no models. To measure, open the folder and ask the question there.",
            );
        } else {
            let measure = scene.keys_behind(Action::Utility);
            let log = scene.keys_behind(Action::Log);
            page.remark(&format!(
                "The measurement was stopped or failed: {measure} measures again, {log} says what failed."
            ));
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(130, 90)
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let utility = scene.run?.utility()?;
        let hits = utility.hits.iter().map(|hit| {
            format!(
                "[{}] alone {:+.3}, left out {:+.3}",
                hit.label, hit.alone, hit.left_out
            )
        });
        let whole = format!("utility {:+.3}", utility.delta);
        Copied::lines("the context utility", std::iter::once(whole).chain(hits))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "choose"),
            (Action::Copy, "copy"),
        ]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        if action == Action::Back {
            let is_measuring = scene.ui.work.measuring.is_some();
            return is_measuring.then_some(Request::StopMeasuring);
        }
        let chosen = scroll.selected.filter(|_| action == Action::Choose)?;
        if let Some(offers) = long_measurements(scene) {
            let (samples, _) = *offers.get(chosen.row)?;
            return Some(Request::Measure { samples });
        }
        (chosen == REFERENCE).then_some(Request::TypeReference)
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            Event::Session(SessionEvent::UtilityMeasured { .. }) => Reaction::SelectFirst,
            _ => Reaction::Nothing,
        }
    }
}

/// Returns the measurements to choose from, as samples of a context with the seconds that they take
/// at most; `None` where nothing is to be chosen: a measurement is there or quick, or its cost is
/// not known.
pub fn long_measurements(scene: &Scene<'_>) -> Option<Vec<(u32, f64)>> {
    let run = scene.run.filter(|run| run.utility().is_none())?;
    if scene.ui.player.is_some() || scene.ui.work.measuring.is_some() || why_not(run).is_some() {
        return None;
    }
    let samples = scene.ui.next_run.config().utility.samples;
    let mut offers = Vec::new();
    for samples in [samples, FEW_SAMPLES.min(samples)] {
        offers.push((samples, seconds(scene, run, samples)?));
    }
    offers.dedup();
    (offers[0].1 >= LONG_SECONDS).then_some(offers)
}

/// Returns the seconds that a measurement with this many samples takes at most, by the rates of the
/// run's model; `None` where they are not known.
fn seconds(scene: &Scene<'_>, run: &Run, samples: u32) -> Option<f64> {
    let hits = run.context_hits();
    let reading = run.reading_rate()?;
    // a run that wrote nothing says nothing of it: a token takes about as long as ten of a prompt
    let writing = run.tokens_per_second().unwrap_or(reading / 10.0);
    let config = scene.ui.next_run.config();
    let contexts = contexts(&config, hits.len()) as f64;
    let samples = f64::from(samples);

    // each chunk is read with all, alone, and in all contexts without another one
    let tokens: u32 = hits.iter().map(|hit| hit.chunk.tokens).sum();
    let is_per_chunk = config.utility.per_chunk;
    let times = 1 + if is_per_chunk { hits.len() } else { 0 };
    let read = f64::from(tokens) * times as f64;
    let is_judged = matches!(config.judge.model, JudgeModel::Auto | JudgeModel::Generator);
    let pairs = samples * (samples + 1.0) * contexts;
    let compared = if is_judged { pairs } else { 0.0 };
    let written = contexts * ANSWER_TOKENS * (samples + 1.0).sqrt();
    Some((read + compared * COMPARISON_TOKENS) / reading + written / writing)
}

/// Returns the contexts that are measured: none, all, and, where the settings ask for it, each
/// chunk alone and left out.
fn contexts(config: &Config, chunks: usize) -> usize {
    match chunks {
        0 | 1 => 1 + chunks,
        _ if !config.utility.per_chunk => 2,
        2 => 4,
        chunks => 2 + 2 * chunks,
    }
}

fn offer_rows(page: &mut Page<'_>, offers: &[(u32, f64)]) {
    let chunks = page.scene.run.map_or(0, |run| run.context_hits().len());
    let config = page.scene.ui.next_run.config();
    page.remark(&format!(
        "How much did the passages help? The model answers from {} contexts (without them, with all, and with some), several times each, \
         and compares its answers. At the speed of this run that takes up to:",
        contexts(&config, chunks)
    ));
    page.gap();
    for (at, (samples, seconds)) in offers.iter().enumerate() {
        let time = words::duration((seconds * 1000.0) as u64);
        let line = vec![
            page.span(Tone::Strong, text::left(&format!("  {time}"), INDENT + 4)),
            page.span(Tone::Text, format!("{samples} answers for each context")),
        ];
        page.item(Item::new(at, 0), line);
    }
}

fn progress_words(scene: &Scene<'_>) -> String {
    let stop = scene.keymap.sign(Action::Back);
    let step = &scene.state.measurement;
    let words = format!("{step}{}   {stop} stops", scene.elapsed_words());
    words.trim_start().to_owned()
}

fn stopped_words(run: &Run, utility: &Measured) -> String {
    let measured = utility.hits.len();
    let chunks = run.context_hits().len();
    format!(
        "Stopped: the whole context and {measured} of its {chunks} chunks were measured. Enter on the reference measures again."
    )
}

/// The reason why a run cannot be measured; `None` when it can.
pub fn why_not(run: &Run) -> Option<&'static str> {
    if run.outcome.is_none() {
        Some("The run is not finished yet.")
    } else if run.context_hits().is_empty() {
        Some("This run retrieved nothing, so there is no context to score.")
    } else {
        None
    }
}

/// The utility of the context of a run.
struct Figures<'a> {
    run: &'a Run,
    utility: &'a Measured,
}

impl Figures<'_> {
    /// Writes the reference answer and the utility of the whole context.
    fn summary_rows(&self, page: &mut Page<'_>) {
        let utility = self.utility;
        let reference = utility.references.join(" | ");
        let reference = text::clip(&reference, page.cells.saturating_sub(INDENT));
        let line = vec![
            page.span(Tone::Quiet, text::left("  reference", INDENT)),
            page.span(Tone::Strong, reference),
        ];
        page.item(REFERENCE, line);
        let indent = " ".repeat(INDENT);
        let whose = if utility.own_answer {
            "the model's own answer; press enter to type a reference answer"
        } else {
            "a reference answer; press enter to type another"
        };
        page.text(Tone::Quiet, &indent, whose);

        let name = vec![
            page.span(Tone::Quiet, text::left("  utility", INDENT)),
            delta_span(page, utility.delta),
            Span::raw("  "),
        ];
        let room = page.cells.saturating_sub(INDENT + 7);
        page.text_behind(name, Tone::Quiet, form(utility.form), room);
        if let [without, with, ..] = utility.beliefs.as_slice() {
            let [without, with] = [without, with].map(|belief| belief.seper(utility.form));
            let words = format!(
                "belief in the answer: {without:.2} without documents, {with:.2} with them"
            );
            page.text(Tone::Quiet, &indent, &words);
        }
        page.gap();
    }

    /// Writes the utility of each chunk.
    fn chunk_rows(&self, page: &mut Page<'_>) {
        if !self.utility.hits.is_empty() {
            let chunk = text::left("chunk", location_cells(page.cells));
            let alone = text::left("alone", 2 * HALF_BAR + 8);
            page.clip(Tone::Quiet, &format!("      {chunk}  {alone}left out"));
            for hit in &self.utility.hits {
                page.line(self.chunk_row(page, hit));
            }
            page.text(Tone::Quiet, "  ", LEGEND);
        }

        page.gap();
    }

    fn chunk_row(&self, page: &Page<'_>, hit: &HitUtility) -> Line<'static> {
        let known = self.run.hit(hit.chunk);
        let location = known.map(|hit| words::chunk_location(&hit.chunk));
        let location = location.unwrap_or_default();
        let room = location_cells(page.cells);
        let location = text::left(&text::clip_start(&location, room), room);

        let mut line = vec![
            page.span(Tone::Citation, format!("  [{}] ", hit.label)),
            page.span(Tone::Text, location),
            Span::raw("  "),
        ];
        line.extend(signed_bar(page, hit.alone));
        line.push(Span::raw(" "));
        line.push(delta_span(page, hit.alone));
        line.push(Span::raw("  "));
        // `left_out` is the loss without the chunk: the change of belief has the opposite sign
        let left_out = words::hundredths(-hit.left_out);
        line.push(page.span(Tone::Text, format!("{left_out:+.2}")));
        Line::from(line)
    }

    /// Writes the answers of the model, by context.
    fn belief_rows(&self, page: &mut Page<'_>, scroll: &Scroll) {
        page.line(page.span(Tone::Strong, "  the model's answers, by context"));
        for (at, belief) in self.utility.beliefs.iter().enumerate() {
            let item = Item::new(at + 1, 0);
            page.item(item, self.belief_row(page, belief));
            if scroll.selected == Some(item) {
                sample_rows(page, item, belief);
            }
        }
    }

    fn belief_row(&self, page: &Page<'_>, belief: &Belief) -> Line<'static> {
        let name = if belief.chunks.is_empty() {
            "no documents".to_owned()
        } else {
            text::join(belief.chunks.iter().map(|chunk| self.label(*chunk)), " ")
        };
        let name = format!("    {}", text::left(&name, 24));
        let seper = belief.seper(self.utility.form);
        let entropy = words::hundredths(belief.uncertainty.discrete_semantic_entropy);
        let room = page.cells.saturating_sub(62);
        let answer = text::clip(&belief.greedy, room);

        let mut line = vec![page.span(Tone::Text, name)];
        line.extend(page.scene.bar(seper, 10));
        line.push(page.span(Tone::Text, format!(" {seper:.2}")));
        line.push(page.span(Tone::Quiet, format!("  entropy {entropy:.2}")));
        line.push(page.span(Tone::Quiet, format!("  \"{answer}\"")));
        Line::from(line)
    }

    fn label(&self, chunk: u64) -> String {
        let of_hit = self.utility.hits.iter().find(|hit| hit.chunk == chunk);
        let mut lookups = self.run.lookups.iter().rev();
        let label = of_hit.map(|hit| hit.label);
        let label = label.or_else(|| lookups.find_map(|lookup| lookup.label(chunk)));
        label.map_or("[?]".to_owned(), |label| format!("[{label}]"))
    }
}

fn form(form: SePerForm) -> &'static str {
    match form {
        SePerForm::Soft => "how much likelier the answer is with the documents (ΔSePer, soft)",
        SePerForm::Hard => "how much likelier the answer is with the documents (ΔSePer, hard)",
    }
}

fn delta_span(page: &Page<'_>, delta: f32) -> Span<'static> {
    let delta = words::hundredths(delta);
    let tone = if delta < 0.0 { Tone::Bad } else { Tone::Text };
    page.span(tone, format!("{delta:+.2}"))
}

/// A bar from the middle: to the left when the chunk misled the model.
fn signed_bar(page: &Page<'_>, delta: f32) -> [Span<'static>; 4] {
    let delta = words::hundredths(delta);
    let (filled, rest) = text::bar(delta.abs(), HALF_BAR);
    let empty = "░".repeat(HALF_BAR);
    let middle = page.span(Tone::Border, "│");

    if delta < 0.0 {
        [
            page.span(Tone::Track, rest),
            page.span(Tone::Bad, filled.replace('█', "▒")),
            middle,
            page.span(Tone::Track, empty),
        ]
    } else {
        [
            page.span(Tone::Track, empty),
            middle,
            page.span(Tone::Bar, filled),
            page.span(Tone::Track, rest),
        ]
    }
}

/// Cells of the column of locations.
fn location_cells(cells: usize) -> usize {
    cells.saturating_sub(2 * HALF_BAR + 24).clamp(8, 48)
}

/// The samples of a context, cluster by cluster, the heaviest first.
fn sample_rows(page: &mut Page<'_>, item: Item, belief: &Belief) {
    let mut clusters: BTreeMap<u32, Vec<&BeliefSample>> = BTreeMap::new();
    for sample in &belief.samples {
        clusters.entry(sample.cluster).or_default().push(sample);
    }
    let mut clusters: Vec<Vec<&BeliefSample>> = clusters.into_values().collect();
    // stable: of equal weights the first cluster comes first
    clusters.sort_by(|a, b| weight(b).total_cmp(&weight(a)));

    for cluster in clusters {
        let is_match = cluster.iter().any(|sample| sample.matches);
        let tone = if is_match { Tone::Strong } else { Tone::Quiet };
        let sign = if is_match { "✓" } else { "·" };
        let head = format!("      {sign} cluster of weight {:.2}", weight(&cluster));
        page.item(item, page.span(tone, head));
        for (sample, times) in distinct(&cluster) {
            let text = text::clip(&sample.text, page.cells.saturating_sub(44));
            let figures = format!(
                "  weight {:.2}, entailment {:.2}",
                sample.weight, sample.entailment
            );
            let line = vec![
                page.span(Tone::Text, format!("        {times} × \"{text}\"")),
                page.span(Tone::Quiet, figures),
            ];
            page.item(item, line);
        }
    }
}

fn weight(cluster: &[&BeliefSample]) -> f32 {
    cluster.iter().map(|sample| sample.weight).sum()
}

/// The first sample of each text, with the number of samples that have it.
fn distinct<'a>(cluster: &[&'a BeliefSample]) -> Vec<(&'a BeliefSample, usize)> {
    let mut distinct: Vec<(&BeliefSample, usize)> = Vec::new();
    for sample in cluster.iter().copied() {
        let mut known = distinct.iter_mut();
        match known.find(|(known, _)| known.text == sample.text) {
            Some((_, times)) => *times += 1,
            None => distinct.push((sample, 1)),
        }
    }
    distinct
}
