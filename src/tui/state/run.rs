use std::collections::BTreeMap;

use crate::config::{Config, Setting};
use crate::event::{
    CallUsage, Citation, Context, CorpusCard, DoubtedRegion, DropReason, Event, GateCard, Hit,
    ModelCard, ModelRole, Outcome, QueryWord, Record, Retrieval, RunUsage, Utility,
};

use super::step::{Step, Token};
use super::{Funnel, Refinement, harmless_corpus, harmless_text, one_line};

/// One question and all that happened to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: String,
    pub question: String,
    pub preset: String,
    /// The effective settings.
    pub settings: Config,
    pub models: Vec<ModelCard>,
    pub corpus: Option<CorpusCard>,
    pub seed: u64,
    pub started_at: u64,
    /// The question as keywords, where a rewriter is on.
    pub rewritten: Option<Rewritten>,
    pub lookups: Vec<Lookup>,
    pub refinement: Refinement,
    pub calls: Vec<Call>,
    pub steps: Vec<Step>,
    /// Who decides about the sentences, where somebody does.
    pub gate: Option<GateCard>,
    pub outcome: Option<Outcome>,
    /// The whole answer and its short form, once the run is over.
    pub text: String,
    pub answer: String,
    pub citations: Vec<Citation>,
    pub usage: RunUsage,
    /// What the context was worth, once that was measured.
    pub utility: Option<Utility>,
    decoding: DecodingClock,
}

/// A query, what it found, and what became of that.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    pub step: u32,
    pub query: String,
    /// Who wrote the query, where each of its words came from, and where the doubt began that it is for.
    pub writer: String,
    pub words: Vec<QueryWord>,
    pub region: Option<DoubtedRegion>,
    pub retrieval: Option<Retrieval>,
    pub context: Option<Context>,
    /// Hits that the retriever found; behind them come texts that were joined of chunks.
    pub found: usize,
    /// What the stages between retriever and context said.
    pub funnel: Funnel,
    /// What it was worth to the model, in -1..=1, once that was measured.
    pub utility: Option<f32>,
    /// Is it among chunks that were cut again for this question?
    pub recut: bool,
    /// By chunk: its label in the context, or why it is not there.
    places: BTreeMap<u64, Place>,
}

#[derive(Debug, Clone, PartialEq)]
enum Place {
    Label(u32),
    Dropped(DropReason),
}

/// The question as a rewriter wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    pub text: String,
    /// Its likeness with the question; None when it was empty.
    pub cosine: Option<f32>,
    /// False when it was too unlike the question.
    pub used: bool,
}

/// A prompt handed to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub call: u32,
    pub purpose: String,
    pub role: ModelRole,
    /// The exact text, for copying; whoever draws it makes it harmless.
    pub prompt: String,
    pub prompt_tokens: u32,
    /// Continuations that are sampled.
    pub branches: u32,
    /// Once the call is over; of a batch the first call carries what all of it cost.
    pub usage: Option<CallUsage>,
    /// Once the call is over: the first call of its batch, and how many they are.
    pub batch: Option<(u32, u32)>,
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has come back yet.
    Starting,
    /// The index is being asked.
    LookingUp,
    /// The model reads the prompt.
    Reading,
    /// Tokens come.
    Writing,
    /// Over.
    Done,
}

/// Measures decoding from token records alone: the gaps between tokens that follow each other without a model call between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct DecodingClock {
    last_token_us: Option<u64>,
    gaps: u32,
    gaps_us: u64,
}

impl Run {
    /// The run that a [`Event::RunStarted`] begins; None for any other event.
    pub(super) fn started(record: &Record) -> Option<Self> {
        let Event::RunStarted {
            question,
            preset,
            settings,
            models,
            corpus,
            seed,
            started_at,
            confirmed,
            ..
        } = &record.event
        else {
            return None;
        };
        Some(Self {
            id: record.run.clone(),
            question: harmless_text(question),
            preset: one_line(preset),
            settings: Config::from_recording(settings),
            models: models.clone(),
            corpus: corpus.as_ref().map(harmless_corpus),
            seed: *seed,
            started_at: *started_at,
            rewritten: None,
            lookups: Vec::new(),
            refinement: Refinement::default(),
            calls: Vec::new(),
            steps: (1..).zip(confirmed).map(given).collect(),
            gate: None,
            outcome: None,
            text: String::new(),
            answer: String::new(),
            citations: Vec::new(),
            usage: RunUsage::default(),
            utility: None,
            decoding: DecodingClock::default(),
        })
    }

