//! A report as one self-contained page of HTML: tables and plots, without scripts.

use super::metrics::{
    AnswerMetric, CostMetric, DepthMetric, ListMetric, Metric, UncertaintyMetric,
    accuracy_by_coverage, explanations, mean,
};
use super::plot::{Axis, Bar, Mark, Plot, bars, escape};
use super::report::Report;
use super::row::Row;
use super::summary::{PresetSummary, with_correctness};
use super::tables::{Table, headline, tables};
use crate::story::BrokenLink;

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

/// A preset with its rows.
struct PresetRows<'a> {
    summary: &'a PresetSummary,
    rows: Vec<&'a Row>,
}

impl PresetRows<'_> {
    fn name(&self) -> &str {
        &self.summary.preset
    }
}

/// Returns the page.
pub fn page(report: &Report, rows: &[Row]) -> String {
    let presets: Vec<PresetRows<'_>> = report
        .presets
        .iter()
        .map(|summary| PresetRows {
            summary,
            rows: rows
                .iter()
                .filter(|row| row.preset == summary.preset)
                .collect(),
        })
        .collect();
    let names: Vec<&str> = presets.iter().map(PresetRows::name).collect();

    let mut body = format!(
        "<h1>{}</h1>\n<p>{}</p>\n",
        escape(&names.join(", ")),
        escape(&headline(report))
    );
    body.push_str(&all_plots(&presets));
    for table in tables(report) {
        body.push_str(&table_html(&table));
    }
    body.push_str(&list("Faults of the question file", &report.remarks));
    body.push_str(&list(
        "Evidence that no document holds",
        &report.missing_evidence,
    ));
    for preset in &report.presets {
        let title = format!("Questions that failed under {}", preset.preset);
        body.push_str(&list(&title, &preset.failed));
    }
    body.push_str(&list("Metrics", &explanations()));

    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ragscope evaluation</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )
}

