//! The retriever: BM25 search, vector search, or both, fused.

use super::in_turn::in_turn;
use crate::engine::error::RunError;
use crate::engine::run::{Passages, Query, Run, pins};
use crate::event::{Hit, Problem, Ranked, Retrieval, RunEvent};

/// Searches the index of the open corpus; the stages after it choose among the hits that it keeps.
pub fn retrieve(run: &mut Run<'_>, query: &Query) -> Result<Passages, RunError> {
    if !run.tools.config.retriever.kind.is_on() {
        return Ok(Passages::default());
    }
    let found = run.search(&query.searches)?;
    let Some(mut retrieval) = merge(query, found) else {
        return Ok(Passages::default());
    };

    let limit = retrieval.filter.as_ref();
    if let Some(filtered) = limit.filter(|limit| limit.documents == 0) {
        run.emit(RunEvent::warning(Problem::new(
            format!("no document is let through by `{}`", filtered.filter),
            "change retriever.filter (--only, --type, --after, --before)",
        )));
    }
    retrieval.hits = pins::keep(run, retrieval.hits)?;
    run.emit(RunEvent::RetrievalFinished {
        step: run.step,
        retrieval: retrieval.clone(),
    });
    Ok(Passages::from_hits(retrieval.hits))
}

/// Makes one result of those of several searches: their best hits in turn, then their second ones,
/// and so on. A hit keeps the scores of the search that placed it.
fn merge(query: &Query, found: Vec<Retrieval>) -> Option<Retrieval> {
    let longest = found.iter().map(|one| one.hits.len()).max()?;
    let lists = query.searches.iter().zip(&found);
    let lists = lists.map(|(search, found)| search.take_from(&found.hits));
    let lists: Vec<&[Hit]> = lists.collect();
    let in_turn = in_turn(&lists, |hit| hit.chunk.id);
    let mut hits: Vec<Hit> = in_turn.into_iter().cloned().collect();
    if found.len() > 1 {
        hits.truncate(longest);
        for (rank, hit) in (1..).zip(&mut hits) {
            hit.fused = Ranked { rank, ..hit.fused };
        }
    }

    let bm25_found = found.iter().map(|one| one.bm25_found).max();
    let vector_found = found.iter().map(|one| one.vector_found).max();
    let wall_us = found.iter().map(|one| one.wall_us).sum();
    let documents = found.iter().flat_map(|one| one.documents.clone()).collect();
    let first = found.into_iter().next()?;
    Some(Retrieval {
        query: query.text.clone(),
        hits,
        bm25_found: bm25_found.unwrap_or_default(),
        vector_found: vector_found.unwrap_or_default(),
        wall_us,
        documents,
        ..first
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run::Searched;
    use crate::event::ChunkText;

    fn retrieval(chunks: &[u64]) -> Retrieval {
        let hit = |(rank, id): (u32, &u64)| {
            let chunk = ChunkText {
                id: *id,
                lines: [1, 1],
                ..ChunkText::default()
            };
            Hit::new(chunk, Ranked { score: 1.0, rank })
        };
        Retrieval {
            query: String::new(),
            hits: (1..).zip(chunks).map(hit).collect(),
            bm25_found: 0,
            vector_found: 0,
            wall_us: 1,
            filter: None,
            documents: Default::default(),
        }
    }

    #[test]
    fn the_hits_of_several_searches_are_taken_in_turn() {
        let query = Query {
            text: "both".to_owned(),
            searches: vec![Searched::new("one"), Searched::new("other")],
        };
        let ranked = |found: Vec<Retrieval>| {
            let all = merge(&query, found).expect("a result");
            assert_eq!(all.query, "both");
            let hits = all.hits.iter();
            hits.map(|hit| (hit.chunk.id, hit.fused.rank))
                .collect::<Vec<_>>()
        };

        let one = || retrieval(&[1, 2, 3, 4]);
        assert_eq!(ranked(vec![one()]), [(1, 1), (2, 2), (3, 3), (4, 4)]);
        assert_eq!(
            ranked(vec![one(), retrieval(&[7, 1, 2])]),
            [(1, 1), (7, 2), (2, 3), (3, 4)],
            "as many as a search finds, each once"
        );
        let one_of_the_other = Query {
            searches: vec![
                Searched::new("one"),
                Searched {
                    most: 1,
                    ..Searched::new("other")
                },
            ],
            ..query.clone()
        };
        let found = vec![one(), retrieval(&[7, 8, 9])];
        let all = merge(&one_of_the_other, found).expect("a result");
        let chunks: Vec<u64> = all.hits.iter().map(|hit| hit.chunk.id).collect();
        assert_eq!(chunks, [1, 7, 2, 3]);
        assert_eq!(merge(&query, Vec::new()), None);
    }
}
