//! Reads what the head of a page says of it: its title, and its `<meta>` elements.

use crate::corpus::outline::Heading;
use crate::event::Metadata;

/// The head of a page is in its first bytes.
const HEAD_BYTES: usize = 64 << 10;
/// Maximum size of an element.
const MAX_ELEMENT_BYTES: usize = 2000;

/// Returns the fields of a page. Its title is the heading of level 0.
pub(super) fn metadata(source: &str, headings: &[Heading]) -> Metadata {
    let mut metadata = Metadata::default();
    if let Some(title) = headings.iter().find(|heading| heading.level == 0) {
        metadata.set("title", &title.title);
    }

    let head = &source[..source.floor_char_boundary(HEAD_BYTES)];
    let lower = head.to_ascii_lowercase();
    for (at, _) in lower.match_indices("<meta") {
        let element = &head[at..head.floor_char_boundary(at + MAX_ELEMENT_BYTES)];
        let name = attribute(element, "name").or_else(|| attribute(element, "property"));
        if let (Some(name), Some(content)) = (name, attribute(element, "content")) {
            metadata.set(name, content);
        }
    }
    metadata
}

/// Returns the value of an attribute of the element that a text begins with.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = element;
    while let Some((before, after)) = rest.split_once('=') {
        let found = before.trim_end().rsplit(char::is_whitespace).next()?;
        let value = after.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, end) = match quote {
            Some(quote) => value[1..].split_once(quote)?,
            None => value.split_at(value.find(|c: char| c.is_whitespace() || c == '>')?),
        };

        if found.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        if end.trim_start().starts_with('>') {
            return None;
        }
        rest = end;
    }

    None
}
