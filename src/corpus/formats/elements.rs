//! XML: what is between the tags, with the names of the elements above it as headings. An element
//! that holds one value is a line `name: value`, and so are attributes; mixed content stays
//! together.
//!
//! Only the five entities of XML and numbers of characters are decoded: nothing that a file
//! declares is expanded, and nothing is fetched. Any input gives some text.

use std::ops::Range;

use super::columns::Columns;
use super::element_tags::{Kind, Markup, attributes, decode, local_name, markup, reference};
use super::format::{Extract, Format};
use super::script::{Script, ScriptKind};
use crate::corpus::offsets::Traced;
use crate::corpus::outline::Heading;
use crate::corpus::sentence::fold_white_space;
use crate::event::{Metadata, saturating_u32};

pub(super) const FORMAT: Format = Format::for_lines(
    "XML",
    &[
        "xml", "rss", "atom", "opml", "dbk", "docbook", "xsd", "xsl", "plist", "csproj", "props",
        "targets", "tei",
    ],
    |source| extract(&source),
);

/// Elements inside of a raised or lowered text.
const EMPHASIS: &[&str] = &["b", "i", "hi", "bold", "italic", "emphasis"];
/// Elements this deep are headings.
const HEADING_LEVELS: usize = 3;
/// Maximum size of a value that is shown with its name; a longer one is prose.
const MAX_VALUE_BYTES: usize = 200;
/// Elements and attributes that name what they are in.
const NAMES: &[&str] = &["name", "title", "label"];
/// Maximum size of a name, of a title and of an attribute.
const MAX_TITLE_BYTES: usize = 120;
/// Elements whose lines stay as they are.
const VERBATIM: &[&str] = &["programlisting", "screen", "literallayout", "pre", "code"];
/// Attributes that name or lay out an element, and say nothing of its content.
#[rustfmt::skip]
const UNREAD_ATTRIBUTES: &[&str] = &[
    "id", "class", "style", "role", "lang", "space", "base", "xmlns", "schemaLocation",
];

fn extract(source: &str) -> Extract {
    let mut text = Text::new(source);
    let mut at = 0;

    while at < source.len() {
        let next = source[at..].find('<');
        let next = next.map_or(source.len(), |next| at + next);
        text.run(at..next);
        if next == source.len() {
            break;
        }
        at = match markup(source, next) {
            Some(markup) => {
                let end = markup.range.end;
                text.markup(&markup);
                end
            }
            None => {
                text.run(next..next + 1);
                next + 1
            }
        };
    }

    text.end_script();
    Extract {
        headings: text.headings,
        metadata: text.metadata,
        rows: text.rows,
        ..Extract::from_traced(text.traced)
    }
}

/// An open element.
struct Element<'a> {
    name: &'a str,
    /// The title of its heading: its name, or the text of its `<title>`.
    title: String,
    /// Whether it has text of its own, so that the elements inside it are part of a sentence.
    has_text: bool,
    /// Whether there is an element in it.
    has_elements: bool,
    /// Whether its heading is written.
    has_heading: bool,
}

/// A row of a table of DocBook: a line with the names of its columns.
#[derive(Default)]
struct OpenRow {
    /// The number of elements that are open around it.
    depth: usize,
    /// Whether it names the columns.
    is_header: bool,
    start: Option<usize>,
    /// The cells so far, from the first word of each on, and whether the last one is open.
    cells: Vec<Option<Range<usize>>>,
    is_in_cell: bool,
}

/// The text of a file so far.
#[derive(Default)]
struct Text<'a> {
    source: &'a str,
    traced: Traced,
    headings: Vec<Heading>,
    metadata: Metadata,
    open: Vec<Element<'a>>,
    /// Number of open elements whose lines stay as they are.
    verbatim: usize,
    /// Number of open elements that have text of their own.
    inline: usize,
    line_ends: &'static str,
    /// Whether white space is due before the next word of the line.
    space: bool,
    /// The superscript or subscript that is being read, and the number of elements open in it.
    script: Option<(Script, usize)>,
    /// The row that is read, the names of the columns of its table, and the rows so far.
    row: Option<OpenRow>,
    columns: Columns,
    /// Whether a cell of the table is over several columns or rows: no column is sure then.
    has_spans: bool,
    rows: Vec<Range<usize>>,
}

