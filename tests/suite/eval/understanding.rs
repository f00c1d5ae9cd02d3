//! Certain and uncertain questions of a preset, against the same questions under the first one.

use ragscope::eval::{
    Answers, DEPTHS, Ended, Plan, Question, Report, SeparationMetric, UncertaintyMetric,
    UnderstandingMetric, markdown, run,
};
use ragscope::event::{
    ContextOrigin, Event, Flow, Outcome, Problem, RunEvent, RunUsage, Understanding,
};
use ragscope::trace::Journal;

use super::question;

/// Answers right where the context is understood, which it is for every third question; the preset
/// "plain" measures nothing.
struct Meter {
    measures: bool,
}

impl Answers for Meter {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        let certain = question.id.ends_with(['3', '6', '9']);
        for round in 1..=if certain { 1 } else { 2_u32 } {
            let understanding = Understanding {
                origin: ContextOrigin::Retrieved,
                chunks: Vec::new(),
                replies: Vec::new(),
                matrix: Vec::new(),
                judgements: Vec::new(),
                // a better round later does not change how the retrieved context was understood
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
fn certain_and_uncertain_questions_are_summed_up_separately() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::open(&folder.path().join("j.jsonl"), "name").expect("a journal");
    let questions = (1..=9)
        .map(|number| question(&format!("n{number}"), &[&format!("n{number}")]))
        .collect();
    let plan = Plan {
        presets: vec!["plain".to_owned(), "dense".to_owned()],
        questions,
    };
    let mut open = |preset: &str| -> Result<Box<dyn Answers>, Problem> {
        Ok(Box::new(Meter {
            measures: preset == "dense",
        }))
    };
    assert_eq!(
        run(&plan, &mut journal, &mut open, &mut |_| Flow::Continue).expect("it ran"),
        Ended::Complete
    );
    let report = Report::new(&plan.presets, journal.rows(), DEPTHS);
    let [certain, uncertain] = &report.understanding[..] else {
        panic!("{:?}", report.understanding)
    };
    assert_eq!((certain.certain, certain.questions), (true, 3));
    assert_eq!((uncertain.certain, uncertain.questions), (false, 6));
    for (summary, metric, value) in [
        (certain, UnderstandingMetric::ExactMatch, 1.0),
        (certain, UnderstandingMetric::Rounds, 1.0),
        (uncertain, UnderstandingMetric::ExactMatch, 0.0),
        (uncertain, UnderstandingMetric::Rounds, 2.0),
        (uncertain, UnderstandingMetric::MeasuringMs, 40.0),
        (uncertain, UnderstandingMetric::WallMsOfFirst, 20.0),
        (uncertain, UnderstandingMetric::WallTimes, 5.0),
        (uncertain, UnderstandingMetric::MeasuringTimes, 2.0),
    ] {
        assert_eq!(summary.values[metric], value, "{metric:?}");
    }
    let dense = report.presets[1]
        .uncertainty
        .iter()
        .find(|one| one.measure == UncertaintyMetric::Dense)
        .expect("measured");
    assert_eq!(
        (dense.questions, dense.separation[SeparationMetric::Auroc]),
        (9, Some(1.0))
    );
    assert!(
        !report.presets[0]
            .uncertainty
            .iter()
            .any(|one| one.measure == UncertaintyMetric::Dense)
    );
    let text = markdown(&report);
    assert!(text.contains("| 0.10    | 0.04      | 5.0 "), "{text}");
}
