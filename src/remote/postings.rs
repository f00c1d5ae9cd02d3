//! Lists of the chunks that hold a word, in blocks, and their BM25 scores.
//!
//! A block holds the postings of one word in one bucket of [`BUCKET_CHUNKS`] ids. Ids are never
//! used twice and grow, so that an update changes the blocks of few buckets. A posting is the
//! distance to the one before it and whether the word occurs once, as a variable-length integer;
//! the number of times otherwise; and the length of the chunk in one byte, as tantivy rounds it. So
//! scores are those of the local index.

use std::collections::BTreeMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::Bm25Weight;

use super::values::{Allowed, ChunkWords, ScoredId};

/// Number of ids of a bucket. Larger ones have fewer blocks per word, each with its row in a table;
/// an update of one document writes all words of its bucket.
pub(super) const BUCKET_CHUNKS: u64 = 2048;

/// Returns the bucket of a chunk.
pub(super) fn bucket(chunk: u64) -> u64 {
    chunk / BUCKET_CHUNKS
}

/// The postings of a word in a bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Block {
    pub bucket: u64,
    /// Number of chunks.
    pub count: u32,
    pub data: Vec<u8>,
}

/// Builds the blocks of one bucket, from its chunks by id.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    words: BTreeMap<String, (Block, u64)>,
}

impl BlockBuilder {
    /// Adds a chunk, whose id is above those before it.
    pub fn add(&mut self, chunk: u64, words: &ChunkWords) {
        let offset = chunk % BUCKET_CHUNKS;
        // the rounding of tantivy's field norms, of which BM25 reads the length of a chunk
        let norm = FieldNormReader::fieldnorm_to_id(words.length);

        for (word, count) in &words.counts {
            let (block, after) = self.words.entry(word.clone()).or_default();
            block.bucket = bucket(chunk);
            block.count += 1;

            let distance = offset - *after;
            write(&mut block.data, distance << 1 | u64::from(*count == 1));
            if *count != 1 {
                write(&mut block.data, u64::from(*count));
            }

            block.data.push(norm);
            // ids ascend, so the next distance counts from the place behind this one
            *after = offset + 1;
        }
    }

    /// Returns the blocks by word.
    pub fn finish(self) -> impl Iterator<Item = (String, Block)> {
        let blocks = self.words.into_iter();
        blocks.map(|(word, (block, _))| (word, block))
    }
}

fn write(data: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        // LEB128: seven bits per byte, the lowest first; the eighth says that more follow
        data.push(number as u8 | 0x80);
        number >>= 7;
    }
    data.push(number as u8);
}

