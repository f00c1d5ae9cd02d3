//! Loads models into their slots, which keep them until their settings change.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::{Config, EmbedderSettings, GeneratorSettings, Paths, ServerSettings};
use crate::corpus::TokenCounter;
use crate::event::{
    Flow, MemoryNeed, ModelCard, ModelRole, Problem, SessionEvent, StopFlag, elapsed_ms,
};
use crate::llm::server::{Connected, ServerEmbedder, ServerReranker, connect_generator};
use crate::llm::{
    self, Embedder, LlamaClassifier, LlmError, LoadedGenerator, NoEmbedder, Reranker, RerankerLoad,
    Runtime,
};

use super::stamp::Emit;

/// A generator, and the settings that it was loaded with.
pub type GeneratorSlot = (GeneratorSettings, ServerSettings, Box<dyn LoadedGenerator>);

/// A reranker, and the settings that it was loaded with.
pub type RerankerSlot = (RerankerLoad, Box<dyn Reranker + Send>);

/// The embedder, and the counter of its tokens.
pub struct LoadedEmbedder {
    pub model: Box<dyn Embedder + Send>,
    pub counter: TokenCounter,
}

/// The settings that an embedder is loaded with.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedderLoad {
    settings: EmbedderSettings,
    /// Settings of the requests, where a server computes the vectors.
    server: Option<ServerSettings>,
    /// Whether something compares vectors. Otherwise the file only counts tokens.
    is_needed: bool,
}

impl EmbedderLoad {
    pub fn new(config: &Config) -> Self {
        Self {
            settings: config.embedder.clone(),
            server: (!config.embedder.url.is_empty()).then(|| config.server.clone()),
            is_needed: config.needs_embedder(),
        }
    }
}

/// Returns the model of a slot, loaded again where its settings changed.
pub fn reuse<K: PartialEq, M>(
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

/// Returns the model of a slot as [`reuse`] does; without settings the slot is emptied.
pub fn reuse_some<K: PartialEq, M>(
    slot: &mut Option<(K, M)>,
    settings: Option<K>,
    load: impl FnOnce(&K) -> Result<M, LlmError>,
) -> Result<Option<&mut M>, LlmError> {
    match settings {
        Some(settings) => reuse(slot, settings, load).map(Some),
        None => {
            *slot = None;
            Ok(None)
        }
    }
}

/// Loads models into their slots, unless the slot holds the model of the settings already. The old
/// model is dropped first: two large ones may not fit side by side.
pub struct Loader<'l> {
    runtime: &'l Runtime,
    paths: &'l Paths,
    stop: &'l StopFlag,
    server: &'l ServerSettings,
    publish: Emit<'l>,
}

impl<'l> Loader<'l> {
    /// Starts llama.cpp where that was not done.
    pub fn new(
        runtime: &'l mut Option<Runtime>,
        paths: &'l Paths,
        stop: &'l StopFlag,
        config: &'l Config,
        publish: Emit<'l>,
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

    pub fn generator<'s>(
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
            let text = shortage(&settings.model, need, free_bytes);
            self.warn(Problem::new(text, SHORTAGE_ADVICE)).check()?;
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
            let _ = self.warn(Problem::new(fallback, llm::TEMPLATE_ADVICE));
        }
        if role == ModelRole::Generator && !generator.can_share_prefixes() {
            let text = "this model keeps one state per prompt: prompts share nothing, so methods that ask much are slower";
            let _ = self.warn(Problem::without_advice(text));
        }
        Ok(generator)
    }

    fn warn(&mut self, problem: Problem) -> Flow {
        (self.publish)(SessionEvent::warning(problem))
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

        let host = &generator.card().device;
        if shows_key {
            let text = format!("the key for {host} is sent without encryption");
            let _ = self.warn(Problem::new(text, "write its url with https://"));
        }
        if !generator.can_share_prefixes() {
            let text = format!("{host} shows no prompt cache: methods that ask much are slower");
            let _ = self.warn(Problem::without_advice(text));
        }
        Ok(generator)
    }

    pub fn new_embedder(&mut self, load: &EmbedderLoad) -> Result<LoadedEmbedder, LlmError> {
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

    pub fn new_reranker(
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

    pub fn new_judge(&mut self, settings: &EmbedderSettings) -> Result<LlamaClassifier, LlmError> {
        let file = llm::discover::resolve(&settings.model, self.paths)?;
        let (runtime, stop) = (self.runtime, self.stop);
        let load = |progress: Progress<'_>| {
            llm::load_entailment_judge(runtime, &file, settings, stop, progress)
        };
        let role = ModelRole::EntailmentJudge;
        self.watch(role, &file, load, |judge| judge.card())
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
