//! The text of a web page: what is between the tags, in blocks as a browser would break them, every byte traced to the page.
//!
//! A scanner rather than a tree: parsers of HTML forget where their text stood, and a citation has to open at its line. Any
//! input gives some text; nothing is an error.

use markup5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

use super::document::Heading;
use super::offsets::Traced;

/// Elements whose content is not text of the page.
const MUTE: &[&str] = &[
    "script", "style", "template", "svg", "noscript", "iframe", "object", "canvas",
];
/// Elements whose content is not markup: only their own end tag ends them.
const RAW: &[&str] = &["script", "style", "iframe", "noscript", "textarea", "title"];
/// Elements that stand apart from what surrounds them, and those that only begin a new line.
const PARAGRAPHS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "details",
    "dialog",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "title",
    "ul",
];
const LINES: &[&str] = &[
    "br", "caption", "dd", "dt", "li", "option", "tbody", "tfoot", "thead", "tr",
];
const LONGEST_ENTITY: usize = 33;

/// What a page says.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) traced: Traced,
    pub(super) headings: Vec<Heading>,
    /// Line ends due before the next word.
    breaks: usize,
    /// White space due before the next word: place and width.
    space: Option<(usize, usize)>,
    /// What the next line begins with: the mark of a list item or a table row.
    mark: &'static str,
    preformatted: usize,
    /// The element that silences, and how deep in it the scanner is.
    muted: Option<(String, usize)>,
    /// Level and start of the heading at hand.
    heading: Option<(u8, usize)>,
}

/// The text and the headings of a page.
pub(super) fn extract(source: &str) -> Page {
    let mut page = Page::default();
    let mut at = 0;
    while at < source.len() {
        let next = source[at..]
            .find('<')
            .map_or(source.len(), |offset| at + offset);
        page.text(source, at, next);
        at = if next < source.len() {
            page.markup(source, next)
        } else {
            next
        };
    }
    page.end_heading();
    page
}

impl Page {
    /// Take the markup that begins at `at`, and return where it ends.
    fn markup(&mut self, source: &str, at: usize) -> usize {
        let rest = &source[at..];
        let end_of = |mark: &str| {
            rest.find(mark)
                .map_or(source.len(), |end| at + end + mark.len())
        };
        if rest.starts_with("<!--") {
            return end_of("-->");
        }
        if rest.starts_with("<![CDATA[") {
            let end = end_of("]]>");
            self.verbatim(source, at + 9, end.saturating_sub(3).max(at + 9));
            return end;
        }
        match rest.as_bytes().get(1) {
            Some(b'!' | b'?') => end_of(">"),
            Some(b'/') => {
                let end = tag_end(source, at);
                self.close(&name(&rest[2..]));
                end
            }
            Some(letter) if letter.is_ascii_alphabetic() => self.element(source, at),
            _ => {
                self.text(source, at, at + 1);
                at + 1
            }
        }
    }

    /// A start tag, with its content when that is not markup.
    fn element(&mut self, source: &str, at: usize) -> usize {
        let name = name(&source[at + 1..]);
        let end = tag_end(source, at);
        if source[at..end].ends_with("/>") && !PARAGRAPHS.contains(&name.as_str()) && name != "br" {
            return end;
        }
        self.open(&name);
        if !RAW.contains(&name.as_str()) {
            return end;
        }
        let close = raw_end(source, end, &name);
        self.text(source, end, close);
        close
    }

    fn open(&mut self, name: &str) {
        match &mut self.muted {
            Some((muting, depth)) if muting == name => *depth += 1,
            Some(_) => {}
            None if MUTE.contains(&name) => self.muted = Some((name.to_owned(), 1)),
            None => self.open_seen(name),
        }
    }

