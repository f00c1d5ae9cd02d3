//! The texts of the cells and comments of Excel, which are runs of their own looks.

use super::package::property_kind;
use super::script::{RaisedText, ScriptKind};
use super::xml::Tag;

/// A text while its runs are read.
#[derive(Default)]
pub(super) struct SheetText {
    text: RaisedText,
    /// The way that the run is set which is open.
    script: Option<ScriptKind>,
    is_text: bool,
    is_phonetic: bool,
}

impl SheetText {
    pub fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "r" => self.script = None,
            "vertAlign" => self.script = property_kind(tag),
            // the reading of Japanese words, which stands beside their text
            "rPh" => self.is_phonetic = true,
            "t" | "v" => self.is_text = !self.is_phonetic,
            _ => {}
        }
    }

    pub fn add(&mut self, part: &str) {
        if self.is_text {
            self.text.push(part, self.script);
        }
    }

    pub fn close(&mut self, name: &str) {
        match name {
            "r" => self.script = None,
            "rPh" => self.is_phonetic = false,
            "t" | "v" => self.is_text = false,
            _ => {}
        }
    }

    /// Returns the text, and begins another one.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(self).text.finish();
        if text.contains("_x") {
            unescape(&text)
        } else {
            text
        }
    }
}

/// Returns a text with the characters that XML does not allow, written as `_x000D_` (ECMA-376
/// part 1, 22.9.2.19).
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let code = rest.get(at + 2..at + 6);
        let code = code.filter(|_| rest.as_bytes().get(at + 6) == Some(&b'_'));
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        let end = match code.and_then(char::from_u32) {
            Some(c) => {
                plain.push_str(&rest[..at]);
                plain.push(c);
                at + 7
            }
            None => {
                plain.push_str(&rest[..at + 2]);
                at + 2
            }
        };
        rest = &rest[end..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::xml::{Node, walk_all};

    #[test]
    fn runs_are_one_text() {
        let cases = [
            ("<t>Gig</t>", "Gig"),
            ("<r><t>Gi</t></r><r><rPr><b/></rPr><t>g</t></r>", "Gig"),
            ("<t>港</t><rPh><t>みなと</t></rPh>", "港"),
            (
                "<r><t>10</t></r><r><rPr><vertAlign val='superscript'/></rPr><t>5</t></r><r><t> m</t></r>",
                "10⁵ m",
            ),
            (
                "<r><t>H</t></r><r><rPr><vertAlign val='subscript'/></rPr><t>2</t></r><r><t>O</t></r>",
                "H₂O",
            ),
            (
                "<t>a_x000D_b_x005F_x0041_ _xZ _xD800_</t>",
                "a\rb_x0041_ _xZ _xD800_",
            ),
            ("<t>_x12é_ _x</t>", "_x12é_ _x"),
        ];
        for (xml, expected) in cases {
            let mut text = SheetText::default();
            walk_all(&format!("<si>{xml}</si>"), &mut |node| match node {
                Node::Open(tag) => text.open(tag),
                Node::Text(part) => text.add(part),
                Node::Close(name) => text.close(name),
            })
            .expect("sound");
            assert_eq!(text.take(), expected, "{xml}");
        }
    }
}
