use std::collections::{BTreeMap, BTreeSet};

use crate::event::{
    ChunkCopy, ChunkText, Context, DocumentLinks, DropReason, DroppedChunk, Hit, LeftOut, Part,
    QueryWord, Retrieval, UncertainRegion,
};

use super::funnel::{Funnel, Mark};
use super::orders::find_order;
use super::text::{self, clean, one_line};

/// The number of a chunk that no list of a lookup has.
const NO_CHUNK: u64 = u64::MAX;

/// A query, its hits, and what became of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lookup {
    /// The sentence that the lookup is for, from 1; 0 before the first.
    pub step: u32,
    pub query: String,
    /// The words of the query, with the origin of each.
    pub words: Vec<QueryWord>,
    /// The uncertain part of the sentence that the query is for.
    pub region: Option<UncertainRegion>,
    pub retrieval: Option<Retrieval>,
    pub context: Option<Context>,
    /// Number of hits of the retriever; the texts that were joined of chunks come after them.
    pub found: usize,
    pub funnel: Funnel,
    /// Parts that were left out, with the reason.
    pub left_out: Vec<(Vec<Part>, LeftOut)>,
    /// The utility of the context, in -1..=1, once it was measured.
    pub utility: Option<f32>,
    /// True for a lookup among documents that were re-chunked for this question.
    pub rechunked: bool,
    /// The words of each hit that addresses the model.
    orders: BTreeMap<u64, String>,
    /// The label of each chunk in the context, or the reason that it is not there.
    fates: BTreeMap<u64, Result<u32, DropReason>>,
}

impl Lookup {
    pub(super) fn new(step: u32) -> Self {
        Self {
            step,
            ..Self::default()
        }
    }

    /// Creates a lookup among the new chunks of re-chunked documents.
    pub(super) fn for_rechunked(step: u32) -> Self {
        Self {
            rechunked: true,
            ..Self::new(step)
        }
    }

    pub(super) fn set_query(
        &mut self,
        query: &str,
        words: Vec<QueryWord>,
        region: Option<UncertainRegion>,
    ) {
        self.query = one_line(query);
        self.words = words;
        clean(self.words.iter_mut().map(|word| &mut word.text));
        self.region = region;
    }

    pub(super) fn set_retrieval(&mut self, mut retrieval: Retrieval) {
        clean([&mut retrieval.query]);
        retrieval.hits.iter_mut().for_each(text::clean_hit);
        text::clean_documents(&mut retrieval.documents);
        if self.query.is_empty() {
            self.query.clone_from(&retrieval.query);
        }
        self.find_orders(&retrieval.hits);
        self.found = retrieval.hits.len();
        self.funnel = Funnel::new(&retrieval.hits);
        self.retrieval = Some(retrieval);
    }

    /// Notes that parts were left out; the last reason of a part is the one that holds.
    pub(super) fn leave_out(&mut self, parts: &[Part], reason: LeftOut) {
        for (known, _) in &mut self.left_out {
            known.retain(|part| !parts.contains(part));
        }
        self.left_out.retain(|(known, _)| !known.is_empty());
        self.left_out.push((parts.to_vec(), reason));
    }

    /// Returns the parts that were left out because there was no time for them.
    pub fn parts_without_time(&self) -> impl Iterator<Item = Part> {
        let is_late =
            |(_, reason): &&(Vec<Part>, LeftOut)| matches!(reason, LeftOut::NoTime { .. });
        let late = self.left_out.iter().filter(is_late);
        late.flat_map(|(parts, _)| parts.iter().copied())
    }

    pub(super) fn set_links(&mut self, mut links: DocumentLinks) {
        clean([&mut links.document]);
        self.funnel.set_links(links);
    }

    /// Adds texts that were joined of chunks.
    pub(super) fn add_texts(&mut self, mut texts: Vec<Hit>) {
        texts.iter_mut().for_each(text::clean_hit);
        self.funnel.add_members(&texts);
        self.find_orders(&texts);
        if let Some(retrieval) = &mut self.retrieval {
            retrieval.hits.extend(texts);
        }
    }

    /// Finds the orders once, as hits are drawn with every frame.
    fn find_orders(&mut self, hits: &[Hit]) {
        let order = |hit: &Hit| Some((hit.chunk.id, find_order(&hit.chunk.text)?));
        self.orders.extend(hits.iter().filter_map(order));
    }

    pub(super) fn set_context(&mut self, context: &Context) {
        self.fates.clear();
        let labelled = context
            .chunks
            .iter()
            .map(|used| (used.chunk, Ok(used.label)));
        self.fates.extend(labelled);
        self.drop_chunks(&context.dropped);
        self.context = Some(context.clone());
    }

    pub(super) fn drop_chunks(&mut self, dropped: &[DroppedChunk]) {
        let dropped = dropped
            .iter()
            .map(|one| (one.chunk, Err(one.reason.clone())));
        self.fates.extend(dropped);
    }

