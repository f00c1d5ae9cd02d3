use ratatui::text::{Line, Span};

use crate::event::{Event, RunSummary};
use crate::tui::keys::{Action, Context};
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Reaction, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// The recorded runs, to open one.
pub struct Sessions;

impl View for Sessions {
    fn title(&self, scene: &Scene<'_>) -> String {
        title(scene)
    }

    fn content(&self, scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
        content(scene, scroll, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(130, 60)
    }

    fn copied(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let run = selected(scene, scroll)?;
        Some(Copied::new("the path of the run", &run.file))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Back, "close"), (Action::Choose, "open")]
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let run = selected(scene, scroll).filter(|_| action == Action::Choose)?;
        Some(Request::OpenRun(run.clone()))
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            Event::SessionsListed { .. } => Reaction::SelectFirst,
            // the run that was chosen shows itself
            Event::RunStarted { .. } => Reaction::Close,
            _ => Reaction::Nothing,
        }
    }
}

fn selected<'a>(scene: &Scene<'a>, scroll: &Scroll) -> Option<&'a RunSummary> {
    let sessions = scene.state.sessions.as_ref()?;
    sessions.runs.get(scroll.selected?.row)
}

fn title(scene: &Scene<'_>) -> String {
    match &scene.state.sessions {
        Some(sessions) if !sessions.runs.is_empty() => {
            format!("Recorded runs ({}, times in UTC)", sessions.runs.len())
        }
        _ => "Recorded runs".to_owned(),
    }
}

fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
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
