//! The screen as a picture: one SVG, with the colours of the theme and nothing to load.

use std::fmt::Write;

use ratatui::buffer::Buffer;
use ratatui::style::Modifier;

use super::{text, theme};

/// Units of the picture that a cell takes, and how far below its top the letters stand.
const CELL: (u32, u32) = (10, 20);
const BASELINE: u32 = 15;

/// The buffer as SVG.
pub fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let (width, height) = (
        u32::from(area.width) * CELL.0,
        u32::from(area.height) * CELL.1,
    );
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, \
         Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"16\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"#ffffff\"/>\n"
    );
    for y in area.top()..area.bottom() {
        let mut runs: Vec<Piece> = Vec::new();
        let mut x = area.left();
        while x < area.right() {
            let cell = &buffer[(x, y)];
            let cells = text::width(cell.symbol()).max(1) as u16;
            let (mut ink, mut paper) = (
                theme::hex(cell.fg, "#000000"),
                theme::hex(cell.bg, "#ffffff"),
            );
            if cell.modifier.contains(Modifier::REVERSED) {
                std::mem::swap(&mut ink, &mut paper);
            }
            let look = (ink, paper, cell.modifier);
            match runs.last_mut() {
                Some(run) if run.look == look => {
                    run.text.push_str(cell.symbol());
                    run.cells += cells;
                }
                _ => runs.push(Piece {
                    x: x - area.left(),
                    cells,
                    text: cell.symbol().to_owned(),
                    look,
                }),
            }
            x += cells;
        }
        runs.iter()
            .for_each(|run| run.draw(u32::from(y - area.top()), &mut page));
    }
    page.push_str("</svg>\n");
    page
}

/// Neighbouring cells of one look.
struct Piece {
    x: u16,
    cells: u16,
    text: String,
    look: (String, String, Modifier),
}

impl Piece {
    fn draw(&self, row: u32, page: &mut String) {
        let (ink, paper, modifier) = &self.look;
        let (x, y, width) = (
            u32::from(self.x) * CELL.0,
            row * CELL.1,
            u32::from(self.cells) * CELL.0,
        );
        if paper != "#ffffff" {
            let _ = writeln!(
                page,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{paper}\"/>",
                CELL.1
            );
        }
        if self.text.trim().is_empty() {
            return;
        }
        let weight = if modifier.contains(Modifier::BOLD) {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let slant = if modifier.contains(Modifier::ITALIC) {
            " font-style=\"italic\""
        } else {
            ""
        };
        let line = match (
            modifier.contains(Modifier::CROSSED_OUT),
            modifier.contains(Modifier::UNDERLINED),
        ) {
            (true, _) => " text-decoration=\"line-through\"",
            (false, true) => " text-decoration=\"underline\"",
            (false, false) => "",
        };
        let written = self
            .text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        // the length is given, so that a font with other widths still keeps the columns
        let _ = writeln!(
            page,
            "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
             fill=\"{ink}\"{weight}{slant}{line}>{written}</text>",
            y + BASELINE
        );
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn neighbours_of_one_look_are_one_text_and_markup_is_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(
            0,
            0,
            "a<b 海",
            Style::default()
                .fg((1, 2, 3).into())
                .add_modifier(Modifier::CROSSED_OUT),
        );
        buffer.set_string(
            6,
            0,
            "&",
            Style::default().fg((255, 0, 0).into()).bg((8, 8, 8).into()),
        );
        let page = svg(&buffer);
        assert!(
            page.contains("fill=\"#010203\" text-decoration=\"line-through\">a&lt;b 海</text>"),
            "{page}"
        );
        assert!(
            page.contains("textLength=\"60\"") && page.contains("fill=\"#ff0000\">&amp;</text>"),
            "{page}"
        );
        assert!(
            page.contains("<rect x=\"60\" y=\"0\" width=\"10\" height=\"20\" fill=\"#080808\"/>"),
            "{page}"
        );
    }
}
