//! Measures of the chunks between the search and the prompt: after table 2, table 3 and figures 3
//! and 4 of "ChunkRAG", and table 6 of "DENSE-RAG".

use serde::{Deserialize, Serialize};

use super::declare::Format::{Number, Share};
use super::declare::metrics;
use super::statistics::mean_of_any;
use crate::story::{Lookup, Run};

/// The chunks of a run that searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ChunkFigures {
    /// Chunks that the retriever returned, over all lookups.
    pub found: f64,
    /// Chunks and joined texts that reached a prompt, over all lookups.
    pub used: f64,
    /// Mean length of a used one, tokens; `None` without one.
    pub length: Option<f64>,
    /// Mean grade of the texts that were graded, in 0..=1, and of those of them that were used.
    pub grade: Option<f64>,
    pub grade_of_used: Option<f64>,
    /// Threshold of the grades, in 0..=1.
    pub threshold: Option<f64>,
    /// Share of the rephrasings that their chunk and that entail their chunk, in 0..=1.
    pub entailed: Option<f64>,
}

/// Probability from which one text counts as entailing another.
const ENTAILED_FROM: f32 = 0.5;

impl ChunkFigures {
    /// Returns the figures of a run; `None` where nothing was searched.
    pub(crate) fn from_run(run: &Run) -> Option<Self> {
        let searched: Vec<&Lookup> = run
            .lookups
            .iter()
            .filter(|lookup| lookup.retrieval.is_some())
            .collect();
        if searched.is_empty() {
            return None;
        }

        let used: Vec<(&Lookup, u64)> = searched
            .iter()
            .flat_map(|lookup| {
                let context = lookup.context.iter();
                context
                    .flat_map(|context| &context.chunks)
                    .map(|used| (*lookup, used.chunk))
            })
            .collect();
        let tokens = used
            .iter()
            .filter_map(|(lookup, chunk)| Some(f64::from(lookup.hit(*chunk)?.chunk.tokens)));
        let grades = searched
            .iter()
            .flat_map(|lookup| lookup.hits().iter().map(|hit| (*lookup, hit.chunk.id)));
        let found = searched.iter().map(|lookup| lookup.retrieved_hits().len());

        Some(Self {
            found: found.sum::<usize>() as f64,
            used: used.len() as f64,
            length: mean_of_any(tokens),
            grade: mean_of_any(grades.filter_map(grade)),
            grade_of_used: mean_of_any(used.iter().copied().filter_map(grade)),
            threshold: mean_of_any(
                searched
                    .iter()
                    .filter_map(|lookup| lookup.funnel.threshold().map(f64::from)),
            ),
            entailed: entailed_share(run),
        })
    }
}

fn grade((lookup, chunk): (&Lookup, u64)) -> Option<f64> {
    Some(f64::from(lookup.funnel.grade(chunk)?.score))
}

fn entailed_share(run: &Run) -> Option<f64> {
    let chunks = run.refinement.rounds.iter().flat_map(|round| &round.chunks);
    mean_of_any(chunks.filter_map(|chunk| {
        let both = chunk.entailed?;
        let is_entailed = both.iter().all(|share| *share >= ENTAILED_FROM);
        Some(f64::from(is_entailed))
    }))
}

metrics! {
    /// A figure of the chunks of a run; `None` where it was not measured.
    ChunkMetric: fn(&ChunkFigures) -> Option<f64> {
        /// Chunks that the retriever returned.
        Found "found": Neither, Number(1), in Chunks => |chunks| Some(chunks.found);
        /// Chunks that reached a prompt.
        Used "used": Neither, Number(1), in Chunks => |chunks| Some(chunks.used);
        /// Length of a used chunk, tokens.
        Length "tokens each": Neither, Number(0), in Chunks => |chunks| chunks.length;
        /// Grade of the texts that were graded.
        Grade "grade": Neither, Number(3), in Chunks => |chunks| chunks.grade;
        /// Grade of the texts that were used.
        GradeOfUsed "grade of used": Higher, Number(3), in Chunks => |chunks| chunks.grade_of_used;
        /// Threshold of the grades.
        Threshold "threshold": Neither, Number(3), in Chunks => |chunks| chunks.threshold;
        /// Share of rephrasings that say what their chunk says: each entails the other.
        Entailed "rephrasings entailed": Higher, Share, in Chunks => |chunks| chunks.entailed;
    }
}
