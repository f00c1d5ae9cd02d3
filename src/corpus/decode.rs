//! Decodes bytes: UTF-8, UTF-16 and UTF-32 with and without a byte order mark, and the legacy
//! encodings of the WHATWG standard, as the file names them or as chardetng guesses, and other ones
//! of Western Europe. Bytes that are not text are refused.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, ISO_2022_JP};

use super::code_page::western_page;
use super::offsets::{Offsets, Traced};
use super::terminal::without_controls;

/// The byte order mark, and its bytes in UTF-8.
const MARK: u32 = 0xfeff;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// A longer line is data, not text: nobody reads it, and every tool that shows it is slow.
const MAX_LINE_BYTES: usize = 8 << 20;
/// Maximum share of control characters in text, besides white space and escape sequences.
const MAX_CONTROL_SHARE: f64 = 0.02;
/// Control characters that a short text may have beyond this share, and their share there.
const FEW_CONTROLS: usize = 16;
const MAX_FEW_SHARE: f64 = 0.1;
/// Share of bytes beyond ASCII above which most of them have to be letters: compressed data decodes
/// to signs.
const MAX_HIGH_SHARE: f64 = 0.3;
/// Minimum share of letters beyond ASCII in such text.
const MIN_LETTER_SHARE: f64 = 0.7;
/// Maximum share of faults in text of a legacy encoding.
const MAX_FAULT_SHARE: f64 = 0.02;
/// Bytes that show whether a file without a mark is UTF-16 or UTF-32.
const SAMPLE_BYTES: usize = 4096;
/// Bytes in which a file names its encoding: HTML and XML ask for 1,024.
const LABEL_BYTES: usize = 1024;

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

/// UTF-16 or UTF-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wide {
    /// Bytes of a unit.
    width: usize,
    is_little: bool,
}

impl Wide {
    /// UTF-32 first: its mark begins as that of UTF-16 does.
    const ALL: [Self; 4] = [
        Self::new(4, true),
        Self::new(4, false),
        Self::new(2, true),
        Self::new(2, false),
    ];

    const fn new(width: usize, is_little: bool) -> Self {
        Self { width, is_little }
    }

    fn name(self) -> String {
        let order = if self.is_little { "LE" } else { "BE" };
        format!("UTF-{} {order}", 8 * self.width)
    }

    /// Returns the encoding that the byte order mark of a file names.
    fn from_mark(bytes: &[u8]) -> Option<Self> {
        let has_mark = |wide: &Self| wide.units(bytes).next() == Some(MARK);
        Self::ALL.into_iter().find(has_mark)
    }

    /// Returns the encoding of a file without a mark, from its zero bytes: where they are, and
    /// whether the characters are those of text.
    fn from_zeros(bytes: &[u8]) -> Option<Self> {
        let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        // pairs of letters decode to characters of Chinese, and so would UTF-8 with a few zeros
        let faults = || {
            sample
                .utf8_chunks()
                .filter(|part| !part.invalid().is_empty())
        };
        let is_utf8 =
            || check_controls(sample, FEW_CONTROLS).is_ok() && faults().count() * 20 < sample.len();
        if !sample.contains(&0) || is_utf8() {
            return None;
        }
        Self::ALL.into_iter().find(|wide| wide.is_plausible(sample))
    }

    fn is_plausible(self, sample: &[u8]) -> bool {
        let is_whole = sample.len() >= 2 * self.width && sample.len().is_multiple_of(self.width);
        let units = sample.len() / self.width;
        // UTF-16 text of any script has spaces, digits or line ends, and never a zero character;
        // U+10FFFF is the last character
        let (largest, needed) = match self.width {
            2 => (0xff, units / 64),
            _ => (0x0010_ffff, units),
        };
        let zeros = self.units(sample).filter(|unit| *unit <= largest);
        if !is_whole || zeros.count() < needed.max(1) {
            return false;
        }

        let mut characters = 0;
        let mut odd = 0;
        self.decode(sample, |character, _| {
            characters += 1;
            odd += usize::from(!character.is_some_and(is_of_text));
        });
        // a sample may end between two halves of a character
        odd <= 1 + characters / 50 && odd * 4 <= characters
    }

