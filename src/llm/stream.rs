//! The growing text of a continuation, passed on in whole characters and never with a part of a
//! stop text.

/// Text that grows token by token.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// All of it, including what is held back.
    text: String,
    /// Bytes of `text` that were taken.
    taken: usize,
    /// Bytes of a character that is not complete yet.
    unfinished: Vec<u8>,
}

impl Stream {
    /// Appends the bytes of a token; invalid UTF-8 becomes U+FFFD.
    ///
    /// Returns whether a stop text is complete; the text then ends before it.
    pub fn push(&mut self, bytes: &[u8], stops: &[String]) -> bool {
        self.unfinished.extend_from_slice(bytes);
        let rest = self.unfinished.split_off(whole_bytes(&self.unfinished));
        self.text
            .push_str(&String::from_utf8_lossy(&self.unfinished));
        self.unfinished = rest;

        // What was taken holds no part of a stop text, and neither does the white space in front of
        // the first word: a reply that begins with line breaks continues after them.
        let leading = self.text.len() - self.text.trim_start().len();
        let from = self.taken.max(leading);
        let stop = stops
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| self.text[from..].find(stop.as_str()))
            .min();
        if let Some(at) = stop {
            self.text.truncate(from + at);
        }
        stop.is_some()
    }

    /// Takes the text that is new, without an end that may become a stop text.
    pub fn take(&mut self, stops: &[String]) -> String {
        let held_back = stops
            .iter()
            .map(|stop| overlap(&self.text[self.taken..], stop))
            .max()
            .unwrap_or(0);
        self.take_until(self.text.len() - held_back)
    }

    /// Returns whether the text has a character that is not white space.
    pub fn has_word(&self) -> bool {
        !self.text.trim_start().is_empty()
    }

    /// Takes all text that is new.
    pub fn take_rest(&mut self) -> String {
        self.take_until(self.text.len())
    }

    fn take_until(&mut self, end: usize) -> String {
        let new = self.text[self.taken..end].to_owned();
        self.taken = end;
        new
    }

    /// Returns all text that was taken.
    pub fn finish(mut self) -> String {
        self.text.truncate(self.taken);
        self.text
    }
}

/// Returns the length of the longest end of `text` that begins `stop`, in bytes, but not all of it.
pub(super) fn overlap(text: &str, stop: &str) -> usize {
    stop.char_indices()
        .map(|(end, _)| end)
        .filter(|end| text.ends_with(&stop[..*end]))
        .max()
        .unwrap_or(0)
}

/// Returns the number of bytes before an incomplete character at the end.
fn whole_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                Some(invalid) => at += error.valid_up_to() + invalid,
                None => return at + error.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;

    #[test]
    fn incomplete_characters_are_held_back() {
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
            assert!(!stream.push(bytes, &[]));
            assert_eq!(stream.take(&[]), expected);
        }
        assert_eq!(stream.finish(), "aäb\u{fffd}😀");
    }

    #[test]
    fn no_part_of_a_stop_text_is_taken() {
        let stops = vec!["\n\n".to_owned(), "<end>".to_owned(), String::new()];
        let mut stream = Stream::default();
        let pieces = [
            ("ä one", "ä one"),
            (" <e", " "),
            ("gg\n", "<egg"),
            ("two <", "\ntwo "),
            ("en", ""),
            ("d> more", ""),
        ];
        for (at, (piece, expected)) in pieces.into_iter().enumerate() {
            assert_eq!(stream.push(piece.as_bytes(), &stops), at == 5, "{piece}");
            assert_eq!(stream.take(&stops), expected, "{piece}");
        }
        assert_eq!(stream.finish(), "ä one <egg\ntwo ");

        let mut stream = Stream::default();
        assert!(!stream.push("a <".as_bytes(), &stops));
        assert_eq!(
            (stream.take(&stops), stream.take_rest()),
            ("a ".to_owned(), "<".to_owned())
        );
    }
}
