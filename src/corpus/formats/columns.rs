//! The names of the columns of a table. Each row has them with its values, as in
//! `Name: Ann; Age: 7`, so that a chunk of rows says what its values are.

use std::ops::Range;

use super::format::Extract;
use super::unseen::{broken_words, picture_data, unseen_marks};
use crate::corpus::offsets::{Offsets, Traced};
use crate::corpus::sentence::trim_range;
use crate::event::saturating_u32;

/// Maximum size of the names that a row has with it: the values count.
const MAX_NAMES_BYTES: usize = 600;
/// Maximum length of a name.
pub(super) const MAX_NAME_CHARS: usize = 80;
/// Maximum size of all names in the text of a file.
const MAX_LABELS_BYTES: usize = 64 << 20;

/// The names of the columns of a table, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<String>,
}

impl Columns {
    /// Names a column, from 0.
    pub fn set(&mut self, column: usize, name: &str) {
        let name = name.trim().trim_end_matches(':');
        if self.names.len() <= column {
            self.names.resize(column + 1, String::new());
        }
        self.names[column] = name.chars().take(MAX_NAME_CHARS).collect();
    }

    /// Names a column of which a header row above has the group: `2025` above `Plan`. The type of
    /// its values is no name.
    pub fn set_below(&mut self, column: usize, name: &str) {
        let above = self.names.get(column).map_or("", String::as_str);
        if above.is_empty() || above == name.trim() {
            self.set(column, name);
        } else if !(name.starts_with('<') && name.ends_with('>')) {
            let group: String = above.chars().take(MAX_NAME_CHARS / 2).collect();
            self.set(column, &format!("{group} {name}"));
        }
    }

    /// Returns whether no column has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the text before each cell of a row, as in `Age: `: empty where the column has no
    /// name, where the cell is the name itself, and where the names of the row get too long.
    pub fn labels<'a>(
        &'a self,
        cells: impl Iterator<Item = (usize, &'a str)>,
    ) -> impl Iterator<Item = String> {
        let mut bytes = 0;
        cells.map(move |(column, cell)| {
            let name = self.names.get(column).filter(|name| !name.is_empty());
            let name = name.filter(|name| *name != cell);
            bytes += name.map_or(0, String::len);
            name.filter(|_| bytes <= MAX_NAMES_BYTES)
                .map_or_else(String::new, |name| format!("{name}: "))
        })
    }

    /// Returns a row as a line, by its cells with their columns. Empty cells are left out.
    pub fn line<'a>(&'a self, cells: impl Iterator<Item = (usize, &'a str)> + Clone) -> String {
        let cells = cells.filter(|(_, cell)| !cell.is_empty());
        let labels = self.labels(cells.clone());
        let parts = labels.zip(cells).map(|(label, (_, cell))| label + cell);
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// The tables of a text that stays as it is, but for the names in front of their cells, and for
/// what a reader of it does not see.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The parts in whose place other text is: none for what is left out, and a name in the place
    /// of an empty part.
    edits: Vec<(Range<usize>, String)>,
    added_bytes: usize,
    rows: Vec<Range<usize>>,
}

impl Tables {
    /// Inserts the cells of rows above in front of the first cell of a row, before that is added.
    pub fn insert(&mut self, at: usize, cells: String) {
        self.added_bytes += cells.len();
        if self.added_bytes <= MAX_LABELS_BYTES {
            self.edits.push((at..at, cells));
        }
    }

    /// Leaves out a part of the text.
    pub fn leave_out(&mut self, part: Range<usize>) {
        self.replace(part, String::new());
    }

    /// Leaves out the marks inside of the words of a line that begins at a position, where they are
    /// no code.
    pub fn leave_out_marks(
        &mut self,
        at: usize,
        line: &str,
        marks: &[&str],
        mut is_code: impl FnMut(&Range<usize>) -> bool,
    ) {
        for mark in unseen_marks(line, marks) {
            if !is_code(&mark) {
                self.leave_out(at + mark.start..at + mark.end);
            }
        }
    }