    /// Returns the numbers of whole units.
    fn units(self, bytes: &[u8]) -> impl Iterator<Item = u32> {
        let units = bytes.chunks_exact(self.width);
        units.map(move |unit| {
            let little = match *unit {
                [a, b] => u16::from_le_bytes([a, b]).into(),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => 0,
            };
            if self.is_little {
                little
            } else {
                little.swap_bytes() >> (32 - 8 * self.width)
            }
        })
    }

    /// Calls `each` with every character and its width in bytes; `None` is a fault.
    fn decode(self, bytes: &[u8], mut each: impl FnMut(Option<char>, u32)) {
        let units = self.units(bytes);
        if self.width == 4 {
            units.for_each(|code| each(char::from_u32(code), 4));
            return;
        }
        for decoded in char::decode_utf16(units.map(|unit| unit as u16)) {
            // a character beyond U+FFFF takes two units
            let is_pair = decoded.as_ref().is_ok_and(|c| u32::from(*c) > 0xffff);
            each(decoded.ok(), if is_pair { 4 } else { 2 });
        }
    }
}

/// Returns whether a character is one of text, and not one of those that random bytes decode to.
fn is_of_text(c: char) -> bool {
    let is_sign = matches!(c,
        ' '..='~' | '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}' | '\u{a0}'..='\u{bf}'
        | '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{2000}'..='\u{206f}'
        | '\u{2190}'..='\u{27bf}' | '\u{3000}'..='\u{303f}' | '\u{fe00}'..='\u{fe6f}'
        | '\u{feff}'..='\u{ffef}' | '\u{1f000}'..='\u{1faff}');
    is_sign || c.is_alphanumeric()
}

/// Returns bytes without the mark of UTF-8 in front, which editors write.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes)
}

/// Decodes a file, without its byte order mark and without the control sequences of terminals.
///
/// # Errors
/// The reason why it is not read as text.
pub(super) fn decode(bytes: Vec<u8>) -> Result<Decoded, String> {
    let marked = Wide::from_mark(&bytes);
    let decoded = if bytes.starts_with(UTF8_MARK) {
        utf8(bytes, UTF8_MARK.len())?
    } else if let Some(encoding) = marked.or_else(|| Wide::from_zeros(&bytes)) {
        wide(&bytes, encoding, marked.is_some())?
    } else {
        utf8(bytes, 0)?
    };

    check_lines(&decoded.traced.text)?;
    Ok(Decoded {
        traced: without_controls(decoded.traced),
        ..decoded
    })
}

/// Decodes a file of which every byte below 0x80 is ASCII. A few zero bytes, which logs have where
/// a machine stopped, are spaces.
fn utf8(mut bytes: Vec<u8>, skip: usize) -> Result<Decoded, String> {
    check_controls(&bytes, FEW_CONTROLS)?;
    for zero in bytes.iter_mut().filter(|byte| **byte == 0) {
        *zero = b' ';
    }

    // 7-bit Japanese is valid UTF-8, but no text
    if bytes.is_ascii() && bytes.windows(3).any(is_japanese_escape) {
        return legacy(&bytes);
    }

    match String::from_utf8(bytes) {
        Ok(mut text) => {
            let mut origin = Offsets::default();
            if skip > 0 {
                text.drain(..skip);
                origin = Offsets::with_skipped(skip as u64);
            }
            Ok(Traced { text, origin }.into())
        }
        Err(error) => not_utf8(error.as_bytes(), skip),
    }
}

fn is_japanese_escape(bytes: &[u8]) -> bool {
    // ISO-2022-JP turns to JIS X 0208 by ESC $ B or ESC $ @
    matches!(bytes, [0x1b, b'$', b'B' | b'@'])
}

