//! Finds the evidence of questions: in the corpus, and in chunks.

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;

use super::questions::{Evidence, Question};
use crate::corpus::{Document, fold_white_space, sentences};
use crate::engine;
use crate::event::{ChunkText, Context};
use crate::story::Run;

/// The evidence of one question, split into sentences: a chunk holds a piece when it contains it
/// word for word, and is of the document that the evidence names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidencePieces(Vec<Piece>);

/// A sentence of evidence, and the document that it must stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    file: Option<String>,
    text: String,
}

impl EvidencePieces {
    /// Returns the sentences of a question's evidence, each once.
    pub fn new(question: &Question) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();

        for evidence in &question.evidence {
            let quote = plain(&evidence.quote);
            for sentence in sentences(&quote, "en") {
                let piece = Piece {
                    file: evidence.file.clone(),
                    text: fold_white_space(&quote[sentence]),
                };
                if !piece.text.is_empty() && !pieces.contains(&piece) {
                    pieces.push(piece);
                }
            }
        }

        Self(pieces)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pieces that a chunk holds, by number.
    pub fn find_in(&self, chunk: &ChunkText) -> Vec<usize> {
        let text = fold_white_space(&chunk.text);
        let is_held = |piece: &Piece| {
            let mut file = piece.file.iter();
            file.all(|file| *file == chunk.document) && text.contains(&piece.text)
        };
        (0..self.0.len())
            .filter(|number| is_held(&self.0[*number]))
            .collect()
    }
}

/// Returns a quote as the text of a document has it: without the tags of a page of HTML that it was
/// copied from.
fn plain(quote: &str) -> String {
    let mut plain = String::with_capacity(quote.len());
    let mut rest = quote;

    while let Some((before, tag)) = rest.split_once('<') {
        let is_tag = tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        plain.push_str(before);

        match tag.split_once('>').filter(|_| is_tag) {
            Some((_, after)) => {
                plain.push(' ');
                rest = after;
            }
            None => {
                plain.push('<');
                rest = tag;
            }
        }
    }

    plain + rest
}

/// Returns the evidence of the questions that no document holds: the document that it names, else
/// any of them. Each is a line with its question.
pub fn find_missing_evidence(questions: &[Question], documents: &[Document]) -> Vec<String> {
    let texts: Vec<(&str, String)> = documents
        .par_iter()
        .map(|document| (&*document.path, fold_white_space(&document.text)))
        .collect();

    let is_there = |evidence: &Evidence| {
        let quote = fold_white_space(&plain(&evidence.quote));
        let in_file = |path: &str| evidence.file.as_deref().is_none_or(|file| file == path);
        texts
            .iter()
            .any(|(path, text)| in_file(path) && text.contains(&quote))
    };

    let missing = questions.par_iter().flat_map_iter(|question| {
        let missing = question.evidence.iter().filter(|one| !is_there(one));
        missing.map(move |evidence| {
            let place = evidence.file.as_deref().unwrap_or("the corpus");
            let Evidence { quote, .. } = evidence;
            format!("{}: {place} does not hold “{quote}”", question.id)
        })
    });

    let mut missing: Vec<String> = missing.collect();
    let mut listed = HashSet::new();
    missing.retain(|line| listed.insert(line.clone()));
    missing
}

/// Returns the chunks that the answer was written from, each once, best first. A context that was
/// repaired replaces the one before it.
pub(super) fn context_chunks(run: &Run) -> Vec<u64> {
    let mut contexts: BTreeMap<u32, &Context> = BTreeMap::new();
    for lookup in &run.lookups {
        if let Some(context) = &lookup.context {
            contexts.insert(lookup.step, context);
        }
    }
    // a context lists its chunks in the order of the prompt
    let ranked = contexts.values().flat_map(|context| {
        let chunks = context.chunks.iter().map(|used| used.chunk).collect();
        engine::best_first(chunks, run.settings.answer.order)
    });
    without_repeats(ranked)
}

/// Returns each chunk once, in the order of its first place.
pub(super) fn without_repeats(chunks: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut seen = HashSet::new();
    chunks.filter(|chunk| seen.insert(*chunk)).collect()
}
