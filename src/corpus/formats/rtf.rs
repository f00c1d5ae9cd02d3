//! RTF: groups, destinations and text in the code page of its font, as the specification 1.9.1
//! says. Objects, pictures and field codes are left out; nothing is run.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::builder::{Builder, Rows, comment_label, named};
use super::format::{Extract, Format};
use super::rtf_tokens::{Token, Tokens, charset, code_page};
use super::script::{Script, ScriptKind};
use crate::event::Metadata;

pub(super) const FORMAT: Format = Format::for_binary("RTF", &["rtf"], "heading", extract);

/// Groups inside groups beyond this depth share the state of the last.
const MAX_DEPTH: usize = 10_000;
/// Level of text that is no heading.
const BODY: u8 = 0;

/// Returns the text of an RTF file. A file that ends early gives the text up to there.
///
/// # Errors
/// A file of another format.
fn extract(bytes: &[u8]) -> Result<Extract, String> {
    if !bytes.starts_with(b"{\\rtf") {
        return Err("its content is not RTF".to_owned());
    }

    let mut document = Rtf::default();
    // the default of the specification, `\uc1`
    document.state.unicode_skips = 1;
    let mut tokens = Tokens::new(bytes);

    while let Some(token) = tokens.next() {
        match token {
            Token::Open => document.open(),
            Token::Close => document.close(),
            Token::Byte(byte) => document.byte(byte),
            Token::Word(word, number) => {
                if word == "bin" {
                    tokens.skip(number.unwrap_or(0));
                } else {
                    document.word(word, number);
                }
            }
        }
    }

    Ok(document.finish())
}

/// The destination that a group writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Destination {
    #[default]
    Text,
    Note,
    /// The name of the author of a comment.
    NoteAuthor,
    Header,
    Footer,
    Fonts,
    Styles,
    Title,
    Author,
    Date,
    /// Info, whose groups are destinations of their own.
    Info,
    Nowhere,
}

/// The encoding of bytes; `None` for that of Windows in the West, as before any `\ansicpg`.
type CodePage = Option<&'static Encoding>;

/// The state that a group inherits and restores.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    to: Destination,
    encoding: CodePage,
    /// Characters after `\u` that stand for it in programs without Unicode.
    unicode_skips: u32,
    is_hidden: bool,
    /// The way that raised or lowered text is set.
    script: Option<ScriptKind>,
    /// Whether the group began with `\*`: a destination that is not known is left out.
    can_be_left_out: bool,
}

#[derive(Default)]
struct Rtf {
    builder: Builder,
    metadata: Metadata,
    state: State,
    groups: Vec<State>,
    fonts: HashMap<i32, CodePage>,
    default_encoding: CodePage,
    /// The font or style whose entry is being read.
    entry: i32,
    /// The name of the style whose entry is being read.
    style_name: String,
    heading_styles: HashMap<i32, u8>,
    /// Bytes that are not decoded yet: characters of some code pages have two.
    bytes: Vec<u8>,
    utf16: Vec<u16>,
    skips: u32,
    text: String,
    notes: String,
    note_author: String,
    /// The header or footer that is open, and those so far.
    margin: String,
    margins: Vec<String>,
    /// Whether text was hidden that had no letters yet.
    hides_words: bool,
    date: [i32; 3],
    level: u8,
    is_in_table: bool,
    cells: Vec<String>,
    rows: Option<Rows>,
}

impl Rtf {
    fn open(&mut self) {
        self.decode();
        if self.groups.len() < MAX_DEPTH {
            self.groups.push(self.state);
        }
        self.state.can_be_left_out = false;
    }

