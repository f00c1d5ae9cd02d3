//! The memory that indexing takes: in proportion to the largest file, whatever its format.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flate2::write::{GzEncoder, ZlibEncoder};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use ragscope::event::{Event, Record, SessionEvent};

use crate::support::environment::TestEnvironment;

const MEGABYTE: usize = 1 << 20;
/// Peak memory per byte of the largest file, at most.
const MAX_RATIO: u64 = 12;
/// Bytes that the program and the processes that read for it take for small files.
const CONSTANT_BYTES: u64 = 64 << 20;
/// Maximum text that is read of one file.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Size of the text in an archive over that of the archive, about.
const PACKED_RATIO: usize = 4;
const SENTENCES: [&str; 4] = [
    "Mira Oakes was born in Harwenby and kept the lamp for nineteen years",
    "Tam Reeve carried forty fathoms of rope to Lorbymouth",
    "The Heron sails at nine with salt, bells and copper",
    "In spring the keeper counted boats from the gallery",
];

/// A format: its ending, what a file begins with, one of its parts with `~` for a number and `@`
/// for a sentence, and what a file ends with.
struct Grown(&'static str, &'static str, &'static str, &'static str);

const FORMATS: [Grown; 20] = [
    Grown("txt", "", "@.\n", ""),
    Grown(
        "log",
        "",
        "\x1b[32m12:00 ~\x1b[0m \x1b[31mERROR\x1b[0m @\n",
        "",
    ),
    Grown("md", "", "## Part ~\n\n@.\n\n- @\n\n", ""),
    Grown("html", "<html><body>", "<h2>Part ~</h2><p>@.</p>\n", ""),
    Grown(
        "xml",
        "<all>",
        "<item id=\"~\"><text>@</text></item>\n",
        "</all>",
    ),
    Grown("csv", "id,text\n", "~,\"@\"\n", ""),
    Grown("json", "[", "{\"id\": ~, \"text\": \"@\"},\n", "{}]"),
    Grown("jsonl", "", "{\"id\": ~, \"text\": \"@\"}\n", ""),
    Grown("yaml", "", "- id: ~\n  text: @\n", ""),
    Grown("toml", "", "[item~]\ntext = \"@\"\n", ""),
    Grown(
        "ipynb",
        "{\"nbformat\": 4, \"metadata\": {}, \"cells\": [",
        "{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"@\\n\"]},\n",
        "{\"cell_type\": \"code\", \"metadata\": {}, \"source\": []}]}",
    ),
    Grown("eml", "From: a@b.c\nSubject: Ships\n\n", "@.\n", ""),
    Grown(
        "mbox",
        "",
        "From a Mon Nov 23 13:00:00 2026\nSubject: Ship ~\n\n@.\n@.\n\n",
        "",
    ),
    Grown("srt", "", "~\n00:00:01,000 --> 00:00:02,000\n@\n\n", ""),
    Grown(
        "tex",
        "\\begin{document}",
        "\\section{Part ~}\n@.\n\n",
        "\\end{document}",
    ),
    Grown(
        "py",
        "",
        "def f~(a):\n    \"\"\"@.\"\"\"\n    return a + ~\n\n\n",
        "",
    ),
    Grown(
        "rs",
        "",
        "/// @.\nfn f~(a: u32) -> u32 {\n    a + ~\n}\n\n",
        "",
    ),
    Grown("rtf", "{\\rtf1\\ansi ", "\\pard @.\\par\n", "}"),
    Grown(
        "fb2",
        "<FictionBook xmlns='http://www.gribuser.ru/xml/fictionbook/2.0'><body>",
        "<section><title><p>Part ~</p></title><p>@.</p></section>\n",
        "</body></FictionBook>",
    ),
    Grown("sh", "", "# @\nf~() {\n  echo \"@\"\n}\n\n", ""),
];