fn all_plots(presets: &[PresetRows<'_>]) -> String {
    let curves: Vec<String> = presets.iter().filter_map(coverage).collect();
    let funnels: Vec<String> = presets.iter().map(funnel).collect();
    let broken: Vec<String> = presets.iter().filter_map(broken_links).collect();

    plots(
        "Calibration",
        "How often an answer is right, by the probability that the model gave its tokens (their \
         geometric mean). On the dotted line both are equal.",
        &[calibration(presets)],
    ) + &plots(
        "Uncertainty against correctness",
        "Exact match among the answers that are kept, when the most uncertain ones are set aside: \
         a good measure rises to the left.",
        &curves,
    ) + &plots(
        "Funnel",
        "The evidence that is left at each stage, and the questions at the end.",
        &funnels,
    ) + &plots(
        "What went wrong first",
        "The wrong answers, by the first link of the chain from the file to the answer that is \
         broken: what to improve first.",
        &broken,
    ) + &plots(
        "Cost",
        "Exact match against the time per question.",
        &[cost(presets)],
    )
}

fn plots(title: &str, caption: &str, plots: &[String]) -> String {
    if plots.is_empty() {
        return String::new();
    }
    format!(
        "<h2>{}</h2>\n<p>{}</p>\n<div class=\"plots\">{}</div>\n",
        escape(title),
        escape(caption),
        plots.concat()
    )
}

fn figure(caption: &str, svg: &str) -> String {
    format!(
        "<figure>{svg}<figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}

fn calibration(presets: &[PresetRows<'_>]) -> String {
    let mut plot = Plot::new(
        Axis::share("probability of the tokens"),
        Axis::share("right"),
    )
    .diagonal();

    for (series, preset) in presets.iter().enumerate() {
        let marks = calibration_marks(preset);
        let points: Vec<(f64, f64)> = marks.iter().map(|mark| (mark.x, mark.y)).collect();
        plot.line(series, preset.name(), &points, &marks);
    }

    figure(
        "The area of a point is its share of the answers.",
        &plot.svg("calibration"),
    )
}

/// Returns a mark for each bin of confidence that has answers.
fn calibration_marks(preset: &PresetRows<'_>) -> Vec<Mark> {
    let mut bins: Vec<Vec<(f64, f64)>> = vec![Vec::new(); BINS];
    for row in &preset.rows {
        if let Some(confidence) = row.confidence {
            let bin = ((confidence * BINS as f64) as usize).min(BINS - 1);
            bins[bin].push((confidence, row.scores[AnswerMetric::ExactMatch]));
        }
    }

    let mark = |bin: &Vec<(f64, f64)>| {
        let confidence = mean(bin.iter().map(|(confidence, _)| *confidence));
        let right = mean(bin.iter().map(|(_, right)| *right));
        let share = bin.len() as f64 / preset.rows.len().max(1) as f64;
        Mark {
            x: confidence,
            y: right,
            // the area of a mark is its share of the answers
            radius: 2.0 + 10.0 * share.sqrt(),
            text: format!(
                "{}: {} answers, confidence {confidence:.2}, right {right:.2}",
                preset.name(),
                bin.len()
            ),
        }
    };
    bins.iter()
        .filter(|bin| !bin.is_empty())
        .map(mark)
        .collect()
}

/// Returns the accuracy by coverage of each measure; `None` without right and wrong answers.
fn coverage(preset: &PresetRows<'_>) -> Option<String> {
    let mut plot = Plot::new(
        Axis::share("share of the answers that are kept"),
        Axis::share("right among them"),
    );
    let mut series = 0;
    for measure in UncertaintyMetric::ALL {
        let (uncertainty, correct) = with_correctness(*measure, &preset.rows);
        let has_both = correct.contains(&true) && correct.contains(&false);
        if !has_both {
            continue;
        }

        let curve = accuracy_by_coverage(&uncertainty, &correct);
        let count = curve.len() as f64;
        let points: Vec<(f64, f64)> = (1..)
            .zip(curve)
            .map(|(kept, right)| (f64::from(kept) / count, right))
            .collect();
        plot.line(series, measure.declaration().label, &points, &[]);
        series += 1;
    }
    let title = format!("uncertainty of {}", preset.name());
    (series > 0).then(|| figure(preset.name(), &plot.svg(&title)))
}

/// Draws the wrong answers of a preset by their first broken link; `None` where there are none.
fn broken_links(preset: &PresetRows<'_>) -> Option<String> {
    let broken = &preset.summary.broken;
    let most = broken.values().max()?;
    let bar = |(link, count): (&BrokenLink, &usize)| Bar {
        name: link.name().to_owned(),
        share: *count as f64 / *most as f64,
        text: count.to_string(),
    };
    let all: Vec<Bar> = broken.iter().map(bar).collect();
    let title = format!("wrong answers of {}", preset.name());
    Some(figure(preset.name(), &bars(&title, &all)))
}

fn funnel(preset: &PresetRows<'_>) -> String {
    let mut stages = Vec::new();
    let mut add = |name: String, share: f64| {
        let text = format!("{:.1} %", 100.0 * share);
        stages.push(Bar { name, share, text });
    };

    if let Some(found) = &preset.summary.found {
        let chunks = found.whole[ListMetric::Chunks];
        let name = format!("evidence in {chunks:.0} chunks found");
        add(name, found.whole[ListMetric::Share]);

        let at = found.summary_depth();
        let name = format!("evidence in the first {}", found.depths[at]);
        add(name, found.by_depth[DepthMetric::Recall][at]);
    }
    if let Some(context) = &preset.summary.context {
        let chunks = context.whole[ListMetric::Chunks];
        let name = format!("evidence in {chunks:.1} of the context");
        add(name, context.whole[ListMetric::Share]);
    }

    let without_error = preset.rows.iter().filter(|row| row.error.is_none()).count();
    let answered = without_error as f64 / preset.rows.len().max(1) as f64;
    let scores = &preset.summary.scores;
    let right = scores[AnswerMetric::Substring];
    add("questions that ran".to_owned(), answered);
    add("right answer in the reply".to_owned(), right);
    add("exact match".to_owned(), scores[AnswerMetric::ExactMatch]);

    let title = format!("funnel of {}", preset.name());
    figure(preset.name(), &bars(&title, &stages))
}

fn cost(presets: &[PresetRows<'_>]) -> String {
    let seconds = |preset: &PresetRows<'_>| preset.summary.cost[CostMetric::WallMs] / 1000.0;
    let slowest = presets.iter().map(seconds).fold(0.0, f64::max);

    let time = Axis {
        name: "seconds per question",
        max: 1.1 * slowest,
    };
    let mut plot = Plot::new(time, Axis::share("exact match"));
    for (series, preset) in presets.iter().enumerate() {
        let seconds = seconds(preset);
        let exact_match = preset.summary.scores[AnswerMetric::ExactMatch];
        let tokens = preset.summary.cost[CostMetric::Tokens];
        let text = format!(
            "{}: {seconds:.2} s, {tokens:.0} tokens, {:.1} % right",
            preset.name(),
            100.0 * exact_match
        );
        let mark = Mark {
            x: seconds,
            y: exact_match,
            radius: 6.0,
            text,
        };
        plot.point(series, preset.name(), &mark);
    }
    figure("Point at a mark for its numbers.", &plot.svg("cost"))
}

fn table_html(table: &Table) -> String {
    let cells = |tag: &str, row: &[String]| -> String {
        row.iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect()
    };
    let rows: String = table
        .rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells("td", row)))
        .collect();

    format!(
        "<h2>{}</h2>\n<div class=\"scroll\"><table><tr>{}</tr>\n{rows}</table></div>\n",
        escape(&table.title),
        cells("th", &table.head)
    )
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>\n", escape(line)))
        .collect();
    format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escape(title))
}