    fn close(&mut self) {
        self.decode();
        self.skips = 0;

        let before = self.state;
        if let Some(state) = self.groups.pop() {
            self.state = state;
        }

        if before.to == self.state.to {
            return;
        }

        match before.to {
            Destination::Title => self.metadata.title = named(&std::mem::take(&mut self.text)),
            Destination::Author => self.metadata.author = named(&std::mem::take(&mut self.text)),
            Destination::Date => {
                let [year, month, day] = self.date;
                let date = format!("{year:04}-{month:02}-{day:02}");
                self.metadata.date = super::builder::day(&date).or(self.metadata.date.take());
            }
            Destination::Note => self.notes.push('\n'),
            Destination::Header => self.end_margin("Header"),
            Destination::Footer => self.end_margin("Footer"),
            Destination::Text
            | Destination::NoteAuthor
            | Destination::Fonts
            | Destination::Styles
            | Destination::Info
            | Destination::Nowhere => {}
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.skips > 0 {
            self.skips -= 1;
            return;
        }
        if self.state.is_hidden && byte != b' ' && std::mem::take(&mut self.hides_words) {
            self.builder.hide(1);
        }
        if self.state.to == Destination::Styles {
            self.style_byte(byte);
        } else if self.takes_text() {
            self.decode_utf16();
            self.bytes.push(byte);
        }
    }

    fn takes_text(&self) -> bool {
        let is_left_out = matches!(
            self.state.to,
            Destination::Fonts
                | Destination::Styles
                | Destination::Date
                | Destination::Info
                | Destination::Nowhere
        );
        !is_left_out && !self.state.is_hidden
    }

    /// Reads the name of a style, which ends with a semicolon.
    fn style_byte(&mut self, byte: u8) {
        if byte != b';' {
            self.style_name.push(byte.into());
            return;
        }

        let name = std::mem::take(&mut self.style_name).to_lowercase();
        let level = match name.trim() {
            "title" => Some(1),
            name => name
                .strip_prefix("heading ")
                .and_then(|level| level.parse().ok())
                .filter(|level| (1..=9).contains(level)),
        };
        self.heading_styles
            .extend(level.map(|level| (self.entry, level)));
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        if self.skips > 0 && word != "u" {
            self.skips -= 1;
            return;
        }

        if self.destination(word) || self.property(word, number) {
            return;
        }

        match word {
            "u" => self.unicode(number.unwrap_or(0)),
            "par" | "sect" | "page" => self.end_paragraph(),
            "line" => self.character('\n'),
            "tab" => self.character('\t'),
            "cell" | "nestcell" => self.end_cell(),
            "row" => self.end_row(),
            "nbsp" | "emspace" | "enspace" | "qmspace" => self.character(' '),
            "nbhyphen" => self.character('-'),
            "emdash" => self.character('—'),
            "endash" => self.character('–'),
            "lquote" => self.character('‘'),
            "rquote" => self.character('’'),
            "ldblquote" => self.character('“'),
            "rdblquote" => self.character('”'),
            "bullet" => self.character('•'),
            _ => {}
        }
    }

    /// Begins the destination that a word names. Returns whether it names one.
    fn destination(&mut self, word: &str) -> bool {
        let to = match word {
            "*" => {
                self.state.can_be_left_out = true;
                return true;
            }
            "fonttbl" => Destination::Fonts,
            "stylesheet" => Destination::Styles,
            "info" => Destination::Info,
            "title" if self.state.to == Destination::Info => Destination::Title,
            "author" if self.state.to == Destination::Info => Destination::Author,
            "creatim" | "revtim" if self.state.to == Destination::Info => Destination::Date,
            "footnote" | "annotation" => {
                let author = std::mem::take(&mut self.note_author);
                if self.takes_text() && word == "annotation" {
                    self.notes.push_str(&comment_label(&author));
                }
                Destination::Note
            }
            "atnauthor" => Destination::NoteAuthor,
            "header" | "headerl" | "headerr" | "headerf" => Destination::Header,
            "footer" | "footerl" | "footerr" | "footerf" => Destination::Footer,
            "colortbl" | "pict" | "object" | "pntext" | "listtext" | "fldinst" | "nonshppict"
            | "shprslt" | "sp" | "ftnsep" | "ftnsepc" | "ftncn" | "aftnsep" | "aftnsepc"
            | "aftncn" | "xe" | "tc" | "nonesttables" | "filetbl" | "upr" | "private"
            | "keywords" | "operator" | "company" | "doccomm" | "subject" => Destination::Nowhere,
            // The drawings of text boxes, and the properties of nested tables.
            "shpinst" | "shptxt" | "nesttableprops" | "shp" | "shpgrp" => {
                self.state.can_be_left_out = false;
                return true;
            }
            _ if self.state.can_be_left_out => Destination::Nowhere,
            _ => return false,
        };

        if self.state.to != Destination::Nowhere {
            self.state.to = to;
        }
        self.state.can_be_left_out = false;
        true
    }

    /// Sets the property that a word names. Returns whether it names one.
    fn property(&mut self, word: &str, number: Option<i32>) -> bool {
        // a control word without a number switches on, and 0 switches off
        let value = number.unwrap_or(1);

        match word {
            "ansicpg" => {
                self.decode();
                self.default_encoding = Some(code_page(value));
                self.state.encoding = self.default_encoding;
            }
            "mac" => self.default_encoding = Some(encoding_rs::MACINTOSH),
            // in the table of fonts `\f` begins an entry, elsewhere it chooses one
            "f" if self.state.to == Destination::Fonts => self.entry = value,
            "fcharset" => {
                let encoding = charset(value).or(self.default_encoding);
                self.fonts.insert(self.entry, encoding);
            }
            "f" => {
                self.decode();
                let font = self.fonts.get(&value).copied();
                self.state.encoding = font.unwrap_or(self.default_encoding);
            }
            "plain" => {
                self.decode();
                self.state.is_hidden = false;
                self.state.script = None;
                self.state.encoding = self.default_encoding;
            }
            "v" | "deleted" => {
                self.decode();
                self.state.is_hidden = value != 0;
                self.hides_words = word == "v" && self.state.to == Destination::Text;
            }
            "super" | "sub" | "nosupersub" => {
                self.decode();
                self.state.script = match word {
                    "super" if value != 0 => Some(ScriptKind::Above),
                    "sub" if value != 0 => Some(ScriptKind::Below),
                    _ => None,
                };
            }
            "uc" => self.state.unicode_skips = u32::try_from(value).unwrap_or(0),
            "s" if self.state.to == Destination::Styles => self.entry = value,
            "s" => self.level = self.heading_styles.get(&value).copied().unwrap_or(BODY),
            // counted from 0
            "outlinelevel" if self.state.to == Destination::Text => {
                self.level = u8::try_from(value + 1).unwrap_or(BODY);
            }
            // back to the default properties of a paragraph
            "pard" => {
                self.level = BODY;
                self.is_in_table = false;
            }
            "intbl" => self.is_in_table = true,
            "yr" => self.date[0] = value,
            "mo" => self.date[1] = value,
            "dy" => self.date[2] = value,
            _ => return false,
        }

        true
    }

    fn unicode(&mut self, number: i32) {
        self.decode_bytes();
        // the characters behind `\u` stand for it in programs without Unicode
        self.skips = self.state.unicode_skips;
        if self.takes_text() {
            // Numbers beyond 32,767 are written as negative ones.
            self.utf16.push(number as u16);
        }
    }

    fn character(&mut self, c: char) {
        self.decode();
        if self.takes_text() {
            self.push(&c.to_string());
        }
    }

    fn decode(&mut self) {
        self.decode_bytes();
        self.decode_utf16();
    }

    fn decode_bytes(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let encoding = self.state.encoding.unwrap_or(WINDOWS_1252);
            let (text, _) = encoding.decode_without_bom_handling(&bytes);
            self.push(&text);
        }
    }

