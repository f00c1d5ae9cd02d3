use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{ChunkerKind, Config, Part, Setting};
use crate::event::{
    AsAsked, CallUsage, Citation, CorpusCard, GateCard, Hit, ModelCard, ModelRole, Numbering,
    Outcome, RunEvent, RunUsage, Turn, Utility,
};

use super::text::{self, many_lines, one_line};
use super::{Change, Evaluated, Lookup, Refinement, Step, Token, words};

/// One question and everything that happened to it.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// The first run of its thread, where that is another one.
    pub thread: Option<String>,
    /// The question as a rewriting by the turns of its thread made it stand alone.
    pub follow_up: Option<FollowUp>,
    /// The question as keywords, where a rewriter is on.
    pub rewritten: Option<Rewritten>,
    pub lookups: Vec<Lookup>,
    pub refinement: Refinement,
    pub calls: Vec<Call>,
    pub steps: Vec<Step>,
    /// The gate that decides about each sentence, where one is on.
    pub gate: Option<GateCard>,
    pub outcome: Option<Outcome>,
    /// The whole answer and its short form, once the run is over.
    pub text: String,
    pub answer: String,
    pub citations: Vec<Citation>,
    pub usage: RunUsage,
    /// The utility of the context, each time that it was measured.
    pub utilities: Vec<Utility>,
    /// Of the texts that the present calls write: how many are begun, and how many there are.
    begun: Option<(u32, u32)>,
    decoding: DecodingClock,
    numbering: Numbering,
    /// Whether the record has the numbers of the run in its texts.
    is_numbered: bool,
}

/// A follow-up question as it was rewritten to stand alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FollowUp {
    pub text: String,
    /// Number of turns of the thread that it was rewritten by.
    pub turns: u32,
    /// Why it is not used; `None` where it is.
    pub as_asked: Option<AsAsked>,
}

/// The question as a rewriter wrote it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rewritten {
    pub text: String,
    /// Its cosine similarity to the question; None when it was empty.
    pub similarity: Option<f32>,
    /// False when it was too dissimilar to the question.
    pub used: bool,
}

/// A prompt handed to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub call: u32,
    pub purpose: String,
    pub role: ModelRole,
    /// The exact text, for copying: it is made harmless where it is drawn.
    pub prompt: String,
    pub prompt_tokens: u32,
    /// Number of continuations that are sampled.
    pub branches: u32,
    /// Bytes at the end of the prompt that are the given beginning of the reply.
    pub reply_bytes: u32,
    /// Once the call is over; the first call of a batch carries the cost of the whole batch.
    pub usage: Option<CallUsage>,
    /// Once the call is over: the first call of its batch, and the number of calls in it.
    pub batch: Option<(u32, u32)>,
    /// The probability that the reply begins with a label, where a judgement was read from it.
    pub label_mass: Option<f32>,
    /// The labels with the priors by which their probabilities were divided; empty where they were not.
    pub priors: Vec<(String, f32)>,
}

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has happened yet.
    Starting,
    /// The index is searched.
    Retrieving,
    /// The model reads the prompt.
    Reading,
    /// The model generates tokens.
    Writing,
    /// Over.
    Done,
}

/// Measures decoding speed by the gaps between tokens that follow each other without a model call
/// in between.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct DecodingClock {
    last_token_us: Option<u64>,
    gaps: u32,
    gaps_us: u64,
}

impl Run {
    /// A run of which nothing is known yet.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Returns whether the attention of its sentences to the chunks was read.
    #[must_use]
    pub fn reads_attention(&self) -> bool {
        self.steps.iter().any(|step| !step.attended.is_empty())
    }

