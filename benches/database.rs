//! A corpus in PostgreSQL under load: sending it, its size, hybrid search, and recall against exact search.
//!
//! `BENCH_DATABASE_CHUNKS=100000 .ci/postgres cargo bench --bench index`

use std::fs;
use std::path::{Path, PathBuf};

use postgres::{Client, NoTls};
use ragscope::config::{IndexSettings, RetrieverKind};
use ragscope::index::{Collection, Search as _};

use super::{
    Config, FINGERPRINT, Flow, QUERIES, RetrieverSettings, Space, Synthetic, Update, config,
    counter, dot, print_figure, question, text, timed,
};

/// Chunks per document.
const DOCUMENT_CHUNKS: u64 = 100;
const COLLECTION: &str = "bench";

/// Measures a collection of this many chunks.
pub fn run(chunks: u64) {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-database-{chunks}"));
    let folder = home.join("docs");
    write_documents(&folder, chunks);
    let settings = settings();
    let mut config = config();
    config.index = settings.clone();
    // each item is a chunk
    config.chunker.max_sentences = 2;
    config.chunker.overlap_tokens = 0;

    let folders = [folder];
    let mut collection = Collection::open(&folders, &home.join("indexes"))
        .and_then(|collection| collection.connect(&settings, &folders))
        .expect("a collection");
    let (_, seconds) = timed(|| update(&mut collection, &config));
    assert_eq!(collection.card().chunks, chunks);
    print_figure("indexing and sending, graph included", seconds, "s");
    sizes(chunks);

    let address = [PathBuf::from(&settings.url)];
    let reader = Collection::open(&address, &home.join("none"))
        .and_then(|reader| reader.connect(&settings, &address))
        .expect("a reader");
    let space = Space::new();
    let queries: Vec<(String, Vec<f32>)> = (0..QUERIES)
        .map(|i| (question(chunks + i), space.vector(chunks + i)))
        .collect();
    for (what, kind, words) in [
        ("hybrid search, 12 words", RetrieverKind::Hybrid, 12),
        ("hybrid search, 6 words", RetrieverKind::Hybrid, 6),
        ("search by 12 words", RetrieverKind::Bm25, 12),
        ("search by vector", RetrieverKind::Vectors, 0),
    ] {
        latency(&reader, &queries, what, kind, words);
    }
    let retriever = RetrieverSettings {
        kind: RetrieverKind::Vectors,
        ..config.retriever.clone()
    };
    let recall = recall(&reader, &space, &queries, &retriever, chunks);
    print_figure("recall@10 of vectors", recall, "");
}

fn settings() -> IndexSettings {
    let mut settings = config().index;
    settings.url = std::env::var("RAGSCOPE_POSTGRES").expect("`.ci/postgres` starts a database");
    settings.key = "env:RAGSCOPE_POSTGRES_KEY".to_owned();
    settings.collection = COLLECTION.to_owned();
    settings
}

fn write_documents(folder: &Path, chunks: u64) {
    fs::create_dir_all(folder).expect("a folder");
    for document in 0..chunks / DOCUMENT_CHUNKS {
        let file = folder.join(format!("{document:06}.txt"));
        if !file.exists() {
            let first = document * DOCUMENT_CHUNKS;
            let items: Vec<String> = (first..first + DOCUMENT_CHUNKS).map(text).collect();
            fs::write(file, items.join("\n\n")).expect("written");
        }
    }
}

fn update(collection: &mut Collection, config: &Config) {
    let mut embedder = Synthetic::new();
    let updated = collection.update(config, &mut embedder, &counter(), &mut |_| Flow::Continue);
    assert!(matches!(updated.expect("an update"), Update::Finished(_)));
}

/// Prints the bytes of each table with its indexes, per chunk.
fn sizes(chunks: u64) {
    let address = std::env::var("RAGSCOPE_POSTGRES").expect("an address");
    let mut connection: postgres::Config = address.parse().expect("an address");
    connection.password(std::env::var("RAGSCOPE_POSTGRES_KEY").expect("a password"));
    let mut client: Client = connection.connect(NoTls).expect("a connection");
    for table in ["chunk", "posting", "vector"] {
        let asked = format!("select pg_total_relation_size('{COLLECTION}.{table}')");
        let bytes: i64 = client.query_one(&asked, &[]).expect("a size").get(0);
        let each = bytes as f64 / chunks as f64;
        print_figure(&format!("table {table}, per chunk"), each, "bytes");
    }
    let asked = format!("select pg_relation_size(to_regclass('{COLLECTION}.vector_graph'))");
    let bytes: Option<i64> = client.query_one(&asked, &[]).expect("a size").get(0);
    let each = bytes.unwrap_or(0) as f64 / chunks as f64;
    print_figure("of that the graph, per chunk", each, "bytes");
}

fn latency(
    reader: &Collection,
    queries: &[(String, Vec<f32>)],
    what: &str,
    kind: RetrieverKind,
    words: usize,
) {
    let settings = RetrieverSettings {
        kind,
        ..config().retriever
    };
    let mut times = Vec::new();
    // the first round fills the cache
    for round in 0..3 {
        for (query, vector) in queries {
            let query: Vec<&str> = query.split(' ').take(words).collect();
            let query = query.join(" ");
            let (_, seconds) = timed(|| {
                let found = reader.search(&query, vector, FINGERPRINT, &settings);
                found.expect("hits")
            });
            if round > 0 {
                times.push(seconds * 1000.0);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    print_figure(&format!("{what}, p50"), times[times.len() / 2], "ms");
    print_figure(&format!("{what}, p99"), times[times.len() * 99 / 100], "ms");
}

/// Returns the share of the ten nearest chunks that a search by vector finds.
fn recall(
    reader: &Collection,
    space: &Space,
    queries: &[(String, Vec<f32>)],
    settings: &RetrieverSettings,
    chunks: u64,
) -> f64 {
    let mut exact: Vec<Vec<(f32, u64)>> = vec![Vec::new(); queries.len()];
    for i in 0..chunks {
        let vector = space.vector(i);
        for ((_, query), best) in queries.iter().zip(&mut exact) {
            let score = dot(query, &vector);
            if best.len() < 10 || score > best[best.len() - 1].0 {
                let at = best.partition_point(|known| known.0 >= score);
                best.insert(at, (score, i));
                best.truncate(10);
            }
        }
    }

    let mut found = 0;
    for ((_, query), nearest) in queries.iter().zip(&exact) {
        let hits = reader.search("", query, FINGERPRINT, settings);
        let hits = hits.expect("hits").hits;
        let numbers: Vec<u64> = hits
            .iter()
            .take(10)
            .filter_map(|hit| {
                let number = hit.chunk.text.split([' ', '.']).nth(1)?;
                number.parse().ok()
            })
            .collect();
        found += nearest.iter().filter(|(_, i)| numbers.contains(i)).count();
    }
    found as f64 / (10 * queries.len()) as f64
}
