//! Splits text into the words of the lexical index: by the document's language, with pairs of
//! characters where a script writes without spaces.
//!
//! An expression is what stands together: `parse_header`, `HX-201`, `.NET`, `v1.2.3`. It is a word
//! as a whole, without what joins its parts, and so is each of its parts. Stop words are indexed
//! apart from the others: a question leaves them out, and "to be or not to be" is found all the
//! same.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::Token;
use unicode_segmentation::UnicodeSegmentation as _;

use super::expressions::{Expression, Expressions, Splitting, is_emphasised};
use super::stop_words::{StopWords, question_language};
use crate::corpus::named_dates;
use crate::index::filter::Phrase;
use crate::letters;

/// Longer words are noise: encoded data, rows of hashes.
const MAX_WORD_BYTES: usize = 100;
/// A question has fewer words; a pasted page must not become a query of thousands of clauses.
const MAX_QUERY_WORDS: usize = 256;
/// Expressions of a language that are remembered: texts repeat their words.
const MAX_KNOWN: usize = 16_384;
/// Bytes of a month in a date: `2024-02`.
const MONTH_BYTES: usize = 7;
/// The sign in front of a stop word, so that it is another word than a content word that is written
/// alike: `it` and `IT`, the English `die` and the German one.
pub(in crate::index) const STOP_MARK: char = '~';

/// A word of a question: the forms that it has in the languages of the documents. They count as one
/// word.
pub(in crate::index) type QueryWord = Vec<String>;

/// Returns the words of a chunk, with positions.
pub(in crate::index) fn chunk_words(text: &str, language: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut position = 0;

    each_expression(text, language, Pairs::AndSingles, |expression, forms| {
        for form in forms {
            tokens.push(Token {
                offset_from: expression.at.start,
                offset_to: expression.at.end,
                position: position + form.position as usize,
                text: form.term(form.is_stop_word(text, &expression.at)),
                position_length: 1,
            });
        }
        position += forms.last().map_or(1, |last| last.position as usize + 1);
    });

    tokens
}

/// Returns the distinct words of a question, with the forms that they have in documents in these
/// languages. The question is plain text: nothing in it is syntax.
///
/// A stop word of the question's own language is left out, whatever it is in those of the
/// documents; a question that has no other words is searched by them.
pub(in crate::index) fn query_words(text: &str, languages: &BTreeSet<&str>) -> Vec<QueryWord> {
    let own = question_language(text, languages);
    let own_forms = own.map_or_else(Vec::new, |own| query_forms(text, own));
    let stop_words = own_forms.into_iter().filter(|form| form.is_stop_word);
    let left_out: HashSet<WordKey> = stop_words.map(|form| form.key).collect();
    let is_left_out = |(start, word): WordKey| left_out.contains(&(start, word & !1));

    let mut content: BTreeMap<WordKey, QueryWord> = BTreeMap::new();
    let mut others: BTreeMap<WordKey, QueryWord> = BTreeMap::new();
    for language in languages {
        for QueryForm {
            key,
            form,
            is_stop_word,
        } in query_forms(text, language)
        {
            if is_stop_word || is_left_out(key) {
                let forms = others.entry(key).or_default();
                forms.extend([form.term(true), form.term(false)]);
            } else {
                content.entry(key).or_default().push(form.text);
            }
        }
    }
    let words = if content.is_empty() { others } else { content };

    let mut seen = HashSet::new();
    let mut distinct = Vec::new();
    for mut forms in words
        .into_values()
        .chain(date_words(text).map(|word| vec![word]))
    {
        forms.retain(|form| seen.len() < MAX_QUERY_WORDS && seen.insert(form.clone()));
        if !forms.is_empty() {
            distinct.push(forms);
        }
    }
    distinct
}

