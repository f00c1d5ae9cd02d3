//! A document: the first byte chooses one of the formats whose files are text, the rest is the file. Any bytes
//! give a document or a reason, and every sentence has lines, and bytes inside the file or its text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragscope::corpus::{Document, sentences};

/// One name per reader.
const NAMES: [&str; 24] = [
    "a.txt", "a.log", "a.md", "a.html", "a.xml", "a.csv", "a.tsv", "a.json", "a.jsonl", "a.ipynb",
    "a.yaml", "a.toml", "a.ini", "a.srt", "a.vtt", "a.tex", "a.rst", "a.adoc", "a.org", "a.fb2",
    "a.rs", "a.rtf", "a.eml", "a.mbox",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((chosen, file)) = bytes.split_first() else {
        return;
    };
    let name = NAMES[usize::from(*chosen) % NAMES.len()];
    let Ok(document) = Document::new_here(name, file.to_vec()) else {
        return;
    };

    // of what is not text the positions are those of its text
    let size = file.len().max(document.text.len()) as u64;
    for sentence in sentences(&document.text, document.language) {
        let [from, to] = document.bytes(sentence.clone());
        assert!(from <= to && to <= size, "{name}");
        let [first, last] = document.lines(sentence.clone());
        assert!(1 <= first && first <= last, "{name}");
        let _ = document.headings_at(sentence.start);
    }
});
