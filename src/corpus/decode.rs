//! Decodes bytes: UTF-8, UTF-16 with a byte order mark, and Western 8-bit text. Bytes that are not
//! text are refused.

use super::offsets::{Offsets, Traced};

/// A longer line is data, not text: nobody reads it, and every tool that shows it is slow.
const MAX_LINE_BYTES: usize = 8 << 20;
/// Maximum share of control characters in text, besides white space and escape sequences.
const MAX_CONTROL_SHARE: f64 = 0.02;
/// Maximum share of bytes beyond ASCII in Western text; other 8-bit encodings and compressed data
/// have more.
const MAX_HIGH_SHARE: f64 = 0.3;

/// Windows-1252 from 0x80 to 0x9f; elsewhere it is Latin-1. The WHATWG encoding standard keeps the
/// five bytes that it leaves out as control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) traced: Traced,
    /// A remark for the user: bytes that could not be read, an encoding that was guessed.
    pub(super) note: Option<String>,
}

impl From<Traced> for Decoded {
    fn from(traced: Traced) -> Self {
        Self { traced, note: None }
    }
}

/// Decodes a file, without its byte order mark.
///
/// # Errors
/// The reason why it is not read as text.
pub(super) fn decode(bytes: Vec<u8>) -> Result<Decoded, String> {
    let decoded = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => utf8(bytes, 3)?,
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Err("UTF-32 text is not read: convert it to UTF-8".to_owned());
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => utf8(bytes, 0)?,
    };
    check_text(&decoded.traced.text)?;
    Ok(decoded)
}

