//! Events of the terminal: keys go to what they mean where they are pressed, other keys into the
//! text that is being typed; a click gives the keys to what is under it, the wheel scrolls.

use crossterm::event::{Event, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::tui::keys::{Action, Key};
use crate::tui::layout::inside;
use crate::tui::ui::{Focus, Purpose, TypedText};
use crate::tui::viewport::Item;
use crate::tui::waterfall;
use crate::tui::{chrome, status, text};

use super::base::App;

/// Rows per step of the wheel.
const WHEEL_ROWS: isize = 3;

impl App {
    /// Handles an event of the terminal.
    pub fn handle(&mut self, event: &Event) {
        if self.page_takes(event) {
            return;
        }
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(pasted) => self.paste(pasted),
            Event::Resize(width, height) => self.resize(*width, *height),
            Event::Key(_) | Event::FocusGained | Event::FocusLost => {}
        }
    }

    fn key(&mut self, event: &KeyEvent) {
        self.ui.notice = None;
        self.changed = true;
        self.hurry();

        let key = Key::from_event(event);
        if key.character() == Some('?') && self.is_at_empty_question() {
            self.open_help();
        } else if let Some(action) = self.keymap.action(key, &self.contexts()) {
            self.run_action(action);
        } else if let Some(typed) = self.text_being_typed() {
            typed.press(event);
            self.text_edited();
        } else {
            let help = self.keymap.sign(Action::Help);
            let key = key.sign();
            self.refuse(format!("{key} has no action here: {help} lists the keys"));
        }
    }

    /// Returns whether keys go to the question alone.
    pub(super) fn is_at_question(&self) -> bool {
        self.ui.field.is_none() && self.overlay.is_none() && self.ui.panes.focus == Focus::Input
    }

    fn is_at_empty_question(&self) -> bool {
        self.is_at_question() && self.ui.question.text.is_empty()
    }

    /// Returns the text that receives keys.
    fn text_being_typed(&mut self) -> Option<&mut TypedText> {
        let is_at_question = self.is_at_question();
        if let Some(field) = &mut self.ui.field {
            return Some(&mut field.text);
        }
        match &mut self.overlay {
            Some(open) => open.line.as_mut(),
            None => is_at_question.then_some(&mut self.ui.question.text),
        }
    }

    fn paste(&mut self, pasted: &str) {
        if self.ui.field.is_none() && self.overlay.is_none() && self.ui.player.is_none() {
            self.ui.panes.focus = Focus::Input;
        }

        // terminals paste line ends as carriage returns
        let pasted = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let pasted = if self.is_at_question() {
            text::many_lines(&pasted)
        } else {
            text::one_line(&pasted)
        };
        if let Some(typed) = self.text_being_typed() {
            typed.insert(&pasted);
            self.text_edited();
            self.changed = true;
        }
    }

    fn text_edited(&mut self) {
        match &mut self.ui.field {
            Some(field) if field.purpose == Purpose::Search => self.search_edited(),
            Some(field) => field.error = None,
            None if self.overlay.is_some() => self.select_first(),
            None => self.ui.question.leave_history(),
        }
    }

    fn mouse(&mut self, mouse: &MouseEvent) {
        let position = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::ScrollDown => self.wheel_at(position, WHEEL_ROWS),
            MouseEventKind::ScrollUp => self.wheel_at(position, -WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) => self.click(position),
            _ => return,
        }
        self.changed = true;
    }

    /// Scrolls what is under the pointer, and nothing else: the overlay, a pane, or the stages.
    fn wheel_at(&mut self, position: Position, rows: isize) {
        let is_in_overlay = self.overlay.as_ref().map(|open| open.frame(self.size));
        if is_in_overlay.is_some_and(|frame| frame.contains(position)) {
            return self.scroll_by(|_| rows);
        }

        let Some(layout) = self.layout() else { return };
        if let Some((pane, _)) = layout.pane_at(position) {
            self.wheel_pane(pane, rows);
        } else if layout.stages.contains(position) {
            let top = waterfall::first_after(&self.scene(), layout.stages, rows);
            self.ui.panes.stages_top = top;
        }
    }

    fn click(&mut self, position: Position) {
        let hint = self.layout().and_then(|layout| {
            let overlay = self.overlay.as_ref();
            status::hint_at(&self.scene(), overlay, layout.status, position)
        });
        self.ui.notice = None;
        if let Some(action) = hint {
            return self.run_action(action);
        }

        if let Some(open) = &self.overlay {
            let rows = open.rows_area(self.size);
            if rows.contains(position) {
                self.click_row(rows, position);
            } else {
                // a click beside it stops nothing
                self.close_overlay();
            }
            return;
        }

        let Some(layout) = self.layout() else { return };
        if let Some((pane, frame)) = layout.pane_at(position) {
            self.focus(pane);
            self.select_at(inside(frame), position);
        } else if let Some(at) = waterfall::stage_at(&self.scene(), layout.stages, position) {
            self.show_stage(at);
        } else if let Some(pane) = layout.pane_of_line(position) {
            self.focus(pane);
        } else if layout.input.contains(position) && self.ui.player.is_none() {
            self.ui.panes.focus = Focus::Input;
        } else if layout.tabs.contains(position)
            && let Some(pane) = chrome::tab_at(position.x)
        {
            self.focus(pane);
        }
    }

    /// Selects the row of the overlay at a position, and chooses it where that is a button.
    fn click_row(&mut self, rows: Rect, position: Position) {
        let clicked = self.select_at(rows, position);
        let cell = usize::from(position.x.saturating_sub(rows.x));
        if let (Some(open), Some(item)) = (&self.overlay, clicked)
            && open.view.is_button(&self.scene(), item, cell)
        {
            self.choose();
        }
    }

    /// Selects the item at a position of the focused view, and returns it.
    fn select_at(&mut self, area: Rect, position: Position) -> Option<Item> {
        let row = usize::from(position.y.saturating_sub(area.y));
        let mut item = None;
        self.change_scroll(|scroll, content, height| {
            let clicked = content.in_sight(scroll, height).nth(row);
            let clicked = clicked.and_then(|row| content.rows[row].item);
            item = clicked;
            if clicked.is_some() {
                // the window stays where it is under the pointer
                scroll.top = content.top(scroll, height);
                scroll.follow = false;
                scroll.selected = clicked;
            }
        });
        item
    }
}
