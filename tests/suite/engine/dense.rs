//! Runs that measure their context, cut documents again and refine in rounds, over models that
//! agree, never agree or say nothing.

use ragscope::event::{
    ChunkClass, ContextOrigin, DropReason, Outcome, RefinementEnd, RunEvent, Understanding,
    Unmeasured, VariantFault,
};

use ragscope::story::Run;

use super::{SHELF, config, finished, run, run_over};
use crate::support::find;
use crate::support::scripted::ScriptedGenerator;

const QUESTION: &str = "Where was the teacher of Mira born?";

/// Rephrases each chunk of the shelf, and replies with the questions' own words to nothing else.
fn rephrasing() -> ScriptedGenerator {
    ScriptedGenerator::new()
        .when("Text: Mira Oakes", "A student of Tam Reeve was Mira Oakes.")
        .when("Text: Tam Reeve", "In Aldmouth Tam Reeve was born.")
        .when("Text: Ships", "What ships do is sail.")
        .when("Text: Ropes", "What ropes do is hold.")
}

/// Every context has an answer of its own.
fn never_agreeing() -> ScriptedGenerator {
    rephrasing()
        .when("A student of", "one")
        .when("In Aldmouth Tam", "two")
        .when("What ships", "three")
        .when("What ropes", "four")
        .when("Context:\n[1] Tam", "five")
        .when("[2] Ships", "six")
        .when("\n[4] ", "eight")
        .when("[3] Ropes", "seven")
        .when("[3] Ships", "zero")
}

fn settings<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut settings = vec![
        ("preset", "dense-rag"),
        ("retriever.k", "3"),
        ("understanding.check_rephrasings", "off"),
        ("answer.prompt", "qa_short"),
    ];
    settings.extend(more);
    settings
}

fn measured(events: &[RunEvent]) -> Vec<&Understanding> {
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::UnderstandingMeasured { understanding, .. } => Some(understanding),
            _ => None,
        })
        .collect()
}

fn refined(events: &[RunEvent]) -> Option<(u32, RefinementEnd)> {
    let one = |event: &RunEvent| match event {
        RunEvent::RefinementFinished { best, end, .. } => Some((*best, *end)),
        _ => None,
    };
    events.iter().find_map(one)
}

