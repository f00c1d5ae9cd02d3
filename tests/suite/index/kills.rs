//! A process that is killed or runs out of disk space: the previous generation answers, and nothing
//! is embedded twice.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use ragscope::event::Flow;
use ragscope::index::{Collection, Search as _};

use super::common::{self, Corpus, WordEmbedder, config, update};
use crate::support::child;

/// Indexes the folder, and prints each call of the embedder and every text whose vector was stored.
fn index_aloud(home: &Path) {
    let mut index =
        Collection::open(&[home.join("docs")], &home.join("indexes")).expect("an index");
    let mut embedder = WordEmbedder::new("one");
    let mut notes = fs::File::options()
        .create(true)
        .append(true)
        .open(home.join("kept"))
        .expect("notes");
    embedder.kept = Some(Box::new(move |texts| {
        let lines: String = texts
            .iter()
            .map(|text| blake3::hash(text.as_bytes()).to_string() + "\n")
            .collect();
        notes.write_all(lines.as_bytes()).expect("noted");
        println!("call");
    }));
    embedder.pause = Duration::from_millis(1);
    let mut small = config();
    small.chunker.max_tokens = 32;
    small.chunker.overlap_tokens = 0;
    match index.update(&small, &mut embedder, &common::counter(), &mut |_| {
        Flow::Continue
    }) {
        Ok(_) => println!("done {}", index.card().chunks),
        Err(error) => println!("failed {}", crate::support::shown(&error)),
    }
}

/// Starts a test as a process that indexes the folder.
fn start(test: &str, home: &Path) -> Child {
    let mut child = child::command(module_path!(), test, home);
    child.spawn().expect("a child")
}

/// Returns the lines of a child that ran to its end.
fn finish(mut child: Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().expect("its output"))
        .lines()
        .map_while(Result::ok)
        .collect();
    child.wait().expect("its end");
    lines
}

fn many_documents(corpus: &Corpus, count: usize) {
    for i in 0..count {
        let text: String = (0..30)
            .map(|line| format!("Document {i} says in line {line} that {} is so. ", i * line))
            .collect();
        corpus.write(&format!("{i:03}.txt"), &text);
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing() {
    if let Some(home) = child::task() {
        return index_aloud(Path::new(&home));
    }

    let corpus = Corpus::with(&[("old.md", "Ann grows apples.")]);
    let home = corpus.folder().parent().expect("a home").to_owned();
    let start = || start("a_kill_at_any_moment_loses_nothing", &home);
    let first = finish(start());
    assert!(first.iter().any(|line| line == "done 1"), "{first:?}");
    many_documents(&corpus, 150);

    let mut moments = (1_u64..).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
    for kill in 0..12 {
        let mut child = start();
        let calls = moments.next().expect("a number") % 40;
        let spin = Duration::from_micros(moments.next().expect("a number") % 20_000);
        let mut output = BufReader::new(child.stdout.take().expect("its output"))
            .lines()
            .map_while(Result::ok);
        output
            .by_ref()
            .filter(|line| line == "call")
            .take(1 + calls as usize)
            .count();
        let end = Instant::now() + spin;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        child.kill().expect("killed"); // SIGKILL
        child.wait().expect("its end");
        let index = corpus.open();
        let mut embedder = WordEmbedder::new("one");
        let found = common::documents(&index, &mut embedder, "Who grows apples?");
        assert_eq!(
            found[0],
            "old.md",
            "after kill {kill} the generation {} answers",
            index.card().generation
        );
    }
    let last = finish(start());
    let done: u64 = last
        .iter()
        .find_map(|line| line.strip_prefix("done ")?.parse().ok())
        .expect("it finished");
    assert!(done > 1000, "{done} chunks");
    assert_eq!(corpus.open().card().chunks, done);

    let kept = fs::read_to_string(home.join("kept")).expect("notes");
    let texts: Vec<&str> = kept.lines().filter(|line| line.len() == 64).collect();
    let distinct: HashSet<&str> = texts.iter().copied().collect();
    assert_eq!(
        texts.len(),
        distinct.len(),
        "a text whose vector was kept was embedded again"
    );
    assert!(distinct.len() as u64 >= done * 9 / 10);
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_named_and_the_old_generation_answers() {
    if let Some(home) = child::task() {
        return index_aloud(Path::new(&home));
    }

    let corpus = Corpus::with(&[("old.md", "Ann grows apples.")]);
    let home = corpus.folder().parent().expect("a home").to_owned();
    let name = "a_full_disk_is_named_and_the_old_generation_answers";
    finish(start(name, &home));
    many_documents(&corpus, 60);
    // a limit on the size of a file fails a write as a full disk does; blocks of 512 bytes (sh) or
    // 1024 (bash)
    for blocks in [8, 64, 200] {
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        let mut limited = child::command_after(&limit, module_path!(), name, &home);
        let lines = finish(limited.spawn().expect("a child"));
        let failure = lines
            .iter()
            .find_map(|line| line.strip_prefix("failed "))
            .unwrap_or_else(|| panic!("{lines:?}"));
        assert!(failure.starts_with("cannot write "), "{failure}");
        assert!(
            failure.contains("indexes") && failure.contains("free space"),
            "{failure}"
        );
        let mut embedder = WordEmbedder::new("one");
        let index = corpus.open();
        assert_eq!(index.card().generation, 1);
        assert_eq!(
            common::documents(&index, &mut embedder, "apples")[0],
            "old.md"
        );
    }
    let lines = finish(start(name, &home));
    assert!(
        lines.iter().any(|line| line.starts_with("done ")),
        "with room again it continues: {lines:?}"
    );
    assert_eq!(corpus.open().card().documents, 61);
}

#[test]
fn work_that_no_generation_uses_yet_is_reused() {
    let corpus = Corpus::new();
    many_documents(&corpus, 20);
    let mut failing = FailingAfter {
        inner: WordEmbedder::new("one"),
        calls: 2,
    };
    failing.inner.pause = Duration::from_millis(250); // calls stay small
    let mut index = corpus.open();
    let mut small = config();
    small.chunker.max_tokens = 32;
    let failed = index.update(&small, &mut failing, &common::counter(), &mut |_| {
        Flow::Continue
    });
    assert!(
        failed
            .expect_err("it failed")
            .to_string()
            .contains("device lost")
    );
    let kept = failing.inner.texts().len() as u64;
    assert!(kept > 0);
    drop(index);
    let mut embedder = WordEmbedder::new("one");
    let report = common::update_with(&mut corpus.open(), &small, &mut embedder);
    assert_eq!(report.embedded + kept, report.corpus.chunks);
    assert_eq!(
        update(&mut corpus.open(), &mut embedder).unchanged,
        20,
        "back to the default chunks"
    );
}

/// An embedder whose device fails.
struct FailingAfter {
    inner: WordEmbedder,
    calls: u32,
}

impl ragscope::llm::Embedder for FailingAfter {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ragscope::llm::LlmError> {
        if self.calls == 0 {
            return Err(ragscope::llm::LlmError::Backend("device lost".into()));
        }
        self.calls -= 1;
        self.inner.embed(texts)
    }

    fn card(&self) -> &ragscope::event::ModelCard {
        self.inner.card()
    }
}
