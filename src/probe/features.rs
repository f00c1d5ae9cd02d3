//! Features: the hidden states of one token in every layer but the first, concatenated (SEARAG,
//! equation 1).

use std::ops::Range;

use crate::event::ProbeLayers;
use crate::llm::Hidden;

/// Returns (layers - 1) * width numbers; the first layer holds shallow word features and is left
/// out.
pub fn features(hidden: &Hidden) -> Vec<f32> {
    hidden.layers.iter().skip(1).flatten().copied().collect()
}

/// Returns which of the features of a generator a probe reads.
pub(super) fn range(reads: ProbeLayers, layers: u32, width: u32) -> Range<usize> {
    let count = (layers as usize).saturating_sub(1);
    let width = width as usize;
    match reads {
        ProbeLayers::All => 0..count * width,
        ProbeLayers::Middle => {
            let first = count / 2 * width;
            first..first + width
        }
    }
}

/// Returns which of the features that a probe reads are of the middle third of the layers: these
/// say the most about the truth of what follows, and a regression of few sentences reads no more.
pub(super) fn middle(reads: ProbeLayers, layers: u32, width: u32) -> Range<usize> {
    let count = range(reads, layers, width).len() / (width as usize).max(1);
    let end = count - count / 3;
    count / 3 * width as usize..end * width as usize
}
