//! Chunks: in order, within the limit, covering the document, and traced to the file.

use std::sync::LazyLock;

use proptest::prelude::*;
use ragscope::config::MinSimilarity;
use ragscope::corpus::{
    Document, FixedSplit, SemanticSplit, Sentences, TokenCounter, chunks_at, fixed_chunks,
    sentences,
};
use ragscope::event::ChunkText;

use super::model;
use crate::llm::runtime;
use crate::support::effort::check_passes;

/// Passes over the text that splitting it and checking the chunks may take: it takes 144 at most,
/// and work that grows with the square of the text as many as the text has characters, 8,000 and
/// more.
const PASSES: u32 = 5_000;

static COUNTER: LazyLock<TokenCounter> = LazyLock::new(|| {
    TokenCounter::from_gguf(&model("all-MiniLM-L6-v2.Q8_0.gguf"), &runtime()).expect("the embedder")
});

fn chunks(document: &Document, tokens: u32, overlap_tokens: u32) -> Vec<ChunkText> {
    chunks_and_paragraphs(document, tokens, overlap_tokens, false)
}

fn chunks_and_paragraphs(
    document: &Document,
    tokens: u32,
    overlap_tokens: u32,
    keeps_paragraphs: bool,
) -> Vec<ChunkText> {
    let split = FixedSplit {
        tokens,
        overlap_tokens,
        sentences: 0,
        keeps_paragraphs,
    };
    fixed_chunks(document, split, &COUNTER)
}

fn document(path: &str, file: impl AsRef<[u8]>) -> Document {
    Document::new(path, file.as_ref().to_vec()).expect("a document")
}

/// Checks the properties of the chunks of any UTF-8 file whose text is the file itself, and returns
/// those that cut paragraphs.
#[track_caller]
fn check(file: &[u8], document: &Document, tokens: u32, overlap: u32) -> Vec<ChunkText> {
    let limit = tokens.min(COUNTER.max_text_tokens()).max(16);
    let longest = limit.saturating_mul(3) / 2;
    check_chunks(file, document, [tokens, overlap, limit, longest], true);
    check_chunks(file, document, [tokens, overlap, limit, limit], false)
}

/// Returns whether a text is one row of a table, which may be as long as the embedder reads.
fn is_row(text: &str) -> bool {
    text.starts_with('|')
        && !text.contains('\n')
        && COUNTER.count(text) <= COUNTER.max_text_tokens()
}

