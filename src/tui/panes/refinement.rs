//! The refinement pane: each round with its dense semantic entropy (DSE), its chunks, and what
//! changed after it.

use ratatui::text::{Line, Span};

use crate::config::{RefinerKind, UnderstandingKind};
use crate::event::{
    AddedChunk, ChunkClass, ClassifiedChunk, ContextOrigin, Outcome, Part, RefinementEnd,
    Understanding, Unmeasured, VariantFault, VariedChunk,
};
use crate::story::{Change, Evaluated, Round, Run, words};
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Item, Scroll};

use super::{absence, answer};

/// Cells of a reply that has the numbers of its judgement beside it, at least.
const MIN_REPLY: usize = 8;

/// Cells before the location of a chunk: selection, then its label or whether it is new.
const GUTTER: usize = 8;
/// Cells of the class of a chunk, or of the reason why it was added.
const CLASS: usize = 13;
/// Words of a measured answer up to which another wording of it is another answer.
const MAX_SHORT_WORDS: usize = 4;

/// Context refinement, round by round.
pub struct Refinement;

impl View for Refinement {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.run.filter(|run| !run.refinement.rounds.is_empty()) else {
            page.remark(&nothing_measured(scene));
            if scene.run.is_some_and(|run| can_be_measured(scene, run)) {
                page.gap();
                let what = "It asks again: each chunk is rephrased, and an answer that changes shows that the model did not \
                            understand it.";
                page.text(Tone::Quiet, "   ", what);
            }
            return;
        };

        for (row, round) in run.refinement.rounds.iter().enumerate() {
            let is_rechunked = round
                .measured
                .as_ref()
                .is_ok_and(|measured| measured.origin == ContextOrigin::Rechunked);
            if is_rechunked {
                rechunked_rows(page, run);
            }
            RoundRows { run, row, round }.write(page);
        }
        end_rows(page, run);

        let is_selected = scene.ui.scroll(Pane::Refinement).selected.is_some();
        if !is_selected && let Some((round, understanding)) = shown_round(run) {
            other_answer_row(page, run, understanding);
            page.gap();
            page.line(page.span(Tone::Quiet, format!(" answers of round {}", round.round)));
            for line in matrix(page, round, understanding, Answers::Clipped) {
                page.line(line);
            }
        }
    }

    fn absence(&self, scene: &Scene<'_>) -> Option<String> {
        let Some(run) = scene.run else {
            return Some("how the chunks were tested and replaced, round by round".to_owned());
        };
        if !run.refinement.rounds.is_empty() {
            return None;
        }
        let is_off = run.settings.understanding.kind == UnderstandingKind::Off;
        if is_off && can_be_measured(scene, run) {
            let off = absence::off(scene, run, "understanding");
            let keys = scene.keys_from_here(Action::MeasureContext);
            Some(format!("{off} · {keys} measures this context"))
        } else if is_off {
            Some(absence::off(scene, run, "understanding"))
        } else {
            let is_over = !scene.ui.is_in_progress(run);
            let reason = is_over.then(|| absence::skip_reason(run, Part::Understanding))?;
            Some(match run.outcome {
                Some(Outcome::Stopped) => {
                    let keys = scene.keys_from_here(Action::MeasureContext);
                    format!("{reason} · {keys} measures again")
                }
                Some(_) | None => reason,
            })
        }
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let rounds = scene.settled_run().map(|run| &run.refinement.rounds);
        let entropies: Vec<String> = rounds
            .into_iter()
            .flatten()
            .filter_map(|round| round.measured.as_ref().ok())
            .map(|measured| format!("{:.2}", measured.dse))
            .collect();
        if entropies.is_empty() {
            return String::new();
        }
        let part = scene.run.and_then(|run| run.refinement.part_words());
        let part = part.map_or_else(String::new, |part| format!(", {part}"));
        format!("rewording {}{part}", entropies.join(" → "))
    }

    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        copy(scene, scroll)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        if action != Action::OpenSource {
            return None;
        }
        let chunk = scroll.selected.filter(|item| item.part > 0);

        let passage = match chunk {
            Some(item) => {
                let run = scene.run?;
                let chunk = run.refinement.chunk(item.row, item.part)?;
                Passage::from_hit(run.hit(chunk)?)
            }
            None => answer::cited_passage(scene)?,
        };

        Some(Request::OpenSource(passage))
    }
}

/// The rephrasing of a selected chunk where it has one, else its text; the answers of a selected
/// round.
fn copy(scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
    let run = scene.run?;
    let item = scroll.selected?;
    let round = run.refinement.rounds.get(item.row)?;
    let Some(at) = item.part.checked_sub(1) else {
        let answers = &round.measured.as_ref().ok()?.replies;
        return Some(Copied::new("the answers", answers.join("\n")));
    };

    let rephrasing = round
        .chunks
        .get(at)
        .and_then(|chunk| chunk.rephrasing.clone());
    if let Some(rephrasing) = rephrasing {
        return Some(Copied::new("the rephrasing", rephrasing));
    }
    let chunk = run.refinement.chunk(item.row, item.part)?;
    Some(Copied::new("the chunk", chunk_text(run, chunk)))
}

