//! Office files, books and mail: text, places and metadata, and bad input.

use std::io::{Cursor, Read, Write};

use ragscope::corpus::Document;
use ragscope::event::{Place, PlaceUnit, place_of_lines};
use zip::write::SimpleFileOptions;

use crate::support::effort::check_passes;

/// A file and what is expected of its document.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    text: &'static str,
    /// Units, numbers and names of the places.
    places: &'static [(PlaceUnit, u32, &'static str)],
    /// Title, author and date, with `|` between them.
    metadata: &'static str,
    note: Option<&'static str>,
}

impl Case {
    /// Nothing, with the metadata of the files that are written here.
    const DEFAULT: Self = Self {
        name: "",
        bytes: Vec::new(),
        text: "",
        places: &[],
        metadata: "A title|Ann|2024-01-31",
        note: None,
    };
}

pub(super) fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(*name, SimpleFileOptions::default())
            .expect("a member");
        zip.write_all(content.as_bytes()).expect("a member");
    }
    zip.finish().expect("an archive").into_inner()
}

/// Returns a zip archive with a wrong checksum of a member.
pub(super) fn with_damaged(member: &str, mut zip: Vec<u8>) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(zip.clone())).expect("an archive");
    let sum = archive.by_name(member).expect(member).crc32().to_le_bytes();
    while let Some(at) = zip.windows(4).position(|bytes| bytes == sum) {
        zip[at] ^= 1;
    }
    zip
}

/// Returns an Office file whose main part is `main`.
pub(super) fn office(main: &str, kind: &str, members: &[(&str, &str)]) -> Vec<u8> {
    let types = format!(
        "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>\
         <Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>\
         <Override PartName='/{main}' ContentType='application/vnd.openxmlformats-officedocument.{kind}.main+xml'/>\
         </Types>"
    );
    let root = relationships(&[("rId1", "officeDocument", main)]);
    let core = "<cp:coreProperties xmlns:cp='c' xmlns:dc='d' xmlns:dcterms='t'>\
                <dc:title>A title</dc:title><dc:creator>Ann</dc:creator>\
                <dcterms:modified>2024-01-31T08:00:00Z</dcterms:modified></cp:coreProperties>";
    let mut all = vec![
        ("[Content_Types].xml", types.as_str()),
        ("_rels/.rels", root.as_str()),
        ("docProps/core.xml", core),
    ];
    all.extend(members);
    zipped(&all)
}

pub(super) fn relationships(parts: &[(&str, &str, &str)]) -> String {
    let parts: String = parts
        .iter()
        .map(|(id, kind, target)| {
            format!(
                "<Relationship Id='{id}' Target='{target}' \
                 Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}'/>"
            )
        })
        .collect();
    format!(
        "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>{parts}</Relationships>"
    )
}

fn docx(body: &str) -> Vec<u8> {
    docx_with(body, &[])
}

pub(super) fn docx_with(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let document = format!(
        "<!DOCTYPE d [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
         <w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>\
         <w:body>{body}</w:body></w:document>"
    );
    let mut members = vec![("word/document.xml", document.as_str())];
    members.extend(parts);
    office("word/document.xml", "wordprocessingml.document", &members)
}

/// Returns a workbook with these sheets, one shared string `shared`, and styles for percentages,
/// dates, durations and euros.
pub(super) fn xlsx(sheets: &[(&str, &str)]) -> Vec<u8> {
    let mut listed = String::new();
    let mut parts = vec![
        ("s", "sharedStrings", "sharedStrings.xml".to_owned()),
        ("t", "styles", "styles.xml".to_owned()),
    ];
    let ids: Vec<String> = (0..sheets.len())
        .map(|index| format!("rId{index}"))
        .collect();
    let mut members: Vec<(String, String)> = Vec::new();
    for (id, (name, rows)) in ids.iter().zip(sheets) {
        listed.push_str(&format!("<sheet name='{name}' sheetId='1' r:id='{id}'/>"));
        parts.push((id, "worksheet", format!("worksheets/{id}.xml")));
        members.push((
            format!("xl/worksheets/{id}.xml"),
            format!("<worksheet><sheetData>{rows}</sheetData></worksheet>"),
        ));
    }
    let parts: Vec<(&str, &str, &str)> = parts
        .iter()
        .map(|(id, kind, target)| (*id, *kind, target.as_str()))
        .collect();
    let relationships = relationships(&parts);
    let workbook = format!("<workbook xmlns:r='r'><sheets>{listed}</sheets></workbook>");
    let mut all = vec![
        ("xl/workbook.xml", workbook.as_str()),
        ("xl/_rels/workbook.xml.rels", relationships.as_str()),
        (
            "xl/sharedStrings.xml",
            "<sst><si><r><t>sha</t></r><r><t>red</t></r><rPh><t>no</t></rPh></si></sst>",
        ),
        (
            "xl/styles.xml",
            "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='yyyy\\-mm\\-dd'/>\
             <numFmt numFmtId='171' formatCode='0.00\\ [$€-407]'/></numFmts>\
             <cellXfs><xf numFmtId='0'/><xf numFmtId='9'/><xf numFmtId='170'/><xf numFmtId='46'/><xf numFmtId='171'/></cellXfs></styleSheet>",
        ),
    ];
    all.extend(
        members
            .iter()
            .map(|(name, xml)| (name.as_str(), xml.as_str())),
    );
    office("xl/workbook.xml", "spreadsheetml.sheet", &all)
}

