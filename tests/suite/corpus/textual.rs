//! Formats that are text themselves: bad input gives some text in linear time.

use ragscope::corpus::Document;

use crate::support::effort::check_passes;

/// Passes over the text that reading it may take: it takes 16 at most, and work that grows with the
/// square of the text as many as the text has characters, 100,000 and more.
const PASSES: u32 = 1_000;

/// An extension of each reader.
const EXTENSIONS: &[&str] = &[
    "txt", "md", "html", "rs", "csv", "json", "yaml", "toml", "ini", "xml", "adoc", "rst", "org",
    "tex", "srt",
];

#[test]
fn rows_of_markup_have_the_names_of_their_columns() {
    let cases: [(&str, &str, &str); 21] = [
        (
            "a.org",
            "| Name | Age |\n|------+-----|\n| Ann  |   7 |\n|      | 8 |\n* Title",
            "| Name | Age |\n|------+-----|\n| Name: Ann  |   Age: 7 |\n|      | Age: 8 |\n* Title",
        ),
        // a rule on top, no header, and a table in a block
        (
            "a.org",
            "|---|\n| A | B |\n|---+---|\n| 1 | 2 |\n|---+---|\n",
            "|---|\n| A | B |\n|---+---|\n| A: 1 | B: 2 |\n|---+---|\n",
        ),
        (
            "a.org",
            "| 1 | 2 |\n| 3 | 4 |\n|---|",
            "| 1 | 2 |\n| 3 | 4 |\n|---|",
        ),
        (
            "a.org",
            "#+begin_src\n| A |\n|---|\n| 1 |\n#+end_src\n",
            "#+begin_src\n| A |\n|---|\n| 1 |\n#+end_src\n",
        ),
        (
            "a.adoc",
            "|===\n|Name |Age\n\n|Ann\n|7\n|Bob Lee |8\n|===\n== Title",
            "|===\n|Name |Age\n\n|Name: Ann\n|Age: 7\n|Name: Bob Lee |Age: 8\n|===\n== Title",
        ),
        (
            "a.adoc",
            "[%header,cols=\"1,2*\"]\n|===\n|A\n|B\n|C\n|1\n2+|both\nlines\n|===\n",
            "[%header,cols=\"1,2*\"]\n|===\n|A\n|B\n|C\n|A: 1\n2+|B: both\nlines\n|===\n",
        ),
        // no header, and a cell over several rows
        (
            "a.adoc",
            "|===\n|1 |2\n|3 |4\n|===\n",
            "|===\n|1 |2\n|3 |4\n|===\n",
        ),
        (
            "a.adoc",
            "|===\n|A |B\n\n.2+|1 |2\n|3\n|===\n",
            "|===\n|A |B\n\n.2+|1 |2\n|3\n|===\n",
        ),
        (
            "a.rst",
            "+------+-----+\n| Näme | Age |\n+======+=====+\n| Ännå | 7   |\n| L.   |     |\n+------+-----+\n| both       |\n+------+-----+\n",
            "+------+-----+\n| Näme | Age |\n+======+=====+\n| Näme: Ännå | Age: 7   |\n| L.   |     |\n+------+-----+\n| Näme: both       |\n+------+-----+\n",
        ),
        (
            "a.rst",
            "+---+---+\n| 1 | 2 |\n+   +---+\n|   | 3 |\n+---+---+\n",
            "+---+---+\n| 1 | 2 |\n+   +---+\n|   | 3 |\n+---+---+\n",
        ),
        (
            "a.rst",
            "====  =====\nName  Age\n====  =====\nAnn   7 and\n      more\n\nBob   8\n====  =====\n\nTitle\n-----\n",
            "====  =====\nName  Age\n====  =====\nName: Ann   Age: 7 and\n      more\n\nName: Bob   Age: 8\n====  =====\n\nTitle\n-----\n",
        ),
        (
            "a.rst",
            "===  ===\n1    2\n===  ===\n",
            "===  ===\n1    2\n===  ===\n",
        ),
        (
            "a.rst",
            "===  ===\n1    2\nnever",
            "===  ===\n1    2\nnever",
        ),
        // lines of values, and lists in a list
        (
            "a.rst",
            ".. csv-table:: T\n   :header: \"A, B\",C\n   :widths: 1, 2\n\n   \"1, 2\", é\n   3,\n\nAnn, 7\n",
            ".. csv-table:: T\n   :header: \"A, B\",C\n   :widths: 1, 2\n\n   \"A, B: 1, 2\", C: é\n   A, B: 3,\n\nAnn, 7\n",
        ),
        (
            "a.rst",
            ".. csv-table::\n   :header-rows: 1\n   :delim: ;\n\n   A;B\n   1;2,5\n",
            ".. csv-table::\n   :header-rows: 1\n   :delim: ;\n\n   A;B\n   A: 1;B: 2,5\n",
        ),
        (
            "a.rst",
            ".. list-table:: T\n   :header-rows: 1\n\n   * - A\n     - B\n       and C\n   * - 1\n     -\n   * - 2\n     - 3\n       - 4\n\n* - no\n",
            ".. list-table:: T\n   :header-rows: 1\n\n   * - A\n     - B\n       and C\n   * - A: 1\n     -\n   * - A: 2\n     - B and C: 3\n       - 4\n\n* - no\n",
        ),
        (
            "a.adoc",
            "[%header,format=csv]\n|===\nA,B\n1,\"2, 3\"\n|===\n\n:===\nA:B\n\n1:2\n:===\n\n,===\n1,2\n3,4\n,===\n",
            "[%header,format=csv]\n|===\nA,B\nA: 1,\"B: 2, 3\"\n|===\n\n:===\nA:B\n\nA: 1:B: 2\n:===\n\n,===\n1,2\n3,4\n,===\n",
        ),
        // drawn in plain text
        (
            "a.txt",
            "x\n\n| A | B |\n| --- | :-: |\n| 1 | -- |\n\n| A -> B\n",
            "x\n\n| A | B |\n| --- | :-: |\n| A: 1 | B: -- |\n\n| A -> B\n",
        ),
        (
            "a.txt",
            "{|\n! A !! B\n|-\n| 1 || 2\n|-----\n| 3 || 4\n|}\n",
            "{|\n! A !! B\n|-\n| 1 || 2\n|-----\n| 3 || 4\n|}\n",
        ),
        (
            "a.txt",
            "+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n",
            "+---+---+\n| A | B |\n+===+===+\n| A: 1 | B: 2 |\n+---+---+\n",
        ),
        (
            "a.txt",
            "+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n| C |\n|---|\n| 3 |\n",
            "+---+---+\n| A | B |\n+===+===+\n| A: 1 | B: 2 |\n+---+---+\n\n| C |\n|---|\n| C: 3 |\n",
        ),
    ];
    for (path, text, expected) in cases {
        let document = Document::new(path, text.into()).expect("a document");
        assert_eq!(document.text, expected);
        let at = document.text.rfind(char::is_alphanumeric).expect("a word");
        let [start, end] = document.bytes(at..at + 1);
        assert_eq!(&text[start as usize..end as usize], &expected[at..=at]);
    }
}

