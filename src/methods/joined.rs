//! Chunks of one document, joined into one text that remembers where each of them is.

use std::collections::BTreeSet;

use crate::event::{ChunkPart, ChunkText, Hit, PlaceFrom, SectionFrom, saturating_u32};

/// Ids of joined texts have this bit set. Chunk ids are smaller, and both are below 2^53, so that
/// every JSON reader holds them exactly.
const JOINED: u64 = 1 << 52;

/// A chunk inside a text.
struct OverlappingChunk {
    part: ChunkPart,
    text: String,
    /// The headings above it, and the sections that begin inside of its own text.
    headings: Vec<String>,
    sections: Vec<SectionFrom>,
}

/// Joins chunks (or joined texts) of one document: each chunk once, in document order, one per
/// line, without what it repeats of the chunk before it.
///
/// The headings are those of the first chunk. The id is a hash of the chunks' ids, so that the same
/// chunks give the same id. A single chunk is returned unchanged; `None` for no chunks.
pub fn join(chunks: &[&ChunkText]) -> Option<ChunkText> {
    let mut pieces: Vec<OverlappingChunk> = chunks.iter().flat_map(|chunk| pieces(chunk)).collect();
    pieces.sort_by_key(|piece| (piece.part.bytes, piece.part.chunk));
    pieces.dedup_by_key(|piece| piece.part.chunk);

    if let [only] = pieces.as_slice() {
        return chunks
            .iter()
            .find(|chunk| chunk.id == only.part.chunk || chunk.parts.len() == 1)
            .map(|chunk| (*chunk).clone());
    }

    let first = chunks.iter().min_by_key(|chunk| chunk.bytes)?;
    let end_byte = pieces.iter().map(|piece| piece.part.bytes[1]).max()?;
    let end_line = pieces.iter().map(|piece| piece.part.lines[1]).max()?;
    let mut whole = ChunkText {
        id: id_of(&pieces),
        tokens: chunks.iter().map(|chunk| chunk.tokens).sum(),
        bytes: [first.bytes[0], end_byte],
        lines: [first.lines[0], end_line],
        places: places(chunks),
        text: String::new(),
        sections: Vec::new(),
        parts: Vec::new(),
        ..(*first).clone()
    };

    let mut end = 0;
    for piece in pieces {
        let overlaps = piece.part.bytes[0] < end;
        end = piece.part.bytes[1].max(end);
        append(&mut whole, &piece, overlaps);
    }
    Some(whole)
}

/// Returns the places of all chunks, in the order of their lines.
fn places(chunks: &[&ChunkText]) -> Vec<PlaceFrom> {
    let places = chunks.iter().flat_map(|chunk| chunk.places.iter().cloned());
    let mut places: Vec<PlaceFrom> = places.collect();
    places.sort_by_key(|from| from.line);
    places.dedup();
    places
}

/// Appends a chunk to a text, without what it repeats of the text's end if the two overlap.
fn append(whole: &mut ChunkText, piece: &OverlappingChunk, overlaps: bool) {
    let repeated = if overlaps {
        overlap(&whole.text, &piece.text)
    } else {
        0
    };
    if !whole.text.is_empty() && repeated == 0 {
        whole.text.push('\n');
    }

    let start = whole.text.len();
    whole.text.push_str(&piece.text[repeated..]);
    let mut before = piece.sections.iter().rev();
    let before = before.find(|section| section.at as usize <= repeated);
    let above = before.map_or(&piece.headings, |section| &section.headings);
    let own = SectionFrom {
        at: saturating_u32(repeated),
        headings: above.clone(),
    };
    let inside = piece.sections.iter();
    let inside = inside.filter(|section| section.at as usize > repeated);
    for section in std::iter::once(&own).chain(inside) {
        let at = start + section.at as usize - repeated;
        let known = whole.headings_at(at);
        if known != section.headings {
            let headings = section.headings.clone();
            let at = saturating_u32(at);
            whole.sections.push(SectionFrom { at, headings });
        }
    }
    let skipped_lines = piece.text[..repeated].matches('\n').count() as u32;
    let [first_line, last_line] = piece.part.lines;
    whole.parts.push(ChunkPart {
        text: [start as u64, whole.text.len() as u64],
        lines: [(first_line + skipped_lines).min(last_line), last_line],
        ..piece.part
    });
}

