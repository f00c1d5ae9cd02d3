//! The operations that ask the generator: a question, links, utilities, and the trace of a passage.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::prompts::Prompts;
use crate::config::{AnswerPrompt, Config, ConfigError, LinkerKind, Paths};
use crate::engine::answer::{ask, check_question};
use crate::engine::error::RunError;
use crate::engine::run::context::{self, needs_corpus};
use crate::engine::run::{Observe, Run, Tools, query_vectors};
use crate::engine::stages::link_builder;
use crate::engine::stages::utility::{self, FinishedRun};
use crate::event::{
    Ask, CorpusCard, Event, Flow, LinkReport, ModelCard, Outcome, Problem, Record, RunEvent,
    SESSION, SessionEvent, TracedLookup,
};
use crate::index::{Collection, LinkRecipe, Query, Search};
use crate::llm::{LlmError, LoadedGenerator, OpenGenerator};
use crate::methods::ModelCalls;
use crate::trace::{ReadingRates, VerdictFits};

use super::link_corpus::link_corpus;
use super::models::{Loaded, Models, judge_model, loaded_probe};
use super::operations::Worker;
use super::stamp::{Publish, Stamp};

impl Worker {
    /// Loads the models of the configuration, with `overrides` on top. Returns `false` when it was
    /// interrupted.
    pub(super) fn load(
        &mut self,
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<bool, RunError> {
        let mut config = self.layers.with(overrides)?.config()?;
        let mut emit = |event| publish(self.session.record(event));
        let loaded = match self.models.load(&config, true, &mut emit) {
            Err(LlmError::Stopped(_)) => return Ok(false),
            loaded => loaded?,
        };

        let prompts = read_prompts(&self.paths, &config, &loaded)?;
        config.answer.prompt = answer_prompt(&config, loaded.generator.card(), false);
        match read_ahead(&self.paths, &config, &prompts, loaded.generator) {
            Err(LlmError::Stopped(_)) => Ok(false),
            read => read.map(|_| true).map_err(Into::into),
        }
    }

    /// Answers a question over the open corpus.
    ///
    /// # Errors
    /// Before anything ran: settings, models, or the question itself. A later failure ends the run
    /// as failed.
    pub fn ask(&mut self, asked: &Ask, publish: Publish<'_>) -> Result<Outcome, RunError> {
        let layers = self.layers.with(&asked.overrides)?;
        let mut config = layers.config()?;
        let searches = needs_corpus(&config) && self.index.is_some();
        let mut emit = |event| publish(self.session.record(event));
        if searches {
            self.models.fit_linker(&mut config, &mut emit)?;
        }
        let mut loaded = self.models.load(&config, searches, &mut emit)?;
        Models::fit_server(&mut config, &*loaded.generator, &mut emit);
        let prompts = read_prompts(&self.paths, &config, &loaded)?;

        if let (Some(index), Some(recipe)) = (self.index.as_mut(), link_recipe(&config, &loaded)) {
            index.use_links(&recipe)?;
        }
        let searched = self.index.as_ref().filter(|_| searches);
        let lacks_vectors = searched.is_some_and(Collection::lacks_vectors);
        if lacks_vectors && !self.are_vectors_due && config.retriever.kind.has_vectors() {
            let _ = emit(without_vectors());
        }
        let card = searched.map(Search::card);
        let is_demo = card.as_ref().is_some_and(|card| card.demo);
        config.answer.prompt = answer_prompt(&config, loaded.generator.card(), is_demo);
        config.judge.model = judge_model(&config, loaded.generator.card());
        if config.answer.prompt == AnswerPrompt::Sources && !layers.sets("retriever.k")? {
            config.retriever.k = config.chunks_of_sources();
        }
        if let Some(card) = card.filter(|card| card.chunks == 0) {
            let _ = emit(without_documents(&card));
        }

        let probe = loaded_probe(&config, &self.paths, &*loaded.generator);
        let model = loaded.generator.card().clone();
        let mut rates = read_ahead(&self.paths, &config, &prompts, loaded.generator)?;
        let verdict_fit = self.index.as_ref().and_then(|index| {
            let fits = VerdictFits::read(self.paths.verdict_fits_file());
            fits.get(&model.fingerprint, &index.paths())
        });
        let tools = Tools {
            reading_rate: rates.rate(&model),
            verdict_fit,
            probe: probe.as_ref().map_err(Problem::clone),
            ..loaded.tools(&config, &prompts, searched)
        };
        let mut stamp = Stamp::new(run_id(&asked.question));
        let outcome = ask(tools, asked, &mut |event| publish(stamp.record(event)))?;
        rates.keep(&model, loaded.generator.usage().reading_rate);
        Ok(outcome)
    }

    /// Answers a question to try a change of settings: its run consists of events of the session.
    ///
    /// # Errors
    /// Those of [`Self::ask`].
    pub(super) fn try_change(&mut self, asked: &Ask, publish: Publish<'_>) -> Result<(), RunError> {
        self.ask(asked, &mut |record| match record.event {
            Event::Run(event) => {
                let event = Box::new(event);
                publish(Record {
                    run: SESSION.to_owned(),
                    event: SessionEvent::TrialProgressed { event }.into(),
                    ..record
                })
            }
            Event::Session(_) => publish(record),
        })?;
        Ok(())
    }

    /// Returns whether a question with these overrides uses links.
    pub(super) fn wants_links(&self, overrides: &[(String, String)]) -> Result<bool, RunError> {
        Ok(self.layers.with(overrides)?.config()?.linker.kind != LinkerKind::Off)
    }

    /// Links the documents of the open corpus that have no links yet, with `overrides` on top of
    /// the settings; `rebuild` deletes this linker's links first. Returns `None` when it was
    /// interrupted: the links so far stay, and the next call continues from there. Links that
    /// another model made are reported but kept: without `rebuild` nothing is linked then.
    ///
    /// # Errors
    /// No corpus is open; the linker is off; a model or the index fails.
    pub fn link(
        &mut self,
        overrides: &[(String, String)],
        rebuild: bool,
        publish: Publish<'_>,
    ) -> Result<Option<LinkReport>, RunError> {
        let mut config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_mut().ok_or_else(RunError::no_corpus)?;
        let mut emit = |event| publish(self.session.record(event));
        match self.models.fit_linker(&mut config, &mut emit) {
            Err(LlmError::Stopped(_)) => return Ok(None),
            fitted => fitted?,
        }
        let loaded = match self.models.load(&config, true, &mut emit) {
            Err(LlmError::Stopped(_)) => return Ok(None),
            loaded => loaded?,
        };
        Models::fit_server(&mut config, &*loaded.generator, &mut emit);

        let recipe = link_recipe(&config, &loaded).ok_or_else(|| {
            RunError::new(
                "no linker is enabled",
                "set linker.kind to tokens or sentence",
            )
        })?;
        if rebuild {
            index.forget_links(&recipe)?;
        }
        index.use_links(&recipe)?;
        let model: &mut dyn OpenGenerator = match loaded.linker {
            Some(model) => model,
            None => loaded.generator,
        };
        link_corpus(index, model, &config.linker, &mut emit)
    }

    /// Checks whether a question can be asked. Only the generator is loaded, to count tokens, so
    /// that long work can wait for the answer.
    ///
    /// # Errors
    /// Settings, the generator, an empty question, one that does not fit the context.
    pub fn check_question(&mut self, question: &str, publish: Publish<'_>) -> Result<(), RunError> {
        self.with_tools("", &[], publish, |tools, _| {
            check_question(&tools, question).map(|_| ())
        })
    }

    /// Measures how much the context of a finished run helped, and emits it as an event of the
    /// session.
    pub(super) fn measure_utility(
        &mut self,
        finished: &FinishedRun<'_>,
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<(), RunError> {
        let utility = self.with_tools(finished.run, overrides, publish, |tools, progress| {
            utility::measure_finished_run(tools, finished, progress)
        })?;

        let utility = utility.ok_or_else(|| {
            RunError::new(
                "the run gave no answer to measure toward",
                "type the right answer",
            )
        })?;
        let run = finished.run.to_owned();
        self.emit(SessionEvent::UtilityMeasured { run, utility }, publish);
        Ok(())
    }

    /// Passes the generator and the entailment judge to a method outside of any run: its calls are
    /// not emitted, but a stop still ends them.
    ///
    /// # Errors
    /// Settings; a model that cannot be loaded; what the method fails with.
    pub fn calls<T>(
        &mut self,
        publish: Publish<'_>,
        work: impl FnOnce(&mut dyn ModelCalls) -> Result<T, LlmError>,
    ) -> Result<T, RunError> {
        self.with_tools("", &[], publish, |tools, progress| {
            Ok(work(&mut Run::new(tools, "", progress))?)
        })
    }

    /// Passes the models to work on a run that is over; the progress of the work is emitted.
    fn with_tools<T>(
        &mut self,
        run: &str,
        overrides: &[(String, String)],
        publish: Publish<'_>,
        work: impl for<'t> FnOnce(Tools<'t>, Observe<'t>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let mut config = self.layers.with(overrides)?.config()?;
        let mut emit = |event| publish(self.session.record(event));
        let mut loaded = self.models.load(&config, false, &mut emit)?;
        config.judge.model = judge_model(&config, loaded.generator.card());
        let prompts = read_prompts(&self.paths, &config, &loaded)?;
        let tools = Tools {
            reranker: None,
            linker: None,
            ..loaded.tools(&config, &prompts, None)
        };
        let mut present = String::new();
        work(tools, &mut |event| match event {
            RunEvent::CallsProgressed {
                purpose,
                begun,
                total,
            } => emit(SessionEvent::MeasurementProgressed {
                purpose,
                begun,
                total,
            }),
            RunEvent::ModelCalled { purpose, .. } if purpose != present => {
                present.clone_from(&purpose);
                emit(SessionEvent::MeasurementProgressed {
                    purpose,
                    begun: 0,
                    total: 0,
                })
            }
            RunEvent::UtilityMeasured { utility, .. } => emit(SessionEvent::UtilityProgressed {
                run: run.to_owned(),
                utility,
            }),
            _ => Flow::Continue,
        })
    }

    /// Searches a phrase among the chunks of the open corpus and in the results of these queries,
    /// and emits where it is.
    ///
    /// # Errors
    /// No corpus is open; settings; the embedder or the index fails.
    pub fn trace_passage(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
        overrides: &[(String, String)],
        publish: Publish<'_>,
    ) -> Result<Vec<TracedLookup>, RunError> {
        let config = self.layers.with(overrides)?.config()?;
        let index = self.index.as_ref().ok_or_else(RunError::no_corpus)?;
        let mut emit = |event| publish(self.session.record(event));
        let embedder = self.models.embedder(&config, &mut emit)?;
        let texts: Vec<&str> = queries.iter().map(|(_, query)| query.as_str()).collect();
        let kind = config.retriever.kind;
        let vectors = query_vectors(&mut *embedder.model, kind, &texts)?;
        let mut lookups = Vec::new();
        for ((step, query), vector) in queries.iter().zip(&vectors) {
            let text = Query {
                text: query,
                vector,
                embedder: &embedder.model.card().fingerprint,
            };
            let chunks = index.trace_passage(phrase, text, &config.retriever)?;
            lookups.push(TracedLookup {
                step: *step,
                query: query.clone(),
                pool: config.retriever.pool,
                chunks,
            });
        }
        let _ = emit(SessionEvent::PassageTraced {
            phrase: phrase.to_owned(),
            lookups: lookups.clone(),
        });
        Ok(lookups)
    }
}

/// Warns that a hybrid search has words alone.
fn without_vectors() -> SessionEvent {
    SessionEvent::warning(Problem::new(
        "the index of this folder has no vectors: only its words are searched",
        "index it with retriever.kind = \"hybrid\", or set retriever.kind to bm25",
    ))
}

/// Returns the warning that an answer comes without documents, and why.
fn without_documents(corpus: &CorpusCard) -> SessionEvent {
    let (text, advice) = if corpus.is_indexed() {
        (
            "answered without documents: nothing in this folder can be read",
            "`ragscope index` says why each file was skipped",
        )
    } else {
        (
            "answered without documents: the folder is not indexed yet",
            "ask again when indexing is done",
        )
    };

    SessionEvent::warning(Problem::new(text, advice))
}

/// Returns the prompt of the answer, chosen where the settings leave it open.
fn answer_prompt(config: &Config, generator: &ModelCard, is_demo: bool) -> AnswerPrompt {
    match config.answer.prompt {
        // a base model follows worked examples, and no instructions
        AnswerPrompt::Auto if generator.has_plain_prompts() => AnswerPrompt::StepByStep,
        AnswerPrompt::Auto if !generator.practice => AnswerPrompt::Sources,
        // it was trained for the demo, and an evaluation measures the model
        AnswerPrompt::Auto if is_demo || config.answer.short || !needs_corpus(config) => {
            AnswerPrompt::StepByStep
        }
        AnswerPrompt::Auto => AnswerPrompt::Quotes,
        chosen => chosen,
    }
}

/// Lets a generator read the instructions of the answer before a question comes, and returns the
/// rates of all models with what that shows.
fn read_ahead(
    paths: &Paths,
    config: &Config,
    prompts: &Prompts,
    generator: &mut dyn LoadedGenerator,
) -> Result<ReadingRates, LlmError> {
    let mut rates = ReadingRates::read(paths.reading_rates_file());
    // a model that shares no prefixes reads them for the rate alone
    if rates.rate(generator.card()) == 0.0 || generator.can_share_prefixes() {
        context::read_instructions(config, prompts, generator, &paths.kept_prompts())?;
        rates.keep(generator.card(), generator.usage().reading_rate);
    }
    Ok(rates)
}

/// Reads the prompts for the generator.
pub(super) fn read_prompts(
    paths: &Paths,
    config: &Config,
    loaded: &Loaded<'_>,
) -> Result<Prompts, ConfigError> {
    let prompts = Prompts::read(&paths.config.join("prompts"))?;
    Ok(prompts.for_model(&config.answer, loaded.generator.card()))
}

/// Returns the recipe of the links of these settings; `None` where no linker is enabled.
fn link_recipe(config: &Config, loaded: &Loaded<'_>) -> Option<LinkRecipe> {
    if config.linker.kind == LinkerKind::Off {
        return None;
    }
    let model = loaded.linker.as_deref().unwrap_or(&*loaded.generator);
    let embedder = loaded.embedder.as_ref()?;
    Some(link_builder::recipe(
        &config.linker,
        model.card(),
        embedder.model.card(),
    ))
}

/// Returns the id of a run that starts now: the milliseconds since 1970 and a part of a hash, so
/// that ids sort by time, and two processes that ask at the same time differ.
fn run_id(question: &str) -> String {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let hash = blake3::hash(format!("{question}{}", since_epoch.as_nanos()).as_bytes());
    format!("{:013}-{}", since_epoch.as_millis(), &hash.to_hex()[..6])
}
