use ratatui::text::{Line, Span};

use crate::config::{Location, RetrieverKind, RetrieverSettings};
use crate::event::{ChunkText, Context, Hit, Part, Ranked, Retrieval as Retrieved, WordOrigin};
use crate::story::words::{self, LOST};
use crate::story::{Lookup, Run};
use crate::tui::hyperlinks::fragment;
use crate::tui::page::RULE;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Action, Copied, Item, Page, Passage, Request, Scene, Scroll, Tone, View};

use super::hit_columns::{BAR, Columns, GUTTER, SCORE, Scores, drop_reason};
use super::{absence, funnel};

/// Maximum rows of the text of a hit in a zoomed pane.
const ZOOMED_ROWS: usize = 6;

/// The retrieved chunks with their scores, and why each was kept or dropped.
pub struct Retrieval;

impl View for Retrieval {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.settled_run() else {
            let words =
                "The retrieved chunks: their scores and ranks, and why each was kept or dropped.";
            return page.remark(words);
        };

        if run.lookups.is_empty() {
            let says = self.absence(scene);
            let says = says.unwrap_or_else(|| "nothing has been retrieved yet".to_owned());
            page.remark(&says);
        }

        if let Some(rewritten) = &run.rewritten {
            page.line(funnel::rewriting_row(scene, rewritten, page.cells));
        }

        let columns = Columns::new(page.cells, scene.ui.panes.zoomed, run);
        let next = scene.ui.next_run.config().retriever;
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
                next: &next,
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
        let lookups = scene.settled_run().map_or(&[][..], |run| &run.lookups);
        // re-chunked documents replace the chunks of the lookup before
        let is_replaced = |at: usize| lookups.get(at + 1).is_some_and(|next| next.rechunked);

        let mut hits = 0;
        let mut kept = 0;
        for (at, lookup) in lookups.iter().enumerate() {
            if !is_replaced(at) {
                hits += lookup.hits().len();
                kept += lookup.context.as_ref().map_or(0, |of| of.chunks.len());
            }
        }
        if hits == 0 {
            return String::new();
        }
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

/// Returns how the next context treats a chunk that the user pinned or excluded, in words that
/// begin with a sign.
fn pinning(retriever: &RetrieverSettings, chunk: &ChunkText) -> Option<(Tone, &'static str)> {
    let covers = |locations: &[Location]| locations.iter().any(|location| location.covers(chunk));

    if covers(&retriever.excluded) {
        return Some((Tone::Warning, "- excluded from the next context"));
    }
    covers(&retriever.pinned).then_some((Tone::Strong, "+ pinned to the next context"))
}

/// The rows of one lookup: its query, its funnel and its hits.
struct LookupRows<'a> {
    scene: &'a Scene<'a>,
    run: &'a Run,
    lookup: &'a Lookup,
    /// The number of the lookup in the run.
    row: usize,
    columns: &'a Columns,
    /// The settings of the next run.
    next: &'a RetrieverSettings,
    /// True where the ranks of hits are those of different lists.
    has_several_searches: bool,
}

