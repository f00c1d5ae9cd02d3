//! Text of documents, files and models, made harmless: nothing in it steers the terminal.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::event::{
    Alternative, AnswerSamples, ChunkText, Citation, CorpusCard, Hit, Metadata, NearestSentence,
    Utility, Verdict, harmless,
};

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

/// Returns a hit whose text and headings are harmless.
///
/// The path stays as it is, because a document is requested by it: it is made harmless where it is
/// printed.
pub(super) fn hit(hit: &Hit) -> Hit {
    let mut hit = hit.clone();
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
    hit
}

/// Returns a sentence of a source on one line.
pub(super) fn nearest(nearest: &NearestSentence) -> NearestSentence {
    let mut nearest = nearest.clone();
    clean([&mut nearest.text]);
    nearest
}

/// Returns a verdict whose texts are harmless.
pub(super) fn verdict(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    clean(verdict.least_certain.iter_mut().map(|word| &mut word.text));
    clean(verdict.conflict.iter_mut().map(|other| &mut other.file));
    verdict
}

/// Returns citations whose quotes are harmless. The path stays as it is, as that of a hit does.
pub(super) fn citations(citations: &[Citation]) -> Vec<Citation> {
    let mut citations = citations.to_vec();
    for quote in citations
        .iter_mut()
        .filter_map(|cited| cited.quote.as_mut())
    {
        *quote = many_lines(quote);
    }
    citations
}

/// Returns alternatives whose texts are on one line.
pub(super) fn alternatives(alternatives: &[Alternative]) -> Vec<Alternative> {
    let mut alternatives = alternatives.to_vec();
    clean(alternatives.iter_mut().map(|other| &mut other.text));
    alternatives
}

/// Returns what documents say of themselves on one line each.
pub(super) fn documents(documents: &BTreeMap<String, Metadata>) -> BTreeMap<String, Metadata> {
    let mut documents = documents.clone();
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
    documents
}

/// Returns samples on one line each.
pub(super) fn samples(samples: &AnswerSamples) -> AnswerSamples {
    let mut samples = samples.clone();
    clean(&mut samples.texts);
    samples
}

/// Returns a utility whose answers are on one line each.
pub(super) fn utility(utility: &Utility) -> Utility {
    let mut utility = utility.clone();
    clean(&mut utility.references);
    for belief in &mut utility.beliefs {
        clean([&mut belief.greedy]);
        clean(belief.samples.iter_mut().map(|sample| &mut sample.text));
    }
    utility
}
