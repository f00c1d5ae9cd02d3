//! The screen as a picture: one self-contained SVG with the colours of the theme.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::{text, theme};

/// Size of a cell in units of the picture.
const CELL_WIDTH: u32 = 10;
const CELL_HEIGHT: u32 = 20;
/// A font of this size whose letters are 0.6 times as wide, as those of most are, fills the cells.
const FONT_SIZE: f32 = 16.6;
/// Distance of the baseline from the top of a cell.
const BASELINE: u32 = 15;

/// Draws a buffer as SVG.
pub fn svg(buffer: &Buffer) -> String {
    let area = buffer.area;
    let width = u32::from(area.width) * CELL_WIDTH;
    let height = u32::from(area.height) * CELL_HEIGHT;
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, \
         Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"{FONT_SIZE}\">\n<rect width=\"{width}\" height=\"{height}\" \
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
    fn from_cell(cell: &Cell) -> Self {
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

/// The cells of a row: words and signs of one look together, what is drawn as a shape one by one.
fn pieces(buffer: &Buffer, y: u16) -> Vec<Piece> {
    let area = buffer.area;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut x = area.left();

    while x < area.right() {
        let cell = &buffer[(x, y)];
        let look = Look::from_cell(cell);
        let cells = text::width(cell.symbol()).max(1) as u16;
        let lines = Modifier::CROSSED_OUT | Modifier::UNDERLINED;
        let is_lined = look.modifier.intersects(lines);

        let form = match Form::from_symbol(cell.symbol()) {
            // the line continues between words
            Form::Space if is_lined => Form::Word,
            form => form,
        };

        match pieces.last_mut() {
            Some(piece) if piece.look == look && piece.form == form && form.is_joined() => {
                piece.text.push_str(cell.symbol());
                piece.cells += cells;
            }
            _ => pieces.push(Piece {
                x: x - area.left(),
                cells,
                text: cell.symbol().to_owned(),
                look,
                form,
            }),
        }

        x += cells;
    }

    pieces
}

/// The shape of a cell. Fonts draw lines and blocks with gaps, so they are shapes here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Space,
    Word,
    /// A horizontal line through the middle.
    Line,
    /// Lines from the middle to the borders: left, right, up, down; round where two meet.
    Joint([bool; 4]),
    /// A part of the cell, in eighths: left, top, width, height; and its opacity in percent.
    Block([u8; 4], u8),
}

impl Form {
    fn from_symbol(symbol: &str) -> Self {
        let full = |opacity| Self::Block([0, 0, 8, 8], opacity);
        let lower = |eighths| Self::Block([0, 8 - eighths, 8, eighths], 100);
        match symbol.chars().next().unwrap_or(' ') {
            ' ' => Self::Space,
            '─' => Self::Line,
            '│' => Self::Joint([false, false, true, true]),
            '╭' | '┌' => Self::Joint([false, true, false, true]),
            '╮' | '┐' => Self::Joint([true, false, false, true]),
            '╰' | '└' => Self::Joint([false, true, true, false]),
            '╯' | '┘' => Self::Joint([true, false, true, false]),
            '█' => full(100),
            '▓' => full(75),
            '▒' => full(50),
            '░' => full(25),
            '▌' => Self::Block([0, 0, 4, 8], 100),
            '▐' => Self::Block([4, 0, 4, 8], 100),
            '▁' => lower(1),
            '▂' => lower(2),
            '▃' => lower(3),
            '▄' => lower(4),
            '▅' => lower(5),
            '▆' => lower(6),
            '▇' => lower(7),
            _ => Self::Word,
        }
    }

    /// Returns whether neighbours are drawn as one.
    fn is_joined(self) -> bool {
        match self {
            Self::Space | Self::Word | Self::Line => true,
            // bars are as wide as their cells together
            Self::Block([left, _, width, _], _) => left == 0 && width == 8,
            Self::Joint(_) => false,
        }
    }
}

/// Adjacent cells of one look.
struct Piece {
    x: u16,
    cells: u16,
    text: String,
    look: Look,
    form: Form,
}

impl Piece {
    fn draw(&self, row: u32, page: &mut String) {
        let Look { ink, paper, .. } = &self.look;
        let x = u32::from(self.x) * CELL_WIDTH;
        let y = row * CELL_HEIGHT;
        let width = u32::from(self.cells) * CELL_WIDTH;
        if paper != "#ffffff" {
            rectangle([x, y, width, CELL_HEIGHT], paper, "", page);
        }

        let middle = [x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2];
        match self.form {
            Form::Space => {}
            Form::Word => self.draw_text([x, y], width, page),
            Form::Line => line(&format!("M{x} {}h{width}", middle[1]), ink, page),
            Form::Joint(to) => line(&joint([x, y], to), ink, page),
            Form::Block([left, top, across, down], opacity) => {
                let opacity = match opacity {
                    100 => String::new(),
                    percent => format!(" opacity=\".{percent}\""),
                };
                let area = [
                    x + u32::from(left) * CELL_WIDTH / 8,
                    y + u32::from(top) * CELL_HEIGHT / 8,
                    (width * u32::from(across)).div_ceil(8),
                    (CELL_HEIGHT * u32::from(down)).div_ceil(8),
                ];
                rectangle(area, ink, &opacity, page);
            }
        }
    }

    fn draw_text(&self, [x, y]: [u32; 2], width: u32, page: &mut String) {
        let Look { ink, modifier, .. } = &self.look;
        let if_set = |look, attribute| {
            if modifier.contains(look) {
                attribute
            } else {
                ""
            }
        };
        let weight = if_set(Modifier::BOLD, " font-weight=\"bold\"");
        let slant = if_set(Modifier::ITALIC, " font-style=\"italic\"");
        let line = match if_set(Modifier::CROSSED_OUT, " text-decoration=\"line-through\"") {
            "" => if_set(Modifier::UNDERLINED, " text-decoration=\"underline\""),
            struck => struck,
        };

        let text = self.text.replace('&', "&amp;").replace('<', "&lt;");
        let text = text.replace('>', "&gt;");
        // the length keeps the columns in a font with other widths, where the viewer knows it
        let _ = writeln!(
            page,
            "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{ink}\"{weight}{slant}{line}>{text}</text>",
            y + BASELINE
        );
    }
}

fn rectangle([x, y, width, height]: [u32; 4], fill: &str, more: &str, page: &mut String) {
    let _ = writeln!(
        page,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{more}/>"
    );
}

fn line(path: &str, ink: &str, page: &mut String) {
    let _ = writeln!(page, "<path d=\"{path}\" fill=\"none\" stroke=\"{ink}\"/>");
}

/// Returns the path of lines from the middle of a cell to its borders.
fn joint([x, y]: [u32; 2], [left, _, up, down]: [bool; 4]) -> String {
    let [middle, half] = [x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2];
    if up && down {
        return format!("M{middle} {y}v{CELL_HEIGHT}");
    }
    let side = if left { x } else { x + CELL_WIDTH };
    let end = if up { y } else { y + CELL_HEIGHT };
    format!("M{side} {half}Q{middle} {half} {middle} {end}")
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn lines_and_blocks_are_shapes() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        buffer.set_string(0, 0, "╭──█░▂", Style::default());
        let page = svg(&buffer);
        for part in [
            "M10 10Q5 10 5 20",
            "M10 10h20",
            "<rect x=\"30\" y=\"0\" width=\"10\" height=\"20\" fill=\"#000000\"/>",
            "height=\"20\" fill=\"#000000\" opacity=\".25\"/>",
            "<rect x=\"50\" y=\"15\" width=\"10\" height=\"5\"",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(!page.contains("<text"), "{page}");
    }

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
