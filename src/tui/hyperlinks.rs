//! Hyperlinks of the terminal (OSC 8): locations on the screen that open their document.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::ops::Range;
use std::path::Path;

use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;

use crate::event::{CorpusCard, Place, PlaceUnit, percent_encode};

/// The cells of a row that name a place in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub cells: Range<u16>,
    pub document: String,
    /// The end of the address, by [`fragment`].
    pub fragment: String,
}

/// A target at its position on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub area: Rect,
    pub document: String,
    pub fragment: String,
}

/// Returns the end of an address that names a place in its document: a line from 1, or the page of
/// a PDF, in the form that readers of PDF take.
pub fn fragment(line: u32, place: Option<&Place>) -> String {
    match place {
        Some(place) if place.unit == PlaceUnit::Page => format!("page={}", place.first),
        _ => line.to_string(),
    }
}

/// The addresses of the documents, each looked for once.
#[derive(Debug, Default)]
pub struct Addresses {
    /// The folder, and by document its address; `None` for what is no file of the folder.
    known: RefCell<(String, HashMap<String, Option<String>>)>,
}

impl Addresses {
    /// Makes links of targets on a screen that is otherwise complete: the first cell of each gets
    /// the text of all of its cells between the sequences that open and close a link.
    pub fn write(&self, placed: &[Placed], corpus: &CorpusCard, buffer: &mut Buffer) {
        // documents of several folders are named by the folder's name, which is no path
        if !corpus.folders.is_empty() {
            return;
        }
        for place in placed {
            if let Some(address) = self.address(&place.document, &corpus.folder) {
                link(place.area, &format!("{address}#{}", place.fragment), buffer);
            }
        }
    }

    /// Returns the address of a document; `None` where it is no file, such as a member of an
    /// archive.
    fn address(&self, document: &str, folder: &str) -> Option<String> {
        let mut known = self.known.borrow_mut();
        if known.0 != folder {
            *known = (folder.to_owned(), HashMap::new());
        }

        let addresses = &mut known.1;
        if let Some(address) = addresses.get(document) {
            return address.clone();
        }

        let path = std::fs::canonicalize(Path::new(folder).join(document)).ok();
        let file = path.filter(|path| path.is_file());
        let address = file.map(|file| address(&file));
        addresses.insert(document.to_owned(), address.clone());
        address
    }
}

/// Returns the address of a file, with every byte escaped that is not plain in an address.
fn address(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("file://{root}{}", percent_encode(&path, b"/-._~:"))
}

/// Makes a link of adjacent cells of one look.
fn link(area: Rect, address: &str, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    let Some(width) = NonZeroU16::new(area.width) else {
        return;
    };
    let columns = area.left()..area.right();
    let first = &buffer[(area.x, area.y)];
    let look = first.style();
    if columns.clone().any(|x| buffer[(x, area.y)].style() != look) {
        return;
    }

    let mut text = String::new();
    let mut x = area.x;
    while x < area.right() {
        let symbol = buffer[(x, area.y)].symbol();
        text.push_str(symbol);
        x += super::text::width(symbol).max(1) as u16;
    }
    buffer[(area.x, area.y)]
        .set_symbol(&format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"))
        .set_diff_option(CellDiffOption::ForcedWidth(width));
}

/// Returns whether the terminal is known to show links.
pub fn has_terminal() -> bool {
    is_known(|name| std::env::var(name).ok())
}

/// Returns whether the variables name a terminal that shows links.
fn is_known(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).unwrap_or_default();
    let version = |name| set(name).parse::<u32>().unwrap_or(0);
    let term = set("TERM");
    if matches!(term.as_str(), "" | "dumb" | "linux") {
        return false;
    }

    let program = set("TERM_PROGRAM");
    if term.starts_with("tmux") || term.starts_with("screen") {
        // what is outside of tmux is not known, but since 3.4 it removes what that does not show
        let version = set("TERM_PROGRAM_VERSION");
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
        let number = version[..end.unwrap_or(version.len())].parse::<f32>();
        let is_new = number.is_ok_and(|number| number >= 3.4);
        return program == "tmux" && is_new;
    }
    let is_named = matches!(
        program.as_str(),
        "iTerm.app" | "WezTerm" | "vscode" | "ghostty" | "Hyper" | "Tabby" | "rio"
    );
    let terms = [
        "kitty",
        "alacritty",
        "foot",
        "ghostty",
        "wezterm",
        "contour",
    ];
    is_named
        || terms.iter().any(|name| term.contains(name))
        || !set("WT_SESSION").is_empty()
        || version("VTE_VERSION") >= 5000
        || version("KONSOLE_VERSION") >= 201_200
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn only_terminals_that_show_links_are_known() {
        let cases: [(&[(&str, &str)], bool); 9] = [
            (&[], false),
            (&[("TERM", "dumb"), ("VTE_VERSION", "7000")], false),
            (&[("TERM", "linux")], false),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "xterm-256color"), ("VTE_VERSION", "6800")], true),
            (&[("TERM", "xterm-kitty")], true),
            (
                &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")],
                true,
            ),
            (
                &[
                    ("TERM", "tmux-256color"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.3a"),
                ],
                false,
            ),
            (
                &[
                    ("TERM", "tmux-256color"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.5a"),
                ],
                true,
            ),
        ];
        for (variables, expected) in cases {
            let found = is_known(|name| {
                let known = variables.iter().find(|(known, _)| *known == name);
                known.map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(found, expected, "{variables:?}");
        }
    }

    #[test]
    fn a_link_keeps_the_width_and_the_cells_behind_it() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "[1] 海.md:3 x", Style::default());
        let before = buffer.clone();
        link(Rect::new(4, 0, 7, 1), "file:///a%20b#3", &mut buffer);
        assert_eq!(
            buffer[(4, 0)].symbol(),
            "\x1b]8;;file:///a%20b#3\x1b\\海.md:3\x1b]8;;\x1b\\"
        );
        let drawn: Vec<u16> = before.diff(&buffer).iter().map(|(x, _, _)| *x).collect();
        assert_eq!(drawn, [4], "the cells behind the link stay");
        let undrawn: Vec<u16> = buffer.diff(&before).iter().map(|(x, _, _)| *x).collect();
        assert!(undrawn.contains(&4), "{undrawn:?}");
    }

    #[test]
    fn an_address_ends_with_the_line_or_the_page() {
        let place = |unit| Place {
            unit,
            first: 37,
            last: 38,
            name: None,
            member: None,
        };
        let cases = [
            (None, "940"),
            (Some(place(PlaceUnit::Page)), "page=37"),
            (Some(place(PlaceUnit::Row)), "940"),
        ];
        for (place, expected) in cases {
            assert_eq!(fragment(940, place.as_ref()), expected);
        }
    }

    #[test]
    fn a_path_becomes_an_address() {
        assert_eq!(
            address(Path::new("/a b/ä#.md")),
            "file:///a%20b/%C3%A4%23.md"
        );
    }

    #[test]
    fn members_of_archives_are_no_links() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.md"), "A").expect("a file");
        let name = folder.path().to_string_lossy().into_owned();
        let addresses = Addresses::default();
        assert!(
            addresses
                .address("a.md", &name)
                .is_some_and(|address| address.ends_with("/a.md"))
        );
        assert_eq!(addresses.address("a.zip/b.md", &name), None);
    }
}
