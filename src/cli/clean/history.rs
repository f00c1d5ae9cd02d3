//! The history of questions: one per line, the oldest first, appended to by every screen.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::files;

/// The questions beyond a limit.
pub(super) struct Old {
    pub questions: u64,
    pub bytes: u64,
}

/// Returns the questions beyond the newest `max`; `None` where there are none.
pub(super) fn beyond(file: &Path, max: usize) -> Option<Old> {
    let text = files::read(file).ok()?;
    let kept = keep_last(&text, max)?;
    let old = &text[..text.len() - kept.len()];
    Some(Old {
        questions: old.iter().filter(|byte| **byte == b'\n').count() as u64,
        bytes: old.len() as u64,
    })
}

/// Removes the questions beyond the newest `max`. Returns whether there were any.
///
/// The newest are written over the beginning first, then the file is cut off behind them, so that a
/// kill in between loses none. A screen that adds a question meanwhile waits for the lock.
pub(super) fn shorten(file: &Path, max: usize) -> io::Result<bool> {
    let mut file = File::options().read(true).write(true).open(file)?;
    file.lock()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let Some(kept) = keep_last(&text, max) else {
        return Ok(false);
    };

    file.seek(SeekFrom::Start(0))?;
    file.write_all(kept)?;
    file.set_len(kept.len() as u64).map(|()| true)
}

/// Returns the end of a text that holds its last `max` lines; `None` where that is all of it.
fn keep_last(text: &[u8], max: usize) -> Option<&[u8]> {
    let ends = text.iter().enumerate().rev();
    let mut ends = ends.filter(|(_, byte)| **byte == b'\n');
    let (last_dropped, _) = ends.nth(max)?;
    Some(&text[last_dropped + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_questions_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("history");
        let whole = "\"a?\"\n\"b?\"\n\"c?\"\n";

        // limit, questions beyond it, the history after
        for (max, beyond_it, left) in [
            (4, None, whole),
            (3, None, whole),
            (2, Some(1), "\"b?\"\n\"c?\"\n"),
            (1, Some(2), "\"c?\"\n"),
        ] {
            std::fs::write(&file, whole).expect("written");
            let old = beyond(&file, max).map(|old| old.questions);
            assert_eq!(old, beyond_it, "{max}");
            assert_eq!(shorten(&file, max).expect("shortened"), old.is_some());
            let text = std::fs::read_to_string(&file).expect("read");
            assert_eq!(text, left, "{max}");
        }
    }
}
