//! Answers that need no passage: to a greeting, to a question about the program, and to one about
//! the folder as a whole.

use crate::config::{AnswerPrompt, Config};
use crate::corpus::split_words;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Gate, Passages, Run};

use super::overview::{asks_for_overview, describe};
use super::scope::has_scope;
use super::write::write;

/// Words of greetings and thanks.
const GREETINGS: &[&str] = &[
    "hello", "hi", "hey", "good", "morning", "evening", "day", "thanks", "thank", "you", "bye",
    "hallo", "guten", "tag", "morgen", "abend", "danke", "bonjour", "salut", "merci", "hola",
    "buenos", "días", "gracias", "你好", "您好", "谢谢",
];

/// Questions about the program in each language, in lower case and without signs, and their answer.
#[rustfmt::skip]
const ABOUT: &[(&[&str], &str)] = &[
    (
        &["who are you", "what are you", "what can you do", "what can i ask", "what can i ask you",
          "how do you work"],
        "I answer questions about the documents of this folder from what they say, and name the \
         source of each statement. “What is in this folder?” lists them.",
    ),
    (
        &["wer bist du", "was kannst du"],
        "Ich beantworte Fragen zu den Dokumenten dieses Ordners aus dem, was sie sagen, und nenne \
         die Quelle jeder Aussage. „Was ist in diesem Ordner?“ listet sie auf.",
    ),
    (
        &["qui es tu", "que peux tu faire"],
        "Je réponds aux questions sur les documents de ce dossier d’après ce qu’ils disent, et je \
         nomme la source de chaque affirmation. « Que contient ce dossier ? » en donne la liste.",
    ),
    (
        &["quién eres", "qué puedes hacer"],
        "Respondo a preguntas sobre los documentos de esta carpeta con lo que dicen, y nombro la \
         fuente de cada afirmación. «¿Qué hay en esta carpeta?» los enumera.",
    ),
    (
        &["你是谁", "你能做什么"],
        "我根据这个文件夹中文档的内容回答问题，并注明每句话的来源。问“这个文件夹里有什么”可以列出文档。",
    ),
];

/// A question that nothing is searched for.
pub enum Unsearched {
    Greeting,
    /// A question about the program, by its answer.
    Program(&'static str),
    Overview,
}

impl Unsearched {
    /// Returns the kind of a question; `None` where its answer is searched.
    pub fn from_question(question: &str, config: &Config) -> Option<Self> {
        if is_greeting(question) {
            return Some(Self::Greeting);
        }
        if !has_scope(config) {
            return None;
        }
        let about = about_program(question).map(Self::Program);
        about.or_else(|| asks_for_overview(question).then_some(Self::Overview))
    }
}

/// Answers a question without a search. The generator answers a greeting by itself, or a sentence
/// where it is for quotations only.
///
/// # Errors
///
/// Failures of the generator and of the index.
pub fn answer_without_search(
    run: &mut Run<'_>,
    gate: &mut dyn Gate,
    kind: Unsearched,
) -> Result<Answer, RunError> {
    let text = match (kind, &run.tools.corpus) {
        (Unsearched::Greeting, _) if run.tools.config.answer.prompt != AnswerPrompt::Quotes => {
            return write(run, gate, &Passages::default(), &[]);
        }
        (Unsearched::Greeting, _) => "Ask a question about your documents.".to_owned(),
        (Unsearched::Program(text), _) => text.to_owned(),
        (Unsearched::Overview, Some(corpus)) => describe(&corpus.index.documents()?),
        (Unsearched::Overview, None) => describe(&[]),
    };
    let mut answer = Answer::default();
    run.give_step(&mut answer, "", text, None);
    Ok(answer)
}

/// Returns whether a question is no more than a greeting or thanks: nothing is retrieved for it.
fn is_greeting(question: &str) -> bool {
    let mut words = split_words(question).peekable();
    let is_known = |word: &str| GREETINGS.contains(&word.to_lowercase().as_str());
    words.peek().is_some() && words.all(is_known)
}

/// Returns the answer to a question about the program and about nothing that a document may say.
fn about_program(question: &str) -> Option<&'static str> {
    let words: Vec<String> = split_words(question).map(str::to_lowercase).collect();
    let question = words.join(" ");
    let (_, answer) = ABOUT
        .iter()
        .find(|(asked, _)| asked.contains(&question.as_str()))?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_the_program_needs_no_document() {
        for (question, expected) in [
            ("What can you do?", Some("I answer")),
            ("Was kannst du?", Some("Ich beantworte")),
            ("¿Quién eres?", Some("Respondo")),
            ("你能做什么？", Some("我根据")),
            ("What can you do against moths?", None),
            ("What can the pump do?", None),
        ] {
            let answer = about_program(question);
            assert_eq!(answer.is_some(), expected.is_some(), "{question}");
            assert!(
                answer
                    .unwrap_or_default()
                    .starts_with(expected.unwrap_or_default())
            );
        }
    }
}
