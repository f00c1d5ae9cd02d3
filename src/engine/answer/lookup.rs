//! One lookup, from the query to the repaired context.

use crate::engine::error::RunError;
use crate::engine::run::{Need, Passages, Roles, Run, context, pins};

/// What was looked up, and what it brought.
pub struct LookUp {
    pub query: String,
    pub passages: Passages,
}

/// One lookup, from the query to the repaired context: at the start, or for a doubted sentence.
pub fn look_up(run: &mut Run<'_>, roles: &mut Roles, need: &Need<'_>) -> Result<LookUp, RunError> {
    let question = need.question;
    let rewritten = match need.doubted {
        None => roles.rewriter.rewrite(run, question)?,
        Some(_) => question.to_owned(),
    };
    let query = roles.query_writer.write(
        run,
        &Need {
            question: &rewritten,
            ..*need
        },
    )?;
    let found = roles.retriever.retrieve(run, &query)?;
    let (pinned, found) = pins::apart(&run.tools.config.retriever, found);
    let found = roles.linker.apply(run, question, found)?;
    let found = roles.filter.apply(run, question, found)?;
    let mut found = roles.reranker.apply(run, question, found)?;
    found.kept.extend(pinned);
    let passages = context::choose(run, question, found)?;
    let understood = roles.understanding.measure(run, question, &passages)?;
    let (passages, understood) = roles.chunker.recut(run, question, passages, understood)?;
    let passages = roles.refiner.refine(run, question, passages, understood)?;
    Ok(LookUp { query, passages })
}
