//! The bound that a question sets on a number: "more than 50 EUR", "between 2 and 4 beds", "out of
//! stock".

use std::ops::{Bound, RangeBounds as _};

use super::cells::{CURRENCY_SIGNS, read_numbers};
use super::extremes::Extreme;
use super::scope::find_words;
use super::wording::{find_unit, is_of_unit, text_language};

/// Words in front of the number that is exceeded, reached, not reached and not exceeded, in lower
/// case.
#[rustfmt::skip]
const SIDES: [(Side, &[&str]); 4] = [
    (Side::Above, &[
        "more than", "over", "above", "more expensive than", "dearer than", "costlier than",
        "longer than", "larger than", "bigger than", "greater than", "higher than", "heavier than",
        "taller than", "exceeding", "mehr als", "über", "teurer als", "länger als", "größer als",
        "höher als", "schwerer als", "plus de", "plus cher que", "plus chers que",
        "plus chère que", "plus chères que", "supérieur à", "au-dessus de", "más de", "más caro que",
        "más caros que", "más cara que", "más caras que", "por encima de", "超过", "多于", "大于",
        "高于",
    ]),
    (Side::AtLeast, &[
        "at least", "no less than", "not less than", "no fewer than", "a minimum of", "mindestens",
        "wenigstens", "nicht weniger als", "au moins", "al menos", "por lo menos", "como mínimo",
        "至少", "不少于", "不低于",
    ]),
    (Side::Below, &[
        "less than", "fewer than", "under", "below", "cheaper than", "shorter than", "smaller than",
        "lower than", "lighter than", "weniger als", "unter", "billiger als", "günstiger als",
        "kürzer als", "kleiner als", "niedriger als", "leichter als", "moins de", "moins cher que",
        "moins chers que", "moins chère que", "moins chères que", "inférieur à", "en dessous de",
        "menos de", "más barato que", "más baratos que", "más barata que", "más baratas que",
        "por debajo de", "少于", "小于", "低于", "不到", "不足",
    ]),
    (Side::AtMost, &[
        "at most", "no more than", "not more than", "up to", "a maximum of", "höchstens",
        "maximal", "nicht mehr als", "bis zu", "au plus", "au maximum", "pas plus de", "jusqu'à",
        "como máximo", "a lo sumo", "no más de", "hasta", "最多", "不超过", "至多",
    ]),
];
/// Words in front of two numbers and between them, in lower case.
const BETWEEN: [(&str, &str); 6] = [
    ("between", "and"),
    ("zwischen", "und"),
    ("entre", "et"),
    ("entre", "y"),
    ("从", "到"),
    ("介于", "和"),
];
/// Words for things of which there are none left, and for those of which there are, in lower case.
#[rustfmt::skip]
const OUT: &[&str] = &[
    "out of stock", "sold out", "not in stock", "no longer in stock", "no stock", "ausverkauft",
    "nicht auf lager", "nicht mehr auf lager", "nicht vorrätig", "vergriffen",
    "en rupture de stock", "en rupture", "épuisé", "épuisés", "épuisée", "épuisées", "agotado",
    "agotados", "agotada", "agotadas", "sin existencias", "缺货", "售罄", "无货", "没有库存",
];
#[rustfmt::skip]
const IN: &[&str] = &[
    "in stock", "auf lager", "vorrätig", "en stock", "en existencia", "有货", "有库存",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A bound on the numbers of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberBound {
    range: [Bound<f64>; 2],
    /// The words that set it, which may name the column: "cheaper than".
    pub words: String,
    /// The names of the unit of the number.
    pub unit: Option<&'static [&'static str]>,
    /// Whether it is about what there is left.
    pub is_stock: bool,
}

impl NumberBound {
    /// Takes the bound out of a question in lower case, with its number and without the unit behind
    /// it; `None` where it has several.
    pub fn take(text: &mut String) -> Option<Option<Self>> {
        let mut found: Vec<(usize, usize, Self)> = Vec::new();
        for (at, end, bound) in find_sides(text).chain(find_between(text)) {
            let is_inside =
                |(start, known, _): &(usize, usize, Self)| *start <= at && end <= *known;
            if !found.iter().any(is_inside) {
                found.retain(|(start, known, _)| !(at <= *start && *known <= end));
                found.push((at, end, bound));
            }
        }
        if found.is_empty() {
            found.extend(find_stock(text));
        }

        if found.len() > 1 {
            return None;
        }
        Some(found.pop().map(|(at, end, bound)| {
            text.replace_range(at..end, " ");
            bound
        }))
    }

