//! A corpus in a real PostgreSQL with pgvector.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use postgres::{Client, Config as Connection, NoTls};
use ragscope::config::{Config, IndexSettings, Paths};
use ragscope::engine::Worker;
use ragscope::event::{Flow, StopFlag};
use ragscope::index::{Collection, Search as _, Update};
use ragscope::llm::{Embedder as _, load_embedder};

use super::common::{self, Machine, documents, reader};
use crate::index::common as local;
use crate::support::child;

const ADDRESS: &str = "RAGSCOPE_POSTGRES";
const KEY: &str = "RAGSCOPE_POSTGRES_KEY";

/// Returns the settings of a new collection.
fn settings(collection: &str) -> IndexSettings {
    let settings = existing(collection);
    let drop_it = format!("drop schema if exists {collection} cascade");
    client().batch_execute(&drop_it).expect("dropped");
    settings
}

fn existing(collection: &str) -> IndexSettings {
    let mut settings = Config::default().index;
    settings.url = std::env::var(ADDRESS).expect("`make test-postgres` starts a database");
    settings.key = format!("env:{KEY}");
    settings.collection = collection.to_owned();
    settings
}

fn client() -> Client {
    let address = std::env::var(ADDRESS).expect("`make test-postgres` starts a database");
    let mut connection: Connection = address.parse().expect("an address");
    connection.password(std::env::var(KEY).expect("a password"));
    connection.connect(NoTls).expect("a connection")
}

fn count(table: &str) -> i64 {
    let asked = format!("select count(*) from {table}");
    client().query_one(&asked, &[]).expect("a count").get(0)
}

#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_several_machines_are_one_corpus() {
    let settings = settings("machines");
    common::several_machines_are_one_corpus(&settings);

    // deletes are complete: nothing is left of what readers cannot see
    let chunks = i64::try_from(reader(&settings).card().chunks).expect("a count");
    assert_eq!(count("machines.chunk"), chunks);
    assert_eq!(count("machines.vector"), chunks);
    assert_eq!(count("machines.staged_vector"), 0);
    assert_eq!(count("machines.document where not live"), 0);
    assert_eq!(count("machines.posting where word like 'harbour%'"), 0);
}

#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_failures_say_what_to_do() {
    let wanted = settings("failures");
    let garden: &[(&str, &str)] = &[("a.md", "Ann grows apples.")];
    let check = |machine: &Machine, embedder: &str, error: &str, advice: &str| {
        let problem = machine.index_by(embedder).err().expect(error);
        assert!(problem.error.contains(error), "{problem:?}");
        let given = problem.advice.clone().unwrap_or_default();
        assert!(given.contains(advice), "{problem:?}");
        let secret = std::env::var(KEY).expect("a password");
        assert!(!format!("{problem:?}").contains(&secret));
    };
    let with = |change: &dyn Fn(&mut IndexSettings)| {
        let mut settings = wanted.clone();
        change(&mut settings);
        Machine::new(&settings, garden)
    };

    let down = with(&|settings| settings.url = "postgres://me@127.0.0.1:1/x".to_owned());
    check(
        &down,
        "one",
        "127.0.0.1:1/x cannot be reached",
        "index.url=",
    );
    let denied = with(&|settings| settings.key = format!("env:{ADDRESS}"));
    check(
        &denied,
        "one",
        "refuses the user or the password",
        "index.key",
    );
    let without = with(&|settings| settings.key = String::new());
    check(
        &without,
        "one",
        "refuses the user or the password",
        "index.key",
    );
    let other = with(&|settings| settings.url = settings.url.replace("/postgres", "/gone"));
    check(&other, "one", "does not exist", "log of the server");
    let named = with(&|settings| settings.collection = "a-b".to_owned());
    check(&named, "one", "is not a valid name", "lower-case");
    let open = with(&|settings| settings.url = "postgres://me:pw@127.0.0.1/x".to_owned());
    check(&open, "one", "holds a password", "index.key");

    // another embedder beside a part of the first, of the same width and of another
    let first = Machine::new(&wanted, garden).named("first");
    first.index();
    let second = Machine::new(&wanted, garden).named("second");
    check(&second, "two", "by another embedder", "index.collection");
    client()
        .batch_execute("update failures.meta set width = 32")
        .expect("changed");
    check(&second, "one", "vectors of 32 numbers", "index.collection");
    client()
        .batch_execute("update failures.meta set width = 64")
        .expect("changed");

    // a folder of the same name elsewhere
    let taken = Machine::new(&wanted, garden);
    taken.index();
    check(
        &Machine::new(&wanted, garden),
        "one",
        "belongs to",
        "index.part",
    );

    // another writer
    let mut holder = client();
    let hash = blake3::hash(b"ragscope/failures");
    let bytes = [0, 1, 2, 3].map(|at| hash.as_bytes()[at]);
    let collection = i32::from_le_bytes(bytes);
    holder
        .query("select pg_advisory_lock($1, 0)", &[&collection])
        .expect("locked");
    first.corpus.write("b.md", "Bob sails.");
    check(
        &first,
        "one",
        "another ragscope is writing the part first",
        "questions work",
    );
    assert_eq!(
        documents(&first.open(), "apples").len(),
        2,
        "readers continue"
    );
    drop(holder);

    // a collection of another version is neither read nor written
    client()
        .batch_execute("update failures.meta set version = 7")
        .expect("changed");
    check(
        &first,
        "one",
        "has format 7 and this program reads",
        "index.collection",
    );
}

