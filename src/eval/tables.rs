//! A report as tables: what Markdown and the page of HTML show alike.

use super::metrics::Interval;
use super::report::{Comparison, Correlation, KindSummary, PresetSummary, RankSummary, Report};
use super::understanding::UnderstandingSummary;

/// A table of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub title: String,
    pub head: Vec<String>,
    /// As many cells as the head has.
    pub rows: Vec<Vec<String>>,
}

/// The tables of a report that have rows, in the order in which they are shown.
#[must_use]
pub fn tables(report: &Report) -> Vec<Table> {
    let presets = &report.presets;
    let lists: Vec<_> = presets.iter().flat_map(lists).collect();
    let measured = presets.iter().flat_map(|preset| {
        preset.uncertainty.iter().map(|one| {
            let (auroc, auarc) = (optional(one.auroc), optional(one.auarc));
            vec![
                preset.preset.clone(),
                one.measure.name().to_owned(),
                one.questions.to_string(),
                auroc,
                auarc,
            ]
        })
    });
    let utility = presets
        .iter()
        .filter_map(|preset| Some((preset, preset.utility.as_ref()?)));
    let utility = utility.flat_map(|(preset, utility)| {
        let both = utility.whole.iter().zip(&utility.every);
        both.map(|(whole, every)| correlation(&preset.preset, whole, every))
            .collect::<Vec<Vec<String>>>()
    });
    let tables = [
        table("Answers", &ANSWERS, presets.iter().map(answers)),
        kinds(presets),
        table(
            "Evidence in the chunks that were found and in the context",
            &RECALL,
            lists.iter().map(recall),
        ),
        table(
            "The same: precision, and IE, recall times precision",
            &PRECISION,
            lists.iter().map(precision),
        ),
        table(
            "How well uncertainty tells wrong answers from right ones",
            &UNCERTAINTY,
            measured,
        ),
        table(
            "Pearson's correlation with the share of evidence in the context",
            &UTILITY,
            utility,
        ),
        table(
            "Questions whose context was understood, and others",
            &UNDERSTANDING,
            report.understanding.iter().map(understood),
        ),
        table(
            "Differences with 95 % intervals (paired bootstrap), * where zero lies outside",
            &COMPARISON,
            report.comparisons.iter().map(comparison),
        ),
        table("Cost of a question", &COST, presets.iter().map(cost)),
    ];
    tables
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

/// How many questions were asked.
#[must_use]
pub fn headline(report: &Report) -> String {
    let mut text = format!("{} questions", report.questions);
    if report.unanswerable > 0 {
        text.push_str(&format!(
            ", {} of them without an answer in the corpus",
            report.unanswerable
        ));
    }
    text
}

/// A report in Markdown. The columns line up in plain text, too.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = headline(report) + "\n";
    for table in tables(report) {
        text.push_str(&format!("\n**{}**\n\n{}", table.title, table.markdown()));
    }
    text
}

impl Table {
    fn markdown(&self) -> String {
        let rows = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            rows()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!(" {cell:<width$} |"));
            format!("|{}\n", cells.collect::<String>())
        };
        let rule: String = widths
            .iter()
            .map(|width| format!("{}|", "-".repeat(width + 2)))
            .collect();
        format!(
            "{}|{rule}\n{}",
            line(&self.head),
            self.rows.iter().map(line).collect::<String>()
        )
    }
}

fn table(title: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    Table {
        title: title.to_owned(),
        head,
        rows: rows.collect(),
    }
}

const ANSWERS: [&str; 8] = [
    "preset",
    "questions",
    "failed",
    "exact match",
    "F1",
    "substring",
    "ROUGE-L",
    "METEOR",
];
const RECALL: [&str; 10] = [
    "preset",
    "chunks",
    "mean number",
    "R@1",
    "R@3",
    "R@5",
    "R@10",
    "whole list",
    "MRR",
    "nDCG",
];
const PRECISION: [&str; 10] = [
    "preset",
    "chunks",
    "P@1",
    "P@3",
    "P@5",
    "IE@1",
    "IE@3",
    "IE@5",
    "IE, sum",
    "sum over all",
];
const UNCERTAINTY: [&str; 5] = ["preset", "measure", "questions", "AUROC", "AUARC"];
const UTILITY: [&str; 6] = [
    "preset",
    "measure",
    "whole contexts",
    "Pearson",
    "every context",
    "Pearson",
];
const UNDERSTANDING: [&str; 10] = [
    "preset",
    "context",
    "questions",
    "exact match",
    "of the first preset",
    "rounds",
    "model calls",
    "prompt tokens evaluated · reused",
    "seconds (measuring)",
    "times the first preset (measuring)",
];
const COMPARISON: [&str; 6] = [
    "preset",
    "against",
    "exact match",
    "F1",
    "tokens",
    "seconds",
];
const COST: [&str; 7] = [
    "preset",
    "lookups",
    "model calls",
    "prompt tokens evaluated",
    "reused",
    "tokens generated",
    "seconds",
];

