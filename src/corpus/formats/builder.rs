//! Builds the text of a document from its headings, paragraphs, rows and members.

use std::borrow::Cow;
use std::ops::Range;

use super::columns::{Columns, MAX_NAME_CHARS};
use super::format::Extract;
use super::header::{Cells, MAX_ROWS_ABOVE_HEADER, NamedRows};
use crate::corpus::outline::{Heading, shorten};
use crate::corpus::terminal::is_invisible;
use crate::event::{Metadata, Place, PlaceUnit};

/// Maximum size of the text of one file.
pub(super) const MAX_TEXT_BYTES: usize = 64 << 20;
/// Maximum size of its headings and places: a sheet has a million rows, and each is a place.
pub(super) const MAX_MARKS_BYTES: usize = 160 << 20;
/// Bytes of a heading or a place besides its name, in memory and on its way out of a worker.
const MARK_BYTES: usize = 128;
/// Cells that reach into rows below beyond this number are read once.
const MAX_MERGED: usize = 1_000;
/// Maximum size of what a row repeats of text that is in the file once.
pub(super) const MAX_ROW_BYTES: usize = 1 << 20;

/// The text of a document while it grows. Control characters are left out, and what exceeds a
/// limit.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Builder {
    extract: Extract,
    notes: Vec<String>,
    /// Bytes of the headings, places and parts.
    marks_bytes: usize,
    /// The place and the part that begin with the next text.
    next_place: Option<Place>,
    begins_part: bool,
    /// The rows of the sheet that is read.
    sheet_rows: NamedRows<Place>,
    ends_in_line: bool,
    is_full: bool,
}

/// The rows of a table, which become one line each: `Name: Ann; Age: 7`.
#[derive(Debug, Default)]
pub(in crate::corpus) struct Rows {
    /// The names of the columns, once their row was found.
    columns: Columns,
    rows: u32,
    merged: Merged,
}

/// The cells that reach into rows below their own: their columns, texts and last rows.
#[derive(Debug, Default)]
struct Merged(Vec<(usize, String, u32)>);

/// A sheet of a workbook, whose places are its rows.
#[derive(Debug)]
pub(super) struct Sheet {
    name: String,
    /// The number of the last row, from 1.
    last_row: u32,
    merged: Merged,
}

impl Builder {
    /// Begins a place with the next text.
    pub fn place(&mut self, mut place: Place) {
        place.name.iter_mut().for_each(shorten);
        self.next_place = Some(place);
    }

    /// Begins a part with the next text: no chunk contains text of two parts.
    pub fn part(&mut self) {
        self.end_sheet_rows();
        self.begins_part = true;
    }

    /// Adds a heading. Level 1 is outermost.
    pub fn heading(&mut self, level: u8, title: &str) {
        let mut title = one_line(title);
        if let Some(range) = self.add(&title, false) {
            shorten(&mut title);
            self.marks_bytes += MARK_BYTES + title.len();
            let heading = Heading::new(range, level, title);
            self.extract.headings.push(heading);
        }
    }

    /// Adds a paragraph, with a blank line before it.
    pub fn paragraph(&mut self, text: &str) {
        self.add(&clean(text), false);
    }

    /// Adds a line, directly below the line before it: a row, an item of a list.
    pub fn line(&mut self, text: &str) {
        self.add(&clean(text), true);
    }

    /// Adds a remark for the index report.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds remarks for the index report.
    pub fn notes(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.extend(notes);
    }

    /// Returns what was read of a part of the file; nothing of a damaged one, which is noted: it
    /// costs no other.
    pub fn take_or_note<T: Default>(&mut self, part: &str, read: Result<T, String>) -> T {
        read.unwrap_or_else(|reason| {
            self.note(format!("{part} cannot be read: {reason}"));
            T::default()
        })
    }

    /// Counts parts with hidden text, which are left out.
    pub fn hide(&mut self, parts: u32) {
        self.extract.hidden += parts;
    }

    pub fn metadata(&mut self, metadata: Metadata) {
        self.extract.metadata = metadata;
    }

    /// Returns whether no more text fits.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds what a reader extracted from a member: a chapter, an attachment.
    pub fn append(&mut self, mut member: Extract) {
        self.notes.extend(member.note.take());
        self.extract.hidden += member.hidden;
        if member.text.trim().is_empty() {
            return;
        }
        let marks_bytes = member.marks_bytes();
        self.is_full |= self.marks_bytes + marks_bytes > MAX_MARKS_BYTES;
        let Some(range) = self.add(&member.text, false) else {
            return;
        };

        self.marks_bytes += marks_bytes;
        self.extract.take_marks(member, range.start);
    }

    /// Adds a member as a part of its own.
    pub fn append_part(&mut self, member: Extract) {
        self.part();
        self.append(member);
    }

