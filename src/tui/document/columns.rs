//! Cells in aligned columns.

use std::ops::Range;

use crate::tui::text::width;

use super::styled::{Piece, Row, Styled};

/// Between two columns.
const SEPARATOR: &str = " │ ";
const SEPARATOR_CELLS: usize = 3;
/// A column is not narrowed below this width.
const MIN_CELLS: usize = 5;

/// The side at which the cells of a column are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    #[default]
    Left,
    Right,
    Middle,
}

/// The columns of a table at a width.
#[derive(Debug)]
pub struct Columns {
    widths: Vec<usize>,
    sides: Vec<Side>,
    /// Columns that have no room.
    left_out: usize,
}

impl Columns {
    /// Fits columns of these widths into `cells`: the widest are narrowed first; where even the
    /// narrowest have no room, the last ones are left out.
    pub fn fit(natural: &[usize], sides: Vec<Side>, cells: usize) -> Self {
        let fitting = (cells + SEPARATOR_CELLS) / (MIN_CELLS + SEPARATOR_CELLS);
        let all = natural.len();
        // the number of columns left out takes a column, too
        let shown = if all <= fitting {
            all
        } else {
            fitting.saturating_sub(1).max(1)
        };

        let left_out = if shown < all {
            MIN_CELLS + SEPARATOR_CELLS
        } else {
            0
        };
        let separators = SEPARATOR_CELLS * shown.saturating_sub(1);
        let room = cells.saturating_sub(separators + left_out);
        let limit = limit(&natural[..shown], room);
        let widths = natural[..shown].iter();
        let narrowed = widths.map(|width| (*width).min(limit).max(1));
        Self {
            widths: narrowed.collect(),
            sides,
            left_out: all - shown,
        }
    }

    /// Returns the rows of a row of the table: each cell wrapped in its column. `source` is its
    /// part of the document.
    pub fn rows(&self, cells: &[Styled], source: &Range<usize>) -> Vec<Row> {
        let wrap = |(column, width): (usize, &usize)| {
            let cell = cells.get(column);
            cell.map_or_else(Vec::new, |cell| cell.wrap(*width))
        };
        let wrapped: Vec<Vec<Row>> = self.widths.iter().enumerate().map(wrap).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let rows = (0..height).map(|row| self.row(&wrapped, row, source));
        rows.collect()
    }

    fn row(&self, wrapped: &[Vec<Row>], row: usize, source: &Range<usize>) -> Row {
        let sign = |text: String| Piece::sign_for(text, source.clone());

        let mut line = Row::new();
        for (column, cell) in wrapped.iter().enumerate() {
            if column > 0 {
                line.push(sign(SEPARATOR.to_owned()));
            }

            let cell = cell.get(row).cloned().unwrap_or_default();
            let used: usize = cell.iter().map(|piece| width(&piece.text)).sum();
            let space = self.widths[column].saturating_sub(used);
            let before = match self.sides.get(column).copied().unwrap_or_default() {
                Side::Left => 0,
                Side::Right => space,
                Side::Middle => space / 2,
            };
            line.push(sign(" ".repeat(before)));
            line.extend(cell);
            line.push(sign(" ".repeat(space - before)));
        }

        if self.left_out > 0 && row == 0 {
            line.push(sign(format!("{SEPARATOR}+{}", self.left_out)));
        }

        line
    }

    /// Returns the rule between the header and the rows.
    pub fn rule(&self) -> Row {
        let parts: Vec<String> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
        vec![Piece::sign(parts.join("─┼─"))]
    }
}

/// Returns the largest width of a column at which all columns fit into `room`.
fn limit(natural: &[usize], room: usize) -> usize {
    let mut sorted = natural.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (at, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *width > share {
            return share.max(1);
        }
        left -= width;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_are_narrowed_first() {
        /// Natural widths, cells, fitted widths, columns left out.
        type Case = (&'static [usize], usize, &'static [usize], usize);
        let cases: &[Case] = &[
            (&[3, 4], 20, &[3, 4], 0),
            (&[3, 40, 40], 49, &[3, 20, 20], 0),
            (&[10, 10, 10], 21, &[5, 5, 5], 0),
            (&[10, 10, 10, 10], 21, &[5, 5], 2),
            (&[9], 4, &[4], 0),
            (&[], 10, &[], 0),
        ];
        for (natural, cells, widths, left_out) in cases {
            let columns = Columns::fit(natural, Vec::new(), *cells);
            assert_eq!(
                (columns.widths.as_slice(), columns.left_out),
                (*widths, *left_out),
                "{natural:?} in {cells}"
            );
        }
    }
}
