//! Citations of statements that no source holds by its words, with scripted judgements.

use ragscope::event::{Evidence, RunEvent, VerdictKind};

use super::{config, run, run_over};
use crate::support::find;
use crate::support::scripted::ScriptedGenerator;

/// Asks over three sources, and returns the events.
fn ask(mut generator: ScriptedGenerator, question: &str) -> Vec<RunEvent> {
    let settings = [("answer.prompt", "sources"), ("retriever.k", "3")];
    let (outcome, events) = run(&config(&settings), &mut generator, question, usize::MAX);
    outcome.expect("it ran");
    events
}

fn verdict(events: &[RunEvent]) -> Option<VerdictKind> {
    find!(events.iter(), RunEvent::VerdictGiven { verdict } => verdict.kind)
}

#[test]
fn a_statement_in_other_words_is_cited_where_the_model_finds_it_in_a_passage() {
    let own_words = " Tam comes from the town of Aldmouth.";
    let cases = [
        (own_words, 0.9, true, VerdictKind::Supported),
        (own_words, 0.8, false, VerdictKind::Doubtful),
        // a number that no passage has is not asked about
        (
            " Tam comes from Aldmouth, 12 miles away.",
            0.9,
            false,
            VerdictKind::Doubtful,
        ),
    ];
    for (reply, share, is_cited, kind) in cases {
        let generator = ScriptedGenerator::new()
            .when("Where does Tam come from?", reply)
            .judging("exactly this question?", "yes", 0.99)
            .judging("state exactly this?", "yes", share);
        let question = "Where does Tam come from?";
        let events = ask(generator, question);

        let cited = find!(
            events.iter(),
            RunEvent::StepCited { step, citations, .. }
                => (*step, citations[0].label, citations[0].evidence)
        );
        let expected = is_cited.then_some((1, 2, Evidence::Judged { share }));
        assert_eq!(cited, expected, "{reply}");
        assert_eq!(verdict(&events), Some(kind), "{reply}, {share}");
    }
}

#[test]
fn a_citation_by_some_of_the_words_is_taken_back_where_the_model_denies_it() {
    let half = " Tam Reeve was born in Aldmouth harbour.";
    let whole = " Tam Reeve was born in Aldmouth.";
    for (reply, share, is_taken_back) in
        [(half, 0.3, true), (half, 0.9, false), (whole, 0.3, false)]
    {
        let generator = ScriptedGenerator::new()
            .when("Where was Tam Reeve born?", reply)
            .judging("exactly this question?", "yes", 0.99)
            .judging("state exactly this?", "yes", share);
        let events = ask(generator, "Where was Tam Reeve born?");

        let cited = find!(
            events.iter(),
            RunEvent::StepCited { citations, .. } => citations.len()
        );
        assert_eq!(cited, is_taken_back.then_some(0), "{reply}, {share}");
        let finished = find!(
            events.iter(),
            RunEvent::RunFinished { citations, .. } => citations.is_empty()
        );
        assert_eq!(finished, Some(is_taken_back), "{reply}, {share}");
    }
}

#[test]
fn statements_without_a_citation_are_asked_about_first() {
    let places = ["harbour", "castle", "village", "mill"];
    let halves = places.map(|place| format!(" Tam Reeve was born in Aldmouth {place}."));
    let reply = format!("{} Tam comes from the town of Aldmouth.", halves.concat());
    let generator = ScriptedGenerator::new()
        .when("Where was Tam Reeve born?", &reply)
        .judging("exactly this question?", "yes", 0.99)
        .judging("state exactly this?", "yes", 0.9);
    let events = ask(generator, "Where was Tam Reeve born?");
    let cited = find!(events.iter(), RunEvent::StepCited { step, .. } => *step);
    assert_eq!(cited, Some(5));
}

