//! Places in documents that have no lines of their own: pages, slides, rows, chapters, messages.

use std::ffi::OsStr;
use std::iter;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::text::with_short_rules;

/// The place of a text in a document without lines of its own, as users count there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub unit: PlaceUnit,
    /// First and last number, from 1, both inclusive.
    pub first: u32,
    pub last: u32,
    /// The name of the sheet, the title of the chapter or message, or the number that is printed on
    /// the page where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The path of the member of an archive, or of an attachment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// The unit that a place counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceUnit {
    Page,
    Slide,
    /// A row of a sheet.
    Row,
    Chapter,
    Message,
    /// A cell of a notebook.
    Cell,
    /// A line of a member of an archive; the lines after it are counted on from there.
    Line,
}

impl Place {
    /// Returns the place of one unit.
    pub fn new(unit: PlaceUnit, number: u32) -> Self {
        Self {
            unit,
            first: number,
            last: number,
            name: None,
            member: None,
        }
    }

    /// Returns the place with the name of its sheet, or the title of its chapter or message.
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Returns the place from here to `end`; this place alone where the two are not of one sheet or
    /// member.
    pub fn to(mut self, end: &Self) -> Self {
        let is_same_kind = self.unit == end.unit && self.member == end.member;
        let is_same_sheet = self.unit != PlaceUnit::Row || self.name == end.name;
        if is_same_kind && is_same_sheet {
            self.last = end.last.max(self.last);
        }
        self
    }
}

/// A place from a line of the document's text on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceFrom {
    /// Number of the line, from 1.
    pub line: u32,
    pub place: Place,
}

/// Returns the place of lines, from 1 and both inclusive; `None` in a document whose places are its
/// lines. `places` are in the order of their lines.
pub fn place_of_lines(places: &[PlaceFrom], [first, last]: [u32; 2]) -> Option<Place> {
    let at = |line: u32| {
        let after = places.partition_point(|from| from.line <= line);
        let from = places.get(after.saturating_sub(1))?;
        let mut place = from.place.clone();
        if place.unit == PlaceUnit::Line {
            place.first += line.saturating_sub(from.line);
            place.last = place.first;
        }
        Some(place)
    };
    Some(at(first)?.to(&at(last)?))
}

/// Returns the headings above a chunk that its text does not repeat, outermost first.
pub fn unsaid_headings<'a>(headings: &'a [String], text: &'a str) -> impl Iterator<Item = &'a str> {
    let headings = headings.iter().map(String::as_str);
    headings.filter(move |heading| !text.contains(heading))
}

/// Returns the name of a document's file without its extension.
pub fn document_stem(document: &str) -> &str {
    let stem = Path::new(document).file_stem();
    stem.and_then(OsStr::to_str).unwrap_or_default()
}

/// Returns the text of a chunk as an embedder reads it: the words of its file's name and of the
/// headings above it, which a section seldom repeats, then its own.
pub fn embedded_text(document: &str, headings: &[String], text: &str) -> String {
    let stem = document_stem(document).replace(['-', '_'], " ");
    let headings = unsaid_headings(headings, text);
    let names: Vec<&str> = iter::once(stem.as_str()).chain(headings).collect();
    format!("{}: {}", names.join(", "), with_short_rules(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_lines() {
        let page = |line, number| PlaceFrom {
            line,
            place: Place::new(PlaceUnit::Page, number),
        };
        let places = [page(1, 4), page(11, 5), page(30, 6)];
        let cases = [
            ([1, 1], [4, 4]),
            ([3, 12], [4, 5]),
            ([29, 31], [5, 6]),
            ([30, 99], [6, 6]),
        ];
        for (lines, [first, last]) in cases {
            let place = place_of_lines(&places, lines).expect("a place");
            assert_eq!((place.first, place.last), (first, last), "{lines:?}");
        }
        assert_eq!(place_of_lines(&[], [1, 2]), None);
    }

    #[test]
    fn lines_of_a_member_are_counted_on() {
        let member = |line, name: &str| {
            let mut place = Place::new(PlaceUnit::Line, 1);
            place.member = Some(name.to_owned());
            PlaceFrom { line, place }
        };
        let places = [member(1, "a.txt"), member(11, "b.txt")];
        for (lines, expected) in [([3, 5], [3, 5]), ([12, 15], [2, 5])] {
            let place = place_of_lines(&places, lines).expect("a place");
            assert_eq!([place.first, place.last], expected, "{lines:?}");
        }
    }

    #[test]
    fn an_embedder_reads_the_names_that_the_text_does_not_repeat() {
        let headings = ["Pumps", "Guarantee"].map(str::to_owned);
        for (document, text, expected) in [
            (
                "docs/aqua-3_lite.md",
                "Two years.",
                "aqua 3 lite, Pumps, Guarantee: Two years.",
            ),
            (
                "notes",
                "Guarantee\nTwo years.",
                "notes, Pumps: Guarantee\nTwo years.",
            ),
        ] {
            assert_eq!(embedded_text(document, &headings, text), expected);
        }
    }

    #[test]
    fn places_of_two_sheets_do_not_join() {
        let row = |sheet: &str, number| Place::new(PlaceUnit::Row, number).with_name(sheet);
        assert_eq!(row("Hours", 2).to(&row("Hours", 4)).last, 4);
        assert_eq!(row("Hours", 2).to(&row("Rates", 4)).last, 2);
    }
}
