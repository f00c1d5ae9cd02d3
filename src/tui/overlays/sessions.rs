//! The threads of recorded runs.

use ratatui::text::{Line, Span};

use crate::event::{CorpusCard, Event, RunEvent, RunSummary, SessionEvent};
use crate::story::RecordedThread;
use crate::story::words;
use crate::tui::state::State;
use crate::tui::ui::Purpose;
use crate::tui::view::{
    Action, Context, Copied, Filter, Item, Page, Reaction, Request, Scene, Scroll, Size, Tone, View,
};
use crate::tui::{fuzzy, text};

/// Cells of the date, of the preset or number of questions, and of the sign before a title.
const DATE: usize = 20;
const ABOUT: usize = 12;
const SIGN: usize = 2;
/// Minimum cells at which a title has the preset before it.
const MIN_ABOUT: usize = 70;

/// Cells from which on the model and the folder of a thread are beside its title, and their own
/// maxima.
const WIDE: usize = 100;
const MODEL: usize = 20;
const FOLDER: usize = 26;
/// The share of a narrower list that the folder alone has.
const NARROW_SHARE: usize = 5;
/// Threads in the list, at most: every frame writes them all, and nobody scrolls further.
const MAX_LISTED: usize = 1000;

const HINTS: &[(Action, &str)] = &[
    (Action::Back, "close"),
    (Action::Choose, "open"),
    (Action::PlayRun, "play"),
    (Action::Search, "find"),
    (Action::RenameThread, "rename"),
];

/// The threads of recorded runs, to resume one.
#[derive(Debug, Default)]
pub struct Sessions {
    is_listed: bool,
}

impl View for Sessions {
    fn title(&self, scene: &Scene<'_>) -> String {
        match &scene.state.sessions {
            Some(sessions) if !sessions.threads.is_empty() && !sessions.has_more => {
                format!("Recorded threads ({})", sessions.threads.len())
            }
            Some(_) | None => "Recorded threads".to_owned(),
        }
    }

    fn write(&self, page: &mut Page<'_>, scroll: &Scroll) {
        let scene = page.scene;
        let threads = matching_threads(scene);
        let Some(sessions) = &scene.state.sessions else {
            let words = format!("   reading the list …{}", scene.elapsed_words());
            return page.line(page.span(Tone::Quiet, words));
        };
        if sessions.threads.is_empty() {
            page.remark(&format!(
                "No run has been recorded in {} yet. Ask something: every run is recorded.",
                sessions.folder
            ));
        } else if threads.is_empty() {
            page.line(page.span(Tone::Quiet, "  no matching thread"));
        }

        let open = open_folder(scene);
        for (row, thread) in threads.iter().enumerate() {
            let last = thread.runs.last();
            let from = Elsewhere {
                model: other_model(last, scene),
                folder: other_folder(last, open.as_deref()),
            };
            let is_wide = page.cells >= WIDE;
            let beside = if is_wide {
                from.words(MODEL, FOLDER)
            } else {
                let folder = Elsewhere {
                    model: None,
                    ..from
                };
                folder.words(0, page.cells / NARROW_SHARE)
            };
            let line = thread_row(page, thread, &beside);
            page.item(Item::new(row, 0), line);
            if scroll.selected.is_some_and(|selected| selected.row == row) {
                run_rows(page, row, thread, (!is_wide).then_some(from));
            }
        }
        if sessions.has_more {
            let words = format!("  … reading the older ones{}", scene.elapsed_words());
            page.line(page.span(Tone::Quiet, words));
        } else if threads.len() == MAX_LISTED && sessions.threads.len() > MAX_LISTED {
            page.line(page.span(Tone::Quiet, "  … more: search for their words"));
        }
    }