#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_takes_another_embedder_where_it_has_one_part() {
    let settings = settings("embedders");
    let machine = Machine::new(&settings, &[("a.md", "Ann grows apples.")]);
    machine.index();
    let collection = machine.index_by("two").expect("indexed again");
    assert_eq!(count("embedders.vector"), 1);
    let known: String = client()
        .query_one("select embedder from embedders.meta", &[])
        .expect("known")
        .get(0);
    assert_eq!(known, "two");
    drop(collection);

    let mut words = machine.config();
    words.retriever.kind = ragscope::config::RetrieverKind::Bm25;
    words.chunker.max_tokens = 99;
    let mut collection = machine.open();
    let mut embedder = local::WordEmbedder::new("two");
    let updated = collection.update(&words, &mut embedder, &local::counter(), &mut |_| {
        Flow::Continue
    });
    updated.expect("without vectors");
    assert!(collection.lacks_vectors());
    assert_eq!(documents(&reader(&settings), "apples"), ["a.md"]);
}

/// Sends a folder to the collection, and prints when it begins and how it ends.
fn send_aloud(home: &Path) {
    let mut settings = existing("kills");
    settings.part = "kills".to_owned();
    let mut config = local::config();
    config.index = settings.clone();
    config.chunker.max_tokens = 32;
    config.chunker.overlap_tokens = 0;
    let folders = [home.join("docs")];
    let mut collection = Collection::open(&folders, &home.join("indexes"))
        .and_then(|collection| collection.connect(&settings, &folders))
        .expect("a collection");
    let mut embedder = local::WordEmbedder::new("one");
    println!("begun");
    let updated = collection.update(&config, &mut embedder, &local::counter(), &mut |_| {
        Flow::Continue
    });
    match updated {
        Ok(_) => println!("done {}", collection.card().chunks),
        Err(error) => println!("failed {}", crate::support::shown(&error)),
    }
}

fn start(home: &Path) -> Child {
    let name = "postgres_a_kill_at_any_moment_loses_and_doubles_nothing";
    let mut child = child::command(module_path!(), name, home);
    child.spawn().expect("a child")
}

fn finish(mut child: Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let lines = lines.map_while(Result::ok).collect();
    child.wait().expect("its end");
    lines
}