    /// Takes in an event that happened `t_us` microseconds after the run started.
    pub fn apply(&mut self, event: &RunEvent, t_us: u64) {
        if let RunEvent::RunStarted { format, .. } = event {
            self.is_numbered = format.has_numbers();
        }
        let event = self.numbered(event);
        let event = event.as_ref();
        match event {
            RunEvent::RunStarted { .. }
            | RunEvent::GateChosen { .. }
            | RunEvent::FollowUpRewritten { .. }
            | RunEvent::QuestionRewritten { .. } => self.apply_to_start(event),
            RunEvent::QueryWritten { .. }
            | RunEvent::RetrievalFinished { .. }
            | RunEvent::LinksRead { .. }
            | RunEvent::ChunksLinked { .. }
            | RunEvent::ChunksGraded { .. }
            | RunEvent::ChunksJudged { .. }
            | RunEvent::StageFinished { .. }
            | RunEvent::ChunksMerged { .. }
            | RunEvent::ChunksReranked { .. }
            | RunEvent::PartsLeftOut { .. }
            | RunEvent::ContextBuilt { .. } => self.apply_to_lookups(event),
            RunEvent::DocumentsRechunked { .. }
            | RunEvent::UnderstandingMeasured { .. }
            | RunEvent::UnderstandingSkipped { .. }
            | RunEvent::ContextEvaluated { .. }
            | RunEvent::ChunksClassified { .. }
            | RunEvent::ContextRefined { .. }
            | RunEvent::RefinementFinished { .. } => self.apply_to_refinement(event),
            RunEvent::ModelCalled { .. }
            | RunEvent::CallsProgressed { .. }
            | RunEvent::ModelCallFinished { .. }
            | RunEvent::JudgementsRead { .. } => self.apply_to_calls(event),
            RunEvent::StepStarted { .. }
            | RunEvent::ThoughtGenerated { .. }
            | RunEvent::TokenGenerated { .. }
            | RunEvent::StepFinished { .. }
            | RunEvent::StepAttributed { .. } => self.apply_to_steps(event, t_us),
            RunEvent::UtilityMeasured { .. } | RunEvent::RunFinished { .. } => {
                self.apply_to_end(event);
            }
            // Warnings are the session's to show.
            RunEvent::Warned { .. } | RunEvent::Unknown => {}
        }
    }