fn nothing_measured(scene: &Scene<'_>) -> String {
    let Some(run) = scene.run else {
        return "A refiner repairs the context in rounds: it rephrases each chunk, drops and adds chunks depending on whether the answer \
                changes, and keeps the context that the model understands best."
            .to_owned();
    };
    let absence = Refinement.absence(scene);
    absence.unwrap_or_else(|| format!("{} …", run.activity()))
}

/// Returns whether the context of a run can be measured that did not measure it.
fn can_be_measured(scene: &Scene<'_>, run: &Run) -> bool {
    let is_off = run.settings.understanding.kind == UnderstandingKind::Off;
    let is_settled = scene.ui.work.pending.is_none() && run.outcome.is_some();
    is_off && is_settled && !run.context_hits().is_empty()
}

/// Says where the answer that was measured is not the one that the user reads: the measure asks for
/// a short one, in a prompt of its own.
fn other_answer_row(page: &mut Page<'_>, run: &Run, measured: &Understanding) {
    let written = run.answer_text().text.to_lowercase();
    let reply = measured.replies.first().map_or("", |reply| reply.trim());
    let short = reply.trim_end_matches('.').to_lowercase();
    let is_short = (1..=MAX_SHORT_WORDS).contains(&short.split_whitespace().count());
    if run.outcome.is_none() || written.is_empty() || !is_short || written.contains(&short) {
        return;
    }

    let words = format!("measured with \"{reply}\", which is not in the answer");
    page.text(Tone::Warning, " ", &words);
}

/// The best round; while refinement is in progress, the last one.
fn shown_round(run: &Run) -> Option<(&Round, &Understanding)> {
    let best = run.refinement.finished.map(|(best, _)| best);
    let measured = || {
        run.refinement
            .rounds
            .iter()
            .rev()
            .filter_map(|round| Some((round, round.measured.as_ref().ok()?)))
    };
    measured()
        .find(|(round, _)| Some(round.round) == best)
        .or_else(|| measured().next())
}

/// The documents that were re-chunked for the question, and those that could not be.
fn rechunked_rows(page: &mut Page<'_>, run: &Run) {
    let mut documents = 0;
    let mut chunks = 0;
    let mut sentences = 0;
    let rechunked = &run.refinement.rechunked;
    for document in rechunked.iter().filter(|document| document.error.is_none()) {
        documents += 1;
        chunks += u64::from(document.chunks);
        sentences += u64::from(document.sentences);
    }
    let words = format!(
        "✂ {} re-chunked by meaning: {}, {}",
        text::quantity(documents, "document"),
        text::quantity(sentences, "sentence"),
        text::quantity(chunks, "chunk")
    );
    page.text(Tone::Quiet, " ", &words);

    for document in rechunked {
        if let Some(error) = &document.error {
            let words = format!("{}: {error}", document.document);
            page.text(Tone::Warning, "   ", &words);
        }
    }
}

/// The rows of a round: its measurement, its chunks and those that it adds.
struct RoundRows<'a> {
    run: &'a Run,
    row: usize,
    round: &'a Round,
}

impl RoundRows<'_> {
    fn write(&self, page: &mut Page<'_>) {
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
                write_detail(
                    page,
                    item,
                    "",
                    Tone::Text,
                    chunk_text(self.run, added.chunk),
                );
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
            let is_dropped = change.dropped.contains(&chunk.chunk);
            let (name, tone) = if is_dropped {
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
        let beside = self
            .round
            .chunks
            .iter()
            .find(|chunk| chunk.chunk == added.similar_to);
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
        write_detail(
            page,
            item,
            "",
            Tone::Text,
            chunk_text(self.run, chunk.chunk),
        );
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
        let reply = chunk
            .reply
            .and_then(|reply| measured.replies.get(reply as usize));
        let Some(reply) = reply else { return };

        let tone = match chunk.certain {
            Some(true) => Tone::Text,
            Some(false) | None => Tone::Warning,
        };
        let reply = shown_reply(reply);
        write_detail(page, item, "with the rephrasing  ", tone, reply);
        let original = measured.replies.first();
        let original = original.map_or("", |reply| shown_reply(reply));
        write_detail(page, item, "original answer  ", Tone::Quiet, original);
    }
}