impl Grown {
    /// Returns a file of this many bytes or a little more.
    fn file(&self, bytes: usize) -> Vec<u8> {
        self.from(0, bytes)
    }

    /// Returns a file whose parts are counted from a number.
    fn from(&self, first: usize, bytes: usize) -> Vec<u8> {
        let Self(_, head, part, tail) = self;
        let mut text = (*head).to_owned();
        for number in first.. {
            if text.len() >= bytes {
                break;
            }
            text += &part
                .replace('~', &number.to_string())
                .replace('@', &sentence(number));
        }
        (text + tail).into_bytes()
    }

    /// Returns a file with a line for each of `count` members; a second list is in its end, between
    /// `|`.
    fn listing(&self, count: usize) -> Vec<u8> {
        let Self(_, head, part, tail) = self;
        let lines = |line: &str| -> String {
            (1..=count)
                .map(|number| line.replace('~', &number.to_string()))
                .collect()
        };
        let tail: Vec<String> = tail
            .split('|')
            .enumerate()
            .map(|(at, text)| {
                if at % 2 == 1 {
                    lines(text)
                } else {
                    text.to_owned()
                }
            })
            .collect();
        format!("{head}{}{}", lines(part), tail.concat()).into_bytes()
    }
}

/// Returns one of the sentences with a number, and with words that leave it as hard to compress as
/// prose.
fn sentence(number: usize) -> String {
    let sentence = SENTENCES[number * 7 % 11 % 4];
    let mut dice = number as u64;
    let mut word = || -> String {
        let syllables = [
            "ha", "ren", "wy", "lor", "by", "mou", "tam", "ree", "os", "ki",
        ];
        let mut syllable = || {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            syllables[(dice >> 33) as usize % syllables.len()]
        };
        [syllable(), syllable(), syllable()].concat()
    };
    format!("{sentence} {number} {} {} {}", word(), word(), word())
}

/// A document that is a zip archive: its ending, its fixed members, members with a line for each
/// grown one, and the grown ones, with `~` for their number.
struct Packed {
    ending: &'static str,
    fixed: &'static [(&'static str, &'static str)],
    lists: &'static [(&'static str, Grown)],
    path: &'static str,
    grown: Grown,
    /// Size of each grown member.
    member_bytes: usize,
}

macro_rules! relation {
    ($id:literal, $kind:literal, $target:literal) => {
        concat!(
            "<Relationship Id='",
            $id,
            "' Target='",
            $target,
            "' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/",
            $kind,
            "'/>"
        )
    };
}

macro_rules! relations {
    ($($relations:expr)?) => {
        concat!(
            "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>",
            $($relations)?
        )
    };
}

macro_rules! content_types {
    ($main:literal, $kind:literal) => {
        concat!(
            "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>",
            "<Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>",
            "<Override PartName='/",
            $main,
            "' ContentType='application/vnd.openxmlformats-officedocument.",
            $kind,
            ".main+xml'/></Types>"
        )
    };
}

