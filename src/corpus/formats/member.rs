//! Members of files: attachments of mail, files of an archive. Each is read by the reader of its
//! format.

use std::cell::Cell;

use super::format::{Extract, Format, Input, Reader};
use super::unread::Unread;
use crate::corpus::decode::decode;

/// Members inside members beyond this depth are not read.
const MAX_DEPTH: u8 = 3;

thread_local! {
    static DEPTH: Cell<u8> = const { Cell::new(0) };
}

/// Returns the text of a member, by the reader of its format.
///
/// # Errors
/// The reason why the member is not read.
pub(super) fn read_member(input: &Input<'_>) -> Result<Extract, String> {
    if let Some(unread) = Unread::for_path(input.path) {
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

fn extract_as(format: &Format, input: &Input<'_>) -> Result<Extract, String> {
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
