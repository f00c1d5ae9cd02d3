//! One lookup, from the query to the repaired context.

use crate::engine::error::RunError;
use crate::engine::run::{Need, Passages, Roles, Run, context, pins};

/// A query and the passages that it retrieved.
pub struct Lookup {
    pub query: String,
    pub passages: Passages,
}

/// Retrieves passages at the start, or for an uncertain sentence.
pub fn retrieve(run: &mut Run<'_>, roles: &mut Roles, need: &Need<'_>) -> Result<Lookup, RunError> {
    let rewritten = match need.uncertain {
        None => roles.rewriter.rewrite(run)?,
        Some(_) => run.question.to_owned(),
    };
    let query = roles.query_writer.write(run, &rewritten, need)?;

    let mut retrieved = roles.retriever.retrieve(run, &query)?;
    retrieved.sought = sought(run.question, need);
    // pinned chunks pass by the stages: none of them may drop one
    let (pinned, candidates) = pins::split_pinned(&run.tools.config.retriever, retrieved);
    let candidates = roles.linker.apply(run, candidates)?;
    let candidates = roles.filter.apply(run, candidates)?;
    let mut candidates = roles.reranker.apply(run, candidates)?;
    candidates.hits.extend(pinned);

    let passages = context::choose(run, candidates)?;
    let understood = roles.understanding.measure(run, &passages)?;
    let (passages, understood) = roles.rechunker.rechunk(run, passages, understood)?;
    let passages = roles.refiner.refine(run, passages, understood)?;
    Ok(Lookup {
        query: query.text,
        passages,
    })
}

/// Returns what the passages of a lookup are judged by. By the question alone a passage about the
/// subject of the second search of a chain is irrelevant: the question does not name it.
fn sought(question: &str, need: &Need<'_>) -> String {
    match need.confirmed.last().filter(|_| need.uncertain.is_some()) {
        Some(last) => format!("{question} {last}"),
        None => question.to_owned(),
    }
}
