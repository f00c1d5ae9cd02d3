//! Search by words in the document's language, by vectors, and by both; and the source of a hit.

use ragscope::config::{RetrieverKind, RetrieverSettings};
use ragscope::index::{Collection, Search as _};
use ragscope::llm::{Embedder as _, NoEmbedder};

use super::common::{Corpus, WordEmbedder, config, update, update_with};

const DOCUMENTS: &[(&str, &str)] = &[
    (
        "en.md",
        "The physicists were teaching in the old houses of the town, and nobody ever knew why they had come there at all.",
    ),
    (
        "de.md",
        "Die Häuser der alten Stadt stehen seit vielen Jahren leer, und niemand weiß, warum die Bewohner gegangen sind.",
    ),
    (
        "fr.md",
        "L'histoire des enfants qui mangeaient des pommes dans le jardin est connue de tous les habitants du village.",
    ),
    (
        "ru.md",
        "Старые книги о физике лежат на полках библиотеки, и никто не знает, кто их написал много лет назад. Каждый день сюда приходят студенты, чтобы читать эти книги и говорить о том, что они узнали из них сегодня.",
    ),
    (
        "zh.md",
        "这位物理老师在北京的一所学校教书，他的学生都很喜欢他的课，因为他总是讲有趣的故事。",
    ),
    (
        "ja.md",
        "京都の図書館には古い本がたくさんあります。学生たちは毎日そこで静かに勉強しています。",
    ),
    (
        "th.md",
        "ห้องสมุดแห่งนี้มีหนังสือเก่ามากมายและนักเรียนมาอ่านหนังสือที่นี่ทุกวันหลังเลิกเรียน",
    ),
];

/// Returns settings of a search by words only.
fn words_only() -> RetrieverSettings {
    RetrieverSettings {
        bm25_weight: 1.0,
        ..config().retriever
    }
}

#[test]
fn words_are_found_in_the_language_of_the_document() {
    let corpus = Corpus::with(DOCUMENTS);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    let cases = [
        ("a physicist teaches", "en.md"),
        ("Haus", "de.md"),
        ("histoire d'un enfant", "fr.md"),
        ("книга физика", "ru.md"),
        ("物理老师", "zh.md"),
        ("北京的学校在哪里？", "zh.md"),
        ("図書館の本", "ja.md"),
        ("หนังสือเก่า", "th.md"),
    ];
    for (question, document) in cases {
        let vector = embedder.embed(&[question]).expect("a vector").remove(0);
        let found = index
            .search(question, &vector, "one", &words_only())
            .expect("an answer");
        let best = found.hits.first().expect(question);
        assert_eq!(best.chunk.document, document, "{question}");
        assert!(
            best.bm25
                .is_some_and(|ranked| ranked.rank == 1 && ranked.score > 0.0),
            "{question}: {best:?}"
        );
    }
}

#[test]
fn code_is_found_by_the_path_of_its_symbols() {
    let corpus = Corpus::with(&[
        (
            "net/lamp.rs",
            "impl HttpLamp {\n    /// Burns.\n    fn lit(&self) -> bool { self.0 }\n}\n",
        ),
        ("lamp.md", "# Net\n\nA keeper has a lamp, and it burns.\n"),
    ]);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    let cases = [
        ("http", vec!["net/lamp.rs"]),
        ("net", vec!["net/lamp.rs", "lamp.md"]),
        ("md", vec![]),
    ];
    for (question, mut documents) in cases {
        let vector = embedder.embed(&[question]).expect("a vector").remove(0);
        let found = index
            .search(question, &vector, "one", &words_only())
            .expect("an answer");
        let hits = found.hits.iter().filter(|hit| hit.bm25.is_some());
        let mut found: Vec<&str> = hits.map(|hit| hit.chunk.document.as_str()).collect();
        found.sort_unstable();
        documents.sort_unstable();
        assert_eq!(found, documents, "{question}");
    }
}

