//! `eval --paper`: the rows of a paper's table, and what is missing for them, before anything runs.

use std::path::Path;

use super::variants::Variant;
use crate::cli::failure::Stopped;
use crate::cli::output::Output;
use crate::config::{GateKind, Layers, Paths, ProbeFile, Setting};
use crate::eval::{PaperTable, paper_name};
use crate::event::ProbeCard;
use crate::probe;

/// The setting of the worked examples, whose choices have the names of their datasets.
const EXAMPLES: &str = "answer.examples";

/// Returns the rows of a table, each with its preset and settings, and with the worked examples of
/// the dataset where there are any.
pub(super) fn variants(
    table: &PaperTable,
    dataset: Option<&str>,
    layers: &Layers,
) -> Result<Vec<Variant>, Stopped> {
    let choices = Setting::find(EXAMPLES).map_or(&[][..], |setting| setting.choices);
    let examples = dataset.filter(|name| choices.iter().any(|choice| choice.name == *name));

    let variant = |row: &crate::eval::PaperRow| {
        let preset = ("preset".to_owned(), row.preset.clone());
        let examples = examples.map(|name| (EXAMPLES.to_owned(), name.to_owned()));
        let settings = std::iter::once(preset)
            .chain(examples)
            .chain(row.set.clone());
        Ok(Variant {
            name: row.name.clone(),
            layers: layers.with(&Vec::from_iter(settings))?,
        })
    };

    table.rows.iter().map(variant).collect()
}

/// Reports how this evaluation differs from the paper's.
pub(super) fn remark(table: &PaperTable, model: &str, dataset: Option<&str>, out: &mut Output) {
    out.remark(&format!("{}: {}", table.name, table.title));
    out.remark(&format!(
        "the paper's figures are those of {}; here {model} answers",
        table.nearest_model(model)
    ));

    let published = table.datasets().join(", ");
    match dataset {
        Some(name) if table.datasets().contains(&paper_name(name)) => {}
        Some(name) => out.remark(&format!(
            "the paper has no figures on {name}: it has {published}"
        )),
        None => out.remark(&format!(
            "the paper has figures on {published}; --dataset NAME shows those of one alone"
        )),
    }
    if !table.left_out.is_empty() {
        out.remark(&format!("left out: {}", table.left_out.join(", ")));
    }
    for sentence in &table.differs {
        out.remark(sentence);
    }
}

/// Reports the rows whose gate has no probe: the token entropy decides in its place.
pub(super) fn remark_probes(
    rows: &[Variant],
    paths: &Paths,
    out: &mut Output,
) -> Result<(), Stopped> {
    let folders = probe::folders(paths).into_iter();
    let files = folders.flat_map(|folder| probe::files(&folder));
    let known: Vec<ProbeCard> = files
        .filter_map(|file| probe::describe(&file).ok())
        .collect();

    for row in rows {
        let config = row.layers.config()?;
        let wanted = &config.probe;
        let model = Path::new(&config.generator.model);
        let fits = |card: &ProbeCard| {
            (card.labels, card.turns) == (wanted.labels, wanted.turns)
                && model.ends_with(&card.generator)
        };

        let is_asked = config.gate.kind == GateKind::Probe && config.gate.probe == ProbeFile::Auto;
        if is_asked && !known.iter().any(fits) {
            let text = |key| {
                let setting = Setting::find(key);
                setting.map_or_else(String::new, |setting| setting.text(&config))
            };
            out.remark(&format!(
                "{}: no probe for {} with probe.turns={} and probe.labels={}: the token entropy decides",
                row.name,
                model.display(),
                text("probe.turns"),
                text("probe.labels"),
            ));
        }
    }

    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WorkedExamples;

    #[test]
    fn a_dataset_has_its_own_worked_examples() {
        let table = PaperTable::find("searag:1").expect("a table");
        let of = |dataset| {
            let variants = variants(table, dataset, &Layers::defaults()).expect("rows");
            variants[0]
                .layers
                .config()
                .expect("settings")
                .answer
                .examples
        };
        assert_eq!(of(Some("strategyqa")), WorkedExamples::StrategyQa);
        assert_eq!(of(Some("musique")), WorkedExamples::General);
        assert_eq!(of(None), WorkedExamples::General);
    }
}
