//! The lines of a text with their positions.

use crate::event::saturating_u32;

/// Returns the lines without their ends, each with its start.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

/// Returns a function that returns the number of the line, from 1, of a position behind those that
/// it was called with before.
pub(super) fn line_numbers(text: &str) -> impl FnMut(usize) -> u32 {
    let mut line = 1;
    let mut counted = 0;
    move |at| {
        line += text[counted..at].matches('\n').count();
        counted = at;
        saturating_u32(line)
    }
}