#[test]
fn a_context_that_is_understood_is_left_alone() {
    let mut generator = rephrasing().when("based on provided context", " Aldmouth");
    let (outcome, events) = run(
        &config(&settings(&[])),
        &mut generator,
        QUESTION,
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let [understanding] = measured(&events)[..] else {
        panic!("measured once")
    };
    assert_eq!((understanding.dse, understanding.certain), (0.0, true));
    assert_eq!(understanding.replies, ["Aldmouth"; 4]);
    assert!(
        understanding
            .matrix
            .iter()
            .flatten()
            .all(|link| *link == 1.0)
    );
    assert!(
        understanding.judgements.is_empty(),
        "the same answer needs no judge"
    );
    assert!(
        understanding
            .chunks
            .iter()
            .all(|chunk| chunk.certain == Some(true)),
        "{:?}",
        understanding.chunks
    );
    assert_eq!(refined(&events), None);
    assert_eq!(finished(&events).1, "Aldmouth");
}

/// A run that only measures, and is stopped at its first report of that.
pub fn stopped_run() -> Vec<RunEvent> {
    let only = [
        ("preset", "naive"),
        ("retriever.k", "4"),
        ("understanding.kind", "dense"),
        ("understanding.check_rephrasings", "off"),
        ("answer.prompt", "qa_short"),
    ];
    let measure = |stop_at| run(&config(&only), &mut never_agreeing(), QUESTION, stop_at);
    let (_, events) = measure(usize::MAX);
    let is_part = |event: &RunEvent| matches!(event, RunEvent::UnderstandingProgressed { .. });
    let part = events.iter().position(is_part).expect("a part");
    let [whole] = measured(&events)[..] else {
        panic!("measured once")
    };
    assert_eq!(whole.replies.len(), 5);
    let RunEvent::UnderstandingProgressed { understanding, .. } = &events[part] else {
        panic!("a part")
    };
    assert_eq!(understanding.replies, whole.replies[..3]);
    assert_eq!(events.iter().filter(|event| is_part(event)).count(), 1);

    let (outcome, events) = measure(part + 1);
    assert_eq!(outcome.expect("it ran"), Outcome::Stopped);
    events
}

#[test]
fn a_measurement_that_is_stopped_keeps_the_chunks_that_were_compared() {
    let mut run = Run::default();
    for event in &stopped_run() {
        run.apply(event, 0);
    }
    let [round] = run.refinement.rounds.as_slice() else {
        panic!("{:?}", run.refinement)
    };
    let part = round.measured.as_ref().expect("two rephrasings");
    assert_eq!(part.replies.len(), 3);
    assert_eq!(
        run.refinement.part_words().as_deref(),
        Some("2 of 4 chunks")
    );
    assert_eq!(run.refinement.answer_understanding(), None);
}

#[test]
fn models_that_never_agree_come_to_an_end() {
    let ln = |replies: f32| replies.ln();
    let cases = [
        // all four chunks of the shelf are in by then
        (
            vec![],
            RefinementEnd::Unchanged,
            vec![ln(4.0), ln(4.0), ln(5.0)],
        ),
        (
            vec![("chunker.kind", "fixed")],
            RefinementEnd::Unchanged,
            vec![ln(4.0), ln(5.0)],
        ),
        (
            vec![("refiner.max_rounds", "1")],
            RefinementEnd::RoundLimit,
            vec![ln(4.0), ln(4.0)],
        ),
        (
            vec![("retriever.keep", "3")],
            RefinementEnd::Unchanged,
            vec![ln(4.0), ln(4.0)],
        ),
    ];
    for (more, end, entropies) in cases {
        let (outcome, events) = run(
            &config(&settings(&more)),
            &mut never_agreeing(),
            QUESTION,
            usize::MAX,
        );
        assert_eq!(outcome.expect("it ran"), Outcome::Completed);
        let found: Vec<f32> = measured(&events)
            .iter()
            .map(|understanding| understanding.dse)
            .collect();
        assert!(
            found.len() == entropies.len()
                && found
                    .iter()
                    .zip(&entropies)
                    .all(|(a, b)| (a - b).abs() < 1e-6),
            "{more:?}: {found:?}, not {entropies:?}"
        );
        let (best, ended) = refined(&events).expect("refined");
        assert_eq!(ended, end, "{more:?}");
        assert!(best >= 1);
        assert!(
            !measured(&events)[0].judgements.is_empty(),
            "a judge that prefers no label was asked"
        );
    }
}

#[test]
fn what_the_answer_does_not_need_is_pruned_and_the_better_context_wins() {
    // the wording of the third chunk changes the answer; without it, and without its like, the
    // answer stays
    let mut generator = rephrasing()
        .when("What ships do", "ships")
        .when("based on provided context", "Aldmouth")
        .judging("Does the context contain enough", "yes", 0.9);
    let settings = settings(&[("chunker.kind", "fixed")]);
    let (_, events) = run(&config(&settings), &mut generator, QUESTION, usize::MAX);
    let rounds = measured(&events);
    assert_eq!(
        rounds.iter().map(|round| round.origin).collect::<Vec<_>>(),
        [ContextOrigin::Retrieved, ContextOrigin::Refined]
    );
    assert!(!rounds[0].certain && rounds[1].certain && rounds[1].dse == 0.0);
    let classes: Vec<ChunkClass> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::ChunksClassified { chunks, .. } => {
                Some(chunks.iter().map(|chunk| chunk.class).collect())
            }
            _ => None,
        })
        .next()
        .expect("classified");
    assert_eq!(
        classes,
        [
            ChunkClass::Certain,
            ChunkClass::Certain,
            ChunkClass::Unnecessary
        ]
    );
    assert_eq!(refined(&events), Some((2, RefinementEnd::Sufficient)));
    let contexts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::ContextBuilt { context, .. } => Some(context),
            _ => None,
        })
        .collect();
    let last = contexts.last().expect("a context");
    assert_eq!(
        last.chunks
            .iter()
            .map(|chunk| chunk.chunk)
            .collect::<Vec<_>>(),
        [10, 20]
    );
    let pruned = last
        .dropped
        .iter()
        .find(|dropped| dropped.chunk == 30)
        .expect("it is emitted");
    assert_eq!(pruned.reason, DropReason::Unnecessary { round: 1 });
    assert_eq!(finished(&events).1, "Aldmouth");
}

#[test]
fn a_necessary_chunk_adds_its_nearest_candidate() {
    // the fourth chunk of the shelf comes in for the second, without which the answer is another
    let mut generator = rephrasing()
        .when("In Aldmouth Tam", "a place")
        .when("[4]", "Aldmouth")
        .when("[2] Ships", "unknown")
        .when("based on provided context", "Lorby");
    let settings = settings(&[
        ("chunker.kind", "fixed"),
        ("refiner.self_evaluate", "false"),
    ]);
    let (_, events) = run(&config(&settings), &mut generator, QUESTION, usize::MAX);
    let change = find!(
        events.iter(),
        RunEvent::ContextRefined { dropped, added, .. } => (dropped.clone(), added.clone())
    );
    let (dropped, added) = change.expect("refined");
    assert!(dropped.is_empty());
    assert_eq!(
        added
            .iter()
            .map(|added| (added.chunk, added.similar_to))
            .collect::<Vec<_>>(),
        [(40, 20)]
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, RunEvent::ContextEvaluated { .. })),
        "self-evaluation is off"
    );
}

