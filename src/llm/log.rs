//! The log of llama.cpp and ggml, which goes to a file and never to the screen. The last warnings
//! and errors are kept, to explain a failure.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::event::lock;

/// Number of warnings and errors that are kept.
const KEPT_ERRORS: usize = 8;
/// A log file longer than this is emptied at the next start.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum that a process writes: a log that repeats itself for days must not fill a disk.
const MAX_PROCESS_BYTES: usize = 16 << 20;

/// Severity of a line of the log, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Remark,
    Warning,
    Error,
}

struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    /// Bytes that were written to files.
    written: usize,
    /// Warnings and errors, oldest first.
    errors: VecDeque<(Level, String)>,
}

impl Log {
    /// Returns the first of the gravest lines: a warning rarely says why a load failed when an
    /// error comes after it.
    fn reason(&self) -> Option<&str> {
        let gravest = self.errors.iter().map(|(level, _)| *level).max()?;
        let mut lines = self.errors.iter();
        lines
            .find(|(level, _)| *level == gravest)
            .map(|(_, line)| line.as_str())
    }

    fn append(&mut self, text: &str) {
        let is_full = self.written + text.len() > MAX_PROCESS_BYTES;
        if let Some(file) = self.file.as_mut().filter(|_| !is_full) {
            self.written += text.len();
            // A full disk must not end a run.
            let _ = file.write_all(text.as_bytes());
        }
    }

    fn keep(&mut self, level: Level, line: &str) {
        if level == Level::Remark || line.is_empty() {
            return;
        }
        self.errors.push_back((level, line.to_owned()));
        if self.errors.len() > KEPT_ERRORS {
            self.errors.pop_front();
        }
    }
}

static LOG: Mutex<Log> = Mutex::new(Log {
    path: None,
    file: None,
    written: 0,
    errors: VecDeque::new(),
});

/// Sends the log to this file from now on.
pub(super) fn open(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let is_long = std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > MAX_BYTES);

    let opened = OpenOptions::new()
        .create(true)
        .write(is_long)
        .truncate(is_long)
        .append(!is_long)
        .open(file)?;
    let mut log = lock(&LOG);
    log.file = Some(opened);
    log.path = Some(file.to_owned());
    Ok(())
}

/// Returns the file that the log goes to.
pub(super) fn path() -> Option<PathBuf> {
    lock(&LOG).path.clone()
}

/// A piece of memory that llama.cpp allocated, or would allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Kind of memory, named after its device: `CPU`, `Vulkan0`, `CUDA_Host`.
    pub place: String,
    pub bytes: u64,
    /// Whether it holds results between layers.
    pub is_compute: bool,
}

impl Buffer {
    /// Reads `load_tensors:      Vulkan0 model buffer size =    23.50 MiB`. llama.cpp reports sizes
    /// nowhere else in its C API.
    fn read(line: &str) -> Option<Self> {
        let (name, size) = line.split_once(" buffer size = ")?;
        let (_, name) = name.split_once(": ")?;
        let (place, kind) = name.trim().split_once(' ')?;
        let mebibytes: f64 = size.trim().strip_suffix("MiB")?.trim().parse().ok()?;
        Some(Self {
            place: place.to_owned(),
            bytes: (mebibytes * f64::from(1 << 20)).round() as u64,
            is_compute: kind.trim() == "compute",
        })
    }

    /// Returns whether it is on this device: `CUDA0` has `CUDA0` and `CUDA0_Split`.
    pub fn is_on(&self, device: &str) -> bool {
        self.place
            .strip_prefix(device)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }
}

thread_local! {
    /// Buffers that the call of [`with_buffers`] on this thread allocated so far.
    static BUFFERS: RefCell<Option<Vec<Buffer>>> = const { RefCell::new(None) };
}

/// Runs a call of llama.cpp, and returns the memory that it allocated besides.
pub(super) fn with_buffers<T>(call: impl FnOnce() -> T) -> (T, Vec<Buffer>) {
    BUFFERS.set(Some(Vec::new()));
    let result = call();
    (result, BUFFERS.take().unwrap_or_default())
}

