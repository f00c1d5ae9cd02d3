//! The wording of a sentence, as far as it is compared with others: its words and their stems, its
//! numbers, names, units and code, and its clauses.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::corpus::{begins_item, fold_white_space, language, named_cells, split_words};
use crate::index::{content_words, is_content_word, short_text_language};

/// Beginnings of words that ask which one, in lower case.
const WHICH_STEMS: [&str; 5] = ["which", "what", "welche", "quel", "qué"];
/// Words that begin a lead to a statement, in lower case: "According to [1], …". The choice among
/// them says nothing of the answer.
#[rustfmt::skip]
const LEADS: &[&str] = &[
    "according", "based", "first", "firstly", "finally", "therefore", "however", "additionally",
    "overall", "laut", "gemäß", "selon", "d'après", "según",
];
/// Words that answer a question in front of a statement, in lower case: "No, there is none" denies
/// once.
const YES_AND_NO: &[&str] = &[
    "yes", "no", "ja", "nein", "doch", "oui", "non", "si", "sí", "是的", "是", "不是", "不",
];
/// Words of the longest lead.
const MAX_LEAD: usize = 12;
/// Days of the week, in lower case.
#[rustfmt::skip]
pub const WEEKDAYS: &[&str] = &[
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonnabend", "sonntag",
    "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche",
    "lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo",
];
/// British spellings and those that models write.
const SPELLINGS: [(&str, &str); 8] = [
    ("metre", "meter"),
    ("litre", "liter"),
    ("colour", "color"),
    ("Colour", "Color"),
    ("centre", "center"),
    ("Centre", "Center"),
    ("grey", "gray"),
    ("Grey", "Gray"),
];
/// Maximum number of bytes of a term.
const MAX_TERM: usize = 40;
/// Words in front of which an "I" is no number, in lower case.
const ASKERS: &[&str] = &[
    "am", "as", "can", "could", "did", "do", "have", "how", "if", "may", "must", "shall", "should",
    "that", "what", "when", "where", "while", "why", "will", "would",
];
/// Numbers that are taken for years.
const YEARS: RangeInclusive<u32> = 1000..=2100;
/// Words between the clauses of a sentence that compares, in lower case.
#[rustfmt::skip]
const CONTRASTS: [&str; 8] = [
    " while ", " whereas ", ", but ", "; ", " während ", ", aber ", " tandis que ",
    " mientras que ",
];

/// Units with their names, in lower case.
#[rustfmt::skip]
const UNITS: &[&[&str]] = &[
    &["eur", "€", "euro", "euros", "欧元"],
    &["usd", "$", "dollar", "dollars", "dólar", "dólares", "美元"],
    &["gbp", "£", "pence"],
    &["chf", "franken", "francs"],
    &["s", "sec", "secs", "second", "seconds", "sekunde", "sekunden", "seconde", "secondes",
        "segundo", "segundos", "秒"],
    &["min", "mins", "minute", "minutes", "minuten", "minuto", "minutos", "分钟"],
    &["h", "hr", "hrs", "hour", "hours", "stunde", "stunden", "heure", "heures", "hora", "horas",
        "小时"],
    &["day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días", "天"],
    &["week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas", "周"],
    &["month", "months", "monat", "monate", "monaten", "mois", "mes", "meses", "个月"],
    &["year", "years", "jahr", "jahre", "jahren", "ans", "année", "années", "año", "años",
        "年"],
    &["mg"],
    &["g", "gram", "grams", "gramm", "gramme", "grammes", "gramo", "gramos", "克"],
    &["kg", "kilo", "kilos", "kilogram", "kilograms", "kilogramm", "kilogrammes", "公斤"],
    &["ml", "millilitre", "millilitres", "milliliter", "milliliters", "毫升"],
    &["cl"], &["dl"],
    &["l", "litre", "litres", "liter", "liters", "litern", "litro", "litros", "升"],
    &["mm"], &["cm", "centimetre", "centimetres", "zentimeter", "厘米"],
    &["m", "metre", "metres", "meter", "meters", "metern", "mètre", "mètres", "metro", "metros",
        "米"],
    &["km", "kilometre", "kilometres", "kilometer", "kilometers", "kilometern", "kilomètres",
        "kilómetros", "公里"],
    &["tsp", "teaspoon", "teaspoons", "teelöffel"],
    &["tbsp", "tablespoon", "tablespoons", "esslöffel"],
    &["cup", "cups", "tasse", "tassen", "tasses", "taza", "tazas", "杯"],
    &["w", "watt", "watts"], &["kwh"], &["bar"],
    &["%", "percent", "prozent"],
];
/// Languages of these names.
const NAMED_IN: [&str; 5] = ["en", "de", "fr", "es", "zh"];
/// Units of money.
pub const CURRENCIES: [&str; 4] = ["eur", "usd", "gbp", "chf"];
/// Words between numbers of one unit, in lower case.
const ENUMERATING: &[&str] = &[
    "and", "or", "to", "und", "oder", "bis", "et", "ou", "à", "y", "o", "a", "-", "–",
];