/// Writes words below a selected row, behind a quiet name.
fn write_detail(page: &mut Page<'_>, item: Item, name: &str, tone: Tone, words: &str) {
    let whole = format!("{name}{}", words.trim());
    for range in text::wrap(&whole, page.cells.saturating_sub(GUTTER + 1)) {
        let split = name.len().clamp(range.start, range.end);
        page.item(
            item,
            Line::from(vec![
                Span::raw(" ".repeat(GUTTER)),
                page.span(Tone::Quiet, &whole[range.start..split]),
                page.span(tone, &whole[split..range.end]),
            ]),
        );
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
    let Evaluated {
        sufficient,
        probability,
        answered,
    } = evaluated;

    let tone = if sufficient {
        Tone::Text
    } else {
        Tone::Warning
    };

    let judgement = match probability {
        _ if sufficient => "✓ the model judges the context sufficient",
        Some(_) => "✗ the model judges the context insufficient",
        None => "✗ too long to ask whether it is sufficient",
    };

    let probability = probability.map_or(String::new(), |yes| format!("  {yes:.2}"));
    page.item_text(head, tone, "   ", &format!("{judgement}{probability}"));

    if !answered {
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

fn shown_reply(reply: &str) -> &str {
    if reply.trim().is_empty() {
        "(nothing)"
    } else {
        reply.trim()
    }
}

/// The rows per answer in a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// One row per answer.
    Clipped,
    /// The whole answer.
    Whole,
}

/// The matrix of entailments between the answers as a heat map, each row with its answer (DENSE,
/// W).
fn matrix(
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
        let rows: Vec<String> = match answers {
            Answers::Whole => text::wrap(reply, room)
                .into_iter()
                .map(|range| reply[range].to_owned())
                .collect(),
            Answers::Clipped => vec![text::clip(reply, room).into_owned()],
        };
        for row in rows {
            start.push(page.span(tone, row));
            let next = vec![Span::raw(" ".repeat(before))];
            lines.push(Line::from(std::mem::replace(&mut start, next)));
        }
    }

    let key = "██ the same  ▒▒ one entails the other  ·· neither";
    for range in text::wrap(key, page.cells.saturating_sub(3)) {
        lines.push(Line::from(
            page.span(Tone::Quiet, format!("  {}", &key[range])),
        ));
    }
    lines
}

/// The label of the chunk that was rephrased for a reply.
fn reply_name(round: &Round, reply: usize) -> String {
    round
        .chunks
        .iter()
        .find(|chunk| chunk.reply.is_some_and(|known| known as usize == reply))
        .map_or_else(|| "orig.".to_owned(), |chunk| format!("[{}]", chunk.label))
}

fn heat(link: f32) -> &'static str {
    match link {
        link if link >= 1.0 => "██",
        link if link > 0.0 => "▒▒",
        _ => "· ",
    }
}

/// The judge's probabilities for each pair of distinct answers.
fn judgements(page: &Page<'_>, measured: &Understanding) -> Vec<Line<'static>> {
    let reply = |at: u32| {
        measured
            .replies
            .get(at as usize)
            .map_or("", |reply| shown_reply(reply))
    };
    measured
        .judgements
        .iter()
        .flat_map(|judged| {
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
            if is_wide {
                return vec![Line::from(vec![replies, page.span(Tone::Quiet, numbers)])];
            }
            let numbers = text::clip(&numbers, page.cells).into_owned();
            vec![
                Line::from(replies),
                Line::from(page.span(Tone::Quiet, numbers)),
            ]
        })
        .collect()
}

fn end_rows(page: &mut Page<'_>, run: &Run) {
    let is_uncertain = run.refinement.rounds.last().is_some_and(|round| {
        round
            .measured
            .as_ref()
            .is_ok_and(|measured| !measured.certain)
    });

    let words = match run.refinement.finished {
        Some((best, end)) => format!(
            "The answer is written from round {best}: {}.",
            end_words(end)
        ),
        None if run.refinement.partial.is_some() => {
            let part = run.refinement.part_words().unwrap_or_default();
            let again = page.scene.keys_from_here(Action::MeasureContext);
            format!("Stopped after {part}: a part of the measurement; {again} measures again.")
        }
        None if !page.scene.ui.is_in_progress(run) && is_uncertain => {
            let reason = match run.settings.refiner.kind {
                RefinerKind::Off => absence::off(page.scene, run, "refiner"),
                RefinerKind::Dense => absence::skip_reason(run, Part::Refiner),
            };
            format!("Not repaired: {reason}.")
        }
        None => return,
    };

    page.gap();
    page.text(Tone::Quiet, " ", &words);
}

fn end_words(end: RefinementEnd) -> &'static str {
    match end {
        RefinementEnd::Sufficient => "it passed the sufficiency check",
        RefinementEnd::RoundLimit => "the best of all rounds that the settings allow",
        RefinementEnd::Unchanged => "no chunk was left to drop or add",
        RefinementEnd::Unmeasured => "the next context could not be measured",
    }
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

fn chunk_text(run: &Run, chunk: u64) -> &str {
    run.hit(chunk).map_or("", |hit| hit.chunk.text.as_str())
}