/// Returns the spelling in a question of each form that its words have in documents in these
/// languages.
pub(in crate::index) fn spellings(
    text: &str,
    languages: &BTreeSet<&str>,
) -> HashMap<String, String> {
    let mut spellings = HashMap::new();
    for language in languages {
        each_expression(text, language, Pairs::Alone, |expression, forms| {
            let names = names(expression);
            for form in forms {
                // a stem and the name as it is are two forms of a name
                let name = names.get(form.word as usize / 2);
                let name = name.filter(|_| !expression.is_dense);
                let spelling = name.map_or(&form.text, |name| &name.spelling);
                let known = spellings.entry(form.text.clone());
                known.or_insert_with(|| spelling.clone());
            }
        });
    }
    spellings
}

/// Returns the words of the days and months that a question names, as those of a path are indexed.
pub fn date_words(question: &str) -> impl Iterator<Item = String> {
    let dates = dates(question).into_iter();
    // the first word at a place is the whole expression
    let whole = dates.filter_map(|date| chunk_words(&date, "").into_iter().next());
    whole.map(|word| word.text)
}

/// Returns the days and months that a text names, and the month of each day, in one form whatever
/// their spelling is: `2024-02-11`, `2024-02`.
pub(in crate::index) fn dates(text: &str) -> Vec<String> {
    let mut dates = named_dates(text);
    let months = dates.iter().filter_map(|date| date.get(..MONTH_BYTES));
    let months: Vec<String> = months.map(str::to_owned).collect();
    dates.extend(months);
    dates.sort_unstable();
    dates.dedup();
    dates
}

/// Returns the words of a phrase in documents in these languages.
pub(in crate::index) fn phrase_words(text: &str, languages: &BTreeSet<&str>) -> Phrase {
    let in_language = |language: &&str| {
        let mut words: Vec<(usize, String)> = Vec::new();
        for token in chunk_words(text, language) {
            // the first word at a place is the whole expression
            if words.last().is_none_or(|(at, _)| *at != token.position) {
                words.push((token.position, token.text));
            }
        }
        words
    };
    let phrases = languages.iter().map(in_language);
    phrases.filter(|words| !words.is_empty()).collect()
}

/// Returns the words of a text, stemmed, without the stop words of its language.
pub fn content_words(text: &str, language: &str) -> Vec<String> {
    without_stop_words(chunk_words(text, language))
}

pub(super) fn without_stop_words(words: Vec<Token>) -> Vec<String> {
    let words = words.into_iter().map(|token| token.text);
    words.filter(|word| !word.starts_with(STOP_MARK)).collect()
}

/// Returns whether the word is none of the language's stop words.
pub fn is_content_word(word: &str, language: &str) -> bool {
    let forms = query_forms(word, language);
    forms.iter().any(|form| !form.is_stop_word)
}

/// A word of a question: where its expression begins, and its number there.
type WordKey = (usize, u32);

/// A form of a word of a question.
struct QueryForm {
    key: WordKey,
    form: Form,
    is_stop_word: bool,
}

