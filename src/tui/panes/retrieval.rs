use ratatui::text::{Line, Span};

use crate::config::{Location, RetrieverKind};
use crate::event::{ChunkText, Fusion, Hit, Ranked, Retrieval as Retrieved, WordOrigin};
use crate::story::words::{self, LOST};
use crate::story::{Lookup, Run};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll, patched};

use super::{funnel, role_off};

/// Cells before a hit's place: selection, then the label or the sign of a dropped one, then that of a place pinned or excluded.
const GUTTER: usize = 6;
const BAR: usize = 6;

/// What was retrieved: each chunk with its scores, and why it was kept or dropped.
pub struct Retrieval;

impl View for Retrieval {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Retrieval.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let Some(run) = scene.settled_run() else {
            return String::new();
        };
        // re-chunked documents replace the chunks of the lookup before
        let is_replaced = |at: usize| run.lookups.get(at + 1).is_some_and(|next| next.rechunked);
        let last: Vec<&Lookup> = (0..run.lookups.len())
            .filter(|at| !is_replaced(*at))
            .map(|at| &run.lookups[at])
            .collect();

        let hits: usize = last.iter().map(|lookup| lookup.hits().len()).sum();
        if hits == 0 {
            return String::new();
        }
        let kept: usize = last
            .iter()
            .filter_map(|lookup| lookup.context.as_ref())
            .map(|context| context.chunks.len())
            .sum();
        format!("{kept} of {hits} in the context")
    }

    /// The selected chunk; the last query when nothing is selected.
    fn copied(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        if scroll.selected.is_none() {
            let lookup = scene.run?.lookups.last()?;
            return Some(Copied::new("the query", &lookup.query));
        }
        let chunk = &scene.selected_hit()?.chunk;
        Some(Copied::new(words::chunk_location(chunk), &chunk.text))
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let toggle = |key| {
            let chunk = Box::new(scene.selected_hit()?.chunk.clone());
            Some(Request::TogglePlace { key, chunk })
        };
        match action {
            Action::Pin => toggle("retriever.pinned"),
            Action::Exclude => toggle("retriever.excluded"),
            Action::OpenSource => {
                let hit = match scroll.selected {
                    Some(_) => scene.selected_hit()?,
                    None => scene.run?.lookups.first()?.hits().first()?,
                };
                Some(Request::OpenSource(Passage::of_hit(hit)))
            }
            _ => None,
        }
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(run) = scene.settled_run() else {
        content.gap();
        let what = "What was looked up: each chunk that was found, its scores and ranks, and why it was kept or dropped.";
        content.paragraph(what, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };
    if run.lookups.is_empty() {
        content.gap();
        let says = match run.settings.retriever.kind {
            RetrieverKind::Off => role_off::words(scene, run, "retriever", "Nothing was looked up"),
            _ if run.outcome.is_some() && run.gate.is_some() => {
                "No sentence was doubted, so nothing was looked up.".to_owned()
            }
            _ => "Nothing was looked up yet.".to_owned(),
        };
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
    }
    if let Some(rewritten) = &run.rewritten {
        content.line(funnel::rewritten(scene, rewritten, cells));
    }
    let (columns, by_hand) = (Columns::at(cells), ByHand::next(scene));
    for (row, lookup) in run.lookups.iter().enumerate() {
        if row > 0 {
            content.gap();
        }
        lookup_rows(
            scene,
            (run, row, lookup),
            (&columns, &by_hand),
            &mut content,
        );
    }
    content
}

/// Which columns there is room for.
struct Columns {
    cells: usize,
    ranks: bool,
    reason: usize,
    place: usize,
}

impl Columns {
    fn at(cells: usize) -> Self {
        let ranks = cells >= 74;
        let numbers = 7 + 7 + 7 + if ranks { 8 } else { 0 };
        let reason = if cells >= 90 { BAR + 2 + 14 } else { 14 };
        Self {
            cells,
            ranks,
            reason,
            place: cells.saturating_sub(GUTTER + numbers + reason + 1),
        }
    }
}

/// A chunk that is pinned or excluded.
#[derive(Clone, Copy)]
struct Decided {
    sign: &'static str,
    tone: Tone,
    says: &'static str,
}

/// The places that a person decided about, for the next run.
struct ByHand {
    pinned: Vec<Location>,
    excluded: Vec<Location>,
}

impl ByHand {
    fn next(scene: &Scene<'_>) -> Self {
        let retriever = scene.ui.next_run.config().retriever;
        Self {
            pinned: retriever.pinned,
            excluded: retriever.excluded,
        }
    }

    /// What they decided about a chunk.
    fn of(&self, chunk: &ChunkText) -> Option<Decided> {
        let named = |places: &[Location]| places.iter().any(|place| place.covers(chunk));
        match (named(&self.excluded), named(&self.pinned)) {
            (true, _) => Some(Decided {
                sign: "-",
                tone: Tone::Warning,
                says: "- excluded from the next context",
            }),
            (false, true) => Some(Decided {
                sign: "+",
                tone: Tone::Good,
                says: "+ pinned to the next context",
            }),
            (false, false) => None,
        }
    }
}

fn lookup_rows(
    scene: &Scene<'_>,
    (run, row, lookup): (&Run, usize, &Lookup),
    (columns, by_hand): (&Columns, &ByHand),
    content: &mut Content,
) {
    let step = if lookup.step > 0 {
        format!(" s{} ", lookup.step)
    } else {
        " query ".to_owned()
    };
    let room = columns.cells.saturating_sub(text::width(&step) + 3);
    content.line(Line::from(vec![
        scene.span(Tone::Quiet, step),
        scene.span(
            Tone::Strong,
            format!("\"{}\"", text::clip(&lookup.query, room)),
        ),
    ]));
    origin_rows(scene, lookup, columns.cells, content);
    let Some(retrieval) = &lookup.retrieval else {
        content.line(scene.span(Tone::Quiet, "       looking it up …"));
        return;
    };
    let found = text::clip(
        &fusion_words(run, lookup, retrieval),
        columns.cells.saturating_sub(1),
    )
    .into_owned();
    content.line(scene.span(Tone::Quiet, format!(" {found}")));
    if let Some(utility) = lookup.utility {
        let tone = if utility < 0.0 { Tone::Bad } else { Tone::Good };
        let mut line = vec![
            scene.span(Tone::Quiet, " worth to the model "),
            scene.span(tone, format!("{utility:+.2}  ")),
        ];
        line.extend(scene.hint(Action::Utility, "chunk by chunk"));
        content.line(Line::from(line));
    }
    if retrieval.hits.is_empty() {
        content.gap();
        let report = scene.keymap.sign(Action::IndexReport);
        let again = scene.keymap.sign(Action::Again);
        let says = match &run.corpus {
            Some(corpus) if corpus.chunks == 0 => {
                format!("Nothing was indexed yet: {again} asks again when it is.")
            }
            _ => format!(
                "Nothing in this folder matches. Try other words, or see with {report} what was indexed."
            ),
        };
        content.paragraph(&says, scene.style(Tone::Text), "   ", columns.cells);
        return;
    }
    for line in funnel::lines(scene, lookup, columns.cells) {
        content.line(line);
    }
    content.line(scene.span(Tone::Quiet, head(columns)));
    let best = retrieval
        .hits
        .iter()
        .map(|hit| hit.fused.score)
        .fold(f32::MIN_POSITIVE, f32::max);
    for (at, hit) in retrieval.hits.iter().enumerate() {
        if at == lookup.found {
            content.line(scene.span(Tone::Quiet, " joined with what they are linked with:"));
        }
        let item = Item { row, part: at + 1 };
        let decided = by_hand.of(&hit.chunk);
        content.item(item, hit_row(scene, lookup, (hit, best, decided), columns));
        if scene.ui.scroll(Pane::Retrieval).selected == Some(item) {
            detail_rows(scene, (lookup, hit, item, decided), columns, content);
        }
    }
    if let Some(context) = &lookup.context {
        let chunks = text::counted(context.chunks.len() as u64, "chunk");
        let (used, room) = (
            text::count(context.prompt_tokens.into()),
            text::count(context.available_tokens.into()),
        );
        content.line(scene.span(
            Tone::Quiet,
            format!(" context: {chunks}, prompt {used} of {room} tokens"),
        ));
    }
}

/// Who wrote the query of a doubted sentence, and where its words came from.
fn origin_rows(scene: &Scene<'_>, lookup: &Lookup, cells: usize, content: &mut Content) {
    if lookup.step == 0 || lookup.words.is_empty() {
        return;
    }
    let mut says = lookup.writer.clone();
    for group in lookup.words.chunk_by(|a, b| a.origin == b.origin) {
        let from = match group[0].origin {
            WordOrigin::Question => "from the question",
            WordOrigin::Sentence => "from the answer so far",
            WordOrigin::UncertainRegion => "uncertain",
        };
        let words: Vec<&str> = group.iter().map(|word| word.text.as_str()).collect();
        says.push_str(&format!(" · {from}: {}", words.join(" ")));
    }
    content.paragraph(&says, scene.style(Tone::Quiet), " ", cells);
}

fn fusion_words(run: &Run, lookup: &Lookup, retrieval: &Retrieved) -> String {
    if lookup.rechunked {
        let hits = text::counted(lookup.found as u64, "hit");
        return format!(
            "{hits} by meaning, among chunks cut again · {:.1} ms",
            retrieval.wall_us as f64 / 1e3
        );
    }
    let settings = &run.settings.retriever;
    let fusion = match retrieval.fusion {
        Fusion::Weighted => format!(
            "weighted {:?} bm25 + {:?} vectors",
            settings.bm25_weight, settings.vector_weight
        ),
        Fusion::Rrf => format!("reciprocal ranks, k {:?}", settings.rrf_k),
    };
    format!(
        "{} · {fusion} · {} by words, {} by meaning · {:.1} ms",
        text::counted(lookup.found as u64, "hit"),
        retrieval.bm25_found,
        retrieval.vector_found,
        retrieval.wall_us as f64 / 1e3
    )
}

fn head(columns: &Columns) -> String {
    let rank = if columns.ranks { "  # " } else { "" };
    format!(
        "{}{:>7}{rank}{:>7}{rank}{:>7}",
        " ".repeat(GUTTER + columns.place),
        "bm25",
        "cosine",
        "fused"
    )
}

fn hit_row(
    scene: &Scene<'_>,
    lookup: &Lookup,
    (hit, best, decided): (&Hit, f32, Option<Decided>),
    columns: &Columns,
) -> Line<'static> {
    let chunk = &hit.chunk;
    let dropped = lookup.dropped(chunk.id);
    let tone = if dropped.is_some() {
        Tone::Dropped
    } else {
        Tone::Text
    };
    let sign = match (lookup.label(chunk.id), dropped) {
        (Some(label), _) => scene.span(Tone::Citation, format!("[{label}]")),
        (None, Some(_)) => scene.span(Tone::Warning, format!(" {LOST}")),
        (None, None) => Span::raw(""),
    };
    let after = " ".repeat(GUTTER.saturating_sub(2 + sign.width()));
    let by_hand = decided.map_or(Span::raw(" "), |decided| {
        scene.span(decided.tone, decided.sign)
    });
    let place = words::chunk_location(chunk);
    let place = text::clip_start(&place, columns.place).into_owned();
    let place = scene.span(tone, text::left(&place, columns.place));
    let mut line = Line::from(vec![Span::raw(" "), sign, Span::raw(after), by_hand, place]);
    let numbers = format!(
        "{}{}{:>7}",
        list(hit.bm25, 2, columns),
        list(hit.vector, 3, columns),
        words::score(hit.fused.score, 3)
    );
    line.push_span(scene.span(tone, numbers));
    if columns.reason > 14 || dropped.is_none() {
        line.push_span(Span::raw("  "));
        for span in scene.bar(hit.fused.score / best, BAR) {
            line.push_span(span);
        }
    }
    if let Some(reason) = dropped {
        line.push_span(scene.span(
            Tone::Quiet,
            format!("  {}", words::drop_reason(reason, lookup)),
        ));
    }
    line
}