fn pptx() -> Vec<u8> {
    let slide = |title: &str, body: &str| {
        format!(
            "<p:sld xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
             xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'><p:cSld><p:spTree>\
             <p:sp><p:nvSpPr><p:nvPr><p:ph type='title'/></p:nvPr></p:nvSpPr>\
             <p:txBody><a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:txBody></p:sp>\
             <p:sp><p:txBody><a:p><a:r><a:t>{body}</a:t></a:r></a:p></p:txBody></p:sp>\
             </p:spTree></p:cSld></p:sld>"
        )
    };
    let notes = "<p:notes><p:sp><p:ph type='sldNum'/><a:p><a:t>2</a:t></a:p></p:sp>\
                 <p:sp><p:ph type='body'/><a:p><a:t>Ask about Phobos.</a:t></a:p></p:sp></p:notes>";
    office(
        "ppt/presentation.xml",
        "presentationml.presentation",
        &[
            (
                "ppt/presentation.xml",
                "<p:presentation xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
                 xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>\
                 <p:sldIdLst><p:sldId id='256' r:id='rId1'/><p:sldId id='257' r:id='rId2'/></p:sldIdLst></p:presentation>",
            ),
            (
                "ppt/_rels/presentation.xml.rels",
                &relationships(&[
                    ("rId1", "slide", "slides/slide1.xml"),
                    ("rId2", "slide", "slides/slide2.xml"),
                ]),
            ),
            ("ppt/slides/slide1.xml", &slide("Earth", "One moon.")),
            ("ppt/slides/slide2.xml", &slide("Mars", "Two moons.")),
            // the number of the notes is not that of their slide
            (
                "ppt/slides/_rels/slide2.xml.rels",
                &relationships(&[("rId1", "notesSlide", "../notesSlides/notesSlide1.xml")]),
            ),
            ("ppt/notesSlides/notesSlide1.xml", notes),
        ],
    )
}

/// Returns an OpenDocument file.
fn open_document(body: &str) -> Vec<u8> {
    let content = format!(
        "<!DOCTYPE d [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
         <office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b' xmlns:draw='d' \
         xmlns:presentation='p'><office:body>{body}</office:body></office:document-content>"
    );
    zipped(&[
        (
            "meta.xml",
            "<office:meta xmlns:dc='d' xmlns:meta='m'><dc:title>A title</dc:title><dc:creator>Ann</dc:creator>\
             <meta:creation-date>2020-05-05T00:00:00</meta:creation-date><dc:date>2024-01-31T08:00:00</dc:date></office:meta>",
        ),
        ("content.xml", &content),
        (
            "Object 1/content.xml",
            "<?xml version='1.0'?>\n<math xmlns='m'><semantics><mi>x</mi><annotation>x over 2</annotation></semantics></math>",
        ),
        (
            "Object 2/content.xml",
            "<m:math xmlns:m='m'><m:mi>y</m:mi> <m:mo>=</m:mo><m:mn>3</m:mn></m:math>",
        ),
        (
            "Object 3/content.xml",
            "<office:document-content xmlns:office='o'><p>chart</p></office:document-content>",
        ),
    ])
}

fn epub(extra: &[(&str, &str)]) -> Vec<u8> {
    let page = |title: &str, text: &str| {
        format!(
            "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>{title}</h1><p>{text}</p></body></html>"
        )
    };
    let one = page("Dawn", "The sun rises.");
    let two = page("Dusk", "The sun sets.");
    let mut members = vec![
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            "<container version='1.0' xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>\
             <rootfile full-path='OPS/book.opf' media-type='application/oebps-package+xml'/></rootfiles></container>",
        ),
        (
            "OPS/book.opf",
            "<package xmlns='http://www.idpf.org/2007/opf' version='3.0' unique-identifier='id'>\
             <metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:identifier id='id'>x</dc:identifier>\
             <dc:title>A title</dc:title><dc:creator>Ann</dc:creator><dc:language>en</dc:language>\
             <dc:date>2024-01-31</dc:date></metadata>\
             <manifest><item id='nav' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>\
             <item id='b' href='two.xhtml' media-type='application/xhtml+xml'/>\
             <item id='a' href='one.xhtml' media-type='application/xhtml+xml'/>\
             <item id='c' href='one.xhtml#c' media-type='application/xhtml+xml'/></manifest>\
             <spine><itemref idref='nav'/><itemref idref='a'/><itemref idref='c'/><itemref idref='b'/></spine></package>",
        ),
        (
            "OPS/nav.xhtml",
            "<html xmlns='http://www.w3.org/1999/xhtml' xmlns:epub='http://www.idpf.org/2007/ops'><body>\
             <nav epub:type='toc'><ol><li><a href='one.xhtml'>Chapter of dawn</a></li></ol></nav></body></html>",
        ),
        ("OPS/one.xhtml", &one),
        ("OPS/two.xhtml", &two),
    ];
    members.retain(|(name, _)| extra.iter().all(|(own, _)| own != name));
    members.extend(extra);
    zipped(&members)
}

fn mail(headers: &str, body: &str) -> Vec<u8> {
    format!("{headers}\r\n\r\n{body}").into_bytes()
}

/// Returns a message with attachments: names and base64 or plain content.
fn with_attachments(attachments: &[(String, String)]) -> Vec<u8> {
    let mut text = "From: ann@example.org\r\nSubject: Files\r\nMIME-Version: 1.0\r\n\
                    Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSee below.\r\n"
        .to_owned();
    for (name, content) in attachments {
        text.push_str(&format!(
            "--b\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\n{content}\r\n"
        ));
    }
    text.push_str("--b--\r\n");
    text.into_bytes()
}

fn data(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(super::data("office").join(name)).expect("a file");
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice())
        .read_to_end(&mut unpacked)
        .expect("a gzip file");
    unpacked
}

fn places(document: &Document) -> Vec<(PlaceUnit, u32, String)> {
    let all = document.places(0..document.text.len());
    all.into_iter()
        .map(|from| {
            let Place {
                unit, first, name, ..
            } = from.place;
            (unit, first, name.unwrap_or_default())
        })
        .collect()
}