#[test]
fn documents_are_rechunked_only_for_a_question_that_is_not_understood() {
    let is_rechunked = |events: &[RunEvent]| {
        events
            .iter()
            .any(|event| matches!(event, RunEvent::DocumentsRechunked { .. }))
    };
    let (_, events) = run(
        &config(&settings(&[])),
        &mut never_agreeing(),
        QUESTION,
        usize::MAX,
    );
    assert!(is_rechunked(&events));
    assert_eq!(measured(&events)[1].origin, ContextOrigin::Rechunked);
    assert!(
        measured(&events)[1]
            .chunks
            .iter()
            .all(|chunk| chunk.chunk > 1 << 52)
    );
    let mut understood = rephrasing().when("based on provided context", "Aldmouth");
    let (_, events) = run(
        &config(&settings(&[])),
        &mut understood,
        QUESTION,
        usize::MAX,
    );
    assert!(!is_rechunked(&events));
    // without a meter the chunker measures for itself
    let alone = settings(&[("understanding.kind", "off"), ("refiner.kind", "off")]);
    let (_, events) = run(&config(&alone), &mut never_agreeing(), QUESTION, usize::MAX);
    assert!(is_rechunked(&events) && refined(&events).is_none());
}

#[test]
fn rephrasings_that_fail_twice_leave_their_chunk_without_a_variant() {
    type Script = fn(ScriptedGenerator) -> ScriptedGenerator;
    let cases: [(&str, Script, &str, VariantFault); 4] = [
        (
            "silent",
            |script| script.when("Text: Ships", ""),
            "off",
            VariantFault::Empty,
        ),
        (
            "a parrot",
            |script| script.when("Text: Ships", " ships  sail"),
            "off",
            VariantFault::SameWords,
        ),
        (
            "another meaning",
            |script| {
                script.when("Text: Ships", "Ropes sing.").judging(
                    "Ropes sing.",
                    "contradiction",
                    0.8,
                )
            },
            "enforce",
            VariantFault::OtherMeaning,
        ),
        (
            "a judge that prefers no label",
            |script| script.when("Text: Ships", "Boats."),
            "enforce",
            VariantFault::OtherMeaning,
        ),
    ];
    for (what, script, check, fault) in cases {
        let mut generator = script(ScriptedGenerator::new())
            .when("Text: Mira Oakes", "A student of Tam Reeve was Mira Oakes.")
            .when("Text: Tam Reeve", "In Aldmouth Tam Reeve was born.")
            .when("based on provided context", "Aldmouth")
            .judging("Mira", "entailment", 0.9)
            .judging("In Aldmouth Tam Reeve was born.", "entailment", 0.9);
        let settings = [
            ("preset", "dense-rag"),
            ("retriever.k", "3"),
            ("understanding.check_rephrasings", check),
        ];
        let question = "Who?";
        let (outcome, events) = run(&config(&settings), &mut generator, question, usize::MAX);
        assert_eq!(outcome.expect("it ran"), Outcome::Completed, "{what}");
        let understanding = measured(&events)[0];
        let chunk = &understanding.chunks[2];
        assert_eq!(
            (chunk.fault, chunk.attempts, chunk.reply, chunk.certain),
            (Some(fault), 2, None, None),
            "{what}"
        );
        assert_eq!(understanding.replies.len(), 3, "{what}");
        assert!(
            understanding.chunks[..2]
                .iter()
                .all(|chunk| chunk.fault.is_none() && chunk.attempts == 1),
            "{what}"
        );
    }
}

#[test]
fn a_rephrasing_with_another_meaning_is_reported_and_used() {
    let mut generator = rephrasing()
        .when("Text: Ships", "Ropes sing.")
        .when("based on provided context", "Aldmouth")
        .judging("Ropes sing.", "contradiction", 0.8);
    let settings = [("preset", "dense-rag"), ("retriever.k", "3")];
    let (outcome, events) = run(&config(&settings), &mut generator, "Who?", usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);

    let understanding = measured(&events)[0];
    assert_eq!(understanding.replies.len(), 4, "each chunk has its variant");
    let chunk = &understanding.chunks[2];
    assert_eq!((chunk.fault, chunk.attempts), (None, 1));
    let entailed = chunk.entailed.expect("the judge was asked");
    assert!(
        entailed.iter().any(|probability| *probability < 0.5),
        "{entailed:?}"
    );
}

