//! The labels of pages: the numbers that are printed on them, as in `iii` or `A-1` (ISO 32000-1,
//! 12.4.2).

use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::{Objects, string};
use super::pages::Pages;
use crate::corpus::formats::roman::roman;

/// The largest number that is written in letters or in Roman numerals.
const MAX_IN_LETTERS: u32 = 5_000;

/// Adds the labels that differ from the numbers of their pages.
pub(super) fn add(objects: Objects<'_>, pages: &mut Pages) {
    let catalog = objects.catalog();
    let tree = catalog.and_then(|catalog| objects.dictionary(catalog, b"PageLabels"));
    let entries = tree.map(|root| objects.tree(root, b"Nums"));
    // the first page of each range, from 0, and its style
    let mut ranges: Vec<(i64, &PdfDict)> = entries
        .into_iter()
        .flatten()
        .filter_map(|[first, style]| Some((first.as_i64()?, style.as_dict()?)))
        .collect();
    ranges.sort_by_key(|(first, _)| *first);

    for page in &mut pages.pages {
        let index = i64::from(page.number) - 1;
        let after = ranges.partition_point(|(first, _)| *first <= index);
        let range = after.checked_sub(1).and_then(|at| ranges.get(at));
        let label = range.map(|(first, style)| label(objects, style, index.saturating_sub(*first)));
        let number = page.number.to_string();
        page.label = label.filter(|label| !label.is_empty() && *label != number);
    }
}

/// Returns the label of the page that comes this many pages after the first one of a range.
fn label(objects: Objects<'_>, style: &PdfDict, after: i64) -> String {
    let first = objects.get(style, b"St").and_then(PdfObject::as_i64);
    let number = u32::try_from(first.unwrap_or(1).saturating_add(after)).unwrap_or(0);
    let is_long = number > MAX_IN_LETTERS;
    let in_roman = if is_long {
        String::new()
    } else {
        roman(number)
    };
    let prefix = objects.get(style, b"P").and_then(string);
    let number = match objects.name(style, b"S") {
        Some(b"D") => number.to_string(),
        Some(b"r") => in_roman,
        Some(b"R") => in_roman.to_uppercase(),
        Some(b"a") => letters(number),
        Some(b"A") => letters(number).to_uppercase(),
        Some(_) | None => String::new(),
    };
    prefix.unwrap_or_default() + &number
}

/// Returns `a` to `z`, then `aa` to `zz`, then `aaa`.
fn letters(number: u32) -> String {
    let Some(index) = number.checked_sub(1).filter(|_| number <= MAX_IN_LETTERS) else {
        return String::new();
    };
    let letter = char::from(b'a' + (index % 26) as u8);
    std::iter::repeat_n(letter, (index / 26 + 1) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_letters() {
        let cases = [
            (1, "i", "a"),
            (4, "iv", "d"),
            (28, "xxviii", "bb"),
            (0, "", ""),
        ];
        for (number, in_roman, in_letters) in cases {
            assert_eq!(roman(number), in_roman);
            assert_eq!(letters(number), in_letters);
        }
        assert_eq!(roman(1994), "mcmxciv");
        assert_eq!(letters(u32::MAX), "");
    }
}
