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
use super::stress::StressSummary;
use super::summary::{
    Comparison, Correlation, DenseInterval, KindSummary, ListSummary, PresetSummary,
    UnderstandingSummary,
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

/// Makes a row of values, each as it is displayed.
macro_rules! row {
    ($($cell:expr),+ $(,)?) => {
        vec![$($cell.to_string()),+]
    };
}
pub(super) use row;

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

fn labels<M: Metric>(section: Section) -> impl Iterator<Item = String> {
    M::in_section(section).map(|metric| metric.declaration().label.to_owned())
}

/// Returns the cells of a section's metrics.
fn cells<M: Metric>(
    section: Section,
    value: impl Fn(M) -> Option<f64>,
) -> impl Iterator<Item = String> {
    M::in_section(section).map(move |metric| cell_of(metric, value(metric)))
}

/// Returns the cell of a value that may not have been measured.
pub fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NO_VALUE.to_owned(), text)
}

/// Returns the cell of a metric.
fn cell_of<M: Metric>(metric: M, value: impl Into<Option<f64>>) -> String {
    cell(value.into(), |value| {
        metric.declaration().format.value(value)
    })
}

/// Returns a table whose rows end with the metrics of a section: each is its first cells, which
/// `named` names, and the values.
fn by_metrics<M: Metric, V: Fn(M) -> Option<f64>>(
    title: &str,
    named: &str,
    section: Section,
    rows: impl Iterator<Item = (Vec<String>, V)>,
) -> Table {
    let mut head = heads(named);
    head.extend(labels::<M>(section));

    let rows = rows.map(|(mut row, value)| {
        row.extend(cells(section, value));
        row
    });
    table(title, head, rows)
}

/// Returns what each preset has several of, with the preset.
fn each<'p, I: IntoIterator>(
    presets: &'p [PresetSummary],
    items: impl Fn(&'p PresetSummary) -> I,
) -> impl Iterator<Item = (&'p PresetSummary, I::Item)> {
    presets.iter().flat_map(move |preset| {
        let items = items(preset).into_iter();
        items.map(move |item| (preset, item))
    })
}

