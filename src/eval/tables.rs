//! A report as tables: what Markdown and the page of HTML have in common. The columns are the
//! metrics of the table's section.

use std::collections::{BTreeMap, BTreeSet};

use crate::story::{BrokenLink, words};

use super::metrics::{
    AnswerMetric, ChunkMetric, CostMetric, DepthMetric, Interval, ListMetric, Metric, Section,
    SeparationMetric, UnderstandingMetric, UtilityMetric,
};
use super::published::{Published, PublishedFigure};
use super::report::Report;
use super::summary::{
    Comparison, Correlation, DenseInterval, KindSummary, ListSummary, PresetSummary,
    UncertaintySummary, UnderstandingSummary,
};
use super::verdict_fit::{Accepted, FittedVerdicts};

/// A table of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub title: String,
    pub head: Vec<String>,
    /// Rows with as many cells as the head.
    pub rows: Vec<Vec<String>>,
}

/// Returns the tables of a report that have rows, in the order in which they are shown.
pub fn tables(report: &Report) -> Vec<Table> {
    let presets = &report.presets;
    let is_answered = presets.iter().any(|preset| !preset.retrieval_only);
    let answered = if is_answered { &presets[..] } else { &[] };

    let tables = [
        published_table(report.published.as_ref()),
        answers(answered),
        broken_links(answered),
        stress(answered),
        kinds(answered),
        evidence_by_kind(presets),
        lists(Section::Recall, presets),
        lists(Section::Precision, presets),
        uncertainty(presets),
        fitted_verdicts(&report.fitted_verdicts),
        helpfulness(presets),
        utility(presets),
        understanding(&report.understanding),
        dense(presets),
        chunks(answered),
        comparisons(&report.comparisons),
        cost(answered),
    ];

    tables
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

/// Returns how many questions were asked.
pub fn headline(report: &Report) -> String {
    let mut text = words::quantity(report.questions as u64, "question");
    if report.unanswerable > 0 {
        text.push_str(&format!(
            ", {} of them without an answer in the corpus",
            report.unanswerable
        ));
    }
    text
}

/// Returns a report in Markdown whose columns are aligned in plain text, too.
pub fn markdown(report: &Report) -> String {
    let mut text = headline(report) + "\n";
    for table in tables(report) {
        text.push_str(&format!("\n**{}**\n\n{}", table.title, table.markdown()));
    }
    text
}

impl Table {
    /// Returns the table in Markdown, its columns aligned.
    pub fn markdown(&self) -> String {
        let head = plain(&self.head);
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| plain(row)).collect();
        let all = || std::iter::once(&head).chain(&rows);

        let width = |column: usize| {
            all()
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
            line(&head),
            rows.iter().map(line).collect::<String>()
        )
    }
}

/// Returns cells that Markdown shows as they are: names of questions and kinds come from files.
fn plain(cells: &[String]) -> Vec<String> {
    let one_line = |cell: &String| cell.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = |cell: String| cell.replace('|', "\\|").replace('<', "\\<");
    cells.iter().map(one_line).map(escaped).collect()
}

/// A cell where nothing was measured.
const NO_VALUE: &str = "-";

pub fn table(title: &str, head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table {
        title: title.to_owned(),
        head,
        rows: rows.collect(),
    }
}

/// Returns a head from its names with `|` between them.
pub fn heads(names: &str) -> Vec<String> {
    names.split('|').map(str::to_owned).collect()
}

/// Returns a head: named columns, then the labels of a section's metrics.
fn head<M: Metric>(named: &str, section: Section) -> Vec<String> {
    let mut head = heads(named);
    head.extend(labels::<M>(section));
    head
}

fn labels<M: Metric>(section: Section) -> impl Iterator<Item = String> {
    M::in_section(section).map(|metric| metric.declaration().label.to_owned())
}

/// Returns the cells of a section's metrics.
fn cells<M: Metric>(
    section: Section,
    value: impl Fn(M) -> Option<f64>,
) -> impl Iterator<Item = String> {
    M::in_section(section).map(move |metric| {
        let format = metric.declaration().format;
        cell(value(metric), |value| format.value(value))
    })
}

/// Returns a row: its first cells, then those of a section's metrics.
fn row<M: Metric>(
    mut first: Vec<String>,
    section: Section,
    value: impl Fn(M) -> Option<f64>,
) -> Vec<String> {
    first.extend(cells(section, value));
    first
}

/// Returns the cell of a value that may not have been measured.
fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NO_VALUE.to_owned(), text)
}

