//! Opening what lies over the panes, and saving.

use crate::event::{Citation, Command, CorpusCard, Hit, Source};
use crate::tui::panes::Pane;
use crate::tui::viewport::{Item, Scroll};
use crate::tui::{overlays, picture, save};

use super::{App, Effect, Origin, Overlay, SourceView, Wanted};

impl App {
    pub(super) fn open(&mut self, overlay: Overlay) {
        self.ui.field = None;
        self.ui.needle.clear();
        self.ui.overlay = Some((overlay, Scroll::default()));
    }

    pub(in crate::tui) fn open_help(&mut self) {
        if matches!(self.ui.overlay, Some((Overlay::Help(_), _))) {
            self.ui.overlay = None;
            return;
        }
        let contexts = self.contexts();
        self.open(Overlay::Help(contexts));
    }

    pub(in crate::tui) fn open_prompts(&mut self) {
        self.open(Overlay::Prompts);
    }

    pub(in crate::tui) fn open_report(&mut self) {
        self.open(Overlay::Report);
    }

    pub(in crate::tui) fn open_log(&mut self) {
        self.open(Overlay::Log);
    }

    pub(in crate::tui) fn open_settings(&mut self) {
        self.open(Overlay::Settings);
        self.select_first();
    }

    pub(in crate::tui) fn open_sessions(&mut self) {
        if self.has_engine() {
            self.send(Command::ListSessions);
            self.open(Overlay::Sessions);
            self.select_first();
        }
    }

    pub(super) fn select_first(&mut self) {
        self.change_place(|scroll, content, _| scroll.selected = content.items().next());
    }

    /// Opens the document at the selected citation or hit; with nothing selected, at the first one.
    pub(in crate::tui) fn open_source(&mut self) {
        let Some((wanted, chunk)) = self.place_to_open() else {
            self.tell(
                "nothing to open: select a hit or a sentence with a citation",
                true,
            );
            return;
        };
        let source = chunk.and_then(|chunk| self.recorded_source(chunk, &wanted));
        let origin = self
            .why_not_opened()
            .map_or(Origin::Waiting, Origin::Recorded);
        if origin == Origin::Waiting {
            let Wanted {
                document,
                first_line,
                last_line,
            } = wanted.clone();
            self.send(Command::OpenSource {
                document,
                first_line,
                last_line,
            });
        }
        let view = SourceView {
            wanted,
            source,
            origin,
            put_at: 0,
            rows: None,
        };
        self.open(Overlay::Source(Box::new(view)));
    }

