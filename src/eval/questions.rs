//! The questions of an evaluation, with the passages that come with a published set.
//!
//! A record that is not a question is listed and left out; only a file without any question is an
//! error.

use std::collections::{HashMap, HashSet};

/// A question with its reference answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// Unique in its set.
    pub id: String,
    pub question: String,
    /// The spellings that count as right. Empty when the corpus does not hold the answer: a reply
    /// that says so is right.
    pub answers: Vec<String>,
    pub evidence: Vec<Evidence>,
    /// A name for questions of one kind; empty when the file gives none.
    pub kind: String,
    /// A name for a part of the set; empty when the file gives none.
    pub split: String,
    /// Whether the set judges the passages that are found and no answers, as those of BEIR do.
    pub is_retrieval_only: bool,
    /// The passages that the set gives for this question, by their number in the set.
    pub passages: Vec<usize>,
}

/// A passage that holds the answer, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Path inside the corpus, when the file names one.
    pub file: Option<String>,
    /// The text, word for word but for white space.
    pub quote: String,
}

impl Evidence {
    /// Returns evidence that may stand in any document.
    pub fn anywhere(quote: impl Into<String>) -> Self {
        Self {
            file: None,
            quote: quote.into(),
        }
    }
}

/// A passage that comes with a set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Passage {
    /// The title of its document; empty when the set gives none.
    pub title: String,
    pub text: String,
}

/// The questions of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionSet {
    pub questions: Vec<Question>,
    /// The passages of all questions, each once; first those of the set as a whole.
    pub passages: Vec<Passage>,
    /// Number of passages that belong to the set as a whole.
    pub shared: usize,
    /// Faults of single records, each as `place: fault`.
    pub remarks: Vec<String>,
}

/// A question as its record gives it, with the passages of that record.
#[derive(Debug, Default)]
pub(super) struct QuestionEntry {
    /// The question; its `passages` are set by [`Collector::push`].
    pub question: Question,
    pub passages: Vec<Passage>,
    /// Whether it is meant to have no answers.
    pub is_unanswerable: bool,
}

impl From<Question> for QuestionEntry {
    /// Returns the entry of a question without passages.
    fn from(question: Question) -> Self {
        Self {
            question,
            ..Self::default()
        }
    }
}

/// Collects the questions of a file: gives each an id of its own and keeps each passage once.
#[derive(Default)]
pub(super) struct Collector {
    pub set: QuestionSet,
    /// Number of questions that came with each id.
    ids: HashMap<String, usize>,
    passages: HashMap<Passage, usize>,
}

impl Collector {
    /// Collects the questions of a set with these passages as a whole.
    pub fn sharing(passages: Vec<Passage>) -> Self {
        let mut collector = Self::default();
        for passage in passages {
            collector.number_of(passage);
        }
        collector.set.shared = collector.set.passages.len();
        collector
    }

    /// Lists a fault of the record at `place`.
    pub fn remark(&mut self, place: &str, what: &str) {
        self.set.remarks.push(format!("{place}: {what}"));
    }

    /// Adds a question, or lists why it is none.
    pub fn push(&mut self, place: &str, entry: QuestionEntry) {
        let QuestionEntry {
            mut question,
            passages,
            is_unanswerable,
        } = entry;
        let given = question.answers.len();
        question.answers = without_repeats(question.answers);
        let has_empty = question.answers.iter().any(String::is_empty);
        question.answers.retain(|answer| !answer.is_empty());

        if question.question.trim().is_empty() {
            return self.remark(place, "the question is empty");
        }
        if question.answers.is_empty() && !is_unanswerable && !question.is_retrieval_only {
            let fault = if given == 0 {
                "it has no answer"
            } else {
                "every answer is empty"
            };
            return self.remark(place, fault);
        }
        if has_empty {
            self.remark(place, "an empty answer was left out");
        }

        question.id = self.own_id(place, question.id);
        question.passages = passages
            .into_iter()
            .filter(|passage| !passage.text.trim().is_empty())
            .map(|passage| self.number_of(passage))
            .collect();
        self.set.questions.push(question);
    }

    /// Returns the id, with a number after it when another question has it.
    fn own_id(&mut self, place: &str, id: String) -> String {
        let id = if id.is_empty() {
            format!("q{}", self.set.questions.len() + 1)
        } else {
            id
        };
        let uses = self.ids.entry(id.clone()).or_default();
        *uses += 1;
        if *uses == 1 {
            return id;
        }

        let twin = format!("{id}#{uses}");
        self.remark(
            place,
            &format!("the id {id} occurs again; this one is {twin}"),
        );
        self.own_id(place, twin)
    }

    fn number_of(&mut self, passage: Passage) -> usize {
        let next = self.set.passages.len();
        *self.passages.entry(passage).or_insert_with_key(|passage| {
            self.set.passages.push(passage.clone());
            next
        })
    }
}

/// Returns trimmed texts, each once.
fn without_repeats(texts: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    texts
        .into_iter()
        .map(|text| text.trim().to_owned())
        .filter(|text| seen.insert(text.clone()))
        .collect()
}
