use std::collections::BTreeSet;
use std::ops::Range;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::event::{Citation, Decision, Evidence, Outcome};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::state::{Phase, Run, Step};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll, patched};

use super::ready;
use super::uncertainty::measure;

/// Cells before a sentence: selection, number, space.
const INDENT: usize = 4;

/// The answer, sentence by sentence, with what each replaced and cites.
pub struct Answer;

impl View for Answer {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Answer.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let runs = scene.state.runs.len();
        if runs < 2 {
            return String::new();
        }
        let shown = scene.ui.work.turn.or(scene.state.latest);
        format!("run {} of {runs}", shown.map_or(0, |at| at + 1))
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        copied(scene)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        match action {
            Action::OpenSource => cited(scene).map(Request::OpenSource),
            Action::FocusInput if scene.offers_questions() => {
                Some(Request::Suggest(scroll.selected?.row))
            }
            _ => None,
        }
    }
}

/// The passage of the selected citation; of the first one when no sentence is selected.
pub(super) fn cited(scene: &Scene<'_>) -> Option<Passage> {
    let run = scene.run?;
    let citation = match scene.ui.scroll(Pane::Answer).selected {
        Some(item) => run
            .steps
            .get(item.row)?
            .citations
            .get(item.part.saturating_sub(1)),
        None => run
            .steps
            .iter()
            .flat_map(|step| &step.citations)
            .chain(&run.citations)
            .next(),
    }?;
    Some(Passage {
        document: citation.file.clone(),
        first_line: citation.first_line,
        last_line: citation.last_line,
        chunk: citation.chunk,
    })
}

/// The selected sentence or citation; the whole answer when nothing is selected.
pub(super) fn copied(scene: &Scene<'_>) -> Option<Copied> {
    let run = scene.run?;
    let Some(selected) = scene.ui.scroll(Pane::Answer).selected else {
        let whole = if run.text.is_empty() {
            let sentences: Vec<&str> = run.steps.iter().map(|step| step.text.as_str()).collect();
            sentences.join(" ")
        } else {
            run.text.trim().to_owned()
        };
        return (!whole.is_empty()).then(|| Copied::new("the answer", whole));
    };

    let step = run.steps.get(selected.row)?;
    let Some(citation) = selected.part.checked_sub(1) else {
        return Some(Copied::new(format!("sentence {}", step.step), &step.text));
    };
    let citation = step.citations.get(citation)?;
    Some(Copied::new(
        format!("citation [{}]", citation.label),
        text::location(&citation.file, [citation.first_line, citation.last_line]),
    ))
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    if let Some(question) = &scene.ui.work.pending {
        question_rows(scene, question, cells, &mut content);
        content.paragraph(
            ready::waiting_for(scene),
            scene.style(Tone::Quiet),
            "    ",
            cells,
        );
        return content;
    }
    let Some(run) = scene.run else {
        return ready::content(scene, cells);
    };
    question_rows(scene, &run.question, cells, &mut content);
    for (row, step) in run.steps.iter().enumerate() {
        sentence_rows(scene, (run, row, step), cells, &mut content);
    }
    match &run.outcome {
        Some(outcome) => outcome_rows(scene, run, outcome, cells, &mut content),
        None if !scene.ui.is_in_progress(run) => note(
            scene,
            &mut content,
            cells,
            (Tone::Quiet, "■ the recording ends here"),
        ),
        None if run.steps.is_empty() => {
            content.line(scene.span(Tone::Quiet, format!("    {}", doing(run.phase()))))
        }
        None => {}
    }
    content
}

fn question_rows(scene: &Scene<'_>, question: &str, cells: usize, content: &mut Content) {
    content.paragraph(question, scene.style(Tone::Question), " ", cells);
    content.gap();
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting …",
        Phase::LookingUp => "looking it up …",
        Phase::Reading => "the model reads the prompt …",
        Phase::Writing => "writing …",
        Phase::Done => "",
    }
}

