//! A large index: `cargo bench --bench scale -- 1000000` indexes that many chunks, 20 per file, and
//! prints the time of building and opening, recall against exact search, search latency, resident memory
//! and bytes on disk. Without a number, nothing is measured.
//!
//! Vectors are synthetic, so that no time is spent on embedding. The index stays in the target folder: a
//! second run measures searches alone, and one that follows a kill continues building. Each figure is
//! printed as `name: value unit` for `benches/RESULTS.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use ragscope::config::{Config, RetrieverKind, RetrieverSettings};
use ragscope::corpus::TokenCounter;
use ragscope::event::Flow;
use ragscope::index::{Collection, Search as _, Update};
use ragscope::llm::Runtime;
use rayon::prelude::*;

mod synthetic;
use synthetic::{FINGERPRINT, Space, Synthetic, dot, print_figure, timed, words};

const CHUNKS_PER_FILE: u64 = 20;
const QUERIES: u64 = 200;
const MIB: f64 = 1_048_576.0;
/// Set in the processes that measure memory: the part of the work that they do.
const PART: &str = "RAGSCOPE_BENCH_PART";

fn main() {
    let chunks = std::env::args().find_map(|argument| argument.parse::<u64>().ok());
    let Some(chunks) = chunks else {
        return;
    };
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("bench-scale")
        .join(chunks.to_string());
    match std::env::var(PART).as_deref() {
        Ok("build") => build(&home, chunks),
        Ok(_) => search(&home, chunks),
        Err(_) => {
            in_its_own_process("build", chunks);
            in_its_own_process("search", chunks);
        }
    }
}

fn in_its_own_process(part: &str, chunks: u64) {
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .arg(chunks.to_string())
        .env(PART, part)
        .status();
    assert!(ended.expect("a process of its own").success());
}

fn build(home: &Path, chunks: u64) {
    let folder = home.join("docs");
    write_documents(&folder, chunks);
    let mut index =
        Collection::open(std::slice::from_ref(&folder), &home.join("indexes")).expect("an index");
    let mut embedder = Synthetic::new();
    let (update, seconds) = timed(|| {
        index.update(&config(), &mut embedder, &counter(), &mut |_| {
            Flow::Continue
        })
    });
    let Update::Finished(report) = update.expect("an update") else {
        unreachable!("the observer always continues");
    };
    assert_eq!(report.corpus.chunks, chunks);
    print_figure("chunks", chunks as f64, "");
    if report.added > 0 {
        print_figure("building the index", seconds, "s");
        print_figure("peak memory of building it", memory("VmHWM:"), "MiB");
    }
}

fn search(home: &Path, chunks: u64) {
    let before = memory("VmRSS:");
    let (folder, indexes) = (home.join("docs"), home.join("indexes"));
    let (index, seconds) =
        timed(|| Collection::open(std::slice::from_ref(&folder), &indexes).expect("an index"));
    print_figure("opening it, all checksums verified", seconds * 1000.0, "ms");
    print_memory("after opening", before);

    let space = Space::new();
    let queries: Vec<(String, Vec<f32>)> = (chunks..chunks + QUERIES)
        .map(|i| (words(i, 12), space.vector(i)))
        .collect();
    let settings = config().retriever;
    latency("hybrid search", &index, &queries, &settings);
    print_memory("after the searches", before);
    let words = RetrieverSettings {
        kind: RetrieverKind::Bm25,
        ..settings.clone()
    };
    latency("BM25 search", &index, &queries, &words);
    let vectors = RetrieverSettings {
        kind: RetrieverKind::Vectors,
        ..settings
    };
    latency("vector search", &index, &queries, &vectors);

    let found = recall(&index, &space, &queries, &vectors, chunks);
    print_figure("vector recall@10 against exact search", found, "");
    print_figure("index on disk", bytes_below(&indexes) as f64 / MIB, "MiB");
}