    pub fn finish(mut self) -> Extract {
        self.end_sheet_rows();
        if self.is_full {
            let mib = MAX_TEXT_BYTES >> 20;
            self.note(format!(
                "its text exceeds {mib} MiB, and the rest is left out: split it to read all"
            ));
        }
        if !self.notes.is_empty() {
            self.extract.note = Some(self.notes.join("; "));
        }
        self.extract
    }

    /// Adds a row of the sheet that is read. It waits for the names of its columns.
    fn add_sheet_row(&mut self, place: Place, cells: Cells, is_below_gap: bool) {
        let mut rows = std::mem::take(&mut self.sheet_rows);
        let give = &mut |place, _, line: String| self.push_row(place, &line);
        rows.add(place, cells, is_below_gap, give);
        self.sheet_rows = rows;
    }

    /// Adds the rows that wait for the names of their columns.
    fn end_sheet_rows(&mut self) {
        if self.sheet_rows.is_waiting() {
            let mut rows = std::mem::take(&mut self.sheet_rows);
            rows.finish(&mut |place, _, line: String| self.push_row(place, &line));
            self.sheet_rows = rows;
        }
    }

    fn push_row(&mut self, place: Place, line: &str) {
        let last = self.extract.places.last().map(|(_, last)| last);
        let place = Some(place).filter(|place| last != Some(place));
        let next = std::mem::replace(&mut self.next_place, place);
        let range = self.push(line, true);
        self.extract.rows.extend(range);
        self.next_place = next;
    }

    /// Adds text and returns its range; `None` when there is none, or no more fits.
    fn add(&mut self, text: &str, is_line: bool) -> Option<Range<usize>> {
        self.end_sheet_rows();
        self.push(text, is_line)
    }

    fn push(&mut self, text: &str, is_line: bool) -> Option<Range<usize>> {
        self.is_full |= self.extract.text.len() + text.len() + 2 > MAX_TEXT_BYTES
            || self.marks_bytes > MAX_MARKS_BYTES;
        if text.is_empty() || self.is_full {
            return None;
        }

        let is_directly_below = is_line && self.ends_in_line && !self.begins_part;
        let to = &mut self.extract.text;
        if !to.is_empty() {
            to.push_str(if is_directly_below { "\n" } else { "\n\n" });
        }
        let start = to.len();
        to.push_str(text);
        let end = to.len();
        self.ends_in_line = is_line;

        if let Some(place) = self.next_place.take() {
            self.marks_bytes += place_bytes(&place);
            self.extract.places.push((start, place));
        }
        if std::mem::take(&mut self.begins_part) {
            self.extract.parts.push(start);
        }
        Some(start..end)
    }
}

impl Rows {
    /// Notes that a cell of the next row reaches over this number of rows.
    pub fn merge(&mut self, column: usize, text: &str, rows: u32) {
        let last = self.rows.saturating_add(rows.saturating_sub(1));
        self.merged.add([self.rows, last], column, text);
    }

    /// Adds a row as a line: its cells with their columns, from 0, and those that reach into it.
    /// The first row that names columns is the header, and is repeated with each row below it.
    pub fn add(&mut self, cells: impl IntoIterator<Item = (usize, String)>, builder: &mut Builder) {
        let cells = self.merged.fill(self.rows, cells);
        let texts = cells.iter().map(|(column, cell)| (*column, cell.as_str()));
        let line = self.columns.line(texts);
        let range = builder.add(&line, true);
        builder.extract.rows.extend(range);

        let can_be_header = self.columns.is_empty() && (self.rows as usize) < MAX_ROWS_ABOVE_HEADER;
        if can_be_header && is_header(&cells) {
            for (column, name) in cells {
                self.columns.set(column, &name);
            }
        }
        self.rows = self.rows.saturating_add(1);
    }
}

impl Merged {
    /// Notes that a cell reaches from its row down to another.
    fn add(&mut self, [first, last]: [u32; 2], column: usize, text: &str) {
        let text = one_line(text);
        if last > first && !text.is_empty() && self.0.len() < MAX_MERGED {
            self.0.push((column, text, last));
        }
    }

    /// Returns the cells of a row that are not empty, with those of rows above that reach into it,
    /// unless it is empty.
    fn fill(&mut self, row: u32, cells: impl IntoIterator<Item = (usize, String)>) -> Cells {
        let cells = cells.into_iter();
        let cells = cells.map(|(column, cell)| (column, one_line(&cell)));
        let mut cells: Cells = cells.filter(|(_, cell)| !cell.is_empty()).collect();
        self.0.retain(|(_, _, last)| *last >= row);
        if cells.is_empty() || self.0.is_empty() {
            return cells;
        }

        for (column, text, _) in &self.0 {
            if cells.iter().all(|(taken, _)| taken != column) {
                cells.push((*column, text.clone()));
            }
        }
        cells.sort_by_key(|(column, _)| *column);
        cells
    }
}

