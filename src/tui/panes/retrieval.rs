use ratatui::text::{Line, Span};

use crate::config::{Location, RetrieverKind};
use crate::event::{ChunkText, Context, Hit, Part, Ranked, Retrieval as Retrieved, WordOrigin};
use crate::story::words::{self, LOST};
use crate::story::{Lookup, Run};
use crate::tui::hyperlinks::fragment;
use crate::tui::keys::Action;
use crate::tui::page::{Page, RULE};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Item, Scroll};

use super::{absence, funnel};

/// Cells before the location of a hit: selection, label or sign of a dropped one, sign of a pinned
/// or excluded one.
const GUTTER: usize = 6;
const BAR: usize = 6;
/// Cells of a score, and of the ranks beside the scores.
const SCORE: usize = 7;
const RANKS: usize = 8;
/// Minimum cells of a name that has scores beside it.
const MIN_NAME: usize = 14;
/// Cells of the sign before the name of a file whose folder is left out.
const HIDDEN_FOLDER: usize = 2;
/// Minimum cells of the text of a hit, in a zoomed pane too, and of the gap before it.
const MIN_TEXT: usize = 20;
const MIN_ZOOMED_TEXT: usize = 40;
const TEXT_GAP: usize = 2;
/// Minimum cells of the details of the selected hit beside the table, and the rule before them.
const MIN_BESIDE: usize = 36;
/// Maximum rows of the text of a hit in a zoomed pane.
const ZOOMED_ROWS: usize = 6;

/// The retrieved chunks with their scores, and why each was kept or dropped.
pub struct Retrieval;

impl View for Retrieval {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.settled_run() else {
            page.remark(
                "The retrieved chunks: their scores and ranks, and why each was kept or dropped.",
            );
            return;
        };

        if run.lookups.is_empty() {
            let says = self.absence(scene);
            let says = says.unwrap_or_else(|| "nothing has been retrieved yet".to_owned());
            page.remark(&says);
        }

        if let Some(rewritten) = &run.rewritten {
            page.line(funnel::rewriting_row(scene, rewritten, page.cells));
        }

        let columns = Columns::at(page.cells, scene.ui.panes.zoomed, run);
        let pins = Pins::for_next_run(scene);
        for (row, lookup) in run.lookups.iter().enumerate() {
            if row > 0 {
                page.gap();
            }
            let rows = LookupRows {
                scene,
                run,
                lookup,
                row,
                columns: &columns,
                pins: &pins,
                has_several_searches: lookup.is_of_several_searches(),
            };
            rows.write(page);
        }
    }

    fn absence(&self, scene: &Scene<'_>) -> Option<String> {
        let Some(run) = scene.run else {
            return Some("what was found, and why each chunk was kept or dropped".to_owned());
        };
        if !run.lookups.is_empty() {
            return None;
        }
        if run.settings.retriever.kind == RetrieverKind::Off {
            return Some(absence::off(scene, run, "retriever"));
        }
        let is_over = !scene.ui.is_in_progress(run);
        is_over.then(|| absence::skip_reason(run, Part::Rewriter))
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
    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
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
                Some(Request::OpenSource(Passage::from_hit(hit)))
            }
            _ => None,
        }
    }
}

/// The columns that fit the width.
struct Columns {
    cells: usize,
    scores: Scores,
    ranks: bool,
    /// True when a dropped hit has both its bar and the reason; a narrow table has one or the
    /// other.
    has_both: bool,
    location: usize,
    /// Cells of the text of each hit; 0 for no text.
    text: usize,
}

