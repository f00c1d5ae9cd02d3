//! Asks every question under every preset.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::evidence::EvidencePieces;
use super::questions::Question;
use super::row::Row;
use super::stress::Stressed;
use crate::event::{Event, Flow, Problem};
use crate::story::{BrokenLink, Run};
use crate::trace::Journal;

/// The questions of an evaluation, and the presets that they are asked under.
#[derive(Debug, Clone)]
pub struct Plan {
    pub presets: Vec<String>,
    pub questions: Vec<Question>,
}

impl Plan {
    /// Returns the questions that the journal does not hold under this preset.
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

    /// Returns how many answers the journal does not hold.
    pub fn count_left(&self, journal: &Journal<Row>) -> usize {
        self.presets
            .iter()
            .map(|preset| self.left_under(preset, journal).len())
            .sum()
    }
}

/// Answers questions under one preset.
pub trait Answers {
    /// Answers one question and publishes the events of its run. The message of an error goes into
    /// the journal, and the evaluation continues.
    ///
    /// # Errors
    /// Anything that prevents the question from being asked.
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem>;

    /// Asks a question again, to find where its answer went wrong or whether it stays right; not by
    /// default.
    ///
    /// # Errors
    /// As [`Answers::answer`].
    fn examine(
        &mut self,
        _question: &Question,
        _run: &Run,
        _publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<Examined, Problem> {
        Ok(Examined::default())
    }
}

/// The findings of the further answers to a question.
#[derive(Debug, Clone, Default)]
pub struct Examined {
    /// The first broken link of a wrong answer.
    pub broken: Option<BrokenLink>,
    pub stressed: Vec<Stressed>,
}

/// The progress of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub preset: String,
    /// Answers in the journal, and in the whole evaluation.
    pub done: usize,
    pub total: usize,
    /// Mean time of a question in this process, once there is one.
    pub each: Option<Duration>,
}

/// The end of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every question has its row.
    Complete,
    /// The observer stopped it; the journal keeps its rows.
    Stopped,
}

/// Prepares a preset.
pub type Open<'o, 'a, E> = &'o mut dyn FnMut(&str) -> Result<Box<dyn Answers + 'a>, E>;

/// Asks the questions that the journal does not hold yet, preset by preset. `open` prepares a
/// preset, and is called only for those with work left; `observe` receives the progress before
/// every question and at each event of a run.
///
/// # Errors
/// The failures of `open`; a journal that cannot be written.
pub fn run<'a, E: From<Problem>>(
    plan: &Plan,
    journal: &mut Journal<Row>,
    open: Open<'_, 'a, E>,
    observe: &mut dyn FnMut(&Progress) -> Flow,
) -> Result<Ended, E> {
    let total = plan.presets.len() * plan.questions.len();
    let started = Instant::now();
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

            match ask(preset, question, answers.as_mut(), &mut || {
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

/// Returns the row of one question; `None` when the observer stopped it.
fn ask(
    preset: &str,
    question: &Question,
    answers: &mut dyn Answers,
    observe: &mut dyn FnMut() -> Flow,
) -> Option<Row> {
    if observe() == Flow::Stop {
        return None;
    }

    let mut run = Run::default();
    let mut is_stopped = false;
    let asked = answers.answer(question, &mut |event| {
        // The figures of a row need no time of their own: the run carries its cost.
        if let Event::Run(event) = event {
            run.apply(event, 0);
        }
        let flow = observe();
        is_stopped |= flow == Flow::Stop;
        flow
    });
    if is_stopped {
        return None;
    }

    let mut row = Row::new(&run, preset, question, &EvidencePieces::new(question));
    let examined = asked.and_then(|()| {
        answers.examine(question, &run, &mut |_| {
            let flow = observe();
            is_stopped |= flow == Flow::Stop;
            flow
        })
    });
    if is_stopped {
        return None;
    }
    match examined {
        Ok(Examined { broken, stressed }) => {
            row.broken = broken;
            row.stressed = stressed;
        }
        Err(problem) => row.error = Some(problem.error),
    }
    Some(row)
}
