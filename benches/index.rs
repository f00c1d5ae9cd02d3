//! The index under load: hybrid search at 100,000 chunks, recall against exact search, rescanning, indexing rate and memory.
//!
//! Vectors are as embeddings are: clusters with about 32 directions inside 384 numbers, and some noise. Each figure is printed as
//! `name: value unit` for `benches/RESULTS.md`; the search latency also goes through criterion. The large index stays in the
//! target folder, so that the next run begins at once.

#![allow(clippy::print_stdout)] // figures go to stdout

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use ragscope::config::{Config, Layers, RetrieverSettings};
use ragscope::corpus::TokenCounter;
use ragscope::event::{Flow, IndexReport, ModelCard, ModelRole, StopFlag};
use ragscope::index::{Index, Update};
use ragscope::llm::{Embedder, LlmError, Runtime, load_embedder};

const WIDTH: usize = 384;
/// Of the embedder that costs nothing.
const FINGERPRINT: &str = "synthetic 1";
const DIRECTIONS: usize = 32;
const CLUSTERS: u64 = 500;
const LARGE: u64 = 100_000;
const QUERIES: u64 = 200;
/// Set in the processes that measure memory: how many documents to index.
const MEMORY_RUN: &str = "RAGSCOPE_BENCH_DOCUMENTS";

fn main() {
    if let Ok(documents) = std::env::var(MEMORY_RUN) {
        return memory_run(documents.parse().expect("a number"));
    }
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // `cargo test --benches` only asks whether it runs
    }
    search();
    rescan();
    indexing_rate();
    memory();
}

fn search() {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-index");
    let folder = home.join("docs");
    write_documents(&folder, LARGE);
    let mut embedder = Synthetic::new();
    let mut index = Index::open(&folder, &home.join("indexes")).expect("an index");
    let report = update(&mut index, &mut embedder);
    say(
        "documents in the large index",
        report.corpus.documents as f64,
        "",
    );
    if report.added > 0 {
        say(
            "building the large index, graph included",
            report.wall_ms as f64 / 1000.0,
            "s",
        );
    }
    drop(index);
    let (index, seconds) = timed(|| Index::open(&folder, &home.join("indexes")).expect("an index"));
    say("opening it, all checksums verified", seconds * 1000.0, "ms");

    let settings = config().retriever;
    let queries: Vec<(String, Vec<f32>)> = (0..QUERIES)
        .map(|i| (question(LARGE + i), embedder.space.vector(LARGE + i)))
        .collect();
    let found = recall(&index, &embedder.space, &queries, &settings);
    say("vector recall@10 against exact search", found, "");
    let mut times: Vec<f64> = Vec::new();
    for (query, vector) in queries.iter().cycle().take(queries.len() * 5) {
        times.push(
            timed(|| {
                index
                    .search(query, vector, FINGERPRINT, &settings)
                    .expect("an answer")
            })
            .1 * 1000.0,
        );
    }
    times.sort_by(f64::total_cmp);
    say("hybrid search p50", times[times.len() / 2], "ms");
    say("hybrid search p99", times[times.len() * 99 / 100], "ms");
    let mut next = queries.iter().cycle();
    Criterion::default().without_plots().bench_function(
        "hybrid search at 100,000 chunks",
        |bencher| {
            bencher.iter(|| {
                next.next().map(|(query, vector)| {
                    black_box(index.search(query, vector, FINGERPRINT, &settings))
                })
            });
        },
    );
}

/// The share of the ten nearest chunks that a search by vector alone finds.
fn recall(
    index: &Index,
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
            .expect("an answer")
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
    let (folder, indexes) = (home.path().join("docs"), home.path().join("indexes"));
    write_documents(&folder, 10_000);
    let mut embedder = Synthetic::new();
    let mut index = Index::open(&folder, &indexes).expect("an index");
    update(&mut index, &mut embedder);
    let (report, seconds) = timed(|| update(&mut index, &mut embedder));
    assert_eq!(report.unchanged, 10_000);
    say("rescan of 10,000 unchanged files", seconds * 1000.0, "ms");
    drop(index);
    let (_, seconds) = timed(|| {
        update(
            &mut Index::open(&folder, &indexes).expect("an index"),
            &mut embedder,
        )
    });
    say("opening its index and rescanning", seconds * 1000.0, "ms");
}

/// The bundled embedder alone over the chunks of a corpus, and a whole update that has it embed the same chunks.
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
    let mut warm = Index::open(&folder, &home.path().join("warm")).expect("an index");
    update(&mut warm, &mut embedder);
    let texts = all_chunks(&warm, &embedder.card().fingerprint);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    // three rounds by turns, best of each: the machine may have other things to do
    let (mut bare, mut whole) = (f64::INFINITY, f64::INFINITY);
    for round in 0..3 {
        bare = bare.min(timed(|| embedder.embed(&texts).expect("vectors")).1);
        let mut index =
            Index::open(&folder, &home.path().join(format!("indexes-{round}"))).expect("an index");
        let (report, seconds) = timed(|| update(&mut index, &mut embedder));
        assert_eq!(report.embedded as usize, texts.len());
        whole = whole.min(seconds);
    }
    say("bare embedding", texts.len() as f64 / bare, "chunks/s");
    say("indexing", texts.len() as f64 / whole, "chunks/s");
    say("indexing against bare embedding", bare / whole * 100.0, "%");
}

