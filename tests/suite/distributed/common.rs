//! Machines that share a corpus: each has a folder and its own indexes, and all have one engine.

use std::path::PathBuf;

use ragscope::config::{Config, IndexSettings, RetrieverSettings};
use ragscope::event::{Advice as _, Flow, Problem, Retrieval};
use ragscope::index::{Collection, IndexError, Query, Search as _, Update};
use ragscope::llm::Embedder as _;

use crate::index::common::{self, Corpus, WordEmbedder};

/// A machine with the settings of the shared corpus.
pub struct Machine {
    pub corpus: Corpus,
    pub settings: IndexSettings,
}

impl Machine {
    pub fn new(settings: &IndexSettings, files: &[(&str, &str)]) -> Self {
        Self {
            corpus: Corpus::with(files),
            settings: settings.clone(),
        }
    }

    /// Returns the machine whose folder is a part of its own.
    pub fn named(mut self, part: &str) -> Self {
        self.settings.part = part.to_owned();
        self
    }

    pub fn config(&self) -> Config {
        let mut config = common::config();
        config.index = self.settings.clone();
        config
    }

    pub fn try_open(&self) -> Result<Collection, IndexError> {
        let folders = [self.corpus.folder()];
        Collection::open(&folders, &self.corpus.indexes())?.connect(&self.settings, &folders)
    }

    pub fn open(&self) -> Collection {
        self.try_open().expect("a collection")
    }

    /// Opens the collection, and indexes the folder with an embedder of this name.
    pub fn index_by(&self, embedder: &str) -> Result<Collection, Problem> {
        let mut collection = self.try_open().map_err(|error| error.to_problem())?;
        let mut embedder = WordEmbedder::new(embedder);
        let updated = collection.update(
            &self.config(),
            &mut embedder,
            &common::counter(),
            &mut |_| Flow::Continue,
        );
        match updated {
            Ok(Update::Finished(_)) => Ok(collection),
            Ok(Update::Interrupted) => panic!("the observer always continues"),
            Err(error) => Err(error.to_problem()),
        }
    }

    pub fn index(&self) -> Collection {
        self.index_by("one").expect("indexed")
    }
}

/// Opens the corpus on a machine that has no folder of it.
pub fn reader(settings: &IndexSettings) -> Collection {
    let home = tempfile::tempdir().expect("a folder");
    let folders = [PathBuf::from(&settings.url)];
    Collection::open(&folders, home.path())
        .and_then(|collection| collection.connect(settings, &folders))
        .expect("a collection")
}

pub fn retriever(filter: &str) -> RetrieverSettings {
    let mut settings = common::config().retriever;
    settings.filter = filter.parse().expect("a filter");
    settings
}

pub fn search(collection: &Collection, question: &str, settings: &RetrieverSettings) -> Retrieval {
    let mut embedder = WordEmbedder::new("one");
    let vector = embedder.embed(&[question]).expect("a vector").remove(0);
    collection
        .search(question, &vector, "one", settings)
        .expect("an answer")
}

/// Returns the documents that a question finds, best first.
pub fn documents(collection: &Collection, question: &str) -> Vec<String> {
    let found = search(collection, question, &retriever(""));
    found
        .hits
        .into_iter()
        .map(|hit| hit.chunk.document)
        .collect()
}

pub fn trace(collection: &Collection, phrase: &str, question: &str) -> Vec<(String, bool)> {
    let vector = WordEmbedder::new("one")
        .embed(&[question])
        .expect("a vector")
        .remove(0);
    let query = Query {
        text: question,
        vector: &vector,
        embedder: "one",
    };
    let found = collection.trace_passage(phrase, query, &retriever(""));
    let found = found.expect("a trace").into_iter();
    found
        .map(|traced| {
            let is_ranked = traced.bm25.is_some() && traced.vector.is_some();
            (traced.chunk.document, is_ranked)
        })
        .collect()
}

