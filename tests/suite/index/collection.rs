//! Several folders as one corpus: the same answers as from one folder that holds them, each with an
//! index of its own.

use std::fs;
use std::path::{Path, PathBuf};

use ragscope::config::{Config, DocumentFilter, MinSimilarity, RetrieverKind};
use ragscope::corpus::SemanticSplit;
use ragscope::event::{Event, Flow, Hit, IndexReport, Ranked, Retrieval, RunEvent, SessionEvent};
use ragscope::index::{Collection, CoveredFolder, IndexError, LinkRecipe, Query, Search, Update};
use ragscope::llm::{Embedder, Random};
use tempfile::TempDir;

use super::common::{WordEmbedder, config, counter};
use crate::support::environment::{QUESTION, TestEnvironment};

/// A folder with folders of documents, and a place for indexes.
struct Shelf(TempDir);

impl Shelf {
    /// A shelf with `harbour` and `market`: documents that share most of their words.
    fn new() -> Self {
        let shelf = Self(tempfile::tempdir().expect("a folder"));
        for number in 0..12 {
            let tide = "tide ".repeat(number % 5 + 1);
            let harbour = format!(
                "Ship {number} waits for the {tide}at quay {}.\n",
                number % 3
            );
            // two digits: a number without its zero in front counts in the length of a chunk
            let name = number + 10;
            shelf.write(&format!("harbour/ship-{name}.md"), &harbour);
            let rope = "rope ".repeat(number % 4);
            let market = format!("Stall {number} sells {rope}and fish, tide or no tide.\n");
            shelf.write(&format!("market/stall-{name}.txt"), &market);
        }
        shelf.write("market/lamp.txt", "The lamp of the harbour is sold.\n");
        shelf
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.folder(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join("documents").join(name)
    }

    fn indexes(&self) -> PathBuf {
        self.0.path().join("indexes")
    }

    fn open(&self, names: &[&str]) -> Collection {
        let folders: Vec<PathBuf> = names.iter().map(|name| self.folder(name)).collect();
        Collection::open(&folders, &self.indexes()).expect("indexes")
    }

    /// Opens these folders and updates their indexes.
    fn indexed(&self, names: &[&str]) -> Collection {
        let mut open = self.open(names);
        update(&mut open, &mut |_| {});
        open
    }
}

fn update(open: &mut Collection, see: &mut dyn FnMut(SessionEvent)) -> IndexReport {
    let mut embedder = WordEmbedder::new("one");
    let updated = open.update(&config(), &mut embedder, &counter(), &mut |event| {
        see(event);
        Flow::Continue
    });
    match updated.expect("an update") {
        Update::Finished(report) => *report,
        Update::Interrupted => panic!("the observer always continues"),
    }
}

fn search(open: &Collection, question: &str, config: &Config) -> Retrieval {
    let mut embedder = WordEmbedder::new("one");
    let vector = embedder.embed(&[question]).expect("a vector").remove(0);
    open.search(question, &vector, "one", &config.retriever)
        .expect("hits")
}

/// Asserts that two folders find what one folder with both inside it finds. The words of the
/// folders inside it count in the length of its chunks.
fn check_same(shelf: &Shelf, kind: RetrieverKind, question: &str) {
    let mut config = config();
    config.retriever.kind = kind;
    let apart = search(&shelf.indexed(&["harbour", "market"]), question, &config);
    let together = search(&shelf.indexed(&[""]), question, &config);

    let paths = |found: &Retrieval| -> Vec<String> {
        let hits = found.hits.iter();
        hits.map(|hit| hit.chunk.document.clone()).collect()
    };
    assert!(!apart.hits.is_empty(), "{kind:?}: {question}");
    assert_eq!(paths(&apart), paths(&together), "{kind:?}: {question}");
    let lists: [(fn(&Hit) -> Option<Ranked>, f32); 2] =
        [(|hit| hit.bm25, 0.05), (|hit| hit.vector, 1e-5)];
    for (list, tolerance) in lists {
        let score = |hit: &Hit| list(hit).map_or(0.0, |ranked| ranked.score);
        let rank = |hit: &Hit| list(hit).map_or(0, |ranked| ranked.rank);
        for (one, other) in apart.hits.iter().zip(&together.hits) {
            let is_equal =
                |hit: &&Hit| (score(hit) - score(one)).abs() <= tolerance * score(one).abs();
            assert!(is_equal(&other), "{question}: {one:?} {other:?}");
            // equal scores may change places
            let ties = together.hits.iter().filter(is_equal).count() as u32;
            assert!(rank(one).abs_diff(rank(other)) < ties, "{question}: {ties}");
        }
    }
    let found = |found: &Retrieval| (found.bm25_found, found.vector_found);
    assert_eq!(found(&apart), found(&together));
}

#[test]
fn two_folders_find_what_one_folder_with_both_finds() {
    let shelf = Shelf::new();
    for kind in [
        RetrieverKind::Bm25,
        RetrieverKind::Vectors,
        RetrieverKind::Hybrid,
    ] {
        for question in ["rope at the tide", "fish tide", "ship 7 at quay 1"] {
            check_same(&shelf, kind, question);
        }
    }
}

#[test]
fn each_folder_has_one_index_whether_it_is_open_alone_or_with_others() {
    let shelf = Shelf::new();
    let mut both = shelf.open(&["harbour", "market"]);
    let report = update(&mut both, &mut |_| {});
    assert_eq!((report.added, report.corpus.documents), (25, 25));
    assert_eq!(report.corpus.folders.len(), 2);
    assert!(report.updated.contains(&"harbour/ship-10.md".to_owned()));
    drop(both);

    let mut alone = shelf.open(&["market"]);
    assert!(alone.is_current(&config().corpus).expect("walked"));
    let report = update(&mut alone, &mut |_| {});
    assert_eq!((report.unchanged, report.embedded), (13, 0));
    assert!(report.corpus.folders.is_empty());
    let found = search(&alone, "lamp", &config());
    assert_eq!(found.hits[0].chunk.document, "lamp.txt", "without a prefix");
    drop(alone);
    assert_eq!(fs::read_dir(shelf.indexes()).expect("listed").count(), 2);

    shelf.write("market/new.txt", "A kite.\n");
    let mut both = shelf.open(&["harbour", "market"]);
    assert!(!both.is_current(&config().corpus).expect("walked"));
    let report = update(&mut both, &mut |_| {});
    assert_eq!((report.added, report.unchanged), (1, 25));
    assert_eq!(report.updated, ["market/new.txt"]);
}

#[test]
fn a_folder_counts_once_and_one_inside_another_is_part_of_it() {
    let shelf = Shelf::new();
    shelf.write("other/market/stall.txt", "Rope.\n");
    let cases: [(&[&str], u64, &[&str]); 4] = [
        (&["market", "market", "market/../market"], 13, &[]),
        (&["market", "", "harbour"], 26, &["market", "harbour"]),
        (&["harbour", "market"], 25, &[]),
        (&["market", "other/market"], 14, &[]),
    ];
    for (names, documents, covered) in cases {
        let open = shelf.indexed(names);
        assert_eq!(open.card().documents, documents, "{names:?}");
        let expected: Vec<CoveredFolder> = covered
            .iter()
            .map(|name| CoveredFolder {
                folder: shelf.folder(name).display().to_string(),
                by: shelf.folder("").display().to_string(),
            })
            .collect();
        assert_eq!(open.covered_folders(), expected, "{names:?}");
    }

    let documents = shelf
        .indexed(&["market", "other/market"])
        .documents()
        .expect("read");
    assert!(documents.contains(&"other/market/stall.txt".to_owned()));
    assert!(documents.contains(&"documents/market/lamp.txt".to_owned()));
}

#[test]
fn chunks_documents_and_links_are_those_of_their_folder() {
    let shelf = Shelf::new();
    // the same path and the same bytes: only the folder makes them different
    shelf.write(
        "harbour/same.md",
        "A gull. Another gull. A third gull cries.\n",
    );
    shelf.write(
        "market/same.md",
        "A gull. Another gull. A third gull cries.\n",
    );
    let mut open = shelf.indexed(&["harbour", "market"]);

    let found = search(&open, "gull", &config());
    let best = found.hits.first().expect("a hit");
    let copies = best.copies.iter();
    let mut gulls: Vec<(&str, u64)> = copies
        .map(|copy| (copy.document.as_str(), copy.chunk))
        .collect();
    gulls.push((&best.chunk.document, best.chunk.id));
    gulls.sort_unstable();
    let [("harbour/same.md", one), ("market/same.md", other)] = gulls[..] else {
        panic!("{gulls:?}")
    };
    assert_ne!(one, other);
    let vectors = open.vectors(&[one, other, 1 << 43]).expect("read");
    assert!(vectors[0].is_some() && vectors[0] == vectors[1] && vectors[2].is_none());

    for document in ["harbour/same.md", "market/same.md"] {
        let source = open.source(document, [1, 1]).expect("a source");
        assert_eq!(source.document, document);
        assert!(
            Path::new(&source.path).ends_with(document),
            "{}",
            source.path
        );
        let chunks = open.document(document).expect("chunks");
        assert!(chunks.iter().all(|chunk| chunk.document == document));
    }
    for unknown in ["same.md", "harbour/none.md", "quay/same.md"] {
        let error = open.source(unknown, [1, 1]).expect_err(unknown);
        assert!(error.to_string().contains("is not in the index"), "{error}");
        assert!(open.document(unknown).expect("read").is_empty());
    }

    let recipe = LinkRecipe {
        linker: "tokens".to_owned(),
        model: "model".to_owned(),
        model_file: "model.gguf".to_owned(),
        embedder: String::new(),
        settings: String::new(),
    };
    open.use_links(&recipe).expect("opened");
    let links = vec![Vec::new(); open.document("market/same.md").expect("chunks").len()];
    open.keep_links("market/same.md", &links).expect("kept");
    let of = |document| open.links(document).expect("read");
    assert_eq!(of("market/same.md"), Some(links));
    assert_eq!(of("harbour/same.md"), None);
    let linked = open.link_state();
    assert_eq!((linked.documents, linked.unlinked.len()), (1, 26));
    let is_harbour = |(path, _): &(String, u32)| path == "harbour/same.md";
    assert!(linked.unlinked.iter().any(is_harbour));

    let split = SemanticSplit {
        tokens: 60,
        similarity: MinSimilarity::Cosine(0.99),
        characters: 0,
        keeps_pronouns: false,
    };
    let documents = ["market/same.md", "harbour/same.md", "quay/same.md"];
    let mut embedder = WordEmbedder::new("one");
    let rechunked = open
        .rechunk(&documents, split, &mut embedder, &counter())
        .expect("re-chunked");
    let ids = |at: usize| -> Vec<u64> {
        let chunks = rechunked[at].chunks.as_ref().expect("chunks");
        assert!(
            chunks
                .iter()
                .all(|(chunk, _)| chunk.document == documents[at])
        );
        chunks.iter().map(|(chunk, _)| chunk.id).collect()
    };
    let (market, harbour) = (ids(0), ids(1));
    assert!(market.iter().all(|id| !harbour.contains(id)), "{market:?}");
    assert!(market.iter().chain(&harbour).all(|id| id >> 52 == 1));
    assert!(rechunked[2].chunks.is_err());

    let sampled = open.sample(100, &mut Random::new(3)).expect("chunks");
    assert_eq!(sampled.len() as u64, open.card().chunks);
    assert!(sampled.iter().any(|chunk| chunk.id == other));
}

#[test]
fn filters_and_traces_name_documents_with_their_folder() {
    let shelf = Shelf::new();
    let open = shelf.indexed(&["harbour", "market"]);
    let mut limited = config();
    limited.retriever.filter = "only:market/**".parse::<DocumentFilter>().expect("valid");
    let found = search(&open, "tide", &limited);
    let filtered = found.filter.expect("a filter");
    assert_eq!((filtered.documents, filtered.of), (13, 25));
    let is_of_market = |path: &str| path.starts_with("market/");
    assert!(
        found
            .hits
            .iter()
            .all(|hit| is_of_market(&hit.chunk.document))
    );

    let query = Query {
        text: "the lamp",
        vector: &[],
        embedder: "",
    };
    let traced = open
        .trace_passage("lamp of the harbour", query, &config().retriever)
        .expect("traced");
    assert_eq!(traced.len(), 1);
    assert_eq!(traced[0].chunk.document, "market/lamp.txt");
    assert_eq!(traced[0].bm25.map(|ranked| ranked.rank), Some(1));
}

#[test]
fn a_folder_that_another_process_writes_is_only_read() {
    let shelf = Shelf::new();
    drop(shelf.indexed(&["harbour", "market"]));
    let writer = Collection::open(&[shelf.folder("market")], &shelf.indexes()).expect("an index");
    shelf.write("market/kite.txt", "A kite.\n");
    shelf.write("harbour/kite.txt", "A red kite.\n");

    let mut open = shelf.open(&["harbour", "market"]);
    assert!(open.card().read_only);
    let mut warnings = Vec::new();
    let mut see = |event| {
        if let SessionEvent::Warned { text, .. } = event {
            warnings.push(text);
        }
    };
    assert_eq!(update(&mut open, &mut see).updated, ["harbour/kite.txt"]);
    update(&mut open, &mut see);
    let [warning] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    let market = shelf.folder("market").display().to_string();
    assert!(warning.contains(&market), "{warning}");
    assert!(!search(&open, "lamp", &config()).hits.is_empty());

    drop(open);
    let folders = [shelf.folder("harbour"), shelf.folder("market")];
    let rebuilt = Collection::rebuild(&folders, &shelf.indexes());
    assert!(matches!(rebuilt, Err(IndexError::InUse { folder }) if folder == market));
    assert_eq!(
        shelf.open(&["harbour"]).card().documents,
        13,
        "nothing is deleted"
    );
    drop(writer);
    let rebuilt = Collection::rebuild(&folders, &shelf.indexes()).expect("empty indexes");
    assert_eq!(rebuilt.card().documents, 0);
}

#[test]
fn a_folder_that_cannot_be_opened_is_named() {
    let shelf = Shelf::new();
    let folders = [shelf.folder("harbour"), shelf.folder("missing")];
    let opened = Collection::open(&folders, &shelf.indexes());
    let missing = folders[1].display().to_string();
    let error = opened.err().expect("no folder").to_string();
    let expected = format!("cannot open the folder {missing} (");
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_question_is_asked_over_several_folders() {
    let test = TestEnvironment::new();
    let more = test.path("more");
    fs::create_dir_all(more.join("inner")).expect("made");
    fs::write(
        more.join("inner/ships.md"),
        "The Silver Heron was built in Quenby.\n",
    )
    .expect("written");

    test.run(["index", "notes", "more", "more/inner"])
        .succeeds()
        .prints("notes, more: 2 documents")
        .reports("more/inner is inside more and is indexed once");

    test.run(["search", "notes", "more", "Silver Heron", "--limit", "1"])
        .prints("more/inner/ships.md");

    let asked = test
        .run(["ask", "notes", "--json", "more", QUESTION])
        .succeeds();
    let records = asked.records();
    let started = records.iter().find_map(|record| match &record.event {
        Event::Run(RunEvent::RunStarted { corpus, .. }) => corpus.clone(),
        _ => None,
    });
    assert_eq!(started.expect("a corpus").folders, ["notes", "more"]);
    let found = records.iter().any(|record| match &record.event {
        Event::Run(RunEvent::RetrievalFinished { retrieval, .. }) => {
            let mut hits = retrieval.hits.iter();
            hits.any(|hit| hit.chunk.document == "notes/people.md")
        }
        _ => false,
    });
    assert!(found, "{}", asked.stdout);

    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["ask", "notes", "gone", QUESTION],
            1,
            "cannot open gone: there is no such folder",
        ),
        (
            &["index", "notes", "gone"],
            1,
            "cannot open gone: there is no such folder",
        ),
        (&["ask", "notes", "more"], 2, "more is a folder"),
        (
            &["links", "notes", "more", "none.md"],
            1,
            "no document none.md",
        ),
    ];
    for (arguments, code, expected) in cases {
        test.run(arguments).exits(code).reports(expected);
    }
}

