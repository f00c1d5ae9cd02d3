use std::path::Path;

use ragscope::eval::{
    AnswerMetric, EvidenceList, accuracy_by_coverage, auarc, auroc, auroc_interval, bootstrap,
    exact_match, f1, meteor, normalise, paired_bootstrap, pearson, rouge_l, score, substring,
};
use serde_json::Value;

use crate::methods::{list, near, number, numbers, vectors};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("text")
}

fn texts(value: &Value) -> Vec<String> {
    list(value)
        .iter()
        .map(|text| text.as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn exact_match_and_f1_match_squad() {
    let golden = vectors("squad_em_f1.json");
    for pair in list(&golden["pairs"]) {
        let (answer, right) = (text(pair, "prediction"), text(pair, "gold"));
        let name = format!("{answer:?} {right:?}");
        assert_eq!(
            normalise(answer),
            text(pair, "normalized_prediction"),
            "{name}"
        );
        assert_eq!(normalise(right), text(pair, "normalized_gold"), "{name}");
        near(exact_match(answer, right), &pair["squad_em"], &name);
        near(f1(answer, right), &pair["squad_f1"], &name);
        assert_eq!(
            substring(answer, right) > 0.5,
            pair["lexical_match"] == true,
            "{name}"
        );
    }
    for case in list(&golden["multi_gold"]) {
        let scores = score(text(case, "prediction"), &texts(&case["golds"]));
        near(
            scores[AnswerMetric::ExactMatch],
            &case["squad_em"],
            "several right answers",
        );
        near(
            scores[AnswerMetric::F1],
            &case["squad_f1"],
            "several right answers",
        );
    }
}

#[test]
fn rouge_and_meteor_match_their_packages() {
    for pair in list(&vectors("rouge_meteor.json")["pairs"]) {
        let (answer, right) = (text(pair, "answer"), text(pair, "right"));
        near(rouge_l(answer, right), &pair["rouge_l"], answer);
        near(meteor(answer, right), &pair["meteor_exact"], answer);
    }
}

#[test]
fn a_refusal_is_right_when_there_is_no_answer() {
    for (answer, right) in [
        ("unknown", 1.0),
        ("Unknown.", 1.0),
        ("Not mentioned", 1.0),
        ("Lorby", 0.0),
        ("", 0.0),
    ] {
        assert_eq!(
            score(answer, &[])[AnswerMetric::ExactMatch],
            right,
            "{answer}"
        );
    }
}

/// RAGEval's recall and precision, and their product, over three queries.
#[test]
fn evidence_in_lists_matches_the_reference() {
    // which pieces each chunk holds, and how many pieces there are
    let lists: [(&[&[usize]], usize); 3] = [
        (&[&[0], &[], &[1], &[], &[0, 1]], 2),
        (&[&[], &[0]], 1),
        (&[], 1),
    ];
    let lists = lists.map(|(held, pieces)| EvidenceList {
        held: held.iter().map(|held| held.to_vec()).collect(),
        pieces,
        tokens: vec![90; held.len()],
    });
    // depth, recall of each query, precision of each query
    let golden: [(usize, [f64; 3], [Option<f64>; 3]); 3] = [
        (1, [0.5, 0.0, 0.0], [Some(1.0), Some(0.0), None]),
        (3, [1.0, 1.0, 0.0], [Some(2.0 / 3.0), Some(0.5), None]),
        (5, [1.0, 1.0, 0.0], [Some(0.6), Some(0.5), None]),
    ];
    for (depth, recall, precision) in golden {
        for (query, list) in lists.iter().enumerate() {
            let name = format!("depth {depth} of query {query}");
            assert_eq!(list.recall(depth), recall[query], "recall at {name}");
            assert_eq!(
                list.precision(depth),
                precision[query],
                "precision at {name}"
            );
        }
    }

    // two chunks fit into 200 tokens, and three into 270
    let within = |tokens| lists.each_ref().map(|list| list.recall_within(tokens));
    assert_eq!(within(89), [0.0, 0.0, 0.0]);
    assert_eq!(within(200), [0.5, 1.0, 0.0]);
    assert_eq!(within(270), [1.0, 1.0, 0.0]);

    let ranks = lists.each_ref().map(EvidenceList::reciprocal_rank);
    assert_eq!(ranks, [1.0, 0.5, 0.0]);

    let third = 1.0 / 4.0_f64.log2();
    let both = 1.0 + 1.0 / 3.0_f64.log2();
    let golden = [(1.0 + third) / both, 1.0 / 3.0_f64.log2(), 0.0];
    for (list, golden) in lists.iter().zip(golden) {
        let found = list.ndcg();
        assert!((found - golden).abs() < 1e-12, "nDCG {found}, not {golden}");
    }

    let joined = EvidenceList {
        held: vec![vec![0, 1]],
        pieces: 2,
        tokens: vec![201],
    };
    assert_eq!(
        (joined.ndcg(), joined.share()),
        (1.0, 1.0),
        "one chunk with all the evidence is the best list"
    );
    assert_eq!(joined.recall_within(200), 0.0, "no part of a chunk counts");
}

/// The area under the accuracy of the m first, in this order.
fn area(correct: &[f64]) -> f64 {
    let mut right = 0.0;
    let accuracy: Vec<f64> = (1..)
        .zip(correct)
        .map(|(most, correct)| {
            right += correct;
            right / f64::from(most)
        })
        .collect();
    accuracy
        .windows(2)
        .map(|pair| (pair[0] + pair[1]) / 2.0)
        .sum::<f64>()
        / (correct.len() - 1) as f64
}

#[test]
fn areas_match_the_reference_code() {
    for case in list(&vectors("auroc_auarc.json")["cases"]) {
        let (name, uncertainty) = (text(case, "name"), numbers(&case["uncertainty"]));
        let correct: Vec<bool> = numbers(&case["correct"])
            .iter()
            .map(|correct| *correct > 0.5)
            .collect();
        match case.get("auroc_false_vs_uncertainty") {
            Some(golden) => near(
                auroc(&uncertainty, &correct).expect("both kinds"),
                golden,
                name,
            ),
            None => assert_eq!(auroc(&uncertainty, &correct), None, "{name}"),
        }
        let found = auarc(&uncertainty, &correct).expect("several answers");
        let mut sorted = uncertainty.clone();
        sorted.sort_by(f64::total_cmp);
        if sorted.windows(2).all(|pair| pair[0] < pair[1]) {
            near(found, &case["auarc_uq_nlg"], name);
            continue;
        }
        // the reference takes ties in any order; here their order does not matter
        let share = |value: &f64| {
            let tied = uncertainty
                .iter()
                .zip(&correct)
                .filter(|(other, _)| *other == value);
            let right: Vec<f64> = tied
                .map(|(_, correct)| f64::from(u8::from(*correct)))
                .collect();
            right.iter().sum::<f64>() / right.len() as f64
        };
        let tied: Vec<f64> = sorted.iter().map(share).collect();
        assert!((found - area(&tied)).abs() < 1e-9, "{name}");
        let turned: (Vec<f64>, Vec<bool>) = uncertainty
            .iter()
            .copied()
            .zip(correct.iter().copied())
            .rev()
            .unzip();
        assert_eq!(
            auarc(&turned.0, &turned.1),
            Some(found),
            "{name}: the order of the questions matters"
        );
    }
    assert_eq!(
        accuracy_by_coverage(&[0.1, 0.3, 0.2], &[true, false, true]),
        [1.0, 1.0, 2.0 / 3.0]
    );
    assert_eq!((auarc(&[1.0], &[true]), auroc(&[], &[])), (None, None));
}

#[test]
fn correlation_and_intervals() {
    let line: Vec<f64> = (0..20).map(f64::from).collect();
    let down: Vec<f64> = line.iter().map(|value| 3.0 - 2.0 * value).collect();
    assert_eq!(
        pearson(&line, &down).map(|r| (r * 1e9).round() / 1e9),
        Some(-1.0)
    );
    assert_eq!(
        pearson(&line, &[1.0; 20]),
        None,
        "a constant correlates with nothing"
    );
    // Anscombe's first set
    let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
    let y = [
        8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
    ];
    assert!((pearson(&x, &y).expect("a correlation") - 0.81642).abs() < 1e-5);

    let differences: Vec<f64> = (0..100)
        .map(|at| f64::from(u8::from(at % 4 != 0)))
        .collect();
    let interval = paired_bootstrap(&differences).expect("pairs");
    // the normal approximation: 0.75 ± 1.96 sqrt(0.75 · 0.25 / 100)
    assert_eq!(interval.mean, 0.75);
    assert!(
        (interval.low - 0.665).abs() < 0.02 && (interval.high - 0.835).abs() < 0.02,
        "{interval:?}"
    );
    assert!(
        interval.excludes_zero()
            && !paired_bootstrap(&[-1.0, 1.0])
                .expect("pairs")
                .excludes_zero()
    );
    assert_eq!(
        paired_bootstrap(&differences),
        Some(interval),
        "the bootstrap is deterministic"
    );
    // a correlation, and one that is not defined
    let correlation = |drawn: &[usize]| {
        let (a, b): (Vec<f64>, Vec<f64>) = drawn.iter().map(|at| (x[*at], y[*at])).unzip();
        pearson(&a, &b)
    };
    let interval = bootstrap(x.len(), &correlation).expect("a figure");
    assert!((interval.mean - 0.81642).abs() < 1e-5);
    assert!(interval.low > 0.4 && interval.high < 1.0, "{interval:?}");
    assert_eq!(bootstrap(9, &|_| None), None);

    // Hanley and McNeil (1982), table III: the standard error of 0.893 for 51 and 58 is 0.032
    let interval = auroc_interval(0.893, 51, 58);
    assert!(
        (interval.high - interval.low - 2.0 * 1.96 * 0.032).abs() < 0.004,
        "{interval:?}"
    );
    assert_eq!(auroc_interval(1.0, 3, 4).low, 1.0);

    assert_eq!(paired_bootstrap(&[]), None);
    assert_eq!(paired_bootstrap(&[1.0]), None, "one pair has no spread");
}

/// EVOUNA's lexical match against human verdicts, over its own files: `EVOUNA=FOLDER cargo test
/// --test suite evouna -- --ignored`.
#[test]
#[ignore = "needs the files of EVOUNA"]
fn evouna_agreement_with_people_matches_the_paper() {
    let folder = std::env::var_os("EVOUNA").expect("the folder that holds NQ.json");
    let file = std::fs::read_to_string(Path::new(&folder).join("NQ.json")).expect("NQ.json");
    let rows: Vec<Value> = serde_json::from_str(&file).expect("JSON");
    let golden = &vectors("evouna_lexical_match.json")["results"];
    for system in ["fid", "gpt35", "chatgpt", "gpt4", "newbing"] {
        let (mut counts, mut total) = ([[0.0_f64; 2]; 2], 0);
        for row in rows.iter().filter(|row| row["improper"] != true) {
            let Some(human) = row[format!("judge_{system}")].as_bool() else {
                continue;
            };
            let Some(answer) = row[format!("answer_{system}")].as_str() else {
                continue;
            };
            let matched = text(row, "golden_answer")
                .split('/')
                .any(|right| substring(answer, right) > 0.5);
            counts[usize::from(human)][usize::from(matched)] += 1.0;
            total += 1;
        }
        let [[right_no, false_yes], [missed, right_yes]] = counts;
        let golden = &golden[format!("NQ/{system}")];
        assert_eq!(f64::from(total), number(&golden["n"]), "{system}");
        near(
            100.0 * (right_no + right_yes) / f64::from(total),
            &golden["accuracy"],
            system,
        );
        near(
            100.0 * 2.0 * right_yes / (2.0 * right_yes + false_yes + missed),
            &golden["f1"],
            system,
        );
    }
}