/// Score and rank in one list; a dot where the list did not hold the chunk.
fn list(ranked: Option<Ranked>, digits: usize, columns: &Columns) -> String {
    let score = ranked.map_or("·".to_owned(), |ranked| words::score(ranked.score, digits));
    let rank = ranked.map_or(String::new(), |ranked| ranked.rank.to_string());
    if columns.ranks {
        format!("{score:>7}{rank:>3} ")
    } else {
        format!("{score:>7}")
    }
}

/// Below the selected hit: where it stands in its document, why it was dropped, its text.
fn detail_rows(
    scene: &Scene<'_>,
    (lookup, hit, item, decided): (&Lookup, &Hit, Item, Option<Decided>),
    columns: &Columns,
    content: &mut Content,
) {
    let indent = " ".repeat(GUTTER);
    let cells = columns.cells.saturating_sub(GUTTER + 1);
    let mut put = |words: &str, tone: Tone, highlighted: &[String]| {
        for range in text::wrap(words, cells) {
            let row = words[range].to_owned();
            let mut found: Vec<_> = highlighted
                .iter()
                .flat_map(|word| text::matches(&row, word))
                .collect();
            found.retain(|range| is_word(&row, range));
            let line = Line::from(scene.span(tone, row));
            let mut line = found.into_iter().fold(line, |line, range| {
                patched(line, range, scene.style(Tone::Highlight))
            });
            line.spans.insert(0, Span::raw(indent.clone()));
            content.item(item, line);
        }
    };
    let headings = hit
        .chunk
        .headings
        .iter()
        .map(|heading| format!("{heading} › "))
        .collect::<String>();
    let tokens = text::counted(hit.chunk.tokens.into(), "token");
    put(
        &format!(
            "{headings}lines {}, {tokens}",
            text::lines(hit.chunk.lines[0], hit.chunk.lines[1])
        ),
        Tone::Quiet,
        &[],
    );
    if let Some(decided) = decided {
        put(decided.says, decided.tone, &[]);
    }
    for row in funnel::stage_rows(lookup, hit.chunk.id) {
        put(&row, Tone::Quiet, &[]);
    }
    if let Some(reason) = lookup.dropped(hit.chunk.id) {
        let reason = words::drop_reason_in_full(reason, hit.chunk.id, lookup);
        put(&format!("{LOST} {reason}"), Tone::Warning, &[]);
    }
    put(
        hit.chunk.text.trim_end(),
        Tone::Text,
        &text::content_words(&lookup.query),
    );
}

/// Does the range begin a word and not merely lie in one?
fn is_word(text: &str, range: &std::ops::Range<usize>) -> bool {
    !text[..range.start].ends_with(char::is_alphanumeric)
}
