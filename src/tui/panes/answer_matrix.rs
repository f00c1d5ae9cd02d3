//! The answers of a measured context, and how far they entail each other.

use ratatui::text::{Line, Span};

use crate::event::Understanding;
use crate::story::Round;
use crate::tui::text;
use crate::tui::view::{Page, Tone};

/// Cells before the location of a chunk: selection, then its label or whether it is new.
pub(super) const GUTTER: usize = 8;

/// Cells of a reply that has the numbers of its judgement beside it, at least.
const MIN_REPLY: usize = 8;

/// The rows per answer in a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// One row per answer.
    Clipped,
    /// The whole answer.
    Whole,
}

/// The matrix of entailments between the answers as a heat map, each row with its answer (DENSE,
/// W).
pub(super) fn matrix(
    page: &Page<'_>,
    round: &Round,
    measured: &Understanding,
    answers: Answers,
) -> Vec<Line<'static>> {
    let before = GUTTER + 2 * measured.replies.len() + 1;
    let room = page.cells.saturating_sub(before + 1).max(8);

    let mut lines = Vec::new();
    for (at, reply) in measured.replies.iter().enumerate() {
        let entailed = measured.matrix.get(at).map_or(&[][..], Vec::as_slice);
        let map: String = entailed.iter().map(|link| heat(*link)).collect();
        let name = text::left(&reply_name(round, at), GUTTER - 2);
        let mut start = vec![
            Span::raw("  "),
            page.span(Tone::Quiet, name),
            page.span(Tone::Bar, map),
            Span::raw(" "),
        ];

        let tone = if at == 0 { Tone::Strong } else { Tone::Text };
        let reply = shown_reply(reply);
        let rows = match answers {
            Answers::Whole => text::first_rows(reply, room, usize::MAX),
            Answers::Clipped => vec![text::clip(reply, room)],
        };
        for row in rows {
            start.push(page.span(tone, row));
            let next = vec![Span::raw(" ".repeat(before))];
            lines.push(Line::from(std::mem::replace(&mut start, next)));
        }
    }

    let key = "██ the same  ▒▒ one entails the other  ·· neither";
    let key = text::rows(key, page.cells.saturating_sub(3));
    lines.extend(key.map(|row| Line::from(page.span(Tone::Quiet, format!("  {row}")))));
    lines
}

/// The label of the chunk that was rephrased for a reply.
fn reply_name(round: &Round, reply: usize) -> String {
    let mut chunks = round.chunks.iter();
    let varied = chunks.find(|chunk| chunk.reply.is_some_and(|at| at as usize == reply));
    varied.map_or_else(|| "orig.".to_owned(), |chunk| format!("[{}]", chunk.label))
}

fn heat(link: f32) -> &'static str {
    match link {
        link if link >= 1.0 => "██",
        link if link > 0.0 => "▒▒",
        _ => "· ",
    }
}

/// The judge's probabilities for each pair of distinct answers.
pub(super) fn judgements(page: &Page<'_>, measured: &Understanding) -> Vec<Line<'static>> {
    let reply = |at: u32| {
        let reply = measured.replies.get(at as usize);
        reply.map_or("", |reply| shown_reply(reply))
    };

    let lines = measured.judgements.iter().flat_map(|judged| {
        let numbers = format!(
            "  entails {:.2} neutral {:.2} contradicts {:.2}",
            judged.entailment, judged.neutral, judged.contradiction
        );
        let beside = page.cells.saturating_sub(text::width(&numbers) + 7) / 2;
        let is_wide = beside >= MIN_REPLY;
        let room = if is_wide {
            beside
        } else {
            page.cells.saturating_sub(7) / 2
        };
        let premise = text::clip(reply(judged.a), room);
        let hypothesis = text::clip(reply(judged.b), room);
        let replies = page.span(Tone::Text, format!("  {premise} → {hypothesis}"));
        let numbers = page.span(Tone::Quiet, text::clip(&numbers, page.cells));
        if is_wide {
            vec![Line::from(vec![replies, numbers])]
        } else {
            vec![Line::from(replies), Line::from(numbers)]
        }
    });
    lines.collect()
}

/// Returns a reply as it is shown.
pub(super) fn shown_reply(reply: &str) -> &str {
    match reply.trim() {
        "" => "(nothing)",
        reply => reply,
    }
}