const PACKED: [Packed; 7] = [
    Packed {
        ending: "docx",
        fixed: &[
            (
                "[Content_Types].xml",
                content_types!("word/document.xml", "wordprocessingml.document"),
            ),
            (
                "_rels/.rels",
                concat!(
                    relations!(relation!("a", "officeDocument", "word/document.xml")),
                    "</Relationships>"
                ),
            ),
        ],
        lists: &[],
        path: "word/document.xml",
        grown: Grown(
            "docx",
            "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:body>",
            "<w:p><w:r><w:t>@.</w:t></w:r></w:p>",
            "</w:body></w:document>",
        ),
        member_bytes: usize::MAX,
    },
    Packed {
        ending: "xlsx",
        fixed: &[
            (
                "[Content_Types].xml",
                content_types!("xl/workbook.xml", "spreadsheetml.sheet"),
            ),
            (
                "_rels/.rels",
                concat!(
                    relations!(relation!("a", "officeDocument", "xl/workbook.xml")),
                    "</Relationships>"
                ),
            ),
        ],
        lists: &[
            (
                "xl/workbook.xml",
                Grown(
                    "",
                    "<workbook xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main' \
                     xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets>",
                    "<sheet name='Crew ~' sheetId='~' r:id='s~'/>",
                    "</sheets></workbook>",
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                Grown(
                    "",
                    relations!(),
                    relation!("s~", "worksheet", "worksheets/sheet~.xml"),
                    "</Relationships>",
                ),
            ),
        ],
        path: "xl/worksheets/sheet~.xml",
        grown: Grown(
            "xlsx",
            "<worksheet><sheetData><row><c t='inlineStr'><is><t>number</t></is></c>\
             <c t='inlineStr'><is><t>about</t></is></c></row>",
            "<row><c><v>~</v></c><c t='inlineStr'><is><t>@</t></is></c></row>",
            "</sheetData></worksheet>",
        ),
        member_bytes: 16 * MEGABYTE,
    },
    Packed {
        ending: "pptx",
        fixed: &[
            (
                "[Content_Types].xml",
                content_types!("ppt/presentation.xml", "presentationml.presentation"),
            ),
            (
                "_rels/.rels",
                concat!(
                    relations!(relation!("a", "officeDocument", "ppt/presentation.xml")),
                    "</Relationships>"
                ),
            ),
        ],
        lists: &[
            (
                "ppt/presentation.xml",
                Grown(
                    "",
                    "<p:presentation xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main'>\
                     <p:sldIdLst xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>",
                    "<p:sldId id='~' r:id='s~'/>",
                    "</p:sldIdLst></p:presentation>",
                ),
            ),
            (
                "ppt/_rels/presentation.xml.rels",
                Grown(
                    "",
                    relations!(),
                    relation!("s~", "slide", "slides/slide~.xml"),
                    "</Relationships>",
                ),
            ),
        ],
        path: "ppt/slides/slide~.xml",
        grown: Grown(
            "pptx",
            "<p:sld xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
             xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'>\
             <p:cSld><p:spTree><p:sp><p:txBody>",
            "<a:p><a:r><a:t>@.</a:t></a:r></a:p>",
            "</p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
        ),
        member_bytes: 16 << 10,
    },
    Packed {
        ending: "odt",
        fixed: &[("mimetype", "application/vnd.oasis.opendocument.text")],
        lists: &[],
        path: "content.xml",
        grown: Grown(
            "odt",
            "<office:document-content xmlns:office='o' xmlns:text='t'><office:body><office:text>",
            "<text:h text:outline-level='1'>Part ~</text:h><text:p>@.</text:p>",
            "</office:text></office:body></office:document-content>",
        ),
        member_bytes: usize::MAX,
    },
    Packed {
        ending: "ods",
        fixed: &[("mimetype", "application/vnd.oasis.opendocument.spreadsheet")],
        lists: &[],
        path: "content.xml",
        grown: Grown(
            "ods",
            "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'><office:body>\
             <office:spreadsheet><table:table table:name='Crew'><table:table-row>\
             <table:table-cell><text:p>number</text:p></table:table-cell>\
             <table:table-cell><text:p>about</text:p></table:table-cell></table:table-row>",
            "<table:table-row><table:table-cell><text:p>~</text:p></table:table-cell>\
             <table:table-cell><text:p>@</text:p></table:table-cell></table:table-row>",
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        ),
        member_bytes: usize::MAX,
    },
    Packed {
        ending: "odp",
        fixed: &[(
            "mimetype",
            "application/vnd.oasis.opendocument.presentation",
        )],
        lists: &[],
        path: "content.xml",
        grown: Grown(
            "odp",
            "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:draw='d'><office:body>\
             <office:presentation>",
            "<draw:page><draw:frame><draw:text-box><text:p>@.</text:p></draw:text-box></draw:frame></draw:page>",
            "</office:presentation></office:body></office:document-content>",
        ),
        member_bytes: usize::MAX,
    },
    Packed {
        ending: "epub",
        fixed: &[
            ("mimetype", "application/epub+zip"),
            (
                "META-INF/container.xml",
                "<container version='1.0' xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>\
                 <rootfile full-path='book.opf' media-type='application/oebps-package+xml'/>\
                 </rootfiles></container>",
            ),
            (
                "toc.ncx",
                "<ncx xmlns='http://www.daisy.org/z3986/2005/ncx/' version='2005-1'><navMap/></ncx>",
            ),
        ],
        lists: &[(
            "book.opf",
            Grown(
                "",
                "<package xmlns='http://www.idpf.org/2007/opf' version='2.0' unique-identifier='id'>\
                 <metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:identifier id='id'>x</dc:identifier>\
                 <dc:title>Ships</dc:title><dc:language>en</dc:language></metadata><manifest>\
                 <item id='ncx' href='toc.ncx' media-type='application/x-dtbncx+xml'/>",
                "<item id='c~' href='c~.xhtml' media-type='application/xhtml+xml'/>",
                "</manifest><spine toc='ncx'>|<itemref idref='c~'/>|</spine></package>",
            ),
        )],
        path: "c~.xhtml",
        grown: Grown(
            "epub",
            "<html xmlns='http://www.w3.org/1999/xhtml'><body>",
            "<h2>Part ~</h2><p>@.</p>\n",
            "</body></html>",
        ),
        member_bytes: 256 << 10,
    },
];

impl Packed {
    /// Returns a file whose members have this many bytes or a little more.
    fn file(&self, bytes: usize, method: CompressionMethod) -> Vec<u8> {
        let member_bytes = bytes.min(self.member_bytes);
        let count = bytes.div_ceil(member_bytes);
        let mut members: Vec<(String, Vec<u8>)> = self
            .fixed
            .iter()
            .map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec()))
            .collect();
        members.extend(
            self.lists
                .iter()
                .map(|(path, list)| ((*path).to_owned(), list.listing(count))),
        );
        // one at a time: a member is as large as the file
        let grown = (1..=count).map(|number| {
            let path = self.path.replace('~', &number.to_string());
            (path, self.grown.from(number * 1_000, member_bytes))
        });
        zipped(members.into_iter().chain(grown), method)
    }
}

