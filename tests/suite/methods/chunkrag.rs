//! ChunkRAG's rules against golden numbers, and its judges against a script.

use ragscope::methods::chunkrag::{combine, find_redundant, grade, keep, threshold};
use ragscope::methods::cosine;

use super::calls::Calls;
use super::{numbers, places, vectors};
use crate::support::scripted::ScriptedGenerator;

#[test]
fn thresholds_are_those_of_the_formula_and_equal_scores_are_not_lost() {
    let golden = vectors("chunkrag_threshold.json");
    let mut fell_back = Vec::new();
    for case in golden["threshold_cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let scores = numbers(&case["scores"]);
        let found = threshold(&scores, case["epsilon"].as_f64().expect("a number"));
        let expected = case["T_reference"].as_f64().expect("a number");
        assert!((expected - found.value).abs() < 1e-12, "{name}: {found:?}");
        assert_eq!(case["tight"], found.is_tight, "{name}");
        let kept = keep(&scores, found.value, 3);
        let left: Vec<usize> = (0..scores.len()).filter(|at| kept.kept[*at]).collect();
        // where the published rule drops everything by rounding, or because no score can reach it,
        // something is kept
        let expected = match places(&case["kept_reference"]) {
            empty if empty.is_empty() => (0..scores.len().min(3)).collect(),
            reference => reference,
        };
        assert_eq!(left, expected, "{name}");
        if kept.fell_back {
            fell_back.push(name);
        }
    }
    assert_eq!(fell_back, ["tight, top value tied"]);
    assert_eq!(keep(&[], threshold(&[], 0.01).value, 3).kept.len(), 0);
}

#[test]
fn the_fallback_keeps_the_best() {
    let kept = keep(&[0.70, 0.75, 0.75, 0.74], 0.9, 2);
    assert!(kept.fell_back);
    assert_eq!(kept.kept, [false, true, true, false]);
}

#[test]
fn grades_combine_by_their_weights() {
    let golden = vectors("chunkrag_threshold.json");
    for case in golden["combine_cases"].as_array().expect("cases") {
        let number = |key: &str| case[key].as_f64().expect("a number") as f32;
        let grades = [number("base"), number("reflect"), number("critic")];
        assert!((combine(grades, [0.3, 0.3, 0.4]) - number("combined_0_3_0_3_0_4")).abs() < 1e-6);
        assert!((combine(grades, [1.0 / 3.0; 3]) - number("combined_mean")).abs() < 1e-6);
    }
}

#[test]
fn redundancy_keeps_what_is_not_said_yet() {
    let golden = &vectors("chunkrag_threshold.json")["redundancy"];
    let units: Vec<Vec<f32>> = golden["embeddings_unit"]
        .as_array()
        .expect("vectors")
        .iter()
        .map(|vector| {
            numbers(vector)
                .into_iter()
                .map(|number| number as f32)
                .collect()
        })
        .collect();
    for case in golden["cases"].as_array().expect("cases") {
        let most = case["lambda_dup"].as_f64().expect("a number") as f32;
        let twins = find_redundant(units.len(), most, |a, b| cosine(&units[a], &units[b]));
        let kept: Vec<usize> = (0..units.len()).filter(|at| twins[*at].is_none()).collect();
        assert_eq!(kept, places(&case["kept"]), "at {most}");
        for twin in twins.iter().flatten() {
            assert!(
                twin.cosine > most && twins[twin.of].is_none(),
                "a twin is kept and is alike"
            );
        }
    }
}

#[test]
fn each_judge_sees_what_the_ones_before_gave() {
    let generator = ScriptedGenerator::new()
        .judging("Final? none", "0", 1.0)
        .judging("Earlier ratings", "9", 1.0)
        .judging("A first judge", "6", 1.0)
        .judging("Passage: It sank.", "8", 1.0)
        .judging("Passage", "2", 1.0);
    let mut calls = Calls::new(generator);
    let grades = grade(&mut calls, "When?", &["It sank.", "Ropes hold."]).expect("grades");
    let rounded = |grades: [f32; 3]| grades.map(|grade| (grade * 10.0).round());
    assert_eq!(
        grades
            .iter()
            .map(|grades| rounded(*grades))
            .collect::<Vec<_>>(),
        [[8.0, 6.0, 9.0], [2.0, 6.0, 9.0]]
    );
    let seen: Vec<&str> = calls
        .generator
        .seen
        .iter()
        .map(|prompt| prompt.user.as_str())
        .collect();
    assert_eq!(seen.len(), 6);
    assert!(
        seen[2].contains("question 8 out of 10") && seen[3].contains("question 2 out of 10"),
        "{seen:?}"
    );
    assert!(seen[4].contains("Earlier ratings: 8 and 6"), "{}", seen[4]);
    let none: [&str; 0] = [];
    assert!(
        grade(&mut calls, "When?", &none)
            .expect("no grades")
            .is_empty()
    );
}

#[test]
fn an_undecided_judge_gives_the_middle() {
    let mut calls = Calls::new(ScriptedGenerator::new());
    let grades = grade(&mut calls, "When?", &["It sank.", "Ropes hold."]).expect("grades");
    let scores: Vec<f64> = grades
        .iter()
        .map(|grades| f64::from(combine(*grades, [0.3, 0.3, 0.4])))
        .collect();
    assert!(scores.iter().all(|score| (score - 0.5).abs() < 1e-6));
    assert_eq!(
        keep(&scores, threshold(&scores, 0.01).value, 1).kept,
        [true, true],
        "all grades equal: all are kept"
    );
}
