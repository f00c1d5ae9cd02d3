//! Pictures: tesseract recognises their text, where `corpus.ocr` is on.

use super::builder::Builder;
use super::format::{Extract, Format, Input, Reader, extension};
use super::programs::{paragraphs, recognise};
use crate::event::{Place, PlaceUnit};

pub(super) const FORMAT: Format = Format {
    name: "picture",
    extensions: &["png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "webp"],
    library: "tesseract, with corpus.ocr = on",
    place: "page",
    reader: Reader::Configured(read),
};

/// The reason for users why a picture is not read.
pub(in crate::corpus) const LEFT_OUT: &str = "a picture, which corpus.ocr = on reads";

/// Returns whether a file is a picture, by its name.
pub(in crate::corpus) fn is_picture(path: &str) -> bool {
    FORMAT.extensions.contains(&extension(path).as_str())
}

fn read(input: &Input<'_>) -> Result<Extract, String> {
    if !input.options.ocr {
        return Err(LEFT_OUT.to_owned());
    }

    let text = recognise(input.bytes)?;
    let mut builder = Builder::default();
    // a form feed ends each page of a fax
    for (number, page) in (1..).zip(text.split('\u{c}')) {
        builder.place(Place::new(PlaceUnit::Page, number));
        paragraphs(page).for_each(|paragraph| builder.paragraph(&paragraph));
    }
    Ok(builder.finish())
}
