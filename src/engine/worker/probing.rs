//! Training a probe: questions are answered sentence by sentence under a gate that measures the semantic entropy of every sentence, looks
//! up what is uncertain and measures what is written then (SEARAG, section 3.1, the multi-turn variant).

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use crate::config::prompts::{PromptName, Prompts};
use crate::config::{
    AnswerPrompt, ChunkerKind, Config, FilterKind, LinkerKind, ProbePassages, RefinerKind,
    RerankerKind, RetrieverKind, RewriterKind, UnderstandingKind, UtilityKind,
};
use crate::corpus::{fold_white_space, language};
use crate::engine::answer;
use crate::engine::error::{RunError, WorkerError};
use crate::engine::run::{
    Corpus, Draft, Found, Gate, OpenGenerator, Passages, Retriever, Roles, Run, Tools,
};
use crate::engine::stages::gate::{judged, sampling};
use crate::event::{
    ChunkText, Event, Flow, Hit, ModelCard, ProbeCard, ProbePhase, ProbeProgress, Ranked, StopFlag,
    Uncertainty, UncertaintyMeasure,
};
use crate::index::{Index, Search, is_content_word};
use crate::llm::{
    Decoding, EntailmentJudge, Generator as _, HiddenAt, LlmError, Random, Reranker, Sampling,
    StopRule,
};
use crate::methods::ModelCalls;
use crate::methods::searag::{entropy_threshold, mean_token_entropy, sampled_semantic_entropy};
use crate::probe::{self, Epoch, ProbeError, Sample, Walked, features, position};
use crate::trace::Journal;

use super::operations::Worker;
use super::stamp::Publish;

/// The sentence that is kept is nearly greedy.
const LOW_TEMPERATURE: f32 = 0.1;
/// Until there is something to learn it from: the entropy of two meanings of equal weight.
const FIRST_THRESHOLD: f64 = std::f64::consts::LN_2;
/// The running threshold is learnt anew after so many questions.
const LEARN_EVERY: usize = 10;
/// Where no question is marked as held out, one in so many is.
const HELD_OUT: usize = 5;
/// Questions that are written at once, and the most tokens of one.
const QUESTIONS_AT_ONCE: usize = 8;
const QUESTION_TOKENS: u32 = 48;
/// A second set of samples has seeds that the first has not.
const SECOND: u64 = 1 << 32;

/// A question to collect sentences from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProbeQuestion {
    pub question: String,
    /// What the corpus says about it, word for word.
    pub evidence: Vec<String>,
    /// Is it kept out of training, to measure the probe with?
    pub held_out: bool,
}

/// A trained probe and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedProbe {
    pub card: ProbeCard,
    pub file: PathBuf,
}