/// Writes a piece of the log.
pub(super) fn write(level: Level, text: &str) {
    BUFFERS.with_borrow_mut(|buffers| {
        if let Some(buffers) = buffers {
            buffers.extend(Buffer::read(text));
        }
    });
    let mut log = lock(&LOG);
    log.append(text);
    log.keep(level, text.trim());
}

/// Forgets earlier errors, before a call whose failure is to be explained.
pub(super) fn clear_errors() {
    lock(&LOG).errors.clear();
}

/// Returns the first error since, or else the first warning, without the name of the C function
/// that logged it.
pub(super) fn first_error() -> Option<String> {
    let log = lock(&LOG);
    let error = log.reason()?;
    let reason = match error.split_once(": ") {
        Some((function, rest)) if !function.contains(' ') => rest,
        Some(_) | None => error,
    };
    Some(
        reason
            .trim_start_matches("error loading model: ")
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_explains_more_than_the_warnings_before_it() {
        use Level::{Error, Remark, Warning};

        let cases = [
            (&[][..], None),
            (&[(Remark, "loading"), (Warning, "")], None),
            (
                &[(Warning, "odd token"), (Warning, "other")],
                Some("odd token"),
            ),
            (
                &[
                    (Warning, "odd token"),
                    (Error, "no memory"),
                    (Error, "failed"),
                ],
                Some("no memory"),
            ),
        ];
        for (lines, reason) in cases {
            let mut log = Log {
                path: None,
                file: None,
                written: 0,
                errors: VecDeque::new(),
            };
            for (level, line) in lines {
                log.keep(*level, line);
            }
            assert_eq!(log.reason(), reason, "{lines:?}");
        }
    }

    #[test]
    fn buffers_are_read_from_the_lines_that_report_them() {
        let mib = 1 << 20;
        let cases = [
            (
                "load_tensors:      Vulkan0 model buffer size =    23.50 MiB\n",
                Some(("Vulkan0", 23 * mib + mib / 2, false)),
            ),
            (
                "load_tensors:   CPU_Mapped model buffer size =     5.00 MiB\n",
                Some(("CPU_Mapped", 5 * mib, false)),
            ),
            (
                "llama_kv_cache:    CUDA0 KV buffer size =  1024.00 MiB\n",
                Some(("CUDA0", 1024 * mib, false)),
            ),
            (
                "sched_reserve:    CUDA0 compute buffer size =   304.75 MiB\n",
                Some(("CUDA0", 304 * mib + 3 * mib / 4, true)),
            ),
            (
                "llama_context:        CPU  output buffer size =     3.00 MiB\n",
                Some(("CPU", 3 * mib, false)),
            ),
            ("llama_context: n_ctx = 2048\n", None),
            ("load: buffer size = 3 MiB", None),
        ];
        for (line, expected) in cases {
            let (buffer, found) = with_buffers(|| {
                write(Level::Remark, line);
                Buffer::read(line)
            });
            let parts = buffer
                .as_ref()
                .map(|buffer| (buffer.place.as_str(), buffer.bytes, buffer.is_compute));
            assert_eq!(parts, expected, "{line}");
            assert_eq!(found, Vec::from_iter(buffer.clone()), "{line}");
        }

        let on = |place: &str, device: &str| {
            let buffer = Buffer {
                place: place.to_owned(),
                bytes: 1,
                is_compute: false,
            };
            buffer.is_on(device)
        };
        assert!(on("CUDA0", "CUDA0") && on("CUDA0_Split", "CUDA0"));
        assert!(!on("CUDA01", "CUDA0") && !on("CUDA_Host", "CUDA0") && !on("CPU", "CUDA0"));
    }

    #[test]
    fn a_process_writes_a_limited_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log {
            path: None,
            file: Some(File::create(&path).expect("a file")),
            written: 0,
            errors: VecDeque::new(),
        };
        let line = "x".repeat(1 << 20);
        (0..40).for_each(|_| log.append(&line));
        let bytes = std::fs::metadata(&path).expect("a file").len();
        assert_eq!(bytes, MAX_PROCESS_BYTES as u64);
    }
}
