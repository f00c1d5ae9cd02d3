//! Nothing is cut while there is empty room: no pane has columns without any letter beside a text
//! that ends in an ellipsis, and none hides rows while the pane above or below has empty ones.

use super::scenes::scenes;

/// Cells that a pane may leave at its right edge: a word that does not fit may be as long.
const MARGIN: usize = 3;

/// The rows of each pane on a screen, without its frame.
fn panes(text: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<char>> = text.lines().map(|row| row.chars().collect()).collect();
    let at = |x: usize, y: usize| rows.get(y).and_then(|row| row.get(x)).copied();
    let mut found = Vec::new();
    for y in 0..rows.len() {
        for x in 0..rows[y].len() {
            if at(x, y) != Some('╭') {
                continue;
            }
            let right = (x + 1..rows[y].len()).find(|right| at(*right, y) == Some('╮'));
            let bottom = (y + 1..rows.len()).find(|bottom| at(x, *bottom) == Some('╰'));
            if let (Some(right), Some(bottom)) = (right, bottom) {
                let inside = (y + 1..bottom).map(|row| {
                    rows[row][x + 1..right.min(rows[row].len())]
                        .iter()
                        .collect()
                });
                found.push(inside.collect());
            }
        }
    }
    found
}

/// Returns whether a row has a text that ends or begins in an ellipsis: one between spaces is work
/// in progress.
fn is_cut(row: &str) -> bool {
    row.split(' ')
        .any(|word| word.len() > '…'.len_utf8() && word.contains('…'))
}

#[test]
fn nothing_is_cut_beside_empty_columns() {
    let mut cuts = Vec::new();
    for (name, mut screen) in scenes() {
        for (width, height) in [(200, 60), (120, 36), (100, 30), (80, 24), (60, 16)] {
            let text = screen.text(width, height);
            for pane in panes(&text) {
                let Some(cut) = pane.iter().find(|row| is_cut(row)) else {
                    continue;
                };
                let empty = |row: &String| row.chars().rev().take_while(|c| *c == ' ').count();
                let unused = pane.iter().map(empty).min().unwrap_or(0);
                if unused > MARGIN {
                    cuts.push(format!(
                        "{name} at {width}x{height}: {unused} beside {cut:?}"
                    ));
                }
            }
        }
    }
    assert!(cuts.is_empty(), "{}", cuts.join("\n"));
}