impl Sheet {
    /// Begins a sheet, which is a part.
    pub fn begin(name: &str, builder: &mut Builder) -> Self {
        builder.part();
        let mut name = one_line(name);
        shorten(&mut name);
        builder.sheet_rows = NamedRows::default();
        Self {
            name,
            last_row: 0,
            merged: Merged::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a row by its number, from 1, with the columns of its cells, from 0.
    pub fn row(
        &mut self,
        number: u32,
        cells: impl IntoIterator<Item = (usize, String)>,
        builder: &mut Builder,
    ) {
        let place = Place::new(PlaceUnit::Row, number).with_name(&self.name);
        if self.last_row == 0 {
            builder.place(place.clone());
            builder.heading(1, &self.name);
        }
        let cells = self.merged.fill(number, cells);
        if !cells.is_empty() {
            builder.add_sheet_row(place, cells, number > self.last_row.saturating_add(1));
            self.last_row = number;
        }
    }

    /// Notes that a cell of a row, by its number, reaches down to another row.
    pub fn merge(&mut self, rows: [u32; 2], column: usize, text: &str) {
        self.merged.add(rows, column, text);
    }

    /// Adds a remark on a row.
    pub fn remark(&mut self, row: u32, text: &str, builder: &mut Builder) {
        builder.place(Place::new(PlaceUnit::Row, row).with_name(&self.name));
        builder.line(text);
    }
}

impl Extract {
    /// Returns what the headings and places take.
    pub fn marks_bytes(&self) -> usize {
        let headings = self.headings.iter();
        let headings = headings.map(|heading| MARK_BYTES + heading.title.len());
        let places = self.places.iter().map(|(_, place)| place_bytes(place));
        headings.chain(places).sum()
    }

    /// Returns what was extracted from a member of a file: its places are in the member, whose
    /// lines are counted from its start where it has no others.
    pub fn into_member(mut self, path: &str) -> Self {
        if self.places.is_empty() {
            self.places.push((0, Place::new(PlaceUnit::Line, 1)));
        }
        for (_, place) in &mut self.places {
            place.member = Some(match place.member.take() {
                Some(inner) => format!("{path}/{inner}"),
                None => path.to_owned(),
            });
        }
        self.note = self.note.map(|note| format!("{path}: {note}"));
        self
    }
}

fn place_bytes(place: &Place) -> usize {
    let names = [&place.name, &place.member];
    MARK_BYTES + names.into_iter().flatten().map(String::len).sum::<usize>()
}

/// Returns whether the cells are the names of columns: at least two, short, not all of them
/// numbers.
fn is_header(cells: &[(usize, String)]) -> bool {
    let is_short = |name: &str| name.chars().count() <= MAX_NAME_CHARS;
    let is_number = |name: &str| name.parse::<f64>().is_ok();
    cells.len() >= 2
        && cells.iter().all(|(_, name)| is_short(name))
        && !cells.iter().all(|(_, name)| is_number(name))
}

/// Returns text without control and invisible characters and without white space at its ends. Every
/// kind of line end becomes a line feed.
fn clean(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let is_left_out = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c);
    if !text.contains(is_left_out) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let lines = text.replace(['\r', '\u{b}', '\u{c}', '\u{85}'], "\n");
    let kept: String = lines.chars().filter(|c| !is_left_out(*c)).collect();
    Cow::Owned(kept.trim().to_owned())
}

/// Returns text as one line, with single spaces.
pub(in crate::corpus) fn one_line(text: &str) -> String {
    let text = clean(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Returns a title or a name as one line; `None` when it is empty.
pub(in crate::corpus) fn named(text: &str) -> Option<String> {
    let text = one_line(text);
    (!text.is_empty()).then_some(text)
}

/// Returns of each item how many follow each other in its run, where `is_run` joins neighbours.
pub(super) fn run_lengths<T>(items: &[T], is_run: impl FnMut(&T, &T) -> bool) -> Vec<usize> {
    let runs = items.chunk_by(is_run);
    let lengths = runs.flat_map(|run| std::iter::repeat_n(run.len(), run.len()));
    lengths.collect()
}

/// Returns what stands in front of a comment: its author, where that has a name.
pub(super) fn comment_label(author: &str) -> String {
    let by = named(author).map_or_else(String::new, |author| format!(" by {author}"));
    format!("Comment{by}: ")
}

/// Returns the day of an ISO 8601 date.
pub(in crate::corpus) fn day(date: &str) -> Option<String> {
    let day = date.trim().get(..10)?;
    let is_day = day.parse::<jiff::civil::Date>().is_ok();
    is_day.then(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &[&[&str]]) -> String {
        let mut builder = Builder::default();
        let mut rows = Rows::default();
        for row in table {
            let cells = row.iter().map(|&cell| cell.to_owned());
            rows.add(cells.enumerate(), &mut builder);
        }
        builder.finish().text
    }

    #[test]
    fn rows_repeat_their_header() {
        let cases: [(&[&[&str]], &str); 5] = [
            (
                &[&["Name", "Age"], &["Ann", "7"], &["", "8"]],
                "Name; Age\nName: Ann; Age: 7\nAge: 8",
            ),
            (
                &[&["Prices of May"], &["Item", "Price:"], &["Tea", "2\n3"]],
                "Prices of May\nItem; Price:\nItem: Tea; Price: 2 3",
            ),
            (&[&["1", "2"], &["3", "4"]], "1; 2\n3; 4"),
            (&[&["a", "b"], &["c", "d", "e"]], "a; b\na: c; b: d; e"),
            (&[&["", ""], &["only"]], "only"),
        ];
        for (table, text) in cases {
            assert_eq!(rows(table), text, "{table:?}");
        }
    }

    #[test]
    fn a_merged_cell_is_in_all_of_its_rows() {
        let mut builder = Builder::default();
        let mut rows = Rows::default();
        let cells = |cells: &[&str]| {
            let cells = cells.iter().map(|&cell| cell.to_owned());
            cells.enumerate().collect::<Vec<_>>()
        };
        rows.add(cells(&["Boat", "Month", "Fee"]), &mut builder);
        rows.merge(0, " Yawl ", 3);
        rows.add(cells(&["Yawl", "May", "3"]), &mut builder);
        rows.add(cells(&["", "", ""]), &mut builder);
        rows.add(cells(&["", "June", "4"]), &mut builder);
        rows.add(cells(&["", "July", "5"]), &mut builder);
        assert_eq!(
            builder.finish().text,
            "Boat; Month; Fee\nBoat: Yawl; Month: May; Fee: 3\nBoat: Yawl; Month: June; Fee: 4\nMonth: July; Fee: 5"
        );
    }

    #[test]
    fn the_names_of_columns_do_not_multiply_a_table() {
        let header: Vec<String> = (0..100).map(|n| format!("{n:0>80}x")).collect();
        let names: Vec<&str> = header.iter().map(|name| &name[1..]).collect();
        let mut table = vec![names.as_slice()];
        table.extend(std::iter::repeat_n(["7"; 100].as_slice(), 500));
        let text = rows(&table);
        assert!(text.starts_with("000"), "{}", &text[..80]);
        assert!(text.contains("x: 7; "));
        assert!(text.len() < 500 * 1_000 + 10_000, "{} bytes", text.len());
    }

    #[test]
    fn places_and_parts_begin_with_the_next_text() {
        let mut builder = Builder::default();
        builder.place(Place::new(PlaceUnit::Slide, 1));
        builder.place(Place::new(PlaceUnit::Slide, 2));
        builder.part();
        builder.heading(1, "One\r\ntwo");
        builder.line("a\u{b}b\u{1b}\u{ad}");
        builder.line(" c ");
        builder.part();
        builder.line("d");
        builder.paragraph("");
        let extract = builder.finish();

        assert_eq!(extract.text, "One two\n\na\nb\nc\n\nd");
        assert_eq!(extract.places, [(0, Place::new(PlaceUnit::Slide, 2))]);
        assert_eq!(extract.parts, [0, 16]);
        assert_eq!(extract.headings[0].range, 0..7);
        assert_eq!(extract.note, None);
    }

    #[test]
    fn members_are_named_by_their_places() {
        let mut inner = Builder::default();
        inner.paragraph("one\ntwo");
        let mut builder = Builder::default();
        builder.paragraph("mail");
        builder.append(inner.finish().into_member("a.txt").into_member("b.zip"));
        let extract = builder.finish();

        assert_eq!(extract.text, "mail\n\none\ntwo");
        let [(at, place)] = extract.places.as_slice() else {
            panic!("{:?}", extract.places);
        };
        assert_eq!(*at, 6);
        assert_eq!((place.unit, place.first), (PlaceUnit::Line, 1));
        assert_eq!(place.member.as_deref(), Some("b.zip/a.txt"));
    }

    #[test]
    fn text_beyond_the_limit_is_left_out() {
        let mut builder = Builder::default();
        let long = "x".repeat(MAX_TEXT_BYTES - 4);
        builder.paragraph(&long);
        builder.paragraph("more");
        builder.paragraph("");
        assert!(builder.is_full());
        let extract = builder.finish();
        assert_eq!(extract.text.len(), long.len());
        assert!(extract.note.is_some_and(|note| note.contains("64 MiB")));
    }
}
