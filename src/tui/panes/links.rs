use ratatui::text::Line;

use crate::config::LinkerKind;
use crate::event::{ChunkText, DocumentLinks, LinkedChunk};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::state::{Lookup, Run, Step};
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll};

use super::{answer, role_off};

/// Chunks named a sentence; weaker ones would only be noise.
const CHUNKS_SHOWN: usize = 4;
/// Cells of a link matrix beside its map: the lines of the chunk.
const GUTTER: usize = 12;

/// Which chunks belong together, and which of them each sentence attended to.
pub struct Links;

impl View for Links {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Links.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        let passage = answer::cited(scene).filter(|_| action == Action::OpenSource)?;
        Some(Request::OpenSource(passage))
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    if let Some(run) = scene.run {
        if run
            .lookups
            .iter()
            .any(|lookup| !lookup.funnel.links.is_empty())
        {
            relatives(scene, run, cells, &mut content);
        }
        attended(scene, run, cells, &mut content);
        if run.settings.linker.kind == LinkerKind::Off {
            content.gap();
            let says = role_off::words(scene, run, "linker", "No links");
            content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        }
    }
    if !content.rows.is_empty()
        && scene.run.is_some_and(|run| {
            run.lookups
                .iter()
                .any(|lookup| !lookup.funnel.links.is_empty())
        })
    {
        return content;
    }
    content.gap();
    let what = "A linker ties sentences together: which sentence of a source leans on which other, and which of them an answer leans on.";
    content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
    content
}

/// The chunk selected in Retrieval, else the best of the context, with what it is linked with.
fn relatives(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    let Some((lookup, chunk)) = chosen(scene, run) else {
        return;
    };
    let Some((document, place)) = lookup.funnel.links_of(chunk) else {
        content.paragraph(
            "No links are known of the selected chunk.",
            scene.style(Tone::Quiet),
            " ",
            cells,
        );
        content.gap();
        return;
    };
    let linked = &document.chunks[place];
    content.line(chunk_line(
        scene,
        run,
        (lookup, document, linked),
        " ",
        cells,
    ));
    for link in &linked.links {
        let to = (link.to as usize)
            .checked_sub(document.first as usize)
            .and_then(|at| document.chunks.get(at));
        let Some(other) = to else { continue };
        let weight = format!("   {} ", super::retrieval::short(link.weight, 2));
        content.line(chunk_line(
            scene,
            run,
            (lookup, document, other),
            &weight,
            cells,
        ));
    }
    content.gap();
    if scene.ui.panes.zoomed {
        matrix(scene, document, place, cells, content);
    }
}

/// The lookup and the chunk to show: what is selected in Retrieval, else the first chunk of the context that has links.
fn chosen<'a>(scene: &Scene<'_>, run: &'a Run) -> Option<(&'a Lookup, u64)> {
    let selected = scene
        .ui
        .scroll(Pane::Retrieval)
        .selected
        .filter(|item| item.part > 0);
    let of = |lookup: &'a Lookup, chunk: &ChunkText| match chunk.parts.first() {
        Some(part) => (lookup, part.chunk),
        None => (lookup, chunk.id),
    };
    if let Some(item) = selected {
        let lookup = run.lookups.get(item.row)?;
        return Some(of(lookup, &lookup.hits().get(item.part - 1)?.chunk));
    }
    let lookup = run
        .lookups
        .iter()
        .rev()
        .find(|lookup| !lookup.funnel.links.is_empty())?;
    let used = lookup
        .hits()
        .iter()
        .filter(|hit| lookup.label(hit.chunk.id).is_some());
    let with_links = |(_, chunk): &(&Lookup, u64)| lookup.funnel.links_of(*chunk).is_some();
    used.map(|hit| of(lookup, &hit.chunk))
        .find(with_links)
        .or_else(|| {
            let first = lookup.funnel.links.first()?.chunks.first()?;
            Some((lookup, first.chunk))
        })
}

/// `[2] people.md:12  its text`.
fn chunk_line(
    scene: &Scene<'_>,
    run: &Run,
    (lookup, document, linked): (&Lookup, &DocumentLinks, &LinkedChunk),
    before: &str,
    cells: usize,
) -> Line<'static> {
    let label = lookup
        .label(linked.chunk)
        .map_or_else(String::new, |label| format!("[{label}] "));
    let at = text::location(&document.document, linked.lines);
    let mut line = Line::from(scene.span(Tone::Strong, before.to_owned()));
    line.push_span(scene.span(Tone::Citation, label));
    line.push_span(scene.span(Tone::Text, text::clip_start(&at, cells / 2).into_owned()));
    let room = cells.saturating_sub(line.width() + 3);
    let words = text_of(run, linked.chunk).unwrap_or_default();
    line.push_span(scene.span(Tone::Quiet, format!("  {}", text::clip(&words, room))));
    line
}

