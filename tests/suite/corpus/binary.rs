//! Binary formats: PDF and archives, sound and broken. A file costs its reason at most, never the
//! run.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ragscope::corpus::{Document, ReadOptions};
use ragscope::event::place_of_lines;
use ragscope::story::words::location;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::pdf;

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .expect("a member");
        archive.write_all(content).expect("written");
    }
    archive.finish().expect("an archive").into_inner()
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(content).expect("packed");
    out.finish().expect("packed")
}

/// Returns a tar archive of regular files.
fn tarred(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        archive
            .append_data(&mut header, name, *content)
            .expect("a member");
    }
    archive.into_inner().expect("an archive")
}

/// Returns the location of some words of a document, as a citation shows it.
fn location_of(document: &Document, words: &str) -> String {
    let at = document.text.find(words).expect(words);
    let part = at..at + words.len();
    let lines = document.lines(part.clone());
    let place = place_of_lines(&document.places(part), lines);
    location(&document.path, lines, place.as_ref())
}

const PAGES: [&[&str]; 5] = [
    &[
        "Fruit report 2024",
        "Apples ripen first, and they are kept",
        "in the cellar until the winter is over.",
    ],
    &[
        "Fruit report 2024",
        "Pears come in autumn, and most of them",
        "are eaten before the first snow falls.",
    ],
    &[
        "Fruit report 2024",
        "Plums are small, but a tree has thousands",
        "that they fill a barrel every summer.",
    ],
    &[
        "Fruit report 2024",
        "Quinces are hard, and nobody eats them",
        "before they were cooked with sugar.",
    ],
    &[
        "Fruit report 2024",
        "Figs need the sun, and in the north",
        "they only ripen under a pane of glass.",
    ],
];

#[test]
fn a_pdf_has_pages_and_a_title() {
    let file = pdf::of_pages(&PAGES);
    let document = Document::new("fruit.pdf", file.clone()).expect("a document");
    assert_eq!(location_of(&document, "Quinces"), "fruit.pdf p. 4");
    assert_eq!(
        document.text.matches("Fruit report").count(),
        1,
        "{document:?}"
    );
    let metadata = &document.metadata;
    assert_eq!(metadata.title.as_deref(), Some("Harbour report"));
    assert_eq!(metadata.author.as_deref(), Some("Ann Oakes"));
    assert_eq!(metadata.date.as_deref(), Some("2024-01-31"));

    let keep = ReadOptions {
        keep_page_headers: true,
        ..ReadOptions::default()
    };
    let document = Document::read("fruit.pdf", file, &keep).expect("a document");
    assert_eq!(document.text.matches("Fruit report").count(), 5);
}

#[test]
fn a_wrong_name_does_not_matter() {
    let pages = pdf::of_pages(&PAGES);
    let cases: [(&str, Vec<u8>, &str, &str); 4] = [
        ("fruit.txt", pages.clone(), "PDF", "Figs"),
        ("fruit.pdf", b"Figs need the sun.".to_vec(), "text", "Figs"),
        (
            "gone.pdf",
            b"<!doctype html><p>Not found".to_vec(),
            "HTML",
            "Not found",
        ),
        ("fruit.md", zipped(&[("a.pdf", &pages)]), "zip", "Figs"),
    ];
    for (path, bytes, format, words) in cases {
        let document = Document::new(path, bytes).expect(path);
        assert_eq!(document.format.name, format, "{path}");
        assert!(document.text.contains(words), "{path}: {}", document.text);
        let note = document.note.unwrap_or_default();
        assert!(note.contains("in spite of its name"), "{path}: {note}");
    }
}