impl<'a> Text<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            traced: Traced::with_capacity(source.len()),
            ..Self::default()
        }
    }

    fn markup(&mut self, markup: &Markup) {
        if let Some((_, depth)) = &mut self.script {
            match markup.kind {
                Kind::Open => *depth += 1,
                Kind::Close if *depth > 0 => *depth -= 1,
                Kind::Close => self.end_script(),
                Kind::Empty | Kind::Data | Kind::Other => {}
            }
            return;
        }

        match markup.kind {
            Kind::Open if let Some(kind) = self.script_kind(markup.range.clone()) => {
                self.begin_sentence();
                self.script = Some((Script::new(kind, false), 0));
            }
            Kind::Open => self.open(markup.range.clone()),
            Kind::Empty => {
                self.break_line();
                let tag = markup.range.clone();
                let name = local_name(&self.source[tag.start + 1..tag.end - 1]);
                self.open_in_table(name, tag.clone());
                self.close_in_table(name);
                self.attributes(name, attributes(self.source, tag));
            }
            Kind::Close => self.close(markup.range.clone()),
            Kind::Data => {
                let inner = markup.range.start + "<![CDATA[".len()..markup.range.end;
                let text = &self.source[inner.clone()];
                let length = text.strip_suffix("]]>").unwrap_or(text).len();
                self.words(inner.start..inner.start + length, false);
            }
            Kind::Other => {}
        }
    }

    /// Returns how an element sets its text, as DocBook, TEI and JATS name it.
    fn script_kind(&self, tag: Range<usize>) -> Option<ScriptKind> {
        let is_in_sentence = self.open.last().is_some_and(|element| element.has_text);
        let name = local_name(&self.source[tag.start + 1..tag.end - 1]);
        let behind = tag.end;
        let look = match name {
            "superscript" | "subscript" => name,
            "sup" | "sub" if is_in_sentence => name,
            "hi" => {
                let mut values = attributes(self.source, tag).into_iter();
                let (_, value) = values.find(|(attribute, _)| attribute.starts_with("rend"))?;
                self.source[value].trim_start_matches('#')
            }
            _ => return None,
        };
        let kind = match look {
            "superscript" | "super" | "sup" => ScriptKind::Above,
            "subscript" | "sub" => ScriptKind::Below,
            _ => return None,
        };
        // an element of data may have such a name, too
        let (_, next) = self.source[behind..].split_once('<')?;
        let is_text = next.starts_with('/') || EMPHASIS.contains(&local_name(next));
        is_text.then_some(kind)
    }

    /// Adds what was read as a superscript or subscript.
    fn end_script(&mut self) {
        let Some((script, _)) = self.script.take() else {
            return;
        };
        let is_apart = self.space || !self.line_ends.is_empty();
        let before = if is_apart { "" } else { &self.traced.text };
        if let Some(text) = script.text_after(before) {
            let source = script.source();
            self.begin_word(source.start);
            let width = saturating_u32(source.len());
            self.traced.stand_for(&text, source.start as u64, width);
        }
        self.space |= script.ends_with_space();
    }

    fn open(&mut self, tag: Range<usize>) {
        let name = local_name(&self.source[tag.start + 1..tag.end - 1]);
        self.break_line();

        if let Some(parent) = self.open.last_mut() {
            parent.has_elements = true;
        }

        self.open_in_table(name, tag.clone());
        self.verbatim += usize::from(VERBATIM.contains(&name));
        let attributes = attributes(self.source, tag);
        let values = attributes.iter();
        let mut values = values.map(|(name, value)| (*name, &self.source[value.clone()]));
        let named = values.find(|(name, value)| is_name(name) && !value.trim().is_empty());
        let title = named.map(|(_, value)| title_of(name, &decode(value)));
        self.open.push(Element {
            name,
            title: title.unwrap_or_else(|| limit_length(name)),
            has_text: false,
            has_elements: false,
            has_heading: false,
        });
        self.attributes(name, attributes);
    }

    /// Closes the innermost element of a name, with those that were left open inside it. A tag that
    /// closes nothing is left out.
    fn close(&mut self, tag: Range<usize>) {
        self.break_line();
        let name = local_name(&self.source[tag.start + 2..tag.end - 1]);

        let mut near = self.open.iter().rev().take(50);
        let nearest = near.position(|element| element.name == name);
        for _ in 0..nearest.map_or(0, |depth| depth + 1) {
            let Some(element) = self.open.pop() else {
                break;
            };
            self.close_in_table(element.name);
            self.verbatim -= usize::from(VERBATIM.contains(&element.name));
            self.inline -= usize::from(element.has_text);
            if element.has_heading {
                let end = self.traced.text.len();
                let level = self.open.len() as u8 + 1;
                self.headings.push(Heading::new(end..end, level, ""));
            }
        }
    }

    /// Opens a table, a row or a cell of DocBook, before its element is open. Where a cell takes
    /// several columns or rows, no column is sure.
    fn open_in_table(&mut self, name: &str, tag: Range<usize>) {
        match name {
            "tgroup" => (self.columns, self.has_spans) = (Columns::default(), false),
            "row" if self.row.is_none() => {
                let mut around = self.open.iter().rev().map(|element| element.name);
                let part = around.next().unwrap_or_default();
                let is_table = part == "tgroup" || around.next() == Some("tgroup");
                if is_table && self.verbatim == 0 && self.inline == 0 {
                    self.inline += 1;
                    self.row = Some(OpenRow {
                        depth: self.open.len(),
                        is_header: part == "thead",
                        ..OpenRow::default()
                    });
                }
            }
            "entry" => {
                if let Some(row) = &mut self.row {
                    row.cells.push(None);
                    row.is_in_cell = true;
                    let mut attributes = attributes(self.source, tag).into_iter();
                    if attributes.any(|(name, _)| ["namest", "morerows"].contains(&name)) {
                        (self.columns, self.has_spans) = (Columns::default(), true);
                    }
                }
            }
            "para" | "simpara" | "listitem" if self.row.is_some() => self.space = true,
            _ => {}
        }
    }

    /// Closes a row or a cell, once its element is closed.
    fn close_in_table(&mut self, name: &str) {
        let end = self.traced.text.len();
        let Some(row) = &mut self.row else {
            return;
        };
        if name == "entry" {
            row.is_in_cell = false;
            if let Some(Some(cell)) = row.cells.last_mut() {
                cell.end = end;
            }
        }
        if row.depth < self.open.len() {
            return;
        }
        let row = self.row.take().unwrap_or_default();
        self.inline -= 1;
        self.space = false;
        self.break_line();
        self.rows.extend(row.start.map(|start| start..end));
        if row.is_header && !self.has_spans {
            let cells = row.cells.into_iter().enumerate();
            for (column, cell) in cells.filter_map(|(column, cell)| Some((column, cell?))) {
                self.columns.set_below(column, &self.traced.text[cell]);
            }
        }
    }

    /// Begins the cell that is open with its first word: behind another one, and with its name.
    fn begin_cell(&mut self, at: usize) {
        let Some(row) = &mut self.row else {
            return;
        };
        let Some(cell) = row.cells.last_mut().filter(|_| row.is_in_cell) else {
            return;
        };
        if cell.is_some() {
            return;
        }
        self.space = false;
        let begin = self.traced.text.len();
        if row.start.is_some() {
            self.traced.stand_for("; ", at as u64, 0);
        }
        row.start.get_or_insert(begin);
        let column = row.cells.len() - 1;
        if !row.is_header {
            let name = self.columns.labels([(column, "")].into_iter()).next();
            self.traced
                .stand_for(&name.unwrap_or_default(), at as u64, 0);
        }
        let start = self.traced.text.len();
        row.cells[column] = Some(start..start);
    }

    /// Ends the line, unless an element is part of a sentence.
    fn break_line(&mut self) {
        if self.inline == 0 && !self.traced.text.is_empty() && self.line_ends.is_empty() {
            self.line_ends = "\n";
        }
    }

    /// Adds text between two tags.
    fn run(&mut self, part: Range<usize>) {
        if let Some((script, _)) = &mut self.script {
            script.add(&decode(&self.source[part.clone()]), part);
            return;
        }
        if self.source[part.clone()].trim().is_empty() {
            self.space |= !part.is_empty();
            return;
        }
        if self.is_value(&part) {
            self.value(part);
            return;
        }

        self.begin_sentence();
        self.words(part, true);
    }

    /// Notes that the innermost element has text of its own; another one may stand before it.
    fn begin_sentence(&mut self) {
        let parent = self.open.last_mut();
        if let Some(parent) = parent.filter(|parent| !parent.has_text) {
            parent.has_text = true;
            self.inline += 1;
        }
    }

    /// Returns whether text is all that an element holds, and no part of a sentence.
    fn is_value(&self, part: &Range<usize>) -> bool {
        let after = &self.source[part.end..];
        let is_first = |element: &Element<'_>| !element.has_text && !element.has_elements;
        let is_alone = self.open.last().is_some_and(is_first) && after.starts_with("</");
        let is_short = part.len() <= MAX_VALUE_BYTES && self.verbatim == 0 && self.inline == 0;
        if !is_alone || !is_short || !self.source[..part.start].ends_with('>') {
            return false;
        }

        let closed = after.find('>').map_or("", |end| &after[end + 1..]);
        let next = closed.trim_start_matches([' ', '\t', '\r', '\n']);
        next.is_empty() || next.starts_with('<')
    }

    /// Adds the value of an element as a line with its name. A title, or a name before anything
    /// else, is the heading of its parent.
    fn value(&mut self, part: Range<usize>) {
        let Some(element) = self.open.last() else {
            return;
        };
        let name = element.name;
        let depth = self.open.len();
        let value = limit_length(&fold_white_space(&decode(&self.source[part.clone()])));
        if depth <= HEADING_LEVELS + 1 {
            self.metadata.set(name, &value);
        }
        if let Some(parent) = depth.checked_sub(2).and_then(|at| self.open.get_mut(at)) {
            if name == "title" {
                parent.title = value;
            } else if is_name(name) && !parent.has_heading {
                parent.title = title_of(parent.name, &value);
            }
        }

        self.begin_line(part.start);
        if name != "title" {
            self.traced
                .stand_for(&format!("{}: ", limit_length(name)), part.start as u64, 0);
        }
        self.words(part, true);
    }

    /// Adds the attributes of an element as a line with its name.
    fn attributes(&mut self, element: &str, attributes: Vec<(&str, Range<usize>)>) {
        if self.inline > 0 || self.verbatim > 0 {
            return;
        }

        let mut is_first = true;
        for (attribute, value) in attributes {
            let is_read = !UNREAD_ATTRIBUTES.contains(&attribute) && !value.is_empty();
            if !is_read || value.len() > MAX_VALUE_BYTES * 5 {
                continue;
            }
            let label = if is_first {
                self.begin_line(value.start);
                format!("{} {}: ", limit_length(element), limit_length(attribute))
            } else {
                format!("; {}: ", limit_length(attribute))
            };
            self.traced.stand_for(&label, value.start as u64, 0);
            self.space = false;
            self.words(value, true);
            is_first = false;
        }

        if !is_first {
            self.break_line();
        }
    }

    /// Adds words, with references decoded where there are some.
    fn words(&mut self, part: Range<usize>, has_references: bool) {
        let mut at = part.start;
        while at < part.end {
            let rest = &self.source[at..part.end];
            let c = rest.chars().next().unwrap_or(' ');
            if c.is_whitespace() && self.verbatim == 0 {
                self.space = true;
                at += c.len_utf8();
            } else if let Some((character, length)) = reference(rest).filter(|_| has_references) {
                self.begin_word(at);
                let character = character.to_string();
                let width = saturating_u32(length);
                self.traced.stand_for(&character, at as u64, width);
                at += length;
            } else {
                let is_end = |c: char| c == '&' || (c.is_whitespace() && self.verbatim == 0);
                let first = c.len_utf8();
                let end = rest[first..].find(is_end);
                let end = end.map_or(rest.len(), |end| first + end);
                self.begin_word(at);
                self.traced.copy(&rest[..end], at as u64);
                at += end;
            }
        }
    }

    fn begin_word(&mut self, at: usize) {
        if !self.line_ends.is_empty() || self.traced.text.is_empty() {
            self.begin_line(at);
        }
        self.begin_cell(at);
        let needs_space = std::mem::take(&mut self.space)
            && !self.traced.text.is_empty()
            && !self.traced.text.ends_with(['\n', ' ']);
        if needs_space {
            self.traced.stand_for(" ", at as u64, 0);
        }
    }

    /// Begins a line, with the headings of the elements that it is the first of.
    fn begin_line(&mut self, at: usize) {
        self.space = false;
        let outer = self.open.len().saturating_sub(1).min(HEADING_LEVELS);
        let mut above = self.open[..outer].iter();
        let begins_section = above.any(|element| !element.has_heading);
        if !self.traced.text.is_empty() {
            let line_ends = if begins_section { "\n\n" } else { "\n" };
            self.traced.stand_for(line_ends, at as u64, 0);
        }
        self.line_ends = "";

        let start = self.traced.text.len();
        for (index, element) in self.open[..outer].iter_mut().enumerate() {
            if !element.has_heading {
                element.has_heading = true;
                let title = element.title.clone();
                let heading = Heading::new(start..start, index as u8 + 1, title);
                self.headings.push(heading);
            }
        }
    }
}

