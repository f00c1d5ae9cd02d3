//! The roles of a run as its settings name them: the only file that knows every stage.

use crate::config::{
    ChunkerKind, Config, FilterKind, FollowUpRewrite, GateKind, LinkerKind, RefinerKind,
    RerankerKind, RetrieverKind, RewriterKind, UnderstandingKind, UtilityKind,
};
use crate::engine::run::{Gate, Off, Refiner, Roles, Tools};
use crate::event::Part;

use super::filter::{Binary, Graded};
use super::follow_up::ByThread;
use super::gate::{ByAttendedEntropy, ByProbe, BySampling, ByTokens, Measuring};
use super::limited::Limited;
use super::linker::ByAttention;
use super::query_writer::ByKind;
use super::rechunker::Adaptive;
use super::refiner::Rounds;
use super::reranker::ByModel;
use super::retriever::ByIndex;
use super::rewriter::ByGenerator;
use super::understanding::Dense;
use super::utility::SePer;

/// Returns the roles that the settings name.
pub fn select(tools: &Tools<'_>) -> Roles {
    let config = tools.config;
    Roles {
        follow_up: match config.thread.rewrite {
            FollowUpRewrite::Off => Box::new(Off),
            FollowUpRewrite::Generator => Box::new(ByThread),
        },
        rewriter: match config.rewriter.kind {
            RewriterKind::Off => Box::new(Off),
            RewriterKind::Generator => {
                Box::new(Limited(Part::Rewriter, ByGenerator { replaces: false }))
            }
            RewriterKind::Replace => {
                Box::new(Limited(Part::Rewriter, ByGenerator { replaces: true }))
            }
        },
        // without a retriever there is no query to emit
        query_writer: match config.retriever.kind {
            RetrieverKind::Off => Box::new(Off),
            RetrieverKind::Bm25 | RetrieverKind::Vectors | RetrieverKind::Hybrid => {
                Box::new(ByKind(config.query.kind))
            }
        },
        retriever: match config.retriever.kind {
            RetrieverKind::Off => Box::new(Off),
            RetrieverKind::Bm25 | RetrieverKind::Vectors | RetrieverKind::Hybrid => {
                Box::new(ByIndex)
            }
        },
        linker: match config.linker.kind {
            LinkerKind::Off => Box::new(Off),
            LinkerKind::Tokens | LinkerKind::Sentence | LinkerKind::Neighbours => {
                Box::new(Limited(Part::Linker, ByAttention))
            }
        },
        filter: match config.filter.kind {
            FilterKind::Off => Box::new(Off),
            FilterKind::Graded => Box::new(Limited(Part::Filter, Graded)),
            FilterKind::Binary => Box::new(Limited(Part::Filter, Binary)),
        },
        reranker: match config.reranker.kind {
            RerankerKind::Off => Box::new(Off),
            RerankerKind::Model => Box::new(Limited(Part::Reranker, ByModel)),
        },
        understanding: match config.understanding.kind {
            UnderstandingKind::Off => Box::new(Off),
            UnderstandingKind::Dense => Box::new(Limited(Part::Understanding, Dense)),
        },
        refiner: refiner(config),
        gate: gate(tools),
        utility: match config.utility.kind {
            UtilityKind::Off => Box::new(Off),
            UtilityKind::Soft | UtilityKind::Hard => {
                Box::new(Limited(Part::Utility, SePer::new(config.utility.kind)))
            }
        },
    }
}

/// Returns what repairs a context: re-chunked documents, rounds, or one after the other.
fn refiner(config: &Config) -> Box<dyn Refiner> {
    match (config.chunker.kind, config.refiner.kind) {
        (ChunkerKind::Fixed | ChunkerKind::Semantic, RefinerKind::Off) => Box::new(Off),
        (ChunkerKind::Fixed | ChunkerKind::Semantic, RefinerKind::Dense) => {
            Box::new(Limited(Part::Refiner, Rounds))
        }
        (ChunkerKind::Adaptive, RefinerKind::Off) => {
            Box::new(Limited(Part::Refiner, Adaptive { then: Off }))
        }
        (ChunkerKind::Adaptive, RefinerKind::Dense) => {
            Box::new(Limited(Part::Refiner, Adaptive { then: Rounds }))
        }
    }
}

fn gate(tools: &Tools<'_>) -> Box<dyn Gate> {
    let config = tools.config;
    match (config.gate.kind, &tools.probe) {
        (GateKind::Off, _) => Box::new(Measuring),
        (GateKind::TokenEntropy, _) => Box::new(ByTokens::with_entropy(config, None)),
        (GateKind::TokenProbability, _) => Box::new(ByTokens::with_probability(config)),
        (GateKind::AttendedEntropy, _) => Box::new(ByAttendedEntropy),
        (GateKind::SemanticEntropy, _) => Box::new(BySampling),
        (GateKind::Probe, Ok(_)) => Box::new(ByProbe),
        (GateKind::Probe, Err(reason)) => {
            Box::new(ByTokens::with_entropy(config, Some(reason.clone())))
        }
    }
}
