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

    /// Returns the trace as text. `folders` are those of the run, as `ragscope index` takes them.
    pub fn text(&self, folders: &str) -> String {
        let mut lines = Vec::new();
        if let Some(rewritten) = self.rewritten {
            let used = if rewritten.used { "" } else { " (not used)" };
            lines.push(format!("rewritten: {}{used}", rewritten.text));
        }
        if self.lookups.is_empty() {
            let preset = self.preset;
            lines.push(format!(
                "nothing was retrieved: preset {preset} answers without documents"
            ));
        }

        for trace in &self.lookups {
            let query = one_line(trace.query);
            lines.push(match trace.step {
                0 => format!("query: {query}"),
                step => format!("sentence {step}: query: {query}"),
            });
            if trace.chunks.is_empty() {
                let phrase = one_line(self.phrase);
                lines.push(format!(
                    "  {} No chunk contains “{phrase}”: it is not indexed, or worded differently in the document. \
                     `ragscope index {folders}` lists the files that were skipped.",
                    words::LOST
                ));
            }
            for chunk in &trace.chunks {
                push_chunk(chunk, trace, &mut lines);
            }
        }
        lines.join("\n") + "\n"
    }
}

/// The name of a list or a stage, its result for a chunk, and whether the chunk went no further.
type Fact = (&'static str, String, bool);

/// Adds the location of a chunk, and below it the result of each list and stage.
fn push_chunk(chunk: &ChunkTrace<'_>, trace: &QueryTrace<'_>, lines: &mut Vec<String>) {
    let QueryTrace { pool, lookup, .. } = *trace;
    let ranks = chunk.ranks;
    let whole = if ranks.whole {
        ""
    } else {
        "  (a part of it; the next chunk holds the rest)"
    };
    lines.push(format!("  {}{whole}", words::chunk_location(&ranks.chunk)));

    let fact = |name| move |text: String| (name, text, false);
    let order = find_order(&ranks.chunk.text).map(|order| words::order(&order));
    let scores = words::word_scores(ranks.bm25, &ranks.words);
    let mut facts: Vec<Fact> = order.map(fact("order")).into_iter().collect();
    let no_word = "contains no word of the query";
    facts.push(list_fact("BM25", ranks.bm25, pool, no_word));
    facts.extend(scores.map(fact("words")));
    let no_vector = "the index has no comparable vectors";
    facts.push(list_fact("vector", ranks.vector, pool, no_vector));
    let no_list = "in neither list";
    facts.push(list_fact("fused", ranks.fused, u32::MAX, no_list));
    facts.extend(chunk.moved.clone().map(fact("moved")));
    let number = lookup.number(&ranks.chunk);
    facts.extend(chunk.marks.iter().map(|mark| {
        let text = words::mark(mark, number, lookup);
        (words::mark_stage(mark), text, mark.is_loss())
    }));

    for (name, text, is_loss) in facts {
        let sign = if is_loss { words::LOST } else { " " };
        lines.push(format!("  {sign} {name:<11} {text}"));
    }
}

/// Returns the rank of a chunk in one list, of which the first `pool` are fused.
fn list_fact(name: &'static str, ranked: Option<Ranked>, pool: u32, missing: &str) -> Fact {
    match ranked {
        None => (name, missing.to_owned(), true),
        Some(Ranked { rank, score }) => {
            let text = format!("rank {rank}, score {score:.3}");
            if rank > pool {
                let text = format!("{text}: below the first {pool} that are fused");
                (name, text, true)
            } else {
                (name, text, false)
            }
        }
    }
}
