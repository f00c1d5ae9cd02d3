//! Features: the hidden states of one token in every layer but the first, one after the other (SEARAG, equation 1).

use crate::event::StatePosition;
use crate::llm::{Hidden, HiddenAt};

/// (layers - 1) * width numbers; the first layer holds shallow word features and is left out.
#[must_use]
pub fn features(hidden: &Hidden) -> Vec<f32> {
    hidden.layers.iter().skip(1).flatten().copied().collect()
}

/// The position as the generator's taps name it.
#[must_use]
pub fn position(position: StatePosition) -> HiddenAt {
    match position {
        StatePosition::FirstToken => HiddenAt::FirstToken,
        StatePosition::LastPromptToken => HiddenAt::LastPromptToken,
    }
}
