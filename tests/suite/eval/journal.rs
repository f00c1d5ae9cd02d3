use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use ragscope::eval::{AnswerMetric, Answers, Ended, Plan, Question, Row, run};
use ragscope::event::{Event, Flow, Outcome, Problem, RunEvent, RunUsage};
use ragscope::trace::Journal;

use super::question;
use crate::support::child;

/// Answers with the question's id; every tenth question fails.
struct Table {
    pause: Duration,
    prints: bool,
}

impl Answers for Table {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        std::thread::sleep(self.pause);
        if question.id.ends_with('0') {
            return Err(Problem::without_advice("the model fell over"));
        }
        let usage = RunUsage {
            retrievals: 1,
            ..RunUsage::default()
        };
        let flow = publish(&Event::Run(RunEvent::RunFinished {
            outcome: Outcome::Completed,
            text: question.id.clone(),
            answer: question.id.clone(),
            citations: Vec::new(),
            usage,
        }));
        if self.prints && flow == Flow::Continue {
            println!("answered");
        }
        Ok(())
    }
}

fn plan(questions: usize) -> Plan {
    let questions = (1..=questions)
        .map(|number| question(&format!("n{number}"), &[&format!("n{number}")]))
        .collect();
    Plan {
        presets: vec!["one".to_owned(), "two".to_owned()],
        questions,
    }
}

/// Carries out a plan; `stop_at` is the number of the answer before which the observer stops.
fn work(
    plan: &Plan,
    journal: &mut Journal<Row>,
    stop_at: usize,
    opened: &mut Vec<String>,
) -> Result<Ended, Problem> {
    let mut open = |preset: &str| -> Result<Box<dyn Answers>, Problem> {
        opened.push(preset.to_owned());
        Ok(Box::new(Table {
            pause: Duration::ZERO,
            prints: false,
        }))
    };
    run(plan, journal, &mut open, &mut |progress| {
        if progress.done >= stop_at {
            Flow::Stop
        } else {
            Flow::Continue
        }
    })
}

fn counts(rows: &[Row]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts
            .entry((row.preset.clone(), row.id.clone()))
            .or_default() += 1;
    }
    counts
}

#[test]
fn a_failed_question_is_recorded_and_the_rest_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal =
        Journal::<Row>::open(&folder.path().join("j.jsonl"), "name").expect("a journal");
    let plan = plan(20);
    assert_eq!(
        work(&plan, &mut journal, usize::MAX, &mut Vec::new()).expect("it ran"),
        Ended::Complete
    );
    assert_eq!((journal.rows().len(), plan.count_left(&journal)), (40, 0));
    let failed: Vec<&Row> = journal
        .rows()
        .iter()
        .filter(|row| row.error.is_some())
        .collect();
    assert_eq!(
        failed
            .iter()
            .map(|row| row.id.as_str())
            .collect::<Vec<&str>>(),
        ["n10", "n20", "n10", "n20"]
    );
    assert_eq!(
        (
            failed[0].error.as_deref(),
            failed[0].scores[AnswerMetric::ExactMatch]
        ),
        (Some("the model fell over"), 0.0)
    );
    assert_eq!(journal.rows()[0].scores[AnswerMetric::ExactMatch], 1.0);
}

#[test]
fn a_stop_loses_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deep/j.jsonl");
    let plan = plan(10);
    let mut opened = Vec::new();
    for (stop_at, rows) in [(4, 4), (10, 10), (13, 13), (usize::MAX, 20)] {
        let mut journal = Journal::<Row>::open(&file, "name").expect("a journal");
        let ended = work(&plan, &mut journal, stop_at, &mut opened).expect("it ran");
        assert_eq!(
            ended,
            if rows == 20 {
                Ended::Complete
            } else {
                Ended::Stopped
            }
        );
        assert_eq!(journal.rows().len(), rows);
    }
    assert_eq!(
        opened,
        ["one", "one", "two", "two", "two"],
        "a preset whose questions are answered is not opened"
    );
    let journal = Journal::<Row>::open(&file, "name").expect("a journal");
    assert!(counts(journal.rows()).values().all(|count| *count == 1));
    drop(journal);
    assert_eq!(
        Journal::<Row>::open(&file, "other")
            .expect("a journal")
            .rows(),
        [],
        "rows of another evaluation are not read"
    );
}

