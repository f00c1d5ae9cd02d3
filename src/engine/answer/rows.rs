//! The answer to a question for rows of a table, where a rule reads the whole question: no model
//! reads them.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::engine::error::RunError;
use crate::engine::run::{Answer, Passages, Run, context, pins};
use crate::event::{ChunkText, Citation, Evidence, Hit, QuestionKind, Scope};
use crate::methods::joined::{chunks_of, join};

use super::quotes::quotation;
use super::row_question::RowQuestion;
use super::scope::has_scope;
use super::sources::citation;
use super::table::{Chosen, Row, Table, has_rows, to_markdown};

/// Hits whose table is looked at.
const MAX_TABLES: usize = 3;
/// Rows that are given, and those where their number alone is asked for.
const MAX_GIVEN: usize = 24;
const MAX_COUNTED: usize = 6;

/// Entries that a rule found in the documents: the answer to a question.
pub struct FoundEntries {
    /// The text above them, where there is one.
    pub lead: Option<String>,
    /// White space between the lead and the entries.
    pub gap: &'static str,
    /// The entries, each with its place; for a table one text with the place of all.
    pub given: Vec<(String, Citation)>,
    /// The number of further entries.
    pub left_out: usize,
}

/// Finds the rows that the question asks for in the table of one of the first passages, whichever
/// chunks they are in, and puts these chunks in its place. `None` where the question is for
/// something else, or no rule reads all of its words, and where questions have no scope.
///
/// # Errors
///
/// Failures of the index.
pub fn choose_rows(
    run: &mut Run<'_>,
    asked: &str,
    scope: &Scope,
    passages: &mut Passages,
) -> Result<Option<FoundEntries>, RunError> {
    let is_listing = scope.kind == QuestionKind::Listing;
    let may_ask = has_scope(run.tools.config) && (is_listing || scope.kind == QuestionKind::Fact);
    let question = RowQuestion::read(asked)
        .filter(|question| may_ask && (is_listing || question.asks_for_rows()));
    let Some(question) = question else {
        return Ok(None);
    };

    let mut seen = BTreeSet::new();
    for at in 0..passages.hits.len().min(MAX_TABLES) {
        let Some((shown, found)) = find_rows(run, &question, &passages.hits, at, &mut seen)? else {
            continue;
        };

        passages.hits.remove(at);
        let own = chunks_of(&shown.chunk);
        passages.hits.retain(|other| !own.contains(&other.chunk.id));
        passages.hits.insert(0, shown);
        run.emit_read(asked.to_owned(), &passages.hits);
        context::publish(run, passages)?;
        return Ok(Some(found));
    }
    Ok(None)
}

/// Returns the rows of the table of one hit, and the hit with the chunks that they are in. The
/// chunks in `seen` are of tables that were looked at.
fn find_rows(
    run: &Run<'_>,
    question: &RowQuestion,
    hits: &[Hit],
    at: usize,
    seen: &mut BTreeSet<u64>,
) -> Result<Option<(Hit, FoundEntries)>, RunError> {
    let hit = &hits[at].chunk;
    let corpus = run.tools.corpus.as_ref();
    let Some(corpus) = corpus.filter(|_| has_rows(&hit.text) && !seen.contains(&hit.id)) else {
        return Ok(None);
    };
    let mut chunks = corpus.index.document(&hit.document)?;
    chunks.retain(|chunk| !pins::is_excluded(&run.tools.config.retriever, chunk));
    let (section, _) = section(hit, &chunks);
    seen.extend(chunks[section.clone()].iter().map(|chunk| chunk.id));
    let Some(table) = Table::read(hit, chunks[section.clone()].iter()) else {
        return Ok(None);
    };
    // the rows of a second table of the kind would be missing
    let elsewhere = chunks[..section.start].iter().chain(&chunks[section.end..]);
    let others = hits.iter().map(|other| &other.chunk);
    let others = others.filter(|other| other.document != hit.document);
    if elsewhere.chain(others).any(|other| table.is_like(other)) {
        return Ok(None);
    }
    let Some(Chosen { rows, columns, how }) = table.choose(question, hit) else {
        return Ok(None);
    };

    let most = if question.is_count() {
        MAX_COUNTED
    } else {
        MAX_GIVEN
    };
    let given = &rows[..rows.len().min(most)];
    let of_rows: Vec<&ChunkText> = given.iter().map(|row| row.chunk).collect();
    let Some(chunk) = join(&of_rows) else {
        return Ok(None);
    };
    let shown = Hit {
        chunk,
        ..hits[at].clone()
    };
    let is_table = question.is_table && given.len() > 1;
    let found = FoundEntries {
        lead: Some(format!("{} · {how}:", hit.document)),
        gap: if is_table { "\n\n" } else { "\n" },
        given: if is_table {
            let mut whole = cite(&shown, given[0], given[given.len() - 1]);
            whole.quote = None;
            vec![(to_markdown(&columns, given), whole)]
        } else {
            let line = |row: &Row<'_>| format!("- {}", quotation(row.text));
            let lines = given.iter().map(|row| (line(row), cite(&shown, row, row)));
            lines.collect()
        },
        left_out: rows.len() - given.len(),
    };
    Ok(Some((shown, found)))
}

/// Returns the citation of the rows from one to another in the first passage.
fn cite(shown: &Hit, row: &Row<'_>, last: &Row<'_>) -> Citation {
    let lines = [row.lines[0], last.lines[1]];
    Citation {
        first_line: lines[0],
        last_line: lines[1],
        place: row.chunk.place(lines),
        quote: Some(row.text.to_owned()),
        evidence: Evidence::Overlap { share: 1.0 },
        ..citation(1, shown)
    }
}

/// Answers with the entries that were found.
pub fn give_entries(run: &mut Run<'_>, found: FoundEntries) -> Answer {
    let mut answer = Answer::default();
    if let Some(lead) = found.lead {
        run.give_step(&mut answer, "", lead, None);
    }
    for (text, citation) in found.given {
        run.give_step(&mut answer, found.gap, text, Some(citation));
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
    let Some(first) = chunks.iter().position(is_own) else {
        return (0..0, 0..0);
    };
    let last = chunks.iter().rposition(is_own).unwrap_or(first);
    let is_below = |chunk: &&ChunkText| chunk.headings == text.headings;
    let before = chunks[..first].iter().rev().take_while(is_below).count();
    let behind = chunks[last + 1..].iter().take_while(is_below).count();
    (first - before..last + 1 + behind, first..last + 1)
}
