//! The language of a text, among those that the program distinguishes.

use whatlang::{Detector, Lang, Script, detect_script};

/// Bytes of the text that the detector reads.
const SAMPLE_BYTES: usize = 2048;
/// Parts of a long text that are read: its beginning may be a licence or a summary in another
/// language.
const SAMPLES: usize = 3;
/// Minimum number of letters; a shorter ASCII text is taken for English.
const MIN_LETTERS: usize = 60;
pub(super) const DEFAULT: &str = "en";

/// Languages with rules of their own for sentences or word forms, and their ISO 639-1 codes.
#[rustfmt::skip]
const LANGUAGES: &[(Lang, &str)] = &[
    (Lang::Amh, "am"), (Lang::Ara, "ar"), (Lang::Ben, "bn"), (Lang::Bul, "bg"), (Lang::Cat, "ca"),
    (Lang::Ces, "cs"), (Lang::Cmn, "zh"), (Lang::Dan, "da"), (Lang::Deu, "de"), (Lang::Ell, "el"),
    (Lang::Eng, "en"), (Lang::Fin, "fi"), (Lang::Fra, "fr"), (Lang::Guj, "gu"), (Lang::Heb, "he"),
    (Lang::Hin, "hi"), (Lang::Hun, "hu"), (Lang::Hye, "hy"), (Lang::Ita, "it"), (Lang::Jpn, "ja"),
    (Lang::Kan, "kn"), (Lang::Kor, "ko"), (Lang::Mal, "ml"), (Lang::Mar, "mr"), (Lang::Mya, "my"),
    (Lang::Nld, "nl"), (Lang::Nob, "no"), (Lang::Pan, "pa"), (Lang::Pes, "fa"), (Lang::Pol, "pl"),
    (Lang::Por, "pt"), (Lang::Ron, "ro"), (Lang::Rus, "ru"), (Lang::Slk, "sk"), (Lang::Spa, "es"),
    (Lang::Swe, "sv"), (Lang::Tam, "ta"), (Lang::Tel, "te"), (Lang::Tha, "th"), (Lang::Tur, "tr"),
    (Lang::Ukr, "uk"), (Lang::Urd, "ur"), (Lang::Vie, "vi"),
];

/// The language of a script for texts that are too short to detect theirs: the first row with a
/// letter that the text has, or without letters.
const LANGUAGE_OF_SCRIPT: &[(Script, &str, &str)] = &[
    (Script::Arabic, "ٹڈڑںےہھ", "ur"),
    (Script::Arabic, "پچژگ", "fa"),
    (Script::Arabic, "", "ar"),
    (Script::Cyrillic, "іїєґІЇЄҐ", "uk"),
    (Script::Cyrillic, "", "ru"),
    (Script::Devanagari, "ळ", "mr"),
    (Script::Devanagari, "", "hi"),
    (Script::Hebrew, "", "he"),
];

/// Returns the ISO 639-1 code of the language that most of `text` is in. Where it is too short or
/// too mixed to detect it, that of its script, and English for Latin letters.
pub fn language(text: &str) -> &'static str {
    let by_script = || samples(text).into_iter().find_map(language_by_script);
    detect_language(text).or_else(by_script).unwrap_or(DEFAULT)
}

/// Returns the ISO 639-1 code of the language that most of `text` is in; `None` where it is too
/// short or too mixed to detect it.
pub fn detect_language(text: &str) -> Option<&'static str> {
    let detector = Detector::with_allowlist(LANGUAGES.iter().map(|(lang, _)| *lang).collect());
    let samples = samples(text);
    let detected = samples.iter().filter_map(|text| detect(&detector, text));
    let found: Vec<Lang> = detected.collect();
    let votes = |lang: &&Lang| found.iter().filter(|other| other == lang).count();
    // the last of several with as many votes is the first in the text
    let most = found.iter().rev().max_by_key(votes);
    let code = LANGUAGES.iter().find(|(lang, _)| Some(lang) == most);
    code.map(|(_, code)| *code)
}

fn language_by_script(text: &str) -> Option<&'static str> {
    let script = detect_script(text)?;
    let is_of_text = |(of, letters, _): &&(Script, &str, &str)| {
        *of == script && (letters.is_empty() || text.contains(|c| letters.contains(c)))
    };
    let row = LANGUAGE_OF_SCRIPT.iter().find(is_of_text);
    row.map(|(_, _, code)| *code)
}

/// Returns a short text, or parts of a long one.
fn samples(text: &str) -> Vec<&str> {
    if text.len() <= SAMPLE_BYTES {
        return vec![text];
    }
    let parts = (0..SAMPLES).map(|part| {
        let start = text.floor_char_boundary(text.len() / SAMPLES * part);
        let end = text.floor_char_boundary(start + SAMPLE_BYTES / SAMPLES);
        &text[start..end]
    });
    parts.collect()
}

fn detect(detector: &Detector, sample: &str) -> Option<Lang> {
    let letters = sample.chars().filter(|c| c.is_alphabetic()).count();
    // few letters of ASCII fit many languages, while another script names its own
    if letters < MIN_LETTERS && sample.is_ascii() {
        return None;
    }
    let detected = detector.detect(sample)?;
    detected.is_reliable().then(|| detected.lang())
}

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn a_long_text_is_read_in_several_places() {
        let licence =
            "This text may be copied and changed by all who keep this notice. ".repeat(70);
        let text = "Der Leuchtturm am Kap wird noch immer von einer Familie betreut. ".repeat(400);
        assert!(licence.len() > 2 * super::SAMPLE_BYTES);
        assert_eq!(language(&format!("{licence}{text}")), "de");
        assert_eq!(language(&format!("{text}{licence}")), "de");
        assert_eq!(
            language(&"灯台は今でも同じ家族が守っています。".repeat(300)),
            "ja"
        );
    }

    #[test]
    fn languages_are_detected() {
        let cases = [
            ("Kurz.", "en"),
            ("", "en"),
            ("L'école.", "en"),
            ("Ключ лежит под лампой.", "ru"),
            ("Ключі від маяка.", "uk"),
            ("مفتاح المكتبة", "ar"),
            ("کلید پنجره", "fa"),
            ("چابی یہاں ہے", "ur"),
            ("चाबी दराज में है", "hi"),
            ("Το κλειδί", "el"),
            ("המפתח", "he"),
            ("Key: ключ", "ru"),
            (
                "The lighthouse on the northern cape was built in 1871 and is still kept by a family of keepers.",
                "en",
            ),
            (
                "Der Leuchtturm am nördlichen Kap wurde 1871 gebaut und wird noch immer von einer Familie betreut.",
                "de",
            ),
            (
                "Le phare du cap nord a été construit en 1871 et il est toujours gardé par la même famille.",
                "fr",
            ),
            (
                "灯台は一八七一年に建てられ、今でも同じ家族が守っています。",
                "ja",
            ),
            ("这座灯塔建于一八七一年，至今仍由同一个家庭看守。", "zh"),
        ];
        for (text, code) in cases {
            assert_eq!(language(text), code, "{text}");
        }
    }
}
