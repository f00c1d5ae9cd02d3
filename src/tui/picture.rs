//! The screen as a picture: one self-contained SVG with the colours of the theme.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::{text, theme};

/// Size of a cell in units of the picture.
const CELL_WIDTH: u32 = 10;
const CELL_HEIGHT: u32 = 20;
/// Distance of the baseline from the top of a cell.
const BASELINE: u32 = 15;

/// Draws a buffer as SVG.
pub fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let width = u32::from(area.width) * CELL_WIDTH;
    let height = u32::from(area.height) * CELL_HEIGHT;
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, \
         Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"16\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"#ffffff\"/>\n"
    );
    for y in area.top()..area.bottom() {
        for piece in pieces(buffer, y) {
            piece.draw(u32::from(y - area.top()), &mut page);
        }
    }
    page.push_str("</svg>\n");
    page
}

/// The look of a cell.
#[derive(PartialEq, Eq)]
struct Look {
    ink: String,
    paper: String,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let mut look = Self {
            ink: theme::hex(cell.fg, "#000000"),
            paper: theme::hex(cell.bg, "#ffffff"),
            modifier: cell.modifier,
        };
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut look.ink, &mut look.paper);
        }
        look
    }
}

/// The cells of a row, those of one look together.
fn pieces(buffer: &Buffer, y: u16) -> Vec<Piece> {
    let area = buffer.area;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut x = area.left();
    while x < area.right() {
        let cell = &buffer[(x, y)];
        let look = Look::of(cell);
        let cells = text::width(cell.symbol()).max(1) as u16;
        match pieces.last_mut() {
            Some(piece) if piece.look == look => {
                piece.text.push_str(cell.symbol());
                piece.cells += cells;
            }
            _ => pieces.push(Piece {
                x: x - area.left(),
                cells,
                text: cell.symbol().to_owned(),
                look,
            }),
        }
        x += cells;
    }
    pieces
}

/// Adjacent cells of one look.
struct Piece {
    x: u16,
    cells: u16,
    text: String,
    look: Look,
}

impl Piece {
    fn draw(&self, row: u32, page: &mut String) {
        let Look {
            ink,
            paper,
            modifier,
        } = &self.look;
        let x = u32::from(self.x) * CELL_WIDTH;
        let y = row * CELL_HEIGHT;
        let width = u32::from(self.cells) * CELL_WIDTH;
        if paper != "#ffffff" {
            let _ = writeln!(
                page,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{CELL_HEIGHT}\" fill=\"{paper}\"/>"
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
        let line = if modifier.contains(Modifier::CROSSED_OUT) {
            " text-decoration=\"line-through\""
        } else if modifier.contains(Modifier::UNDERLINED) {
            " text-decoration=\"underline\""
        } else {
            ""
        };
        let text = self
            .text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        // the length keeps the columns in a font with other widths
        let _ = writeln!(
            page,
            "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
             fill=\"{ink}\"{weight}{slant}{line}>{text}</text>",
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
