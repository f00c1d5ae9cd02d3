//! The ids of chunks in a corpus of several parts.

/// The bit from which on an id of a chunk holds the number of its part. Ids inside a part stay
/// below, and with [`MAX_PARTS`] all stay below 2^52, where the ids of re-chunked documents begin.
const NUMBER_BIT: u32 = 44;
/// Maximum number of parts of a corpus.
pub const MAX_PARTS: usize = 256;

/// Returns the id in the corpus at which those of the part with this number begin.
pub fn part_start(number: u64) -> u64 {
    number << NUMBER_BIT
}

/// Returns the number of the part that a chunk of the corpus is in.
pub fn part_of(chunk: u64) -> u64 {
    chunk >> NUMBER_BIT
}
