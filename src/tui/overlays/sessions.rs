use ratatui::text::{Line, Span};

use crate::event::RunSummary;
use crate::tui::panes::Scene;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::{Content, Item, Scroll};

pub(super) fn title(scene: &Scene<'_>) -> String {
    match &scene.state.sessions {
        Some(sessions) if !sessions.runs.is_empty() => {
            format!("Recorded runs ({}, times in UTC)", sessions.runs.len())
        }
        _ => "Recorded runs".to_owned(),
    }
}

pub(super) fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(sessions) = &scene.state.sessions else {
        content.line(scene.span(Tone::Quiet, "   reading the list …"));
        return content;
    };
    if sessions.runs.is_empty() {
        content.gap();
        let says = format!(
            "No run has been recorded in {} yet. Ask something: every run is kept.",
            sessions.folder
        );
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
    }
    for (row, run) in sessions.runs.iter().enumerate() {
        let item = Item { row, part: 0 };
        content.item(item, run_row(scene, run, cells));
        if scroll.selected == Some(item) {
            let answer = run.answer.as_deref().unwrap_or("it never finished");
            let answer = text::clip(answer, cells.saturating_sub(36)).into_owned();
            content.item(
                item,
                Line::from(vec![
                    Span::raw(" ".repeat(34)),
                    scene.span(Tone::Quiet, answer),
                ]),
            );
        }
    }
    content
}

fn run_row(scene: &Scene<'_>, run: &RunSummary, cells: usize) -> Line<'static> {
    let question = text::clip(&run.question, cells.saturating_sub(36)).into_owned();
    Line::from(vec![
        scene.span(Tone::Quiet, format!("  {}  ", text::date(run.started_at))),
        scene.span(Tone::Text, text::left(&run.preset, 12)),
        scene.span(Tone::Doubt, if run.answer.is_some() { "  " } else { "■ " }),
        scene.span(Tone::Text, question),
    ])
}

pub(super) fn copied(scene: &Scene<'_>, scroll: &Scroll) -> Option<(String, String)> {
    let run = scene
        .state
        .sessions
        .as_ref()?
        .runs
        .get(scroll.selected?.row)?;
    Some(("the path of the run".to_owned(), run.file.clone()))
}
