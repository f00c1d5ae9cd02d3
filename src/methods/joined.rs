//! Chunks of one document joined into one text, in the order of the document, with the way back to each of them.

use std::collections::BTreeSet;

use crate::event::{ChunkPart, ChunkText, Hit};

/// Ids of joined texts lie beyond those of chunks, and are whole numbers in every reader of JSON.
const JOINED: u64 = 1 << 52;

/// A chunk inside a text.
struct Piece {
    part: ChunkPart,
    text: String,
}

/// One text of chunks (or joined texts) of one document: each chunk once, in document order, one a line. What a chunk repeats of the one
/// before it is left out. The headings are those of the first. The id is made of the chunks', so that the same chunks give the same.
///
/// A single chunk comes back as it is; of none there is no text.
#[must_use]
pub fn join(chunks: &[&ChunkText]) -> Option<ChunkText> {
    let mut pieces: Vec<Piece> = chunks.iter().flat_map(|chunk| pieces(chunk)).collect();
    pieces.sort_by_key(|piece| (piece.part.bytes, piece.part.chunk));
    pieces.dedup_by_key(|piece| piece.part.chunk);
    let first = chunks.iter().min_by_key(|chunk| chunk.bytes)?;
    if let [only] = pieces.as_slice() {
        return chunks
            .iter()
            .find(|chunk| chunk.id == only.part.chunk || chunk.parts.len() == 1)
            .map(|chunk| (*chunk).clone());
    }
    let mut whole = ChunkText {
        id: id_of(&pieces),
        tokens: chunks.iter().map(|chunk| chunk.tokens).sum(),
        bytes: [
            first.bytes[0],
            pieces.iter().map(|piece| piece.part.bytes[1]).max()?,
        ],
        lines: [
            first.lines[0],
            pieces.iter().map(|piece| piece.part.lines[1]).max()?,
        ],
        text: String::new(),
        parts: Vec::new(),
        ..(*first).clone()
    };
    let mut end = 0;
    for piece in pieces {
        let repeated = if piece.part.bytes[0] < end {
            repeated(&whole.text, &piece.text)
        } else {
            0
        };
        end = piece.part.bytes[1].max(end);
        if !whole.text.is_empty() && repeated == 0 {
            whole.text.push('\n');
        }
        let start = whole.text.len();
        whole.text.push_str(&piece.text[repeated..]);
        let skipped = piece.text[..repeated].matches('\n').count() as u32;
        let [from, to] = piece.part.lines;
        whole.parts.push(ChunkPart {
            text: [start as u64, whole.text.len() as u64],
            lines: [(from + skipped).min(to), to],
            ..piece.part
        });
    }
    Some(whole)
}

/// The chunks of a text, each with its own text.
fn pieces(chunk: &ChunkText) -> Vec<Piece> {
    if chunk.parts.is_empty() {
        let part = ChunkPart {
            chunk: chunk.id,
            bytes: chunk.bytes,
            lines: chunk.lines,
            text: [0, chunk.text.len() as u64],
        };
        return vec![Piece {
            part,
            text: chunk.text.clone(),
        }];
    }
    let text = |part: &ChunkPart| {
        chunk
            .text
            .get(part.text[0] as usize..part.text[1] as usize)
            .unwrap_or_default()
    };
    chunk
        .parts
        .iter()
        .map(|part| Piece {
            part: *part,
            text: text(part).to_owned(),
        })
        .collect()
}

fn id_of(pieces: &[Piece]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(&piece.part.chunk.to_le_bytes());
    }
    let hash = hasher.finalize();
    let low = hash.as_bytes()[..8]
        .iter()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    JOINED | low & (JOINED - 1)
}

/// How many bytes from the front of `next` the end of `before` holds already.
#[must_use]
pub fn repeated(before: &str, next: &str) -> usize {
    let most = before.len().min(next.len());
    (1..=most)
        .rev()
        .find(|length| next.is_char_boundary(*length) && before.ends_with(&next[..*length]))
        .unwrap_or(0)
}

/// The chunks that a text holds, by id.
#[must_use]
pub fn chunks_of(chunk: &ChunkText) -> BTreeSet<u64> {
    match chunk.parts.is_empty() {
        true => BTreeSet::from([chunk.id]),
        false => chunk.parts.iter().map(|part| part.chunk).collect(),
    }
}

/// A text that became part of a better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absorbed {
    pub text: u64,
    /// The text that holds its chunks now.
    pub by: u64,
}

