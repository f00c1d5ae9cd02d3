//! A page of a PDF, which takes the screen until a key leaves it.

use crossterm::event::{Event, KeyCode, KeyEventKind, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::widgets::Widget;

use crate::tui::ascii;
use crate::tui::pdf_page::{PageKey, PdfPage};
use crate::tui::theme::Tone;

use super::base::App;
use super::effect::Effect;

impl App {
    /// Shows a page in the place of everything else.
    pub(in crate::tui) fn show_page(&mut self, page: PdfPage) {
        self.page = Some(page);
        self.changed = true;
    }

    /// Turns or leaves the page that is shown. Returns whether there is one, which takes all keys
    /// and the wheel.
    pub(super) fn page_takes(&mut self, event: &Event) -> bool {
        let Some(page) = &self.page else {
            return false;
        };
        let key = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => key.code,
            Event::Mouse(mouse) if mouse.kind == MouseEventKind::ScrollDown => KeyCode::PageDown,
            Event::Mouse(mouse) if mouse.kind == MouseEventKind::ScrollUp => KeyCode::PageUp,
            Event::Resize(..) => return false,
            _ => return true,
        };

        match page.key(key) {
            PageKey::Turn(number) if number == page.number => {}
            PageKey::Turn(number) => {
                let shows = Effect::ShowPage {
                    file: page.file.clone(),
                    page: number,
                };
                // a turn of the wheel is several events, and a page takes a moment to draw
                if !self.effects.contains(&shows) {
                    self.effects.push(shows);
                }
            }
            PageKey::Leave => {
                self.page = None;
                self.effects.push(Effect::Redraw);
            }
        }
        true
    }

    pub(super) fn draw_page(&self, page: &PdfPage, buffer: &mut Buffer) {
        buffer.set_style(buffer.area, self.theme.screen());
        if let Some(last) = buffer.area.rows().next_back() {
            let caption = self.scene().span(Tone::Quiet, page.caption());
            caption.render(last, buffer);
        }
        if self.is_ascii {
            ascii::replace(buffer);
        }
        page.draw(buffer);
    }
}