/// Decodes bytes that are not UTF-8: as UTF-8 with faults when most of what is beyond ASCII is
/// valid, otherwise as text of a legacy encoding.
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
    legacy(bytes)
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

/// Decodes text of a legacy encoding: the one that the file names, or else the most probable one.
fn legacy(bytes: &[u8]) -> Result<Decoded, String> {
    if let Some(encoding) = named_encoding(bytes) {
        let (traced, faults) = decode_as(bytes, encoding);
        if is_plausible(bytes, &traced, faults) {
            let note = format!("read as {}, as it says", encoding.name());
            return Ok(with_faults(traced, note, faults));
        }
    }

    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (traced, faults) = decode_as(bytes, encoding);
    if !is_plausible(bytes, &traced, faults) {
        let valid = bytes.utf8_chunks().next();
        let at = valid.map_or(0, |part| part.valid().len());
        return Err(format!(
            "neither UTF-8 nor text of a known encoding, from {:#04x} at byte {} on: convert it to UTF-8 when it is text",
            bytes.get(at).copied().unwrap_or_default(),
            at + 1
        ));
    }
    let guessed = |name| format!("read as {name}: guessed, it is not UTF-8");
    if let Some(page) = western_page(bytes, encoding) {
        return Ok(with_faults(page.decode(bytes), guessed(page.name), 0));
    }
    Ok(with_faults(traced, guessed(encoding.name()), faults))
}

fn with_faults(traced: Traced, mut note: String, faults: usize) -> Decoded {
    if faults > 0 {
        note += &format!("; {faults} faults");
    }
    Decoded {
        traced,
        note: Some(note),
    }
}

/// Returns the encoding that a file names in its first lines, as HTML, XML, Python and Emacs do.
fn named_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(LABEL_BYTES)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);

    // HTML and MIME, XML, Emacs, Vim
    for mark in ["charset=", "encoding=", "coding:", "coding="] {
        let Some((_, after)) = head.split_once(mark) else {
            continue;
        };
        let label: &str = after.trim_start_matches([' ', '"', '\'']);
        let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
        let label = &label[..end.unwrap_or(label.len())];
        let encoding = Encoding::for_label_no_replacement(label.as_bytes());
        // a file that is UTF-8 or UTF-16 has been read as such
        if let Some(encoding) = encoding.filter(|encoding| !encoding.name().starts_with("UTF")) {
            return Some(encoding);
        }
    }

    None
}

/// Decodes text and counts its faults. Each character stands for the bytes that it was decoded
/// from.
fn decode_as(bytes: &[u8], encoding: &'static Encoding) -> (Traced, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut traced = Traced::with_capacity(bytes.len() + bytes.len() / 2);
    let mut faults = 0;
    let mut buffer = [0; 32];
    // the first byte that is not decoded yet, and the first that the decoder has not read
    let mut start = 0;
    let mut at = 0;
    loop {
        // in ISO-2022-JP, ASCII bytes may be a part of other characters
        let is_between_characters = start == at && encoding != ISO_2022_JP;
        if is_between_characters {
            let ascii = ascii_run(&bytes[at..]);
            traced.copy(ascii, at as u64);
            at += ascii.len();
            start = at;
        }

        let next = bytes.get(at..=at).unwrap_or_default();
        let is_last = next.is_empty();
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(next, &mut buffer, is_last);
        at += read;
        let width = u32::try_from(at - start).unwrap_or(u32::MAX);
        let is_fault = matches!(result, DecoderResult::Malformed(..));
        if written > 0 {
            let decoded = String::from_utf8_lossy(&buffer[..written]);
            traced.stand_for(&decoded, start as u64, width);
        } else if is_fault {
            traced.stand_for("\u{fffd}", start as u64, width);
        }
        faults += usize::from(is_fault);
        if written > 0 || is_fault {
            start = at;
        }
        if is_last && !is_fault {
            return (traced, faults);
        }
    }
}

fn ascii_run(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| !byte.is_ascii());
    let run = &bytes[..end.unwrap_or(bytes.len())];
    std::str::from_utf8(run).unwrap_or_default()
}

