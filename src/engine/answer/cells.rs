//! The numbers of a column of a table, from its cells.

use std::collections::BTreeSet;

use super::wording::has_digit;

/// Signs in front of a number, and the blank between.
pub const CURRENCY_SIGNS: [char; 5] = ['€', '$', '£', '¥', ' '];

/// Returns the numbers of a column, `None` for an empty cell; nothing where a cell is no number, or
/// they have several units. Their signs are read together: 12.5 says what the point in 3.125 is.
pub fn read_numbers(cells: &[&str], language: &str) -> Option<Vec<Option<f64>>> {
    let parts = cells.iter().map(|cell| match *cell {
        "" => Some(None),
        cell => split_number(cell).map(Some),
    });
    let parts: Vec<Option<[&str; 3]>> = parts.collect::<Option<_>>()?;
    let known = || parts.iter().flatten();
    let unit = |part: &[&'_ str; 3]| [part[0].to_owned(), part[2].to_owned()];
    let first = known().next().map(unit)?;
    if known().any(|part| unit(part) != first) {
        return None;
    }

    let decimals = known().filter_map(|[_, digits, _]| {
        let (whole, behind) = digits.rsplit_once([',', '.'])?;
        let sign = if digits[whole.len()..].starts_with(',') {
            ','
        } else {
            '.'
        };
        let other = if sign == ',' { '.' } else { ',' };
        let is_zero = whole.trim_start_matches('-') == "0";
        (behind.len() != 3 || is_zero || whole.contains(other)).then_some(sign)
    });
    let decimals: BTreeSet<char> = decimals.collect();
    // 1.250 alone may be either, in English less so with a comma
    let own = if language == "en" { '.' } else { ',' };
    let has_own = known().any(|[_, digits, _]| digits.contains(own));
    if decimals.len() > 1 || (decimals.is_empty() && has_own) {
        return None;
    }
    let read = |digits: &str| {
        let kept = digits.chars().filter_map(|c| match c {
            c if decimals.contains(&c) => Some('.'),
            c if c.is_ascii_digit() || c == '-' => Some(c),
            _ => None,
        });
        kept.collect::<String>().parse::<f64>().ok()
    };
    let numbers = parts.iter().map(|part| match part {
        None => Some(None),
        Some([_, digits, _]) => read(digits).map(Some),
    });
    numbers.collect()
}

/// Returns the sign of a currency, the digits and the unit of a cell that is a number:
/// `18,400 EUR`, `€ 12,40`, `-3 °C`.
pub fn split_number(cell: &str) -> Option<[&str; 3]> {
    let is_part = |c: char| c.is_ascii_digit() || "-., '\u{a0}\u{202f}".contains(c);
    let start = cell.trim_start_matches(CURRENCY_SIGNS);
    let end = start.find(|c| !is_part(c)).unwrap_or(start.len());
    let digits = start[..end].trim_end_matches(['.', ',', ' ']);
    let (prefix, unit) = (cell[..cell.len() - start.len()].trim(), start[end..].trim());
    (has_digit(digits) && !has_digit(unit)).then_some([prefix, digits, unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_of_a_column_are_numbers_of_one_unit() {
        let cases: [(&[&str], Option<&[f64]>); 11] = [
            (&["5.65 m", "12 m"], Some(&[5.65, 12.0])),
            (&["18,400 EUR", "900 EUR"], Some(&[18400.0, 900.0])),
            (&["€ 1.234,50", "€ 12,40"], Some(&[1234.5, 12.4])),
            (&["3.125", "12.5"], Some(&[3.125, 12.5])),
            (&["-0.125", "-3"], Some(&[-0.125, -3.0])),
            (&["1 987"], Some(&[1987.0])),
            (&["$5", "€3"], None),
            (&["Pier 7"], None),
            (&["10 of 12"], None),
            (&["12.03.2024", "13.03.2024"], None),
            (&["5 m", "5 m/s"], None),
        ];
        for (cells, expected) in cases {
            let found =
                read_numbers(cells, "en").map(|found| found.into_iter().flatten().collect());
            assert_eq!(found, expected.map(<[f64]>::to_vec), "{cells:?}");
        }
    }
}