fn sentence_rows(
    scene: &Scene<'_>,
    (run, row, step): (&Run, usize, &Step),
    cells: usize,
    content: &mut Content,
) {
    let item = Item { row, part: 0 };
    doubted_rows(scene, (run, step), (item, cells), content);
    let mut sentence = step.text.clone();
    let writing = step.uncertainty.is_none()
        && !step.given
        && scene.ui.is_in_progress(run)
        && row + 1 == run.steps.len();
    let marks = if writing {
        "▌".to_owned()
    } else {
        unwritten_labels(step)
    };
    let marks_at = sentence.len();
    if !marks.is_empty() {
        sentence.push_str(if writing { "" } else { "  " });
        sentence.push_str(&marks);
    }
    let labels = label_ranges(&sentence);
    for (at, range) in text::wrap(&sentence, cells.saturating_sub(INDENT))
        .into_iter()
        .enumerate()
    {
        let numbered = at == 0 && step.replaced.is_empty();
        let gutter = if numbered {
            format!("{:>3} ", step.step)
        } else {
            " ".repeat(INDENT)
        };
        let mut line = Line::from(vec![Span::raw(sentence[range.clone()].to_owned())]);
        for label in &labels {
            line = patched(line, within(label, &range), scene.style(Tone::Citation));
        }
        if writing {
            line = patched(
                line,
                within(&(marks_at..sentence.len()), &range),
                scene.style(Tone::Focus),
            );
        }
        line.spans.insert(0, scene.span(Tone::Quiet, gutter));
        content.item(item, line);
    }
    let opened = scene
        .ui
        .scroll(Pane::Answer)
        .selected
        .is_some_and(|selected| selected.row == row);
    if opened {
        for (at, citation) in step.citations.iter().enumerate() {
            content.item(
                Item { row, part: at + 1 },
                citation_row(scene, citation, cells),
            );
        }
    }
}

/// The sentences that this one took the place of, struck through, each with the reason.
fn doubted_rows(
    scene: &Scene<'_>,
    (run, step): (&Run, &Step),
    (item, cells): (Item, usize),
    content: &mut Content,
) {
    for (version, doubted) in step.replaced.iter().enumerate() {
        let struck = format!("~~{}~~", doubted.text.trim());
        for (at, range) in text::wrap(&struck, cells.saturating_sub(INDENT))
            .into_iter()
            .enumerate()
        {
            let numbered = version == 0 && at == 0;
            let gutter = if numbered {
                format!("{:>3} ", step.step)
            } else {
                " ".repeat(INDENT)
            };
            let style = scene
                .style(Tone::Dropped)
                .add_modifier(Modifier::CROSSED_OUT);
            let row = Span::styled(struck[range].to_owned(), style);
            content.item(item, Line::from(vec![scene.span(Tone::Quiet, gutter), row]));
        }
        let why = why(run, step, version);
        for range in text::wrap(&why, cells.saturating_sub(INDENT + 2)) {
            let gutter = Span::raw(" ".repeat(INDENT + 2));
            content.item(
                item,
                Line::from(vec![gutter, scene.span(Tone::Quiet, why[range].to_owned())]),
            );
        }
    }
}

/// Why a sentence was written again: what was measured, and what was done.
fn why(run: &Run, step: &Step, version: usize) -> String {
    let Some(doubted) = step
        .replaced
        .get(version)
        .and_then(|doubted| doubted.uncertainty.as_ref())
    else {
        return "doubted".to_owned();
    };
    let (value, name) = (doubted.value, measure(doubted.measure));
    let queries = run.lookups.iter().filter(|lookup| lookup.step == step.step);
    match (doubted.decision, doubted.threshold) {
        (Decision::Expand, _) => {
            format!("{name} {value:.2}, more than before: more passages, ordered anew")
        }
        (_, Some(threshold)) => {
            let query = queries
                .map(|lookup| format!(": looked up \"{}\"", lookup.query))
                .next();
            format!(
                "{name} {value:.2} > {threshold:.2}{}",
                query.unwrap_or_default()
            )
        }
        (_, None) => format!("{name} {value:.2}"),
    }
}

