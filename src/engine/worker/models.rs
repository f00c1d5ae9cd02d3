//! The loaded models: loaded on first use, and again when their settings change.

use std::path::Path;
use std::time::Instant;

use crate::config::{
    Config, EmbedderSettings, GateKind, GeneratorSettings, LinkerKind, LinkerModel, Paths,
    RerankerKind,
};
use crate::corpus::TokenCounter;
use crate::event::{Flow, ModelCard, ModelRole, SessionEvent, StopFlag};
use crate::llm::{
    self, Embedder, Generator, LlamaClassifier, LlamaEmbedder, LlamaGenerator, LlmError, Runtime,
};
use crate::probe::{Probe, ProbeError};

/// The bundled model that reads one vector per chunk.
const SENTENCE_MODEL: &str = "ragscope-sentences.F16.gguf";

/// The models by role, with the settings that they were loaded with.
pub struct Models {
    paths: Paths,
    stop: StopFlag,
    runtime: Option<Runtime>,
    generator: Option<(GeneratorSettings, LlamaGenerator)>,
    embedder: Option<(EmbedderSettings, LoadedEmbedder)>,
    reranker: Option<(EmbedderSettings, LlamaClassifier)>,
    judge: Option<(EmbedderSettings, LlamaClassifier)>,
    linker: Option<(GeneratorSettings, LlamaGenerator)>,
}

/// The models of a run. The reranker, the entailment judge and the linker are `None` where the generator takes their place.
pub struct Loaded<'a> {
    pub generator: &'a mut LlamaGenerator,
    pub embedder: Option<&'a mut LoadedEmbedder>,
    pub reranker: Option<&'a mut LlamaClassifier>,
    pub judge: Option<&'a mut LlamaClassifier>,
    pub linker: Option<&'a mut LlamaGenerator>,
}

/// The embedder, and the counter of its tokens.
pub struct LoadedEmbedder {
    pub model: LlamaEmbedder,
    pub counter: TokenCounter,
}

impl Models {
    /// Nothing is loaded yet.
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

    /// What stops the models.
    pub fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }

    /// Load what the configuration names and is not loaded yet: the generator, the embedder when a corpus is to be searched, and the
    /// reranker and the entailment judge where they are models of their own.
    pub fn load(
        &mut self,
        config: &Config,
        with_embedder: bool,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<Loaded<'_>, LlmError> {
        if with_embedder {
            self.embedder(config, publish)?;
        }
        let runtime = runtime(&mut self.runtime, &self.paths)?;
        let (paths, stop) = (&self.paths, &self.stop);
        // a gate that doubts takes more passages and orders them anew
        let orders = config.reranker.kind == RerankerKind::Model
            || (config.gate.kind != GateKind::Off && config.gate.expand_by > 0);
        let reranker = config.reranker.model.file().filter(|_| orders);
        let judge = config.judge.model.file();
        for (role, name, slot) in [
            (ModelRole::Reranker, reranker, &mut self.reranker),
            (ModelRole::EntailmentJudge, judge, &mut self.judge),
        ] {
            let settings = name.map(|name| EmbedderSettings {
                model: name.to_owned(),
                ..config.embedder.clone()
            });
            load_classifier(slot, (runtime, paths, stop), role, settings, publish)?;
        }
        let linker = linker_settings(config);
        if linker.is_none() {
            self.linker = None;
        }
        Ok(Loaded {
            linker: match &linker {
                None => None,
                Some(settings) => Some(loaded_generator(
                    &mut self.linker,
                    runtime,
                    paths,
                    (ModelRole::Linker, settings, stop),
                    publish,
                )?),
            },
            generator: loaded_generator(
                &mut self.generator,
                runtime,
                paths,
                (ModelRole::Generator, &config.generator, stop),
                publish,
            )?,
            embedder: self
                .embedder
                .as_mut()
                .filter(|_| with_embedder)
                .map(|(_, embedder)| embedder),
            reranker: self.reranker.as_mut().map(|(_, model)| model),
            judge: self.judge.as_mut().map(|(_, model)| model),
        })
    }

    /// The embedder alone, as indexing needs it.
    pub fn embedder(
        &mut self,
        config: &Config,
        publish: &mut dyn FnMut(SessionEvent) -> Flow,
    ) -> Result<&mut LoadedEmbedder, LlmError> {
        let settings = &config.embedder;
        let current = self
            .embedder
            .take()
            .filter(|(loaded, _)| loaded == settings);
        let embedder = match current {
            Some((_, embedder)) => embedder,
            None => {
                let runtime = runtime(&mut self.runtime, &self.paths)?;
                let file = llm::discover::resolve(&settings.model, &self.paths)?;
                let mut watch = Watch::new(ModelRole::Embedder, &file, publish);
                let model = llm::load_embedder(runtime, &file, settings, &self.stop, &mut |f| {
                    watch.progress(f)
                })?;
                let counter = TokenCounter::from_gguf(&file)?;
                watch.loaded(model.card());
                LoadedEmbedder { model, counter }
            }
        };
        Ok(&mut self.embedder.insert((settings.clone(), embedder)).1)
    }
}

