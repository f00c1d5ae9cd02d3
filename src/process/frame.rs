//! Frames on a pipe: a mark, the length, the bytes.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Begins every frame, so that whatever else a library prints is noticed.
const MARK: [u8; 4] = *b"rsx1";

/// Writes one frame.
///
/// # Errors
/// A pipe that is closed.
pub fn write(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&MARK)?;
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a value as JSON in one frame.
///
/// # Errors
/// A pipe that is closed; a value that is not JSON.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    write(out, &serde_json::to_vec(value)?)
}

/// Reads a value from the JSON of one frame.
///
/// # Errors
/// As [`read`]; another value.
pub fn read_json<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<T> {
    Ok(serde_json::from_slice(&read(input)?)?)
}

/// Reads one frame. Memory grows with the bytes that arrive, not with the length that is announced.
///
/// # Errors
/// A pipe that is closed; other bytes than a frame.
pub fn read(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut mark = [0; 4];
    input.read_exact(&mut mark)?;
    if mark != MARK {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame"));
    }

    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_a_pipe() {
        let mut pipe = Vec::new();
        for bytes in [b"one".as_slice(), b"", &[7; 100_000]] {
            write(&mut pipe, bytes).expect("written");
        }
        let mut input = pipe.as_slice();
        for length in [3, 0, 100_000] {
            assert_eq!(read(&mut input).expect("a frame").len(), length);
        }
        assert!(read(&mut input).is_err(), "the pipe is closed");
    }

    #[test]
    fn other_bytes_are_no_frame() {
        let mut announced = b"rsx1".to_vec();
        announced.extend(u64::MAX.to_le_bytes());
        for bytes in [b"warning: odd font\n".as_slice(), &announced, b"rsx"] {
            assert!(read(&mut &*bytes).is_err(), "{bytes:?}");
        }
    }
}