    fn size(&self) -> Size {
        Size::with_max_rows(130, 60)
    }

    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let (thread, run) = selection(scene, scroll)?;
        Some(Copied::new("the path of the run", &thread.runs[run].file))
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Threads, Context::Choosing]
    }

    fn hints(&self) -> &'static [(Action, &'static str)] {
        HINTS
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        let (thread, run) = selection(scene, scroll)?;
        match action {
            Action::Choose | Action::Accept => Some(Request::OpenThread(thread.runs.clone(), run)),
            Action::PlayRun => Some(Request::PlayThread(thread.runs.clone(), run)),
            Action::RenameThread => {
                let purpose = Purpose::ThreadName(thread.id.clone());
                Some(Request::Type(purpose, thread.title().to_owned()))
            }
            _ => None,
        }
    }

    fn receive(&mut self, event: &Event, _state: &State) -> Reaction {
        match event {
            Event::Session(SessionEvent::SessionsListed { .. }) => {
                if std::mem::replace(&mut self.is_listed, true) {
                    Reaction::Redraw
                } else {
                    Reaction::SelectFirst
                }
            }
            // the run that was chosen shows itself
            Event::Run(RunEvent::RunStarted { .. }) => Reaction::Close,
            _ => Reaction::Nothing,
        }
    }

    fn is_waiting(&self, state: &State) -> bool {
        let sessions = state.sessions.as_ref();
        sessions.is_none_or(|sessions| sessions.has_more)
    }

    fn filter(&self) -> Option<Filter> {
        Some(Filter {
            is_permanent: false,
            stays_open: false,
            hints: HINTS,
        })
    }
}

/// Returns the threads that match the typed letters in their name, a question or an answer: the
/// best of them, and without letters the newest.
fn matching_threads<'s>(scene: &Scene<'s>) -> Vec<&'s RecordedThread> {
    let sessions = scene.state.sessions.iter();
    let threads = sessions.flat_map(|sessions| &sessions.threads);
    let mut found = fuzzy::matching(scene.typed, threads, |thread| {
        let runs = thread.runs.iter();
        let runs = runs.flat_map(|run| [Some(run.question.as_str()), run.answer.as_deref()]);
        let words = std::iter::once(thread.name.as_deref()).chain(runs);
        text::join(words.flatten(), " ")
    });
    // those of the open folder come first while nothing is searched for
    if scene.typed.is_empty() {
        let open = open_folder(scene);
        let is_other =
            |thread: &&RecordedThread| other_folder(thread.runs.last(), open.as_deref()).is_some();
        found.sort_by_cached_key(is_other);
    }
    found.truncate(MAX_LISTED);
    found
}

fn open_folder(scene: &Scene<'_>) -> Option<String> {
    scene.state.corpus.as_ref().map(CorpusCard::arguments)
}

/// Returns the folder of a run, where it is not the open one.
fn other_folder<'r>(run: Option<&'r RunSummary>, open: Option<&str>) -> Option<&'r str> {
    let folder = run?.folders.as_deref();
    folder.filter(|folder| Some(*folder) != open)
}

/// Returns the generator of a run, where it is not the one that is loaded.
fn other_model<'r>(run: Option<&'r RunSummary>, scene: &Scene<'_>) -> Option<&'r str> {
    let model = run?.generator.as_deref()?;
    let loaded = scene.state.generator().map(|card| card.file.as_str());
    (Some(model) != loaded).then(|| model.strip_suffix(".gguf").unwrap_or(model))
}

/// The model and the folder of a thread, where they are not the present ones.
#[derive(Clone, Copy)]
struct Elsewhere<'r> {
    model: Option<&'r str>,
    folder: Option<&'r str>,
}

impl Elsewhere<'_> {
    /// Returns the words for both, in as many cells each; a folder is recognised by its end.
    fn words(self, model: usize, folder: usize) -> String {
        let with = self.model.map(|name| text::clip(name, model));
        let with = with.map(|name| format!("with {name}"));
        let within = self.folder.map(|name| {
            let name = text::one_line(name);
            format!("in {}", text::clip_start(&name, folder))
        });
        text::join([with, within].into_iter().flatten(), " ")
    }
}