impl Worker {
    /// Train a probe for the generator on questions about the open corpus; without questions the generator writes them. It is written to
    /// `file`, or among the user's probes. What was collected before a stop is taken up again.
    ///
    /// # Errors
    /// No corpus is open; too few sentences of a class; models, index and disk; [`ProbeError::Stopped`].
    pub fn train_probe(
        &mut self,
        mut questions: Vec<ProbeQuestion>,
        file: Option<&Path>,
        publish: Publish<'_>,
    ) -> Result<TrainedProbe, WorkerError> {
        let begun = Instant::now();
        let config = for_collecting(self.layers.config()?);
        let prompts = Prompts::new(&self.paths.config.join("prompts"));
        let (session, stop) = (&mut self.session, self.models.stop_flag());
        let mut tell = |event| publish(session.record(event));
        let index = self.index.as_ref().ok_or(WorkerError::NoCorpus)?;
        let loaded = self.models.load(&config, true, &mut tell)?;
        let embedder = loaded.embedder.ok_or(WorkerError::NoCorpus)?;
        let generator = loaded.generator.card().clone();
        let mut tools = Tools {
            config: &config,
            prompts: &prompts,
            generator: loaded.generator,
            corpus: Some(Corpus {
                index: index as &dyn Search,
                embedder: &mut embedder.model,
                counter: &embedder.counter,
            }),
            reranker: loaded.reranker.map(|model| model as &mut dyn Reranker),
            linker: loaded.linker.map(|model| model as &mut dyn OpenGenerator),
            judge: loaded.judge.map(|model| model as &mut dyn EntailmentJudge),
            probe: Err(String::new()),
        };
        let folder = self.paths.cache.join("probes");
        let about = origin(&generator, index, &config);
        if questions.is_empty() {
            let kept = folder.join(format!("{}.questions.json", name(&about)));
            questions = written_questions(&mut tools, index, &kept, (&stop, &mut tell))?;
        }
        hold_out(&mut questions);
        let work = name(&format!("{about}{questions:?}"));
        let mut journal = Journal::open(&folder.join(format!("{work}.jsonl")), &work)
            .map_err(ProbeError::from)?;
        collect(&mut tools, &questions, &mut journal, (&stop, &mut tell))?;
        let sentences = sentences(journal.rows());
        let trained = probe::train(
            journal.rows(),
            &generator,
            &config.probe,
            config.seed,
            &mut |Epoch { done, loss }| {
                let (done, total) = (u64::from(done), u64::from(config.probe.epochs));
                let progress = ProbeProgress {
                    phase: ProbePhase::Training,
                    done,
                    total,
                    sentences,
                    loss: Some(loss),
                    left_ms: None,
                };
                next(tell(Event::ProbeProgressed { progress }), &stop)
            },
        )?;
        let file = file.map_or_else(
            || self.paths.probes().join(file_name(&generator.file)),
            Path::to_owned,
        );
        trained.save(&file)?;
        let wall_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let shown = file.display().to_string();
        let _ = tell(Event::ProbeTrained {
            probe: trained.card.clone(),
            file: shown,
            wall_ms,
        });
        Ok(TrainedProbe {
            card: trained.card,
            file,
        })
    }
}

/// A run that collects: a step by step answer, nearly greedy, from what the retriever finds and nothing else.
fn for_collecting(mut config: Config) -> Config {
    config.generator.temperature = LOW_TEMPERATURE;
    config.rewriter.kind = RewriterKind::Off;
    config.retriever.kind = RetrieverKind::Hybrid;
    config.linker.kind = LinkerKind::Off;
    config.filter.kind = FilterKind::Off;
    config.reranker.kind = RerankerKind::Off;
    config.understanding.kind = UnderstandingKind::Off;
    config.refiner.kind = RefinerKind::Off;
    config.utility.kind = UtilityKind::Off;
    config.gate.expand_by = 0;
    config.answer.prompt = AnswerPrompt::StepByStep;
    config.answer.attribution = false;
    if config.chunker.kind == ChunkerKind::Adaptive {
        config.chunker.kind = ChunkerKind::Fixed;
    }
    config
}

/// What the collected sentences depend on: generator, corpus, and the settings that change them.
fn origin(generator: &ModelCard, index: &Index, config: &Config) -> String {
    let corpus = index.card();
    let folder =
        std::fs::canonicalize(&corpus.folder).unwrap_or_else(|_| corpus.folder.clone().into());
    let settings = serde_json::to_value(config).unwrap_or_default();
    let whole = ["seed", "chunker", "retriever", "query", "judge", "answer"];
    let parts = [
        (
            "generator",
            &["chat_template", "context_tokens", "top_k", "top_p", "min_p"][..],
        ),
        (
            "probe",
            &[
                "position",
                "samples",
                "temperature",
                "questions",
                "passages",
                "lambda",
            ][..],
        ),
    ];
    let parts = parts
        .iter()
        .flat_map(|(section, keys)| keys.iter().map(|key| settings[*section][*key].to_string()));
    let settings: Vec<String> = whole
        .iter()
        .map(|section| settings[*section].to_string())
        .chain(parts)
        .collect();
    format!(
        "{} {} {} {}",
        generator.fingerprint,
        folder.display(),
        corpus.generation,
        settings.join(" ")
    )
}

fn name(about: &str) -> String {
    blake3::hash(about.as_bytes()).to_hex()[..16].to_owned()
}

fn file_name(generator: &str) -> String {
    format!("{}.probe.safetensors", generator.trim_end_matches(".gguf"))
}