/// Returns the fits as a table.
fn fitted_verdicts(fitted: &[FittedVerdicts]) -> Table {
    let row = |of: &FittedVerdicts| {
        let pair = |shipped: f64, fitted: f64| format!("{shipped:.3}, {fitted:.3}");
        vec![
            of.model.chars().take(12).collect(),
            of.answers.to_string(),
            of.right.to_string(),
            pair(of.shipped.log_loss, of.fitted.log_loss),
            pair(of.shipped.error, of.fitted.error),
            match of.fit {
                Some(fit) => format!("{:.2} logit {:+.2}", fit.slope, fit.constant),
                None => "no: the shipped one predicts as well".to_owned(),
            },
            of.accepted.map(accepted_cell).join(", "),
        ]
    };
    table(
        "The verdict, fitted to this folder (five-fold cross-validation)",
        heads(
            "model|answers|right|log-loss, nats: shipped, fitted|calibration error: shipped, fitted\
             |kept|accepted with 5 and 10 % wrong ones",
        ),
        fitted.iter().map(row),
    )
}

fn accepted_cell(accepted: Option<Accepted>) -> String {
    cell(accepted, |of| {
        format!("{:.0} % from {:.2}", 100.0 * of.share, of.from)
    })
}

/// The figures of a paper beside those measured here.
fn published_table(published: Option<&Published>) -> Table {
    let row = |figure: &PublishedFigure| {
        let declaration = figure.metric.declaration();
        let format = declaration.format;
        vec![
            figure.row.clone(),
            figure.dataset.clone(),
            declaration.label.to_owned(),
            format.value(figure.published),
            cell(figure.measured, |value| format.value(value)),
        ]
    };
    table(
        published.map_or("", |published| &published.title),
        heads("row|dataset|figure|published|here"),
        published.iter().flat_map(|of| &of.figures).map(row),
    )
}

fn answers(presets: &[PresetSummary]) -> Table {
    let row = |preset: &PresetSummary| {
        let answered = preset.answered.to_string();
        let failed = preset.failed.len().to_string();
        let first = vec![preset.preset.clone(), answered, failed];
        row(first, Section::Answers, |metric| {
            Some(preset.scores[metric])
        })
    };

    let head = head::<AnswerMetric>("preset|questions|failed", Section::Answers);
    table("Answers", head, presets.iter().map(row))
}

/// The evidence in the context by kind of question, as SAKI-RAG's table 4 has it.
fn evidence_by_kind(presets: &[PresetSummary]) -> Table {
    let metrics = [DepthMetric::Recall, DepthMetric::Precision, DepthMetric::Ie];

    let rows = presets.iter().flat_map(|preset| {
        preset.kinds.iter().filter_map(move |(kind, summary)| {
            let context = summary.context.as_ref()?;
            let mut row = vec![
                preset.preset.clone(),
                kind.clone(),
                context.questions.to_string(),
            ];
            row.extend(metrics.iter().map(|metric| {
                let format = metric.declaration().format;
                format.value(context.by_depth[*metric][context.summary_depth()])
            }));
            Some(row)
        })
    });

    let mut head = heads("preset|kind|questions");

    let depth = presets
        .iter()
        .flat_map(|preset| preset.kinds.values())
        .find_map(|summary| summary.context.as_ref())
        .map_or(0, |context| context.depths[context.summary_depth()]);
    head.extend(metrics.map(|metric| format!("{}@{depth}", metric.declaration().label)));

    table("Evidence in the context by kind of question", head, rows)
}

/// Returns the answers of the model with the whole context, and their improvement by the context.
fn helpfulness(presets: &[PresetSummary]) -> Table {
    let rows = presets.iter().flat_map(|preset| {
        let utility = preset.utility.iter();
        utility.flat_map(move |utility| {
            UtilityMetric::in_section(Section::Utility).map(move |metric| {
                let declaration = metric.declaration();
                let absolute = utility.with_context.as_ref();
                vec![
                    preset.preset.clone(),
                    declaration.label.trim_start_matches("delta ").to_owned(),
                    utility.contexts.to_string(),
                    cell(absolute, |values| declaration.format.value(values[metric])),
                    declaration.format.value(utility.improvement[metric]),
                ]
            })
        })
    });
    table(
        "Answers sampled with the whole context, and what it improves",
        heads("preset|measure|contexts|with the context|improvement"),
        rows,
    )
}

/// Exact match by kind of question: one row per kind, one column per preset.
fn kinds(presets: &[PresetSummary]) -> Table {
    let format = AnswerMetric::ExactMatch.declaration().format;
    let kinds = presets.first().map(|preset| &preset.kinds);
    let row = |(kind, summary): (&String, &KindSummary)| {
        let mut row = vec![kind.clone(), summary.questions.to_string()];
        row.extend(presets.iter().map(|preset| {
            cell(preset.kinds.get(kind), |summary| {
                format.value(summary.exact_match)
            })
        }));
        row
    };

    let mut head = heads("kind|questions");
    head.extend(presets.iter().map(|preset| preset.preset.clone()));
    table(
        "Exact match by kind of question",
        head,
        kinds.into_iter().flatten().map(row),
    )
}

