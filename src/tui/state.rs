//! The fold of all records: the data that the screen draws, and nothing about how it is drawn.
//!
//! [`State::apply`] is a pure fold: the same records give the same state, live or replayed. Text is
//! made harmless here, once.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{
    CorpusCard, Event, IndexProgress, IndexReport, ModelCard, ModelList, ModelRole, Operation,
    Outcome, Problem, PullProgress, Record, RunEvent, RunSummary, SessionEvent, Source, SourceForm,
};
use crate::story::text::{self, clean, one_line};
use crate::story::{RecordedThread, Run, TextProgress, words};

/// Maximum number of updated documents that are remembered.
const MAX_UPDATED: usize = 10_000;

/// A model that is being loaded, or is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// The file is being read; `fraction` is in 0..=1.
    Loading {
        file: String,
        fraction: f32,
    },
    Ready {
        card: Box<ModelCard>,
        wall_ms: u64,
    },
}

impl Model {
    /// Returns its card, once it is ready.
    pub fn card(&self) -> Option<&ModelCard> {
        match self {
            Self::Ready { card, .. } => Some(card),
            Self::Loading { .. } => None,
        }
    }

    /// Returns the name of its file.
    pub fn file(&self) -> &str {
        match self {
            Self::Ready { card, .. } => &card.file,
            Self::Loading { file, .. } => file,
        }
    }
}

/// The threads of recorded runs in the sessions folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Sessions {
    pub folder: String,
    pub threads: Vec<RecordedThread>,
    /// Whether these are the newest ones alone, and the others are being read.
    pub has_more: bool,
}

/// A warning or a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The operation that failed; `None` for a warning.
    pub failed: Option<Operation>,
    pub problem: Problem,
}

/// The fold over all records since the screen opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub models: BTreeMap<ModelRole, Model>,
    pub corpus: Option<CorpusCard>,
    /// The progress of indexing, while it runs.
    pub indexing: Option<IndexProgress>,
    pub report: Option<IndexReport>,
    /// Whether an update of the index was stopped, and none has finished since.
    has_stopped_update: bool,
    /// The documents that an update added, changed or removed, with the generation that it wrote.
    updated: Vec<(u64, String)>,
    /// The generation from which on the updates are known.
    known_from: u64,
    /// The document that was opened last.
    pub source: Option<Source>,
    pub sessions: Option<Sessions>,
    /// The models to choose from.
    pub model_list: Option<ModelList>,
    /// The download that is under way.
    pub pull: Option<PullProgress>,
    /// The rate of the last download, bytes per second.
    pub pull_rate: Option<f64>,
    /// The step that a measurement on request is in.
    pub measurement: String,
    measured: Option<TextProgress>,
    pub log: Vec<Entry>,
    /// Runs in the order in which they first appeared.
    pub runs: Vec<Run>,
    /// The run whose start was seen last.
    pub latest: Option<usize>,
}

