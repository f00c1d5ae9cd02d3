//! The tokens of RTF, and the code pages that its control words name.

use encoding_rs::{Encoding, WINDOWS_1252};

/// A token of RTF.
pub(super) enum Token<'a> {
    Open,
    Close,
    /// A byte of text, literal or as `\'hh`.
    Byte(u8),
    /// A control word with its number, or a control symbol.
    Word(&'a str, Option<i32>),
}

/// The tokens of a file, one after another.
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the next token; `None` at the end.
    pub fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'{' => return Some(Token::Open),
                b'}' => return Some(Token::Close),
                b'\\' => return self.control(),
                // a line end of the file is none of the text: `\par` ends a paragraph
                b'\r' | b'\n' | 0 => {}
                _ => return Some(Token::Byte(byte)),
            }
        }
    }

    fn control(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let length = self.count(start, u8::is_ascii_alphabetic);
        if length == 0 {
            return self.symbol();
        }
        let word = std::str::from_utf8(&self.bytes[start..start + length]).ok()?;
        self.at += length;

        let has_sign = self.bytes.get(self.at) == Some(&b'-');
        let digits = self.count(self.at + usize::from(has_sign), u8::is_ascii_digit);
        let mut number = None;
        if digits > 0 {
            let end = self.at + usize::from(has_sign) + digits;
            let text = std::str::from_utf8(&self.bytes[self.at..end]).ok()?;
            number = Some(text.parse().unwrap_or(0));
            self.at = end;
        }
        // one space ends a control word, and is no part of the text
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        Some(Token::Word(word, number))
    }

    fn symbol(&mut self) -> Option<Token<'a>> {
        let at = self.at;
        let symbol = *self.bytes.get(at)?;
        self.at += 1;

        match symbol {
            b'\'' => {
                let hex = std::str::from_utf8(self.bytes.get(at + 1..at + 3)?).unwrap_or("3f");
                self.at += 2;
                Some(Token::Byte(u8::from_str_radix(hex, 16).unwrap_or(b'?')))
            }
            b'\\' | b'{' | b'}' => Some(Token::Byte(symbol)),
            // a backslash before a line end is another way to write `\par`
            b'\r' | b'\n' => Some(Token::Word("par", None)),
            b'~' => Some(Token::Word("nbsp", None)),
            b'_' => Some(Token::Word("nbhyphen", None)),
            b'*' => Some(Token::Word("*", None)),
            _ => Some(Token::Word("", None)),
        }
    }

    fn count(&self, from: usize, is_counted: fn(&u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| is_counted(byte)).count()
    }

    /// Skips bytes that are no text.
    pub fn skip(&mut self, bytes: i32) {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        self.at = self.at.saturating_add(bytes).min(self.bytes.len());
    }
}

/// The labels of the code pages that are not named after Windows.
#[rustfmt::skip]
const LABELS: [(i32, &str); 7] = [
    (932, "shift_jis"), (936, "gbk"), (949, "euc-kr"), (950, "big5"), (866, "ibm866"),
    (10000, "macintosh"), (65001, "utf-8"),
];
/// The character sets of Windows fonts, with the code page of each.
#[rustfmt::skip]
const CHARSETS: [(i32, i32); 14] = [
    (77, 10000), (128, 932), (129, 949), (134, 936), (136, 950), (161, 1253), (162, 1254),
    (163, 1258), (177, 1255), (178, 1256), (186, 1257), (204, 1251), (222, 874), (238, 1250),
];

/// Returns the encoding of a Windows code page.
pub(super) fn code_page(number: i32) -> &'static Encoding {
    let named = LABELS.iter().find(|(own, _)| *own == number);
    let label = named.map_or_else(
        || format!("windows-{number}"),
        |(_, label)| label.to_string(),
    );
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}

/// Returns the encoding of a font's character set; `None` for that of the document.
pub(super) fn charset(number: i32) -> Option<&'static Encoding> {
    let (_, page) = CHARSETS.iter().find(|(own, _)| *own == number)?;
    Some(code_page(*page))
}
