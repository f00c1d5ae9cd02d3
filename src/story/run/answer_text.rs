//! The answer as one text in Markdown, as the model wrote it, with the places of its sentences.

use std::ops::Range;

use crate::story::step::{Origin, Step};

use super::state::Run;

/// The answer so far with the numbers of the run, and the bytes of each of its sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerText {
    pub text: String,
    pub sentences: Vec<Range<usize>>,
}

impl Run {
    /// Returns the sentences of the answer in their paragraphs, lists, tables and code blocks.
    pub fn answer_text(&self) -> AnswerText {
        let mut answer = AnswerText::default();
        for (at, step) in self.steps.iter().enumerate() {
            answer.text.push_str(&self.space_before(at));
            let start = answer.text.len();
            answer.text.push_str(&step.text);
            answer.sentences.push(start..answer.text.len());
        }

        for edge in table_edges(&answer.text).into_iter().rev() {
            answer.text.insert(edge, '\n');
            for sentence in &mut answer.sentences {
                sentence.start += usize::from(sentence.start >= edge);
                sentence.end += usize::from(sentence.end > edge);
            }
        }
        answer
    }

    /// Returns the white space in front of a sentence: what the model wrote, where it wrote any.
    pub fn space_before(&self, at: usize) -> String {
        let (Some(step), Some(before)) = (self.steps.get(at), self.steps[..at].last()) else {
            return String::new();
        };
        if [step, before]
            .iter()
            .any(|step| step.origin == Origin::Given)
        {
            return "\n\n".to_owned();
        }

        let written = before.space_after() + &step.space_before();
        // an answer that a limit cut off inside a word is continued there
        let is_cut = before.text.ends_with(char::is_alphanumeric) && !step.tokens.is_empty();
        if written.is_empty() && !is_cut {
            " ".to_owned()
        } else {
            written
        }
    }
}

/// Returns a text in Markdown with a blank line around each table.
pub fn part_tables(text: &str) -> String {
    let mut parted = text.to_owned();
    for edge in table_edges(text).into_iter().rev() {
        parted.insert(edge, '\n');
    }
    parted
}

/// Returns the starts of the lines where a table begins or ends without the blank line that models
/// leave out: below an item of a list the table would be text, and the text below it a row.
fn table_edges(text: &str) -> Vec<usize> {
    let mut edges = Vec::new();
    let mut before = "";
    let mut is_code = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        let is_edge = before.starts_with('|') != words.starts_with('|');
        if is_edge && !is_code && !before.is_empty() && !words.is_empty() {
            edges.push(start);
        }
        is_code ^= words.starts_with("```");
        before = words;
        start += line.len();
    }
    edges
}

impl Step {
    /// Returns the white space that the model wrote before the sentence.
    fn space_before(&self) -> String {
        let mut space = String::new();
        for token in &self.tokens {
            let text = token.text.as_str();
            let leading = text.len() - text.trim_start().len();
            space.push_str(&text[..leading]);
            if leading < text.len() {
                break;
            }
        }
        space
    }

    /// Returns the white space that the model wrote behind the sentence.
    fn space_after(&self) -> String {
        if self.tokens.is_empty() {
            // of a sentence that was reused the tokens are not there
            return self.space_after.clone();
        }

        let mut space = String::new();
        for token in self.tokens.iter().rev() {
            let text = token.text.as_str();
            let rest = text.trim_end().len();
            space.insert_str(0, &text[rest..]);
            if rest > 0 {
                return space;
            }
        }
        // nothing but white space, which is in front
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::step::Token;

    fn write_step(tokens: &[&str]) -> Step {
        let token = |text: &&str| Token {
            text: (*text).to_owned(),
            logprob: 0.0,
            entropy: 0.0,
            alternatives: Vec::new(),
        };
        let text: String = tokens.concat();
        Step {
            tokens: tokens.iter().map(token).collect(),
            text: text.trim().to_owned(),
            ..Step::default()
        }
    }

    #[test]
    fn an_answer_keeps_its_lines() {
        let given = |text: &str| Step {
            text: text.to_owned(),
            origin: Origin::Given,
            ..Step::default()
        };
        let reused = |text: &str| Step {
            origin: Origin::Reused,
            ..given(text)
        };
        let cases = [
            (
                vec![
                    write_step(&["Steps", ":", "\n"]),
                    write_step(&["1.", " Run", ".", "\n", "  "]),
                    write_step(&["- ", "a", "."]),
                    write_step(&[" ", " End", "."]),
                ],
                "Steps:\n1. Run.\n  - a.  End.",
            ),
            (vec![given("One."), given("Two.")], "One.\n\nTwo."),
            (vec![reused("One."), write_step(&["Two"])], "One. Two"),
            (vec![reused("On"), write_step(&["e."])], "One."),
            (
                vec![
                    Step {
                        space_after: "\n".to_owned(),
                        ..reused("- a.")
                    },
                    reused("- b."),
                ],
                "- a.\n- b.",
            ),
            (vec![write_step(&["One."]), write_step(&["\n"])], "One.\n"),
            (
                vec![
                    write_step(&["1. Look", ":\n"]),
                    write_step(&["| a |\n"]),
                    write_step(&["|---|\n"]),
                    write_step(&["| b |\n"]),
                    write_step(&["End."]),
                ],
                "1. Look:\n\n| a |\n|---|\n| b |\n\nEnd.",
            ),
            (
                vec![
                    write_step(&["```\n"]),
                    write_step(&["+-+\n"]),
                    write_step(&["|a|\n"]),
                    write_step(&["```\n"]),
                    write_step(&["| b |"]),
                ],
                "```\n+-+\n|a|\n```\n\n| b |",
            ),
        ];
        for (steps, expected) in cases {
            let texts: Vec<String> = steps.iter().map(|step| step.text.clone()).collect();
            let run = Run {
                steps,
                ..Run::default()
            };
            let answer = run.answer_text();
            assert_eq!(answer.text, expected);
            let sentences = answer.sentences.into_iter().map(|at| &answer.text[at]);
            assert!(sentences.eq(texts.iter().map(String::as_str)));
        }
    }
}
