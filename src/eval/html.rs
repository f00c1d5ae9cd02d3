//! A report as one page of HTML: tables and plots, without a script and without anything from elsewhere.

use super::metrics::{accuracy_by_coverage, mean};
use super::plot::{Plot, bars, escaped};
use super::report::{PresetSummary, Report, measured};
use super::row::{Measure, Row};
use super::tables::{Table, headline, tables};

/// Bins of the calibration plot.
const BINS: usize = 10;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #1d2330; --quiet: #667085; --rule: #d5d9e2; --back: #fff; --bar: #3b6fd4;
  --s0: #3b6fd4; --s1: #c4572b; --s2: #2c8a5b; --s3: #8a4fbf; --s4: #a8841a; --s5: #5a6472; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ef; --quiet: #98a2b3; --rule: #3a4150; --back: #14171e; --bar: #7fa8f5;
  --s0: #7fa8f5; --s1: #f2966b; --s2: #6fcf9f; --s3: #c79bf0; --s4: #e0c068; --s5: #aab4c2; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p, li { color: var(--quiet); } .plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } figure { margin: 0; width: 500px; max-width: 100%; }
figcaption { color: var(--quiet); font-size: .9rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--rule); white-space: nowrap; }
svg { width: 100%; } .grid { stroke: var(--rule); } .tick, .axis, .name { fill: var(--quiet); font-size: 11px; } .name { fill: var(--text); }
.diagonal { stroke: var(--quiet); stroke-dasharray: 3 4; } .line { fill: none; stroke-width: 2; } .mark { stroke: var(--back); } .bar { fill: var(--bar); }
.line.s0 { stroke: var(--s0); } .line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); } .line.s3 { stroke: var(--s3); } .line.s4 { stroke: var(--s4); } .line.s5 { stroke: var(--s5); }
.mark.s0 { fill: var(--s0); } .mark.s1 { fill: var(--s1); } .mark.s2 { fill: var(--s2); } .mark.s3 { fill: var(--s3); } .mark.s4 { fill: var(--s4); } .mark.s5 { fill: var(--s5); }
";

/// The page.
#[must_use]
pub fn page(report: &Report, rows: &[Row]) -> String {
    let of = |preset: &PresetSummary| {
        rows.iter()
            .filter(|row| row.preset == preset.preset)
            .collect::<Vec<&Row>>()
    };
    let by_preset: Vec<(&PresetSummary, Vec<&Row>)> = report
        .presets
        .iter()
        .map(|preset| (preset, of(preset)))
        .collect();
    let names: Vec<&str> = report
        .presets
        .iter()
        .map(|preset| &*preset.preset)
        .collect();
    let mut body = format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escaped(&names.join(", ")),
        escaped(&headline(report))
    );
    body.push_str(&plots("Calibration", "How often an answer is right, by how sure the model was of its tokens (their geometric mean probability). On the dotted line it is as right as it is sure.", &[calibration(&by_preset)]));
    let curves: Vec<String> = by_preset
        .iter()
        .filter_map(|(preset, rows)| coverage(preset, rows))
        .collect();
    body.push_str(&plots("Uncertainty against correctness", "Exact match among the answers that are kept, when the most uncertain ones are set aside: a good measure rises to the left.", &curves));
    let funnels: Vec<String> = by_preset
        .iter()
        .map(|(preset, rows)| funnel(preset, rows))
        .collect();
    body.push_str(&plots(
        "Funnel",
        "What is left of the evidence at each stage, and of the questions at the end.",
        &funnels,
    ));
    body.push_str(&plots(
        "Cost",
        "Exact match against the time of a question.",
        &[cost(&by_preset)],
    ));
    tables(report)
        .iter()
        .for_each(|table| body.push_str(&of_table(table)));
    for (title, lines) in [
        (
            "Entries of the question file that are not as they should be",
            &report.remarks,
        ),
        ("Evidence that no document holds", &report.missing_evidence),
    ] {
        body.push_str(&list(title, lines));
    }
    for preset in &report.presets {
        body.push_str(&list(
            &format!("Questions that failed under {}", preset.preset),
            &preset.failed,
        ));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ragscope evaluation</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )
}

fn plots(title: &str, says: &str, plots: &[String]) -> String {
    if plots.is_empty() {
        return String::new();
    }
    format!(
        "<h2>{}</h2>\n<p>{}</p>\n<div class=\"plots\">{}</div>\n",
        escaped(title),
        escaped(says),
        plots.concat()
    )
}

fn figure(caption: &str, svg: &str) -> String {
    format!(
        "<figure>{svg}<figcaption>{}</figcaption></figure>\n",
        escaped(caption)
    )
}

