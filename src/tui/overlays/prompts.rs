//! The prompt inspector.

use ratatui::text::{Line, Span};

use crate::config::AnswerPrompt;
use crate::story::{Call, Run};
use crate::tui::text;
use crate::tui::view::{Copied, Item, Page, Scene, Scroll, Size, Tone, View};

/// The exact text of every model call of the run.
pub struct Prompts;

impl View for Prompts {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Prompts of this run".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let calls = scene.run.map_or(&[][..], |run| &run.calls);

        if calls.is_empty() {
            page.remark(&no_calls_words(scene.run));
        }

        for (row, call) in calls.iter().enumerate() {
            if row > 0 {
                page.gap();
            }
            page.item(Item::new(row, 0), head_row(page, row, call));
            page.clip(Tone::Quiet, &format!("  {}", usage_words(call)));
            prompt_rows(page, call);
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(130, 90)
    }

    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let row = scroll.selected.unwrap_or_default().row;
        let call = scene.run?.calls.get(row)?;
        let name = format!("the prompt of call {}", row + 1);
        Some(Copied::new(name, &call.prompt))
    }
}

/// Returns why a run has no call of a model.
fn no_calls_words(run: Option<&Run>) -> String {
    let shown = "Every call of a run appears here with the exact text that the model read.";
    let quotes = run.filter(|run| run.settings.answer.prompt == AnswerPrompt::Quotes);
    let state = match quotes {
        Some(run) if run.outcome.is_some() => "No model was called: quotations need none.",
        _ => "No model has been called yet.",
    };
    format!("{state} {shown}")
}

fn head_row(page: &Page<'_>, row: usize, call: &Call) -> Line<'static> {
    let title = format!("  call {}  {}", row + 1, call.purpose);
    let role = call.role.name().replace('_', " ");
    let tokens = text::quantity(call.prompt_tokens.into(), "token");

    let mut about = format!("  {role}  {tokens}");
    if call.branches > 1 {
        about.push_str(&format!("  sampled {} times", call.branches));
    }
    if let Some(mass) = call.label_mass {
        about.push_str(&format!("  labels {:.0} % of its reply", mass * 100.0));
    }

    Line::from(vec![
        page.span(Tone::Strong, title),
        page.span(Tone::Quiet, about),
    ])
}

/// Returns the cost of a call, on its own or together with its batch.
fn usage_words(call: &Call) -> String {
    let Some(usage) = call.usage else {
        return match call.batch {
            Some((first, _)) => format!("evaluated together with call {}", first + 1),
            None => "in progress …".to_owned(),
        };
    };

    let together = match call.batch {
        Some((_, calls)) if calls > 1 => format!("these {calls} calls together: "),
        Some(_) | None => String::new(),
    };
    format!(
        "{together}evaluated {}, reused {}, generated {}, {}, context {} of {}",
        text::count(usage.prompt_tokens_evaluated.into()),
        text::count(usage.prompt_tokens_reused.into()),
        text::count(usage.tokens_generated.into()),
        text::duration(usage.wall_us / 1_000),
        text::count(usage.context_used.into()),
        text::count(usage.context_tokens.into()),
    )
}

/// Draws the text of a call; the given beginning of the reply stands apart at its end.
fn prompt_rows(page: &mut Page<'_>, call: &Call) {
    let asked = call.prompt.len().saturating_sub(call.reply_bytes as usize);
    let parts = call.prompt.split_at_checked(asked);
    let (prompt, reply) = parts.unwrap_or((&call.prompt, ""));
    text_rows(page, prompt, Tone::Text);
    if !reply.is_empty() {
        page.clip(Tone::Quiet, "  the reply is begun with:");
        text_rows(page, reply, Tone::Strong);
    }
}

fn text_rows(page: &mut Page<'_>, of: &str, tone: Tone) {
    let shown = text::many_lines(of);
    let room = page.cells.saturating_sub(4);
    for row in text::rows(shown.trim_end_matches('\n'), room) {
        page.line(vec![
            Span::raw("  "),
            page.span(Tone::Border, "│ "),
            page.span(tone, row),
        ]);
    }
}
