//! The answer to a question for rows of a table: no model reads them where a rule reads the whole
//! question.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, context};
use crate::event::{ChunkText, Citation, Hit, QuestionKind, Scope};
use crate::methods::joined::chunks_of;

use super::quotes::quotation;
use super::scope::{asks_for_several, asks_for_table};
use super::sources::Supports;
use super::table::{RowQuestion, Table, has_rows, to_markdown};

/// Hits whose table is looked at, and other passages beside the rows.
const MAX_TABLES: usize = 3;
const MAX_OTHERS: usize = 3;

/// The choice of rows for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// There are no such rows.
    Nothing,
    /// A model answers from the rows: the question has words that no rule reads.
    ByCells,
    /// The rows are the answer: the question has no words but those of the table. `left_out` more
    /// are not shown.
    Whole { left_out: usize },
}

/// Puts the rows that the question asks for in the place of the first passage with a table that has
/// them, whichever chunks they are in. The place of the passage says how they were chosen.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_rows(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Choice, RunError> {
    let question = RowQuestion::read(asked);
    let asks_for_rows = scope.kind == QuestionKind::Listing
        || asks_for_several(&question.text)
        || question.is_count
        || question.asks_for_extreme();
    let corpus = run.tools.corpus.as_ref();
    let Some(corpus) = corpus.filter(|_| asks_for_rows) else {
        return Ok(Choice::Nothing);
    };

    for at in 0..passages.hits.len().min(MAX_TABLES) {
        let hit = &passages.hits[at].chunk;
        if !has_rows(&hit.text) {
            continue;
        }
        let chunks = corpus.index.document(&hit.document)?;
        let (section, _) = section(hit, &chunks);
        let table = Table::new(hit, &chunks[section]);
        let Some(chosen) = table.choose(&question) else {
            continue;
        };

        let of_table: BTreeSet<u64> = table.chunks().collect();
        let mut others = passages.hits.clone();
        others.remove(at);
        others.retain(|other| !of_table.contains(&other.chunk.id));
        // the rows of a second table of the kind would be missing
        let is_one = !others.iter().any(|other| table.is_like(&other.chunk));
        let choice = if is_one && table.reads_all(&question, hit) {
            Choice::Whole {
                left_out: chosen.count().saturating_sub(question.max_rows()),
            }
        } else {
            Choice::ByCells
        };

        let shown = Hit {
            chunk: chosen.chunk(hit, question.max_rows()),
            ..passages.hits[at].clone()
        };
        others.truncate(MAX_OTHERS);
        others.insert(0, shown);
        if choice == Choice::ByCells && !context::fits(run, &others)? {
            continue;
        }
        passages.hits = others;
        run.emit_read(asked.to_owned(), &passages.hits);
        context::publish(run, passages)?;
        return Ok(choice);
    }
    Ok(Choice::Nothing)
}

/// Answers with the rows that were chosen, each with its place; as a table where the question asks
/// for one.
pub fn give_rows(run: &mut Run<'_>, passages: &Passages, left_out: usize) -> Answer {
    let mut answer = Answer::default();
    let supports = Supports::new(run.question, passages);
    let mut rows = supports.quotations();
    rows.retain(|row| row.label == 1);
    if asks_for_table(run.question) {
        let texts = rows.iter().filter_map(|row| row.quote.as_deref());
        let table = to_markdown(texts);
        let cited = rows.first().cloned().map(|first| Citation {
            last_line: rows.last().map_or(first.last_line, |last| last.last_line),
            quote: None,
            ..first
        });
        run.give_step(&mut answer, "", table, cited);
        rows.clear();
    } else {
        let place = passages
            .hits
            .first()
            .and_then(|hit| hit.chunk.headings.last());
        let lead = place.map(|place| format!("{place}:")).unwrap_or_default();
        run.give_step(&mut answer, "", lead, None);
    }
    for row in rows {
        let text = quotation(row.quote.as_deref().unwrap_or_default());
        run.give_step(&mut answer, "\n", format!("- {text}"), Some(row));
    }
    if left_out > 0 {
        run.give_step(&mut answer, "\n\n", format!("… +{left_out}"), None);
    }
    answer
}

/// Returns which chunks of a document are below the headings of a text, as far as nothing else
/// stands between them, and which of these are its own; none where it has none.
pub fn section(text: &ChunkText, chunks: &[ChunkText]) -> (Range<usize>, Range<usize>) {
    let own = chunks_of(text);
    let is_own = |chunk: &ChunkText| own.contains(&chunk.id);
    let (Some(first), Some(last)) = (
        chunks.iter().position(is_own),
        chunks.iter().rposition(is_own),
    ) else {
        return (0..0, 0..0);
    };
    let is_below = |chunk: &&ChunkText| chunk.headings == text.headings;
    let before = chunks[..first].iter().rev().take_while(is_below).count();
    let behind = chunks[last + 1..].iter().take_while(is_below).count();
    (first - before..last + 1 + behind, first..last + 1)
}
