//! Certain and uncertain questions of a preset, against the same questions under the first one.

use ragscope::eval::{Answers, Ended, Measure, Plan, Question, Report, markdown, run};
use ragscope::event::{ContextOrigin, Event, Flow, Outcome, RunEvent, RunUsage, Understanding};
use ragscope::trace::{Journal, JournalError};

use super::question;

/// Right where the context is understood, which it is for every third question; the preset "plain" measures nothing.
struct Meter {
    measures: bool,
}

impl Answers for Meter {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> anyhow::Result<()> {
        let certain = question.id.ends_with(['3', '6', '9']);
        for round in 1..=if certain { 1 } else { 2_u32 } {
            let understanding = Understanding {
                origin: ContextOrigin::Retrieved,
                chunks: Vec::new(),
                replies: Vec::new(),
                matrix: Vec::new(),
                judgements: Vec::new(),
                // a better round later changes nothing of how the context was understood as it was found
                dse: if certain {
                    0.1
                } else {
                    1.2 - round as f32 / 2.0
                },
                threshold: 0.2,
                certain,
                wall_ms: 40,
            };
            if self.measures {
                let _ = publish(&Event::Run(RunEvent::UnderstandingMeasured {
                    step: 0,
                    round,
                    understanding,
                }));
            }
        }
        let answer = if certain {
            question.id.clone()
        } else {
            "wrong".to_owned()
        };
        let usage = RunUsage {
            wall_ms: if self.measures { 100 } else { 20 },
            ..RunUsage::default()
        };
        let _ = publish(&Event::Run(RunEvent::RunFinished {
            outcome: Outcome::Completed,
            text: answer.clone(),
            answer,
            citations: Vec::new(),
            usage,
        }));
        Ok(())
    }
}

#[test]
fn certain_and_uncertain_questions_are_summed_up_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::open(&folder.path().join("j.jsonl"), "name").expect("a journal");
    let questions = (1..=9)
        .map(|number| question(&format!("n{number}"), &[&format!("n{number}")]))
        .collect();
    let plan = Plan {
        presets: vec!["plain".to_owned(), "dense".to_owned()],
        questions,
    };
    let mut open = |preset: &str| -> Result<Box<dyn Answers>, JournalError> {
        Ok(Box::new(Meter {
            measures: preset == "dense",
        }))
    };
    assert_eq!(
        run(&plan, &mut journal, &mut open, &mut |_| Flow::Continue).expect("it ran"),
        Ended::Complete
    );
    let report = Report::of(&plan.presets, journal.rows());
    let [certain, uncertain] = &report.understanding[..] else {
        panic!("{:?}", report.understanding)
    };
    assert_eq!(
        (
            certain.certain,
            certain.questions,
            certain.exact_match,
            certain.rounds
        ),
        (true, 3, 1.0, 1.0)
    );
    assert_eq!(
        (
            uncertain.certain,
            uncertain.questions,
            uncertain.exact_match
        ),
        (false, 6, 0.0)
    );
    assert_eq!(
        (
            uncertain.rounds,
            uncertain.measuring_ms,
            uncertain.wall_ms_of_first
        ),
        (2.0, 40.0, 20.0)
    );
    let dense = report.presets[1]
        .uncertainty
        .iter()
        .find(|one| one.measure == Measure::Dense)
        .expect("measured");
    assert_eq!((dense.questions, dense.auroc), (9, Some(1.0)));
    assert!(
        !report.presets[0]
            .uncertainty
            .iter()
            .any(|one| one.measure == Measure::Dense)
    );
    let text = markdown(&report);
    assert!(
        text.contains("5.0 (2.0)"),
        "five times a plain answer, two of them for measuring: {text}"
    );
}
