//! An HTML page: any bytes give a document or a reason. Every part of the text has a position in the
//! file, and positions are in order and inside it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ragscope::corpus::{Document, sentences};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Document::new("page.html", bytes.to_vec()) else {
        return;
    };

    let mut before = 0;
    for sentence in sentences(&document.text, document.language) {
        let [from, to] = document.bytes(sentence.clone());
        assert!(before <= from && from <= to && to <= bytes.len() as u64);
        before = from;

        let [first, last] = document.lines(sentence.clone());
        assert!(1 <= first && first <= last);
        let _ = document.headings_at(sentence.start);
    }
});