/// Reads the next number; `None` at the end of the data.
fn read(data: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The counts of BM25 over a whole collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct CorpusCounts {
    pub chunks: u64,
    pub words: u64,
}

/// Returns the `count` chunks with the highest scores for the words of these blocks, best first.
/// Each item is a word of the query with all of its blocks.
pub(super) fn best(
    words: &[Vec<Block>],
    counts: CorpusCounts,
    count: usize,
    allowed: Option<&Allowed>,
) -> Vec<ScoredId> {
    if counts.chunks == 0 || count == 0 {
        return Vec::new();
    }

    let weights: Vec<Bm25Weight> = words.iter().map(|blocks| weight(blocks, counts)).collect();
    let mut buckets: BTreeMap<u64, Vec<(&Bm25Weight, &Block)>> = BTreeMap::new();
    for (blocks, weight) in words.iter().zip(&weights) {
        for block in blocks {
            let of_bucket = buckets.entry(block.bucket).or_default();
            of_bucket.push((weight, block));
        }
    }

    let mut best: Vec<ScoredId> = Vec::new();
    let mut scores = vec![0.0_f32; BUCKET_CHUNKS as usize];
    for (bucket, blocks) in buckets {
        // a bucket has a fixed number of ids: one list of scores serves all of them in turn
        scores.fill(0.0);
        for (weight, block) in blocks {
            add_scores(&mut scores, weight, &block.data);
        }
        for (chunk, score) in (bucket * BUCKET_CHUNKS..).zip(&scores) {
            if *score <= 0.0 || allowed.is_some_and(|allowed| !allowed.contains(chunk)) {
                continue;
            }
            best.push(ScoredId {
                chunk,
                score: *score,
            });
        }
        best.sort_by(|one, other| {
            let scores = other.score.total_cmp(&one.score);
            scores.then(one.chunk.cmp(&other.chunk))
        });
        best.truncate(count);
    }
    best
}

/// Returns the weight of a word with these blocks.
fn weight(blocks: &[Block], counts: CorpusCounts) -> Bm25Weight {
    let average = counts.words as f32 / counts.chunks as f32;
    let all: u64 = blocks.iter().map(|block| u64::from(block.count)).sum();

    // what is being published elsewhere can be counted before its part is
    let found = all.min(counts.chunks);
    Bm25Weight::for_one_term_without_explain(found, counts.chunks, average)
}

/// Adds the scores of a word to those of the chunks of its bucket.
fn add_scores(scores: &mut [f32], weight: &Bm25Weight, mut data: &[u8]) {
    let mut at = 0;

    while let Some(head) = read(&mut data) {
        at += (head >> 1) as usize;
        let times = if head & 1 == 1 {
            Some(1)
        } else {
            read(&mut data)
        };

        let (Some(times), Some((norm, rest))) = (times, data.split_first()) else {
            return;
        };
        data = rest;

        if let Some(score) = scores.get_mut(at) {
            *score += weight.score(*norm, times as u32);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[(&str, u32)], length: u32) -> ChunkWords {
        ChunkWords {
            counts: text
                .iter()
                .map(|(word, count)| ((*word).to_owned(), *count))
                .collect(),
            length,
        }
    }

    fn blocks(chunks: &[(u64, ChunkWords)]) -> Vec<(String, Block)> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < chunks.len() {
            let bucket_of = bucket(chunks[at].0);
            let mut builder = BlockBuilder::default();
            while at < chunks.len() && bucket(chunks[at].0) == bucket_of {
                builder.add(chunks[at].0, &chunks[at].1);
                at += 1;
            }
            all.extend(builder.finish());
        }
        all
    }

    #[test]
    fn scores_are_those_of_bm25() {
        let chunks = [
            (1, words(&[("sail", 1), ("wind", 2)], 3)),
            (2, words(&[("sail", 300)], 300)),
            (2047, words(&[("wind", 1)], 40)),
            (2048, words(&[("sail", 1)], 9)),
            (5000, words(&[("apple", 1)], 5)),
        ];
        let all = blocks(&chunks);
        let counts = CorpusCounts {
            chunks: 5,
            words: 357,
        };
        let of = |word: &str| -> Vec<Block> {
            let found = all.iter().filter(|(known, _)| known == word);
            found.map(|(_, block)| block.clone()).collect()
        };

        // idf = ln(1 + (N - n + 0.5) / (n + 0.5)); idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 *
        // length / mean))
        let idf = |n: f32| ((5.0 - n + 0.5) / (n + 0.5) + 1.0).ln();
        let bm25 = |n: f32, times: f32, length: u32| {
            // lengths are rounded down to what one byte holds
            let rounded =
                FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(length)) as f32;
            idf(n) * 2.2 * times / (times + 1.2 * (0.25 + 0.75 * rounded / (357.0 / 5.0)))
        };
        let mut expected = [
            (1, bm25(3.0, 1.0, 3) + bm25(2.0, 2.0, 3)),
            (2, bm25(3.0, 300.0, 300)),
            (2047, bm25(2.0, 1.0, 40)),
            (2048, bm25(3.0, 1.0, 9)),
        ];
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = best(&[of("sail"), of("wind")], counts, 10, None);
        assert_eq!(found.len(), 4);
        for (found, (chunk, score)) in found.iter().zip(expected) {
            assert_eq!(found.chunk, chunk);
            assert!((found.score - score).abs() < 1e-5, "{chunk}");
        }

        let two = best(&[of("sail"), of("wind")], counts, 2, None);
        assert_eq!(two, found[..2]);
        let allowed = Allowed {
            chunks: vec![2000..2048, 2048..2100],
            count: 100,
        };
        let found = best(&[of("sail"), of("wind")], counts, 9, Some(&allowed));
        let mut ids: Vec<u64> = found.iter().map(|found| found.chunk).collect();
        ids.sort_unstable();
        assert_eq!(ids, [2047, 2048]);
        assert!(best(&[of("nothing")], counts, 9, None).is_empty());
    }

    #[test]
    fn a_cut_block_ends_early_and_harms_nothing() {
        let chunks: Vec<(u64, ChunkWords)> = (0..400)
            .map(|id| (id, words(&[("a", id as u32 + 1)], 20)))
            .collect();
        let (_, whole) = blocks(&chunks).remove(0);
        let counts = CorpusCounts {
            chunks: 400,
            words: 8000,
        };
        for length in 0..whole.data.len() {
            let cut = Block {
                data: whole.data[..length].to_vec(),
                ..whole
            };
            assert!(best(&[vec![cut]], counts, 500, None).len() <= 400);
        }
        assert_eq!(best(&[vec![whole]], counts, 500, None).len(), 400);
    }
}