    fn decode_utf16(&mut self) {
        if !self.utf16.is_empty() {
            let units = std::mem::take(&mut self.utf16);
            self.push(&String::from_utf16_lossy(&units));
        }
    }

    fn push(&mut self, text: &str) {
        let to = match self.state.to {
            Destination::Note => &mut self.notes,
            Destination::NoteAuthor => &mut self.note_author,
            Destination::Header | Destination::Footer => &mut self.margin,
            Destination::Text
            | Destination::Fonts
            | Destination::Styles
            | Destination::Title
            | Destination::Author
            | Destination::Date
            | Destination::Info
            | Destination::Nowhere => &mut self.text,
        };
        let Some(kind) = self.state.script else {
            return to.push_str(text);
        };
        let mut script = Script::new(kind, false);
        script.add(text, 0..0);
        script.push_to(to);
    }

    /// Ends a header or footer, which other sections may repeat.
    fn end_margin(&mut self, name: &str) {
        let text = named(&std::mem::take(&mut self.margin));
        let line = text.map(|text| format!("{name}: {text}"));
        let line = line.filter(|line| !self.margins.contains(line));
        self.margins.extend(line);
    }

    fn end_paragraph(&mut self) {
        self.decode();
        if !self.takes_text() {
            return;
        }

        if self.is_in_table || self.state.to != Destination::Text {
            self.push("\n");
            return;
        }

        self.rows = None;
        let text = std::mem::take(&mut self.text);

        if self.level == BODY {
            self.builder.paragraph(&text);
        } else {
            self.builder.heading(self.level, &text);
        }

        self.end_notes();
    }