/// Returns the forms of the words of a question in documents in a language.
fn query_forms(text: &str, language: &str) -> Vec<QueryForm> {
    let mut found = Vec::new();
    each_expression(text, language, Pairs::Alone, |expression, forms| {
        found.extend(forms.iter().map(|form| QueryForm {
            key: (expression.at.start, form.word),
            is_stop_word: form.is_stop_word(text, &expression.at),
            form: form.clone(),
        }));
    });
    found
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

/// A word as it is indexed.
#[derive(Debug, Clone, PartialEq)]
struct Form {
    text: String,
    /// Number of its first part in the expression.
    position: u32,
    /// Number of the word that it is a form of, the same in every language.
    word: u32,
    is_stop_word: bool,
    is_upper_case: bool,
}

impl Form {
    /// Returns whether it is a stop word there, and not a content word in capitals that is written
    /// alike.
    fn is_stop_word(&self, text: &str, at: &Range<usize>) -> bool {
        self.is_stop_word && !(self.is_upper_case && is_emphasised(text, at))
    }

    fn term(&self, is_stop_word: bool) -> String {
        let mut term = String::with_capacity(self.text.len() + 1);
        term.extend(is_stop_word.then_some(STOP_MARK));
        term.push_str(&self.text);
        term
    }
}

/// The analysis of a language.
struct Analyser {
    splitting: Splitting,
    stemmer: Option<Stemmer>,
    stop_words: StopWords,
    is_turkish: bool,
    is_arabic: bool,
    /// Whether a capital says that a word is a name.
    has_capital_names: bool,
    known: HashMap<Box<str>, Rc<[Form]>>,
}

/// Calls `each` with the expressions of a text and the forms of their words in a language, whose
/// analyser this thread keeps.
fn each_expression(
    text: &str,
    language: &str,
    pairs: Pairs,
    mut each: impl FnMut(&Expression<'_>, &[Form]),
) {
    thread_local! {
        static ANALYSERS: RefCell<HashMap<String, Analyser>> = RefCell::default();
    }
    ANALYSERS.with_borrow_mut(|analysers| {
        let analyser = analysers.entry(language.to_owned());
        let analyser = analyser.or_insert_with(|| Analyser::new(language));
        for expression in Expressions::new(text, analyser.splitting) {
            each(&expression, &analyser.forms(&expression, pairs));
        }
    });
}

impl Analyser {
    fn new(code: &str) -> Self {
        // the Persian one knows Persian letters alone, and the parts of a word are words anyway
        let algorithm = Algorithm::from_name(code).ok();
        let algorithm = algorithm.filter(|algorithm| *algorithm != Algorithm::Persian);

        Self {
            splitting: match algorithm {
                Some(Algorithm::English) => Splitting::Possessive,
                Some(
                    Algorithm::Catalan
                    | Algorithm::French
                    | Algorithm::Italian
                    | Algorithm::Turkish,
                ) => Splitting::AtApostrophes,
                Some(_) | None => Splitting::Joined,
            },
            stemmer: algorithm.map(Stemmer::new),
            stop_words: StopWords::new(code),
            is_turkish: algorithm == Some(Algorithm::Turkish),
            is_arabic: algorithm == Some(Algorithm::Arabic),
            has_capital_names: algorithm != Some(Algorithm::German),
            known: HashMap::new(),
        }
    }

    /// Returns the forms of the words of an expression.
    fn forms(&mut self, expression: &Expression<'_>, pairs: Pairs) -> Rc<[Form]> {
        if expression.is_dense {
            return dense_forms(expression.text, pairs).into();
        }
        if let Some(forms) = self.known.get(expression.text) {
            return Rc::clone(forms);
        }

        let forms: Rc<[Form]> = self.analyse(expression).into();
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(expression.text.into(), Rc::clone(&forms));
        forms
    }

    fn analyse(&mut self, expression: &Expression<'_>) -> Vec<Form> {
        let mut forms = Vec::new();
        for (word, name) in (0..).zip(names(expression)) {
            self.add_forms(&mut forms, &name.text, [name.position, word], name.is_part);
        }
        forms
    }

    /// Adds the forms of a word: its stem, with and without accents, and a name as it is.
    fn add_forms(
        &mut self,
        forms: &mut Vec<Form>,
        name: &str,
        [position, word]: [u32; 2],
        can_be_stop_word: bool,
    ) {
        if name.len() > MAX_WORD_BYTES {
            return;
        }
        let lower = self.lower_case(name);
        let bare = letters::without_accents(&lower);
        let is_stop_word = can_be_stop_word && self.stop_words.contains(&lower);
        let mut add = |text: String, number: u32| {
            if forms
                .iter()
                .all(|form| form.text != text || form.position != position)
            {
                forms.push(Form {
                    text,
                    position,
                    // stems have even numbers, names as they are have odd ones
                    word: number,
                    is_stop_word,
                    is_upper_case: !name.contains(char::is_lowercase),
                });
            }
        };
        if is_stop_word {
            return add(bare.into_owned(), 2 * word);
        }

        add(
            letters::without_accents(&self.stem(&lower)).into_owned(),
            2 * word,
        );
        if bare != lower {
            add(self.stem(&bare).into_owned(), 2 * word);
        }
        if self.has_capital_names && name.starts_with(char::is_uppercase) {
            add(bare.into_owned(), 2 * word + 1);
        }
    }

    fn lower_case(&self, name: &str) -> String {
        if self.is_turkish {
            name.replace('I', "ı").replace('İ', "i").to_lowercase()
        } else {
            name.to_lowercase()
        }
    }

    /// Returns the stem of a word; that of a number or a sign is itself.
    fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        let is_plain = word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || !byte.is_ascii());
        // the normal form has one letter for the ending and the pronoun; behind an article, the
        // stemmer takes off the ending alone
        let ending = word.strip_suffix('\u{647}').filter(|_| self.is_arabic);
        if let (Some(stemmer), Some(beginning)) = (&self.stemmer, ending) {
            return Cow::Owned(stemmer.stem(&format!("{beginning}\u{629}")).into_owned());
        }
        match &self.stemmer {
            Some(stemmer) if is_plain => stemmer.stem(word),
            Some(_) | None => Cow::Borrowed(word),
        }
    }
}