/// Words that begin a conclusion, and words that compare, in lower case.
#[rustfmt::skip]
const CONCLUDING: &[&str] = &[
    "therefore", "thus", "hence", "consequently", "daher", "folglich",
];
#[rustfmt::skip]
const COMPARATIVES: &[&str] = &[
    "earlier", "later", "sooner", "higher", "lower", "larger", "greater", "bigger", "smaller",
    "longer", "shorter", "older", "younger", "cheaper", "fewer", "früher", "später", "höher",
    "niedriger", "größer", "kleiner", "älter", "jünger",
];
/// Words at the beginning of a sentence among which a date is one of the whole.
const LEADING_WORDS: usize = 3;
/// Words in front of a clause that may have a subject of its own, in lower case.
const JOINTS: [&str; 4] = [", and ", ", und ", ", et ", ", y "];
/// Articles in front of a name, in lower case.
pub const ARTICLES: [&str; 10] = [
    "the ", "der ", "die ", "das ", "le ", "la ", "les ", "el ", "los ", "las ",
];

/// Returns the language of a text: by its words where it is too short to show it by its letters.
pub fn text_language(text: &str) -> &'static str {
    match language(text) {
        "en" => short_text_language(text).unwrap_or("en"),
        known => known,
    }
}

/// Returns whether a word in lower case asks which one.
pub fn asks_which(word: &str) -> bool {
    WHICH_STEMS.iter().any(|stem| word.starts_with(stem))
}

/// Returns whether a text is the row of a table, an item of a list, or a definition.
pub fn is_entry(text: &str) -> bool {
    text.starts_with('|') || begins_item(text) || is_definition(text)
}

/// Returns whether a text is a short term with its definition below it, further in.
pub fn is_definition(text: &str) -> bool {
    let lines = text.split_once('\n');
    lines.is_some_and(|(term, below)| term.len() <= MAX_TERM && below.starts_with([' ', '\t']))
}

/// Returns whether a text is the lead to a statement, which ends with a comma.
pub fn is_lead(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().to_lowercase();
    let is_known = LEADS.contains(&first.trim_end_matches(',')) || first.starts_with("根据");
    is_known && words.count() < MAX_LEAD
}

/// Returns a statement without a "yes" or "no" in front of it.
pub fn without_yes_or_no(text: &str) -> &str {
    let parts = text.split_once([',', '，']);
    parts
        .filter(|(first, _)| YES_AND_NO.contains(&first.trim().to_lowercase().as_str()))
        .map_or(text, |(_, rest)| rest.trim_start())
}

pub fn without_lead(text: &str) -> &str {
    let parts = text.split_once([',', '，']);
    parts
        .filter(|(lead, _)| is_lead(lead))
        .map_or(text, |(_, rest)| rest)
}

/// Returns the clauses of a sentence that says something of several things, without what leads to
/// it: "the first difference is that one is red, while the other is blue".
pub fn clauses(text: &str) -> Vec<&str> {
    // a lead says nothing of its own
    let said = text.split_once(" is that ").filter(|(lead, said)| {
        names(lead).all(|name| said.contains(&name)) && numbers(lead).is_subset(&numbers(said))
    });
    let mut clauses = vec![said.map_or(text, |(_, said)| said)];
    for word in CONTRASTS {
        let parts = clauses.into_iter().flat_map(|clause| clause.split(word));
        clauses = parts.collect();
    }
    clauses.into_iter().flat_map(split_joined).collect()
}

