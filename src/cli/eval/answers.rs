//! The answers of an evaluation: a worker for each preset.

use std::cell::RefCell;

use super::asked::AskedQuestions;
use super::variants::Variant;
use crate::cli::args::Evaluation;
use crate::cli::failure::{Failure, Stopped};
use crate::cli::interrupt::Interrupt;
use crate::cli::output::Output;
use crate::config::{Layers, Paths, RetrieverKind};
use crate::engine::{RunError, Worker};
use crate::eval::{self, Answers, Ended, Examined, Plan, Progress, Question, Row};
use crate::event::{
    Ask, Event, Flow, OtherFiles, Outcome, Problem, Record, RunEvent, SessionEvent, TracedLookup,
    saturating_u32,
};
use crate::story::{Expected, Inquiry, Run, Settings, words};
use crate::trace::Journal;

/// The environment of an evaluation.
pub(super) struct Setting<'a> {
    pub asked: &'a AskedQuestions,
    pub paths: &'a Paths,
    pub interrupt: &'a Interrupt,
    pub what: &'a Evaluation,
}

/// Asks what the journal does not hold yet.
pub(super) fn ask(
    plan: &Plan,
    variants: &[Variant],
    journal: &mut Journal<Row>,
    setting: &Setting<'_>,
    out: &mut Output,
) -> Result<Ended, Stopped> {
    let out = RefCell::new(out);

    let report = |event: &Event| {
        let mut out = out.borrow_mut();
        if let Event::Session(SessionEvent::Warned { text, advice }) = event {
            out.warning(text, advice.as_deref());
        }
        out.progress(event);
        setting.interrupt.flow()
    };

    let mut open = |name: &str| -> Result<Box<dyn Answers + '_>, Stopped> {
        let known = variants.iter().find(|variant| variant.name == name);
        let variant = known.ok_or_else(|| {
            Failure::new(format!("unknown preset {name}"), "run the command again")
        })?;
        let layers = variant.layers.clone();
        Ok(Box::new(UnderPreset::open(layers, setting, &report)?))
    };

    let ended = eval::run(plan, journal, &mut open, &mut |progress: &Progress| {
        out.borrow_mut().progress_line(|| line(progress));
        setting.interrupt.flow()
    });

    out.borrow_mut().clear_progress();
    ended
}

fn line(progress: &Progress) -> String {
    let Progress { done, total, .. } = *progress;
    let mut line = format!("{}: {done} of {total} answers", progress.preset);
    if let Some(each) = progress.each {
        let left = each * saturating_u32(total - done);
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let left = words::time_left(left_ms);
        line.push_str(&format!(", {:.1} s each, {left}", each.as_secs_f64()));
    }
    line
}

/// A worker with the settings of one preset.
struct UnderPreset<'a> {
    worker: Worker,
    setting: &'a Setting<'a>,
}

impl<'a> UnderPreset<'a> {
    fn open(
        layers: Layers,
        setting: &'a Setting<'a>,
        report: &dyn Fn(&Event) -> Flow,
    ) -> Result<Self, Stopped> {
        let searches = layers.config()?.retriever.kind != RetrieverKind::Off;

        let mut worker = Worker::new(layers, setting.paths.clone(), setting.interrupt.stop_flag());

        if let Some(folder) = setting.asked.folder.as_ref().filter(|_| searches) {
            let mut publish = |record: Record| report(&record.event);
            let stopped = |error: RunError| match setting.interrupt.flow() {
                Flow::Stop => Stopped::Interrupted,
                Flow::Continue => error.into(),
            };
            let folders = std::slice::from_ref(folder);
            worker.open(folders, false, &mut publish).map_err(stopped)?;

            match worker.update(&mut publish) {
                Ok(Some(_)) => {}
                Err(RunError::Index(error))
                    if error.leaves_index()
                        && worker.documents().is_ok_and(|all| !all.is_empty()) => {}
                Ok(None) => return Err(Stopped::Interrupted),
                Err(error) => return Err(stopped(error)),
            }
        }

        Ok(Self { worker, setting })
    }

