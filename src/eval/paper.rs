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
    /// The same of the other models of the table, by their name.
    #[serde(default)]
    pub(super) of_model: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
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

    /// Returns the model of the table whose size is the nearest to that of a generator, by their
    /// names; the one that the table is of where a name states no size.
    pub fn nearest_model(&self, generator: &str) -> &str {
        let Some(wanted) = billions(generator) else {
            return &self.model;
        };
        let others = self.rows.iter().flat_map(|row| row.of_model.keys());
        let distance = |model: &&str| {
            let size = billions(model)?;
            Some((size / wanted).ln().abs())
        };

        std::iter::once(self.model.as_str())
            .chain(others.map(String::as_str))
            .filter_map(|model| Some((distance(&model)?, model)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b))
            .map_or(&self.model, |(_, model)| model)
    }

    /// Returns the figures of a row by dataset, of one of the table's models.
    pub(super) fn published_figures<'r>(
        &self,
        row: &'r PaperRow,
        model: &str,
    ) -> &'r BTreeMap<String, Vec<f64>> {
        row.of_model.get(model).unwrap_or(&row.published)
    }
}

/// Returns the dataset under which papers print the figures of another form of its questions.
pub fn paper_name(dataset: &str) -> &str {
    match dataset {
        "nq-open" => "kilt",
        other => other,
    }
}

/// Returns the parameters of a model, in billions, that its name states: 1.5 for
/// `qwen2.5-1.5b-instruct`.
fn billions(name: &str) -> Option<f64> {
    let name = name.strip_suffix(".gguf").unwrap_or(name);
    let parts = name.split(['-', '_', '/', ' ', '\\']);
    parts.rev().find_map(|part| {
        let unit = part.to_ascii_lowercase();
        let scale = match unit.chars().last()? {
            'b' => 1.0,
            'm' => 0.001,
            _ => return None,
        };
        let number: f64 = unit[..unit.len() - 1].parse().ok()?;
        (number > 0.0).then_some(number * scale)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ChunkerKind, Layers, RefinerKind, RetrieverKind};
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

                let others = row.of_model.values();
                for values in others.chain([&row.published]).flat_map(BTreeMap::values) {
                    assert!(values.len() <= table.figures.len(), "{name} {}", row.name);
                    let limit = if table.percent { 300.0 } else { 1.0 };
                    assert!(values.iter().all(|value| (0.0..=limit).contains(value)));
                }
            }
        }
    }

    #[test]
    fn figures_are_those_of_the_model_that_is_the_nearest_in_size() {
        let cases = [
            (
                "dense-rag:9",
                "models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "Qwen-2.5-1.5B",
            ),
            (
                "dense-rag:9",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                "Qwen-2.5-1.5B",
            ),
            ("dense-rag:9", "SmolLM2-135M.gguf", "Qwen-2.5-1.5B"),
            ("dense-rag:9", "Qwen3-8B.gguf", "Llama-3.1-8B"),
            ("dense-rag:9", "Llama-3-70B.gguf", "Llama-3.1-70B"),
            ("dense-rag:9", "ragscope-reader.Q5_0.gguf", "Llama-3.1-8B"),
            ("searag:1", "qwen2.5-1.5b.gguf", "Llama-2-7B"),
        ];
        for (table, generator, expected) in cases {
            let table = PaperTable::find(table).expect("a table");
            assert_eq!(table.nearest_model(generator), expected, "{generator}");
        }

        let table = PaperTable::find("dense-rag:9").expect("a table");
        let published = table.published_figures(&table.rows[0], "Qwen-2.5-1.5B");
        assert_eq!(published["kilt"], [47.7, 24.8]);
        assert_eq!(paper_name("nq-open"), "kilt");
    }

    /// The entropy of a question and its answer are of one context, and pairs of rows differ by
    /// what their table is about.
    #[test]
    fn the_rows_of_a_table_differ_by_what_it_is_about() {
        let config = |row: &PaperRow| {
            let mut layers = Layers::defaults();
            layers.set("test", "preset", &row.preset).expect("a preset");
            for (key, value) in &row.set {
                layers.set("test", key, value).expect("a setting");
            }
            layers.config().expect("valid settings")
        };

        for name in ["dense-rag:1", "dense-rag:9"] {
            let table = PaperTable::find(name).expect("a table");
            for config in table.rows.iter().map(config) {
                assert_eq!(config.chunker.kind, ChunkerKind::Fixed, "{name}");
                assert_eq!(config.refiner.kind, RefinerKind::Off, "{name}");
                assert_eq!(config.retriever.kind, RetrieverKind::Vectors, "{name}");
            }
        }

        let table = PaperTable::find("saki-rag:5").expect("a table");
        let published = table.rows.iter().filter(|row| !row.published.is_empty());
        for config in published.map(config) {
            assert_eq!(config.retriever.kind, RetrieverKind::Vectors);
            assert_eq!((config.chunker.max_sentences, config.retriever.k), (2, 5));
            assert_eq!((config.linker.merge, config.filter.fallback), (false, 0));
        }
    }
}