/// Returns an archive of these members.
fn zipped(
    members: impl IntoIterator<Item = (String, Vec<u8>)>,
    method: CompressionMethod,
) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in members {
        zip.start_file(name, options).expect("a member");
        zip.write_all(&content).expect("a member");
    }
    zip.finish().expect("an archive").into_inner()
}

/// Returns a PDF of this many bytes or a little more, in pages of 50 lines.
fn pdf(bytes: usize, is_packed: bool) -> Vec<u8> {
    const LINES: usize = 50;
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut starts = Vec::new();
    let object = |file: &mut Vec<u8>, starts: &mut Vec<usize>, content: &[u8]| {
        starts.push(file.len());
        let number = starts.len() + 2;
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(content);
        file.extend(b"\nendobj\n");
        number
    };

    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    let font = object(&mut file, &mut starts, font);
    let mut pages = Vec::new();
    while file.len() < bytes {
        let lines: String = (0..LINES)
            .map(|line| format!("({}.) Tj T*\n", sentence(pages.len() * LINES + line)))
            .collect();
        let mut content = format!("BT /F1 10 Tf 40 800 Td 14 TL\n{lines}ET").into_bytes();
        let mut filter = "";
        if is_packed {
            let mut packed = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(&content).expect("packed");
            content = packed.finish().expect("packed");
            filter = " /Filter /FlateDecode";
        }
        let mut stream = format!("<< /Length {}{filter} >>\nstream\n", content.len()).into_bytes();
        stream.extend(content);
        stream.extend(b"\nendstream");
        let content = object(&mut file, &mut starts, &stream);
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R \
             /Resources << /Font << /F1 {font} 0 R >> >> >>"
        );
        pages.push(object(&mut file, &mut starts, page.as_bytes()));
    }

    let kids: String = pages.iter().map(|page| format!("{page} 0 R ")).collect();
    let roots = [
        "1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n".to_owned(),
        format!(
            "2 0 obj\n<< /Type /Pages /Count {} /Kids [{kids}] >>\nendobj\n",
            pages.len()
        ),
    ];
    let mut first = Vec::new();
    for root in roots {
        first.push(file.len());
        file.extend(root.bytes());
    }
    let table = file.len();
    let entries: String = first
        .iter()
        .chain(&starts)
        .map(|start| format!("{start:010} 00000 n \n"))
        .collect();
    let size = starts.len() + 3;
    file.extend(
        format!(
            "xref\n0 {size}\n0000000000 65535 f \n{entries}trailer\n<< /Size {size} /Root 1 0 R >>\n\
             startxref\n{table}\n%%EOF\n"
        )
        .bytes(),
    );
    file
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(content).expect("packed");
    packed.finish().expect("packed")
}

