//! The texts of binary documents are kept with the index.

use std::fs;

use super::common::{Corpus, WordEmbedder, config, update_with};
use crate::support::pdf;

const PAGES: [&[&str]; 2] = [&["Apples ripen first."], &["Quinces are hard."]];

fn kept(corpus: &Corpus) -> usize {
    fs::read_dir(corpus.index_folder().join("extracts")).map_or(0, Iterator::count)
}

#[test]
fn a_kept_text_is_shown_and_deleted_with_its_document() {
    let corpus = Corpus::with(&[("a.md", "Ann grows apples.")]);
    corpus.write_bytes("fruit.pdf", &pdf::of_pages(&PAGES));
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    let report = update_with(&mut index, &config(), &mut embedder);
    assert_eq!((report.added, kept(&corpus)), (2, 1));

    let source = index.source("fruit.pdf", [3, 3]).expect("a source");
    assert_eq!(source.lines[2], "Quinces are hard.");
    let places: Vec<(u32, u32)> = source
        .places
        .iter()
        .map(|from| (from.line, from.place.first))
        .collect();
    assert_eq!(places, [(1, 1), (3, 2)]);
    assert!(!source.changed);

    // what was indexed is shown, whatever became of the file
    corpus.write_bytes("fruit.pdf", b"%PDF-1.4 damaged");
    let source = index.source("fruit.pdf", [3, 3]).expect("a source");
    assert_eq!(source.lines[2], "Quinces are hard.");
    assert!(source.changed);
    corpus.remove("fruit.pdf");
    assert!(index.source("fruit.pdf", [3, 3]).expect("a source").changed);

    update_with(&mut index, &config(), &mut embedder);
    corpus.write("b.md", "Bob paints doors.");
    update_with(&mut index, &config(), &mut embedder);
    assert_eq!(kept(&corpus), 0);
}

#[test]
fn a_lost_text_is_read_again() {
    let corpus = Corpus::new();
    corpus.write_bytes("fruit.pdf", &pdf::of_pages(&PAGES));
    let mut index = corpus.open();
    update_with(&mut index, &config(), &mut WordEmbedder::new("one"));
    fs::remove_dir_all(corpus.index_folder().join("extracts")).expect("removed");
    let source = index.source("fruit.pdf", [1, 1]).expect("a source");
    assert_eq!(source.lines[0], "Apples ripen first.");
}

#[test]
fn other_settings_read_binary_documents_again() {
    let corpus = Corpus::with(&[("a.md", "Ann grows apples.")]);
    corpus.write_bytes("fruit.pdf", &pdf::of_pages(&PAGES));
    corpus.write_bytes("scan.pdf", &pdf::scanned());
    let mut embedder = WordEmbedder::new("one");
    let mut index = corpus.open();
    let report = update_with(&mut index, &config(), &mut embedder);
    assert_eq!((report.added, report.skipped.len()), (2, 1));

    let mut other = config();
    other.corpus.page_headers = ragscope::config::PageHeaders::Keep;
    let report = update_with(&mut index, &other, &mut embedder);
    assert_eq!((report.changed, report.unchanged), (1, 1));
    let report = update_with(&mut index, &other, &mut embedder);
    assert_eq!((report.changed, report.unchanged), (0, 2));
    assert_eq!(report.skipped.len(), 1, "{:?}", report.skipped);
}
