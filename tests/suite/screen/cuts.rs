//! Nothing is cut while there is empty room: beside a text that begins or ends in an ellipsis there
//! are no empty cells, neither in its row nor in columns that its whole pane leaves empty.

use super::scenes::scenes;

/// Cells that may be empty beside a cut text: a word that does not fit may be as long.
const MARGIN: usize = 3;

/// Empty cells that a row of a table may have beside a cut name: those of its columns.
const COLUMNS: usize = 6;

/// The rows of each frame on a screen, without it, and each row outside of them.
fn parts(text: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<char>> = text.lines().map(|row| row.chars().collect()).collect();
    let at = |x: usize, y: usize| rows.get(y).and_then(|row| row.get(x)).copied();
    let mut found = Vec::new();
    let mut is_framed = vec![false; rows.len()];
    for y in 0..rows.len() {
        for x in 0..rows[y].len() {
            if at(x, y) != Some('╭') {
                continue;
            }
            let right = (x + 1..rows[y].len()).find(|right| at(*right, y) == Some('╮'));
            let bottom = (y + 1..rows.len()).find(|bottom| at(x, *bottom) == Some('╰'));
            if let (Some(right), Some(bottom)) = (right, bottom) {
                is_framed[y..=bottom].fill(true);
                let inside = (y + 1..bottom).map(|row| {
                    rows[row][x + 1..right.min(rows[row].len())]
                        .iter()
                        .collect()
                });
                found.push(inside.collect());
            }
        }
    }
    let outside = rows.iter().zip(is_framed).filter(|(_, framed)| !framed);
    found.extend(outside.map(|(row, _)| vec![row.iter().collect()]));
    found
}

/// Returns the texts of a row that begin or end in an ellipsis, each with the empty cells beside
/// it: one between spaces is work in progress.
fn cuts(row: &str, width: usize) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in row.split(' ') {
        let end = at + word.len();
        if word.len() > '…'.len_utf8() && word.contains('…') {
            let after = &row[end..];
            let empty = after.len() - after.trim_start_matches(' ').len();
            let is_last = empty == after.len();
            let beyond = width.saturating_sub(row.chars().count());
            found.push((word, if is_last { empty + beyond } else { empty }));
        }
        at = end + 1;
    }
    found
}

#[test]
fn nothing_is_cut_beside_empty_cells() {
    let mut all = Vec::new();
    for (name, mut screen) in scenes() {
        for (width, height) in [
            (200, 60),
            (120, 36),
            (100, 30),
            (80, 24),
            (60, 16),
            (40, 10),
        ] {
            let text = screen.text(width, height);
            for part in parts(&text) {
                let trailing = |row: &String| row.chars().rev().take_while(|c| *c == ' ').count();
                let unused = part.iter().map(trailing).min().unwrap_or(0);
                let cells = part
                    .iter()
                    .map(|row| row.chars().count())
                    .max()
                    .unwrap_or(0);
                for row in &part {
                    for (word, empty) in cuts(row, cells) {
                        if unused > MARGIN || empty > COLUMNS {
                            all.push(format!("{name} at {width}x{height}: {word} in {row:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
