//! Roman numerals.

/// The numerals with their values, the largest first.
#[rustfmt::skip]
const NUMERALS: [(&str, u32); 13] = [
    ("m", 1000), ("cm", 900), ("d", 500), ("cd", 400), ("c", 100), ("xc", 90), ("l", 50),
    ("xl", 40), ("x", 10), ("ix", 9), ("v", 5), ("iv", 4), ("i", 1),
];

/// Returns a number in Roman numerals; nothing for 0.
pub(super) fn roman(mut number: u32) -> String {
    let mut written = String::new();
    for (numeral, value) in NUMERALS {
        while number >= value {
            written.push_str(numeral);
            number -= value;
        }
    }
    written
}
