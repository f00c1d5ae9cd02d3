//! Features: the hidden states of one token in every layer but the first, concatenated (SEARAG,
//! equation 1).

use crate::event::{ProbeLayers, StatePosition};
use crate::llm::{Hidden, HiddenAt};

/// Returns (layers - 1) * width numbers; the first layer holds shallow word features and is left
/// out.
pub fn features(hidden: &Hidden) -> Vec<f32> {
    hidden.layers.iter().skip(1).flatten().copied().collect()
}

/// Returns how many layers features of a model of `layers` layers have.
pub(super) fn layers_of_features(layers: u32) -> usize {
    (layers as usize).saturating_sub(1)
}

/// Returns the part of the features that a probe reads: (layers - 1) * width numbers, or the width
/// numbers of one layer.
pub(super) fn part(features: &[f32], reads: ProbeLayers, layers: u32) -> &[f32] {
    let count = layers_of_features(layers);
    match reads {
        ProbeLayers::All => features,
        ProbeLayers::Middle => {
            let width = features.len() / count.max(1);
            let from = count / 2 * width;
            &features[from..from + width]
        }
    }
}

/// Returns the position as a tap of the generator.
pub fn position(position: StatePosition) -> HiddenAt {
    match position {
        StatePosition::FirstToken => HiddenAt::FirstToken,
        StatePosition::LastPromptToken => HiddenAt::LastPromptToken,
    }
}