/// Returns whether an element or an attribute names what it is in.
fn is_name(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Returns the title of an element that is named.
fn title_of(element: &str, name: &str) -> String {
    limit_length(&format!("{element} {}", fold_white_space(name)))
}

fn limit_length(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TITLE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_prose() {
        let cases = [
            (
                "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY x \"y\">]><a><b>1</b><c d=\"2\" xmlns=\"z\" e='3'/></a>",
                "b: 1\nc d: 2; e: 3",
            ),
            (
                "<book><chapter><title>Lamps</title><para>Use <command>ls</command>, or\n <b>not</b>.</para><para>More text.</para></chapter></book>",
                "Lamps\nUse ls, or not.\npara: More text.",
            ),
            (
                "<a>&lt;x&gt; &amp; &#233;&#xe9; &undefined; &#0;</a>",
                "a: <x> & éé &undefined; &#0;",
            ),
            ("<a><![CDATA[1 < 2 &amp;]]></a>", "1 < 2 &amp;"),
            (
                "<!-- <no> --><a><programlisting>x\n  y &lt;\n</programlisting>z</a>",
                "x\n  y <\nz",
            ),
            ("<a>never closed <b", "never closed <b"),
            ("1 < 2 </x> > 3", "1 < 2\n> 3"),
            ("<a:b c:d=\"e\"><a:f>g</a:f></a:b>", "b d: e\n\nf: g"),
            (
                "<p>10<superscript>&#8722;7</superscript> m, 2<hi rend=\"sup\"><b>n</b></hi>, H<sub>2</sub>O<superscript>never",
                "10⁻⁷ m, 2ⁿ, H₂Onever",
            ),
            (
                "<a><para><subscript>3</subscript>He</para><sup>Ann</sup></a>",
                "₃He\nsup: Ann",
            ),
            (
                "<table><title>T</title><tgroup><thead><row><entry>A</entry><entry>B</entry></row></thead>\
                 <tbody><row id='r'><entry>1</entry><entry><para>2 <b>m</b></para><para>x</para></entry></row>\n\
                 <row><entry/><entry>3</entry></row></tbody></tgroup></table><row><entry>4</entry></row>",
                "T\n\nA; B\n\nA: 1; B: 2 m x\nB: 3\n\nentry: 4",
            ),
            ("plain", "plain"),
        ];
        for (source, text) in cases {
            assert_eq!(extract(source).text, text, "{source}");
        }
    }

    #[test]
    fn entities_of_a_file_are_not_expanded() {
        let mut source = "<!DOCTYPE lolz [<!ENTITY lol \"lol\">".to_owned();
        for n in 0..9 {
            source += &format!(
                "<!ENTITY lol{} \"{}\">",
                n + 1,
                format!("&lol{n};").repeat(10)
            );
        }
        source += "<!ENTITY file SYSTEM \"file:///etc/passwd\">]><lolz>&lol9; &file;</lolz>";
        assert_eq!(extract(&source).text, "lolz: &lol9; &file;");
    }

    #[test]
    fn elements_are_headings_and_words_are_traced() {
        let source = "<project><name>x</name><dependencies><dependency><id>tokio</id></dependency></dependencies><end>1</end></project>";
        let found = extract(source);
        let titles: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(
            titles,
            [
                (1, "project x"),
                (2, "dependencies"),
                (3, "dependency"),
                (3, ""),
                (2, ""),
                (1, "")
            ]
        );
        let at = found.text.find("tokio").expect("a value");
        let origin = found.origin.source_range(at..at + 5);
        assert_eq!(&source[origin.start as usize..origin.end as usize], "tokio");
    }
}
