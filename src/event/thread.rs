use serde::{Deserialize, Serialize};

/// A question to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub question: String,
    /// The sentences that the answer begins with.
    pub confirmed: Vec<String>,
    /// `key = value` settings on top of the configuration.
    pub overrides: Vec<(String, String)>,
    pub thread: Thread,
}

impl Ask {
    /// Creates a question that begins a thread.
    pub fn new(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            ..Self::default()
        }
    }
}

/// The thread that a question continues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Id of its first run; `None` where the question begins a thread.
    pub id: Option<String>,
    /// Turns before the question, oldest first.
    pub turns: Vec<Turn>,
}

/// A question of a thread, as it stands alone, with its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub question: String,
    pub answer: String,
}

/// The reason why a question of a thread is used as it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum AsAsked {
    /// The question names its subject, and refers to nothing before it; the generator was not
    /// asked.
    StandsAlone,
    /// The generator is a bundled one, which was not trained for it, and was not asked.
    Untrained,
    /// The model wrote nothing.
    Empty,
    /// The rewritten text is not a single question.
    NotAQuestion,
    /// The rewritten text lacks names, numbers or most of the words of the question.
    WordsLost { words: Vec<String> },
    /// The rewritten text has names that are neither in the question nor in the thread.
    NamesInvented { words: Vec<String> },
    /// The rewritten text adds nothing from the thread.
    NothingAdded,
    /// The turns and the question do not fit into the context.
    TooLong,
}