/// Returns the fits as a table.
fn fitted_verdicts(fitted: &[FittedVerdicts]) -> Table {
    let accepted = |accepted: Option<Accepted>| {
        cell(accepted, |of| {
            format!("{:.0} % from {:.2}", 100.0 * of.share, of.from)
        })
    };
    let pair = |shipped: f64, fitted: f64| format!("{shipped:.3}, {fitted:.3}");
    let row = |of: &FittedVerdicts| {
        row![
            of.model.chars().take(12).collect::<String>(),
            of.answers,
            of.right,
            pair(of.shipped.log_loss, of.fitted.log_loss),
            pair(of.shipped.error, of.fitted.error),
            match of.fit {
                Some(fit) => format!("{:.2} logit {:+.2}", fit.slope, fit.constant),
                None => "no: the shipped one predicts as well".to_owned(),
            },
            of.accepted.map(accepted).join(", "),
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

/// The figures of a paper beside those measured here.
fn published_table(published: Option<&Published>) -> Table {
    let row = |figure: &PublishedFigure| {
        row![
            figure.row,
            figure.dataset,
            figure.metric.declaration().label,
            cell_of(figure.metric, figure.published),
            cell_of(figure.metric, figure.measured),
        ]
    };
    table(
        published.map_or("", |published| &published.title),
        heads("row|dataset|figure|published|here"),
        published.iter().flat_map(|of| &of.figures).map(row),
    )
}

fn answers(presets: &[PresetSummary]) -> Table {
    let rows = presets.iter().map(|preset| {
        let first = row![preset.preset, preset.answered, preset.failed.len()];
        (first, |metric: AnswerMetric| Some(preset.scores[metric]))
    });
    by_metrics("Answers", "preset|questions|failed", Section::Answers, rows)
}

/// The evidence in the context by kind of question, as SAKI-RAG's table 4 has it.
fn evidence_by_kind(presets: &[PresetSummary]) -> Table {
    let metrics = [DepthMetric::Recall, DepthMetric::Precision, DepthMetric::Ie];
    let of_kinds = || {
        let kinds = each(presets, |preset| &preset.kinds);
        kinds
            .filter_map(|(preset, (kind, summary))| Some((preset, kind, summary.context.as_ref()?)))
    };

    let rows = of_kinds().map(|(preset, kind, context)| {
        let mut row = row![preset.preset, kind, context.questions];
        let depth = context.summary_depth();
        row.extend(metrics.map(|metric| cell_of(metric, context.by_depth[metric][depth])));
        row
    });

    let mut head = heads("preset|kind|questions");
    let depth = of_kinds()
        .next()
        .map_or(0, |(.., context)| context.depths[context.summary_depth()]);
    head.extend(metrics.map(|metric| format!("{}@{depth}", metric.declaration().label)));

    table("Evidence in the context by kind of question", head, rows)
}

/// Returns the answers of the model with the whole context, and their improvement by the context.
fn helpfulness(presets: &[PresetSummary]) -> Table {
    let rows = each(presets, |preset| &preset.utility).flat_map(|(preset, utility)| {
        UtilityMetric::in_section(Section::Utility).map(move |metric| {
            let label = metric.declaration().label;
            let absolute = utility.with_context.as_ref().map(|values| values[metric]);
            row![
                preset.preset,
                label.trim_start_matches("delta "),
                utility.contexts,
                cell_of(metric, absolute),
                cell_of(metric, utility.improvement[metric]),
            ]
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
    let kinds = presets.first().map(|preset| &preset.kinds);
    let row = |(kind, summary): (&String, &KindSummary)| {
        let mut row = row![kind, summary.questions];
        row.extend(presets.iter().map(|preset| {
            let exact_match = preset.kinds.get(kind).map(|summary| summary.exact_match);
            cell_of(AnswerMetric::ExactMatch, exact_match)
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
    let links: BTreeSet<BrokenLink> = each(presets, |preset| preset.broken.keys())
        .map(|(_, link)| *link)
        .collect();
    let row = |link: BrokenLink| {
        let mut row = row![link.name()];
        let counts = presets.iter().map(|preset| preset.broken.get(&link));
        row.extend(counts.map(|count| count.unwrap_or(&0).to_string()));
        row
    };

    let mut head = heads("first broken link");
    head.extend(presets.iter().map(|preset| preset.preset.clone()));
    table(
        "Wrong answers, by what went wrong first",
        head,
        links.into_iter().map(row),
    )
}

/// Answers from disturbed contexts: one row per disturbance of a preset.
fn stress(presets: &[PresetSummary]) -> Table {
    let row = |(preset, of): (&PresetSummary, &StressSummary)| {
        let counts = [of.questions, of.right, of.lost, of.gained, of.refused];
        let mut row = row![preset.preset, of.disturbance];
        row.extend(counts.map(|count| count.to_string()));
        row
    };
    table(
        "Answers from disturbed contexts",
        heads("preset|context|questions|right|no longer right|right only so|refused"),
        each(presets, |preset| &preset.stress).map(row),
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
        let mut row = row![preset.preset, name];
        for metric in DepthMetric::in_section(section) {
            let values = list.by_depth[metric].iter();
            row.extend(values.map(|value| cell_of(metric, *value)));
        }
        row.extend(cells(section, |metric| Some(list.whole[metric])));
        row
    };
    let named = each(presets, |preset| {
        [("found", &preset.found), ("context", &preset.context)]
    });
    let rows = named.filter_map(|(preset, (name, list))| Some(row(preset, name, list.as_ref()?)));
    table(title, head, rows)
}

fn uncertainty(presets: &[PresetSummary]) -> Table {
    let rows = each(presets, |preset| &preset.uncertainty).map(|(preset, summary)| {
        let label = summary.measure.declaration().label;
        let mut row = row![preset.preset, label, summary.questions];
        row.extend(cells(Section::Uncertainty, |metric| {
            summary.separation[metric]
        }));
        row.push(cell(summary.interval, |interval| {
            format!("[{:.3}, {:.3}]", interval.low, interval.high)
        }));
        row
    });

    let mut head = heads("preset|measure|questions");
    head.extend(labels::<SeparationMetric>(Section::Uncertainty));
    head.push("AUROC, 95 %".to_owned());
    table(
        "How well uncertainty separates wrong answers from right ones",
        head,
        rows,
    )
}

fn utility(presets: &[PresetSummary]) -> Table {
    let pearson = |of: &Correlation| {
        cell(of.pearson, |pearson| match of.interval {
            Some(Interval { low, high, .. }) => format!("{pearson:.3} [{low:.3}, {high:.3}]"),
            None => format!("{pearson:.3}"),
        })
    };
    let rows = each(presets, |preset| &preset.utility).flat_map(|(preset, utility)| {
        let pairs = utility.whole.iter().zip(&utility.every);
        pairs.map(move |(whole, every)| {
            row![
                preset.preset,
                whole.of,
                whole.contexts,
                pearson(whole),
                every.contexts,
                pearson(every),
            ]
        })
    });
    table(
        "Pearson's correlation with the share of evidence in the context",
        heads("preset|measure|whole contexts|Pearson|every context|Pearson"),
        rows,
    )
}

fn understanding(summaries: &[UnderstandingSummary]) -> Table {
    let rows = summaries.iter().map(|summary| {
        let context = if summary.certain {
            "certain"
        } else {
            "uncertain"
        };
        let first = row![summary.preset, context, summary.questions];
        (first, |metric: UnderstandingMetric| {
            Some(summary.values[metric])
        })
    });
    by_metrics(
        "Questions whose context was understood, and others",
        "preset|context|questions",
        Section::Understanding,
        rows,
    )
}

/// Exact match by DENSE, as figures 3 and 5 of "DENSE-RAG" have it.
fn dense(presets: &[PresetSummary]) -> Table {
    let exact_match = |value| cell_of::<AnswerMetric>(AnswerMetric::ExactMatch, value);
    let row = |(preset, interval): (&PresetSummary, &DenseInterval)| {
        let range = match interval.up_to {
            Some(up_to) => format!("{:.1} to {up_to:.1}", interval.above),
            None => format!("above {:.1}", interval.above),
        };
        row![
            preset.preset,
            range,
            interval.questions,
            exact_match(Some(interval.exact_match)),
            exact_match(interval.exact_match_up_to),
            exact_match(interval.exact_match_above),
        ]
    };
    table(
        "Exact match by DENSE, nats",
        heads("preset|DENSE|questions|exact match|up to its end|above it"),
        each(presets, |preset| &preset.dense).map(row),
    )
}

/// Returns the figures of the chunks between the search and the prompt.
fn chunks(presets: &[PresetSummary]) -> Table {
    let searched = presets
        .iter()
        .filter(|preset| preset.chunks[ChunkMetric::Found].is_some());
    let rows = searched.map(|preset| {
        let figure = |metric: ChunkMetric| preset.chunks[metric];
        (row![preset.preset], figure)
    });
    by_metrics(
        "Chunks per question, from the search to the prompt",
        "preset",
        Section::Chunks,
        rows,
    )
}

fn comparisons(comparisons: &[Comparison]) -> Table {
    let mut table = table(
        "Differences with 95 % intervals (paired bootstrap), * where zero lies outside",
        heads("preset|against"),
        comparisons.iter().map(|one| row![one.preset, one.against]),
    );
    add_differences(&mut table, comparisons, |one| &one.scores);
    add_differences(&mut table, comparisons, |one| &one.found);
    add_differences(&mut table, comparisons, |one| &one.cost);
    table
}

/// Adds a column for each metric of a family that some comparison measured.
fn add_differences<M: Metric>(
    table: &mut Table,
    comparisons: &[Comparison],
    values: fn(&Comparison) -> &BTreeMap<M, Interval>,
) {
    let is_measured = |metric: &M| {
        comparisons
            .iter()
            .any(|one| values(one).contains_key(metric))
    };

    for metric in M::in_section(Section::Comparison).filter(is_measured) {
        let declaration = metric.declaration();
        table.head.push(declaration.label.to_owned());
        for (row, one) in table.rows.iter_mut().zip(comparisons) {
            row.push(cell(values(one).get(&metric), |interval| {
                declaration.format.difference(interval)
            }));
        }
    }
}

fn cost(presets: &[PresetSummary]) -> Table {
    let rows = presets.iter().map(|preset| {
        let cost = |metric: CostMetric| Some(preset.cost[metric]);
        (row![preset.preset], cost)
    });
    by_metrics("Cost per question", "preset", Section::Cost, rows)
}