impl Columns {
    fn at(cells: usize, is_zoomed: bool, run: &Run) -> Self {
        let has_both = cells >= 90;
        let bar = if has_both { BAR + 2 } else { 0 };
        let reason = reason_cells(run);
        let longest = location_cells(run, cells);
        let room = |scores: Scores| {
            let taken = GUTTER + scores.cells() + bar + reason + 1;
            cells.saturating_sub(taken)
        };
        // names of files are whole before there are scores of both lists, and paths before ranks
        let names = locations(run).map(|location| text::width(text::file_name(&location)));
        let usual = usual_cells(names.map(|cells| cells + HIDDEN_FOLDER)).min(longest);
        let scores = if room(Scores::All) >= usual {
            Scores::All
        } else if room(Scores::Fused) >= usual.min(MIN_NAME) {
            Scores::Fused
        } else {
            Scores::None
        };
        let location = room(scores);
        let ranks = scores == Scores::All && location >= longest + RANKS;

        let mut columns = Self {
            cells,
            scores,
            ranks,
            has_both,
            location: location - if ranks { RANKS } else { 0 },
            text: 0,
        };
        if has_both {
            // a long text in a narrow column would push the other hits out of sight
            let least = if is_zoomed { MIN_ZOOMED_TEXT } else { MIN_TEXT };
            columns.fit(run, least);
        }
        columns
    }

    /// The column at which the texts of the hits begin.
    fn text_start(&self) -> usize {
        self.cells.saturating_sub(self.text + 1)
    }

    /// Gives locations the cells that most of them need, and all of them where there is room; what
    /// is left goes to the texts of the hits, or to the locations when it is too little for them.
    fn fit(&mut self, run: &Run, least: usize) {
        let longest = location_cells(run, self.cells);
        // one long name takes no text from the others
        let paths = locations(run).map(|location| text::width(&location));
        let usual = usual_cells(paths).max(self.cells / 4).min(longest);
        let text_beside = |location: usize| self.location.checked_sub(location + TEXT_GAP);
        let has_text = text_beside(usual).is_some_and(|text| text >= MIN_ZOOMED_TEXT);
        let is_cut = 2 * longest > 3 * usual && has_text;
        let location = if is_cut { usual } else { longest };
        if let Some(text) = text_beside(location).filter(|text| *text >= least) {
            self.location = location;
            self.text = text;
        } else if let Some(left) = self.location.checked_sub(longest) {
            // the numbers stay near the names
            self.location = longest + left.min(TEXT_GAP + MIN_TEXT);
        }
    }

    /// Returns whether the details of a hit stand beside the table.
    fn has_room_beside(&self) -> bool {
        self.text >= MIN_BESIDE
    }
}

/// The scores beside the names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scores {
    /// One per list, and the fused one.
    All,
    Fused,
    None,
}

impl Scores {
    fn cells(self) -> usize {
        match self {
            Self::All => 3 * SCORE,
            Self::Fused => SCORE,
            Self::None => 0,
        }
    }
}

/// Returns the hits of all lookups of a run, each with its lookup.
fn hits(run: &Run) -> impl Iterator<Item = (&Lookup, &Hit)> {
    let lookups = run.lookups.iter();
    lookups.flat_map(|lookup| lookup.hits().iter().map(move |hit| (lookup, hit)))
}

/// Returns the location of each hit of a run.
fn locations(run: &Run) -> impl Iterator<Item = String> {
    hits(run).map(|(_, hit)| words::hit_location(hit))
}

/// Returns the cells of the longest location of a run, at most half of all.
fn location_cells(run: &Run, cells: usize) -> usize {
    let widths = locations(run).map(|location| text::width(&location));
    widths.max().unwrap_or(0).min(cells / 2)
}

/// Returns the cells that three of four texts need.
fn usual_cells(widths: impl Iterator<Item = usize>) -> usize {
    let mut widths: Vec<usize> = widths.collect();
    widths.sort_unstable();
    widths.get(widths.len() * 3 / 4).copied().unwrap_or(0)
}

/// Returns the cells of the longest reason of a run, with the gap in front of it.
fn reason_cells(run: &Run) -> usize {
    let reasons = hits(run).filter_map(|(lookup, hit)| {
        let reason = drop_reason(run, lookup, hit.chunk.id)?;
        Some(2 + text::width(&reason))
    });
    reasons.max().unwrap_or(0).max(BAR + 2)
}

