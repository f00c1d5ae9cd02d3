//! Notes that Evernote exports (ENEX): each is a page inside of XML, with its title and its tags.

use super::builder::{Builder, named};
use super::format::{Extract, Format, Reader};
use super::html;
use super::xml::{self, Node, walk};
use crate::event::{Place, PlaceUnit};

pub(super) const FORMAT: Format = Format {
    name: "Evernote",
    extensions: &["enex"],
    library: "quick-xml",
    place: "chapter",
    reader: Reader::Binary(read),
};

/// A note while it is read.
#[derive(Default)]
struct Note {
    title: String,
    created: String,
    tags: Vec<String>,
    /// The page of the note.
    content: String,
}

fn read(bytes: &[u8]) -> Result<Extract, String> {
    let mut builder = Builder::default();
    let mut note = Note::default();
    let mut number = 0;
    let mut text = String::new();
    // an attached file has a title of its own, and its bytes as text
    let mut is_file = false;

    let xml = xml::decode(bytes);
    let read = walk(xml.as_bytes(), &mut |node| {
        match node {
            Node::Open(tag) => {
                is_file |= tag.name() == "resource";
                text.clear();
            }
            Node::Text(part) if !is_file => text.push_str(part),
            Node::Close("resource") => is_file = false,
            Node::Close(_) | Node::Text(_) if is_file => {}
            Node::Close("title") => note.title = std::mem::take(&mut text),
            Node::Close("created") => note.created = std::mem::take(&mut text),
            Node::Close("tag") => note.tags.push(std::mem::take(&mut text)),
            Node::Close("content") => note.content = std::mem::take(&mut text),
            Node::Close("note") => {
                number += 1;
                std::mem::take(&mut note).add(number, &mut builder);
            }
            Node::Close(_) | Node::Text(_) => {}
        }
        !builder.is_full()
    });

    builder.notes(read.err());
    Ok(builder.finish())
}

impl Note {
    fn add(self, number: u32, builder: &mut Builder) {
        let title = named(&self.title).unwrap_or_else(|| "Untitled".to_owned());
        builder.part();
        builder.place(Place::new(PlaceUnit::Chapter, number).with_name(&title));
        builder.heading(1, &title);

        // `20240131T100400Z`
        if let Some(day) = self.created.get(..8).filter(|day| day.is_ascii()) {
            let [year, month, day] = [&day[..4], &day[4..6], &day[6..]];
            builder.line(&format!("Created: {year}-{month}-{day}"));
        }
        if !self.tags.is_empty() {
            builder.line(&format!("Tags: {}", self.tags.join(", ")));
        }

        let mut page = html::extract(&self.content);
        for heading in &mut page.headings {
            heading.level = heading.level.saturating_add(1).max(2);
        }
        builder.append(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_parts_with_their_titles() {
        let export = "<?xml version='1.0'?><!DOCTYPE en-export SYSTEM 'x.dtd'><en-export>\
            <note><title>Lamp &amp; oil</title><content><![CDATA[<?xml version='1.0'?><en-note><h1>Stock</h1><div>Nine litres</div></en-note>]]></content>\
            <created>20240131T100400Z</created><tag>pier</tag><tag>oil</tag>\
            <resource><data encoding='base64'>AAAA</data><resource-attributes><file-name>x.png</file-name></resource-attributes></resource></note>\
            <note><title/><content><![CDATA[<en-note>Ropes</en-note>]]></content></note></en-export>";
        let extract = read(export.as_bytes()).expect("notes");
        assert_eq!(
            extract.text,
            "Lamp & oil\n\nCreated: 2024-01-31\nTags: pier, oil\n\nStock\n\nNine litres\n\nUntitled\n\nRopes"
        );
        let headings = extract.headings.iter();
        let headings: Vec<(u8, &str)> = headings.map(|one| (one.level, &*one.title)).collect();
        assert_eq!(headings, [(1, "Lamp & oil"), (2, "Stock"), (1, "Untitled")]);
        assert_eq!(extract.parts.len(), 2);
    }
}
