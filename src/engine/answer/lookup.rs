//! One lookup, from the query to the repaired context.

use crate::config::RewriterKind;
use crate::engine::error::RunError;
use crate::engine::run::{Effort, Need, Passages, Query, Run, Searched, context, pins};
use crate::engine::stages::{
    filter, linker, query_writer, refiner, reranker, retriever, rewriter, understanding,
};

/// A query and the passages that it retrieved.
pub struct Lookup {
    pub query: Query,
    pub passages: Passages,
}

/// Retrieves passages at the start, or for an uncertain sentence.
pub fn retrieve(run: &mut Run<'_>, need: &Need<'_>, effort: Effort) -> Result<Lookup, RunError> {
    let rewritten = match need.uncertain {
        None => rewriter::rewrite(run)?,
        Some(_) => run.question.to_owned(),
    };
    let mut query = query_writer::write(run, &rewritten, need)?;
    let subjects = need.subjects.iter().map(|subject| Searched::new(subject));
    query.searches.extend(subjects);
    let passages = passages(run, need, &query, effort)?;
    Ok(Lookup { query, passages })
}

/// Returns the passages that a query retrieves, after the stages of this effort.
pub fn passages(
    run: &mut Run<'_>,
    need: &Need<'_>,
    query: &Query,
    effort: Effort,
) -> Result<Passages, RunError> {
    run.effort = effort;
    let retrieved = retriever::retrieve(run, query)?;
    let question = match run.tools.config.rewriter.kind {
        RewriterKind::Replace if need.uncertain.is_none() => &query.text,
        RewriterKind::Off | RewriterKind::Generator | RewriterKind::Replace => run.question,
    };
    let retrieved = for_need(retrieved, question, need, query);

    // pinned chunks pass by the stages: none of them may drop one
    let (pinned, candidates) = pins::split_pinned(&run.tools.config.retriever, retrieved);
    let candidates = linker::link(run, candidates)?;
    let candidates = filter::filter(run, candidates)?;
    let mut candidates = reranker::rerank(run, candidates)?;
    candidates.hits.extend(pinned);

    let passages = context::choose(run, candidates)?;
    let understood = understanding::measure_retrieved(run, &passages)?;
    refiner::refine(run, passages, understood)
}

/// Returns the passages with what they are judged by, and what they were searched for. By the
/// question alone a passage about the subject of the second search of a chain is irrelevant: the
/// question does not name it.
fn for_need(passages: Passages, question: &str, need: &Need<'_>, query: &Query) -> Passages {
    let sought = match need.confirmed.last().filter(|_| need.uncertain.is_some()) {
        Some(last) => format!("{question} {last}"),
        None => question.to_owned(),
    };
    let searches = match query.searches.as_slice() {
        [_one] => vec![Searched::new(&sought)],
        several => several.to_vec(),
    };
    Passages {
        sought,
        searches,
        ..passages
    }
}
