//! The links pane: the chunks that belong together by attention, and those that each sentence
//! attended to.

use std::collections::BTreeMap;

use ratatui::text::Line;

use crate::config::{AttributionKind, LinkerKind};
use crate::event::{ChunkText, DocumentLinks, LinkedChunk, Part};
use crate::story::{Lookup, Run, Step, words};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Action, Item, Page, Request, Scene, Scroll, Tone, View};

use super::{absence, answer};

/// Maximum number of chunks per sentence; weaker ones are noise.
const CHUNKS_SHOWN: usize = 4;
/// Cells of a link matrix beside its map: the lines of the chunk.
const GUTTER: usize = 12;

/// Minimum cells of a chunk's text beside its location.
const MIN_TEXT: usize = 20;
/// The indent of a sentence below its shares.
const SENTENCE_INDENT: &str = "      ";

/// Cells of a matrix of attention: the name of a sentence, and a share with its sign.
const SENTENCE: usize = 6;
const MATRIX_CELL: usize = 9;

/// The links between chunks, and the chunks that each sentence attended to.
pub struct Links;

impl View for Links {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let Some(run) = page.scene.run else {
            return page.remark(
                "A linker links chunks by attention: which chunks of a document depend on each other, and which chunks each sentence of an \
                 answer attends to.",
            );
        };

        if has_links(run) {
            linked_rows(page, run);
        }
        attention_rows(page, run);
        if let Some(absence) = self.absence(page.scene) {
            page.remark(&absence);
        }
    }

    fn absence(&self, scene: &Scene<'_>) -> Option<String> {
        let Some(run) = scene.run else {
            let words = "which chunks belong together, and what each sentence attended to";
            return Some(words.to_owned());
        };
        if has_links(run) || run.reads_attention() {
            return None;
        }

        let has_linker = run.settings.linker.kind != LinkerKind::Off;
        let reads_attention = run.settings.answer.attribution != AttributionKind::Off;
        let off = || format!("no links ({})", absence::off(scene, run, "linker"));
        if scene.ui.is_in_progress(run) && has_linker {
            return Some("nothing yet".to_owned());
        }
        if scene.ui.is_in_progress(run) && reads_attention {
            return Some(format!("nothing yet · {}", off()));
        }

        let linker = if has_linker {
            absence::skip_reason(run, Part::Linker)
        } else {
            off()
        };
        let keys = scene.keys_from_here(Action::ReadAttention);
        Some(if can_read_attention(run) {
            format!("{linker} · {keys} reads the attention of this answer")
        } else {
            linker
        })
    }

    fn act(&self, action: Action, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        let passage = answer::cited_passage(scene).filter(|_| action == Action::OpenSource)?;
        Some(Request::OpenSource(passage))
    }
}

fn has_links(run: &Run) -> bool {
    let mut lookups = run.lookups.iter();
    lookups.any(|lookup| !lookup.funnel.links.is_empty())
}

/// The chunk selected in Retrieval, else the best of the context, with the chunks that it is linked
/// with.
fn linked_rows(page: &mut Page<'_>, run: &Run) {
    let Some((lookup, chunk)) = shown_chunk(page.scene, run) else {
        return;
    };
    let Some((document, at)) = lookup.funnel.links_of(chunk) else {
        page.text(Tone::Quiet, " ", "The selected chunk has no known links.");
        page.gap();
        return;
    };

    let chosen = &document.chunks[at];
    let others = chosen.links.iter().filter_map(|link| {
        let at = (link.to as usize).checked_sub(document.first as usize)?;
        let weight = words::score(link.weight, 2);
        Some((format!("{weight:>7} "), document.chunks.get(at)?))
    });
    let chunks: Vec<(String, &LinkedChunk)> = std::iter::once((" ".to_owned(), chosen))
        .chain(others)
        .collect();
    let label_of = |chunk: &LinkedChunk| {
        let label = lookup.label(chunk.chunk);
        label.map_or_else(String::new, |label| format!("[{label}] "))
    };
    // the labels are a column of their own, beside the chosen chunk too
    let labels = chunks.iter().map(|(_, chunk)| label_of(chunk));
    let labels = labels.map(|label| text::width(&label)).max().unwrap_or(0);
    for (before, chunk) in &chunks {
        let label = text::left(&label_of(chunk), labels);
        linked_row(page, run, document, chunk, [before, &label]);
    }
    page.gap();
    if page.scene.ui.panes.zoomed {
        matrix_rows(page, document, at);
    }
}

