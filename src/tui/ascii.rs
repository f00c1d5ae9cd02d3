//! The screen in ASCII, for terminals and locales without Unicode.

use ratatui::buffer::Buffer;

use crate::config::Charset;

/// Returns whether the screen is drawn in ASCII.
pub(super) fn is_wanted(charset: Charset, has_plain_locale: bool) -> bool {
    match charset {
        Charset::Ascii => true,
        Charset::Unicode => false,
        Charset::Auto => has_plain_locale,
    }
}

/// Returns whether the locale shows no more than ASCII. Without a locale most terminals show
/// Unicode.
pub fn has_plain_locale() -> bool {
    is_plain(|name| std::env::var(name).ok())
}

/// Returns whether the locale of the environment is `C` or `POSIX`: the first of the variables that
/// is set counts.
fn is_plain(variable: impl Fn(&str) -> Option<String>) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names
        .iter()
        .filter_map(|name| variable(name))
        .find(|value| !value.is_empty());
    locale.is_some_and(|locale| matches!(locale.as_str(), "C" | "POSIX"))
}

/// Replaces every symbol of a screen by one of ASCII that is as wide.
pub(super) fn replace(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let symbol = ascii(cell.symbol());
            cell.set_char(symbol);
        }
    }
}

/// Returns the symbol of ASCII that looks or means most like this one.
fn ascii(symbol: &str) -> char {
    match symbol.chars().next().unwrap_or(' ') {
        '─' | '━' | '–' | '—' | '‐' | '‑' | '−' | '▁' => '-',
        '│' | '┃' | '╲' | '‖' | '▐' | '▌' | '┆' => '|',
        '╭' | '╮' | '╰' | '╯' | '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '↳' => {
            '+'
        }
        '█' | '▇' | '▆' | '▓' | '■' | '●' => '#',
        '▅' | '▄' | '▃' | '▂' | '▒' | '×' => '=',
        '░' | '·' | '…' | '•' | '◦' => '.',
        '→' | '▸' | '▶' | '›' | '»' => '>',
        '←' | '◂' | '◀' | '‹' | '«' => '<',
        '↑' | '▴' => '^',
        '↓' | '▾' | '✓' => 'v',
        '✗' | '✂' => 'x',
        '★' => '*',
        '◐' => '%',
        '○' => 'o',
        '≤' => '<',
        '≥' => '>',
        '≠' => '!',
        '≈' => '~',
        'Δ' => 'd',
        '“' | '”' | '„' => '"',
        '‘' | '’' | '‚' => '\'',
        '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        letter => base(letter),
    }
}

/// Returns a Latin letter without its accent; `?` for what ASCII cannot show.
fn base(letter: char) -> char {
    use unicode_normalization::UnicodeNormalization as _;

    let first = letter.nfd().next();
    first.filter(char::is_ascii).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_locale_is_found_where_the_system_looks() {
        let cases: [(&[(&str, &str)], bool); 6] = [
            (&[], false),
            (&[("LANG", "C")], true),
            (&[("LANG", "C.UTF-8")], false),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "POSIX")], true),
            (&[("LANG", "C"), ("LC_CTYPE", "en_GB.UTF-8")], false),
            (&[("LANG", "C"), ("LC_ALL", "")], true),
        ];
        for (variables, expected) in cases {
            let found = is_plain(|name| {
                let known = variables.iter().find(|(known, _)| *known == name);
                known.map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(found, expected, "{variables:?}");
        }
    }

    #[test]
    fn symbols_keep_their_meaning() {
        for (symbol, expected) in [("│", '|'), ("█", '#'), ("é", 'e'), ("日", '?'), ("✗", 'x')]
        {
            assert_eq!(ascii(symbol), expected, "{symbol}");
        }
    }
}
