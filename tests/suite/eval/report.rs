//! Rows summed up: tables, and the page.

use std::collections::BTreeMap;

use ragscope::eval::{Measure, RankScores, Report, Row, TextScores, markdown, page};
use ragscope::event::RunUsage;

use crate::methods::{list, near, number, vectors};

/// An answer of this preset: right or not, and as uncertain as that.
fn row(preset: &str, id: usize, right: bool, uncertainty: f64) -> Row {
    let score = f64::from(u8::from(right));
    Row {
        preset: preset.to_owned(),
        id: format!("n{id}"),
        kind: if id.is_multiple_of(2) {
            "even <b>"
        } else {
            "odd"
        }
        .to_owned(),
        answer: "Lorby".to_owned(),
        error: (id == 7).then(|| "the model <fell> over".to_owned()),
        scores: TextScores {
            exact_match: score,
            f1: score,
            substring: score,
            rouge_l: score,
            meteor: score,
        },
        unanswerable: id == 1,
        found: Some(RankScores::of(&[vec![0], vec![]], 2)),
        context: Some(RankScores::of(&[vec![0]], 2)),
        chunks_found: 2,
        chunks_in_context: 1,
        uncertainty: BTreeMap::from([(Measure::TokenEntropy, uncertainty)]),
        confidence: Some((-uncertainty).exp()),
        utility: Vec::new(),
        understood: None,
        usage: RunUsage {
            wall_ms: 200 + id as u64,
            tokens_generated: 20,
            retrievals: 1,
            ..RunUsage::default()
        },
    }
}

fn rows() -> Vec<Row> {
    // the second preset is right on three more of ten, and its uncertainty knows
    let first = (0..10).map(|id| row("naive", id, id < 4, 0.1 * id as f64));
    let second = (0..10).map(|id| row("full", id, id < 7, if id < 7 { 0.1 } else { 1.0 }));
    first.chain(second).collect()
}

fn report() -> Report {
    let mut report = Report::of(&["naive".to_owned(), "full".to_owned()], &rows());
    report
        .remarks
        .push("line 3: <odd> \"thing\" & more".to_owned());
    report
}

#[test]
fn rows_are_summed_up_by_preset() {
    let report = report();
    assert_eq!((report.questions, report.unanswerable), (10, 1));
    let [naive, full] = &report.presets[..] else {
        panic!("two presets")
    };
    assert_eq!(
        (naive.scores.exact_match, full.scores.exact_match),
        (0.4, 0.7)
    );
    assert_eq!(naive.failed, ["n7: the model <fell> over"]);
    assert_eq!(naive.kinds["odd"].questions, 5);
    let context = naive.context.as_ref().expect("evidence");
    assert_eq!(
        (context.recall[0], context.precision[0], context.ie[0]),
        (0.5, 1.0, 0.5)
    );
    assert_eq!(naive.uncertainty[0].auroc, Some(1.0));
    let [difference] = &report.comparisons[..] else {
        panic!("one comparison")
    };
    assert_eq!(
        (difference.preset.as_str(), difference.against.as_str()),
        ("full", "naive")
    );
    assert!((difference.exact_match.mean - 0.3).abs() < 1e-9 && difference.exact_match.low >= 0.0);
    assert_eq!(
        (difference.wall_ms.mean, difference.tokens.mean),
        (0.0, 0.0)
    );
    let text = markdown(&report);
    assert!(
        text.contains("| naive  | 10        | 1      | 40.0 %"),
        "{text}"
    );
    assert!(text.contains("+30.0 ["), "{text}");
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_shows_text_as_text() {
    let page = page(&report(), &rows());
    for outside in ["http", "<script", "src=", "@import", "url("] {
        assert!(
            !page.contains(outside),
            "the page refers to something by {outside}"
        );
    }
    for part in [
        "Calibration",
        "Uncertainty against correctness",
        "Funnel",
        "Cost",
        "naive",
        "full",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(
        page.contains("line 3: &lt;odd&gt; &quot;thing&quot; &amp; more"),
        "a remark is text"
    );
    assert!(page.contains("the model &lt;fell&gt; over") && page.contains("even &lt;b&gt;"));
    assert!(
        !page.contains("NaN") && !page.contains("inf"),
        "a plot has places that are no numbers"
    );
    // two funnels, two curves, one calibration and one plot of costs
    assert_eq!(page.matches("<svg").count(), 6);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    for tag in ["figure", "table", "div", "ul", "h2"] {
        assert_eq!(
            page.matches(&format!("<{tag}")).count(),
            page.matches(&format!("</{tag}>")).count(),
            "{tag}"
        );
    }
}

#[test]
fn a_report_of_nothing_is_a_page_too() {
    let report = Report::of(&["naive".to_owned()], &[]);
    let page = page(&report, &[]);
    assert!(
        !page.contains("NaN") && page.contains("0 questions"),
        "{page}"
    );
    assert!(markdown(&report).contains("| naive"));
}

/// SAKI-RAG's measure: over a small set, and as its tables print it.
#[test]
fn recall_times_precision_is_that_of_the_reference() {
    let golden = vectors("retrieval_ie.json");
    let toy = &golden["toy"];
    let rows: Vec<Row> = list(&toy["queries"])
        .iter()
        .enumerate()
        .map(|(id, query)| {
            let texts = |name: &str| -> Vec<String> {
                list(&query[name])
                    .iter()
                    .map(|text| text.as_str().expect("text").to_owned())
                    .collect()
            };
            let gold = texts("gold");
            let held = |chunk: &String| {
                (0..gold.len())
                    .filter(|piece| chunk.contains(&gold[*piece]))
                    .collect()
            };
            let holds: Vec<Vec<usize>> = texts("ret").iter().map(held).collect();
            Row {
                context: Some(RankScores::of(&holds, gold.len())),
                ..row("naive", id, true, 0.1)
            }
        })
        .collect();
    let report = Report::of(&["naive".to_owned()], &rows);
    let found = report.presets[0].context.as_ref().expect("evidence");
    let mut sums = [0.0, 0.0];
    for result in list(&toy["results"]) {
        let at = found
            .depths
            .iter()
            .position(|depth| result["k"] == *depth)
            .expect("a depth");
        near(found.recall[at], &result["recall"], "recall");
        near(
            found.precision[at],
            &result["precision_over_answered"],
            "precision",
        );
        near(
            found.precision_of_all[at],
            &result["precision_over_all"],
            "precision over all",
        );
        near(found.ie[at], &result["IE_answered"], "IE");
        near(found.ie_of_all[at], &result["IE_all"], "IE over all");
        sums = [sums[0] + found.ie[at], sums[1] + found.ie_of_all[at]];
    }
    assert!(
        (found.ie_sum - sums[0]).abs() < 1e-12 && (found.ie_sum_of_all - sums[1]).abs() < 1e-12
    );
    for printed in list(&golden["saki_table_check"]) {
        let product = number(&printed["recall"]) * number(&printed["precision"]) / 100.0;
        assert!(
            (product - number(&printed["IE_printed"])).abs() < 0.01,
            "{printed}"
        );
    }
}