/// Returns the selected thread and the place of the selected run in it: the last one while the
/// thread as a whole is selected.
fn selection<'s>(scene: &Scene<'s>, scroll: &Scroll) -> Option<(&'s RecordedThread, usize)> {
    let item = scroll.selected?;
    let thread = *matching_threads(scene).get(item.row)?;
    let last = thread.runs.len().checked_sub(1)?;
    let run = item.part.checked_sub(1).map_or(last, |run| run.min(last));
    Some((thread, run))
}

/// Returns the row of a thread, with words beside its title.
fn thread_row(page: &Page<'_>, thread: &RecordedThread, beside: &str) -> Line<'static> {
    let last = thread.runs.last();
    let started = last.map_or(0, |run| run.started_at);
    let started = text::date(started, &page.scene.options.time_zone);

    let about = match thread.runs.as_slice() {
        [run] => words::preset_name(&run.preset).to_owned(),
        runs => text::quantity(runs.len() as u64, "question"),
    };
    let about = if page.cells >= MIN_ABOUT {
        text::left(&about, ABOUT)
    } else {
        String::new()
    };
    let is_finished = last.is_some_and(|run| run.answer.is_some());

    let room = page.cells.saturating_sub(before_title(page.cells) + 2);
    let gap = if beside.is_empty() { "" } else { "  " };
    let room = room.saturating_sub(text::width(beside) + gap.len());
    let title = text::clip(thread.title(), room);

    Line::from(vec![
        page.span(Tone::Quiet, format!("  {started}  ")),
        page.span(Tone::Text, about),
        page.span(Tone::Warning, if is_finished { "  " } else { "■ " }),
        page.span(Tone::Text, title),
        page.span(Tone::Quiet, format!("{gap}{beside}")),
    ])
}

/// Writes the runs of the selected thread, each with its answer; of a thread that is a single
/// question, the answer.
fn run_rows(page: &mut Page<'_>, row: usize, thread: &RecordedThread, from: Option<Elsewhere<'_>>) {
    let indent = before_title(page.cells);
    let room = page.cells.saturating_sub(indent + 2);
    if let ([run], None) = (thread.runs.as_slice(), &thread.name) {
        let item = Item::new(row, 0);
        let answer = page.span(Tone::Quiet, text::clip(answer(run), room));
        page.item(item, vec![Span::raw(" ".repeat(indent)), answer]);
        return elsewhere_rows(page, item, from);
    }

    for (at, run) in thread.runs.iter().enumerate() {
        let question = text::clip(&run.question, room);
        let rest = room.saturating_sub(text::width(&question) + 2);
        let answer = text::clip(answer(run), rest);
        let line = vec![
            Span::raw(" ".repeat(indent - 2)),
            page.span(Tone::Quiet, "└ "),
            page.span(Tone::Text, question),
            page.span(Tone::Quiet, format!("  {answer}")),
        ];
        page.item(Item::new(row, at + 1), line);
    }
    let part = thread.runs.len();
    elsewhere_rows(page, Item::new(row, part), from);
}

/// Names the model and the folder of a thread, where they are not the present ones.
fn elsewhere_rows(page: &mut Page<'_>, item: Item, from: Option<Elsewhere<'_>>) {
    let indent = " ".repeat(before_title(page.cells));
    let room = page.cells.saturating_sub(indent.len() + "with ".len());
    let words = from.map(|from| from.words(room, room));
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        page.item_text(item, Tone::Quiet, &indent, &words);
    }
}

/// Returns the cells before a title.
fn before_title(cells: usize) -> usize {
    DATE + SIGN + if cells >= MIN_ABOUT { ABOUT } else { 0 }
}

fn answer(run: &RunSummary) -> &str {
    run.answer.as_deref().unwrap_or("not finished")
}
