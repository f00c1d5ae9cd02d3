//! The language of a text, among those that the program distinguishes.

use whatlang::{Detector, Lang};

/// Bytes of the text that the detector reads.
const SAMPLE_BYTES: usize = 4096;
/// Minimum number of letters; a shorter ASCII text is taken for English.
const MIN_LETTERS: usize = 60;
pub(super) const DEFAULT: &str = "en";

/// Languages with rules of their own for sentences or word forms, and their ISO 639-1 codes.
const LANGUAGES: &[(Lang, &str)] = &[
    (Lang::Amh, "am"),
    (Lang::Ara, "ar"),
    (Lang::Ben, "bn"),
    (Lang::Bul, "bg"),
    (Lang::Cat, "ca"),
    (Lang::Ces, "cs"),
    (Lang::Cmn, "zh"),
    (Lang::Dan, "da"),
    (Lang::Deu, "de"),
    (Lang::Ell, "el"),
    (Lang::Eng, "en"),
    (Lang::Fin, "fi"),
    (Lang::Fra, "fr"),
    (Lang::Guj, "gu"),
    (Lang::Heb, "he"),
    (Lang::Hin, "hi"),
    (Lang::Hun, "hu"),
    (Lang::Hye, "hy"),
    (Lang::Ita, "it"),
    (Lang::Jpn, "ja"),
    (Lang::Kan, "kn"),
    (Lang::Kor, "ko"),
    (Lang::Mal, "ml"),
    (Lang::Mar, "mr"),
    (Lang::Mya, "my"),
    (Lang::Nld, "nl"),
    (Lang::Nob, "no"),
    (Lang::Pan, "pa"),
    (Lang::Pes, "fa"),
    (Lang::Pol, "pl"),
    (Lang::Por, "pt"),
    (Lang::Ron, "ro"),
    (Lang::Rus, "ru"),
    (Lang::Slk, "sk"),
    (Lang::Spa, "es"),
    (Lang::Swe, "sv"),
    (Lang::Tam, "ta"),
    (Lang::Tel, "te"),
    (Lang::Tha, "th"),
    (Lang::Tur, "tr"),
    (Lang::Ukr, "uk"),
    (Lang::Urd, "ur"),
    (Lang::Vie, "vi"),
];

/// Returns the ISO 639-1 code of the language of `text`; English when it is too short or too mixed
/// to detect it.
pub fn language(text: &str) -> &'static str {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    if sample.chars().filter(|c| c.is_alphabetic()).count() < MIN_LETTERS && sample.is_ascii() {
        return DEFAULT;
    }
    let detector = Detector::with_allowlist(LANGUAGES.iter().map(|(lang, _)| *lang).collect());
    let Some(info) = detector.detect(sample).filter(whatlang::Info::is_reliable) else {
        return DEFAULT;
    };
    LANGUAGES
        .iter()
        .find(|(lang, _)| *lang == info.lang())
        .map_or(DEFAULT, |(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn languages_are_detected() {
        let cases = [
            ("Kurz.", "en"),
            ("", "en"),
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
