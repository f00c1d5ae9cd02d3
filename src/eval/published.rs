//! The figures that tables of papers print, beside those of a report.

use serde::Serialize;

use super::metrics::Metric as _;
use super::paper::{PaperRow, PaperTable, paper_name};
use super::paper_metric::PublishedMetric;
use super::summary::{PresetSummary, UnderstandingSummary};

/// A published figure beside the one that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigure {
    pub row: String,
    pub metric: PublishedMetric,
    pub dataset: String,
    pub published: f64,
    /// `None` where nothing was measured.
    pub measured: Option<f64>,
}

/// The figures of a table beside those measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    pub title: String,
    pub figures: Vec<PublishedFigure>,
}

impl Published {
    /// Compares presets that are the rows of this table with what the paper prints for one dataset,
    /// or for all of them without a name, of the model that is the nearest to `generator` in size.
    pub fn new(
        table: &PaperTable,
        presets: &[PresetSummary],
        understanding: &[UnderstandingSummary],
        dataset: Option<&str>,
        generator: &str,
    ) -> Self {
        let model = table.nearest_model(generator);
        let rows = table.rows.iter();
        Self {
            title: format!(
                "{} {}, as published of {model} and here",
                table.name, table.title
            ),
            figures: rows
                .flat_map(|row| table.figures(row, model, presets, understanding, dataset))
                .collect(),
        }
    }
}

impl PaperTable {
    fn figures(
        &self,
        row: &PaperRow,
        model: &str,
        presets: &[PresetSummary],
        understanding: &[UnderstandingSummary],
        dataset: Option<&str>,
    ) -> Vec<PublishedFigure> {
        let scale = if self.percent { 0.01 } else { 1.0 };
        let summary = presets.iter().find(|preset| preset.preset == row.name);
        let wanted = dataset.map(paper_name);
        let published = self.published_figures(row, model).iter();
        let of_dataset =
            published.filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name.as_str()));

        let mut figures = Vec::new();
        for (name, values) in of_dataset {
            for (metric, value) in self.figures.iter().zip(values) {
                let figure = metric.declaration().compute;
                figures.push(PublishedFigure {
                    row: row.name.clone(),
                    metric: *metric,
                    dataset: name.clone(),
                    published: value * scale,
                    measured: summary.and_then(|summary| figure.value(understanding, summary)),
                });
            }
        }
        figures
    }
}