    fn open_seen(&mut self, name: &str) {
        self.break_for(name);
        match name {
            "pre" => self.preformatted += 1,
            "li" => self.mark = "- ",
            "tr" => self.mark = "| ",
            "td" | "th" => self.cell(),
            "title" => self.heading = Some((0, usize::MAX)),
            _ => {
                if let Some(level) = heading_level(name) {
                    self.end_heading();
                    self.heading = Some((level, usize::MAX));
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        match &mut self.muted {
            Some((muting, depth)) => {
                if muting == name {
                    *depth -= 1;
                    if *depth == 0 {
                        self.muted = None;
                    }
                }
                return;
            }
            None => self.break_for(name),
        }
        if matches!(name, "li" | "tr") {
            self.mark = "";
        }
        match name {
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "title" => self.end_heading(),
            _ if heading_level(name).is_some() => self.end_heading(),
            _ => {}
        }
    }

    fn break_for(&mut self, name: &str) {
        let breaks = match name {
            _ if PARAGRAPHS.contains(&name) => 2,
            _ if LINES.contains(&name) => 1,
            _ => return,
        };
        self.breaks = self.breaks.max(breaks);
    }

    /// Cells of a row stand in one line, divided by bars.
    fn cell(&mut self) {
        if self.breaks == 0 && !self.traced.text.is_empty() {
            self.mark = " | ";
        }
    }

    fn end_heading(&mut self) {
        let Some((level, start)) = self.heading.take() else {
            return;
        };
        let end = self.traced.text.len();
        if start < end {
            let title = super::fold_white_space(&self.traced.text[start..end]);
            self.headings.push(Heading {
                place: start..end,
                level,
                title,
            });
        }
    }

    /// Text with entities, from `at` to `end` of the page.
    fn text(&mut self, source: &str, mut at: usize, end: usize) {
        if self.muted.is_some() {
            return;
        }
        while at < end {
            let rest = &source[at..end];
            let plain = rest.find('&').unwrap_or(rest.len());
            self.verbatim(source, at, at + plain);
            at += plain;
            if at == end {
                break;
            }
            let (decoded, length) = entity(&source[at..end]);
            if decoded.is_empty() {
                self.verbatim(source, at, at + 1);
            } else {
                self.word(&decoded, at, length);
            }
            at += length;
        }
    }

    /// Text without entities. White space becomes one space, except in preformatted text.
    fn verbatim(&mut self, source: &str, at: usize, end: usize) {
        if self.muted.is_some() {
            return;
        }
        let mut at = at;
        for run in source[at..end].split_inclusive(|c: char| c.is_ascii_whitespace()) {
            let word = run.trim_end_matches(|c: char| c.is_ascii_whitespace());
            if !word.is_empty() {
                self.settle(at);
                self.traced.copy(word, at as u64);
            }
            if word.len() < run.len() {
                self.white_space(source, at + word.len(), run.len() - word.len());
            }
            at += run.len();
        }
    }

    fn white_space(&mut self, source: &str, at: usize, width: usize) {
        let kept =
            self.preformatted > 0 && (self.breaks == 0 || !source[at..at + width].contains('\n'));
        if kept {
            self.settle(at);
            self.traced.copy(&source[at..at + width], at as u64);
        } else {
            let start = self.space.map_or(at, |(start, _)| start);
            self.space = Some((start, at + width - start));
        }
    }

    /// One decoded entity.
    fn word(&mut self, decoded: &str, at: usize, width: usize) {
        self.settle(at);
        self.traced.stand_for(decoded, at as u64, narrow(width));
    }

    /// Write what is due before a word at `at`: line ends, a mark, or a space.
    fn settle(&mut self, at: usize) {
        let begun = !self.traced.text.is_empty();
        let mark = std::mem::take(&mut self.mark);
        let breaks = std::mem::take(&mut self.breaks);
        let space = self.space.take();
        if breaks > 0 {
            if begun {
                self.traced
                    .stand_for(["\n", "\n\n"][breaks.min(2) - 1], at as u64, 0);
            }
            self.traced.stand_for(mark, at as u64, 0);
        } else if !mark.is_empty() {
            self.traced.stand_for(mark, at as u64, 0);
        } else if let Some((start, width)) = space.filter(|_| begun) {
            self.traced.stand_for(" ", start as u64, narrow(width));
        }
        if let Some((_, start @ usize::MAX)) = &mut self.heading {
            *start = self.traced.text.len();
        }
    }
}

fn narrow(width: usize) -> u32 {
    u32::try_from(width).unwrap_or(u32::MAX)
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

/// The name that a tag begins with, in lower case.
fn name(tag: &str) -> String {
    let end = tag
        .find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/')
        .unwrap_or(tag.len());
    tag[..end.min(tag.floor_char_boundary(32))].to_ascii_lowercase()
}

/// Past the `>` of the tag that begins at `at`; a `>` in quotes does not count.
fn tag_end(source: &str, at: usize) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (offset, byte) in source.as_bytes()[at..].iter().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') if after_equals => quote = Some(byte),
            (None, b'>') => return at + offset + 1,
            (None, _) => {}
        }
        after_equals = *byte == b'=' || (after_equals && byte.is_ascii_whitespace());
    }
    source.len()
}

/// Where the end tag of an element begins whose content is not markup.
fn raw_end(source: &str, from: usize, name: &str) -> usize {
    let bytes = source.as_bytes();
    let mut at = from;
    while let Some(offset) = source[at..].find("</") {
        at += offset;
        let tag = bytes.get(at + 2..at + 2 + name.len());
        if tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes())) {
            return at;
        }
        at += 2;
    }
    source.len()
}

