//! Rows for a terminal that scrolls: attributes and the colours of the terminal itself, which are
//! legible on every background.

use ratatui::style::Modifier;

use crate::tui::theme::{Depth, Tone};

use super::styled::{Look, Piece, Row};

/// Longer lines are hard to read.
const MAX_CELLS: u16 = 100;
/// The width where the terminal does not know its own.
const UNKNOWN_CELLS: u16 = 80;

/// Returns the width to write for, in cells.
pub fn width_of_terminal() -> usize {
    let columns = crossterm::terminal::size().map_or(0, |(columns, _)| columns);
    usize::from(match columns {
        0 => UNKNOWN_CELLS,
        1.. => columns.min(MAX_CELLS),
    })
}

/// Returns rows as lines of text with the codes of their looks.
pub fn write_rows(rows: impl Iterator<Item = Row>, depth: Depth) -> String {
    let mut text = String::new();
    for row in rows {
        for piece in &row {
            push(piece, depth, &mut text);
        }
        text.push('\n');
    }
    text
}

fn push(piece: &Piece, depth: Depth, text: &mut String) {
    let codes = attributes(piece.look, depth);
    if codes.is_empty() || piece.text.is_empty() {
        text.push_str(&piece.text);
    } else {
        text.push_str(&format!("\x1b[{}m{}\x1b[0m", codes.join(";"), piece.text));
    }
}

/// Returns the codes of a look (ECMA-48, SGR).
fn attributes(look: Look, depth: Depth) -> Vec<&'static str> {
    let tone = match look.tone {
        Tone::Strong => Some("1"),
        Tone::Quiet | Tone::Border => Some("2"),
        // cyan
        Tone::Code if depth != Depth::None => Some("36"),
        _ => None,
    };

    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::CROSSED_OUT, "9"),
    ];

    let modifiers = modifiers.into_iter();
    let set = modifiers.filter(|(modifier, _)| look.modifier.contains(*modifier));
    tone.into_iter().chain(set.map(|(_, code)| code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_codes() {
        let title = Look::TEXT
            .with_tone(Tone::Strong)
            .with(Modifier::UNDERLINED);
        let code = Look::TEXT.with_tone(Tone::Code);
        let cases = [
            (title, Depth::Indexed, "\x1b[1;4ma\x1b[0m\n"),
            (code, Depth::Indexed, "\x1b[36ma\x1b[0m\n"),
            (code, Depth::None, "a\n"),
            (Look::TEXT, Depth::Indexed, "a\n"),
        ];
        for (look, depth, expected) in cases {
            let piece = Piece {
                text: "a".to_owned(),
                source: 0..1,
                look,
            };
            assert_eq!(write_rows(std::iter::once(vec![piece]), depth), expected);
        }
    }
}
