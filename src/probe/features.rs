//! Features: the hidden states of one token in every layer but the first, concatenated (SEARAG,
//! equation 1).

use crate::event::StatePosition;
use crate::llm::{Hidden, HiddenAt};

/// Returns (layers - 1) * width numbers; the first layer holds shallow word features and is left
/// out.
pub fn features(hidden: &Hidden) -> Vec<f32> {
    hidden.layers.iter().skip(1).flatten().copied().collect()
}

/// Returns the position as a tap of the generator.
pub fn position(position: StatePosition) -> HiddenAt {
    match position {
        StatePosition::FirstToken => HiddenAt::FirstToken,
        StatePosition::LastPromptToken => HiddenAt::LastPromptToken,
    }
}