impl LookupRows<'_> {
    fn write(&self, page: &mut Page<'_>) {
        let scene = self.scene;
        let cells = self.columns.cells;
        page.line(self.query_row());
        let Some(retrieval) = &self.lookup.retrieval else {
            return page.line(scene.span(Tone::Quiet, "       retrieving …"));
        };

        let is_zoomed = scene.ui.panes.zoomed;
        let mut origin = origin_words(self.lookup, is_zoomed);
        if is_zoomed && !origin.is_empty() {
            page.text(Tone::Quiet, " ", &format!("searched with {origin}"));
            origin.clear();
        }
        let found = self.fusion_words(retrieval, &origin);
        let found = text::clip(&found, cells.saturating_sub(1));
        page.line(scene.span(Tone::Quiet, format!(" {found}")));
        if let Some(filtered) = &retrieval.filter {
            let filtered = format!(" only {}", words::filter(filtered));
            let filtered = text::clip(&filtered, cells.saturating_sub(1));
            page.line(scene.span(Tone::Warning, filtered));
        }
        if retrieval.hits.is_empty() {
            page.gap();
            return page.text(Tone::Text, "   ", &self.no_hits_words());
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
                _ if by_words == 0.5 => " · half words, half meaning".to_owned(),
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
        let again = sign(Action::Again);
        let report = sign(Action::IndexReport);
        let is_filtered = |retrieval: &Retrieved| retrieval.filter.is_some();
        match &self.run.corpus {
            Some(corpus) if !corpus.is_indexed() => {
                format!("The folder was not indexed yet: {again} asks again.")
            }
            Some(corpus) if corpus.chunks == 0 => format!(
                "There is nothing to read in this folder: {report} shows what was skipped and why."
            ),
            _ if self.lookup.retrieval.as_ref().is_some_and(is_filtered) => format!(
                "None of the chosen documents matches: {} chooses others.",
                sign(Action::Filter)
            ),
            _ => format!(
                "Nothing in this folder matches. Try other words; {report} shows what was indexed."
            ),
        }
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
            let pinning = pinning(self.next, &hit.chunk);
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

    fn hit_row(
        &self,
        hit: &Hit,
        best: f32,
        pinning: Option<(Tone, &'static str)>,
    ) -> Line<'static> {
        let (scene, columns, chunk) = (self.scene, self.columns, &hit.chunk);
        let dropped = drop_reason(self.run, self.lookup, chunk.id);
        let tone = dropped.as_ref().map_or(Tone::Text, |_| Tone::Dropped);

        let sign = match (self.lookup.label(chunk.id), &dropped) {
            (Some(label), _) => scene.span(Tone::Citation, format!("[{label}]")),
            (None, Some(_)) => scene.span(Tone::Warning, format!(" {LOST}")),
            (None, None) => Span::raw(""),
        };
        let after = " ".repeat(GUTTER.saturating_sub(2 + sign.width()));
        let pin = pinning.map_or(Span::raw(" "), |(tone, words)| {
            scene.span(tone, &words[..1])
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
        let shown = match text::rows(&words, columns.text).next() {
            Some(first) if self.scene.ui.panes.zoomed => first.into(),
            _ => text::clip(&words, columns.text),
        };
        line.spans.extend(self.highlight(&shown).spans);
    }

    /// Writes the text of a hit beside its row where the table leaves room, else below it.
    fn text_rows(&self, hit: &Hit, item: Item, page: &mut Page<'_>) {
        let columns = self.columns;
        let words = in_one_line(&hit.chunk);
        // the first row of a text beside the table is that of the hit itself
        let (room, indent, shown) = if columns.text > 0 {
            (columns.text, columns.text_start(), 1)
        } else {
            (columns.cells.saturating_sub(GUTTER + 1), GUTTER, 0)
        };

        for row in text::first_rows(&words, room, ZOOMED_ROWS)
            .iter()
            .skip(shown)
        {
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
        pinning: Option<(Tone, &'static str)>,
        cells: usize,
    ) -> Vec<Line<'static>> {
        let scene = self.scene;
        let mut lines = Vec::new();
        let mut put = |words: &str, tone: Tone, highlighted: &[String]| {
            let rows = text::rows(words, cells);
            lines.extend(rows.map(|row| scene.highlight_words(row, tone, highlighted)));
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
        let reasons = [
            words::copies(hit),
            words::word_scores(hit.bm25, &hit.words),
            words::naming_hit(hit, self.lookup),
        ];
        for words in reasons.into_iter().flatten() {
            put(&words, Tone::Quiet, &[]);
        }

        let mut nearest = self.run.nearest.iter();
        if let Some(nearest) = nearest.find(|nearest| nearest.chunk == chunk.id) {
            let similarity = words::score(nearest.similarity, 3);
            let words = format!("best sentence {similarity}: “{}”", nearest.text);
            put(&words, Tone::Quiet, &[]);
        }

        if let Some((tone, words)) = pinning {
            put(words, tone, &[]);
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
    text::join(chunk.text.split_whitespace(), " ")
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
        let part = if is_zoomed {
            let words = text::join(group.iter().map(|word| word.text.as_str()), " ");
            format!("{origin} \"{words}\"")
        } else {
            origin.to_owned()
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" and ")
}
