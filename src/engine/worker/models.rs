//! The loaded models: loaded on first use, and again when their settings change.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::{
    AttributionKind, Config, EmbedderSettings, GateKind, GeneratorSettings, JudgeModel, LinkerKind,
    OrAuto, Paths, RerankerKind, ServerSettings,
};
use crate::corpus::TokenCounter;
use crate::event::{
    Flow, MemoryNeed, ModelCard, ModelRole, Problem, SessionEvent, StopFlag, elapsed_ms,
};
use crate::llm::server::{Connected, ServerEmbedder, ServerReranker, connect_generator};
use crate::llm::{
    self, Embedder, LlamaClassifier, LlmError, LoadedGenerator, NoEmbedder, Reranker, RerankerLoad,
    Runtime,
};
use crate::probe::{Probe, ProbeError};

/// The bundled model that reads one vector per chunk.
pub const SENTENCE_MODEL: &str = "ragscope-sentences.F16.gguf";

/// The models by role, each with the settings that it was loaded with.
pub struct Models {
    paths: Paths,
    stop: StopFlag,
    runtime: Option<Runtime>,
    generator: Option<GeneratorSlot>,
    embedder: Option<(EmbedderLoad, LoadedEmbedder)>,
    reranker: Option<RerankerSlot>,
    judge: Option<(EmbedderSettings, LlamaClassifier)>,
    linker: Option<GeneratorSlot>,
}

/// A generator, and the settings that it was loaded with.
type GeneratorSlot = (GeneratorSettings, ServerSettings, Box<dyn LoadedGenerator>);

/// A reranker, and the settings that it was loaded with.
type RerankerSlot = (RerankerLoad, Box<dyn Reranker + Send>);

/// The models of a run. The reranker, the entailment judge and the linker are `None` where another
/// model does their work.
pub struct Loaded<'a> {
    pub generator: &'a mut dyn LoadedGenerator,
    pub embedder: Option<&'a mut LoadedEmbedder>,
    pub reranker: Option<&'a mut (dyn Reranker + Send)>,
    pub judge: Option<&'a mut LlamaClassifier>,
    pub linker: Option<&'a mut dyn LoadedGenerator>,
}

/// The embedder, and the counter of its tokens.
pub struct LoadedEmbedder {
    pub model: Box<dyn Embedder + Send>,
    pub counter: TokenCounter,
}

/// The settings that an embedder is loaded with.
#[derive(Debug, Clone, PartialEq)]
struct EmbedderLoad {
    settings: EmbedderSettings,
    /// Settings of the requests, where a server computes the vectors.
    server: Option<ServerSettings>,
    /// Whether something compares vectors. Otherwise the file only counts tokens.
    is_needed: bool,
}

impl EmbedderLoad {
    fn new(config: &Config) -> Self {
        Self {
            settings: config.embedder.clone(),
            server: (!config.embedder.url.is_empty()).then(|| config.server.clone()),
            is_needed: config.needs_embedder(),
        }
    }
}

impl Models {
    /// No model is loaded yet.
    pub fn new(paths: Paths, stop: StopFlag) -> Self {
        Self {
            paths,
            stop,
            runtime: None,
            generator: None,
            embedder: None,
            reranker: None,
            judge: None,
            linker: None,
        }
    }

