//! Evaluation: metrics against golden numbers, question files good and bad, journals that survive
//! kills, and the command.

mod command;
mod datasets;
mod journal;
mod make;
mod metrics;
mod questions;
mod report;
mod understanding;

use ragscope::eval::Question;

/// A question without evidence.
fn question(id: &str, answers: &[&str]) -> Question {
    Question {
        id: id.to_owned(),
        question: format!("What is {id}?"),
        answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
        ..Question::default()
    }
}
