//! What the records say, folded: the whole truth that the screen draws, and nothing about how it is drawn.
//!
//! [`State::apply`] is a pure fold: the same records give the same state, live or replayed. Text becomes harmless here, once,
//! on its way in.

mod funnel;
mod refinement;
mod run;
mod step;

use std::collections::BTreeMap;

use crate::event::{
    CorpusCard, Event, IndexProgress, IndexReport, ModelCard, ModelRole, Outcome, Record,
    RunSummary, SoughtLookup, Source, Utility,
};

pub use funnel::{Funnel, Narrowed};
pub use refinement::{Change, Refinement, Round};
pub use run::{Call, Lookup, Phase, Rewritten, Run};
pub use step::{Doubted, Step, Token, words};

use super::text::{many_lines, one_line};

/// A model on its way or ready.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// The file is being read; `fraction` is in 0..=1.
    Loading { file: String, fraction: f32 },
    /// Ready; `wall_ms` is None when only a run told of it.
    Ready {
        card: ModelCard,
        wall_ms: Option<u64>,
    },
}

/// The recorded runs of the sessions folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Sessions {
    pub folder: String,
    pub runs: Vec<RunSummary>,
}

/// A phrase that was looked for among the chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Sought {
    pub phrase: String,
    pub lookups: Vec<SoughtLookup>,
}

/// Something worth telling that is no part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// True for failures, false for warnings.
    pub failed: bool,
    pub text: String,
    /// What to do next; may be empty.
    pub advice: String,
}

/// The fold over all records since the screen opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub models: BTreeMap<ModelRole, Model>,
    pub corpus: Option<CorpusCard>,
    /// What indexing does, while it does.
    pub indexing: Option<IndexProgress>,
    pub report: Option<IndexReport>,
    /// The document that was opened last.
    pub source: Option<Source>,
    pub sessions: Option<Sessions>,
    /// The phrase that was looked for last, and where it stands.
    pub sought: Option<Sought>,
    pub log: Vec<Entry>,
    /// Runs in the order in which they first appeared.
    pub runs: Vec<Run>,
    /// The run whose start was seen last.
    pub latest: Option<usize>,
}

