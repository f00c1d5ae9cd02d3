//! What the methods ask of the models, told and counted as part of the run.

use crate::config::prompts::PromptName;
use crate::config::{THE_EMBEDDER, THE_WORDS};
use crate::engine::error::RunError;
use crate::event::Flow;
use crate::llm::{Completion, Decoding, End, Entailment, LlmError, Prompt};
use crate::methods::{Meaning, MethodError, ModelCalls, cosine, entailed_by_words};

use super::state::Run;

impl Run<'_> {
    fn check_stopped(&self) -> Result<(), MethodError> {
        if self.stopped() {
            Err(LlmError::Stopped.into())
        } else {
            Ok(())
        }
    }
}

impl ModelCalls for Run<'_> {
    fn prompt(&self, name: PromptName, values: &[(&str, &str)]) -> Result<Prompt, MethodError> {
        Ok(Prompt::user(self.tools.prompts.fill(name, values)?))
    }

    fn complete(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        decoding: &Decoding,
    ) -> Result<Vec<Completion>, MethodError> {
        self.check_stopped()?;
        let first = self.tell_calls(purpose, prompts).map_err(method_error)?;
        let completions = self
            .tools
            .generator
            .complete(prompts, decoding, &mut |_, _| Flow::Continue)?;
        self.tell_cost(first);
        self.check_stopped()?;
        // half a sample is none: what follows from it would not be what the method says
        match completions
            .iter()
            .any(|completion| completion.end == End::Stopped)
        {
            true => Err(LlmError::Stopped.into()),
            false => Ok(completions),
        }
    }

    fn classify(
        &mut self,
        purpose: &str,
        prompts: &[Prompt],
        labels: &[&str],
    ) -> Result<Vec<Vec<f32>>, MethodError> {
        self.check_stopped()?;
        let first = self.tell_calls(purpose, prompts).map_err(method_error)?;
        let mut rows = self.tools.generator.classify(prompts, labels)?;
        self.tell_cost(first);
        self.check_stopped()?;
        // a model that knows none of the labels is no judge: what it says must not reach the records
        rows.iter_mut()
            .flatten()
            .filter(|share| !share.is_finite())
            .for_each(|share| *share = 0.0);
        Ok(rows)
    }

    fn entail(
        &mut self,
        question: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Entailment>, MethodError> {
        self.check_stopped()?;
        let keys: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (question.to_owned(), Meaning::of(a), Meaning::of(b)))
            .collect();
        let mut new: Vec<usize> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let known = key.1 == key.2
                || self.judged.contains_key(key)
                || new.iter().any(|other| keys[*other] == *key);
            if !known {
                new.push(at);
            }
        }
        let judged = match self.tools.judge.as_mut() {
            _ if new.is_empty() => Vec::new(),
            None if self.tools.config.judge.model == THE_WORDS => new
                .iter()
                .map(|at| entailed_by_words(pairs[*at].0, pairs[*at].1))
                .collect(),
            Some(judge) => {
                let texts: Vec<(&str, &str)> = new.iter().map(|at| pairs[*at]).collect();
                judge.judge(question, &texts)?
            }
            None => {
                let prompts = new
                    .iter()
                    .map(|at| {
                        let (a, b) = (pairs[*at].0.trim(), pairs[*at].1.trim());
                        self.prompt(
                            PromptName::Entailment,
                            &[("q", question), ("a", a), ("b", b)],
                        )
                    })
                    .collect::<Result<Vec<Prompt>, MethodError>>()?;
                let rows = self.classify("entailment", &prompts, &Entailment::LABELS)?;
                rows.iter().map(|row| Entailment::of_row(row)).collect()
            }
        };
        if judged.len() != new.len() {
            let said = format!(
                "the entailment judge said {} of {} judgements",
                judged.len(),
                new.len()
            );
            return Err(LlmError::Backend(said).into());
        }
        self.judged
            .extend(new.into_iter().map(|at| keys[at].clone()).zip(judged));
        self.check_stopped()?;
        Ok(keys
            .iter()
            .map(|key| self.judged.get(key).copied().unwrap_or(Entailment::CERTAIN))
            .collect())
    }

    fn rerank(&mut self, question: &str, texts: &[&str]) -> Result<Vec<f32>, MethodError> {
        self.check_stopped()?;
        if let Some(reranker) = self.tools.reranker.as_mut() {
            let scores = reranker.rerank(question, texts)?;
            return Ok(scores
                .into_iter()
                .map(|score| if score.is_finite() { score } else { 0.0 })
                .collect());
        }
        if self.tools.config.reranker.model == THE_EMBEDDER && !texts.is_empty() {
            let vectors = self.embed(&[&[question], texts].concat())?;
            let near = |text: &Vec<f32>| ((cosine(&vectors[0], text) + 1.0) / 2.0).clamp(0.0, 1.0);
            return Ok(vectors[1..].iter().map(near).collect());
        }
        let prompts = texts
            .iter()
            .map(|text| self.prompt(PromptName::JudgeRelevant, &[("c", text), ("q", question)]))
            .collect::<Result<Vec<Prompt>, MethodError>>()?;
        let rows = self.classify("rerank", &prompts, &["1", "0"])?;
        Ok(rows.iter().map(|row| row[0]).collect())
    }

    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, MethodError> {
        self.check_stopped()?;
        match self.tools.corpus.as_mut() {
            Some(corpus) => Ok(corpus.embedder.embed(texts)?),
            None => Err(LlmError::Backend(
                "no embedder is loaded, since no corpus is open".to_owned(),
            )
            .into()),
        }
    }
}

fn method_error(error: RunError) -> MethodError {
    match error {
        RunError::Model(error) => error.into(),
        RunError::Config(error) => error.into(),
        RunError::Probe(error) => LlmError::Backend(error.to_string()).into(),
        RunError::Search(error) => LlmError::Backend(format!("{error:#}")).into(),
    }
}
