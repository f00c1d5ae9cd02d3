//! The numbers of the items of ordered lists.

use super::super::roman::roman;

/// Lists that are deeper have no numbers.
const MAX_DEPTH: usize = 100;
/// Browsers write larger numbers with digits.
const MAX_ROMAN: i32 = 3_999;

/// The numerals of a list, by its attribute `type`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Numerals {
    #[default]
    Digits,
    Letters,
    Roman,
    Capitals,
    CapitalRoman,
}

/// The lists that are open, the innermost last: of an ordered one its numerals and the number of
/// its next item.
#[derive(Debug, Default)]
pub(super) struct OpenLists(Vec<Option<(Numerals, i32)>>);

impl Numerals {
    /// Returns the numerals that an attribute names.
    pub(super) fn from_type(kind: &str) -> Self {
        match kind {
            "a" => Self::Letters,
            "i" => Self::Roman,
            "A" => Self::Capitals,
            "I" => Self::CapitalRoman,
            _ => Self::Digits,
        }
    }

    fn write(self, number: i32) -> String {
        match self {
            Self::Letters if number > 0 => letters(number),
            Self::Roman if (1..=MAX_ROMAN).contains(&number) => roman(number.unsigned_abs()),
            Self::Capitals => Self::Letters.write(number).to_uppercase(),
            Self::CapitalRoman => Self::Roman.write(number).to_uppercase(),
            Self::Digits | Self::Letters | Self::Roman => number.to_string(),
        }
    }
}

impl OpenLists {
    /// Opens a list, an ordered one with its numerals and the number of its first item.
    pub(super) fn open(&mut self, first: Option<(Numerals, i32)>) {
        self.0.push(first);
    }

    pub(super) fn close(&mut self) {
        self.0.pop();
    }

    /// Returns the mark of the next item, which may have a number of its own.
    pub(super) fn mark(&mut self, own: Option<i32>) -> String {
        let is_near = self.0.len() <= MAX_DEPTH;
        let list = self.0.last_mut().filter(|_| is_near);
        let Some(Some((numerals, next))) = list else {
            return "- ".to_owned();
        };
        let number = own.unwrap_or(*next);
        *next = number.saturating_add(1);
        format!("{}. ", numerals.write(number))
    }
}

/// Returns a number as letters: a, …, z, aa, ab.
fn letters(mut number: i32) -> String {
    let mut letters = String::new();
    while number > 0 {
        let letter = u8::try_from((number - 1) % 26).unwrap_or_default();
        letters.insert(0, char::from(b'a' + letter));
        number = (number - 1) / 26;
    }
    letters
}