/// Returns the most memory that a process has taken so far, with the processes that it started; 0
/// once it has ended. Mapped files do not count: how much of the program the kernel maps beside
/// what is run differs from machine to machine.
fn peak(process: u32) -> u64 {
    let folder = Path::new("/proc").join(process.to_string());
    let command = |process: u32| fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let own_command = command(process);
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let bytes = |field: &str| -> u64 {
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok());
        kilobytes.unwrap_or(0) * 1024
    };
    let own = bytes("VmHWM:").saturating_sub(bytes("RssFile:"));

    let tasks = fs::read_dir(folder.join("task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: String = children.collect();
    // each once: a process that a thread started is another thread's as soon as that one ends
    let started: BTreeSet<u32> = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .collect();
    // until a new process runs its program, it shares the memory of the one that started it
    let running = started
        .into_iter()
        .filter(|child| command(*child) != own_command);
    own + running.map(peak).sum::<u64>()
}

/// Indexes one file, and returns the peak memory of that, and why the file was skipped.
fn indexing(name: &str, file: &[u8]) -> (u64, Option<String>) {
    let test = TestEnvironment::new();
    fs::remove_file(test.corpus().join("people.md")).expect("removed");
    fs::write(test.corpus().join(name), file).expect("written");

    let mut command = test.command(["index", "notes", "--set", "retriever.kind=bm25", "--json"]);
    let output = test.path("output");
    command.stdout(fs::File::create(&output).expect("a file"));
    let mut child = command.stderr(Stdio::null()).spawn().expect("started");
    let mut most = 0;
    let status = loop {
        most = peak(child.id()).max(most);
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };

    assert!(status.success(), "{name}: {status}");
    let output = fs::read_to_string(output).expect("read");
    (most, skipped(&output))
}

/// Returns the reason for the file that an update skipped, from its records.
fn skipped(records: &str) -> Option<String> {
    let mut reports = records.lines().filter_map(|line| {
        let record: Record = serde_json::from_str(line).expect("a record");
        match record.event {
            Event::Session(SessionEvent::IndexFinished { report }) => Some(report),
            _ => None,
        }
    });
    let report = reports
        .next()
        .unwrap_or_else(|| panic!("no report: {records}"));
    report.skipped.into_iter().next().map(|file| file.reason)
}

/// A file to index.
struct Source {
    name: String,
    make: Box<dyn Fn(usize) -> Vec<u8>>,
    /// Size of its text over the size that is asked for.
    ratio: usize,
}

impl Source {
    fn new(name: impl Into<String>, make: impl Fn(usize) -> Vec<u8> + 'static) -> Self {
        Self {
            name: name.into(),
            make: Box::new(make),
            ratio: 1,
        }
    }

    /// A file whose text is compressed.
    fn packed(name: impl Into<String>, make: impl Fn(usize) -> Vec<u8> + 'static) -> Self {
        Self {
            ratio: PACKED_RATIO,
            ..Self::new(name, make)
        }
    }
}

/// Returns a file of every format, those that `RAGSCOPE_FORMATS` names where it is set.
fn sources() -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for grown in &FORMATS {
        let name = format!("ships.{}", grown.0);
        sources.push(Source::new(name, move |bytes| grown.file(bytes)));
    }
    for packed in &PACKED {
        let stored = move |bytes| packed.file(bytes, CompressionMethod::Stored);
        sources.push(Source::new(format!("stored.{}", packed.ending), stored));
        let deflated = |bytes| packed.file(PACKED_RATIO * bytes, CompressionMethod::Deflated);
        sources.push(Source::packed(format!("ships.{}", packed.ending), deflated));
    }
    sources.push(Source::new("stored.pdf", |bytes| pdf(bytes, false)));
    sources.push(Source::packed("ships.pdf", |bytes| pdf(bytes, true)));
    sources.push(Source::packed("ships.txt.gz", |bytes| {
        gzipped(&FORMATS[0].file(PACKED_RATIO * bytes))
    }));
    let text = |bytes| ("ships.txt".to_owned(), FORMATS[0].file(bytes));
    sources.push(Source::new("stored.zip", move |bytes| {
        zipped([text(bytes)], CompressionMethod::Stored)
    }));
    sources.push(Source::packed("ships.zip", move |bytes| {
        zipped([text(PACKED_RATIO * bytes)], CompressionMethod::Deflated)
    }));

    let chosen = std::env::var("RAGSCOPE_FORMATS").unwrap_or_default();
    sources.retain(|source| {
        chosen.is_empty()
            || chosen
                .split(',')
                .any(|chosen| source.name.ends_with(chosen))
    });
    sources
}

