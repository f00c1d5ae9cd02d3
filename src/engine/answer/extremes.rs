//! The largest and the smallest number, as a question asks for them.

use crate::corpus::split_words;

use super::scope::find_words;

/// Words that ask for the largest and for the smallest number, in lower case.
#[rustfmt::skip]
pub const EXTREMES: [(Extreme, &[&str]); 2] = [
    (Extreme::Largest, &[
        "most expensive", "most", "highest", "largest", "biggest", "longest", "tallest", "heaviest",
        "deepest", "greatest", "maximum", "meisten", "höchste", "höchsten", "größte", "größten",
        "längste", "längsten", "schwerste", "teuerste", "teuersten", "le plus", "la plus",
        "les plus", "el más", "la más", "con más", "más grande", "más alto", "más alta",
        "más largo", "más caro", "más cara", "最多", "最高", "最大", "最长", "最贵", "最重",
    ]),
    (Extreme::Smallest, &[
        "least expensive", "least", "fewest", "lowest", "smallest", "shortest", "lightest",
        "cheapest", "minimum", "wenigsten", "niedrigste", "niedrigsten", "kleinste", "kleinsten",
        "kürzeste", "günstigste", "günstigsten", "billigste", "le moins", "la moins", "les moins",
        "con menos", "más pequeño", "más barato", "más barata", "最少", "最低", "最小", "最短",
        "最便宜",
    ]),
];

/// The end of a column that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    Largest,
    Smallest,
}

impl Extreme {
    pub fn describe(self, column: &str) -> String {
        match self {
            Self::Largest => format!("max {column}"),
            Self::Smallest => format!("min {column}"),
        }
    }
}

/// Returns the extreme that a question in lower case asks for, if any, with the words behind it;
/// `None` where it has several, or bounds ("at least") and shares ("most of") in the words of one.
pub fn find_extreme(text: &str) -> Option<Option<(Extreme, String)>> {
    let mut found: Vec<(usize, usize, Extreme)> = Vec::new();
    for (extreme, words) in EXTREMES {
        for word in words {
            let Some(at) = find_words(text, word) else {
                continue;
            };
            let end = at + word.len();
            if !found
                .iter()
                .any(|(start, known, _)| *start <= at && end <= *known)
            {
                found.push((at, end, extreme));
            }
        }
    }
    let (at, end, extreme) = match found.as_slice() {
        [] => return Some(None),
        [one] => *one,
        _ => return None,
    };
    let behind = text[end..].trim_start();
    let next = split_words(behind).next().unwrap_or_default();
    let is_share = ["of", "der", "de", "que", "des"].contains(&next);
    let is_bound = text[..at].ends_with("at ") || behind.starts_with(|c: char| c.is_ascii_digit());
    (!is_share && !is_bound).then(|| Some((extreme, behind.to_owned())))
}

/// Keeps the rows with the largest or the smallest of their numbers.
pub fn retain_extremes<T>(rows: &mut Vec<T>, numbers: &[Option<f64>], extreme: Extreme) {
    let known = numbers.iter().copied().flatten();
    let best = match extreme {
        Extreme::Largest => known.reduce(f64::max),
        Extreme::Smallest => known.reduce(f64::min),
    };
    let mut numbers = numbers.iter();
    rows.retain(|_| {
        numbers
            .next()
            .is_some_and(|number| number.is_some() && *number == best)
    });
}
