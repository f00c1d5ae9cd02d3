//! The question as the run worked with it.

use serde::Serialize;

use crate::event::AsAsked;

use super::text::{clean, one_line};

/// A follow-up question as it was rewritten to stand alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FollowUp {
    pub text: String,
    /// Number of turns of the thread that it was rewritten by.
    pub turns: u32,
    /// The reason that it is not used; `None` where it is.
    pub as_asked: Option<AsAsked>,
}

/// The question as a rewriter wrote it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rewritten {
    pub text: String,
    /// Cosine similarity to the question; `None` when it was empty.
    pub similarity: Option<f32>,
    /// False when it was too dissimilar to the question.
    pub used: bool,
}

impl FollowUp {
    /// Creates a rewriting whose words are harmless.
    pub(super) fn new(text: &str, turns: u32, mut as_asked: Option<AsAsked>) -> Self {
        if let Some(AsAsked::WordsLost { words } | AsAsked::NamesInvented { words }) = &mut as_asked
        {
            clean(words);
        }
        Self {
            text: one_line(text),
            turns,
            as_asked,
        }
    }
}
