//! Chunks by meaning: in the index, and re-chunked for one question.

use std::collections::BTreeMap;
use std::time::Duration;

use ragscope::config::{ChunkerKind, Config, MinSimilarity};
use ragscope::corpus::SemanticSplit;
use ragscope::event::{Flow, IndexPhase, SessionEvent};
use ragscope::index::{Collection, Search as _, Update};
use ragscope::story::words;

use super::common::{self, Corpus, WordEmbedder, config, update_with};

const APPLES: &str = "Apples grow on old trees. Old apples grow sweet on trees.";
const SHIPS: &str = "The ship left port early. The ship left with full sails.";

fn with(kind: ChunkerKind) -> Config {
    let mut config = config();
    (
        config.chunker.kind,
        config.chunker.max_tokens,
        config.chunker.min_similarity,
    ) = (kind, 64, MinSimilarity::Cosine(0.5));
    config
}

/// Returns the text of every chunk of the index.
fn texts(index: &Collection, embedder: &mut WordEmbedder) -> Vec<String> {
    use ragscope::llm::Embedder as _;
    let vector = embedder.embed(&["trees ship"]).expect("a vector").remove(0);
    let found = index
        .search("trees ship", &vector, "one", &config().retriever)
        .expect("an answer");
    let mut texts: Vec<String> = found.hits.into_iter().map(|hit| hit.chunk.text).collect();
    texts.sort();
    texts
}

#[test]
fn sentences_of_one_subject_are_one_chunk() {
    let corpus = Corpus::with(&[("a.txt", &format!("{APPLES} {SHIPS}"))]);
    let (mut embedder, mut index) = (WordEmbedder::new("one"), corpus.open());
    update_with(&mut index, &with(ChunkerKind::Fixed), &mut embedder);
    assert_eq!(texts(&index, &mut embedder), [format!("{APPLES} {SHIPS}")]);
    let report = update_with(&mut index, &with(ChunkerKind::Adaptive), &mut embedder);
    assert_eq!(
        (report.unchanged, report.embedded),
        (1, 0),
        "adaptive chunks of an index are those of a fixed size"
    );
    let report = update_with(&mut index, &with(ChunkerKind::Semantic), &mut embedder);
    assert_eq!((report.unchanged, report.embedded), (1, 2));
    assert_eq!(texts(&index, &mut embedder), [APPLES, SHIPS]);
    let asked = embedder.texts().len();
    let report = update_with(&mut index, &with(ChunkerKind::Semantic), &mut embedder);
    assert_eq!(
        (report.unchanged, embedder.texts().len()),
        (1, asked),
        "nothing changed"
    );
    corpus.write("b/a.txt", &format!("{APPLES} {SHIPS}"));
    corpus.remove("a.txt");
    update_with(&mut index, &with(ChunkerKind::Semantic), &mut embedder);
    assert_eq!(
        embedder.texts().len(),
        asked,
        "a document that moved is split and embedded from memory"
    );
}

