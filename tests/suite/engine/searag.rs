//! SEARAG: golden numbers of its formulas, the sentence loop on scripted models, its queries.

use ragscope::event::{Decision, LeftOut, Outcome, Part, RunEvent, UncertaintyMeasure, WordOrigin};
use ragscope::methods::query::uncertain_region;
use ragscope::methods::searag::{best_split, entropy_threshold, splits};
use serde_json::Value;

use super::{config, finished, names, run, run_from};
use crate::support::find;
use crate::support::scripted::ScriptedGenerator;

const GOLDEN: [&str; 2] = [
    include_str!("../../data/vectors/query_formulation.json"),
    include_str!("../../data/vectors/sces.json"),
];

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

fn near(a: f64, b: &Value) -> bool {
    (a - b.as_f64().expect("a number")).abs() < 1e-9
}

#[test]
fn uncertain_regions_agree_with_the_reference() {
    let golden: Value = serde_json::from_str(GOLDEN[0]).expect("JSON");
    let mut seen = 0;
    for case in golden["cases"].as_array().expect("cases") {
        let tokens = case["token_entropies"].as_array().expect("words");
        let means = tokens
            .iter()
            .map(numbers)
            .map(|entropies| entropies.iter().sum::<f64>() / entropies.len() as f64);
        let words: Vec<f64> = means.collect();
        for expected in case["by_alpha"].as_array().expect("alphas") {
            let (threshold, start) =
                uncertain_region(&words, expected["alpha"].as_f64().expect("a number"));
            assert!(near(threshold, &expected["threshold"]), "{expected}");
            let first = expected["first_uncertain_index"]
                .as_u64()
                .map(|index| index as usize);
            assert_eq!(start, first, "{expected}");
            seen += 1;
        }
    }
    assert!(seen >= 8);
}

#[test]
fn thresholds_of_entropy_agree_with_the_reference() {
    let golden: Value = serde_json::from_str(GOLDEN[1]).expect("JSON");
    for case in golden["cases"].as_array().expect("cases") {
        let entropies = numbers(&case["H"]);
        let features: Vec<Vec<f32>> = case["Z"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| {
                numbers(row)
                    .into_iter()
                    .map(|number| number as f32)
                    .collect()
            })
            .collect();
        for result in case["results"].as_array().expect("results") {
            let lambda = result["lam"].as_f64().expect("a number");
            let table = result["table"].as_array().expect("a table");
            let candidates = table.iter().map(|row| row["t"].as_f64().expect("a number"));
            let found = splits(&entropies, &features, candidates);
            assert_eq!(found.len(), table.len());
            for (split, row) in found.iter().zip(table) {
                let variance = row["var_low"].as_f64().expect("a number")
                    + row["var_high"].as_f64().expect("a number");
                assert_eq!(
                    (split.low as u64, split.high as u64),
                    (number(row, "n_low"), number(row, "n_high"))
                );
                assert!(near(split.error, &row["mse"]), "{row}");
                // the features are given as f32 here
                assert!((split.variance - variance).abs() < 1e-5, "{row}");
            }
            let best = best_split(&found, lambda).expect("a split");
            assert!(
                near(best.threshold, &result["tau"]),
                "lambda {lambda}: {best:?}"
            );
            let labels: Vec<u64> = entropies
                .iter()
                .map(|entropy| u64::from(*entropy < best.threshold))
                .collect();
            let expected: Vec<u64> = numbers(&result["labels_low_is_1"])
                .into_iter()
                .map(|label| label as u64)
                .collect();
            assert_eq!(labels, expected, "lambda {lambda}");
        }
        // the threshold in use parts the same two groups, whatever the scale of the features
        for scale in [1.0, 1e4] {
            let scaled: Vec<Vec<f32>> = features
                .iter()
                .map(|row| row.iter().map(|value| value * scale).collect())
                .collect();
            let tau = entropy_threshold(&entropies, &scaled).expect("a threshold");
            assert_eq!(
                entropies.iter().filter(|entropy| **entropy < tau).count(),
                6,
                "{tau}"
            );
        }
    }
    assert_eq!(
        entropy_threshold(&[0.5; 4], &vec![vec![1.0]; 4]),
        None,
        "one value parts nothing"
    );
}

fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().expect("a whole number")
}

/// SEARAG as with a probe of the generator: nothing is read before a sentence is uncertain.
const SEARAG: [(&str, &str); 4] = [
    ("preset", "searag"),
    ("retriever.at_start", "false"),
    ("query.kind", "uncertainty_aware"),
    ("gate.kind", "token_entropy"),
];