/// Splits a text where a name or an article begins the next clause, which has a verb of its own:
/// "and was lost" has no subject, and "and Mira Oakes" says nothing. What a date at its beginning
/// says is of all clauses.
fn split_joined(text: &str) -> Vec<&str> {
    let begins_dated = text.split(' ').take(LEADING_WORDS).any(has_digit);
    let language = language(text);
    let has_verb = |part: &str| {
        let mut words = split_words(part).filter(|word| word.starts_with(char::is_lowercase));
        words.any(|word| is_content_word(word, language))
    };
    let is_clause = |rest: &str| {
        let begins = rest.starts_with(char::is_uppercase)
            || ARTICLES.iter().any(|word| rest.starts_with(word));
        begins && has_verb(rest)
    };
    let joints = JOINTS.iter().flat_map(|word| text.match_indices(word));
    // "Abra, Bell, and Corvo were founded" is of one verb
    let joints =
        joints.filter(|(at, word)| has_verb(&text[..*at]) && is_clause(&text[at + word.len()..]));
    let mut joints: Vec<(usize, &str)> = joints.filter(|_| !begins_dated).collect();
    joints.sort_unstable();

    let mut parts = Vec::new();
    let mut start = 0;
    for (at, word) in joints {
        parts.push(&text[start..at]);
        start = at + word.len();
    }
    parts.push(&text[start..]);
    parts
}

/// Returns whether a sentence concludes which of two is more or earlier: no source says so, and a
/// small model often says it wrongly.
pub fn concludes(text: &str) -> bool {
    let lower = text.trim_start().to_lowercase();
    let mut behind = CONCLUDING
        .iter()
        .filter_map(|word| lower.strip_prefix(word));
    let begins = behind.any(|rest| !rest.starts_with(char::is_alphanumeric));
    begins && split_words(&lower).any(|word| COMPARATIVES.contains(&word))
}

/// Returns a sentence without the number of an item of a list before it: no source holds that.
pub fn without_item_number(sentence: &str) -> &str {
    let begun = sentence.strip_prefix('[').unwrap_or(sentence);
    let rest = begun.trim_start_matches(|c: char| c.is_ascii_digit());
    let ends: &[char] = if begun.len() < sentence.len() {
        &[']']
    } else {
        &['.', ')']
    };
    let item = rest.strip_prefix(ends);
    let item = item.filter(|item| rest.len() < begun.len() && item.starts_with(' '));
    item.map_or(sentence, str::trim_start)
}

pub fn stems(text: &str, language: &str) -> BTreeSet<String> {
    let is_spelt = |(british, _): &&(&str, &str)| text.contains(british);
    let spelt = SPELLINGS.iter().filter(is_spelt);
    let text = spelt.fold(Cow::Borrowed(text), |text, (british, american)| {
        Cow::Owned(text.replace(british, american))
    });
    content_words(&text, language).into_iter().collect()
}

/// Returns the words in lower case, numbers without the signs between groups of digits, Roman ones
/// in digits, and numbers with their units.
pub fn words(text: &str) -> BTreeSet<String> {
    let roman = split_words(text).filter(|word| word.len() > 1);
    let roman = roman.filter_map(|word| Some(read_roman(word)?.to_string()));
    let words = split_words(text).map(str::to_lowercase).chain(roman);
    words
        .chain(numbers(text))
        .chain(find_numbers_of_names(text))
        .chain(find_measured(text))
        .collect()
}

/// Returns the numbers of a text: digits, without the signs between groups of three.
pub fn numbers(text: &str) -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    let mut number = String::new();
    let mut rest = text.chars().peekable();

    while let Some(c) = rest.next() {
        let is_next_digit = rest.peek().is_some_and(char::is_ascii_digit);
        let is_between = matches!(c, ',' | '.' | '\'' | '\u{a0}' | '\u{202f}') && is_next_digit;
        if c.is_ascii_digit() {
            number.push(c);
        } else if !is_between && !number.is_empty() {
            numbers.insert(std::mem::take(&mut number));
        }
    }

    if !number.is_empty() {
        numbers.insert(number);
    }
    numbers
}

pub fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// Returns the numbers of what is named with one, in digits: `Stage 4`, `Henry IV`.
pub fn find_numbers_of_names(text: &str) -> Vec<String> {
    let pairs = split_words(text).zip(split_words(text).skip(1));
    let named = pairs.filter(|(name, number)| {
        let is_asker = ASKERS.contains(&name.to_lowercase().as_str());
        name.starts_with(char::is_uppercase) && !(*number == "I" && is_asker)
    });
    let in_digits = named.filter_map(|(_, number)| {
        let is_digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let roman = || read_roman(number).map(|value| value.to_string());
        is_digits.then(|| number.to_owned()).or_else(roman)
    });
    in_digits.collect()
}