    /// Puts other text in the place of a part.
    pub fn replace(&mut self, part: Range<usize>, text: String) {
        self.added_bytes += text.len();
        if text.is_empty() || self.added_bytes <= MAX_LABELS_BYTES {
            self.edits.push((part, text));
        }
    }

    /// Adds the row at a range of the text, by the ranges of its cells with their columns.
    pub fn add_row(
        &mut self,
        text: &str,
        row: Range<usize>,
        cells: &[(usize, Range<usize>)],
        columns: &Columns,
    ) {
        let words = cells.iter().filter_map(|(column, range)| {
            let cell = &text[range.clone()];
            let start = range.end - cell.trim_start().len();
            (!cell.trim().is_empty()).then_some((*column, start, cell.trim()))
        });
        let labels = columns.labels(words.clone().map(|(column, _, cell)| (column, cell)));
        for ((_, start, _), label) in words.zip(labels) {
            self.added_bytes += label.len();
            if !label.is_empty() && self.added_bytes <= MAX_LABELS_BYTES {
                self.edits.push((start..start, label));
            }
        }

        let row = trim_range(text, row);
        self.rows.extend(Some(row).filter(|row| !row.is_empty()));
    }

    /// Adds the tables of a text that was read of this one from `start` on.
    pub fn append(&mut self, other: Self, start: usize, origin: &Offsets) {
        let position = |at: u64| start + usize::try_from(at).unwrap_or(usize::MAX);
        for (part, label) in other.edits.into_iter().filter(|(part, _)| part.is_empty()) {
            self.insert(position(origin.source(part.start)), label);
        }
        let rows = other.rows.into_iter().map(|row| origin.source_range(row));
        self.rows
            .extend(rows.map(|row| position(row.start)..position(row.end)));
    }

