//! Citations of the statements that no source holds by its words: the generator is asked whether
//! the passage that comes closest states them.

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, context};
use crate::event::{Citation, Evidence, RunEvent};
use crate::methods::{JudgementKind, ModelCalls as _};

use super::marks::without_marks;
use super::sources::Supports;

/// Statements that the generator judges: each costs about 150 tokens of prompt.
const MAX_JUDGED: usize = 4;

/// Least probability of "yes" at which a passage is cited. Of 44 uncited statements about four
/// folders, a model of 1.5 billion parameters called 17 of 22 right ones and 4 of 22 others more
/// likely, and 2 of the others come near enough to a source to be asked about
/// (`benches/experiments/2026-11-26-figures.md`).
const MIN_STATED: f32 = 0.85;

/// Cites the passages that state sentences of the answer in other words, and emits the citations.
/// `uncited` are the steps of the sentences.
///
/// # Errors
///
/// Failures of the model.
pub fn cite_uncited(
    run: &mut Run<'_>,
    answer: &mut Answer,
    uncited: &[u32],
    passages: &Passages,
) -> Result<(), RunError> {
    let supports = Supports::new(run.question, passages);
    let sentences = answer.sentences.iter().enumerate();
    let uncited = sentences.filter(|(_, sentence)| uncited.contains(&sentence.step));
    let near = uncited.filter_map(|(at, sentence)| {
        let text = sentence.text();
        Some((at, without_marks(text), supports.nearest(text)?))
    });
    let near: Vec<(usize, String, Citation)> = near.take(MAX_JUDGED).collect();
    if near.is_empty() {
        return Ok(());
    }

    let prompts = near.iter().map(|(_, statement, citation)| {
        let chunk = &passages.hits[citation.label as usize - 1].chunk;
        context::statement_prompt(run.tools.prompts, statement, &chunk.embedded_text())
    });
    let prompts: Vec<_> = prompts.collect();
    let rows = run.classify(JudgementKind::STATEMENT_HELD, &prompts)?;

    for ((at, _, citation), row) in near.into_iter().zip(rows) {
        let share = row.shares.first().copied().unwrap_or(0.0);
        if share < MIN_STATED || !row.names_label() {
            continue;
        }
        let evidence = Evidence::Judged { share };
        let citations = vec![Citation {
            evidence,
            ..citation
        }];
        let sentence = &mut answer.sentences[at];
        sentence.citations.clone_from(&citations);
        run.emit(RunEvent::StepCited {
            step: sentence.step,
            text: sentence.text().to_owned(),
            citations: citations.clone(),
        });
        answer.citations.extend(citations);
    }
    Ok(())
}
