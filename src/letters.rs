//! The letters of a text in one form, by which words, names, answers and filters are compared: a
//! text is found however its letters were typed and stored. What is shown and cited stays as it is.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::decompose_canonical;

/// The zeros of the decimal digits that scripts have beside the ASCII ones; those of full width and
/// the mathematical ones are compatibility forms.
const ZEROS: &[char] = &[
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
    '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}',
    '\u{17e0}', '\u{1810}',
];

/// The signs that end a sentence.
pub const SENTENCE_ENDS: [char; 6] = ['.', '!', '?', '。', '！', '？'];

/// Returns a text in its normal form: NFKC, without characters that are not seen and without the
/// points and vowel signs of Hebrew and Arabic and the nukta of Hindi, with one letter where Arabic
/// and Persian keyboards or spellings have two, and with ASCII digits. Case and accents stay.
pub fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let seen = text.chars().filter(|c| !is_unseen(*c));
    // NFKC joins what systems write apart and replaces forms for typesetting, such as ﬁ
    let letters = seen.nfkc().filter(|c| !is_point(*c)).flat_map(plain);
    Cow::Owned(letters.collect())
}

/// Returns a text in its normal form and in lower case, with one letter for the i of Turkish with
/// and without its dot: as names are compared whose case does not matter.
pub fn fold_case(text: &str) -> String {
    let lower = normal(text).to_lowercase();
    lower
        .replace("i\u{307}", "i")
        .replace('ı', "i")
        .replace('ς', "σ")
}

/// Returns whether two texts are the same in their normal form.
pub fn are_same(one: &str, other: &str) -> bool {
    one == other || (!one.is_ascii() && normal(one) == normal(other))
}

/// Returns the text in lower case, without ASCII punctuation, then without articles, and with
/// single spaces.
pub fn normalise(text: &str) -> String {
    let without_punctuation: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';

    let mut kept = String::with_capacity(without_punctuation.len());
    let mut rest = without_punctuation.as_str();
    while let Some(first) = rest.chars().next() {
        let in_word = is_word(first);
        let end = rest
            .find(|c: char| is_word(c) != in_word)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        // the normalisation of SQuAD's evaluation, by which exact match is compared
        let is_article = in_word && matches!(run, "a" | "an" | "the");
        kept.push_str(if is_article { " " } else { run });
        rest = after;
    }
    kept.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns the text as [`normalise`] does, in its normal form and with each word by itself, to
/// search a phrase in it: `time.sleep(2)` has the words `time`, `sleep` and `2`. Punctuation inside
/// a number, apostrophes, hyphens and the points of an abbreviation part nothing.
pub fn separate_words(text: &str) -> String {
    let text = normal(text);
    let mut separated = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let mut after = rest.clone();
        let next = after.next();
        let is_in_number = [before, next]
            .iter()
            .all(|beside| beside.is_some_and(char::is_numeric));
        let parts = match c {
            '\'' | '-' => false,
            '.' => [next, after.next()]
                .iter()
                .all(|letter| letter.is_some_and(char::is_alphabetic)),
            c => c.is_ascii_punctuation() && !is_in_number,
        };
        separated.push(if parts { ' ' } else { c });
        before = Some(c);
    }
    normalise(&separated)
}

/// Returns whether a text holds the words of a phrase, both [`normalise`]: "14" is not in "1914".
/// The last word may be in its plural.
pub fn holds(text: &str, phrase: &str) -> bool {
    let is_of_word = |c: &char| c.is_alphanumeric() && !is_dense(*c);
    let starts_inside = |c: Option<char>| c.as_ref().is_some_and(is_of_word);
    let [starts_with_word, ends_with_word] =
        [phrase.chars().next(), phrase.chars().next_back()].map(starts_inside);

    let mut found = text.match_indices(phrase).filter(|_| !phrase.is_empty());
    found.any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + phrase.len()..].chars();
        let ending: String = after.take_while(is_of_word).collect();
        let is_start = !starts_with_word || !starts_inside(before);
        is_start && (!ends_with_word || matches!(ending.as_str(), "" | "s" | "es"))
    })
}

