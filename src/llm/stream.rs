//! The growing text of a continuation: whole characters only, and never a part of a stop text.

/// Text that grows token by token.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// All of it, with what is held back.
    text: String,
    /// Bytes that were given out.
    given: usize,
    /// Bytes of a character that is not whole yet.
    unfinished: Vec<u8>,
}

impl Stream {
    /// Add the bytes of a token. Bytes that can be no character become a sign for that. True when a stop text is complete: the text
    /// ends before it then.
    pub fn push(&mut self, bytes: &[u8], stops: &[String]) -> bool {
        self.unfinished.extend_from_slice(bytes);
        let rest = self.unfinished.split_off(whole_bytes(&self.unfinished));
        self.text
            .push_str(&String::from_utf8_lossy(&self.unfinished));
        self.unfinished = rest;
        // what was given out holds no part of a stop text
        let begun = stops
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| self.text[self.given..].find(stop.as_str()));
        let stop = begun.min();
        if let Some(at) = stop {
            self.text.truncate(self.given + at);
        }
        stop.is_some()
    }

    /// Text that was not given out yet, but for an end that may become a stop text.
    pub fn give(&mut self, stops: &[String]) -> String {
        let held = stops
            .iter()
            .map(|stop| overlap(&self.text[self.given..], stop))
            .max()
            .unwrap_or(0);
        self.give_until(self.text.len() - held)
    }

    /// All text that was not given out yet.
    pub fn give_rest(&mut self) -> String {
        self.give_until(self.text.len())
    }

    fn give_until(&mut self, end: usize) -> String {
        let given = self.text[self.given..end].to_owned();
        self.given = end;
        given
    }

    /// What was given out.
    pub fn finish(mut self) -> String {
        self.text.truncate(self.given);
        self.text
    }
}

/// Bytes at the end of `text` that are the start of `stop`.
fn overlap(text: &str, stop: &str) -> usize {
    let starts = stop.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    starts
        .filter(|end| text.ends_with(&stop[..*end]))
        .max()
        .unwrap_or(0)
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
            assert!(!stream.push(bytes, &[]));
            assert_eq!(stream.give(&[]), expected);
        }
        assert_eq!(stream.finish(), "aäb\u{fffd}😀");
    }

    #[test]
    fn no_part_of_a_stop_text_is_given_out() {
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
            assert_eq!(stream.give(&stops), expected, "{piece}");
        }
        assert_eq!(stream.finish(), "ä one <egg\ntwo ");
        let mut stream = Stream::default();
        assert!(!stream.push("a <".as_bytes(), &stops));
        assert_eq!(
            (stream.give(&stops), stream.give_rest()),
            ("a ".to_owned(), "<".to_owned())
        );
    }
}