/// The lookup and the chunk to show: the one selected in Retrieval, else the first chunk of the
/// context that has links.
fn shown_chunk<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<(&'a Lookup, u64)> {
    let selected = scene.ui.scroll(Pane::Retrieval).selected;
    if let Some(item) = selected.filter(|item| item.part > 0) {
        let lookup = run.lookups.get(item.row)?;
        let hit = lookup.hits().get(item.part - 1)?;
        return Some((lookup, first_part(&hit.chunk)));
    }

    let mut lookups = run.lookups.iter().rev();
    let lookup = lookups.find(|lookup| !lookup.funnel.links.is_empty())?;
    let used = lookup
        .hits()
        .iter()
        .filter(|hit| lookup.label(hit.chunk.id).is_some());
    let used = used
        .map(|hit| first_part(&hit.chunk))
        .find(|chunk| lookup.funnel.links_of(*chunk).is_some());
    let chunk = match used {
        Some(chunk) => chunk,
        None => lookup.funnel.links.first()?.chunks.first()?.chunk,
    };
    Some((lookup, chunk))
}

/// The first of the chunks that a text was merged from; the chunk itself when it was not merged.
fn first_part(chunk: &ChunkText) -> u64 {
    chunk.parts.first().map_or(chunk.id, |part| part.chunk)
}

/// Writes `[2] people.md:12  its text`; the text below the location where there is little room
/// beside it.
fn linked_row(
    page: &mut Page<'_>,
    run: &Run,
    document: &DocumentLinks,
    chunk: &LinkedChunk,
    [before, label]: [&str; 2],
) {
    let location = words::location(&document.document, chunk.lines, chunk.place.as_ref());

    let mut line = Line::from(page.span(Tone::Strong, before));
    line.push_span(page.span(Tone::Citation, label));
    let indent = line.width();
    let location = text::clip_start(&location, page.cells.saturating_sub(indent));
    line.push_span(page.span(Tone::Text, location));

    let words = text_of(run, chunk.chunk).unwrap_or_default();
    let beside = page.cells.saturating_sub(line.width() + 3);
    if beside >= MIN_TEXT {
        let words = text::clip(&words, beside);
        line.push_span(page.span(Tone::Quiet, format!("  {words}")));
        page.line(line);
    } else {
        page.line(line);
        page.clip(Tone::Quiet, &format!("{}{words}", " ".repeat(indent)));
    }
}

/// The text of a chunk, from a hit or from a merged text that holds it, in one line.
fn text_of(run: &Run, chunk: u64) -> Option<String> {
    let mut hits = run.lookups.iter().flat_map(Lookup::hits);
    let words = hits.find_map(|hit| text_within(&hit.chunk, chunk))?;
    Some(text::join(words.split_whitespace(), " "))
}

/// The text of a chunk within a text that may be merged of several.
fn text_within(whole: &ChunkText, chunk: u64) -> Option<&str> {
    match whole.parts.iter().find(|part| part.chunk == chunk) {
        Some(part) => {
            let [start, end] = part.text.map(|at| at as usize);
            whole.text.get(start..end)
        }
        None => (whole.id == chunk).then_some(whole.text.as_str()),
    }
}