fn hold_out(questions: &mut [ProbeQuestion]) {
    if questions.iter().all(|question| !question.held_out) {
        questions
            .iter_mut()
            .skip(HELD_OUT - 1)
            .step_by(HELD_OUT)
            .for_each(|question| question.held_out = true);
    }
}

fn sentences(walked: &[Walked]) -> u64 {
    walked
        .iter()
        .map(|question| question.samples.len() as u64)
        .sum()
}

fn next(flow: Flow, stop: &StopFlag) -> Flow {
    if stop.is_set() { Flow::Stop } else { flow }
}

/// Who is told, and what says stop.
type Watch<'w> = (&'w StopFlag, &'w mut dyn FnMut(Event) -> Flow);

/// Walk every question that the journal does not hold yet.
fn collect(
    tools: &mut Tools<'_>,
    questions: &[ProbeQuestion],
    journal: &mut Journal<Walked>,
    (stop, tell): Watch<'_>,
) -> Result<(), WorkerError> {
    let (begun, known) = (Instant::now(), journal.rows().len());
    let mut threshold = running_threshold(journal.rows(), tools.config.probe.lambda);
    for (at, question) in questions.iter().enumerate().skip(known) {
        if at % LEARN_EVERY == 0 {
            threshold = running_threshold(journal.rows(), tools.config.probe.lambda);
        }
        let samples = walk(tools, question, (threshold, at as u64), stop)?;
        journal
            .push(Walked {
                question: question.question.clone(),
                held_out: question.held_out,
                samples,
            })
            .map_err(ProbeError::from)?;
        let (done, total) = (at as u64 + 1, questions.len() as u64);
        let each = begun.elapsed() / u32::try_from(at + 1 - known).unwrap_or(u32::MAX);
        let left_ms = u64::try_from(each.as_millis())
            .unwrap_or(u64::MAX)
            .saturating_mul(total - done);
        let progress = ProbeProgress {
            phase: ProbePhase::Collecting,
            done,
            total,
            sentences: sentences(journal.rows()),
            loss: None,
            left_ms: Some(left_ms),
        };
        if next(tell(Event::ProbeProgressed { progress }), stop) == Flow::Stop {
            return Err(ProbeError::Stopped.into());
        }
    }
    Ok(())
}

/// What parts certain from uncertain sentences, as far as the training questions collected so far say.
fn running_threshold(walked: &[Walked], lambda: f64) -> f64 {
    let whole = walked.len() - walked.len() % LEARN_EVERY;
    let known = walked[..whole]
        .iter()
        .filter(|question| !question.held_out)
        .flat_map(|question| &question.samples);
    let (entropies, features): (Vec<f64>, Vec<Vec<f32>>) = known
        .filter(|sample| !sample.features.is_empty())
        .map(|sample| (sample.entropy, sample.features.clone()))
        .unzip();
    entropy_threshold(&entropies, &features, lambda).unwrap_or(FIRST_THRESHOLD)
}

/// Answer one question and keep what the gate saw.
fn walk(
    tools: &mut Tools<'_>,
    question: &ProbeQuestion,
    (threshold, number): (f64, u64),
    stop: &StopFlag,
) -> Result<Vec<Sample>, WorkerError> {
    let mut config = tools.config.clone();
    config.seed = config.seed.wrapping_add(number << 8);
    let samples = Rc::new(RefCell::new(Vec::new()));
    let mut tools = Tools {
        config: &config,
        ..reborrowed(tools)
    };
    tools.probe = Err(String::new());
    let mut roles = Roles::of(&tools);
    roles.gate = Box::new(Collecting {
        threshold,
        second: question.held_out,
        step: 0,
        samples: Rc::clone(&samples),
    });
    if config.probe.passages == ProbePassages::Supporting && !question.evidence.is_empty() {
        roles.retriever = Box::new(Supporting(question.evidence.clone()));
    }
    let mut watch = |_event| stop.flow();
    let mut run = Run::new(tools, &mut watch);
    let written = answer::write(
        &mut run,
        &mut roles,
        &question.question,
        &Passages::default(),
        &[],
    );
    let stopped = run.stopped() || stop.is_set();
    match written {
        _ if stopped => Err(ProbeError::Stopped.into()),
        // a question that does not fit the context teaches what it taught until then
        Ok(_) | Err(RunError::Model(LlmError::PromptTooLong { .. })) => Ok(samples.take()),
        Err(error) => Err(failed(error)),
    }
}