    /// Why the document itself is out of reach; None when it can be asked for.
    fn why_not_opened(&self) -> Option<&'static str> {
        if self.ui.player.is_some() {
            return Some("a replay does not open documents");
        }
        let folder = |corpus: &CorpusCard| corpus.folder.clone();
        let of_run = self
            .scene()
            .run
            .and_then(|run| run.corpus.as_ref())
            .map(folder);
        (of_run != self.state.corpus.as_ref().map(folder))
            .then_some("the run was over another folder than the open one")
    }

    fn place_to_open(&self) -> Option<(Wanted, Option<u64>)> {
        let run = self.scene().run?;
        let of_citation = |citation: &Citation| {
            let wanted = Wanted {
                document: citation.file.clone(),
                first_line: citation.first_line,
                last_line: citation.last_line,
            };
            (wanted, Some(citation.chunk))
        };
        let of_hit = |hit: &Hit| {
            let [first_line, last_line] = hit.chunk.lines;
            Some((
                Wanted {
                    document: hit.chunk.document.clone(),
                    first_line,
                    last_line,
                },
                Some(hit.chunk.id),
            ))
        };
        match self.ui.pane {
            Pane::Retrieval => {
                let selected = self
                    .ui
                    .scroll(Pane::Retrieval)
                    .selected
                    .unwrap_or(Item { row: 0, part: 1 });
                of_hit(
                    run.lookups
                        .get(selected.row)?
                        .hits()
                        .get(selected.part.checked_sub(1)?)?,
                )
            }
            Pane::Refinement
                if self
                    .ui
                    .scroll(Pane::Refinement)
                    .selected
                    .is_some_and(|item| item.part > 0) =>
            {
                let selected = self.ui.scroll(Pane::Refinement).selected?;
                of_hit(run.hit(run.refinement.chunk(selected.row, selected.part)?)?)
            }
            Pane::Answer | Pane::Uncertainty | Pane::Links | Pane::Refinement => {
                match self.ui.scroll(Pane::Answer).selected {
                    Some(item) => run
                        .steps
                        .get(item.row)?
                        .citations
                        .get(item.part.saturating_sub(1))
                        .map(of_citation),
                    None => run
                        .steps
                        .iter()
                        .flat_map(|step| &step.citations)
                        .chain(&run.citations)
                        .next()
                        .map(of_citation),
                }
            }
        }
    }

    /// The passage as the run recorded it.
    fn recorded_source(&self, chunk: u64, wanted: &Wanted) -> Option<Source> {
        let hit = self.scene().run?.hit(chunk)?;
        Some(Source {
            document: wanted.document.clone(),
            path: wanted.document.clone(),
            lines: hit.chunk.text.lines().map(str::to_owned).collect(),
            from_line: hit.chunk.lines[0],
            first_line: wanted.first_line,
            last_line: wanted.last_line,
            changed: false,
        })
    }

    /// A document was read: the viewer that waits for it takes it.
    pub(super) fn source_arrived(&mut self, came: &Source) {
        // indexed anew since the run, the lines may have moved
        let generation = |corpus: Option<&CorpusCard>| corpus.map(|corpus| corpus.generation);
        let of_run = generation(self.scene().run.and_then(|run| run.corpus.as_ref()));
        let moved = of_run != generation(self.state.corpus.as_ref());
        let source = self.state.source.clone();
        if let Some((Overlay::Source(view), _)) = &mut self.ui.overlay
            && view.origin == Origin::Waiting
            && view.wanted.document == came.document
        {
            view.source = source.map(|source| Source {
                changed: source.changed || moved,
                ..source
            });
            (view.origin, view.rows) = (Origin::Document, None);
        }
    }

    /// A document could not be read: what the run recorded stays, and the viewer says why.
    pub(super) fn source_failed(&mut self) {
        let why = self
            .state
            .log
            .last()
            .map_or(String::new(), |entry| entry.text.clone());
        if let Some((Overlay::Source(view), _)) = &mut self.ui.overlay
            && view.origin == Origin::Waiting
        {
            (view.origin, view.rows) = (Origin::Failed(why), None);
        }
    }

    /// Wraps the document once for the width of the screen, and keeps the cited lines in sight until the person moves.
    pub(super) fn prepare_source(&mut self) {
        let Some((mut overlay, mut scroll)) = self.ui.overlay.take() else {
            return;
        };
        let cells =
            usize::from(overlays::rows_area((&overlay, &scroll), &self.scene(), self.size).width);
        if let Overlay::Source(view) = &mut overlay
            && view.rows.as_ref().is_none_or(|(width, _)| *width != cells)
        {
            view.rows = Some((cells, overlays::source_rows(view, &self.scene(), cells)));
        }
        // the height depends on the rows
        let height =
            usize::from(overlays::rows_area((&overlay, &scroll), &self.scene(), self.size).height);
        if let Overlay::Source(view) = &mut overlay
            && let Some((_, rows)) = &view.rows
            && scroll.top == view.put_at
        {
            let cited = rows.items().next().and_then(|item| rows.rows_of(item));
            let above = cited.map_or(0, |cited| cited.start.saturating_sub(height / 4));
            view.put_at = above.min(rows.rows.len().saturating_sub(height));
            scroll.top = view.put_at;
        }
        self.ui.overlay = Some((overlay, scroll));
    }

    pub(in crate::tui) fn save_run(&mut self) {
        let Some(run) = self.scene().run else {
            self.tell("nothing has been asked yet", true);
            return;
        };
        let (name, text) = (
            format!("ragscope-{}", save::file_name(&run.id)),
            save::markdown(run),
        );
        self.write_new(&name, "md", text);
    }

    pub(in crate::tui) fn save_screen(&mut self) {
        let text = save::rows(&save::screen(self));
        self.write_new("ragscope-screen", "txt", text);
    }

    pub(in crate::tui) fn save_picture(&mut self) {
        let picture = picture::svg(&save::screen(self));
        self.write_new("ragscope-screen", "svg", picture);
    }

    /// Writes a file under the first free name, so that nothing is overwritten.
    fn write_new(&mut self, name: &str, ending: &str, text: String) {
        let numbered = (2_u32..).map(|number| format!("{name}-{number}.{ending}"));
        let names = std::iter::once(format!("{name}.{ending}")).chain(numbered);
        if let Some(path) = names
            .map(|name| self.options.save_folder.join(name))
            .find(|path| !path.exists())
        {
            self.effects.push(Effect::Write { path, text });
        }
    }
}