#[test]
fn a_stop_between_documents_embeds_no_sentence_twice() {
    let corpus = Corpus::new();
    for i in 0..300 {
        corpus.write(
            &format!("{i:03}.txt"),
            &format!("Note {i} speaks of one thing. Matter {i} is quite another."),
        );
    }
    let (mut embedder, mut index) = (WordEmbedder::new("one"), corpus.open());
    embedder.pause = Duration::from_millis(150); // calls stay small
    let mut rounds = 0;
    loop {
        rounds += 1;
        let mut heard = 0;
        let mut publish = |event: SessionEvent| {
            let works = |phase| matches!(phase, IndexPhase::Reading | IndexPhase::Embedding);
            heard += usize::from(
                matches!(&event, SessionEvent::IndexProgressed { progress } if works(progress.phase)),
            );
            if heard > 1 && rounds < 4 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let done = index
            .update(
                &with(ChunkerKind::Semantic),
                &mut embedder,
                &common::counter(),
                &mut publish,
            )
            .expect("an update");
        match done {
            Update::Finished(report) => break assert_eq!(report.corpus.documents, 300),
            Update::Interrupted => {
                index = {
                    drop(index);
                    corpus.open()
                }
            }
        }
    }
    assert!(rounds > 1, "it was interrupted");
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    embedder
        .texts()
        .iter()
        .for_each(|text| *times.entry(text.as_str()).or_default() += 1);
    // once to compare a sentence with its neighbour, once as a chunk of its own; a stop costs the
    // document that is being split
    let more = times.values().filter(|times| **times > 2).count();
    assert!(
        more < 2 * rounds,
        "{more} sentences were embedded again, and it was stopped {} times",
        rounds - 1
    );
}

#[test]
fn a_percentile_joins_neighbours_whatever_their_similarity_and_the_report_says_how_many() {
    let corpus = Corpus::with(&[("a.txt", &format!("{APPLES} {SHIPS}"))]);
    let mut shares = Vec::new();
    for least in ["0.999", "\"p50\"", "\"p0\""] {
        let mut config = with(ChunkerKind::Semantic);
        config.chunker.min_similarity = serde_json::from_str(least).expect("a similarity");
        let mut index = corpus.open();
        let report = update_with(&mut index, &config, &mut WordEmbedder::new("one"));
        let neighbours = report.neighbours.expect("chunks by meaning");
        assert_eq!(neighbours.pairs, 3, "four sentences");
        shares.push((neighbours.joined, words::sentence_joins(neighbours)));
        // the next update reads nothing again and reports the same
        let again = update_with(&mut index, &config, &mut WordEmbedder::new("one"));
        assert_eq!(again.neighbours, Some(neighbours), "{least}");
    }
    let joined: Vec<u64> = shares.iter().map(|(joined, _)| *joined).collect();
    assert_eq!(joined, [0, 2, 3]);
    assert!(
        shares[0]
            .1
            .starts_with("0 % of neighbouring sentences joined: lower"),
        "{shares:?}"
    );
    assert_eq!(shares[1].1, "67 % of neighbouring sentences joined");

    let mut index = corpus.open();
    let fixed = with(ChunkerKind::Fixed);
    let report = update_with(&mut index, &fixed, &mut WordEmbedder::new("one"));
    assert_eq!(report.neighbours, None);
}

#[test]
fn documents_are_rechunked_for_a_question_and_cached_for_the_next() {
    let corpus = Corpus::with(&[
        ("a.txt", &format!("{APPLES} {SHIPS}")),
        ("gone.txt", "Cara paints."),
    ]);
    let (mut embedder, mut index) = (WordEmbedder::new("one"), corpus.open());
    update_with(&mut index, &with(ChunkerKind::Adaptive), &mut embedder);
    corpus.remove("gone.txt");
    let split = SemanticSplit {
        tokens: 64,
        similarity: MinSimilarity::Cosine(0.5),
        characters: 0,
        keeps_pronouns: false,
    };
    let mut rechunk = |index: &Collection, split| {
        let before = embedder.texts().len();
        let found = index
            .rechunk(
                &["a.txt", "gone.txt"],
                split,
                &mut embedder,
                &common::counter(),
            )
            .expect("split");
        (found, embedder.texts().len() - before)
    };
    let (found, embedded) = rechunk(&index, split);
    let chunks = found[0].chunks.as_ref().expect("it is there");
    assert_eq!(
        chunks
            .iter()
            .map(|(chunk, _)| chunk.text.as_str())
            .collect::<Vec<_>>(),
        [APPLES, SHIPS]
    );
    assert!(
        chunks
            .iter()
            .all(|(chunk, vector)| chunk.id > 1 << 52 && vector.len() == common::WIDTH)
    );
    assert_eq!(
        (found[0].sentences, found[0].is_cached, embedded),
        (4, false, 6)
    );
    assert!(
        found[1]
            .chunks
            .as_ref()
            .is_err_and(|reason| !reason.is_empty()),
        "{:?}",
        found[1]
    );
    let (again, embedded) = rechunk(&index, split);
    assert_eq!(
        (again[0].is_cached, embedded, &again[0].chunks),
        (true, 0, &found[0].chunks)
    );
    drop(index);
    let (after, embedded) = rechunk(&corpus.open(), split);
    assert_eq!(
        (after[0].is_cached, embedded),
        (true, 2),
        "the split is on disk, the vectors of its chunks are not"
    );
    let (other, _) = rechunk(
        &corpus.open(),
        SemanticSplit {
            similarity: MinSimilarity::Cosine(0.99),
            ..split
        },
    );
    assert_eq!(
        (
            other[0].is_cached,
            other[0].chunks.as_ref().map(|chunks| chunks.len())
        ),
        (false, Ok(4)),
        "other settings"
    );
}
