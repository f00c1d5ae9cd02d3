use std::borrow::Cow;

/// Returns text that is safe to show: escape sequences and control characters of documents, file
/// names and model output become visible signs, so that they never control the terminal. Line ends
/// and tabs stay.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_harmful) {
        Cow::Owned(
            text.chars()
                .map(|c| if is_harmful(c) { visible(c) } else { c })
                .collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns whether the character is a control character, or a mark that changes the direction of
/// text and so can make a line look like another one.
fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the Unicode picture of a C0 control character, and a replacement sign for the rest.
fn visible(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn control_characters_become_visible() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "␛[31mred"),
            ("a\rb\u{7f}\u{9b}1m", "a␍b␡\u{fffd}1m"),
            ("\u{202e}abc", "\u{fffd}abc"),
        ];
        for (text, expected) in cases {
            assert_eq!(harmless(text), expected);
        }
    }
}
