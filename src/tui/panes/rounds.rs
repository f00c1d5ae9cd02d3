//! The rows of a round of refinement.

use ratatui::text::{Line, Span};

use crate::event::{
    AddedChunk, ChunkClass, ClassifiedChunk, ContextOrigin, Understanding, Unmeasured,
    VariantFault, VariedChunk,
};
use crate::story::{Change, Evaluated, Round, Run, words};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Item, Page, Tone};

use super::answer_matrix::{Answers, GUTTER, judgements, matrix, shown_reply};

/// Cells of the class of a chunk, or of the reason why it was added.
const CLASS: usize = 13;

/// The rows of a round: its measurement, its chunks and those that it adds.
pub(super) struct RoundRows<'a> {
    pub run: &'a Run,
    pub row: usize,
    pub round: &'a Round,
}

impl RoundRows<'_> {
    /// Writes its rows.
    pub fn write(&self, page: &mut Page<'_>) {
        let head = self.item(0);
        let selected = page.scene.ui.scroll(Pane::Refinement).selected;
        match &self.round.measured {
            Ok(understanding) => page.item(head, self.head_row(page, understanding)),
            Err(reason) => {
                let number = self.round.round;
                let words = format!("round {number}  not measured: {}", reason_words(*reason));
                page.item_text(head, Tone::Warning, " ", &words);
            }
        }
        if let Some(evaluated) = self.round.evaluated {
            evaluated_rows(page, head, evaluated);
        }
        if selected == Some(head) {
            self.head_details(page);
        }

        for (at, chunk) in self.round.chunks.iter().enumerate() {
            let item = self.item(at + 1);
            for line in self.chunk_rows(page, chunk) {
                page.item(item, line);
            }
            if selected == Some(item) {
                self.chunk_details(page, item, chunk);
            }
        }
        let added = self.round.change.iter().flat_map(|change| &change.added);
        for (at, added) in added.enumerate() {
            let item = self.item(self.round.chunks.len() + at + 1);
            for line in self.added_rows(page, added) {
                page.item(item, line);
            }
            if selected == Some(item) {
                let words = chunk_text(self.run, added.chunk);
                write_detail(page, item, "", Tone::Text, words);
            }
        }
    }

    /// The round itself (0) or a part of it.
    fn item(&self, part: usize) -> Item {
        Item::new(self.row, part)
    }

    fn head_row(&self, page: &Page<'_>, measured: &Understanding) -> Line<'static> {
        let finished = self.run.refinement.finished;
        let is_best = finished.is_some_and(|(best, _)| best == self.round.round);
        let is_wide = page.cells >= 60;
        let star = if is_best && !is_wide { "★" } else { " " };
        let number = format!(" round {}{star} ", self.round.round);
        let mut line = Line::from(page.span(Tone::Strong, number));
        if is_wide {
            // the entropy of answers that all differ
            let highest = (measured.replies.len().max(2) as f32).ln();
            line.spans
                .extend(page.scene.bar(measured.dse / highest, 10));
            line.push_span(Span::raw("  "));
        }

        let entropy = if page.cells >= 44 {
            let sign = if measured.certain { '≤' } else { '>' };
            format!("{:.2} {sign} {:.2}  ", measured.dse, measured.threshold)
        } else {
            format!("{:.2}  ", measured.dse)
        };
        line.push_span(page.span(Tone::Text, entropy));
        line.push_span(if measured.certain {
            page.span(Tone::Text, "same if reworded")
        } else {
            page.span(Tone::Warning, "changes if reworded")
        });

        if is_best && is_wide {
            line.push_span(page.span(Tone::Strong, "  ★ best"));
        }
        if line.width() + 12 <= page.cells {
            line.push_span(page.span(Tone::Quiet, format!("  {}", origin(measured.origin))));
        }
        line
    }

    /// Writes the rows below a selected round: its answers, their entailments, the change of its
    /// context.
    fn head_details(&self, page: &mut Page<'_>) {
        let Ok(understanding) = &self.round.measured else {
            return;
        };

        let head = self.item(0);
        for line in matrix(page, self.round, understanding, Answers::Whole) {
            page.item(head, line);
        }

        for line in judgements(page, understanding) {
            page.item(head, line);
        }

        if let Some(change) = &self.round.change {
            self.difference(page, change);
        }
    }

    /// Writes the change of the context for the next round: chunks kept, dropped and added.
    fn difference(&self, page: &mut Page<'_>, change: &Change) {
        let head = self.item(0);
        page.item(head, page.span(Tone::Quiet, "  changes to the context"));

        for chunk in &self.round.chunks {
            let (name, tone) = if change.dropped.contains(&chunk.chunk) {
                ("- ", Tone::Dropped)
            } else {
                ("  ", Tone::Text)
            };
            write_detail(page, head, name, tone, chunk_text(self.run, chunk.chunk));
        }

        for added in &change.added {
            let words = chunk_text(self.run, added.chunk);
            write_detail(page, head, "+ ", Tone::Text, words);
        }
    }

    fn chunk_rows(&self, page: &Page<'_>, chunk: &VariedChunk) -> Vec<Line<'static>> {
        let change = self.round.change.as_ref();
        let is_dropped = change.is_some_and(|change| change.dropped.contains(&chunk.chunk));
        let (sign, tone) = if is_dropped {
            (page.span(Tone::Warning, "-"), Tone::Dropped)
        } else {
            (Span::raw(" "), Tone::Text)
        };
        let label = text::left(&format!("[{}]", chunk.label), GUTTER - 3);

        let name = vec![
            Span::raw(" "),
            sign,
            Span::raw(" "),
            page.span(Tone::Citation, label),
            page.span(tone, location_column(page, self.run, chunk.chunk)),
        ];
        with_class(page, self.run, name, self.class_span(page, chunk))
    }

    /// Returns the class of a chunk in this round, else whether the answer depends on its wording.
    fn class_span(&self, page: &Page<'_>, chunk: &VariedChunk) -> Span<'static> {
        let class = self.class(chunk.chunk).map(|known| known.class);
        match (class, chunk.certain) {
            (Some(ChunkClass::Certain), _) | (None, Some(true)) => {
                page.span(Tone::Text, "same answer")
            }
            (Some(ChunkClass::Necessary), _) => page.span(Tone::Strong, "necessary"),
            (Some(ChunkClass::Unnecessary), _) => page.span(Tone::Dropped, "unnecessary"),
            (Some(ChunkClass::Unmeasured), _) | (None, None) => {
                page.span(Tone::Quiet, "not rephrased")
            }
            (None, Some(false)) => page.span(Tone::Warning, "other answer"),
        }
    }

    fn class(&self, chunk: u64) -> Option<&ClassifiedChunk> {
        self.round.classes.iter().find(|known| known.chunk == chunk)
    }

    fn added_rows(&self, page: &Page<'_>, added: &AddedChunk) -> Vec<Line<'static>> {
        let mut chunks = self.round.chunks.iter();
        let beside = chunks.find(|chunk| chunk.chunk == added.similar_to);
        let label = beside.map_or(0, |chunk| chunk.label);
        let reason = format!("like [{label}] {}", words::score(added.similarity, 2));

        let name = vec![
            Span::raw(" "),
            page.span(Tone::Strong, text::left("+ new", GUTTER - 1)),
            page.span(Tone::Text, location_column(page, self.run, added.chunk)),
        ];
        with_class(page, self.run, name, page.span(Tone::Quiet, reason))
    }

    /// Writes the rows below a selected chunk: its text, its rephrasing, the answers with and
    /// without it.
    fn chunk_details(&self, page: &mut Page<'_>, item: Item, chunk: &VariedChunk) {
        let words = chunk_text(self.run, chunk.chunk);
        write_detail(page, item, "", Tone::Text, words);
        self.rephrasing_details(page, item, chunk);
        self.reply_details(page, item, chunk);

        if let Some(known) = self.class(chunk.chunk)
            && let Some(without) = &known.without
        {
            let words = shown_reply(without);
            write_detail(page, item, "answer without it  ", Tone::Text, words);
            let agreement = known.agreement.unwrap_or_default();
            let words = format!("agreement with the original answer: {agreement:.1} of 1");
            write_detail(page, item, "", Tone::Quiet, &words);
        }
    }

    fn rephrasing_details(&self, page: &mut Page<'_>, item: Item, chunk: &VariedChunk) {
        if let Some(rephrasing) = &chunk.rephrasing {
            write_detail(page, item, "rephrased  ", Tone::Text, rephrasing);
        } else if let Some(fault) = chunk.fault {
            let words = format!("{} (tried {} times)", no_variant(fault), chunk.attempts);
            write_detail(page, item, "", Tone::Warning, &words);
        }

        if let Some([forward, backward]) = chunk.entailed {
            let words =
                format!("entailed by the chunk {forward:.2}, entails the chunk {backward:.2}");
            write_detail(page, item, "", Tone::Quiet, &words);
        }
    }

    fn reply_details(&self, page: &mut Page<'_>, item: Item, chunk: &VariedChunk) {
        let Ok(measured) = &self.round.measured else {
            return;
        };
        let reply = |at: u32| {
            measured
                .replies
                .get(at as usize)
                .map(|reply| shown_reply(reply))
        };
        let Some(varied) = chunk.reply.and_then(reply) else {
            return;
        };

        let tone = match chunk.certain {
            Some(true) => Tone::Text,
            Some(false) | None => Tone::Warning,
        };
        write_detail(page, item, "with the rephrasing  ", tone, varied);
        let original = reply(0).unwrap_or_default();
        write_detail(page, item, "original answer  ", Tone::Quiet, original);
    }
}

/// Writes words below a selected row, behind a quiet name.
fn write_detail(page: &mut Page<'_>, item: Item, name: &str, tone: Tone, words: &str) {
    let whole = format!("{name}{}", words.trim());
    for range in text::wrap(&whole, page.cells.saturating_sub(GUTTER + 1)) {
        let split = name.len().clamp(range.start, range.end);
        let line = vec![
            Span::raw(" ".repeat(GUTTER)),
            page.span(Tone::Quiet, &whole[range.start..split]),
            page.span(tone, &whole[split..range.end]),
        ];
        page.item(item, line);
    }
}

fn origin(origin: ContextOrigin) -> &'static str {
    match origin {
        ContextOrigin::Retrieved => "as retrieved",
        ContextOrigin::Rechunked => "re-chunked",
        ContextOrigin::Refined => "repaired",
    }
}

fn evaluated_rows(page: &mut Page<'_>, head: Item, evaluated: Evaluated) {
    let (tone, judgement) = match evaluated.probability {
        _ if evaluated.sufficient => (Tone::Text, "✓ the model judges the context sufficient"),
        Some(_) => (Tone::Warning, "✗ the model judges the context insufficient"),
        None => (Tone::Warning, "✗ too long to ask whether it is sufficient"),
    };
    let probability = evaluated.probability;
    let probability = probability.map_or(String::new(), |yes| format!("  {yes:.2}"));
    page.item_text(head, tone, "   ", &format!("{judgement}{probability}"));
    if !evaluated.answered {
        let words = "✗ it finds no answer there: a context with one is preferred";
        page.item_text(head, Tone::Warning, "   ", words);
    }
}

/// Returns the row of a chunk with its class behind the name, or below it.
fn with_class(
    page: &Page<'_>,
    run: &Run,
    name: Vec<Span<'static>>,
    class: Span<'static>,
) -> Vec<Line<'static>> {
    let mut line = Line::from(name);
    if class_cells(page, run) == 0 {
        return vec![line, Line::from(vec![Span::raw(" ".repeat(GUTTER)), class])];
    }
    line.push_span(Span::raw(" "));
    line.push_span(class);
    vec![line]
}

/// Returns the cells of the classes behind the names of chunks; 0 where a name would be cut beside
/// its class, which stands below it then.
fn class_cells(page: &Page<'_>, run: &Run) -> usize {
    let room = page.cells.saturating_sub(GUTTER + CLASS + 1);
    let rounds = run.refinement.rounds.iter();
    let mut chunks = rounds.flat_map(|round| {
        let added = round.change.iter().flat_map(|change| &change.added);
        let own = round.chunks.iter().map(|chunk| chunk.chunk);
        own.chain(added.map(|added| added.chunk))
    });
    let is_cut = chunks.any(|chunk| {
        let location = location(run, chunk);
        text::width(text::file_name(&location)) > room
    });
    if is_cut { 0 } else { CLASS + 1 }
}

/// The location of a chunk, as wide as its column.
fn location_column(page: &Page<'_>, run: &Run, chunk: u64) -> String {
    let room = page.cells.saturating_sub(GUTTER + class_cells(page, run));
    text::left(&text::clip_middle(&location(run, chunk), room), room)
}

fn location(run: &Run, chunk: u64) -> String {
    let hit = run.hit(chunk);
    hit.map_or_else(|| "?".to_owned(), |hit| words::chunk_location(&hit.chunk))
}

fn reason_words(reason: Unmeasured) -> &'static str {
    match reason {
        Unmeasured::NoChunk => "the context contains no chunk",
        Unmeasured::NoVariant => {
            "no chunk could be rephrased (reasons below); try a larger model, or set understanding.check_rephrasings to off"
        }
        Unmeasured::TooLong => {
            "the prompt does not fit: raise generator.context_tokens, or set a smaller retriever.k"
        }
    }
}

fn no_variant(fault: VariantFault) -> &'static str {
    match fault {
        VariantFault::Empty => "not rephrased: the model wrote nothing",
        VariantFault::SameWords => "not rephrased: the model repeated the same words",
        VariantFault::OtherMeaning => "not rephrased: the judge found a different meaning",
        VariantFault::TooLong => "not rephrased: the prompt does not fit the context window",
    }
}

/// Returns the text of a chunk.
pub(super) fn chunk_text(run: &Run, chunk: u64) -> &str {
    run.hit(chunk).map_or("", |hit| hit.chunk.text.as_str())
}
