//! Trains a probe: questions are answered under a gate that measures the semantic entropy of every
//! sentence, retrieves for uncertain ones, and measures the regenerated sentences too (SEARAG,
//! section 3.1, the multi-turn variant). Labels by accuracy need no samples, which take most of the
//! time: there the token entropy decides on lookups.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::config::{
    AnswerPrompt, AttributionKind, ChunkerKind, Config, FilterKind, GateKind, LinkerKind,
    ProbeSettings, QueryKind, RefinerKind, RerankerKind, RetrieverKind, RewriterKind, SETTINGS,
    SettingReader, UnderstandingKind, UtilityKind,
};
use crate::engine::answer;
use crate::engine::error::RunError;
use crate::engine::run::{Draft, Gate, Passages, Run, Tools};
use crate::engine::stages::gate::{decide, sampling};
use crate::event::{
    Flow, ModelCard, ProbeCard, ProbeLabels, ProbeLayers, ProbePhase, ProbeProgress, ProbeTurns,
    SessionEvent, StopError, Uncertainty, UncertaintyMeasure, WorkError, elapsed_ms,
    saturating_u32,
};
use crate::index::{Collection, Search as _};
use crate::letters::normalise;
use crate::llm::{HiddenAt, LlmError};
use crate::methods::searag::{entropy_threshold, mean_token_entropy, sampled_semantic_entropy};
use crate::probe::{self, Epoch, Probe, Sample, SampleJournal, SampledQuestion, features, narrow};

use super::ask::read_prompts;
use super::models::judge_model;
use super::operations::Worker;
use super::probe_questions::{Observer, ProbeQuestion, written_questions};
use super::stamp::Publish;

/// Temperature of the sentences that are kept: nearly greedy.
const LOW_TEMPERATURE: f32 = 0.1;
/// The threshold before there is a sample to derive it from: the entropy of two meanings of equal
/// weight.
pub(super) const FIRST_THRESHOLD: f64 = std::f64::consts::LN_2;
/// The number of questions after which the running threshold is updated.
const QUESTIONS_PER_UPDATE: usize = 10;
/// One in this number of questions is held out, where none is marked so.
const HELD_OUT: usize = 5;
/// Distance between the seeds of the two measurements of a sentence.
const SECOND_SEED: u64 = 1 << 32;

/// A trained probe and its file.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedProbe {
    pub card: ProbeCard,
    pub file: PathBuf,
}

impl Worker {
    /// Trains a probe for the generator on questions about the open corpus; without questions the
    /// generator writes them. The probe is written to `file`, or among the user's probes. After a
    /// stop, the next call continues with the sentences collected so far.
    ///
    /// # Errors
    /// No corpus is open; too few sentences of a class; models, index and disk;
    /// [`WorkError::Stopped`].
    pub fn train_probe(
        &mut self,
        questions: Vec<ProbeQuestion>,
        file: Option<&Path>,
        publish: Publish<'_>,
    ) -> Result<TrainedProbe, RunError> {
        let started = Instant::now();
        let config = for_collecting(self.layers.config()?);
        let probes = self.paths.probes();
        self.with_sentences(
            &config,
            questions,
            publish,
            |sentences, generator, observer| {
                let trained = fit(sentences, generator, &config, observer)?;
                let file = match file {
                    Some(file) => file.to_owned(),
                    None => probes.join(file_name(&generator.file, &config.probe)),
                };
                trained.save(&file)?;

                let _ = (observer.publish)(SessionEvent::ProbeTrained {
                    probe: trained.card.clone(),
                    file: file.display().to_string(),
                    wall_ms: elapsed_ms(started),
                });
                Ok(TrainedProbe {
                    card: trained.card,
                    file,
                })
            },
        )
    }

