//! The index under load: hybrid search at 100,000 chunks, recall against exact search, rescanning,
//! indexing rate and memory.
//!
//! Each figure is printed as `name: value unit` for `benches/RESULTS.md`;
//! the search latency also goes through criterion. The large index stays in the target folder, so
//! that the next run starts at once.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod database;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use criterion::Criterion;
use ragscope::config::{Config, RetrieverSettings};
use ragscope::corpus::TokenCounter;
use ragscope::event::{Flow, IndexReport, StopFlag};
use ragscope::index::{Collection, Search as _, Update};
use ragscope::llm::{Embedder, Runtime, load_embedder};

mod synthetic;
use synthetic::{FINGERPRINT, Space, Synthetic, WIDTH, config, dot, print_figure, timed, words};

const LARGE: u64 = 100_000;
const QUERIES: u64 = 200;
/// Set in the processes that measure memory: the number of documents to index.
const MEMORY_RUN: &str = "RAGSCOPE_BENCH_DOCUMENTS";

/// Set to measure an index in PostgreSQL instead: its number of chunks.
const DATABASE_CHUNKS: &str = "BENCH_DATABASE_CHUNKS";

fn main() {
    if let Ok(documents) = std::env::var(MEMORY_RUN) {
        return memory_run(documents.parse().expect("a number"));
    }
    // `cargo test --benches` only checks that the program starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    if let Ok(chunks) = std::env::var(DATABASE_CHUNKS) {
        return database::run(chunks.parse().expect("a number"));
    }
    search();
    rescan();
    indexing_rate();
    memory();
}