#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_a_kill_at_any_moment_loses_and_doubles_nothing() {
    if let Some(home) = child::task() {
        return send_aloud(Path::new(&home));
    }

    let settings = settings("kills");
    let corpus = local::Corpus::with(&[("old.md", "Ann grows apples.")]);
    let home = corpus.folder().parent().expect("a home").to_owned();
    let lines = finish(start(&home));
    assert!(lines.iter().any(|line| line == "done 1"), "{lines:?}");

    let mut killed = 0;
    // how long a round takes that nobody kills: the first
    let mut whole = Duration::from_secs(60);
    let mut staged_once = false;
    for round in 0..16 {
        // each round changes all documents, so that there is always something to send
        for i in 0..150 {
            let text: String = (0..60)
                .map(|line| format!("Round {round} of document {i} says in line {line} so. "))
                .collect();
            corpus.write(&format!("{i:03}.txt"), &text);
        }
        let before = reader(&settings).card();
        let mut child = start(&home);
        let mut output = BufReader::new(child.stdout.take().expect("its output"))
            .lines()
            .map_while(Result::ok);
        output.by_ref().find(|line| line == "begun");
        let begun = Instant::now();
        let moment = if round == 0 {
            whole
        } else {
            whole * round / 16
        };
        while begun.elapsed() < moment && child.try_wait().expect("known").is_none() {
            std::hint::spin_loop();
        }
        if round == 0 {
            whole = begun.elapsed();
        }
        child.kill().expect("killed");
        killed += u32::from(!child.wait().expect("its end").success());
        staged_once |= count("kills.document where not live") > 0;

        let collection = reader(&settings);
        let after = collection.card();
        let is_old = after == before;
        assert!(
            is_old || after.documents == 151,
            "a reader sees the old generation or the new one: {after:?}"
        );
        assert_eq!(documents(&collection, "Who grows apples?")[0], "old.md");
    }
    assert!(
        killed > 7,
        "only {killed} of 15 were killed while they worked"
    );

    let lines = finish(start(&home));
    let done: i64 = lines
        .iter()
        .find_map(|line| line.strip_prefix("done ")?.parse().ok())
        .unwrap_or_else(|| panic!("{lines:?}"));
    assert!(done > 1500, "{done} chunks");
    assert!(staged_once, "no kill met a half sent generation");
    for table in ["kills.chunk", "kills.vector"] {
        assert_eq!(count(table), done, "{table}");
    }
    assert_eq!(count("kills.document"), 151);
    assert_eq!(count("kills.staged_vector"), 0);
    let words: i64 = client()
        .query_one(
            "select sum(count)::bigint from kills.posting where word = 'round'",
            &[],
        )
        .expect("a sum")
        .get(0);
    assert!(words > 0 && words < done, "a chunk has a word once");
}