/// Returns a lower-case word in normal form without its accents: as users type it who have no keys
/// for them.
pub fn without_accents(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut bare = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => bare.push_str("ss"),
            'æ' => bare.push_str("ae"),
            'œ' => bare.push_str("oe"),
            'þ' => bare.push_str("th"),
            'ø' => bare.push('o'),
            'đ' | 'ð' => bare.push('d'),
            'ł' => bare.push('l'),
            'ħ' => bare.push('h'),
            'ı' => bare.push('i'),
            'ŋ' => bare.push('n'),
            'ŧ' => bare.push('t'),
            'ς' => bare.push('σ'),
            'ё' => bare.push('е'),
            // Latin and Greek; an accent makes another letter of one in most other scripts
            '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}' => {
                decompose_canonical(c, |part| {
                    if !is_accent(part) {
                        bare.push(part);
                    }
                });
            }
            c if is_accent(c) => {}
            c => bare.push(c),
        }
    }
    Cow::Owned(bare)
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Returns whether a character is not seen: joiners and non-joiners, soft hyphens, places where a
/// line may break, marks of direction, selectors of variants.
pub fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{feff}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns whether the sign at a position is a gershayim: Hebrew keyboards have none, and between
/// two Hebrew letters a quotation mark is one.
pub fn is_gershayim(text: &str, at: usize) -> bool {
    let is_hebrew = |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{5d0}'..='\u{5f2}'));
    let behind = text[at..].strip_prefix('"');
    behind.is_some_and(|rest| is_hebrew(rest.chars().next()))
        && is_hebrew(text[..at].chars().next_back())
}

/// Returns whether a character is a sign that Hebrew, Arabic, Syriac and Hindi texts have or leave
/// out: points, vowel signs, signs of recitation, the line that stretches a word, the nukta.
fn is_point(c: char) -> bool {
    matches!(
        c,
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}'
        | '\u{6ea}'..='\u{6ed}' | '\u{730}'..='\u{74a}' | '\u{8d3}'..='\u{8ff}' | '\u{93c}'
    )
}

/// Returns the letters or the digit that stand for this one.
fn plain(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        // the letters of Yiddish that are two of Hebrew
        '\u{5f0}' => ('ו', Some('ו')),
        '\u{5f1}' => ('ו', Some('י')),
        '\u{5f2}' => ('י', Some('י')),
        c => (plain_letter(c), None),
    };
    std::iter::once(first).chain(second)
}

fn plain_letter(c: char) -> char {
    match c {
        // alef maksura, the Persian ye, ye with hamza
        '\u{649}' | '\u{6cc}' | '\u{626}' => '\u{64a}',
        // waw with hamza
        '\u{624}' => '\u{648}',
        // the Persian kaf
        '\u{6a9}' => '\u{643}',
        // alef with hamza or madda, alef wasla
        '\u{622}' | '\u{623}' | '\u{625}' | '\u{671}' => '\u{627}',
        // teh marbuta, he with hamza, the Urdu he, he with two eyes
        '\u{629}' | '\u{6c0}' | '\u{6c1}' | '\u{6be}' => '\u{647}',
        '\0'..'\u{660}' => c,
        c => ascii_digit(c),
    }
}

fn ascii_digit(c: char) -> char {
    let after = ZEROS.partition_point(|zero| *zero <= c);
    let zero = ZEROS[..after].last().copied().unwrap_or(c);
    let digit = c as u32 - zero as u32;
    if after > 0 && digit < 10 {
        char::from(b'0' + digit as u8)
    } else {
        c
    }
}

/// Returns whether a character is of a script that writes without spaces between words.
pub fn is_dense(c: char) -> bool {
    is_south_east_asian(c)
        || matches!(
            c,
            // kana, ideographs, Hangul
            '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30fa}'
            | '\u{30fc}'..='\u{31ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
        )
        // the letters of decomposed Hangul
        || matches!(c, '\u{1100}'..='\u{11ff}')
}