/// Returns the value of a Roman number of the digits I, V and X; `None` for another word.
fn read_roman(word: &str) -> Option<u32> {
    let digit = |c| match c {
        'I' => Some(1),
        'V' => Some(5),
        'X' => Some(10),
        _ => None,
    };
    let digits: Option<Vec<u32>> = word.chars().map(digit).collect();
    let mut value = 0_u32;
    let mut largest = 0;
    // a smaller digit in front of a larger one is taken from it
    for digit in digits?.into_iter().rev() {
        value = if digit < largest {
            value.saturating_sub(digit)
        } else {
            value + digit
        };
        largest = largest.max(digit);
    }
    Some(value)
}

/// Returns the stems of each clause of a sentence that has numbers, with them. A year in front of a
/// comma is of the clause behind it: "In 1911, it sank".
pub fn counted_clauses(text: &str, language: &str) -> Vec<(BTreeSet<String>, BTreeSet<String>)> {
    let mut counted = Vec::new();
    let mut begun = String::new();
    let joined = [" and ", " und ", " et ", " y ", ", ", "，", "；"];
    let parts = joined.into_iter().fold(vec![text], |parts, joint| {
        let parts = parts.into_iter();
        parts.flat_map(|part| part.split(joint)).collect()
    });
    let parts = parts.into_iter();
    for part in parts.flat_map(|part| part.split([';', '—', '–', '(', ')'])) {
        begun.push_str(part);
        begun.push(' ');
        let stems = stems(&begun, language);
        if stems.iter().all(|stem| has_digit(stem)) {
            continue;
        }
        let numbers = numbers(&begun);
        if !numbers.is_empty() {
            counted.push((stems, numbers));
        }
        begun.clear();
    }
    counted
}

/// Returns whether a number is taken for a year.
pub fn is_year(number: &str) -> bool {
    YEARS.contains(&number.parse().unwrap_or(0))
}

/// Returns the numbers of a text that have a unit behind them, each with a word that a source has
/// in its [`words`] where it holds both: a unit of capital letters, or `2 tsp`.
pub fn measures(text: &str) -> Vec<[String; 2]> {
    let found = find_measures(text).into_iter();
    let direct = found.filter(|(_, is_direct)| *is_direct);
    let pairs = direct.map(|([number, unit], _)| match find_unit(&unit) {
        Some(_) => [number.clone(), format!("{number} {unit}")],
        None => [number, unit],
    });
    pairs.collect()
}

/// Returns the numbers of a text with each of [`UNITS`] that they may be of: in "1 pepper, 2
/// teaspoons paste" the 1 is of no teaspoons, and "price (EUR): 12" names its unit elsewhere. The
/// unit of a row may stand above it, and other languages have other names; but money is named.
fn find_measured(text: &str) -> Vec<String> {
    let own = find_measures(text);
    let mut numbers = numbers(text);
    numbers.retain(|number| !own.iter().any(|([known, _], _)| known == number));
    let lower = text.to_lowercase();
    let is_named = |name: &str| {
        let is_sign = !name.starts_with(char::is_alphanumeric);
        is_sign && lower.contains(name) || split_words(&lower).any(|word| word == name)
    };
    let is_open = !numbers.is_empty()
        && (named_cells(text).is_some() || !NAMED_IN.contains(&text_language(text)));
    let may_be_of = |names: &&&[&str]| {
        let is_of_others = own.iter().any(|([_, unit], _)| unit == names[0]);
        let is_money = CURRENCIES.contains(&names[0]);
        let is_named = (is_money || !is_of_others) && names.iter().any(|name| is_named(name));
        is_named || is_open && !is_money && !is_of_others
    };

    let free: Vec<&str> = UNITS
        .iter()
        .filter(may_be_of)
        .map(|names| names[0])
        .collect();
    let of_number = |number: &String| -> Vec<String> {
        free.iter().map(|unit| format!("{number} {unit}")).collect()
    };
    let own = own
        .iter()
        .map(|([number, unit], _)| format!("{number} {unit}"));
    own.chain(numbers.iter().flat_map(of_number)).collect()
}

