//! `clean`: removes what is beyond its limits, from the folders of the
//! program alone.

mod history;
mod leftovers;
mod runs;

use std::path::Path;
use std::{fs, io};

use crate::story::text::one_line;
use crate::story::words;

use self::leftovers::{Leftover, leftovers};
use self::runs::{Outdated, find_outdated};
use super::call::CommandCall;
use super::failure::{Failure, Stopped};

/// Lists or removes what is beyond the limits, the oldest last.
///
/// # Errors
/// A sessions folder that cannot be listed; a file that cannot be removed.
pub fn run(is_dry: bool, call: CommandCall<'_>) -> Result<(), Stopped> {
    let config = call.layers()?.config()?;
    let CommandCall { paths, out, .. } = call;
    let threads = find_outdated(&paths.sessions(), config.record.max_days)?;
    let mut others = leftovers(paths, config.record.max_days);

    if !is_dry {
        for run in threads.iter().flat_map(|outdated| &outdated.thread.runs) {
            let file = Path::new(&run.file);
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot_remove(file, &error).into());
                }
                Ok(()) | Err(_) => {}
            }
        }

        let mut removed = Vec::new();
        for leftover in others {
            let is_removed = leftover.remove();
            if is_removed.map_err(|error| cannot_remove(&leftover.path, &error))? {
                removed.push(leftover);
            }
        }
        others = removed;
    }

    let value = serde_json::json!({
        "removed": !is_dry,
        "threads": threads,
        "others": others,
    });
    out.print(&value, || report(&threads, &others, is_dry))
}

fn cannot_remove(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot remove {} ({error})", path.display()),
        "check who may write in its folder, then clean again",
    )
}

/// Returns each thing with its size as text, and the sums.
fn report(threads: &[Outdated], others: &[Leftover], is_dry: bool) -> String {
    let mut text = String::new();
    for Outdated { thread, bytes } in threads {
        let runs = words::quantity(thread.runs.len() as u64, "run");
        let size = words::bytes(*bytes);
        text += &format!("{} ({runs}, {size})\n", one_line(thread.title()));
    }
    for other in others {
        let path = other.folder.as_ref().unwrap_or(&other.path).display();
        let what = words::quantity(other.count, other.kind.noun());
        let size = words::bytes(other.bytes);
        text += &format!("{} ({what}, {size})\n", one_line(&path.to_string()));
    }

    let sums = sums(threads, others).join(", ");
    text + &if sums.is_empty() {
        "nothing is beyond the limits\n".to_owned()
    } else if is_dry {
        format!("{sums} would be removed; run it without --dry-run to remove them\n")
    } else {
        format!("removed {sums}\n")
    }
}

/// Returns per kind how much there is: `2 runs (50 kB)`.
fn sums(threads: &[Outdated], others: &[Leftover]) -> Vec<String> {
    let runs: usize = threads.iter().map(|of| of.thread.runs.len()).sum();
    let bytes = threads.iter().map(|of| of.bytes).sum();
    let mut sums = vec![("run", runs as u64, bytes)];
    for alike in others.chunk_by(|one, next| one.kind == next.kind) {
        let count = alike.iter().map(|other| other.count).sum();
        let bytes = alike.iter().map(|other| other.bytes).sum();
        sums.push((alike[0].kind.noun(), count, bytes));
    }

    let sums = sums.into_iter().filter(|(_, count, _)| *count > 0);
    let sums = sums.map(|(noun, count, bytes)| {
        format!("{} ({})", words::quantity(count, noun), words::bytes(bytes))
    });
    sums.collect()
}