    pub fn holds(&self, number: f64) -> bool {
        (self.range[0], self.range[1]).contains(&number)
    }

    /// Returns the end of the column that comes nearest where no number is within the bound.
    pub fn nearest(&self) -> Option<Extreme> {
        match self.range {
            [_, Bound::Unbounded] => Some(Extreme::Largest),
            [Bound::Unbounded, _] => Some(Extreme::Smallest),
            _ => self.is_stock.then_some(Extreme::Smallest),
        }
    }

    /// Returns the bound as a comparison: `price > 50`.
    pub fn describe(&self, column: &str) -> String {
        let low = match self.range[0] {
            Bound::Excluded(low) => format!(" > {low}"),
            Bound::Included(low) => format!(" ≥ {low}"),
            Bound::Unbounded => String::new(),
        };
        let high = match self.range[1] {
            Bound::Excluded(high) => format!(" < {high}"),
            Bound::Included(high) => format!(" ≤ {high}"),
            Bound::Unbounded => String::new(),
        };
        match self.range {
            [Bound::Included(low), Bound::Included(high)] if low == high => {
                format!("{column} = {low}")
            }
            _ => format!("{column}{low}{high}"),
        }
    }
}

/// Returns whether a question sets one bound.
pub fn has_bound(question: &str) -> bool {
    matches!(
        NumberBound::take(&mut question.to_lowercase()),
        Some(Some(_))
    )
}

/// Returns a text without the bound that it sets and its unit: no document holds their words.
pub fn without_bound(question: &str) -> String {
    let text = question.to_lowercase();
    let found = find_sides(&text).chain(find_between(&text)).next();
    let Some((at, end, _)) = found else {
        return question.to_owned();
    };
    let behind = text[end..].trim_start();
    let next = behind.split_whitespace().next().unwrap_or_default();
    let is_unit = find_unit(next.trim_matches(|c: char| !c.is_alphanumeric())).is_some();
    let rest = if is_unit {
        &behind[next.len()..]
    } else {
        behind
    };
    format!("{} {rest}", &text[..at])
}

/// Returns the bounds on one side that a text sets, the longest words first, with their places.
fn find_sides(text: &str) -> impl Iterator<Item = (usize, usize, NumberBound)> {
    let words = SIDES.into_iter();
    let words = words.flat_map(|(side, words)| words.iter().map(move |word| (side, *word)));
    let mut words: Vec<(Side, &str)> = words.collect();
    words.sort_by_key(|(_, word)| std::cmp::Reverse(word.len()));
    words.into_iter().filter_map(|(side, word)| {
        let at = find_words(text, word)?;
        let number = Number::read(text, at + word.len())?;
        let value = number.value;
        let range = match side {
            Side::Above => [Bound::Excluded(value), Bound::Unbounded],
            Side::AtLeast => [Bound::Included(value), Bound::Unbounded],
            Side::Below => [Bound::Unbounded, Bound::Excluded(value)],
            Side::AtMost => [Bound::Unbounded, Bound::Included(value)],
        };
        let bound = NumberBound {
            range,
            words: word.to_owned(),
            unit: number.unit,
            is_stock: false,
        };
        Some((at, number.end, bound))
    })
}

/// Returns the bounds between two numbers that a text sets, with their places.
fn find_between(text: &str) -> impl Iterator<Item = (usize, usize, NumberBound)> {
    BETWEEN.into_iter().filter_map(|(before, between)| {
        let at = find_words(text, before)?;
        let low = Number::read(text, at + before.len())?;
        // "between 20 EUR and 50 EUR"
        let joint = low.end + find_words(&text[low.end..], between)?;
        let between_them = text[low.end..joint].trim();
        let high = Number::read(text, joint + between.len())?;
        let is_next = between_them.is_empty() || find_unit(between_them).is_some();
        is_next.then(|| {
            let bound = NumberBound {
                range: [Bound::Included(low.value), Bound::Included(high.value)],
                words: before.to_owned(),
                unit: high.unit.or(low.unit),
                is_stock: false,
            };
            (at, high.end, bound)
        })
    })
}