/// The probe that the settings name for this generator.
///
/// # Errors
/// None is asked for, none was trained, or the one that is named does not fit.
pub fn loaded_probe(
    config: &Config,
    paths: &Paths,
    generator: &ModelCard,
) -> Result<Probe, ProbeError> {
    match config.gate.kind {
        GateKind::Probe => Probe::named(config, paths, generator).map(|(_, probe)| probe),
        GateKind::Off | GateKind::TokenEntropy | GateKind::SemanticEntropy => {
            Err(ProbeError::None {
                generator: generator.file.clone(),
            })
        }
    }
}

fn runtime<'a>(slot: &'a mut Option<Runtime>, paths: &Paths) -> Result<&'a Runtime, LlmError> {
    let runtime = match slot.take() {
        Some(runtime) => runtime,
        None => Runtime::start(&paths.log_file())?,
    };
    Ok(slot.insert(runtime))
}

/// Make the slot hold the classifier of these settings; without settings, none.
fn load_classifier(
    slot: &mut Option<(EmbedderSettings, LlamaClassifier)>,
    (runtime, paths, stop): (&Runtime, &Paths, &StopFlag),
    role: ModelRole,
    settings: Option<EmbedderSettings>,
    publish: &mut dyn FnMut(SessionEvent) -> Flow,
) -> Result<(), LlmError> {
    if slot.as_ref().map(|(loaded, _)| loaded) == settings.as_ref() {
        return Ok(());
    }
    *slot = None;
    if let Some(settings) = settings {
        let file = llm::discover::resolve(&settings.model, paths)?;
        let mut watch = Watch::new(role, &file, publish);
        let load = if role == ModelRole::EntailmentJudge {
            llm::load_entailment_judge
        } else {
            llm::load_reranker
        };
        let model = load(runtime, &file, &settings, stop, &mut |f| watch.progress(f))?;
        watch.loaded(model.card());
        *slot = Some((settings, model));
    }
    Ok(())
}

/// What the linker's own model is loaded with; None where the generator links, or nobody does.
fn linker_settings(config: &Config) -> Option<GeneratorSettings> {
    let model = match (config.linker.kind, &config.linker.model) {
        (LinkerKind::Off, _) | (LinkerKind::Tokens, LinkerModel::Auto) => return None,
        (LinkerKind::Sentence, LinkerModel::Auto) => SENTENCE_MODEL,
        (LinkerKind::Tokens | LinkerKind::Sentence, LinkerModel::File(file)) => file,
    };
    Some(GeneratorSettings {
        model: model.to_owned(),
        context_tokens: 0,
        ..config.generator.clone()
    })
}

fn loaded_generator<'a>(
    slot: &'a mut Option<(GeneratorSettings, LlamaGenerator)>,
    runtime: &Runtime,
    paths: &Paths,
    (role, settings, stop): (ModelRole, &GeneratorSettings, &StopFlag),
    publish: &mut dyn FnMut(SessionEvent) -> Flow,
) -> Result<&'a mut LlamaGenerator, LlmError> {
    // the old model goes first: two large ones may not fit side by side
    let current = slot
        .take()
        .filter(|(loaded, _)| loaded.loads_like(settings));
    let generator = match current {
        Some((_, generator)) => generator,
        None => {
            let file = llm::discover::resolve(&settings.model, paths)?;
            let mut watch = Watch::new(role, &file, publish);
            let model =
                llm::load_generator(runtime, &file, settings, stop, &mut |f| watch.progress(f))?;
            watch.loaded(&ModelCard {
                role,
                ..model.card().clone()
            });
            if role == ModelRole::Generator && !model.can_share_prefixes() {
                let text = "this model keeps one state a prompt: prompts share nothing, so methods that ask much are slower";
                let _ = (watch.publish)(SessionEvent::Warned {
                    text: text.to_owned(),
                });
            }
            model
        }
    };
    Ok(&mut slot.insert((settings.clone(), generator)).1)
}

/// Loading is told in steps of this share: llama.cpp reports every tensor.
const TOLD_EVERY: f32 = 0.02;

/// Publishes how loading goes.
struct Watch<'a> {
    role: ModelRole,
    file: String,
    told: f32,
    started: Instant,
    publish: &'a mut dyn FnMut(SessionEvent) -> Flow,
}

impl<'a> Watch<'a> {
    fn new(role: ModelRole, file: &Path, publish: &'a mut dyn FnMut(SessionEvent) -> Flow) -> Self {
        let file = file
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self {
            role,
            file,
            told: f32::NEG_INFINITY,
            started: Instant::now(),
            publish,
        }
    }

    fn progress(&mut self, fraction: f32) -> Flow {
        if fraction < 1.0 && fraction - self.told < TOLD_EVERY {
            return Flow::Continue;
        }
        self.told = fraction;
        (self.publish)(SessionEvent::ModelLoadProgressed {
            role: self.role,
            file: self.file.clone(),
            fraction,
        })
    }

    fn loaded(&mut self, model: &ModelCard) {
        let wall_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let _ = (self.publish)(SessionEvent::ModelLoaded {
            model: model.clone(),
            wall_ms,
        });
    }
}
