//! Pictures, as files and in documents: counted, or read by a program that stands in for tesseract.

use std::fs;

use crate::support::environment::TestEnvironment;
use crate::support::pdf::{self, Extras};

use super::office::docx_with;

/// Writes a folder of pictures, and of documents with pictures.
fn folder() -> TestEnvironment {
    let test = TestEnvironment::new();
    fs::remove_dir_all(test.corpus()).expect("removed");
    test.write("notes/scan.png", "Berth seven is free.");
    test.write("notes/fax.TIFF", "Page one.\u{c}The mole is\nclosed.");
    test.write("notes/icon.svg", "<svg/>");
    test.write("notes/plain.md", "The lamp is lit.");
    let pictures = [
        ("word/media/image1.jpeg", "Dues are nine crowns."),
        ("word/media/image2.emf", "x"),
        ("docProps/thumbnail.jpeg", "See"),
    ];
    let text = "<w:p><w:r><w:t>See below.</w:t></w:r></w:p>";
    test.write("notes/report.docx", docx_with(text, &pictures));
    let scans = docx_with("", &[("word/media/a.png", "Ropes.")]);
    test.write("notes/scans.docx", scans);
    test
}

/// Returns a PDF of two pages with text that show the same picture, a JPEG file by its name, and an
/// icon. The picture is its text.
fn illustrated(picture: &str) -> Vec<u8> {
    let image = |width: u32| {
        format!("/Subtype/Image/ImageMask false/Width {width}/Height {width}/Filter/DCTDecode")
    };
    let pages: [&[&str]; 2] = [
        &["Ships came.", "Ropes lay there."],
        &["Lamps were lit.", "Then they slept."],
    ];
    let extras = Extras {
        resources: "/XObject<</P 9 0 R/I 10 0 R>>",
        objects: vec![
            pdf::stream(picture.as_bytes(), &image(200)),
            pdf::stream(b"icon", &image(16)),
        ],
        ..Extras::default()
    };
    pdf::of_pages_with(&pages, &extras)
}

#[test]
fn pictures_are_counted_in_one_line() {
    let test = folder();
    test.run("index notes")
        .succeeds()
        .prints("2 documents, ")
        .prints(
            "left out: 3 pictures (corpus.ocr = on reads them): fax.TIFF, scan.png, report.docx\n",
        )
        .prints("  scans.docx: it holds no text, and 1 picture: corpus.ocr = on reads them\n")
        .prints("  icon.svg: a drawing is not read");
    test.run("index --explain notes/report.docx")
        .succeeds()
        .prints("left out: 1 picture (corpus.ocr = on reads them)\n");
}

#[cfg(unix)]
#[test]
fn the_text_of_pictures_is_recognised() {
    use std::os::unix::fs::PermissionsExt as _;

    let test = folder();
    test.write("notes/chart.pdf", illustrated("Catch of cod."));
    test.write("notes/scanned.pdf", pdf::scanned());
    // the picture is its text
    for (name, script) in [
        ("tesseract", "exec /bin/cat"),
        ("pdftoppm", "echo Berth nine is let."),
    ] {
        let program = test.write(format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let path = test.path("bin").display().to_string();
    let run = |line: &str| test.run_with(("PATH", &path), line);

    run("index notes --set corpus.ocr=on")
        .succeeds()
        .prints("7 documents, ")
        .does_not_print("picture");
    for (words, place) in [
        ("free", "scan.png p. 1"),
        ("cod", "chart.pdf p. 1"),
        ("mole", "fax.TIFF p. 1-2"),
        ("dues", "report.docx/word/media/image1.jpeg p. 1"),
        ("ropes", "scans.docx/word/media/a.png p. 1"),
    ] {
        run(&format!(
            "search notes {words} --limit 1 --set corpus.ocr=on"
        ))
        .succeeds()
        .prints(place);
    }
    // a page that is a picture is read once
    let found = run("search notes nine --limit 1 --set corpus.ocr=on").succeeds();
    let found = found.prints("scanned.pdf p. 1").all();
    assert_eq!(found.matches("nine is let").count(), 1, "{found}");
    // and without again
    run("index notes").succeeds().prints("left out: 4 pictures");
}
