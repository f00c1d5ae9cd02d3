//! The source viewer.

use ratatui::text::Line;

use crate::event::{CorpusCard, Event, Operation, SessionEvent, Source as Document};
use crate::story::words;
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::state::State;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Reaction, Scene, Size, View};
use crate::tui::viewport::{Content, Item, Scroll};

/// Longer lines are truncated here, so that a file of one line of many megabytes stays readable.
const LONGEST_LINE: usize = 20_000;

/// The document at a passage.
pub struct Source {
    passage: Passage,
    /// `None` until it has been read, where the run did not record the passage.
    document: Option<Document>,
    origin: Origin,
    /// The generation of the index that the run read.
    generation: Option<u64>,
    /// The position that the window was given; at another one, the user has scrolled.
    put_at: usize,
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
            passage,
            document: recorded,
            origin,
            generation: None,
            put_at: 0,
        }
    }

    /// Remembers the corpus of the run, to notice when the index has moved on.
    pub fn read_over(mut self, corpus: Option<&CorpusCard>) -> Self {
        self.generation = corpus.map(|corpus| corpus.generation);
        self
    }

    fn is_waiting(&self) -> bool {
        self.origin == Origin::Waiting
    }

    /// Takes the document, if it is the requested one.
    fn opened(&mut self, state: &State) {
        // the lines may have moved when the folder was indexed again after the run
        let generation = state.corpus.as_ref().map(|corpus| corpus.generation);
        let has_moved = self.generation != generation;

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

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        rows(self, scene, cells)
    }

    fn size(&self) -> Size {
        Size::up_to(130, 90)
    }

    fn copied(&self, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let document = self.document.as_ref()?;
        let lines: Vec<&str> = document
            .lines
            .iter()
            .zip(document.from_line..)
            .filter(|(_, number)| (document.first_line..=document.last_line).contains(number))
            .map(|(line, _)| line.as_str())
            .collect();
        Some(Copied::new(
            format!("the cited lines of {}", self.location()),
            lines.join("\n"),
        ))
    }

    fn receive(&mut self, event: &Event, state: &State) -> Reaction {
        match event {
            Event::Session(SessionEvent::SourceOpened { source })
                if self.is_waiting() && source.document == self.passage.document =>
            {
                self.opened(state);
                Reaction::Redraw
            }
            Event::Session(SessionEvent::OperationFailed {
                operation: Operation::OpenSource,
                ..
            }) if self.is_waiting() => {
                let reason = state.log.last().map(|entry| entry.problem.to_string());
                self.origin = Origin::Failed(reason.unwrap_or_default());
                Reaction::Redraw
            }
            _ => Reaction::Nothing,
        }
    }

    /// A document may be long: its rows are built once per width.
    fn is_live(&self) -> bool {
        false
    }

    /// Keeps the cited lines visible until the user scrolls.
    fn settle(&mut self, content: &Content, height: usize, scroll: &mut Scroll) {
        if scroll.top != self.put_at {
            return;
        }
        let cited = content
            .items()
            .next()
            .and_then(|item| content.rows_of(item));
        let above = cited.map_or(0, |cited| cited.start.saturating_sub(height / 4));
        self.put_at = above.min(content.rows.len().saturating_sub(height));
        scroll.top = self.put_at;
    }
}

impl Source {
    fn location(&self) -> String {
        let passage = &self.passage;
        let lines = [passage.first_line, passage.last_line];
        words::location(&passage.document, lines, passage.place.as_ref())
    }
}

/// The document, each line with its number, wrapped; the cited lines are one item.
fn rows(view: &Source, scene: &Scene<'_>, cells: usize) -> Content {
    let mut page = Page::new(scene, cells);
    if let Some((tone, words)) = remark(view, scene) {
        page.text(tone, "  ", &words);
        page.gap();
    }
    let Some(document) = &view.document else {
        return page.content;
    };

    let last = document.from_line as usize + document.lines.len();
    let digits = last.to_string().len().max(3);
    for (line, number) in document.lines.iter().zip(document.from_line..) {
        if let Some(caption) = caption(document, number) {
            let words = format!("  {:>digits$} ── {caption} ──", "");
            page.line(page.span(Tone::Quiet, words));
        }
        let numbered = NumberedLine {
            line,
            number,
            digits,
            is_cited: (document.first_line..=document.last_line).contains(&number),
        };
        numbered.rows(&mut page);
    }
    page.content
}

/// Returns the caption of the place that begins at a line.
fn caption(document: &Document, line: u32) -> Option<String> {
    let places = &document.places;
    let at = places
        .binary_search_by_key(&line, |place| place.line)
        .ok()?;
    let before = at.checked_sub(1).map(|before| &places[before].place);
    words::place_caption(&places[at].place, before)
}

/// A line of the document with its number.
struct NumberedLine<'a> {
    line: &'a str,
    number: u32,
    /// Cells of the column of numbers.
    digits: usize,
    is_cited: bool,
}

impl NumberedLine<'_> {
    fn rows(&self, page: &mut Page<'_>) {
        let digits = self.digits;
        let shown = &self.line[..self.line.floor_char_boundary(LONGEST_LINE)];
        let room = page.cells.saturating_sub(digits + 5);
        for (at, range) in text::wrap(shown, room).into_iter().enumerate() {
            let number = if at == 0 {
                self.number.to_string()
            } else {
                String::new()
            };
            let number = page.span(Tone::Quiet, format!("  {number:>digits$} "));
            if self.is_cited {
                let rule = page.span(Tone::Focus, "┃ ");
                let words = page.span(Tone::Cited, &shown[range]);
                page.item(Item::default(), Line::from(vec![number, rule, words]));
            } else {
                let rule = page.span(Tone::Border, "│ ");
                let words = page.span(Tone::Text, &shown[range]);
                page.line(Line::from(vec![number, rule, words]));
            }
        }

        let hidden = self.line.len() - shown.len();
        if hidden > 0 {
            let words = format!("  {:>digits$} │ … {hidden} more bytes in this line", "");
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
    match &view.origin {
        Origin::Waiting => Some((
            Tone::Quiet,
            format!("{recorded}; the document is being read …"),
        )),
        Origin::Recorded(reason) => Some((Tone::Quiet, format!("{recorded}; {reason}."))),
        Origin::Failed(reason) => Some((Tone::Warning, format!("! {recorded}. {reason}"))),
        Origin::Document if view.document.as_ref()?.changed => {
            let update = scene.keymap.sign(Action::Reindex);
            let words = format!(
                "! The file may have changed since this run read it. {update} updates the index."
            );
            Some((Tone::Warning, words))
        }
        Origin::Document => None,
    }
}
