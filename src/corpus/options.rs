//! The settings that decide how the text of a file is extracted, and the limits of its reader.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::unreadable;
use crate::config::{CorpusSettings, Ocr, PageHeaders};
use crate::files::{self, Links};

/// Memory that any file may take, and the most: a file of ordinary size never reaches the first,
/// and the second fits into the memory of small machines.
const MIN_MEMORY_BYTES: u64 = 512 << 20;
const MAX_MEMORY_BYTES: u64 = 2 << 30;
/// The program itself takes the rest of the 12 times that a file may take.
const MEMORY_PER_BYTE: u64 = 8;
/// Time that any file may take, and what each MiB adds.
const MIN_TIME: Duration = Duration::from_secs(30);
const TIME_PER_MIB: Duration = Duration::from_secs(5);
/// Recognising text in pictures takes seconds per page, in programs with memory of their own.
const OCR_TIME: Duration = Duration::from_secs(1800);
const OCR_MEMORY_BYTES: u64 = 4 << 30;

/// Options for the extraction of text from binary files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// Whether lines that repeat on most pages are kept.
    pub keep_page_headers: bool,
    /// Whether text is recognised in scanned pages.
    pub ocr: bool,
    /// Whether a link in the place of a file is followed.
    pub follow_symlinks: bool,
    /// The most that is read of a file.
    pub max_file_bytes: u64,
    /// Memory that a file may take before its size counts.
    pub min_memory_bytes: u64,
    /// Time that a file may take before its size counts.
    pub min_time: Duration,
}

/// The limits of reading one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub memory_bytes: u64,
    /// Processor time: on a machine that is busy the file has longer by the clock.
    pub time: Duration,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            keep_page_headers: false,
            ocr: false,
            follow_symlinks: false,
            max_file_bytes: u64::MAX,
            min_memory_bytes: MIN_MEMORY_BYTES,
            min_time: MIN_TIME,
        }
    }
}

impl From<&CorpusSettings> for ReadOptions {
    fn from(settings: &CorpusSettings) -> Self {
        Self {
            keep_page_headers: settings.page_headers == PageHeaders::Keep,
            ocr: settings.ocr == Ocr::On,
            follow_symlinks: settings.follow_symlinks,
            max_file_bytes: settings.max_file_bytes,
            ..Self::default()
        }
    }
}

impl ReadOptions {
    /// Reads the bytes of a file of the corpus.
    ///
    /// # Errors
    /// The reason why the file is skipped.
    pub fn bytes(&self, file: &Path) -> Result<Vec<u8>, String> {
        let links = if self.follow_symlinks {
            Links::Followed
        } else {
            Links::Refused
        };
        files::read_limited(file, links, self.max_file_bytes).map_err(|error| unreadable(&error))
    }

    /// Returns the limits of a file of this size.
    pub(super) fn limits(&self, bytes: u64) -> Limits {
        let by_size = bytes.saturating_mul(MEMORY_PER_BYTE).min(MAX_MEMORY_BYTES);
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);

        let mut limits = Limits {
            memory_bytes: self.min_memory_bytes.max(by_size),
            time: self.min_time + TIME_PER_MIB.saturating_mul(mib),
        };
        if self.ocr {
            limits.memory_bytes = limits.memory_bytes.max(OCR_MEMORY_BYTES);
            limits.time = limits.time.max(OCR_TIME);
        }
        limits
    }

    /// Returns the options that the text of a file depends on, in a few letters.
    pub fn key(&self) -> String {
        let chosen = [(self.keep_page_headers, "page_headers"), (self.ocr, "ocr")];
        let names: Vec<&str> = chosen
            .into_iter()
            .filter_map(|(is_chosen, name)| is_chosen.then_some(name))
            .collect();
        names.join("+")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_grow_with_the_file() {
        let mib = |count: u64| count << 20;
        let cases = [
            (0, 512, 30),
            (mib(1), 512, 35),
            (mib(64), 512, 350),
            (mib(128), 1024, 670),
            (mib(1024), 2048, 5150),
        ];
        for (bytes, memory_mib, seconds) in cases {
            let limits = ReadOptions::default().limits(bytes);
            assert_eq!(limits.memory_bytes, mib(memory_mib), "{bytes}");
            assert_eq!(limits.time.as_secs(), seconds, "{bytes}");
        }
    }
}