fn check_chunks(
    file: &[u8],
    document: &Document,
    [tokens, overlap, limit, longest]: [u32; 4],
    keeps_paragraphs: bool,
) -> Vec<ChunkText> {
    let chunks = chunks_and_paragraphs(document, tokens, overlap, keeps_paragraphs);
    let (mut begun, mut after) = (0, 0);
    for (index, chunk) in chunks.iter().enumerate() {
        assert!(
            chunk.tokens <= longest || is_row(&chunk.text),
            "{} tokens, {longest} allowed",
            chunk.tokens
        );
        assert_eq!(chunk.tokens, COUNTER.count_embedded(&chunk.text));
        assert!(
            !chunk.text.is_empty() && chunk.text.trim() == chunk.text,
            "{:?}",
            chunk.text
        );
        let [start, end] = chunk
            .bytes
            .map(|at| usize::try_from(at).expect("in memory"));
        assert_eq!(&file[start..end], chunk.text.as_bytes());
        let line = |at: usize| file[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        assert_eq!(chunk.lines, [line(start), line(end - 1)]);
        assert!(index == 0 || begun < start, "no progress at {start}");
        assert!(end > after, "nothing new at {start}");
        let skipped = file.get(after..start).unwrap_or_default();
        assert!(
            String::from_utf8_lossy(skipped).trim().is_empty(),
            "left out: {skipped:?}"
        );
        let repeated = file.get(start..after).unwrap_or_default();
        assert!(
            COUNTER.count(&String::from_utf8_lossy(repeated)) <= overlap.min(limit / 2),
            "too much overlap"
        );
        (begun, after) = (start, end);
    }
    assert!(
        String::from_utf8_lossy(&file[after..]).trim().is_empty(),
        "left out at the end"
    );
    chunks
}

#[test]
fn the_white_space_around_a_row_is_in_no_chunk() {
    for path in ["a.md", "a.rst", "a.adoc", "a.org"] {
        let text = " |   JcZun    x  \n";
        check(text.as_bytes(), &document(path, text), 50, 10);
    }
}

#[test]
fn a_text_in_chunks_of_many_sizes() {
    let text = include_str!("../../../LICENSE");
    for (tokens, overlap) in [
        (512, 64),
        (128, 32),
        (16, 8),
        (64, 0),
        (0, 1000),
        (u32::MAX, u32::MAX),
    ] {
        let chunks = check(text.as_bytes(), &document("LICENSE", text), tokens, overlap);
        let repeats = chunks
            .windows(2)
            .filter(|pair| pair[1].bytes[0] < pair[0].bytes[1])
            .count();
        assert!(
            overlap == 0 || repeats * 3 > chunks.len(),
            "{repeats} overlaps in {} chunks",
            chunks.len()
        );
    }
}

#[test]
fn text_without_breaks() {
    let cases = [
        "x".repeat(40_000),
        "漢".repeat(8_000),
        "😀".repeat(8_000),
        "word ".repeat(8_000),
        " ".repeat(40_000) + "end",
        "a".to_owned() + &" ".repeat(40_000) + "b",
        "\n".repeat(10_000) + "end" + &"\n".repeat(10_000),
        "line\n".repeat(8_000),
        "a,b;c\r\n".repeat(10_000),
        "=".repeat(8_000),
        "e\u{301}".repeat(8_000),
        "- item\n".repeat(5_000),
        "# Heading\n".repeat(5_000),
        "| a | b |\n".repeat(5_000),
        "```\n".repeat(3_001),
        "> ".repeat(5_000),
        "Mr. ".repeat(10_000),
        "1. ".repeat(10_000),
        "(((\"'".repeat(10_000),
        "\u{200d}".repeat(8_000) + "x",
    ];
    for text in cases {
        let name: String = text.trim_start().chars().take(10).collect();
        check_passes(&name, &text, PASSES, || {
            check(text.as_bytes(), &document("a.md", &text), 512, 64);
        });
    }
}

#[test]
fn chunks_end_at_the_deepest_break() {
    let sentence =
        "The keeper of the lighthouse lit the lamp every evening before the fog came in. ";
    let paragraph = |times: usize| sentence.repeat(times).trim_end().to_owned();
    let text = format!(
        "# One\n\n{}\n\n{}\n\n# Two\n\n{}\n",
        paragraph(3),
        paragraph(3),
        paragraph(4)
    );
    let chunks = check(text.as_bytes(), &document("a.md", &text), 130, 40);
    let starts: Vec<&str> = chunks
        .iter()
        .map(|chunk| chunk.text.lines().next().unwrap_or_default())
        .collect();
    assert_eq!(starts, ["# One", "# Two"], "{chunks:#?}");
    assert_eq!(chunks[0].headings, ["One"]);
    assert_eq!(chunks[1].headings, ["Two"]);
    let chunks = check(text.as_bytes(), &document("a.md", &text), 64, 20);
    assert!(
        chunks.iter().all(|chunk| chunk.text.ends_with('.')),
        "a heading stays with its text: {chunks:#?}"
    );
    assert!(
        chunks
            .windows(2)
            .any(|pair| pair[0].text.ends_with(sentence.trim())
                && pair[1].text.starts_with(sentence))
    );
}

#[test]
fn a_paragraph_that_is_half_longer_than_a_chunk_stays_whole() {
    let sentence = |topic: &str| {
        format!("The keeper of the {topic} lit the lamp every evening before the fog came in. ")
    };
    let paragraph = |topic: &str, times: usize| sentence(topic).repeat(times).trim_end().to_owned();
    let text = format!(
        "{}\n\n{}\n\n{}\n",
        paragraph("north", 5),
        paragraph("south", 9),
        paragraph("west", 1)
    );
    let ends = |keeps_paragraphs: bool| -> Vec<bool> {
        chunks_and_paragraphs(&document("a.md", &text), 64, 0, keeps_paragraphs)
            .iter()
            .map(|chunk| {
                let [_, end] = chunk
                    .bytes
                    .map(|at| usize::try_from(at).expect("in memory"));
                text[end..].trim().is_empty() || text[end..].starts_with("\n\n")
            })
            .collect()
    };

    assert_eq!(
        ends(true),
        [true, false, true, true],
        "the second is too long"
    );
    assert_eq!(ends(false), [false, true, false, false, true]);
}

#[test]
fn rows_are_whole_and_have_the_names_of_their_columns() {
    // the cells hold ends of sentences and of lines, and the overlap is shorter than a row
    let cells = |row: u32| {
        let id = format!("HX-{row:03}");
        let note = format!("Lifts {row} kg. Was repaired twice, by Ann. See page {row}.");
        [id, note, (row * 2).to_string()]
    };
    let rows = 1..=60;
    let joined = |row: &dyn Fn([String; 3]) -> String| {
        let rows = rows.clone().map(|number| row(cells(number)));
        rows.collect::<Vec<_>>().join("\n")
    };
    let files = [
        (
            "a.md",
            "# Winches\n\n| Id | Note | Hours |\n|---|---|---|\n".to_owned()
                + &joined(&|cells| format!("| {} |", cells.join(" | "))),
            "| Id: HX-007 | Note: Lifts 7 kg. Was repaired twice, by Ann. See page 7. | Hours: 14 |",
        ),
        (
            "a.html",
            "<table><thead><tr><th>Id<th>Note<th>Hours</thead>".to_owned()
                + &joined(&|cells| {
                    format!("<tr><td>{}", cells.join("<td>").replace(". ", ".<br>"))
                }),
            "| Id: HX-007 | Note: Lifts 7 kg.\nWas repaired twice, by Ann.\nSee page 7. | Hours: 14",
        ),
        (
            "a.csv",
            "Id,Note,Hours\n".to_owned()
                + &joined(&|[id, note, hours]| format!("{id},\"{note}\",{hours}")),
            "Id: HX-007; Note: Lifts 7 kg. Was repaired twice, by Ann. See page 7.; Hours: 14",
        ),
    ];
    for (path, file, seventh) in files {
        let document = document(path, &file);
        let chunks = chunks(&document, 100, 20);
        assert!(chunks.len() > 10, "{path}: {}", chunks.len());
        for row in rows.clone() {
            let [id, _, hours] = cells(row);
            let whole = seventh
                .replace("HX-007", &id)
                .replace(" 7 kg", &format!(" {row} kg"))
                .replace("page 7", &format!("page {row}"))
                .replace("Hours: 14", &format!("Hours: {hours}"));
            let with_id: Vec<&ChunkText> = chunks
                .iter()
                .filter(|chunk| {
                    chunk.text.contains(&id) || chunk.text.contains(&format!(" {row} kg"))
                })
                .collect();
            assert_eq!(with_id.len(), 1, "{path}: {id}");
            assert!(
                with_id[0].text.contains(&whole),
                "{path}: {:?}",
                with_id[0].text
            );
            let [start, end] = with_id[0]
                .bytes
                .map(|at| usize::try_from(at).expect("in memory"));
            assert!(file[start..end].contains(&id), "{path}: {id}");
        }
    }
}

#[test]
fn only_a_row_that_is_longer_than_the_embedder_reads_is_split() {
    let chunks_of = |times: usize| {
        let note = "The lamp was repaired by Ann. ".repeat(times);
        let text = format!("| Id | Note |\n|---|---|\n| 1 | {note}|\n| 2 | short |\n");
        chunks(&document("a.md", &text), 64, 16)
    };
    let split = chunks_of(100);
    assert!(split.len() > 4);
    assert!(split.iter().all(|chunk| chunk.tokens <= 64));
    let last = split.last().expect("a chunk");
    assert!(last.text.ends_with("| Id: 2 | Note: short |"), "{last:?}");

    let whole = chunks_of(40);
    let with_row = |chunk: &&ChunkText| chunk.text.contains("Ann");
    let rows: Vec<&ChunkText> = whole.iter().filter(with_row).collect();
    assert_eq!(rows.len(), 1, "{whole:#?}");
    assert!(rows[0].tokens > 64 && rows[0].text.contains("Id: 1"));
}

#[test]
fn headings_above_a_chunk() {
    let file = std::fs::read(super::data("guide.md")).expect("a document");
    let chunks = chunks(&document("guide.md", &file), 48, 0);
    let above = |words: &str| {
        let chunk = chunks
            .iter()
            .find(|chunk| chunk.text.contains(words))
            .expect(words);
        chunk.headings.join(" > ")
    };
    assert_eq!(above("Front matter"), "Front matter > Lighthouse guide");
    assert_eq!(
        above("stands on the cape"),
        "Front matter > Lighthouse guide"
    );
    assert_eq!(
        above("trim the wick"),
        "Front matter > Lighthouse guide > Keeping the lamp > Every evening"
    );
    assert_eq!(
        above("not a heading"),
        "Front matter > Lighthouse guide > Keeping the lamp > In storms"
    );
    assert_eq!(above("Underlined headings"), "Front matter > Second part");
}

#[test]
fn chunks_of_a_page_open_at_its_lines() {
    let file = std::fs::read(super::data("page.html")).expect("a page");
    let document = document("page.html", &file);
    let chunks = chunks(&document, 40, 0);
    let lines: Vec<&str> = std::str::from_utf8(&file).expect("UTF-8").lines().collect();
    for (words, in_file) in [
        ("Sherk Island", "Sherk Island"),
        ("40 metres", "40&nbsp;metres"),
        ("Name: Ann | Since: 1871", "1871"),
    ] {
        let chunk = chunks
            .iter()
            .find(|chunk| chunk.text.replace('\u{a0}', " ").contains(words))
            .expect(words);
        let [first, last] = chunk.lines.map(|line| line as usize);
        assert!(
            lines[first - 1..last]
                .iter()
                .any(|line| line.contains(in_file)),
            "{words}: {:?}",
            chunk.lines
        );
        let [start, end] = chunk
            .bytes
            .map(|at| usize::try_from(at).expect("in memory"));
        assert!(String::from_utf8_lossy(&file[start..end]).contains(in_file));
    }
    let all: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert!(!all.contains("script") && !all.contains("color"), "{all}");
    assert_eq!(
        chunks.last().expect("a chunk").headings,
        ["Sherk Island & around", "Lighthouses", "Keepers"]
    );
}

#[test]
fn the_same_text_in_every_encoding_opens_at_the_same_lines() {
    let text = "Première ligne.\n\nÇa va: été, œuvre, 50 €.\r\nDernière ligne – là.\n".repeat(40);
    let utf8 = document("a.txt", &text);
    let utf16: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let western: Vec<u8> = text
        .chars()
        .map(|c| match c {
            'œ' => 0x9c,
            '€' => 0x80,
            '–' => 0x96,
            _ => u8::try_from(u32::from(c)).expect("Latin-1"),
        })
        .collect();
    let expected = chunks(&utf8, 64, 16);
    assert!(expected.len() > 5);
    for (file, width) in [(utf16, 2), (western, 1)] {
        let found = chunks(&document("a.txt", &file), 64, 16);
        assert_eq!(found.len(), expected.len());
        for (chunk, same) in found.iter().zip(&expected) {
            assert_eq!((&chunk.text, chunk.lines), (&same.text, same.lines));
            let characters = same.text.chars().count() as u64;
            assert_eq!(chunk.bytes[1] - chunk.bytes[0], characters * width);
        }
    }
}

/// Returns text of all sorts: words, symbols, breaks, marks of Markdown and HTML.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-zA-Z]{1,12}",
        4 => Just(" ".to_owned()),
        1 => "\\PC{0,20}",
        1 => "\\s{1,5}",
        1 => prop::sample::select(vec![
            ". ", "\n", "\n\n", "# ", "def f(", "fn f() {", "}", "/*", "*/", "//", "'", "@x\n", "() {", ";", "- ", "1. ", "```\n", "| ", "---\n", "。", "\r\n", "\u{301}", "<p>", "</", "&amp;", "\"", "(", "…",
        ]).prop_map(str::to_owned),
        1 => "[a-z0-9]{30,200}",
    ];
    prop::collection::vec(part, 1..150).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_covered_in_order_and_within_the_limit(text in any_text(), tokens in 1_u32..200, overlap in 0_u32..100) {
        prop_assume!(!text.trim().is_empty());
        for path in ["a.txt", "a.md", "a.rs", "a.yaml", "a.toml", "a.rst", "a.adoc", "a.org"] {
            // the rows of a table have the names of its columns, which are not in the file there
            if let Ok(document) = Document::new(path, text.clone().into_bytes())
                && document.text == text
            {
                check(text.as_bytes(), &document, tokens, overlap);
            }
        }
    }

    #[test]
    fn any_text_split_by_meaning_is_covered_in_order_and_within_the_limit(
        text in any_text(), tokens in 1_u32..200, near in prop::collection::vec(-1.0_f32..1.0, 0..300)
    ) {
        prop_assume!(!text.trim().is_empty());
        let cut = SemanticSplit { tokens, similarity: MinSimilarity::Cosine(0.0), characters: 0, keeps_pronouns: false };
        if let Ok(document) = Document::new("a.md", text.into_bytes()) {
            let sentences = Sentences::new(&document, cut, &COUNTER);
            let mut after = 0;
            for place in sentences.join(&document, &near, cut, &COUNTER) {
                prop_assert!(document.text[after..place.start].trim().is_empty());
                let text = &document.text[place.clone()];
                prop_assert!(is_row(text) || COUNTER.count(text) <= tokens.clamp(16, COUNTER.max_text_tokens()));
                after = place.end;
            }
            prop_assert!(document.text[after..].trim().is_empty());
        }
    }

    #[test]
    fn any_page_gives_chunks_inside_it(text in any_text()) {
        let page = text.replace("- ", "<li>").replace("| ", "<td>").replace("# ", "<h2>");
        if let Ok(document) = Document::new("a.html", page.clone().into_bytes()) {
            for chunk in chunks(&document, 50, 10) {
                prop_assert!(chunk.bytes[0] < chunk.bytes[1] && chunk.bytes[1] <= page.len() as u64);
            }
        }
    }

    #[test]
    fn any_bytes_give_chunks_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for path in ["a.txt", "a.md", "a.html", "a.rs", "a.csv", "a.json", "a.xml", "a.tex", "a.srt", "a.ipynb"] {
            if let Ok(document) = Document::new(path, bytes.clone()) {
                for chunk in chunks(&document, 50, 10) {
                    prop_assert!(chunk.bytes[1] <= bytes.len() as u64);
                }
            }
        }
    }

    #[test]
    fn sentences_are_in_order_and_cover_the_text(text in any_text(), language in "en|de|ja|zh|ar|xx|") {
        let mut after = 0;
        for place in sentences(&text, &language) {
            prop_assert!(text[after..place.start].trim().is_empty());
            prop_assert!(!text[place.clone()].is_empty() && text[place.clone()].trim() == &text[place.clone()]);
            after = place.end;
        }
        prop_assert!(text[after..].trim().is_empty());
    }
}

