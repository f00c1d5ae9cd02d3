//! Asking every question under every preset.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::evidence::Pieces;
use super::questions::Question;
use super::row::Row;
use crate::event::{Event, Flow};
use crate::story::Run;
use crate::trace::{Journal, JournalError};

/// What is asked, under which presets.
#[derive(Debug, Clone)]
pub struct Plan {
    pub presets: Vec<String>,
    pub questions: Vec<Question>,
}

impl Plan {
    /// The questions that the journal does not hold under this preset.
    fn left_under(&self, preset: &str, journal: &Journal<Row>) -> Vec<&Question> {
        let known: HashSet<&str> = journal
            .rows()
            .iter()
            .filter(|row| row.preset == preset)
            .map(|row| row.id.as_str())
            .collect();
        self.questions
            .iter()
            .filter(|question| !known.contains(question.id.as_str()))
            .collect()
    }

    /// How many answers the journal does not hold.
    pub fn left(&self, journal: &Journal<Row>) -> usize {
        self.presets
            .iter()
            .map(|preset| self.left_under(preset, journal).len())
            .sum()
    }
}

/// Answers questions under one preset.
pub trait Answers {
    /// Answer one question and publish what happens. The message of an error goes into the journal, and the rest goes on.
    ///
    /// # Errors
    /// Whatever keeps the question from being asked.
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> anyhow::Result<()>;
}

/// How far an evaluation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub preset: String,
    /// Answers in the journal, and all that are wanted.
    pub done: usize,
    pub total: usize,
    /// Mean time of a question in this process, once there is one.
    pub each: Option<Duration>,
}

/// How an evaluation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every question has its row.
    Complete,
    /// The observer said stop; what is in the journal stays.
    Stopped,
}

/// Prepares a preset.
pub type Open<'o, 'a, E> = &'o mut dyn FnMut(&str) -> Result<Box<dyn Answers + 'a>, E>;

/// Ask what the journal does not hold yet, preset by preset. `open` prepares a preset, and is asked only for those with work left;
/// `observe` hears of progress before every question, and of each token's worth of work within one.
///
/// # Errors
/// What `open` fails with; a journal that cannot be written.
pub fn run<'a, E: From<JournalError>>(
    plan: &Plan,
    journal: &mut Journal<Row>,
    open: Open<'_, 'a, E>,
    observe: &mut dyn FnMut(&Progress) -> Flow,
) -> Result<Ended, E> {
    let (total, started) = (plan.presets.len() * plan.questions.len(), Instant::now());
    let mut asked = 0_u32;
    for preset in &plan.presets {
        let left = plan.left_under(preset, journal);
        if left.is_empty() {
            continue;
        }
        let mut answers = open(preset)?;
        for question in left {
            let each = started.elapsed().checked_div(asked);
            let progress = Progress {
                preset: preset.clone(),
                done: journal.rows().len(),
                total,
                each,
            };
            match answered(preset, question, answers.as_mut(), &mut || {
                observe(&progress)
            }) {
                Some(row) => journal.push(row)?,
                None => return Ok(Ended::Stopped),
            }
            asked += 1;
        }
    }
    Ok(Ended::Complete)
}

/// The row of one question; None when the observer stopped it.
fn answered(
    preset: &str,
    question: &Question,
    answers: &mut dyn Answers,
    observe: &mut dyn FnMut() -> Flow,
) -> Option<Row> {
    if observe() == Flow::Stop {
        return None;
    }

    let mut run = Run::default();
    let mut stopped = false;
    let asked = answers.answer(question, &mut |event| {
        // The figures of a row need no time of their own: the run carries its cost.
        if let Event::Run(event) = event {
            run.apply(event, 0);
        }
        let flow = observe();
        stopped |= flow == Flow::Stop;
        flow
    });
    if stopped {
        return None;
    }

    let mut row = Row::of(&run, preset, question, &Pieces::of(question));
    if let Err(error) = asked {
        row.error = Some(format!("{error:#}"));
    }
    Some(row)
}
