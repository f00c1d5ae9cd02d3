//! The titles of an outline (bookmarks), found again on the pages that they name.

use crate::corpus::outline::Heading;

/// A longer block is no title.
const MAX_TITLE_CHARS: usize = 160;
/// Titles of the outline that may be missing on the pages before the next that is there.
const MAX_MISSING_TITLES: usize = 8;

/// A title of the outline.
#[derive(Debug)]
pub(super) struct Title {
    pub text: String,
    /// `None` where the outline names no page that is there.
    pub page: Option<u32>,
    pub level: u8,
}

impl Title {
    /// Returns the title as a heading whose words are not in the text.
    pub fn heading_at(&self, at: usize) -> Heading {
        Heading::new(at..at, self.level, self.text.trim())
    }
}

/// The titles that are still to come.
pub(super) struct Titles<'t>(&'t [Title]);

impl<'t> Titles<'t> {
    pub fn new(outline: &'t [Title]) -> Self {
        Self(outline)
    }

    /// Takes the title that a block of a page is, and drops those before it.
    pub fn take(&mut self, page: u32, block: &str) -> Option<&'t Title> {
        let mut near = self.0.iter().take(MAX_MISSING_TITLES);
        let at = near.position(|title| is_title(title, page, block))?;
        let title = &self.0[at];
        self.0 = &self.0[at + 1..];
        Some(title)
    }

    /// Takes the next titles that name a page and are none of these blocks of it, and drops those
    /// of pages before.
    pub fn take_missing<'b>(
        &mut self,
        page: u32,
        blocks: impl Iterator<Item = &'b str> + Clone,
    ) -> impl Iterator<Item = &'t Title> {
        let is_before = |title: &Title| title.page.is_some_and(|number| number < page);
        let before = self.0.iter().take_while(|title| is_before(title)).count();
        self.0 = &self.0[before..];

        let is_missing = |title: &Title| {
            let mut blocks = blocks.clone();
            title.page == Some(page) && !blocks.any(|block| is_title(title, page, block))
        };
        let missing = self.0.iter().take_while(|title| is_missing(title)).count();
        let (missing, rest) = self.0.split_at(missing);
        self.0 = rest;
        missing.iter()
    }
}

/// Returns whether a block of a page is a title of the outline, which may lack its number.
fn is_title(title: &Title, page: u32, block: &str) -> bool {
    let letters = |text: &str| -> String {
        let lower = text.to_lowercase();
        lower.chars().filter(|c| c.is_alphanumeric()).collect()
    };
    if title.page.is_some_and(|number| number != page) || !is_short(block) {
        return false;
    }
    let title = letters(&title.text);
    let block = letters(block);
    !title.is_empty() && (block.ends_with(&title) || title.ends_with(&block) && block.len() > 3)
}

/// Returns whether a block is short enough for a title.
pub(super) fn is_short(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE_CHARS
}