/// Texts of one document that share a chunk become one, at the place of the best of them (section 3.2).
#[must_use]
pub fn merge(hits: Vec<Hit>) -> (Vec<Hit>, Vec<Absorbed>) {
    let mut groups: Vec<(BTreeSet<u64>, Vec<Hit>)> = Vec::new();
    for hit in hits {
        let mut chunks = chunks_of(&hit.chunk);
        let sharing: Vec<usize> = (0..groups.len())
            .filter(|group| !groups[*group].0.is_disjoint(&chunks))
            .collect();
        let Some((first, others)) = sharing.split_first() else {
            groups.push((chunks, vec![hit]));
            continue;
        };
        // a text can tie groups together that had nothing in common before
        let mut members = Vec::new();
        for group in others.iter().rev() {
            let (theirs, hits) = groups.remove(*group);
            chunks.extend(theirs);
            members.splice(0..0, hits);
        }
        groups[*first].0.append(&mut chunks);
        groups[*first].1.append(&mut members);
        groups[*first].1.push(hit);
    }
    let mut absorbed = Vec::new();
    let merged = groups
        .into_iter()
        .filter_map(|(_, members)| {
            let texts: Vec<&_> = members.iter().map(|hit| &hit.chunk).collect();
            let chunk = join(&texts)?;
            let gone = members.iter().filter(|hit| hit.chunk.id != chunk.id);
            absorbed.extend(gone.map(|hit| Absorbed {
                text: hit.chunk.id,
                by: chunk.id,
            }));
            Some(Hit {
                chunk,
                ..members[0].clone()
            })
        })
        .collect();
    (merged, absorbed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ranked;

    fn chunk(id: u64, bytes: [u64; 2], text: &str) -> ChunkText {
        let lines = [id as u32 + 1, id as u32 + 1];
        let (document, headings) = ("a.md".to_owned(), vec![format!("H{id}")]);
        ChunkText {
            id,
            document,
            headings,
            bytes,
            lines,
            tokens: 4,
            text: text.to_owned(),
            parts: Vec::new(),
        }
    }

    fn hit(chunk: ChunkText) -> Hit {
        Hit {
            chunk,
            bm25: None,
            vector: None,
            fused: Ranked {
                score: 1.0,
                rank: 1,
            },
        }
    }

    #[test]
    fn chunks_are_joined_once_each_in_the_order_of_the_document() {
        let (a, b, c) = (
            chunk(0, [0, 6], "Mira."),
            chunk(1, [6, 20], "She sails."),
            chunk(4, [40, 50], "She wed."),
        );
        let whole = join(&[&c, &a, &c]).expect("a text");
        assert_eq!(whole.text, "Mira.\nShe wed.");
        assert_eq!(
            (whole.bytes, whole.lines, whole.headings.clone()),
            ([0, 50], [1, 5], vec!["H0".to_owned()])
        );
        assert!(whole.id >= JOINED && whole.id < JOINED << 1);
        let more = join(&[&whole, &b]).expect("a text");
        assert_eq!(more.text, "Mira.\nShe sails.\nShe wed.");
        assert_eq!(chunks_of(&more), BTreeSet::from([0, 1, 4]));
        assert_eq!(
            more.id,
            join(&[&b, &c, &a]).expect("a text").id,
            "the order of asking does not matter"
        );
        assert_eq!(join(&[&a, &a]), Some(a));
        assert_eq!(join(&[]), None);
    }

    #[test]
    fn what_a_chunk_repeats_is_left_out() {
        let (a, b) = (
            chunk(0, [0, 20], "One is. Two is."),
            chunk(1, [8, 30], "Two is. Three is."),
        );
        let whole = join(&[&b, &a]).expect("a text");
        assert_eq!(whole.text, "One is. Two is. Three is.");
        assert_eq!(
            whole.parts.iter().map(|part| part.text).collect::<Vec<_>>(),
            [[0, 15], [15, 25]]
        );
    }

    #[test]
    fn texts_that_share_a_chunk_become_one_at_the_best_place() {
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|id| chunk(id, [id * 10, id * 10 + 9], &format!("Text {id}.")));
        let pair = |x: &ChunkText, y: &ChunkText| hit(join(&[x, y]).expect("a text"));
        let (merged, absorbed) = merge(vec![pair(&a, &b), hit(d.clone()), pair(&c, &b)]);
        let texts: Vec<&str> = merged.iter().map(|hit| hit.chunk.text.as_str()).collect();
        assert_eq!(texts, ["Text 0.\nText 1.\nText 2.", "Text 3."]);
        assert_eq!(absorbed.len(), 2);
        assert!(absorbed.iter().all(|gone| gone.by == merged[0].chunk.id));
        let (merged, _) = merge(vec![pair(&a, &b), pair(&c, &d), pair(&b, &c)]);
        assert_eq!(merged.len(), 1, "the third ties the first two together");
    }
}
