//! One file: fetched, continued, checked, and put into its place.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ring::digest::{Context, SHA256};

use super::error::{PullError, unwritable};
use super::http::{Client, FileAnswer, FileRequest, Subject};
use super::meter::Meter;
use super::settings::PullSettings;
use crate::event::{Problem, PullPhase};
use crate::files::{FileLock, open_or_create};
use crate::story::words;

/// Failures in a row, without a byte of progress between them, after which a pull gives up.
const MAX_FAILURES: u32 = 5;
/// Free bytes that a pull leaves on the disk.
const SPARE_BYTES: u64 = 256 << 20;
/// Sizes of files are signed numbers of 64 bits: no disk has more.
const MAX_DISK_BYTES: u64 = i64::MAX as u64;
const READ_BYTES: usize = 1 << 20;
/// Time between two tries to get the lock of a file.
const LOCK_LATENCY: Duration = Duration::from_millis(50);

/// A file to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The name to show.
    pub name: String,
    pub url: String,
    /// The page for people about it.
    pub page: String,
    pub bytes: u64,
    /// Checksum in hexadecimal, lower case.
    pub sha256: String,
    /// Path of the finished file.
    pub file: PathBuf,
    /// Path at which the file grows.
    pub part: PathBuf,
    /// Held while it grows.
    pub lock: PathBuf,
}

impl Target {
    fn is_here(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|about| about.is_file() && about.len() == self.bytes)
    }

    /// Bytes that are on the disk.
    fn bytes_here(&self) -> u64 {
        if self.is_here() {
            return self.bytes;
        }
        fs::metadata(&self.part).map_or(0, |about| about.len().min(self.bytes))
    }
}

/// Returns whether a text is a sha256 in hexadecimal.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A folder for files, and the variable that moves it.
pub(super) struct Destination<'a> {
    pub folder: &'a Path,
    pub variable: &'static str,
}

/// Downloads the files that are not here yet.
pub(super) fn download_all(
    targets: &[Target],
    destination: &Destination<'_>,
    settings: &PullSettings,
    client: &Client,
    meter: &mut Meter<'_>,
) -> Result<(), PullError> {
    meter.expect(sum(targets, |target| target.bytes));
    make_folder(destination.folder)?;
    check_space(targets, destination, settings)?;

    for target in targets {
        let mut download = Download {
            target,
            settings,
            client,
            meter,
            has_ranges: true,
        };
        download.run()?;
    }
    Ok(())
}

/// Returns the bytes of all files; a sum that is too large for any disk stays the largest number.
fn sum(targets: &[Target], bytes: impl Fn(&Target) -> u64) -> u64 {
    let bytes = targets.iter().map(bytes);
    bytes.fold(0, u64::saturating_add)
}

fn check_space(
    targets: &[Target],
    destination: &Destination<'_>,
    settings: &PullSettings,
) -> Result<(), Problem> {
    let missing = sum(targets, |target| target.bytes - target.bytes_here());
    if missing == 0 {
        return Ok(());
    }

    // A disk that does not report its space may still have some.
    let free_bytes = (settings.free_bytes)(destination.folder).unwrap_or(MAX_DISK_BYTES);
    let free_bytes = free_bytes.min(MAX_DISK_BYTES);
    let needed_bytes = missing.saturating_add(SPARE_BYTES);

    if free_bytes >= needed_bytes {
        return Ok(());
    }

    let [needed, free] = [needed_bytes, free_bytes].map(words::bytes);
    let Destination { folder, variable } = destination;
    Err(Problem::new(
        format!(
            "{needed} are needed in {} and {free} are free",
            folder.display()
        ),
        format!("free some space, or set {variable} to a folder on another disk"),
    ))
}

pub(super) fn make_folder(folder: &Path) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))
}

fn make_parent(file: &Path) -> Result<(), Problem> {
    file.parent().map_or(Ok(()), make_folder)
}

struct Download<'a, 'm> {
    target: &'a Target,
    settings: &'a PullSettings,
    client: &'a Client,
    meter: &'a mut Meter<'m>,
    /// The server has sent the ranges that it was asked for, as far as it was asked.
    has_ranges: bool,
}

