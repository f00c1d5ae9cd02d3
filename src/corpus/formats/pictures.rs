//! The pictures in documents that are zip archives: counted, or read where `corpus.ocr` is on.

use super::builder::Builder;
use super::format::{Extract, Format, Input};
use super::member::{extract_as, read_member};
use super::package::Package;
use super::{epub, excel, office, open_document, picture};
use crate::event::saturating_u32;

/// Formats whose files hold pictures as members.
const HOLDERS: [&Format; 7] = [
    &office::WORD,
    &office::POWERPOINT,
    &excel::FORMAT,
    &open_document::TEXT,
    &open_document::SHEETS,
    &open_document::SLIDES,
    &epub::FORMAT,
];
/// Pictures of one file beyond this are counted.
const MAX_PICTURES: usize = 500;
/// Folders of pictures that show the file itself.
const THUMBNAILS: [&str; 2] = ["docProps/", "Thumbnails/"];

impl Format {
    /// Extracts the text of a file of a binary format in this process, with that of its pictures.
    pub(in crate::corpus) fn extract_with_pictures(
        &self,
        input: &Input<'_>,
    ) -> Result<Extract, String> {
        let extract = extract_as(self, input)?;
        if HOLDERS.contains(&self) && input.bytes.starts_with(b"PK") {
            add_pictures(extract, input)
        } else {
            Ok(extract)
        }
    }
}

/// Adds the text of the pictures as parts behind that of their document, and counts the others.
fn add_pictures(mut extract: Extract, input: &Input<'_>) -> Result<Extract, String> {
    let mut package = Package::open(input.bytes)?;
    let mut names = package.names();
    names.retain(|name| {
        picture::is_picture(name) && !THUMBNAILS.iter().any(|folder| name.starts_with(folder))
    });

    if names.is_empty() || !input.options.ocr {
        extract.pictures = saturating_u32(names.len());
        if extract.text.trim().is_empty() && extract.pictures > 0 {
            let plural = if names.len() == 1 { "" } else { "s" };
            extract.note = Some(format!(
                "it holds no text, and {} picture{plural}: corpus.ocr = on reads them",
                names.len()
            ));
        }
        return Ok(extract);
    }

    let mut builder = Builder::default();
    builder.metadata(std::mem::take(&mut extract.metadata));
    builder.append(extract);
    let mut unread = names.len().saturating_sub(MAX_PICTURES);
    let mut reason = None;
    for name in names.iter().take(MAX_PICTURES) {
        let bytes = package.bytes(name).map(Option::unwrap_or_default);
        match bytes.and_then(|bytes| read_member(&input.member(name, &bytes))) {
            Ok(text) => builder.append_part(text.into_member(name)),
            Err(why) => {
                unread += 1;
                reason = Some(why);
            }
        }
    }

    builder.notes(reason.map(|reason| format!("pictures are not read: {reason}")));
    Ok(Extract {
        pictures: saturating_u32(unread),
        ..builder.finish()
    })
}