fn calibration(presets: &[(&PresetSummary, Vec<&Row>)]) -> String {
    let mut plot =
        Plot::new((0.0, 1.0), "probability of the tokens", (0.0, 1.0), "right").diagonal();
    for (series, (preset, rows)) in presets.iter().enumerate() {
        let mut bins: Vec<Vec<(f64, f64)>> = vec![Vec::new(); BINS];
        for row in rows {
            if let Some(confidence) = row.confidence {
                let bin = ((confidence * BINS as f64) as usize).min(BINS - 1);
                bins[bin].push((confidence, row.scores.exact_match));
            }
        }
        let (mut points, mut marks) = (Vec::new(), Vec::new());
        for bin in bins.iter().filter(|bin| !bin.is_empty()) {
            let (sure, right): (Vec<f64>, Vec<f64>) = bin.iter().copied().unzip();
            let (sure, right) = (mean(&sure), mean(&right));
            let says = format!(
                "{}: {} answers, sure {sure:.2}, right {right:.2}",
                preset.preset,
                bin.len()
            );
            points.push((sure, right));
            // the area of a mark is its share of the answers
            marks.push((
                2.0 + 10.0 * (bin.len() as f64 / rows.len().max(1) as f64).sqrt(),
                says,
            ));
        }
        plot.line(series, &preset.preset, &points, &marks);
    }
    figure(
        "The area of a point is its share of the answers.",
        &plot.svg("calibration"),
    )
}

fn coverage(preset: &PresetSummary, rows: &[&Row]) -> Option<String> {
    let mut plot = Plot::new(
        (0.0, 1.0),
        "share of the answers that are kept",
        (0.0, 1.0),
        "right among them",
    );
    let mut drawn = 0;
    for measure in Measure::ALL {
        let (uncertainty, correct) = measured(*measure, rows);
        // without right and wrong answers there is nothing to tell apart
        if correct.iter().all(|right| *right) || !correct.iter().any(|right| *right) {
            continue;
        }
        let curve = accuracy_by_coverage(&uncertainty, &correct);
        let count = curve.len() as f64;
        let points: Vec<(f64, f64)> = (1..)
            .zip(curve)
            .map(|(kept, right)| (f64::from(kept) / count, right))
            .collect();
        plot.line(drawn, measure.name(), &points, &[]);
        drawn += 1;
    }
    (drawn > 0).then(|| {
        figure(
            &preset.preset,
            &plot.svg(&format!("uncertainty of {}", preset.preset)),
        )
    })
}

fn funnel(preset: &PresetSummary, rows: &[&Row]) -> String {
    let share =
        |name: &str, value: f64| (name.to_owned(), value, format!("{:.1} %", 100.0 * value));
    let mut stages = Vec::new();
    if let Some(found) = &preset.found {
        stages.push(share(
            &format!("evidence in {:.0} chunks found", found.chunks),
            found.share,
        ));
        stages.push(share("evidence in the first 5", found.recall[2]));
    }
    if let Some(context) = &preset.context {
        stages.push(share(
            &format!("evidence in {:.1} of the context", context.chunks),
            context.share,
        ));
    }
    let answered =
        rows.iter().filter(|row| row.error.is_none()).count() as f64 / rows.len().max(1) as f64;
    stages.push(share("questions that ran", answered));
    stages.push(share("right answer in the reply", preset.scores.substring));
    stages.push(share("exact match", preset.scores.exact_match));
    figure(
        &preset.preset,
        &bars(&format!("funnel of {}", preset.preset), &stages),
    )
}

fn cost(presets: &[(&PresetSummary, Vec<&Row>)]) -> String {
    let seconds = |preset: &PresetSummary| preset.cost.wall_ms / 1000.0;
    let most = presets
        .iter()
        .map(|(preset, _)| seconds(preset))
        .fold(0.0, f64::max);
    let mut plot = Plot::new(
        (0.0, 1.1 * most),
        "seconds a question",
        (0.0, 1.0),
        "exact match",
    );
    for (series, (preset, _)) in presets.iter().enumerate() {
        let (x, y) = (seconds(preset), preset.scores.exact_match);
        let tokens = preset.cost.prompt_tokens_evaluated + preset.cost.tokens_generated;
        let says = format!(
            "{}: {x:.2} s, {tokens:.0} tokens, {:.1} % right",
            preset.preset,
            100.0 * y
        );
        plot.point(series, &preset.preset, (x, y), &says);
    }
    figure("Point at a mark for its numbers.", &plot.svg("cost"))
}

fn of_table(table: &Table) -> String {
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect()
    };
    let rows: String = table
        .rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells("td", row)))
        .collect();
    format!(
        "<h2>{}</h2>\n<div class=\"scroll\"><table><tr>{}</tr>\n{rows}</table></div>\n",
        escaped(&table.title),
        cells("th", &table.head)
    )
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>\n", escaped(line)))
        .collect();
    format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escaped(title))
}
