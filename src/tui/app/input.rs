//! Events of the terminal: keys go to what they mean where they are pressed, other keys into the text that is being typed.

use crossterm::event::{Event, KeyEvent, KeyEventKind};
use ratatui_textarea::{CursorMove, Input, Key as TextKey, TextArea};

use crate::tui::keys::Key;
use crate::tui::text;

use super::{App, Focus, Purpose};

impl App {
    /// Takes an event of the terminal in.
    pub fn handle(&mut self, event: &Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Mouse(mouse) => self.mouse_moved(mouse),
            Event::Paste(pasted) => self.paste(pasted),
            Event::Resize(width, height) => self.resize(*width, *height),
            Event::Key(_) | Event::FocusGained | Event::FocusLost => {}
        }
    }

    fn key(&mut self, event: &KeyEvent) {
        self.ui.notice = None;
        self.changed = true;
        let key = Key::of(event);
        if key.typed() == Some('?') && self.types_into_empty_input() {
            self.open_help();
        } else if let Some(action) = self.keymap.action(key, &self.contexts()) {
            self.run_action(action);
        } else if let Some(area) = self.typing() {
            edit(area, event);
            self.typed_on();
        }
    }

    fn types_into_empty_input(&self) -> bool {
        self.ui.field.is_none()
            && self.ui.overlay.is_none()
            && self.ui.focus == Focus::Input
            && self.ui.input.is_empty()
    }

    /// The text that keys go into.
    fn typing(&mut self) -> Option<&mut TextArea<'static>> {
        match &mut self.ui.field {
            Some(field) => Some(&mut field.text),
            None => (self.ui.focus == Focus::Input && self.ui.overlay.is_none())
                .then_some(&mut self.ui.input),
        }
    }

    fn paste(&mut self, pasted: &str) {
        let one_line = self.ui.field.is_some();
        if self.ui.field.is_none() && self.ui.overlay.is_none() && self.ui.player.is_none() {
            self.ui.focus = Focus::Input;
        }
        // terminals paste line ends as carriage returns
        let pasted = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let pasted = if one_line {
            text::one_line(&pasted)
        } else {
            text::many_lines(&pasted)
        };
        if let Some(area) = self.typing() {
            area.insert_str(pasted);
            self.typed_on();
            self.changed = true;
        }
    }

    fn typed_on(&mut self) {
        match self.ui.field.as_ref().map(|field| &field.purpose) {
            Some(Purpose::Search) => self.search_typed(),
            Some(Purpose::Palette) => self.palette_typed(),
            Some(Purpose::Setting(_) | Purpose::Reference | Purpose::Passage | Purpose::Folder) => {
            }
            None => self.ui.recalled = None,
        }
    }
}

/// One key into a text: the editing keys of a shell, then those of the text area.
fn edit(area: &mut TextArea<'static>, event: &KeyEvent) {
    let input = Input::from(*event);
    match input {
        Input {
            key: TextKey::Char('u'),
            ctrl: true,
            ..
        } => {
            area.delete_line_by_head();
        }
        Input {
            key: TextKey::Char('a'),
            ctrl: true,
            ..
        } => area.move_cursor(CursorMove::Head),
        // line ends and tabs come by actions and pasting alone
        Input {
            key: TextKey::Enter | TextKey::Tab | TextKey::Esc,
            ..
        }
        | Input {
            key: TextKey::Char('m'),
            ctrl: true,
            ..
        } => {}
        input => {
            area.input(input);
        }
    }
}