#[test]
fn a_torn_last_line_is_dropped_and_its_question_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("j.jsonl");
    let plan = plan(5);
    work(
        &plan,
        &mut Journal::<Row>::open(&file, "name").expect("a journal"),
        usize::MAX,
        &mut Vec::new(),
    )
    .expect("it ran");
    let whole = std::fs::read(&file).expect("lines");
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    for cut in (1..=whole.len()).step_by(13) {
        std::fs::write(&file, &whole[..cut]).expect("written");
        let journal = Journal::<Row>::open(&file, "name").expect("a journal");
        let kept = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        // without its first line a journal is empty
        assert_eq!(journal.rows().len(), kept.saturating_sub(1), "cut at {cut}");
        drop(journal);
        let now = std::fs::read(&file).expect("lines");
        assert!(
            now.ends_with(b"\n") && (kept == 0 || whole.starts_with(&now)),
            "cut at {cut}"
        );
    }
    std::fs::write(&file, &whole[..whole.len() - 30]).expect("written");
    let mut journal = Journal::<Row>::open(&file, "name").expect("a journal");
    assert_eq!(plan.count_left(&journal), 1);
    work(&plan, &mut journal, usize::MAX, &mut Vec::new()).expect("it ran");
    assert_eq!((journal.rows().len(), lines), (10, 11));
    assert!(counts(journal.rows()).values().all(|count| *count == 1));
}

#[test]
fn two_processes_do_not_write_one_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("j.jsonl");
    let held = Journal::<Row>::open(&file, "name").expect("a journal");
    let refused = Journal::<Row>::open(&file, "name").expect_err("it is in use");
    assert!(
        refused.error.starts_with("another ragscope writes"),
        "{refused}"
    );
    drop(held);
    Journal::<Row>::open(&file, "name").expect("free again");
}

const QUESTIONS: usize = 1000;

/// Evaluates, and prints a line per answer before it is written.
fn evaluate_aloud(folder: &Path) {
    let mut journal = Journal::<Row>::open(&folder.join("j.jsonl"), "name").expect("a journal");
    let plan = Plan {
        presets: vec!["one".to_owned()],
        ..plan(QUESTIONS)
    };
    let mut open = |_: &str| -> Result<Box<dyn Answers>, Problem> {
        Ok(Box::new(Table {
            pause: Duration::from_micros(200),
            prints: true,
        }))
    };
    run(&plan, &mut journal, &mut open, &mut |_| Flow::Continue).expect("it ran");
}

/// An evaluation of 1,000 questions is killed again and again, and each time at most the question
/// in flight is asked twice.
#[test]
fn a_kill_loses_at_most_the_question_in_flight() {
    if let Some(folder) = child::task() {
        return evaluate_aloud(Path::new(&folder));
    }

    let folder = tempfile::tempdir().expect("a folder");
    let name = "a_kill_loses_at_most_the_question_in_flight";
    let (mut answered, mut kills) = (0, 0);
    loop {
        let mut child = child::command(module_path!(), name, folder.path())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output"))
            .lines()
            .map_while(Result::ok);
        // a prime number, so that the kills meet it at different places
        let heard = lines
            .by_ref()
            .filter(|line| line.ends_with("answered"))
            .take(151)
            .count();
        if heard == 151 {
            child.kill().expect("killed");
            kills += 1;
        }
        let heard = heard + lines.filter(|line| line.ends_with("answered")).count();
        answered += heard;
        if child.wait().expect("its end").success() {
            break;
        }
    }
    let journal = Journal::<Row>::open(&folder.path().join("j.jsonl"), "name").expect("a journal");
    assert_eq!(journal.rows().len(), QUESTIONS);
    assert!(counts(journal.rows()).values().all(|count| *count == 1));
    assert!(kills >= 4, "{kills} kills");
    // one in ten fails, and says nothing; an answer that was printed and not written is asked again
    assert!(
        (900..=900 + kills).contains(&answered),
        "{answered} answers in {kills} kills"
    );
}
