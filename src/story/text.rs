//! Text of documents, files and models, made harmless: nothing in it steers the terminal.

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

/// Returns a corpus whose folders are on one line each.
pub fn corpus(corpus: &CorpusCard) -> CorpusCard {
    CorpusCard {
        folder: one_line(&corpus.folder),
        folders: corpus.folders.iter().map(|name| one_line(name)).collect(),
        ..corpus.clone()
    }
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
        parts,
        ..
    } = &mut hit.chunk;

    // Parts are byte ranges of the text, so they are void once a replacement changed its length.
    let harmless = many_lines(text);
    if harmless.len() != text.len() {
        for part in parts {
            part.text = [0, 0];
        }
    }

    *text = harmless;
    for scored in &mut hit.words {
        scored.word = one_line(&scored.word);
    }
    for heading in headings {
        *heading = one_line(heading);
    }
    hit
}

/// Returns a sentence of a source on one line.
pub(super) fn nearest(nearest: &NearestSentence) -> NearestSentence {
    NearestSentence {
        text: one_line(&nearest.text),
        ..nearest.clone()
    }
}

/// Returns a verdict whose texts are harmless.
pub(super) fn verdict(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if let Some(word) = &mut verdict.least_certain {
        word.text = one_line(&word.text);
    }
    if let Some(other) = &mut verdict.conflict {
        other.file = one_line(&other.file);
    }
    verdict
}

/// Returns citations whose quotes are harmless. The path stays as it is, as that of a hit does.
pub(super) fn citations(citations: &[Citation]) -> Vec<Citation> {
    let harmless = |citation: &Citation| Citation {
        quote: citation.quote.as_deref().map(many_lines),
        ..citation.clone()
    };
    citations.iter().map(harmless).collect()
}

/// Returns alternatives whose texts are on one line.
pub(super) fn alternatives(alternatives: &[Alternative]) -> Vec<Alternative> {
    let harmless = |alternative: &Alternative| Alternative {
        text: one_line(&alternative.text),
        logprob: alternative.logprob,
    };
    alternatives.iter().map(harmless).collect()
}

/// Returns what documents say of themselves on one line each.
pub(super) fn documents(documents: &BTreeMap<String, Metadata>) -> BTreeMap<String, Metadata> {
    let harmless = |metadata: &Metadata| Metadata {
        title: metadata.title.as_deref().map(one_line),
        author: metadata.author.as_deref().map(one_line),
        date: metadata.date.as_deref().map(one_line),
    };
    documents
        .iter()
        .map(|(path, metadata)| (path.clone(), harmless(metadata)))
        .collect()
}

/// Returns a utility whose answers are on one line each.
pub(super) fn samples(samples: &AnswerSamples) -> AnswerSamples {
    let texts = samples.texts.iter().map(|text| one_line(text));
    AnswerSamples {
        texts: texts.collect(),
        uncertainty: samples.uncertainty,
    }
}

pub(super) fn utility(utility: &Utility) -> Utility {
    let mut utility = utility.clone();
    for reference in &mut utility.references {
        *reference = one_line(reference);
    }
    for belief in &mut utility.beliefs {
        belief.greedy = one_line(&belief.greedy);
        for sample in &mut belief.samples {
            sample.text = one_line(&sample.text);
        }
    }
    utility
}
