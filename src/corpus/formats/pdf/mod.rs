//! PDF: the pages as they are read, by a library in the program or by tools that are installed.

mod pages;
mod annotations;
mod builtin;
mod tools;

use super::format::{Extract, Format, Input, Reader};
use builtin::Refused;
use pages::Pages;

pub(super) const FORMAT: Format = Format {
    name: "PDF",
    extensions: &["pdf"],
    library: "unpdf 0.52.1",
    place: "page",
    reader: Reader::Configured(extract),
};

fn extract(input: &Input<'_>) -> Result<Extract, String> {
    let mut pages = read(input)?;
    if input.options.ocr && pages.scanned() > 0 {
        match tools::recognise_text(input.bytes, &pages) {
            Ok(recognised) => pages = recognised,
            Err(missing) => pages.remarks.push(missing),
        }
    }
    // pdftotext shows the values of a form itself
    annotations::add(input.bytes, &mut pages, !input.options.pdftotext);
    pages.extract(input.options)
}

fn read(input: &Input<'_>) -> Result<Pages, String> {
    let builtin = || match builtin::read(input.bytes) {
        Ok(pages) => Ok(pages),
        Err(Refused::Locked) => {
            Err("it needs a password: save a copy without one to read it".to_owned())
        }
        Err(Refused::Damaged(reason)) => Err(format!("it cannot be read as PDF: {reason}")),
    };

    if !input.options.pdftotext {
        return builtin();
    }

    match tools::pdftotext(input.bytes) {
        Ok(pages) => Ok(pages),
        Err(reason) => {
            let mut pages = builtin()?;
            pages
                .remarks
                .push(format!("read by the built-in reader: {reason}"));
            Ok(pages)
        }
    }
}