/// The same tools for a shorter time.
fn reborrowed<'t>(tools: &'t mut Tools<'_>) -> Tools<'t> {
    let corpus = tools.corpus.as_mut().map(|corpus| Corpus {
        index: corpus.index,
        embedder: &mut *corpus.embedder,
        counter: corpus.counter,
    });
    Tools {
        config: tools.config,
        prompts: tools.prompts,
        generator: &mut *tools.generator,
        corpus,
        reranker: tools
            .reranker
            .as_mut()
            .map(|model| &mut **model as &mut dyn Reranker),
        linker: tools
            .linker
            .as_mut()
            .map(|model| &mut **model as &mut dyn OpenGenerator),
        judge: tools
            .judge
            .as_mut()
            .map(|model| &mut **model as &mut dyn EntailmentJudge),
        probe: tools.probe.clone(),
    }
}

fn failed(error: RunError) -> WorkerError {
    match error {
        RunError::Model(error) => error.into(),
        RunError::Config(error) => error.into(),
        RunError::Probe(error) => error.into(),
        RunError::Search(error) => LlmError::Backend(format!("{error:#}")).into(),
    }
}

/// Measures the semantic entropy of every sentence, and keeps it with the hidden states.
struct Collecting {
    threshold: f64,
    /// Measure it a second time, from other samples.
    second: bool,
    /// The step of the last sentence: a second one of the same step was looked up.
    step: u32,
    samples: Rc<RefCell<Vec<Sample>>>,
}

impl Gate for Collecting {
    fn taps(&self, run: &Run<'_>) -> Vec<HiddenAt> {
        vec![position(run.tools.config.probe.position)]
    }

    fn judge(
        &mut self,
        run: &mut Run<'_>,
        question: &str,
        draft: &Draft,
    ) -> Result<Uncertainty, RunError> {
        let config = run.tools.config;
        let step = draft.sentence.step;
        let looked_up = self.step == step;
        self.step = step;
        let seed = config
            .seed
            .wrapping_add(u64::from(step) << 40)
            .wrapping_add(u64::from(looked_up) << 36);
        let mut entropy = |seed| {
            sampled_semantic_entropy(run, question, &draft.prompt, &sampling(config, draft, seed))
        };
        let first = entropy(seed)?;
        let second = if self.second {
            Some(entropy(seed.wrapping_add(SECOND))?)
        } else {
            None
        };
        self.samples.borrow_mut().push(Sample {
            features: draft.hidden.first().map(features).unwrap_or_default(),
            entropy: first,
            second_entropy: second,
            token_entropy: mean_token_entropy(&draft.sentence.tokens),
            looked_up,
        });
        Ok(judged(
            UncertaintyMeasure::SemanticEntropy,
            first as f32,
            self.threshold as f32,
        ))
    }
}

/// Finds what the question names as its evidence.
struct Supporting(Vec<String>);

impl Retriever for Supporting {
    fn retrieve(&mut self, _run: &mut Run<'_>, _query: &str) -> Result<Found, RunError> {
        let hit = |(rank, text): (u32, &String)| Hit {
            chunk: ChunkText {
                id: u64::MAX - u64::from(rank),
                document: String::new(),
                headings: Vec::new(),
                bytes: [0, text.len() as u64],
                lines: [1, 1],
                tokens: 0,
                text: text.clone(),
                parts: Vec::new(),
            },
            bm25: None,
            vector: None,
            fused: Ranked {
                score: 1.0 / rank as f32,
                rank,
            },
        };
        Ok(Found {
            kept: (1..).zip(&self.0).map(hit).collect(),
            ..Found::default()
        })
    }
}

/// Questions that the generator wrote so far, and about how many chunks.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Questions {
    asked: usize,
    written: Vec<ProbeQuestion>,
}