/// Returns whether a character is Thai, Lao, Burmese or Khmer, and not a digit.
pub fn is_south_east_asian(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        && ascii_digit(c) == c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_one_form() {
        let cases = [
            ("decomposed", "Bru\u{308}cke", "Brücke"),
            ("Hangul", "\u{1103}\u{1173}\u{11bc}\u{1103}\u{1162}", "등대"),
            ("full width", "ＡＢＣ１２：Ｃ＋＋", "ABC12:C++"),
            ("half width", "ｶﾞｽ", "ガス"),
            ("ligatures", "oﬃce ﬂag", "office flag"),
            ("raised", "m² H₂O", "m2 H2O"),
            ("soft hyphens", "light\u{ad}house", "lighthouse"),
            (
                "break",
                "light\u{200b}house\u{2060}s\u{feff}",
                "lighthouses",
            ),
            ("joiners", "کتاب\u{200c}ها", "كتابها"),
            ("points", "הַמִּגְדַּלּוֹר", "המגדלור"),
            ("pointed forms", "שּׁ \u{fb2a}", "ש ש"),
            ("vowel signs", "مُحَمَّد", "محمد"),
            ("stretched", "العـــربية", "العربية"),
            ("presentation forms", "\u{fedf}\u{fe8e}", "لا"),
            ("alef", "أحمد إلى آب", "احمد الي اب"),
            ("Urdu", "یہ", "يه"),
            ("digits", "٢٠١٩ ۱۳ १२ ๔๕ ၇", "2019 13 12 45 7"),
            ("nukta", "किला ज़मीन", "क़िला जमीन"),
            ("teh marbuta, hamza", "مكتبة مسؤول رئيس", "مكتبه مسوول رييس"),
            ("Yiddish", "װ ױ ײַ", "וו וי יי"),
            ("unchanged", "Día İz ё й", "Día İz ё й"),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(normal(text), normal(expected).as_ref(), "{kind}");
            assert!(are_same(text, expected), "{kind}");
        }
        assert_eq!(normal("ＡＢＣ\u{ad}１"), "ABC1");
        assert!(!are_same("Brücke", "Brucke") && !are_same("a", "A"));
    }

    #[test]
    fn names_are_compared_without_their_case() {
        for name in ["İzmir", "I\u{307}ZMIR", "i\u{307}zmir", "ızmır", "IZMIR"] {
            assert_eq!(fold_case(name), "izmir", "{name}");
        }
        assert_eq!(fold_case("ΟΔΟΣ"), fold_case("οδος"));
        assert_ne!(fold_case("Brücke"), fold_case("Brucke"));
    }

    #[test]
    fn accents_of_latin_and_greek_are_left_out() {
        for (word, expected) in [
            ("brûlée", "brulee"),
            ("straße", "strasse"),
            ("łódź", "lodz"),
            ("smørrebrød", "smorrebrod"),
            ("i\u{307}zmir", "izmir"),
            ("ışık", "isik"),
            ("việt", "viet"),
            ("άνθρωπος", "ανθρωποσ"),
            ("ёж", "еж"),
            ("за\u{301}мок", "замок"),
            ("чай", "чай"),
            ("ガス", "ガス"),
        ] {
            assert_eq!(without_accents(word), expected, "{word}");
        }
    }

    #[test]
    fn a_phrase_is_held_by_its_words() {
        for (text, phrase, expected) in [
            ("It opened in 1914.", "14", false),
            ("It opened on 14 May.", "14", true),
            ("The Steam engines, in 1712", "steam engine", true),
            ("an article", "art", false),
            ("2,000 ships", "2000", true),
            ("彼は東京に住む", "東京", true),
            ("anything", "", false),
        ] {
            let is_held = holds(&normalise(text), &normalise(phrase));
            assert_eq!(is_held, expected, "{phrase} in {text}");
        }
    }

    #[test]
    fn a_phrase_is_held_beside_the_signs_of_code() {
        let code = "frame = port.request(address, 0x5b); time.sleep(2 ** attempt)";
        for (text, phrase, expected) in [
            (code, "time.sleep", true),
            (code, "port.request", true),
            (code, "sleep(2", true),
            (code, "request", true),
            (code, "quest", false),
            ("tries=4", "tries", true),
            ("read_meter(port)", "read_meter", true),
            ("It costs 2,340 EUR.", "340 EUR", false),
            ("It costs 2,340 EUR.", "2340 EUR", true),
            ("the U.S. and an e-mail", "US", true),
            ("the U.S. and an e-mail", "email", true),
        ] {
            let is_held = holds(&separate_words(text), &separate_words(phrase));
            assert_eq!(is_held, expected, "{phrase} in {text}");
        }
    }

    #[test]
    fn digits_of_scripts_without_spaces_are_not_dense() {
        assert!(
            ['ก', 'ည', 'ខ', '灯', 'カ', '등', '\u{1103}']
                .into_iter()
                .all(is_dense)
        );
        assert!(!['๔', '၇', '១', 'a', '7'].into_iter().any(is_dense));
    }
}