#[test]
fn sentences_join_while_they_are_similar_and_the_chunk_is_short() {
    const SPLIT: SemanticSplit = SemanticSplit {
        tokens: 512,
        similarity: MinSimilarity::Cosine(0.6),
        characters: 0,
        keeps_pronouns: false,
    };
    let (a, b, c) = (
        "Ann sails on Monday.",
        "Bob sings in the hall.",
        "Cara grows apples in her garden.",
    );
    let short = SemanticSplit {
        characters: 43,
        ..SPLIT
    };
    let strict = SemanticSplit {
        similarity: MinSimilarity::Cosine(0.8),
        ..SPLIT
    };
    let pronouns = SemanticSplit {
        keeps_pronouns: true,
        ..SPLIT
    };
    let it = "It is her second home.";
    let hers = "“Her boat” is what Bob calls it.";
    let german = "Der Hafen liegt im Norden der Insel, und im Winter kommen nur wenige Schiffe.";
    // 16 is the least that a chunk may have: two of these sentences and their full stops fit
    let few = SemanticSplit { tokens: 0, ..SPLIT };
    let ahoy = "Her mit dem Boot, ruft der Mann am Ufer.";

    check_joins("all near", &[a, b, c], &[0.9, 0.6], SPLIT, &[3]);
    check_joins("just too far", &[a, b, c], &[0.9, 0.599], SPLIT, &[2, 1]);
    check_joins(
        "a higher threshold",
        &[a, b, c],
        &[0.79, 0.8],
        strict,
        &[1, 2],
    );
    check_joins(
        "too many characters",
        &[a, b, c],
        &[1.0, 1.0],
        short,
        &[2, 1],
    );
    check_joins("too many tokens", &[a, b, c], &[1.0, 1.0], few, &[2, 1]);
    check_joins("no number", &[a, b], &[f32::NAN], SPLIT, &[1, 1]);
    check_joins("no vectors", &[a, b], &[], SPLIT, &[1, 1]);
    check_joins(
        "a pronoun without the name",
        &[a, it, b],
        &[0.1, 0.1],
        SPLIT,
        &[1, 1, 1],
    );
    check_joins(
        "a pronoun with the name",
        &[a, it, hers, b],
        &[0.1; 3],
        pronouns,
        &[3, 1],
    );
    check_joins(
        "the word of another language",
        &[german, ahoy],
        &[0.1],
        pronouns,
        &[1, 1],
    );
    check_joins("one sentence", &[a], &[], SPLIT, &[1]);
}

