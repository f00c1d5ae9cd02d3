//! A question in another language than the documents, with a scripted translation.

use ragscope::event::RunEvent;

use super::{config, run};
use crate::support::scripted::ScriptedGenerator;

#[test]
fn a_question_is_searched_for_in_the_language_of_the_documents_and_answered_in_its_own() {
    let german = "In welchem Ort wurde der Mann mit dem Namen Tam geboren?";
    let english = "Where was Tam born?";
    for question in [german, english] {
        let mut generator = ScriptedGenerator::new()
            .when("Translate the question into English", english)
            .when(german, " Tam wurde in Aldmouth geboren. [1]")
            .when(english, " Tam was born in Aldmouth. [1]")
            .judging("exactly this", "yes", 0.99);
        let settings = [("answer.prompt", "sources"), ("retriever.k", "3")];
        let (outcome, events) = run(&config(&settings), &mut generator, question, usize::MAX);
        outcome.expect("it ran");

        let queries = events.iter().filter_map(|event| match event {
            RunEvent::QueryWritten { query, .. } => Some(query.as_str()),
            _ => None,
        });
        let queries: Vec<&str> = queries.collect();
        assert_eq!(queries, [english], "{question}");

        let prompts = |wanted: &str| {
            let of_purpose = events.iter().filter_map(|event| match event {
                RunEvent::ModelCalled {
                    purpose, prompt, ..
                } if purpose == wanted => Some(prompt),
                _ => None,
            });
            of_purpose.cloned().collect::<Vec<String>>()
        };
        assert!(
            prompts("support")
                .iter()
                .all(|prompt| prompt.contains(english))
        );
        assert!(
            prompts("answer")
                .iter()
                .all(|prompt| prompt.contains(question))
        );
    }
}