#[test]
fn contexts_that_cannot_be_measured_say_so_and_are_answered_from() {
    let long: &'static str = Box::leak("word ".repeat(5000).into_boxed_str());
    let silent = ScriptedGenerator::new()
        .when("based on provided context", "Aldmouth")
        .when("own knowledge", "Lorby");
    let cases = [
        ("no chunk", vec![], silent.clone(), Unmeasured::NoChunk),
        (
            "a chunk longer than the context",
            vec![long],
            silent.clone(),
            Unmeasured::NoChunk,
        ),
        (
            "such a chunk before others",
            vec![long, SHELF[0]],
            silent.clone(),
            Unmeasured::NoVariant,
        ),
        (
            "no rephrasing",
            SHELF.to_vec(),
            silent,
            Unmeasured::NoVariant,
        ),
    ];
    for (what, shelf, mut generator, expected) in cases {
        let (outcome, events) = run_over(
            &shelf,
            &config(&settings(&[])),
            &mut generator,
            (QUESTION, &[]),
            usize::MAX,
        );
        assert_eq!(outcome.expect("it ran"), Outcome::Completed, "{what}");
        let reasons: Vec<Unmeasured> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::UnderstandingSkipped { reason, .. } => Some(*reason),
                _ => None,
            })
            .collect();
        assert_eq!(
            reasons,
            [expected],
            "{what}: emitted once, and neither chunker nor refiner tries again"
        );
        assert!(
            measured(&events).is_empty() && refined(&events).is_none(),
            "{what}"
        );
        assert!(!finished(&events).1.is_empty(), "{what}");
    }
}

#[test]
fn one_chunk_and_identical_chunks_are_measured_like_others() {
    let born = "Tam Reeve was born in Aldmouth.";
    for (shelf, replies) in [(vec![born], 2), (vec![born; 4], 4)] {
        let mut generator = rephrasing()
            .when("In Aldmouth Tam", "a place")
            .when("based on provided context", "Lorby");
        let (outcome, events) = run_over(
            &shelf,
            &config(&settings(&[])),
            &mut generator,
            (QUESTION, &[]),
            usize::MAX,
        );
        assert_eq!(outcome.expect("it ran"), Outcome::Completed);
        assert_eq!(measured(&events)[0].replies.len(), replies);
        let rephrased = generator
            .seen
            .iter()
            .filter(|prompt| prompt.user.contains("Text: Tam Reeve"))
            .count();
        assert_eq!(rephrased, 1, "the same text is rephrased once");
        let added = events.iter().any(
            |event| matches!(event, RunEvent::ContextRefined { added, .. } if !added.is_empty()),
        );
        assert!(
            !added,
            "what reads like a chunk that was there does not come in"
        );
    }
}

#[test]
fn empty_replies_agree_with_nothing() {
    let (outcome, events) = run(
        &config(&settings(&[])),
        &mut rephrasing(),
        QUESTION,
        usize::MAX,
    );
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let understanding = measured(&events)[0];
    assert!(understanding.replies.iter().all(String::is_empty));
    assert!(
        (understanding.dse - 4_f32.ln()).abs() < 1e-6,
        "{}",
        understanding.dse
    );
    assert!(
        understanding.judgements.is_empty(),
        "without answers no judge is asked"
    );
    assert!(refined(&events).is_some());
}

