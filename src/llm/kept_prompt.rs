//! The state of an evaluated prompt in a file: the next start of the program reads megabytes in
//! place of evaluating a hundred tokens, which takes seconds on a CPU.
//!
//! Only what llama.cpp itself wrote is given back to it: the file begins with a hash of the rest,
//! and its name says for which model, prompt and build.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::schedule::Evaluator;
use crate::files::{self, Links};

/// Bytes of the hash at the start of a file.
const HASH_BYTES: usize = blake3::OUT_LEN;

/// Returns the name of the file for a prompt; `reader` describes what evaluates it.
pub(super) fn file_name(tokens: &[i32], reader: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(reader.as_bytes()).update(&to_bytes(tokens));
    hasher.update(build().as_bytes());
    format!("{}.state", &hasher.finalize().to_hex()[..32])
}

/// Returns what distinguishes one build of the program, and of llama.cpp in it, from another.
fn build() -> String {
    let program = std::env::current_exe().and_then(|program| program.metadata());
    program.map_or_else(
        |_| env!("CARGO_PKG_VERSION").to_owned(),
        |about| format!("{} {:?}", about.len(), about.modified().ok()),
    )
}

/// Writes the sequence that begins with most of these tokens.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn keep(evaluator: &Evaluator, tokens: &[i32], file: &Path) -> io::Result<()> {
    let (slot, held) = evaluator.cells.longest_prefix_of(tokens);
    let state = evaluator.context.sequence_state(slot);
    let mut rest = to_bytes(&[held.len() as i32]);
    rest.extend(to_bytes(held));
    rest.extend(state);

    if let Some(folder) = file.parent() {
        files::private_folder(folder)?;
    }
    let mut bytes = blake3::hash(&rest).as_bytes().to_vec();
    bytes.append(&mut rest);
    files::replace(file, &bytes)
}

/// Reads a kept sequence into an empty cache. Returns whether it is there; a file that is damaged
/// or of another build is none.
pub(super) fn restore(evaluator: &mut Evaluator, file: &Path) -> bool {
    let Some((tokens, state)) = files::read(file).ok().and_then(parse) else {
        return false;
    };
    let Evaluator { context, cells, .. } = evaluator;
    if tokens.len() > cells.free() {
        return false;
    }
    let Some(slot) = cells.fork(&[], 0, context) else {
        return false;
    };
    let is_restored = context.restore_sequence(slot, &state);
    if is_restored {
        cells.append(slot, &tokens);
    } else {
        cells.truncate(slot, 0, context);
    }
    cells.release(slot);
    if is_restored {
        // what is used is removed last
        let opened = files::open_with(file, OpenOptions::new().write(true), Links::Followed);
        let _ = opened.and_then(|file| file.set_modified(SystemTime::now()));
    }
    is_restored
}

/// Returns the tokens and the state in the bytes of a file.
fn parse(mut bytes: Vec<u8>) -> Option<(Vec<i32>, Vec<u8>)> {
    let (hash, rest) = bytes.split_at_checked(HASH_BYTES)?;
    if blake3::hash(rest) != blake3::Hash::from_slice(hash).ok()? {
        return None;
    }
    let mut numbers = rest.chunks_exact(size_of::<i32>());
    let mut next = || {
        numbers
            .next()
            .and_then(|bytes| Some(i32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let count = usize::try_from(next()?).ok()?;
    let tokens: Vec<i32> = (0..count).map_while(|_| next()).collect();
    let state = bytes.split_off(HASH_BYTES + size_of::<i32>() * (1 + tokens.len()));
    Some((tokens, state))
}

fn to_bytes(numbers: &[i32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let tokens = vec![5, -1, 7];
        let mut rest = to_bytes(&[3, 5, -1, 7]);
        rest.extend(b"state");
        let mut bytes = blake3::hash(&rest).as_bytes().to_vec();
        bytes.extend(&rest);
        assert_eq!(parse(bytes.clone()), Some((tokens, b"state".to_vec())));

        for at in 0..bytes.len() {
            assert_eq!(parse(bytes[..at].to_vec()), None, "cut at {at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(parse(damaged), None, "damaged at {at}");
        }
    }
}
