//! The answer to a question for rows of a table, where a rule reads the whole question: no model
//! reads them.

use std::ops::Range;

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, context, pins};
use crate::event::{ChunkText, Citation, Evidence, QuestionKind, Scope};
use crate::methods::joined::{chunks_of, join};

use super::quotes::quotation;
use super::scope::asks_for_several;
use super::sources::citation;
use super::table::{Row, RowQuestion, Table, has_rows, to_markdown};

/// Hits whose table is looked at.
const MAX_TABLES: usize = 3;
/// Rows that are given, and those where their number alone is asked for.
const MAX_GIVEN: usize = 24;
const MAX_COUNTED: usize = 6;

/// The answer to a question for rows.
pub struct GivenRows {
    lead: String,
    /// The rows, each with its place; for a table one text with the place of all.
    rows: Vec<(String, Citation)>,
    /// The number of further rows.
    left_out: usize,
}

/// Finds the rows that the question asks for in the table of one of the first passages, whichever
/// chunks they are in, and puts these chunks in its place. `None` where the question is for
/// something else, or no rule reads all of its words.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_rows(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Option<GivenRows>, RunError> {
    let question = match scope.kind {
        QuestionKind::Fact | QuestionKind::Listing => RowQuestion::read(asked),
        QuestionKind::Comparison | QuestionKind::Files | QuestionKind::Summary => None,
    };
    let question = question.filter(|question| {
        scope.kind == QuestionKind::Listing
            || asks_for_several(&asked.to_lowercase())
            || question.is_count()
            || question.asks_for_extreme()
    });
    let (Some(question), Some(corpus)) = (question, &run.tools.corpus) else {
        return Ok(None);
    };

    let settings = &run.tools.config.retriever;
    for at in 0..passages.hits.len().min(MAX_TABLES) {
        let hit = &passages.hits[at].chunk;
        if !has_rows(&hit.text) {
            continue;
        }
        let mut chunks = corpus.index.document(&hit.document)?;
        chunks.retain(|chunk| !pins::is_excluded(settings, chunk));
        let (section, _) = section(hit, &chunks);
        let Some(table) = Table::read(hit, chunks[section.clone()].iter()) else {
            continue;
        };
        // the rows of a second table of the kind would be missing
        let elsewhere = chunks[..section.start].iter().chain(&chunks[section.end..]);
        let others = passages.hits.iter().map(|other| &other.chunk);
        let others = others.filter(|other| other.document != hit.document);
        if elsewhere.chain(others).any(|other| table.is_like(other)) {
            continue;
        }
        let Some(chosen) = table.choose(&question, hit) else {
            continue;
        };

        let given = if question.is_count() {
            MAX_COUNTED
        } else {
            MAX_GIVEN
        };
        let given = &chosen.rows[..chosen.rows.len().min(given)];
        let of_rows: Vec<&ChunkText> = given.iter().map(|row| row.chunk).collect();
        let Some(text) = join(&of_rows) else { continue };
        let mut shown = passages.hits.remove(at);
        shown.chunk = text;
        let own = chunks_of(&shown.chunk);
        passages.hits.retain(|other| !own.contains(&other.chunk.id));
        passages.hits.insert(0, shown);

        let cite = |row: &Row<'_>, last: &Row<'_>| Citation {
            first_line: row.lines[0],
            last_line: last.lines[1],
            place: row.chunk.place([row.lines[0], last.lines[1]]),
            quote: Some(row.text.to_owned()),
            evidence: Evidence::Overlap { share: 1.0 },
            ..citation(1, &passages.hits[0])
        };
        let rows = match given {
            [first, .., last] if question.is_table() => {
                let whole = Citation {
                    quote: None,
                    ..cite(first, last)
                };
                vec![(to_markdown(table.columns(), given), whole)]
            }
            rows => rows
                .iter()
                .map(|row| (format!("- {}", quotation(row.text)), cite(row, row)))
                .collect(),
        };
        let found = GivenRows {
            lead: format!("{} · {}:", passages.hits[0].chunk.document, chosen.how),
            rows,
            left_out: chosen.rows.len() - given.len(),
        };
        run.emit_read(asked.to_owned(), &passages.hits);
        context::publish(run, passages)?;
        return Ok(Some(found));
    }
    Ok(None)
}

/// Answers with the rows that were found.
pub fn give_rows(run: &mut Run<'_>, found: GivenRows) -> Answer {
    let mut answer = Answer::default();
    let gap = match found.rows.as_slice() {
        [(table, _)] if table.starts_with('|') => "\n\n",
        _ => "\n",
    };
    run.give_step(&mut answer, "", found.lead, None);
    for (text, citation) in found.rows {
        run.give_step(&mut answer, gap, text, Some(citation));
    }
    if found.left_out > 0 {
        run.give_step(&mut answer, "\n\n", format!("… +{}", found.left_out), None);
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