#[test]
fn a_model_that_says_neither_yes_nor_no_refuses_nothing() {
    // the share of its replies that begin with yes or no; whether its "no" is heard
    for (mass, is_heard) in [(1.0, true), (0.01, false)] {
        let generator = ScriptedGenerator::new()
            .when("state the answer", "Well, Aldmouth.")
            .when("Where", " Tam Reeve was born in Aldmouth. [2]")
            .labelling("state the answer", mass)
            .judging("state the answer", "yes", 0.001);
        let question = "Where was Tam Reeve born?";
        let events = ask(generator, question);

        let support = find!(events.iter(), RunEvent::SupportMeasured { support, .. } => *support);
        let support = support.expect("it was measured");
        assert_eq!(
            (support.stated.is_some(), support.supported),
            (is_heard, !is_heard),
            "{support:?}"
        );
    }
}

#[test]
fn a_model_that_writes_nothing_is_replaced_by_quotations() {
    let generator = ScriptedGenerator::new()
        .when("Where was Tam Reeve born?", "")
        .judging("state the answer", "yes", 0.99);
    let events = ask(generator, "Where was Tam Reeve born?");

    let quoted = events.iter().any(|event| match event {
        RunEvent::StepGiven { text, .. } => text.contains("Tam Reeve"),
        _ => false,
    });
    let is_said = events.iter().any(|event| match event {
        RunEvent::Warned { text, .. } => text.contains("wrote nothing"),
        _ => false,
    });
    assert!(quoted && is_said, "{events:?}");
}

#[test]
fn a_stop_before_the_first_word_quotes_nothing_and_is_not_judged() {
    let settings = config(&[("answer.prompt", "sources"), ("retriever.k", "3")]);
    let question = "Where was Tam Reeve born?";
    let script = || {
        ScriptedGenerator::new()
            .when(question, " Tam Reeve was born in Aldmouth. [2]")
            .judging("state the answer", "yes", 0.99)
    };
    let (_, all) = run(&settings, &mut script(), question, usize::MAX);
    let is_word = |event: &RunEvent| matches!(event, RunEvent::TokenGenerated { .. });
    let first = all.iter().position(is_word).expect("a token");
    for stop_at in 0..first {
        let (_, events) = run(&settings, &mut script(), question, stop_at);
        let is_shown = events.iter().any(|event| {
            matches!(
                event,
                RunEvent::StepGiven { .. }
                    | RunEvent::VerdictGiven { .. }
                    | RunEvent::Warned { .. }
            )
        });
        assert!(!is_shown, "stopped at {stop_at}: {events:?}");
    }
}

/// "The students of Tam Reeve" are listed without asking; for saunas of his the model is asked,
/// although the passages have most of the words.
#[test]
fn a_list_of_what_no_passage_names_is_refused_by_the_word_of_the_model() {
    let cases = [
        ("List all students of Tam Reeve", 0.1, false),
        ("List all saunas of Tam Reeve", 0.1, true),
        ("List all saunas of Tam Reeve", 0.9, false),
    ];
    for (question, share, is_refused) in cases {
        let generator = ScriptedGenerator::new()
            .when(question, " Mira Oakes was a student of Tam Reeve. [1]")
            .judging("exactly this question?", "yes", share);
        let events = ask(generator, question);
        let expected = is_refused.then_some(VerdictKind::NotInDocuments);
        let refused = verdict(&events).filter(|kind| *kind == VerdictKind::NotInDocuments);
        assert_eq!(refused, expected, "{question}, {share}");
    }
}

#[test]
fn an_answer_that_is_a_mark_alone_is_followed_by_what_the_source_says() {
    for (reply, is_quoted) in [
        (" The town is [2].", true),
        (" [2]", true),
        (" Tam was born in Aldmouth. [2]", false),
    ] {
        let question = "Where was Tam Reeve born?";
        let generator = ScriptedGenerator::new().when(question, reply).judging(
            "exactly this question?",
            "yes",
            0.99,
        );
        let events = ask(generator, question);
        let quoted = events.iter().any(|event| {
            matches!(event, RunEvent::StepGiven { step: 2, text, .. } if text.contains("Aldmouth"))
        });
        assert_eq!(quoted, is_quoted, "{reply}");
    }
}