#[test]
fn a_rephrasing_that_fits_no_context_is_skipped() {
    let long = "sail ".repeat(40);
    let mut generator = rephrasing()
        .when("based on provided context", "Aldmouth")
        .with_context(78);
    let settings = settings(&[("answer.max_tokens", "8"), ("retriever.k", "2")]);
    // the same script, with a wordy second rephrasing before the others
    let mut wordy = ScriptedGenerator::new()
        .when("Text: Tam Reeve", &long)
        .when("Text: Mira Oakes", "A student of Tam Reeve was Mira Oakes.")
        .when("based on provided context", "Aldmouth")
        .with_context(58);
    let (_, events) = run(&config(&settings), &mut generator, QUESTION, usize::MAX);
    assert!(
        measured(&events)[0]
            .chunks
            .iter()
            .all(|chunk| chunk.fault.is_none())
    );
    let (outcome, events) = run(&config(&settings), &mut wordy, QUESTION, usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let faults: Vec<Option<VariantFault>> = measured(&events)[0]
        .chunks
        .iter()
        .map(|chunk| chunk.fault)
        .collect();
    assert_eq!(faults, [None, Some(VariantFault::TooLong)]);
}

#[test]
fn a_stop_anywhere_ends_the_run() {
    let (_, all) = run(
        &config(&settings(&[])),
        &mut never_agreeing(),
        QUESTION,
        usize::MAX,
    );
    for stop_at in 0..all.len() - 1 {
        let (outcome, events) = run(
            &config(&settings(&[])),
            &mut never_agreeing(),
            QUESTION,
            stop_at,
        );
        assert_eq!(
            outcome.expect("it ran"),
            Outcome::Stopped,
            "stopped at {stop_at}"
        );
        assert!(
            matches!(events.last(), Some(RunEvent::RunFinished { .. })),
            "stopped at {stop_at}"
        );
    }
}

#[test]
fn numbers_of_events_are_finite_and_events_are_read_back() {
    let (_, events) = run(
        &config(&settings(&[])),
        &mut never_agreeing(),
        QUESTION,
        usize::MAX,
    );
    for event in events {
        let json = serde_json::to_string(&event).expect("JSON");
        assert!(!json.contains(":null,\"attempts\":0"), "{json}");
        let read: RunEvent = serde_json::from_str(&json).expect("an event");
        assert_eq!(read, event);
    }
}

/// A run whose context is re-chunked, then repaired: one chunk is dropped, another added, and the
/// answer no longer depends on the wording.
pub fn repaired_run() -> Vec<RunEvent> {
    repaired("Aldmouth", &[])
}

/// The same, with the answer of the repaired context.
fn repaired(answer: &str, more: &[(&str, &str)]) -> Vec<RunEvent> {
    let shelf = [
        "Mira Oakes was a student of Tam Reeve. Ropes hold.",
        "Tam Reeve was born in Aldmouth.",
        "Ships sail. The sea is near Aldmouth.",
    ];
    let mut generator = rephrasing()
        .when("Text: The sea", "Near Aldmouth is the sea.")
        .when("[3] Tam Reeve was born", answer)
        .when("[3] In Aldmouth Tam", answer)
        .when("In Aldmouth Tam", "a place in the hills")
        .when("What ships", "a ship")
        .when("[2] A student of", "Tam Reeve")
        .when("What ropes", "a rope")
        .when("[2] Ropes", "unknown")
        .when("based on provided context", "Aldmouth")
        .judging("Aldmouth\nPossible Answer 2: a place", "entailment", 0.62)
        .judging("Possible Answer 1: ", "neutral", 0.71)
        .judging("[3] Tam", "yes", 0.84)
        .judging("Does the context contain enough", "no", 0.77);
    run_over(
        &shelf,
        &config(&settings(more)),
        &mut generator,
        (QUESTION, &[]),
        usize::MAX,
    )
    .1
}

#[test]
fn an_unknown_that_every_rephrasing_repeats_does_not_replace_an_answer() {
    for (prefers, best) in [("true", 2), ("false", 3)] {
        let events = repaired("unknown", &[("refiner.prefer_answers", prefers)]);
        let answered: Vec<(bool, bool)> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::ContextEvaluated {
                    sufficient,
                    answered,
                    ..
                } => Some((*sufficient, *answered)),
                _ => None,
            })
            .collect();
        assert_eq!(answered[..2], [(false, true), (true, prefers == "false")]);
        let (chosen, _) = refined(&events).expect("a refinement");
        assert_eq!(chosen, best, "prefer_answers = {prefers}");
    }
}

#[test]
fn a_context_is_rechunked_then_pruned_and_refilled() {
    let events = repaired_run();
    let rounds: Vec<(ContextOrigin, bool, usize)> = measured(&events)
        .iter()
        .map(|round| (round.origin, round.certain, round.replies.len()))
        .collect();
    assert_eq!(
        rounds,
        [
            (ContextOrigin::Retrieved, false, 4),
            (ContextOrigin::Rechunked, false, 4),
            (ContextOrigin::Refined, true, 4)
        ]
    );
    let change = find!(
        events.iter(),
        RunEvent::ContextRefined { round, dropped, added, .. } =>
            (*round, dropped.len(), added.len())
    );
    assert_eq!(change, Some((2, 1, 1)));
    assert_eq!(refined(&events), Some((3, RefinementEnd::Sufficient)));
    let evaluated: Vec<bool> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::ContextEvaluated { sufficient, .. } => Some(*sufficient),
            _ => None,
        })
        .collect();
    assert_eq!(evaluated, [false, true]);
    assert_eq!(finished(&events).1, "Aldmouth");
}
