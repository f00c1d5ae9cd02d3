//! `index`: updates the indexes of folders, once or whenever one changes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::config::Watch;
use crate::corpus::Watcher;
use crate::engine::Worker;
use crate::event::{IndexReport, SkippedFile, harmless};
use crate::remote::is_address;
use crate::story::text::one_line;
use crate::story::words;

use super::failure::{Exit, Stopped};
use super::folders::check_folders;
use super::work::Work;

/// Time between two looks at ctrl-c while a folder is watched.
const INTERRUPT_EVERY: Duration = Duration::from_millis(100);

impl Work<'_> {
    /// Updates the indexes of these folders whenever one changes, until ctrl-c, and prints a line
    /// for each change.
    pub fn watch(mut self, folders: &[PathBuf], rebuild: bool) -> Result<Exit, Stopped> {
        let watch = match self.layers.config()?.corpus.watch {
            Watch::Off => Watch::Auto,
            chosen => chosen,
        };
        let (sender, changes) = channel();
        // started first: a change while a folder is being indexed is not lost
        let mut watchers = Vec::new();
        for folder in folders.iter().filter(|folder| !is_address(folder)) {
            let sender = sender.clone();
            let report = move || sender.send(()).is_ok();
            watchers.extend(Watcher::start(folder, watch, report)?);
        }
        self.index(folders, rebuild)?;
        let problems = watchers
            .iter()
            .filter_map(|watcher| watcher.fallback.as_ref());
        for problem in problems {
            self.observer.out.remark(&problem.to_string());
        }

        while !self.interrupt.is_seen() {
            match changes.recv_timeout(INTERRUPT_EVERY) {
                Ok(()) => self.follow_change()?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(Exit::Interrupted)
    }

    /// Updates the indexes of these folders and prints a summary.
    pub fn index(&mut self, folders: &[PathBuf], rebuild: bool) -> Result<(), Stopped> {
        check_folders(folders)?;
        self.run(|worker, publish| worker.open(folders, rebuild, publish))?;
        let report = self.run(Worker::update)?.ok_or(Stopped::Interrupted)?;
        if !self.observer.out.json {
            self.observer.out.text(&harmless(&summary(&report)))?;
        }
        Ok(())
    }
}

fn summary(report: &IndexReport) -> String {
    let mut text = format!(
        "{}: {}, {} in {}\n{} added, {} changed, {} removed, {} unchanged; {} embedded, {} reused\n",
        report.corpus.folder,
        words::quantity(report.corpus.documents, "document"),
        words::quantity(report.corpus.chunks, "chunk"),
        words::duration(report.wall_ms),
        report.added,
        report.changed,
        report.removed,
        report.unchanged,
        words::quantity(report.embedded, "chunk"),
        report.reused,
    );

    if let Some(neighbours) = report.neighbours {
        text.push_str(&format!("{}\n", words::sentence_joins(neighbours)));
    }
    if let Some(omitted) = words::omitted_files(&report.omitted) {
        text.push_str(&format!("{omitted}\n"));
    }

    if !report.skipped.is_empty() {
        text.push_str(&format!("{} skipped:\n", report.skipped.len()));
    }
    for (reason, files) in by_reason(&report.skipped) {
        text.push_str(&format!("  {}: {reason}\n", words::named_files(&files)));
    }

    if !report.noted.is_empty() {
        text.push_str(&format!("{} read with a remark:\n", report.noted.len()));
    }
    for file in &report.noted {
        text.push_str(&format!("  {}: {}\n", one_line(&file.path), file.note));
    }

    text
}

/// Returns the files with the reasons, each reason once, in the order of its first file.
fn by_reason(skipped: &[SkippedFile]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for SkippedFile { path, reason } in skipped {
        let at = *known.entry(reason).or_insert_with(|| {
            groups.push((reason, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(path);
    }
    groups
}
