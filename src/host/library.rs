//! The commands about recorded runs and models, which need no engine.

use std::path::Path;
use std::sync::mpsc::Receiver;

use crate::config::Paths;
use crate::event::{Command, Operation, RunSummary, SessionEvent};
use crate::trace::{list_runs, name_thread, newest_runs, read_run, thread_name, thread_names};

use super::models::model_list;
use super::tee::{Tee, failure};

/// Number of runs that are listed before the others are read.
const FIRST_LISTED: usize = 300;

/// Answers the commands of a screen about recorded runs and models until it closes.
pub(super) fn answer(requests: &Receiver<Command>, paths: &Paths, tee: &Tee) {
    let sessions = &paths.sessions();
    for request in requests {
        match request {
            Command::ListSessions => {
                if let Some(newest) = list_newest(sessions) {
                    tee.emit(newest);
                }
                tee.emit(list(sessions));
            }
            Command::OpenRun { file } => open(&file, tee),
            Command::RenameThread { thread, name } => match name_thread(sessions, &thread, &name) {
                Ok(()) => tee.emit(list(sessions)),
                Err(error) => tee.emit(failure(Operation::RenameThread, error)),
            },
            Command::ListModels => tee.emit(match model_list(paths) {
                Ok(list) => SessionEvent::ModelsListed { list },
                Err(problem) => failure(Operation::ListModels, problem),
            }),
            // the others have another destination
            _ => {}
        }
    }
}

/// Returns the newest runs of a folder in which reading all takes a while.
fn list_newest(sessions: &Path) -> Option<SessionEvent> {
    let runs = newest_runs(sessions, FIRST_LISTED).ok()??;
    let threads = runs.iter().map(RunSummary::thread);
    let names =
        threads.filter_map(|thread| Some((thread.to_owned(), thread_name(sessions, thread)?)));
    Some(SessionEvent::SessionsListed {
        folder: sessions.display().to_string(),
        names: names.collect(),
        runs,
        more: true,
    })
}

fn list(sessions: &Path) -> SessionEvent {
    let listed = list_runs(sessions).and_then(|runs| Ok((runs, thread_names(sessions)?)));
    match listed {
        Ok((runs, names)) => SessionEvent::SessionsListed {
            folder: sessions.display().to_string(),
            runs,
            names,
            more: false,
        },
        Err(error) => failure(Operation::ListSessions, error),
    }
}

fn open(file: &Path, tee: &Tee) {
    match read_run(file) {
        Ok(records) => {
            let run = records.last().map(|record| record.run.clone());
            tee.show(records);
            if let Some(run) = run {
                tee.emit(SessionEvent::RunOpened { run });
            }
        }
        Err(error) => tee.emit(failure(Operation::OpenRun, error)),
    }
}
