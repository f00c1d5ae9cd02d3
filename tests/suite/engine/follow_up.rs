//! A follow-up question is rewritten to stand alone, or used as it was asked.

use ragscope::event::{AsAsked, Ask, Outcome, RunEvent, Thread, Turn};

use super::{SHELF, config, finished, names, run_asked};
use crate::support::find;
use crate::support::scripted::ScriptedGenerator;

const TASK: &str = "Rewritten:";

fn follow_up() -> Ask {
    Ask {
        thread: Thread {
            id: Some("first".to_owned()),
            turns: vec![Turn {
                question: "Who taught Mira Oakes?".to_owned(),
                answer: "Tam Reeve".to_owned(),
            }],
        },
        ..Ask::new("And where was he born?")
    }
}

/// Asks a follow-up with this rewriting, and returns the events and the queries that were searched.
fn asked(settings: &[(&str, &str)], rewritten: &str) -> (Vec<RunEvent>, ScriptedGenerator) {
    let mut generator = ScriptedGenerator::new().when(TASK, rewritten).when(
        "Context:",
        " Tam Reeve was born in Aldmouth. So the answer is Aldmouth.",
    );
    let (outcome, events) = run_asked(
        &SHELF,
        &config(settings),
        &mut generator,
        &follow_up(),
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    (events, generator)
}

fn query(events: &[RunEvent]) -> &str {
    let query = find!(
        events.iter(),
        RunEvent::RetrievalFinished { retrieval, .. } => retrieval.query.as_str()
    );
    query.expect("a retrieval")
}

#[test]
fn a_follow_up_is_rewritten_before_everything_else() {
    let (events, generator) = asked(&[], " Where was Tam Reeve born?");
    let rewritten = "Where was Tam Reeve born?";
    assert_eq!(
        names(&events)[..5],
        [
            "run_started",
            "model_called",
            "model_call_finished",
            "follow_up_rewritten",
            "query_written"
        ]
    );
    assert!(events.contains(&RunEvent::FollowUpRewritten {
        question: "And where was he born?".to_owned(),
        rewritten: rewritten.to_owned(),
        turns: 1,
        as_asked: None,
    }));
    let RunEvent::RunStarted {
        question, thread, ..
    } = &events[0]
    else {
        panic!("{:?}", events[0])
    };
    assert_eq!(question, "And where was he born?");
    assert_eq!(thread.as_deref(), Some("first"));
    assert_eq!(query(&events), rewritten);
    assert_eq!(finished(&events).1, "Aldmouth");

    let [task, answer] = generator.seen.as_slice() else {
        panic!("{:?}", generator.seen)
    };
    assert!(
        task.reply
            .contains("Question: Who taught Mira Oakes?\nAnswer: Tam Reeve\nFollow-up: And")
    );
    assert!(answer.user.contains(rewritten), "{}", answer.user);
}

#[test]
fn a_question_that_continues_is_asked_with_the_last_one_where_its_rewriting_has_a_fault() {
    let both = "Who taught Mira Oakes? And where was he born?";
    let faults = [
        "",
        " He was born in Lorby.",
        " Who is Tam Reeve?",
        " And where was he born?",
    ];
    for rewritten in faults {
        let (events, generator) = asked(&[], rewritten);
        let understood = events.iter().find_map(|event| match event {
            RunEvent::FollowUpRewritten {
                rewritten,
                as_asked,
                ..
            } => Some((rewritten.as_str(), as_asked.clone())),
            _ => None,
        });
        assert_eq!(understood, Some((both, None)), "{rewritten}");
        assert_eq!(query(&events), both);
        let answer = generator.seen.last().expect("a call");
        assert!(answer.user.contains(both));
    }
}

#[test]
fn a_follow_up_is_used_as_asked_where_rewriting_is_off() {
    let (events, generator) = asked(&[("thread.rewrite", "off")], " Where was Tam Reeve born?");
    assert!(!names(&events).contains(&"follow_up_rewritten".to_owned()));
    assert_eq!(query(&events), "And where was he born?");
    assert_eq!(generator.seen.len(), 1);
}

#[test]
fn old_turns_are_left_out_where_the_context_is_small() {
    let mut asked = follow_up();
    let turn = asked.thread.turns[0].clone();
    let long = Turn {
        question: "word ".repeat(30),
        answer: "word ".repeat(30),
    };
    asked.thread.turns = vec![long.clone(), long, turn];
    let cases = [
        (2048, 3, None),
        (190, 1, None),
        (140, 0, Some(AsAsked::TooLong)),
    ];
    for (tokens, expected, expected_reason) in cases {
        let mut generator = ScriptedGenerator::new()
            .with_context(tokens)
            .when(TASK, " Where was Tam Reeve born?")
            .when("Context:", " Tam Reeve was born in Aldmouth.");
        let config = config(&[("answer.max_tokens", "16")]);
        let (outcome, events) = run_asked(&SHELF, &config, &mut generator, &asked, usize::MAX);
        assert_eq!(outcome.expect("it ran"), Outcome::Completed, "{tokens}");
        let read = find!(
            events.iter(),
            RunEvent::FollowUpRewritten { turns, as_asked, .. } => (*turns, as_asked.clone())
        );
        assert_eq!(read, Some((expected, expected_reason)), "{tokens}");
    }
}