#[test]
fn a_search_is_in_the_order_of_the_reranker() {
    let test = TestEnvironment::new();
    let notes = [
        (
            "road.md",
            "The lighthouse road: who keeps to the lighthouse road sees the lighthouse.",
        ),
        (
            "mara.md",
            "Mara Voss has been the keeper of the tower on Sherk Island since 1990.",
        ),
        (
            "height.md",
            "The lighthouse on Sherk Island is 40 metres tall.",
        ),
        (
            "bees.md",
            "Who keeps bees on Sherk Island? The lighthouse garden is full of them.",
        ),
        (
            "books.md",
            "The office keeps the books of every ship that passes the lighthouse.",
        ),
    ];
    for (name, text) in notes {
        fs::write(test.path("notes").join(name), text).expect("written");
    }

    let documents = |reranker: &str| -> Vec<String> {
        let setting = format!("reranker.kind={reranker}");
        let question = "Who keeps the lighthouse on Sherk Island?";
        let found = test.run(["search", "notes", question, "--json", "--set", &setting]);
        let found: Retrieval = serde_json::from_str(&found.succeeds().stdout).expect("one object");
        let ranks: Vec<u32> = found.hits.iter().map(|hit| hit.fused.rank).collect();
        assert!(
            ranks.iter().copied().eq(1..=ranks.len() as u32),
            "{ranks:?}"
        );
        found
            .hits
            .into_iter()
            .map(|hit| hit.chunk.document)
            .collect()
    };
    let mut plain = documents("off");
    let mut reranked = documents("model");
    assert_ne!(plain, reranked);
    plain.sort();
    reranked.sort();
    assert_eq!(plain, reranked);
}
