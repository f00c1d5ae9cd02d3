//! Members of files: attachments of mail, files of an archive. Each is read by the reader of its
//! format.

use std::cell::Cell;

use super::format::{Extract, Format, Input, Reader};
use super::lines::lines;
use super::unread::{HEAD_BYTES, Unread};
use crate::corpus::decode::decode;
use crate::event::{Place, PlaceUnit};

/// Members inside members beyond this depth are not read.
const MAX_DEPTH: u8 = 3;
/// Members that are not read and named in the note.
pub(super) const MAX_NAMED: usize = 3;

thread_local! {
    static DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// Returns the text of a member, by the reader of its format.
///
/// # Errors
/// The reason why the member is not read.
pub(super) fn read_member(input: &Input<'_>) -> Result<Extract, String> {
    let head = || input.bytes[..input.bytes.len().min(HEAD_BYTES)].to_vec();
    if let Some(unread) = Unread::for_file(input.path, head) {
        return Err(unread.kind.to_owned());
    }
    let format = (input.recognise)(input.path, input.bytes)?.format;
    let depth = DEPTH.get();
    if depth >= MAX_DEPTH {
        return Err(format!("a member inside more than {MAX_DEPTH} others"));
    }

    DEPTH.set(depth + 1);
    let extract = extract_as(format, input);
    DEPTH.set(depth);
    extract
}

/// Returns the lines of a member as places: one wherever its lines are not counted on. None where
/// the text is all of the member.
fn line_places(extract: &Extract, bytes: &[u8]) -> Vec<(usize, Place)> {
    let mut places = Vec::new();
    if extract.origin.is_identity() {
        return places;
    }
    // decoded again: most members need it once, and it takes as much memory as they do
    let source = decode(bytes.to_vec()).map_or_else(|_| String::new(), |file| file.traced.text);

    let mut line = 1;
    let mut next_line = source.find('\n').map_or(source.len(), |end| end + 1);
    let mut counted_on = 0;
    for (start, text) in lines(&extract.text) {
        let at = extract.origin.source_range(start..start + text.len()).start;
        while (next_line as u64) <= at && next_line < source.len() {
            line += 1;
            let rest = &source[next_line..];
            next_line += rest.find('\n').map_or(rest.len(), |end| end + 1);
        }
        if line != counted_on {
            places.push((start, Place::new(PlaceUnit::Line, line)));
        }
        counted_on = line + 1;
    }

    places
}

/// Returns the note on members that are not read, each with its reason; `None` without any.
pub(super) fn unread_members(unread: &[String]) -> Option<String> {
    let count = unread.len();
    (count > 0).then(|| format!("not read: {}", name_first(unread, count)))
}

/// Names the first members of a list, and counts the others.
pub(super) fn name_first(members: &[String], count: usize) -> String {
    let first = members.get(..MAX_NAMED).unwrap_or(members);
    let named = first.join(", ");
    match count.saturating_sub(first.len()) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Extracts the text of a file by the reader of a format, in this process.
pub(super) fn extract_as(format: &Format, input: &Input<'_>) -> Result<Extract, String> {
    match format.reader {
        Reader::Text(extract) => {
            let decoded = decode(input.bytes.to_vec())?;
            let extract = extract(decoded.traced.text);
            Ok(Extract {
                places: line_places(&extract, input.bytes),
                note: decoded.note.or(extract.note),
                ..extract
            })
        }
        Reader::Binary(extract) => extract(input.bytes),
        Reader::Configured(extract) => extract(input),
    }
}
