//! The source viewer.

use std::ops::Range;

use ratatui::text::Line;

use crate::event::{Event, Operation, PlaceUnit, SessionEvent, Source as Document};
use crate::story::{Run, words};
use crate::tui::document::{self, Cited, Drawn, Lines};
use crate::tui::page::RULE;
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::view::{
    Action, Content, Context, Copied, Page, Passage, Reaction, Request, Scene, Scroll, Size, Tone,
    View,
};

/// Cells of a statement beside the passage that supports it, and of the document from which on it
/// has them; in a narrower window it stands above.
const STATEMENT: usize = 38;
const MIN_DOCUMENT: usize = 64;

/// The document at a passage.
pub struct Source {
    passage: Passage,
    /// `None` until it has been read, where the run did not record the passage.
    document: Option<Document>,
    origin: Origin,
    /// The generation of the index that the run read.
    generation: Option<u64>,
    /// The lines of the chunk of the passage.
    chunk: [u32; 2],
    /// The sentences of the chunk that the answer cites.
    cited: Vec<Cited>,
    /// The position that the window was given; at another one, the user has scrolled.
    put_at: usize,
    /// The number of rows and the line at the top of the window, as they were last.
    rows: usize,
    top_line: Option<u32>,
    /// The line that a reader looks at, some rows below the top.
    line_in_view: Option<u32>,
}

/// The origin of the text in the source viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The passage as the run recorded it, until the document has been read.
    Waiting,
    /// The passage as the run recorded it, with the reason that the document is not opened.
    Recorded(&'static str),
    /// The document could not be read, for this reason.
    Failed(String),
    /// The document as it is now.
    Document,
}

impl Source {
    /// Creates a viewer of a passage; `recorded` is its text as the run recorded it.
    pub fn new(passage: Passage, recorded: Option<Document>, origin: Origin) -> Self {
        Self {
            chunk: [passage.first_line, passage.last_line],
            passage,
            document: recorded,
            origin,
            generation: None,
            cited: Vec::new(),
            put_at: 0,
            rows: 0,
            top_line: None,
            line_in_view: None,
        }
    }

    /// Remembers the index that the run read, to notice when it has moved on, and what the answer
    /// cites of the chunk.
    pub fn with_run(mut self, run: &Run) -> Self {
        self.generation = run.corpus.as_ref().map(|corpus| corpus.generation);
        if let Some(hit) = run.hit(self.passage.chunk) {
            self.chunk = hit.chunk.lines;
        }

        let by_steps = run.steps.iter().flat_map(|step| &step.citations);
        self.cited = by_steps
            .chain(&run.citations)
            .filter(|citation| citation.chunk == self.passage.chunk)
            .filter_map(Cited::from_citation)
            .collect();
        self
    }

    fn lacks_document(&self) -> bool {
        self.origin == Origin::Waiting
    }

    /// Takes the document, if it is the requested one.
    fn take_document(&mut self, state: &State) {
        // the lines may have moved when the document was indexed again after the run
        let has_moved = match self.generation {
            Some(generation) => state.may_have_changed(&self.passage.document, generation),
            None => state.corpus.is_some(),
        };

        self.document = state.source.clone().map(|source| Document {
            changed: source.changed || has_moved,
            ..source
        });
        self.origin = Origin::Document;
    }
}

impl View for Source {
    fn title(&self, _scene: &Scene<'_>) -> String {
        self.location()
    }

    /// The document, each line with its number.
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        if let Some((tone, words)) = remark(self, scene) {
            page.text(tone, "  ", &words);
            page.gap();
        }
        let Some(document) = &self.document else {
            return;
        };

        let statement = &self.passage.statement;
        let is_beside = !statement.is_empty() && page.cells > MIN_DOCUMENT + STATEMENT;
        let column = page.cells - if is_beside { STATEMENT } else { 0 };
        if !statement.is_empty() && !is_beside {
            self.statement_head(page);
        }

        let lines = Lines::from_source(document);
        let last = document.from_line as usize + document.lines.len();
        let gutter = Gutter {
            digits: last.to_string().len().max(3),
            chunk: self.chunk,
            passage: [document.first_line, document.last_line],
            marks: document::marks(document, &lines, &self.cited),
            shared: text::content_words(statement),
        };
        let room = column.saturating_sub(gutter.digits + 5);
        let first = page.content.rows.len();
        let drawn = if scene.ui.raw_sources {
            document::draw_raw(&lines, room)
        } else {
            document::render(document, &lines, room)
        };