    /// Inserts the names into the text of a file, leaves out the data of pictures in it and what
    /// breaks its words, and gives it the rows.
    pub fn label(mut self, mut extract: Extract) -> Extract {
        for part in picture_data(&extract.text).chain(broken_words(&extract.text)) {
            self.leave_out(part);
        }
        // one table may be inside another
        self.edits.sort_by_key(|(at, _)| (at.start, at.end));
        self.rows.sort_by_key(|row| row.start);
        self.rows.dedup_by(|next, row| next.start < row.end);

        let from = Traced {
            text: std::mem::take(&mut extract.text),
            origin: std::mem::take(&mut extract.origin),
        };
        if self.edits.is_empty() {
            return Extract {
                text: from.text,
                origin: from.origin,
                rows: self.rows,
                ..extract
            };
        }

        let mut traced = Traced::with_capacity(from.text.len() + self.added_bytes);
        // the parts that are kept, with their starts in the new text
        let mut kept: Vec<(Range<usize>, usize)> = Vec::new();
        let mut at = 0;
        let end = from.text.len();
        let last = std::iter::once((end..end, String::new()));
        for (part, label) in self.edits.into_iter().chain(last) {
            // what is left out may hold names
            if part.start >= at {
                kept.push((at..part.start, traced.text.len()));
                traced.copy_part(&from, at..part.start);
                let start = from.origin.source(part.start);
                traced.stand_for(&label, start, saturating_u32(part.len()));
            }
            at = at.max(part.end);
        }

        let shift = |at: usize| {
            let after = kept.partition_point(|(part, _)| part.start < at);
            let (part, start) = &kept[after.saturating_sub(1)];
            start + at.min(part.end).saturating_sub(part.start)
        };
        let moved = |range: Range<usize>| shift(range.start)..shift(range.end);
        let rows = self.rows.into_iter().map(moved);
        let rows = rows.filter(|row| !row.is_empty()).collect();
        extract.headings.retain_mut(|heading| {
            let was_empty = heading.range.is_empty();
            heading.range = moved(heading.range.clone());
            was_empty || !heading.range.is_empty()
        });
        Extract {
            text: traced.text,
            origin: traced.origin,
            rows,
            front_matter_end: shift(extract.front_matter_end),
            ..extract
        }
    }
}

/// Returns a text with other text in the place of parts of it, which are in order.
pub(super) fn with_edits(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for (part, words) in edits {
        edited += &text[at..part.start];
        edited += words;
        at = part.end;
    }
    edited + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::outline::Heading;

    #[test]
    fn names_are_inserted_and_traced() {
        let text = "| Name | Age |\n| Ann |  7 |\n| | 8 |\nafter";
        let mut columns = Columns::default();
        columns.set(0, " Name: ");
        columns.set(1, "Age");
        let mut tables = Tables::default();
        tables.add_row(text, 0..14, &[], &Columns::default());
        tables.add_row(text, 15..28, &[(0, 17..21), (1, 22..26)], &columns);
        tables.add_row(text, 28..36, &[(0, 29..30), (1, 31..34)], &columns);
        let found = tables.label(Extract::verbatim(text.to_owned()));

        let expected = "| Name | Age |\n| Name: Ann |  Age: 7 |\n| | Age: 8 |\nafter";
        assert_eq!(found.text, expected);
        let rows: Vec<&str> = found
            .rows
            .iter()
            .map(|row| &expected[row.clone()])
            .collect();
        assert_eq!(
            rows,
            ["| Name | Age |", "| Name: Ann |  Age: 7 |", "| | Age: 8 |"]
        );
        for words in ["Ann", "7", "8", "after"] {
            let at = found.text.find(words).expect(words);
            let source = found.origin.source_range(at..at + words.len());
            assert_eq!(&text[source.start as usize..source.end as usize], words);
        }
        // a name stands for nothing of the file, where its cell begins
        let at = found.text.find("Age: 7").expect("a label");
        let source = found.origin.source_range(at..at + "Age: 7".len());
        assert_eq!(&text[source.start as usize..source.end as usize], "7");
    }

    #[test]
    fn parts_are_left_out_and_traced() {
        let text = "# A<!-- b -->c\n| 1 |\n![](data:image/png;base64,AAAA/+=) <x>d";
        let mut columns = Columns::default();
        columns.set(0, "N");
        let mut tables = Tables::default();
        tables.add_row(text, 15..20, &[(0, 16..19)], &columns);
        tables.leave_out(3..13);
        tables.replace(text.len() - 4..text.len() - 1, "X".to_owned());
        let headings = vec![Heading::new(0..14, 1, "A")];
        let found = tables.label(Extract {
            headings,
            front_matter_end: text.len() - 5,
            ..Extract::verbatim(text.to_owned())
        });
        assert_eq!(found.text, "# Ac\n| N: 1 |\n![]() Xd");
        assert_eq!(&found.text[found.headings[0].range.clone()], "# Ac");
        assert_eq!(&found.text[found.front_matter_end..], " Xd");
        assert_eq!(&found.text[found.rows[0].clone()], "| N: 1 |");
        for (word, source) in [("c\n", "c\n"), ("X", "<x>"), ("d", "d")] {
            let at = found.text.find(word).expect(word);
            let range = found.origin.source_range(at..at + word.len());
            assert_eq!(&text[range.start as usize..range.end as usize], source);
        }
    }

    #[test]
    fn a_row_is_without_the_white_space_around_it() {
        let text = "  a | b \n  \n";
        let mut columns = Columns::default();
        columns.set(0, "Name");
        let mut tables = Tables::default();
        tables.add_row(text, 0..8, &[(0, 0..4), (1, 5..8)], &columns);
        tables.add_row(text, 9..11, &[], &columns);
        let found = tables.label(Extract::verbatim(text.to_owned()));
        assert_eq!(found.text, "  Name: a | b \n  \n");
        assert_eq!(found.rows.len(), 1);
        assert_eq!(&found.text[found.rows[0].clone()], "Name: a | b");
    }

    #[test]
    fn names_are_bounded() {
        let mut columns = Columns::default();
        (0..100).for_each(|column| columns.set(column, &"é".repeat(100)));
        let cells = (0..100).map(|column| (column, "7"));
        let labels: Vec<String> = columns.labels(cells).collect();
        assert_eq!(labels[0], format!("{}: ", "é".repeat(MAX_NAME_CHARS)));
        let bytes: usize = labels.iter().map(String::len).sum();
        assert!(bytes <= MAX_NAMES_BYTES + 2 * labels.len(), "{bytes}");
        assert_eq!(labels.len(), 100);
    }
}