impl State {
    /// Takes one record in.
    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::ModelLoadProgressed {
                role,
                file,
                fraction,
            } => {
                self.models.insert(
                    *role,
                    Model::Loading {
                        file: one_line(file),
                        fraction: *fraction,
                    },
                );
            }
            Event::ModelLoaded { model, wall_ms } => self.model_ready(model, Some(*wall_ms)),
            Event::CorpusOpened { corpus } => self.corpus = Some(harmless_corpus(corpus)),
            Event::IndexProgressed { progress } => {
                self.indexing = Some(harmless_progress(progress))
            }
            Event::IndexFinished { report } => self.index_finished(report),
            Event::LinksFinished { .. } => self.indexing = None,
            Event::ChunksSought { phrase, lookups } => {
                self.sought = Some(Sought {
                    phrase: one_line(phrase),
                    lookups: lookups.clone(),
                });
            }
            Event::OperationStopped { operation } => self.operation_stopped(operation),
            Event::SourceOpened { source } => {
                self.source = Some(harmless_source(source));
            }
            Event::SessionsListed { folder, runs } => {
                let runs = runs.iter().map(harmless_summary).collect();
                self.sessions = Some(Sessions {
                    folder: one_line(folder),
                    runs,
                });
            }
            Event::OperationFailed {
                operation,
                error,
                advice,
            } => {
                if operation == "engine" {
                    self.engine_failed(error, advice);
                }
                let text = format!("{operation}: {error}");
                self.log.push(Entry {
                    failed: true,
                    text: one_line(&text),
                    advice: one_line(advice),
                });
            }
            Event::Warned { text } => {
                self.log.push(Entry {
                    failed: false,
                    text: one_line(text),
                    advice: String::new(),
                });
            }
            Event::RunStarted { .. } => self.run_started(record),
            Event::QuestionRewritten { .. }
            | Event::QueryWritten { .. }
            | Event::RetrievalFinished { .. }
            | Event::LinksRead { .. }
            | Event::ChunksLinked { .. }
            | Event::ChunksGraded { .. }
            | Event::ChunksJudged { .. }
            | Event::StageFinished { .. }
            | Event::ChunksMerged { .. }
            | Event::ChunksReranked { .. }
            | Event::ContextBuilt { .. }
            | Event::DocumentsRecut { .. }
            | Event::UnderstandingMeasured { .. }
            | Event::UnderstandingSkipped { .. }
            | Event::ContextEvaluated { .. }
            | Event::ChunksClassified { .. }
            | Event::ContextRefined { .. }
            | Event::RefinementFinished { .. }
            | Event::ModelCalled { .. }
            | Event::ModelCallFinished { .. }
            | Event::StepStarted { .. }
            | Event::TokenGenerated { .. }
            | Event::StepFinished { .. }
            | Event::StepAttributed { .. }
            | Event::GateChosen { .. }
            | Event::RunFinished { .. } => {
                // nearly always the latest one, so look from the end
                if let Some(run) = self.runs.iter_mut().rev().find(|run| run.id == record.run) {
                    run.apply(record);
                }
            }
            Event::UtilityMeasured { of, step, utility } => {
                let run = of.as_ref().unwrap_or(&record.run);
                if let Some(run) = self.runs.iter_mut().rev().find(|known| known.id == *run) {
                    run.measured(of.is_none().then_some(*step), harmless_utility(utility));
                }
            }
            // probes are trained on the command line
            Event::ProbeProgressed { .. } | Event::ProbeTrained { .. } | Event::Unknown => {}
        }
    }

    /// The run at `index`, or the latest one.
    #[must_use]
    pub fn run(&self, index: Option<usize>) -> Option<&Run> {
        self.runs.get(index.or(self.latest)?)
    }

    /// Nothing more comes of what was under way.
    fn engine_failed(&mut self, error: &str, advice: &str) {
        self.indexing = None;
        for run in self.runs.iter_mut().filter(|run| run.outcome.is_none()) {
            run.outcome = Some(Outcome::Failed {
                error: one_line(error),
                advice: one_line(advice),
            });
        }
    }

    fn operation_stopped(&mut self, operation: &str) {
        self.indexing = None;
        self.models
            .retain(|_, model| matches!(model, Model::Ready { .. }));
        let text = format!("{}: stopped", one_line(operation));
        self.log.push(Entry {
            failed: false,
            text,
            advice: String::new(),
        });
    }

    fn model_ready(&mut self, card: &ModelCard, wall_ms: Option<u64>) {
        let card = ModelCard {
            name: one_line(&card.name),
            file: one_line(&card.file),
            quantisation: one_line(&card.quantisation),
            device: one_line(&card.device),
            architecture: one_line(&card.architecture),
            chat_template: one_line(&card.chat_template),
            ..card.clone()
        };
        self.models
            .insert(card.role, Model::Ready { card, wall_ms });
    }

    fn index_finished(&mut self, report: &IndexReport) {
        let mut report = report.clone();
        report.corpus = harmless_corpus(&report.corpus);
        for file in &mut report.skipped {
            file.path = one_line(&file.path);
            file.reason = one_line(&file.reason);
        }
        self.corpus = Some(report.corpus.clone());
        self.indexing = None;
        self.report = Some(report);
    }

    /// A run that is seen again (opened from the sessions folder) starts over in its old place.
    fn run_started(&mut self, record: &Record) {
        let Some(run) = Run::started(record) else {
            return;
        };
        let place = match self.runs.iter().position(|known| known.id == run.id) {
            Some(place) => {
                self.runs[place] = run;
                place
            }
            None => {
                self.runs.push(run);
                self.runs.len() - 1
            }
        };
        self.latest = Some(place);
    }
}

fn harmless_corpus(corpus: &CorpusCard) -> CorpusCard {
    CorpusCard {
        folder: one_line(&corpus.folder),
        ..corpus.clone()
    }
}

fn harmless_progress(progress: &IndexProgress) -> IndexProgress {
    IndexProgress {
        file: progress.file.as_deref().map(one_line),
        ..progress.clone()
    }
}

fn harmless_source(source: &Source) -> Source {
    Source {
        document: one_line(&source.document),
        path: one_line(&source.path),
        lines: source.lines.iter().map(|line| one_line(line)).collect(),
        ..source.clone()
    }
}

fn harmless_summary(run: &RunSummary) -> RunSummary {
    RunSummary {
        question: one_line(&run.question),
        preset: one_line(&run.preset),
        answer: run.answer.as_deref().map(one_line),
        ..run.clone()
    }
}

fn harmless_utility(utility: &Utility) -> Utility {
    let mut utility = utility.clone();
    utility
        .references
        .iter_mut()
        .for_each(|text| *text = one_line(text));
    for belief in &mut utility.beliefs {
        belief.greedy = one_line(&belief.greedy);
        belief
            .samples
            .iter_mut()
            .for_each(|sample| sample.text = one_line(&sample.text));
    }
    utility
}

/// The text of a passage or a prompt, made harmless.
fn harmless_text(text: &str) -> String {
    many_lines(text)
}