fn utf8(bytes: Vec<u8>, skip: usize) -> Result<Decoded, String> {
    if bytes.contains(&0) {
        return Err("binary content".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(mut text) if skip > 0 => {
            text.drain(..skip);
            Ok(Traced {
                text,
                origin: Offsets::shifted(skip as u64),
            }
            .into())
        }
        Ok(text) => Ok(Traced {
            text,
            origin: Offsets::default(),
        }
        .into()),
        Err(error) => not_utf8(error.as_bytes(), skip),
    }
}

/// Decodes bytes that are not UTF-8: as UTF-8 with faults when most of what is beyond ASCII is valid,
/// otherwise as Western 8-bit text.
fn not_utf8(bytes: &[u8], skip: usize) -> Result<Decoded, String> {
    let mut valid = 0;
    let mut faults = 0;
    for part in bytes.utf8_chunks() {
        valid += part.valid().chars().filter(|c| !c.is_ascii()).count();
        faults += usize::from(!part.invalid().is_empty());
    }
    if skip > 0 || valid > faults {
        return Ok(utf8_with_faults(bytes, skip, faults));
    }

    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    if high as f64 > bytes.len() as f64 * MAX_HIGH_SHARE {
        return Err(
            "neither UTF-8 nor Western 8-bit text: convert it to UTF-8 when it is text".to_owned(),
        );
    }
    Ok(western(bytes))
}

/// Decodes UTF-8; each fault becomes one replacement character.
fn utf8_with_faults(bytes: &[u8], skip: usize, faults: usize) -> Decoded {
    let mut traced = Traced::with_capacity(bytes.len());
    let mut at = skip as u64;
    for part in bytes[skip..].utf8_chunks() {
        traced.copy(part.valid(), at);
        at += part.valid().len() as u64;
        let invalid = part.invalid();
        if !invalid.is_empty() {
            traced.stand_for("\u{fffd}", at, u32::try_from(invalid.len()).unwrap_or(1));
            at += invalid.len() as u64;
        }
    }
    Decoded {
        traced,
        note: Some(format!(
            "read with {faults} faults: not everything in it is UTF-8"
        )),
    }
}

/// Decodes Windows-1252, which contains Latin-1.
fn western(bytes: &[u8]) -> Decoded {
    let mut traced = Traced::with_capacity(bytes.len() + bytes.len() / 8);
    let mut at = 0_usize;
    for run in bytes.chunk_by(|one, other| one.is_ascii() == other.is_ascii()) {
        match std::str::from_utf8(run) {
            Ok(ascii) => traced.copy(ascii, at as u64),
            Err(_) => {
                for (offset, &byte) in run.iter().enumerate() {
                    let mut buffer = [0; 4];
                    traced.stand_for(
                        windows_1252(byte).encode_utf8(&mut buffer),
                        (at + offset) as u64,
                        1,
                    );
                }
            }
        }
        at += run.len();
    }
    Decoded {
        traced,
        note: Some("read as Windows-1252: it is not UTF-8".to_owned()),
    }
}

fn windows_1252(byte: u8) -> char {
    let high = byte.checked_sub(0x80).map(usize::from);
    let replaced = high.and_then(|index| WINDOWS_1252.get(index));
    replaced.copied().unwrap_or(char::from(byte))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut traced = Traced::with_capacity(bytes.len());
    let mut at = 2_u64;
    let mut faults = bytes.len() % 2;
    for decoded in char::decode_utf16(units) {
        let character = decoded.unwrap_or_else(|_| {
            faults += 1;
            char::REPLACEMENT_CHARACTER
        });
        let width = if u32::from(character) > 0xffff { 4 } else { 2 };
        traced.stand_for(character.encode_utf8(&mut [0; 4]), at, width);
        at += u64::from(width);
    }
    let note =
        (faults > 0).then(|| format!("read with {faults} faults: not everything in it is UTF-16"));
    Decoded { traced, note }
}

fn check_text(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let control = bytes
        .iter()
        .filter(|byte| byte.is_ascii_control() && !is_text_control(**byte))
        .count();
    if control as f64 > bytes.len() as f64 * MAX_CONTROL_SHARE {
        return Err("binary content".to_owned());
    }
    let longest = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    if longest > MAX_LINE_BYTES {
        let mib = longest >> 20;
        let max_mib = MAX_LINE_BYTES >> 20;
        return Err(format!(
            "a single line of {mib} MiB: beyond {max_mib} MiB it is data, not text"
        ));
    }
    Ok(())
}

/// Returns whether text may contain a control character: logs and recordings of terminals have white
/// space, backspace and escape.
fn is_text_control(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0x08 | 0x0b | 0x1b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], text: &str, last_char_at: std::ops::Range<u64>) {
        let decoded = decode(bytes.to_vec()).expect(text);
        assert_eq!(decoded.traced.text, text);
        let last = text.char_indices().last().map_or(0, |(at, _)| at);
        assert_eq!(
            decoded.traced.origin.source_range(last..text.len()),
            last_char_at,
            "{text}"
        );
    }

    #[test]
    fn encodings() {
        check(b"plain", "plain", 4..5);
        check("na\u{ef}ve €".as_bytes(), "naïve €", 7..10);
        check(b"\xef\xbb\xbfmark", "mark", 6..7);
        check(b"\xff\xfea\0\xe9\0b\0", "aéb", 6..8);
        check(b"\xfe\xff\0a\xd8\x3d\xde\x00", "a😀", 4..8);
        check(
            b"caf\xe9 cr\xe8me, as they said then",
            "café crème, as they said then",
            28..29,
        );
        check(b"\x93quoted\x94 text", "“quoted” text", 12..13);
        check(
            "gut: äöü €, schlecht: \u{e4}".as_bytes(),
            "gut: äöü €, schlecht: ä",
            27..29,
        );
        let mut faulty = "äöü and so on ".as_bytes().to_vec();
        faulty.extend(b"\xff.");
        check(&faulty, "äöü and so on \u{fffd}.", 18..19);
    }

    #[test]
    fn guesses_and_faults_are_noted() {
        let note = |bytes: &[u8]| {
            decode(bytes.to_vec())
                .expect("text")
                .note
                .unwrap_or_default()
        };
        assert!(note(b"caf\xe9 noir, please").contains("Windows-1252"));
        assert!(note("äöü\u{fc}".as_bytes()).is_empty());
        assert!(note(b"\xff\xfea\0\x00\xd8b\0").contains("1 faults"));
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        let cases: [(Vec<u8>, &str); 5] = [
            (b"PK\x03\x04\0\0data".to_vec(), "binary"),
            ((1..=31).collect(), "binary"),
            ((128..=255).cycle().take(900).collect(), "neither UTF-8"),
            (b"\xff\xfe\0\0a\0\0\0".to_vec(), "UTF-32"),
            (vec![b'a'; 50_000_000], "a single line of 47 MiB"),
        ];
        for (bytes, expected) in cases {
            let reason = decode(bytes).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