/// The links of a document as a heat map: a row and a column per chunk; the chosen chunk is marked.
fn matrix_rows(page: &mut Page<'_>, document: &DocumentLinks, chosen: usize) {
    let room = (page.cells.saturating_sub(GUTTER + 2) / 2).max(1);
    let first = chosen
        .saturating_sub(room / 2)
        .min(document.chunks.len().saturating_sub(room));
    let shown = first..(first + room).min(document.chunks.len());
    let links = document.chunks[shown.clone()]
        .iter()
        .flat_map(|linked| &linked.links);
    let weights = links.map(|link| link.weight);
    let strongest = weights.fold(f32::MIN_POSITIVE, f32::max);

    let title = format!(
        " links of {}: chunks {} to {} of {}",
        text::clip_start(&document.document, page.cells / 2),
        document.first as usize + shown.start + 1,
        document.first as usize + shown.end,
        document.of
    );
    page.line(page.span(Tone::Strong, title));
    for row in shown.clone() {
        let linked = &document.chunks[row];
        let mark = if row == chosen { "▸" } else { " " };
        let lines = text::lines(linked.lines[0], linked.lines[1]);
        let lines = format!(" {mark}{} ", text::left(&lines, GUTTER - 3));
        let cell = |column: usize| match weight_to(document, linked, column) {
            _ if column == row => "╲╲",
            weight => heat(weight / strongest),
        };
        let cells: String = shown.clone().map(cell).collect();
        page.line(vec![
            page.span(Tone::Quiet, lines),
            page.span(Tone::Bar, cells),
        ]);
    }

    let key = format!(
        "██ {strongest:.2}, the strongest link  ▓▓ ▒▒ ░░ weaker  ·· not among the strongest of its chunk"
    );
    page.text(Tone::Quiet, " ", &key);
    page.text(Tone::Quiet, " ", "Attention is a hint, not a cause.");
    page.gap();
}

/// The weight of the link to the chunk at `column` of the document; 0 for none.
fn weight_to(document: &DocumentLinks, from: &LinkedChunk, column: usize) -> f32 {
    let to = document.first as usize + column;
    let link = from.links.iter().find(|link| link.to as usize == to);
    link.map_or(0.0, |link| link.weight)
}

fn heat(share: f32) -> &'static str {
    match share {
        share if share > 0.75 => "██",
        share if share > 0.5 => "▓▓",
        share if share > 0.25 => "▒▒",
        share if share > 0.0 => "░░",
        _ => "· ",
    }
}

/// The chunks that each sentence of the answer attended to.
fn attention_rows(page: &mut Page<'_>, run: &Run) {
    let steps = run.steps.iter().enumerate();
    let attended: Vec<(usize, &Step)> = steps
        .filter(|(_, step)| !step.is_rule())
        .filter(|(_, step)| !step.attended.is_empty() || !step.ablated.is_empty())
        .collect();
    if attended.is_empty() {
        // without links the reason for their absence names the key
        if can_read_attention(run) && has_links(run) {
            let keys = page.scene.keys_from_here(Action::ReadAttention);
            let hint = format!("{keys} reads the attention of this answer");
            page.text(Tone::Quiet, " ", &hint);
        }
        return;
    }

    page.line(page.span(Tone::Quiet, " attention, by sentence"));
    if page.scene.ui.panes.zoomed {
        attention_matrix(page, run, &attended);
    } else {
        let labels = attended.iter().flat_map(|(_, step)| &step.attended);
        let digits = labels.map(|chunk| chunk.label.to_string().len()).max();
        for (row, step) in attended {
            attention_rows_of(page, row, step, digits.unwrap_or(1));
        }
    }
    let attention = "← the share of attention that went to each chunk while the sentence was written: a hint, not a cause";
    if run.is_ablated() {
        page.remark(attention);
        page.remark(
            "without: how much less likely the sentence is when the prompt lacks that chunk; where no single one carries it, \
             others, the answer so far or the model's memory say the same",
        );
    } else {
        let keys = page.scene.keys_from_here(Action::ReadAttention);
        page.remark(&format!(
            "{attention} · {keys} leaves out each chunk in turn"
        ));
    }
}