        for ((at, line), number) in drawn.into_iter().enumerate().zip(document.from_line..) {
            if let Some(caption) = caption(document, number) {
                let words = format!("  {:>1$} ── {caption} ──", "", gutter.digits);
                page.line(page.span(Tone::Quiet, words));
            }
            gutter.rows(line, number, shown_number(document, number), page);
            gutter.left_out(lines.omitted_bytes(at), page);
        }
        if is_beside {
            let passage = page.content.row_of_line(document.first_line);
            let lines = self.statement_lines(page, STATEMENT - text::width(RULE) - 1);
            page.write_beside(first, passage.unwrap_or(first), column, lines);
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(130, 90)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Source]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        let is_open = self.origin == Origin::Document;
        if is_open && self.document.as_ref().is_some_and(is_pdf) {
            return &[
                (Action::Back, "close"),
                (Action::ShowPage, "page as a picture"),
                (Action::Search, "search"),
                (Action::Copy, "copy"),
            ];
        }

        &[
            (Action::Back, "close"),
            (Action::SwitchSource, "raw/rendered"),
            (Action::Edit, "edit"),
            (Action::Search, "search"),
            (Action::Copy, "copy"),
        ]
    }

    fn act(&self, action: Action, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        match action {
            // for the editor
            Action::OpenSource => return Some(Request::OpenSource(self.passage.clone())),
            Action::ShowPage => return Some(self.page()),
            Action::SwitchSource => {}
            _ => return None,
        }

        let form = self.document.as_ref().map(|document| &document.form);
        Some(if form.is_some_and(document::is_rendered) {
            Request::SwitchSource
        } else {
            Request::Refuse(
                "this text is shown as it is: it is neither Markdown nor a table".to_owned(),
            )
        })
    }

    fn copy(&self, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let lines = text::join(passage_lines(self.document.as_ref()?), "\n");
        let name = format!("the cited lines of {}", self.location());
        Some(Copied::new(name, lines))
    }

    fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        match event {
            Event::Session(SessionEvent::SourceOpened { source })
                if self.lacks_document() && source.document == self.passage.document =>
            {
                self.take_document(state);
                Reaction::Redraw
            }
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::OpenSource,
                ..
            }) if self.lacks_document() => {
                let reason = state.log.last().map(|entry| entry.problem.to_string());
                self.origin = Origin::Failed(reason.unwrap_or_default());
                Reaction::Redraw
            }
            _ => Reaction::Nothing,
        }
    }

    fn is_waiting(&self, _state: &State) -> bool {
        self.lacks_document()
    }

    /// A document may be long: its rows are built once per width.
    fn is_live(&self) -> bool {
        self.lacks_document()
    }

    /// Keeps the passage visible until the user scrolls, and then the line at the top when the rows
    /// were made again.
    fn settle(&mut self, content: &Content, height: usize, scroll: &mut Scroll) {
        let is_rebuilt = content.rows.len() != self.rows;
        self.rows = content.rows.len();

        if scroll.top == self.put_at {
            let passage = content.row_of_line(self.passage.first_line).unwrap_or(0);
            let covered = content.head(passage, height).map_or(0, |head| head.len());
            let above = passage.saturating_sub(covered.max(height / 4));
            self.put_at = above.min(content.rows.len().saturating_sub(height));
            scroll.top = self.put_at;
        } else if is_rebuilt {
            let same = self.top_line.and_then(|line| content.row_of_line(line));
            scroll.top = same.unwrap_or(scroll.top);
        }

        let top = content.top(scroll, height);
        self.top_line = content.line_at(top);
        let below = content.line_at(top + height / 4);
        self.line_in_view = below.or(self.top_line);
    }
}

impl Source {
    /// Returns the request for the page in view as a picture.
    fn page(&self) -> Request {
        let refuse = |reason: &str| Request::Refuse(reason.to_owned());
        let Some(document) = &self.document else {
            return refuse("the document is not read yet");
        };
        if self.origin != Origin::Document {
            return refuse("a page is shown once its document is open");
        }

        let line = self.line_in_view.unwrap_or(self.passage.first_line);
        let mut places = document.places.iter().rev();
        let before = places.find(|place| place.line <= line);
        let page = before.map(|from| &from.place).filter(|place| {
            is_pdf(document) && place.unit == PlaceUnit::Page && place.member.is_none()
        });
        match page {
            Some(place) => Request::ShowPage {
                file: document.path.clone().into(),
                page: place.first,
            },
            None => refuse("only the pages of a PDF are shown as pictures"),
        }
    }

