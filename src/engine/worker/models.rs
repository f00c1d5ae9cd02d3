//! The loaded models: loaded on first use, and again when their settings change.

use crate::config::prompts::Prompts;
use crate::config::{
    AttributionKind, Config, EmbedderSettings, GateKind, GeneratorSettings, JudgeModel, LinkerKind,
    OrAuto, Paths, RerankerKind,
};
use crate::engine::run::{Corpus, Tools};
use crate::event::{ModelCard, ModelRole, Problem, SessionEvent, StopFlag};
use crate::index::Collection;
use crate::llm::{
    self, EntailmentJudge, LlamaClassifier, LlmError, LoadedGenerator, OpenGenerator, Reranker,
    RerankerLoad, Runtime,
};
use crate::probe::{self, Probe};

use super::loader::{
    EmbedderLoad, GeneratorSlot, LoadedEmbedder, Loader, RerankerSlot, reuse, reuse_some,
};
use super::stamp::Emit;

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

/// The models of a run. The reranker, the entailment judge and the linker are `None` where another
/// model does their work.
pub struct Loaded<'a> {
    pub generator: &'a mut dyn LoadedGenerator,
    pub embedder: Option<&'a mut LoadedEmbedder>,
    pub reranker: Option<&'a mut (dyn Reranker + Send)>,
    pub judge: Option<&'a mut LlamaClassifier>,
    pub linker: Option<&'a mut dyn LoadedGenerator>,
}

impl Loaded<'_> {
    /// Returns the tools of a run over an index, where one is searched, without a probe.
    pub fn tools<'t>(
        &'t mut self,
        config: &'t Config,
        prompts: &'t Prompts,
        index: Option<&'t Collection>,
    ) -> Tools<'t> {
        let searched = index.zip(self.embedder.as_deref_mut());
        let (reranker, linker) = (self.reranker.as_deref_mut(), self.linker.as_deref_mut());
        let judge = self.judge.as_deref_mut();
        Tools {
            config,
            prompts,
            generator: &mut *self.generator,
            corpus: searched.map(|(index, embedder)| Corpus {
                index,
                embedder: &mut *embedder.model,
                counter: &embedder.counter,
            }),
            reranker: reranker.map(|model| model as &mut dyn Reranker),
            linker: linker.map(|model| model as &mut dyn OpenGenerator),
            judge: judge.map(|model| model as &mut dyn EntailmentJudge),
            reading_rate: 0.0,
            verdict_fit: None,
            probe: Err(Problem::without_advice("there is no run to watch")),
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
        publish: Emit<'_>,
    ) -> Result<Loaded<'_>, LlmError> {
        let (paths, stop) = (&self.paths, &self.stop);
        let mut loader = Loader::new(&mut self.runtime, paths, stop, config, publish)?;

        let embedder = if with_embedder {
            let settings = EmbedderLoad::new(config);
            let load = |load: &EmbedderLoad| loader.new_embedder(load);
            Some(reuse(&mut self.embedder, settings, load)?)
        } else {
            None
        };
        let settings = reranker_settings(config);
        let reranker = reuse_some(&mut self.reranker, settings, |load| {
            loader.new_reranker(load)
        })?;
        let settings = judge_settings(config);
        let judge = reuse_some(&mut self.judge, settings, |load| loader.new_judge(load))?;
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
            reranker: reranker.map(|model| &mut **model as &mut (dyn Reranker + Send)),
            judge,
            linker,
        })
    }

    /// Loads the embedder alone, as indexing needs it.
    pub fn embedder(
        &mut self,
        config: &Config,
        publish: Emit<'_>,
    ) -> Result<&mut LoadedEmbedder, LlmError> {
        let (paths, stop) = (&self.paths, &self.stop);
        let mut loader = Loader::new(&mut self.runtime, paths, stop, config, publish)?;
        let settings = EmbedderLoad::new(config);
        reuse(&mut self.embedder, settings, |load| {
            loader.new_embedder(load)
        })
    }

    /// Loads the reranker alone, where one orders the hits and is a model of its own: a search does
    /// without a generator.
    pub fn reranker(
        &mut self,
        config: &Config,
        publish: Emit<'_>,
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
        let model = reuse_some(&mut self.reranker, settings, |load| {
            loader.new_reranker(load)
        })?;
        Ok(model.map(|model| &mut **model as &mut (dyn Reranker + Send)))
    }

    /// Lets the generator link documents where the sentence-level model cannot read the vectors of
    /// the embedder, and says so.
    pub fn fit_linker(&mut self, config: &mut Config, publish: Emit<'_>) -> Result<(), LlmError> {
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
    pub fn fit_server(config: &mut Config, generator: &dyn LoadedGenerator, publish: Emit<'_>) {
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
        publish: Emit<'_>,
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
) -> Result<Probe, Problem> {
    let card = generator.card();
    if config.gate.kind != GateKind::Probe {
        return Err(probe::no_probe(&card.file));
    }
    if !generator.has_inside() {
        return Err(probe::no_inside(&card.device));
    }
    Probe::for_generator(config, paths, card).map(|(_, probe)| probe)
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
