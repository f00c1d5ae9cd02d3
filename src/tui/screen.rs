//! The whole screen, drawn from what the app is at this moment.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Clear, Paragraph, Widget, Wrap};

use super::app::{App, Focus, Overlay};
use super::layout::{Layout, SMALLEST, inside};
use super::panes::{Pane, Scene};
use super::theme::Tone;
use super::viewport::{Scroll, Window};
use super::{chrome, overlays, text};

/// Draws the screen. Nothing changes by it.
pub fn draw(app: &App, buffer: &mut Buffer) {
    let scene = app.scene();
    buffer.set_style(buffer.area, scene.theme.screen());
    let Some(layout) = app.layout() else {
        return too_small(&scene, buffer);
    };
    chrome::header(&scene, layout.header, buffer);
    chrome::progress(&scene, layout.progress, buffer);
    chrome::tabs(&scene, &layout, buffer);
    for (pane, area) in &layout.panes {
        draw_pane(app, &scene, (*pane, *area), buffer);
    }
    chrome::input(&scene, layout.input, buffer);
    if let Some((overlay, scroll)) = &scene.ui.overlay {
        draw_overlay(&scene, (overlay, scroll), &layout, buffer);
    }
    chrome::status(app, &scene, layout.status, buffer);
}

fn too_small(scene: &Scene<'_>, buffer: &mut Buffer) {
    let (columns, rows) = SMALLEST;
    let says = format!(
        "ragscope needs {columns} x {rows}; this is {} x {}.",
        buffer.area.width, buffer.area.height
    );
    let wait = "Make the window larger: everything goes on meanwhile.";
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

fn draw_pane(app: &App, scene: &Scene<'_>, (pane, area): (Pane, Rect), buffer: &mut Buffer) {
    let focused =
        scene.ui.pane == pane && scene.ui.focus == Focus::Panes && scene.ui.overlay.is_none();
    let title = format!("{} {}", pane.number(), pane.title());
    let note = pane_note(app, scene, pane);
    let sign = if focused { "▸" } else { " " };
    frame(
        scene,
        (&format!("{sign}{title}"), &note),
        focused,
        area,
        buffer,
    );
    let area = inside(area);
    let content = pane.content(scene, usize::from(area.width));
    let scroll = scene.ui.scroll(pane);
    let needle = if scene.ui.pane == pane && scene.ui.overlay.is_none() {
        &scene.ui.needle
    } else {
        ""
    };
    Window {
        content: &content,
        scroll,
        theme: scene.theme,
        focused,
        needle,
    }
    .draw(area, buffer);
}

/// What stands at the right of a pane's frame.
fn pane_note(app: &App, scene: &Scene<'_>, pane: Pane) -> String {
    let shown = app.shown();
    match (pane, scene.run.filter(|_| scene.ui.pending.is_none())) {
        (Pane::Answer, _) if shown.runs.len() > 1 => {
            let at = scene.ui.turn.or(shown.latest).map_or(0, |at| at + 1);
            format!("run {at} of {}", shown.runs.len())
        }
        (Pane::Retrieval, Some(run)) => {
            // chunks that were cut again took the place of the first ones
            let replaced = |at: usize| run.lookups.get(at + 1).is_some_and(|next| next.recut);
            let last: Vec<_> = (0..run.lookups.len())
                .filter(|at| !replaced(*at))
                .map(|at| &run.lookups[at])
                .collect();
            let kept = last
                .iter()
                .filter_map(|lookup| lookup.context.as_ref())
                .map(|context| context.chunks.len())
                .sum::<usize>();
            let hits = last.iter().map(|lookup| lookup.hits().len()).sum::<usize>();
            if hits > 0 {
                format!("{kept} of {hits} in the context")
            } else {
                String::new()
            }
        }
        (Pane::Refinement, Some(run)) => {
            let measured = run
                .refinement
                .rounds
                .iter()
                .filter_map(|round| round.measured.as_ref().ok());
            let entropies: Vec<String> = measured
                .map(|measured| format!("{:.2}", measured.dse))
                .collect();
            if entropies.is_empty() {
                String::new()
            } else {
                format!("DSE {}", entropies.join(" → "))
            }
        }
        _ => String::new(),
    }
}

fn frame(
    scene: &Scene<'_>,
    (title, note): (&str, &str),
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
    let title = text::clip(title, room).into_owned();
    let mut block = Block::new()
        .borders(Borders::ALL)
        .border_type(BorderType::Rounded)
        .border_style(scene.style(border));
    let note_fits = !note.is_empty() && text::width(&title) + text::width(note) + 4 <= room;
    block = block.title(Line::from(scene.span(title_tone, format!("{title} "))));
    if note_fits {
        block = block.title(
            Line::from(scene.span(Tone::Quiet, format!(" {note} "))).alignment(Alignment::Right),
        );
    }
    block.render(area, buffer);
}

fn draw_overlay(
    scene: &Scene<'_>,
    (overlay, scroll): (&Overlay, &Scroll),
    layout: &Layout,
    buffer: &mut Buffer,
) {
    let screen = buffer.area;
    let area = overlays::frame((overlay, scroll), scene, screen);
    // what lies behind stands back
    for (_, pane) in &layout.panes {
        buffer.set_style(*pane, scene.style(Tone::Dropped));
    }
    Clear.render(area, buffer);
    buffer.set_style(area, scene.theme.screen());
    frame(
        scene,
        (&format!(" {}", overlay.title(scene)), ""),
        true,
        area,
        buffer,
    );
    let rows = overlays::rows_area((overlay, scroll), scene, screen);
    if let (Overlay::Palette, Some(field)) = (overlay, &scene.ui.field) {
        let line = Rect {
            height: 1.min(rows.height),
            ..inside(area)
        };
        Line::from(vec![scene.span(Tone::Focus, " > ")]).render(line, buffer);
        field.text.render(
            Rect {
                x: line.x + 3.min(line.width),
                width: line.width.saturating_sub(3),
                ..line
            },
            buffer,
        );
        let rule = Rect {
            y: line.y + 1,
            ..line
        };
        Span::styled(
            "─".repeat(usize::from(rule.width)),
            scene.style(Tone::Border),
        )
        .render(rule, buffer);
    }
    let needle = &scene.ui.needle;
    let window = |content| Window {
        content,
        scroll,
        theme: scene.theme,
        focused: true,
        needle,
    };
    match overlay {
        // made once for this width, and long
        Overlay::Source(view) if view.rows.is_some() => {
            if let Some((_, content)) = &view.rows {
                window(content).draw(rows, buffer);
            }
        }
        _ => window(&overlays::content(
            (overlay, scroll),
            scene,
            usize::from(rows.width),
        ))
        .draw(rows, buffer),
    }
}
