//! The roles of a run as its settings name them: the only file that knows every stage.

use crate::config::{
    ChunkerKind, Config, FilterKind, GateKind, LinkerKind, RefinerKind, RerankerKind,
    RetrieverKind, RewriterKind, UnderstandingKind, UtilityKind,
};
use crate::engine::run::{Off, Roles, Tools};

use super::filter::{Binary, Graded};
use super::gate::{ByProbe, BySampling, ByTokenEntropy, Measuring};
use super::linker::ByAttention;
use super::query_writer::ByKind;
use super::rechunker::Adaptive;
use super::refiner::Rounds;
use super::reranker::ByModel;
use super::retriever::Hybrid;
use super::rewriter::ByGenerator;
use super::understanding::Dense;
use super::utility::SePer;

impl Roles {
    /// The roles as the settings name them.
    pub fn of(tools: &Tools<'_>) -> Self {
        let config: &Config = tools.config;
        Self {
            rewriter: match config.rewriter.kind {
                RewriterKind::Off => Box::new(Off),
                RewriterKind::Generator => Box::new(ByGenerator),
            },
            query_writer: match (config.query.kind, config.retriever.kind) {
                (_, RetrieverKind::Off) => Box::new(Off),
                (kind, RetrieverKind::Hybrid) => Box::new(ByKind(kind)),
            },
            retriever: match config.retriever.kind {
                RetrieverKind::Off => Box::new(Off),
                RetrieverKind::Hybrid => Box::new(Hybrid),
            },
            linker: match config.linker.kind {
                LinkerKind::Off => Box::new(Off),
                LinkerKind::Tokens | LinkerKind::Sentence => Box::new(ByAttention),
            },
            filter: match config.filter.kind {
                FilterKind::Off => Box::new(Off),
                FilterKind::Graded => Box::new(Graded),
                FilterKind::Binary => Box::new(Binary),
            },
            reranker: match config.reranker.kind {
                RerankerKind::Off => Box::new(Off),
                RerankerKind::Model => Box::new(ByModel),
            },
            understanding: match config.understanding.kind {
                UnderstandingKind::Off => Box::new(Off),
                UnderstandingKind::Dense => Box::new(Dense),
            },
            chunker: match config.chunker.kind {
                ChunkerKind::Fixed | ChunkerKind::Semantic => Box::new(Off),
                ChunkerKind::Adaptive => Box::new(Adaptive),
            },
            refiner: match config.refiner.kind {
                RefinerKind::Off => Box::new(Off),
                RefinerKind::Dense => Box::new(Rounds),
            },
            gate: match config.gate.kind {
                GateKind::Off => Box::new(Measuring),
                GateKind::TokenEntropy => Box::new(ByTokenEntropy::new(config, None)),
                GateKind::SemanticEntropy => Box::new(BySampling),
                GateKind::Probe => match &tools.probe {
                    Ok(_) => Box::new(ByProbe),
                    Err(reason) => Box::new(ByTokenEntropy::new(config, Some(reason.clone()))),
                },
            },
            utility: match config.utility.kind {
                UtilityKind::Off => Box::new(Off),
                UtilityKind::Soft | UtilityKind::Hard => Box::new(SePer::of(config.utility.kind)),
            },
        }
    }
}
