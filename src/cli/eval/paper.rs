//! `eval --paper`: the rows of a paper's table, and what is missing for them, before anything runs.

use clap::builder::{PossibleValue, PossibleValuesParser};

use super::Variant;
use crate::cli::failure::Stopped;
use crate::cli::output::Output;
use crate::config::Layers;
use crate::eval::PaperTable;

/// Returns the tables for the command line.
pub(super) fn names() -> PossibleValuesParser {
    let named = |table: &'static PaperTable| {
        PossibleValue::new(table.name.as_str()).help(table.title.as_str())
    };
    PaperTable::all()
        .iter()
        .map(named)
        .collect::<Vec<_>>()
        .into()
}

/// Returns the rows of a table, each with its preset and settings.
pub(super) fn variants(table: &PaperTable, layers: &Layers) -> Result<Vec<Variant>, Stopped> {
    let variant = |row: &crate::eval::PaperRow| {
        let preset = ("preset".to_owned(), row.preset.clone());
        let settings: Vec<(String, String)> =
            std::iter::once(preset).chain(row.set.clone()).collect();
        Ok(Variant {
            name: row.name.clone(),
            repeated: row.name.clone(),
            layers: layers.with(&settings)?,
        })
    };
    table.rows.iter().map(variant).collect()
}

/// Reports how this evaluation differs from the paper's.
pub(super) fn remark(table: &PaperTable, model: &str, dataset: Option<&str>, out: &mut Output) {
    out.remark(&format!("{}: {}", table.name, table.title));
    out.remark(&format!(
        "the paper's figures are those of {}; here {model} answers",
        table.model
    ));

    let published = table.datasets().join(", ");
    match dataset {
        Some(name) if table.datasets().contains(&name) => {}
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