fn all_chunks(index: &Index, embedder: &str) -> Vec<String> {
    let settings = RetrieverSettings {
        pool: 100_000,
        ..config().retriever
    };
    let mut middle = vec![0.0; WIDTH];
    middle[0] = 1.0;
    let found = index
        .search("", &middle, embedder, &settings)
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
    let mut index = Index::open(&folder, &home.path().join("indexes")).expect("an index");
    index
        .update(&config(), &mut Synthetic::new(), &counter, &mut |_| {
            Flow::Continue
        })
        .expect("an update");
    let vectors = documents as f64 * WIDTH as f64 * 4.0 / 1_048_576.0;
    say(
        &format!("peak memory of indexing {documents} chunks"),
        peak_mib(),
        "MiB",
    );
    say("  of which before it began", before, "MiB");
    say("  of which vectors", vectors, "MiB");
}

/// The most memory that this process has held.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn update(index: &mut Index, embedder: &mut dyn Embedder) -> IndexReport {
    match index
        .update(&config(), embedder, &counter(), &mut |_| Flow::Continue)
        .expect("an update")
    {
        Update::Finished(report) => report,
        Update::Interrupted => unreachable!("nobody interrupts"),
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let done = work();
    (
        done,
        started
            .elapsed()
            .as_secs_f64()
            .max(Duration::from_nanos(1).as_secs_f64()),
    )
}

#[allow(clippy::print_stdout)] // the figures are what a bench is for
fn say(name: &str, value: f64, unit: &str) {
    println!("{name}: {value:.3} {unit}");
}

fn config() -> Config {
    Layers::defaults().config().expect("the defaults")
}

fn bundled_embedder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf")
}

fn counter() -> TokenCounter {
    TokenCounter::from_gguf(&bundled_embedder()).expect("the bundled vocabulary")
}

// ── documents and vectors from numbers ──────────────────────────────────────────────────────────────────────────────

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

/// About 60 words whose frequencies fall as those of a language do.
fn text(i: u64) -> String {
    let mut random = Random::new(i);
    let words = (0..60).map(|_| {
        let rank = (20_000f32.powf(random.unit())) as u64;
        let mut letters = Random::new(rank ^ 0xabcdef);
        (0..3 + rank.ilog2().min(6))
            .map(|_| char::from(b'a' + (letters.next() % 26) as u8))
            .collect::<String>()
    });
    format!("Item {i}. {}.", words.collect::<Vec<_>>().join(" "))
}

/// Twelve words of such a text.
fn question(i: u64) -> String {
    text(i)
        .split(' ')
        .skip(2)
        .take(12)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Where vectors lie.
struct Space {
    /// Each direction of the small space as one of the large.
    directions: Vec<Vec<f32>>,
}

impl Space {
    fn new() -> Self {
        Self {
            directions: (0..DIRECTIONS as u64)
                .map(|i| Random::new(i ^ 0x5eed).normals(WIDTH))
                .collect(),
        }
    }

    /// The unit vector of item `i`.
    fn vector(&self, i: u64) -> Vec<f32> {
        let mut random = Random::new(i ^ 0x7ec7);
        let centre = Random::new((random.next() % CLUSTERS) ^ 0xce27).normals(DIRECTIONS);
        let inside = random.normals(DIRECTIONS);
        let mut vector: Vec<f32> = random
            .normals(WIDTH)
            .into_iter()
            .map(|noise| noise * 0.5)
            .collect();
        for ((direction, centre), inside) in self.directions.iter().zip(centre).zip(inside) {
            vector
                .iter_mut()
                .zip(direction)
                .for_each(|(sum, number)| *sum += number * (centre + 0.7 * inside));
        }
        let length = dot(&vector, &vector).sqrt();
        vector.into_iter().map(|number| number / length).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// An embedder that costs nothing: it reads the item's number.
struct Synthetic {
    card: ModelCard,
    space: Space,
}

impl Synthetic {
    fn new() -> Self {
        let none = String::new;
        let card = ModelCard {
            role: ModelRole::Embedder,
            name: "synthetic".into(),
            file: none(),
            file_bytes: 0,
            fingerprint: FINGERPRINT.into(),
            architecture: none(),
            quantisation: none(),
            parameters: 0,
            layers: 0,
            gpu_layers: 0,
            device: "CPU".into(),
            width: WIDTH as u32,
            context_tokens: 512,
            chat_template: none(),
        };
        Self {
            card,
            space: Space::new(),
        }
    }
}

impl Embedder for Synthetic {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        let number = |text: &str| {
            text.split([' ', '.'])
                .nth(1)
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        Ok(texts
            .iter()
            .map(|text| self.space.vector(number(text)))
            .collect())
    }

    fn card(&self) -> &ModelCard {
        &self.card
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// About normal, with deviation 1.
    fn normals(&mut self, count: usize) -> Vec<f32> {
        (0..count)
            .map(|_| ((0..6).map(|_| self.unit()).sum::<f32>() - 3.0) * std::f32::consts::SQRT_2)
            .collect()
    }
}
