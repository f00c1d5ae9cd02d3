//! Keeps records in a file that only grows, so that a kill loses at most the record in flight.
//!
//! ```text
//! head     {"check":"0f3c…","record":{…}}    what the records belong to
//! record   {"check":"91ab…","record":{…}}    and so on, one line each
//! ```
//!
//! `check` is the beginning of the blake3 hash of the record's JSON. The log ends before the first
//! line that is damaged or cut short; a process that writes truncates the rest. This module
//! locks nothing: the writer holds a lock.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

const CHECK_DIGITS: usize = 16;
/// A line that is longer than this is damaged.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// A log that is open for writing.
#[derive(Debug)]
pub struct AppendLog<R> {
    file: File,
    head: Vec<u8>,
    /// End of the last whole record.
    end: u64,
    record: PhantomData<fn(R) -> R>,
}

/// The place of a record in its file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u64,
    bytes: u64,
}

impl<R: Serialize + DeserializeOwned> AppendLog<R> {
    /// Opens a file that was opened for reading and writing, visits its records, oldest first, and
    /// cuts off what is not whole. A file that begins with another head is emptied.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub fn open(file: File, head: &impl Serialize, visit: impl FnMut(Span, R)) -> io::Result<Self> {
        let end = Self::read(&file, head, visit)?;
        let mut log = Self {
            file,
            head: line(head)?,
            end,
            record: PhantomData,
        };

        if log.end == 0 {
            log.clear()?;
        } else {
            log.file.set_len(log.end)?;
        }
        Ok(log)
    }

    /// Visits the records of a file, oldest first, and returns where the last whole one ends: 0 for
    /// a file that begins with another head.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(
        mut file: &File,
        head: &impl Serialize,
        mut visit: impl FnMut(Span, R),
    ) -> io::Result<u64> {
        file.seek(SeekFrom::Start(0))?;
        let mut lines = BufReader::new(file);

        let head = line(head)?;
        if next_line(&mut lines)? != head {
            return Ok(0);
        }

        let mut end = head.len() as u64;
        loop {
            let line = next_line(&mut lines)?;
            let Some(record) = parse(&line) else {
                return Ok(end);
            };
            let span = Span {
                start: end,
                bytes: line.len() as u64,
            };
            visit(span, record);
            end += span.bytes;
        }
    }

    /// Returns the record at `span`; `None` when it is no longer there.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read_at(mut file: &File, span: Span) -> io::Result<Option<R>> {
        file.seek(SeekFrom::Start(span.start))?;
        let mut line = Vec::new();
        file.take(span.bytes).read_to_end(&mut line)?;
        Ok(parse(&line))
    }

    /// Adds a record. When this returns, a kill no longer loses it; a power cut does, until
    /// [`Self::sync`].
    ///
    /// # Errors
    /// A file that cannot be written; the record is then not in the log.
    pub fn append(&mut self, record: &R) -> io::Result<Span> {
        let line = line(record)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&line).inspect_err(|_| {
            // Frees a full disk.
            let _ = self.file.set_len(self.end);
        })?;

        let span = Span {
            start: self.end,
            bytes: line.len() as u64,
        };
        self.end += span.bytes;
        Ok(span)
    }

    /// Makes what was added survive a power cut.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Deletes every record.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&self.head)?;
        self.end = self.head.len() as u64;
        Ok(())
    }

    /// Returns the bytes of a log with these records, to replace a file that holds too many others.
    ///
    /// # Errors
    /// A record that is not JSON.
    pub fn compact(
        head: &impl Serialize,
        records: impl IntoIterator<Item = R>,
    ) -> io::Result<Vec<u8>> {
        let mut bytes = line(head)?;
        for record in records {
            bytes.extend(line(&record)?);
        }
        Ok(bytes)
    }
}

/// Returns the head of a log; `None` for a file that is not a log, or has another kind of head.
///
/// # Errors
/// A file that cannot be read.
pub fn read_head<H: DeserializeOwned>(file: &File) -> io::Result<Option<H>> {
    let line = next_line(&mut BufReader::new(file))?;
    Ok(parse(&line))
}

fn line(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_string(record)?;
    let check = check(json.as_bytes());
    Ok(format!("{{\"check\":\"{check}\",\"record\":{json}}}\n").into_bytes())
}

fn next_line(lines: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    lines.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Returns the record of a whole line.
fn parse<R: DeserializeOwned>(line: &[u8]) -> Option<R> {
    let (found, rest) = line
        .strip_prefix(b"{\"check\":\"")?
        .split_at_checked(CHECK_DIGITS)?;
    let json = rest.strip_prefix(b"\",\"record\":")?.strip_suffix(b"}\n")?;

    if found != check(json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn check(json: &[u8]) -> String {
    blake3::hash(json).to_hex()[..CHECK_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    type Log = AppendLog<(String, f32)>;

    fn record(number: usize) -> (String, f32) {
        (format!("record \"{number}\"\n"), number as f32 / 3.0)
    }

    fn open(path: &Path, head: &str) -> (Log, Vec<(String, f32)>) {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .expect("a file");
        let mut records = Vec::new();
        let log = AppendLog::open(file, &head, |_, record| records.push(record)).expect("a log");
        (log, records)
    }

    #[test]
    fn records_are_read_back_and_a_torn_or_damaged_one_ends_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let (mut log, _) = open(&path, "work");
        let spans: Vec<Span> = (0..3)
            .map(|number| log.append(&record(number)).expect("added"))
            .collect();
        let whole = fs::read(&path).expect("bytes");
        let file = File::open(&path).expect("a file");
        for (number, span) in spans.iter().enumerate() {
            let found = Log::read_at(&file, *span).expect("read");
            assert_eq!(found, Some(record(number)));
        }

        let ends: Vec<u64> = spans.iter().map(|span| span.start + span.bytes).collect();
        let kept_before = |at: usize| ends.iter().filter(|end| **end <= at as u64).count();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            for bytes in [&whole[..at], &damaged] {
                fs::write(&path, bytes).expect("written");
                let (mut log, records) = open(&path, "work");
                let kept = kept_before(at);
                assert_eq!(
                    records,
                    (0..kept).map(record).collect::<Vec<_>>(),
                    "at {at}"
                );

                log.append(&record(7)).expect("added");
                let (_, records) = open(&path, "work");
                assert_eq!(records.len(), kept + 1, "at {at}");
                assert_eq!(records.last(), Some(&record(7)), "at {at}");
            }
        }
    }

    #[test]
    fn records_of_another_head_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        open(&path, "one").0.append(&record(1)).expect("added");

        let file = File::open(&path).expect("a file");
        let read = Log::read(&file, &"two", |_, record| panic!("{record:?}"));
        assert_eq!(read.expect("read"), 0);
        let file = File::open(&path).expect("a file");
        assert_eq!(read_head(&file).expect("read"), Some("one".to_owned()));

        assert!(open(&path, "two").1.is_empty());
        assert!(open(&path, "one").1.is_empty(), "a writer empties the file");
    }

    #[test]
    fn a_compacted_log_holds_its_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let bytes = Log::compact(&"work", [record(4), record(2)]).expect("bytes");
        fs::write(&path, bytes).expect("written");
        assert_eq!(open(&path, "work").1, [record(4), record(2)]);

        open(&path, "work").0.clear().expect("cleared");
        assert!(open(&path, "work").1.is_empty());
    }
}
