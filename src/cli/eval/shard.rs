//! Evaluations that several processes share: each asks a shard of the questions, and one merges their journals.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::cli::failure::{Failure, Stopped};
use crate::eval::{Plan, Question, Row};
use crate::trace::Journal;

/// One of `count` shares of the questions, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl Shard {
    /// Returns every `count`th question, so that files that are sorted by kind are shared evenly.
    pub fn of(self, questions: &[Question]) -> Vec<Question> {
        let share = questions.iter().skip(self.number - 1).step_by(self.count);
        share.cloned().collect()
    }

    /// Returns the shard as a part of a file name.
    pub fn file_part(self) -> String {
        format!("{}-of-{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            Some(_) | None => Err("write it as I/N with I from 1 to N, e.g. 2/8".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// Adds the rows of other journals of the evaluation `name` that the journal lacks, in the order in which one process
/// would have written them.
///
/// # Errors
/// A file that cannot be read, or belongs to another evaluation; a journal that cannot be written.
pub fn merge(
    files: &[PathBuf],
    name: &str,
    plan: &Plan,
    journal: &mut Journal<Row>,
) -> Result<(), Stopped> {
    let mut found = HashMap::new();
    for file in files {
        let rows = Journal::<Row>::read(file, name)?.ok_or_else(|| {
            Failure::new(
                format!("{} is the journal of another evaluation", file.display()),
                "pass the same questions, presets and settings as for the shards; models, documents and program must be the \
                 same files",
            )
        })?;
        found.extend(
            rows.into_iter()
                .map(|row| ((row.preset.clone(), row.id.clone()), row)),
        );
    }

    for row in journal.rows() {
        found.remove(&(row.preset.clone(), row.id.clone()));
    }
    for preset in &plan.presets {
        for question in &plan.questions {
            if let Some(row) = found.remove(&(preset.clone(), question.id.clone())) {
                journal.push(row)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_has_a_number_and_a_count() {
        for (text, expected) in [
            ("1/1", Some((1, 1))),
            ("8/8", Some((8, 8))),
            ("0/8", None),
            ("9/8", None),
            ("1/0", None),
            ("1", None),
            ("a/b", None),
            ("-1/2", None),
        ] {
            let shard = text.parse::<Shard>().ok();
            assert_eq!(
                shard.map(|shard| (shard.number, shard.count)),
                expected,
                "{text}"
            );
        }
    }
}