impl State {
    /// Applies one record.
    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::Session(event) => self.apply_to_session(event.clone(), record.t_us),
            Event::Run(RunEvent::Warned { text, advice }) => self.warn(text, advice.as_deref()),
            Event::Run(event) => {
                if let RunEvent::RunStarted { .. } = event {
                    self.begin_run(&record.run);
                }
                if let Some(run) = self.run_mut(&record.run) {
                    run.apply(event, record.t_us);
                }
            }
        }
    }

    fn apply_to_session(&mut self, event: SessionEvent, t_us: u64) {
        match event {
            SessionEvent::ModelLoadProgressed {
                role,
                file,
                fraction,
            } => {
                let file = one_line(&file);
                self.models.insert(role, Model::Loading { file, fraction });
            }
            SessionEvent::ModelLoaded { model, wall_ms } => {
                self.model_ready(Box::new(model), wall_ms);
            }
            SessionEvent::CorpusOpened { corpus } => self.corpus_opened(&corpus),
            SessionEvent::IndexProgressed { mut progress } => {
                clean(&mut progress.file);
                self.indexing = Some(progress);
            }
            SessionEvent::IndexFinished { report } => self.index_finished(report),
            SessionEvent::LinksFinished { .. } => self.indexing = None,
            SessionEvent::MeasurementProgressed {
                purpose,
                begun,
                total,
            } => {
                // of the calls that take turns, those with the most texts give the time left
                let known = self.measured.filter(|known| known.total >= total);
                let of_call = (total > 0).then(|| TextProgress::new(known, begun, total, t_us));
                if known.is_none_or(|known| known.total == total) {
                    self.measured = of_call;
                }
                self.measurement = words::call(&purpose, of_call);
            }
            SessionEvent::UtilityProgressed { run, utility } => {
                if let Some(run) = self.run_mut(&run) {
                    run.add_utility(utility, false);
                }
            }
            SessionEvent::UtilityMeasured { run, utility } => {
                self.end_measurement();
                if let Some(run) = self.run_mut(&run) {
                    run.add_utility(utility, true);
                }
            }
            SessionEvent::OperationStopped { operation } => self.operation_stopped(operation),
            SessionEvent::SourceOpened { mut source } => {
                clean_source(&mut source);
                self.source = Some(source);
            }
            SessionEvent::SessionsListed {
                folder,
                runs,
                names,
                more,
            } => self.sessions_listed(&folder, runs, names, more),
            SessionEvent::OperationFailed { operation, problem } => {
                if operation == Operation::PullModel {
                    self.pull = None;
                }
                self.operation_failed(operation, &problem.map(one_line));
            }
            SessionEvent::Warned { text, advice } => self.warn(&text, advice.as_deref()),
            SessionEvent::ModelsListed { mut list } => {
                for model in &mut list.local {
                    clean([&mut model.name, &mut model.source, &mut model.architecture]);
                    model.problem = model.problem.as_ref().map(|problem| problem.map(one_line));
                }
                self.model_list = Some(list);
            }
            SessionEvent::PullProgressed { mut progress } => {
                clean([&mut progress.reference, &mut progress.file]);
                self.pull_rate = progress.rate_bytes_per_s.or(self.pull_rate);
                self.pull = Some(progress);
            }
            SessionEvent::ModelPulled { .. } => self.pull = None,
            // A search only counts the documents of a filter, lists of documents are for other
            // programs, probes are trained on the command line; the screen itself counts the runs
            // that it opened, and a diagnosis takes what it asked for.
            _ => {}
        }
    }

    /// Logs a warning. What each run warns of is in the log once.
    fn warn(&mut self, text: &str, advice: Option<&str>) {
        let entry = Entry {
            failed: None,
            problem: Problem {
                error: one_line(text),
                advice: advice.map(one_line),
            },
        };
        if !self.log.contains(&entry) {
            self.log.push(entry);
        }
    }

    /// Returns the generator, once it is ready.
    pub fn generator(&self) -> Option<&ModelCard> {
        self.models.get(&ModelRole::Generator)?.card()
    }

    /// Returns the run at `index`, or the latest one.
    pub fn run(&self, index: Option<usize>) -> Option<&Run> {
        self.runs.get(index.or(self.latest)?)
    }

    /// Returns the places of all runs, thread by thread: the threads in the order in which they
    /// appeared, the runs of a thread in the order in which they were asked.
    pub fn order(&self) -> Vec<usize> {
        let runs = self.runs.iter();
        let threads: Vec<&str> = runs.map(Run::thread).collect();
        let first = |at: usize| threads.iter().position(|thread| *thread == threads[at]);

        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_cached_key(|at| (first(*at), self.runs[*at].started_at, *at));
        order
    }

    /// Returns the runs of a thread, oldest first.
    pub fn thread(&self, id: &str) -> Vec<&Run> {
        let order = self.order().into_iter();
        let runs = order.map(|at| &self.runs[at]);
        runs.filter(|run| run.thread() == id).collect()
    }

    /// Logs a failure. When it is the engine's, whatever was in progress failed with it.
    fn operation_failed(&mut self, operation: Operation, problem: &Problem) {
        if operation == Operation::Engine {
            self.indexing = None;
            for run in self.runs.iter_mut().filter(|run| run.outcome.is_none()) {
                run.outcome = Some(Outcome::Failed(problem.clone()));
            }
        }

        self.log.push(Entry {
            failed: Some(operation),
            problem: Problem {
                error: format!("{}: {problem}", words::operation(operation)),
                advice: problem.advice.clone(),
            },
        });
    }

    fn operation_stopped(&mut self, operation: Operation) {
        if operation == Operation::PullModel {
            self.pull = None;
        } else if operation == Operation::MeasureUtility {
            self.end_measurement();
        } else {
            self.has_stopped_update |= operation == Operation::Index;
            self.indexing = None;
            self.models.retain(|_, model| model.card().is_some());
        }
        let stopped = format!("{} was stopped", words::operation(operation));
        self.warn(&stopped, None);
    }

    /// Forgets what a run was measured to be so far, since that begins.
    pub fn begin_measurement(&mut self, run: &str) {
        if let Some(run) = self.run_mut(run) {
            run.unfinished_utility = None;
        }
    }

    fn end_measurement(&mut self) {
        self.measurement.clear();
        self.measured = None;
    }

    fn sessions_listed(
        &mut self,
        folder: &str,
        mut runs: Vec<RunSummary>,
        mut names: BTreeMap<String, String>,
        has_more: bool,
    ) {
        for run in &mut runs {
            clean([&mut run.question, &mut run.preset]);
            clean(run.answer.iter_mut().chain(&mut run.generator));
        }
        clean(names.values_mut());

        self.sessions = Some(Sessions {
            folder: one_line(folder),
            threads: RecordedThread::group(runs, &names),
            has_more,
        });
    }

    fn model_ready(&mut self, mut card: Box<ModelCard>, wall_ms: u64) {
        clean([
            &mut card.name,
            &mut card.file,
            &mut card.quantisation,
            &mut card.device,
            &mut card.architecture,
            &mut card.chat_template,
            &mut card.template_fallback,
            &mut card.server,
            &mut card.prefixes.query,
            &mut card.prefixes.document,
        ]);

        self.models
            .insert(card.role, Model::Ready { card, wall_ms });
    }

    fn corpus_opened(&mut self, corpus: &CorpusCard) {
        let corpus = text::corpus(corpus);
        let known = self.corpus.as_ref();
        if known.is_none_or(|known| known.folder != corpus.folder) {
            self.known_from = corpus.generation;
            self.updated.clear();
            self.report = None;
            self.has_stopped_update = false;
        }
        self.corpus = Some(corpus);
    }

    /// Returns whether the index waits for the user to continue it.
    pub fn is_index_stopped(&self) -> bool {
        self.has_stopped_update && self.indexing.is_none()
    }

    fn index_finished(&mut self, mut report: IndexReport) {
        report.corpus = text::corpus(&report.corpus);
        for file in &mut report.skipped {
            clean([&mut file.path, &mut file.reason]);
        }
        for file in &mut report.noted {
            clean([&mut file.path, &mut file.note]);
        }
        let generation = report.corpus.generation;
        if report.changed + report.removed > report.updated.len() as u64 {
            self.known_from = generation;
        }
        let updated = report.updated.iter().cloned();
        self.updated.extend(updated.map(|path| (generation, path)));
        let too_many = self.updated.len().saturating_sub(MAX_UPDATED);
        self.updated.drain(..too_many);

        self.corpus = Some(report.corpus.clone());
        self.has_stopped_update = false;
        self.indexing = None;
        self.report = Some(report);
    }

    /// Returns whether a document may have changed after a generation of the index: an update
    /// changed it, or the updates since then are not known.
    pub fn may_have_changed(&self, document: &str, generation: u64) -> bool {
        let now = self.corpus.as_ref().map(|corpus| corpus.generation);
        let mut later = self.updated.iter().filter(|(at, _)| *at > generation);
        let is_known = generation >= self.known_from;
        now != Some(generation) && (!is_known || later.any(|(_, path)| path == document))
    }

    /// Returns the documents in the context of a run that changed after it.
    pub fn changed_since(&self, run: &Run) -> BTreeSet<&str> {
        let open = self.corpus.as_ref().map(|corpus| &corpus.folder);
        let of_run = run.corpus.as_ref();
        let Some(corpus) = of_run.filter(|of_run| Some(&of_run.folder) == open) else {
            return BTreeSet::new();
        };

        let hits = run.context_hits();
        let is_read = |path: &&str| hits.iter().any(|hit| hit.chunk.document == *path);
        let updated = self.updated.iter();
        let later = updated.filter(|(generation, _)| *generation > corpus.generation);
        later
            .map(|(_, path)| path.as_str())
            .filter(is_read)
            .collect()
    }

    /// Starts a run. A known one (opened from the sessions folder) restarts.
    fn begin_run(&mut self, id: &str) {
        let known = self.runs.iter().position(|known| known.id == id);
        self.latest = Some(known.unwrap_or(self.runs.len()));
        match known {
            Some(at) => self.runs[at] = Run::new(id),
            None => self.runs.push(Run::new(id)),
        }
    }

    /// Returns the run with this id, nearly always the latest: the search starts at the end.
    fn run_mut(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|run| run.id == id)
    }
}

