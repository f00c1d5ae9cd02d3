//! The kinds of characters of llama.cpp's WordPiece (tables of `unicode-data.cpp`, rebuilt from
//! Unicode's own categories).

use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind};
use unicode_normalization::char::decompose_canonical;

/// The effect of a character on a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It continues the word.
    Part,
    /// It ends the word and is dropped.
    Space,
    /// It is dropped: control characters, and the replacement character.
    Nothing,
    /// A combining mark.
    Accent,
    /// It is a word of its own.
    Alone,
}

static KINDS: LazyLock<Box<[Kind]>> = LazyLock::new(|| {
    let mut kinds = vec![Kind::Part; 0x11_0000].into_boxed_slice();
    // llama.cpp's tables are those of Unicode 15; later lines win, in the order of llama.cpp's
    // tests
    let classes = [
        (Kind::Alone, r"[[\p{P}&&\p{Age:15.1}][\p{S}&&[\x00-\x7e]]]"),
        (
            Kind::Alone,
            r"[\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}\x{2b740}-\x{2b81f}]",
        ),
        (
            Kind::Alone,
            r"[\x{2b920}-\x{2ceaf}\x{f900}-\x{faff}\x{2f800}-\x{2fa1f}]",
        ),
        (Kind::Accent, r"[\p{M}&&\p{Age:15.1}]"),
        (Kind::Nothing, r"[\x00\x{fffd}\p{Cc}\p{Cf}\p{Co}]"),
        (Kind::Space, r"\p{White_Space}"),
    ];
    for (kind, class) in classes {
        for (first, last) in ranges(class) {
            kinds[first as usize..=last as usize].fill(kind);
        }
    }
    kinds
});

/// Returns the kind of a character.
pub(super) fn kind(character: char) -> Kind {
    KINDS[character as usize]
}

/// Returns a character without its accents: the first of its canonical decomposition. For a Hangul
/// syllable that is its first consonant, since llama.cpp replaces one character by one.
pub(super) fn base(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let mut first = None;
    decompose_canonical(character, |part| {
        first.get_or_insert(part);
    });
    first.unwrap_or(character)
}

/// Returns a character in lower case: the first one, where there are several.
pub(super) fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// Returns the ranges of characters of a class of a regular expression.
fn ranges(class: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(class).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Ok(_) | Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_kinds() {
        let cases = [
            ('a', Kind::Part),
            ('7', Kind::Part),
            ('€', Kind::Part),
            ('가', Kind::Part),
            ('😀', Kind::Part),
            ('あ', Kind::Part),
            (' ', Kind::Space),
            ('\n', Kind::Space),
            ('\u{a0}', Kind::Space),
            ('\u{3000}', Kind::Space),
            ('\u{7f}', Kind::Nothing),
            ('\u{200b}', Kind::Nothing),
            ('\u{fffd}', Kind::Nothing),
            ('\u{301}', Kind::Accent),
            ('.', Kind::Alone),
            ('$', Kind::Alone),
            ('。', Kind::Alone),
            ('漢', Kind::Alone),
            ('—', Kind::Alone),
        ];
        for (character, expected) in cases {
            assert_eq!(kind(character), expected, "{character:?}");
        }
        assert_eq!(
            (base('é'), base('가'), base('Å'), lower('Σ'), lower('İ')),
            ('e', 'ᄀ', 'A', 'σ', 'i')
        );
    }
}
