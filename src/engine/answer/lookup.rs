//! One lookup, from the query to the repaired context.

use crate::config::StageUse;
use crate::engine::error::RunError;
use crate::engine::run::{Need, Passages, Query, Roles, Run, Searched, context, pins};
use crate::event::Part;

/// A query and the passages that it retrieved.
pub struct Lookup {
    pub query: Query,
    pub passages: Passages,
}

/// The stages that a lookup goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What is retrieved, in its order.
    Least,
    /// All stages of the preset.
    Full,
}

impl Effort {
    /// Returns the effort of the first lookup for a sentence. Without a gate nothing says whether
    /// more is needed.
    pub fn first(run: &Run<'_>, roles: &Roles) -> Self {
        match run.tools.config.stages.when {
            StageUse::AsNeeded if roles.gate.card(run).is_some() => Self::Least,
            StageUse::AsNeeded | StageUse::Always => Self::Full,
        }
    }
}

/// Retrieves passages at the start, or for an uncertain sentence.
pub fn retrieve(
    run: &mut Run<'_>,
    roles: &mut Roles,
    need: &Need<'_>,
    effort: Effort,
) -> Result<Lookup, RunError> {
    let rewritten = match need.uncertain {
        None if run.has_time_for(Part::Rewriter, 0) => roles.rewriter.rewrite(run)?,
        None | Some(_) => run.question.to_owned(),
    };
    let query = roles.query_writer.write(run, &rewritten, need)?;
    let passages = passages(run, roles, need, &query, effort)?;
    Ok(Lookup { query, passages })
}

/// Returns the passages that a query retrieves, after the stages of this effort.
pub fn passages(
    run: &mut Run<'_>,
    roles: &mut Roles,
    need: &Need<'_>,
    query: &Query,
    effort: Effort,
) -> Result<Passages, RunError> {
    let mut retrieved = roles.retriever.retrieve(run, query)?;
    retrieved.sought = sought(run.question, need);
    retrieved.searches = match query.searches.as_slice() {
        [_one] => vec![Searched::of(&retrieved.sought)],
        several => several.to_vec(),
    };
    // pinned chunks pass by the stages: none of them may drop one
    let (pinned, mut candidates) = pins::split_pinned(&run.tools.config.retriever, retrieved);
    if effort == Effort::Full {
        if run.has_time_for(Part::Linker, candidates.hits.len()) {
            candidates = roles.linker.apply(run, candidates)?;
        }
        if run.has_time_for(Part::Filter, candidates.hits.len()) {
            candidates = roles.filter.apply(run, candidates)?;
        }
        if run.has_time_for(Part::Reranker, candidates.hits.len()) {
            candidates = roles.reranker.apply(run, candidates)?;
        }
    }
    candidates.hits.extend(pinned);

    let passages = context::choose(run, candidates)?;
    if effort == Effort::Least || !run.has_time_for(Part::Understanding, passages.hits.len()) {
        return Ok(passages);
    }
    let understood = roles.understanding.measure(run, &passages)?;
    if !run.has_time_for(Part::Refiner, passages.hits.len()) {
        return Ok(passages);
    }
    let (passages, understood) = roles.rechunker.rechunk(run, passages, understood)?;
    roles.refiner.refine(run, passages, understood)
}

/// Returns what the passages of a lookup are judged by. By the question alone a passage about the
/// subject of the second search of a chain is irrelevant: the question does not name it.
fn sought(question: &str, need: &Need<'_>) -> String {
    match need.confirmed.last().filter(|_| need.uncertain.is_some()) {
        Some(last) => format!("{question} {last}"),
        None => question.to_owned(),
    }
}
