//! The one amount that a statement names: a number with its unit. What is not understood whole is
//! none.

use crate::corpus::split_words;
use crate::index::is_content_word;

use super::marks::without_marks;
use super::wording::has_digit;

/// Words of a number, with what they multiply it by, in lower case.
const MAGNITUDES: [(&str, f64); 7] = [
    ("hundred", 1e2),
    ("thousand", 1e3),
    ("million", 1e6),
    ("mn", 1e6),
    ("billion", 1e9),
    ("bn", 1e9),
    ("trillion", 1e12),
];
/// Signs at the end of a word.
const STOPS: [char; 6] = ['.', ',', ';', ':', '!', '?'];
/// Signs of currencies in front of a number.
const CURRENCIES: [char; 4] = ['$', '€', '£', '¥'];
/// Words in front of what is no amount of the thing itself, and words behind a price of each, in
/// lower case.
const CHANGED: [&str; 3] = ["by", "minus", "to"];
const EACH: [&str; 5] = ["per", "each", "every", "a", "an"];

/// A number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Amount {
    pub value: f64,
    /// The sign of its currency or of percent, or the word behind it, in lower case.
    pub unit: String,
    /// The amount as the statement has it.
    pub text: String,
}

/// Returns the amount of a statement in English, which has no other number than it and those of
/// the question; `None` where it has several, or one that is not understood.
pub fn only_amount(statement: &str, question: &str) -> Option<Amount> {
    let statement = without_marks(statement);
    let words: Vec<&str> = statement.split_whitespace().collect();
    let asked = |word: &str| {
        let mut numbers = split_words(word).filter(|part| has_digit(part));
        numbers.all(|number| split_words(question).any(|known| known == number))
    };
    let mut numbers = words
        .iter()
        .enumerate()
        .filter(|(_, word)| has_digit(word) && !asked(word));
    let (Some((at, _)), None) = (numbers.next(), numbers.next()) else {
        return None;
    };
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    if CHANGED.contains(&before.to_lowercase().as_str()) {
        return None;
    }
    read_amount(&words[at..])
}

/// Reads the amount at the beginning of some words.
fn read_amount(words: &[&str]) -> Option<Amount> {
    let ends = |word: &str| word.ends_with(STOPS);
    let bare = words[0].trim_end_matches(STOPS);
    let digits = bare.strip_prefix(CURRENCIES).unwrap_or(bare);
    let currency = &bare[..bare.len() - digits.len()];
    let (digits, percent) = match digits.strip_suffix('%') {
        Some(digits) => (digits, "%"),
        None => (digits, ""),
    };
    let mut value = read_number(digits)?;

    let mut text = vec![bare];
    let mut behind = words[1..].iter().copied().peekable();
    let mut is_over = ends(words[0]);
    let magnitude = behind.peek().filter(|_| !is_over).and_then(|word| {
        let known = word.trim_end_matches(STOPS);
        MAGNITUDES.iter().find(|(name, _)| *name == known)
    });
    if let Some((name, factor)) = magnitude {
        value *= factor;
        text.push(name);
        is_over = behind.next().is_some_and(ends);
    }
    let next = behind.next().filter(|_| !is_over);
    let next = next.and_then(|word| split_words(word).next());
    if next.is_some_and(|word| EACH.contains(&word.to_lowercase().as_str())) {
        return None;
    }

    let sign = format!("{currency}{percent}");
    let unit = if sign.is_empty() {
        let unit = next.filter(|word| is_content_word(word, "en"))?;
        text.push(unit);
        unit.to_lowercase()
    } else {
        sign
    };
    Some(Amount {
        value,
        unit,
        text: text.join(" "),
    })
}

/// Reads digits as English writes them: commas in front of groups of three, and a point in front of
/// one or two.
fn read_number(digits: &str) -> Option<f64> {
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let mut groups = whole.split(',');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next()?;
    let is_grouped = whole.contains(',');
    let is_whole = is_number(first) && (!is_grouped || first.len() <= 3);
    let are_groups = groups.all(|group| group.len() == 3 && is_number(group));
    let is_decimal = is_number(decimals) && decimals.len() <= 2;
    let number = digits.replace(',', "");
    (is_whole && are_groups && is_decimal).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_amount_of_a_statement_is_its_only_number_with_a_unit() {
        for (text, expected) in [
            (
                "It was $1.2 billion in 2018. [3]",
                Some(("$1.2 billion", 1.2e9, "$")),
            ),
            ("It has 1,250 beds.", Some(("1,250 beds", 1250.0, "beds"))),
            ("A share of 20% is theirs.", Some(("20%", 20.0, "%"))),
            (
                "It cost 5 million euros.",
                Some(("5 million euros", 5e6, "euros")),
            ),
            (
                "It lost $1.2 trillion.",
                Some(("$1.2 trillion", 1.2e12, "$")),
            ),
            ("It rose by 20%.", None),
            ("It costs $5 per month.", None),
            ("It was 1,5 million euros.", None),
            ("It was ($5 million).", None),
            ("It was -$5 million.", None),
            ("It was $1.200.", None),
            ("It was $5m.", None),
            ("It has 1500 beds in 3 houses.", None),
            ("It has 12 or 13 beds.", None),
            ("It was founded in 2019.", None),
            ("It is on page 7.", None),
            ("GBP 5 million in 2018", None),
            ("The report [1] names it.", None),
        ] {
            let found = only_amount(text, "Which was higher in 2018?");
            let found = found.as_ref();
            let found = found.map(|one| (one.text.as_str(), one.value, one.unit.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