/// Returns why a chunk is not in the context of a lookup, in a few words; `None` where it is.
fn drop_reason(run: &Run, lookup: &Lookup, chunk: u64) -> Option<String> {
    let reason = lookup.drop_reason(chunk)?;
    let seconds = run.settings.answer.first_word_seconds;
    Some(words::drop_reason(reason, chunk, lookup, seconds))
}

/// The mark of a chunk that the user pinned or excluded.
#[derive(Clone, Copy)]
struct Pinning {
    sign: &'static str,
    tone: Tone,
    words: &'static str,
}

/// The locations that the user pinned or excluded, for the next run.
struct Pins {
    pinned: Vec<Location>,
    excluded: Vec<Location>,
}

impl Pins {
    fn for_next_run(scene: &Scene<'_>) -> Self {
        let retriever = scene.ui.next_run.config().retriever;
        Self {
            pinned: retriever.pinned,
            excluded: retriever.excluded,
        }
    }

    /// Returns how the next context treats a chunk; `None` when the user left it alone.
    fn pinning(&self, chunk: &ChunkText) -> Option<Pinning> {
        let covers =
            |locations: &[Location]| locations.iter().any(|location| location.covers(chunk));

        if covers(&self.excluded) {
            return Some(Pinning {
                sign: "-",
                tone: Tone::Warning,
                words: "- excluded from the next context",
            });
        }

        covers(&self.pinned).then_some(Pinning {
            sign: "+",
            tone: Tone::Strong,
            words: "+ pinned to the next context",
        })
    }
}

/// The rows of one lookup: its query, its funnel and its hits.
struct LookupRows<'a> {
    scene: &'a Scene<'a>,
    run: &'a Run,
    lookup: &'a Lookup,
    /// The number of the lookup in the run.
    row: usize,
    columns: &'a Columns,
    pins: &'a Pins,
    /// True where the ranks of hits are those of different lists.
    has_several_searches: bool,
}

