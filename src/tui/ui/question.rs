//! The question line, with its history and the suggested questions.

use std::path::Path;

use crate::files;
use crate::tui::options::Suggestion;
use crate::tui::text;

use super::typed_text::TypedText;

/// The label before the question.
pub const PROMPT: &str = " ask> ";
/// Maximum number of questions in the history.
const MAX_HISTORY: usize = 500;

/// The question being typed.
#[derive(Debug, Clone, Default)]
pub struct QuestionLine {
    pub text: TypedText,
    /// Whether keys go to it.
    pub is_active: bool,
    /// The words that an empty line shows.
    pub empty: String,
    /// Suggested questions.
    pub suggestions: Vec<Suggestion>,
    /// The folders that they are about, where they are not prepared.
    pub suggested_for: String,
    /// The questions asked before, oldest first.
    history: Vec<String>,
    recalled: Option<Recalled>,
}

/// The position in the history of the question in the line.
#[derive(Debug, Clone)]
struct Recalled {
    at: usize,
    /// The text that was typed before.
    draft: String,
}

impl QuestionLine {
    pub fn new(history: &Path, suggestions: Vec<Suggestion>) -> Self {
        Self {
            suggestions,
            history: read_history(history),
            ..Self::default()
        }
    }

    /// Returns whether the suggested questions are prepared, each for a preset.
    pub fn has_prepared(&self) -> bool {
        self.suggestions.iter().any(|one| one.preset.is_some())
    }

    /// Replaces the typed text.
    pub fn set(&mut self, question: &str) {
        self.text = TypedText::new(question);
    }

    /// Clears the line, and adds the question to the history. Returns whether it is new there.
    pub fn submit(&mut self, question: &str) -> bool {
        self.text = TypedText::default();
        self.recalled = None;

        let is_new = self.history.last().is_none_or(|last| last != question);
        if is_new {
            self.history.push(question.to_owned());
        }
        is_new
    }

    /// Leaves the history, because the text was edited.
    pub fn leave_history(&mut self) {
        self.recalled = None;
    }

    pub fn is_recalled(&self) -> bool {
        self.recalled.is_some()
    }

    /// Up in the text, and from its first row on to earlier questions.
    pub fn back(&mut self) {
        if self.recalled.is_none() && self.text.move_to_line(false) {
            return;
        }

        let recalled = match self.recalled.take() {
            Some(recalled) => Recalled {
                at: recalled.at.saturating_sub(1),
                ..recalled
            },
            None if self.history.is_empty() => return,
            None => Recalled {
                at: self.history.len() - 1,
                draft: self.text.as_str().to_owned(),
            },
        };
        self.text = TypedText::new(&self.history[recalled.at]);
        self.recalled = Some(recalled);
    }

    /// Down in the text, and through the history back to what was being typed.
    pub fn forward(&mut self) {
        let Some(recalled) = self.recalled.take() else {
            self.text.move_to_line(true);
            return;
        };
        let at = recalled.at + 1;
        match self.history.get(at) {
            Some(question) => {
                self.text = TypedText::new(question);
                self.recalled = Some(Recalled { at, ..recalled });
            }
            None => self.text = TypedText::new(&recalled.draft),
        }
    }

    /// Returns the rows that the question takes on a screen of this width.
    pub fn rows(&self, columns: u16) -> u16 {
        let cells = usize::from(columns).saturating_sub(text::width(PROMPT) + 1);
        let rows = text::wrap(self.text.as_str(), cells).len();
        u16::try_from(rows).unwrap_or(u16::MAX)
    }
}

/// Reads what was typed before, oldest first. No file, no history.
pub(super) fn read_history(file: &Path) -> Vec<String> {
    let text = files::read(file).unwrap_or_default();
    let text = String::from_utf8(text).unwrap_or_default();

    // one text per line, as a JSON string, since a question may have several lines
    let newest = text.lines().rev();
    let newest = newest.filter_map(|line| serde_json::from_str(line).ok());
    let mut questions: Vec<String> = newest.take(MAX_HISTORY).collect();
    questions.reverse();
    questions
}