/// Returns the bound of the words for things that there are, or of which none is left.
fn find_stock(text: &str) -> Option<(usize, usize, NumberBound)> {
    let ranges = [
        (OUT, [Bound::Included(0.0), Bound::Included(0.0)]),
        (IN, [Bound::Excluded(0.0), Bound::Unbounded]),
    ];
    ranges.into_iter().find_map(|(phrases, range)| {
        let found = phrases
            .iter()
            .filter_map(|word| Some((find_words(text, word)?, *word)));
        let (at, word) = found.max_by_key(|(_, word)| word.len())?;
        let bound = NumberBound {
            range,
            words: word.to_owned(),
            unit: None,
            is_stock: true,
        };
        Some((at, at + word.len(), bound))
    })
}

/// A number of a question.
struct Number {
    value: f64,
    end: usize,
    unit: Option<&'static [&'static str]>,
}

impl Number {
    /// Reads the number at a place of a text, where one begins there.
    fn read(text: &str, at: usize) -> Option<Self> {
        let rest = text[at..].trim_start();
        let start = rest.trim_start_matches(CURRENCY_SIGNS);
        let sign = rest[..rest.len() - start.len()].trim();
        let is_part = |c: char| c.is_ascii_digit() || "., '".contains(c);
        let end = start.find(|c| !is_part(c)).unwrap_or(start.len());
        let digits = start[..end].trim_end_matches(['.', ',', ' ']);
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
        let value = read_numbers(&[digits], text_language(text)).filter(|_| is_number)?;
        let behind = &start[digits.len()..];
        let next = behind.split_whitespace().next().unwrap_or_default();
        let next = next.trim_matches(|c: char| !is_of_unit(c));
        Some(Self {
            value: value.first().copied().flatten()?,
            end: text.len() - behind.len(),
            unit: find_unit(sign).or_else(|| find_unit(next)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_a_question_is_read_in_its_language() {
        for (question, expected, rest) in [
            (
                "which cost more than 50 eur?",
                "x > 50 eur",
                "which cost   eur?",
            ),
            (
                "which cost no more than €1,250?",
                "x ≤ 1250 eur",
                "which cost  ?",
            ),
            (
                "which take less than 40 minutes?",
                "x < 40 min",
                "which take   minutes?",
            ),
            ("huts with at least 20 beds", "x ≥ 20", "huts with   beds"),
            ("huts between 20 and 40.5 m", "x ≥ 20 ≤ 40.5 m", "huts   m"),
            ("which are cheaper than 9.50?", "x < 9.5", "which are  ?"),
            (
                "welche kosten über 1.000 euro?",
                "x > 1000 eur",
                "welche kosten   euro?",
            ),
            (
                "welche dauern höchstens 2,5 stunden?",
                "x ≤ 2.5 h",
                "welche dauern   stunden?",
            ),
            (
                "lesquels coûtent moins de 20 euros ?",
                "x < 20 eur",
                "lesquels coûtent   euros ?",
            ),
            (
                "cuáles cuestan más de 20 euros",
                "x > 20 eur",
                "cuáles cuestan   euros",
            ),
            ("哪些超过50欧元？", "x > 50 eur", "哪些 欧元？"),
            ("which are out of stock?", "x = 0", "which are  ?"),
            ("which are in stock?", "x > 0", "which are  ?"),
            ("welche sind nicht auf lager?", "x = 0", "welche sind  ?"),
            ("which are over the river?", "", "which are over the river?"),
            ("which have the most beds?", "", "which have the most beds?"),
        ] {
            let mut text = question.to_owned();
            let bound = NumberBound::take(&mut text).expect(question);
            let shown = bound.map(|bound| {
                let unit = bound.unit.map(|names| format!(" {}", names[0]));
                format!("{}{}", bound.describe("x"), unit.unwrap_or_default())
            });
            assert_eq!(shown.unwrap_or_default(), expected, "{question}");
            assert_eq!(text, rest);
        }
        let mut two = "which cost over 20 eur and weigh under 3 kg?".to_owned();
        assert_eq!(NumberBound::take(&mut two), None);
        assert_eq!(
            without_bound("Which take less than 40 minutes?"),
            "which take  "
        );
    }
}
