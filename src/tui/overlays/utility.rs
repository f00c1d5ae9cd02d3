//! What the context of a run was worth to the model: each chunk, and the answers that say so.

use ratatui::text::{Line, Span};

use crate::event::{Belief, BeliefSample, Event, HitUtility, SePerForm, Utility as Measured};
use crate::tui::keys::{Action, Context};
use crate::tui::state::{Run, State};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Reaction, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Cells of a bar of a chunk: half of it for each sign.
const HALF_BAR: usize = 8;

/// The item that changes what is measured toward; beliefs follow.
const REFERENCE: Item = Item { row: 0, part: 0 };

/// How much the context of a run helped the model.
pub struct Utility;

impl View for Utility {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "What the context was worth".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
        content(scene, scroll, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(130, 90)
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let utility = scene.run?.utility.as_ref()?;
        let hits = utility.hits.iter().map(|hit| {
            format!(
                "[{}] alone {:+.3}, left out {:+.3}",
                hit.label, hit.alone, hit.left_out
            )
        });
        let lines: Vec<String> = std::iter::once(format!("utility {:+.3}", utility.delta))
            .chain(hits)
            .collect();
        Copied::lines("what the context was worth", &lines)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Choose, "another answer"),
            (Action::Copy, "copy"),
        ]
    }

    fn act(&self, action: Action, _scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let is_reference = action == Action::Choose && scroll.selected == Some(REFERENCE);
        is_reference.then_some(Request::TypeReference)
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            Event::UtilityMeasured { of: Some(_), .. } => Reaction::SelectFirst,
            _ => Reaction::Nothing,
        }
    }
}

fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(run) = scene.run else {
        content.gap();
        content.paragraph(
            "Nothing has been asked yet.",
            scene.style(Tone::Quiet),
            "   ",
            cells,
        );
        return content;
    };
    let measuring = scene.ui.work.measuring.as_ref() == Some(&run.id);
    match (&run.utility, measuring) {
        (Some(utility), false) => measured(scene, scroll, (run, utility), cells, &mut content),
        (_, true) => {
            content.gap();
            let samples = scene.ui.next_run.config().utility.samples;
            let says = format!(
                "Measuring: {samples} answers are sampled without documents, with all chunks of the context, with each alone and \
                 without each …"
            );
            content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        }
        (None, false) => {
            content.gap();
            let replay = scene.ui.player.is_some();
            let otherwise = match replay {
                true => "A replay has no models: open the folder and ask again to measure.",
                false => "Nothing was measured: see the warnings and failures.",
            };
            let says = why_not(run).unwrap_or(otherwise);
            content.paragraph(says, scene.style(Tone::Quiet), "   ", cells);
        }
    }
    content
}

/// Why a run cannot be measured; None when it can.
pub fn why_not(run: &Run) -> Option<&'static str> {
    if run.outcome.is_none() {
        Some("The run is not over yet.")
    } else if run.context_hits().is_empty() {
        Some(
            "Nothing was looked up in this run, so there is nothing that could be worth something.",
        )
    } else {
        None
    }
}

fn measured(
    scene: &Scene<'_>,
    scroll: &Scroll,
    (run, utility): (&Run, &Measured),
    cells: usize,
    content: &mut Content,
) {
    let toward = utility.references.join(" | ");
    let whose = match utility.own_answer {
        true => "utility toward the model's own answer; enter types a right one",
        false => "utility toward a right answer; enter types another",
    };
    let toward = text::clip(&toward, cells.saturating_sub(12)).into_owned();
    content.item(
        REFERENCE,
        Line::from(vec![
            scene.span(Tone::Quiet, "  toward   "),
            scene.span(Tone::Strong, toward),
        ]),
    );
    content.paragraph(whose, scene.style(Tone::Quiet), "           ", cells);
    let form = match utility.form {
        SePerForm::Soft => "soft",
        SePerForm::Hard => "hard",
    };
    let [none, all] = [utility.beliefs.first(), utility.beliefs.get(1)]
        .map(|belief| belief.map(|one| one.seper(utility.form)));
    let mut worth = vec![scene.span(Tone::Quiet, format!("  utility  SePer {form}  "))];
    worth.push(delta(scene, utility.delta));
    content.line(Line::from(worth));
    if let (Some(none), Some(all)) = (none, all) {
        let says = format!("belief {none:.2} without documents, {all:.2} with them");
        content.paragraph(&says, scene.style(Tone::Quiet), "           ", cells);
    }
    content.gap();
    if !utility.hits.is_empty() {
        let alone = text::left("alone", 2 * HALF_BAR + 8);
        let head = format!(
            "      {}  {alone}left out",
            text::left("chunk", place_cells(cells))
        );
        content.line(scene.span(Tone::Quiet, text::clip(&head, cells).into_owned()));
    }
    for hit in &utility.hits {
        content.line(chunk_row(scene, run, hit, cells));
    }
    if !utility.hits.is_empty() {
        let says = "alone: belief with the chunk alone less belief without documents; negative, it misled. left out: how the belief \
                    changes when the chunk goes.";
        content.paragraph(says, scene.style(Tone::Quiet), "  ", cells);
    }
    content.gap();
    content.line(scene.span(Tone::Strong, "  what the model says, by context"));
    for (at, belief) in utility.beliefs.iter().enumerate() {
        let item = Item {
            row: at + 1,
            part: 0,
        };
        content.item(item, belief_row(scene, run, utility, at, cells));
        if scroll.selected == Some(item) {
            sample_rows(scene, belief, item, cells, content);
        }
    }
}

