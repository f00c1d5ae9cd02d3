//! The worker: it alone owns the models and the index, and publishes records.

use std::path::{Path, PathBuf};

use crate::config::prompts::Prompts;
use crate::config::{Config, Layers, LinkerKind, Paths};
use crate::engine::answer::{ask, check_question};
use crate::engine::error::{RunError, WorkerError};
use crate::engine::run::context::needs_corpus;
use crate::engine::run::{Corpus, OpenGenerator, Run, Tools};
use crate::engine::stages::link_builder::link_all;
use crate::engine::stages::utility::Measured;
use crate::engine::stages::{link_builder, utility};
use crate::event::{
    ChunkText, Event, Flow, IndexReport, Link, LinkReport, Outcome, SESSION, SoughtLookup, StopFlag,
};
use crate::index::{Index, LinkRecipe, Search, Update};
use crate::llm::{Embedder as _, EntailmentJudge, Generator as _, LlmError, Reranker};
use crate::methods::{MethodError, ModelCalls};

use super::models::{Loaded, LoadedEmbedder, Models, loaded_probe};
use super::stamp::{Publish, Stamp};

/// The owner of the models and of the index.
pub struct Worker {
    pub(super) layers: Layers,
    pub(super) paths: Paths,
    pub(super) session: Stamp,
    pub(super) models: Models,
    folder: Option<PathBuf>,
    /// Settings that the index is cut with, on top of those of the start.
    pub(super) cut_with: Vec<(String, String)>,
    pub(super) index: Option<Index>,
}

impl Worker {
    /// A worker that has loaded nothing yet.
    #[must_use]
    pub fn new(layers: Layers, paths: Paths, stop: StopFlag) -> Self {
        Self {
            layers,
            models: Models::new(paths.clone(), stop),
            paths,
            session: Stamp::new(SESSION),
            folder: None,
            cut_with: Vec::new(),
            index: None,
        }
    }

    pub(super) fn report(&mut self, operation: &str, error: &WorkerError, publish: Publish<'_>) {
        let (error, advice) = error.told();
        self.tell(
            Event::OperationFailed {
                operation: operation.to_owned(),
                error,
                advice,
            },
            publish,
        );
    }

    pub(super) fn tell(&mut self, event: Event, publish: Publish<'_>) {
        let _ = publish(self.session.record(event));
    }

