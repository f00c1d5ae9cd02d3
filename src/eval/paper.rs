//! The tables of the papers: what each row is asked with, and the figures that the paper prints.
//! They are declared in `config/papers.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::paper_metric::PublishedMetric;

/// A table of a paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable {
    /// The paper, as its preset is named, and the number of the table: `searag:3`.
    pub name: String,
    pub title: String,
    /// The model whose figures are quoted.
    pub model: String,
    /// The columns.
    pub figures: Vec<PublishedMetric>,
    /// Whether the published figures are printed in percent.
    #[serde(default)]
    pub(super) percent: bool,
    /// Parts of the paper's table that ragscope does not have.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Differences from the paper, as sentences.
    #[serde(default)]
    pub differs: Vec<String>,
    #[serde(rename = "row")]
    pub rows: Vec<PaperRow>,
}

/// A row of a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    pub name: String,
    pub preset: String,
    /// The settings that differ from the preset.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The printed figures by dataset, in the order of the columns; the last ones may be missing.
    #[serde(default)]
    pub(super) published: BTreeMap<String, Vec<f64>>,
}

static TABLES: LazyLock<Vec<PaperTable>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        table: Vec<PaperTable>,
    }

    // the file is embedded, and a test reads it
    toml::from_str(include_str!("../../config/papers.toml"))
        .map_or_else(|_| Vec::new(), |file: File| file.table)
});

impl PaperTable {
    /// Returns all tables.
    pub fn all() -> &'static [Self] {
        &TABLES
    }

    /// Returns the table with this name, such as `searag:3`.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|table| table.name == name)
    }

    /// Returns the datasets with published figures, each once.
    pub fn datasets(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .rows
            .iter()
            .flat_map(|row| row.published.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;
    use crate::eval::datasets::DATASETS;

    #[test]
    fn every_row_can_be_set_up_and_every_dataset_can_be_read() {
        assert!(PaperTable::all().len() >= 12, "the file is read");
        for table in PaperTable::all() {
            let name = &table.name;
            assert_eq!(PaperTable::find(name).expect("found").title, table.title);
            assert!(!table.datasets().is_empty(), "{name}");
            for dataset in table.datasets() {
                let is_known = DATASETS.iter().any(|known| known.name == dataset);
                assert!(is_known, "{name}: {dataset}");
            }

            for row in &table.rows {
                let mut layers = Layers::defaults();
                layers.set("test", "preset", &row.preset).expect("a preset");
                for (key, value) in &row.set {
                    layers.set("test", key, value).expect("a setting");
                }
                layers.config().expect("valid settings");

                for values in row.published.values() {
                    assert!(values.len() <= table.figures.len(), "{name} {}", row.name);
                    let limit = if table.percent { 300.0 } else { 1.0 };
                    assert!(values.iter().all(|value| (0.0..=limit).contains(value)));
                }
            }
        }
    }
}