impl LookupRows<'_> {
    fn write(&self, page: &mut Page<'_>) {
        let scene = self.scene;
        let cells = self.columns.cells;
        page.line(self.query_row());
        let Some(retrieval) = &self.lookup.retrieval else {
            page.line(scene.span(Tone::Quiet, "       retrieving …"));
            return;
        };

        let is_zoomed = scene.ui.panes.zoomed;
        let mut origin = origin_words(self.lookup, is_zoomed);
        if is_zoomed && !origin.is_empty() {
            page.text(Tone::Quiet, " ", &format!("searched with {origin}"));
            origin.clear();
        }
        let found = self.fusion_words(retrieval, &origin);
        let found = text::clip(&found, cells.saturating_sub(1)).into_owned();
        page.line(scene.span(Tone::Quiet, format!(" {found}")));
        if let Some(filtered) = &retrieval.filter {
            let filtered = format!(" only {}", words::filter(filtered));
            let filtered = text::clip(&filtered, cells.saturating_sub(1)).into_owned();
            page.line(scene.span(Tone::Warning, filtered));
        }
        if retrieval.hits.is_empty() {
            page.gap();
            let words = self.no_hits_words();
            page.text(Tone::Text, "   ", &words);
            return;
        }

        for line in funnel::lines(scene, self.lookup, cells) {
            page.line(line);
        }
        self.hit_rows(&retrieval.hits, page);
        if let Some(context) = &self.lookup.context {
            page.line(self.context_row(context));
        }
        // what did not happen comes last: in a small pane there is room for little but the hits
        for (parts, reason) in &self.lookup.left_out {
            page.text(Tone::Quiet, " ", &words::omission(parts, *reason));
        }
        if let Some(utility) = self.lookup.utility {
            page.line(self.utility_row(utility));
        }
    }

    fn query_row(&self) -> Line<'static> {
        let step = if self.lookup.step > 0 {
            format!(" s{} ", self.lookup.step)
        } else {
            " query ".to_owned()
        };
        let room = self.columns.cells.saturating_sub(text::width(&step) + 3);
        let query = format!("\"{}\"", text::clip(&self.lookup.query, room));
        Line::from(vec![
            self.scene.span(Tone::Quiet, step),
            self.scene.span(Tone::Strong, query),
        ])
    }

    fn utility_row(&self, utility: f32) -> Line<'static> {
        let tone = if utility < 0.0 { Tone::Bad } else { Tone::Text };
        let words = format!(" {}  ", words::utility_change(utility));
        let mut line = vec![self.scene.span(tone, words)];
        line.extend(self.scene.hint(Action::Utility, "per chunk"));
        Line::from(line)
    }

    /// Returns for what the hits were found, and how; in a zoomed pane, among how many too.
    fn fusion_words(&self, retrieval: &Retrieved, origin: &str) -> String {
        let is_zoomed = self.scene.ui.panes.zoomed;
        let mut words = text::quantity(self.lookup.found as u64, "hit");
        if !origin.is_empty() {
            words.push_str(&format!(" for {origin}"));
        }
        if self.has_several_searches {
            words.push_str(", of several searches in turn");
        }

        let settings = &self.run.settings.retriever;
        let by_words = settings.bm25_weight;
        if self.lookup.is_read_in_order() {
            words.push_str(" · read in order");
        } else if self.lookup.rechunked {
            words.push_str(" by vector search over re-chunked documents");
        } else {
            words.push_str(&match settings.kind {
                _ if self.run.is_by_words_alone() => " · by words alone".to_owned(),
                RetrieverKind::Bm25 => " · by words alone".to_owned(),
                RetrieverKind::Vectors => " · by meaning alone".to_owned(),
                RetrieverKind::Off | RetrieverKind::Hybrid if by_words == 0.5 => {
                    " · half words, half meaning".to_owned()
                }
                RetrieverKind::Off | RetrieverKind::Hybrid => {
                    format!(" · {by_words:?} words, {:?} meaning", 1.0 - by_words)
                }
            });
            if is_zoomed && settings.kind == RetrieverKind::Hybrid {
                let bm25 = retrieval.bm25_found;
                let vectors = retrieval.vector_found;
                words.push_str(&format!(" · {bm25} + {vectors} candidates"));
            }
        }
        if is_zoomed {
            words.push_str(&format!(" · {:.1} ms", retrieval.wall_us as f64 / 1e3));
        }
        words
    }

    /// Returns why there is no hit, and what to do next.
    fn no_hits_words(&self) -> String {
        let sign = |action| self.scene.keymap.sign(action);
        match &self.run.corpus {
            Some(corpus) if !corpus.is_indexed() => format!(
                "The folder was not indexed yet: {} asks again.",
                sign(Action::Again)
            ),
            Some(corpus) if corpus.chunks == 0 => format!(
                "There is nothing to read in this folder: {} shows what was skipped and why.",
                sign(Action::IndexReport)
            ),
            _ if self.is_filtered() => format!(
                "None of the chosen documents matches: {} chooses others.",
                sign(Action::Filter)
            ),
            _ => format!(
                "Nothing in this folder matches. Try other words; {} shows what was indexed.",
                sign(Action::IndexReport)
            ),
        }
    }

    fn is_filtered(&self) -> bool {
        let retrieval = self.lookup.retrieval.as_ref();
        retrieval.is_some_and(|retrieval| retrieval.filter.is_some())
    }

    fn hit_rows(&self, hits: &[Hit], page: &mut Page<'_>) {
        let scene = self.scene;
        if self.columns.scores != Scores::None {
            page.line(scene.span(Tone::Quiet, self.head()));
        }
        let best = hits
            .iter()
            .map(|hit| hit.fused.score)
            .fold(f32::MIN_POSITIVE, f32::max);

        // the texts that the context is chosen from come first
        let found = self.lookup.found.min(hits.len());
        let has_merged = found < hits.len();
        let mut merged: Vec<usize> = (found..hits.len()).collect();
        let label = |at: &usize| self.lookup.label(hits[*at].chunk.id);
        merged.sort_by_key(|at| label(at).unwrap_or(u32::MAX));
        let first_merged = merged.first().copied();

        let selected = scene.ui.scroll(Pane::Retrieval).selected;
        let has_selected = selected
            .is_some_and(|item| item.row == self.row && (1..=hits.len()).contains(&item.part));
        let is_beside = has_selected && !scene.ui.panes.zoomed && self.columns.has_room_beside();
        let end = if is_beside {
            self.columns.text_start()
        } else {
            self.columns.cells
        };
        let first = page.content.rows.len();
        let mut beside = None;
        for at in merged.into_iter().chain(0..found) {
            let hit = &hits[at];
            if Some(at) == first_merged {
                page.line(scene.span(Tone::Quiet, " merged with linked chunks:"));
            } else if at == 0 && has_merged {
                page.line(scene.span(Tone::Quiet, " as retrieved:"));
            }
            let item = Item::new(self.row, at + 1);
            let pinning = self.pins.pinning(&hit.chunk);
            let is_selected = selected == Some(item);
            let mut row = self.hit_row(hit, best, pinning);
            if self.columns.text > 0 && !is_beside {
                self.push_text(&mut row, &hit.chunk);
            }
            page.item(item, row);
            if is_selected && is_beside {
                let room = self.columns.text - text::width(RULE);
                let details = self.detail_lines(hit, pinning, room);
                beside = Some((page.content.rows.len() - 1, details));
            }
            let location = GUTTER..GUTTER + text::width(&self.shown_location(hit));
            let place = hit.chunk.place(hit.chunk.lines);
            let fragment = fragment(hit.chunk.lines[0], place.as_ref());
            page.content.target(location, &hit.chunk.document, fragment);
            if let Some(order) = self.lookup.order(hit.chunk.id) {
                let room = end.saturating_sub(GUTTER + 1);
                let order = words::order(order);
                let indented = format!("{}{}", " ".repeat(GUTTER), text::clip(&order, room));
                page.item(item, Line::from(scene.span(Tone::Warning, indented)));
            }
            if is_selected && !is_beside {
                let room = self.columns.cells.saturating_sub(GUTTER + 1);
                for details in self.detail_lines(hit, pinning, room) {
                    let mut line = Line::from(" ".repeat(GUTTER));
                    line.spans.extend(details.spans);
                    page.item(item, line);
                }
            } else if scene.ui.panes.zoomed {
                self.text_rows(hit, item, page);
            }
        }
        if let Some((selected, details)) = beside {
            page.write_beside(first, selected, self.columns.text_start(), details);
        }
    }

    fn context_row(&self, context: &Context) -> Line<'static> {
        let words = format!(
            " context: {}, prompt {} of {} tokens",
            text::quantity(context.chunks.len() as u64, "chunk"),
            text::count(context.prompt_tokens.into()),
            text::count(context.available_tokens.into())
        );
        Line::from(self.scene.span(Tone::Quiet, words))
    }

    fn hit_row(&self, hit: &Hit, best: f32, pinning: Option<Pinning>) -> Line<'static> {
        let (scene, columns, chunk) = (self.scene, self.columns, &hit.chunk);
        let dropped = drop_reason(self.run, self.lookup, chunk.id);
        let tone = if dropped.is_some() {
            Tone::Dropped
        } else {
            Tone::Text
        };

        let sign = match (self.lookup.label(chunk.id), &dropped) {
            (Some(label), _) => scene.span(Tone::Citation, format!("[{label}]")),
            (None, Some(_)) => scene.span(Tone::Warning, format!(" {LOST}")),
            (None, None) => Span::raw(""),
        };
        let after = " ".repeat(GUTTER.saturating_sub(2 + sign.width()));
        let pin = pinning.map_or(Span::raw(" "), |pinning| {
            scene.span(pinning.tone, pinning.sign)
        });
        let location = self.shown_location(hit);
        let location = scene.span(tone, text::left(&location, columns.location));
        let mut line = Line::from(vec![Span::raw(" "), sign, Span::raw(after), pin, location]);

        let lists = [self.in_list(hit.bm25, 2), self.in_list(hit.vector, 3)];
        let fused = words::score(hit.fused.score, 3);
        line.push_span(scene.span(tone, self.numbers(lists, &fused)));
        if columns.has_both || dropped.is_none() {
            line.push_span(Span::raw("  "));
            line.spans.extend(scene.bar(hit.fused.score / best, BAR));
        }
        if let Some(reason) = dropped {
            line.push_span(scene.span(Tone::Quiet, format!("  {reason}")));
        }
        line
    }

    fn head(&self) -> String {
        let rank = match (self.columns.ranks, self.has_several_searches) {
            (true, false) => "  # ",
            (true, true) => "    ",
            (false, _) => "",
        };
        let lists = ["bm25", "cosine"].map(|list| format!("{list:>SCORE$}{rank}"));
        let names = " ".repeat(GUTTER + self.columns.location);
        format!("{names}{}", self.numbers(lists, "fused"))
    }

    /// Returns the columns of the numbers beside a name.
    fn numbers(&self, [bm25, vectors]: [String; 2], fused: &str) -> String {
        match self.columns.scores {
            Scores::All => format!("{bm25}{vectors}{fused:>SCORE$}"),
            Scores::Fused => format!("{fused:>SCORE$}"),
            Scores::None => String::new(),
        }
    }

    /// Returns score and rank in one list; a dot where the list does not contain the chunk.
    fn in_list(&self, ranked: Option<Ranked>, digits: usize) -> String {
        let score = ranked.map_or("·".to_owned(), |ranked| words::score(ranked.score, digits));
        let rank = ranked.filter(|_| !self.has_several_searches);
        let rank = rank.map_or(String::new(), |ranked| ranked.rank.to_string());
        if self.columns.ranks {
            format!("{score:>SCORE$}{rank:>3} ")
        } else {
            format!("{score:>SCORE$}")
        }
    }

    fn shown_location(&self, hit: &Hit) -> String {
        let location = words::hit_location(hit);
        text::clip_middle(&location, self.columns.location).into_owned()
    }

    /// Adds the beginning of a chunk's text to its row, the words of the query highlighted.
    fn push_text(&self, line: &mut Line<'static>, chunk: &ChunkText) {
        let columns = self.columns;
        let gap = columns.text_start().saturating_sub(line.width());
        line.push_span(Span::raw(" ".repeat(gap)));

        let words = in_one_line(chunk);
        // in a zoomed pane the text continues in the next rows
        let shown = match text::wrap(&words, columns.text).into_iter().next() {
            Some(first) if self.scene.ui.panes.zoomed => words[first].to_owned(),
            _ => text::clip(&words, columns.text).into_owned(),
        };
        line.spans.extend(self.highlight(&shown).spans);
    }

    /// Writes the text of a hit beside its row where the table leaves room, else below it.
    fn text_rows(&self, hit: &Hit, item: Item, page: &mut Page<'_>) {
        let columns = self.columns;
        let words = in_one_line(&hit.chunk);
        let is_beside = columns.text > 0;
        let room = if is_beside {
            columns.text
        } else {
            columns.cells.saturating_sub(GUTTER + 1)
        };
        let indent = if is_beside {
            columns.text_start()
        } else {
            GUTTER
        };

        // the first row of a text beside the table is that of the hit itself
        let rows = text::first_rows(&words, room, ZOOMED_ROWS);
        for row in rows.iter().skip(usize::from(is_beside)) {
            let mut line = Line::from(" ".repeat(indent));
            line.spans.extend(self.highlight(row).spans);
            page.item(item, line);
        }
    }

    fn highlight(&self, row: &str) -> Line<'static> {
        let query_words = text::content_words(&self.lookup.query);
        self.scene.highlight_words(row, Tone::Quiet, &query_words)
    }

    /// Returns the rows about the selected hit: its headings and lines, why it was dropped, its
    /// text.
    fn detail_lines(
        &self,
        hit: &Hit,
        pinning: Option<Pinning>,
        cells: usize,
    ) -> Vec<Line<'static>> {
        let scene = self.scene;
        let mut lines = Vec::new();
        let mut put = |words: &str, tone: Tone, highlighted: &[String]| {
            for range in text::wrap(words, cells) {
                lines.push(scene.highlight_words(&words[range], tone, highlighted));
            }
        };

        let chunk = &hit.chunk;
        // the title of a page is often its first heading, and the name of the document, too
        let mut path: Vec<&str> = chunk.headings.iter().map(String::as_str).collect();
        path.dedup();
        let headings: String = path.iter().map(|name| format!("{name} › ")).collect();
        let place = words::chunk_place(chunk);
        let tokens = text::quantity(chunk.tokens.into(), "token");
        put(&format!("{headings}{place}, {tokens}"), Tone::Quiet, &[]);
        let retrieval = self.lookup.retrieval.as_ref();
        let metadata = retrieval.and_then(|of_lookup| of_lookup.documents.get(&chunk.document));
        let metadata = metadata.map(words::metadata);
        if let Some(metadata) = metadata.filter(|known| !path.contains(&known.as_str())) {
            put(&metadata, Tone::Quiet, &[]);
        }
        if let Some(copies) = words::copies(hit) {
            put(&copies, Tone::Quiet, &[]);
        }

        if let Some(scores) = words::word_scores(hit) {
            put(&scores, Tone::Quiet, &[]);
        }
        if let Some(naming) = words::naming_hit(hit, self.lookup) {
            put(&naming, Tone::Quiet, &[]);
        }

        let mut nearest = self.run.nearest.iter();
        if let Some(nearest) = nearest.find(|nearest| nearest.chunk == chunk.id) {
            let similarity = words::score(nearest.similarity, 3);
            let words = format!("best sentence {similarity}: “{}”", nearest.text);
            put(&words, Tone::Quiet, &[]);
        }

        if let Some(pinning) = pinning {
            put(pinning.words, pinning.tone, &[]);
        }
        for row in funnel::stage_rows(self.lookup, chunk.id) {
            put(&row, Tone::Quiet, &[]);
        }
        if let Some(reason) = self.lookup.drop_reason(chunk.id) {
            let reason = words::drop_reason_in_full(reason, chunk.id, self.lookup);
            put(&format!("{LOST} {reason}"), Tone::Warning, &[]);
        }

        let query_words = text::content_words(&self.lookup.query);
        put(chunk.text.trim_end(), Tone::Text, &query_words);
        lines
    }
}

fn in_one_line(chunk: &ChunkText) -> String {
    let words: Vec<&str> = chunk.text.split_whitespace().collect();
    words.join(" ")
}

/// Returns what the query of an uncertain sentence was made of: each part by its name, and with its
/// words where there is room; nothing for the question itself.
fn origin_words(lookup: &Lookup, is_zoomed: bool) -> String {
    if lookup.step == 0 || lookup.words.is_empty() {
        return String::new();
    }

    let groups = lookup.words.chunk_by(|a, b| a.origin == b.origin);
    let mut parts: Vec<String> = Vec::new();
    for group in groups {
        let origin = match group[0].origin {
            WordOrigin::Question => "the question",
            WordOrigin::Sentence => "the sentence",
            WordOrigin::UncertainRegion => "the unsure words",
        };
        let text: Vec<&str> = group.iter().map(|word| word.text.as_str()).collect();
        let part = if is_zoomed {
            format!("{origin} \"{}\"", text.join(" "))
        } else {
            origin.to_owned()
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" and ")
}
