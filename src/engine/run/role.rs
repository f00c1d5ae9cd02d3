//! The roles of a run. Each is a small trait; `Off` does nothing, so an ablation is one word of configuration.

use crate::config::{
    ChunkerKind, Config, FilterKind, GateKind, LinkerKind, RefinerKind, RerankerKind,
    RetrieverKind, RewriterKind, UnderstandingKind, UtilityKind,
};
use crate::event::{DroppedChunk, Event, GateCard, Hit, RerankedChunk, Uncertainty};
use crate::llm::{Hidden, HiddenAt, Prompt, Token};
use crate::methods::ModelCalls;

use super::context::Passages;
use super::state::{Run, RunError, Tools};
use crate::engine::answer::steps::Sentence;
use crate::engine::run::pins;
use crate::engine::stages::gate::{ByProbe, BySampling, ByTokenEntropy, Measuring};
use crate::engine::stages::query_writer::ByKind;
use crate::engine::stages::rechunker::Adaptive;
use crate::engine::stages::refiner::Rounds;
use crate::engine::stages::understanding::{Dense, Known};
use crate::engine::stages::utility::SePer;
use crate::engine::stages::{filter, linker, rewriter};

/// What the stages between the retriever and the context hand on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The chunks still in the race, best first.
    pub kept: Vec<Hit>,
    /// The chunks that fell out, with the reason.
    pub dropped: Vec<DroppedChunk>,
    /// Chunks that a stage set aside because others come first, best first.
    pub spare: Vec<Hit>,
}

/// Rewrites the question before the lookup.
pub trait Rewriter {
    fn rewrite(&mut self, run: &mut Run<'_>, question: &str) -> Result<String, RunError>;
}

/// What a lookup is needed for.
#[derive(Clone, Copy)]
pub struct Need<'n> {
    pub question: &'n str,
    /// The sentences of the answer so far.
    pub confirmed: &'n [String],
    /// The sentence that was doubted; None before the answer begins.
    pub doubted: Option<&'n Sentence>,
}

/// Writes the query of a lookup.
pub trait QueryWriter {
    fn write(&mut self, run: &mut Run<'_>, need: &Need<'_>) -> Result<String, RunError>;
}

/// Looks chunks up.
pub trait Retriever {
    fn retrieve(&mut self, run: &mut Run<'_>, query: &str) -> Result<Found, RunError>;
}

/// A stage between the retriever and the context: linker, filter or reranker.
pub trait HitStage {
    fn apply(&mut self, run: &mut Run<'_>, question: &str, found: Found)
    -> Result<Found, RunError>;
}

/// Measures whether the model understands its passages.
pub trait UnderstandingMeter {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<Known, RunError>;
}

/// Cuts the documents behind the hits again for one question.
pub trait QuestionChunker {
    fn recut(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<(Passages, Known), RunError>;
}

/// Repairs the passages.
pub trait Refiner {
    fn refine(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<Passages, RunError>;
}

/// Measures something about the passages, and changes nothing.
pub trait Meter {
    fn measure(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        passages: &Passages,
    ) -> Result<(), RunError>;
}

/// A sentence that is not part of the answer yet.
pub struct Draft {
    pub sentence: Sentence,
    /// What it was written from, the confirmed sentences before it included.
    pub prompt: Prompt,
    /// The hidden states that the gate asked for.
    pub hidden: Vec<Hidden>,
}

/// Says how unsure the model was of a sentence, and whether to look something up.
pub trait Gate {
    /// What it measures and where it draws the line; None when nothing follows from it.
    fn card(&self, _run: &Run<'_>) -> Option<GateCard> {
        None
    }

    /// The hidden states that it reads.
    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        Vec::new()
    }

    /// What it says of a sentence from the tokens alone, while the stream goes on; None when it has to be asked.
    fn at_once(&self, _tokens: &[Token]) -> Option<Uncertainty> {
        None
    }

