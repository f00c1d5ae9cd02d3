//! Rows summed up: tables, and the page.

use std::collections::BTreeMap;

use ragscope::eval::{
    AnswerMetric, ChunkFigures, ChunkMetric, ContextUtility, CostMetric, DEPTHS, DepthMetric,
    EvidenceList, ListMetric, Metric, Report, Row, SeparationMetric, UncertaintyMetric, Understood,
    UtilityMetric, Values, markdown, page,
};
use ragscope::event::RunUsage;
use ragscope::story::BrokenLink;

use crate::methods::{list, near, number, vectors};

/// Returns the row of an answer.
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
        generator: "model".to_owned(),
        answer: "Lorby".to_owned(),
        error: (id == 7).then(|| "the model <fell> over".to_owned()),
        scores: Values::from_fn(|_| score),
        is_retrieval_only: false,
        says_answer: right,
        unanswerable: id == 1,
        found: Some(EvidenceList {
            held: vec![vec![0], vec![]],
            pieces: 2,
            tokens: Vec::new(),
        }),
        context: Some(EvidenceList {
            held: vec![vec![0]],
            pieces: 2,
            tokens: Vec::new(),
        }),
        uncertainty: BTreeMap::from([(UncertaintyMetric::TokenEntropy, uncertainty)]),
        confidence: Some((-uncertainty).exp()),
        utility: Vec::new(),
        understood: None,
        chunks: None,
        broken: (!right).then_some(BrokenLink::NotFound),
        stressed: Vec::new(),
        usage: RunUsage {
            wall_ms: 200 + id as u64,
            tokens_generated: 20,
            retrievals: 1,
            ..RunUsage::default()
        },
    }
}

fn rows() -> Vec<Row> {
    // the second preset is right on three more of ten, and uncertain of the wrong ones
    let first = (0..10).map(|id| row("naive", id, id < 4, 0.1 * id as f64));
    let second = (0..10).map(|id| row("full", id, id < 7, if id < 7 { 0.1 } else { 1.0 }));
    first.chain(second).collect()
}

fn report() -> Report {
    let mut report = Report::new(&["naive".to_owned(), "full".to_owned()], &rows(), DEPTHS);
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
        (
            naive.scores[AnswerMetric::ExactMatch],
            full.scores[AnswerMetric::ExactMatch]
        ),
        (0.4, 0.7)
    );
    assert_eq!(naive.failed, ["n7: the model <fell> over"]);
    assert_eq!(naive.kinds["odd"].questions, 5);
    let context = naive.context.as_ref().expect("evidence");
    assert_eq!(
        [DepthMetric::Recall, DepthMetric::Precision, DepthMetric::Ie]
            .map(|metric| context.by_depth[metric][0]),
        [0.5, 1.0, 0.5]
    );
    assert_eq!(
        naive.uncertainty[0].separation[SeparationMetric::Auroc],
        Some(1.0)
    );
    let [difference] = &report.comparisons[..] else {
        panic!("one comparison")
    };
    assert_eq!(
        (difference.preset.as_str(), difference.against.as_str()),
        ("full", "naive")
    );
    let exact_match = difference.scores[&AnswerMetric::ExactMatch];
    assert!((exact_match.mean - 0.3).abs() < 1e-9 && exact_match.low >= 0.0);
    for metric in [CostMetric::WallMs, CostMetric::Tokens] {
        assert_eq!(difference.cost[&metric].mean, 0.0, "{metric:?}");
    }
    let text = markdown(&report);
    assert!(
        text.contains("| naive  | 10        | 1      | 40.0 %"),
        "{text}"
    );
    assert!(text.contains("+30.0 ["), "{text}");
    assert!(text.contains("| even \\<b> |"), "{text}");
}

/// Asserts that a family's labels are in the tables and its names in the JSON.
fn is_shown<M: Metric + std::fmt::Debug>(report: &Report, names_in: &[&str]) {
    let text = markdown(report);
    let page = page(report, &rows());
    let json = serde_json::to_value(report).expect("JSON");
    let mut object = &json;
    for name in names_in {
        object = name
            .parse::<usize>()
            .map_or_else(|_| &object[*name], |at| &object[at]);
    }
    for metric in M::ALL {
        let name = serde_json::to_value(metric).expect("a name");
        let name = name.as_str().expect("a name");
        assert!(object.get(name).is_some(), "no {name} in {object}");

        let declaration = metric.declaration();
        if declaration.is_shown() {
            assert!(text.contains(declaration.label), "no {name} in {text}");
            assert!(page.contains(declaration.label), "no {name} in the page");
        }
    }
}

#[test]
fn every_declared_metric_is_in_the_tables_the_page_and_the_json() {
    let report = report();
    is_shown::<AnswerMetric>(&report, &["presets", "0", "scores"]);
    is_shown::<CostMetric>(&report, &["presets", "0", "cost"]);
    is_shown::<DepthMetric>(&report, &["presets", "0", "context"]);
    is_shown::<ListMetric>(&report, &["presets", "0", "context"]);
    is_shown::<SeparationMetric>(&report, &["presets", "0", "uncertainty", "0"]);

    // what a comparison shows is in its JSON under the name of the metric
    let json = serde_json::to_value(&report).expect("JSON");
    for name in ["exact_match", "f1", "tokens", "wall_ms"] {
        assert!(json["comparisons"][0][name]["low"].is_number(), "no {name}");
    }
}

#[test]
fn a_row_survives_its_journal_and_needs_every_metric() {
    let row = row("naive", 1, true, 0.1);
    let mut json = serde_json::to_value(&row).expect("JSON");
    assert_eq!(
        serde_json::from_value::<Row>(json.clone()).expect("a row"),
        row
    );

    json["scores"]
        .as_object_mut()
        .expect("scores")
        .remove("meteor");
    let error = serde_json::from_value::<Row>(json).expect_err("a score is missing");
    assert!(error.to_string().contains("no METEOR"), "{error}");
}