    /// Returns the rows of the statement, with the words that the passage has, too.
    fn statement_lines(&self, page: &Page<'_>, cells: usize) -> Vec<Line<'static>> {
        let statement = &self.passage.statement;
        let passage = text::join(self.document.iter().flat_map(passage_lines), " ");
        let mut shared = text::content_words(statement);
        shared.retain(|word| !text::matches(&passage, word).is_empty());

        let head = Line::from(page.span(Tone::Quiet, "the answer says"));
        let rows = text::rows(statement, cells);
        let rows = rows.map(|row| page.scene.highlight_words(row, Tone::Text, &shared));
        std::iter::once(head).chain(rows).collect()
    }

    /// Writes the statement above the document, where it stays in sight.
    fn statement_head(&self, page: &mut Page<'_>) {
        let start = page.content.rows.len();
        for mut line in self.statement_lines(page, page.cells.saturating_sub(4)) {
            line.spans.insert(0, "  ".into());
            page.line(line);
        }
        page.gap();
        let end = page.content.rows.len();
        page.content.heads.push(start..end);
    }

    fn location(&self) -> String {
        let passage = &self.passage;
        let lines = [passage.first_line, passage.last_line];
        words::location(&passage.document, lines, passage.place.as_ref())
    }
}

/// Returns the lines of a document that were opened.
fn passage_lines(document: &Document) -> impl Iterator<Item = &str> {
    let lines = document.lines.iter().zip(document.from_line..);
    let opened = document.first_line..=document.last_line;
    let lines = lines.filter(move |(_, number)| opened.contains(number));
    lines.map(|(line, _)| line.as_str())
}

fn is_pdf(document: &Document) -> bool {
    document.path.to_lowercase().ends_with(".pdf")
}

/// Returns the number to show at a line: that of the row in a sheet, and of the line elsewhere.
fn shown_number(document: &Document, line: u32) -> Option<u32> {
    let places = &document.places;
    let from = places.iter().rev().find(|place| place.line <= line);
    match from.filter(|from| from.place.unit == PlaceUnit::Row) {
        Some(from) => (from.line == line).then_some(from.place.first),
        None => Some(line),
    }
}

/// Returns the caption of the place that begins at a line.
fn caption(document: &Document, line: u32) -> Option<String> {
    let places = &document.places;
    let at = places.binary_search_by_key(&line, |place| place.line);
    let at = at.ok()?;
    let before = at.checked_sub(1).map(|before| &places[before].place);
    words::place_caption(&places[at].place, before)
}

/// The numbers of the lines, and what is highlighted of them.
struct Gutter {
    /// Cells of the column of numbers.
    digits: usize,
    /// Lines from 1, both inclusive.
    chunk: [u32; 2],
    passage: [u32; 2],
    /// Bytes of the shown lines.
    marks: Vec<Range<usize>>,
    /// The words of the statement that the passage supports.
    shared: Vec<String>,
}

impl Gutter {
    /// Writes a line of the document.
    fn rows(&self, line: Drawn, number: u32, shown: Option<u32>, page: &mut Page<'_>) {
        let digits = self.digits;
        let is_in = |[first, last]: [u32; 2]| (first..=last).contains(&number);
        let is_of_chunk = is_in(self.chunk) || is_in(self.passage);
        if line.is_header {
            let start = page.content.rows.len();
            page.content.heads.push(start..start + line.rows.len());
        }

        for (at, row) in line.rows.into_iter().enumerate() {
            let shown = shown.filter(|_| at == 0);
            let shown = shown.map(|number| number.to_string()).unwrap_or_default();
            let rule = if is_of_chunk {
                page.span(Tone::Focus, "┃ ")
            } else {
                page.span(Tone::Border, "│ ")
            };
            let mut spans = Vec::new();
            for piece in row {
                piece.spans(page.scene, &self.marks, &mut spans);
            }
            let mut text = Line::from(spans);
            if is_in(self.passage) {
                text = page.scene.highlight(text, &self.shared);
            }
            let number_span = page.span(Tone::Quiet, format!("  {shown:>digits$} "));
            text.spans.splice(..0, [number_span, rule]);
            page.content.document_line(number, text);
        }
    }

    fn left_out(&self, bytes: usize, page: &mut Page<'_>) {
        if bytes > 0 {
            let digits = " ".repeat(self.digits);
            let words = format!("  {digits} │ … {bytes} more bytes in this line");
            page.line(page.span(Tone::Quiet, words));
        }
    }
}

/// Returns the origin of the text, unless it is the document as it was indexed.
fn remark(view: &Source, scene: &Scene<'_>) -> Option<(Tone, String)> {
    let recorded = if view.document.is_some() {
        "The passage as the run recorded it"
    } else {
        "The run did not record this passage"
    };

    let (tone, words) = match &view.origin {
        Origin::Waiting => {
            let elapsed = scene.elapsed_words();
            (
                Tone::Quiet,
                format!("{recorded}; the document is being read …{elapsed}"),
            )
        }
        Origin::Recorded(reason) => (Tone::Quiet, format!("{recorded}; {reason}.")),
        Origin::Failed(reason) => (Tone::Warning, format!("! {recorded}. {reason}")),
        Origin::Document if view.document.as_ref()?.changed => {
            let update = scene.keys_behind(Action::Reindex);
            let changed = "! The file may have changed since this run read it.";
            (
                Tone::Warning,
                format!("{changed} {update} updates the index."),
            )
        }
        Origin::Document => return None,
    };
    Some((tone, words))
}
