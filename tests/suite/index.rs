//! The index of a folder: it follows changes, survives kills and full disks, and is never used when
//! it is damaged.

pub mod common;
mod damage;
mod extracts;
mod history;
mod kills;
mod real;
mod search;
mod semantic;
mod words;
mod collection;

use std::fs;
use std::time::{Duration, Instant};

use common::{Corpus, WordEmbedder, config, update};
use ragscope::config::RetrieverKind;
use ragscope::event::{Flow, IndexPhase, IndexReport, Problem, SessionEvent};
use ragscope::index::{Collection, IndexError, Search as _, Update};

/// The counts of a report: added, changed, unchanged, removed, embedded, reused.
type Counts = [u64; 6];

fn counts(report: &IndexReport) -> Counts {
    [
        report.added,
        report.changed,
        report.unchanged,
        report.removed,
        report.embedded,
        report.reused,
    ]
}

#[test]
fn only_changed_files_are_indexed_again() {
    let corpus = Corpus::with(&[
        ("a.md", "Ann grows apples."),
        ("b.md", "Bob teaches physics."),
        ("c.md", "Cara sails."),
    ]);
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    type Step = (&'static str, fn(&Corpus), Counts, u64);
    let steps: [Step; 13] = [
        ("first", |_| {}, [3, 0, 0, 0, 3, 0], 1),
        ("nothing", |_| {}, [0, 0, 3, 0, 0, 0], 1),
        (
            "one changed",
            |c| c.write("b.md", "Bob teaches chemistry now."),
            [0, 1, 2, 0, 1, 0],
            2,
        ),
        (
            "one more",
            |c| c.write("d/e.txt", "Dan paints doors."),
            [1, 0, 3, 0, 1, 0],
            3,
        ),
        (
            "moved",
            |c| c.rename("d/e.txt", "e.txt"),
            [1, 0, 3, 1, 0, 1],
            4,
        ),
        ("touched", |c| c.touch("a.md"), [0, 0, 4, 0, 0, 0], 5),
        (
            "same text twice",
            |c| c.write("d/c.md", "Cara sails."),
            [1, 0, 4, 0, 0, 1],
            6,
        ),
        ("deleted", |c| c.remove("c.md"), [0, 0, 4, 1, 0, 0], 7),
        (
            "an empty file",
            |c| c.write("h.md", ""),
            [0, 0, 4, 0, 0, 0],
            8,
        ),
        ("the empty file again", |_| {}, [0, 0, 4, 0, 0, 0], 8),
        (
            "it gets text",
            |c| c.write("h.md", "Hal sings."),
            [1, 0, 4, 0, 1, 0],
            9,
        ),
        (
            "it is emptied",
            |c| c.write("h.md", ""),
            [0, 0, 4, 1, 0, 0],
            10,
        ),
        ("it is gone", |c| c.remove("h.md"), [0, 0, 4, 0, 0, 0], 11),
    ];
    for (what, change, expected, generation) in steps {
        change(&corpus);
        let report = update(&mut index, &mut embedder);
        assert_eq!(counts(&report), expected, "{what}");
        assert_eq!(report.corpus.generation, generation, "{what}");
        assert_eq!(report.corpus, index.card(), "{what}");
    }
    drop(index);
    let mut index = corpus.open();
    assert_eq!(
        counts(&update(&mut index, &mut embedder)),
        [0, 0, 4, 0, 0, 0],
        "after opening again"
    );
    let found = common::documents(
        &index,
        &mut embedder,
        "Who sails and who teaches chemistry?",
    );
    assert_eq!(
        &found[..2],
        ["b.md", "d/c.md"],
        "deleted and old text is not found: {found:?}"
    );
    assert!(!found.contains(&"c.md".to_owned()));
}

#[test]
fn changed_settings_rebuild_what_depends_on_them() {
    let long: String = (0..40)
        .map(|i| format!("Sentence number {i} describes thing {i}. "))
        .collect();
    let corpus = Corpus::with(&[("a.txt", &long), ("b.txt", "Bob teaches physics.")]);
    let mut index = corpus.open();
    let mut large = config();
    large.chunker.max_tokens = 1024;
    let first = common::update_with(&mut index, &large, &mut WordEmbedder::new("one"));
    assert_eq!(counts(&first), [2, 0, 0, 0, 2, 0]);

    let mut small = config();
    small.chunker.max_tokens = 64;
    small.chunker.overlap_tokens = 0;
    small.chunker.keep_paragraphs = false;
    let cut = common::update_with(&mut index, &small, &mut WordEmbedder::new("one"));
    assert_eq!(
        (cut.changed, cut.unchanged, cut.reused),
        (0, 2, 1),
        "the short document kept its chunk"
    );
    assert!(
        cut.embedded > 4 && cut.corpus.chunks == cut.embedded + 1,
        "{cut:?}"
    );

    let mut other = WordEmbedder::new("two");
    let again = common::update_with(&mut index, &small, &mut other);
    assert_eq!(
        (again.unchanged, again.reused, again.embedded),
        (2, 0, cut.corpus.chunks)
    );
    assert_eq!(
        other.texts().len() as u64,
        cut.corpus.chunks,
        "no vector of another embedder is used"
    );
}

#[test]
fn a_stop_while_words_are_read_keeps_what_is_read() {
    let corpus = Corpus::new();
    for i in 0..1600 {
        corpus.write(&format!("{i:04}.md"), &format!("Note of subject {i}."));
    }
    let mut words = config();
    words.retriever.kind = RetrieverKind::Bm25;
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    let mut stop_reading = |event: SessionEvent| match event {
        SessionEvent::IndexProgressed { progress } if progress.phase == IndexPhase::Reading => {
            Flow::Stop
        }
        _ => Flow::Continue,
    };
    let stopped = index.update(&words, &mut embedder, &common::counter(), &mut stop_reading);
    assert_eq!(stopped.expect("an update"), Update::Interrupted);
    let read = index.card().documents;
    assert!((1024..1600).contains(&read), "{read}");

    let report = common::update_with(&mut index, &words, &mut embedder);
    assert_eq!(report.added, 1600 - read);
    assert_eq!(report.corpus.documents, 1600);
}

#[test]
fn a_stop_keeps_finished_work_and_nothing_is_embedded_twice() {
    let corpus = Corpus::new();
    for i in 0..600 {
        corpus.write(
            &format!("{i:03}.md"),
            &format!("Note {i} speaks of subject {i}."),
        );
    }
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    embedder.pause = Duration::from_millis(150); // calls stay small
    let mut rounds = 0;
    let report = loop {
        rounds += 1;
        let mut calls = 0;
        let mut publish = |event: SessionEvent| {
            calls += usize::from(
                matches!(event, SessionEvent::IndexProgressed { progress } if progress.phase == IndexPhase::Embedding),
            );
            if calls > 1 && rounds < 5 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        match index
            .update(&config(), &mut embedder, &common::counter(), &mut publish)
            .expect("an update")
        {
            Update::Finished(report) => break *report,
            Update::Interrupted => assert!(rounds < 10),
        }
        let found = common::documents(&index, &mut embedder, "subject 0");
        assert_eq!(
            found.is_empty(),
            index.card().documents == 0,
            "what is indexed already answers"
        );
    };
    assert!(rounds > 1, "it was interrupted");
    assert_eq!(report.corpus.documents, 600);
    let mut texts: Vec<String> = embedder.texts().to_vec();
    texts.retain(|text| text.contains(": Note"));
    let all = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!((all, texts.len()), (600, 600));
}

#[test]
fn progress_comes_in_phases_and_not_too_often() {
    let corpus = Corpus::new();
    for i in 0..400 {
        corpus.write(&format!("{i}.txt"), &format!("Text {i} has some words."));
    }
    let mut embedder = WordEmbedder::new("one");
    embedder.pause = Duration::from_millis(250);
    let started = Instant::now();
    let mut heard = Vec::new();
    let mut publish = |event: SessionEvent| {
        heard.push(event);
        Flow::Continue
    };
    corpus
        .open()
        .update(&config(), &mut embedder, &common::counter(), &mut publish)
        .expect("an update");
    let seconds = started.elapsed().as_secs_f64();
    let progress: Vec<_> = heard
        .iter()
        .map(|event| match event {
            SessionEvent::IndexProgressed { progress } => progress,
            event => panic!("{event:?}"),
        })
        .collect();
    assert!(
        progress.len() as f64 <= 8.0 * seconds + 3.0,
        "{} events in {seconds} s",
        progress.len()
    );
    let embedding: Vec<_> = progress
        .iter()
        .filter(|progress| progress.phase == IndexPhase::Embedding)
        .collect();
    assert!(
        embedding
            .windows(2)
            .all(|pair| pair[0].done <= pair[1].done)
    );
    let last = embedding.last().expect("embedding was reported");
    assert_eq!(last.total, Some(400));
    assert!(
        last.rate_per_s.is_some_and(|rate| rate > 1.0)
            && last.left_ms.is_some()
            && last.file.is_some(),
        "{last:?}"
    );
}

#[test]
fn a_second_process_reads_and_does_not_write() {
    let corpus = Corpus::with(&[("a.md", "Ann grows apples.")]);
    let mut embedder = WordEmbedder::new("one");
    let mut first = corpus.open();
    update(&mut first, &mut embedder);
    let mut second = corpus.open();
    assert!(!first.card().read_only && second.card().read_only);
    assert_eq!(
        common::documents(&second, &mut embedder, "apples"),
        ["a.md"]
    );
    assert!(matches!(
        Collection::rebuild(&[corpus.folder()], &corpus.indexes()),
        Err(IndexError::InUse { .. })
    ));

    corpus.write("b.md", "Bob teaches physics.");
    update(&mut first, &mut embedder);
    let refused = second.update(&config(), &mut embedder, &common::counter(), &mut |_| {
        Flow::Continue
    });
    assert!(
        matches!(refused, Err(IndexError::InUse { .. })),
        "{refused:?}"
    );
    assert_eq!(second.card().documents, 2, "it follows the writer");
    corpus.write("c.md", "Cara sails.");
    update(&mut first, &mut embedder);
    corpus.write("d.md", "Dan paints.");
    update(&mut first, &mut embedder);
    assert_eq!(
        common::documents(&second, &mut embedder, "physics")[0],
        "b.md",
        "its files may be gone, it still answers"
    );

    drop(first);
    assert_eq!(
        update(&mut second, &mut embedder).corpus.documents,
        4,
        "when the writer ends, the next one may write"
    );
    assert!(!second.card().read_only);
}

#[test]
fn files_that_cannot_be_indexed_are_reported_and_the_rest_is_indexed() {
    let corpus = Corpus::with(&[
        ("good.md", "Ann grows apples."),
        ("empty.md", ""),
        ("sound.mp3", "not read"),
    ]);
    corpus.write_bytes("binary.txt", b"\0\x01\x02\0binary");
    corpus.write_bytes("broken.txt", &[0xff, 0xfe, 0x00]);
    corpus.write_bytes("line.txt", &vec![b'a'; 50_000_000]);
    corpus.write("vanishing.md", "Gone before it is read.");
    let folder = corpus.folder();
    // the first progress is published during the walk
    let mut publish = |_| {
        let _ = fs::remove_file(folder.join("vanishing.md"));
        Flow::Continue
    };
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    let done = index
        .update(&config(), &mut embedder, &common::counter(), &mut publish)
        .expect("an update");
    let Update::Finished(report) = done else {
        panic!("interrupted")
    };
    assert_eq!(
        common::documents(&index, &mut embedder, "apples")[0],
        "good.md"
    );
    let skipped: Vec<&str> = report
        .skipped
        .iter()
        .map(|skipped| skipped.path.as_str())
        .collect();
    for path in ["binary.txt", "empty.md", "line.txt", "sound.mp3"] {
        assert!(skipped.contains(&path), "{path}: {skipped:?}");
    }
    assert!(
        report
            .skipped
            .iter()
            .all(|skipped| !skipped.reason.is_empty())
    );
    assert!(skipped.is_sorted());
    let again = update(&mut index, &mut embedder);
    assert_eq!(
        again.corpus.generation, report.corpus.generation,
        "what holds no text is not read again"
    );
    let mut both = report.skipped;
    both.retain(|skipped| skipped.path != "vanishing.md");
    assert_eq!(again.skipped, both);
}

#[test]
fn a_folder_without_documents_has_an_empty_index() {
    let corpus = Corpus::new();
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    assert!(
        common::documents(&index, &mut embedder, "anything").is_empty(),
        "before the first update"
    );
    assert_eq!(counts(&update(&mut index, &mut embedder)), [0; 6]);
    assert!(common::documents(&index, &mut embedder, "anything").is_empty());
    assert_eq!(corpus.open().card().generation, 1);
    let missing = Collection::open(&[corpus.folder().join("missing")], &corpus.indexes());
    let missing = missing.err().expect("no folder").to_string();
    assert!(missing.starts_with("cannot open the folder"), "{missing}");
    fs::remove_dir_all(corpus.folder()).expect("removed");
    let gone = index.update(&config(), &mut embedder, &common::counter(), &mut |_| {
        Flow::Continue
    });
    assert!(
        gone.is_err(),
        "a folder that is gone leaves the index as it is"
    );
    assert_eq!(index.card().generation, 1);
}

#[test]
fn a_text_without_a_vector_costs_its_chunk_only() {
    let corpus = Corpus::with(&[
        ("good.md", "Ann grows apples."),
        ("odd.md", "This text has no vector."),
    ]);
    let mut index = corpus.open();
    let mut embedder = WordEmbedder::new("one");
    embedder.fails_on = "no vector";
    let report = update(&mut index, &mut embedder);
    assert_eq!((report.corpus.documents, report.corpus.chunks), (2, 1));
    assert!(
        report
            .noted
            .iter()
            .any(|noted| noted.path == "odd.md" && noted.note.contains("1 of its 1"))
    );
    assert_eq!(
        common::documents(&index, &mut embedder, "apples"),
        ["good.md"]
    );
    assert_eq!(corpus.open().card().chunks, 1);
}

#[test]
fn an_index_inside_its_folder_is_not_part_of_it() {
    let corpus = Corpus::with(&[
        ("a.md", "Ann grows apples."),
        ("sub/b.md", "Bob teaches physics."),
    ]);
    // by another path to the same folder
    let indexes = corpus.folder().join("sub/../indexes");
    let mut index = Collection::open(&[corpus.folder()], &indexes).expect("opened");
    let mut embedder = WordEmbedder::new("one");
    update(&mut index, &mut embedder);
    assert_eq!(
        counts(&update(&mut index, &mut embedder)),
        [0, 0, 2, 0, 0, 0]
    );
}

#[test]
fn an_index_that_cannot_be_written_is_still_read() {
    let corpus = Corpus::with(&[("a.md", "Ann grows apples.")]);
    let mut embedder = WordEmbedder::new("one");
    update(&mut corpus.open(), &mut embedder);
    let lock = corpus.index_folder().join("lock");
    fs::remove_file(&lock).expect("removed");
    fs::create_dir(&lock).expect("a folder where a file should be");
    // a reader of tantivy locks its files while it opens them
    let lock = corpus
        .index_folder()
        .join("gen-1/lexical/.tantivy-meta.lock");
    let _ = fs::remove_file(&lock);
    fs::create_dir(&lock).expect("a folder where a file should be");
    let mut index = corpus.open();
    assert!(index.card().read_only);
    assert_eq!(common::documents(&index, &mut embedder, "apples"), ["a.md"]);
    let refused = index.update(&config(), &mut embedder, &common::counter(), &mut |_| {
        Flow::Continue
    });
    let Err(IndexError::Unwritable(Problem { error, .. })) = &refused else {
        panic!("{refused:?}");
    };
    assert!(error.contains("/lock ("), "{error}");
}