    fn end_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        // a note follows the paragraph that it belongs to
        notes.lines().for_each(|note| self.builder.paragraph(note));
    }

    fn end_cell(&mut self) {
        self.decode();
        if self.takes_text() {
            self.cells.push(std::mem::take(&mut self.text));
        }
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let rows = self.rows.get_or_insert_default();
        rows.add(cells.into_iter().enumerate(), &mut self.builder);
        self.end_notes();
    }

    fn finish(mut self) -> Extract {
        self.decode();
        if !self.cells.is_empty() {
            self.end_row();
        }
        self.state.to = Destination::Text;
        self.state.is_hidden = false;
        self.is_in_table = false;
        self.end_paragraph();
        for margin in &self.margins {
            self.builder.paragraph(margin);
        }
        self.builder.metadata(self.metadata);
        self.builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rtf: &[u8]) -> String {
        extract(rtf).map_or_else(|reason| reason, |extract| extract.text)
    }

    #[test]
    fn text_of_rtf() {
        let cases: [(&[u8], &str); 18] = [
            (br"{\rtf1 Hello\par World}", "Hello\n\nWorld"),
            (br"{\rtf1\ansi caf\'e9 \u8364? 5\~\emdash\{x\}}", "caf\u{e9} \u{20ac} 5 \u{2014}{x}"),
            (br"{\rtf1\uc2 \u-10179??\u-8704\'3f\'3fx}", "\u{1f600}x"),
            (br"{\rtf1\uc0 \u1055 \u1088 end}", "\u{41f}\u{440}end"),
            (br"{\rtf1\ansicpg1251 \'cf\'f0}", "\u{41f}\u{440}"),
            (br"{\rtf1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 B;}}\f1 \'82\'a0\f0  \'e9}", "\u{3042} \u{e9}"),
            (br"{\rtf1{\*\unknown gone}{\pict 0badf00d}{\v hidden}kept}", "kept"),
            (br"{\rtf1{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}}", "link"),
            (br"{\rtf1 a{\footnote the note}b\par c}", "ab\n\nthe note\n\nc"),
            (
                br"{\rtf1\trowd\intbl Name\cell Age\cell\row\trowd\intbl Ann\cell 7\cell\row\pard after}",
                "Name; Age\nName: Ann; Age: 7\n\nafter",
            ),
            (br"{\rtf1 a\bin3 }}}b}", "ab"),
            (br"{\rtf1{\object{\*\objdata 0105}{\result gone}}x}", "x"),
            (br"{\rtf1{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt boxed}}}}", "boxed"),
            (br"{\rtf1 cut \'", "cut"),
            (br"{\rtf1 cut \u", "cut \u{0}"),
            (br"{\rtf1 }}}}} on", "on"),
            (br"{\rtf1 a\'e", "a"),
            (br"plain", "its content is not RTF"),
        ];
        for (rtf, expected) in cases {
            let rtf_text = String::from_utf8_lossy(rtf);
            assert_eq!(
                text(rtf),
                expected.replace('\0', "").trim_end(),
                "{rtf_text}"
            );
        }
    }

    #[test]
    fn headings_and_metadata() {
        let rtf = br"{\rtf1{\stylesheet{\s0 Normal;}{\s1\b heading 1;}}
            {\info{\title A {\b title}}{\author Ann}{\creatim\yr2024\mo1\dy31\hr9}{\company C}}
            \pard\s1 One\par\pard Body\par\pard\outlinelevel1 Two\par}";
        let extract = extract(rtf).expect("RTF");
        assert_eq!(extract.text, "One\n\nBody\n\nTwo");
        let headings: Vec<_> = extract
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(headings, [(1, "One"), (2, "Two")]);
        assert_eq!(extract.metadata.title.as_deref(), Some("A title"));
        assert_eq!(extract.metadata.author.as_deref(), Some("Ann"));
        assert_eq!(extract.metadata.date.as_deref(), Some("2024-01-31"));
    }

    #[test]
    fn depth_costs_nothing() {
        let deep = [b"{\\rtf1 ".as_slice(), &b"{".repeat(200_000), b"x"].concat();
        assert_eq!(text(&deep), "x");
    }
}