fn search() {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("bench-index")
        .join(FINGERPRINT);
    let folder = home.join("docs");
    let indexes = home.join("indexes");
    write_documents(&folder, LARGE);
    let mut embedder = Synthetic::new();
    let mut index = Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index");
    let report = update(&mut index, &mut embedder);
    print_figure(
        "documents in the large index",
        report.corpus.documents as f64,
        "",
    );
    if report.added > 0 {
        print_figure(
            "building the large index, graph included",
            report.wall_ms as f64 / 1000.0,
            "s",
        );
    }

    drop(index);
    let (index, seconds) =
        timed(|| Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index"));
    print_figure("opening it, all checksums verified", seconds * 1000.0, "ms");

    let settings = config().retriever;
    let queries: Vec<(String, Vec<f32>)> = (0..QUERIES)
        .map(|i| (question(LARGE + i), embedder.space.vector(LARGE + i)))
        .collect();
    let recall = recall(&index, &embedder.space, &queries, &settings);
    print_figure("vector recall@10 against exact search", recall, "");

    search_latency(&index, &queries, &settings);
}

fn search_latency(
    index: &Collection,
    queries: &[(String, Vec<f32>)],
    settings: &RetrieverSettings,
) {
    let search = |(query, vector): &(String, Vec<f32>)| {
        index
            .search(query, vector, FINGERPRINT, settings)
            .expect("hits")
    };
    let mut times: Vec<f64> = Vec::new();
    for query in queries.iter().cycle().take(queries.len() * 5) {
        let (_, seconds) = timed(|| search(query));
        times.push(seconds * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    print_figure("hybrid search p50", times[times.len() / 2], "ms");
    print_figure("hybrid search p99", times[times.len() * 99 / 100], "ms");

    let mut next = queries.iter().cycle();
    Criterion::default().without_plots().bench_function(
        "hybrid search at 100,000 chunks",
        |bencher| {
            bencher.iter(|| next.next().map(|query| black_box(search(query))));
        },
    );
}

/// Returns the share of the ten nearest chunks that a search by vector alone finds.
fn recall(
    index: &Collection,
    space: &Space,
    queries: &[(String, Vec<f32>)],
    settings: &RetrieverSettings,
) -> f64 {
    let vectors: Vec<Vec<f32>> = (0..LARGE).map(|i| space.vector(i)).collect();
    let settings = RetrieverSettings {
        bm25_weight: 0.0,
        ..settings.clone()
    };

    let mut found = 0;
    for (_, query) in queries {
        let mut exact: Vec<(f32, u64)> = (0..LARGE)
            .zip(&vectors)
            .map(|(i, vector)| (dot(query, vector), i))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let nearest: Vec<String> = exact[..10].iter().map(|(_, i)| path(*i)).collect();

        let hits = index
            .search("", query, FINGERPRINT, &settings)
            .expect("hits")
            .hits;
        found += hits
            .iter()
            .take(10)
            .filter(|hit| nearest.contains(&hit.chunk.document))
            .count();
    }
    found as f64 / (10 * queries.len()) as f64
}

fn rescan() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("docs");
    let indexes = home.path().join("indexes");
    write_documents(&folder, 10_000);
    let mut embedder = Synthetic::new();
    let mut index = Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index");
    update(&mut index, &mut embedder);

    let (report, seconds) = timed(|| update(&mut index, &mut embedder));
    assert_eq!(report.unchanged, 10_000);
    print_figure("rescan of 10,000 unchanged files", seconds * 1000.0, "ms");

    drop(index);
    let (_, seconds) = timed(|| {
        let mut index =
            Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index");
        update(&mut index, &mut embedder)
    });
    print_figure("opening its index and rescanning", seconds * 1000.0, "ms");
}

/// Measures the bundled embedder alone over the chunks of a corpus, and a whole update that embeds
/// the same chunks.
fn indexing_rate() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("docs");
    for i in 0..2 {
        let document: String = (0..60).map(|line| text(i * 1000 + line) + "\n\n").collect();
        write(&folder.join(format!("{i}.txt")), &document);
    }
    let runtime = Runtime::start(&home.path().join("log")).expect("llama.cpp starts");
    let settings = config().embedder;
    let mut embedder = load_embedder(
        &runtime,
        &bundled_embedder(),
        &settings,
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    )
    .expect("the bundled embedder");

    let mut warm = Collection::open(std::slice::from_ref(&folder), &home.path().join("warm"))
        .expect("an index");
    update(&mut warm, &mut embedder);
    let texts = all_chunks(&warm, &embedder.card().fingerprint);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();

    // Three rounds by turns, the best of each, since the machine may have other work.
    let mut bare = f64::INFINITY;
    let mut whole = f64::INFINITY;
    for round in 0..3 {
        let (_, seconds) = timed(|| embedder.embed(&texts).expect("vectors"));
        bare = bare.min(seconds);

        let indexes = home.path().join(format!("indexes-{round}"));
        let mut index =
            Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index");
        let (report, seconds) = timed(|| update(&mut index, &mut embedder));
        assert_eq!(report.embedded as usize, texts.len());
        whole = whole.min(seconds);
    }
    print_figure("bare embedding", texts.len() as f64 / bare, "chunks/s");
    print_figure("indexing", texts.len() as f64 / whole, "chunks/s");
    print_figure("indexing against bare embedding", bare / whole * 100.0, "%");
}

fn all_chunks(index: &Collection, embedder: &str) -> Vec<String> {
    let settings = RetrieverSettings {
        pool: 100_000,
        ..config().retriever
    };
    let mut vector = vec![0.0; WIDTH];
    vector[0] = 1.0;
    let found = index
        .search("", &vector, embedder, &settings)
        .expect("all chunks");
    found.hits.into_iter().map(|hit| hit.chunk.text).collect()
}

fn memory() {
    for documents in [5_000, 20_000] {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .env(MEMORY_RUN, documents.to_string())
            .output()
            .expect("a process of its own");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn memory_run(documents: u64) {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("docs");
    write_documents(&folder, documents);
    let counter = counter();
    let before = peak_mib();

    let mut index = Collection::open(std::slice::from_ref(&folder), &home.path().join("indexes"))
        .expect("an index");
    index
        .update(&config(), &mut Synthetic::new(), &counter, &mut |_| {
            Flow::Continue
        })
        .expect("an update");

    let vectors = documents as f64 * WIDTH as f64 * 4.0 / 1_048_576.0;
    print_figure(
        &format!("peak memory of indexing {documents} chunks"),
        peak_mib(),
        "MiB",
    );
    print_figure("  of which before the start", before, "MiB");
    print_figure("  of which vectors", vectors, "MiB");
}

/// Returns the peak memory of this process, as Linux reports it.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn update(index: &mut Collection, embedder: &mut dyn Embedder) -> IndexReport {
    match index
        .update(&config(), embedder, &counter(), &mut |_| Flow::Continue)
        .expect("an update")
    {
        Update::Finished(report) => *report,
        Update::Interrupted => unreachable!("the observer always continues"),
    }
}

fn bundled_embedder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf")
}

fn counter() -> TokenCounter {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-index.log");
    let runtime = Runtime::start(&log).expect("llama.cpp starts");
    TokenCounter::from_gguf(&bundled_embedder(), &runtime).expect("the bundled vocabulary")
}

fn path(i: u64) -> String {
    format!("{:03}/{i:06}.txt", i / 500)
}

fn write_documents(folder: &Path, count: u64) {
    for i in 0..count {
        let file = folder.join(path(i));
        if !file.exists() {
            write(&file, &text(i));
        }
    }
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("written");
}

/// Returns a text of 60 words, distributed as those of a language are.
fn text(i: u64) -> String {
    format!("Item {i}. {}.", words(i, 60))
}

/// Returns twelve words of the text of a number.
fn question(i: u64) -> String {
    let text = text(i);
    let words: Vec<&str> = text.split(' ').skip(2).take(12).collect();
    words.join(" ")
}