/// Wrong answers by their first broken link: one row per link, one column per preset.
fn broken_links(presets: &[PresetSummary]) -> Table {
    let links = presets.iter().flat_map(|preset| preset.broken.keys());
    let links: BTreeSet<BrokenLink> = links.copied().collect();
    let row = |link: BrokenLink| {
        let counts = presets.iter().map(|preset| {
            let count = preset.broken.get(&link).copied().unwrap_or(0);
            count.to_string()
        });
        [link.name().to_owned()].into_iter().chain(counts).collect()
    };

    let head = ["first broken link".to_owned()].into_iter();
    table(
        "Wrong answers, by what went wrong first",
        head.chain(presets.iter().map(|preset| preset.preset.clone()))
            .collect(),
        links.into_iter().map(row),
    )
}

/// Answers from disturbed contexts: one row per disturbance of a preset.
fn stress(presets: &[PresetSummary]) -> Table {
    let rows = presets.iter().flat_map(|preset| {
        preset.stress.iter().map(|summary| {
            vec![
                preset.preset.clone(),
                summary.disturbance.to_string(),
                summary.questions.to_string(),
                summary.right.to_string(),
                summary.lost.to_string(),
                summary.gained.to_string(),
                summary.refused.to_string(),
            ]
        })
    });
    table(
        "Answers from disturbed contexts",
        heads("preset|context|questions|right|no longer right|right only so|refused"),
        rows,
    )
}

/// The evidence in the lists of chunks: one row per list of a preset.
fn lists(section: Section, presets: &[PresetSummary]) -> Table {
    let title = if section == Section::Precision {
        "Precision, and IE: recall times precision"
    } else {
        "Evidence in the chunks found and in the context"
    };
    let depths: &[usize] = presets
        .iter()
        .find_map(|preset| preset.found.as_ref())
        .map_or(&[], |list| &list.depths);

    let mut head = heads("preset|list");
    for metric in DepthMetric::in_section(section) {
        let label = metric.declaration().label;
        head.extend(depths.iter().map(|depth| format!("{label}@{depth}")));
    }
    head.extend(labels::<ListMetric>(section));

    let row = |preset: &PresetSummary, name: &str, list: &ListSummary| {
        let mut row = vec![preset.preset.clone(), name.to_owned()];
        for metric in DepthMetric::in_section(section) {
            let format = metric.declaration().format;
            let values = list.by_depth[metric].iter();
            row.extend(values.map(|value| format.value(*value)));
        }
        row.extend(cells(section, |metric| Some(list.whole[metric])));
        row
    };
    let rows = presets.iter().flat_map(|preset| {
        let named = [("found", &preset.found), ("context", &preset.context)];
        let lists = named
            .into_iter()
            .filter_map(|(name, list)| Some((name, list.as_ref()?)));
        lists
            .map(|(name, list)| row(preset, name, list))
            .collect::<Vec<_>>()
    });
    table(title, head, rows)
}

fn uncertainty(presets: &[PresetSummary]) -> Table {
    let row = |preset: &PresetSummary, summary: &UncertaintySummary| {
        let measure = summary.measure.declaration().label.to_owned();
        let first = vec![
            preset.preset.clone(),
            measure,
            summary.questions.to_string(),
        ];
        let mut row = row(first, Section::Uncertainty, |metric| {
            summary.separation[metric]
        });
        row.push(cell(summary.interval, |interval| {
            format!("[{:.3}, {:.3}]", interval.low, interval.high)
        }));
        row
    };

    let rows = presets.iter().flat_map(|preset| {
        preset
            .uncertainty
            .iter()
            .map(move |summary| row(preset, summary))
    });

    let mut head = head::<SeparationMetric>("preset|measure|questions", Section::Uncertainty);
    head.push("AUROC, 95 %".to_owned());
    table(
        "How well uncertainty separates wrong answers from right ones",
        head,
        rows,
    )
}

/// Returns a figure with its interval behind it, where there is one.
fn with_interval(figure: f64, interval: Option<Interval>) -> String {
    interval.map_or_else(
        || format!("{figure:.3}"),
        |Interval { low, high, .. }| format!("{figure:.3} [{low:.3}, {high:.3}]"),
    )
}

