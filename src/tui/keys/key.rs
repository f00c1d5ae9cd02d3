//! Keys by name, as in keymap files and hints.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::config::nearest;

/// A key by its name: `q`, `G`, `ctrl-p`, `shift-tab`, `pageup`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Names of keys that type no character; the sign or word shown in hints comes third.
const NAMES: &[(&str, KeyCode, &str)] = &[
    ("enter", KeyCode::Enter, "enter"),
    ("esc", KeyCode::Esc, "esc"),
    ("tab", KeyCode::Tab, "tab"),
    ("space", KeyCode::Char(' '), "space"),
    ("backspace", KeyCode::Backspace, "backspace"),
    ("delete", KeyCode::Delete, "delete"),
    ("up", KeyCode::Up, "↑"),
    ("down", KeyCode::Down, "↓"),
    ("left", KeyCode::Left, "←"),
    ("right", KeyCode::Right, "→"),
    ("home", KeyCode::Home, "home"),
    ("end", KeyCode::End, "end"),
    ("pageup", KeyCode::PageUp, "pgup"),
    ("pagedown", KeyCode::PageDown, "pgdn"),
    ("insert", KeyCode::Insert, "insert"),
    ("minus", KeyCode::Char('-'), "-"),
];

const MODIFIERS: &[(&str, KeyModifiers)] = &[
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
];

impl Key {
    /// The key of a terminal event. Terminals report some keys in several ways; these become one.
    pub fn from_event(event: &KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }

    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut modifiers =
            modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // an upper-case letter implies its shift
            KeyCode::Char(c) => {
                let is_shifted = modifiers.contains(KeyModifiers::SHIFT);
                let upper = c.to_uppercase().next().filter(|_| is_shifted);
                modifiers -= KeyModifiers::SHIFT;
                let mut c = upper.unwrap_or(c);
                // ctrl-P and ctrl-p are one key to a terminal
                if modifiers.contains(KeyModifiers::CONTROL) {
                    c.make_ascii_lowercase();
                }
                KeyCode::Char(c)
            }
            code => code,
        };

        Self { code, modifiers }
    }

    /// The character that this key types, when it types one.
    pub fn character(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.modifiers.is_empty() => Some(c),
            _ => None,
        }
    }

    /// The key in short, for hints: `^P`, `↑`.
    pub fn sign(self) -> String {
        match self.code {
            KeyCode::Char(c) if self.modifiers == KeyModifiers::CONTROL => {
                format!("^{}", c.to_ascii_uppercase())
            }
            _ => self.with_modifiers(self.entry().map(|(.., sign)| *sign)),
        }
    }

    /// Returns the entry of a key that has a name.
    fn entry(self) -> Option<&'static (&'static str, KeyCode, &'static str)> {
        NAMES.iter().find(|(_, known, _)| *known == self.code)
    }

    /// Returns a name, or else the character or number of the key, behind its modifiers.
    fn with_modifiers(self, name: Option<&str>) -> String {
        let name = match (name, self.code) {
            (Some(name), _) => name.to_owned(),
            (None, KeyCode::Char(c)) => c.to_string(),
            (None, KeyCode::F(number)) => format!("f{number}"),
            (None, _) => String::new(),
        };
        let modifiers = MODIFIERS.iter();
        let held = modifiers.filter(|(_, modifier)| self.modifiers.contains(*modifier));
        let names = held.map(|(modifier, _)| format!("{modifier}-"));
        names.chain([name]).collect()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_modifiers(self.entry().map(|(name, ..)| *name)))
    }
}

impl FromStr for Key {
    type Err = String;

    /// The error is the nearest known name, ready to follow a message, or empty.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut rest, mut modifiers) = (text, KeyModifiers::NONE);
        while let Some((name, after)) = rest.split_once('-').filter(|(_, after)| !after.is_empty())
        {
            let Some((_, modifier)) = MODIFIERS.iter().find(|(known, _)| *known == name) else {
                break;
            };
            modifiers |= *modifier;
            rest = after;
        }

        let mut signs = rest.chars();
        let code = match (signs.next(), signs.next()) {
            (Some(c), None) => Some(KeyCode::Char(c)),
            _ => NAMES
                .iter()
                .find(|(name, ..)| *name == rest)
                .map(|(_, code, _)| *code)
                .or_else(|| function_key(rest)),
        };

        let names = NAMES.iter().map(|(name, ..)| *name);
        let known = names.chain(MODIFIERS.iter().map(|(name, _)| *name));

        code.map(|code| Self::new(code, modifiers))
            .ok_or_else(|| nearest(rest, known))
    }
}

fn function_key(name: &str) -> Option<KeyCode> {
    let number = name.strip_prefix('f')?.parse().ok()?;
    (1..=12).contains(&number).then_some(KeyCode::F(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_as_they_are_written() {
        for name in [
            "q",
            "G",
            "?",
            "-",
            "minus",
            "ctrl-p",
            "shift-tab",
            "alt-enter",
            "f1",
            "ctrl-alt-x",
            "pageup",
            "space",
            "+",
        ] {
            let key: Key = name.parse().expect("a key");
            assert_eq!(key.to_string().parse::<Key>(), Ok(key), "{name}");
        }
        assert_eq!("ctrl-p".parse::<Key>().map(Key::sign), Ok("^P".to_owned()));
        assert_eq!("up".parse::<Key>().map(Key::sign), Ok("↑".to_owned()));
    }

    #[test]
    fn terminals_report_one_key_in_several_ways() {
        let cases = [
            (KeyCode::BackTab, KeyModifiers::NONE, "shift-tab"),
            (KeyCode::Char('g'), KeyModifiers::SHIFT, "G"),
            (KeyCode::Char('G'), KeyModifiers::SHIFT, "G"),
            (
                KeyCode::Char('P'),
                KeyModifiers::CONTROL | KeyModifiers::SHIFT,
                "ctrl-p",
            ),
        ];
        for (code, modifiers, name) in cases {
            assert_eq!(
                Ok(Key::from_event(&KeyEvent::new(code, modifiers))),
                name.parse()
            );
        }
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        assert_eq!(
            "pageupp".parse::<Key>(),
            Err(", did you mean `pageup`?".to_owned())
        );
        assert!("ctrl-".parse::<Key>().is_err());
        assert!("".parse::<Key>().is_err());
    }
}