/// The settings of an evaluation: the questions of the demo, and its corpus here and in the
/// database.
#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_finds_what_the_local_index_finds_for_300_questions() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let home = tempfile::tempdir().expect("a folder");
    let mut settings = settings("demo");
    settings.part = "demo".to_owned();
    let mut config = local::config();
    config.index = settings.clone();
    let folders = [demo.join("corpus")];
    let mut embedder = load_embedder(
        &crate::llm::runtime(),
        &local::bundled_embedder(),
        &config.embedder,
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    )
    .expect("the bundled embedder");
    let mut distributed = Collection::open(&folders, home.path())
        .and_then(|collection| collection.connect(&settings, &folders))
        .expect("a collection");
    let counter = local::counter();
    distributed
        .update(&config, &mut embedder, &counter, &mut |_| Flow::Continue)
        .expect("indexed");
    let local = Collection::open(&folders, home.path()).expect("local");

    let questions = std::fs::read_to_string(demo.join("questions.jsonl")).expect("questions");
    let fingerprint = embedder.card().fingerprint.clone();
    let mut same: BTreeMap<&str, f64> = BTreeMap::new();
    let mut largest = [0.0_f32; 2];
    let mut asked = 0.0;
    for line in questions.lines() {
        let question: serde_json::Value = serde_json::from_str(line).expect("a question");
        let question = question["question"].as_str().expect("its text");
        let vector = embedder
            .embed_queries(&[question])
            .expect("a vector")
            .remove(0);
        let of = |collection: &Collection| {
            let found = collection.search(question, &vector, &fingerprint, &config.retriever);
            found.expect("hits").hits
        };
        let (here, there) = (of(&local), of(&distributed));
        let ids = |hits: &[ragscope::event::Hit], count: usize| -> Vec<(String, [u64; 2])> {
            let best = hits.iter().take(count);
            best.map(|hit| (hit.chunk.document.clone(), hit.chunk.bytes))
                .collect()
        };
        let overlap = |count: usize| {
            let expected = ids(&here, count);
            let found = ids(&there, count);
            let common = expected.iter().filter(|one| found.contains(one)).count();
            common as f64 / expected.len().max(1) as f64
        };
        asked += 1.0;
        *same.entry("overlap of the best 5").or_default() += overlap(5);
        *same.entry("overlap of the best 10").or_default() += overlap(10);
        *same.entry("same first chunk").or_default() += overlap(1);
        let k = config.retriever.k as usize;
        *same.entry("same context in the same order").or_default() +=
            f64::from(u8::from(ids(&here, k) == ids(&there, k)));
        for hit in &here {
            let other = there.iter().find(|other| {
                other.chunk.document == hit.chunk.document && other.chunk.bytes == hit.chunk.bytes
            });
            let Some(other) = other else { continue };
            if let (Some(a), Some(b)) = (hit.bm25, other.bm25) {
                largest[0] = largest[0].max((a.score - b.score).abs());
            }
            if let (Some(a), Some(b)) = (hit.vector, other.vector) {
                largest[1] = largest[1].max((a.score - b.score).abs());
            }
        }
    }
    assert!(asked >= 300.0, "{asked} questions");
    for (what, sum) in &same {
        println!("{what}: {:.4}", sum / asked);
    }
    println!(
        "largest difference: {} of BM25, {} of cosine",
        largest[0], largest[1]
    );
    assert!(largest[0] < 1e-4 && largest[1] < 1e-3, "{largest:?}");
    assert!(same["overlap of the best 5"] / asked > 0.995);
    assert!(same["overlap of the best 10"] / asked > 0.995);
    assert!(same["same context in the same order"] / asked > 0.97);
}

#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_is_searched_by_the_program_without_a_folder() {
    let settings = settings("program");
    let machine = Machine::new(&settings, &[("a.md", "Ann grows apples in the garden.")]);
    let layers = crate::support::environment::small_settings();
    let keys = [
        ("index.url", settings.url.clone()),
        ("index.key", settings.key.clone()),
        ("index.collection", settings.collection.clone()),
    ];
    let keys: Vec<(String, String)> = keys
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let layers = layers.with(&keys).expect("settings");
    let worker = |home: &str| {
        let paths = Paths::under(machine.corpus.folder().with_file_name(home));
        Worker::new(layers.clone(), paths, StopFlag::default())
    };
    let mut writer = worker("writer");
    let folder = machine.corpus.folder();
    writer
        .open(std::slice::from_ref(&folder), false, &mut |_| {
            Flow::Continue
        })
        .expect("opened");
    writer.update(&mut |_| Flow::Continue).expect("indexed");

    let mut only_reads = worker("reader");
    let address = PathBuf::from(&settings.url);
    only_reads
        .open(std::slice::from_ref(&address), false, &mut |_| {
            Flow::Continue
        })
        .expect("opened");
    assert!(
        only_reads
            .refresh(&mut |_| Flow::Continue)
            .expect("current")
    );
    let found = only_reads
        .search("Who grows apples?", &[], &mut |_| Flow::Continue)
        .expect("hits");
    assert_eq!(found.hits[0].chunk.document, "a.md");
    assert!(found.hits[0].vector.is_some(), "by its vector, too");
    let report = only_reads
        .update(&mut |_| Flow::Continue)
        .expect("nothing to do");
    let report = report.expect("not interrupted");
    assert_eq!((report.unchanged, report.added), (1, 0));
}

