//! The sign in front of each sentence of an answer, for what supports it.

use crate::event::{Citation, Conflict, Outcome, UncertainWord, VerdictKind};
use crate::letters::SENTENCE_ENDS;
use crate::story::step::Step;

use super::state::Run;

/// A sign of what supports a sentence of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupportSign {
    Contradicted,
    Missing,
    Unsure,
    /// Nothing that can be shown beside a sentence.
    Unknown,
    InPart,
    Held,
}

/// The meaning of each sign.
pub const LEGEND: &str = "✓ a source holds it, ≈ a source has part of its words, ○ no source holds it, \
    ? the model was unsure, ≠ another source says otherwise, · not judged";

impl SupportSign {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contradicted => "≠",
            Self::Missing => "○",
            Self::Unsure => "?",
            Self::Unknown => "·",
            Self::InPart => "≈",
            Self::Held => "✓",
        }
    }
}

impl Run {
    /// Returns the sign of what supports a sentence of the answer.
    pub fn support_sign(&self, step: &Step) -> SupportSign {
        let verdict = self.verdict.as_ref();
        let is = |kind| verdict.is_some_and(|verdict| verdict.kind == kind);

        let conflict = verdict.and_then(|verdict| verdict.conflict.as_ref());
        let is_contradicted =
            |other: &Conflict| other.step == step.step && other.newer != Some(false);

        if conflict.is_some_and(is_contradicted) {
            SupportSign::Contradicted
        } else if self.lacks_source(step) {
            SupportSign::Missing
        } else if is(VerdictKind::Doubtful) && self.word_in_question(step).is_some() {
            SupportSign::Unsure
        } else if step.citations.is_empty()
            || self.outcome.is_none()
            || self.is_cut(step)
            || is(VerdictKind::NotInDocuments)
            || is(VerdictKind::Doubtful)
            || step.text.starts_with('≠')
        {
            // what is quoted below a refusal supports nothing, and a sign of support beside an
            // answer that is in question or not yet judged would be read as its verdict
            SupportSign::Unknown
        } else if step.citations.iter().all(Citation::is_in_part) {
            SupportSign::InPart
        } else {
            SupportSign::Held
        }
    }

    /// Returns the word of a sentence that carries an answer in question and of which the model was
    /// unsure.
    pub fn word_in_question(&self, step: &Step) -> Option<&UncertainWord> {
        let verdict = self.verdict.as_ref()?;
        let word = self.unsure_word(step);
        word.filter(|_| verdict.kind != VerdictKind::Supported)
    }

    /// Returns whether a limit cut a sentence off.
    fn is_cut(&self, step: &Step) -> bool {
        self.outcome == Some(Outcome::LimitReached)
            && self.steps.last().is_some_and(|last| last.step == step.step)
            && !step
                .text
                .trim_end_matches(|c: char| c.is_ascii_digit() || "[], \"”)*".contains(c))
                .ends_with(SENTENCE_ENDS)
    }
}
