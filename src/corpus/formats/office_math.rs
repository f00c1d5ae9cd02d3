//! The formulas of a Word document (Office Math), which undoc does not read, as plain runs of text: `x_1`, `a/b`, `n^2`.

use std::io::{Cursor, Write};

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::package::Package;

const DOCUMENT: &str = "word/document.xml";

/// Returns a Word file whose formulas are runs of text; `None` for one without formulas.
///
/// # Errors
/// The reason why the file cannot be read.
pub(super) fn with_plain_formulas(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let Some(document) = Package::open(bytes)?.xml(DOCUMENT)? else {
        return Ok(None);
    };
    if !document.contains("<m:oMath") {
        return Ok(None);
    }
    let damaged = |error: &dyn std::fmt::Display| format!("its formulas cannot be read ({error})");
    let plain = plain_runs(&document).map_err(|error| damaged(&error))?;
    let replaced = replaced(bytes, &plain).map_err(|error| damaged(&error))?;
    Ok(Some(replaced))
}

/// Copies a package with another text of the document.
fn replaced(bytes: &[u8], document: &[u8]) -> Result<Vec<u8>, zip::result::ZipError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let mut copy = ZipWriter::new(Cursor::new(Vec::with_capacity(bytes.len())));
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index)?;
        if member.name()? != DOCUMENT {
            copy.raw_copy_file(member)?;
        }
    }
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    copy.start_file(DOCUMENT, stored)?;
    copy.write_all(document)?;
    Ok(copy.finish()?.into_inner())
}

/// Returns the XML with each run of a formula as a run of text. Elements of the namespace of formulas have the prefix `m`
/// in every program that was tried.
fn plain_runs(xml: &str) -> Result<Vec<u8>, quick_xml::Error> {
    let mut reader = Reader::from_str(xml);
    let mut writer = Writer::new(Vec::with_capacity(xml.len()));
    // inside the properties of a part of a formula
    let mut properties = 0_u32;
    loop {
        let event = reader.read_event()?;
        match &event {
            Event::Eof => return Ok(writer.into_inner()),
            Event::Start(tag) if properties > 0 || is_properties(tag) => properties += 1,
            Event::End(_) if properties > 0 => properties -= 1,
            _ if properties > 0 => {}
            Event::Empty(tag) if is_properties(tag) => {}
            Event::Start(tag) | Event::Empty(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::Start(BytesStart::new("w:r")))?,
                Some("t") => {
                    let text = BytesStart::new("w:t").with_attributes([("xml:space", "preserve")]);
                    writer.write_event(Event::Start(text))?;
                }
                Some(part) => write_run(&mut writer, operator(part))?,
            },
            Event::End(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::End(BytesEnd::new("w:r")))?,
                Some("t") => writer.write_event(Event::End(BytesEnd::new("w:t")))?,
                Some(_) => {}
            },
            _ => writer.write_event(event)?,
        }
    }
}

/// Returns the name of an element of a formula without its prefix.
fn math_name(name: &str) -> Option<&str> {
    name.strip_prefix("m:")
}

/// Returns whether an element holds how a part of a formula looks.
fn is_properties(tag: &BytesStart<'_>) -> bool {
    let name = tag.name();
    math_name(name.as_ref()).is_some_and(|name| name.ends_with("Pr"))
}

/// Returns what stands before a part of a formula when it is written in one line.
fn operator(part: &str) -> &'static str {
    match part {
        "den" => "/",
        "sup" => "^",
        "sub" => "_",
        _ => "",
    }
}

fn write_run(writer: &mut Writer<Vec<u8>>, text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    for name in ["w:r", "w:t"] {
        writer.write_event(Event::Start(BytesStart::new(name)))?;
    }
    writer.write_event(Event::Text(BytesText::new(text)))?;
    for name in ["w:t", "w:r"] {
        writer.write_event(Event::End(BytesEnd::new(name)))?;
    }
    Ok(())
}