#[test]
fn a_list_has_what_each_passage_names_once_and_with_its_source() {
    let shelf = [
        "Mira Oakes was a student of Tam Reeve.",
        "Tam Reeve was born in Aldmouth.",
        "Ships sail.",
        "Ropes hold.",
        "Sails are of hemp.",
    ];
    let mut generator = ScriptedGenerator::new()
        .when(
            "Mira Oakes was a student",
            "- Mira Oakes\n- the others: none",
        )
        .when("born in Aldmouth", "Oakes\nLilian Moore")
        .when("List all students", "none")
        .judging("exactly this question?", "yes", 0.99);
    let settings = config(&[("answer.prompt", "sources"), ("retriever.k", "5")]);
    let asked = ("List all students of Tam Reeve", [].as_slice());
    let (outcome, events) = run_over(&shelf, &settings, &mut generator, asked, usize::MAX);
    outcome.expect("it ran");

    let finished = events.iter().filter_map(|event| match event {
        RunEvent::StepFinished {
            text, citations, ..
        } => Some((text.as_str(), citations[0].label)),
        _ => None,
    });
    assert_eq!(finished.collect::<Vec<_>>(), [("- Mira Oakes", 1)]);
    assert_eq!(verdict(&events), Some(VerdictKind::Supported));
    let text = find!(events.iter(), RunEvent::RunFinished { text, .. } => text.clone());
    assert_eq!(text.as_deref(), Some("- Mira Oakes"));
}

/// The first passage has two items of a list, of which the chunks behind the twelve that are
/// retrieved have the others.
#[test]
fn the_other_parts_of_a_list_are_read_too() {
    let mut shelf = vec!["- Mira Oakes, a student of Tam Reeve\n- Lilian Moore, a student"];
    shelf.extend(["Ships sail."; 11]);
    shelf.extend(["- Ann Dow, a student", "Ropes hold."]);
    let mut generator = ScriptedGenerator::new()
        .when("- Mira Oakes, a student", "Mira Oakes\nLilian Moore")
        .when("- Ann Dow", "Ann Dow")
        .when("List all students", "none")
        .judging("exactly this question?", "yes", 0.99);
    let settings = config(&[("answer.prompt", "sources")]);
    let asked = ("List all students of Tam Reeve", [].as_slice());
    let (outcome, events) = run_over(&shelf, &settings, &mut generator, asked, usize::MAX);
    outcome.expect("it ran");

    let contexts = events.iter().filter_map(|event| match event {
        RunEvent::ContextBuilt { context, .. } => Some(context.chunks.len()),
        _ => None,
    });
    assert_eq!(contexts.collect::<Vec<_>>(), [12, 14]);
    let text = find!(events.iter(), RunEvent::RunFinished { text, .. } => text.clone());
    assert_eq!(
        text.as_deref(),
        Some("- Mira Oakes\n- Lilian Moore\n- Ann Dow")
    );
    let cited = events.iter().filter_map(|event| match event {
        RunEvent::StepFinished { citations, .. } => Some(citations[0].label),
        _ => None,
    });
    assert_eq!(cited.collect::<Vec<_>>(), [1, 1, 13]);
}