    /// Load the models of the configuration. False when it was interrupted.
    pub(super) fn load(&mut self, publish: Publish<'_>) -> Result<bool, WorkerError> {
        let config = self.layers.config()?;
        let (session, models) = (&mut self.session, &mut self.models);
        match models.load(&config, true, &mut |event| publish(session.record(event))) {
            Ok(_) => Ok(true),
            Err(LlmError::Stopped) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Open the index of a folder, thrown away first when `rebuild` says so. Questions can be asked of what it holds;
    /// [`Worker::update`] brings it up to date.
    ///
    /// # Errors
    /// No such folder; a damaged index; a rebuild while another process writes the index.
    pub fn open(
        &mut self,
        folder: &Path,
        rebuild: bool,
        publish: Publish<'_>,
    ) -> Result<(), WorkerError> {
        // remembered before it can fail, so that a damaged index can be rebuilt
        self.folder = Some(folder.to_owned());
        // dropped first: it holds the writer's lock
        self.index = None;
        let indexes = self.paths.indexes();
        let index = if rebuild {
            Index::rebuild(folder, &indexes)
                .inspect_err(|_| self.index = Index::open(folder, &indexes).ok())?
        } else {
            Index::open(folder, &indexes)?
        };
        let corpus = index.card();
        self.index = Some(index);
        self.tell(Event::CorpusOpened { corpus }, publish);
        Ok(())
    }

    pub(super) fn open_again(
        &mut self,
        rebuild: bool,
        publish: Publish<'_>,
    ) -> Result<(), WorkerError> {
        let folder = self.folder.clone().ok_or(WorkerError::NoCorpus)?;
        if rebuild || self.index.is_none() {
            self.open(&folder, rebuild, publish)
        } else {
            Ok(())
        }
    }

    /// Bring the index of the open corpus up to date. `None` when it was interrupted; the next call goes on from there.
    ///
    /// # Errors
    /// No corpus is open; a model or the index fails.
    pub fn update(&mut self, publish: Publish<'_>) -> Result<Option<IndexReport>, WorkerError> {
        let config = self.layers.with(&self.cut_with)?.config()?;
        let index = self.index.as_mut().ok_or(WorkerError::NoCorpus)?;
        let session = &mut self.session;
        let mut tell = |event| publish(session.record(event));
        let LoadedEmbedder { model, counter } = match self.models.embedder(&config, &mut tell) {
            // a question overtook it: the update is as unfinished as one that was stopped later
            Err(LlmError::Stopped) => return Ok(None),
            embedder => embedder?,
        };
        let update = index.update(&config, model, counter, &mut tell)?;
        match update {
            Update::Interrupted => Ok(None),
            Update::Finished(report) => {
                let corpus = report.corpus.clone();
                self.tell(
                    Event::IndexFinished {
                        report: report.clone(),
                    },
                    publish,
                );
                self.tell(Event::CorpusOpened { corpus }, publish);
                Ok(Some(report))
            }
        }
    }

    /// Answer a question over the open corpus, with `overrides` laid over the settings for this run. The answer begins with the
    /// `confirmed` sentences.
    ///
    /// # Errors
    /// Before anything ran: settings, models, or the question itself. What fails later ends the run as failed.
    pub fn ask(
        &mut self,
        question: &str,
        confirmed: &[String],
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<Outcome, WorkerError> {
        let config = self.layers.with(overrides)?.config()?;
        let prompts = Prompts::new(&self.paths.config.join("prompts"));
        let session = &mut self.session;
        let searches = needs_corpus(&config) && self.index.is_some();
        let loaded = self.models.load(&config, searches, &mut |event| {
            publish(session.record(event))
        })?;
        if let (Some(index), Some(recipe)) = (self.index.as_mut(), recipe(&config, &loaded)) {
            index.use_links(&recipe)?;
        }
        let corpus = match (self.index.as_ref(), loaded.embedder) {
            (Some(index), Some(embedder)) => Some(Corpus {
                index: index as &dyn Search,
                embedder: &mut embedder.model,
                counter: &embedder.counter,
            }),
            (Some(_), None) | (None, _) => None,
        };
        if corpus
            .as_ref()
            .is_some_and(|corpus| corpus.card().chunks == 0)
        {
            let text = "nothing is indexed yet: this answer comes without documents, ask again when indexing is done";
            let _ = publish(session.record(Event::Warned {
                text: text.to_owned(),
            }));
        }
        let mut stamp = Stamp::new(run_id(question));
        let probe = loaded_probe(&config, &self.paths, loaded.generator.card());
        let tools = Tools {
            config: &config,
            prompts: &prompts,
            generator: loaded.generator,
            corpus,
            reranker: loaded.reranker.map(|model| model as &mut dyn Reranker),
            linker: loaded.linker.map(|model| model as &mut dyn OpenGenerator),
            judge: loaded.judge.map(|model| model as &mut dyn EntailmentJudge),
            probe: probe.as_ref().map_err(ToString::to_string),
        };
        Ok(ask(tools, question, confirmed, &mut |event| {
            publish(stamp.record(event))
        })?)
    }

    /// Does a question with these overrides look for links?
    pub(super) fn wants_links(&self, overrides: &[(String, String)]) -> Result<bool, WorkerError> {
        Ok(self.layers.with(overrides)?.config()?.linker.kind != LinkerKind::Off)
    }

    /// Link the documents of the open corpus that have no links yet, with `overrides` laid over the settings; `rebuild` throws the
    /// links away first that this linker made. `None` when it was interrupted; what is linked stays, and the next call goes on from
    /// there. Links that another model made are told of and left alone: without `rebuild` nothing is linked then.
    ///
    /// # Errors
    /// No corpus is open; the linker is off; a model or the index fails.
    pub fn link(
        &mut self,
        overrides: &[(String, String)],
        rebuild: bool,
        publish: Publish<'_>,
    ) -> Result<Option<LinkReport>, WorkerError> {
        let config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_mut().ok_or(WorkerError::NoCorpus)?;
        let session = &mut self.session;
        let mut tell = |event| publish(session.record(event));
        let loaded = match self.models.load(&config, true, &mut tell) {
            Err(LlmError::Stopped) => return Ok(None),
            loaded => loaded?,
        };
        let recipe = recipe(&config, &loaded).ok_or(WorkerError::NoLinker)?;
        if rebuild {
            index.forget_links(&recipe)?;
        }
        index.use_links(&recipe)?;
        let model: &mut dyn OpenGenerator = match loaded.linker {
            Some(model) => model,
            None => loaded.generator,
        };
        link_all(index, model, &config.linker, &mut tell)
    }

    /// Can this question be asked? Only the generator is loaded, to count tokens: long work can wait for the answer.
    ///
    /// # Errors
    /// Settings, the generator, an empty question, one that does not fit the context.
    pub fn check_question(
        &mut self,
        question: &str,
        publish: Publish<'_>,
    ) -> Result<(), WorkerError> {
        let config = self.layers.config()?;
        let prompts = Prompts::new(&self.paths.config.join("prompts"));
        let session = &mut self.session;
        let loaded = self
            .models
            .load(&config, false, &mut |event| publish(session.record(event)))?;
        check_question(&config, &prompts, loaded.generator, question)?;
        Ok(())
    }

    /// Measure what the context of a finished run was worth, and tell it as a record of the session.
    pub(super) fn measure(
        &mut self,
        measured: &Measured<'_>,
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<(), WorkerError> {
        let utility = self.lend(overrides, publish, |tools, ignore| {
            utility::of_finished_run(tools, measured, ignore)
        })?;
        let utility = utility.ok_or(WorkerError::NothingToMeasure)?;
        self.tell(
            Event::UtilityMeasured {
                of: Some(measured.run.to_owned()),
                step: 0,
                utility,
            },
            publish,
        );
        Ok(())
    }

    /// Let a method work with the generator and the entailment judge, outside of any run: its calls are not told. A stop reaches into
    /// them all the same.
    ///
    /// # Errors
    /// Settings; a model that cannot be loaded; what the method fails with.
    pub fn calls<T>(
        &mut self,
        publish: Publish<'_>,
        work: impl FnOnce(&mut dyn ModelCalls) -> Result<T, MethodError>,
    ) -> Result<T, WorkerError> {
        self.lend(&[], publish, |tools, ignore| {
            Ok(work(&mut Run::new(tools, ignore))?)
        })
    }

    fn lend<T>(
        &mut self,
        overrides: &[(String, String)],
        publish: Publish<'_>,
        work: impl for<'t> FnOnce(Tools<'t>, &'t mut dyn FnMut(Event) -> Flow) -> Result<T, RunError>,
    ) -> Result<T, WorkerError> {
        let config = self.layers.with(overrides)?.config()?;
        let prompts = Prompts::new(&self.paths.config.join("prompts"));
        let session = &mut self.session;
        let loaded = self
            .models
            .load(&config, false, &mut |event| publish(session.record(event)))?;
        let mut ignore = |_| Flow::Continue;
        let tools = Tools {
            config: &config,
            prompts: &prompts,
            generator: loaded.generator,
            corpus: None,
            reranker: None,
            linker: None,
            judge: loaded.judge.map(|model| model as &mut dyn EntailmentJudge),
            probe: Err("there is no run to watch".to_owned()),
        };
        Ok(work(tools, &mut ignore)?)
    }

    /// The documents of the open corpus, by path.
    #[must_use]
    pub fn documents(&self) -> Vec<String> {
        self.index
            .as_ref()
            .map(Index::documents)
            .unwrap_or_default()
    }

    /// The chunks of a document, each with its links; without any while the document is not linked.
    ///
    /// # Errors
    /// No corpus is open; the index cannot be read.
    pub fn document_links(
        &self,
        document: &str,
    ) -> Result<Vec<(ChunkText, Vec<Link>)>, WorkerError> {
        let index = self.index.as_ref().ok_or(WorkerError::NoCorpus)?;
        let chunks = index.document(document)?;
        let links = index
            .links(document)?
            .unwrap_or_else(|| vec![Vec::new(); chunks.len()]);
        Ok(chunks.into_iter().zip(links).collect())
    }

    /// Look for a phrase among the chunks of the open corpus, and in the lists of these queries, and tell where it stands.
    ///
    /// # Errors
    /// No corpus is open; settings; the embedder or the index fails.
    pub fn seek(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<Vec<SoughtLookup>, WorkerError> {
        let config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_ref().ok_or(WorkerError::NoCorpus)?;
        let session = &mut self.session;
        let embedder = self
            .models
            .embedder(&config, &mut |event| publish(session.record(event)))?;
        let texts: Vec<&str> = queries.iter().map(|(_, query)| query.as_str()).collect();
        let vectors = embedder.model.embed(&texts)?;
        let fingerprint = embedder.model.card().fingerprint.clone();
        let mut lookups = Vec::new();
        for ((step, query), vector) in queries.iter().zip(&vectors) {
            let chunks = index.seek(phrase, query, (vector, &fingerprint), &config.retriever)?;
            lookups.push(SoughtLookup {
                step: *step,
                query: query.clone(),
                pool: config.retriever.pool,
                chunks,
            });
        }
        self.tell(
            Event::ChunksSought {
                phrase: phrase.to_owned(),
                lookups: lookups.clone(),
            },
            publish,
        );
        Ok(lookups)
    }

    pub(super) fn open_source(
        &mut self,
        document: &str,
        lines: [u32; 2],
        publish: Publish<'_>,
    ) -> Result<(), WorkerError> {
        let index = self.index.as_ref().ok_or(WorkerError::NoCorpus)?;
        let source = index.source(document, lines)?;
        self.tell(Event::SourceOpened { source }, publish);
        Ok(())
    }
}

/// What the links of these settings are made with; None where nobody links.
fn recipe(config: &Config, loaded: &Loaded<'_>) -> Option<LinkRecipe> {
    let model = loaded.linker.as_deref().unwrap_or(loaded.generator);
    let embedder = loaded
        .embedder
        .as_ref()
        .filter(|_| config.linker.kind != LinkerKind::Off)?;
    Some(link_builder::recipe(
        &config.linker,
        model.card(),
        embedder.model.card(),
    ))
}

/// Seconds since 1970 and a few letters of a hash: sorts by time, and two questions of one second differ.
fn run_id(question: &str) -> String {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let hash = blake3::hash(format!("{question}{}", since.as_nanos()).as_bytes());
    format!("{:010}-{}", since.as_secs(), &hash.to_hex()[..6])
}