/// Checks the peak memory of a file of every format. What is packed counts as the text that is read
/// of it, as long as a file may be. A file that exceeds a limit is skipped with a way out.
fn check(bytes: usize, can_exceed: bool) {
    let mut failures = Vec::new();
    for Source { name, make, ratio } in sources() {
        let file = make(bytes);
        let largest = file.len().max(MAX_TEXT_BYTES.min(ratio * bytes)) as u64;
        let limit = MAX_RATIO * largest + CONSTANT_BYTES;
        let (mut most, reason) = indexing(&name, &file);
        if most > limit {
            // on a busy machine a process that is just being started may count twice
            most = most.min(indexing(&name, &file).0);
        }
        let over = most.saturating_sub(CONSTANT_BYTES) as f64 / largest as f64;
        println!(
            "| {name} | {} | {} | {over:.1} | {} |",
            file.len() >> 20,
            most >> 20,
            reason.as_deref().unwrap_or("read")
        );

        let has_way_out = |reason: &String| {
            let ways = ["split", "Split", "unpack it"];
            can_exceed && ways.iter().any(|way| reason.contains(way))
        };
        if most > limit || !reason.iter().all(has_way_out) {
            failures.push(name);
        }
    }
    assert_eq!(
        failures,
        Vec::<String>::new(),
        "take more than {MAX_RATIO} bytes per byte, or are skipped"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_in_proportion_to_the_largest_file() {
    check(MEGABYTE, false);
}

/// `RAGSCOPE_MEGABYTES` sets the size of the files.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes an hour in a debug build"]
fn memory_is_in_proportion_to_files_of_64_megabytes() {
    let megabytes = std::env::var("RAGSCOPE_MEGABYTES");
    let megabytes = megabytes.map_or(63, |megabytes| megabytes.parse().expect("a number"));
    check(megabytes * MEGABYTE, true);
}