/// Splits a text into its chunks.
fn pieces(chunk: &ChunkText) -> Vec<OverlappingChunk> {
    if chunk.parts.is_empty() {
        let part = ChunkPart {
            chunk: chunk.id,
            bytes: chunk.bytes,
            lines: chunk.lines,
            text: [0, chunk.text.len() as u64],
        };
        return vec![OverlappingChunk {
            part,
            text: chunk.text.clone(),
            headings: chunk.headings.clone(),
            sections: chunk.sections.clone(),
        }];
    }

    let pieces = chunk.parts.iter().map(|part| {
        let [start, end] = part.text.map(|at| at as usize);
        let inside = chunk.sections.iter();
        let inside = inside.filter(|section| (start..end).contains(&(section.at as usize)));
        let sections = inside.map(|section| SectionFrom {
            at: section.at - saturating_u32(start),
            headings: section.headings.clone(),
        });
        OverlappingChunk {
            part: *part,
            text: chunk.text.get(start..end).unwrap_or_default().to_owned(),
            headings: chunk.headings_at(start).to_vec(),
            sections: sections.collect(),
        }
    });
    pieces.collect()
}

/// Returns the id of a joined text: 52 bits of the hash of its chunks' ids.
fn id_of(pieces: &[OverlappingChunk]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(&piece.part.chunk.to_le_bytes());
    }
    let hash = hasher.finalize();
    let bytes = hash.as_bytes()[..8].iter();
    let low = bytes.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    JOINED | low & (JOINED - 1)
}

/// Returns the length of the longest start of `next` that is an end of `before`, in bytes.
pub fn overlap(before: &str, next: &str) -> usize {
    let longest = before.len().min(next.len());
    (1..=longest)
        .rev()
        .find(|length| next.is_char_boundary(*length) && before.ends_with(&next[..*length]))
        .unwrap_or(0)
}

/// Returns the ids of the chunks that a text holds.
pub fn chunks_of(chunk: &ChunkText) -> BTreeSet<u64> {
    if chunk.parts.is_empty() {
        BTreeSet::from([chunk.id])
    } else {
        chunk.parts.iter().map(|part| part.chunk).collect()
    }
}

/// A text that was merged into a better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absorbed {
    pub text: u64,
    /// The text that holds its chunks now.
    pub by: u64,
}

/// Texts that share chunks, best first.
struct Group {
    chunks: BTreeSet<u64>,
    hits: Vec<Hit>,
}

/// Merges the texts of one document that share a chunk, at the rank of the best of them.
pub fn merge(hits: Vec<Hit>) -> (Vec<Hit>, Vec<Absorbed>) {
    let mut absorbed = Vec::new();

    let merged = group(hits).into_iter().filter_map(|Group { hits, .. }| {
        let texts: Vec<&ChunkText> = hits.iter().map(|hit| &hit.chunk).collect();
        let chunk = join(&texts)?;
        let gone = hits.iter().filter(|hit| hit.chunk.id != chunk.id);
        absorbed.extend(gone.map(|hit| Absorbed {
            text: hit.chunk.id,
            by: chunk.id,
        }));
        Some(Hit {
            chunk,
            ..hits[0].clone()
        })
    });
    let merged = merged.collect();
    (merged, absorbed)
}

