use ratatui::text::Line;

use crate::event::{Event, Operation, SessionEvent};
use crate::story::words::LOST;
use crate::story::{self, TraceRow};
use crate::tui::keys::Action;
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Reaction, Scene, View};
use crate::tui::viewport::{Content, Scroll};

/// The chunks that contain a phrase: their rank in each list, and the result of each stage.
pub struct PassageTrace;

impl View for PassageTrace {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Trace a passage".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
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

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let (Some(run), Some(traced)) = (scene.run, &scene.state.traced) else {
        content.gap();
        let words = if scene.ui.work.live.is_some() {
            let stop = scene.keymap.sign(Action::Back);
            format!("Waiting for the answer: {stop} closes this, and once more stops the answer.")
        } else {
            format!("Searching …{}", scene.elapsed_words())
        };
        content.paragraph(&words, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };

    let phrase = text::clip(&traced.phrase, cells.saturating_sub(6)).into_owned();
    content.line(scene.span(Tone::Strong, format!(" “{phrase}”")));
    for row in story::PassageTrace::new(run, &traced.phrase, &traced.lookups).rows() {
        trace_row(scene, row, cells, &mut content);
    }
    content
}

fn trace_row(scene: &Scene<'_>, row: TraceRow, cells: usize, content: &mut Content) {
    match row {
        TraceRow::Query { step, text: query } => {
            let name = match step {
                0 => " query ".to_owned(),
                step => format!(" s{step} "),
            };
            let query = text::clip(&query, cells.saturating_sub(12));
            content.gap();
            content.line(Line::from(vec![
                scene.span(Tone::Quiet, name),
                scene.span(Tone::Text, format!("“{query}”")),
            ]));
        }
        TraceRow::Missing(says) => {
            let says = format!("{LOST} {says}");
            content.paragraph(&says, scene.style(Tone::Warning), "   ", cells);
        }
        TraceRow::Chunk(location) => {
            let location = format!("   {location}");
            let shown = text::clip(&location, cells.saturating_sub(1)).into_owned();
            content.line(scene.span(Tone::Strong, shown));
        }
        TraceRow::Fact {
            name,
            text: fact,
            is_loss,
        } => {
            let tone = if is_loss { Tone::Warning } else { Tone::Text };
            let sign = if is_loss { LOST } else { " " };
            let fact = text::clip(&fact, cells.saturating_sub(20)).into_owned();
            content.line(Line::from(vec![
                scene.span(tone, format!("   {sign} ")),
                scene.span(Tone::Quiet, text::left(name, 12)),
                scene.span(tone, fact),
            ]));
        }
    }
}
