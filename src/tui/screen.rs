//! The whole screen, drawn from the present state of the app.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Borders, Clear, Paragraph, Widget, Wrap};

use super::hyperlinks::Placed;
use super::layout::{Layout, SMALLEST, inside, split_left, split_top};
use super::overlays::Open;
use super::pane::Pane;
use super::theme::Tone;
use super::ui::Focus;
use super::view::Scene;
use super::viewport::{Content, Window};
use super::{chrome, panes, status, text};

/// The screen at a moment.
pub struct Screen<'a> {
    pub scene: Scene<'a>,
    pub overlay: Option<&'a Open>,
    /// `None` when the screen is too small.
    pub layout: Option<Layout>,
    pub rows: &'a [PaneRows],
}

/// The rows of a pane, built for its width.
pub struct PaneRows {
    pub pane: Pane,
    pub content: Content,
}

impl Screen<'_> {
    /// Draws the screen without changing it, and returns the places in documents that it names.
    pub fn draw(&self, buffer: &mut Buffer) -> Vec<Placed> {
        let scene = &self.scene;
        buffer.set_style(buffer.area, scene.theme.screen());
        let Some(layout) = &self.layout else {
            too_small(scene, buffer);
            return Vec::new();
        };

        chrome::header(scene, layout.header, buffer);
        chrome::progress(scene, layout.progress, buffer);
        chrome::tabs(scene, layout, buffer);
        let mut placed = Vec::new();
        for rows in self.rows {
            if let Some(area) = layout.pane(rows.pane) {
                placed.extend(self.draw_pane(rows, area, buffer));
            }
        }
        for (pane, line) in &layout.folded {
            chrome::draw_folded(scene, *pane, *line, buffer);
        }
        chrome::stages(scene, layout.stages, buffer);
        chrome::tour(scene, layout.tour, buffer);
        chrome::input(scene, layout.input, buffer);
        if let Some(open) = self.overlay {
            draw_overlay(scene, open, layout, buffer);
            // the panes behind recede
            placed.clear();
        }
        status::draw(scene, self.overlay, layout.status, buffer);
        placed
    }

    fn draw_pane(&self, rows: &PaneRows, area: Rect, buffer: &mut Buffer) -> Vec<Placed> {
        let &PaneRows { pane, ref content } = rows;
        let scene = &self.scene;
        let arranged = &scene.ui.panes;
        let is_target = arranged.focused == pane && self.overlay.is_none();
        let focused = is_target && arranged.focus == Focus::Panes;

        let sign = if focused { "▸" } else { " " };
        let title = format!("{sign}{} {}", pane.number(), pane.title());
        let note = panes::view(pane).note(scene);
        draw_frame(scene, &title, &note, focused, area, buffer);

        let rows = inside(area);
        let needle = scene.ui.search.needle.as_str();
        let window = Window {
            content,
            scroll: scene.ui.scroll(pane),
            theme: scene.theme,
            focused,
            needle: if is_target { needle } else { "" },
        };
        window.draw(rows, buffer);
        window.places(rows)
    }
}

fn too_small(scene: &Scene<'_>, buffer: &mut Buffer) {
    let (columns, rows) = SMALLEST;
    let says = format!(
        "ragscope needs {columns} x {rows}; this is {} x {}.",
        buffer.area.width, buffer.area.height
    );
    let wait = "Make the window larger; everything continues meanwhile.";

    let lines = vec![
        Line::from(scene.span(Tone::Strong, says)),
        Line::from(scene.span(Tone::Quiet, wait)),
    ];

    let above = buffer.area.height.saturating_sub(2) / 2;
    let middle = Rect {
        y: buffer.area.y + above,
        height: buffer.area.height - above,
        ..buffer.area
    };

    Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .alignment(Alignment::Center)
        .render(middle, buffer);
}

/// Draws the frame of a pane or an overlay; the note is omitted when it does not fit.
fn draw_frame(
    scene: &Scene<'_>,
    title: &str,
    note: &str,
    focused: bool,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (border, title_tone) = if focused {
        (Tone::Focus, Tone::Focus)
    } else {
        (Tone::Border, Tone::Strong)
    };
    let room = usize::from(area.width).saturating_sub(6);
    let title = text::clip(title, room);
    let note_fits = !note.is_empty() && text::width(&title) + text::width(note) + 4 <= room;

    let mut block = Block::new()
        .borders(Borders::ALL)
        .border_type(BorderType::Rounded)
        .border_style(scene.style(border))
        .title(Line::from(scene.span(title_tone, format!("{title} "))));
    if note_fits {
        let note = Line::from(scene.span(Tone::Quiet, format!(" {note} ")));
        block = block.title(note.alignment(Alignment::Right));
    }
    block.render(area, buffer);
}

fn draw_overlay(scene: &Scene<'_>, open: &Open, layout: &Layout, buffer: &mut Buffer) {
    let screen = buffer.area;
    let area = open.frame(screen);
    // what is behind recedes
    let panes = layout.panes.iter().chain(&layout.folded);
    let panes = panes.map(|(_, area)| *area);
    for behind in panes.chain([layout.tabs, layout.stages, layout.input]) {
        buffer.set_style(behind, scene.style(Tone::Dropped));
    }
    Clear.render(area, buffer);
    buffer.set_style(area, scene.theme.screen());

    let title = format!(" {}", open.view.title(scene));
    draw_frame(scene, &title, "", true, area, buffer);
    draw_overlay_input(scene, open, inside(area), buffer);

    Window {
        content: &open.content,
        scroll: &open.scroll,
        theme: scene.theme,
        focused: true,
        needle: &scene.ui.search.needle,
    }
    .draw(open.rows_area(screen), buffer);
}

/// The typed line above the rows, and a rule below it.
fn draw_overlay_input(scene: &Scene<'_>, open: &Open, area: Rect, buffer: &mut Buffer) {
    let Some(input) = &open.line else {
        return;
    };
    let [line, rule] = split_top(area, 1);
    let [sign, typed] = split_left(line, 3);
    scene.span(Tone::Focus, " > ").render(sign, buffer);
    input.draw(typed, buffer, scene.style(Tone::Text), true);
    let line = "─".repeat(usize::from(rule.width));
    scene.span(Tone::Border, line).render(rule, buffer);
}