#[test]
fn the_page_is_self_contained_and_escapes_text() {
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
        "a plot has a coordinate that is not a number"
    );
    // two funnels, two curves, two of broken links, one calibration and one plot of costs
    assert_eq!(page.matches("<svg").count(), 8);
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
fn an_empty_report_has_a_page() {
    let report = Report::new(&["naive".to_owned()], &[], DEPTHS);
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
                context: Some(EvidenceList {
                    held: holds,
                    pieces: gold.len(),
                    tokens: Vec::new(),
                }),
                ..row("naive", id, true, 0.1)
            }
        })
        .collect();
    let report = Report::new(&["naive".to_owned()], &rows, DEPTHS);
    let found = report.presets[0].context.as_ref().expect("evidence");
    let mut sums = [0.0, 0.0];
    for result in list(&toy["results"]) {
        let at = found
            .depths
            .iter()
            .position(|depth| result["k"] == *depth)
            .expect("a depth");
        for (metric, name) in [
            (DepthMetric::Recall, "recall"),
            (DepthMetric::Precision, "precision_over_answered"),
            (DepthMetric::PrecisionOfAll, "precision_over_all"),
            (DepthMetric::Ie, "IE_answered"),
            (DepthMetric::IeOfAll, "IE_all"),
        ] {
            near(found.by_depth[metric][at], &result[name], name);
        }
        sums[0] += found.by_depth[DepthMetric::Ie][at];
        sums[1] += found.by_depth[DepthMetric::IeOfAll][at];
    }
    let printed = [ListMetric::IeSum, ListMetric::IeSumOfAll].map(|metric| found.whole[metric]);
    for (found, sum) in printed.into_iter().zip(sums) {
        assert!((found - sum).abs() < 1e-12, "{found} is not {sum}");
    }
    for printed in list(&golden["saki_table_check"]) {
        let product = number(&printed["recall"]) * number(&printed["precision"]) / 100.0;
        assert!(
            (product - number(&printed["IE_printed"])).abs() < 0.01,
            "{printed}"
        );
    }
}

#[test]
fn exact_match_is_counted_by_dense_and_chunks_are_averaged() {
    let measured = [
        (0.0, true),
        (0.2, true),
        (0.21, false),
        (0.9, true),
        (1.5, false),
    ];
    let rows: Vec<Row> = (0..)
        .zip(measured)
        .map(|(id, (dse, right))| Row {
            understood: Some(Understood {
                dse,
                ..Understood::default()
            }),
            chunks: Some(ChunkFigures {
                found: 10.0,
                used: id as f64,
                grade: (id > 2).then_some(0.5),
                ..ChunkFigures::default()
            }),
            ..row("naive", id, right, 0.1)
        })
        .collect();
    let report = Report::new(&["naive".to_owned()], &rows, &[2]);
    let naive = &report.presets[0];

    let found: Vec<_> = naive
        .dense
        .iter()
        .map(|one| (one.above, one.up_to, one.questions, one.exact_match))
        .collect();
    let expected = [
        (0.0, Some(0.2), 2, 1.0),
        (0.2, Some(0.4), 1, 0.0),
        (0.8, Some(1.0), 1, 1.0),
        (1.0, None, 1, 0.0),
    ];
    assert_eq!(found, expected);
    let first = naive.dense[0];
    assert_eq!(first.exact_match_up_to, Some(1.0));
    assert_eq!(first.exact_match_above, Some(1.0 / 3.0));
    assert_eq!(naive.dense[3].exact_match_above, None);

    let means = [ChunkMetric::Found, ChunkMetric::Used, ChunkMetric::Grade];
    assert_eq!(
        means.map(|metric| naive.chunks[metric]),
        [Some(10.0), Some(2.0), Some(0.5)]
    );
    assert_eq!(naive.chunks[ChunkMetric::Entailed], None);

    let text = markdown(&report);
    assert!(text.contains("R@2 ") && !text.contains("R@1 "), "{text}");
    assert!(text.contains("| 0.2 to 0.4 | 1 "), "{text}");
}

/// A question that is answered without any context has nothing to gain from one (SePer, section
/// 4.1.2).
#[test]
fn a_correlation_leaves_out_what_the_model_knows() {
    let context = |evidence: f64, without: f64, with: f64| ContextUtility {
        evidence,
        with_context: Some(Values::from_fn(|_| with)),
        improvement: Values::from_fn(|_| with - without),
    };
    let asked = |id, utility| Row {
        utility,
        ..row("naive", id, true, 0.1)
    };
    let mut rows = vec![
        asked(2, vec![context(1.0, 0.0, 1.0), context(0.0, 0.0, 0.0)]),
        asked(3, vec![context(1.0, 0.0, 1.0), context(0.0, 0.0, 0.0)]),
    ];
    let figures = |rows: &[Row]| {
        let report = Report::new(&["naive".to_owned()], rows, DEPTHS);
        let utility = report.presets[0].utility.clone().expect("measured");
        let label = UtilityMetric::ExactMatch.declaration().label;
        let of = |known: &&ragscope::eval::Correlation| known.of == label;
        *utility.every.iter().find(of).expect("correlated")
    };
    let alone = figures(&rows);
    assert_eq!((alone.contexts, alone.pearson), (4, Some(1.0)));
    assert!(alone.interval.is_some_and(|interval| interval.low == 1.0));

    // it would lower the correlation
    rows.push(asked(
        4,
        vec![context(1.0, 1.0, 0.0), context(0.0, 1.0, 1.0)],
    ));
    assert_eq!(figures(&rows), alone);
}