#[test]
fn a_question_is_plain_text() {
    let corpus = Corpus::with(DOCUMENTS);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    let long = "why ".repeat(20_000);
    let questions = [
        "\"unclosed",
        "title:(a AND",
        "+a -b ^2 ~1",
        "[x TO y]",
        "*",
        "\\",
        "a:b:c",
        "NOT",
        "\u{0}\u{1b}[31m",
        "",
        " ",
        "?!",
        "🙂",
        long.as_str(),
    ];
    for question in questions {
        let vector = embedder.embed(&[question]).expect("a vector").remove(0);
        let found = index
            .search(question, &vector, "one", &config().retriever)
            .expect(question);
        assert_eq!(
            u64::from(found.vector_found),
            index.card().chunks,
            "{question:?}: vectors answer when no word does"
        );
        assert_eq!(found.query, question);
    }
}

#[test]
fn both_scores_and_ranks_are_kept_and_the_order_is_fixed() {
    let files: Vec<(String, String)> = (0..30)
        .map(|i| {
            (
                format!("{i:02}.md"),
                format!("Note {} is about gardens and topic {}.", i % 10, i % 3),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let corpus = Corpus::with(&files);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    let question = "gardens in note 4";
    let vector = embedder.embed(&[question]).expect("a vector").remove(0);
    let settings = RetrieverSettings {
        pool: 12,
        ..config().retriever
    };
    let found = index
        .search(question, &vector, "one", &settings)
        .expect("an answer");
    assert_eq!(
        (found.bm25_found, found.vector_found, found.hits.len()),
        (12, 12, 12)
    );
    for (hit, rank) in found.hits.iter().zip(1..) {
        assert_eq!(hit.fused.rank, rank);
        assert!(hit.bm25.is_some() || hit.vector.is_some());
        assert!(
            hit.vector
                .is_none_or(|ranked| (0.0..=1.001).contains(&ranked.score)),
            "{hit:?}"
        );
        assert_eq!((hit.chunk.lines, hit.chunk.bytes[0]), ([1, 1], 0));
    }
    assert!(
        found
            .hits
            .is_sorted_by(|a, b| a.fused.score >= b.fused.score)
    );
    let again = corpus
        .open()
        .search(question, &vector, "one", &settings)
        .expect("an answer");
    assert_eq!(
        again.hits, found.hits,
        "the same generation gives the same answer"
    );
    let other = index
        .search(question, &vector, "two", &config().retriever)
        .expect("an answer");
    assert!(
        other.bm25_found > 0 && other.vector_found == 0,
        "vectors of another embedder mean nothing: {other:?}"
    );
}

#[test]
fn a_source_is_read_from_its_file_and_marked_when_changed() {
    let corpus = Corpus::with(&[
        (
            "a.md",
            "# One\r\n\r\nAnn grows apples in a garden behind the house by the river.\r\n\u{1b}[31mred\u{7}\r\n",
        ),
        ("b\u{1b}.md", "Bob."),
    ]);
    let mut index = corpus.open();
    update(&mut index, &mut WordEmbedder::new("one"));
    let source = index.source("a.md", [3, 3]).expect("a source");
    assert_eq!(
        source.lines,
        [
            "# One",
            "",
            "Ann grows apples in a garden behind the house by the river.",
            "red␇",
            ""
        ]
    );
    assert_eq!(
        (
            source.from_line,
            source.first_line,
            source.last_line,
            source.changed
        ),
        (1, 3, 3, false)
    );
    assert!(source.path.ends_with("a.md"));

    corpus.touch("a.md");
    assert!(
        !index.source("a.md", [1, 1]).expect("a source").changed,
        "another time, the same content"
    );
    corpus.write("a.md", "Other text.");
    let source = index.source("a.md", [3, 9]).expect("a source");
    assert_eq!(
        (source.first_line, source.last_line, source.changed),
        (1, 1, true)
    );

    for document in ["../secret", "/etc/passwd", "c.md", ""] {
        let unknown = index.source(document, [1, 1]).expect_err(document);
        assert!(
            unknown.to_string().contains("is not in the index"),
            "{unknown}"
        );
    }
    corpus.remove("a.md");
    let gone = index.source("a.md", [1, 1]).expect_err("it is gone");
    let gone = gone.to_string();
    assert!(
        gone.starts_with("cannot read ") && gone.contains("a.md ("),
        "{gone}"
    );
}

#[test]
fn a_filter_limits_both_lists_to_its_documents() {
    let corpus = Corpus::new();
    for number in 0..60 {
        let text = format!("The lamp of buoy {number} burns green above the old harbour.");
        corpus.write(&format!("buoys/{number:02}.md"), &text);
    }
    corpus.write("reports/lamps.md", "The lamp burns. A report on lamps.");
    corpus.write(
        "reports/2024/lamps.html",
        "<p>The green lamp burns in 2024.</p>",
    );
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);

    let question = "Which green lamp burns?";
    let vector = embedder.embed(&[question]).expect("a vector").remove(0);
    let this_year = format!("after:{}", jiff::Zoned::now().year());
    let cases: [(&str, usize, &str); 7] = [
        ("reports", 2, "reports/"),
        ("reports/*", 1, "reports/lamps.md"),
        ("type:html", 1, "reports/2024/lamps.html"),
        ("buoys/0* buoys/11.md", 11, "buoys/"),
        (&this_year, 61, ""),
        ("before:1999", 0, ""),
        ("nowhere", 0, ""),
    ];
    for (filter, documents, start) in cases {
        let settings = RetrieverSettings {
            filter: filter.parse().expect(filter),
            pool: 100,
            ..config().retriever
        };
        let found = index
            .search(question, &vector, "one", &settings)
            .expect("an answer");
        let filtered = found.filter.as_ref().expect("it is limited");
        assert_eq!(
            (filtered.documents, filtered.of),
            (documents as u64, 62),
            "{filter}"
        );
        assert_eq!(found.hits.len(), documents, "{filter}");
        assert_eq!(found.vector_found as usize, documents, "{filter}");
        for hit in &found.hits {
            assert!(hit.chunk.document.starts_with(start), "{filter}: {hit:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_in_the_place_of_one_of_the_same_size_and_time_is_noticed() {
    let corpus = Corpus::with(&[("a.md", "Ann keeps the light."), ("b.md", "Bob sails.")]);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    corpus.replace_in_time("a.md", "Eve keeps the light.");
    let report = update(&mut index, &mut embedder);
    assert_eq!((report.changed, report.unchanged), (1, 1));
    let settings = config().retriever;
    let vector = embedder.embed(&["Eve"]).expect("a vector").remove(0);
    let found = index
        .search("Eve", &vector, "one", &settings)
        .expect("an answer");
    assert_eq!(found.hits[0].chunk.text, "Eve keeps the light.");

    // the same content again is read once, and changes nothing
    corpus.replace_in_time("a.md", "Eve keeps the light.");
    let report = update(&mut index, &mut embedder);
    assert_eq!((report.changed, report.unchanged), (0, 2));
    let config = config();
    assert!(index.is_current(&config.corpus).expect("a walk"));
}

#[test]
fn a_date_in_a_file_name_comes_after_the_one_that_a_document_gives_itself() {
    let mail = "From: a@b.c\nDate: Tue, 5 Feb 2019 10:00:00 +0000\nSubject: Oil\n\nThe lamp burns.";
    let corpus = Corpus::with(&[
        ("2021-03-04.md", "The lamp burns."),
        ("2021/05/06 tides.txt", "The lamp burns."),
        (
            "2021-03-05 old.md",
            "---\ndate: 2019-01-31\n---\nThe lamp burns.",
        ),
        ("2021-03-06.eml", mail),
        ("20241399.md", "The lamp burns."),
    ]);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    let cases = [
        (
            "after:2021-01-01 before:2021-12-31",
            "2021-03-04.md 2021/05/06 tides.txt",
        ),
        ("before:2019", "2021-03-05 old.md 2021-03-06.eml"),
        ("after:2025", "20241399.md"),
    ];
    let vector = embedder.embed(&["lamp"]).expect("a vector").remove(0);
    for (filter, expected) in cases {
        let settings = RetrieverSettings {
            filter: filter.parse().expect(filter),
            ..config().retriever
        };
        let found = index
            .search("lamp", &vector, "one", &settings)
            .expect("an answer");
        let mut documents: Vec<&str> = found
            .hits
            .iter()
            .map(|hit| hit.chunk.document.as_str())
            .collect();
        documents.sort_unstable();
        assert_eq!(documents.join(" "), expected, "{filter}");
    }
}

#[test]
fn an_index_for_bm25_has_no_vectors_and_gets_them_when_they_are_wanted() {
    let corpus = Corpus::with(&[
        ("a.md", "The lighthouse keeper is Mara Voss."),
        ("b.md", "Boats are made of wood."),
    ]);
    let with = |kind| {
        let mut config = config();
        config.retriever.kind = kind;
        config
    };
    let found = |index: &Collection, embedder: &mut WordEmbedder, kind| {
        let config = with(kind);
        let vector = embedder.embed(&["lighthouse"]).expect("a vector").remove(0);
        let found = index
            .search(
                "lighthouse",
                &vector,
                &embedder.card().fingerprint,
                &config.retriever,
            )
            .expect("an answer");
        (found.bm25_found, found.vector_found)
    };
    let mut none = NoEmbedder::new("an embedder");
    let mut embedder = WordEmbedder::new("words");
    let mut index = corpus.open();

    // no model is asked, and only words are found
    let report = update_with(&mut index, &with(RetrieverKind::Bm25), &mut none);
    assert_eq!((report.embedded, report.corpus.chunks), (0, 2));
    assert!(index.lacks_vectors());
    let kinds = [
        RetrieverKind::Bm25,
        RetrieverKind::Vectors,
        RetrieverKind::Hybrid,
    ];
    let counts = kinds.map(|kind| found(&index, &mut embedder, kind));
    assert_eq!(counts, [(1, 0), (0, 0), (1, 0)]);

    // hybrid search embeds then
    let report = update_with(&mut index, &with(RetrieverKind::Hybrid), &mut embedder);
    assert_eq!((report.embedded, index.lacks_vectors()), (2, false));
    let counts = kinds.map(|kind| found(&index, &mut embedder, kind));
    assert_eq!(counts, [(1, 0), (0, 2), (1, 2)]);

    // BM25 leaves an index as it is that agrees with its folder
    update_with(&mut index, &with(RetrieverKind::Bm25), &mut none);
    assert!(!index.lacks_vectors());

    // and otherwise sets the vectors aside, over more than one generation
    for name in ["c.md", "d.md", "e.md"] {
        corpus.write(name, &format!("Wool is spun in {name}."));
        update_with(&mut index, &with(RetrieverKind::Bm25), &mut none);
        assert!(index.lacks_vectors());
    }
    drop(index);
    let mut index = corpus.open();
    assert!(index.lacks_vectors());
    let report = update_with(&mut index, &with(RetrieverKind::Hybrid), &mut embedder);
    assert_eq!((report.embedded, report.reused), (3, 2));
    assert!(!index.lacks_vectors());
}

#[test]
fn the_words_of_a_hit_add_up_to_its_bm25_score() {
    let corpus = Corpus::with(&[
        (
            "pier.md",
            "# Repairs\n\nThe pressure cell was replaced, and the cell works.",
        ),
        (
            "boats.md",
            "# Boats\n\nA boat was replaced in the old harbour of the pressure group.",
        ),
    ]);
    let mut index = corpus.open();
    update(&mut index, &mut WordEmbedder::new("one"));
    let settings = words_only();
    let found = index
        .search(
            "Who replaced the pressure cell of the pier?",
            &[],
            "",
            &settings,
        )
        .expect("searched");
    let first = &found.hits[0];
    assert_eq!(first.chunk.document, "pier.md");
    let words: Vec<(&str, bool)> = first
        .words
        .iter()
        .map(|scored| (scored.word.as_str(), scored.place_alone))
        .collect();
    assert_eq!(words.len(), 4, "{words:?}");
    assert!(words.contains(&("pier", true)) && words.contains(&("cell", false)));

    for hit in &found.hits {
        let sum: f32 = hit.words.iter().map(|scored| scored.score).sum();
        let score = hit.bm25.expect("a score").score;
        assert!((sum - score).abs() < 1e-4, "{sum} is not {score}");
    }
}
