//! The growing text of a continuation: whole characters only, and stop texts found as they appear.

/// Text that grows token by token.
#[derive(Debug, Default)]
pub(super) struct Stream {
    text: String,
    /// Bytes of a character that is not whole yet.
    unfinished: Vec<u8>,
}

impl Stream {
    /// Add the bytes of a token; the characters that became whole come back. Bytes that can be no character become a sign for that.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.unfinished.extend_from_slice(bytes);
        let whole = whole_bytes(&self.unfinished);
        let rest = self.unfinished.split_off(whole);
        let added = String::from_utf8_lossy(&self.unfinished).into_owned();
        self.unfinished = rest;
        self.text.push_str(&added);
        added
    }

    /// Where the first of `stops` begins. Only looks where the last `added` bytes can have completed one.
    pub fn stop(&self, stops: &[String], added: usize) -> Option<usize> {
        let find = |stop: &String| {
            let mut from = self.text.len().saturating_sub(added + stop.len());
            while !self.text.is_char_boundary(from) {
                from -= 1;
            }
            self.text[from..].find(stop.as_str()).map(|at| from + at)
        };
        stops.iter().filter(|stop| !stop.is_empty()).filter_map(find).min()
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The text up to `end`.
    pub fn finish(mut self, end: usize) -> String {
        self.text.truncate(end);
        self.text
    }
}

/// Bytes up to the start of a character at the end that may still become whole.
fn whole_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                Some(bad) => at += error.valid_up_to() + bad,
                None => return at + error.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;

    #[test]
    fn characters_come_whole() {
        let mut stream = Stream::default();
        let pieces: [(&[u8], &str); 6] = [
            (b"a", "a"),
            (&[0xc3], ""),
            (&[0xa4, b'b'], "äb"),
            (&[0xff], "\u{fffd}"),
            (&[0xf0, 0x9f], ""),
            (&[0x98, 0x80], "😀"),
        ];
        for (bytes, expected) in pieces {
            assert_eq!(stream.push(bytes), expected);
        }
        assert_eq!(stream.finish(4), "aäb");
    }

    #[test]
    fn stop_texts_are_found_across_tokens() {
        let stops = vec!["\n\n".to_owned(), "END".to_owned(), String::new()];
        let mut stream = Stream::default();
        for (piece, expected) in [("ä one", None), (" E", None), ("N", None), ("D of", Some(7))] {
            let added = stream.push(piece.as_bytes()).len();
            assert_eq!(stream.stop(&stops, added), expected, "{piece}");
        }
        assert_eq!(stream.finish(7), "ä one ");
    }
}
