//! The code pages of Western Europe: text without a mark is in the one where its letters and signs
//! are at their places: `40 m³` and not `40 mł`, `Größe` and not `Gr”áe`.

use encoding_rs::Encoding;
use mail_parser::decoders::charsets::map::charset_decoder;

use super::offsets::Traced;

/// The code pages of Western Europe: those of Windows and of Unix, of DOS, and of old Macs.
const WESTERN: [&str; 2] = ["windows-1252", "ISO-8859-15"];
const OLD_MACHINES: [&str; 2] = ["IBM850", "macintosh"];
/// A page of an old machine has this many times fewer odd characters than any other.
const MIN_ODD_RATIO: usize = 2;
/// Units of length in front of the sign of a square or a cube.
const LENGTHS: [&[u8]; 5] = [b"m", b"mm", b"cm", b"dm", b"km"];
/// Letters that are words of some language.
const WORDS: &str = "àèéêìíòóùúåæöøőÀÈÉÊÌÍÒÓÙÚÅÆÖØŐ";
/// Signs that are between letters in some language: `don’t`, `col·legi`, `A×B`.
const SIGNS_IN_WORDS: &str = "’‘–—…·×÷±°«»\u{ad}";

/// A legacy encoding of one byte per character.
pub(super) struct CodePage {
    pub(super) name: &'static str,
    /// The characters of the bytes from 0x80 on.
    pub(super) characters: Vec<char>,
}

impl CodePage {
    /// Returns the code page with this name, which may be one that encoding_rs does not know.
    pub(super) fn from_name(name: &'static str) -> Option<Self> {
        match Encoding::for_label(name.as_bytes()) {
            Some(encoding) => Self::from_encoding(encoding),
            None => Self::new(name, charset_decoder(name.as_bytes())?),
        }
    }

    /// Returns the code page of an encoding; `None` for one of several bytes per character.
    fn from_encoding(encoding: &'static Encoding) -> Option<Self> {
        let decode = |high: &[u8]| encoding.decode_without_bom_handling(high).0.into_owned();
        Self::new(encoding.name(), decode).filter(|_| encoding.is_single_byte())
    }

    fn new(name: &'static str, decode: impl FnOnce(&[u8]) -> String) -> Option<Self> {
        let high: Vec<u8> = (0x80..=0xff).collect();
        let characters: Vec<char> = decode(&high).chars().collect();
        (characters.len() == high.len()).then_some(Self { name, characters })
    }

    fn character(&self, byte: u8) -> char {
        let at = byte.checked_sub(0x80).map(usize::from);
        at.map_or(char::from(byte), |at| self.characters[at])
    }

    pub(super) fn decode(&self, bytes: &[u8]) -> Traced {
        let mut traced = Traced::with_capacity(bytes.len() + bytes.len() / 2);
        let mut at = 0;
        for run in bytes.chunk_by(|one, next| one.is_ascii() && next.is_ascii()) {
            if run.is_ascii() {
                traced.copy(std::str::from_utf8(run).unwrap_or_default(), at);
            } else {
                let character = self.character(run[0]);
                traced.stand_for(character.encode_utf8(&mut [0; 4]), at, 1);
            }
            at += run.len() as u64;
        }
        traced
    }

    /// Returns the number of the bytes beyond ASCII that are letters.
    fn count_letters(&self, bytes: &[u8]) -> usize {
        let high = bytes.iter().filter(|byte| !byte.is_ascii());
        high.filter(|byte| is_letter(self.character(**byte)))
            .count()
    }

    /// Returns the number of characters beyond ASCII that are not where text has them: a sign
    /// inside of a word, a letter alone or beside a number, a capital behind a small letter.
    fn count_odd(&self, bytes: &[u8]) -> usize {
        let mut odd = 0;
        let mut opened = ' ';
        for (at, byte) in bytes.iter().enumerate().filter(|(_, b)| !b.is_ascii()) {
            let neighbour = |at: Option<usize>| {
                let byte = at.and_then(|at| bytes.get(at));
                byte.map_or(' ', |byte| self.character(*byte))
            };
            let before = neighbour(at.checked_sub(1));
            let c = self.character(*byte);
            let after = neighbour(Some(at + 1));
            let joins = [is_letter(before), is_letter(after)];

            let is_quote = matches!(
                (opened, c),
                ('“', '”') | ('„', '“') | ('‘', '’') | ('‚', '‘')
            );
            opened = if is_quote { ' ' } else { opened };
            if matches!(c, '“' | '„' | '‘' | '‚') && !is_quote {
                opened = c;
            }
            let is_odd = if is_letter(c) {
                (joins == [false; 2] && !WORDS.contains(c))
                    || (c.is_uppercase() && before.is_lowercase() && joins[0])
                    || (!joins[1] && ends_with_length(&bytes[..at]))
            } else {
                let is_usual = is_quote || c.is_whitespace() || SIGNS_IN_WORDS.contains(c);
                // the marks of letters without their letters, and the sign of any currency
                let is_rare = matches!(c, '\u{2b0}'..='\u{2ff}' | '¤' | '\u{fffd}');
                is_rare || c.is_control() || (joins == [true; 2] && !is_usual && !is_mark(c))
            };
            odd += usize::from(is_odd);
        }
        odd
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !matches!(c, 'ª' | 'º' | 'µ' | 'ƒ' | '\u{2b0}'..='\u{2ff}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn ends_with_length(bytes: &[u8]) -> bool {
    let begin = bytes.iter().rposition(|byte| !byte.is_ascii_alphabetic());
    let word = &bytes[begin.map_or(0, |at| at + 1)..];
    LENGTHS.contains(&word)
}

/// Returns the code page of Western Europe that a text of letters like those is rather in than in
/// the one that was guessed.
pub(super) fn western_page(bytes: &[u8], guess: &'static Encoding) -> Option<CodePage> {
    let page = CodePage::from_encoding(guess)?;
    let is_latin = |c: &char| !c.is_alphabetic() || *c < '\u{300}';
    let mut least = page.count_odd(bytes);
    if least == 0 || !page.characters.iter().all(is_latin) {
        return None;
    }

    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let mut found = None;
    for name in WESTERN.into_iter().chain(OLD_MACHINES) {
        let Some(page) = CodePage::from_name(name) else {
            continue;
        };
        let is_old = OLD_MACHINES.contains(&name);
        let odd = page.count_odd(bytes);
        let is_better = if is_old {
            odd * MIN_ODD_RATIO < least && page.count_letters(bytes) * 2 > high
        } else {
            odd < least
        };
        if is_better {
            least = odd;
            found = Some(page);
        }
    }
    found
}
