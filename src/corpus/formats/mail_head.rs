//! The head of a mail as mail-parser reads it whole: in UTF-8, and without letters that are cut.

use std::borrow::Cow;
use std::fmt::Write as _;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;

use crate::corpus::decode::decode;

/// A longer encoded word is left as it is; the standard allows for 75 bytes.
const MAX_WORD_BYTES: usize = 300;

/// Returns a message whose head is UTF-8: some programs write Latin-1 there. Encoded words that
/// follow each other become one, since programs cut them inside of a letter.
pub(super) fn plain_head(message: &[u8]) -> Cow<'_, [u8]> {
    let lines = message.split_inclusive(|byte| *byte == b'\n');
    let head = lines.take_while(|line| !line.trim_ascii().is_empty());
    let (head, body) = message.split_at(head.map(<[u8]>::len).sum());
    let text = match std::str::from_utf8(head) {
        Ok(head) => Cow::Borrowed(head),
        Err(_) => match decode(head.to_vec()) {
            Ok(decoded) => Cow::Owned(decoded.traced.text),
            Err(_) => return Cow::Borrowed(message),
        },
    };

    let joined = join_words(&text);
    if joined.as_bytes() == head {
        return Cow::Borrowed(message);
    }
    Cow::Owned([joined.as_bytes(), body].concat())
}

/// An encoded word (RFC 2047).
struct Word<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
    /// The text behind it.
    rest: &'a str,
}

impl<'a> Word<'a> {
    /// Returns the word that a text begins with.
    fn read(text: &'a str) -> Option<Self> {
        let near = &text[..text.floor_char_boundary(MAX_WORD_BYTES)];
        let (charset, rest) = near.strip_prefix("=?")?.split_once('?')?;
        let (kind, rest) = rest.split_once('?').filter(|(kind, _)| kind.len() == 1)?;
        let (content, rest) = rest.split_once("?=")?;
        let bytes = match kind {
            "b" | "B" => base64_decode(content.as_bytes()),
            "q" | "Q" => quoted_printable_decode(content.replace('_', "=20").as_bytes()),
            _ => None,
        };
        Some(Self {
            charset,
            bytes: bytes?,
            rest: &text[near.len() - rest.len()..],
        })
    }
}

fn join_words(head: &str) -> String {
    let mut joined = String::with_capacity(head.len());
    let mut rest = head;

    while let Some(at) = rest.find("=?") {
        joined.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(first) = Word::read(rest) else {
            joined.push_str("=?");
            rest = &rest[2..];
            continue;
        };

        let (mut bytes, mut end) = (first.bytes, first.rest);
        let mut is_alone = true;
        while let Some(next) = Word::read(end.trim_start())
            .filter(|next| next.charset.eq_ignore_ascii_case(first.charset))
        {
            bytes.extend(next.bytes);
            end = next.rest;
            is_alone = false;
        }

        if is_alone {
            joined.push_str(&rest[..rest.len() - end.len()]);
        } else {
            // writing into a string does not fail
            let _ = write!(joined, "=?{}?Q?", first.charset);
            for byte in bytes {
                let _ = write!(joined, "={byte:02X}");
            }
            joined.push_str("?=");
        }
        rest = end;
    }

    joined.push_str(rest);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_head_are_whole() {
        let cases: [(&[u8], &str); 6] = [
            (b"To: a\n\n\xe4", "To: a\n\n\u{fffd}"),
            (
                b"Subject: F\xe4hre nach Sp\xf6rk\n\nx\xe4",
                "Subject: Fähre nach Spörk\n\nx\u{fffd}",
            ),
            (
                b"Subject: =?utf-8?Q?F=C3?=\r\n =?UTF-8?b?pGhyZQ==?=, so\n\n",
                "Subject: =?utf-8?Q?=46=C3=A4=68=72=65?=, so\n\n",
            ),
            (
                b"To: =?utf-8?q?A?= =?koi8-r?q?=C1?= b =?utf-8?q?=C3?=",
                "To: =?utf-8?q?A?= =?koi8-r?q?=C1?= b =?utf-8?q?=C3?=",
            ),
            (b"To: =?x?z?a?= =?=?x =?", "To: =?x?z?a?= =?=?x =?"),
            (b"", ""),
        ];
        for (message, expected) in cases {
            let found = plain_head(message);
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }
}