/// The outcome of an attempt whose connection did not break.
enum Attempt {
    Complete,
    /// The next attempt must begin at the first byte.
    Restart,
}

impl Download<'_, '_> {
    fn run(&mut self) -> Result<(), PullError> {
        let target = self.target;
        if target.is_here() {
            self.meter.add(target.bytes);
            return Ok(());
        }

        make_parent(&target.lock)?;
        make_parent(&target.part)?;
        let _lock = self.lock()?;
        if target.is_here() {
            self.meter.add(target.bytes);
            return Ok(());
        }

        self.meter.begin(PullPhase::Checking, &target.name);
        let mut part = PartialFile::open(target, self.meter)?;
        let was_continued = part.bytes > 0;
        let found = self.fetch(&mut part)?;
        if found == target.sha256 {
            return Ok(part.finish(target)?);
        }

        // What an earlier attempt left may be what is damaged.
        part.restart(self.meter)?;
        if was_continued {
            let found = self.fetch(&mut part)?;
            if found == target.sha256 {
                return Ok(part.finish(target)?);
            }
            part.restart(self.meter)?;
        }
        let Target { name, sha256, .. } = target;
        Err(Problem::new(
            format!("{name} arrived damaged (its sha256 is {found}, not {sha256}) and was deleted"),
            "pull again",
        )
        .into())
    }

    /// Waits until no other process downloads this file. A file system without locks has none to
    /// wait for.
    fn lock(&mut self) -> Result<Option<FileLock>, PullError> {
        let path = &self.target.lock;
        let file = open_or_create(path).map_err(|error| unwritable(path, &error))?;

        self.meter.begin(PullPhase::Waiting, &self.target.name);

        loop {
            match FileLock::try_take(&file) {
                Ok(lock) => return Ok(Some(lock)),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_LATENCY),
                Err(TryLockError::Error(_)) => return Ok(None),
            }
            self.meter.tick()?;
        }
    }

    /// Fetches what is missing and returns the sha256 of the whole file.
    fn fetch(&mut self, part: &mut PartialFile) -> Result<String, PullError> {
        self.meter.begin(PullPhase::Downloading, &self.target.name);
        let mut farthest = part.bytes;
        let mut failures = 0;
        while part.bytes < self.target.bytes {
            let failure = match self.attempt(part) {
                Ok(Attempt::Complete) => break,
                Ok(Attempt::Restart) => {
                    self.has_ranges = false;
                    part.restart(self.meter)?;
                    self.broken_error("it cannot continue a download")
                }
                // what broke may succeed when repeated
                Err(broken @ PullError::Connection { .. }) => broken,
                Err(error) => return Err(error),
            };

            failures = if part.bytes > farthest {
                1
            } else {
                failures + 1
            };
            farthest = farthest.max(part.bytes);
            if failures > MAX_FAILURES {
                return Err(failure);
            }
            self.pause(failures)?;
        }
        Ok(part.sha256())
    }

    fn pause(&mut self, failures: u32) -> Result<(), PullError> {
        // the pause doubles with each failure in a row
        let until = Instant::now() + self.settings.retry_pause * (1 << (failures - 1));
        while Instant::now() < until {
            self.meter.tick()?;
            thread::sleep(LOCK_LATENCY.min(self.settings.retry_pause));
        }
        Ok(())
    }

    /// Asks for the bytes that are missing and writes them as they come.
    fn attempt(&mut self, part: &mut PartialFile) -> Result<Attempt, PullError> {
        if !self.has_ranges {
            part.restart(self.meter)?;
        }
        let request = FileRequest {
            url: self.target.url.clone(),
            accept: None,
            from_byte: part.bytes,
        };
        let answer = self.client.send(&request, self.meter)?;

        match answer.status {
            // a server may ignore the range, and then sends the whole file
            200 => part.restart(self.meter)?,
            // a range that begins elsewhere cannot be written behind what is here
            206 if !is_continued(&answer, part.bytes) => return Ok(Attempt::Restart),
            206 => {}
            // RFC 9110, section 15.5.17: its file ends before the byte that was asked for
            416 => return Ok(Attempt::Restart),
            // overload and failures pass
            429 | 500.. => return Err(self.broken_error(format!("status {}", answer.status))),
            _ => {
                let about = Subject {
                    what: &self.target.name,
                    page: &self.target.page,
                };
                return Err(answer.refusal(about, &self.client.access).into());
            }
        }
        self.check_is_listed(&answer)?;
        self.receive(&answer, part)
    }

    /// Checks that the headers name the file of the listing.
    fn check_is_listed(&self, answer: &FileAnswer) -> Result<(), Problem> {
        let headers = &answer.headers;
        let is_other_sum = headers
            .linked_etag
            .as_ref()
            .is_some_and(|etag| is_sha256(etag) && !etag.eq_ignore_ascii_case(&self.target.sha256));
        let is_other_size = headers
            .linked_size
            .is_some_and(|bytes| bytes != self.target.bytes);
        if is_other_sum || is_other_size {
            return Err(self.changed_error());
        }
        Ok(())
    }

    fn changed_error(&self) -> Problem {
        let name = &self.target.name;
        let error = format!("{name} changed on the server during the download");
        Problem::new(error, "pull again")
    }

    fn broken_error(&self, reason: impl Display) -> PullError {
        PullError::for_connection(&self.target.url, reason)
    }

    fn receive(
        &mut self,
        answer: &FileAnswer,
        part: &mut PartialFile,
    ) -> Result<Attempt, PullError> {
        while let Some(bytes) = answer.next(self.meter)? {
            if part.bytes + bytes.len() as u64 > self.target.bytes {
                return Err(self.changed_error().into());
            }
            part.write(&bytes)?;
            self.meter.receive(bytes.len() as u64);
        }

        match self.target.bytes - part.bytes {
            0 => Ok(Attempt::Complete),
            missing => Err(self.broken_error(format!("it ended {missing} bytes too early"))),
        }
    }
}

