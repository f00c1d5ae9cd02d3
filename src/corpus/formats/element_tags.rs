//! The tags and other marks of XML, wherever they are in a text: any input has some reading.

use std::ops::Range;

use quick_xml::escape::unescape;

/// A tag or another mark.
pub(super) struct Markup {
    pub kind: Kind,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Empty,
    Close,
    /// `<![CDATA[text]]>`
    Data,
    /// A comment, an instruction or a declaration.
    Other,
}

/// Returns the markup that begins with a `<`; `None` when it is a character.
pub(super) fn markup(source: &str, at: usize) -> Option<Markup> {
    let rest = &source[at..];
    let until = |mark: &str| rest.find(mark).map_or(rest.len(), |end| end + mark.len());

    let (kind, length) = if rest.starts_with("<!--") {
        (Kind::Other, until("-->"))
    } else if rest.starts_with("<![CDATA[") {
        (Kind::Data, until("]]>"))
    } else if rest.starts_with("<?") {
        (Kind::Other, until("?>"))
    } else if rest.starts_with("<!") {
        (Kind::Other, declaration_length(rest))
    } else if rest.starts_with("</") {
        (Kind::Close, tag_length(rest)?)
    } else {
        let is_name = |c: char| c.is_alphabetic() || c == '_';
        let length = tag_length(rest).filter(|_| rest[1..].starts_with(is_name))?;
        let is_empty = rest[..length].ends_with("/>");
        (if is_empty { Kind::Empty } else { Kind::Open }, length)
    };

    Some(Markup {
        kind,
        range: at..at + length,
    })
}

/// Returns the length of a tag. No `<` can be in one, not even in an attribute.
fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match (byte, quote) {
            (b'<', _) => return None,
            (b'>', None) => return Some(at + 1),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the length of a declaration, with the declarations inside its brackets.
fn declaration_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b'>' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the name that a tag begins with, without its namespace.
pub(super) fn local_name(tag: &str) -> &str {
    let end = tag.find(|c: char| c.is_whitespace() || c == '/' || c == '>');
    let name = &tag[..end.unwrap_or(tag.len())];
    name.rsplit(':').next().unwrap_or(name)
}

/// Returns the attributes of a tag: their names without namespace, and where their values are.
pub(super) fn attributes(source: &str, tag: Range<usize>) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = tag.start;

    while let Some(equals) = source[at..tag.end].find('=').map(|equals| at + equals) {
        let before = source[at..equals].trim_end();
        let name = before.rsplit(char::is_whitespace).next();
        let name = name.unwrap_or_default();
        let is_namespace = name.starts_with("xmlns");
        let name = name.rsplit(':').next().unwrap_or(name);

        let rest = source[equals + 1..tag.end].trim_start();
        let begin = tag.end - rest.len();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(length) = quote.and_then(|quote| rest[1..].find(quote)) else {
            return found;
        };
        if !is_namespace {
            found.push((name, begin + 1..begin + 1 + length));
        }
        at = begin + length + 2;
    }

    found
}

/// Returns text with the characters that its references stand for.
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (character, length) = reference(&rest[at..]).unwrap_or(('&', 1));
        decoded.push_str(&rest[..at]);
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded + rest
}

/// Returns the character that a reference stands for, and the length of the reference.
pub(super) fn reference(text: &str) -> Option<(char, usize)> {
    if !text.starts_with('&') {
        return None;
    }
    let length = text.bytes().take(13).position(|byte| byte == b';')? + 1;
    let character = unescape(&text[..length]).ok()?.chars().next()?;
    let is_text = !character.is_control() || character.is_whitespace();
    is_text.then_some((character, length))
}
