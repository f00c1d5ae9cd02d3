//! Linking a whole corpus in the background.

use std::time::Instant;

use crate::config::LinkerSettings;
use crate::engine::error::RunError;
use crate::engine::stages::link_builder;
use crate::event::{
    CorpusCard, IndexPhase, LinkReport, Problem, SessionEvent, SkippedFile, elapsed_ms,
};
use crate::index::{Collection, LinkedState, Position, Progress, Search as _};
use crate::llm::{LlmError, OpenGenerator};

use super::stamp::Emit;

/// Links every document of the corpus that has no links of the recipe in use. Returns `None` when
/// it was stopped.
pub fn link_corpus(
    index: &Collection,
    model: &mut dyn OpenGenerator,
    settings: &LinkerSettings,
    publish: Emit<'_>,
) -> Result<Option<LinkReport>, RunError> {
    let started = Instant::now();
    let before = index.link_state();
    let mut report = new_report(index, &before, model, settings);
    if let Some(other) = before.other_models.first() {
        let _ = publish(unused_links(&other.model_file, &report.corpus));
    }
    if before.unlinked.is_empty() {
        return Ok(Some(report));
    }

    let chunks = before.unlinked.iter().map(|(_, chunks)| u64::from(*chunks));
    let total: u64 = chunks.sum();
    let mut progress = Progress::new(publish);
    let mut done = 0;
    for (path, count) in &before.unlinked {
        let mut flow = |of_document: usize| {
            let done = done + of_document as u64;
            progress.step(&Position {
                phase: IndexPhase::Linking,
                done,
                total: Some(total),
                file: Some(path),
                units: done,
                time: started.elapsed(),
            })
        };
        let chunks = index.document(path)?;
        match link_builder::link(index, model, settings, &chunks, &mut flow)? {
            Ok(links) => {
                index.keep_links(path, &links)?;
                report.linked += 1;
                report.documents += 1;
                report.chunks += u64::from(*count);
            }
            Err(LlmError::Stopped(_)) => return Ok(None),
            // a document that cannot be linked does not keep the others from it
            Err(error) => report
                .skipped
                .push(SkippedFile::new(path, error.to_string())),
        }
        done += u64::from(*count);
    }

    index.compact_links()?;
    report.wall_ms = elapsed_ms(started);
    let _ = publish(SessionEvent::LinksFinished {
        report: report.clone(),
    });
    Ok(Some(report))
}

/// Returns the report of the links that are there.
fn new_report(
    index: &Collection,
    before: &LinkedState,
    model: &dyn OpenGenerator,
    settings: &LinkerSettings,
) -> LinkReport {
    LinkReport {
        corpus: index.card(),
        linker: settings.kind.name().to_owned(),
        model: model.card().file.clone(),
        documents: before.documents,
        chunks: before.chunks,
        linked: 0,
        known: before.documents,
        skipped: Vec::new(),
        wall_ms: 0,
    }
}

/// Warns of links that another model made.
fn unused_links(model_file: &str, corpus: &CorpusCard) -> SessionEvent {
    SessionEvent::warning(Problem::new(
        format!("the links of this index were made with {model_file} and are not used"),
        format!(
            "rebuild them with `ragscope links {} --rebuild`",
            corpus.arguments()
        ),
    ))
}