/// Checks what every engine does with a corpus of several machines.
pub fn several_machines_are_one_corpus(settings: &IndexSettings) {
    let long: String = (0..400)
        .map(|i| format!("Sentence {i} of the log is about the harbour. "))
        .collect();
    let first = Machine::new(
        settings,
        &[
            ("apples.md", "# Garden\n\nAnn grows apples."),
            ("boats/sail.md", "Bob sails a boat to the island."),
            ("log.txt", &long),
        ],
    )
    .named("garden");
    let collection = first.index();
    let local = Collection::open(&[first.corpus.folder()], &first.corpus.indexes()).expect("local");

    // one part has the paths of its folder, the same hits and the same scores
    for question in [
        "Who grows apples?",
        "a boat",
        "the harbour log 17",
        "nothing",
    ] {
        for filter in ["", "boats/**", "type:text", "gone/**"] {
            let settings = retriever(filter);
            let found = search(&collection, question, &settings);
            assert_same(&found, &search(&local, question, &settings));
        }
    }
    assert_eq!(documents(&collection, "apples")[0], "apples.md");
    assert_eq!(
        (collection.card().documents, collection.card().chunks),
        (local.card().documents, local.card().chunks)
    );
    assert!(collection.is_current(&first.config().corpus).expect("read"));
    let traced = trace(&collection, "grows  APPLES", "Who grows apples?");
    assert_eq!(traced, [("apples.md".to_owned(), true)]);

    // what a reader without the folder has
    let elsewhere = reader(settings);
    assert_eq!(documents(&elsewhere, "apples")[0], "apples.md");
    assert_eq!(elsewhere.card().chunks, local.card().chunks);
    assert_eq!(
        elsewhere.documents().expect("read"),
        ["apples.md", "boats/sail.md", "log.txt"]
    );
    let chunks = elsewhere.document("log.txt").expect("read");
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let own = local.document("log.txt").expect("read");
    let own: Vec<&str> = own.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, own);
    let ids: Vec<u64> = chunks.iter().map(|chunk| chunk.id).collect();
    let vectors = elsewhere.vectors(&ids).expect("read");
    assert!(vectors.iter().all(|vector| {
        vector
            .as_ref()
            .is_some_and(|one| one.len() == common::WIDTH)
    }));
    let error = elsewhere.source("log.txt", [1, 1]).expect_err("elsewhere");
    assert!(
        error.to_string().contains("is not on this machine"),
        "{error}"
    );
    assert_eq!(
        first
            .open()
            .source("log.txt", [1, 1])
            .expect("here")
            .first_line,
        1
    );

    // a second machine
    let second =
        Machine::new(settings, &[("apples.md", "Cara bakes an apple pie.")]).named("kitchen");
    let both = second.index();
    assert_eq!(
        documents(&both, "apple pie")[0],
        "kitchen/apples.md",
        "with two parts, paths begin with theirs"
    );
    assert!(documents(&both, "apple pie").contains(&"garden/apples.md".to_owned()));
    assert_eq!(
        documents(&elsewhere, "apple pie")[0],
        "kitchen/apples.md",
        "an open reader sees the new part"
    );
    assert!(
        documents(&elsewhere, "apple pie").contains(&"apples.md".to_owned()),
        "and its paths stay what they were"
    );
    let filter = retriever("kitchen/**");
    let found = search(&both, "apple", &filter);
    assert_eq!(found.hits.len(), 1);
    assert_eq!(found.filter.map(|filter| filter.documents), Some(1));

    // changes and deletes
    drop((collection, local, both));
    first
        .corpus
        .write("boats/sail.md", "Bob repairs a lantern.");
    first.corpus.remove("log.txt");
    first.corpus.rename("apples.md", "pears.md");
    assert!(
        !first
            .open()
            .is_current(&first.config().corpus)
            .expect("read")
    );
    let changed = first.index();
    assert_eq!(
        changed.documents().expect("read"),
        [
            "garden/boats/sail.md",
            "garden/pears.md",
            "kitchen/apples.md"
        ]
    );
    assert_eq!(documents(&changed, "lantern")[0], "garden/boats/sail.md");
    assert!(
        documents(&changed, "harbour log")
            .iter()
            .all(|document| !document.ends_with("log.txt"))
    );
    let generation = changed.card().generation;
    drop(changed);
    assert_eq!(
        first.index().card().generation,
        generation,
        "no change, nothing to send"
    );
}

/// Checks that two searches found the same chunks with the same scores, up to half precision.
pub fn assert_same(found: &Retrieval, expected: &Retrieval) {
    let of = |retrieval: &Retrieval| -> Vec<(String, [u64; 2])> {
        let mut hits: Vec<_> = retrieval
            .hits
            .iter()
            .map(|hit| (hit.chunk.document.clone(), hit.chunk.bytes))
            .collect();
        // chunks with equal scores are in any order
        hits.sort();
        hits
    };
    assert_eq!(of(found), of(expected), "{}", found.query);
    assert_eq!(found.filter, expected.filter);
    for hit in &found.hits {
        let same = expected.hits.iter().find(|other| {
            other.chunk.document == hit.chunk.document && other.chunk.bytes == hit.chunk.bytes
        });
        let same = same.expect("the same hit");
        let is_near = |a: Option<ragscope::event::Ranked>, b: Option<ragscope::event::Ranked>| {
            a.map_or(0.0, |a| a.score) - b.map_or(0.0, |b| b.score)
        };
        let distance = is_near(hit.bm25, same.bm25).abs();
        assert!(distance < 1e-4, "{distance} of BM25: {}", found.query);
        let distance = is_near(hit.vector, same.vector).abs();
        assert!(distance < 1e-3, "{distance} of cosine: {}", found.query);
    }
}