    /// Collects sentences of the generator over the open corpus, with their entropies and hidden
    /// states, and passes them on.
    pub(super) fn with_sentences<T>(
        &mut self,
        config: &Config,
        questions: Vec<ProbeQuestion>,
        publish: Publish<'_>,
        work: impl FnOnce(&[SampledQuestion], &ModelCard, &mut Observer<'_>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let stop = self.models.stop_flag();
        let mut emit = |event| publish(self.session.record(event));
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        let mut loaded = self.models.load(config, true, &mut emit)?;
        let prompts = read_prompts(&self.paths, config, &loaded)?;
        let generator = loaded.generator.card().clone();
        let mut config = config.clone();
        config.judge.model = judge_model(&config, &generator);
        let mut tools = loaded.tools(&config, &prompts, Some(index));
        let mut observer = Observer {
            stop: &stop,
            publish: &mut emit,
        };

        let folder = self.paths.cache.join("probes");
        let journal = collect_sentences(&mut tools, index, questions, &folder, &mut observer)?;
        work(journal.rows(), &generator, &mut observer)
    }
}

/// Returns the settings of a run that collects sentences: a step-by-step answer, nearly greedy,
/// from what the retriever returns and nothing else.
pub(super) fn for_collecting(mut config: Config) -> Config {
    config.generator.temperature = LOW_TEMPERATURE;
    config.rewriter.kind = RewriterKind::Off;

    if !config.retriever.kind.is_on() {
        config.retriever.kind = RetrieverKind::Hybrid;
    }
    config.linker.kind = LinkerKind::Off;
    config.filter.kind = FilterKind::Off;
    config.reranker.kind = RerankerKind::Off;
    config.understanding.kind = UnderstandingKind::Off;
    config.refiner.kind = RefinerKind::Off;
    config.utility.kind = UtilityKind::Off;

    // Without a gate no query was chosen for uncertain sentences: that of `searag` is the one that
    // they will be retrieved by.
    if config.gate.kind == GateKind::Off {
        config.query.kind = QueryKind::InTurn;
    }

    config.gate.expand_by = 0;
    config.answer.prompt = AnswerPrompt::StepByStep;
    config.answer.attribution = AttributionKind::Off;

    if config.chunker.kind == ChunkerKind::Adaptive {
        config.chunker.kind = ChunkerKind::Fixed;
    }

    config
}

/// Returns what the collected sentences depend on: the generator, the corpus, and the settings that
/// change them. A journal of another origin is not continued.
fn origin(generator: &ModelCard, index: &Collection, config: &Config) -> String {
    let paths = index.paths().into_iter();
    let folders: Vec<String> = paths.map(|path| path.display().to_string()).collect();

    let settings = SETTINGS.iter();
    let settings = settings.filter(|setting| setting.is_read_by(SettingReader::ProbeJournal));
    let settings = settings.map(|setting| format!("{}={}", setting.key, setting.text(config)));
    let settings: Vec<String> = settings.collect();

    format!(
        "{} {} {} {}",
        generator.fingerprint,
        folders.join(" "),
        index.card().generation,
        settings.join(" ")
    )
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the file name of a probe: that of its generator, and what is unusual about its training.
fn file_name(generator: &str, settings: &ProbeSettings) -> String {
    let turns = match settings.turns {
        ProbeTurns::Multi => "",
        ProbeTurns::Single => ".single",
    };

    let labels = match settings.labels {
        ProbeLabels::SemanticEntropy => "",
        ProbeLabels::Accuracy => ".accuracy",
    };

    let layers = match settings.layers {
        ProbeLayers::All => "",
        ProbeLayers::Middle => ".middle",
    };

    let stem = generator.trim_end_matches(".gguf");
    format!("{stem}{turns}{labels}{layers}.probe.safetensors")
}

/// Holds out every fifth question, unless some are marked.
fn hold_out(questions: &mut [ProbeQuestion]) {
    if questions.iter().any(|question| question.held_out) {
        return;
    }
    for question in questions.iter_mut().skip(HELD_OUT - 1).step_by(HELD_OUT) {
        question.held_out = true;
    }
}

fn sentences(walked: &[SampledQuestion]) -> u64 {
    let counts = walked.iter().map(|question| question.samples.len() as u64);
    counts.sum()
}

/// Answers the questions, or those that the generator writes where there are none, and returns the
/// journal of their sentences. It continues a journal of the same questions in `folder`.
fn collect_sentences(
    tools: &mut Tools<'_>,
    index: &Collection,
    mut questions: Vec<ProbeQuestion>,
    folder: &Path,
    observer: &mut Observer<'_>,
) -> Result<SampleJournal, RunError> {
    let origin = origin(tools.generator.card(), index, tools.config);
    if questions.is_empty() {
        let kept = folder.join(format!("{}.questions.json", hash(&origin)));
        questions = written_questions(tools, index, &kept, observer)?;
    }
    hold_out(&mut questions);

    let name = hash(&format!("{origin}{questions:?}"));
    let file = folder.join(format!("{name}.jsonl"));
    let mut journal = SampleJournal::open(&file, &name)?;
    answer_questions(tools, &questions, &mut journal, observer)?;
    Ok(journal)
}

/// Trains the network on the collected sentences.
fn fit(
    collected: &[SampledQuestion],
    generator: &ModelCard,
    config: &Config,
    observer: &mut Observer<'_>,
) -> Result<Probe, WorkError> {
    let sentences = sentences(collected);

    let mut epoch = |Epoch { done, loss }| {
        let progress = ProbeProgress {
            phase: ProbePhase::Training,
            done: u64::from(done),
            total: u64::from(probe::MAX_EPOCHS),
            sentences,
            loss: Some(loss),
            left_ms: None,
        };
        Flow::stop_if(observer.emit(progress).is_err())
    };

    probe::train(collected, generator, &config.probe, config.seed, &mut epoch)
}

/// Answers every question that the journal does not hold yet.
fn answer_questions(
    tools: &mut Tools<'_>,
    questions: &[ProbeQuestion],
    journal: &mut SampleJournal,
    observer: &mut Observer<'_>,
) -> Result<(), RunError> {
    let started = Instant::now();
    let known = journal.rows().len();
    for (at, question) in questions.iter().enumerate().skip(known) {
        let collecting = Collecting {
            threshold: running_threshold(journal.rows()),
            labels: tools.config.probe.labels,
            measures_twice: question.held_out,
            last_step: 0,
            samples: Vec::new(),
        };
        let seed = tools.config.seed.wrapping_add((at as u64) << 8);
        let walked = walk(tools, question, seed, collecting, observer)?;
        journal.push(walked)?;

        let done = at as u64 + 1;
        let total = questions.len() as u64;
        let each = started.elapsed() / saturating_u32(at + 1 - known);
        let each_ms = u64::try_from(each.as_millis()).unwrap_or(u64::MAX);
        observer.emit(ProbeProgress {
            phase: ProbePhase::Collecting,
            done,
            total,
            sentences: sentences(journal.rows()),
            loss: None,
            left_ms: Some(each_ms.saturating_mul(total - done)),
        })?;
    }
    Ok(())
}

/// Returns the threshold that separates certain from uncertain sentences in the training questions
/// so far. It changes only every [`QUESTIONS_PER_UPDATE`] questions, so that a collection that was
/// stopped and continued has the same thresholds as one that was not.
fn running_threshold(walked: &[SampledQuestion]) -> f64 {
    let known = walked.len() - walked.len() % QUESTIONS_PER_UPDATE;
    let (entropies, features): (Vec<f64>, Vec<Vec<f32>>) = walked[..known]
        .iter()
        .filter(|question| !question.held_out)
        .flat_map(|question| &question.samples)
        .filter(|sample| !sample.features.is_empty())
        .map(|sample| (sample.entropy, sample.wide_features()))
        .unzip();
    entropy_threshold(&entropies, &features).unwrap_or(FIRST_THRESHOLD)
}

/// Answers one question. Returns the sentences that the gate saw, and whether the answer is right,
/// where one is known.
fn walk(
    tools: &mut Tools<'_>,
    question: &ProbeQuestion,
    seed: u64,
    mut collecting: Collecting,
    observer: &Observer<'_>,
) -> Result<SampledQuestion, RunError> {
    let mut config = tools.config.clone();
    config.seed = seed;
    let mut tools = tools.reborrow();
    tools.config = &config;

    let stop = observer.stop;
    let mut publish = |_event| stop.flow();
    let mut run = Run::new(tools, &question.question, &mut publish);
    let written = answer::write(&mut run, &mut collecting, &Passages::default(), &[]);
    if run.is_stopped() || stop.is_set() {
        return Err(WorkError::from(StopError).into());
    }
    let short = match written {
        Ok(answer) => answer.short,
        // an answer that fills the context still gives the sentences before that
        Err(RunError::Model(LlmError::PromptTooLong { .. })) => String::new(),
        Err(error) => return Err(error),
    };
    let answers = &question.answers;
    let short = normalise(&short);
    let is_right = answers.iter().any(|answer| normalise(answer) == short);
    Ok(SampledQuestion {
        question: question.question.clone(),
        held_out: question.held_out,
        right: (!answers.is_empty()).then_some(is_right),
        samples: collecting.samples,
    })
}

/// Measures the entropy of every sentence, and keeps it with the hidden states.
struct Collecting {
    threshold: f64,
    labels: ProbeLabels,
    /// Whether each sentence is measured a second time, from other samples.
    measures_twice: bool,
    /// The step of the last sentence: a second one of the same step was regenerated.
    last_step: u32,
    samples: Vec<Sample>,
}

impl Gate for Collecting {
    fn taps(&self, _run: &Run<'_>) -> Vec<HiddenAt> {
        vec![HiddenAt::FirstToken]
    }

    fn judge(&mut self, run: &mut Run<'_>, draft: &Draft) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        let question = run.question;
        let step = draft.sentence.step;
        let has_passages = self.last_step == step;
        self.last_step = step;

        let seed = config
            .seed
            .wrapping_add(u64::from(step) << 40)
            .wrapping_add(u64::from(has_passages) << 36);
        let mut sampled = |seed| {
            let sampling = sampling(config, draft, seed);
            sampled_semantic_entropy(run, question, &draft.prompt, &sampling)
        };
        let token_entropy = mean_token_entropy(&draft.sentence.tokens);
        let (measure, entropy, second) = match self.labels {
            ProbeLabels::Accuracy => {
                let entropy = f64::from(token_entropy);
                (UncertaintyMeasure::TokenEntropy, entropy, None)
            }
            ProbeLabels::SemanticEntropy => {
                let first = sampled(seed)?;
                let second = if self.measures_twice {
                    Some(sampled(seed.wrapping_add(SECOND_SEED))?)
                } else {
                    None
                };
                (UncertaintyMeasure::SemanticEntropy, first, second)
            }
        };

        let states = draft.hidden.first().map(features);
        self.samples.push(Sample {
            features: states.map(|states| narrow(&states)).unwrap_or_default(),
            entropy,
            second_entropy: second,
            first_token_entropy: draft.sentence.tokens.first().map(|token| token.entropy),
            token_entropy,
            has_passages,
        });
        Ok(decide(measure, entropy as f32, self.threshold as f32))
    }
}
