//! The language of a passage: a document may have sections, quotations or mails in another than
//! most of its text.

use tantivy::tokenizer::Token;

use super::analyser::{STOP_MARK, chunk_words};
use super::stop_words::language_name;
use crate::corpus::detect_language;

/// Fewer words do not show a language.
const MIN_WORDS: usize = 12;
/// The share of stop words that running text in a language at least has; in another language few
/// words are written alike.
const RUNNING_TEXT: f32 = 0.15;

/// Returns the words of a passage and the language that they are in: that of its document, or
/// another that it is clearly in.
pub(super) fn passage_words<'l>(text: &str, of_document: &'l str) -> (Vec<Token>, &'l str) {
    let words = chunk_words(text, of_document);
    let share = stop_word_share(&words);
    // most passages end here: to detect a language takes longer than the words
    if words.len() < MIN_WORDS || share >= RUNNING_TEXT || has_many_signs(text) {
        return (words, of_document);
    }

    let Some(own) = detect_language(text).filter(|own| *own != of_document) else {
        return (words, of_document);
    };
    let own_words = chunk_words(text, own);
    let is_clear = if language_name(own).is_some() {
        stop_word_share(&own_words) >= RUNNING_TEXT
    } else {
        // names and code may look like a language without a list
        !text.is_ascii()
    };
    if is_clear {
        (own_words, own)
    } else {
        (words, of_document)
    }
}

/// Returns whether a text is code or a table rather than sentences, where about one byte in thirty
/// is a digit or a sign.
fn has_many_signs(text: &str) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_punctuation();
    text.bytes().filter(is_sign).count() * 10 > text.len()
}

fn stop_word_share(words: &[Token]) -> f32 {
    let stop_words = words.iter().filter(|word| word.text.starts_with(STOP_MARK));
    stop_words.count() as f32 / words.len().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_has_the_language_that_it_is_clearly_in() {
        let german = "Die Werkstatt ist von Montag bis Freitag geöffnet, und an Feiertagen bleibt sie geschlossen.";
        let english =
            "The workshop is open from Monday to Friday, and it stays closed on public holidays.";
        let polish = "Warsztat jest otwarty codziennie. W święta państwowe pozostaje zamknięty, ponieważ wszyscy pracownicy mają wtedy wolne.";
        let names = "Anna Berger, Jonas Weber, Lena Fischer, Paul Wagner, Maria Schulz, Emil Koch, Rosa Vogt";
        let code = "let total = rows.iter().map(|row| row.price * row.count).sum::<f64>(); print(total, unit, date);";
        let cases = [
            (german, "en", "de"),
            (german, "de", "de"),
            (german, "fr", "de"),
            (english, "de", "en"),
            (english, "pl", "en"),
            (polish, "en", "pl"),
            (polish, "pl", "pl"),
            (names, "en", "en"),
            (code, "en", "en"),
            (code, "de", "de"),
            ("Bitte klingeln und warten.", "en", "en"),
        ];
        for (text, of_document, own) in cases {
            assert_eq!(passage_words(text, of_document).1, own, "{text}");
        }
    }
}
