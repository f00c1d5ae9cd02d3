//! Documents in shapes that overflow stacks, take quadratic time or multiply themselves: each is
//! read or skipped, and none ends the program.

use std::fmt::Write as _;

use ragscope::event::{Event, SessionEvent};

use crate::support::environment::TestEnvironment;

/// Repetitions of what is nested or unclosed.
const MANY: usize = 10_000;

/// Returns `open`, a word and `close`, each of the outer ones repeated.
fn nested(open: &str, close: &str) -> String {
    format!("{}inside{}", open.repeat(MANY), close.repeat(MANY))
}

/// Returns text that is repeated between a beginning and an end.
fn repeated(begin: &str, text: &str, end: &str) -> String {
    format!("{begin}{}{end}", text.repeat(MANY))
}

/// Returns lines that are indented further and further.
fn stairs(line: &str) -> String {
    (0..500).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}{line}", " ".repeat(depth));
        text
    })
}

/// Names and texts of documents.
fn shapes() -> Vec<(&'static str, String)> {
    let words = |bytes: usize| "lighthouse ".repeat(bytes / 11);
    let numbered: String = (0..MANY).map(|n| format!("<a{n} b{n}='c'>")).collect();
    vec![
        (
            "attributes-double.html",
            repeated("<a ", "b=\"c\" ", ">x</a>"),
        ),
        (
            "attributes-single.html",
            repeated("<a ", "b='c' ", ">x</a>"),
        ),
        ("attributes-bare.html", repeated("<a ", "b=c ", ">x</a>")),
        ("attributes-empty.html", repeated("<a ", "b ", ">x</a>")),
        (
            "attributes-of-an-end.html",
            repeated("<a>x</a ", "b=\"c\" ", ">"),
        ),
        (
            "attributes-on-lines.xhtml",
            repeated("<a ", "b= \"c\"\n", ">x</a>"),
        ),
        (
            "attribute-long.html",
            format!("<a b=\"{}\">x</a>", words(3 << 20)),
        ),
        ("entities.html", repeated("<a b=\"", "&amp;", "\">x</a>")),
        ("entities-without-end.html", repeated("", "&am", "x")),
        ("elements.html", nested("<div>", "</div>")),
        ("elements-without-end.html", repeated("", "<b><i><p>", "x")),
        (
            "elements-without-begin.html",
            repeated("", "</div></p>", "x"),
        ),
        ("elements-of-any-name.html", numbered.clone()),
        ("tables.html", nested("<table><tr><td>", "</table>")),
        ("lists.html", nested("<ul><li>", "</ul>")),
        ("comments.html", repeated("", "<!-- <!-", "x")),
        ("less-than.html", repeated("", "<", "x")),
        ("slashes.html", repeated("<a", "/", ">x</a>")),
        ("million-tags.html", "<br>".repeat(1_000_000) + "x"),
        ("elements.xml", format!("<r>{}</r>", nested("<a>", "</a>"))),
        ("elements-without-end.xml", repeated("<r>", "<a>", "x")),
        ("elements-of-any-name.xml", format!("<r>{numbered}")),
        (
            "attributes.xml",
            format!(
                "<r {}>x</r>",
                (0..MANY)
                    .map(|n| format!("a{n}=\"b\" "))
                    .collect::<String>()
            ),
        ),
        (
            "entities.xml",
            format!(
                "<!DOCTYPE r [<!ENTITY a \"{}\">]><r>{}</r>",
                "x".repeat(9999),
                "&a;".repeat(MANY)
            ),
        ),
        (
            "groups.svg",
            format!("<svg>{}</svg>", nested("<g>", "</g>")),
        ),
        ("arrays.json", nested("[", "]")),
        (
            "objects.json",
            format!("{}1{}", "{\"a\":".repeat(MANY), "}".repeat(MANY)),
        ),
        ("arrays-without-end.json", repeated("", "[", "")),
        ("numbers.json", format!("[{}1]", "1,".repeat(100_000))),
        ("lists.yaml", repeated("a: ", "- ", "x")),
        ("flows.yaml", nested("[", "]")),
        ("stairs.yaml", stairs("a:")),
        ("tables.toml", format!("a{} = 1", ".a".repeat(MANY))),
        ("arrays.toml", format!("a = {}", nested("[", "]"))),
        ("quotes.md", repeated("", "> ", "x")),
        ("lists.md", stairs("- x")),
        ("emphasis.md", repeated("", "*a_", "x")),
        ("emphasis-open.md", repeated("", "**a ", "x")),
        ("links.md", nested("[", "](x)")),
        ("links-open.md", repeated("", "[a](", "x")),
        ("images.md", nested("![", "]")),
        ("code-spans.md", repeated("", "`` ` ", "x")),
        (
            "tables.md",
            format!(
                "{}|\n{}|\n{}|\n",
                "|a".repeat(5000),
                "|-".repeat(5000),
                "|b".repeat(5000).repeat(5)
            ),
        ),
        ("headings.md", repeated("", "# a\n", "x")),
        ("references.md", repeated("", "[a]: b\n", "[a]")),
        ("html.md", nested("<div>\n", "</div>\n")),
        ("groups.rtf", format!("{{\\rtf1 {}}}", nested("{", "}"))),
        ("groups-without-end.rtf", repeated("{\\rtf1 ", "{\\b ", "x")),
        (
            "groups.tex",
            format!("\\begin{{document}}{}\\end{{document}}", nested("{", "}")),
        ),
        ("environments.tex", nested("\\begin{a}", "\\end{a}")),
        (
            "titles.tex",
            format!("{}x{}", "\\title{".repeat(100), "}".repeat(100)),
        ),
        ("brackets.py", format!("x = {}", nested("(", ")"))),
        ("blocks.py", stairs("if x:")),
        ("braces.rs", nested("fn f() {", "}")),
        ("comments.c", repeated("", "/* ", "x")),
        ("fields.csv", repeated("", "a,", "b\n").repeat(3)),
        ("quotes.csv", repeated("", "\"a", "\n")),
        (
            "headers.eml",
            format!("{}\n\nbody", repeated("", "Received: x\n", "Subject: y")),
        ),
        (
            "parts.eml",
            (0..3000).fold(
                "Content-Type: multipart/mixed; boundary=b\n\n".to_owned(),
                |mut mail, _| {
                    mail.push_str("--b\nContent-Type: multipart/mixed; boundary=b\n\n");
                    mail
                },
            ),
        ),
        (
            "cells.ipynb",
            format!("{{\"nbformat\": 4, \"cells\": [{}]}}", nested("[", "]")),
        ),
        (
            "stairs.org",
            (1..500)
                .map(|depth| format!("{} x\n", "*".repeat(depth)))
                .collect(),
        ),
        ("blocks.adoc", repeated("", "====\n", "x")),
        ("sections.rst", repeated("", "a\n=\n", "x")),
        ("line.txt", words(1 << 20)),
        ("line-too-long.txt", words(9 << 20)),
        ("line-without-space.txt", "x".repeat(300_000)),
        ("marks.txt", format!("a{}", "\u{301}".repeat(200_000))),
        ("directions.txt", nested("\u{202e}", "\u{202c}")),
        ("escapes.log", repeated("", "\u{1b}[31m", "x")),
        ("full-stops.txt", repeated("", ". ", "x").repeat(3)),
        ("empty-lines.txt", repeated("x", "\n", "y").repeat(10)),
    ]
}

#[test]
fn every_shape_is_read_or_skipped() {
    let test = TestEnvironment::empty();
    let shapes = shapes();
    for (name, text) in &shapes {
        test.write(format!("shapes/{name}"), text);
    }
    test.write("shapes/plain.txt", "Mira Oakes was born in Harwenby.");

    let indexed = test.run("index shapes --json --set retriever.kind=bm25");
    let report = indexed.succeeds().events().into_iter();
    let mut reports = report.filter_map(|event| match event {
        Event::Session(SessionEvent::IndexFinished { report }) => Some(report),
        _ => None,
    });
    let report = reports.next_back().expect("a report");
    assert_eq!(
        report.corpus.documents as usize + report.skipped.len(),
        shapes.len() + 1,
        "each is a document or has a reason: {:?}",
        report.skipped
    );
    let failed = report.skipped.iter();
    let failed: Vec<_> = failed
        .filter(|file| file.reason.contains("please report"))
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    test.run("search shapes Harwenby --set retriever.kind=bm25")
        .succeeds()
        .prints("plain.txt");
}
