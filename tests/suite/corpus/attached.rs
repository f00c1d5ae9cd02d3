//! The files attached to a PDF, and forms that its pages do not show.

use ragscope::corpus::Document;
use ragscope::event::place_of_lines;
use ragscope::story::words::location;

use crate::support::pdf::{self, Extras};

/// Returns a PDF of one page. `catalog` and `page` go into their dictionaries; the other objects
/// are numbered from 7 on.
fn file(catalog: &str, page: &str, others: Vec<Vec<u8>>) -> Vec<u8> {
    let extras = Extras {
        catalog,
        page,
        objects: others,
        ..Extras::default()
    };
    pdf::of_pages_with(&[&["Minutes of the harbour board"]], &extras)
}

fn object(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn attachments_are_parts_of_their_pdf() {
    let catalog = "/Names<</EmbeddedFiles<</Kids[7 0 R 7 0 R]>>>>/AF[8 0 R]";
    let page = "/Annots[<</Subtype/FileAttachment/FS 10 0 R>>]";
    let others = vec![
        // a tree that leads back to itself
        object("<</Kids[7 0 R]/Names[(a)8 0 R(b)12 0 R(c)<</F(far.txt)>>]>>"),
        object("<</Type/Filespec/F(dues.csv)/EF<</F 9 0 R>>>>"),
        pdf::stream(b"Berth,Dues\nNorth quay,41\nSouth quay,37\n", ""),
        object("<</Type/Filespec/F(old)/UF(notes/storm.md)/EF<</F 11 0 R/UF 11 0 R>>>>"),
        pdf::stream(b"# Storm\n\nThe mole lost nine stones.\n", ""),
        object("<</F(tide.exe)/EF<</F 13 0 R>>>>"),
        pdf::stream(b"MZ", ""),
    ];
    let document = Document::new("minutes.pdf", file(catalog, page, others)).expect("a document");

    let text = &document.text;
    assert!(
        text.starts_with(
            "Minutes of the harbour board\n\nAttachments: dues.csv, tide.exe, notes/storm.md\n\n"
        ),
        "{text}"
    );
    for (words, place) in [
        ("41", "minutes.pdf/dues.csv:2"),
        ("nine stones", "minutes.pdf/notes/storm.md:3"),
    ] {
        assert_eq!(text.matches(words).count(), 1, "{words} in {text}");
        let at = text.find(words).expect(words);
        let lines = document.lines(at..at + 1);
        let found = place_of_lines(&document.places(at..at + 1), lines);
        assert_eq!(location(&document.path, lines, found.as_ref()), place);
    }
    let note = document.note.expect("a note");
    assert_eq!(note, "not read: tide.exe (a program or library)");
}

#[test]
fn a_form_that_only_acrobat_shows_is_named() {
    let cases = [
        ("/AcroForm<</XFA[(template) 7 0 R]/Fields[]>>", true),
        ("/AcroForm<</XFA[(template) 7 0 R]/Fields[8 0 R]>>", false),
        ("/AcroForm<</Fields[8 0 R]>>", false),
    ];
    for (catalog, is_named) in cases {
        let others = vec![pdf::stream(b"<template/>", ""), object("<</T(berth)>>")];
        let document = Document::new("form.pdf", file(catalog, "", others)).expect("a document");
        let note = document.note.unwrap_or_default();
        assert_eq!(
            note.contains("its form is XFA"),
            is_named,
            "{catalog}: {note}"
        );
    }
}
