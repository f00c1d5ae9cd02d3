//! Reads recorded runs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use super::error::{damage, unreadable};
use crate::event::{FORMAT, FormatVersion, Problem, Record, RunEvent};

/// The maximum length of a record's line.
pub(super) const MAX_LINE_BYTES: u64 = 64 << 20;

/// Returns the records of a recorded run. A last line that was torn by a kill is left out; unknown
/// events of a newer minor version of the format become [`RunEvent::Unknown`].
///
/// # Errors
/// A file that cannot be read; another major version of the format; the line that is damaged.
pub fn read_run(file: &Path) -> Result<Vec<Record>, Problem> {
    let failed = |error| unreadable(file, error);
    let mut reader = BufReader::new(File::open(file).map_err(failed)?);
    let mut records: Vec<Record> = Vec::new();
    let mut format = FORMAT;
    while let Some(line) = read_line(&mut reader).map_err(failed)? {
        let number = records.len() + 1;
        let is_cut_off = line.last() != Some(&b'\n');
        if is_cut_off && line.len() as u64 >= MAX_LINE_BYTES {
            let reason = "the line is too long for a record";
            return Err(damage(file, number, reason));
        }
        if records.is_empty() {
            format = first_line_format(file, &line)?;
        }
        match parse(&line, format) {
            Ok(record) => records.push(record),
            Err(_) if is_cut_off => break,
            Err(reason) => return Err(damage(file, number, reason)),
        }
    }

    if records.is_empty() {
        return Err(damage(file, 1, "no record in it"));
    }
    Ok(records)
}

/// Reads the next line with its end, at most [`MAX_LINE_BYTES`] of it; `None` at the end of the
/// file.
pub(super) fn read_line(reader: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = std::io::Read::take(reader, MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    Ok((read > 0).then_some(bytes))
}

/// Returns the format version, which is read before anything else of the line.
fn first_line_format(file: &Path, line: &[u8]) -> Result<FormatVersion, Problem> {
    #[derive(Deserialize)]
    struct First {
        event: FirstEvent,
    }
    #[derive(Deserialize)]
    struct FirstEvent {
        format: FormatVersion,
    }

    let first: First = serde_json::from_slice(line)
        .map_err(|_| damage(file, 1, "a run begins with a run_started record"))?;
    let format = first.event.format;
    if format.major != FORMAT.major {
        let FormatVersion { major, minor } = format;
        let known = FORMAT.major;
        return Err(Problem::new(
            format!(
                "{} has run format {major}.{minor} and this program reads {known}.x",
                file.display()
            ),
            "replay it with the ragscope that wrote it",
        ));
    }
    Ok(format)
}

fn parse(line: &[u8], format: FormatVersion) -> Result<Record, String> {
    serde_json::from_slice(line).or_else(|error: serde_json::Error| {
        if format.minor > FORMAT.minor {
            parse_newer(line)
        } else {
            Err(error.to_string())
        }
    })
}

/// Reads a record whose event a newer minor version changed in a way that this program does not
/// know.
fn parse_newer(line: &[u8]) -> Result<Record, String> {
    #[derive(Deserialize)]
    struct Envelope {
        seq: u64,
        t_us: u64,
        run: String,
        #[serde(rename = "event")]
        _event: serde_json::Map<String, serde_json::Value>,
    }

    let Envelope { seq, t_us, run, .. } =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    Ok(Record {
        seq,
        t_us,
        run,
        event: RunEvent::Unknown.into(),
    })
}
