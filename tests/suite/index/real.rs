//! The bundled embedder over the index: meaning finds what words do not.

use std::path::Path;

use ragscope::event::{Flow, StopFlag};
use ragscope::llm::{LlamaEmbedder, Runtime, load_embedder};

use super::common::{self, Corpus, bundled_embedder, config, update};

fn embedder() -> LlamaEmbedder {
    let runtime = Runtime::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama.log"))
        .expect("llama.cpp starts");
    let settings = config().embedder;
    load_embedder(
        &runtime,
        &bundled_embedder(),
        &settings,
        &StopFlag::default(),
        &mut |_| Flow::Continue,
    )
    .expect("the bundled embedder")
}

#[test]
fn meaning_finds_what_words_do_not() {
    let corpus = Corpus::with(&[
        (
            "garden.md",
            "Ann waters her tomatoes each morning before the sun is high.",
        ),
        ("school.md", "Bob is a physics teacher."),
        ("sea.md", "The captain steered the boat through the storm."),
        (
            "song.html",
            "<html><body><h1>Music</h1><p>Dora plays the violin in an orchestra.</p></body></html>",
        ),
    ]);
    let mut index = corpus.open();
    let mut embedder = embedder();
    assert_eq!(update(&mut index, &mut embedder).embedded, 4);
    let cases = [
        ("Who gives lessons in science?", "school.md"),
        ("Which vegetables are grown?", "garden.md"),
        ("sailor on a ship", "sea.md"),
        ("someone with a musical instrument", "song.html"),
    ];
    for (question, document) in cases {
        assert_eq!(
            common::documents(&index, &mut embedder, question)[0],
            document,
            "{question}"
        );
    }
    drop(index);
    let mut index = corpus.open();
    let again = update(&mut index, &mut embedder);
    assert_eq!(
        (again.unchanged, again.embedded),
        (4, 0),
        "the same model file has the same fingerprint"
    );
}
