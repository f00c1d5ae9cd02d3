//! The run: its question, its tools, the stream of its events, and how it ends.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::engine::error::RunError;
use crate::event::{
    Advice, Citation, DroppedChunk, FENCE, Flow, Hit, ModelCard, ModelRole, Numbering, Outcome,
    Retrieval, RunEvent, RunUsage, Stage, elapsed_ms, is_stop, saturating_u32,
};
use crate::methods::ModelCalls as _;

use super::tools::{Tools, query_vectors};
use super::values::{Answer, Contexts, Effort, Judged, Searched, Sentence, token_event};

/// Observes the events of a run; the result says whether to continue.
pub type Observe<'a> = &'a mut dyn FnMut(RunEvent) -> Flow;

/// A run in progress.
pub struct Run<'a> {
    pub tools: Tools<'a>,
    /// The question that the run answers, from the start of the run on one that stands alone; empty
    /// where a method works outside of a run.
    pub question: &'a str,
    /// The step of the answer that the work is for; 0 before the first.
    pub step: u32,
    /// The stages that the current lookup goes through.
    pub effort: Effort,
    pub contexts: Contexts,
    pub(super) judged: Judged,
    pub(super) usage: RunUsage,
    /// Time of the calls of the generator that are over.
    pub(super) calls_us: u64,
    /// Tokens of the prompt of the last call.
    pub(super) last_prompt: Vec<i32>,
    /// Purposes of judgements that this run has warned of.
    pub(super) warned: HashSet<String>,
    publish: Observe<'a>,
    numbering: Numbering,
    started: Instant,
    is_stopped: bool,
    written: Answer,
}

impl<'a> Run<'a> {
    pub fn new(tools: Tools<'a>, question: &'a str, publish: Observe<'a>) -> Self {
        Self {
            tools,
            question,
            step: 0,
            effort: Effort::Full,
            contexts: Contexts::default(),
            judged: Judged::default(),
            usage: RunUsage::default(),
            calls_us: 0,
            last_prompt: Vec::new(),
            warned: HashSet::new(),
            publish,
            numbering: Numbering::default(),
            started: Instant::now(),
            is_stopped: false,
            written: Answer::default(),
        }
    }

    /// Publishes an event, and remembers whether the observer wants to stop.
    pub fn emit(&mut self, event: RunEvent) {
        let (_, mut emit) = self.split();
        let _ = emit(event);
    }

    /// Emits the passages that are read although no search ranked them.
    pub fn emit_read(&mut self, query: String, hits: &[Hit]) {
        self.emit(RunEvent::RetrievalFinished {
            step: self.step,
            retrieval: Retrieval {
                query,
                hits: hits.to_vec(),
                ..Retrieval::default()
            },
        });
    }

    /// Emits what a stage between the retriever and the context kept, and what it dropped.
    pub fn emit_stage(&mut self, stage: Stage, hits: &[Hit], dropped: &[DroppedChunk]) {
        self.emit(RunEvent::StageFinished {
            step: self.step,
            stage,
            kept: hits.iter().map(|hit| hit.chunk.id).collect(),
            dropped: dropped.to_vec(),
        });
    }

    /// Emits a sentence token by token.
    pub fn emit_tokens(&mut self, sentence: &Sentence) {
        let step = sentence.step;
        self.emit(RunEvent::StepStarted { step });
        for token in &sentence.tokens {
            self.emit(token_event(step, token));
        }
    }

    /// Emits a sentence that was not generated in this run, and returns it.
    pub fn give_sentence(&mut self, step: u32, text: &str, citations: Vec<Citation>) -> Sentence {
        self.emit(RunEvent::StepGiven {
            step,
            text: text.to_owned(),
            citations: citations.clone(),
        });
        Sentence {
            step,
            raw: text.to_owned(),
            citations,
            ..Sentence::default()
        }
    }

    /// Adds a step that no model wrote to an answer and emits it: its text, behind a `gap` where
    /// there is some before it, and the mark of its source.
    pub fn give_step(
        &mut self,
        answer: &mut Answer,
        gap: &str,
        text: String,
        citation: Option<Citation>,
    ) {
        // what stands behind an answer is no part of it
        let is_short = answer.sentences.is_empty() && answer.short == answer.text;
        if !answer.text.is_empty() {
            answer.text.push_str(gap);
        }
        answer.text.push_str(&text);
        if let Some(citation) = &citation {
            // nothing stands behind a fence and a row of a table
            let space = if text.ends_with(FENCE) || text.ends_with('|') {
                "\n\n"
            } else {
                " "
            };
            // the passages of several lookups have one number each in the run
            let number = self.numbering.get(citation.chunk).unwrap_or(citation.label);
            answer.text.push_str(&format!("{space}[{number}]"));
        }
        if is_short {
            answer.short.clone_from(&answer.text);
        }
        answer.citations.extend(citation.clone());
        answer.given += 1;
        self.emit(RunEvent::StepGiven {
            step: saturating_u32(answer.sentences.len()) + answer.given,
            text,
            citations: citation.into_iter().collect(),
        });
    }

    /// Returns the time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the mean time of a call of the generator so far; nothing before the first.
    pub(super) fn mean_call(&self) -> Duration {
        let calls = u64::from(self.usage.model_calls).max(1);
        Duration::from_micros(self.calls_us / calls)
    }

