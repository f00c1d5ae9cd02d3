//! Watches a folder: says when it may have changed, once things have been quiet for a moment.
//!
//! Events only mark the folder as changed. What changed is found by the walk of the next update,
//! which takes a quarter of a second for 10,000 unchanged files; so a rename over a file, a burst
//! of 10,000 files and a lost event are all the same to it. A sweep follows every few minutes, for
//! changes that no event reports: through symbolic links, and where the queue of the system
//! overflowed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::config::Watch;
use crate::event::Problem;

/// Time without an event after which a change is reported: an editor saves in several steps.
const QUIET: Duration = Duration::from_millis(500);
/// Maximum time between a change and its report while events keep coming.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Time between two sweeps where events arrive, and where none do.
const SWEEP: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_secs(30);
/// Time between two reports of a folder that changes all the time.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Filesystems that report no events for what other machines change, and some for nothing at all.
#[rustfmt::skip]
const WITHOUT_EVENTS: &[&str] = &[
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "vboxsf", "drvfs", "prl_fs",
    "glusterfs", "lustre", "davfs",
];

/// A folder that is being watched; dropping it ends that.
pub struct Watcher {
    // dropped first: its channel ends the thread
    _events: Option<RecommendedWatcher>,
    _end: Sender<Changed>,
    /// The reason why the folder is polled instead; `None` where events arrive, or polling was
    /// chosen.
    pub fallback: Option<Problem>,
}

/// The signal of the system that something in the folder changed.
struct Changed;

impl Watcher {
    /// Starts to watch a folder. `changed` is called on a thread of its own, after each change and
    /// for each sweep; when it returns `false`, watching ends.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(
        folder: &Path,
        watch: Watch,
        changed: impl FnMut() -> bool + Send + 'static,
    ) -> std::io::Result<Option<Self>> {
        let (sender, signals) = channel();
        let (events, fallback) = match watch {
            Watch::Off => return Ok(None),
            Watch::Poll => (None, None),
            Watch::Auto => match listen(folder, sender.clone()) {
                Ok(events) => (Some(events), None),
                Err(problem) => (None, Some(problem)),
            },
        };
        let sweep = if events.is_some() { SWEEP } else { POLL };

        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || report(&signals, sweep, changed))?;
        Ok(Some(Self {
            _events: events,
            _end: sender,
            fallback,
        }))
    }
}

/// Returns the system's watcher of a folder; the error says why there is none.
fn listen(folder: &Path, signals: Sender<Changed>) -> Result<RecommendedWatcher, Problem> {
    if let Some(kind) = filesystem(folder).filter(|kind| has_no_events(kind)) {
        return Err(Problem::new(
            format!("{kind} reports no changes: the folder is compared every 30 seconds"),
            "set corpus.watch = \"off\" if that is too much for the network",
        ));
    }

    let root = folder.to_owned();
    let handler = move |event: notify::Result<Event>| {
        // an error is a queue that overflowed or a folder that went away: what changed is unknown
        if event.is_ok_and(|event| !is_change(&root, &event)) {
            return;
        }
        // the thread has ended: nobody listens
        let _ = signals.send(Changed);
    };
    let polled = |error: notify::Error| {
        let advice = match error.kind {
            notify::ErrorKind::MaxFilesWatch => {
                "raise the limit: `sudo sysctl fs.inotify.max_user_watches=1048576`"
            }
            _ => "set corpus.watch = \"poll\" to stop trying",
        };
        Problem::new(
            format!("{error}: the folder is compared every 30 seconds"),
            advice,
        )
    };
    let mut watcher = notify::recommended_watcher(handler).map_err(polled)?;
    watcher
        .watch(folder, RecursiveMode::Recursive)
        .map_err(polled)?;
    Ok(watcher)
}

/// Returns whether an event may change what the index holds. Reading a file changes nothing, or the
/// update would wake itself for ever; nor does what Git does to itself.
fn is_change(root: &Path, event: &Event) -> bool {
    // git writes there with most commands, and the walk leaves it out
    let is_of_git = |path: &PathBuf| {
        path.strip_prefix(root)
            .is_ok_and(|inside| inside.starts_with(".git"))
    };
    let is_own = !event.paths.is_empty() && event.paths.iter().all(is_of_git);
    !matches!(event.kind, EventKind::Access(_)) && !is_own || event.need_rescan()
}

/// Calls `changed` when the folder was quiet after a change, and for each sweep, until nobody
/// watches any longer.
fn report(signals: &Receiver<Changed>, sweep: Duration, mut changed: impl FnMut() -> bool) {
    let mut reported = Instant::now();
    loop {
        let first = match signals.recv_timeout(sweep.saturating_sub(reported.elapsed())) {
            Ok(Changed) => Some(Instant::now()),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };

        if let Some(first) = first {
            let earliest = MIN_INTERVAL.saturating_sub(reported.elapsed());
            if !wait_for_quiet(signals, first, earliest) {
                return;
            }
        }

        if !changed() {
            return;
        }
        reported = Instant::now();
    }
}

/// Waits until no change has arrived for a moment. Returns `false` when nobody watches any longer.
fn wait_for_quiet(signals: &Receiver<Changed>, first: Instant, earliest: Duration) -> bool {
    let mut quiet = QUIET.max(earliest);
    while first.elapsed() < MAX_DELAY {
        match signals.recv_timeout(quiet) {
            Ok(Changed) => quiet = QUIET,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

fn has_no_events(kind: &str) -> bool {
    WITHOUT_EVENTS.contains(&kind) || kind.starts_with("fuse.")
}

/// Returns the kind of filesystem that holds a folder, as Linux names it; `None` elsewhere.
fn filesystem(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    innermost(&mounts, &folder)
}

/// Returns the kind of the innermost mount above a folder. Blanks in a mount point are written
/// `\040`.
fn innermost(mounts: &str, folder: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            // proc_pid_mounts(5): a space in a path is written in octal
            let point = fields.nth(1)?.replace("\\040", " ");
            let kind = fields.next()?;
            folder.starts_with(&point).then_some((point.len(), kind))
        })
        // of two mounts on one point the later hides the earlier
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_names_the_filesystem() {
        let mounts = "/dev/vda / ext4 rw 0 0\nhost:/x /mnt/my\\040share nfs4 rw 0 0\nsshfs /mnt/s fuse.sshfs rw 0 0\n";
        let cases = [
            ("/home/a", "ext4", false),
            ("/mnt/my share/docs", "nfs4", true),
            ("/mnt/s", "fuse.sshfs", true),
            ("/mnt/other", "ext4", false),
        ];
        for (folder, kind, is_polled) in cases {
            let found = innermost(mounts, Path::new(folder)).expect(folder);
            assert_eq!((found.as_str(), has_no_events(&found)), (kind, is_polled));
        }
    }

    #[test]
    fn changes_are_reported_once_things_are_quiet() {
        let (sender, signals) = channel();
        let (done, reports) = channel();
        let thread = std::thread::spawn(move || report(&signals, SWEEP, || done.send(()).is_ok()));
        for _ in 0..10_000 {
            sender.send(Changed).expect("it listens");
        }
        reports
            .recv_timeout(MAX_DELAY + QUIET)
            .expect("a burst is reported");
        assert!(reports.recv_timeout(QUIET * 2).is_err(), "once");
        drop(sender);
        thread.join().expect("it ends with its watcher");
    }

    #[test]
    fn a_sweep_follows_without_any_event() {
        let (sender, signals) = channel();
        let mut left = 3;
        report(&signals, Duration::from_millis(1), move || {
            left -= 1;
            left > 0
        });
        drop(sender);
    }
}