    pub(super) fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::QueryWritten {
                step,
                query,
                writer,
                words,
                region,
            } => {
                let lookup = self.lookup(*step);
                (lookup.query, lookup.writer, lookup.region) =
                    (one_line(query), one_line(writer), *region);
                let word = |word: &QueryWord| QueryWord {
                    text: one_line(&word.text),
                    origin: word.origin,
                };
                lookup.words = words.iter().map(word).collect();
            }
            Event::RetrievalFinished { step, retrieval } => {
                self.lookup(*step).found(retrieval);
                self.lookup(*step).funnel.apply(&record.event);
            }
            Event::LinksRead { step, .. }
            | Event::ChunksLinked { step, .. }
            | Event::ChunksGraded { step, .. }
            | Event::ChunksJudged { step, .. }
            | Event::StageFinished { step, .. }
            | Event::ChunksMerged { step, .. }
            | Event::ChunksReranked { step, .. } => self.lookup(*step).narrowed(&record.event),
            Event::QuestionRewritten {
                rewritten,
                cosine,
                used,
                ..
            } => {
                self.rewritten = Some(Rewritten {
                    text: one_line(rewritten),
                    cosine: *cosine,
                    used: *used,
                });
            }
            Event::ContextBuilt { step, context } => {
                self.lookup(*step).built(context);
                self.lookup(*step).funnel.apply(&record.event);
            }
            Event::DocumentsRecut { step, .. } => {
                self.lookup(*step).funnel.apply(&record.event);
                // what is found among the new chunks stands beside what was found before
                self.lookups.push(Lookup {
                    recut: true,
                    ..Lookup::new(*step)
                });
                self.refinement.apply(&record.event);
            }
            Event::UnderstandingMeasured { .. }
            | Event::UnderstandingSkipped { .. }
            | Event::ContextEvaluated { .. }
            | Event::ChunksClassified { .. }
            | Event::ContextRefined { .. }
            | Event::RefinementFinished { .. } => self.refinement.apply(&record.event),
            Event::ModelCalled {
                call,
                purpose,
                role,
                prompt,
                prompt_tokens,
                branches,
            } => {
                self.decoding.last_token_us = None;
                self.calls.push(Call {
                    call: *call,
                    purpose: one_line(purpose),
                    role: *role,
                    prompt: prompt.clone(),
                    prompt_tokens: *prompt_tokens,
                    branches: *branches,
                    usage: None,
                    batch: None,
                });
            }
            Event::ModelCallFinished { call, calls, usage } => {
                let batch = *call..call.saturating_add(*calls);
                for known in self
                    .calls
                    .iter_mut()
                    .rev()
                    .filter(|known| batch.contains(&known.call))
                {
                    // the first of a batch carries what all of it cost
                    known.usage = Some(*usage).filter(|_| known.call == *call);
                    known.batch = Some((*call, *calls));
                }
            }
            Event::GateChosen { gate } => self.gate = Some(harmless_gate(gate)),
            Event::StepStarted { step } => self.step(*step).begin(),
            Event::TokenGenerated {
                step,
                text,
                logprob,
                entropy,
            } => {
                self.decoding.token(record.t_us);
                self.step(*step).push(Token {
                    text: harmless_text(text),
                    logprob: *logprob,
                    entropy: *entropy,
                });
            }
            Event::StepFinished {
                step,
                text,
                uncertainty,
                citations,
            } => {
                let known = self.step(*step);
                known.text = harmless_text(text).trim().to_owned();
                known.uncertainty = Some(uncertainty.clone());
                known.citations = citations.clone();
            }
            Event::StepAttributed { step, chunks } => {
                let mut chunks = chunks.clone();
                chunks.sort_by(|a, b| b.share.total_cmp(&a.share));
                self.step(*step).attended = chunks;
            }
            Event::RunFinished {
                outcome,
                text,
                answer,
                citations,
                usage,
            } => {
                self.outcome = Some(outcome.clone());
                self.text = harmless_text(text);
                self.answer = one_line(answer.trim());
                self.citations = citations.clone();
                self.usage = *usage;
            }
            _ => {}
        }
    }

    /// Tokens a second, measured from the token records; None before there are enough of them.
    #[must_use]
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.decoding.gaps >= 4 && self.decoding.gaps_us > 0)
            .then(|| f64::from(self.decoding.gaps) * 1e6 / self.decoding.gaps_us as f64)
    }

    /// What the run is doing, from what it has done.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.outcome.is_some() {
            Phase::Done
        } else if self.steps.iter().any(|step| !step.tokens.is_empty()) {
            Phase::Writing
        } else if !self.calls.is_empty() {
            Phase::Reading
        } else if !self.lookups.is_empty() {
            Phase::LookingUp
        } else {
            Phase::Starting
        }
    }

    /// Prompt tokens evaluated and reused over the calls that are over.
    #[must_use]
    pub fn prompt_tokens(&self) -> (u64, u64) {
        self.calls.iter().filter_map(|call| call.usage).fold(
            (0, 0),
            |(evaluated, reused), usage| {
                (
                    evaluated + u64::from(usage.prompt_tokens_evaluated),
                    reused + u64::from(usage.prompt_tokens_reused),
                )
            },
        )
    }

    /// The generator of this run.
    #[must_use]
    pub fn model(&self, role: ModelRole) -> Option<&ModelCard> {
        self.models.iter().find(|card| card.role == role)
    }

    /// Returns a setting of the run as text that is safe to draw.
    #[must_use]
    pub fn setting(&self, setting: &Setting) -> String {
        one_line(&setting.text(&self.settings))
    }

    /// The hit that holds a chunk, in any lookup.
    #[must_use]
    pub fn hit(&self, chunk: u64) -> Option<&Hit> {
        self.lookups
            .iter()
            .rev()
            .find_map(|lookup| lookup.hits().iter().find(|hit| hit.chunk.id == chunk))
    }

    /// What a lookup was worth: that of a step, or the one of the last context.
    pub(super) fn measured(&mut self, step: Option<u32>, utility: Utility) {
        let is_meant = |lookup: &Lookup| match step {
            Some(step) => lookup.step == step,
            None => lookup.context.is_some(),
        };
        if let Some(lookup) = self.lookups.iter_mut().rfind(|lookup| is_meant(lookup)) {
            lookup.utility = Some(utility.delta);
        }
        self.utility = Some(utility);
    }

    /// The chunks of the last context, in the order of their labels.
    #[must_use]
    pub fn context_hits(&self) -> Vec<&Hit> {
        let context = self
            .lookups
            .iter()
            .rev()
            .find_map(|lookup| lookup.context.as_ref());
        let chunks = context.map_or(&[][..], |context| &context.chunks);
        chunks
            .iter()
            .filter_map(|part| self.hit(part.chunk))
            .collect()
    }

    fn lookup(&mut self, step: u32) -> &mut Lookup {
        let place = self
            .lookups
            .iter()
            .rposition(|lookup| lookup.step == step)
            .unwrap_or_else(|| {
                self.lookups.push(Lookup::new(step));
                self.lookups.len() - 1
            });
        &mut self.lookups[place]
    }

    fn step(&mut self, step: u32) -> &mut Step {
        let place = self
            .steps
            .iter()
            .rposition(|known| known.step == step)
            .unwrap_or_else(|| {
                self.steps.push(Step {
                    step,
                    ..Step::default()
                });
                self.steps.len() - 1
            });
        &mut self.steps[place]
    }
}