#[test]
fn the_rows_of_a_large_table_keep_their_names() {
    const ROWS: usize = 30_000;
    let row = |one: &str, other: &str| {
        let cell =
            |text: &str| format!("<w:tc><w:tcPr/><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
        format!("<w:tr><w:trPr/>{}{}</w:tr>", cell(one), cell(other))
    };
    let rows: String = (0..ROWS)
        .map(|number| {
            row(
                &format!("B{number}"),
                &format!("{} crowns a year and a half", number + 7),
            )
        })
        .collect();
    let table = |rows: &str| format!("<w:tbl><w:tblPr/><w:tblGrid/>{rows}</w:tbl>");
    let body = format!(
        "<w:p><w:r><w:t>Before</w:t></w:r></w:p>{}<w:p><w:r><w:t>Between</w:t></w:r></w:p>{}",
        table(&(row("Berth", "Dues") + &rows)),
        table(&(row("Ship", "Flag") + &row("Heron", "red")))
    );
    assert!(body.len() > 4 << 20, "larger than a piece");
    let document = Document::new("a.docx", docx(&body)).expect("a document");

    let mut lines = document.text.lines().filter(|line| !line.is_empty());
    assert_eq!(
        [lines.next(), lines.next()],
        [Some("Before"), Some("Berth; Dues")]
    );
    for number in 0..ROWS {
        let row = format!(
            "Berth: B{number}; Dues: {} crowns a year and a half",
            number + 7
        );
        assert_eq!(lines.next(), Some(&*row));
    }
    let rest: Vec<&str> = lines.collect();
    assert_eq!(rest, ["Between", "Ship; Flag", "Ship: Heron; Flag: red"]);
}

#[test]
fn a_large_word_document_is_read_in_pieces() {
    const PARAGRAPHS: usize = 70_000;
    let mut body: String = (0..PARAGRAPHS)
        .map(|number| {
            let rest = "and the keeper lit the lamp in the gallery of the tower at Harwenby";
            format!("<w:p w:id='{number:08}'><w:r><w:t>At {number} {rest}.</w:t></w:r></w:p>")
        })
        .collect();
    body += "<w:p><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p>\
             <w:p><w:r><w:t>The end</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r></w:p>";
    let notes = "<w:footnotes xmlns:w='w'><w:footnote w:id='2'><w:p><w:r><w:t>Of all.</w:t></w:r></w:p>\
                 </w:footnote></w:footnotes>";
    let file = docx_with(&body, &[("word/footnotes.xml", notes)]);
    let document = Document::new("a.docx", file).expect("a document");

    let mut lines = document.text.lines().filter(|line| !line.is_empty());
    for number in 0..PARAGRAPHS {
        let line = lines.next().expect("a line");
        assert!(line.starts_with(&format!("At {number} and")), "{line}");
    }
    let rest: Vec<&str> = lines.collect();
    assert_eq!(rest, ["a/b", "The end", "Of all."]);
    assert_eq!(document.metadata.title.as_deref(), Some("A title"));
}

#[test]
fn a_paragraph_is_a_heading_by_its_own_level() {
    let paragraph = |level: u8, text: &str| {
        format!(
            "<w:p><w:pPr><w:outlineLvl w:val='{level}'/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = [(0, "Rain"), (1, "Floods"), (9, "It rains.")];
    let body = body.map(|(level, text)| paragraph(level, text)).concat();
    let document = Document::new("a.docx", docx(&body)).expect("a document");
    let at = document.text.find("It rains").expect("a sentence");
    assert_eq!(document.headings_at(at), ["A title", "Rain", "Floods"]);
}

#[test]
fn the_title_of_a_text_is_above_its_headings() {
    let styles = "<w:styles xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>\
        <w:style w:type='paragraph' w:styleId='Titel'><w:name w:val='Title'/></w:style></w:styles>";
    let relationships = relationships(&[("s", "styles", "styles.xml")]);
    let parts = [
        ("word/styles.xml", styles),
        ("word/_rels/document.xml.rels", relationships.as_str()),
    ];
    let word = "<w:p><w:pPr><w:pStyle w:val='Titel'/></w:pPr><w:r><w:t>Aqua Two</w:t></w:r></w:p>\
        <w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>Filter</w:t></w:r></w:p>\
        <w:p><w:r><w:t>It lasts.</w:t></w:r></w:p>";
    let open = |style: &str| {
        open_document(&format!(
            "<office:automatic-styles><style:style style:family='paragraph' style:name='P1' \
             style:parent-style-name='Title'/></office:automatic-styles><office:text>\
             <text:p text:style-name='{style}'>Aqua Two</text:p>\
             <text:h text:outline-level='1'>Filter</text:h><text:p>It lasts.</text:p></office:text>"
        ))
    };
    for (name, file) in [
        ("a.docx", docx_with(word, &parts)),
        ("a.odt", open("Title")),
        ("a.odt", open("P1")),
    ] {
        let document = Document::new(name, file).expect("a document");
        let at = document.text.find("It lasts").expect("a sentence");
        assert_eq!(document.headings_at(at), ["Aqua Two", "Filter"], "{name}");
    }
}

#[test]
fn bold_lines_are_headings_where_a_word_file_has_no_others() {
    let line = |look: &str, text: &str| {
        format!("<w:p><w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r></w:p>")
    };
    let body = [
        line("<w:b/>", "Riga"),
        line(
            "",
            "The weekly call takes place on Friday, and it takes an hour.",
        ),
        line("<w:b/>", "Take the key."),
        line("", "It lasts."),
    ]
    .concat();
    let heading = "<w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>Calls</w:t></w:r></w:p>";
    let cases = [
        (body.clone(), vec!["A title", "Riga"]),
        (format!("{body}{heading}"), vec!["A title"]),
        (
            line("<w:b/>", "All of it") + &line("", "It lasts."),
            vec!["A title"],
        ),
    ];
    for (body, expected) in cases {
        let document = Document::new("a.docx", docx(&body)).expect("a document");
        let at = document.text.find("It lasts").expect("a sentence");
        assert_eq!(document.headings_at(at), expected);
    }
}

#[test]
fn a_chapter_without_headings_has_the_name_in_the_contents() {
    let page = "<html xmlns='http://www.w3.org/1999/xhtml'><body><p><b>Dawn</b></p><p>The sun rises.</p></body></html>";
    let named = |name: &str| {
        format!(
            "<html xmlns='http://www.w3.org/1999/xhtml' xmlns:epub='http://www.idpf.org/2007/ops'><body>\
             <nav epub:type='toc'><ol><li><a href='one.xhtml'>{name}</a></li></ol></nav></body></html>"
        )
    };
    for name in ["Dawn", "Chapter of dawn"] {
        let contents = named(name);
        let parts = [
            ("OPS/one.xhtml", page),
            ("OPS/nav.xhtml", contents.as_str()),
        ];
        let document = Document::new("a.epub", epub(&parts)).expect("a book");
        let at = document.text.find("The sun rises").expect("a sentence");
        assert_eq!(document.headings_at(at), ["A title", name]);
        let at = document.text.find("The sun sets").expect("a sentence");
        assert_eq!(document.headings_at(at), ["A title", "Dusk"]);
    }
}

#[test]
fn text_places_and_metadata_of_word_files_and_slides() {
    check(Case {
        name: "a.docx",
        bytes: docx(
            "<w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>Rain</w:t></w:r></w:p>\
             <w:p><w:r><w:t>It &amp; wind.&b;&x;</w:t></w:r></w:p>\
             <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Town</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>mm</w:t></w:r></w:p></w:tc></w:tr>\
             <w:tr><w:tc><w:p><w:r><w:t>Oslo</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>7</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
        ),
        text: "Rain\n\nIt & wind.&b;&x;\n\nTown; mm\nTown: Oslo; mm: 7",
        ..Case::DEFAULT
    });
    check(Case {
        name: "comments.docx",
        bytes: docx_with(
            "<w:p><w:r><w:t>Rain</w:t></w:r></w:p>",
            &[
                (
                    "word/comments.xml",
                    "<w:comments xmlns:w='w'><w:comment w:author='Bo'><w:p><w:r><w:t>Snow,</w:t></w:r></w:p>\
                     <w:p><w:r><w:t>rather</w:t></w:r></w:p></w:comment><w:comment><w:p/></w:comment></w:comments>",
                ),
                (
                    "word/_rels/document.xml.rels",
                    &relationships(&[("c", "comments", "comments.xml")]),
                ),
            ],
        ),
        text: "Rain\n\nComment by Bo: Snow,\nrather",
        ..Case::DEFAULT
    });
    let style =
        |id: &str, properties: &str| format!("<w:style w:styleId='{id}'>{properties}</w:style>");
    let number =
        |list: &str| format!("<w:pPr><w:numPr><w:numId w:val='{list}'/></w:numPr></w:pPr>");
    let styles = [
        style("Step", &number("4")),
        style("Next", "<w:basedOn w:val='Step'/>"),
        style(
            "None",
            &("<w:basedOn w:val='Step'/>".to_owned() + &number("0")),
        ),
    ];
    let item = |style: &str, own: &str, text: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/>{own}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let w = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'";
    let level = "<w:lvl w:ilvl='0'><w:start w:val='3'/><w:numFmt w:val='decimal'/></w:lvl>";
    check(Case {
        name: "lists.docx",
        bytes: docx_with(
            &[
                item("Step", "", "Drain"),
                item("Next", "", "Wait"),
                item(
                    "Step",
                    "<w:numPr><w:ilvl w:val='0'/><w:numId w:val='0'/></w:numPr>",
                    "Rest",
                ),
                item("None", "", "Stop"),
            ]
            .concat(),
            &[
                (
                    "word/styles.xml",
                    &format!("<w:styles {w}>{}</w:styles>", styles.concat()),
                ),
                (
                    "word/numbering.xml",
                    &format!(
                        "<w:numbering {w}><w:abstractNum w:abstractNumId='1'>{level}</w:abstractNum>\
                         <w:num w:numId='4'><w:abstractNumId w:val='1'/></w:num></w:numbering>"
                    ),
                ),
                (
                    "word/_rels/document.xml.rels",
                    &relationships(&[
                        ("s", "styles", "styles.xml"),
                        ("n", "numbering", "numbering.xml"),
                    ]),
                ),
            ],
        ),
        text: "3. Drain\n4. Wait\n\nRest\n\nStop",
        ..Case::DEFAULT
    });
    let cell = |content: &str| format!("<w:tc>{content}</w:tc>");
    let words = |text: &str| cell(&format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"));
    let row = |cells: &[String]| format!("<w:tr>{}</w:tr>", cells.concat());
    let table = |rows: &[String]| format!("<w:tbl>{}</w:tbl><w:p/>", rows.concat());
    let names = row(&[words("Hour"), words("Tilt")]);
    let short = table(&[names.clone(), row(&[words("06:00"), words("0.4")])]);
    let long = table(&[names, row(&[words(&"x".repeat(400)), words("1")])]);
    let outer = table(&[
        row(&[words("Pier"), words("Readings")]),
        row(&[words("P7"), cell(&short)]),
        row(&[words("P8"), cell(&long)]),
    ]);
    let document = Document::new("nested.docx", docx(&outer)).expect("a document");
    let expected = format!(
        "Pier; Readings\nPier: P7; Readings: Hour: 06:00, Tilt: 0.4\nPier: P8\n\n\
         Hour; Tilt\nHour: {}; Tilt: 1",
        "x".repeat(400)
    );
    assert_eq!(document.text, expected);
    check(Case {
        name: "a.pptx",
        bytes: pptx(),
        text: "Earth\n\nOne moon.\n\nMars\n\nTwo moons.\n\nNotes: Ask about Phobos.",
        places: &[
            (PlaceUnit::Slide, 1, "Earth"),
            (PlaceUnit::Slide, 2, "Mars"),
        ],
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.doc",
        bytes: data("sky.doc"),
        text: "Constellations\n\nOrion rises in the east.\n\nStar; Magnitude\nStar: Rigel; Magnitude: 0.13",
        metadata: "Night sky|Ann Example|",
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.ppt",
        bytes: data("planets.ppt.gz"),
        text: "Planets\n\nMars has two moons.\n\nNotes: Ask about Phobos.",
        places: &[(PlaceUnit::Slide, 1, "Planets")],
        metadata: "||",
        ..Case::DEFAULT
    });
    check(Case {
        name: "formulas.docx",
        bytes: docx(
            "<w:p><w:r><w:t xml:space='preserve'>So </w:t></w:r><m:oMath xmlns:m='m'><m:sSup><m:sSupPr><m:ctrlPr><w:rPr/></m:ctrlPr>\
             </m:sSupPr><m:e><m:r><w:rPr/><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:r><m:t> = </m:t></m:r>\
             <m:f><m:fPr/><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b &lt; c</m:t></m:r></m:den></m:f></m:oMath>\
             <w:r><w:t>.</w:t></w:r></w:p>",
        ),
        text: "So x^2 = a/b < c.",
        ..Case::DEFAULT
    });
}

#[test]
fn text_places_and_metadata_of_workbooks() {
    check(Case {
        name: "a.xlsx",
        bytes: xlsx(&[
            (
                "Hours",
                "<row r='2'><c r='A2' t='inlineStr'><is><t>Who</t></is></c><c r='C2' t='s'><v>0</v></c></row>\
                 <row r='3'/><row r='5'><c r='A5' t='str'><f>EXEC(\"calc\")</f><v>Ann</v></c>\
                 <c r='B5' s='1'><v>0.25</v></c><c r='C5' s='2'><v>45322</v></c></row>",
            ),
            ("Empty", ""),
            (
                "Rates",
                "<row><c><v>0.1</v></c><c t='b'><v>1</v></c><c s='3'><v> 1.5</v></c><c s='4'><v>-7</v></c></row>",
            ),
        ]),
        text: "Hours\n\nWho; shared\nWho: Ann; 25%; shared: 2024-01-31\n\nRates\n\n0.1; TRUE; 36:00:00; -7.00 €",
        places: &[
            (PlaceUnit::Row, 2, "Hours"),
            (PlaceUnit::Row, 5, "Hours"),
            (PlaceUnit::Row, 1, "Rates"),
        ],
        ..Case::DEFAULT
    });
    check(Case {
        name: "hours.xls",
        bytes: data("hours.xls"),
        text: "Hours\n\nHours of May\nName; Day; Lasts; At; Share\n\
               Name: Ann; Day: 2024-01-31; Lasts: 27:30:00; At: 18:00:00; Share: 0.3\nName: TRUE; Day: =1/0\n\n\
               Rates\n\na rate",
        places: &[
            (PlaceUnit::Row, 1, "Hours"),
            (PlaceUnit::Row, 3, "Hours"),
            (PlaceUnit::Row, 4, "Hours"),
            (PlaceUnit::Row, 6, "Hours"),
            (PlaceUnit::Row, 1, "Rates"),
        ],
        metadata: "||",
        note: Some(
            "hidden sheets are read, too: Rates; formulas without a stored value are read as formulas (1): open it in a spreadsheet program and save it to read their values",
        ),
    });
}

#[test]
fn text_places_and_metadata_of_open_documents() {
    check(Case {
        name: "a.odt",
        bytes: open_document(
            "<office:text><text:h text:outline-level='1'>Rain</text:h>\
             <text:p>It<text:s/>&amp; wind<text:note><text:note-citation>1</text:note-citation>\
             <text:note-body><text:p>In May.</text:p></text:note-body></text:note>.&b;&x;</text:p>\
             <text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>\
             <text:tracked-changes><text:p>deleted</text:p></text:tracked-changes></office:text>",
        ),
        text: "Rain\n\nIt & wind.\n\nIn May.\n\n- one\n- two",
        ..Case::DEFAULT
    });
    check(Case {
        name: "formulas.odt",
        bytes: open_document(
            "<office:text xmlns:x='x'><text:p>So<draw:object x:href='./Object 1'/>is <draw:object x:href='./Object 2'/>.</text:p>\
             <text:p>A chart: <draw:object x:href='./Object 3'/><draw:object x:href='./Object 1'/><draw:object x:href='../a'/></text:p></office:text>",
        ),
        text: "So x over 2 is  y = 3 .\n\nA chart:  chart",
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.ods",
        bytes: open_document(
            "<office:spreadsheet><table:table table:name='Hours'>\
             <table:table-row><table:table-cell><text:p>Who</text:p></table:table-cell><table:table-cell><text:p>Days</text:p></table:table-cell></table:table-row>\
             <table:table-row table:number-rows-repeated='3'><table:table-cell/></table:table-row>\
             <table:table-row><table:table-cell table:formula='of:=WEBSERVICE(1)'><text:p>Ann</text:p></table:table-cell>\
             <table:table-cell table:number-columns-repeated='2'><text:p>7</text:p></table:table-cell></table:table-row>\
             <table:table-row table:number-rows-repeated='1048571'><table:table-cell table:number-columns-repeated='16384'/></table:table-row>\
             </table:table></office:spreadsheet>",
        ),
        text: "Hours\n\nWho; Days\nWho: Ann; Days: 7; 7",
        places: &[(PlaceUnit::Row, 1, "Hours"), (PlaceUnit::Row, 5, "Hours")],
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.odp",
        bytes: open_document(
            "<office:presentation><draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>Earth</text:p></draw:text-box></draw:frame>\
             <draw:frame><draw:text-box><text:p>One moon.</text:p></draw:text-box></draw:frame></draw:page>\
             <draw:page><draw:frame><draw:text-box><text:p>Two moons.</text:p></draw:text-box></draw:frame>\
             <presentation:notes><draw:frame><draw:text-box><text:p>Phobos.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation>",
        ),
        text: "Earth\n\nOne moon.\n\nTwo moons.\n\nNotes: Phobos.",
        places: &[(PlaceUnit::Slide, 1, "Earth"), (PlaceUnit::Slide, 2, "")],
        ..Case::DEFAULT
    });
}

#[test]
fn text_places_and_metadata_of_books_and_mail() {
    check(Case {
        name: "a.epub",
        bytes: epub(&[]),
        text: "Dawn\n\nThe sun rises.\n\nDusk\n\nThe sun sets.",
        places: &[
            (PlaceUnit::Chapter, 1, "Chapter of dawn"),
            (PlaceUnit::Chapter, 2, "Dusk"),
        ],
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.fb2",
        bytes: "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE d [<!ENTITY a 'lol'>]><FictionBook><description><title-info>\
                <author><first-name>Ann</first-name></author><book-title>A title</book-title>\
                <date value='2024-01-31'>2024</date></title-info></description>\
                <body><section><title><p>Dawn</p></title><p>The <b>sun</b> rises.&a;</p></section>\
                <section><p>It has 10<sup>6</sup> lamps since 1931<a type='note'>[3]</a>.</p><poem><v>One</v><v>Two</v></poem></section></body>\
                <binary id='x'>AAAA</binary></FictionBook>"
            .into(),
        text: "Dawn\n\nThe sun rises.\n\nIt has 10⁶ lamps since 1931 ³.\n\nOne\nTwo",
        places: &[(PlaceUnit::Chapter, 1, "Dawn"), (PlaceUnit::Chapter, 2, "")],
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.eml",
        bytes: mail(
            "From: Ann <ann@example.org>\r\nTo: bob@example.org\r\nSubject: =?utf-8?q?A_title?=\r\n\
             Date: Wed, 31 Jan 2024 08:00:00 +0000\r\nContent-Type: text/html",
            "<p>Hello <b>Bob</b></p>",
        ),
        text: "A title\n\nFrom: Ann <ann@example.org>\nTo: bob@example.org\nDate: 2024-01-31 08:00\n\nHello Bob",
        places: &[(PlaceUnit::Message, 1, "A title")],
        metadata: "A title|Ann <ann@example.org>|2024-01-31",
        ..Case::DEFAULT
    });
    check(Case {
        name: "a.mbox",
        bytes: "From ann Wed Jan 31 08:00:00 2024\nFrom: ann@example.org\nSubject: Plan\n\nWe meet at noon.\n\n\
                From bob Wed Jan 31 09:00:00 2024\nFrom: bob@example.org\nSubject: Re: Plan\n\nFine.\n\n\
                On Wed, Jan 31, Ann wrote:\n> We meet at noon.\n> And this is new.\n>\n\n\
                From ann Wed Jan 31 10:00:00 2024\nFrom: ann@example.org\nSubject: Re: Re: Plan\n\nGood.\n\n\
                Bob wrote:\n> Fine.\n"
            .into(),
        text: "Plan\n\nFrom: ann@example.org\n\nWe meet at noon.\n\nRe: Plan\n\nFrom: bob@example.org\n\nFine.\n\n\
               On Wed, Jan 31, Ann wrote:\n> And this is new.\n\nRe: Re: Plan\n\nFrom: ann@example.org\n\nGood.",
        places: &[
            (PlaceUnit::Message, 1, "Plan"),
            (PlaceUnit::Message, 2, "Re: Plan"),
            (PlaceUnit::Message, 3, "Re: Re: Plan"),
        ],
        metadata: "||",
        ..Case::DEFAULT
    });
}

#[track_caller]
fn check(case: Case) {
    let name = case.name;
    let document = Document::new(name, case.bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(document.text, case.text, "{name}");

    let expected: Vec<_> = case
        .places
        .iter()
        .map(|(unit, first, name)| (*unit, *first, (*name).to_owned()))
        .collect();
    assert_eq!(places(&document), expected, "{name}");

    assert_eq!(document.note.as_deref(), case.note, "{name}");
    let about = &document.metadata;
    let about = [&about.title, &about.author, &about.date].map(Clone::clone);
    let about = about.map(Option::unwrap_or_default).join("|");
    if name.ends_with("doc") {
        assert!(about.starts_with(case.metadata), "{name}: {about}");
    } else if !case.metadata.starts_with("||") {
        assert_eq!(about, case.metadata, "{name}");
    }
}

/// Asserts that a file is skipped, with a reason that holds this text.
#[track_caller]
fn check_skipped(name: &str, bytes: Vec<u8>, expected: &str) {
    let reason = Document::new(name, bytes).expect_err(name);
    assert!(reason.contains(expected), "{name}: {reason}");
}

#[test]
fn bad_files_are_skipped_with_a_reason() {
    let bomb = " ".repeat(16 << 20);
    let bomb = bomb.as_str();
    let drm = "<encryption><EncryptionMethod Algorithm='http://www.w3.org/2001/04/xmlenc#aes256-cbc'/></encryption>";
    let locked = "<manifest><file-entry><encryption-data/></file-entry></manifest>";
    let cases = [
        ("a.docx", Vec::new(), "it holds no text"),
        ("a.docx", docx("")[..200].to_vec(), "it is damaged"),
        ("a.docx", b"\0\x01\x02\0".to_vec(), "its name says Word"),
        ("a.docx", data("locked.docx"), "it is encrypted"),
        ("a.docx", docx(bomb), "200 times"),
        ("a.docx", docx(""), "it holds no text"),
        ("a.pptx", data("sky.doc")[..900].to_vec(), "it is damaged"),
        ("a.xlsx", data("locked.docx"), "it is encrypted"),
        ("a.xlsx", zipped(&[("a.txt", "b")]), "its content is not"),
        ("a.xlsx", xlsx(&[("S", bomb)]), "200 times"),
        ("a.odt", open_document(bomb), "200 times"),
        ("a.odt", zipped(&[("a.txt", "b")]), "its content is not"),
        (
            "a.ods",
            zipped(&[("META-INF/manifest.xml", locked), ("content.xml", "x")]),
            "it is encrypted",
        ),
        ("a.odp", b"PK".to_vec(), "it is damaged"),
        ("a.epub", epub(&[("OPS/big.css", bomb)]), "200 times"),
        ("a.epub", epub(&[("META-INF/encryption.xml", drm)]), "DRM"),
        ("a.epub", b"PK\x03\x04".to_vec(), "it is damaged"),
        ("a.fb2", b"<html/>".to_vec(), "its content is not"),
        ("a.rtf", b"\0\x01\x02\0".to_vec(), "its name says RTF"),
        ("a.eml", b"plain text".to_vec(), "not a message"),
        ("a.mbox", b"plain text".to_vec(), "not a mailbox"),
    ];
    for (name, bytes, reason) in cases {
        check_skipped(name, bytes, reason);
    }
}

#[test]
fn files_that_end_early_give_a_text_or_a_reason() {
    let files = [
        ("a.docx", docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>")),
        ("a.xlsx", xlsx(&[("S", "<row><c><v>1</v></c></row>")])),
        ("a.pptx", pptx()),
        ("a.doc", data("sky.doc")),
        ("a.xls", data("stars.xls")),
        ("a.odt", open_document("<text:p>x</text:p>")),
        ("a.epub", epub(&[])),
        (
            "a.eml",
            with_attachments(&[("a.txt".to_owned(), "b".to_owned())]),
        ),
    ];
    for (name, bytes) in files {
        for part in 0..24 {
            let end = bytes.len() * part / 24;
            let document = Document::new(name, bytes[..end].to_vec());
            let says = document.map_or_else(|reason| reason, |document| document.text);
            assert!(!says.trim().is_empty(), "{name} up to {end}");
        }
    }
}

#[test]
fn a_sheet_of_all_rows() {
    let mut rows = String::new();
    for row in 1..=1_048_576 {
        rows.push_str(&format!("<row r='{row}'><c r='XFD{row}' s='1'/></row>"));
    }
    rows.push_str("<row r='1048576'><c r='XFD1048576'><v>7</v></c></row>");
    let bytes = xlsx(&[("S", &rows)]);
    let document = check_passes("all rows", &rows, 1000, || Document::new("a.xlsx", bytes));
    let document = document.expect("a workbook");
    assert_eq!(document.text, "S\n\n7");
    assert_eq!(places(&document)[0].1, 1_048_576);
}

#[test]
fn attachments_are_read_by_their_formats() {
    let text = |name: &str, content: &str| (name.to_owned(), content.to_owned());
    let bytes = with_attachments(&[
        text("notes.txt", "first\nsecond"),
        text("page.html", "<p>a page</p>"),
        text("photo.png", "x"),
        text(
            "inner.eml",
            "From: bob@example.org\nSubject: Inner\n\nInside.",
        ),
    ]);
    let document = Document::new("a.eml", bytes).expect("a mail");
    let second = document.text.find("second").expect("the attachment");
    let part = second..second + 6;
    let at = place_of_lines(&document.places(part.clone()), document.lines(part)).expect("a place");
    assert_eq!((at.unit, at.first), (PlaceUnit::Line, 2));
    assert_eq!(at.member.as_deref(), Some("notes.txt"));
    for part in [
        "See below.",
        "a page",
        "Inside.",
        "Attachments: notes.txt, page.html",
    ] {
        assert!(document.text.contains(part), "{part}: {}", document.text);
    }
    assert_eq!(
        document.note.as_deref(),
        Some("not read: photo.png (a picture, which corpus.ocr = on reads)")
    );
}

#[test]
fn a_mail_with_500_attachments() {
    let attachments: Vec<_> = (0..500)
        .map(|index| (format!("{index}.txt"), format!("attached {index}.")))
        .collect();
    let document = Document::new("a.eml", with_attachments(&attachments)).expect("a mail");
    assert!(document.text.contains("attached 99."));
    assert!(!document.text.contains("attached 100."));
    let note = document.note.expect("a note");
    assert!(
        note.contains("first 100 attachments are read, 400 are not"),
        "{note}"
    );
}

#[test]
fn a_word_file_is_read_as_word_shows_it() {
    let run = |text: &str| format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>");
    let paragraph = |inner: &str| format!("<w:p>{inner}</w:p>");
    let look =
        |look: &str, text: &str| format!("<w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r>");
    let body = [
        paragraph(&format!("<w:moveFrom w:id='1'>{}</w:moveFrom>", run("A deposit."))),
        paragraph(&[run("Repairs."), look("<w:b/><w:vanish/>", "Secret."), run(" Roof.")].concat()),
        paragraph(&look("<w:vanish w:val='0'/>", "Shown.")),
        paragraph(&[run("It holds 10"), look("<w:vertAlign w:val='superscript'/>", "6"), run(" litres.")].concat()),
        paragraph(&format!("<w:moveTo w:id='2'>{}</w:moveTo>", run("A deposit."))),
        "<w:sectPr><w:headerReference w:type='default' r:id='h' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'/>\
         <w:footerReference w:type='default' r:id='f' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'/></w:sectPr>".to_owned(),
    ]
    .concat();
    let margin = |name: &str, text: &str| {
        format!(
            "<w:{name} xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>{}</w:{name}>",
            paragraph(&run(text))
        )
    };
    let bytes = docx_with(
        &body,
        &[
            (
                "word/_rels/document.xml.rels",
                &relationships(&[
                    ("h", "header", "header1.xml"),
                    ("f", "footer", "footer1.xml"),
                    ("d", "diagramData", "diagrams/data1.xml"),
                ]),
            ),
            ("word/header1.xml", &margin("hdr", "HB-2291")),
            ("word/footer1.xml", &margin("ftr", "Until June")),
            ("word/diagrams/data1.xml", DIAGRAM),
        ],
    );
    let document = Document::new("lease.docx", bytes).expect("a document");
    assert_eq!(
        document.text,
        "Header: HB-2291\n\nRepairs. Roof.\n\nShown.\n\nIt holds 10⁶ litres.\n\nA deposit.\n\nFooter: Until June\n\n- Freeze it\n- Sign off"
    );
    let note = document.note.expect("a note");
    assert!(
        note.contains("hidden text is left out, in 1 place"),
        "{note}"
    );
}

const DIAGRAM: &str = "<dgm:dataModel xmlns:dgm='d' xmlns:a='a'><dgm:ptLst><dgm:pt type='doc'/>\
    <dgm:pt><dgm:t><a:p><a:r><a:t>Freeze</a:t></a:r></a:p><a:p><a:r><a:t>it</a:t></a:r></a:p></dgm:t></dgm:pt>\
    <dgm:pt><dgm:t><a:p><a:r><a:t>Sign</a:t></a:r><a:r><a:t> off</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>";

#[test]
fn a_formula_without_a_value_is_shown_itself() {
    let rows = "<row r='1'><c r='A1' t='inlineStr'><is><t>Item</t></is></c><c r='B1' t='inlineStr'><is><t>Total</t></is></c></row>\
                <row r='2'><c r='A2'><v>1</v></c><c r='B2'><f>A2*2</f><v></v></c></row>\
                <row r='3'><c r='A3'><v>2</v></c><c r='B3'><f>A3*2</f><v>4</v></c></row>\
                <row r='4'><c r='A4'><v>3</v></c><c r='B4' t='str'><f>TEXT(A4)</f><v></v></c></row>";
    let cases = [
        (
            "a.xlsx",
            xlsx(&[("S", rows)]),
            "S\n\nItem; Total\nItem: 1; Total: =A2*2\nItem: 2; Total: 4\nItem: 3",
        ),
        (
            "a.xls",
            data("stars.xls"),
            "Stars\n\nStar; Magnitude\nStar: Rigel; Magnitude: 0.13\nStar: Vega; Magnitude: 0.03\nStar: Sum; Magnitude: =SUM(B2:B3)",
        ),
    ];
    for (name, bytes, text) in cases {
        let document = Document::new(name, bytes).expect("a workbook");
        assert_eq!(document.text, text);
        let note = document.note.expect("a note");
        assert!(
            note.contains("formulas without a stored value") && note.contains("(1)"),
            "{note}"
        );
    }
}

#[test]
fn margins_and_formulas_of_open_documents_are_read() {
    let content = |body: &str| {
        format!("<office:c xmlns:office='o'><office:body>{body}</office:body></office:c>")
    };
    let styles = "<office:s><style:header><text:p>HB-2291</text:p></style:header>\
                  <style:header-first><text:p>HB-2291</text:p></style:header-first>\
                  <style:footer><text:p>Until<text:s/>June</text:p></style:footer></office:s>";
    let text = content("<office:text><text:p>Lease</text:p></office:text>");
    let file = zipped(&[("content.xml", &text), ("styles.xml", styles)]);
    let document = Document::new("a.odt", file).expect("a text");
    assert_eq!(
        document.text,
        "Lease\n\nHeader: HB-2291\n\nFooter: Until June"
    );

    let sheet = content(
        "<office:spreadsheet><table:table table:name='S'><table:table-row>\
         <table:table-cell office:value-type='string'><text:p>Sum</text:p></table:table-cell>\
         <table:table-cell table:formula='of:=SUM([.B2:.B4])'/>\
         <table:table-cell table:formula='of:=1+1' office:value-type='float'><text:p>2</text:p></table:table-cell>\
         </table:table-row><table:table-row table:visibility='collapse'><table:table-cell><text:p>Left</text:p>\
         </table:table-cell></table:table-row></table:table></office:spreadsheet>",
    );
    let document = Document::new(
        "a.ods",
        zipped(&[("content.xml", &sheet), ("styles.xml", styles)]),
    );
    let document = document.expect("a workbook");
    assert_eq!(document.text, "S\n\nSum; =SUM(B2:B4); 2\nLeft");
    let note = document.note.expect("a note");
    for remark in [
        "formulas without a stored value",
        "hidden rows and columns are read, too, in S",
    ] {
        assert!(note.contains(remark), "{note}");
    }
}