/// Returns whether decoded bytes are text: with few faults and, where much is beyond ASCII, with
/// letters there.
fn is_plausible(bytes: &[u8], traced: &Traced, faults: usize) -> bool {
    let mut characters = 0;
    let mut beyond = 0;
    let mut letters = 0;
    for c in traced.text.chars() {
        characters += 1;
        beyond += usize::from(!c.is_ascii());
        let is_letter = c.is_alphabetic()
            || matches!(c, '\u{300}'..='\u{36f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}');
        letters += usize::from(!c.is_ascii() && is_letter);
    }

    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let is_mostly_high = high as f64 > bytes.len() as f64 * MAX_HIGH_SHARE;
    let has_letters = letters as f64 >= beyond as f64 * MIN_LETTER_SHARE;
    faults as f64 <= f64::from(characters) * MAX_FAULT_SHARE && (!is_mostly_high || has_letters)
}

/// Decodes text of an encoding that its mark names, or that is guessed.
fn wide(bytes: &[u8], encoding: Wide, is_marked: bool) -> Result<Decoded, String> {
    let skip = if is_marked { encoding.width } else { 0 };
    let mut traced = Traced::with_capacity(bytes.len());
    let mut at = skip as u64;
    let mut faults = usize::from(!bytes.len().is_multiple_of(encoding.width));

    encoding.decode(&bytes[skip..], |character, width| {
        faults += usize::from(character.is_none());
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        traced.stand_for(character.encode_utf8(&mut [0; 4]), at, width);
        at += u64::from(width);
    });

    // a few control characters are two bytes of something else
    check_controls(traced.text.as_bytes(), 0)?;
    let name = encoding.name();
    let guess = (!is_marked).then(|| format!("read as {name}: guessed, it has no mark"));
    let faults =
        (faults > 0).then(|| format!("read with {faults} faults: not everything in it is {name}"));
    let notes = guess.into_iter().chain(faults);
    Ok(Decoded {
        traced,
        note: notes.reduce(|guess, faults| format!("{guess}; {faults}")),
    })
}

/// Refuses bytes with more control characters than text has, and says which they are. A short text
/// may have a `few`.
fn check_controls(bytes: &[u8], few: usize) -> Result<(), String> {
    // bells alone are not the recording of a terminal
    let has_text = bytes.iter().any(u8::is_ascii_graphic) || !bytes.is_ascii();
    let is_control = |byte: &u8| {
        let is_of_text = byte.is_ascii_whitespace() || (has_text && is_text_control(*byte));
        byte.is_ascii_control() && !is_of_text
    };
    let mut controls = (1..).zip(bytes).filter(|(_, byte)| is_control(byte));
    let Some((at, first)) = controls.next() else {
        return Ok(());
    };

    let count = 1 + controls.count();
    let few = few.min((bytes.len() as f64 * MAX_FEW_SHARE) as usize);
    if count <= few || count as f64 <= bytes.len() as f64 * MAX_CONTROL_SHARE {
        return Ok(());
    }
    Err(format!(
        "binary content: {count} of {} bytes are control characters, the first is {first:#04x} at byte {at}",
        bytes.len(),
    ))
}