fn uncertain() -> ScriptedGenerator {
    ScriptedGenerator::new()
        .when("Context:", " Tam Reeve was born in Aldmouth. So nothing.")
        .when(
            "Aldmouth.",
            " Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Aldmouth. So the answer is Aldmouth.",
        )
        .when(
            "step by step",
            " Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Lorby. So the answer is Lorby.",
        )
        .unsure_of("Lorby", 6.0)
}

/// The steps as they were finished: step, text, decision.
fn steps(events: &[RunEvent]) -> Vec<(u32, &str, Decision)> {
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::StepFinished {
                step,
                text,
                uncertainty,
                ..
            } => Some((*step, text.as_str(), uncertainty.decision)),
            _ => None,
        })
        .collect()
}

#[test]
fn passages_of_a_later_sentence_are_judged_with_the_last_one() {
    let mut generator = uncertain().judging("Knowledge", "1", 0.9);
    let question = "Where was the teacher of Mira Oakes born?";
    let settings = [&SEARAG[..], &[("filter.kind", "binary")]].concat();
    let (outcome, _) = run(&config(&settings), &mut generator, question, usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);

    let sought = format!("{question} Mira Oakes was a student of Tam Reeve.");
    let judged: Vec<&str> = generator
        .seen
        .iter()
        .map(|prompt| prompt.user.as_str())
        .filter(|user| user.contains("Knowledge"))
        .collect();
    assert!(!judged.is_empty(), "the second sentence has a lookup");
    assert!(
        judged.iter().all(|user| user.contains(&sought)),
        "{judged:?}"
    );
}

