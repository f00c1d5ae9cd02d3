//! The parts of a BM25 score: which words of a query a chunk holds, and how much each adds.

use tantivy::postings::Postings as _;
use tantivy::query::{Bm25StatisticsProvider, Bm25Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet as _, Searcher, Term};

use super::analyser::QueryWord;

/// A form of a word in a chunk.
pub(in crate::index) struct FormScore {
    pub form: String,
    pub score: f32,
    /// Times that the chunk has it, in its text and in its place.
    pub times: u32,
}

/// Returns the forms of the words that each of these chunks holds in a field, with the scores that
/// a search adds up by the same statistics.
pub(super) fn form_scores(
    searcher: &Searcher,
    field: Field,
    words: &[QueryWord],
    statistics: &dyn Bm25StatisticsProvider,
    chunks: &[DocAddress],
) -> tantivy::Result<Vec<Vec<FormScore>>> {
    // a list of postings is read in one direction
    let mut order: Vec<usize> = (0..chunks.len()).collect();
    order.sort_unstable_by_key(|at| chunks[*at]);

    let mut scores: Vec<Vec<FormScore>> = Vec::new();
    scores.resize_with(chunks.len(), Vec::new);
    for form in words.iter().flatten() {
        let term = Term::from_field_text(field, form);
        let weight = Bm25Weight::for_terms(statistics, std::slice::from_ref(&term))?;
        for of_segment in
            order.chunk_by(|one, other| chunks[*one].segment_ord == chunks[*other].segment_ord)
        {
            let Some(first) = of_segment.first() else {
                continue;
            };
            let reader = searcher.segment_reader(chunks[*first].segment_ord);
            let index = reader.inverted_index(field)?;
            let read = index.read_postings(&term, IndexRecordOption::WithFreqs)?;
            let Some(mut postings) = read else {
                continue;
            };
            let lengths = reader.get_fieldnorms_reader(field)?;

            for at in of_segment {
                let doc = chunks[*at].doc_id;
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                if postings.doc() == doc {
                    let times = postings.term_freq();
                    scores[*at].push(FormScore {
                        form: form.clone(),
                        score: weight.score(lengths.fieldnorm_id(doc), times),
                        times,
                    });
                }
            }
        }
    }
    Ok(scores)
}