    /// Returns an event with one number per chunk. A run that was recorded before there were numbers has
    /// the labels of its prompts.
    fn numbered<'e>(&mut self, event: &'e RunEvent) -> Cow<'e, RunEvent> {
        let has_labels = matches!(
            event,
            RunEvent::ContextBuilt { .. }
                | RunEvent::UnderstandingMeasured { .. }
                | RunEvent::UnderstandingSkipped { .. }
                | RunEvent::StepFinished { .. }
                | RunEvent::StepAttributed { .. }
                | RunEvent::UtilityMeasured { .. }
                | RunEvent::RunFinished { .. }
        );
        if !has_labels {
            return Cow::Borrowed(event);
        }
        let mut event = event.clone();
        if self.is_numbered {
            self.numbering.number_chunks(&mut event);
        } else {
            self.numbering.number(&mut event);
        }
        Cow::Owned(event)
    }

    /// Applies an event of the start: the question, the settings, the gate.
    fn apply_to_start(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted {
                question,
                preset,
                settings,
                models,
                corpus,
                seed,
                started_at,
                confirmed,
                thread,
                ..
            } => {
                self.thread = thread.as_deref().map(one_line);
                self.question = many_lines(question);
                self.preset = one_line(preset);
                self.settings = Config::from_recording(settings);
                self.models = models.clone();
                self.corpus = corpus.as_ref().map(text::corpus);
                self.seed = *seed;
                self.started_at = *started_at;
                let given = (1..).zip(confirmed);
                self.steps = given.map(|(step, text)| Step::given(step, text)).collect();
            }
            RunEvent::GateChosen { gate } => {
                self.gate = Some(GateCard {
                    fallback: gate.fallback.as_ref().map(|problem| problem.map(one_line)),
                    ..gate.clone()
                });
            }
            RunEvent::FollowUpRewritten {
                rewritten,
                turns,
                as_asked,
                ..
            } => {
                self.follow_up = Some(FollowUp {
                    text: one_line(rewritten),
                    turns: *turns,
                    as_asked: as_asked.as_ref().map(harmless_reason),
                });
            }
            RunEvent::QuestionRewritten {
                rewritten,
                similarity,
                used,
                ..
            } => {
                self.rewritten = Some(Rewritten {
                    text: one_line(rewritten),
                    similarity: *similarity,
                    used: *used,
                });
            }
            _ => {}
        }
    }

    /// Applies an event of a lookup: its query, its hits and what each stage made of them.
    fn apply_to_lookups(&mut self, event: &RunEvent) {
        match event {
            RunEvent::QueryWritten {
                step,
                query,
                writer,
                words,
                region,
            } => self
                .lookup(*step)
                .query_written(query, writer, words, *region),
            RunEvent::RetrievalFinished { step, retrieval } => {
                self.lookup(*step).retrieved(retrieval);
            }
            RunEvent::LinksRead { step, links } => self.lookup(*step).links_read(links),
            RunEvent::ChunksLinked { step, linked } => self.lookup(*step).linked(linked),
            RunEvent::ChunksGraded {
                step,
                graded,
                threshold,
                fell_back,
                ..
            } => self
                .lookup(*step)
                .funnel
                .graded(graded, *threshold, *fell_back),
            RunEvent::ChunksJudged {
                step,
                judged,
                fell_back,
                ..
            } => self.lookup(*step).funnel.judged(judged, *fell_back),
            RunEvent::StageFinished {
                step,
                stage,
                kept,
                dropped,
            } => self.lookup(*step).stage_finished(*stage, kept, dropped),
            RunEvent::ChunksMerged { step, merged } => self.lookup(*step).merged(merged),
            RunEvent::ChunksReranked { step, ranked } => self.lookup(*step).funnel.reranked(ranked),
            RunEvent::PartsLeftOut {
                step,
                parts,
                reason,
            } => {
                // the utility is measured after all lookups, and also where there was none
                let is_known = self.lookups.iter().any(|lookup| lookup.step == *step);
                if is_known || !parts.contains(&crate::event::Part::Utility) {
                    self.lookup(*step).left_out.push((parts.clone(), *reason));
                }
            }
            RunEvent::ContextBuilt { step, context } => {
                // A repaired context may hold chunks that the first lookup of the step found.
                for lookup in self.lookups_of(*step) {
                    lookup.funnel.context_built(context);
                }
                self.lookup(*step).context_built(context);
            }
            _ => {}
        }
    }

    /// Applies an event of the rounds that repair the context.
    fn apply_to_refinement(&mut self, event: &RunEvent) {
        match event {
            RunEvent::DocumentsRechunked {
                step, documents, ..
            } => {
                self.lookup(*step).funnel.rechunked();
                self.lookups.push(Lookup::among_rechunked(*step));
                self.refinement.documents_rechunked(documents);
            }
            RunEvent::UnderstandingMeasured {
                step,
                round,
                understanding,
            } => self.refinement.measured(*step, *round, understanding),
            RunEvent::UnderstandingSkipped {
                step,
                round,
                reason,
                chunks,
            } => self.refinement.skipped(*step, *round, *reason, chunks),
            RunEvent::ContextEvaluated {
                step,
                round,
                sufficient,
                probability,
                answered,
            } => {
                if let Some(round) = self.refinement.round(*step, *round) {
                    round.evaluated = Some(Evaluated {
                        sufficient: *sufficient,
                        probability: *probability,
                        answered: *answered,
                    });
                }
            }
            RunEvent::ChunksClassified {
                step,
                round,
                chunks,
            } => {
                if let Some(round) = self.refinement.round(*step, *round) {
                    round.classified(chunks);
                }
            }
            RunEvent::ContextRefined {
                step,
                round,
                dropped,
                added,
            } => {
                if let Some(round) = self.refinement.round(*step, *round) {
                    round.change = Some(Change {
                        dropped: dropped.clone(),
                        added: added.clone(),
                    });
                }
            }
            RunEvent::RefinementFinished { best, end, .. } => {
                self.refinement.finished = Some((*best, *end));
            }
            _ => {}
        }
    }

    /// Applies an event of a model call.
    fn apply_to_calls(&mut self, event: &RunEvent) {
        match event {
            RunEvent::ModelCalled {
                call,
                purpose,
                role,
                prompt,
                prompt_tokens,
                branches,
                reply_bytes,
            } => {
                self.decoding.last_token_us = None;
                self.calls.push(Call {
                    call: *call,
                    purpose: one_line(purpose),
                    role: *role,
                    prompt: prompt.clone(),
                    prompt_tokens: *prompt_tokens,
                    branches: *branches,
                    reply_bytes: *reply_bytes,
                    usage: None,
                    batch: None,
                    label_mass: None,
                    priors: Vec::new(),
                });
            }
            RunEvent::CallsProgressed { begun, total, .. } => {
                self.begun = Some((*begun, *total));
            }
            RunEvent::ModelCallFinished { call, calls, usage } => {
                self.begun = None;
                self.calls_finished(*call, *calls, *usage);
            }
            RunEvent::JudgementsRead {
                call,
                labels,
                masses,
                priors,
                ..
            } => {
                let labels = labels.iter().map(|label| one_line(label));
                let priors: Vec<(String, f32)> = labels.zip(priors.iter().copied()).collect();
                let judged = self.calls.iter_mut().filter(|known| known.call >= *call);
                for (known, mass) in judged.zip(masses) {
                    known.label_mass = Some(*mass);
                    known.priors.clone_from(&priors);
                }
            }
            _ => {}
        }
    }

    /// Applies an event of a sentence of the answer.
    fn apply_to_steps(&mut self, event: &RunEvent, t_us: u64) {
        match event {
            RunEvent::StepStarted { step } => self.step(*step).begin(),
            RunEvent::ThoughtGenerated { step, text } => {
                self.step(*step).thoughts.push_str(&many_lines(text));
            }
            RunEvent::TokenGenerated {
                step,
                text,
                logprob,
                entropy,
                alternatives,
            } => {
                self.decoding.token(t_us);
                self.step(*step).push(Token {
                    text: many_lines(text),
                    logprob: *logprob,
                    entropy: *entropy,
                    alternatives: text::alternatives(alternatives),
                });
                let written = self.step(*step).written();
                self.step(*step).text = self.numbering.numbered(*step, &written);
            }
            RunEvent::StepFinished {
                step,
                text,
                uncertainty,
                citations,
            } => self.step(*step).finish(text, uncertainty, citations),
            RunEvent::StepAttributed { step, chunks } => self.step(*step).attribute(chunks),
            _ => {}
        }
    }

    /// Applies an event of the end: the answer, and how much its context helped.
    fn apply_to_end(&mut self, event: &RunEvent) {
        match event {
            RunEvent::UtilityMeasured { step, utility } => {
                let of_step = self.lookups.iter_mut().rfind(|lookup| lookup.step == *step);
                if let Some(lookup) = of_step {
                    lookup.utility = Some(utility.delta);
                }
                self.utilities.push(text::utility(utility));
            }
            RunEvent::RunFinished {
                outcome,
                text,
                answer,
                citations,
                usage,
            } => {
                self.outcome = Some(outcome.clone());
                self.text = many_lines(text);
                self.answer = one_line(answer.trim());
                self.citations = text::citations(citations);
                self.usage = *usage;
            }
            _ => {}
        }
    }

    /// Takes in how much the last context helped, measured after the run was over.
    pub fn measured_later(&mut self, utility: &Utility) {
        let with_context = self
            .lookups
            .iter_mut()
            .rfind(|lookup| lookup.context.is_some());
        if let Some(lookup) = with_context {
            lookup.utility = Some(utility.delta);
        }
        let mut utility = text::utility(utility);
        self.numbering.number_utility(&mut utility);
        self.utilities.push(utility);
    }

    fn calls_finished(&mut self, first: u32, calls: u32, usage: CallUsage) {
        let batch = first..first.saturating_add(calls);
        for known in self
            .calls
            .iter_mut()
            .rev()
            .filter(|known| batch.contains(&known.call))
        {
            known.usage = (known.call == first).then_some(usage);
            known.batch = Some((first, calls));
        }
    }

    /// The last lookup of a step, which begins here when there is none.
    fn lookup(&mut self, step: u32) -> &mut Lookup {
        let known = self.lookups.iter().rposition(|lookup| lookup.step == step);
        let at = known.unwrap_or_else(|| {
            self.lookups.push(Lookup::new(step));
            self.lookups.len() - 1
        });
        &mut self.lookups[at]
    }

    fn lookups_of(&mut self, step: u32) -> impl Iterator<Item = &mut Lookup> {
        self.lookup(step);
        self.lookups
            .iter_mut()
            .filter(move |lookup| lookup.step == step)
    }

    fn step(&mut self, step: u32) -> &mut Step {
        let known = self.steps.iter().rposition(|known| known.step == step);
        let at = known.unwrap_or_else(|| {
            self.steps.push(Step {
                step,
                ..Step::default()
            });
            self.steps.len() - 1
        });
        &mut self.steps[at]
    }

    /// Returns what the run is doing, from what it has done.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.outcome.is_some() {
            Phase::Done
        } else if self.steps.iter().any(|step| !step.tokens.is_empty()) {
            Phase::Writing
        } else if !self.calls.is_empty() {
            Phase::Reading
        } else if !self.lookups.is_empty() {
            Phase::Retrieving
        } else {
            Phase::Starting
        }
    }

    /// Returns what the run is doing in words: `round 1, rephrasing chunk 2 of 3`.
    #[must_use]
    pub fn activity(&self) -> String {
        let call = self.calls.last().filter(|call| call.batch.is_none());
        let is_reading = self.steps.iter().all(|step| step.tokens.is_empty());
        let call = call.filter(|call| is_reading || call.purpose != "answer");
        let work = match call {
            Some(call) if call.purpose == "answer" => {
                let tokens = words::counted(call.prompt_tokens.into(), "token");
                format!("{} of {tokens}", words::call(&call.purpose, None))
            }
            Some(call) => words::call(&call.purpose, self.begun),
            None if self.is_rechunking() => "re-chunking the documents by meaning".to_owned(),
            None => self.phase_words(),
        };
        if self.is_refining() {
            format!("round {}, {work}", self.refinement.round_in_progress())
        } else {
            work
        }
    }

    /// Returns whether the documents are re-chunked: after a first round that is uncertain.
    fn is_rechunking(&self) -> bool {
        let refinement = &self.refinement;
        let is_uncertain = refinement.rounds.first().is_some_and(|first| {
            let measured = first.measured.as_ref();
            measured.is_ok_and(|measured| !measured.certain)
        });
        self.settings.chunker.kind == ChunkerKind::Adaptive
            && self.is_refining()
            && is_uncertain
            && refinement.rounds.len() == 1
            && refinement.rechunked.is_empty()
    }

    /// Returns whether the context is measured and repaired.
    fn is_refining(&self) -> bool {
        let has_begun = self.calls.iter().any(|call| call.purpose == "rephrase");
        has_begun && self.refinement.finished.is_none() && self.steps.is_empty()
    }

    fn phase_words(&self) -> String {
        match self.phase() {
            Phase::Starting => "starting".to_owned(),
            Phase::Retrieving => "retrieving".to_owned(),
            Phase::Reading => "reading the prompt".to_owned(),
            Phase::Writing => {
                let step = self.steps.last().map_or(1, |step| step.step);
                format!("writing sentence {step}")
            }
            Phase::Done => String::new(),
        }
    }

    /// Returns whether the run searched a folder without any chunk.
    #[must_use]
    pub fn lacks_documents(&self) -> bool {
        let is_empty = self
            .corpus
            .as_ref()
            .is_some_and(|corpus| corpus.chunks == 0);
        is_empty && !self.lookups.is_empty()
    }

    /// Returns the id of its thread.
    #[must_use]
    pub fn thread(&self) -> &str {
        self.thread.as_deref().unwrap_or(&self.id)
    }

    /// Returns the question as the run worked with it: a follow-up as it was rewritten, where that is
    /// used.
    #[must_use]
    pub fn standalone(&self) -> &str {
        match &self.follow_up {
            Some(FollowUp {
                text,
                as_asked: None,
                ..
            }) => text,
            Some(_) | None => &self.question,
        }
    }

    /// Returns the run as a turn of its thread.
    #[must_use]
    pub fn turn(&self) -> Turn {
        let answer = if self.answer.is_empty() {
            self.text.trim()
        } else {
            &self.answer
        };
        Turn {
            question: self.standalone().to_owned(),
            answer: answer.to_owned(),
        }
    }

    /// Returns whether the run searched words alone, because the index had no vectors yet.
    #[must_use]
    pub fn is_by_words_alone(&self) -> bool {
        let words_only = self.corpus.as_ref().is_some_and(|corpus| corpus.words_only);
        let wants_vectors = self.settings.retriever.kind.has_vectors();
        words_only && wants_vectors && !self.lookups.is_empty()
    }

    /// Tokens per second, measured from the token records; None before there are enough of them.
    #[must_use]
    pub fn tokens_per_second(&self) -> Option<f64> {
        let DecodingClock { gaps, gaps_us, .. } = self.decoding;
        (gaps >= 4 && gaps_us > 0).then(|| f64::from(gaps) * 1e6 / gaps_us as f64)
    }

    /// Prompt tokens evaluated and reused by the calls that are over.
    #[must_use]
    pub fn prompt_tokens(&self) -> (u64, u64) {
        let mut evaluated = 0;
        let mut reused = 0;
        for usage in self.calls.iter().filter_map(|call| call.usage) {
            evaluated += u64::from(usage.prompt_tokens_evaluated);
            reused += u64::from(usage.prompt_tokens_reused);
        }
        (evaluated, reused)
    }

    /// The model of this run in a role.
    #[must_use]
    pub fn model(&self, role: ModelRole) -> Option<&ModelCard> {
        self.models.iter().find(|card| card.role == role)
    }

    /// Returns a setting of the run as text that is safe to draw.
    #[must_use]
    pub fn setting(&self, setting: &Setting) -> String {
        let mut text = setting.text(&self.settings);
        let retriever = &self.settings.retriever;
        // a chunk is named by its bytes where it is pinned or excluded, and by its lines in every pane
        for location in retriever.pinned.iter().chain(&retriever.excluded) {
            let mut hits = self.lookups.iter().flat_map(Lookup::hits);
            let named = hits.find(|hit| {
                matches!(location.part, Part::Bytes(bytes) if bytes == hit.chunk.bytes)
                    && hit.chunk.document == location.document
            });
            if let Some(hit) = named {
                text = text.replace(&location.to_string(), &words::chunk_location(&hit.chunk));
            }
        }
        one_line(&text)
    }

    /// The hit or joined text with this number, in the last lookup that has it.
    #[must_use]
    pub fn hit(&self, chunk: u64) -> Option<&Hit> {
        self.lookups
            .iter()
            .rev()
            .find_map(|lookup| lookup.hit(chunk))
    }

    /// Returns whether the generator answered about documents that it was not made for.
    #[must_use]
    pub fn is_practice(&self) -> bool {
        let generator = self.model(ModelRole::Generator);
        generator.is_some_and(|model| words::is_for_practice(model, self.corpus.as_ref()))
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
            .filter_map(|used| self.hit(used.chunk))
            .collect()
    }

    /// Returns the place among the lookups of the one that a sentence was written from: its own, else the
    /// last one for the question.
    #[must_use]
    pub fn lookup_of(&self, step: u32) -> Option<usize> {
        let last_of = |step| {
            self.lookups
                .iter()
                .rposition(|lookup| lookup.step == step && lookup.context.is_some())
        };
        last_of(step).or_else(|| last_of(0))
    }

    /// The chunks of the contexts that the answer was written from, in the order of their numbers.
    #[must_use]
    pub fn numbered_hits(&self) -> Vec<(u32, &Hit)> {
        let mut used = BTreeMap::new();
        for (at, lookup) in self.lookups.iter().enumerate() {
            let is_last = self.lookup_of(lookup.step) == Some(at);
            let context = lookup.context.as_ref().filter(|_| is_last);
            for chunk in context.map_or(&[][..], |context| &context.chunks) {
                used.extend(self.hit(chunk.chunk).map(|hit| (chunk.label, hit)));
            }
        }
        used.into_iter().collect()
    }

    /// The lookups that searched the index; those among re-chunked documents are left out.
    pub fn index_lookups(&self) -> impl Iterator<Item = &Lookup> {
        self.lookups.iter().filter(|lookup| !lookup.rechunked)
    }

    /// The tokens of the answer, without those of replaced sentences.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.steps.iter().flat_map(|step| &step.tokens)
    }

    /// Returns the utility of the context, as measured last.
    #[must_use]
    pub fn utility(&self) -> Option<&Utility> {
        self.utilities.last()
    }
}

