//! The same things in files as other programs write them: other names of parts, other prefixes, the
//! same look by another way.

use ragscope::corpus::Document;

use super::office::{docx_with, office, relationships, with_damaged, xlsx, zipped};
use crate::support::pdf::{self, Extras};

/// Returns the text of a file and the remark on it.
fn read(name: &str, bytes: impl Into<Vec<u8>>) -> (String, String) {
    let document = Document::new(name, bytes.into()).expect(name);
    (document.text, document.note.unwrap_or_default())
}

fn run(look: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{look}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>")
}

fn paragraph(inner: &str) -> String {
    format!("<w:p>{inner}</w:p>")
}

/// Returns parts of a Word file with a hidden style, and a header with text that was moved.
fn word_parts() -> [(&'static str, String); 4] {
    let namespace = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'";
    let moved = format!("<w:moveFrom w:id='1'>{}</w:moveFrom>", run("", "Moved."));
    let header = paragraph(&[moved, run("<w:vanish/>", "Secret."), run("", "HB-2291")].concat());
    let comment = paragraph(&run("", "Too dear."));
    [
        (
            "rels",
            relationships(&[
                ("h", "header", "header1.xml"),
                ("s", "styles", "styles.xml"),
                ("c", "comments", "comments2.xml"),
            ]),
        ),
        (
            "word/header1.xml",
            format!("<w:hdr {namespace}>{header}</w:hdr>"),
        ),
        (
            "word/styles.xml",
            format!(
                "<w:styles {namespace}><w:style w:styleId='Veiled'><w:rPr><w:vanish/></w:rPr></w:style>\
                 <w:style w:styleId='More'><w:basedOn w:val='Veiled'/></w:style></w:styles>"
            ),
        ),
        (
            "word/comments2.xml",
            format!(
                "<w:comments {namespace}><w:comment w:author='Nora'>{comment}</w:comment></w:comments>"
            ),
        ),
    ]
}

#[test]
fn a_word_file_of_any_program_is_read_as_word_shows_it() {
    let row = |properties: &str, cells: [&str; 2]| {
        let cells = cells.map(|cell| format!("<w:tc>{}</w:tc>", paragraph(&run("", cell))));
        format!("<w:tr>{properties}{}</w:tr>", cells.concat())
    };
    let body = [
        paragraph(
            &[
                run("", "A roof."),
                run("<w:rStyle w:val='More'/>", "Hidden."),
                format!("<w:del w:id='3'>{}</w:del>", run("", "Gone.")),
            ]
            .concat(),
        ),
        format!(
            "<w:p><w:pPr><w:pStyle w:val='Veiled'/></w:pPr>{}</w:p>",
            run("", "Hidden, too.")
        ),
        paragraph("<w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby>"),
        format!(
            "<w:tbl>{}{}{}</w:tbl>",
            row("", ["Boat", "Fee"]),
            row("<w:trPr><w:del w:id='2'/></w:trPr>", ["Gig", "7"]),
            row("", ["Yawl", "3"]),
        ),
        "<w:sectPr><w:headerReference w:type='default' r:id='h' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'/></w:sectPr>".to_owned(),
    ]
    .concat();
    let expected = "Header: HB-2291\n\nA roof.\n\n漢\n\nBoat; Fee\nBoat: Yawl; Fee: 3\n\nComment by Nora: Too dear.";

    let parts = word_parts();
    let usual: Vec<(&str, &str)> = parts
        .iter()
        .map(|(name, xml)| match *name {
            "rels" => ("word/_rels/document.xml.rels", xml.as_str()),
            name => (name, xml.as_str()),
        })
        .collect();
    let (text, note) = read("a.docx", docx_with(&body, &usual));
    assert_eq!(text, expected);
    assert!(
        note.contains("hidden text is left out, in 3 places"),
        "{note}"
    );

    // another path, and a prefix as libraries for XML choose it, also where it is read in pieces
    let numbers: Vec<String> = (0..400_000).map(|number| number.to_string()).collect();
    for padding in ["", &numbers.join(" ")] {
        let document = format!(
            "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:body><!--{padding}-->{body}</w:body></w:document>"
        );
        let renamed = document
            .replace("<w:", "<ns0:")
            .replace("</w:", "</ns0:")
            .replace(" w:", " ns0:")
            .replace("xmlns:w=", "xmlns:ns0=");
        let mut moved = vec![("word/document2.xml", renamed.as_str())];
        moved.extend(parts.iter().map(|(name, xml)| match *name {
            "rels" => ("word/_rels/document2.xml.rels", xml.as_str()),
            name => (name, xml.as_str()),
        }));
        let file = office("word/document2.xml", "wordprocessingml.document", &moved);
        assert_eq!(read("a.docx", file).0, expected, "{} bytes", renamed.len());
    }
}

#[test]
fn a_word_file_has_its_forms_its_symbols_and_its_powers() {
    let namespace = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'";
    let field = |inner: &str| {
        format!(
            "<w:r><w:fldChar w:fldCharType='begin'><w:ffData>{inner}</w:ffData></w:fldChar></w:r>\
             <w:r><w:instrText>FORM</w:instrText></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"
        )
    };
    let list = "<w:ddList><w:result w:val='1'/><w:listEntry w:val='Ebb'/><w:listEntry w:val='Flood'/></w:ddList>";
    let ticked = "<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>";
    let open = "<w:checkBox><w:checked w:val='0'/></w:checkBox>";
    let symbol =
        |font: &str, code: &str| format!("<w:r><w:sym w:font='{font}' w:char='{code}'/></w:r>");
    let shown = run("<w:vanish w:val='0'/>", "Shown.");
    let power = [
        run("", "It holds 10"),
        run("<w:rStyle w:val='Up'/>", "6"),
        run("", " litres, 10"),
        run("<w:position w:val='6'/>", "3"),
        run("", " of brine."),
    ]
    .concat();
    let body = [
        paragraph(
            &[
                run("", "Paid "),
                field(ticked),
                run("", " owed "),
                field(open),
            ]
            .concat(),
        ),
        paragraph(&[run("", "Tide: "), field(list)].concat()),
        paragraph(
            &[
                symbol("Wingdings", "F0FE"),
                symbol("Symbol", "F061"),
                run("", " slope"),
            ]
            .concat(),
        ),
        format!(
            "<w:p><w:pPr><w:pStyle w:val='Veiled'/></w:pPr>{}{shown}{}<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></w:p>",
            run("<w:b/>", "Hidden."),
            run("", "Hidden.")
        ),
        paragraph(&power),
        paragraph("<w:r><w:t>Dues</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r>"),
    ]
    .concat();
    let up = "<w:vertAlign w:val='superscript'/>";
    let note = paragraph(&[run("", "Of 10"), run(up, "4"), run("", " marks.")].concat());
    let parts = [
        (
            "word/_rels/document.xml.rels",
            relationships(&[
                ("s", "styles", "styles.xml"),
                ("f", "footnotes", "footnotes.xml"),
                ("c", "comments", "comments.xml"),
                ("a", "aFChunk", "chunk.html"),
            ]),
        ),
        (
            "word/styles.xml",
            format!(
                "<w:styles {namespace}><w:style w:styleId='Veiled'><w:rPr><w:vanish/></w:rPr></w:style>\
                 <w:style w:styleId='Up'><w:rPr>{up}</w:rPr></w:style></w:styles>"
            ),
        ),
        (
            "word/footnotes.xml",
            format!(
                "<w:footnotes {namespace}><w:footnote w:id='2'>{note}</w:footnote></w:footnotes>"
            ),
        ),
        (
            "word/comments.xml",
            format!(
                "<w:comments {namespace}><w:comment w:author='Nora'>{note}</w:comment></w:comments>"
            ),
        ),
        ("word/chunk.html", "<p>The ferry waits.".to_owned()),
    ];
    let parts: Vec<(&str, &str)> = parts
        .iter()
        .map(|(name, xml)| (*name, xml.as_str()))
        .collect();
    let (text, note) = read("a.docx", docx_with(&body, &parts));
    assert_eq!(
        text,
        "Paid ☒ owed ☐\n\nTide: Flood\n\n☑α slope\n\nShown.\n\nIt holds 10⁶ litres, 10³ of brine.\n\nDues\n\n\
         Of 10⁴ marks.\n\nThe ferry waits.\n\nComment by Nora: Of 10⁴ marks."
    );
    assert_eq!(note, "hidden text is left out, in 1 place");
}

#[test]
fn a_damaged_part_costs_no_other() {
    let body = paragraph(&run("", "A roof."))
        + "<w:sectPr><w:headerReference w:type='default' r:id='h' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'/></w:sectPr>";
    let whole = "Header: HB-2291\n\nA roof.\n\nComment by Nora: Too dear.";
    for (damaged, lost) in [
        ("word/header1.xml", "Header: HB-2291\n\n"),
        ("word/styles.xml", ""),
        ("word/comments2.xml", "\n\nComment by Nora: Too dear."),
    ] {
        let mut parts = word_parts();
        parts[0].0 = "word/_rels/document.xml.rels";
        let members = |parts: &[(&'static str, String)]| {
            let members: Vec<_> = parts
                .iter()
                .map(|(name, xml)| (*name, xml.as_str()))
                .collect();
            docx_with(&body, &members)
        };
        let unpacked = with_damaged(damaged, members(&parts));
        let part = parts.iter_mut().find(|(name, _)| *name == damaged);
        let xml = &mut part.expect(damaged).1;
        *xml = xml.split("</w:t>").next().unwrap_or_default().to_owned() + "<w:";
        for file in [unpacked, members(&parts)] {
            let (text, note) = read("a.docx", file);
            assert_eq!(text, whole.replace(lost, ""), "{damaged}");
            assert!(
                note.contains(&format!("{damaged} cannot be read: ")),
                "{note}"
            );
        }
    }
}

#[test]
fn a_damaged_part_of_a_workbook_costs_no_other() {
    let book =
        "<workbook xmlns:r='r'><sheets><sheet name='S' sheetId='1' r:id='s'/></sheets></workbook>";
    let file = office(
        "xl/workbook.xml",
        "spreadsheetml.sheet",
        &[
            ("xl/workbook.xml", book),
            (
                "xl/_rels/workbook.xml.rels",
                &relationships(&[("s", "worksheet", "sheet1.xml")]),
            ),
            (
                "xl/sheet1.xml",
                "<worksheet><sheetData><row r='1'><c r='A1'><v>7</v></c></row></sheetData></worksheet>",
            ),
            (
                "xl/_rels/sheet1.xml.rels",
                &relationships(&[
                    ("c", "comments", "comments1.xml"),
                    ("d", "drawing", "drawing1.xml"),
                ]),
            ),
            (
                "xl/comments1.xml",
                "<comments><comment ref='A1'><text><t>Too dear.</t></text></comment></comments>",
            ),
            (
                "xl/drawing1.xml",
                "<wsDr><a><from><row>0</row></from><sp><p><t>Until June</t></p></sp></a></wsDr>",
            ),
        ],
    );
    let whole = "S\n\n7\nComment on A1: Too dear.\nText box: Until June";
    assert_eq!(read("a.xlsx", file.clone()).0, whole);
    for (damaged, lost) in [
        ("docProps/core.xml", ""),
        ("xl/comments1.xml", "\nComment on A1: Too dear."),
        ("xl/drawing1.xml", "\nText box: Until June"),
    ] {
        let (text, note) = read("a.xlsx", with_damaged(damaged, file.clone()));
        assert_eq!(text, whole.replace(lost, ""));
        assert!(
            note.starts_with(&format!("{damaged} cannot be read: ")),
            "{note}"
        );
    }
}

#[test]
fn slides_have_their_comments_their_charts_and_powers() {
    let slide = "<p:sld show=\"0\" xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
        xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'><p:cSld><p:spTree><p:sp><p:txBody>\
        <a:p><a:r><a:t>It holds 10</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>6</a:t></a:r><a:r><a:t> litres.</a:t></a:r></a:p>\
        </p:txBody></p:sp><p:sp><p:nvSpPr><p:cNvPr id='2' name='x' hidden=\"1\"/></p:nvSpPr><p:txBody>\
        <a:p><a:r><a:t>Veiled.</a:t></a:r></a:p></p:txBody></p:sp>\
        <mc:AlternateContent xmlns:mc='m'><mc:Choice Requires='p14'><p:graphicFrame/></mc:Choice><mc:Fallback><p:sp><p:txBody>\
        <a:p><a:r><a:t>Cast</a:t></a:r></a:p></p:txBody></p:sp></mc:Fallback></mc:AlternateContent></p:spTree></p:cSld></p:sld>";
    let diagram = |id: u8, kind: &str, text: &str| {
        format!(
            "<d:pt modelId='{id}' type='{kind}'><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>"
        )
    };
    let diagram = [
        "<d:dataModel>".to_owned(),
        diagram(1, "doc", ""),
        diagram(3, "node", "Haul"),
        diagram(2, "node", "Cast"),
        diagram(4, "node", "Aft"),
        diagram(5, "pres", "Layout"),
        "<d:cxn srcId='1' destId='3' srcOrd='1'/><d:cxn srcId='1' destId='2' srcOrd='0'/>\
         <d:cxn srcId='2' destId='4' srcOrd='0'/><d:cxn srcId='4' destId='1' srcOrd='0'/>\
         <d:cxn type='presOf' srcId='2' destId='3' srcOrd='0'/></d:dataModel>"
            .to_owned(),
    ]
    .concat();
    let reply = "<x:reply authorId='{B}'><x:txBody><a:p><a:r><a:t>No.</a:t></a:r></a:p></x:txBody></x:reply>";
    let file = office(
        "ppt/presentation.xml",
        "presentationml.presentation",
        &[
            (
                "ppt/presentation.xml",
                "<p:presentation xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' \
                 xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>\
                 <p:sldIdLst><p:sldId id='256' r:id='rId1'/></p:sldIdLst></p:presentation>",
            ),
            (
                "ppt/_rels/presentation.xml.rels",
                &relationships(&[
                    ("rId1", "slide", "slides/slide1.xml"),
                    ("rId2", "commentAuthors", "commentAuthors.xml"),
                    ("rId3", "authors", "authors.xml"),
                ]),
            ),
            ("ppt/slides/slide1.xml", slide),
            (
                "ppt/slides/_rels/slide1.xml.rels",
                &relationships(&[
                    ("rId1", "comments", "../comments/comment1.xml"),
                    ("rId2", "comments", "../comments/modern.xml"),
                    ("rId3", "chart", "../charts/chart1.xml"),
                    ("rId4", "diagramData", "../diagrams/data1.xml"),
                ]),
            ),
            ("ppt/diagrams/data1.xml", &diagram),
            (
                "ppt/commentAuthors.xml",
                "<p:l><p:cmAuthor id='0' name='Nora'/></p:l>",
            ),
            (
                "ppt/authors.xml",
                "<x:l><x:author id='{A}' name='Otto'/><x:author id='{B}' name='Ann'/></x:l>",
            ),
            (
                "ppt/comments/comment1.xml",
                "<p:cmLst><p:cm authorId='0'><p:text>Which dam?</p:text></p:cm></p:cmLst>",
            ),
            (
                "ppt/comments/modern.xml",
                &format!(
                    "<x:cmLst><x:cm authorId='{{A}}'><x:replyLst>{reply}</x:replyLst><x:txBody><a:p><a:r><a:t>Sure?</a:t></a:r></a:p></x:txBody></x:cm></x:cmLst>"
                ),
            ),
            (
                "ppt/charts/chart1.xml",
                "<c:chart><c:title><c:tx><a:t>Fill</a:t></c:tx></c:title><c:ser><c:tx><c:v>North</c:v></c:tx><c:val><c:pt idx='0'><c:v>#N/A</c:v></c:pt></c:val></c:ser></c:chart>",
            ),
        ],
    );
    let whole = "It holds 10⁶ litres.\n\nChart: Fill\n\n- Cast\n- Aft\n- Haul\n\nComment by Nora: Which dam?\n\nComment by Ann: No.\n\nComment by Otto: Sure?";
    let (text, note) = read("a.pptx", file.clone());
    assert_eq!(text, whole);
    assert_eq!(
        note,
        "hidden slides are read, too: 1; hidden text is left out, in 1 place"
    );
    for (damaged, lost) in [
        (
            "ppt/comments/comment1.xml",
            "\n\nComment by Nora: Which dam?",
        ),
        ("ppt/charts/chart1.xml", "\n\nChart: Fill"),
        ("ppt/slides/slide1.xml", "It holds 10⁶ litres.\n\n"),
    ] {
        let (text, note) = read("a.pptx", with_damaged(damaged, file.clone()));
        assert_eq!(text, whole.replace(lost, ""));
        let expected = format!("{damaged} cannot be read: it is damaged");
        assert!(note.starts_with(&expected), "{note}");
    }
}

#[test]
fn open_documents_hide_raise_and_comment() {
    let styles = "<office:automatic-styles>\
        <style:style style:family='text' style:name='Veiled'><style:text-properties text:display='none'/></style:style>\
        <style:style style:family='paragraph' style:name='Veiled'><style:text-properties text:display='none'/></style:style>\
        <style:style style:family='text' style:name='Up'><style:text-properties style:text-position='super 58%'/></style:style>\
        <style:style style:family='text' style:name='Down'><style:text-properties style:text-position='sub 58%'/></style:style>\
        <style:style style:family='text' style:name='T1'><style:text-properties text:display='none'/></style:style>\
        </office:automatic-styles><office:master-styles><style:header><text:p>HB-2291</text:p></style:header></office:master-styles>";
    let body = "<office:automatic-styles><style:style style:family='text' style:name='T1'>\
        <style:text-properties fo:font-weight='bold'/></style:style></office:automatic-styles><office:body><office:text>\
        <text:p><text:span text:style-name='T1'>Dues</text:span><text:span text:style-name='Up'><text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>Of 1931.</text:p></text:note-body></text:note></text:span> rose.</text:p>\
        <text:p>x<text:span text:style-name='Up'>2<text:span text:style-name='Down'>3</text:span>4</text:span> is the 1<text:span text:style-name='Up'>st </text:span>term.</text:p>\
        <text:p>It holds 10<text:span text:style-name='Up'>6</text:span> litres.<text:span text:style-name='Veiled'>Hidden.</text:span>\
        <office:annotation><dc:creator>Nora</dc:creator><dc:date>2026-01-01</dc:date><text:p>Sure?</text:p></office:annotation></text:p>\
        <text:p text:style-name='Veiled'>Hidden.</text:p><text:section text:display='none'><text:p>Hidden.</text:p></text:section>\
        <table:table><table:table-row><table:table-cell><text:p>Boat</text:p></table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:table-cell table:number-rows-spanned='2'><text:p>Yawl</text:p></table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>4</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:table-cell table:number-rows-spanned='2'><text:p>Gig</text:p></table:table-cell><table:table-cell><text:p>5</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:covered-table-cell/><table:table-cell/></table:table-row>\
        <table:table-row><table:table-cell/><table:table-cell><text:p>6<text:note><text:note-body><text:p>Unpaid.</text:p></text:note-body></text:note></text:p></table:table-cell></table:table-row></table:table>\
        <text:section text:display='condition' text:is-hidden='true'><text:p>Hidden.</text:p></text:section>\
        <text:section text:display='condition' text:is-hidden='false'><text:p><text:ruby><text:ruby-base>海</text:ruby-base><text:ruby-text>うみ</text:ruby-text></text:ruby>鳥</text:p></text:section>\
        <text:p><text:hidden-paragraph text:is-hidden='true'/>Hidden.</text:p>\
        <draw:frame><svg:title>A chart of the quay</svg:title></draw:frame>\
        </office:text></office:body>";
    let text = "Dues rose.\n\nOf 1931.\n\nx²₃⁴ is the 1st term.\n\nIt holds 10⁶ litres.\n\nComment by Nora: Sure?\n\n\
        Boat; Fee\nBoat: Yawl; Fee: 3\nBoat: Yawl; Fee: 4\nBoat: Gig; Fee: 5\nFee: 6\n\nUnpaid.\n\n海鳥\n\nA chart of the quay\n\nHeader: HB-2291";

    let one = format!("<office:document xmlns:office='o'>{styles}{body}</office:document>");
    let several = zipped(&[
        (
            "content.xml",
            &format!("<office:c xmlns:office='o'>{body}</office:c>"),
        ),
        (
            "styles.xml",
            &format!("<office:s xmlns:office='o'>{styles}</office:s>"),
        ),
    ]);
    for (name, file) in [("a.fodt", one.into_bytes()), ("a.odt", several)] {
        let (found, note) = read(name, file);
        assert_eq!(found, text, "{name}");
        assert!(
            note.contains("hidden text is left out, in 5 places"),
            "{note}"
        );
    }

    let file = "<office:c xmlns:office='o'><office:automatic-styles><style:style style:family='drawing-page' style:name='P'>\
        <style:drawing-page-properties presentation:visibility='hidden'/></style:style></office:automatic-styles><office:body>\
        <office:presentation><draw:page><text:p>Ebb</text:p></draw:page><draw:page draw:style-name='P'><text:p>Flood</text:p>\
        <office:annotation><text:p>When?</text:p></office:annotation></draw:page></office:presentation></office:body></office:c>";
    let (text, note) = read("a.odp", zipped(&[("content.xml", file)]));
    assert_eq!(text, "Ebb\n\nFlood\n\nComment: When?");
    assert_eq!(note, "hidden slides are read, too: 2");
    let sheet = "<office:c xmlns:office='o'><office:body><office:spreadsheet><table:table table:name='S'><table:table-row>\
        <table:table-cell><office:annotation><dc:creator>Nora</dc:creator><text:p>Sure?</text:p></office:annotation><text:p>7</text:p></table:table-cell>\
        </table:table-row></table:table></office:spreadsheet></office:body></office:c>";
    let (text, _) = read("a.ods", zipped(&[("content.xml", sheet)]));
    assert_eq!(text, "S\n\n7\nComment by Nora: Sure?");
}

#[test]
fn an_rtf_has_its_margins_its_powers_and_the_authors_of_comments() {
    let file = r"{\rtf1{\header\pard HB-2291\par}{\headerf\pard HB-2291\par}{\footer\pard Until June\par}
\pard It holds 10{\super 6 }litres of H{\sub 2}O.{\v Hidden.}{\*\atnauthor Nora}\chatn{\*\annotation\pard Sure?}\par}";
    let (text, note) = read("a.rtf", file);
    assert_eq!(
        text,
        "It holds 10⁶ litres of H₂O.\n\nComment by Nora: Sure?\n\nHeader: HB-2291\n\nFooter: Until June"
    );
    assert_eq!(note, "hidden text is left out, in 1 place");
}

#[test]
fn a_merged_cell_of_a_sheet_is_in_all_of_its_rows() {
    let cell = |at: &str, text: &str| format!("<c r='{at}' t='str'><v>{text}</v></c>");
    let rows = [
        [cell("A1", "Boat"), cell("B1", "Fee")].concat(),
        [cell("A2", "Yawl"), cell("B2", "three")].concat(),
        cell("B3", "four"),
        [cell("A4", "Gig"), cell("B4", "two")].concat(),
    ];
    let rows: String = (1..)
        .zip(rows)
        .map(|(row, cells)| format!("<row r='{row}'>{cells}</row>"))
        .collect();
    let sheet =
        format!("{rows}</sheetData><mergeCells><mergeCell ref='A2:A3'/></mergeCells><sheetData>");
    let whole = xlsx(&[("Fees", &sheet)]);
    let damaged = with_damaged("xl/worksheets/rId0.xml", whole.clone());
    for (file, is_damaged) in [(whole, false), (damaged, true)] {
        let (text, note) = read("a.xlsx", file);
        assert_eq!(
            text,
            "Fees\n\nBoat; Fee\nBoat: Yawl; Fee: three\nBoat: Yawl; Fee: four\nBoat: Gig; Fee: two"
        );
        assert_eq!(
            note.contains("sheet Fees: it is damaged"),
            is_damaged,
            "{note}"
        );
    }
}

#[test]
fn cells_without_a_value_or_without_its_text_are_read() {
    let cell = |at: &str, inner: &str| format!("<c r='{at}' {inner}</c>");
    let rows = [
        [
            cell("A1", "t='str'><v>Item</v>"),
            cell("B1", "t='str'><v>Sum</v>"),
        ]
        .concat(),
        [
            cell("A2", "t='str'><v>Rope</v>"),
            cell("B2", "><f t='shared' ref='B2:B3' si='0'>C2*2</f>"),
        ]
        .concat(),
        [
            cell("A3", "t='str'><v>Oil</v>"),
            cell("B3", "><f t='shared' si='0'/>"),
        ]
        .concat(),
        [
            cell("A4", "t='str'><v>Tar</v>"),
            cell("B4", "t='str'><f>C4&amp;D4</f>"),
        ]
        .concat(),
    ];
    let rows: String = (1..)
        .zip(rows)
        .map(|(row, cells)| format!("<row r='{row}'>{cells}</row>"))
        .collect();
    let (text, note) = read("a.xlsx", xlsx(&[("S", &rows)]));
    assert_eq!(
        text,
        "S\n\nItem; Sum\nItem: Rope; Sum: =C2*2\nItem: Oil; Sum: =C2*2, as in row 2\nItem: Tar; Sum: =C4&D4"
    );
    assert!(note.contains("(3)"), "{note}");

    let cells = [
        "office:value-type='float' office:value='36'",
        "office:value-type='time' office:time-value='PT37H30M00S'",
        "office:value-type='date' office:date-value='2026-03-01T18:00:00'",
        "office:value-type='percentage' office:value='0.07'",
        "office:value-type='currency' office:value='12.5' office:currency='CHF'",
        "office:value-type='boolean' office:boolean-value='true'",
    ];
    let cells = cells
        .map(|cell| format!("<table:table-cell {cell}/>"))
        .concat();
    let sheet = format!(
        "<office:c xmlns:office='o'><office:body><office:spreadsheet><table:table table:name='S'>\
         <table:table-row>{cells}</table:table-row></table:table></office:spreadsheet></office:body></office:c>"
    );
    let (text, _) = read("a.ods", zipped(&[("content.xml", &sheet)]));
    assert_eq!(
        text,
        "S\n\n36; 37:30:00; 2026-03-01 18:00:00; 7%; 12.5 CHF; TRUE"
    );
}

#[test]
fn pages_have_their_labels_and_bookmarks() {
    let pages: [&[&str]; 2] = [
        &["Ships came.", "Ropes lay there."],
        &["Lamps were lit.", "Then they slept."],
    ];
    let document = |labels: &str| {
        let extras = Extras {
            catalog: "/PageLabels 11 0 R/Outlines 9 0 R",
            objects: vec![
                b"<</First 10 0 R/Last 10 0 R/Count 1>>".to_vec(),
                b"<</Title(The quay at night)/Parent 9 0 R/Dest[7 0 R/Fit]>>".to_vec(),
                labels.as_bytes().to_vec(),
            ],
            ..Extras::default()
        };
        let file = pdf::of_pages_with(&pages, &extras);
        Document::new("a.pdf", file).expect("a document")
    };
    // a tree that leads back to itself, and a first page before all others
    for (tree, expected) in [
        ("<</Nums[0<</S/r>>1<</S/D/P(A-)>>]>>", ["i", "A-1"]),
        (
            "<</Kids[11 0 R 11 0 R 11 0 R 11 0 R 11 0 R]/Nums[0<</S/r>>1<</S/D/P(A-)>>]>>",
            ["i", "A-1"],
        ),
        (
            "<</Nums[-9223372036854775808<</S/D/P(A-)>>]>>",
            ["A-0", "A-0"],
        ),
    ] {
        let document = document(tree);
        let lines = document.read_lines();
        let places = lines.iter().filter_map(|line| line.place.clone());
        let mut labels: Vec<_> = places.map(|place| (place.first, place.name)).collect();
        labels.dedup();
        let expected = expected.map(|label| Some(label.to_owned()));
        assert_eq!(labels, [1, 2].into_iter().zip(expected).collect::<Vec<_>>());
    }

    let document = document("<<>>");
    let lines = document.read_lines();

    let headings = lines.iter().flat_map(|line| {
        let titles = line.headings.iter();
        titles.map(|heading| (heading.title.to_owned(), line.text.to_owned()))
    });
    assert_eq!(
        headings.collect::<Vec<_>>(),
        [
            ("Harbour report", "Ships came. Ropes lay there."),
            ("The quay at night", "Lamps were lit. Then they slept.")
        ]
        .map(|(title, line)| (title.to_owned(), line.to_owned()))
    );
}

#[test]
fn mail_of_other_programs() {
    let head = "From: ann@example.org\nSubject: Nets\n";
    let message = format!("{head}\nThey dry.\n");
    let flags = "<?xml version=\"1.0\"?><plist><dict><key>flags</key></dict></plist>";
    let (text, _) = read("1.emlx", format!("{}   \n{message}{flags}", message.len()));
    assert!(text.ends_with("They dry."), "{text}");

    let page = "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n\
                --x\nContent-Type: text/html\nContent-Location: https://example.org/\n\n<p>High water.</p>\n\
                --x\nContent-Type: text/css\nContent-Location: cid:1\n\np { color: red }\n--x--\n";
    let (text, _) = read("tides.mht", page);
    assert_eq!(text, "No subject\n\nHigh water.");
    let (text, note) = read(
        "tides.doc",
        format!("{head}Date: Wed, 3 Jun 2026 10:00:00 +0000\n{page}"),
    );
    assert!(text.ends_with("High water."), "{text}");
    assert!(note.contains("read as mail"), "{note}");

    let event = "BEGIN:VEVENT\nSUMMARY:Drill\nDTSTART:20260612T180000\nDURATION:PT1H30M\nDESCRIPTION:Take lamps.\n\
                 BEGIN:VALARM\nDESCRIPTION:Now\nEND:VALARM\nEND:VEVENT\n";
    let (text, _) = read("a.ics", event);
    assert_eq!(
        text,
        "Drill\nWhen: 2026-06-12 18:00, for 1h 30m\nTake lamps."
    );
}

#[test]
fn a_mail_has_its_lines_as_they_were_typed_and_its_date_in_any_form() {
    let mail = |parameters: &str, body: &str| {
        format!(
            "From: ann@example.org\nDate: Sun, 2 Jun 2024 08:00 GMT\nSubject: Nets\n\
             Content-Type: text/plain; format=flowed{parameters}\n\n{body}\n"
        )
    };
    let head = "Nets\n\nFrom: ann@example.org\nDate: Sun, 2 Jun 2024 08:00 GMT\n\n";
    for (parameters, body, expected) in [
        (
            "",
            "They dry \non poles.\nCome.",
            "They dry on poles.\nCome.",
        ),
        (
            "; delsp=yes",
            "They dry on Thurs \nday.\n\n-- \nAnn",
            "They dry on Thursday.\n\n-- \nAnn",
        ),
        (
            "",
            " From now \non:\n>On \nMay.",
            "From now on:\n> On \nMay.",
        ),
    ] {
        let (found, _) = read("a.eml", mail(parameters, body));
        assert_eq!(found, format!("{head}{expected}"));
    }
}

#[test]
fn a_mail_keeps_what_only_one_of_its_texts_says() {
    let mail = |text: &str, page: &str| {
        format!(
            "From: ann@example.org\nSubject: Nets\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n\n\
             --x\nContent-Type: text/plain; charset=utf-8\n\n{text}\n\
             --x\nContent-Type: text/x-amp-html\n\n<p>Tap here.</p>\n\
             --x\nContent-Type: text/html; charset=utf-8\n\n{page}\n--x--\n"
        )
    };
    let stub = "This invoice cannot be shown here. Please open it in a browser, or ask the office to send you a copy of it.";
    let bill = "<p>This invoice</p><table><tr><td>Nets<td>812 CHF</table><p>a copy for you";
    let armour = "-----BEGIN PGP SIGNATURE-----\n\niQEz\n-----END PGP SIGNATURE-----\n";
    for (text, page, expected) in [
        (stub, bill, format!("{stub}\n\n| Nets | 812 CHF")),
        (
            "The gate is shut at nine, as it is on all days.",
            "<p>The gate is <b>shut</b> at nine.",
            "The gate is shut at nine, as it is on all days.".to_owned(),
        ),
        (
            "No pages here.",
            "<p>The boats leave at noon.",
            "The boats leave at noon.".to_owned(),
        ),
        (
            &format!("They dry on poles.\n{armour}"),
            "<p>They dry.",
            "They dry on poles.".to_owned(),
        ),
        (
            &format!("A line -----BEGIN PGP SIGNATURE----- is above it. The fee is 310.\n{armour}"),
            "<p>The fee.",
            "A line -----BEGIN PGP SIGNATURE----- is above it. The fee is 310.".to_owned(),
        ),
    ] {
        let (found, _) = read("a.eml", mail(text, page));
        let head = "Nets\n\nFrom: ann@example.org\n\n";
        assert_eq!(found, format!("{head}{expected}"));
    }

    let encrypted = "-----BEGIN PGP MESSAGE-----\n\nhQEM\n-----END PGP MESSAGE-----\n";
    let (text, note) = read(
        "a.eml",
        mail(encrypted, "<p>").replace("text/html", "application/octet-stream; name=a.asc"),
    );
    assert!(!text.contains("hQEM"), "{text}");
    assert!(note.contains("encrypted"), "{note}");
}

#[test]
fn text_is_what_reads_as_text() {
    let log =
        b"12:00 start\n12:01 power lost \0\0\0\0 and \x1b[31mfailed\x1b[0m\x07\n12:02 start\n"
            .to_vec();
    for name in ["core.bin", "id.key", "server.db", "trace.log", "noname"] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::write(&file, &log).expect("a file");
        let settings = ragscope::config::CorpusSettings::default();
        let found = ragscope::corpus::find_file(&file, &settings);
        let document = ragscope::corpus::read(&found.expect(name), &Default::default());
        let text = document.expect(name).text;
        assert!(
            text.contains("power lost") && text.contains("failed"),
            "{text}"
        );
    }
    let settings = ragscope::config::CorpusSettings::default();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.bin");
    std::fs::write(&file, b"\x7fELF\x02\x01\x01\0\0\0").expect("a file");
    let refused = ragscope::corpus::find_file(&file, &settings).expect_err("a program");
    assert!(refused.contains("program"), "{refused}");
}

