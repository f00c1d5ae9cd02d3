//! An index that was updated many times answers as one that was made at once.

use std::collections::BTreeMap;

use ragscope::config::RetrieverSettings;
use ragscope::index::{Collection, Search as _};
use ragscope::llm::{Embedder, Random};

use super::common::{Corpus, WordEmbedder, config, update};

const WORDS: &str = "harbour bell tower keeper lamp storm rope sail crane bread miller clock bridge \
                     orchard letter salt captain winter map engine";
const QUESTIONS: [&str; 4] = [
    "Who keeps the lamp of the tower?",
    "bread and salt",
    "captain storm sail rope",
    "the orchard in winter",
];

/// Returns a text of words of different frequency, which no other file has.
fn text(file: usize, random: &mut Random) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut text = format!("File {file}.");
    for _ in 0..random.below(60) + 5 {
        let most = random.below(words.len()) + 1;
        text.push(' ');
        text.push_str(words[random.below(most)]);
    }
    text
}

/// Returns the chunks that the questions find, with their scores by words and by vector.
fn found(index: &Collection, embedder: &mut WordEmbedder) -> BTreeMap<String, [f32; 2]> {
    let settings = RetrieverSettings {
        pool: 100,
        ..config().retriever
    };
    let fingerprint = embedder.card().fingerprint.clone();
    let mut found = BTreeMap::new();
    for question in QUESTIONS {
        let vector = embedder.embed(&[question]).expect("a vector").remove(0);
        let search = index.search(question, &vector, &fingerprint, &settings);
        for hit in search.expect("an answer").hits {
            let score = |ranked: Option<ragscope::event::Ranked>| ranked.map_or(0.0, |r| r.score);
            let key = format!("{question} {} {}", hit.chunk.document, hit.chunk.text);
            found.insert(key, [score(hit.bm25), score(hit.vector)]);
        }
    }
    found
}

#[test]
fn an_updated_index_answers_as_a_new_one() {
    for seed in 0..2 {
        let mut random = Random::new(seed);
        let corpus = Corpus::new();
        let mut index = corpus.open();
        let mut embedder = WordEmbedder::new("one");
        for _ in 0..8 {
            for _ in 0..random.below(4) + 1 {
                let file = random.below(12);
                let path = format!("{file}.md");
                if random.below(4) == 0 && corpus.folder().join(&path).exists() {
                    corpus.remove(&path);
                } else {
                    corpus.write(&path, &text(file, &mut random));
                }
            }
            update(&mut index, &mut embedder);
        }

        let new = Corpus::new();
        for entry in std::fs::read_dir(corpus.folder())
            .expect("a folder")
            .flatten()
        {
            std::fs::copy(entry.path(), new.folder().join(entry.file_name())).expect("copied");
        }
        let mut new_index = new.open();
        update(&mut new_index, &mut embedder);

        let updated = found(&index, &mut embedder);
        let expected = found(&new_index, &mut embedder);
        assert!(expected.len() > 10, "{} hits", expected.len());
        assert!(
            updated.keys().eq(expected.keys()),
            "seed {seed}: other chunks"
        );
        for (hit, scores) in &updated {
            for (score, expected) in scores.iter().zip(expected[hit]) {
                assert!(
                    (score - expected).abs() < 1e-5,
                    "seed {seed}: {hit}: {score}, not {expected}"
                );
            }
        }
    }
}
