//! The headings of a document, and the titles above each position of its text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Longest title or name of a place, bytes. It stands in each chunk below it and in each record of
/// such a hit, so a heading that is a whole page would multiply its document.
const MAX_TITLE_BYTES: usize = 200;
/// Most headings above a chunk, innermost first to stay.
const MAX_HEADINGS: usize = 12;

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heading {
    /// The range in the text, with the marks.
    pub(super) range: Range<usize>,
    /// 1 is outermost, 0 the title of a page.
    pub(super) level: u8,
    /// Empty where the section of the headings of this level ends.
    pub(super) title: String,
}

/// The headings of a document, in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    /// The heading that each heading is under.
    above: Vec<Option<usize>>,
}

impl Heading {
    pub(super) fn new(range: Range<usize>, level: u8, title: impl Into<String>) -> Self {
        Self {
            range,
            level,
            title: title.into(),
        }
    }

    /// Returns the heading behind `bytes` of other text.
    pub(super) fn shift_by(self, bytes: usize) -> Self {
        Self {
            range: self.range.start + bytes..self.range.end + bytes,
            ..self
        }
    }
}

impl Outline {
    pub(super) fn new(headings: Vec<Heading>) -> Self {
        Self {
            above: headings_above(&headings),
            headings,
        }
    }

    /// Returns the titles of the headings above a position of the text, outermost first. On a
    /// heading its own title is among them.
    pub(super) fn titles_at(&self, at: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = self.heading_before(at);
        while let Some(index) = next {
            path.push(self.headings[index].title.as_str());
            next = self.above[index];
        }

        path.retain(|title| !title.is_empty());
        // the title of a page is often its first heading again
        path.dedup_by_key(|title| title.to_lowercase());
        path.into_iter()
            .take(MAX_HEADINGS)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .map(str::to_owned)
            .collect()
    }

    /// Returns the heading that contains a position of the text.
    pub(super) fn heading_at(&self, at: usize) -> Option<&Heading> {
        let last = &self.headings[self.heading_before(at)?];
        (at < last.range.end).then_some(last)
    }

    /// Returns the last heading that begins at a position of the text or before it.
    fn heading_before(&self, at: usize) -> Option<usize> {
        let after = self
            .headings
            .partition_point(|heading| heading.range.start <= at);
        after.checked_sub(1)
    }
}

/// Returns the heading that each heading is under: the last one before it whose level is lower.
fn headings_above(headings: &[Heading]) -> Vec<Option<usize>> {
    let mut path: Vec<usize> = Vec::new();
    let mut above = Vec::with_capacity(headings.len());

    for (index, heading) in headings.iter().enumerate() {
        while path
            .last()
            .is_some_and(|last| headings[*last].level >= heading.level)
        {
            path.pop();
        }

        above.push(path.last().copied());
        path.push(index);
    }

    above
}

/// Cuts a title or a name that is longer than a line.
pub(super) fn shorten(title: &mut String) {
    if title.len() > MAX_TITLE_BYTES {
        title.truncate(title.floor_char_boundary(MAX_TITLE_BYTES));
        title.push('…');
        title.shrink_to_fit();
    }
}