    /// Returns the settings of a question: its own documents, a short answer, and whatever the
    /// machine reads in time.
    fn limits(&self, question: &Question) -> Settings {
        let limit = self.setting.asked.limits.get(&question.id);
        let limit = limit.map(|limit| ("retriever.filter".to_owned(), limit.clone()));
        let fixed = [("answer.short", "true"), ("answer.first_word_seconds", "0")];
        let fixed = fixed.map(|(key, value)| (key.to_owned(), value.to_owned()));
        limit.into_iter().chain(fixed).collect()
    }

    /// Searches for a question as the retriever of its run does.
    fn find(
        &mut self,
        question: &Question,
        settings: &[(String, String)],
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        let report = &mut |record: Record| publish(&record.event);
        let retrieval = self.worker.search(&question.question, settings, report)?;
        let finished = RunEvent::RetrievalFinished { step: 0, retrieval };
        let _ = publish(&Event::Run(finished));
        Ok(())
    }
}

impl Answers for UnderPreset<'_> {
    fn answer(
        &mut self,
        question: &Question,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<(), Problem> {
        let mut overrides = self.limits(question);
        if self.setting.what.retrieval_only {
            return self.find(question, &overrides, publish);
        }

        let references = toml::Value::from(question.answers.clone()).to_string();
        overrides.push(("utility.references".to_owned(), references));
        let asked = Ask {
            overrides,
            ..Ask::new(&question.question)
        };
        let report = &mut |record: Record| publish(&record.event);
        match self.worker.ask(&asked, report)? {
            Outcome::Completed | Outcome::LimitReached | Outcome::Stopped => Ok(()),
            Outcome::Failed(problem) => Err(problem),
        }
    }

    fn examine(
        &mut self,
        question: &Question,
        run: &Run,
        publish: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<Examined, Problem> {
        let Evaluation {
            diagnose, stress, ..
        } = *self.setting.what;
        let mut examined = Examined::default();
        if !(diagnose || stress) || question.answers.is_empty() {
            return Ok(examined);
        }

        let quotes = question.evidence.iter().map(|known| known.quote.clone());
        let mut passages: Vec<String> = quotes.collect();
        if passages.is_empty() {
            passages.clone_from(&question.answers);
        }
        let expected = Expected {
            passages,
            answers: question.answers.clone(),
            guess: None,
        };
        let settings = self.limits(question);
        let mut inquiry = AskedAgain {
            worker: &mut self.worker,
            question,
            settings,
            publish,
        };
        if stress {
            examined.stressed = eval::stress(run, &expected, &mut inquiry)?;
        }
        if diagnose {
            examined.broken = eval::find_broken_link(run, expected, &mut inquiry)?;
        }
        Ok(examined)
    }
}

/// A question whose answer was wrong, asked with other settings.
struct AskedAgain<'w> {
    worker: &'w mut Worker,
    question: &'w Question,
    /// The settings of the question, below those that change.
    settings: Settings,
    publish: &'w mut dyn FnMut(&Event) -> Flow,
}

impl Inquiry for AskedAgain<'_> {
    type Error = Problem;

    fn ask(&mut self, settings: &Settings) -> Result<Run, Problem> {
        let asked = Ask {
            overrides: [&self.settings[..], settings].concat(),
            ..Ask::new(&self.question.question)
        };
        let mut run = Run::default();
        self.worker.ask(&asked, &mut |record| {
            if let Event::Run(event) = &record.event {
                run.apply(event, 0);
            }
            (self.publish)(&record.event)
        })?;
        Ok(run)
    }

    fn trace(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
    ) -> Result<Vec<TracedLookup>, Problem> {
        let publish = &mut |record: Record| (self.publish)(&record.event);
        let settings = &self.settings;
        Ok(self
            .worker
            .trace_passage(phrase, queries, settings, publish)?)
    }

    fn search_other_files(&mut self, phrase: &str) -> Result<OtherFiles, Problem> {
        let publish = &mut |record: Record| (self.publish)(&record.event);
        Ok(self.worker.search_other_files(phrase, publish)?)
    }
}