fn harmless_reason(as_asked: &AsAsked) -> AsAsked {
    let harmless = |words: &[String]| words.iter().map(|word| one_line(word)).collect();
    match as_asked {
        AsAsked::WordsLost { words } => AsAsked::WordsLost {
            words: harmless(words),
        },
        AsAsked::NamesInvented { words } => AsAsked::NamesInvented {
            words: harmless(words),
        },
        AsAsked::StandsAlone
        | AsAsked::Untrained
        | AsAsked::Empty
        | AsAsked::NotAQuestion
        | AsAsked::NothingAdded
        | AsAsked::TooLong => as_asked.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{
        ChunkText, Context, ContextChunk, ContextOrigin, DropReason, DroppedChunk, Fusion, Ranked,
        RechunkedDocument, RefinementEnd, RerankedChunk, Retrieval, Stage, Understanding,
    };
    use crate::story::{Mark, words};

    fn hit(id: u64, rank: u32) -> Hit {
        let chunk = ChunkText {
            id,
            document: "a.md".to_owned(),
            headings: Vec::new(),
            bytes: [0, 1],
            lines: [1, 1],
            places: Vec::new(),
            tokens: 1,
            text: "x".to_owned(),
            parts: Vec::new(),
        };
        Hit {
            chunk,
            bm25: None,
            vector: None,
            fused: Ranked { score: 1.0, rank },
        }
    }

    fn retrieved(ids: &[u64]) -> RunEvent {
        let retrieval = Retrieval {
            query: "q".to_owned(),
            fusion: Fusion::Weighted,
            hits: (1..).zip(ids).map(|(rank, id)| hit(*id, rank)).collect(),
            bm25_found: 3,
            vector_found: 3,
            wall_us: 1,
            filter: None,
            documents: std::collections::BTreeMap::new(),
        };
        RunEvent::RetrievalFinished { step: 0, retrieval }
    }

    fn context(chunk: u64, dropped: Vec<DroppedChunk>) -> RunEvent {
        RunEvent::ContextBuilt {
            step: 0,
            context: Context {
                chunks: vec![ContextChunk {
                    label: 1,
                    chunk,
                    tokens: 1,
                }],
                dropped,
                prompt_tokens: 1,
                available_tokens: 9,
            },
        }
    }

    fn ways(run: &Run, chunk: u64) -> Vec<String> {
        let lookup = &run.lookups[0];
        let word = |mark| {
            format!(
                "{}: {}",
                words::mark_stage(mark),
                words::mark(mark, chunk, lookup)
            )
        };
        lookup.marks(chunk).iter().map(word).collect()
    }

    #[test]
    fn the_activity_names_the_round_and_the_step() {
        let call = |call, purpose: &str| RunEvent::ModelCalled {
            call,
            purpose: purpose.to_owned(),
            role: ModelRole::Generator,
            prompt: String::new(),
            prompt_tokens: 1_467,
            branches: 1,
            reply_bytes: 0,
        };
        let finished = |call| RunEvent::ModelCallFinished {
            call,
            calls: 1,
            usage: CallUsage::default(),
        };
        let measured = |round, origin, certain| RunEvent::UnderstandingMeasured {
            step: 0,
            round,
            understanding: Understanding {
                origin,
                chunks: Vec::new(),
                replies: Vec::new(),
                matrix: Vec::new(),
                judgements: Vec::new(),
                dse: 0.64,
                threshold: 0.2,
                certain,
                wall_ms: 1,
            },
        };
        let rechunked = RunEvent::DocumentsRechunked {
            step: 0,
            documents: vec![RechunkedDocument {
                document: "a.md".to_owned(),
                sentences: 4,
                chunks: 2,
                cached: false,
                error: None,
            }],
            similarity: 0.6,
            percentile: None,
            max_tokens: 48,
        };
        let ended = RunEvent::RefinementFinished {
            step: 0,
            best: 2,
            end: RefinementEnd::Sufficient,
        };

        let mut run = Run::default();
        run.settings.chunker.kind = ChunkerKind::Adaptive;
        let events = [
            (call(0, "rephrase"), "round 1, rephrasing chunk"),
            (finished(0), "round 1, reading the prompt"),
            (
                measured(1, ContextOrigin::Retrieved, false),
                "round 1, re-chunking the documents by meaning",
            ),
            (rechunked, "round 2, reading the prompt"),
            (call(1, "rephrase"), "round 2, rephrasing chunk"),
            (finished(1), "round 2, reading the prompt"),
            (
                measured(2, ContextOrigin::Rechunked, true),
                "round 2, reading the prompt",
            ),
            (ended, "reading the prompt"),
            (call(2, "answer"), "reading the prompt of 1,467 tokens"),
        ];
        for (event, expected) in events {
            run.apply(&event, 0);
            assert_eq!(run.activity(), expected, "{event:?}");
        }
    }

    #[test]
    fn every_stage_leaves_its_mark() {
        let dropped = |chunk, reason| DroppedChunk { chunk, reason };
        let twin = dropped(
            3,
            DropReason::Redundant {
                duplicate_of: 1,
                similarity: 0.95,
            },
        );
        let below = dropped(2, DropReason::BelowK { k: 1 });
        let mut run = Run::default();
        for event in [
            retrieved(&[1, 2, 3]),
            RunEvent::StageFinished {
                step: 0,
                stage: Stage::Redundant,
                kept: vec![1, 2],
                dropped: vec![twin.clone()],
            },
            RunEvent::ChunksReranked {
                step: 0,
                ranked: vec![
                    RerankedChunk {
                        chunk: 1,
                        score: 0.9,
                    },
                    RerankedChunk {
                        chunk: 2,
                        score: 0.1,
                    },
                ],
            },
            context(1, vec![twin, below]),
        ] {
            run.apply(&event, 0);
        }

        assert_eq!(
            ways(&run, 1),
            [
                "retained: rank 1 of 3 hits",
                "redundancy: kept, rank 1 of 2",
                "reranking: score 0.900, rank 1 of 2",
                "context: used as [1]",
            ]
        );
        assert_eq!(
            ways(&run, 2).last().map(String::as_str),
            Some("context: not in the top 1 that the context takes")
        );
        assert_eq!(
            ways(&run, 3),
            [
                "retained: rank 3 of 3 hits",
                "redundancy: near-duplicate of [1], cosine .950",
            ],
            "a loss is reported once"
        );
        assert!(run.lookups[0].marks(3)[1].is_loss());
        assert_eq!(ways(&run, 9), ["retained: not among the 3 hits"]);
    }

    #[test]
    fn a_rechunked_document_ends_the_way_of_its_chunks_until_they_are_used_again() {
        let mut run = Run::default();
        run.apply(&retrieved(&[1, 2]), 0);
        run.apply(&context(1, Vec::new()), 0);
        run.apply(
            &RunEvent::DocumentsRechunked {
                step: 0,
                documents: Vec::new(),
                similarity: 0.6,
                percentile: None,
                max_tokens: 48,
            },
            0,
        );
        run.apply(&retrieved(&[77]), 0);
        run.apply(&context(77, Vec::new()), 0);

        assert_eq!(
            ways(&run, 1),
            [
                "retained: rank 1 of 2 hits",
                "context: its document was re-chunked for this question; new chunks replace it",
            ]
        );
        assert_eq!(
            run.lookups[1].marks(77),
            [Mark::Hit { rank: 1, of: 1 }, Mark::Used { label: 2 }]
        );
        assert_eq!(run.index_lookups().count(), 1);

        run.apply(&context(1, Vec::new()), 0);
        assert_eq!(
            ways(&run, 1).last().map(String::as_str),
            Some("context: used as [1]"),
            "the best round may be the first"
        );
    }
}
