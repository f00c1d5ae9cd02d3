//! The ways in which terminals take pictures.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::page::Form;
use super::sixel;
use crate::config::Pictures;

/// Maximum bytes of base64 in one escape sequence of Kitty's protocol.
const KITTY_CHUNK: usize = 4096;

/// How a terminal takes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// <https://sw.kovidgoyal.net/kitty/graphics-protocol/>
    Kitty,
    /// <https://iterm2.com/documentation-images.html>
    Iterm2,
    /// Six rows of pixels at a time, as the VT340 took them.
    Sixel,
}

impl Protocol {
    /// Returns the protocol of the terminal; `None` where it shows no pictures, or does not say so.
    pub fn of_terminal(setting: Pictures) -> Option<Self> {
        match setting {
            Pictures::Auto => Self::by_environment(|name| std::env::var(name).ok()),
            Pictures::Kitty => Some(Self::Kitty),
            Pictures::Iterm2 => Some(Self::Iterm2),
            Pictures::Sixel => Some(Self::Sixel),
            Pictures::Off => None,
        }
    }

    /// Returns the protocol of the terminal that the variables name.
    fn by_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name: &str| variable(name).unwrap_or_default();
        // a multiplexer draws the cells itself
        if !variable("TMUX").is_empty() || !variable("STY").is_empty() {
            return None;
        }

        let terminal = variable("TERM");
        match variable("TERM_PROGRAM").as_str() {
            "iTerm.app" | "WezTerm" | "mintty" => return Some(Self::Iterm2),
            "ghostty" => return Some(Self::Kitty),
            _ => {}
        }
        let is_kitty = matches!(terminal.as_str(), "xterm-kitty" | "xterm-ghostty");
        if is_kitty
            || !variable("KITTY_WINDOW_ID").is_empty()
            || !variable("KONSOLE_VERSION").is_empty()
        {
            return Some(Self::Kitty);
        }
        let has_sixel = ["foot", "mlterm", "contour", "yaft"];
        has_sixel
            .iter()
            .any(|name| terminal.starts_with(name))
            .then_some(Self::Sixel)
    }

    /// Returns the format that [`Self::write`] takes.
    pub(super) fn form(self) -> Form {
        match self {
            Self::Kitty | Self::Iterm2 => Form::Png,
            Self::Sixel => Form::Ppm,
        }
    }

    /// Returns what removes the pictures that were written.
    pub(super) fn forgotten(self) -> &'static [u8] {
        match self {
            Self::Kitty => b"\x1b_Ga=d,d=A\x1b\\",
            // they go with the cells that are cleared
            Self::Iterm2 | Self::Sixel => b"",
        }
    }

    /// Writes a picture at the cursor.
    pub(super) fn write(self, picture: &[u8], out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Kitty => kitty(picture, out),
            Self::Iterm2 => {
                let size = picture.len();
                let picture = STANDARD.encode(picture);
                write!(out, "\x1b]1337;File=inline=1;size={size}:{picture}\x07")
            }
            Self::Sixel => sixel::write(picture, out),
        }
    }
}

fn kitty(picture: &[u8], out: &mut impl Write) -> io::Result<()> {
    let picture = STANDARD.encode(picture);
    let chunks = picture.as_bytes().chunks(KITTY_CHUNK);
    let last = chunks.len() - 1;
    for (at, chunk) in chunks.enumerate() {
        // a: transmit and display, f: PNG, q: no reply, C: the cursor stays, m: more follows
        let keys = if at == 0 { "a=T,f=100,q=2,C=1," } else { "" };
        let more = u8::from(at < last);
        write!(out, "\x1b_G{keys}m={more};")?;
        out.write_all(chunk)?;
        out.write_all(b"\x1b\\")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_protocol() {
        /// Variables of the environment, and what they name.
        type Case = (&'static [(&'static str, &'static str)], Option<Protocol>);
        let cases: [Case; 9] = [
            (&[("TERM", "xterm-256color")], None),
            (&[], None),
            (&[("TERM", "xterm-kitty")], Some(Protocol::Kitty)),
            (&[("KITTY_WINDOW_ID", "1")], Some(Protocol::Kitty)),
            (&[("TERM_PROGRAM", "ghostty")], Some(Protocol::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(Protocol::Iterm2)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(Protocol::Iterm2)),
            (&[("TERM", "foot-extra")], Some(Protocol::Sixel)),
            (
                &[
                    ("TERM", "tmux-256color"),
                    ("TMUX", "/tmp/tmux"),
                    ("KITTY_WINDOW_ID", "1"),
                ],
                None,
            ),
        ];
        for (variables, expected) in cases {
            let found = Protocol::by_environment(|name| {
                let value = variables.iter().find(|(known, _)| *known == name);
                value.map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(found, expected, "{variables:?}");
        }
    }

    #[test]
    fn a_large_picture_goes_to_kitty_in_parts_that_join_again() {
        let picture: Vec<u8> = (0..10_000_u32).map(|byte| byte.to_le_bytes()[0]).collect();
        let mut out = Vec::new();
        kitty(&picture, &mut out).expect("written");

        let text = String::from_utf8(out).expect("ASCII");
        let parts: Vec<&str> = text.split("\x1b_G").skip(1).collect();
        let (mut joined, mut more) = (String::new(), Vec::new());
        for part in &parts {
            let (keys, data) = part.split_once(';').expect("keys and data");
            let data = data.strip_suffix("\x1b\\").expect("an end");
            assert!(data.len() <= KITTY_CHUNK);
            joined.push_str(data);
            more.push(keys.ends_with("m=1"));
        }
        assert!(parts[0].starts_with("a=T,f=100,"));
        assert_eq!(STANDARD.decode(joined).expect("base64"), picture);
        assert_eq!(more.iter().filter(|more| !**more).count(), 1);
        assert!(!more[more.len() - 1]);
    }
}
