//! A folder becomes documents, sentences and chunks; bad files are counted and the rest is read.

mod files;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ragscope::config::{ChunkerKind, ChunkerSettings};
use ragscope::corpus::{Chunk, Document, TokenCounter, cut};

static COUNTER: LazyLock<TokenCounter> =
    LazyLock::new(|| TokenCounter::from_gguf(&model("all-MiniLM-L6-v2.Q8_0.gguf")).expect("the embedder"));

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models").join(name)
}

fn chunks(document: &Document, tokens: u32, overlap_tokens: u32) -> Vec<Chunk> {
    cut(document, &ChunkerSettings { kind: ChunkerKind::Fixed, tokens, overlap_tokens }, &COUNTER)
}

/// What holds for the chunks of any document.
fn check_chunks(file: &[u8], document: &Document, chunks: &[Chunk], tokens: u32) {
    let mut after = 0;
    for chunk in chunks {
        assert!(chunk.tokens <= tokens.min(510), "{} tokens", chunk.tokens);
        assert_eq!(chunk.tokens, COUNTER.count(&chunk.text));
        assert!(!chunk.text.is_empty() && chunk.text.trim() == chunk.text);
        let [start, end] = chunk.bytes.map(|at| usize::try_from(at).expect("in memory"));
        assert_eq!(&file[start..end], chunk.text.as_bytes());
        let line = |at: usize| file[..at].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        assert_eq!(chunk.lines, [line(start), line(end - 1)]);
        let skipped = document.text.get(after.min(start)..start).expect("between characters");
        assert!(skipped.trim().is_empty() || start < after, "left out: {skipped:?}");
        assert!(end > after, "no progress at {after}");
        after = end;
    }
    assert!(document.text[after..].trim().is_empty(), "left out at the end");
}

#[test]
fn chunks_of_a_text() {
    let text = include_str!("../../LICENSE");
    let document = Document::new("LICENSE", text.as_bytes().to_vec()).expect("text");
    for (tokens, overlap) in [(512, 64), (128, 32), (16, 8), (64, 0), (0, 1000)] {
        let chunks = chunks(&document, tokens, overlap);
        check_chunks(text.as_bytes(), &document, &chunks, tokens.max(16));
    }
}