/// Returns whether the attention of an answer can be read that was written without.
fn can_read_attention(run: &Run) -> bool {
    let is_generated = run.steps.iter().any(|step| !step.tokens.is_empty());
    is_generated && run.outcome.is_some() && !run.context_hits().is_empty()
}

/// Writes the attention of each sentence to each chunk as a heat map, then what the numbers of the
/// chunks stand for.
fn attention_matrix(page: &mut Page<'_>, run: &Run, attended: &[(usize, &Step)]) {
    let chunks = attended.iter().flat_map(|(_, step)| &step.attended);
    let chunks: BTreeMap<u32, u64> = chunks.map(|of| (of.label, of.chunk)).collect();
    let room = page.cells.saturating_sub(SENTENCE) / MATRIX_CELL;
    let shown: Vec<u32> = chunks.keys().copied().take(room.max(1)).collect();

    let mut head = " ".repeat(SENTENCE);
    for label in &shown {
        head.push_str(&text::left(&format!("[{label}]"), MATRIX_CELL));
    }
    page.line(page.span(Tone::Citation, head));
    for (row, step) in attended {
        let name = text::left(&format!(" s{}", step.step), SENTENCE);
        let mut line = Line::from(page.span(Tone::Strong, name));
        for label in &shown {
            let of_chunk = step.attended.iter().find(|chunk| chunk.label == *label);
            let share = of_chunk.map_or(0.0, |chunk| chunk.share);
            line.push_span(page.span(Tone::Bar, heat(share)));
            line.push_span(page.span(Tone::Text, format!(" {share:.2}  ")));
        }
        let room = page.cells.saturating_sub(line.width());
        line.push_span(page.span(Tone::Quiet, text::clip(&step.text, room)));
        page.item(Item::new(*row, 0), line);
        ablation_row(page, *row, step);
    }

    page.gap();
    for (label, chunk) in &chunks {
        let Some(hit) = run.hit(*chunk) else { continue };
        let location = words::chunk_location(&hit.chunk);
        let words = text_of(run, *chunk).unwrap_or_default();
        page.clip(Tone::Quiet, &format!(" [{label}] {location}  {words}"));
    }
}

/// Writes the shares of a sentence's chunks, and the sentence beside them or, where it does not
/// fit, below.
fn attention_rows_of(page: &mut Page<'_>, row: usize, step: &Step, digits: usize) {
    let item = Item::new(row, 0);
    let mut line = attention_row(page, step, digits);
    let sentence = text::one_line(step.text.trim());
    if line.width() + text::width(&sentence) <= page.cells {
        line.push_span(page.span(Tone::Quiet, sentence));
        page.item(item, line);
    } else {
        page.item(item, line);
        page.item_text(item, Tone::Quiet, SENTENCE_INDENT, &sentence);
    }
    ablation_row(page, row, step);
}

/// Writes what leaving out the chunks does to a sentence.
fn ablation_row(page: &mut Page<'_>, row: usize, step: &Step) {
    if let Some(words) = words::ablation(step) {
        let item = Item::new(row, 0);
        page.item_text(item, Tone::Text, SENTENCE_INDENT, &words);
    }
}

fn attention_row(page: &Page<'_>, step: &Step, digits: usize) -> Line<'static> {
    let name = format!(" s{:<3}", step.step);
    let mut line = Line::from(vec![
        page.span(Tone::Strong, name),
        page.span(Tone::Quiet, "← "),
    ]);
    for (rank, attended) in step.attended.iter().take(CHUNKS_SHOWN).enumerate() {
        let tone = if rank == 0 { Tone::Text } else { Tone::Quiet };
        let label = text::right(&format!("[{}]", attended.label), digits + 2);
        let share = format!("{label} {:.2}  ", attended.share);
        if line.width() + share.trim_end().len() > page.cells {
            break;
        }
        line.push_span(page.span(tone, share));
    }
    line
}