#[test]
fn bad_input_gives_some_text_in_linear_time() {
    let long = 100_000;
    let cases: Vec<(&str, String)> = vec![
        ("open brackets", "[{(".repeat(long / 2)),
        ("open objects", "{\"a\":[".repeat(long / 4)),
        ("closed brackets", "]})".repeat(long / 2)),
        ("open tags", "<a>".repeat(long / 2)),
        ("open tables", "<table><tr>\n\n".repeat(long / 8)),
        (
            "lists",
            ".. list-table::\n * - a\n   - b\n".repeat(long / 16),
        ),
        ("half tags", "<a b='".repeat(long / 2)),
        ("open comments", "/* <!-- ".repeat(long / 4)),
        (
            "quotes never closed",
            format!("\"a{}", "x, y\n".repeat(long / 4)),
        ),
        ("many quotes", "'\"`".repeat(long / 2)),
        ("one line", "fn x ( ".repeat(long)),
        ("definitions", "fn f() {\n  x\n\n".repeat(long / 8)),
        (
            "indentation",
            (0..800).map(|n| " ".repeat(n) + "def f(\n").collect(),
        ),
        ("spaces", " ".repeat(long) + "#" + &" ".repeat(long) + "/"),
        ("commands", "\\a{\\b[".repeat(long / 4)),
        ("sections", "\\section{\\title{\\'{".repeat(long / 16)),
        ("column rules", "== ==\na  b\n".repeat(long / 8)),
        (
            "a wide rule",
            "= ".repeat(long) + "\na b\n" + &"a\n".repeat(long / 4) + "= =\n",
        ),
        ("grids", "+-+-+\n| a | b\n".repeat(long / 8)),
        (
            "a wide grid",
            "+-".repeat(long) + "+\n" + &"|\n".repeat(long / 4),
        ),
        (
            "cells",
            format!("|===\n{}\n|===\n", "2+|a|b\n".repeat(long / 4)),
        ),
        ("bars", "|a\n|-\n".repeat(long / 4)),
        (
            "a wide table",
            "|a".repeat(long / 4) + "\n" + &"|-".repeat(long / 4) + "\n" + &"|b\n".repeat(long / 8),
        ),
        (
            "rows",
            "<table><th>a<th>b<tr><td rowspan=9 colspan=900>c".repeat(long / 64),
        ),
        ("dollars", "$".repeat(long) + "x"),
        ("dashes", "a: \n- ".repeat(long / 4)),
        ("separators", ",;\t|".repeat(long / 2) + "x"),
        (
            "signs",
            "=-*~#".repeat(long / 4) + "\n" + &"=\nx\n".repeat(long / 4),
        ),
        (
            "times",
            "1\n00:00:01,000 --> 00:00:02,000\n".repeat(long / 8) + "x",
        ),
        ("entities", "&lol;&#x110000;&amp".repeat(long / 8)),
    ];
    for extension in EXTENSIONS {
        for (name, text) in &cases {
            let what = format!("{name} as {extension}");
            let document = check_passes(&what, text, PASSES, || {
                Document::new(&format!("a.{extension}"), text.clone().into_bytes())
            });
            if let Ok(document) = document {
                let all = document.bytes(0..document.text.len());
                assert!(all[1] <= text.len() as u64, "{what}");
            }
        }
    }
}

