//! Citations by judgement: the generator is asked whether the passage that comes closest states
//! what no source holds by its words, and whether a cited one does that holds only some of them.

use crate::corpus::named_cells;
use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, Sentence, context};
use crate::event::{Citation, Evidence, RunEvent};
use crate::methods::{JudgementKind, ModelCalls as _};

use super::citations::WHOLE_SHARE;
use super::marks::without_marks;
use super::sources::Supports;
use super::wording::is_entry;

/// Statements that the generator judges: each costs about 150 tokens of prompt.
const MAX_JUDGED: usize = 4;

/// Least probability of "yes" at which a passage is cited. Of 44 uncited statements about four
/// folders, a model of 1.5 billion parameters called 17 of 22 right ones and 4 of 22 others more
/// likely, and 2 of the others come near enough to a source to be asked about
/// (`benches/experiments/2026-11-26-figures.md`). Of 15 later citations by some of the words it
/// takes 4 of 4 wrong ones back, and 2 of 9 right ones (`benches/experiments/2026-11-28.md`).
const MIN_STATED: f32 = 0.85;

/// Cites the passages that state sentences of the answer in other words, takes the citations back
/// that hold some words of a sentence and do not state it, and emits both. `uncited` and `cited`
/// are the steps of the sentences that state something; those without a citation are asked about
/// first.
///
/// # Errors
///
/// Failures of the model.
pub fn judge_citations(
    run: &mut Run<'_>,
    answer: &mut Answer,
    [uncited, cited]: [&[u32]; 2],
    passages: &Passages,
) -> Result<(), RunError> {
    let supports = Supports::new(run.question, passages);
    let sentences = || answer.sentences.iter().enumerate();
    let missing = sentences().filter(|(_, one)| uncited.contains(&one.step));
    let missing = missing.map(|(at, one)| (at, one, supports.nearest(one.text())));
    let known = sentences().filter(|(_, one)| cited.contains(&one.step));
    let known = known.map(|(at, one)| (at, one, half_held(one).cloned()));
    let near = missing
        .chain(known)
        .filter_map(|(at, one, citation)| Some((at, without_marks(one.text()), citation?)));
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
        let sentence = &mut answer.sentences[at];
        let is_stated = share >= MIN_STATED;
        if is_stated != sentence.citations.is_empty() || !row.names_label() {
            continue;
        }
        let evidence = Evidence::Judged { share };
        let citation = Citation {
            evidence,
            ..citation
        };
        let citations = Vec::from_iter(is_stated.then_some(citation));
        sentence.citations.clone_from(&citations);
        run.emit(RunEvent::StepCited {
            step: sentence.step,
            text: sentence.text().to_owned(),
            citations: citations.clone(),
        });
        answer.citations.extend(citations);
    }
    let sentences = &answer.sentences;
    let is_cited = |known: &Citation| sentences.iter().any(|one| one.citations.contains(known));
    answer.citations.retain(is_cited);
    Ok(())
}

/// Returns the only citation of a sentence, where its source holds some of the words. A row or an
/// item has few of its own, and a model denies what is right of it.
fn half_held(sentence: &Sentence) -> Option<&Citation> {
    let [citation] = sentence.citations.as_slice() else {
        return None;
    };
    match citation.evidence {
        Evidence::Overlap { share } if share < WHOLE_SHARE => {
            let quote = citation.quote.as_deref().unwrap_or_default();
            let is_row = is_entry(quote) || named_cells(quote).is_some();
            (!is_row).then_some(citation)
        }
        _ => None,
    }
}