    /// What it says of a sentence.
    fn judge(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError>;
}

/// A role that is switched off.
struct Off;

/// Every role of a run.
pub struct Roles {
    pub rewriter: Box<dyn Rewriter>,
    pub query_writer: Box<dyn QueryWriter>,
    pub retriever: Box<dyn Retriever>,
    pub linker: Box<dyn HitStage>,
    pub filter: Box<dyn HitStage>,
    pub reranker: Box<dyn HitStage>,
    pub understanding: Box<dyn UnderstandingMeter>,
    pub chunker: Box<dyn QuestionChunker>,
    pub refiner: Box<dyn Refiner>,
    pub gate: Box<dyn Gate>,
    pub utility: Box<dyn Meter>,
}

impl Roles {
    /// The roles as the settings name them.
    pub fn of(tools: &Tools<'_>) -> Self {
        let config: &Config = tools.config;
        Self {
            rewriter: match config.rewriter.kind {
                RewriterKind::Off => Box::new(Off),
                RewriterKind::Generator => Box::new(rewriter::ByGenerator),
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
                LinkerKind::Tokens | LinkerKind::Sentence => Box::new(linker::ByAttention),
            },
            filter: match config.filter.kind {
                FilterKind::Off => Box::new(Off),
                FilterKind::Graded => Box::new(filter::Graded),
                FilterKind::Binary => Box::new(filter::Binary),
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

impl Rewriter for Off {
    fn rewrite(&mut self, _run: &mut Run<'_>, question: &str) -> Result<String, RunError> {
        Ok(question.to_owned())
    }
}

impl Retriever for Off {
    fn retrieve(&mut self, _run: &mut Run<'_>, _query: &str) -> Result<Found, RunError> {
        Ok(Found::default())
    }
}

impl HitStage for Off {
    fn apply(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        Ok(found)
    }
}

impl Meter for Off {
    fn measure(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        _passages: &Passages,
    ) -> Result<(), RunError> {
        Ok(())
    }
}

impl UnderstandingMeter for Off {
    fn measure(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        _passages: &Passages,
    ) -> Result<Known, RunError> {
        Ok(None)
    }
}

impl QuestionChunker for Off {
    fn recut(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        passages: Passages,
        understood: Known,
    ) -> Result<(Passages, Known), RunError> {
        Ok((passages, understood))
    }
}

impl Refiner for Off {
    fn refine(
        &mut self,
        _run: &mut Run<'_>,
        _question: &str,
        passages: Passages,
        _understood: Known,
    ) -> Result<Passages, RunError> {
        Ok(passages)
    }
}

/// Without a retriever nobody looks anything up, so there is no query to tell of.
impl QueryWriter for Off {
    fn write(&mut self, _run: &mut Run<'_>, need: &Need<'_>) -> Result<String, RunError> {
        Ok(need.question.to_owned())
    }
}

/// BM25 and vectors, fused. The stages after it choose among all that it keeps.
struct Hybrid;

impl Retriever for Hybrid {
    fn retrieve(&mut self, run: &mut Run<'_>, query: &str) -> Result<Found, RunError> {
        let Some(mut retrieval) = run.search(query)? else {
            return Ok(Found::default());
        };
        retrieval.hits = pins::keep(run, retrieval.hits)?;
        run.emit(Event::RetrievalFinished {
            step: run.step,
            retrieval: retrieval.clone(),
        });
        Ok(Found {
            kept: retrieval.hits,
            ..Found::default()
        })
    }
}

/// What is left is ordered by how well it fits the question.
struct ByModel;

impl HitStage for ByModel {
    fn apply(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        found: Found,
    ) -> Result<Found, RunError> {
        let kept = reranked(run, question, found.kept)?;
        Ok(Found { kept, ..found })
    }
}

/// The hits in the order in which the reranker thinks that they fit `text`, best first; told as an event.
pub fn reranked(run: &mut Run<'_>, text: &str, hits: Vec<Hit>) -> Result<Vec<Hit>, RunError> {
    let texts: Vec<&str> = hits.iter().map(|hit| hit.chunk.text.as_str()).collect();
    let scores = run.rerank(text, &texts)?;
    let mut ranked: Vec<(f32, Hit)> = scores.into_iter().zip(hits).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told = ranked
        .iter()
        .map(|(score, hit)| RerankedChunk {
            chunk: hit.chunk.id,
            score: *score,
        })
        .collect();
    run.emit(Event::ChunksReranked {
        step: run.step,
        ranked: told,
    });
    Ok(ranked.into_iter().map(|(_, hit)| hit).collect())
}
