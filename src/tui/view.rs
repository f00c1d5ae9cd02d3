//! [`View`], the trait that each pane and overlay implements in its own file. A view changes
//! nothing itself: it returns a [`Request`].

use std::path::PathBuf;

use crate::event::{ChunkText, Event, Hit, LocalModel, Place, RunSummary};
use crate::guide;

pub use super::keys::{Action, Context};
pub use super::page::Page;
pub use super::scene::Scene;
use super::state::State;
use super::text;
pub use super::theme::Tone;
use super::ui::Purpose;
pub use super::viewport::{Content, Item, Scroll};

/// A pane or an overlay: rows with a title, and what keys do to them.
pub trait View {
    /// Returns the title in the frame of an overlay; a pane has its own.
    fn title(&self, _scene: &Scene<'_>) -> String {
        String::new()
    }

    /// Writes the rows.
    fn write(&self, page: &mut Page<'_>, scroll: &Scroll);

    /// Returns a remark at the right of the title.
    fn note(&self, _scene: &Scene<'_>) -> String {
        String::new()
    }

    /// Returns why it has nothing to show in the run on the screen, now or later; `None` where it
    /// has something, or may have.
    fn absence(&self, _scene: &Scene<'_>) -> Option<String> {
        None
    }

    /// Returns the columns and rows that it takes as an overlay.
    fn size(&self) -> Size {
        Size::READING
    }

    /// Returns the text that copying takes.
    fn copy(&self, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        None
    }

    /// Returns the contexts of keys that hold in it besides reading, the nearest first.
    fn contexts(&self) -> &'static [Context] {
        &[]
    }

    /// Returns the keys for the status line, the most important first.
    fn hints(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::Back, "close"),
            (Action::Search, "search"),
            (Action::Copy, "copy"),
        ]
    }

    /// Answers an action with what is to be done; `None` when the action means nothing here.
    fn act(&self, _action: Action, _scene: &Scene<'_>, _scroll: &Scroll) -> Option<Request> {
        None
    }

    /// Returns whether a click at this cell of the row of an item chooses it, as the key does.
    fn is_button(&self, _scene: &Scene<'_>, _item: Item, _cell: usize) -> bool {
        false
    }

    /// Takes in an event while it is open; `state` has it already.
    fn receive(&mut self, _event: &Event, _state: &State) -> Reaction {
        Reaction::Nothing
    }

    /// Returns whether it waits for an answer of the engine.
    fn is_waiting(&self, _state: &State) -> bool {
        false
    }

    /// Returns whether the rows can change while nothing is received.
    fn is_live(&self) -> bool {
        true
    }

    /// Moves the window after the rows were made, where the view wants something in sight.
    fn settle(&mut self, _content: &Content, _height: usize, _scroll: &mut Scroll) {}

    /// Returns the line above its rows that filters them; `None` where nothing does.
    fn filter(&self) -> Option<Filter> {
        None
    }
}

/// The line above the rows of an overlay that filters them. [`Scene::typed`] has its text.
#[derive(Debug, Clone, Copy)]
pub struct Filter {
    /// True when it is there from the start; otherwise a search begins it.
    pub is_permanent: bool,
    /// True when the overlay stays open after an entry was accepted.
    pub stays_open: bool,
    /// The keys for the status line while it is there.
    pub hints: &'static [(Action, &'static str)],
}

/// Columns and rows that an overlay takes where the screen has them, its frame included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub min_rows: u16,
    pub max_rows: u16,
}

impl Size {
    /// An overlay to read: as high as its text, within limits.
    pub const READING: Self = Self::with_max_rows(110, 60);

    pub const fn with_max_rows(columns: u16, max_rows: u16) -> Self {
        Self {
            columns,
            min_rows: 10,
            max_rows,
        }
    }

    /// An overlay whose height does not change with its rows.
    pub const fn with_rows(columns: u16, rows: u16) -> Self {
        Self {
            columns,
            min_rows: rows,
            max_rows: rows,
        }
    }
}

/// Text for the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// A name for the message that it was copied.
    pub name: String,
    pub text: String,
}

impl Copied {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// The lines as one text; `None` when there are none.
    pub fn lines(name: &str, lines: impl Iterator<Item = String>) -> Option<Self> {
        let mut lines = lines.peekable();
        lines.peek()?;
        Some(Self::new(name, text::join(lines, "\n")))
    }
}

/// A passage of a document to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    pub document: String,
    pub first_line: u32,
    pub last_line: u32,
    /// The page, slide or row, where the file is not text.
    pub place: Option<Place>,
    /// The chunk that the run recorded of it.
    pub chunk: u64,
    /// The sentence of the answer that it supports; empty for none.
    pub statement: String,
}

impl Passage {
    pub fn from_hit(hit: &Hit) -> Self {
        let [first_line, last_line] = hit.chunk.lines;
        Self {
            document: hit.chunk.document.clone(),
            first_line,
            last_line,
            place: hit.chunk.place(hit.chunk.lines),
            chunk: hit.chunk.id,
            statement: String::new(),
        }
    }
}

/// Something that a view wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Close the overlay.
    Close,
    /// Show a message; it is a refusal.
    Refuse(String),
    /// Change a setting for the next run.
    Set { key: &'static str, value: String },
    /// Take back what was changed of a setting.
    Reset(&'static str),
    /// Add a chunk to the places that a setting names, or remove it.
    TogglePlace {
        key: &'static str,
        chunk: Box<ChunkText>,
    },
    /// Type a line, beginning with a text.
    Type(Purpose, String),
    /// Measure the utility of the context with this many samples of each part of it.
    Measure { samples: u32 },
    /// Measure the utility of the context against a reference answer that is typed.
    TypeReference,
    /// Open the document of a passage.
    OpenSource(Passage),
    /// Open the recorded runs of a thread, and show the one at this place.
    OpenThread(Vec<RunSummary>, usize),
    /// Open the recorded runs of a thread, and play the one at this place from its beginning.
    PlayThread(Vec<RunSummary>, usize),
    /// Ask the question of the shown run with these settings.
    AskWith(Vec<(String, String)>),
    /// Choose a variant of the run to try, or no longer.
    ToggleVariant(usize),
    /// Try the variants that are chosen.
    TryVariants,
    /// Choose a preset for the next run.
    Preset(String),
    /// Choose a theme.
    Theme(String),
    /// Put a suggested question into the question line.
    Suggest(usize),
    /// Use a model in its role.
    UseModel(Box<LocalModel>),
    /// Download a model.
    PullModel(String),
    /// Show sources as they are, or rendered.
    SwitchSource,
    /// Show a page of a PDF, from 1, as a picture.
    ShowPage { file: PathBuf, page: u32 },
    /// Stop the download that is under way.
    StopPull,
    /// Stop the measurement of the context.
    StopMeasuring,
    /// Stop the trials of changes.
    StopTrials,
    /// Open a page of the guide.
    OpenGuide(&'static guide::Page),
    /// Run an action of the panes.
    Perform(Action),
}

/// The reaction of an overlay to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    Nothing,
    /// Make the rows again.
    Redraw,
    /// Select the first item.
    SelectFirst,
    Close,
}
