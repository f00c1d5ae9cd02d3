//! Reads the text of a document for the source viewer: text from its file, others as indexed.

use std::path::Path;

use super::error::IndexError;
use super::folder::Index;
use super::manifest::DocumentEntry;
use crate::corpus::{self, FileTimes, SourceLines};
use crate::event::{Source, SourceForm, harmless, saturating_u32};
use crate::files;

/// A larger file is shown in part, around the cited lines.
const MAX_BYTES: usize = 4 << 20;
const MAX_LINE_BYTES: usize = 64 << 10;

impl Index {
    /// Reads a document. `lines`, from 1 and both inclusive, are clamped to the file. Returns the
    /// whole file; of a large one, the part around the lines.
    ///
    /// # Errors
    /// A path that is not in the index; a file that can no longer be read as text.
    pub fn source(&self, document: &str, lines: [u32; 2]) -> Result<Source, IndexError> {
        let entry = self
            .manifest()
            .and_then(|manifest| manifest.documents.get(document))
            .ok_or_else(|| IndexError::unknown_document(document, &self.name))?;
        let file = corpus::locate(&self.canonical, document);
        let unreadable = |reason: String| IndexError::unreadable(file.display(), reason);

        let kept = self.layout.extracts().read(document, entry);
        let SourceLines {
            lines: all,
            places,
            form,
        } = match kept {
            Some(kept) => kept.source_lines(),
            None => corpus::source_lines(&file).map_err(unreadable)?,
        };
        // the checksum is read only where size or time differ
        let is_changed =
            is_touched(&file, entry) && checksum(&file).is_none_or(|blake3| blake3 != entry.blake3);

        let [first, last] = clamp(lines, all.len());
        let shown = window(&all, first as usize - 1..last as usize);
        Ok(Source {
            document: document.to_owned(),
            path: file.display().to_string(),
            from_line: shown.start as u32 + 1,
            places,
            form: form_of(form, &shown),
            lines: all[shown]
                .iter()
                .map(|line| harmless(shorten(line)).into_owned())
                .collect(),
            first_line: first,
            last_line: last,
            changed: is_changed,
        })
    }
}

/// Returns the form of the shown lines: the rows that are wholly among them.
fn form_of(mut form: SourceForm, shown: &std::ops::Range<usize>) -> SourceForm {
    let is_shown =
        |first: u32, last: u32| shown.start < first as usize && last as usize <= shown.end;

    match &mut form {
        SourceForm::Lines | SourceForm::Markdown => {}
        SourceForm::Table { rows } => {
            rows.retain(|row| is_shown(row.first_line, row.last_line));
            for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
                *cell = harmless(shorten(cell)).into_owned();
            }
        }
    }

    form
}

/// Returns whether the size or a time of a file changed since it was indexed, or it is gone.
fn is_touched(file: &Path, entry: &DocumentEntry) -> bool {
    let Ok(now) = std::fs::metadata(file) else {
        return true;
    };
    now.len() != entry.bytes || FileTimes::new(&now, entry.times.inode != 0) != entry.times
}

fn checksum(file: &std::path::Path) -> Option<String> {
    files::read(file)
        .ok()
        .map(|bytes| blake3::hash(&bytes).to_hex().to_string())
}

fn clamp([first, last]: [u32; 2], count: usize) -> [u32; 2] {
    let count = saturating_u32(count).max(1);
    let first = first.clamp(1, count);
    [first, last.clamp(first, count)]
}

fn shorten(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}

/// Returns the lines to show: the wanted ones, and as many before and after as fit.
fn window(lines: &[String], wanted: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let size = |at: usize| lines[at].len().min(MAX_LINE_BYTES) + 1;
    let mut room = MAX_BYTES;
    let mut fits = |at: usize| {
        let fits = size(at) <= room;
        room = if fits { room - size(at) } else { 0 };
        fits
    };
    let mut shown = wanted.start..wanted.start;
    while shown.end < wanted.end && fits(shown.end) {
        shown.end += 1;
    }

    let mut can_grow_up = true;
    let mut can_grow_down = true;
    while can_grow_up || can_grow_down {
        can_grow_up = can_grow_up && shown.start > 0 && fits(shown.start - 1);
        shown.start -= usize::from(can_grow_up);
        can_grow_down = can_grow_down && shown.end < lines.len() && fits(shown.end);
        shown.end += usize::from(can_grow_down);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_shown_around_the_lines() {
        let small: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        assert_eq!(window(&small, 40..42), 0..100);
        let large: Vec<String> = vec!["x".repeat(999); 10_000];
        let shown = window(&large, 5000..5010);
        assert!(
            shown.start < 5000 && shown.end > 5010 && shown.len() == MAX_BYTES / 1000,
            "{shown:?}"
        );
        assert_eq!(window(&large, 0..1).start, 0);
        assert_eq!(window(&large, 0..10_000).start, 0);
    }

    #[test]
    fn lines_are_clamped_to_the_file() {
        let cases = [
            ([0, 0], 5, [1, 1]),
            ([2, 9], 5, [2, 5]),
            ([9, 3], 5, [5, 5]),
            ([4, 2], 5, [4, 4]),
            ([1, 1], 0, [1, 1]),
        ];
        for (lines, count, expected) in cases {
            assert_eq!(clamp(lines, count), expected);
        }
    }
}