/// The rows are in two chunks, of which one is retrieved: both together are another passage.
#[test]
fn rows_that_a_question_names_are_the_answer_without_a_model() {
    let shelf = [
        "| hut: Kestrel | stove: yes | beds: 12 |\n| hut: Marmot | stove: no | beds: 40 |",
        "| hut: Chough | stove: yes | beds: 25 |",
    ];
    let cases = [
        (
            "Which huts have a stove?",
            "people.md · stove: yes (2/3):\n- hut: Kestrel · stove: yes · beds: 12 [2]\n\
             - hut: Chough · stove: yes · beds: 25 [2]",
        ),
        (
            "Which hut has the most beds?",
            "people.md · max beds (1/3):\n- hut: Marmot · stove: no · beds: 40 [1]",
        ),
        (
            "A table of the huts",
            "people.md · 3/3:\n\n| hut | stove | beds |\n| --- | --- | --- |\n| Kestrel | yes | 12 |\n\
             | Marmot | no | 40 |\n| Chough | yes | 25 |\n\n[3]",
        ),
    ];
    for (question, expected) in cases {
        let mut generator = ScriptedGenerator::new();
        let settings = config(&[("answer.prompt", "sources"), ("retriever.k", "1")]);
        let asked = (question, [].as_slice());
        let (outcome, events) = run_over(&shelf, &settings, &mut generator, asked, usize::MAX);
        outcome.expect("it ran");
        let text = find!(events.iter(), RunEvent::RunFinished { text, .. } => text.clone());
        assert_eq!(text.as_deref(), Some(expected), "{question}");
        assert_eq!(verdict(&events), Some(VerdictKind::Supported));
        let called = find!(events.iter(), RunEvent::ModelCalled { purpose, .. } => purpose.clone());
        assert_eq!(called, None);
    }
}

/// The second thing is answered, its documents say nothing of it, or both are one.
#[test]
fn each_of_two_things_is_asked_about_by_itself() {
    let shelf = [
        "Abra Works was founded in June 2019.",
        "Corvo Works was founded in May 2021.",
        "Dower and Sons was founded in 1880.",
    ];
    let asked = |name: &str| format!("Question: When were {name} founded?");
    let cases = [
        (
            "When were Abra Works and Corvo Works founded?",
            0.9,
            "Abra Works was founded in June 2019. [1]\n\nCorvo Works was founded in May 2021. [2]",
            VerdictKind::Supported,
        ),
        (
            "When were Abra Works and Corvo Works founded?",
            0.001,
            "Abra Works was founded in June 2019. [1]\n\nCorvo Works: Your documents do not say.",
            VerdictKind::Partly,
        ),
        (
            "Compare the times of foundation of Abra Works and Corvo Works. Which was earlier?",
            0.9,
            "Abra Works was founded in June 2019. [1]\n\nCorvo Works was founded in May 2021. [2]\
             \n\nAbra Works (2019-06) < Corvo Works (2021-05) [1]",
            VerdictKind::Supported,
        ),
        (
            "When were Dower and Sons founded?",
            0.9,
            "It was founded in 1880. [3]",
            VerdictKind::Supported,
        ),
    ];
    for (question, share, expected, kind) in cases {
        let mut generator = ScriptedGenerator::new()
            .when(
                "foundation of Abra Works?",
                " Abra Works was founded in June 2019. [1]",
            )
            .when(
                "foundation of Corvo Works?",
                " Corvo Works was founded in May 2021. [2]",
            )
            .when(
                &asked("Abra Works"),
                " Abra Works was founded in June 2019. [1]",
            )
            .when(
                &asked("Corvo Works"),
                " Corvo Works was founded in May 2021. [2]",
            )
            .when("Dower and Sons", " It was founded in 1880. [3]")
            .judging("When were Corvo Works founded?", "yes", share)
            .judging("exactly this question?", "yes", 0.99);
        let settings = config(&[("answer.prompt", "sources"), ("retriever.k", "3")]);
        let asked = (question, [].as_slice());
        let (outcome, events) = run_over(&shelf, &settings, &mut generator, asked, usize::MAX);
        outcome.expect("it ran");
        let text = find!(events.iter(), RunEvent::RunFinished { text, .. } => text.clone());
        assert_eq!(text.as_deref(), Some(expected), "{question}");
        assert_eq!(verdict(&events), Some(kind), "{question}");
    }
}
