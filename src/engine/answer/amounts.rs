//! The amounts that a text names: numbers with their units.

use crate::corpus::split_words;

/// Words of a number, with what they multiply it by, in lower case.
const MAGNITUDES: [(&str, f64); 4] = [
    ("hundred", 1e2),
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
];
/// Signs of currencies in front of a number.
const CURRENCIES: [char; 4] = ['$', '€', '£', '¥'];
/// Years are no amounts.
const YEARS: std::ops::RangeInclusive<f64> = 1000.0..=2100.0;

/// A number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Amount {
    pub value: f64,
    /// The sign of its currency and the word behind it, in lower case.
    pub unit: String,
    /// The amount as the text has it.
    pub text: String,
}

/// Returns the amounts of a text in English, each once: digits with a sign of a currency, a sign of
/// percent, a magnitude or a word behind them.
pub fn amounts(text: &str) -> Vec<Amount> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut amounts: Vec<Amount> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let bare = word.trim_matches(|c: char| "()[],;:!?\"“”*".contains(c));
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        let currency = bare.chars().next().filter(|c| CURRENCIES.contains(c));
        let digits = bare.trim_start_matches(CURRENCIES).trim_end_matches('%');
        let number = digits.replace(',', "");
        let Some(mut value) = number
            .parse()
            .ok()
            .filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        let ends = |word: &str| word.ends_with(['.', ',', ';', ':', '!', '?', ')']);
        let mut parts = vec![bare];
        let mut next = words[at + 1..].iter().copied();
        let mut behind = next.next().filter(|_| !ends(word));
        let magnitude = behind.and_then(|word| {
            let known = split_words(word).next()?.to_lowercase();
            let mut magnitudes = MAGNITUDES.iter();
            magnitudes.find(|(name, _)| *name == known)
        });
        if let Some((name, factor)) = magnitude {
            value *= factor;
            parts.push(name);
            behind = behind.filter(|word| !ends(word)).and_then(|_| next.next());
        }
        let is_bare = currency.is_none() && !bare.ends_with('%');
        let unit = behind
            .filter(|_| is_bare)
            .and_then(|word| split_words(word).next());
        let is_year = digits.len() == 4 && is_bare && magnitude.is_none() && YEARS.contains(&value);
        if is_year || (is_bare && unit.is_none()) {
            continue;
        }
        parts.extend(unit);
        let sign = if bare.ends_with('%') { "%" } else { "" };
        let amount = Amount {
            value,
            unit: format!(
                "{}{sign}{}",
                currency.map(String::from).unwrap_or_default(),
                unit.unwrap_or_default().to_lowercase()
            ),
            text: parts.join(" "),
        };
        if !amounts.contains(&amount) {
            amounts.push(amount);
        }
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_with_its_unit() {
        for (text, expected) in [
            (
                "It was $1.2 billion in 2018.",
                &[("$1.2 billion", 1.2e9, "$")][..],
            ),
            (
                "It has 1,250 beds, and 12 % less.",
                &[("1,250 beds", 1250.0, "beds")],
            ),
            ("A share of 20%.", &[("20%", 20.0, "%")]),
            ("On page 7.", &[]),
            ("In 2018 it opened.", &[]),
            ("It has 12 beds and 12 beds.", &[("12 beds", 12.0, "beds")]),
            (
                "It cost 5 million euros.",
                &[("5 million euros", 5e6, "euros")],
            ),
        ] {
            let found = amounts(text);
            let found: Vec<(&str, f64, &str)> = found
                .iter()
                .map(|one| (one.text.as_str(), one.value, one.unit.as_str()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