/// Returns the numbers of a text with their units, and whether the unit stands behind this very
/// one: it is of all numbers in "4, 6 and 8 kg".
fn find_measures(text: &str) -> Vec<([String; 2], bool)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    let mut pending: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let own = numbers(word);
        if own.is_empty() {
            if !ENUMERATING.contains(&word.to_lowercase().as_str()) {
                pending.clear();
            }
            continue;
        }

        let glued = word.trim_start_matches(|c: char| c.is_numeric() || !is_of_unit(c));
        let is_end = word.ends_with([',', ';', '.']);
        let next = words.get(at + 1).filter(|_| !is_end && glued.is_empty());
        let unit = next.map_or(glued, |next| *next);
        let unit = unit.trim_matches(|c: char| !is_of_unit(c));
        let is_capital = unit.len() > 1 && unit.bytes().all(|byte| byte.is_ascii_uppercase());
        let lower = unit.to_lowercase();
        let known = find_unit(&lower).map(|names| names[0].to_owned());
        let Some(unit) = known.or_else(|| is_capital.then_some(lower)) else {
            let is_joint = next.is_some_and(|next| ENUMERATING.contains(next));
            if !is_joint && !word.ends_with(',') {
                pending.clear();
            } else {
                pending.extend(own);
            }
            continue;
        };
        let others = pending
            .drain(..)
            .map(|number| ([number, unit.clone()], false));
        found.extend(others);
        found.extend(own.into_iter().map(|number| ([number, unit.clone()], true)));
    }
    found
}

/// Returns whether a character may be of the name of a unit.
pub fn is_of_unit(c: char) -> bool {
    c.is_alphanumeric() || "€$£%".contains(c)
}

/// Returns the names of a unit by one of them, in lower case.
pub fn find_unit(name: &str) -> Option<&'static [&'static str]> {
    UNITS.iter().copied().find(|names| names.contains(&name))
}

/// Returns the names of a sentence: words with a capital, the first word aside.
pub fn names(text: &str) -> impl Iterator<Item = String> {
    let words = split_words(text).skip(1);
    let is_name = |word: &&str| word.len() > 2 && word.starts_with(char::is_uppercase);
    words.filter(is_name).map(str::to_owned)
}

/// Returns whether a sentence is code and nothing else: a block, or a line between signs.
pub fn is_code(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    let line = text
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    text.starts_with("```") || line.is_some_and(|line| !line.contains('`'))
}

/// Returns what a sentence sets as code, in lower case: between signs, or the lines of a block.
pub fn code_spans(text: &str) -> Vec<String> {
    let mut spans: Vec<&str> = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            spans.push(line);
        } else {
            spans.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let folded = spans
        .into_iter()
        .map(|span| fold_white_space(&span.to_lowercase()));
    folded.filter(|span| !span.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_unit_of_its_own_part() {
        let recipe = "Ingredients: 400 ml coconut milk, 1 red pepper, 2 teaspoons curry paste.";
        for (source, statement, expected) in [
            (recipe, "| Curry paste | 2 teaspoons |", true),
            (recipe, "| Red pepper | 1 teaspoon |", false),
            (recipe, "400 g of milk", false),
            (recipe, "400 Milliliter Milch", true),
            (recipe, "400 millilitres", true),
            ("Bake for 42 minutes.", "Es backt 42 Minuten", true),
            ("In sizes of 4, 6 and 8 kg.", "one of 4 kg", true),
            ("Back mit 10kg, 2 Eiern", "10 kg", true),
            ("| Time (min): 35 |", "35 minutes", true),
            ("| Dish: soup | Time: 35 |", "35 minutes", true),
            ("1. Fry the curry paste for 2 minutes.", "1 teaspoon", false),
            ("La guarantee: within 30 working days", "30 days", true),
            ("Her extension is 4410.", "It costs 4410 EUR", false),
            ("price_eur: 4410; stock: 2", "It costs 4410 EUR", true),
            ("It costs €4,410.", "It costs 4410 EUR", true),
        ] {
            let measures = measures(statement);
            let words = words(source);
            let held = measures.iter().flatten().all(|part| words.contains(part));
            assert_eq!((measures.len(), held), (1, expected), "{statement}");
        }
    }
}
