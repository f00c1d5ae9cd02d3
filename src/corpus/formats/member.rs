//! Members of files: attachments of mail, files of an archive. Each is read by the reader of its format.

use std::cell::Cell;

use super::{Extract, Format, Input, Reader, Unread};
use crate::corpus::decode::decode;
use crate::corpus::options::ReadOptions;

/// Members inside members beyond this depth are not read.
const MAX_DEPTH: u8 = 3;

thread_local! {
    static DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// Returns the text of a member, with its places in it.
///
/// # Errors
/// The reason why the member is not read.
pub(in crate::corpus) fn read_member(path: &str, bytes: &[u8]) -> Result<Extract, String> {
    if let Some(unread) = Unread::of(path) {
        return Err(unread.kind.to_owned());
    }
    let depth = DEPTH.get();
    if depth >= MAX_DEPTH {
        return Err(format!("a member inside more than {MAX_DEPTH} others"));
    }

    DEPTH.set(depth + 1);
    let extract = read(path, bytes);
    DEPTH.set(depth);
    extract.map(|extract| extract.of_member(path))
}

fn read(path: &str, bytes: &[u8]) -> Result<Extract, String> {
    let input = Input {
        path,
        bytes,
        options: &ReadOptions::default(),
    };
    extract_as(Format::of(path), &input)
}

/// Returns the text of a member of this format, in this process.
///
/// # Errors
/// The reason why the member is not read.
pub(super) fn extract_as(format: &Format, input: &Input<'_>) -> Result<Extract, String> {
    match format.reader {
        Reader::Text(extract) => {
            let decoded = decode(input.bytes.to_vec())?;
            let extract = extract(decoded.traced.text);
            Ok(Extract {
                note: decoded.note.or(extract.note),
                ..extract
            })
        }
        Reader::Binary(_) | Reader::Configured(_) => format.extract_binary(input),
    }
}