/// The text of the entity that `rest` begins with, and its length; empty when the `&` stands for itself.
fn entity(rest: &str) -> (String, usize) {
    let numeric = rest.strip_prefix("&#").and_then(numeric_entity);
    numeric
        .or_else(|| named_entity(rest))
        .unwrap_or((String::new(), 1))
}

fn numeric_entity(digits: &str) -> Option<(String, usize)> {
    let (digits, radix, prefix) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 3),
        None => (digits, 10, 2),
    };
    let length = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let code = u32::from_str_radix(&digits[..length], radix).ok();
    if length == 0 {
        return None;
    }
    let semicolon = usize::from(digits[length..].starts_with(';'));
    let character = code.filter(|code| *code != 0).and_then(|code| match code {
        0x80..=0x9f => C1_REPLACEMENTS[code as usize - 0x80].or(char::from_u32(code)),
        _ => char::from_u32(code),
    });
    Some((
        character.unwrap_or(char::REPLACEMENT_CHARACTER).to_string(),
        prefix + length + semicolon,
    ))
}

/// Longest match first: some names are known without their semicolon.
fn named_entity(rest: &str) -> Option<(String, usize)> {
    let name = &rest[1..];
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(name.len());
    let longest = (end + usize::from(name[end..].starts_with(';'))).min(LONGEST_ENTITY);
    (2..=longest).rev().find_map(|length| {
        let &(first, second) = NAMED_ENTITIES.get(name.get(..length)?)?;
        // a first part of 0 marks the beginning of a longer name
        let characters = [first, second]
            .into_iter()
            .filter(|code| *code != 0)
            .filter_map(char::from_u32);
        let text: String = characters.collect();
        (!text.is_empty()).then_some((text, length + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_as_a_browser_breaks_them() {
        let cases = [
            ("plain", "plain"),
            (
                "<p>one  two\n three</p><p>four<br>five</p>",
                "one two three\n\nfour\nfive",
            ),
            ("a<b>b</b> <i>c</i>", "ab c"),
            (
                "<ul><li>one</li><li>two <b>three</b></li></ul>after",
                "- one\n- two three\n\nafter",
            ),
            (
                "<ol><li><p>one</p></li><li></li><li><div>two</div></li></ol>",
                "- one\n\n- two",
            ),
            (
                "<table><tr><th>Name<th>Age<tr><td>Ann<td>7</table>",
                "| Name | Age\n| Ann | 7",
            ),
            (
                "<script>if (a < b) '</p>'</script>x<style>p{}</style>y",
                "xy",
            ),
            ("<SCRIPT>never closed <p>text", ""),
            ("<svg><text>no</text><svg></svg></svg>yes", "yes"),
            ("<!-- no <p> -->yes<!DOCTYPE html><?php no ?>", "yes"),
            ("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\n\nd"),
            (
                "a < b && c > d &amp; &lt;tag&gt; &eacute;&#233;&#xe9;&#150; &bogus; &copy 1 &",
                "a < b && c > d & <tag> ééé– &bogus; © 1 &",
            ),
            ("<p title=\"a > b\" x='>'>text", "text"),
            ("<title>T &amp; U</title><h1>H</h1>", "T & U\n\nH"),
            ("<div><div><div>x</div></div></div>\n\n<div>y", "x\n\ny"),
            ("<textarea><b>raw</b></textarea>", "<b>raw</b>"),
            ("x<", "x<"),
            ("<p", ""),
            ("<![CDATA[a < b]]>", "a < b"),
        ];
        for (page, text) in cases {
            assert_eq!(extract(page).traced.text, text, "{page}");
        }
    }

    #[test]
    fn headings_have_levels_and_titles() {
        let page =
            extract("<title>Page</title><h1>One</h1>text<h2>Two <em>x</em></h2><h3></h3>more");
        let found: Vec<_> = page
            .headings
            .iter()
            .map(|heading| (heading.level, heading.title.as_str()))
            .collect();
        assert_eq!(found, [(0, "Page"), (1, "One"), (2, "Two x")]);
        let two = &page.headings[2];
        assert_eq!(&page.traced.text[two.place.clone()], "Two x");
    }

    #[test]
    fn words_are_traced_to_the_page() {
        let source = "<html>\n<p>Caf&eacute; <b>noir</b>\n and   tea</p>";
        let page = extract(source);
        for word in ["Caf", "noir", "tea", "and"] {
            let at = page.traced.text.find(word).expect(word);
            let origin = page.traced.origin.source_range(at..at + word.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], word);
        }
        let at = page.traced.text.find('é').expect("é");
        let origin = page.traced.origin.source_range(at..at + 2);
        assert_eq!(
            &source[origin.start as usize..origin.end as usize],
            "&eacute;"
        );
    }
}