/// The part of a range that lies in a row, counted from the row's start.
fn within(range: &Range<usize>, row: &Range<usize>) -> Range<usize> {
    range.start.clamp(row.start, row.end) - row.start
        ..range.end.clamp(row.start, row.end) - row.start
}

/// The labels that support a sentence and that the model did not write itself.
fn unwritten_labels(step: &Step) -> String {
    let labels: BTreeSet<u32> = step
        .citations
        .iter()
        .map(|citation| citation.label)
        .collect();
    let unwritten = labels
        .iter()
        .map(|label| format!("[{label}]"))
        .filter(|label| !step.text.contains(label.as_str()));
    unwritten.collect::<Vec<_>>().join(" ")
}

/// Where `[12]` stands in a sentence.
fn label_ranges(sentence: &str) -> Vec<Range<usize>> {
    let starts = sentence.match_indices('[').map(|(at, _)| at);
    let ends = starts.filter_map(|start| Some((start, start + sentence[start..].find(']')?)));
    let numbers = ends.filter(|(start, end)| {
        let inner = &sentence[start + 1..*end];
        !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbers.map(|(start, end)| start..end + 1).collect()
}

fn citation_row(scene: &Scene<'_>, citation: &Citation, cells: usize) -> Line<'static> {
    let label = format!("[{}] ", citation.label);
    let evidence = match citation.evidence {
        Evidence::Marked => "the model wrote this mark".to_owned(),
        Evidence::Overlap { share } if share > 0.995 => "all its words are there".to_owned(),
        Evidence::Overlap { share } => format!("{:.0} % of its words are there", share * 100.0),
    };
    let room = cells.saturating_sub(INDENT + 2 + label.len());
    let location = text::location(&citation.file, [citation.first_line, citation.last_line]);
    let location = text::clip_start(&location, room).into_owned();
    let evidence =
        text::clip(&evidence, room.saturating_sub(text::width(&location) + 2)).into_owned();
    Line::from(vec![
        Span::raw(" ".repeat(INDENT)),
        scene.span(Tone::Quiet, "└ "),
        scene.span(Tone::Citation, label),
        scene.span(Tone::Text, location),
        scene.span(Tone::Quiet, format!("  {evidence}")),
    ])
}

fn outcome_rows(
    scene: &Scene<'_>,
    run: &Run,
    outcome: &Outcome,
    cells: usize,
    content: &mut Content,
) {
    if run.steps.is_empty() && !run.text.trim().is_empty() {
        content.paragraph(run.text.trim(), scene.style(Tone::Text), "    ", cells);
    }
    if !run.answer.is_empty() && run.answer != run.text.trim() {
        content.gap();
        let room = cells.saturating_sub(12);
        for (at, range) in text::wrap(&run.answer, room).into_iter().enumerate() {
            let name = if at == 0 {
                "    answer  "
            } else {
                "            "
            };
            content.line(Line::from(vec![
                scene.span(Tone::Quiet, name),
                scene.span(Tone::Strong, run.answer[range].to_owned()),
            ]));
        }
    }
    match outcome {
        Outcome::Completed => {}
        Outcome::Stopped => note(
            scene,
            content,
            cells,
            (Tone::Doubt, "■ stopped; what was written stays"),
        ),
        Outcome::LimitReached => {
            note(
                scene,
                content,
                cells,
                (
                    Tone::Doubt,
                    "■ a limit cut the answer off: raise answer.max_tokens or answer.max_sentences",
                ),
            );
        }
        Outcome::Failed { error, advice } => {
            note(
                scene,
                content,
                cells,
                (Tone::Bad, &format!("✗ {}", text::many_lines(error))),
            );
            content.paragraph(
                &text::many_lines(advice),
                scene.style(Tone::Text),
                "      ",
                cells,
            );
        }
    }
}

fn note(scene: &Scene<'_>, content: &mut Content, cells: usize, (tone, words): (Tone, &str)) {
    content.gap();
    content.paragraph(words, scene.style(tone), "    ", cells);
}
