//! The first characters of a model's reply.

use super::error::Result;
use super::role::Generator;
use super::values::{Decoding, End, Prompt};
use crate::event::{Flow, StopError};

/// Returns the text before the first word of the replies of a model: a space or nothing, found by
/// asking it for one token.
///
/// # Errors
/// As [`Generator::complete`]; [`super::LlmError::Stopped`].
pub(super) fn learn(generator: &mut impl Generator) -> Result<&'static str> {
    let prompt = Prompt::user("Answer with one word: is water wet, yes or no?");
    let decoding = Decoding::greedy(1, 0);
    let replies = generator.complete(&[prompt], &decoding, &mut |_, _| Flow::Continue)?;

    if replies.iter().any(|reply| reply.end == End::Stopped) {
        return Err(StopError.into());
    }
    let has_space = replies.iter().any(|reply| reply.text.starts_with(' '));
    Ok(if has_space { " " } else { "" })
}
