//! Splits text into the words of the lexical index: by the document's language, with pairs of
//! characters where a script writes without spaces. An identifier (`parseHeader`, `parse_header`)
//! is a word as a whole, and so is each of its parts.

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, Stemmer, StopWordFilter,
    TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// Longer words are noise: encoded data, rows of hashes.
const MAX_WORD_BYTES: usize = 100;
/// A question has fewer words; a pasted page must not become a query of thousands of clauses.
const MAX_QUERY_WORDS: usize = 256;

/// Returns the words of a chunk, with positions.
pub(in crate::index) fn chunk_words(text: &str, language: &str) -> Vec<Token> {
    words(text, language, Pairs::AndSingles)
}

/// Returns the distinct words of a question as documents in any of `languages` would contain them.
/// The question is plain text: nothing in it is syntax.
pub(in crate::index) fn query_words<'a>(
    text: &str,
    languages: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut distinct = Vec::new();
    for language in languages {
        for token in words(text, language, Pairs::Alone) {
            if distinct.len() < MAX_QUERY_WORDS && !distinct.contains(&token.text) {
                distinct.push(token.text);
            }
        }
    }
    distinct
}

/// Returns whether the word is none of the language's stop words.
pub fn is_content_word(word: &str, language: &str) -> bool {
    !words(word, language, Pairs::Alone).is_empty()
}

fn words(text: &str, language: &str, pairs: Pairs) -> Vec<Token> {
    let mut words = Vec::new();
    analyser(language, pairs)
        .token_stream(text)
        .process(&mut |token| words.push(token.clone()));
    words
}

fn analyser(code: &str, pairs: Pairs) -> TextAnalyzer {
    let language = language(code);
    let splitter = Splitter {
        pairs,
        keeps_apostrophes: !matches!(language, Some(Language::French | Language::Italian)),
    };
    let mut builder = TextAnalyzer::builder(splitter)
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .filter(LowerCaser)
        .dynamic();
    if let Some(language) = language {
        if let Some(stop_words) = StopWordFilter::new(language) {
            builder = builder.filter_dynamic(stop_words);
        }
        builder = builder.filter_dynamic(Stemmer::new(language));
    }
    // last: stemmers know accents, users leave them out
    builder.filter_dynamic(AsciiFoldingFilter).build()
}

/// Returns the stemmer of an ISO 639 code of two or three letters.
fn language(code: &str) -> Option<Language> {
    Some(match code {
        "ar" | "ara" => Language::Arabic,
        "da" | "dan" => Language::Danish,
        "nl" | "nld" => Language::Dutch,
        "en" | "eng" => Language::English,
        "fi" | "fin" => Language::Finnish,
        "fr" | "fra" => Language::French,
        "de" | "deu" => Language::German,
        "el" | "ell" => Language::Greek,
        "hu" | "hun" => Language::Hungarian,
        "it" | "ita" => Language::Italian,
        "no" | "nb" | "nn" | "nob" | "nno" => Language::Norwegian,
        "pt" | "por" => Language::Portuguese,
        "ro" | "ron" => Language::Romanian,
        "ru" | "rus" => Language::Russian,
        "es" | "spa" => Language::Spanish,
        "sv" | "swe" => Language::Swedish,
        "ta" | "tam" => Language::Tamil,
        "tr" | "tur" => Language::Turkish,
        _ => return None,
    })
}

/// The words that a run of characters without spaces becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    /// Every character and every pair: documents.
    AndSingles,
    /// Pairs, and the character itself when it has no neighbour: questions, so that single
    /// characters do not outweigh the pairs.
    Alone,
}

/// Splits text into words.
#[derive(Clone)]
struct Splitter {
    pairs: Pairs,
    /// Whether an apostrophe is part of a word, as in `don't`; in French and Italian it divides two
    /// (`l'homme`).
    keeps_apostrophes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Word,
    Dense,
    Apostrophe,
    Underscore,
    Other,
}

fn kind(c: char) -> CharacterKind {
    match c {
        // Thai, Lao, Burmese, Khmer; kana, ideographs, Hangul
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            CharacterKind::Dense
        }
        '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30fa}'
        | '\u{30fc}'..='\u{31ff}'
        | '\u{3400}'..='\u{9fff}' => CharacterKind::Dense,
        '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}' => CharacterKind::Dense,
        '\'' | '\u{2019}' => CharacterKind::Apostrophe,
        '_' => CharacterKind::Underscore,
        // signs that belong to the previous letter: combining accents, Arabic and Hebrew points,
        // Indic vowels
        '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05bd}' | '\u{064b}'..='\u{0652}' => {
            CharacterKind::Word
        }
        '\u{0964}' | '\u{0965}' => CharacterKind::Other,
        '\u{0900}'..='\u{0dff}' => CharacterKind::Word,
        c if c.is_alphanumeric() => CharacterKind::Word,
        _ => CharacterKind::Other,
    }
}