/// Returns whether an answer with a range begins where the file ends.
fn is_continued(answer: &FileAnswer, bytes: u64) -> bool {
    let range = answer.headers.content_range.as_deref();
    let first = range
        .and_then(|range| range.strip_prefix("bytes "))
        .and_then(|range| range.split_once('-'))
        .and_then(|(first, _)| first.trim().parse::<u64>().ok());
    first == Some(bytes)
}

/// A file that grows, and the sum of what is in it.
struct PartialFile {
    path: PathBuf,
    file: File,
    sum: Context,
    bytes: u64,
}

impl PartialFile {
    /// Opens what an earlier attempt left, or an empty file.
    fn open(target: &Target, meter: &mut Meter<'_>) -> Result<Self, PullError> {
        let path = &target.part;
        let failed = |error: std::io::Error| unwritable(path, &error);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        let mut left = file.metadata().map_err(failed)?.len();
        if left > target.bytes {
            file.set_len(0).map_err(failed)?;
            left = 0;
        }

        let mut sum = Context::new(&SHA256);
        let mut bytes = 0;
        let mut buffer = vec![0; READ_BYTES];
        // the sum of a part is not kept, so what an earlier attempt left is read again
        while bytes < left {
            let room =
                usize::try_from(left - bytes).map_or(READ_BYTES, |left| left.min(READ_BYTES));
            let length = file.read(&mut buffer[..room]).map_err(failed)?;
            if length == 0 {
                break;
            }
            sum.update(&buffer[..length]);
            bytes += length as u64;
            meter.add(length as u64);
            meter.tick()?;
        }
        Ok(Self {
            path: path.clone(),
            file,
            sum,
            bytes,
        })
    }

    /// Deletes what is in it.
    fn restart(&mut self, meter: &mut Meter<'_>) -> Result<(), Problem> {
        if self.bytes == 0 {
            return Ok(());
        }
        let emptied = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|error| unwritable(&self.path, &error))?;
        meter.take_back(self.bytes);
        self.sum = Context::new(&SHA256);
        self.bytes = 0;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.file
            .write_all(bytes)
            .map_err(|error| unwritable(&self.path, &error))?;
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn sha256(&self) -> String {
        let sum = self.sum.clone().finish();
        sum.as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Gives the file its name.
    fn finish(self, target: &Target) -> Result<(), Problem> {
        self.file
            .sync_all()
            .and_then(|()| fs::rename(&self.path, &target.file))
            .map_err(|error| unwritable(&target.file, &error))
    }
}
