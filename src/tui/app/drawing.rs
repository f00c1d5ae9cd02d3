//! Drawing: what depends on the size and the theme is prepared, and then nothing changes.

use ratatui::buffer::Buffer;

use crate::story::StageKind;
use crate::tui::hyperlinks::Placed;
use crate::tui::layout::{FRAME_ROWS, inside};
use crate::tui::pane::Pane;
use crate::tui::screen::{PaneRows, Screen};
use crate::tui::ui::Focus;
use crate::tui::view::Scene;
use crate::tui::{ascii, panes, waterfall};

use super::base::App;

impl App {
    /// Updates everything that depends on size and theme; called before drawing.
    pub fn prepare(&mut self) {
        self.dress_input();
        self.follow_work();
        self.prepare_panes();
        self.prepare_overlay();
        if let Some(page) = &mut self.page {
            page.fit(self.size);
        }
    }

    /// Shows the pane of the present work, until the user chooses one.
    fn follow_work(&mut self) {
        let run = self.scene().run.filter(|_| !self.ui.panes.is_chosen);
        let stage = run.and_then(|run| Some((run, run.stages.last()?.kind)));
        let Some((run, kind)) = stage else {
            return;
        };

        let (pane, _) = waterfall::place_of(run, kind);
        let is_text = matches!(
            kind,
            StageKind::Write { .. } | StageKind::Support | StageKind::Check
        );
        // a follow-up is rewritten before anything is retrieved
        let is_empty = pane == Pane::Retrieval && run.lookups.is_empty();
        let is_elsewhere = self.ui.is_in_progress(run) && !is_text && !is_empty;
        let panes = &mut self.ui.panes;
        panes.alone = if is_elsewhere { pane } else { Pane::Answer };
        if pane != Pane::Answer {
            panes.beside = pane;
        }
    }

    /// Builds the rows of the panes on the screen, and measures the room that they need. Their
    /// width does not depend on that room.
    fn prepare_panes(&mut self) {
        let scene = self.scene();
        let is_absent = |pane| panes::view(pane).absence(&scene).is_some();
        self.ui.panes.needs.absent = Pane::ALL.map(is_absent);
        self.rows = self.build_rows(&self.scene());

        // a pane that has the screen to itself has all rows
        if self.rows.len() < 2 {
            return;
        }
        for PaneRows { pane, content } in &self.rows {
            let rows = u16::try_from(content.rows.len()).unwrap_or(u16::MAX);
            self.ui.panes.needs.rows[*pane as usize] = rows.saturating_add(FRAME_ROWS);
        }
    }

    /// Returns the rows of the panes on the screen.
    fn build_rows(&self, scene: &Scene<'_>) -> Vec<PaneRows> {
        let panes = self.layout().map_or(Vec::new(), |layout| layout.panes);
        let build = |(pane, frame)| {
            let cells = usize::from(inside(frame).width);
            let content = panes::content(pane, scene, cells);
            PaneRows { pane, content }
        };
        panes.into_iter().map(build).collect()
    }

    /// Updates the look of the question: whether it has a cursor, and the words of an empty one.
    fn dress_input(&mut self) {
        let is_active = self.ui.panes.focus == Focus::Input
            && self.overlay.is_none()
            && self.ui.field.is_none();
        let empty = if is_active {
            self.offered_question()
        } else {
            "i to type a question".to_owned()
        };
        self.ui.question.is_active = is_active;
        self.ui.question.empty = empty;
    }

    pub(super) fn prepare_overlay(&mut self) {
        // the overlay is out of the app while it looks at the app
        if let Some(mut open) = self.overlay.take() {
            open.prepare(&self.scene(), self.size);
            self.overlay = Some(open);
        }
    }

    /// Draws the screen without changing it.
    pub fn draw(&self, buffer: &mut Buffer) {
        if let Some(page) = &self.page {
            return self.draw_page(page, buffer);
        }
        let placed = self.draw_cells(self.scene(), &self.rows, buffer);
        let corpus = self.scene().run.and_then(|run| run.corpus.as_ref());
        if let Some(corpus) = corpus.filter(|_| self.options.has_hyperlinks) {
            self.addresses.write(&placed, corpus, buffer);
        }
    }

    /// Draws the screen without hyperlinks, and returns the places that it names.
    fn draw_cells(&self, scene: Scene<'_>, rows: &[PaneRows], buffer: &mut Buffer) -> Vec<Placed> {
        let screen = Screen {
            scene,
            overlay: self.overlay.as_ref(),
            layout: self.layout(),
            rows,
        };
        let placed = screen.draw(buffer);
        if self.is_ascii {
            ascii::replace(buffer);
        }
        placed
    }

    /// Returns the screen in its present state.
    pub(in crate::tui) fn picture(&self) -> Buffer {
        self.picture_of(self.scene())
    }

    /// Returns the screen in its present state, to be saved without its looks.
    pub(super) fn text_picture(&self) -> Buffer {
        let scene = Scene {
            marks_struck: true,
            ..self.scene()
        };
        self.picture_of(scene)
    }

    fn picture_of(&self, scene: Scene<'_>) -> Buffer {
        let mut buffer = Buffer::empty(self.size);
        self.draw_cells(scene, &self.build_rows(&scene), &mut buffer);
        buffer
    }
}
