//! Walks XML: elements by their local names, and text. Entities of a document are never expanded,
//! and nothing is fetched. There is no tree, so depth costs nothing.

use std::borrow::Cow;
use std::io::BufRead;

use encoding_rs::{Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::corpus::error::describe_damage;

/// An XML declaration names its encoding within this many bytes.
const DECLARATION_BYTES: usize = 200;

/// A step of a walk.
pub(super) enum Node<'a> {
    Open(&'a Tag<'a>),
    /// The local name of the element.
    Close(&'a str),
    Text(&'a str),
}

/// The start of an element.
pub(super) struct Tag<'a>(BytesStart<'a>);

impl Tag<'_> {
    /// Returns the name without its prefix.
    pub fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// Returns an attribute by its local name, or by its whole name when `name` has a prefix.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let [value] = self.attributes([name]);
        value
    }

    /// Returns several attributes at once, as [`attribute`](Self::attribute) does.
    pub fn attributes<const N: usize>(&self, names: [&str; N]) -> [Option<String>; N] {
        let mut values = [const { None }; N];

        for attribute in self.0.attributes().flatten() {
            let key = attribute.key;
            let index = names.iter().position(|name| {
                key.as_ref() == *name || (!name.contains(':') && key.local_name().as_ref() == *name)
            });

            if let Some(index) = index {
                // a value with an entity that nobody knows is taken as it is written
                let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
                let value = value.map_or_else(|_| attribute.value.to_string(), Cow::into_owned);
                values[index].get_or_insert(value);
            }
        }

        values
    }
}

/// Walks XML until its end.
///
/// # Errors
/// The reason why the rest is not read. The nodes before it were visited.
pub(super) fn walk_all(xml: &str, visit: &mut dyn FnMut(Node<'_>)) -> Result<(), String> {
    walk(xml.as_bytes(), &mut |node| {
        visit(node);
        true
    })
}

/// Walks the tags in XML that open an element.
///
/// # Errors
/// The reason why the rest is not read. The tags before it were visited.
pub(super) fn walk_tags(xml: &str, visit: &mut dyn FnMut(&Tag<'_>)) -> Result<(), String> {
    walk_all(xml, &mut |node| {
        if let Node::Open(tag) = node {
            visit(tag);
        }
    })
}

/// Walks XML in UTF-8 until its end, or until `visit` returns `false`.
///
/// # Errors
/// The reason why the rest is not read. The nodes before it were visited.
pub(super) fn walk(
    source: impl BufRead,
    visit: &mut dyn FnMut(Node<'_>) -> bool,
) -> Result<(), String> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    // many programs write XML that is not well formed, and its text is wanted all the same
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;

    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let has_more = match event {
            Ok(Event::Start(start)) => visit(Node::Open(&Tag(start))),
            Ok(Event::Empty(start)) => {
                let tag = Tag(start);
                visit(Node::Open(&tag)) && visit(Node::Close(tag.name()))
            }
            Ok(Event::End(end)) => visit(Node::Close(end.local_name().as_ref())),
            Ok(Event::Text(text)) => visit(Node::Text(&text)),
            Ok(Event::CData(text)) => visit(Node::Text(&text)),
            Ok(Event::GeneralRef(reference)) => match resolve(&reference) {
                Some(text) => visit(Node::Text(&text)),
                None => true,
            },
            Ok(Event::Eof) => false,
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => true,
            Err(error) => return Err(reason(&error)),
        };
        if !has_more {
            return Ok(());
        }
    }
}

/// Returns the reason why XML is not read.
pub(super) fn reason(error: &quick_xml::Error) -> String {
    match error {
        quick_xml::Error::Io(error) => describe_damage(error),
        error => format!("its XML is damaged ({error})"),
    }
}

/// Returns the text of a character reference or a predefined entity; `None` for the entities that a
/// document declares.
fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    match reference.resolve_char_ref() {
        Ok(Some(c)) => Some(c.to_string()),
        // XML itself has five: amp, lt, gt, quot, apos
        Ok(None) => resolve_predefined_entity(reference).map(str::to_owned),
        Err(_) => None,
    }
}

/// Decodes an XML file in the encoding that it names.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let encoding = declared_encoding(bytes).unwrap_or(UTF_8);
    encoding.decode(bytes).0
}

fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    let start = String::from_utf8_lossy(start);
    let declaration = start.split_once("?>")?.0;
    let value = declaration.split_once("encoding")?.1.trim_start();
    let value = value.strip_prefix('=')?.trim_start();
    let quote = value.chars().next()?;
    let label = value[quote.len_utf8()..].split(quote).next()?;
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(xml: &str) -> String {
        let mut text = String::new();
        let result = walk(xml.as_bytes(), &mut |node| {
            if let Node::Text(part) = node {
                text.push_str(part);
            }
            true
        });
        if result.is_err() {
            text.push('!');
        }
        text
    }

    #[test]
    fn references_and_entities() {
        let bomb = "<!DOCTYPE a [<!ENTITY b 'lol'><!ENTITY c '&b;&b;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
                    <a>1&c;&x;2</a>";
        let cases = [
            ("<a>x &amp; y&#33;&#x41;</a>", "x & y!A"),
            ("<a><![CDATA[<b>]]> & c</a>", "<b> & c"),
            ("<a>1<b>2</a>3</b>", "123"),
            ("<a>1<", "1!"),
            (bomb, "12"),
        ];
        for (xml, text) in cases {
            assert_eq!(text_of(xml), text, "{xml}");
        }
    }

    #[test]
    fn attributes_by_name() {
        let mut found = None;
        let xml = "<p:x id='1' r:id='a &lt; b'/>";
        let result = walk(xml.as_bytes(), &mut |node| {
            if let Node::Open(tag) = node {
                found = Some((
                    tag.name().to_owned(),
                    tag.attribute("id"),
                    tag.attribute("r:id"),
                    tag.attribute("y"),
                ));
            }
            true
        });
        assert_eq!(result, Ok(()));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            Some(("x".to_owned(), text("1"), text("a < b"), None))
        );
    }

    #[test]
    fn encodings_that_files_name() {
        let cyrillic = b"<?xml version=\"1.0\" encoding='windows-1251'?><a>\xcf</a>";
        assert!(decode(cyrillic).ends_with("<a>П</a>"));
        assert_eq!(decode(b"\xef\xbb\xbf<a/>"), "<a/>");
        assert_eq!(decode(b"\xff\xfe<\0a\0/\0>\0"), "<a/>");
        assert_eq!(decode("<a>П</a>".as_bytes()), "<a>П</a>");
    }
}