impl Tokenizer for Splitter {
    type TokenStream<'a> = Words;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words {
        let mut words = Words::default();
        let mut run = (CharacterKind::Other, 0);
        let mut before = None;
        for (at, c) in text.char_indices() {
            let mut kind = kind(c);
            if matches!(kind, CharacterKind::Apostrophe | CharacterKind::Underscore) {
                let next = text[at + c.len_utf8()..].chars().next().map(self::kind);
                let is_inside = run.0 == CharacterKind::Word
                    && before.is_some()
                    && next == Some(CharacterKind::Word);
                kind = if is_inside && (self.keeps_apostrophes || kind == CharacterKind::Underscore)
                {
                    CharacterKind::Word
                } else {
                    CharacterKind::Other
                };
            }
            if kind != run.0 {
                words.add_run(text, run.0, run.1..at, self.pairs);
                run = (kind, at);
            }
            before = Some(c);
        }
        words.add_run(text, run.0, run.1..text.len(), self.pairs);
        words
    }
}

/// The words of a text, one after another.
#[derive(Default)]
struct Words {
    tokens: Vec<Token>,
    /// Number of tokens that the stream has returned.
    given: usize,
    positions: usize,
}

impl Words {
    fn add_run(
        &mut self,
        text: &str,
        kind: CharacterKind,
        run: std::ops::Range<usize>,
        pairs: Pairs,
    ) {
        match kind {
            CharacterKind::Word => self.add_word(text, run),
            CharacterKind::Dense => self.add_dense(text, run, pairs),
            CharacterKind::Apostrophe | CharacterKind::Underscore | CharacterKind::Other => {}
        }
    }

    /// Adds a word. An identifier has the position of its first part.
    fn add_word(&mut self, text: &str, run: std::ops::Range<usize>) {
        let parts = identifier_parts(text, run.clone());
        if parts.first() != Some(&run) {
            self.add(text, run, self.positions);
        }
        for part in &parts {
            self.add(text, part.clone(), self.positions);
            self.positions += 1;
        }
        self.positions += usize::from(parts.is_empty());
    }

    fn add_dense(&mut self, text: &str, run: std::ops::Range<usize>, pairs: Pairs) {
        let mut starts: Vec<usize> = text[run.clone()]
            .char_indices()
            .map(|(at, _)| run.start + at)
            .collect();
        let characters = starts.len();
        starts.push(run.end);
        for i in 0..characters {
            if pairs == Pairs::AndSingles || characters == 1 {
                self.add(text, starts[i]..starts[i + 1], self.positions);
            }
            if let Some(end) = starts.get(i + 2) {
                self.add(text, starts[i]..*end, self.positions);
            }
            self.positions += 1;
        }
    }

    fn add(&mut self, text: &str, at: std::ops::Range<usize>, position: usize) {
        self.tokens.push(Token {
            offset_from: at.start,
            offset_to: at.end,
            position,
            text: text[at].replace('\u{2019}', "'"),
            position_length: 1,
        });
    }
}

/// Returns the parts of an identifier that are words of their own: between underscores, and where
/// capitals begin a part, as in `parse|Http` and `HTTP|Header2`. Digits belong to the part before
/// them. A word that is no identifier is its only part. Single letters between capitals are left
/// out.
fn identifier_parts(text: &str, run: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
    let mut parts = Vec::new();
    let mut start = run.start;
    for name in text[run].split('_') {
        let end = start + name.len();
        let mut part_start = start;
        for capital in capitals(name) {
            parts.push(part_start..start + capital);
            part_start = start + capital;
        }

        let has_capitals = part_start > start;
        parts.push(part_start..end);
        if has_capitals {
            parts.retain(|part| part.start < start || part.len() > 1);
        }
        start = end + 1;
    }
    parts
}

/// Returns where inside a name a capital begins a part.
fn capitals(name: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before: Option<char> = None;
    let mut rest = name.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next_is_lower = rest.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = before.is_some_and(|before| {
            let after_lower = before.is_lowercase();
            let ends_capitals = (before.is_uppercase() || before.is_numeric()) && next_is_lower;
            c.is_uppercase() && (after_lower || ends_capitals)
        });
        found.extend(begins.then_some(at));
        before = Some(c);
    }
    found
}

