//! The mouse: a click gives the keys to what is under it and selects, the wheel scrolls.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::tui::chrome;
use crate::tui::layout::inside;
use crate::tui::viewport::{Content, Scroll};

use super::{App, Focus};

impl App {
    pub(super) fn mouse_moved(&mut self, mouse: &MouseEvent) {
        let position = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown => self.wheel_at(position, true),
            MouseEventKind::ScrollUp => self.wheel_at(position, false),
            MouseEventKind::Down(MouseButton::Left) => self.click(position),
            _ => return,
        }
        self.changed = true;
    }

    fn wheel_at(&mut self, position: Position, down: bool) {
        let pane = self
            .layout()
            .and_then(|layout| layout.pane_at(position))
            .map(|(pane, _)| pane);
        self.wheel(pane, down);
    }

    fn click(&mut self, position: Position) {
        self.ui.notice = None;
        if let Some(area) = self.overlay_area() {
            match area.contains(position) {
                true => self.select_at(area, position),
                false => self.back(),
            }
            return;
        }
        let Some(layout) = self.layout() else { return };
        if let Some((pane, frame)) = layout.pane_at(position) {
            self.focus(pane);
            self.select_at(inside(frame), position);
        } else if layout.input.contains(position) && self.ui.player.is_none() {
            self.ui.focus = Focus::Input;
        } else if let Some(pane) = layout
            .tabs
            .contains(position)
            .then(|| chrome::tab_at(position.x))
            .flatten()
        {
            self.focus(pane);
        }
    }

    fn select_at(&mut self, area: Rect, position: Position) {
        let row = usize::from(position.y.saturating_sub(area.y));
        self.change_place(|scroll: &mut Scroll, content: &Content, height| {
            let clicked = content
                .rows
                .get(content.top(scroll, height) + row)
                .and_then(|row| row.item);
            if clicked.is_some() {
                // the window stays where it is under the pointer
                (scroll.top, scroll.follow) = (content.top(scroll, height), false);
                scroll.selected = clicked;
            }
        });
    }
}
