//! The models, the corpus and the settings that a run borrows.

use crate::config::prompts::{PromptName, Prompts};
use crate::config::{AnswerPrompt, Config, RetrieverKind};
use crate::corpus::TokenCounter;
use crate::event::{Problem, VerdictFit};
use crate::index::Search;
use crate::llm::{Embedder, EntailmentJudge, LlmError, OpenGenerator, Prompt, Reranker};
use crate::probe::Probe;

/// The parts that a run borrows.
pub struct Tools<'a> {
    pub config: &'a Config,
    pub prompts: &'a Prompts,
    pub generator: &'a mut dyn OpenGenerator,
    /// `None` where no corpus is open.
    pub corpus: Option<Corpus<'a>>,
    /// `None` where the generator reranks.
    pub reranker: Option<&'a mut dyn Reranker>,
    /// `None` where the generator links, or the linker is off.
    pub linker: Option<&'a mut dyn OpenGenerator>,
    /// `None` where the generator judges entailment.
    pub judge: Option<&'a mut dyn EntailmentJudge>,
    /// Prompt tokens that the generator reads per second on this machine; 0 where that is unknown.
    pub reading_rate: f32,
    /// The calibration of verdicts on answers of the generator over this corpus.
    pub verdict_fit: Option<VerdictFit>,
    /// The probe of the generator, or the reason why there is none.
    pub probe: Result<&'a Probe, Problem>,
}

/// An open corpus with the model that made its vectors.
pub struct Corpus<'a> {
    pub index: &'a dyn Search,
    pub embedder: &'a mut dyn Embedder,
    /// Counts the embedder's tokens.
    pub counter: &'a TokenCounter,
}

/// Returns the vectors of the queries of a search; empty ones where it compares none.
///
/// # Errors
/// Failures of the embedder.
pub fn query_vectors(
    embedder: &mut dyn Embedder,
    kind: RetrieverKind,
    texts: &[&str],
) -> Result<Vec<Vec<f32>>, LlmError> {
    if kind.has_vectors() {
        embedder.embed_queries(texts)
    } else {
        Ok(vec![Vec::new(); texts.len()])
    }
}

impl Tools<'_> {
    /// Returns the tokens of the instructions of the answer, which are read before the first
    /// question; none with the prompts of the papers.
    ///
    /// # Errors
    /// When the chat template cannot be applied.
    pub fn render_instructions(&self) -> Result<Vec<i32>, LlmError> {
        if self.config.answer.prompt != AnswerPrompt::Sources {
            return Ok(Vec::new());
        }
        let instructions = Prompt::user(self.prompts.opening(PromptName::Sources));
        Ok(self.generator.render(&instructions)?.tokens)
    }

    /// Borrows the same tools for a shorter time.
    pub fn reborrow(&mut self) -> Tools<'_> {
        Tools {
            config: self.config,
            prompts: self.prompts,
            generator: &mut *self.generator,
            corpus: self.corpus.as_mut().map(|corpus| Corpus {
                index: corpus.index,
                embedder: &mut *corpus.embedder,
                counter: corpus.counter,
            }),
            reranker: match &mut self.reranker {
                Some(model) => Some(&mut **model),
                None => None,
            },
            linker: match &mut self.linker {
                Some(model) => Some(&mut **model),
                None => None,
            },
            judge: match &mut self.judge {
                Some(model) => Some(&mut **model),
                None => None,
            },
            reading_rate: self.reading_rate,
            verdict_fit: self.verdict_fit,
            probe: self.probe.clone(),
        }
    }
}