#[test]
fn files_that_end_anywhere_or_have_any_letter_are_read() {
    let sources = [
        (
            "rs",
            "/// é\nimpl É {\n    fn c() {}\n}\n\n@a\ndef b(\n  c='é'):\n\td\n\n}\n",
        ),
        ("csv", "a,\"b\"\n1,\"é\n\"\"x\"\n2,3\n"),
        (
            "json",
            r#"{"é": {"b": [1, "c\\u00e9\\ud83d\\ude00"]}, /* d */ "e": null}"#,
        ),
        ("yaml", "# é\na:\n  b: |\n    c:\nd:\n  - e: f\n"),
        ("toml", "# é\n[a.b]\nc = \"\"\"\n[d]\n\"\"\"\n"),
        (
            "xml",
            "<a é='1'><b c=\"d &amp; e\">&#233;</b><![CDATA[x]]> y<!-- z --></a>",
        ),
        (
            "adoc",
            "= É\nAnn <a@b>\n:revdate: 2024-01-31\n\n== B\n----\n== c\n----\n",
        ),
        ("rst", "===\néé \n===\n\nb\n--\n\n:c: d\n"),
        ("org", "#+TITLE: É\n* TODO a :b:\n#+begin_x\n#+end_x\n"),
        (
            "tex",
            "\\title{É}\\begin{document}\\section{A \\'e}$x$ \\emph{b} \\[c\\] 5\\%\\end{document}",
        ),
        (
            "srt",
            "1\n00:00:01,000 --> 00:00:02,000\n<v É>a &amp; b</v>\n",
        ),
        ("html", "<meta name='author' content='É'><p>a&eacute;</p>"),
        ("md", "---\ntitle: É\n---\n# A\n"),
    ];
    for (extension, source) in sources {
        for (at, _) in source.char_indices() {
            let (before, after) = source.split_at(at);
            for between in ["é", "\u{1f600}"] {
                let _ = Document::new(
                    &format!("a.{extension}"),
                    format!("{before}{between}{after}").into_bytes(),
                );
            }
        }
        for end in 1..=source.len() {
            let bytes = source.as_bytes()[..end].to_vec();
            let Ok(document) = Document::new(&format!("a.{extension}"), bytes) else {
                continue;
            };
            let all = document.bytes(0..document.text.len());
            assert!(all[1] <= end as u64, "{extension} until {end}");
            for (at, _) in document.text.char_indices() {
                assert!(
                    document
                        .headings_at(at)
                        .iter()
                        .all(|title| !title.is_empty())
                );
            }
        }
    }
}