#[test]
fn bad_pdfs() {
    let sound = pdf::of_pages(&PAGES[..1]);
    let replaced = |from: &str, to: &str| {
        let text = String::from_utf8(sound.clone()).expect("ASCII");
        text.replace(from, to).into_bytes()
    };
    let nested = format!(
        "<</Type/Pages/Kids[]/X {}{}>>",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let catalog = b"<</Type/Catalog/Pages 3 0 R>>".to_vec();
    let objects = |pages: &str| {
        pdf::of_objects(&[catalog.clone(), b"<<>>".to_vec(), pages.as_bytes().to_vec()])
    };
    let cases: [(&str, Vec<u8>, Result<&str, &str>); 9] = [
        (
            "a million pages in the header",
            replaced("/Count 1", "/Count 1000000"),
            Ok("Apples"),
        ),
        (
            "truncated",
            sound[..sound.len() - 200].to_vec(),
            Ok("Apples"),
        ),
        (
            "cut at the start",
            sound[..40].to_vec(),
            Err("cannot be read"),
        ),
        (
            "no pages",
            objects("<</Type/Pages/Kids[]/Count 0>>"),
            Err("no pages"),
        ),
        (
            "a tree in a circle",
            objects("<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>"),
            Err("no pages"),
        ),
        (
            "nested without end",
            objects(&nested),
            Err("nests too deeply"),
        ),
        (
            "a length that is itself",
            replaced("/Length ", "/Length 6 0 R/L "),
            Ok("Apples"),
        ),
        (
            "a scan",
            pdf::scanned(),
            Err("1 of 1 pages hold no text: scanned? Run `ocrmypdf"),
        ),
        (
            "locked",
            replaced("/Info 2 0 R", "/Encrypt 2 0 R"),
            Err("cannot be read"),
        ),
    ];
    for (name, bytes, expected) in cases {
        match (Document::new("a.pdf", bytes), expected) {
            (Ok(document), Ok(words)) => assert!(document.text.contains(words), "{name}"),
            (Err(reason), Err(words)) => assert!(reason.contains(words), "{name}: {reason}"),
            (read, expected) => panic!("{name}: {read:?} instead of {expected:?}"),
        }
    }

    let ocr = ReadOptions {
        ocr: true,
        ..ReadOptions::default()
    };
    let reason = Document::read("a.pdf", pdf::scanned(), &ocr).expect_err("an empty picture");
    let is_named = ["neither ocrmypdf", "failed on it", "hold no text"]
        .iter()
        .any(|words| reason.contains(words));
    assert!(is_named, "{reason}");
}

/// `no-password.pdf` is encrypted with the empty user password, `password.pdf` with another one
/// (40-bit RC4, which every reader knows).
#[test]
fn encrypted_pdfs() {
    let file = |name: &str| std::fs::read(super::data("pdf").join(name)).expect("a file");
    let read = Document::new("log.pdf", file("no-password.pdf")).expect("a document");
    assert!(
        read.text.contains("writes the log at nine."),
        "{}",
        read.text
    );
    assert_eq!(location_of(&read, "Nobody"), "log.pdf p. 1");
    assert_eq!(read.metadata.title.as_deref(), Some("Log of the light"));

    let reason = Document::new("log.pdf", file("password.pdf")).expect_err("locked");
    assert_eq!(
        reason,
        "it needs a password: save a copy without one to read it"
    );
}

#[test]
fn a_reader_has_limits() {
    let bomb = |times: usize| {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        let drawing = b"BT /F 1 Tf (x) Tj ET ".repeat(50_000);
        for _ in 0..times {
            packed.write_all(&drawing).expect("packed");
        }
        pdf::packed(&packed.finish().expect("packed"))
    };
    let options = ReadOptions {
        min_memory_bytes: 64 << 20,
        ..ReadOptions::default()
    };
    if cfg!(target_os = "linux") {
        let reason = Document::read("bomb.pdf", bomb(128), &options).expect_err("too large");
        assert!(
            reason.contains("the PDF reader ran out of memory on it"),
            "{reason}"
        );
    }

    let options = ReadOptions {
        min_time: Duration::from_micros(10),
        ..ReadOptions::default()
    };
    // a small file is read before a busy machine looks at the clock
    let reason = Document::read("a.pdf", bomb(4), &options).expect_err("too slow");
    assert!(reason.contains("did not finish within"), "{reason}");
    assert!(
        Document::new("a.pdf", pdf::of_pages(&PAGES)).is_ok(),
        "the next file is read"
    );
}

/// Each of 300 damaged copies gives text or a reason, and a sound file after them is read.
#[test]
fn damaged_copies_never_end_the_run() {
    let file = pdf::of_pages(&PAGES);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut texts = 0;
    for number in 0..300 {
        let mut copy = file.clone();
        match number % 3 {
            0 => copy.truncate(9 + random(file.len() - 9)),
            1 => {
                for _ in 0..12 {
                    let at = random(copy.len());
                    copy[at] = random(256) as u8;
                }
            }
            _ => {
                for _ in 0..40 {
                    let at = random(copy.len());
                    if copy[at].is_ascii_digit() {
                        copy[at] = b'0' + random(10) as u8;
                    }
                }
            }
        }
        match Document::new("a.pdf", copy) {
            Ok(_) => texts += 1,
            Err(reason) => assert!(!reason.contains("cannot be started"), "{reason}"),
        }
    }
    assert!(texts > 100, "{texts} of 300 had text");
    assert!(Document::new("a.pdf", file).is_ok());
}

#[test]
fn members_of_archives() {
    let pages = pdf::of_pages(&PAGES);
    let inner = zipped(&[("deep.md", b"# Deep\n\nAnchors lie here.")]);
    // a name for which a header has no room
    let long_name = format!("{}/c.txt", "n".repeat(150));
    let long_place = format!("plain.tar/{long_name}:2");
    let notes = tarred(&[
        ("docs/a.txt", b"one\ntwo\nthree ropes\n"),
        ("b.md", b"# B\n\nSails."),
        (&long_name, b"one\ntwo tides\n"),
    ]);
    let files = [
        (
            "all.zip",
            zipped(&[
                ("fruit/report.pdf", &pages),
                ("../../etc/notes.txt", b"one\nlanterns burn\n"),
                ("inner.zip", &inner),
                ("photo.png", b"\x89PNG"),
            ]),
        ),
        ("notes.tar.gz", gzipped(&notes)),
        ("log.txt.gz", gzipped(b"first\nsecond\nthird buoy\n")),
        ("plain.tar", notes.clone()),
    ];
    let cases = [
        ("all.zip", "Quinces", "all.zip/fruit/report.pdf p. 4"),
        ("all.zip", "lanterns", "all.zip/etc/notes.txt:2"),
        ("all.zip", "Anchors", "all.zip/inner.zip/deep.md:3"),
        (
            "notes.tar.gz",
            "three ropes",
            "notes.tar.gz/notes.tar/docs/a.txt:3",
        ),
        ("log.txt.gz", "third", "log.txt.gz:3"),
        ("plain.tar", "Sails", "plain.tar/b.md:3"),
        ("plain.tar", "two tides", long_place.as_str()),
    ];
    for (path, words, expected) in cases {
        let (_, bytes) = files.iter().find(|(name, _)| *name == path).expect(path);
        let document = Document::new(path, bytes.clone()).expect(path);
        assert_eq!(location_of(&document, words), expected);
    }
    let all = Document::new("all.zip", files[0].1.clone()).expect("a document");
    let note = all.note.clone().unwrap_or_default();
    assert!(
        note.contains("photo.png (a picture, which corpus.ocr = on reads)"),
        "{note}"
    );
    let at = all.text.find("Anchors").expect("the inner archive");
    assert_eq!(all.headings_at(at), ["inner.zip/deep.md", "Deep"]);
}

#[test]
fn bad_archives() {
    let mut nested = b"the innermost text".to_vec();
    for _ in 0..4 {
        nested = gzipped(&nested);
    }
    let zeros = vec![b' '; 80 << 20];
    let many: Vec<String> = (0..10_002).map(|number| format!("{number}.txt")).collect();
    let many: Vec<(&str, &[u8])> = many
        .iter()
        .map(|name| (name.as_str(), &b"a b"[..]))
        .collect();
    let sound = zipped(&[("a.txt", b"text that is long enough to be cut")]);
    let plain = tarred(&[("a.txt", b"one"), ("b.txt", &[b'x'; 600])]);
    let mut torn = plain.clone();
    torn[1024] ^= 1;
    let mut vast = plain.clone();
    vast[1024 + 124..1024 + 136].fill(0xff);
    let cases: [(&str, Vec<u8>, Result<&str, &str>); 10] = [
        (
            "cut.tar",
            plain[..2000].to_vec(),
            Ok("b.txt (the archive ends inside it)"),
        ),
        ("torn.tar", torn, Ok("the rest (the archive is damaged)")),
        ("vast.tar", vast, Ok("the rest (the archive is damaged)")),
        ("text.tar", b"a b c".repeat(300), Err("not a tar archive")),
        (
            "bomb.gz",
            gzipped(&zeros),
            Err("more than 200 times its size"),
        ),
        (
            "bomb.zip",
            zipped(&[("bomb.txt", &zeros), ("a.txt", b"beside it")]),
            Ok("bomb.txt (it unpacks to more than 200 times its size)"),
        ),
        (
            "nested.gz.gz.gz.gz",
            nested,
            Err("archives are read 3 deep"),
        ),
        (
            "many.zip",
            zipped(&many),
            Ok("only the first 10000 members are read"),
        ),
        (
            "cut.zip",
            sound[..sound.len() - 30].to_vec(),
            Err("cannot be unpacked"),
        ),
        ("empty.zip", zipped(&[]), Err("")),
    ];
    for (path, bytes, expected) in cases {
        match (Document::new(path, bytes), expected) {
            (Ok(document), Ok(words)) => {
                let note = document.note.unwrap_or_default();
                assert!(note.contains(words), "{path}: {note}");
            }
            (Err(reason), Err(words)) => assert!(reason.contains(words), "{path}: {reason}"),
            (read, expected) => panic!(
                "{path}: {:?} instead of {expected:?}",
                read.map(|document| document.note)
            ),
        }
    }
}

#[test]
fn what_people_fill_in_and_write_on_a_pdf_is_read() {
    let objects: Vec<Vec<u8>> = [
        "<</Type/Catalog/Pages 3 0 R/AcroForm<</Fields[7 0 R 8 0 R 10 0 R 12 0 R]>>>>",
        "<<>>",
        "<</Type/Pages/Kids[5 0 R]/Count 1>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        "<</Type/Page/Parent 3 0 R/MediaBox[0 0 600 800]/Contents 6 0 R/Resources<</Font<</F 4 0 R>>>>\
         /Annots[8 0 R 7 0 R 10 0 R 11 0 R 12 0 R 13 0 R 14 0 R 15 0 R 17 0 R 18 0 R 20 0 R 21 0 R 23 0 R 24 0 R 26 0 R]>>",
        "",
        "<</Subtype/Widget/FT/Tx/T(vessel)/TU(Name of the vessel:)/V(Sandpiper)/Rect[0 700 9 720]>>",
        // UTF-16
        "<</Subtype/Widget/FT/Tx/T(berth)/V<FEFF0051007500610079002000FC>/Rect[0 600 9 620]>>",
        "<</FT/Btn/Ff 32768/T(class)/V/B/Kids[10 0 R 11 0 R]>>",
        "<</Subtype/Widget/Parent 9 0 R/AS/Off/Rect[0 500 9 520]>>",
        "<</Subtype/Widget/Parent 9 0 R/AS/B/Rect[20 500 29 520]>>",
        "<</Subtype/Widget/FT/Ch/T(ice)/V(c)/Opt[[(c)(Class C)]]/Rect[0 400 9 420]>>",
        "<</Subtype/Text/Contents(Refuse it \u{85} for now)/T(Iris)/Rect[0 300 9 320]>>",
        "<</Subtype/Highlight/Contents(Never shown)/F 2/Rect[0 200 9 220]>>",
        "<</Subtype/Widget/FT/Tx/Ff 8192/T(key)/V(secret)/Rect[0 100 9 120]>>",
        // buttons with texts, with values, and one alone
        "<</FT/Btn/Ff 32768/T(tide)/V/1/Opt[(Ebb)(Flood)]/Kids[17 0 R 18 0 R]>>",
        "<</Subtype/Widget/Parent 16 0 R/AS/Off/Rect[0 90 9 99]>>",
        "<</Subtype/Widget/Parent 16 0 R/AS/1/Rect[20 90 29 99]>>",
        "<</FT/Btn/T(gear)/V/Nets/Kids[20 0 R 21 0 R]>>",
        "<</Subtype/Widget/Parent 19 0 R/AS/Nets/Rect[0 80 9 89]>>",
        "<</Subtype/Widget/FT/Btn/T(paid)/Parent 22 0 R/AS/Ja/Rect[0 70 9 79]>>",
        // names of the fields around, and of XFA
        "<</T(skipper)/Kids[21 0 R 23 0 R]>>",
        "<</Subtype/Widget/FT/Tx/T(town)/Parent 22 0 R/V 27 0 R/Rect[0 60 9 69]>>",
        "<</Subtype/Widget/FT/Ch/T(Port[0])/Parent 25 0 R/Opt[(Ely)[(o)(Orford)]]/I[1]/Rect[0 50 9 59]>>",
        "<</T(#page[0])>>",
        "<</Subtype/FreeText/RC(<body><p>Ask the <b>pilot</b> &amp; pay</p></body>)/Rect[0 40 9 49]>>",
        "",
    ]
    .iter()
    .map(|object| object.chars().map(|c| c as u8).collect())
    .collect();
    let mut objects = objects;
    objects[5] = pdf::stream(&pdf::content(&["Application for a berth"]), "");
    objects[26] = pdf::stream(b"Walberswick", "");
    let document = Document::new("form.pdf", pdf::of_objects(&objects)).expect("a document");
    assert_eq!(
        document.text,
        "Application for a berth\n\nName of the vessel: Sandpiper\nberth: Quay ü\nclass: B\nice: Class C\n\
         tide: Flood\ngear: Nets\nskipper.paid: yes\nskipper.town: Walberswick\nPort: Orford\n\n\
         Comment by Iris: Refuse it – for now\n\nComment: Ask the pilot & pay"
    );
    assert_eq!(location_of(&document, "Sandpiper"), "form.pdf p. 1");
}