fn share(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

fn answers(preset: &PresetSummary) -> Vec<String> {
    let scores = &preset.scores;
    let shares = [
        scores.exact_match,
        scores.f1,
        scores.substring,
        scores.rouge_l,
        scores.meteor,
    ]
    .map(share);
    let counts = [preset.answered.to_string(), preset.failed.len().to_string()];
    std::iter::once(preset.preset.clone())
        .chain(counts)
        .chain(shares)
        .collect()
}

/// Exact match by kind of question: a row a kind, a column a preset.
fn kinds(presets: &[PresetSummary]) -> Table {
    let names = presets.iter().map(|preset| &*preset.preset);
    let head: Vec<&str> = ["kind", "questions"].into_iter().chain(names).collect();
    let first = presets.first().map(|preset| &preset.kinds);
    let row = |(kind, summary): (&String, &KindSummary)| {
        let of = |preset: &PresetSummary| {
            preset
                .kinds
                .get(kind)
                .map_or_else(|| "-".to_owned(), |kind| share(kind.exact_match))
        };
        [kind.clone(), summary.questions.to_string()]
            .into_iter()
            .chain(presets.iter().map(of))
            .collect()
    };
    table(
        "Exact match by kind of question",
        &head,
        first.into_iter().flatten().map(row),
    )
}

/// The lists of a preset by their names, with what was measured of them.
fn lists(preset: &PresetSummary) -> impl Iterator<Item = (&str, &'static str, &RankSummary)> {
    let named = [("found", &preset.found), ("context", &preset.context)];
    named
        .into_iter()
        .filter_map(|(list, summary)| Some((preset.preset.as_str(), list, summary.as_ref()?)))
}

fn recall((preset, list, summary): &(&str, &'static str, &RankSummary)) -> Vec<String> {
    let mut row = vec![
        (*preset).to_owned(),
        (*list).to_owned(),
        format!("{:.1}", summary.chunks),
    ];
    row.extend(summary.recall.iter().map(|recall| share(*recall)));
    row.extend([
        share(summary.share),
        format!("{:.3}", summary.mrr),
        format!("{:.3}", summary.ndcg),
    ]);
    row
}

fn precision((preset, list, summary): &(&str, &'static str, &RankSummary)) -> Vec<String> {
    let mut row = vec![(*preset).to_owned(), (*list).to_owned()];
    row.extend(
        summary
            .precision
            .iter()
            .take(3)
            .map(|precision| share(*precision)),
    );
    row.extend(summary.ie.iter().take(3).map(|ie| share(*ie)));
    row.extend([share(summary.ie_sum), share(summary.ie_sum_of_all)]);
    row
}

fn correlation(preset: &str, whole: &Correlation, every: &Correlation) -> Vec<String> {
    vec![
        preset.to_owned(),
        whole.of.to_owned(),
        whole.contexts.to_string(),
        optional(whole.pearson),
        every.contexts.to_string(),
        optional(every.pearson),
    ]
}

fn understood(one: &UnderstandingSummary) -> Vec<String> {
    let times = |wall_ms: f64| wall_ms / one.wall_ms_of_first.max(1.0);
    vec![
        one.preset.clone(),
        if one.certain { "certain" } else { "uncertain" }.to_owned(),
        one.questions.to_string(),
        share(one.exact_match),
        share(one.exact_match_of_first),
        format!("{:.1}", one.rounds),
        format!("{:.1}", one.model_calls),
        format!(
            "{:.0} · {:.0}",
            one.prompt_tokens_evaluated, one.prompt_tokens_reused
        ),
        format!(
            "{:.2} ({:.2})",
            one.wall_ms / 1000.0,
            one.measuring_ms / 1000.0
        ),
        format!("{:.1} ({:.1})", times(one.wall_ms), times(one.measuring_ms)),
    ]
}

fn comparison(one: &Comparison) -> Vec<String> {
    let interval = |interval: &Interval, unit: f64, digits: usize| {
        let [mean, low, high] =
            [interval.mean, interval.low, interval.high].map(|value| value * unit);
        let clear = if interval.is_clear() { "*" } else { "" };
        format!("{mean:+.digits$}{clear} [{low:+.digits$}, {high:+.digits$}]")
    };
    vec![
        one.preset.clone(),
        one.against.clone(),
        interval(&one.exact_match, 100.0, 1),
        interval(&one.f1, 100.0, 1),
        interval(&one.tokens, 1.0, 0),
        interval(&one.wall_ms, 0.001, 2),
    ]
}

fn cost(preset: &PresetSummary) -> Vec<String> {
    let cost = &preset.cost;
    vec![
        preset.preset.clone(),
        format!("{:.2}", cost.retrievals),
        format!("{:.1}", cost.model_calls),
        format!("{:.0}", cost.prompt_tokens_evaluated),
        format!("{:.0}", cost.prompt_tokens_reused),
        format!("{:.0}", cost.tokens_generated),
        format!("{:.2}", cost.wall_ms / 1000.0),
    ]
}