fn utility(presets: &[PresetSummary]) -> Table {
    let pearson =
        |of: &Correlation| cell(of.pearson, |pearson| with_interval(pearson, of.interval));
    let row = |preset: &PresetSummary, whole: &Correlation, every: &Correlation| {
        vec![
            preset.preset.clone(),
            whole.of.to_owned(),
            whole.contexts.to_string(),
            pearson(whole),
            every.contexts.to_string(),
            pearson(every),
        ]
    };
    let rows = presets.iter().flat_map(|preset| {
        let measured = preset.utility.iter();
        let pairs = measured.flat_map(|utility| utility.whole.iter().zip(&utility.every));
        pairs
            .map(|(whole, every)| row(preset, whole, every))
            .collect::<Vec<_>>()
    });
    table(
        "Pearson's correlation with the share of evidence in the context",
        heads("preset|measure|whole contexts|Pearson|every context|Pearson"),
        rows,
    )
}

fn understanding(summaries: &[UnderstandingSummary]) -> Table {
    let row = |summary: &UnderstandingSummary| {
        let context = if summary.certain {
            "certain"
        } else {
            "uncertain"
        };

        let questions = summary.questions.to_string();
        let first = vec![summary.preset.clone(), context.to_owned(), questions];
        row(first, Section::Understanding, |metric| {
            Some(summary.values[metric])
        })
    };

    table(
        "Questions whose context was understood, and others",
        head::<UnderstandingMetric>("preset|context|questions", Section::Understanding),
        summaries.iter().map(row),
    )
}

/// Exact match by DENSE, as figures 3 and 5 of "DENSE-RAG" have it.
fn dense(presets: &[PresetSummary]) -> Table {
    let format = AnswerMetric::ExactMatch.declaration().format;
    let or_none = |value: Option<f64>| cell(value, |value| format.value(value));
    let row = |preset: &PresetSummary, interval: &DenseInterval| {
        let range = match interval.up_to {
            Some(up_to) => format!("{:.1} to {up_to:.1}", interval.above),
            None => format!("above {:.1}", interval.above),
        };
        vec![
            preset.preset.clone(),
            range,
            interval.questions.to_string(),
            format.value(interval.exact_match),
            or_none(interval.exact_match_up_to),
            or_none(interval.exact_match_above),
        ]
    };
    let rows = presets.iter().flat_map(|preset| {
        let intervals = preset.dense.iter();
        intervals.map(move |interval| row(preset, interval))
    });
    table(
        "Exact match by DENSE, nats",
        heads("preset|DENSE|questions|exact match|up to its end|above it"),
        rows,
    )
}

/// Returns the figures of the chunks between the search and the prompt.
fn chunks(presets: &[PresetSummary]) -> Table {
    let searched = presets
        .iter()
        .filter(|preset| preset.chunks[ChunkMetric::Found].is_some());

    let row = |preset: &PresetSummary| {
        let first = vec![preset.preset.clone()];
        row(first, Section::Chunks, |metric| preset.chunks[metric])
    };

    table(
        "Chunks per question, from the search to the prompt",
        head::<ChunkMetric>("preset", Section::Chunks),
        searched.map(row),
    )
}

fn comparisons(comparisons: &[Comparison]) -> Table {
    let columns = [
        differences(comparisons, |comparison| &comparison.scores),
        differences(comparisons, |comparison| &comparison.found),
        differences(comparisons, |comparison| &comparison.cost),
    ]
    .concat();

    let mut head = heads("preset|against");
    head.extend(columns.iter().map(|(label, _)| (*label).to_owned()));

    let row = |(number, comparison): (usize, &Comparison)| {
        let mut row = vec![comparison.preset.clone(), comparison.against.clone()];
        row.extend(columns.iter().map(|(_, cells)| cells[number].clone()));
        row
    };

    table(
        "Differences with 95 % intervals (paired bootstrap), * where zero lies outside",
        head,
        comparisons.iter().enumerate().map(row),
    )
}

/// Returns the columns of a family of metrics that some comparison measured: label, and a cell for
/// each comparison.
fn differences<M>(
    comparisons: &[Comparison],
    values: fn(&Comparison) -> &BTreeMap<M, Interval>,
) -> Vec<(&'static str, Vec<String>)>
where
    M: Metric<Function: 'static>,
{
    let difference = |metric: M, comparison: &Comparison| {
        cell(values(comparison).get(&metric), |interval| {
            metric.declaration().format.difference(interval)
        })
    };

    M::in_section(Section::Comparison)
        .filter(|metric| {
            comparisons
                .iter()
                .any(|one| values(one).contains_key(metric))
        })
        .map(|metric| {
            let cells = comparisons.iter().map(|one| difference(metric, one));
            (metric.declaration().label, cells.collect())
        })
        .collect()
}

fn cost(presets: &[PresetSummary]) -> Table {
    let row = |preset: &PresetSummary| {
        let first = vec![preset.preset.clone()];
        row(first, Section::Cost, |metric| Some(preset.cost[metric]))
    };
    table(
        "Cost per question",
        head::<CostMetric>("preset", Section::Cost),
        presets.iter().map(row),
    )
}