fn latency(
    name: &str,
    index: &Collection,
    queries: &[(String, Vec<f32>)],
    settings: &RetrieverSettings,
) {
    let mut times: Vec<f64> = Vec::new();
    for (query, vector) in queries.iter().cycle().take(queries.len() * 3) {
        let (found, seconds) = timed(|| index.search(query, vector, FINGERPRINT, settings));
        found.expect("hits");
        times.push(seconds * 1000.0);
    }
    for (round, times) in times.chunks_mut(queries.len()).enumerate() {
        times.sort_by(f64::total_cmp);
        for (percentile, share) in [("p50", 50), ("p99", 99)] {
            let time = times[times.len() * share / 100];
            print_figure(
                &format!("{name} {percentile}, round {}", round + 1),
                time,
                "ms",
            );
        }
    }
}

/// Returns the share of the ten nearest chunks that a search by vector alone finds.
fn recall(
    index: &Collection,
    space: &Space,
    queries: &[(String, Vec<f32>)],
    settings: &RetrieverSettings,
    chunks: u64,
) -> f64 {
    let nearest = |found: Vec<Vec<(f32, u64)>>| -> Vec<Vec<(f32, u64)>> {
        let best = found.into_iter().map(|mut found| {
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.truncate(10);
            found
        });
        best.collect()
    };
    let exact = (0..chunks)
        .into_par_iter()
        .fold(
            || vec![Vec::new(); queries.len()],
            |mut found, i| {
                let vector = space.vector(i);
                for (found, (_, query)) in found.iter_mut().zip(queries) {
                    found.push((dot(query, &vector), i));
                }
                if found[0].len() > 1000 {
                    nearest(found)
                } else {
                    found
                }
            },
        )
        .reduce(
            || vec![Vec::new(); queries.len()],
            |a, b| {
                let pairs = a.into_iter().zip(b);
                nearest(pairs.map(|(a, b)| [a, b].concat()).collect())
            },
        );

    let mut found = 0;
    for ((_, query), exact) in queries.iter().zip(&exact) {
        let hits = index
            .search("", query, FINGERPRINT, settings)
            .expect("hits")
            .hits;
        let is_near = |text: &str| {
            exact
                .iter()
                .any(|(_, i)| text.starts_with(&format!("Item {i}: ")))
        };
        let hits = hits.iter().take(10);
        found += hits.filter(|hit| is_near(&hit.chunk.text)).count();
    }
    found as f64 / (10 * queries.len()) as f64
}

fn print_memory(when: &str, before: f64) {
    let resident = memory("VmRSS:") - before;
    print_figure(&format!("resident memory {when}"), resident, "MiB");
    print_figure("  of which not mapped files", memory("RssAnon:"), "MiB");
}

/// Returns a figure of this process, as Linux reports it.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| {
            let about = entry.metadata().expect("a size");
            if about.is_dir() {
                bytes_below(&entry.path())
            } else {
                about.len()
            }
        })
        .sum()
}

/// Returns settings by which each line of a document is a chunk.
fn config() -> Config {
    let mut config = synthetic::config();
    config.chunker.max_sentences = 1;
    config.chunker.overlap_tokens = 0;
    config
}

fn counter() -> TokenCounter {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-scale.log");
    let runtime = Runtime::start(&log).expect("llama.cpp starts");
    let model =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/all-MiniLM-L6-v2.Q8_0.gguf");
    TokenCounter::from_gguf(&model, &runtime).expect("the bundled vocabulary")
}

fn write_documents(folder: &Path, chunks: u64) {
    for first in (0..chunks).step_by(CHUNKS_PER_FILE as usize) {
        let name = format!("{:03}/{:06}.txt", first / 10_000, first / CHUNKS_PER_FILE);
        let file = folder.join(name);
        if !file.exists() {
            let items = first..chunks.min(first + CHUNKS_PER_FILE);
            let text = items.map(|i| format!("Item {i}: {}.\n\n", words(i, 60)));
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(&file, text.collect::<String>()).expect("written");
        }
    }
}
