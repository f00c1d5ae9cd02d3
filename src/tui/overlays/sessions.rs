//! The list of recorded runs.

use ratatui::text::{Line, Span};

use crate::event::{Event, RunEvent, RunSummary, SessionEvent};
use crate::tui::keys::{Action, Context};
use crate::tui::page::Page;
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Reaction, Request, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Cells before the question: date, preset, sign.
const BEFORE_QUESTION: usize = 34;

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
            Event::Session(SessionEvent::SessionsListed { .. }) => Reaction::SelectFirst,
            // the run that was chosen shows itself
            Event::Run(RunEvent::RunStarted { .. }) => Reaction::Close,
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
            format!("Recorded runs ({})", sessions.runs.len())
        }
        _ => "Recorded runs".to_owned(),
    }
}

fn content(scene: &Scene<'_>, scroll: &Scroll, cells: usize) -> Content {
    let mut page = Page::new(scene, cells);
    let Some(sessions) = &scene.state.sessions else {
        page.line(page.span(Tone::Quiet, "   reading the list …"));
        return page.content;
    };
    if sessions.runs.is_empty() {
        page.remark(&format!(
            "No run has been recorded in {} yet. Ask something: every run is recorded.",
            sessions.folder
        ));
    }

    for (row, run) in sessions.runs.iter().enumerate() {
        let item = Item { row, part: 0 };
        page.item(item, run_row(&page, run));
        if scroll.selected == Some(item) {
            let answer = run.answer.as_deref().unwrap_or("not finished");
            let answer = text::clip(answer, cells.saturating_sub(BEFORE_QUESTION + 2)).into_owned();
            page.item(
                item,
                Line::from(vec![
                    Span::raw(" ".repeat(BEFORE_QUESTION)),
                    page.span(Tone::Quiet, answer),
                ]),
            );
        }
    }
    page.content
}

fn run_row(page: &Page<'_>, run: &RunSummary) -> Line<'static> {
    let started = text::date(run.started_at, &page.scene.options.time_zone);
    let is_finished = run.answer.is_some();
    let room = page.cells.saturating_sub(BEFORE_QUESTION + 2);
    Line::from(vec![
        page.span(Tone::Quiet, format!("  {started}  ")),
        page.span(Tone::Text, text::left(&run.preset, 12)),
        page.span(Tone::Warning, if is_finished { "  " } else { "■ " }),
        page.span(Tone::Text, text::clip(&run.question, room).into_owned()),
    ])
}
