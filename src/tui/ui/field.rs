//! A line of text being typed, with its purpose.

use crate::tui::text::one_line;

use super::typed_text::TypedText;

/// A line of text being typed.
#[derive(Debug, Clone)]
pub struct Field {
    pub purpose: Purpose,
    pub text: TypedText,
    /// The reason that the text was refused, until it is edited.
    pub error: Option<String>,
}

/// The purpose of a typed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Search,
    /// A value of the setting with this name.
    Setting(String),
    /// A reference answer, to measure the utility of the context against.
    Reference,
    /// The answer, or words of the passage, that a run should have had; empty for none.
    Expected,
    /// The settings of a variant of a run.
    Variant,
    /// The path of a folder of documents.
    Folder,
    /// The path of the file of a generator.
    Model,
    /// The documents to retrieve from.
    Filter,
    /// The name of the thread with this id.
    ThreadName(String),
}

impl Field {
    /// Creates a field that contains a text, the cursor at its end.
    pub fn new(purpose: Purpose, text: &str) -> Self {
        Self {
            purpose,
            text: TypedText::new(&one_line(text)),
            error: None,
        }
    }

    /// Creates a field that contains a text, all of it selected: what is typed replaces it.
    pub fn with_selection(purpose: Purpose, text: &str) -> Self {
        let mut field = Self::new(purpose, text);
        field.text.select_all();
        field
    }

    /// Returns the label before the line.
    pub fn label(&self) -> String {
        match &self.purpose {
            Purpose::Search => " search: ".to_owned(),
            Purpose::Setting(key) => format!(" {key} = "),
            Purpose::Reference => " reference answer: ".to_owned(),
            Purpose::Expected => " expected answer or passage: ".to_owned(),
            Purpose::Variant => " key=value: ".to_owned(),
            Purpose::Folder => " folder: ".to_owned(),
            Purpose::Model => " GGUF file: ".to_owned(),
            Purpose::ThreadName(_) => " name of the thread: ".to_owned(),
            Purpose::Filter => " documents (reports/** type:pdf): ".to_owned(),
        }
    }
}