/// A sentence that was taken over from another run.
fn given((step, text): (u32, &String)) -> Step {
    Step {
        step,
        text: harmless_text(text).trim().to_owned(),
        given: true,
        ..Step::default()
    }
}

fn harmless_gate(gate: &GateCard) -> GateCard {
    GateCard {
        fallback: gate.fallback.as_deref().map(one_line),
        ..gate.clone()
    }
}

impl Lookup {
    fn new(step: u32) -> Self {
        Self {
            step,
            query: String::new(),
            writer: String::new(),
            words: Vec::new(),
            region: None,
            retrieval: None,
            context: None,
            utility: None,
            found: 0,
            funnel: Funnel::default(),
            recut: false,
            places: BTreeMap::new(),
        }
    }

    /// Paths stay as they are, so that the document can be asked for by its name; whoever draws one makes it harmless.
    fn found(&mut self, retrieval: &Retrieval) {
        let mut retrieval = retrieval.clone();
        retrieval.query = one_line(&retrieval.query);
        for hit in &mut retrieval.hits {
            hit.chunk.text = harmless_text(&hit.chunk.text);
            for heading in &mut hit.chunk.headings {
                *heading = one_line(heading);
            }
        }
        if self.query.is_empty() {
            self.query.clone_from(&retrieval.query);
        }
        (self.found, self.funnel) = (retrieval.hits.len(), Funnel::default());
        self.retrieval = Some(retrieval);
    }

    /// A stage between retriever and context said something.
    fn narrowed(&mut self, event: &Event) {
        let before = self.funnel.texts.len();
        self.funnel.apply(event);
        if let Some(retrieval) = &mut self.retrieval {
            retrieval
                .hits
                .extend(self.funnel.texts[before..].iter().cloned());
        }
        if let Event::StageFinished { dropped, .. } = event {
            let places = dropped
                .iter()
                .map(|dropped| (dropped.chunk, Place::Dropped(dropped.reason.clone())));
            self.places.extend(places);
        }
    }

    fn built(&mut self, context: &Context) {
        self.places.clear();
        for chunk in &context.chunks {
            self.places.insert(chunk.chunk, Place::Label(chunk.label));
        }
        for dropped in &context.dropped {
            self.places
                .insert(dropped.chunk, Place::Dropped(dropped.reason.clone()));
        }
        self.context = Some(context.clone());
    }

    /// The hits in fused order, best first; behind them the texts that were joined of chunks.
    #[must_use]
    pub fn hits(&self) -> &[Hit] {
        self.retrieval
            .as_ref()
            .map_or(&[], |retrieval| &retrieval.hits)
    }

    /// The label of a chunk in the context.
    #[must_use]
    pub fn label(&self, chunk: u64) -> Option<u32> {
        match self.places.get(&chunk)? {
            Place::Label(label) => Some(*label),
            Place::Dropped(_) => None,
        }
    }

    /// Why a chunk is not in the context.
    #[must_use]
    pub fn dropped(&self, chunk: u64) -> Option<&DropReason> {
        match self.places.get(&chunk)? {
            Place::Label(_) => None,
            Place::Dropped(reason) => Some(reason),
        }
    }
}

impl DecodingClock {
    fn token(&mut self, t_us: u64) {
        if let Some(last) = self.last_token_us.replace(t_us) {
            self.gaps += 1;
            self.gaps_us += t_us.saturating_sub(last);
        }
    }
}