fn check_lines(text: &str) -> Result<(), String> {
    let longest = text
        .as_bytes()
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

/// Returns whether text may contain a control character: logs and recordings of terminals have
/// white space, escape, backspace, a bell and the shifts between two sets of characters.
fn is_text_control(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0x07 | 0x08 | 0x0b | 0x0e | 0x0f | 0x1b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::code_page::CodePage;

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
        check(b"\xff\xfe\0\0a\0\0\0\x00\xf6\x01\0", "a😀", 8..12);
        check(b"\0\0\xfe\xff\0\0\0a\0\0\0b", "ab", 8..12);
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
        check(b"\x1b[1mbold\x1b[0m", "bold", 7..8);
        check(
            b"\x1b]0;title\x07$ make\r\n\x0cnext\x0e",
            "$ make\r\n\u{c}next\u{e}",
            23..24,
        );
        check(
            b"a log that ends\0\0in zeros",
            "a log that ends  in zeros",
            24..25,
        );
    }

    /// Checks that text of an encoding is read back, with the bytes of its last character.
    #[track_caller]
    fn check_encoding(label: &str, text: &str) {
        let encoding = Encoding::for_label(label.as_bytes()).expect(label);
        let (bytes, _, has_faults) = encoding.encode(text);
        assert!(!has_faults, "{label} cannot write {text}");
        let decoded = decode(bytes.to_vec()).expect(label);
        assert_eq!(decoded.traced.text, text, "{label}: {:?}", decoded.note);
        let note = decoded.note.unwrap_or_default();
        assert!(note.contains("guessed"), "{label}: {note}");

        let last = text.char_indices().last().map_or(0, |(at, _)| at);
        let origin = decoded.traced.origin.source_range(last..text.len());
        let width = encoding.encode(&text[last..]).0.len() as u64;
        let end = bytes.len() as u64;
        assert_eq!(origin, end - width..end, "{label}");
    }

    #[test]
    fn legacy_encodings_are_guessed() {
        let russian = "Маяк стоит на мысе с прошлого века. Смотритель зажигает лампу каждый вечер.";
        let japanese = "灯台は岬の上にあります。毎晩、灯台守がランプに火をつけます。";
        let chinese =
            "灯塔建在海角上。守塔人每天晚上点亮灯，为船只指引方向。这座灯塔已有一百年的历史。";
        let taiwanese =
            "燈塔建在海角上。守塔人每天晚上點亮燈，為船隻指引方向。這座燈塔已有一百年的歷史。";
        let korean = "등대는 곶 위에 서 있습니다. 등대지기는 매일 저녁 등불을 켭니다.";
        let czech = "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl strážce majáku.";
        let greek = "Ο φάρος στέκεται στο ακρωτήριο και ο φύλακας ανάβει τη λάμπα κάθε βράδυ.";
        let cases = [
            ("windows-1251", russian),
            ("koi8-r", russian),
            ("iso-8859-5", russian),
            ("ibm866", russian),
            ("shift_jis", japanese),
            ("euc-jp", japanese),
            ("gbk", chinese),
            ("big5", taiwanese),
            ("euc-kr", korean),
            ("windows-1250", czech),
            ("iso-8859-2", czech),
            ("windows-1253", greek),
        ];
        for (label, text) in cases {
            check_encoding(label, text);
        }
    }

    #[test]
    fn code_pages_of_western_europe_are_guessed() {
        let measures = "Volume 40 m³, price £12, temp 20 °C ± 2 — “quoted”.";
        let german = "Größe und Höhe für die Möwe.";
        let cases = [
            ("windows-1252", measures),
            (
                "windows-1252",
                "Name;Abfluss (m³/s);Höhe\nSchöpfwerk;3,2;4\nKöhlbrand;1.190,0;7\n",
            ),
            (
                "windows-1252",
                "5 ± 2, ½ price, no “if”s, A×B, È vero, don´t.",
            ),
            ("windows-1252", "Il est à 5 km d'ici."),
            ("windows-1252", "Der Text ist „schön“, 1 m² groß."),
            ("ISO-8859-15", "Der Preis beträgt 30 € für die Möwe."),
            ("ISO-8859-15", "Le cœur et l'œuvre de la sœur, 5 €."),
            ("IBM850", german),
            ("IBM850", "Le garçon a été très gêné à la fête."),
            ("IBM850", "Il perché è là: non è più così."),
            ("macintosh", german),
            ("macintosh", "À la forêt, où est le garçon ? Il coûte 5 €."),
            ("macintosh", "El niño está aquí, según la “tía” María."),
            (
                "windows-1250",
                "Był to mały dom, 5 zł za metr, a wąż śpi źle.",
            ),
            (
                "ISO-8859-2",
                "Był to mały dom, 5 zł za metr, a wąż śpi źle.",
            ),
        ];
        for (name, text) in cases {
            let page = CodePage::from_name(name).expect(name).characters;
            let encode = |c: char| {
                let at = page.iter().position(|other| *other == c);
                at.map_or(c as u8, |at| 0x80 + at as u8)
            };
            let bytes: Vec<u8> = text.chars().map(encode).collect();
            let decoded = decode(bytes).expect(name);
            assert_eq!(decoded.traced.text, text, "{name}: {:?}", decoded.note);
            let last = text.char_indices().last().map_or(0, |(at, _)| at);
            let origin = decoded.traced.origin.source_range(last..text.len());
            let end = text.chars().count() as u64;
            assert_eq!(origin, end - 1..end, "{name}");
        }
    }

    #[test]
    fn wide_encodings_without_mark_are_guessed() {
        let texts = [
            "The lamp burns until dawn.\r\nThen it is put out.",
            "Маяк стоит на мысе. Лампа горит до утра.",
            "灯台は岬の上にあります。\n毎晩 8 時に火をつけます。",
        ];
        for text in texts {
            let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
            let utf32 =
                |bytes: fn(u32) -> [u8; 4]| text.chars().map(u32::from).flat_map(bytes).collect();
            let cases: [(Vec<u8>, &str); 4] = [
                (utf16(u16::to_le_bytes), "UTF-16 LE"),
                (utf16(u16::to_be_bytes), "UTF-16 BE"),
                (utf32(u32::to_le_bytes), "UTF-32 LE"),
                (utf32(u32::to_be_bytes), "UTF-32 BE"),
            ];
            for (bytes, name) in cases {
                let decoded = decode(bytes).expect(name);
                assert_eq!(decoded.traced.text, text, "{name}");
                let note = decoded.note.unwrap_or_default();
                assert!(note.contains(name) && note.contains("guessed"), "{note}");
            }
        }
    }

    #[test]
    fn a_file_can_name_its_encoding() {
        let cases: [(&[u8], &str, &str); 3] = [
            (
                b"<meta charset=\"iso-8859-7\">\xe1",
                "<meta charset=\"iso-8859-7\">α",
                "ISO-8859-7, as it says",
            ),
            (
                b"# -*- coding: koi8-r -*-\n# \xcd",
                "# -*- coding: koi8-r -*-\n# м",
                "KOI8-R, as it says",
            ),
            (b"\x1b$B$\"\x1b(B!", "あ!", "ISO-2022-JP"),
        ];
        for (bytes, text, note) in cases {
            let decoded = decode(bytes.to_vec()).expect(note);
            assert_eq!(decoded.traced.text, text);
            assert!(decoded.note.unwrap_or_default().contains(note), "{note}");
        }
    }

    #[test]
    fn guesses_and_faults_are_noted() {
        let note = |bytes: &[u8]| {
            decode(bytes.to_vec())
                .expect("text")
                .note
                .unwrap_or_default()
        };
        assert!(note(b"caf\xe9 noir, please").contains("windows-1252: guessed"));
        assert!(note("äöü\u{fc}".as_bytes()).is_empty());
        assert!(note(b"\xff\xfea\0\x00\xd8b\0").contains("1 faults"));
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        let noise: Vec<u8> = (0..5000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80)
            .collect();
        let samples = (0..9000_u32).flat_map(|n| ((n % 251 * 7) as u16).to_le_bytes());
        let cases: [(Vec<u8>, &str); 7] = [
            (b"PK\x03\x04\0\0data".to_vec(), "binary"),
            ((1..=31).collect(), "binary"),
            ((128..=255).cycle().take(900).collect(), "neither UTF-8"),
            (noise, "neither UTF-8"),
            (samples.collect(), "binary"),
            (vec![b'a'; 50_000_000], "a single line of 47 MiB"),
            (vec![0; 4096], "binary"),
        ];
        for (bytes, expected) in cases {
            let reason = decode(bytes).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