/// One question a chunk of the corpus, from the generator; kept in a file batch by batch, so that a stop does not lose them.
fn written_questions(
    tools: &mut Tools<'_>,
    index: &Index,
    kept: &Path,
    (stop, tell): Watch<'_>,
) -> Result<Vec<ProbeQuestion>, WorkerError> {
    let known = std::fs::read(kept)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut questions: Questions = known.unwrap_or_default();
    let (begun, before) = (Instant::now(), questions.asked);
    let chunks = index.sample(
        tools.config.probe.questions as usize,
        &mut Random::new(tools.config.seed),
    )?;
    for batch in chunks[before.min(chunks.len())..].chunks(QUESTIONS_AT_ONCE) {
        for (chunk, reply) in batch.iter().zip(asked_about(tools, batch, stop)?) {
            let question = reply.trim();
            let is_new = !questions
                .written
                .iter()
                .any(|known| known.question == question);
            if is_new && is_question_about(question, &chunk.text) {
                let evidence = vec![chunk.text.clone()];
                questions.written.push(ProbeQuestion {
                    question: question.to_owned(),
                    evidence,
                    held_out: false,
                });
            }
        }
        questions.asked += batch.len();
        keep(&questions, kept);
        let (done, total) = (questions.asked as u64, chunks.len() as u64);
        let each = begun.elapsed().as_millis() as u64 / (questions.asked - before).max(1) as u64;
        let progress = ProbeProgress {
            phase: ProbePhase::WritingQuestions,
            done,
            total,
            sentences: 0,
            loss: None,
            left_ms: Some(each.saturating_mul(total - done)),
        };
        if next(tell(Event::ProbeProgressed { progress }), stop) == Flow::Stop {
            return Err(ProbeError::Stopped.into());
        }
    }
    match questions.written.is_empty() {
        true => Err(ProbeError::NoQuestions {
            asked: chunks.len(),
        }
        .into()),
        false => Ok(questions.written),
    }
}

/// What the generator asks about each chunk.
fn asked_about(
    tools: &mut Tools<'_>,
    chunks: &[ChunkText],
    stop: &StopFlag,
) -> Result<Vec<String>, WorkerError> {
    let decoding = Decoding {
        max_tokens: QUESTION_TOKENS,
        sampling: Sampling::GREEDY,
        seed: tools.config.seed,
        stop: StopRule {
            texts: vec!["\n".to_owned()],
        },
    };
    let mut watch = |_event| stop.flow();
    let mut run = Run::new(reborrowed(tools), &mut watch);
    let prompt = |chunk: &ChunkText| {
        run.prompt(
            PromptName::WriteQuestion,
            &[("c", &fold_white_space(&chunk.text))],
        )
    };
    let prompts = chunks
        .iter()
        .map(prompt)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed(error.into()))?;
    let replies = ModelCalls::complete(&mut run, "question", &prompts, &decoding)
        .map_err(|error| failed(error.into()))?;
    Ok(replies.into_iter().map(|reply| reply.text).collect())
}

/// Put the file in its place whole. One that cannot be kept costs the next try its time and nothing else.
fn keep(questions: &Questions, file: &Path) {
    let beside = file.with_extension("part");
    let _ = file
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&beside, serde_json::to_vec(questions).unwrap_or_default()))
        .and_then(|()| std::fs::rename(&beside, file));
}

/// Does it ask something, and about this text?
fn is_question_about(question: &str, text: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (asked, said) = (words(question), words(text));
    let language = language(text);
    let shared = asked
        .iter()
        .filter(|word| is_content_word(word, language) && said.contains(word))
        .count();
    question.ends_with(['?', '？', '؟']) && shared > 0
}

#[cfg(test)]
mod tests {
    use super::is_question_about;

    #[test]
    fn a_question_asks_and_has_to_do_with_its_text() {
        let text = "The Silver Heron was built in Lorusgate.";
        let cases = [
            ("Where was the Silver Heron built?", true),
            ("The Silver Heron was built in Lorusgate.", false),
            ("Where was it?", false),
            ("", false),
        ];
        for (question, expected) in cases {
            assert_eq!(is_question_about(question, text), expected, "{question}");
        }
    }
}
