//! Removes what text has for a terminal: colours, cursor movements and titles (ECMA-48 control
//! sequences), the overstrikes by which manual pages make letters bold or underlined, and the
//! characters inside words that nobody sees.

use std::ops::Range;

use super::offsets::Traced;

const BACKSPACE: char = '\u{8}';
const ESCAPE: char = '\u{1b}';

/// Returns whether a character is one between the letters of a word that shows where a line may
/// break (soft hyphen, zero-width space) or may not. A joiner shapes letters, and is none of them.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Returns the text without control sequences, overstrikes and invisible characters. What is left
/// keeps its origin.
pub(super) fn without_controls(traced: Traced) -> Traced {
    let is_left_out = |c: char| c == ESCAPE || c == BACKSPACE || is_invisible(c);
    if !traced.text.contains(is_left_out) {
        return traced;
    }

    let mut kept = Kept::default();
    let text = traced.text.as_str();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = at + c.len_utf8();
        match c {
            ESCAPE => at += escape_length(&text[at..]),
            BACKSPACE => {
                kept.strike_back(text);
                at = end;
            }
            c if is_invisible(c) => at = end,
            _ => {
                kept.add(text, at..end);
                at = end;
            }
        }
    }
    kept.settle();
    // what the cursor went back over and left, in the order of the file, which positions and
    // sentences keep
    kept.ranges.sort_unstable_by_key(|range| range.start);

    let mut clean = Traced::with_capacity(text.len());
    for range in kept.ranges {
        clean.copy_part(&traced, range);
    }
    clean
}

/// The parts of a text that remain.
#[derive(Default)]
struct Kept {
    /// The ranges in the order of printing, none empty.
    ranges: Vec<Range<usize>>,
    /// The characters that the next ones are printed over, the last first.
    struck: Vec<Range<usize>>,
}

impl Kept {
    /// Adds a character. Of two that are printed over each other, the later one remains, unless it
    /// is an underline.
    fn add(&mut self, text: &str, character: Range<usize>) {
        if &text[character.clone()] == "\n" {
            self.settle();
        }
        let struck = self.struck.pop();
        // nroff writes bold as c BS c, and underlined as _ BS c
        let is_underline = &text[character.clone()] == "_";
        match struck.filter(|_| is_underline) {
            Some(struck) => self.push(struck),
            None => self.push(character),
        }
    }

    /// Takes the last character of the line, which the next one is printed over.
    fn strike_back(&mut self, text: &str) {
        let Some(last) = self.ranges.last_mut() else {
            return;
        };
        let start = last.end
            - text[last.clone()]
                .chars()
                .next_back()
                .map_or(0, char::len_utf8);
        let character = start..last.end;
        if text[character.clone()].starts_with('\n') {
            return;
        }

        last.end = start;
        if start == last.start {
            self.ranges.pop();
        }
        self.struck.push(character);
    }

    fn push(&mut self, character: Range<usize>) {
        match self.ranges.last_mut() {
            Some(last) if last.end == character.start => last.end = character.end,
            _ => self.ranges.push(character),
        }
    }

    /// Restores characters that nothing was printed over.
    fn settle(&mut self) {
        while let Some(character) = self.struck.pop() {
            self.push(character);
        }
    }
}

/// Returns the length of the control sequence that a text begins with; that of its escape character
/// when none is complete.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_within = |at: usize, range: Range<u8>| bytes.get(at).is_some_and(|b| range.contains(b));
    let mut at = 2;

    match bytes.get(1) {
        // CSI: parameters, intermediates, a final byte
        Some(b'[') => {
            while is_within(at, 0x20..0x40) {
                at += 1;
            }
            at + usize::from(is_within(at, 0x40..0x7f))
        }
        // OSC and the other strings, up to BEL or ST
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            while bytes
                .get(at)
                .is_some_and(|b| !matches!(b, 0x07 | 0x1b | b'\n'))
            {
                at += 1;
            }
            match (bytes.get(at), bytes.get(at + 1)) {
                (Some(0x07), _) => at + 1,
                (Some(0x1b), Some(b'\\')) => at + 2,
                _ => 2,
            }
        }
        // ECMA-35: intermediates, a final byte
        Some(0x20..0x30) => {
            while is_within(at, 0x20..0x30) {
                at += 1;
            }
            at + usize::from(is_within(at, 0x30..0x7f))
        }
        Some(0x30..0x7f) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_remains() {
        let cases = [
            ("plain", "plain"),
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            (
                "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link",
                "alink",
            ),
            ("\u{1b}]never ended\nnext", "never ended\nnext"),
            ("\u{1b}(B\u{1b}7\u{1b}=x\u{1b}", "x"),
            ("\u{1b}[38;2;1;2;3mé\u{1b}[K\n", "é\n"),
            ("N\u{8}NA\u{8}AM\u{8}ME\u{8}E", "NAME"),
            ("_\u{8}f_\u{8}i_\u{8}l_\u{8}é", "filé"),
            ("x\u{8}_y\u{8}_", "xy"),
            ("ab\u{8}\u{8}cd\u{8}", "cd"),
            ("\u{8}a\n\u{8}b", "a\nb"),
            // not printed over, before and after a line end
            ("abc\u{8}\u{8}\u{8}x\n", "bcx\n"),
            ("abc\u{8}\u{8}x\ny", "acx\ny"),
        ];
        for (source, text) in cases {
            let mut traced = Traced::default();
            traced.copy(source, 10);
            let clean = without_controls(traced);
            assert_eq!(clean.text, text, "{source:?}");
            let mut before = 0;
            for (at, c) in clean.text.char_indices() {
                let origin = clean.origin.source(at) as usize - 10;
                assert!(source[origin..].starts_with(c), "{source:?} at {at}");
                assert!(before <= origin, "{source:?} at {at}");
                before = origin;
            }
        }
    }

    #[test]
    fn time_grows_with_the_length_only() {
        for part in ["\u{1b}]", "\u{1b}[", "\u{8}", "a\u{8}", "\u{1b}P\\"] {
            let source = part.repeat(400_000);
            let mut traced = Traced::default();
            traced.copy(&source, 0);
            assert!(without_controls(traced).text.len() <= source.len());
        }
    }
}
