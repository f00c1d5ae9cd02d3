use ratatui::text::{Line, Span};

use crate::tui::state::Call;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// The exact text of every model call of the run.
pub struct Prompts;

impl View for Prompts {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Prompts of this run".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(130, 90)
    }

    fn copied(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let row = scroll.selected.unwrap_or_default().row;
        let call = scene.run?.calls.get(row)?;
        Some(Copied::new(
            format!("the prompt of call {}", row + 1),
            &call.prompt,
        ))
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let calls = scene.run.map_or(&[][..], |run| &run.calls);
    if calls.is_empty() {
        content.gap();
        let says = "No model has been called yet. Every call of a run appears here with the exact text that the model read.";
        content.paragraph(says, scene.style(Tone::Quiet), "   ", cells);
    }
    for (row, call) in calls.iter().enumerate() {
        if row > 0 {
            content.gap();
        }
        call_rows(scene, row, call, cells, &mut content);
    }
    content
}

fn call_rows(scene: &Scene<'_>, row: usize, call: &Call, cells: usize, content: &mut Content) {
    let item = Item { row, part: 0 };
    let title = format!("  call {}  {}", row + 1, call.purpose);
    let mut role = format!(
        "  {}  {}",
        call.role.name().replace('_', " "),
        text::counted(call.prompt_tokens.into(), "token")
    );
    if call.branches > 1 {
        role.push_str(&format!("  sampled {} times", call.branches));
    }
    content.item(
        item,
        Line::from(vec![
            scene.span(Tone::Strong, title),
            scene.span(Tone::Quiet, role),
        ]),
    );
    let (first, calls) = call.batch.unwrap_or((call.call, 1));
    let pending = match call.batch {
        Some(_) => format!("  evaluated together with call {}", first + 1),
        None => "  in progress …".to_owned(),
    };
    let together = if calls > 1 {
        format!("these {calls} calls together: ")
    } else {
        String::new()
    };
    let usage = call.usage.map_or(pending, |usage| {
        format!(
            "  {together}evaluated {}, reused {}, generated {}, {}, context {} of {}",
            text::count(usage.prompt_tokens_evaluated.into()),
            text::count(usage.prompt_tokens_reused.into()),
            text::count(usage.tokens_generated.into()),
            text::duration(usage.wall_us / 1_000),
            text::count(usage.context_used.into()),
            text::count(usage.context_tokens.into()),
        )
    });
    content.line(scene.span(Tone::Quiet, text::clip(&usage, cells).into_owned()));
    let prompt = text::many_lines(&call.prompt);
    for range in text::wrap(prompt.trim_end_matches('\n'), cells.saturating_sub(4)) {
        let text = scene.span(Tone::Text, prompt[range].to_owned());
        content.line(Line::from(vec![
            Span::raw("  "),
            scene.span(Tone::Border, "│ "),
            text,
        ]));
    }
}