/// Checks how many sentences each chunk joins.
#[track_caller]
fn check_joins(
    what: &str,
    texts: &[&str],
    similarities: &[f32],
    cut: SemanticSplit,
    joined: &[usize],
) {
    let document = document("a.txt", texts.join(" "));
    let sentences = Sentences::new(&document, cut, &COUNTER);
    let found: Vec<&str> = sentences.texts(&document).map(|(text, _)| text).collect();
    assert_eq!(found, texts, "{what}");

    let mut rest = texts;
    let expected = joined.iter().map(|count| {
        let (chunk, others) = rest.split_at(*count);
        rest = others;
        chunk.join(" ")
    });
    let expected: Vec<String> = expected.collect();
    let places = sentences.join(&document, similarities, cut, &COUNTER);
    let chunks = chunks_at(&document, &places, &COUNTER).into_iter();
    let found: Vec<String> = chunks.map(|chunk| chunk.text).collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn what_names_a_text_is_not_the_end_of_the_chunk_before() {
    let sentence = "The seals are checked once a month and the date is written on the card. ";
    let text = sentence.repeat(4);
    for name in [
        "## 2. Torrent 500 Eco\n\n### 2.1 Safety",
        "**Riga**",
        "Riga office:",
    ] {
        let whole = format!("# Guide\n\n{text}\n\n{name}\n\n{text}\n");
        for chunk in chunks(&document("a.md", &whole), 96, 16) {
            let last = chunk.text.lines().next_back().unwrap_or_default();
            assert!(last.ends_with('.'), "{name}: {last}");
        }
    }
}

#[test]
fn a_heading_begins_a_chunk_and_stays_with_what_is_below_it() {
    let cut = SemanticSplit {
        tokens: 512,
        similarity: MinSimilarity::Cosine(0.5),
        characters: 0,
        keeps_pronouns: false,
    };
    let text = "# One\n\n## Two\n\nAnn sails. Bob sings.\n\n## Three\n\nCara paints.\n";
    let document = document("a.md", text);
    let sentences = Sentences::new(&document, cut, &COUNTER);
    for near in [1.0, 0.0] {
        let similarities = vec![near; sentences.count() - 1];
        let places = sentences.join(&document, &similarities, cut, &COUNTER);
        let chunks: Vec<&str> = places
            .into_iter()
            .map(|place| &document.text[place])
            .collect();
        let first = if near > 0.5 {
            vec!["# One\n\n## Two\n\nAnn sails. Bob sings."]
        } else {
            vec!["# One\n\n## Two\n\nAnn sails.", "Bob sings."]
        };
        assert_eq!(chunks[..first.len()], first, "cosine {near}");
        assert_eq!(
            chunks[first.len()..],
            ["## Three\n\nCara paints."],
            "cosine {near}"
        );
    }
}