impl TokenStream for Words {
    fn advance(&mut self) -> bool {
        self.given += 1;
        self.given <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.given - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.given - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, chunk: &[&str], query: &[&str]) {
        let words: Vec<String> = chunk_words(text, language)
            .into_iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(words, chunk, "chunk in {language}: {text}");
        assert_eq!(
            query_words(text, [language].into_iter()),
            query,
            "query in {language}: {text}"
        );
    }

    #[test]
    fn words_follow_the_language() {
        check(
            "en",
            "The physicists' teaching, don't!",
            &["physicist", "teach", "don't"],
            &["physicist", "teach", "don't"],
        );
        check("eng", "Bob’s café", &["bob", "cafe"], &["bob", "cafe"]);
        check("fr", "l'homme et l’été", &["homm", "ete"], &["homm", "ete"]);
        check(
            "de",
            "Die Häuser der Stadt",
            &["haus", "stadt"],
            &["haus", "stadt"],
        );
        check(
            "ru",
            "книги о физике",
            &["книг", "физик"],
            &["книг", "физик"],
        );
        check(
            "",
            "The word, as-is v1.2 __init__",
            &["the", "word", "as", "is", "v1", "2", "init"],
            &["the", "word", "as", "is", "v1", "2", "init"],
        );
        check("hi", "हिन्दी भाषा।", &["हिन्दी", "भाषा"], &["हिन्दी", "भाषा"]);
    }

    #[test]
    fn identifiers_are_words_and_so_are_their_parts() {
        let cases: [(&str, &[&str]); 9] = [
            (
                "parseHttpHeader",
                &["parsehttpheader", "parse", "http", "header"],
            ),
            (
                "parse_http_header",
                &["parse_http_header", "parse", "http", "header"],
            ),
            ("HTTPHeader2", &["httpheader2", "http", "header2"]),
            (
                "MAX_LINE_BYTES",
                &["max_line_bytes", "max", "line", "bytes"],
            ),
            ("utf8Decoder", &["utf8decoder", "utf8", "decoder"]),
            ("getX_of", &["getx_of", "get", "of"]),
            ("GPU H2O MP3 Ann", &["gpu", "h2o", "mp3", "ann"]),
            ("x_1", &["x_1", "x", "1"]),
            (
                "iOS ÉtatMajor",
                &["ios", "os", "etatmajor", "etat", "major"],
            ),
        ];
        for (text, words) in cases {
            check("", text, words, words);
        }
        let positions: Vec<_> = chunk_words("a bC_de f", "")
            .iter()
            .map(|token| token.position)
            .collect();
        assert_eq!(positions, [0, 1, 1, 2]);
    }

    #[test]
    fn scripts_without_spaces_are_split_into_pairs() {
        check(
            "zh",
            "物理老师",
            &["物", "物理", "理", "理老", "老", "老师", "师"],
            &["物理", "理老", "老师"],
        );
        check(
            "ja",
            "GPU上で動く",
            &["gpu", "上", "上で", "で", "で動", "動", "動く", "く"],
            &["gpu", "上で", "で動", "動く"],
        );
        check("zh", "茶。", &["茶"], &["茶"]);
        check("ja", "ＡＢＣ", &["abc"], &["abc"]);
    }

    #[test]
    fn positions_count_words_and_offsets_match_the_text() {
        let text = "Red 物理 fox";
        let tokens = chunk_words(text, "");
        let found: Vec<_> = tokens
            .iter()
            .map(|t| (t.position, &text[t.offset_from..t.offset_to]))
            .collect();
        assert_eq!(
            found,
            [(0, "Red"), (1, "物"), (1, "物理"), (2, "理"), (3, "fox")]
        );
    }

    #[test]
    fn nothing_in_a_question_is_syntax() {
        let words = query_words(
            "AND \"quoted: (x) +y -z* ~2 [a TO b] \\ \u{0}",
            [""].into_iter(),
        );
        assert_eq!(words, ["and", "quoted", "x", "y", "z", "2", "a", "to", "b"]);
        assert!(query_words("?!", ["en"].into_iter()).is_empty());
        assert_eq!(
            query_words(
                &(0..9000).map(|i| format!("w{i} ")).collect::<String>(),
                [""].into_iter()
            )
            .len(),
            256
        );
    }
}
