//! Model calls straight to a scripted generator, without a run around them.

use crate::support::scripted::{ScriptedEmbedder, ScriptedGenerator};
use ragscope::config::prompts::{PromptName, Prompts};
use ragscope::event::Flow;
use ragscope::llm::{
    Completion, Decoding, Embedder as _, Entailment, Generator as _, Labelled, LlmError, Prompt,
    Scorer as _,
};
use ragscope::methods::{JudgementKind, ModelCalls};

pub struct Calls {
    pub generator: ScriptedGenerator,
    embedder: ScriptedEmbedder,
    prompts: Prompts,
}

impl Calls {
    pub fn new(generator: ScriptedGenerator) -> Self {
        Self {
            generator,
            embedder: ScriptedEmbedder::new(16),
            prompts: Prompts::default(),
        }
    }
}

impl ModelCalls for Calls {
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Prompt {
        self.prompts.fill(name, values).into()
    }

    fn complete(
        &mut self,
        _: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, LlmError> {
        self.generator
            .complete(prompts, decoding, &mut |_, _| Flow::Continue)
    }

    fn classify(
        &mut self,
        kind: JudgementKind<'_>,
        prompts: &[Prompt],
    ) -> Result<Vec<Labelled>, LlmError> {
        self.generator.classify(prompts, kind.labels)
    }

    fn entail(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, LlmError> {
        let prompt = |(a, b): &(&str, &str)| {
            self.prompt(
                PromptName::Entailment,
                &[("question", question), ("first", a), ("second", b)],
            )
        };
        let prompts: Vec<Prompt> = pairs.iter().map(prompt).collect();
        let rows = self.generator.classify(&prompts, &Entailment::LABELS)?;
        Ok(rows
            .iter()
            .map(|row| Entailment::from_row(&row.shares))
            .collect())
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, LlmError> {
        let prompt = |text: &&str| {
            self.prompt(
                PromptName::JudgeRelevant,
                &[("passage", text), ("question", question)],
            )
        };
        let prompts: Vec<Prompt> = texts.iter().map(prompt).collect();
        Ok(self
            .generator
            .classify(&prompts, &["1", "0"])?
            .iter()
            .map(|row| row.shares[0])
            .collect())
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LlmError> {
        self.embedder.embed(texts)
    }
}