/// A word of an expression before its analysis.
struct Name {
    text: String,
    /// The word as the expression has it.
    spelling: String,
    /// Number of its first part in the expression.
    position: u32,
    /// Whether it is one of the smallest parts: another word is more than a stop word.
    is_part: bool,
}

/// Returns the words of an expression: the whole, and each of its parts.
fn names(expression: &Expression<'_>) -> Vec<Name> {
    let mut names = Vec::new();
    let mut add = |text: String, spelling: &str, position: u32, is_part: bool| {
        names.push(Name {
            text,
            spelling: spelling.to_owned(),
            position,
            is_part,
        });
    };
    let mut position = 0;
    if let Some(whole) = expression.whole() {
        add(whole, expression.text, position, false);
    }

    for part in expression.parts() {
        let identifiers = identifier_parts(&part);
        if identifiers != [part.as_str()] {
            add(part.replace('_', ""), &part, position, false);
        }
        for name in identifiers {
            add(name.to_owned(), name, position, true);
            position += 1;
        }
    }
    names
}

/// Returns the pairs of characters of a text without spaces, and the characters. Where vowels and
/// tones are signs around a letter, it is one character with them.
fn dense_forms(text: &str, pairs: Pairs) -> Vec<Form> {
    let text = letters::normal(text);
    let units: Vec<&str> = if text.contains(letters::is_south_east_asian) {
        text.graphemes(true).collect()
    } else {
        text.split("").filter(|unit| !unit.is_empty()).collect()
    };

    let mut forms = Vec::with_capacity(2 * units.len());
    let mut add = |text: String, at: usize, word: usize| {
        forms.push(Form {
            text,
            position: at as u32,
            word: word as u32,
            is_stop_word: false,
            is_upper_case: false,
        });
    };
    for (at, unit) in units.iter().enumerate() {
        if pairs == Pairs::AndSingles || units.len() == 1 {
            add((*unit).to_owned(), at, 2 * at);
        }
        if let Some(next) = units.get(at + 1) {
            add(format!("{unit}{next}"), at, 2 * at + 1);
        }
    }
    forms
}

