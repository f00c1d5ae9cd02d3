//! The parts of a document that the answer cites.

use std::ops::Range;

use crate::event::{Citation, Source, SourceForm, TableRow};

use super::lines::Lines;

/// A citation of a chunk: the sentence that the answer's sentence stands on, in its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The first and the last line, from 1.
    pub lines: [u32; 2],
    pub quote: String,
}

impl Cited {
    /// Returns the quote of a citation; `None` for one of a whole chunk.
    pub fn from_citation(citation: &Citation) -> Option<Self> {
        Some(Self {
            lines: citation.lines(),
            quote: citation.quote.clone()?,
        })
    }
}

/// Returns the parts of the shown text to highlight, in order: the cited sentences, or the lines
/// that were opened where none of these is in the text.
pub fn marks(source: &Source, lines: &Lines, cited: &[Cited]) -> Vec<Range<usize>> {
    let quotes = cited
        .iter()
        .filter_map(|cited| find_quote(source, lines, cited));
    let mut marks: Vec<Range<usize>> = quotes.collect();
    if marks.is_empty() {
        let opened = [source.first_line, source.last_line];
        marks.push(within(source, lines, opened));
    }

    marks.sort_by_key(|mark| (mark.start, mark.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark),
        }
    }
    joined
}

/// Returns the bytes of lines of the document, from 1 and both inclusive.
fn within(source: &Source, lines: &Lines, [first, last]: [u32; 2]) -> Range<usize> {
    let from = |line: u32| line.saturating_sub(source.from_line) as usize;
    if last < source.from_line {
        return 0..0;
    }
    lines.lines(from(first)..from(last).saturating_add(1))
}

/// Returns the place of a cited sentence in the text: word for word, or as the row of a table whose
/// cells it names.
fn find_quote(source: &Source, lines: &Lines, cited: &Cited) -> Option<Range<usize>> {
    let within = within(source, lines, cited.lines);
    if let Some(found) = find_folded(&lines.text[within.clone()], &cited.quote) {
        return Some(within.start + found.start..within.start + found.end);
    }

    let SourceForm::Table { rows } = &source.form else {
        return None;
    };
    let [first, last] = cited.lines;
    let mut rows = rows
        .iter()
        .filter(|row| first <= row.first_line && row.last_line <= last);
    let row = rows.find(|row| is_named_in(row, &cited.quote))?;
    Some(self::within(source, lines, [row.first_line, row.last_line]))
}

/// Returns whether a text holds all cells of a row in their order.
fn is_named_in(row: &TableRow, text: &str) -> bool {
    let mut rest = text;
    let mut cells = row.cells.iter().filter(|cell| !cell.is_empty());
    cells.all(|cell| {
        let found = rest.split_once(cell.as_str());
        rest = found.map_or("", |(_, after)| after);
        found.is_some()
    })
}

/// Returns where `wanted` is in `text`, without regard to white space.
fn find_folded(text: &str, wanted: &str) -> Option<Range<usize>> {
    let is_letter = |(_, c): &(usize, char)| !c.is_whitespace();
    let letters: Vec<(usize, char)> = text.char_indices().filter(is_letter).collect();
    let squeezed: String = letters.iter().map(|(_, c)| *c).collect();
    let wanted: String = wanted.chars().filter(|c| !c.is_whitespace()).collect();
    let start = squeezed.find(&wanted).filter(|_| !wanted.is_empty())?;

    let first = squeezed[..start].chars().count();
    let (end, last) = letters[first + wanted.chars().count() - 1];
    Some(letters[first].0..end + last.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the marked texts of a document of these lines from line 3 on.
    fn find_marked(form: SourceForm, text: &str, cited: &[([u32; 2], &str)]) -> Vec<String> {
        let source = Source {
            document: "a.md".to_owned(),
            path: "a.md".to_owned(),
            lines: text.split('\n').map(str::to_owned).collect(),
            from_line: 3,
            places: Vec::new(),
            form,
            first_line: 4,
            last_line: 4,
            changed: false,
        };
        let cited: Vec<Cited> = cited
            .iter()
            .map(|(lines, quote)| Cited {
                lines: *lines,
                quote: (*quote).to_owned(),
            })
            .collect();
        let lines = Lines::from_source(&source);
        marks(&source, &lines, &cited)
            .into_iter()
            .map(|mark| lines.text[mark].to_owned())
            .collect()
    }

    #[test]
    fn cited_sentences_are_found_in_their_lines() {
        let text = "One was here. Two\nwas there. Three.\nTwo was there.";
        let plain = |cited: &[([u32; 2], &str)]| find_marked(SourceForm::Lines, text, cited);
        assert_eq!(plain(&[([3, 4], "Two was  there.")]), ["Two\nwas there."]);
        assert_eq!(plain(&[([5, 5], "Two was there.")]), ["Two was there."]);
        assert_eq!(
            plain(&[([3, 5], "Three."), ([3, 3], "One was here.")]),
            ["One was here.", "Three."]
        );
        // what is not there any more, or was never quoted: the opened lines
        assert_eq!(plain(&[([3, 3], "Four.")]), ["was there. Three.\n"]);
        assert_eq!(plain(&[]), ["was there. Three.\n"]);
        assert_eq!(
            plain(&[([9, 12], "Two"), ([1, 2], "One")]),
            ["was there. Three.\n"]
        );
    }

    #[test]
    fn a_row_is_cited_by_its_cells() {
        let row = |line, cells: &str| TableRow {
            first_line: line,
            last_line: line,
            header: line == 3,
            cells: cells.split(',').map(str::to_owned).collect(),
        };
        let rows = vec![row(3, "name,age"), row(4, "Ann,7"), row(5, "Bob,")];
        let found = find_marked(
            SourceForm::Table { rows },
            "name,age\nAnn,7\nBob,",
            &[([3, 5], "name: Bob")],
        );
        assert_eq!(found, ["Bob,\n"]);
    }
}