/// Makes the text of a document harmless.
fn clean_source(source: &mut Source) {
    clean([&mut source.document, &mut source.path]);
    clean(&mut source.lines);
    match &mut source.form {
        SourceForm::Lines | SourceForm::Markdown => {}
        SourceForm::Table { rows } => clean(rows.iter_mut().flat_map(|row| &mut row.cells)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish_index(generation: u64, changed: u64, updated: &[&str]) -> SessionEvent {
        let corpus = corpus_card(generation);
        SessionEvent::IndexFinished {
            report: IndexReport {
                corpus,
                added: 0,
                changed,
                unchanged: 0,
                removed: 0,
                updated: updated.iter().map(|path| (*path).to_owned()).collect(),
                embedded: 0,
                reused: 0,
                neighbours: None,
                skipped: Vec::new(),
                omitted: Vec::new(),
                noted: Vec::new(),
                wall_ms: 1,
            },
        }
    }

    fn corpus_card(generation: u64) -> CorpusCard {
        CorpusCard {
            folders: Vec::new(),
            folder: "~/notes".to_owned(),
            documents: 2,
            chunks: 2,
            generation,
            read_only: false,
            demo: false,
            words_only: false,
        }
    }

    #[test]
    fn a_document_changes_with_the_update_that_names_it() {
        let mut state = State::default();
        state.apply_to_session(
            SessionEvent::CorpusOpened {
                corpus: corpus_card(3),
            },
            0,
        );
        state.apply_to_session(finish_index(4, 1, &["a.md"]), 0);
        let cases = [
            ("a.md", 4, false, "the run read the present index"),
            ("a.md", 3, true, "it was changed since"),
            ("b.md", 3, false, "another document was changed since"),
            (
                "b.md",
                2,
                true,
                "the updates before the session are not known",
            ),
        ];
        for (document, generation, expected, why) in cases {
            let may = state.may_have_changed(document, generation);
            assert_eq!(may, expected, "{why}");
        }

        // more were changed than the report names
        state.apply_to_session(finish_index(5, 9_000, &["c.md"]), 0);
        assert!(state.may_have_changed("b.md", 4));
    }
}