/// Returns the parts of an identifier that are words of their own: between underscores, and where
/// capitals begin a part, as in `parse|Http` and `HTTP|Header2`. Digits belong to the part before
/// them. A word that is no identifier is its only part. Single letters between capitals are left
/// out.
fn identifier_parts(identifier: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for name in identifier.split('_') {
        let before = parts.len();
        let mut start = 0;
        for capital in capitals(name) {
            parts.push(&name[start..capital]);
            start = capital;
        }

        parts.push(&name[start..]);
        if start > 0 {
            let mut number = 0..;
            parts.retain(|part| number.next() < Some(before) || part.len() > 1);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, language: &str) -> String {
        let tokens = chunk_words(text, language).into_iter();
        tokens.map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    /// Returns the words of a question with spaces between them, and `/` between the forms of one.
    fn query_text(question: &str, languages: &[&str]) -> String {
        let words = query_words(question, &languages.iter().copied().collect());
        let words = words.iter().map(|forms| forms.join("/"));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_form_is_known_by_its_spelling_in_the_question() {
        for (question, form, expected) in [
            ("Does the ferry go?", "ferri", Some("ferry")),
            ("Does the ferry go?", "ferry", Some("ferry")),
            ("Replacing sensors", "replac", Some("Replacing")),
            ("Is HX-201 new?", "hx201", Some("HX-201")),
            ("Is HX-201 new?", "201", Some("201")),
            ("call parse_header", "parsehead", Some("parse_header")),
            ("call parse_header", "pars", Some("parse")),
            ("Does the ferry go?", "boat", None),
            ("灯台", "灯台", Some("灯台")),
        ] {
            let known = spellings(question, &BTreeSet::from(["de", "en"]));
            assert_eq!(known.get(form).map(String::as_str), expected, "{form}");
        }
    }

    #[test]
    fn words_follow_the_language() {
        let cases = [
            (
                "en",
                "The physicists' teaching, don't!",
                "~the physicist teach dont",
            ),
            ("en", "Bob’s café", "bob cafe"),
            ("fr", "l'homme et l’été", "~l homm ~et ~l ete"),
            ("de", "Die Häuser der Stadt", "~die haus ~der stadt"),
            ("ru", "книги о физике", "книг ~о физик"),
            (
                "",
                "The word, as-is v1.2 __init__",
                "the word asis as is 1.2 v1 init",
            ),
            ("hi", "हिन्दी भाषाओं।", "हिन्द भाष"),
            ("tr", "İZMİR'den Işıl", "izmir den isil"),
            ("ca", "l'home col·laborar", "l hom collabor col labor"),
            ("uk", "м'яч мʼяч", "мяч мяч"),
        ];
        for (language, text, expected) in cases {
            assert_eq!(words(text, language), expected, "{text}");
        }
    }

    #[test]
    fn expressions_are_words_and_so_are_their_parts() {
        let cases = [
            ("parseHttpHeader", "parsehttpheader parse http header"),
            ("parse_http_header", "parsehttpheader parse http header"),
            ("HTTPHeader2", "httpheader2 http header2"),
            ("utf8Decoder", "utf8decoder utf8 decoder"),
            ("getX_of", "getxof get of"),
            ("GPU H2O MP3 Ann", "gpu h2o mp3 ann"),
            ("No5 no12 Nos5 №7", "no5 5 no12 12 nos5 7"),
            ("x_1", "x1 x 1"),
            ("iOS ÉtatMajor", "ios os etatmajor etat major"),
            ("self.read_to", "selfreadto self readto read to"),
            ("HX-201 HX201 HX_201", "hx201 hx 201 hx201 hx201 hx 201"),
            ("v1.2.3 1.2.3 12.3", "1.2.3 v1 1.2.3 12.3 12"),
            (
                "fw-2.1.0 release_v2.10.1.md 2.1-beta",
                "fw2.1.0 fw 2 1 0 2.1.0 releasev2.10.1md releasev2 release v2 10 1 md 2.10.1 2.1beta 2 \
                 1 beta 2.1",
            ),
            ("18,400 1,000,000 3,5 a,b", "18400 1000000 3,5 3 5 a b"),
            ("node.js e-mail", "nodejs node js email e mail"),
            ("ann@example.com", "annexamplecom ann example com"),
            ("U.S. U.S.A. e.g. J.R.R.", "us usa eg jrr"),
            ("R&D AT&T I/O", "rd att at t i o"),
            (
                "O'Brien L’Oréal rock'n'roll",
                "obrien brien loreal oreal rocknroll",
            ),
            (
                "l'école dell’acqua L'ÉCOLE rock'n'roll don't I'll",
                "lecole ecole dellacqua acqua lecole ecole rocknroll dont ill",
            ),
            ("תל־אביב צה״ל \"צה\"ל\"", "תלאביב תל אביב צהל צהל"),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text, ""), expected, "{text}");
            let mut distinct: Vec<&str> = Vec::new();
            for word in expected.split(' ') {
                if !distinct.contains(&word) {
                    distinct.push(word);
                }
            }
            assert_eq!(query_text(text, &[""]), distinct.join(" "), "{text}");
        }
        assert_eq!(words("2024-01-31", ""), "2024-01-31 2024 01 31");
        let asked = query_text("31 January 2024", &[""]);
        assert_eq!(asked, "31 january 2024 2024-01 2024-01-31");
        let positions = chunk_words("a bC_de -f HX-2 .g", "");
        let positions: Vec<_> = positions.iter().map(|token| token.position).collect();
        assert_eq!(positions, [0, 1, 1, 2, 3, 3, 4, 5]);
    }

    #[test]
    fn signs_make_another_word() {
        let cases = [
            ("C C++ C# F# R", "c c++ c# f# r"),
            ("C++17 C#8 Ｃ＋＋ C♯", "c++ 17 c# 8 c++ c♯"),
            (
                ".NET ASP.NET .gitignore",
                ".net net aspnet asp net .net .gitignore gitignore",
            ),
            (
                "-f --force -Wall `--dry-run`",
                "-f --force force -wall wall --dryrun dry run",
            ),
            ("Notepad++ 50+ -5 °C", "notepad++ notepad 50+ 50 -5 5 c"),
            ("a+b x+=1 foo#z 2-3", "a b x 1 foo z 2-3 2 3"),
            (
                "end... then word--and f().map it. So",
                "end then word and f map it so",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text, ""), expected, "{text}");
        }
    }

    #[test]
    fn a_word_is_found_in_either_form() {
        let same = [
            ("de", "Brücke", "Bru\u{308}cke"),
            ("de", "Brücke", "BRUCKE"),
            ("de", "München", "Muenchen"),
            ("de", "Straße", "Strasse"),
            ("fr", "crème brûlée", "creme brulee"),
            ("en", "naïve café", "naive cafe"),
            ("en", "lighthouse", "light\u{ad}house"),
            ("en", "lighthouse", "light\u{200b}house"),
            ("en", "office 2019", "oﬃce ２０１９"),
            ("en", "iron H2O", "ｉｒｏｎ H₂O"),
            ("en", "U.S. rules", "US rules"),
            ("ko", "등대", "\u{1103}\u{1173}\u{11bc}\u{1103}\u{1162}"),
            ("ja", "ガス", "ｶﾞｽ"),
            ("fa", "دریایی", "دريايي"),
            ("fa", "۱۴۰۲", "1402"),
            ("ar", "مُحَمَّد أحمد ٢٠١٩", "محمد احمد 2019"),
            ("ar", "مكتبة مسؤول مئة", "مكتبه مسوول مية"),
            ("ar", "المكتبة", "مكتبة"),
            ("ar", "المكتبه", "مكتبة"),
            ("he", "הַמִּגְדַּלּוֹר", "המגדלור"),
            ("he", "צה״ל ײד", "צה\"ל ייד"),
            ("de", "Brücke", "Bruecke"),
            ("tr", "İZMİR", "izmir"),
            ("tr", "ışık", "isik"),
            ("vi", "Việt Nam", "Viet Nam"),
            ("ru", "ёлка", "елка"),
            ("el", "άνθρωπος", "ανθρωπος"),
            ("th", "ห้อง\u{200b}สมุด ๔๕", "ห้องสมุด 45"),
            ("hi", "क\u{94d}\u{200d}ष १२", "क\u{94d}ष 12"),
            ("hi", "क़िला ज़मीन", "किला जमीन"),
        ];
        for (language, one, other) in same {
            for (text, question) in [(one, other), (other, one)] {
                let words = words(text, language);
                let words: Vec<&str> = words.split(' ').collect();
                for forms in query_words(question, &BTreeSet::from([language])) {
                    let is_found = forms.iter().any(|form| words.contains(&form.as_str()));
                    assert!(is_found, "{question} in {text}: {forms:?} {words:?}");
                }
            }
        }
        for other in ["کتابهای", "کتاب های", "كتابهاي"] {
            let joined = words("کتاب\u{200c}های", "fa");
            let found = query_text(other, &["fa"]);
            assert!(
                found.split(' ').all(|word| joined.contains(word)),
                "{found} in {joined}"
            );
        }
    }

    #[test]
    fn scripts_without_spaces_are_split_into_pairs() {
        let cases = [
            (
                "zh",
                "物理老师",
                "物 物理 理 理老 老 老师 师",
                "物理 理老 老师",
            ),
            (
                "ja",
                "GPU上で動く",
                "gpu 上 上で で で動 動 動く く",
                "gpu 上で で動 動く",
            ),
            ("zh", "茶。", "茶", "茶"),
            ("ja", "ＡＢＣ", "abc", "abc"),
            (
                "ko",
                "등대지기",
                "등 등대 대 대지 지 지기 기",
                "등대 대지 지기",
            ),
            ("km", "ភាសាខ្មែរ", "ភា ភាសា សា សាខ្មែ ខ្មែ ខ្មែរ រ", "ភាសា សាខ្មែ ខ្មែរ"),
            ("lo", "ພາສາ", "ພ ພາ າ າສ ສ ສາ າ", "ພາ າສ ສາ"),
            ("th", "เก่า", "เ เก่ ก่ ก่า า", "เก่ ก่า"),
        ];
        for (language, text, chunk, query) in cases {
            assert_eq!(words(text, language), chunk, "{text}");
            assert_eq!(query_text(text, &[language]), query, "{text}");
        }
    }

    #[test]
    fn a_stop_word_of_the_question_is_one_everywhere() {
        let cases: [(&[&str], &str, &str); 12] = [
            (&["de", "en"], "of the", "~of/of ~the/the"),
            (&["de", "en"], "the price of pumps", "pric/price pumps/pump"),
            (&["de"], "what is the price of it", "pric"),
            (
                &["de", "en"],
                "When does the battery die?",
                "battery/batteri die",
            ),
            (
                &["de", "en"],
                "Wann ist im Bootshaus Ruhe?",
                "wann bootshaus ruh/ruhe",
            ),
            (&["en"], "What is the extension of IT?", "extens it"),
            (&["en"], "IT", "it"),
            (&["en"], "US rules for us", "us rule"),
            (&["en"], "What is vitamin A? A pill", "vitamin a pill"),
            (&["en"], "Can I pay World War I", "pay world war i"),
            (&["en"], "WHAT IS IT", "~what/what ~is/is ~it/it"),
            (
                &["en"],
                "to be or not to be",
                "~to/to ~be/be ~or/or ~not/not",
            ),
        ];
        for (languages, question, expected) in cases {
            assert_eq!(query_text(question, languages), expected, "{question}");
        }
        for (text, expected) in [
            ("IT is reached at it", "it ~is reach ~at ~it"),
            ("A plan B, or a plan A.", "~a plan b ~or ~a plan a"),
            ("WHAT IT IS", "~what ~it ~is"),
            ("# IT\n\nIt is", "it ~it ~is"),
        ] {
            assert_eq!(words(text, "en"), expected, "{text}");
        }
        for (word, expected) in [("the", false), ("who", false), ("IT", true), ("sea", true)] {
            assert_eq!(is_content_word(word, "en"), expected, "{word}");
        }
    }

    #[test]
    fn names_are_indexed_with_what_a_stemmer_takes_off() {
        assert_eq!(
            words("Hastings has haste, AIDS aids", "en"),
            "hast hastings ~has hast aid aids aid"
        );
        assert_eq!(query_text("Hastings", &["en"]), "hast hastings");
        assert_eq!(words("Häuser", "de"), "haus");
    }

    #[test]
    fn nothing_in_a_question_is_syntax() {
        let question = "AND \"quoted: (x) +y -z* ~2 [a TO b] \\ \u{0}";
        assert_eq!(query_text(question, &[""]), "and quoted x y -z 2 to b");
        assert_eq!(query_text("?!", &["en"]), "");
        let long: String = (0..9000).map(|number| format!("w{number} ")).collect();
        assert_eq!(query_words(&long, &BTreeSet::from([""])).len(), 256);
    }
}
