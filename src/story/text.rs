//! Text of documents, files and models, made harmless: nothing in it steers the terminal.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::event::{ChunkText, Citation, CorpusCard, Hit, Metadata, Utility, harmless};

const TAB: &str = "    ";

/// Returns text on one line.
pub fn one_line(text: &str) -> String {
    harmless(text).replace('\t', TAB).replace('\n', " ")
}

/// Returns text that may have several lines.
pub fn many_lines(text: &str) -> String {
    harmless(&text.replace("\r\n", "\n")).replace('\t', TAB)
}

/// Returns texts as one, with a separator between them.
pub fn join<S: Borrow<str>>(texts: impl IntoIterator<Item = S>, separator: &str) -> String {
    texts.into_iter().collect::<Vec<S>>().join(separator)
}

/// Puts each of the texts on one line.
pub fn clean<'t>(texts: impl IntoIterator<Item = &'t mut String>) {
    for text in texts {
        *text = one_line(text);
    }
}

/// Returns a corpus whose folders are on one line each.
pub fn corpus(corpus: &CorpusCard) -> CorpusCard {
    let mut corpus = corpus.clone();
    clean(corpus.folders.iter_mut().chain([&mut corpus.folder]));
    corpus
}

/// Makes the text and the headings of a hit harmless.
///
/// The path stays as it is, because a document is requested by it: it is made harmless where it is
/// printed.
pub(super) fn clean_hit(hit: &mut Hit) {
    let ChunkText {
        text,
        headings,
        sections,
        parts,
        ..
    } = &mut hit.chunk;

    // Parts are byte ranges of the text, so they are void once a replacement changed its length.
    let harmless = many_lines(text);
    if harmless.len() != text.len() {
        sections.clear();
        for part in parts {
            part.text = [0, 0];
        }
    }

    *text = harmless;
    clean(headings);
    clean(
        sections
            .iter_mut()
            .flat_map(|section| &mut section.headings),
    );
    clean(hit.words.iter_mut().map(|scored| &mut scored.word));
    let copies = hit.copies.iter_mut();
    clean(copies.flat_map(|copy| &mut copy.other_words));
}

/// Makes the quotes of citations harmless. The path stays as it is, as that of a hit does.
pub(super) fn clean_citations(citations: &mut [Citation]) {
    for cited in citations {
        cited.quote = cited.quote.as_deref().map(many_lines);
    }
}

/// Puts what documents say of themselves on one line each.
pub(super) fn clean_documents(documents: &mut BTreeMap<String, Metadata>) {
    let texts = documents.values_mut().flat_map(|metadata| {
        let Metadata {
            title,
            author,
            date,
            version,
            withdrawn: _,
        } = metadata;
        [title, author, date, version].into_iter().flatten()
    });
    clean(texts);
}

/// Puts the answers of a utility on one line each.
pub(super) fn clean_utility(utility: &mut Utility) {
    clean(&mut utility.references);
    for belief in &mut utility.beliefs {
        clean([&mut belief.greedy]);
        clean(belief.samples.iter_mut().map(|sample| &mut sample.text));
    }
}
