use ratatui::text::Line;

use crate::event::{Event, Operation, SessionEvent};
use crate::story::words::LOST;
use crate::story::{self, TraceRow};
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Reaction, Scene, View};
use crate::tui::viewport::Scroll;

/// The chunks that contain a phrase: their rank in each list, and the result of each stage.
pub struct PassageTrace;

impl View for PassageTrace {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Trace a passage".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let (Some(run), Some(traced)) = (scene.run, &scene.state.traced) else {
            let words = if scene.ui.work.live.is_some() {
                let stop = scene.keymap.sign(Action::Back);
                format!(
                    "Waiting for the answer: {stop} closes this, and once more stops the answer."
                )
            } else {
                format!("Searching …{}", scene.elapsed_words())
            };
            page.remark(&words);
            return;
        };

        let phrase = text::clip(&traced.phrase, page.cells.saturating_sub(6)).into_owned();
        page.line(scene.span(Tone::Strong, format!(" “{phrase}”")));
        for row in story::PassageTrace::new(run, &traced.phrase, &traced.lookups).rows() {
            trace_row(page, row);
        }
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[(Action::Back, "close"), (Action::Search, "search")]
    }

    fn is_waiting(&self, state: &State) -> bool {
        state.traced.is_none()
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            // the log says why
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::TracePassage,
                ..
            }) => Reaction::Close,
            _ => Reaction::Nothing,
        }
    }
}

fn trace_row(page: &mut Page<'_>, row: TraceRow) {
    let cells = page.cells;
    match row {
        TraceRow::Query { step, text: query } => {
            let name = match step {
                0 => " query ".to_owned(),
                step => format!(" s{step} "),
            };
            let query = text::clip(&query, cells.saturating_sub(12));
            page.gap();
            page.line(Line::from(vec![
                page.span(Tone::Quiet, name),
                page.span(Tone::Text, format!("“{query}”")),
            ]));
        }
        TraceRow::Missing(says) => {
            let says = format!("{LOST} {says}");
            page.text(Tone::Warning, "   ", &says);
        }
        TraceRow::Chunk(location) => {
            let location = format!("   {location}");
            let shown = text::clip(&location, cells.saturating_sub(1)).into_owned();
            page.line(page.span(Tone::Strong, shown));
        }
        TraceRow::Fact {
            name,
            text: fact,
            is_loss,
        } => {
            let tone = if is_loss { Tone::Warning } else { Tone::Text };
            let sign = if is_loss { LOST } else { " " };
            let fact = text::clip(&fact, cells.saturating_sub(20)).into_owned();
            page.line(Line::from(vec![
                page.span(tone, format!("   {sign} ")),
                page.span(Tone::Quiet, text::left(name, 12)),
                page.span(tone, fact),
            ]));
        }
    }
}