#[test]
fn a_title_stands_above_the_headings_unless_one_repeats_it_or_a_program_gave_it() {
    let page = |title: &str| {
        format!("<title>{title}</title><h1>Pumps</h1><p>Oil.</p><h2>Guarantee</h2><p>It ends.</p>")
    };
    let notes =
        |title: &str| format!("---\ntitle: {title}\n---\n# Pumps\n\n## Guarantee\n\nIt ends.");
    for (path, text, expected) in [
        ("a.md", notes("Osprey XL"), "Osprey XL > Pumps > Guarantee"),
        (
            "a.md",
            notes("Document retention"),
            "Document retention > Pumps > Guarantee",
        ),
        ("a.md", notes("guarantee"), "Pumps > Guarantee"),
        ("a.md", notes("Untitled"), "Pumps > Guarantee"),
        ("a.md", notes("(anonymous)"), "Pumps > Guarantee"),
        (
            "a.md",
            notes("Microsoft Word - osprey.doc"),
            "Pumps > Guarantee",
        ),
        ("a.html", page("Osprey XL"), "Osprey XL > Pumps > Guarantee"),
        ("a.html", page("PUMPS"), "Pumps > Guarantee"),
    ] {
        let document = Document::new(path, text.into_bytes()).expect("a document");
        let at = document.text.find("It ends").expect("a sentence");
        assert_eq!(document.headings_at(at).join(" > "), expected);
    }
}
