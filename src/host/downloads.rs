//! Downloads of models behind the screen: one at a time, on a thread of its own.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::event::{Command, Operation, Problem, PulledModel, SessionEvent, StopFlag, lock};
use crate::pull::{self, PullError, PullSettings};

use super::tee::{Tee, failure};

/// The download that is under way.
#[derive(Default)]
pub(super) struct Downloads {
    /// Set to stop it; `None` when there is none.
    stop: Arc<Mutex<Option<StopFlag>>>,
}

impl Downloads {
    /// Starts a download, whose events go to `tee`. A finished one asks the `library` for the list
    /// of models.
    pub fn start(&self, reference: String, library: Sender<Command>, tee: Tee) {
        let mut current = lock(&self.stop);
        if current.is_some() {
            let problem = Problem::new(
                "another model is being downloaded",
                "wait for it, or stop it in the list of models",
            );
            tee.emit(failure(Operation::PullModel, problem));
            return;
        }

        let stop = StopFlag::default();
        let slot = Arc::clone(&self.stop);
        let asked = stop.clone();
        let events = tee.clone();
        let started = thread::Builder::new()
            .name("pull".to_owned())
            .spawn(move || {
                let pulled = download(&reference, &asked, &events);
                *lock(&slot) = None;
                events.emit(outcome(pulled));
                // a screen that is closed needs no list
                let _ = library.send(Command::ListModels);
            });
        match started {
            Ok(_) => *current = Some(stop),
            Err(error) => {
                let problem = Problem::new(error.to_string(), "close other programs");
                tee.emit(failure(Operation::PullModel, problem));
            }
        }
    }

    /// Stops the download; what came stays.
    pub fn stop(&self) {
        let current = lock(&self.stop);
        if let Some(stop) = current.as_ref() {
            stop.stop();
        }
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn download(reference: &str, stop: &StopFlag, tee: &Tee) -> Result<PulledModel, PullError> {
    let reference = reference.parse()?;
    let settings = PullSettings::from_environment();
    pull::pull(&reference, &settings, &mut |progress| {
        tee.emit(SessionEvent::PullProgressed {
            progress: progress.clone(),
        });
        stop.flow()
    })
}

fn outcome(pulled: Result<PulledModel, PullError>) -> SessionEvent {
    match pulled {
        Ok(model) => SessionEvent::ModelPulled { model },
        Err(PullError::Stopped(_)) => SessionEvent::OperationStopped {
            operation: Operation::PullModel,
        },
        Err(error) => failure(Operation::PullModel, error.into()),
    }
}
