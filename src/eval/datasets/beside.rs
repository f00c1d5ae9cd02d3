//! Files that lie beside a question file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use super::fields::as_text;
use super::record::{Record, records};
use crate::eval::error::not_questions;
use crate::event::Problem;

/// Largest text that a packed file may hold, bytes.
const MAX_UNPACKED: u64 = 4 << 30;
/// The two bytes that a file of gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a text file that may be packed with gzip.
///
/// # Errors
/// A file that cannot be read, is damaged, too large, or not UTF-8.
pub fn text(file: &Path) -> Result<String, Problem> {
    let unusable = |reason: &str| not_questions(file, reason);
    if file.is_dir() {
        let reason = "it is a folder without the files of a known dataset";
        return Err(unusable(reason));
    }

    let mut bytes = std::fs::read(file).map_err(|error| {
        let file = file.display();
        let error = format!("the question file {file} cannot be read ({error})");
        Problem::new(error, "check the path")
    })?;
    if bytes.starts_with(&GZIP) {
        let mut unpacked = Vec::new();
        // a gzip file may be several, one behind the other
        let size = flate2::read::MultiGzDecoder::new(&bytes[..])
            .take(MAX_UNPACKED + 1)
            .read_to_end(&mut unpacked)
            .map_err(|error| unusable(&format!("it cannot be unpacked: {error}")))?;
        if size as u64 > MAX_UNPACKED {
            return Err(unusable("it is larger than 4 GiB unpacked"));
        }
        bytes = unpacked;
    }
    let text = String::from_utf8(bytes).map_err(|_| unusable("it is not UTF-8 text"))?;
    // Windows' editors begin UTF-8 with a mark
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// The records of a file by one of their fields.
type Keyed = Rc<HashMap<String, Record>>;
/// The pairs of a file by their first element.
type Grouped = Rc<HashMap<String, Vec<String>>>;

/// The folder of a question file, whose other files are read when a record needs them.
#[derive(Default)]
pub struct Beside {
    /// The question file; `None` for no folder at all.
    file: Option<PathBuf>,
    keyed: RefCell<HashMap<&'static str, Option<Keyed>>>,
    grouped: RefCell<HashMap<&'static str, Option<Grouped>>>,
    faults: RefCell<Vec<String>>,
}

impl Beside {
    pub fn new(file: &Path) -> Self {
        Self {
            file: Some(file.to_owned()),
            ..Self::default()
        }
    }

    /// Returns the text of the first of these files that exists, in the folder of the question file
    /// or in the one above.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        let read = text(&self.path(names)?);
        read.map_err(|error| self.faults.borrow_mut().push(error.to_string()))
            .ok()
    }

    /// Returns the records of a file by the text of their `field`; of a file that is one object,
    /// its fields.
    pub fn read_keyed(&self, name: &'static str, field: &str) -> Option<Keyed> {
        if let Some(known) = self.keyed.borrow().get(name) {
            return known.clone();
        }

        let packed = format!("{name}.gz");
        let read = self.text(&[name, &packed]).map(|text| {
            let all = match serde_json::from_str::<Value>(&text) {
                Ok(Value::Object(fields)) if !fields.contains_key(field) => {
                    fields.into_iter().map(as_record).collect()
                }
                Ok(_) | Err(_) => records(&text)
                    .into_iter()
                    .filter_map(|(_, record)| {
                        let record = record.ok()?;
                        Some((as_text(record.get(field)?)?, record))
                    })
                    .collect(),
            };
            Rc::new(all)
        });

        self.keyed.borrow_mut().insert(name, read.clone());
        read
    }

    /// Returns the pairs that the records of the first of these files give, by their first element.
    pub fn read_grouped(
        &self,
        names: &[&'static str],
        pair: fn(&Record) -> Option<(String, String)>,
    ) -> Option<Grouped> {
        if let Some(known) = self.grouped.borrow().get(names[0]) {
            return known.clone();
        }

        let read = self.text(names).map(|text| {
            let mut groups: HashMap<String, Vec<String>> = HashMap::new();
            let all = records(&text).into_iter();
            for (key, value) in all.filter_map(|(_, record)| pair(&record.ok()?)) {
                groups.entry(key).or_default().push(value);
            }
            Rc::new(groups)
        });

        self.grouped.borrow_mut().insert(names[0], read.clone());
        read
    }

    /// Returns what was wrong with the files beside.
    pub fn faults(&self) -> Vec<String> {
        self.faults.take()
    }

    fn path(&self, names: &[&str]) -> Option<PathBuf> {
        let folders = self.file.as_ref()?.ancestors().skip(1).take(2);
        let mut paths = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
        paths.find(|path| path.is_file())
    }
}

/// Returns a field of an object as a record: an object as it is, anything else as its `text`.
fn as_record((key, value): (String, Value)) -> (String, Record) {
    let record = match value {
        Value::Object(record) => record,
        other => Record::from_iter([("text".to_owned(), other)]),
    };
    (key, record)
}
