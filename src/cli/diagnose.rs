//! `diagnose`: where the answer to a question went wrong.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::config::CorpusSettings;
use crate::corpus::{self, Document, FoundFile, ReadOptions};
use crate::eval::{self, Inquiry, Settings};
use crate::event::{Ask, Outcome, SkippedFile, TracedLookup, harmless};
use crate::letters;
use crate::remote::is_address;
use crate::story::text::one_line;
use crate::story::words::LOST;
use crate::story::{Diagnosis, Expected, OtherFiles, Run, Tried};

use super::failure::{Exit, Failure, Stopped};
use super::work::Work;

/// Files outside of the index that are read for a passage.
const MAX_OTHER_FILES: usize = 500;

impl Work<'_> {
    /// Asks a question, names the first broken link of its chain, and tries what changes it.
    pub fn diagnose(
        mut self,
        folders: &[PathBuf],
        question: &str,
        expected: Option<&str>,
    ) -> Result<Exit, Stopped> {
        if expected.is_some_and(|text| letters::normalise(text).is_empty()) {
            return Err(Failure::usage(
                "the expected text is empty",
                "pass the answer or a few words of its passage with --expect, or leave it out",
            )
            .into());
        }
        self.prepare_silently(folders, question)?;

        let expected = expected.map(|text| Expected {
            passages: vec![text.to_owned()],
            answers: Vec::new(),
            guess: None,
        });
        let mut asked = AskedAgain {
            work: &mut self,
            folders,
            question,
        };
        let run = asked.ask(&Settings::new())?;
        if let Some(Outcome::Failed(problem)) = run.outcome {
            return Err(problem.into());
        }
        let diagnosis = eval::diagnose(&run, expected, &mut asked)?;

        let out = &mut self.observer.out;
        if out.json {
            out.json_line(&diagnosis)?;
        } else {
            out.text(&harmless(&text(&diagnosis)))?;
        }
        Ok(Exit::Done)
    }
}

/// A question that is asked with one change after the other.
struct AskedAgain<'w, 'a> {
    work: &'w mut Work<'a>,
    folders: &'w [PathBuf],
    question: &'w str,
}

impl Inquiry for AskedAgain<'_, '_> {
    type Error = Stopped;

    fn ask(&mut self, settings: &Settings) -> Result<Run, Stopped> {
        let asked = Ask {
            overrides: settings.clone(),
            ..Ask::new(self.question)
        };
        let (outcome, run) = self.work.ask_and_follow(&asked)?;
        match outcome {
            Outcome::Stopped => Err(Stopped::Interrupted),
            Outcome::Completed | Outcome::LimitReached | Outcome::Failed(_) => Ok(run),
        }
    }

    fn trace(
        &mut self,
        phrase: &str,
        queries: &[(u32, String)],
    ) -> Result<Vec<TracedLookup>, Stopped> {
        self.work
            .run(|worker, publish| worker.trace_passage(phrase, queries, &[], publish))
    }

    fn search_other_files(&mut self, phrase: &str) -> Result<OtherFiles, Stopped> {
        let settings = self.work.layers.config()?.corpus;
        let indexed = self.work.worker.documents()?;
        let indexed: HashSet<&str> = indexed.iter().map(String::as_str).collect();
        let phrase = letters::normalise(&letters::normal(phrase));
        let mut others = OtherFiles::default();
        for folder in self.folders.iter().filter(|folder| !is_address(folder)) {
            let everything = CorpusSettings {
                hidden: true,
                gitignore: false,
                include: Vec::new(),
                ..settings.clone()
            };
            let interrupt = &self.work.interrupt;
            let walked = corpus::walk(folder, &everything, &mut |_| interrupt.flow())?;
            others.unreadable.extend(walked.skipped);

            let options = ReadOptions::from(&settings);
            let is_other = |file: &&FoundFile| !indexed.contains(file.path.as_str());
            for file in walked.files.iter().filter(is_other).take(MAX_OTHER_FILES) {
                match corpus::read(file, &options) {
                    Ok(document) if holds(&document, &phrase) => {
                        others
                            .holding
                            .get_or_insert_with(|| left_out(file, &settings));
                    }
                    Ok(_) => {}
                    Err(skipped) => others.unreadable.push(skipped),
                }
            }
        }
        Ok(others)
    }
}

fn holds(document: &Document, phrase: &str) -> bool {
    letters::holds(
        &letters::normalise(&letters::normal(&document.text)),
        phrase,
    )
}

/// Returns why a file that can be read is not in the index.
fn left_out(file: &FoundFile, settings: &CorpusSettings) -> SkippedFile {
    let is_hidden = file.path.split('/').any(|name| name.starts_with('.'));
    let reason = if is_hidden && !settings.hidden {
        "hidden files are left out (corpus.hidden = true reads them)"
    } else if settings.gitignore {
        "an ignore file or corpus.include leaves it out (corpus.gitignore = false reads it)"
    } else {
        "corpus.include leaves it out"
    };
    SkippedFile {
        path: file.path.clone(),
        reason: reason.to_owned(),
    }
}

/// Returns a diagnosis as text.
fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let expected = &diagnosis.expected;
    for passage in &expected.passages {
        text.push_str(&format!("expected: “{}”\n", one_line(passage)));
    }
    if let Some(guess) = &expected.guess {
        text.push_str(&format!("  {guess}\n"));
    }

    for link in &diagnosis.chain {
        let sign = match link.holds {
            Some(true) => "✓",
            Some(false) => LOST,
            None => "·",
        };
        let line = format!("  {sign} {:<11} {}", link.name, link.evidence);
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text.push_str(&format!("{}\n", diagnosis.finding));

    if !diagnosis.tried.is_empty() {
        text.push_str("tried:\n");
    }
    for Tried {
        change,
        label,
        says,
        answer,
        ..
    } in &diagnosis.tried
    {
        let sign = if *says { "✓" } else { LOST };
        let used = label.map_or_else(String::new, |label| format!(" used as [{label}];"));
        text.push_str(&format!(
            "  {sign} {change}:{used} the answer is: {answer}\n"
        ));
    }
    text
}