/// To two digits; what is nothing then has no sign of its own.
fn rounded(value: f32) -> f32 {
    (value * 100.0).round() / 100.0 + 0.0
}

fn tone(delta: f32) -> Tone {
    if delta < 0.0 { Tone::Bad } else { Tone::Good }
}

fn delta(scene: &Scene<'_>, delta: f32) -> Span<'static> {
    let delta = rounded(delta);
    scene.span(tone(delta), format!("{delta:+.2}"))
}

/// A bar from the middle: to the left when the chunk misled.
fn signed_bar(scene: &Scene<'_>, delta: f32) -> [Span<'static>; 4] {
    let delta = rounded(delta);
    let (filled, rest) = text::bar(delta.abs(), HALF_BAR);
    let empty = "░".repeat(HALF_BAR);
    let middle = scene.span(Tone::Border, "│");
    if delta < 0.0 {
        [
            scene.span(Tone::Track, rest),
            scene.span(Tone::Bad, filled.replace('█', "▒")),
            middle,
            scene.span(Tone::Track, empty),
        ]
    } else {
        [
            scene.span(Tone::Track, empty),
            middle,
            scene.span(Tone::Good, filled),
            scene.span(Tone::Track, rest),
        ]
    }
}

/// Cells of the column of places.
fn place_cells(cells: usize) -> usize {
    cells.saturating_sub(2 * HALF_BAR + 24).clamp(8, 48)
}

fn chunk_row(scene: &Scene<'_>, run: &Run, hit: &HitUtility, cells: usize) -> Line<'static> {
    let of_chunk = run
        .hit(hit.chunk)
        .map(|hit| text::location(&hit.chunk.document, hit.chunk.lines));
    let room = place_cells(cells);
    let place = text::clip_start(&of_chunk.unwrap_or_default(), room).into_owned();
    let mut line = vec![
        scene.span(Tone::Citation, format!("  [{}] ", hit.label)),
        scene.span(Tone::Text, text::left(&place, room)),
        Span::raw("  "),
    ];
    line.extend(signed_bar(scene, hit.alone));
    line.push(Span::raw(" "));
    line.push(delta(scene, hit.alone));
    line.push(Span::raw("  "));
    // what is lost without it reads the other way round
    line.push(delta(scene, 0.0 - hit.left_out));
    Line::from(line)
}

fn belief_row(
    scene: &Scene<'_>,
    run: &Run,
    utility: &Measured,
    at: usize,
    cells: usize,
) -> Line<'static> {
    let belief = &utility.beliefs[at];
    let seper = belief.seper(utility.form);
    let labels = belief.chunks.iter().map(|chunk| {
        let label = utility
            .hits
            .iter()
            .find(|hit| hit.chunk == *chunk)
            .map(|hit| hit.label);
        label
            .or_else(|| {
                run.lookups
                    .iter()
                    .rev()
                    .find_map(|lookup| lookup.label(*chunk))
            })
            .map_or("[?]".to_owned(), |label| format!("[{label}]"))
    });
    let name = if belief.chunks.is_empty() {
        "no documents".to_owned()
    } else {
        labels.collect::<Vec<String>>().join(" ")
    };
    let entropy = format!(
        "  entropy {:.2}",
        rounded(belief.uncertainty.discrete_semantic_entropy)
    );
    let mut line = vec![scene.span(
        Tone::Text,
        format!("    {}", text::left(&text::clip(&name, 24), 24)),
    )];
    line.extend(scene.bar(seper, 10));
    line.push(scene.span(Tone::Text, format!(" {seper:.2}")));
    line.push(scene.span(Tone::Quiet, entropy));
    let room = cells.saturating_sub(62);
    line.push(scene.span(
        Tone::Quiet,
        format!("  says \"{}\"", text::clip(&belief.greedy, room)),
    ));
    Line::from(line)
}

/// The samples of a context, cluster by cluster, the heaviest first.
fn sample_rows(
    scene: &Scene<'_>,
    belief: &Belief,
    item: Item,
    cells: usize,
    content: &mut Content,
) {
    let clusters = belief
        .samples
        .iter()
        .map(|sample| sample.cluster)
        .max()
        .map_or(0, |last| last + 1);
    let of = |cluster: u32| {
        belief
            .samples
            .iter()
            .filter(move |sample| sample.cluster == cluster)
    };
    let weight = |cluster: &u32| of(*cluster).map(|sample| sample.weight).sum::<f32>();
    let mut order: Vec<u32> = (0..clusters).collect();
    order.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    for cluster in order {
        let matches = of(cluster).any(|sample| sample.matches);
        let (tone, sign) = if matches {
            (Tone::Good, "✓")
        } else {
            (Tone::Quiet, "·")
        };
        let mut texts: Vec<(&str, usize, &BeliefSample)> = Vec::new();
        for sample in of(cluster) {
            match texts.iter_mut().find(|(text, _, _)| *text == sample.text) {
                Some((_, times, _)) => *times += 1,
                None => texts.push((&sample.text, 1, sample)),
            }
        }
        let line = format!("      {sign} cluster of weight {:.2}", weight(&cluster));
        content.item(item, scene.span(tone, line));
        for (said, times, sample) in texts {
            let said = text::clip(said, cells.saturating_sub(44)).into_owned();
            content.item(
                item,
                Line::from(vec![
                    scene.span(Tone::Text, format!("        {times} × \"{said}\"")),
                    scene.span(
                        Tone::Quiet,
                        format!(
                            "  weight {:.2}, entailment {:.2}",
                            sample.weight, sample.entailment
                        ),
                    ),
                ]),
            );
        }
    }
}