/// Groups texts that share chunks, in the order of each group's best text.
fn group(hits: Vec<Hit>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for hit in hits {
        let mut chunks = chunks_of(&hit.chunk);
        let sharing: Vec<usize> = (0..groups.len())
            .filter(|group| !groups[*group].chunks.is_disjoint(&chunks))
            .collect();
        let Some((first, others)) = sharing.split_first() else {
            groups.push(Group {
                chunks,
                hits: vec![hit],
            });
            continue;
        };

        // A text can connect groups that had nothing in common before.
        let mut members = Vec::new();
        for other in others.iter().rev() {
            let other = groups.remove(*other);
            chunks.extend(other.chunks);
            members.splice(0..0, other.hits);
        }
        let group = &mut groups[*first];
        group.chunks.append(&mut chunks);
        group.hits.append(&mut members);
        group.hits.push(hit);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ranked;

    fn chunk(id: u64, bytes: [u64; 2], text: &str) -> ChunkText {
        let lines = [id as u32 + 1, id as u32 + 1];
        ChunkText {
            id,
            document: "a.md".to_owned(),
            headings: vec![format!("H{id}")],
            bytes,
            lines,
            tokens: 4,
            text: text.to_owned(),
            ..ChunkText::default()
        }
    }

    fn hit(chunk: ChunkText) -> Hit {
        Hit::new(
            chunk,
            Ranked {
                score: 1.0,
                rank: 1,
            },
        )
    }

    #[test]
    fn chunks_are_joined_once_each_in_the_order_of_the_document() {
        let a = chunk(0, [0, 6], "Mira.");
        let b = chunk(1, [6, 20], "She sails.");
        let c = chunk(4, [40, 50], "She wed.");

        let whole = join(&[&c, &a, &c]).expect("a text");
        assert_eq!(whole.text, "Mira.\nShe wed.");
        assert_eq!(whole.bytes, [0, 50]);
        assert_eq!(whole.lines, [1, 5]);
        assert_eq!(whole.headings, ["H0"]);
        assert!(whole.id >= JOINED && whole.id < JOINED << 1);

        // each chunk is below its own headings
        let headings = [0, 5, 6, 12].map(|at| whole.headings_at(at)[0].as_str());
        assert_eq!(headings, ["H0", "H0", "H4", "H4"]);

        let more = join(&[&whole, &b]).expect("a text");
        assert_eq!(more.text, "Mira.\nShe sails.\nShe wed.");
        assert_eq!(chunks_of(&more), BTreeSet::from([0, 1, 4]));
        assert_eq!(
            more.id,
            join(&[&b, &c, &a]).expect("a text").id,
            "the order of the arguments does not matter"
        );

        assert_eq!(join(&[&a, &a]), Some(a));
        assert_eq!(join(&[]), None);
    }

    #[test]
    fn overlapping_chunks_repeat_nothing() {
        let a = chunk(0, [0, 20], "One is. Two is.");
        let b = chunk(1, [8, 30], "Two is. Three is.");

        let whole = join(&[&b, &a]).expect("a text");
        assert_eq!(whole.text, "One is. Two is. Three is.");
        assert_eq!(
            whole.parts.iter().map(|part| part.text).collect::<Vec<_>>(),
            [[0, 15], [15, 25]]
        );
    }

    #[test]
    fn texts_that_share_a_chunk_are_merged_at_the_best_rank() {
        let [a, b, c, d] =
            [0, 1, 2, 3].map(|id| chunk(id, [id * 10, id * 10 + 9], &format!("Text {id}.")));
        let pair = |x: &ChunkText, y: &ChunkText| hit(join(&[x, y]).expect("a text"));

        let (merged, absorbed) = merge(vec![pair(&a, &b), hit(d.clone()), pair(&c, &b)]);
        let texts: Vec<&str> = merged.iter().map(|hit| hit.chunk.text.as_str()).collect();
        assert_eq!(texts, ["Text 0.\nText 1.\nText 2.", "Text 3."]);
        assert_eq!(absorbed.len(), 2);
        assert!(absorbed.iter().all(|gone| gone.by == merged[0].chunk.id));

        let (merged, _) = merge(vec![pair(&a, &b), pair(&c, &d), pair(&b, &c)]);
        assert_eq!(merged.len(), 1, "the third connects the first two");
    }
}