#[test]
fn without_a_probe_an_answer_begins_with_passages() {
    let settings = [("preset", "searag")];
    let question = "Where was the teacher of Mira Oakes born?";
    let (outcome, events) = run(&config(&settings), &mut uncertain(), question, usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    let first = events.iter().find_map(|event| match event {
        RunEvent::RetrievalFinished { step, .. } => Some(*step),
        _ => None,
    });
    assert_eq!(first, Some(0), "before the first sentence");
    assert_eq!(steps(&events)[0].1, "Tam Reeve was born in Aldmouth.");
}

#[test]
fn an_uncertain_sentence_retrieves_and_is_regenerated() {
    let mut generator = uncertain();
    let question = "Where was the teacher of Mira Oakes born?";
    let (outcome, events) = run(&config(&SEARAG), &mut generator, question, usize::MAX);
    assert_eq!(outcome.expect("it ran"), Outcome::Completed);
    assert_eq!(
        steps(&events),
        [
            (1, "Mira Oakes was a student of Tam Reeve.", Decision::Keep),
            (2, "Tam Reeve was born in Lorby.", Decision::Retrieve),
            (2, "Tam Reeve was born in Aldmouth.", Decision::Keep),
            (3, "So the answer is Aldmouth.", Decision::Keep),
        ]
    );
    let (text, answer, citations) = finished(&events);
    assert_eq!(
        text,
        "Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Aldmouth. So the answer is Aldmouth."
    );
    assert_eq!((answer, citations), ("Aldmouth", vec![(2, 2)]));
    let written = find!(
        events.iter(),
        RunEvent::QueryWritten { step, query, words, region, .. } =>
            (*step, query.as_str(), words, region)
    );
    let (step, query, words, region) = written.expect("a query");
    // "Lorby" has nothing to do with the sentence before it, so the question is the base
    assert_eq!(
        (step, query),
        (2, "Where was the teacher of Mira Oakes born? Lorby")
    );
    assert_eq!(
        words.last().map(|word| word.origin),
        Some(WordOrigin::UncertainRegion)
    );
    assert_eq!(region.and_then(|region| region.first_word), Some(5));
    // every prompt of the loop starts with the confirmed sentences
    let replies: Vec<&str> = generator
        .seen
        .iter()
        .map(|prompt| prompt.reply.as_str())
        .collect();
    let first = " Mira Oakes was a student of Tam Reeve.";
    assert_eq!(
        replies,
        [
            "",
            first,
            &format!("{first} Tam Reeve was born in Aldmouth.")
        ]
    );
    assert!(
        generator.seen[1].user.starts_with("Context:\n[1] "),
        "{}",
        generator.seen[1].user
    );
    assert!(!generator.seen[2].user.contains("Context:"));
}

#[test]
fn the_first_sentence_is_retrieved_for_whatever_the_gate_measures_where_the_settings_say_so() {
    let question = "Where was the teacher of Mira Oakes born?";
    let draft = "Mira Oakes was a student of Tam Reeve.";
    let certain = vec![(1, draft, Decision::Keep)];
    let retrieved = vec![
        (1, draft, Decision::Retrieve),
        (1, "Tam Reeve was born in Aldmouth.", Decision::Keep),
    ];
    let cases = [
        ("judge", "closed-book", certain.clone()),
        ("retrieve", "closed-book", certain.clone()),
        ("judge", "searag", certain),
        ("retrieve", "searag", retrieved),
    ];
    for (first_sentence, preset, expected) in cases {
        let settings = [
            &SEARAG[..],
            &[("preset", preset), ("gate.first_sentence", first_sentence)],
        ]
        .concat();
        let (outcome, events) = run(&config(&settings), &mut uncertain(), question, usize::MAX);
        assert_eq!(outcome.expect("it ran"), Outcome::Completed);

        let mut of_first = steps(&events);
        of_first.retain(|(step, _, _)| *step == 1);
        assert_eq!(of_first, expected, "{first_sentence} {preset}");
    }
}

#[test]
fn the_gate_of_a_run_is_emitted_with_the_reason_of_a_fallback() {
    let gates = [
        ("off", None),
        (
            "token_entropy",
            Some((UncertaintyMeasure::TokenEntropy, None)),
        ),
        (
            "semantic_entropy",
            Some((UncertaintyMeasure::SemanticEntropy, None)),
        ),
        (
            "token_probability",
            Some((UncertaintyMeasure::TokenProbability, None)),
        ),
        (
            "attended_entropy",
            Some((UncertaintyMeasure::AttendedEntropy, None)),
        ),
        (
            "probe",
            Some((
                UncertaintyMeasure::TokenEntropy,
                Some("no probe in this test"),
            )),
        ),
    ];
    for (kind, expected) in gates {
        let settings = [("preset", "searag"), ("gate.kind", kind)];
        let (_, events) = run(&config(&settings), &mut uncertain(), "Where?", usize::MAX);
        let emitted = events.iter().find_map(|event| match event {
            RunEvent::GateChosen { gate } => {
                let fallback = gate.fallback.as_ref();
                Some((gate.measure, fallback.map(|problem| problem.error.as_str())))
            }
            _ => None,
        });
        assert_eq!(emitted, expected, "{kind}");
        let warned = names(&events).contains(&"warned".to_owned());
        assert_eq!(
            warned,
            expected.is_some_and(|(_, fallback)| fallback.is_some()),
            "{kind}"
        );
    }
}

/// The parts that were left out, with the reason, in order.
fn left_out(events: &[RunEvent]) -> Vec<(Vec<Part>, bool)> {
    events
        .iter()
        .filter_map(|event| match event {
            RunEvent::PartsLeftOut { parts, reason, .. } => {
                Some((parts.clone(), *reason == LeftOut::NotNeeded))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn stages_run_for_a_sentence_that_stays_uncertain() {
    let settings: Vec<_> = SEARAG
        .into_iter()
        .chain([
            ("filter.kind", "graded"),
            ("reranker.kind", "model"),
            ("reranker.model", "embedder"),
            ("stages.when", "as_needed"),
        ])
        .collect();
    let graded = |events: &[RunEvent]| {
        let is_graded = |event: &&RunEvent| matches!(event, RunEvent::ChunksGraded { .. });
        events.iter().filter(is_graded).count()
    };

    // regenerated from what was retrieved, the sentence is certain
    let (outcome, events) = run(&config(&settings), &mut uncertain(), "Where?", usize::MAX);
    assert_eq!(outcome.expect("asked"), Outcome::Completed);
    assert_eq!(
        (graded(&events), left_out(&events)),
        (0, vec![(vec![Part::Filter, Part::Reranker], true)])
    );

    // it is not: filter and reranker run, and the sentence is written once more
    let mut unsure = uncertain().unsure_of("Aldmouth", 6.0);
    let (outcome, events) = run(&config(&settings), &mut unsure, "Where?", usize::MAX);
    assert_eq!(outcome.expect("asked"), Outcome::Completed);
    assert!(graded(&events) > 0, "{events:?}");
    assert_eq!(left_out(&events), []);

    // without that setting they run in every lookup
    let always = &settings[..settings.len() - 1];
    let (_, events) = run(&config(always), &mut uncertain(), "Where?", usize::MAX);
    assert_eq!((graded(&events), left_out(&events).len()), (1, 0));
}

#[test]
fn what_the_budget_does_not_hold_is_left_out_and_the_answer_is_written() {
    let all: Vec<_> = SEARAG
        .into_iter()
        .chain([
            ("filter.kind", "graded"),
            ("utility.kind", "soft"),
            ("stages.budget_seconds", "0.000001"),
        ])
        .collect();
    let (outcome, events) = run(&config(&all), &mut uncertain(), "Where?", usize::MAX);
    assert_eq!(outcome.expect("asked"), Outcome::Completed);
    let missing = left_out(&events);
    for part in [Part::Filter, Part::Utility] {
        assert!(
            missing.contains(&(vec![part], false)),
            "{part:?}: {missing:?}"
        );
    }
    // of all lookups and of the samples at once
    let of_utility = missing
        .iter()
        .filter(|(parts, _)| parts[..] == [Part::Utility]);
    assert_eq!(of_utility.count(), 1, "{missing:?}");
    let ran = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::ChunksGraded { .. } | RunEvent::UtilityMeasured { .. }
        )
    };
    assert!(!events.iter().any(ran));

    let enough: Vec<_> = all[..all.len() - 1]
        .iter()
        .copied()
        .chain([("stages.budget_seconds", "600")])
        .collect();
    let (_, events) = run(&config(&enough), &mut uncertain(), "Where?", usize::MAX);
    assert!(events.iter().any(ran));
    assert_eq!(left_out(&events), []);
}

#[test]
fn each_query_writer_writes_its_own_query() {
    let cases = [
        ("question", "Where was he born?"),
        ("last_sentence", "Mira Oakes was a student of Tam Reeve."),
        ("uncertain_sentence", "Tam Reeve was born in Lorby."),
        (
            "full_history",
            "Where was he born? Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Lorby.",
        ),
        ("uncertainty_aware", "Where was he born? Lorby"),
        ("certain_words", "Tam Reeve was born in"),
        ("attended_words", "born Mira Oakes student Tam Reeve"),
        (
            "in_turn",
            "Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Lorby.",
        ),
    ];
    for (kind, expected) in cases {
        let settings: Vec<_> = SEARAG.into_iter().chain([("query.kind", kind)]).collect();
        let (_, events) = run(
            &config(&settings),
            &mut uncertain(),
            "Where was he born?",
            usize::MAX,
        );
        let queries: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::RetrievalFinished { retrieval, .. } => Some(retrieval.query.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(queries, [expected], "{kind}");
    }
}

#[test]
fn rising_uncertainty_takes_more_passages_once_and_the_reranker_orders_them() {
    let script = || {
        ScriptedGenerator::new()
            .when(
                "[1] Ships sail.",
                " Ships sail slowly. So the answer is ships.",
            )
            .when("Context:", " Nobody knows Lorby Lorby. So nothing.")
            .when("slowly.", " Ships sail slowly. So the answer is ships.")
            .when(
                "step by step",
                " They went to Lorby. So the answer is Lorby.",
            )
            .judging("Ships sail.", "1", 0.9)
            .unsure_of("Lorby", 6.0)
    };
    for (by, expected) in [
        (
            "5",
            vec![Decision::Retrieve, Decision::Expand, Decision::Keep],
        ),
        ("0", vec![Decision::Retrieve, Decision::Keep]),
    ] {
        let settings: Vec<_> = SEARAG
            .into_iter()
            .chain([("retriever.k", "2"), ("gate.expand_by", by)])
            .collect();
        let (_, events) = run(
            &config(&settings),
            &mut script(),
            "Where did they go?",
            usize::MAX,
        );
        let first: Vec<Decision> = steps(&events)
            .into_iter()
            .filter(|(step, ..)| *step == 1)
            .map(|(_, _, decision)| decision)
            .collect();
        assert_eq!(first, expected, "expand_by = {by}");
        let reranked: Vec<usize> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::ChunksReranked { ranked, .. } => Some(ranked.len()),
                _ => None,
            })
            .collect();
        assert_eq!(
            reranked,
            vec![4; expected.len() - 2],
            "all four chunks of the shelf"
        );
        let retrievals = events
            .iter()
            .filter(|event| matches!(event, RunEvent::RetrievalFinished { step: 1, .. }))
            .count();
        assert_eq!(retrievals, 1, "what was found is enough");
    }
}

#[test]
fn the_loop_ends_by_its_rules() {
    let cases: [(&str, &[(&str, &str)], &str); 5] = [
        // the answer phrase
        (
            " One is. So the answer is one. More.",
            &[],
            "One is. So the answer is one.",
        ),
        // a sentence that came before
        (
            " One is one. One is one. Two.",
            &[],
            "One is one. One is one.",
        ),
        // nothing new
        ("", &[], ""),
        // the most sentences
        (
            " One is. Two is. Three is.",
            &[("answer.max_sentences", "2")],
            "One is. Two is.",
        ),
        // the most tokens, over all completions
        (
            " One is one. Two is two. Three is three.",
            &[("answer.max_tokens", "5")],
            "One is one. Two is",
        ),
    ];
    for (reply, more, expected) in cases {
        let generator = ScriptedGenerator::new()
            .when(". So the answer is", " X")
            .when("step by step", reply);
        // one gate has to be asked about every sentence, the other does not interrupt the stream
        for gate in [
            "semantic_entropy",
            "token_entropy",
            "token_probability",
            "attended_entropy",
        ] {
            let mut generator = generator.clone();
            let mut settings = vec![
                ("preset", "searag"),
                ("gate.kind", gate),
                ("probe.samples", "2"),
            ];
            settings.extend(more);
            let (_, events) = run(&config(&settings), &mut generator, "Which?", usize::MAX);
            assert_eq!(finished(&events).0, expected, "{gate}: {reply}");
        }
    }
}

#[test]
fn a_reply_in_paragraphs_continues_where_it_stopped() {
    let reply = "**Steps:**\n\n1. One is one.\n\n---\n\n2. Two is two.\n\n---\n\nThe answer to the question is: Z. Torres";
    for gate in [
        "semantic_entropy",
        "token_entropy",
        "token_probability",
        "attended_entropy",
    ] {
        let mut generator = ScriptedGenerator::new().when("step by step", reply);
        let settings = [
            ("preset", "searag"),
            ("gate.kind", gate),
            ("probe.samples", "2"),
        ];
        let (_, events) = run(&config(&settings), &mut generator, "Which?", usize::MAX);
        let (text, answer, _) = finished(&events);
        assert_eq!((text, answer), (reply, "Z. Torres"), "{gate}");

        let replies: Vec<&str> = generator
            .seen
            .iter()
            .map(|one| one.reply.as_str())
            .collect();
        for reply_so_far in replies {
            assert!(reply.starts_with(reply_so_far), "{reply_so_far:?}");
        }
        let steps = steps(&events);
        assert!(steps.iter().any(|(_, text, _)| *text == "---"), "{steps:?}");
    }
}

#[test]
fn a_stop_anywhere_in_the_loop_keeps_what_was_written() {
    let question = "Where was the teacher of Mira Oakes born?";
    let (_, all) = run(&config(&SEARAG), &mut uncertain(), question, usize::MAX);
    for stop_at in 0..all.len() - 1 {
        let (outcome, events) = run(&config(&SEARAG), &mut uncertain(), question, stop_at);
        assert_eq!(
            outcome.expect("it ran"),
            Outcome::Stopped,
            "stopped at {stop_at}"
        );
        let text = finished(&events).0;
        let emitted: String = all[..=stop_at]
            .iter()
            .filter_map(|event| match event {
                RunEvent::TokenGenerated { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let last = text.rsplit(". ").next().unwrap_or_default();
        assert!(emitted.contains(last), "stopped at {stop_at}: `{text}`");
    }
}

#[test]
fn a_run_continues_from_the_sentences_that_it_is_given() {
    let confirmed = ["Mira Oakes was a student of Tam Reeve.".to_owned()];
    let mut generator = uncertain();
    let (_, events) = run_from(
        &config(&SEARAG),
        &mut generator,
        ("Where?", &confirmed),
        usize::MAX,
    );
    let Some(RunEvent::RunStarted {
        confirmed: emitted, ..
    }) = events.first()
    else {
        panic!("no start")
    };
    assert_eq!(*emitted, confirmed);
    assert_eq!(
        steps(&events).first().map(|(step, text, _)| (*step, *text)),
        Some((2, "Tam Reeve was born in Lorby."))
    );
    assert_eq!(
        generator.seen[0].reply,
        " Mira Oakes was a student of Tam Reeve."
    );
    assert!(
        finished(&events)
            .0
            .starts_with("Mira Oakes was a student of Tam Reeve. Tam Reeve was born in Aldmouth.")
    );
}
