//! Frames on a pipe or a connection: a mark, the length, the bytes.

use std::io::{self, Read, Write};

/// Begins every frame, so that whatever else a library prints is noticed.
const MARK: [u8; 4] = *b"rsx1";

/// Bytes of the mark and the length.
const HEAD_BYTES: usize = MARK.len() + size_of::<u64>();

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

/// Returns one frame, for a connection that sends each write at once.
pub fn encode(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [MARK.as_slice(), &length, bytes].concat()
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

/// Takes frames out of bytes that arrive in parts.
#[derive(Debug)]
pub struct Decoder {
    /// What arrived and is not a whole frame yet.
    bytes: Vec<u8>,
    /// Size of the largest frame that is taken.
    max_bytes: u64,
}

impl Decoder {
    pub fn new(max_bytes: u64) -> Self {
        Self {
            bytes: Vec::new(),
            max_bytes,
        }
    }

    /// Takes in what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame; `None` until it is whole.
    ///
    /// # Errors
    /// Other bytes than a frame; a frame that is too large, as soon as its length is known.
    pub fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
        let known = self.bytes.len().min(MARK.len());
        if self.bytes[..known] != MARK[..known] {
            return Err(invalid("not a frame"));
        }
        let Some(length) = self.bytes.get(MARK.len()..HEAD_BYTES) else {
            return Ok(None);
        };

        let length = length.try_into().map_or(u64::MAX, u64::from_le_bytes);
        if length > self.max_bytes {
            return Err(invalid("a frame that is too large"));
        }
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| length.checked_add(HEAD_BYTES))
            .ok_or_else(|| invalid("a frame that is too large"))?;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let frame = self.bytes[HEAD_BYTES..end].to_vec();
        self.bytes.drain(..end);
        Ok(Some(frame))
    }
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
    fn frames_arrive_in_parts() {
        let sent: Vec<u8> = [b"one".as_slice(), b"", &[7; 1000]]
            .into_iter()
            .flat_map(encode)
            .collect();
        for size in [1, 5, 13, 4096] {
            let mut decoder = Decoder::new(1000);
            let mut lengths = Vec::new();
            for part in sent.chunks(size) {
                decoder.push(part);
                while let Some(frame) = decoder.take().expect("frames") {
                    lengths.push(frame.len());
                }
            }
            assert_eq!(lengths, [3, 0, 1000], "in parts of {size}");
        }

        for (bytes, error) in [
            (b"GET / HTTP/1.1".as_slice(), "not a frame"),
            (b"rsx2", "not a frame"),
            (&encode(&[7; 1001])[..HEAD_BYTES], "too large"),
        ] {
            let mut decoder = Decoder::new(1000);
            decoder.push(bytes);
            let refused = decoder.take().expect_err("refused").to_string();
            assert!(refused.contains(error), "{refused}");
        }
        let mut decoder = Decoder::new(1000);
        decoder.push(b"rsx");
        assert!(decoder.take().expect("more may come").is_none());
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