    /// Returns whether the observer has asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns the cards of the models that this run uses.
    pub fn models(&self) -> Vec<ModelCard> {
        let tools = &self.tools;
        let mut models = vec![tools.generator.card().clone()];

        if let Some(corpus) = &tools.corpus {
            let embedder = corpus.embedder.card();
            models.extend((embedder.width > 0).then(|| embedder.clone()));
        }
        models.extend(tools.reranker.as_ref().map(|model| model.card().clone()));
        models.extend(tools.judge.as_ref().map(|model| model.card().clone()));
        models.extend(tools.linker.as_ref().map(|linker| ModelCard {
            role: ModelRole::Linker,
            ..linker.card().clone()
        }));
        models
    }

    /// Searches the corpus for each of these texts, as one lookup; nothing when no corpus is open.
    pub fn search(&mut self, searches: &[Searched]) -> Result<Vec<Retrieval>, RunError> {
        let Some(corpus) = self.tools.corpus.as_mut() else {
            return Ok(Vec::new());
        };
        let settings = &self.tools.config.retriever;
        let texts: Vec<&str> = searches.iter().map(|search| search.text.as_str()).collect();
        let vectors = query_vectors(corpus.embedder, settings.kind, &texts)?;
        let embedder = &corpus.embedder.card().fingerprint;
        self.usage.retrievals += 1;
        let search = |(text, vector): (&&str, &Vec<f32>)| {
            Ok(corpus.index.search(text, vector, embedder, settings)?)
        };
        texts.iter().zip(&vectors).map(search).collect()
    }

    /// Returns the unit vector of each hit: that of this run where the chunk was made in it,
    /// otherwise that of the index, otherwise a new one.
    pub fn vectors(&mut self, hits: &[&Hit]) -> Result<Vec<Vec<f32>>, RunError> {
        let ids: Vec<u64> = hits.iter().map(|hit| hit.chunk.id).collect();
        let mut vectors = match &self.tools.corpus {
            Some(corpus) => corpus.index.vectors(&ids)?,
            None => vec![None; ids.len()],
        };
        for (id, vector) in ids.iter().zip(&mut vectors) {
            if let Some(of_run) = self.contexts.vectors.get(id) {
                *vector = Some(of_run.clone());
            }
        }

        let unknown = hits.iter().zip(&vectors);
        let unknown = unknown.filter(|(_, vector)| vector.is_none());
        let unknown = unknown.map(|(hit, _)| hit.chunk.embedded_text());
        let unknown: Vec<String> = unknown.collect();
        if !unknown.is_empty() {
            let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
            let mut embedded = self.embed(&unknown)?.into_iter();
            for vector in vectors.iter_mut().filter(|vector| vector.is_none()) {
                *vector = embedded.next();
            }
        }
        Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Remembers the answer so far, so that a later failure does not lose it.
    pub fn keep(&mut self, answer: Answer) {
        self.written = answer;
    }

    /// Returns the answer as far as it was kept.
    pub fn answer_so_far(&self) -> &Answer {
        &self.written
    }

    /// Warns that something was not measured, which changes no answer; breaks where the user
    /// stopped the run.
    pub fn warn_of_failure(
        &mut self,
        what: &str,
        measured: Result<(), RunError>,
    ) -> ControlFlow<()> {
        match measured {
            Ok(()) => {}
            Err(error) if is_stop(&error) => return ControlFlow::Break(()),
            Err(error) => self.emit(RunEvent::Warned {
                text: format!("{what} was not measured: {error}"),
                advice: error.to_problem().advice,
            }),
        }
        ControlFlow::Continue(())
    }

    /// Emits the end of a run that went through, and returns its outcome.
    pub fn finish(&mut self, answer: Answer) -> Outcome {
        let outcome = if self.is_stopped {
            Outcome::Stopped
        } else if answer.limit_reached {
            Outcome::LimitReached
        } else {
            Outcome::Completed
        };
        self.emit_finished(outcome, answer)
    }

    /// Emits the end of a run that failed or was stopped in a model call, and returns its outcome.
    pub fn fail(&mut self, error: &RunError) -> Outcome {
        let outcome = if is_stop(error) {
            Outcome::Stopped
        } else {
            Outcome::Failed(error.to_problem())
        };
        let written = std::mem::take(&mut self.written);
        self.emit_finished(outcome, written)
    }

    fn emit_finished(&mut self, outcome: Outcome, answer: Answer) -> Outcome {
        self.usage.wall_ms = elapsed_ms(self.started);
        self.emit(RunEvent::RunFinished {
            outcome: outcome.clone(),
            text: answer.text,
            answer: answer.short,
            citations: answer.citations,
            usage: self.usage,
        });
        outcome
    }

    /// Splits the run into its tools, for a call of the generator, and the sender of its events.
    pub(super) fn split(&mut self) -> (&mut Tools<'a>, impl FnMut(RunEvent) -> Flow) {
        let publish = &mut *self.publish;
        let numbering = &mut self.numbering;
        let is_stopped = &mut self.is_stopped;
        let emit = move |mut event| {
            numbering.number(&mut event);
            let flow = publish(event);
            *is_stopped |= flow == Flow::Stop;
            flow
        };
        (&mut self.tools, emit)
    }
}
