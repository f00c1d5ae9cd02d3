//! A location in a document: `ships.md`, `ships.md:5` and `ships.md:5-6` as the screen writes it,
//! `ships.md@120-310` in bytes.

use std::fmt;
use std::str::FromStr;

use crate::event::ChunkText;
use crate::letters;

/// A document of the corpus, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Path of the document inside the corpus.
    pub document: String,
    pub part: LocationPart,
}

/// The part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationPart {
    Whole,
    /// Everything that shares a line with these: from 1, both inclusive.
    Lines([u32; 2]),
    /// Everything inside these bytes: start, and one past the end. Chunks may overlap and share
    /// lines; bytes name one of them.
    Bytes([u64; 2]),
}

impl Location {
    /// Returns whether it covers a chunk, or a chunk of a joined text.
    pub fn covers(&self, chunk: &ChunkText) -> bool {
        let holds = |lines, bytes| self.covers_range(&chunk.document, lines, bytes);
        match chunk.parts.as_slice() {
            [] => holds(chunk.lines, chunk.bytes),
            parts => parts.iter().any(|part| holds(part.lines, part.bytes)),
        }
    }

    fn covers_range(&self, document: &str, lines: [u32; 2], bytes: [u64; 2]) -> bool {
        letters::are_same(&self.document, document)
            && match self.part {
                LocationPart::Whole => true,
                LocationPart::Lines([first, last]) => first <= lines[1] && lines[0] <= last,
                LocationPart::Bytes([start, end]) => start <= bytes[0] && bytes[1] <= end,
            }
    }
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // a name may hold either sign: only what reads as numbers is taken off
        let part = |sign: char| {
            let (document, numbers) = text.rsplit_once(sign)?;
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            Some((
                document,
                first.parse::<u64>().ok()?,
                last.parse::<u64>().ok()?,
            ))
        };

        let line = |number: u64| u32::try_from(number).ok().filter(|line| *line > 0);

        let lines = part(':').and_then(|(document, first, last)| {
            Some((
                document,
                LocationPart::Lines([line(first)?, line(last)?]),
                first <= last,
            ))
        });

        let bytes = || {
            part('@').map(|(document, start, end)| {
                (document, LocationPart::Bytes([start, end]), start < end)
            })
        };

        let (document, part, in_order) =
            lines
                .or_else(bytes)
                .unwrap_or((text, LocationPart::Whole, true));

        if document.is_empty() {
            return Err(
                "a location is DOCUMENT, DOCUMENT:LINE, DOCUMENT:FIRST-LAST or DOCUMENT@START-END"
                    .to_owned(),
            );
        }

        if !in_order {
            return Err(format!("`{text}` ends before it begins"));
        }

        Ok(Self {
            document: document.to_owned(),
            part,
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = &self.document;
        match self.part {
            LocationPart::Whole => f.write_str(document),
            LocationPart::Lines([first, last]) if first == last => write!(f, "{document}:{first}"),
            LocationPart::Lines([first, last]) => write!(f, "{document}:{first}-{last}"),
            LocationPart::Bytes([start, end]) => write!(f, "{document}@{start}-{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        text.parse().expect(text)
    }

    #[test]
    fn a_location_is_a_document_or_a_part_of_it() {
        let cases = [
            ("ships.md", "ships.md", LocationPart::Whole),
            (
                "tables/ships.md:5",
                "tables/ships.md",
                LocationPart::Lines([5, 5]),
            ),
            (
                "tables/ships.md:5-6",
                "tables/ships.md",
                LocationPart::Lines([5, 6]),
            ),
            ("ships.md@0-310", "ships.md", LocationPart::Bytes([0, 310])),
            ("log: June.md", "log: June.md", LocationPart::Whole),
            ("me@home.md", "me@home.md", LocationPart::Whole),
            ("log:June.md:3", "log:June.md", LocationPart::Lines([3, 3])),
            ("ships.md:0", "ships.md:0", LocationPart::Whole),
        ];
        for (text, document, part) in cases {
            assert_eq!(
                location(text),
                Location {
                    document: document.to_owned(),
                    part
                },
                "{text}"
            );
            assert_eq!(location(text).to_string(), text);
        }
        for wrong in ["", ":5", "ships.md:6-5", "ships.md@7-7"] {
            wrong.parse::<Location>().expect_err(wrong);
        }
    }

    #[test]
    fn lines_name_what_shares_one_and_bytes_what_lies_inside() {
        let cases = [
            ("ships.md:5-6", [1, 4], [0, 90], false),
            ("ships.md:5-6", [4, 5], [0, 90], true),
            ("ships.md:5-6", [6, 9], [0, 90], true),
            ("ships.md:5-6", [7, 9], [0, 90], false),
            ("ships.md@10-50", [1, 1], [10, 50], true),
            ("ships.md@10-50", [1, 1], [20, 30], true),
            ("ships.md@10-50", [1, 1], [40, 80], false),
            ("ships.md", [70, 90], [1, 2], true),
            ("towns.md", [1, 1], [1, 2], false),
        ];
        for (text, lines, bytes, named) in cases {
            assert_eq!(
                location(text).covers_range("ships.md", lines, bytes),
                named,
                "{text} {lines:?} {bytes:?}"
            );
        }
    }
}