/// More chunks than are compared one by one, and fewer than the local index has a graph for: it is
/// exact.
#[test]
#[ignore = "needs a database: make test-postgres"]
fn postgres_searches_its_graph_and_filters_beside_it() {
    let settings = settings("graph");
    let machine = Machine::new(&settings, &[]);
    let word = |seed: u64| format!("w{}", blake3::hash(&seed.to_le_bytes()).as_bytes()[0]);
    for file in 0..300_u64 {
        let sentences: String = (0..200)
            .map(|line| {
                let seed = (file * 200 + line) * 7;
                let words: Vec<String> = (seed..seed + 7).map(word).collect();
                format!("Line {line} has {}. ", words.join(" "))
            })
            .collect();
        machine.corpus.write(&format!("{file:03}.txt"), &sentences);
    }
    let mut config = machine.config();
    config.chunker.max_sentences = 1;
    config.chunker.overlap_tokens = 0;
    let mut collection = machine.open();
    let mut embedder = local::WordEmbedder::new("one");
    // all is published when the graph is begun: a stop costs only the graph
    let is_building = || {
        let asked = "select count(*) from pg_stat_activity where state = 'active' and query like 'create index%vector_graph%'";
        let row = client().query_one(asked, &[]).expect("known");
        row.get::<_, i64>(0) > 0
    };
    let mut stop_at_the_graph = |_| {
        if is_building() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    };
    let counter = local::counter();
    let updated = collection.update(&config, &mut embedder, &counter, &mut stop_at_the_graph);
    assert_eq!(updated.expect("stopped"), Update::Interrupted);
    assert!(!is_building(), "the statement is cancelled");
    assert!(reader(&settings).card().chunks > 60_000);
    let updated = collection.update(&config, &mut embedder, &counter, &mut |_| Flow::Continue);
    assert!(matches!(updated, Ok(Update::Finished(_))));
    assert!((60_000..65_000).contains(&collection.card().chunks));
    let built: bool = client()
        .query_one("select to_regclass('graph.vector_graph') is not null", &[])
        .expect("known")
        .get(0);
    assert!(built, "the graph is built");
    let exact = Collection::open(&[machine.corpus.folder()], &machine.corpus.indexes());
    let exact = exact.expect("local");

    for (filter, least) in [("", 0.95), ("type:text", 0.95), ("1*.txt", 1.0)] {
        let mut retriever = common::retriever(filter);
        retriever.kind = ragscope::config::RetrieverKind::Vectors;
        let mut found = 0;
        for question in 0..40_u64 {
            let words: Vec<String> = (question * 5..question * 5 + 6).map(word).collect();
            let question = words.join(" ");
            let scores = |collection: &Collection| -> Vec<f32> {
                let hits = common::search(collection, &question, &retriever).hits;
                assert!(hits.len() >= 50, "{} hits with `{filter}`", hits.len());
                let scores = hits.iter().filter_map(|hit| hit.vector);
                scores.take(10).map(|vector| vector.score).collect()
            };
            // many chunks are equally near: what counts is how near the found ones are
            let tenth = scores(&exact)[9];
            let near = scores(&collection).into_iter();
            found += near.filter(|score| *score > tenth - 1e-3).count();
        }
        let share = found as f64 / 400.0;
        println!("`{filter}`: {share:.3} of the ten nearest");
        assert!(share >= least, "{share} with `{filter}`");
    }
}
