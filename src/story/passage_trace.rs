//! The trace of a passage: the chunks that contain a phrase, through the lookups of a run.

use serde::Serialize;

use crate::event::{Ranked, TracedChunk, TracedLookup};

use super::funnel::Mark;
use super::lookup::Lookup;
use super::orders::find_order;
use super::question::Rewritten;
use super::run::Run;
use super::text::one_line;
use super::words;

/// The chunks that hold a phrase, with their ranks for each query of a run and their marks.
#[derive(Debug, Serialize)]
pub struct PassageTrace<'a> {
    question: &'a str,
    phrase: &'a str,
    preset: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten: Option<&'a Rewritten>,
    lookups: Vec<QueryTrace<'a>>,
}

#[derive(Debug, Serialize)]
struct QueryTrace<'a> {
    step: u32,
    query: &'a str,
    pool: u32,
    chunks: Vec<ChunkTrace<'a>>,
    #[serde(skip)]
    lookup: &'a Lookup,
}

#[derive(Debug, Serialize)]
struct ChunkTrace<'a> {
    #[serde(flatten)]
    ranks: &'a TracedChunk,
    marks: Vec<Mark>,
    /// The rule that put it before others.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<String>,
}

/// A row of the trace as it is printed or drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceRow {
    /// A query, and the sentence that it was for, from 1; 0 before the first.
    Query { step: u32, text: String },
    /// No chunk holds the phrase.
    Missing(String),
    /// The location of a chunk that holds the phrase.
    Chunk(String),
    /// The result of a list or a stage for the chunk above.
    Fact {
        name: &'static str,
        text: String,
        is_loss: bool,
    },
}

impl<'a> PassageTrace<'a> {
    /// Returns the queries of a run whose lists the index is asked for: step and text.
    pub fn queries(run: &Run) -> Vec<(u32, String)> {
        let queries = run.index_lookups().filter_map(|lookup| {
            let retrieval = lookup.retrieval.as_ref()?;
            Some((lookup.step, retrieval.query.clone()))
        });
        queries.collect()
    }

    /// Returns whether a chunk of the index contains the phrase.
    pub fn is_found(&self) -> bool {
        self.lookups.iter().any(|lookup| !lookup.chunks.is_empty())
    }

    /// Joins what the index says of each query with what the run did with the chunks.
    pub fn new(run: &'a Run, phrase: &'a str, traced: &'a [TracedLookup]) -> Self {
        let of_query = |traced: &'a TracedLookup| {
            let own = |lookup: &&Lookup| lookup.step == traced.step;
            let lookup = run.index_lookups().filter(own).last()?;
            let chunks = traced.chunks.iter().map(|ranks| {
                let number = lookup.number(&ranks.chunk);
                let hit = lookup.hit(number);
                ChunkTrace {
                    ranks,
                    marks: lookup.marks(number),
                    moved: hit.and_then(|hit| words::naming_hit(hit, lookup)),
                }
            });
            Some(QueryTrace {
                step: traced.step,
                query: &traced.query,
                pool: traced.pool,
                chunks: chunks.collect(),
                lookup,
            })
        };

        Self {
            question: run.standalone(),
            phrase,
            preset: &run.preset,
            rewritten: run.rewritten.as_ref(),
            lookups: traced.iter().filter_map(of_query).collect(),
        }
    }

    /// Returns the trace row by row.
    pub fn rows(&self) -> Vec<TraceRow> {
        let mut rows = Vec::new();
        for trace in &self.lookups {
            rows.push(TraceRow::Query {
                step: trace.step,
                text: one_line(trace.query),
            });

            if trace.chunks.is_empty() {
                rows.push(TraceRow::Missing(format!(
                    "No chunk contains “{}”: it is not indexed, or worded differently in the document.",
                    one_line(self.phrase)
                )));
            }

            for chunk in &trace.chunks {
                chunk_rows(chunk, trace.pool, trace.lookup, &mut rows);
            }
        }

        rows
    }
}

fn chunk_rows(chunk: &ChunkTrace<'_>, pool: u32, lookup: &Lookup, rows: &mut Vec<TraceRow>) {
    let ranks = chunk.ranks;
    let mut location = words::chunk_location(&ranks.chunk);
    if !ranks.whole {
        location.push_str("  (a part of it; the next chunk holds the rest)");
    }
    rows.push(TraceRow::Chunk(location));
    let fact = |name, text| TraceRow::Fact {
        name,
        text,
        is_loss: false,
    };
    let order = find_order(&ranks.chunk.text);
    rows.extend(order.map(|order| fact("order", words::order(&order))));
    let no_word = "contains no word of the query";
    rows.push(list_fact("BM25", ranks.bm25, pool, no_word));
    rows.extend(words::word_scores(ranks.bm25, &ranks.words).map(|text| fact("words", text)));
    let no_vector = "the index has no comparable vectors";
    rows.push(list_fact("vector", ranks.vector, pool, no_vector));
    let no_list = "in neither list";
    rows.push(list_fact("fused", ranks.fused, u32::MAX, no_list));
    rows.extend(chunk.moved.clone().map(|text| fact("moved", text)));
    let number = lookup.number(&ranks.chunk);
    for mark in &chunk.marks {
        rows.push(TraceRow::Fact {
            name: words::mark_stage(mark),
            text: words::mark(mark, number, lookup),
            is_loss: mark.is_loss(),
        });
    }
}

/// Returns the rank of a chunk in one list, of which the first `pool` are fused.
fn list_fact(name: &'static str, ranked: Option<Ranked>, pool: u32, missing: &str) -> TraceRow {
    let text = match ranked {
        None => missing.to_owned(),
        Some(Ranked { rank, score }) if rank > pool => {
            format!("rank {rank}, score {score:.3}: below the first {pool} that are fused")
        }
        Some(Ranked { rank, score }) => format!("rank {rank}, score {score:.3}"),
    };
    TraceRow::Fact {
        name,
        text,
        is_loss: ranked.is_none_or(|ranked| ranked.rank > pool),
    }
}