    /// Returns the flag that stops the models.
    pub fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }

    /// Loads the models that the configuration names and that are not loaded yet: the generator,
    /// the embedder where a corpus is searched, and the others where they are models of their own.
    pub fn load(
        &mut self,
        config: &Config,
        with_embedder: bool,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Loaded<'_>, LlmError> {
        let (paths, stop) = (&self.paths, &self.stop);
        let mut loader = Loader::new(&mut self.runtime, paths, stop, config, publish)?;

        let embedder = if with_embedder {
            Some(loader.embedder(&mut self.embedder, EmbedderLoad::new(config))?)
        } else {
            None
        };
        let reranker = loader.reranker(&mut self.reranker, reranker_settings(config))?;
        let judge = loader.judge(&mut self.judge, judge_settings(config))?;
        let linker = match linker_settings(config) {
            Some(settings) => {
                Some(loader.generator(&mut self.linker, ModelRole::Linker, &settings)?)
            }
            None => {
                self.linker = None;
                None
            }
        };
        let generator =
            loader.generator(&mut self.generator, ModelRole::Generator, &config.generator)?;
        Ok(Loaded {
            generator,
            embedder,
            reranker,
            judge,
            linker,
        })
    }

    /// Loads the embedder alone, as indexing needs it.
    pub fn embedder(
        &mut self,
        config: &Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<&mut LoadedEmbedder, LlmError> {
        let (paths, stop) = (&self.paths, &self.stop);
        let mut loader = Loader::new(&mut self.runtime, paths, stop, config, publish)?;
        loader.embedder(&mut self.embedder, EmbedderLoad::new(config))
    }

    /// Loads the reranker alone, where one orders the hits and is a model of its own: a search does
    /// without a generator.
    pub fn reranker(
        &mut self,
        config: &Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Option<&mut (dyn Reranker + Send)>, LlmError> {
        if config.reranker.kind == RerankerKind::Off {
            return Ok(None);
        }
        let settings = reranker_settings(config);
        if settings.is_none() {
            let _ = publish(SessionEvent::warning(Problem::new(
                "the reranker of these settings orders no search, only what an answer is written from",
                "set reranker.model to a file",
            )));
        }
        let (paths, stop) = (&self.paths, &self.stop);
        let mut loader = Loader::new(&mut self.runtime, paths, stop, config, publish)?;
        loader.reranker(&mut self.reranker, settings)
    }

    /// Lets the generator link documents where the sentence-level model cannot read the vectors of
    /// the embedder, and says so.
    pub fn fit_linker(
        &mut self,
        config: &mut Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<(), LlmError> {
        let Some(reason) = self.linker_misfit(config, publish)? else {
            return Ok(());
        };

        config.linker.kind = LinkerKind::Tokens;
        let _ = publish(SessionEvent::warning(Problem::new(
            format!("{reason}: the generator links instead (linker.kind = \"tokens\")"),
            LINKER_ADVICE,
        )));
        Ok(())
    }

    /// Turns off what reads the inside of a generator where its server does not give it, and says
    /// so.
    pub fn fit_server(
        config: &mut Config,
        generator: &dyn LoadedGenerator,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) {
        if generator.has_inside() {
            return;
        }

        let mut warn = |what: &str, setting: &str| {
            let _ = publish(SessionEvent::warning(Problem::new(
                format!(
                    "{what} read the attention of the model, which its server does not give: {setting} is off"
                ),
                INSIDE_ADVICE,
            )));
        };

        let reads = [AttributionKind::On, AttributionKind::Causal];
        if reads.contains(&config.answer.attribution) {
            config.answer.attribution = AttributionKind::Off;
            warn("the shares of chunks", "answer.attribution");
        }

        if config.gate.kind == GateKind::AttendedEntropy {
            config.gate.kind = GateKind::TokenEntropy;
            warn(
                "gates by attended entropy",
                "gate.kind = \"attended_entropy\"",
            );
        }

        if config.linker.kind == LinkerKind::Tokens {
            config.linker.kind = LinkerKind::Off;
            warn("links by tokens", "linker.kind");
        }
    }

    /// Returns why the sentence-level linker of these settings cannot be used; `None` where it can,
    /// or none is set.
    fn linker_misfit(
        &mut self,
        config: &Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Option<String>, LlmError> {
        if config.linker.kind != LinkerKind::Sentence {
            return Ok(None);
        }

        if !config.retriever.kind.has_vectors() {
            let reason = "the sentence-level linker reads vectors, and BM25 search keeps none";
            return Ok(Some(reason.to_owned()));
        }

        let file = llm::discover::resolve(SENTENCE_MODEL, &self.paths)?;
        let embedder = self.embedder(config, publish)?.model.card().clone();
        llm::linker_misfit(&file, &embedder)
    }
}

/// Advice for reading the inside of the model.
const INSIDE_ADVICE: &str = "run the model here to have it";

/// Advice for the links that were asked for.
pub const LINKER_ADVICE: &str =
    "set linker.kind to tokens, or embedder.model to the embedder that the linker was trained on";

/// Returns the probe that the settings name for this generator.
///
/// # Errors
/// The gate needs none; none was trained; the one that is named does not fit.
pub fn loaded_probe(
    config: &Config,
    paths: &Paths,
    generator: &dyn LoadedGenerator,
) -> Result<Probe, ProbeError> {
    let card = generator.card();
    match config.gate.kind {
        GateKind::Probe if !generator.has_inside() => Err(ProbeError::Inside {
            host: card.device.clone(),
        }),
        GateKind::Probe => Probe::for_generator(config, paths, card).map(|(_, probe)| probe),
        GateKind::Off
        | GateKind::TokenEntropy
        | GateKind::SemanticEntropy
        | GateKind::TokenProbability
        | GateKind::AttendedEntropy => Err(ProbeError::None {
            generator: card.file.clone(),
        }),
    }
}

/// Returns the settings of the reranker's own model; `None` where the generator or the embedder
/// reranks, or no stage does.
fn reranker_settings(config: &Config) -> Option<RerankerLoad> {
    // a gate that finds a sentence uncertain adds passages and reranks them
    let gate_reranks = config.gate.kind != GateKind::Off && config.gate.expand_by > 0;
    if config.reranker.kind != RerankerKind::Model && !gate_reranks {
        return None;
    }
    let model = match config.reranker.model.file() {
        Some(model) => model,
        None if config.reranker.url.is_empty() => return None,
        None => "",
    };
    Some(RerankerLoad::new(config, model))
}

/// Returns the settings of the entailment judge's own model; `None` where the generator or word
/// overlap judges.
fn judge_settings(config: &Config) -> Option<EmbedderSettings> {
    let model = config.judge.model.file()?;
    Some(EmbedderSettings {
        model: model.to_owned(),
        url: String::new(),
        ..config.embedder.clone()
    })
}

/// Returns the judge of entailment, chosen where the settings leave it open. A bundled generator
/// finds that nearly any answer entails any other.
pub(super) fn judge_model(config: &Config, generator: &ModelCard) -> JudgeModel {
    match &config.judge.model {
        JudgeModel::Auto if generator.practice => JudgeModel::Words,
        JudgeModel::Auto => JudgeModel::Generator,
        chosen => chosen.clone(),
    }
}

/// Returns the settings of the linker's own model; `None` where the generator links, or the linker
/// is off.
fn linker_settings(config: &Config) -> Option<GeneratorSettings> {
    if config.linker.kind != LinkerKind::Sentence {
        return None;
    }
    Some(GeneratorSettings {
        model: SENTENCE_MODEL.to_owned(),
        context_tokens: 0,
        rpc: Vec::new(),
        gpu_layers: OrAuto::Auto,
        device: config.embedder.device.clone(),
        url: String::new(),
        ..config.generator.clone()
    })
}

/// Returns the model of a slot, loaded again where its settings changed.
fn reuse<K: PartialEq, M>(
    slot: &mut Option<(K, M)>,
    settings: K,
    load: impl FnOnce(&K) -> Result<M, LlmError>,
) -> Result<&mut M, LlmError> {
    let current = slot.take().filter(|(loaded, _)| *loaded == settings);
    let model = match current {
        Some((_, model)) => model,
        None => load(&settings)?,
    };
    Ok(&mut slot.insert((settings, model)).1)
}

/// Loads models into their slots, unless the slot holds the model of the settings already. The old
/// model is dropped first: two large ones may not fit side by side.
struct Loader<'l> {
    runtime: &'l Runtime,
    paths: &'l Paths,
    stop: &'l StopFlag,
    server: &'l ServerSettings,
    publish: &'l mut dyn FnMut(SessionEvent) -> Flow,
}

impl<'l> Loader<'l> {
    /// Starts llama.cpp where that was not done.
    fn new(
        runtime: &'l mut Option<Runtime>,
        paths: &'l Paths,
        stop: &'l StopFlag,
        config: &'l Config,
        publish: &'l mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Self, LlmError> {
        let started = match runtime.take() {
            Some(started) => started,
            None => Runtime::start(&paths.log_file())?,
        };
        Ok(Self {
            runtime: runtime.insert(started),
            paths,
            stop,
            server: &config.server,
            publish,
        })
    }

    fn generator<'s>(
        &mut self,
        slot: &'s mut Option<GeneratorSlot>,
        role: ModelRole,
        settings: &GeneratorSettings,
    ) -> Result<&'s mut dyn LoadedGenerator, LlmError> {
        let current = slot.take().filter(|(loaded, server, model)| {
            let is_same_server = settings.url.is_empty() || server == self.server;
            loaded.loads_like(settings) && is_same_server && !model.is_lost()
        });

        let generator = match current {
            Some((_, _, generator)) => generator,
            None if settings.url.is_empty() => self.new_generator(role, settings)?,
            None => self.connected_generator(settings)?,
        };

        let loaded = slot.insert((settings.clone(), self.server.clone(), generator));
        Ok(&mut *loaded.2)
    }

    fn new_generator(
        &mut self,
        role: ModelRole,
        settings: &GeneratorSettings,
    ) -> Result<Box<dyn LoadedGenerator>, LlmError> {
        let file = llm::discover::resolve(&settings.model, self.paths)?;
        if let Some((need, free_bytes)) = llm::memory::shortage(self.runtime, &file, settings)? {
            let warned = SessionEvent::warning(Problem::new(
                shortage(&settings.model, need, free_bytes),
                SHORTAGE_ADVICE,
            ));
            (self.publish)(warned).check()?;
        }

        let (runtime, stop) = (self.runtime, self.stop);
        let load = |progress: Progress<'_>| -> Result<Box<dyn LoadedGenerator>, LlmError> {
            if role != ModelRole::Linker {
                return llm::open_generator(runtime, &file, settings, stop, progress);
            }
            let linker = llm::load_linker(runtime, &file, settings, stop, progress)?;
            Ok(Box::new(linker))
        };
        let generator = self.watch(role, &file, load, |model| model.card())?;

        let fallback = generator.card().template_fallback.clone();
        if role == ModelRole::Generator && !fallback.is_empty() {
            let _ = (self.publish)(SessionEvent::warning(Problem::new(
                fallback,
                llm::TEMPLATE_ADVICE,
            )));
        }
        if role == ModelRole::Generator && !generator.can_share_prefixes() {
            let text = "this model keeps one state per prompt: prompts share nothing, so methods that ask much are slower";
            let _ = (self.publish)(SessionEvent::warning(Problem::without_advice(text)));
        }
        Ok(generator)
    }

    /// Connects to the server of the generator.
    fn connected_generator(
        &mut self,
        settings: &GeneratorSettings,
    ) -> Result<Box<dyn LoadedGenerator>, LlmError> {
        let (server, stop) = (self.server, self.stop);
        let Connected {
            generator,
            shows_key,
            ..
        } = self.watch(
            ModelRole::Generator,
            Path::new(&settings.url),
            |_| connect_generator(settings, server, stop),
            |connected| connected.generator.card(),
        )?;

        if shows_key {
            let _ = (self.publish)(SessionEvent::warning(Problem::new(
                format!(
                    "the key for {} is sent without encryption",
                    generator.card().device
                ),
                "write its url with https://",
            )));
        }

        if !generator.can_share_prefixes() {
            let _ = (self.publish)(SessionEvent::warning(Problem::without_advice(format!(
                "{} shows no prompt cache: methods that ask much are slower",
                generator.card().device
            ))));
        }

        Ok(generator)
    }

    fn embedder<'s>(
        &mut self,
        slot: &'s mut Option<(EmbedderLoad, LoadedEmbedder)>,
        load: EmbedderLoad,
    ) -> Result<&'s mut LoadedEmbedder, LlmError> {
        reuse(slot, load, |load| self.new_embedder(load))
    }

    fn new_embedder(&mut self, load: &EmbedderLoad) -> Result<LoadedEmbedder, LlmError> {
        let EmbedderLoad {
            settings,
            server,
            is_needed,
        } = load;
        let file = llm::discover::resolve(&settings.model, self.paths)?;
        let counter = TokenCounter::from_gguf(&file, self.runtime)?;
        if !is_needed {
            let model = Box::new(NoEmbedder::new(&settings.model));
            return Ok(LoadedEmbedder { model, counter });
        }

        let (runtime, stop) = (self.runtime, self.stop);
        let place = match server {
            Some(_) => Path::new(&settings.url),
            None => &file,
        };
        let load = |progress: Progress<'_>| -> Result<Box<dyn Embedder + Send>, LlmError> {
            Ok(match server {
                Some(server) => Box::new(ServerEmbedder::connect(settings, server, stop)?),
                None => Box::new(llm::load_embedder(
                    runtime, &file, settings, stop, progress,
                )?),
            })
        };
        let model = self.watch(ModelRole::Embedder, place, load, |model| model.card())?;
        Ok(LoadedEmbedder { model, counter })
    }

    /// Loads the reranker of these settings; without settings the slot is emptied.
    fn reranker<'s>(
        &mut self,
        slot: &'s mut Option<RerankerSlot>,
        settings: Option<RerankerLoad>,
    ) -> Result<Option<&'s mut (dyn Reranker + Send)>, LlmError> {
        let Some(settings) = settings else {
            *slot = None;
            return Ok(None);
        };
        let reranker = reuse(slot, settings, |settings| self.new_reranker(settings))?;
        Ok(Some(&mut **reranker))
    }

    fn new_reranker(
        &mut self,
        settings: &RerankerLoad,
    ) -> Result<Box<dyn Reranker + Send>, LlmError> {
        let (runtime, stop, role) = (self.runtime, self.stop, ModelRole::Reranker);
        if let Some((reranker, server)) = &settings.server {
            let connect = |_: Progress<'_>| ServerReranker::connect(reranker, server, stop);
            let url = Path::new(&reranker.url);
            let reranker = self.watch(role, url, connect, |model| model.card())?;
            return Ok(Box::new(reranker));
        }

        let file = llm::discover::resolve(&settings.model.model, self.paths)?;
        let load =
            |progress: Progress<'_>| llm::load_reranker(runtime, &file, settings, stop, progress);
        self.watch(role, &file, load, |model| model.card())
    }

    /// Loads the entailment judge of these settings; without settings the slot is emptied.
    fn judge<'s>(
        &mut self,
        slot: &'s mut Option<(EmbedderSettings, LlamaClassifier)>,
        settings: Option<EmbedderSettings>,
    ) -> Result<Option<&'s mut LlamaClassifier>, LlmError> {
        let Some(settings) = settings else {
            *slot = None;
            return Ok(None);
        };

        reuse(slot, settings, |settings| self.new_judge(settings)).map(Some)
    }

    fn new_judge(&mut self, settings: &EmbedderSettings) -> Result<LlamaClassifier, LlmError> {
        let file = llm::discover::resolve(&settings.model, self.paths)?;
        let (runtime, stop) = (self.runtime, self.stop);
        let load = |progress: Progress<'_>| {
            llm::load_entailment_judge(runtime, &file, settings, stop, progress)
        };
        self.watch(ModelRole::EntailmentJudge, &file, load, |judge| {
            judge.card()
        })
    }

    /// Loads a model, and emits how far that is and what was loaded.
    fn watch<M>(
        &mut self,
        role: ModelRole,
        file: &Path,
        load: impl FnOnce(Progress<'_>) -> Result<M, LlmError>,
        card: impl FnOnce(&M) -> &ModelCard,
    ) -> Result<M, LlmError> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let started = Instant::now();
        let mut last: Option<Instant> = None;
        let model = load(&mut |fraction| {
            if last.is_some_and(|last| last.elapsed() < PROGRESS_INTERVAL) {
                return Flow::Continue;
            }
            last = Some(Instant::now());
            (self.publish)(SessionEvent::ModelLoadProgressed {
                role,
                file: name.clone().into_owned(),
                fraction,
            })
        })?;
        let _ = (self.publish)(SessionEvent::ModelLoaded {
            model: ModelCard {
                role,
                ..card(&model).clone()
            },
            wall_ms: elapsed_ms(started),
        });
        Ok(model)
    }
}

/// Receives how far a model is loaded.
type Progress<'p> = &'p mut dyn FnMut(f32) -> Flow;

/// Minimum time between two progress events: llama.cpp reports every tensor.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Reminder that the layers that do not fit are read from the disk again and again.
const SHORTAGE_ADVICE: &str =
    "expect slow answers, choose a smaller model, or lower generator.context_tokens";

/// Returns the warning about a model that is larger than the free memory. It is loaded all the
/// same: its weights are mapped from the file.
fn shortage(model: &str, need: MemoryNeed, free_bytes: u64) -> String {
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    format!(
        "{model} needs {} (file {}, KV cache {}) and {} are free",
        gigabytes(need.bytes()),
        gigabytes(need.file_bytes),
        gigabytes(need.cache_bytes),
        gigabytes(free_bytes)
    )
}
