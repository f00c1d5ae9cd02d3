//! A place in a document, as the screen writes it: `ships.md`, `ships.md:5` or `ships.md:5-6`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A document of the corpus, or some of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Place {
    /// Path of the document inside the corpus.
    pub document: String,
    /// Lines from 1, both inclusive; None for the whole document.
    pub lines: Option<[u32; 2]>,
}

impl Place {
    /// Does it share a line with these lines of a document?
    #[must_use]
    pub fn meets(&self, document: &str, [first, last]: [u32; 2]) -> bool {
        self.document == document && self.lines.is_none_or(|[from, to]| from <= last && first <= to)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let line = |number: &str| number.parse::<u32>().ok().filter(|line| *line > 0);
        // a name may hold a colon: only what reads as lines is taken off
        let split = text.rsplit_once(':').and_then(|(document, lines)| {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            Some((document, [line(first)?, line(last)?]))
        });
        let (document, lines) = split.map_or((text, None), |(document, lines)| (document, Some(lines)));
        match lines {
            _ if document.is_empty() => {
                Err("a place is DOCUMENT, DOCUMENT:LINE or DOCUMENT:FIRST-LAST, as the screen writes it".to_owned())
            }
            Some([first, last]) if first > last => Err(format!("`{text}`: the first line comes after the last one")),
            lines => Ok(Self { document: document.to_owned(), lines }),
        }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines {
            None => f.write_str(&self.document),
            Some([first, last]) if first == last => write!(f, "{}:{first}", self.document),
            Some([first, last]) => write!(f, "{}:{first}-{last}", self.document),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_document_or_lines_of_it() {
        let cases = [
            ("ships.md", "ships.md", None),
            ("tables/ships.md:5", "tables/ships.md", Some([5, 5])),
            ("tables/ships.md:5-6", "tables/ships.md", Some([5, 6])),
            ("log: June.md", "log: June.md", None),
            ("log:June.md:3", "log:June.md", Some([3, 3])),
            ("ships.md:0", "ships.md:0", None),
        ];
        for (text, document, lines) in cases {
            let place: Place = text.parse().expect(text);
            assert_eq!((place.document.as_str(), place.lines), (document, lines), "{text}");
            assert_eq!(place.to_string(), text);
        }
        for wrong in ["", ":5", "ships.md:6-5"] {
            wrong.parse::<Place>().expect_err(wrong);
        }
    }

    #[test]
    fn it_meets_what_shares_a_line_with_it() {
        let place: Place = "ships.md:5-6".parse().expect("a place");
        for (lines, meets) in [([1, 4], false), ([4, 5], true), ([6, 9], true), ([7, 9], false)] {
            assert_eq!(place.meets("ships.md", lines), meets, "{lines:?}");
        }
        assert!(!place.meets("towns.md", [5, 6]));
        assert!("ships.md".parse::<Place>().expect("a place").meets("ships.md", [70, 90]));
    }
}
