//! Places in documents that have no lines of their own: pages, slides, rows, chapters, messages.

use serde::{Deserialize, Serialize};

/// The place of a text in a document without lines of its own, as users count there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub unit: PlaceUnit,
    /// From 1, both inclusive.
    pub first: u32,
    pub last: u32,
    /// The name of the sheet, or the title of the chapter or message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The path of the member of an archive, or of an attachment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// What a place counts.
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
    #[must_use]
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
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Returns the place from here to `end`; this place alone where the two are not of one sheet or
    /// member.
    #[must_use]
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
    /// From 1.
    pub line: u32,
    pub place: Place,
}

/// Returns the place of lines, from 1 and both inclusive; `None` in a document whose places are its
/// lines. `places` are in the order of their lines.
#[must_use]
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

/// Maximum size of a path in the place of a chunk, and of everything below it, bytes: the window of
/// an embedder is for the text.
const MAX_PATH_BYTES: usize = 100;
const MAX_NAMES_BYTES: usize = 140;

/// Returns the place of a chunk as text: the path of its document, and the names of the member, the
/// sheet, the chapter or message and the headings that it is under, as far as its own text does not
/// hold them. Of long ones the end stays.
#[must_use]
pub fn place_text(document: &str, places: &[PlaceFrom], headings: &[String], text: &str) -> String {
    let place = places.first().map(|from| &from.place);
    let of_place = place.map(|place| [&place.member, &place.name]);
    let names = of_place.into_iter().flatten().flatten().chain(headings);

    let mut known = words_of(text) + &words_of(document);
    let mut added = Vec::new();
    for name in names {
        let words = words_of(name);
        if !known.contains(&words) {
            known.push_str(&words);
            added.push(name.as_str());
        }
    }

    let mut room = MAX_NAMES_BYTES;
    let fits = |name: &&&str| {
        let left = room.checked_sub(name.len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let mut parts: Vec<&str> = added.iter().rev().take_while(fits).copied().collect();
    parts.push(end_of_path(document));
    parts.reverse();
    parts.join(" › ")
}

/// Returns a text as models read it: its place, then the text.
#[must_use]
pub fn placed_text(
    document: &str,
    places: &[PlaceFrom],
    headings: &[String],
    text: &str,
) -> String {
    format!("{}: {text}", place_text(document, places, headings, text))
}

/// Returns the words of a text in lower case, each between two spaces, so that a phrase of whole
/// words can be found in them.
#[must_use]
pub fn words_of(text: &str) -> String {
    let mut words = " ".to_owned();
    for c in text.chars() {
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// Returns as many folders from the end of a path as have room.
fn end_of_path(path: &str) -> &str {
    let Some(excess) = path.len().checked_sub(MAX_PATH_BYTES) else {
        return path;
    };
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let fitting = path
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| *at >= excess && path[..*at].ends_with('/'));
    &path[fitting.unwrap_or(name)..]
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
    fn places_of_two_sheets_do_not_join() {
        let row = |sheet: &str, number| Place::new(PlaceUnit::Row, number).with_name(sheet);
        assert_eq!(row("Hours", 2).to(&row("Hours", 4)).last, 4);
        assert_eq!(row("Hours", 2).to(&row("Rates", 4)).last, 2);
    }

    #[test]
    fn the_place_of_a_chunk_is_what_its_text_does_not_say() {
        let sheet = Place::new(PlaceUnit::Row, 2).with_name("Hours");
        let places = [PlaceFrom {
            line: 1,
            place: sheet,
        }];
        /// Document, places, headings and text of a chunk, with its place.
        type Case<'a> = (&'a str, &'a [PlaceFrom], &'a [&'a str], &'a str, &'a str);
        let cases: [Case<'_>; 6] = [
            (
                "People/Ilse Brandt.md",
                &[],
                &["Phone"],
                "555 0134",
                "People/Ilse Brandt.md › Phone",
            ),
            (
                "machines.md",
                &[],
                &["Workshop machines", "Osprey XL", "Guarantee"],
                "### Guarantee\n\nThe guarantee runs for 38 months.",
                "machines.md › Workshop machines › Osprey XL",
            ),
            ("a/ferry.md", &[], &["Ferry"], "It leaves.", "a/ferry.md"),
            ("shop.xlsx", &places, &[], "Mo 9-12", "shop.xlsx › Hours"),
            ("a.md", &[], &["!?"], "b", "a.md"),
            ("", &[], &[], "", ""),
        ];
        for (document, places, headings, text, expected) in cases {
            let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
            let found = place_text(document, places, &headings, text);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_end_of_a_long_place_stays() {
        let path = format!("{}/b/c.md", "long folder ".repeat(20));
        assert_eq!(place_text(&path, &[], &[], ""), "b/c.md");
        let name = "é".repeat(200);
        assert_eq!(place_text(&format!("a/{name}"), &[], &[], ""), name);
        let headings = [
            "x".repeat(100),
            "Outer".to_owned(),
            "y".repeat(100),
            "Inner".to_owned(),
        ];
        assert_eq!(
            place_text("a.md", &[], &headings, ""),
            format!("a.md › Outer › {} › Inner", "y".repeat(100))
        );
    }
}