    /// Returns the hits in fused order, best first; then the texts that were joined of chunks.
    pub fn hits(&self) -> &[Hit] {
        let retrieval = self.retrieval.as_ref();
        retrieval.map_or(&[], |retrieval| &retrieval.hits)
    }

    /// Returns whether its hits are the passages of a document in their order, which no search
    /// ranked.
    pub fn is_read_in_order(&self) -> bool {
        let is_read = |hit: &Hit| hit.bm25.is_none() && hit.vector.is_none();
        let hits = self.hits();
        let retrieval = self.retrieval.as_ref();
        let is_searched = retrieval.is_some_and(|known| known.wall_us > 0);
        !is_searched && !hits.is_empty() && hits.iter().all(is_read)
    }

    /// Returns the hits of the retriever alone, best first.
    pub fn retrieved_hits(&self) -> &[Hit] {
        &self.hits()[..self.found]
    }

    /// Returns whether its hits are those of several searches in turn: a hit has the scores and
    /// ranks of the search that placed it.
    pub fn is_of_several_searches(&self) -> bool {
        let is_ascending = |pair: &[Hit]| pair[0].fused.score < pair[1].fused.score;
        let is_same = |rank: fn(&Hit) -> Option<u32>| {
            let ranks: Vec<u32> = self.retrieved_hits().iter().filter_map(rank).collect();
            ranks.iter().collect::<BTreeSet<_>>().len() < ranks.len()
        };
        self.retrieved_hits().windows(2).any(is_ascending)
            || is_same(|hit| Some(hit.bm25?.rank))
            || is_same(|hit| Some(hit.vector?.rank))
    }

    /// Returns the hit or joined text with this number.
    pub fn hit(&self, chunk: u64) -> Option<&Hit> {
        self.hits().iter().find(|hit| hit.chunk.id == chunk)
    }

    /// Returns the number here of a chunk that the index names: numbers hold within a generation of
    /// the index, and the run may be older.
    pub fn number(&self, chunk: &ChunkText) -> u64 {
        let document = one_line(&chunk.document);
        let hits = self.hits().iter();
        let of_hit = hits.clone().find_map(|Hit { chunk: hit, .. }| {
            if hit.document != document {
                return None;
            }
            let part = hit.parts.iter().find(|part| part.bytes == chunk.bytes);
            let is_hit = hit.parts.is_empty() && hit.bytes == chunk.bytes;
            part.map(|part| part.chunk).or(is_hit.then_some(hit.id))
        });
        let mut copies = hits.flat_map(|hit| &hit.copies);
        let is_copy = |copy: &&ChunkCopy| copy.document == document && copy.lines == chunk.lines;
        of_hit
            .or_else(|| copies.find(is_copy).map(|copy| copy.chunk))
            .unwrap_or(NO_CHUNK)
    }

    /// Returns the label of a chunk in the context.
    pub fn label(&self, chunk: u64) -> Option<u32> {
        self.fates.get(&chunk)?.as_ref().ok().copied()
    }

    /// Returns the reason that a chunk is not in the context.
    pub fn drop_reason(&self, chunk: u64) -> Option<&DropReason> {
        self.fates.get(&chunk)?.as_ref().err()
    }

    pub(super) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Returns what a hit says to the model instead of the reader.
    pub fn order(&self, chunk: u64) -> Option<&str> {
        self.orders.get(&chunk).map(String::as_str)
    }

    /// Returns the marks of a chunk, in order.
    pub fn marks(&self, chunk: u64) -> Vec<Mark> {
        self.funnel.marks(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ranked;

    #[test]
    fn hits_of_several_searches_are_known_by_their_scores_and_ranks() {
        let is_of_several = |hits: &[(f32, u32)]| {
            let hits = hits.iter().zip(1..).map(|((score, bm25_rank), rank)| {
                let ranked = |rank| Ranked {
                    score: *score,
                    rank,
                };
                Hit {
                    bm25: Some(ranked(*bm25_rank)),
                    ..Hit::new(ChunkText::default(), ranked(rank))
                }
            });
            let retrieval = Retrieval {
                query: String::new(),
                hits: hits.collect(),
                bm25_found: 3,
                vector_found: 0,
                wall_us: 1,
                filter: None,
                documents: BTreeMap::new(),
            };
            let mut lookup = Lookup::default();
            lookup.set_retrieval(retrieval);
            lookup.is_of_several_searches()
        };
        assert!(!is_of_several(&[(0.9, 2), (0.8, 1), (0.8, 3)]));
        assert!(is_of_several(&[(0.9, 1), (0.8, 1)]), "two first ranks");
        assert!(is_of_several(&[(0.8, 1), (0.9, 2)]), "not in their order");
        assert!(!is_of_several(&[]));
    }
}