/// The text of a chunk, from a hit or from a joined text that holds it, in one line.
fn text_of(run: &Run, chunk: u64) -> Option<String> {
    let hits = run.lookups.iter().flat_map(Lookup::hits);
    let own = |hit: &crate::event::Hit| {
        let part = hit.chunk.parts.iter().find(|part| part.chunk == chunk);
        match part {
            Some(part) => hit
                .chunk
                .text
                .get(part.text[0] as usize..part.text[1] as usize)
                .map(str::to_owned),
            None => (hit.chunk.id == chunk).then(|| hit.chunk.text.clone()),
        }
    };
    hits.into_iter()
        .find_map(own)
        .map(|words| words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The links of a document as a heat map: a row and a column a chunk; the chunk in question is marked.
fn matrix(
    scene: &Scene<'_>,
    document: &DocumentLinks,
    chosen: usize,
    cells: usize,
    content: &mut Content,
) {
    let room = (cells.saturating_sub(GUTTER + 2) / 2).max(1);
    let first = chosen
        .saturating_sub(room / 2)
        .min(document.chunks.len().saturating_sub(room));
    let shown = first..(first + room).min(document.chunks.len());
    let strongest = document.chunks[shown.clone()]
        .iter()
        .flat_map(|linked| &linked.links)
        .map(|link| link.weight)
        .fold(f32::MIN_POSITIVE, f32::max);
    let title = format!(
        " links of {}: chunks {} to {} of {}",
        text::clip_start(&document.document, cells / 2),
        document.first as usize + shown.start + 1,
        document.first as usize + shown.end,
        document.of
    );
    content.line(scene.span(Tone::Strong, title));
    for row in shown.clone() {
        let linked = &document.chunks[row];
        let mark = if row == chosen { "▸" } else { " " };
        let lines = format!(
            " {mark}{}",
            text::left(&text::lines(linked.lines[0], linked.lines[1]), GUTTER - 3)
        );
        let cell = |column: usize| {
            let to = document.first as usize + column;
            let weight = linked
                .links
                .iter()
                .find(|link| link.to as usize == to)
                .map_or(0.0, |link| link.weight);
            if column == row {
                "╲╲"
            } else {
                heat(weight / strongest)
            }
        };
        content.line(Line::from(vec![
            scene.span(Tone::Quiet, format!("{lines} ")),
            scene.span(Tone::Bar, shown.clone().map(cell).collect::<String>()),
        ]));
    }
    let key = format!(
        "██ {strongest:.2}, the strongest link  ▓▓ ▒▒ ░░ weaker  ·· not among the strongest of its chunk"
    );
    content.paragraph(&key, scene.style(Tone::Quiet), " ", cells);
    content.paragraph(
        "Attention is a hint of what belongs together, not a cause.",
        scene.style(Tone::Quiet),
        " ",
        cells,
    );
    content.gap();
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

/// Which chunks each sentence of the answer attended to.
fn attended(scene: &Scene<'_>, run: &Run, cells: usize, content: &mut Content) {
    let steps: Vec<&Step> = run
        .steps
        .iter()
        .filter(|step| !step.attended.is_empty())
        .collect();
    if steps.is_empty() {
        if !run.settings.answer.attribution {
            content.gap();
            let how = "Set answer.attribution to see which chunks each sentence attends to.";
            content.paragraph(how, scene.style(Tone::Quiet), "   ", cells);
        }
        return;
    }
    for (row, step) in steps.iter().enumerate() {
        content.item(Item { row, part: 0 }, attended_row(scene, step, cells));
    }
    content.gap();
    let hint = "← the share of attention that went to each chunk while the sentence was written: a hint, not a cause";
    content.paragraph(hint, scene.style(Tone::Quiet), "   ", cells);
}

fn attended_row(scene: &Scene<'_>, step: &Step, cells: usize) -> Line<'static> {
    let mut line =
        Line::from(scene.span(Tone::Strong, format!(" {:<4}", format!("s{}", step.step))));
    line.push_span(scene.span(Tone::Quiet, "← "));
    for (place, attended) in step.attended.iter().take(CHUNKS_SHOWN).enumerate() {
        let tone = if place == 0 { Tone::Text } else { Tone::Quiet };
        line.push_span(scene.span(
            tone,
            format!("[{}] {:.2}  ", attended.label, attended.share),
        ));
    }
    let room = cells.saturating_sub(line.width());
    line.push_span(scene.span(Tone::Quiet, text::clip(&step.text, room).into_owned()));
    line
}
