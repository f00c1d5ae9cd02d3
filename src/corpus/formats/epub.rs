//! EPUB books: rbook gives the spine, and each of its pages is read as HTML.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;

use rbook::Epub;
use rbook::epub::toc::EpubTocEntry;

use super::builder::{Builder, day, named};
use super::format::{Extract, Format, Reader};
use super::html;
use super::package::Package;
use super::xml::walk_tags;
use crate::corpus::outline::Heading;
use crate::event::{Metadata, Place, PlaceUnit};

pub(super) const FORMAT: Format = Format {
    name: "EPUB",
    extensions: &["epub"],
    library: "rbook",
    place: "chapter",
    reader: Reader::Binary(extract),
};

/// Encryption of fonts, which hides no text.
const FONT_ENCRYPTION: [&str; 2] = [
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
];

fn extract(bytes: &[u8]) -> Result<Extract, String> {
    let mut package = Package::open(bytes)?;
    package.check(|_| true)?;
    if is_protected(&mut package)? {
        let reason = "it is protected against copying (DRM): only its own reader opens it";
        return Err(reason.to_owned());
    }
    let book = Epub::read(Cursor::new(bytes.to_vec()))
        .map_err(|error| format!("it is damaged ({error})"))?;

    let mut builder = Builder::default();
    builder.metadata(metadata(&book));
    let unread = add_pages(&book, &mut builder);
    if unread > 0 {
        builder.note(format!("{unread} of its pages could not be read"));
    }
    Ok(builder.finish())
}

/// Adds the pages in their order, each a chapter. Returns the number of those that cannot be read.
fn add_pages(book: &Epub, builder: &mut Builder) -> usize {
    let titles = titles(book);
    let mut read = HashSet::new();
    let mut unread = 0;
    let mut number = 0;
    for entry in book.spine() {
        let Some(page) = entry.manifest_entry() else {
            unread += 1;
            continue;
        };
        let is_contents = page.properties().iter().any(|property| property == "nav");
        if is_contents || !page.media_type().contains("html") {
            continue;
        }

        // a book may list every section of a page
        let path = page.href().path().as_str();
        let path = path.split('#').next().unwrap_or(path);
        if !read.insert(path.to_owned()) {
            continue;
        }
        let Ok(source) = page.read_str() else {
            unread += 1;
            continue;
        };

        let mut text = html::extract(&source);
        number += 1;
        let listed = titles.get(path);
        let own_title = text.headings.iter().find(|heading| heading.level > 0);
        let title = listed.map(|(_, title)| title);
        let title = title.or_else(|| Some(&own_title?.title)).cloned();
        if own_title.is_none()
            && let Some((level, title)) = listed
        {
            add_heading(*level, title, &mut text);
        }
        builder.part();
        builder.place(Place {
            name: title,
            ..Place::new(PlaceUnit::Chapter, number)
        });
        builder.append(text);
    }
    unread
}

/// Adds the title of a page that has no headings of its own: its first line, if that says it.
fn add_heading(level: u8, title: &str, page: &mut Extract) {
    let start = page.headings.last().map_or(0, |last| last.range.end);
    let first = page.text[start..].trim_start();
    let line = first.lines().next().unwrap_or_default().trim_end();
    let at = page.text.len() - first.len();
    let is_said = line.to_lowercase() == title.to_lowercase();
    let length = if is_said { line.len() } else { 0 };
    page.headings
        .push(Heading::new(at..at + length, level, title));
}

/// Returns whether more than the fonts of a book is encrypted.
fn is_protected(package: &mut Package<'_>) -> Result<bool, String> {
    // the licence of Readium LCP, whose content is encrypted
    if package.has("META-INF/license.lcpl") {
        return Ok(true);
    }
    let xml = package.xml("META-INF/encryption.xml")?;

    let mut is_protected = false;
    walk_tags(&xml, &mut |tag| {
        if tag.name() == "EncryptionMethod" {
            let algorithm = tag.attribute("Algorithm").unwrap_or_default();
            is_protected |= !FONT_ENCRYPTION.contains(&algorithm.as_str());
        }
    })?;

    Ok(is_protected)
}

/// Returns the first title that the table of contents gives each page, by the path of the page, and
/// its level.
fn titles(book: &Epub) -> HashMap<String, (u8, String)> {
    let mut titles = HashMap::new();
    let contents = book.toc().contents();
    for entry in contents.iter().flat_map(EpubTocEntry::flatten) {
        if let (Some(href), Some(title)) = (entry.href(), named(entry.label())) {
            let path = href.path().as_str().to_owned();
            let level = u8::try_from(entry.depth()).unwrap_or(u8::MAX).max(1);
            titles.entry(path).or_insert((level, title));
        }
    }
    titles
}

fn metadata(book: &Epub) -> Metadata {
    let about = book.metadata();
    let authors = about.creators();
    let authors: Vec<String> = authors.filter_map(|author| named(author.value())).collect();
    let date = about.published_entry().or_else(|| about.modified_entry());
    Metadata {
        title: about.title().and_then(|title| named(title.value())),
        author: named(&authors.join(", ")),
        date: date.and_then(|date| day(date.value())),
        ..Metadata::default()
    }
}
