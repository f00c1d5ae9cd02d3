//! Markdown as it is in the file, with its headings, without comments (of HTML, of Obsidian, and
//! links to nowhere) and what HTML in it hides.
//! The rows of a table have the names of its columns: of Markdown, of HTML as converters write it,
//! and in a block of code.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::columns::{Columns, Tables};
use super::format::{Extract, Format, Reader};
use super::html;
use super::lines::lines;
use super::markup_tables::{Line, add_bar_tables, add_pandoc_tables};
use super::unseen::is_within;
use crate::corpus::outline::Heading;
use crate::corpus::terminal::is_invisible;
use crate::event::Metadata;

/// Maximum number of the lines of a comment that is a definition of a link.
const MAX_COMMENT_LINES: usize = 20;
/// A `>` further away ends no tag.
const MAX_TAG_BYTES: usize = 8 << 10;

pub(super) const FORMAT: Format = Format {
    name: "Markdown",
    extensions: &[
        "md", "markdown", "mdown", "mkd", "mkdn", "mdx", "qmd", "rmd",
    ],
    library: "pulldown-cmark",
    place: "line",
    reader: Reader::Text(|text| extract(text).with_raised_title()),
};

/// Finds the headings, the front matter, which is not a heading, and the rows of tables.
pub(super) fn extract(mut text: String) -> Extract {
    let properties = properties_start(&text).map(|start| text.split_off(start));
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_TABLES
        | Options::ENABLE_HEADING_ATTRIBUTES;

    let mut headings = Vec::new();
    let mut front_matter_end = 0;
    let mut open: Option<Heading> = None;
    let mut tables = TableReader::default();
    let mut html = HtmlReader::default();
    let mut html_headings = html::Headings::default();

    let separated = with_tables_apart(&text);
    for (event, range) in Parser::new_ext(&separated, options).into_offset_iter() {
        // the line end that sets a table apart may be in the place of a longer sign
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = Some(Heading::new(range, level as u8, ""));
            }
            Event::End(TagEnd::Heading(_)) => {
                headings.extend(open.take().filter(|heading| !heading.title.is_empty()));
            }
            Event::Start(Tag::MetadataBlock(_)) if headings.is_empty() => {
                front_matter_end = range.end;
            }
            Event::Text(words) | Event::Code(words) => {
                let words = words.replace(is_invisible, "");
                if let Some(heading) = open.as_mut().filter(|_| html.hidden.is_none()) {
                    heading.title.push_str(&words);
                }
                tables.add_words(&words);
                if text[range.start..].starts_with('`') {
                    tables.code.push(range.clone());
                }
                // a reference that a word would end at
                if text[range.clone()].starts_with('&') && !words.contains(|c: char| c.is_ascii()) {
                    tables.tables.replace(range, words);
                }
            }
            Event::InlineHtml(_) => html.add(range, true, &text, &mut tables.tables),
            Event::Start(Tag::HtmlBlock) => {
                tables.add_html(range.clone(), &text);
                html_headings.add(&text[range.clone()], range.start, &mut headings);
                html.add(range, false, &text, &mut tables.tables);
            }
            Event::Start(Tag::Emphasis) => tables.join_word(range, 1, &text),
            Event::Start(Tag::Strong) => tables.join_word(range, 2, &text),
            Event::Start(Tag::CodeBlock(_)) => tables.add_code(range, &text),
            Event::Start(tag) => tables.open(&tag, range),
            Event::End(tag) => {
                html.end_block(tag, range.end, &text, &mut tables.tables);
                tables.close(tag, range, &text);
            }
            _ => {}
        }
    }
    html.end(text.len(), &text, &mut tables.tables);
    tables.leave_out_comments(&text, front_matter_end);
    tables.add_pandoc(&text, front_matter_end);

    let mut metadata = Metadata::default();
    if let Some(end) = title_block(&text, &mut metadata) {
        front_matter_end = end;
    }
    metadata.set_front_matter(&text[..front_matter_end]);
    if let Some(properties) = properties {
        metadata.set("title", text.lines().next().unwrap_or_default());
        metadata.set_front_matter(&properties);
    }
    let extract = Extract {
        headings,
        front_matter_end,
        metadata,
        hidden: html.count,
        ..Extract::verbatim(text)
    };
    tables.tables.label(extract)
}

/// Takes the title, the authors and the day that a text of Pandoc begins with, each behind `% `.
/// Returns where they end. Lines that are indented continue one; a title over several lines alone,
/// or with text right below, is a text that begins with a percentage.
fn title_block(text: &str, metadata: &mut Metadata) -> Option<usize> {
    let mut end = 0;
    let mut fields: Vec<String> = Vec::new();
    let mut count = 0;
    for (start, line) in lines(text) {
        if let Some(field) = line.strip_prefix('%').filter(|_| fields.len() < 3) {
            fields.push(field.to_owned());
        } else if let Some(last) = fields.last_mut().filter(|_| line.starts_with(' ')) {
            last.push_str(line);
        } else if line.trim().is_empty() {
            break;
        } else {
            return None;
        }
        count += 1;
        end = start + line.len();
    }
    if fields.len() == 1 && count > 1 {
        return None;
    }
    let title = fields.first().filter(|title| title.starts_with(' '))?;
    metadata.set("title", title);
    for (name, value) in ["author", "date"].into_iter().zip(&fields[1..]) {
        metadata.set(name, value);
    }
    Some(end)
}

/// Returns a text whose tables are apart from the line above: a line end is in the place of its
/// last sign, so that all positions stay. Without bars at its ends, a table would be a part of it.
fn with_tables_apart(text: &str) -> Cow<'_, str> {
    let is_rule = |line: &str| {
        line.contains('|') && line.contains("--") && line.bytes().all(|b| b"|-: \t".contains(&b))
    };
    let is_row = |line: &str| line.contains('|') && !line.trim_start().starts_with('|');
    let mut apart = Cow::Borrowed(text);
    let mut above: [Line<'_>; 2] = [(0, ""); 2];
    for line in lines(text) {
        let [(start, prose), (_, header)] = above;
        let prose = prose.trim_end();
        let last = prose
            .chars()
            .next_back()
            .filter(|c| c.is_alphanumeric() || ".,:;!?)".contains(*c));
        let is_prose = !prose.contains('|') && !prose.starts_with(['#', '>']);
        if let Some(last) = last.filter(|_| is_prose && is_row(header) && is_rule(line.1)) {
            let end = start + prose.len();
            let blank = " ".repeat(last.len_utf8() - 1) + "\n";
            let sign = end - last.len_utf8()..end;
            apart.to_mut().replace_range(sign, &blank);
        }
        above = [above[1], line];
    }
    apart
}

/// Returns where the properties begin that Joplin writes below a note: `id: ...` to `type_: 1`.
fn properties_start(text: &str) -> Option<usize> {
    let whole = text.trim_end();
    let (_, last) = whole.rsplit_once('\n')?;
    let start = whole.rfind("\nid: ")?;
    let mut properties = whole[start + 1..].lines();
    let is_property = |line: &str| {
        line.split_once(':')
            .is_some_and(|(name, _)| !name.contains(' '))
    };
    (last.starts_with("type_: ") && properties.all(is_property)).then_some(start)
}

/// The HTML of a text while it is read: comments and what it hides are left out, and the tags that
/// words have inside of them.
#[derive(Default)]
struct HtmlReader {
    elements: html::Elements,
    /// The tag that hides what follows, and whether it ends with its paragraph.
    hidden: Option<(Range<usize>, bool)>,
    /// The number of parts with words that are hidden.
    count: u32,
}

impl HtmlReader {
    fn add(&mut self, part: Range<usize>, is_inline: bool, text: &str, tables: &mut Tables) {
        let mut at = part.start;
        while let Some(start) = text[at..part.end].find('<').map(|start| at + start) {
            let is_comment = text[start..].starts_with("<!--");
            let rest = &text[start..part.end];
            let length = match (is_inline, is_comment) {
                // inline, the part is one tag
                (true, _) => Some(rest.len()),
                (false, true) => rest.find("-->").map(|end| end + "-->".len()),
                (false, false) => tag_length(rest),
            };
            let Some(length) = length else {
                break;
            };
            at = start + length;
            let tag = start..at;
            let is_hidden = self.elements.hide_after(&text[tag.clone()]);
            if is_hidden {
                self.hidden.get_or_insert((tag, is_inline));
            } else if self.hidden.is_some() {
                self.end(at, text, tables);
            } else if is_comment || (is_inline && is_in_word(text, tag.clone())) {
                tables.leave_out(tag);
            }
        }
        if !is_inline {
            // a paragraph holds no other block, whether its end is written or not
            let hidden = self.hidden.as_ref();
            if hidden.is_some_and(|(tag, _)| tag_name(&text[tag.clone()]) == "p") {
                self.end(text[..part.end].trim_end().len(), text, tables);
            }
            tables.leave_out_marks(part.start, &text[part], &[], |_| false);
        }
    }

    /// Ends what an element inside of a block hides.
    fn end_block(&mut self, block: TagEnd, end: usize, text: &str, tables: &mut Tables) {
        let holds_words = matches!(
            block,
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell | TagEnd::Item
        );
        let hidden = self.hidden.as_ref().filter(|_| holds_words);
        if hidden.is_some_and(|(_, is_inline)| *is_inline) {
            self.end(text[..end].trim_end().len(), text, tables);
        }
    }

    /// Leaves out what is hidden up to a position.
    fn end(&mut self, end: usize, text: &str, tables: &mut Tables) {
        if let Some((tag, _)) = self.hidden.take() {
            let inside = text[tag.end..end].rsplit_once("</");
            let inside = inside.map_or(&text[tag.end..end], |(inside, _)| inside);
            self.count += u32::from(inside.contains(char::is_alphanumeric));
            self.elements = html::Elements::default();
            tables.leave_out(tag.start..end);
        }
    }
}

/// Returns the length of the tag that a text begins with. A `>` in a quoted value does not end it.
fn tag_length(text: &str) -> Option<usize> {
    let near = &text.as_bytes()[..text.len().min(MAX_TAG_BYTES)];
    let mut quote = None;
    let mut last = b' ';
    let end = near.iter().position(|byte| {
        let is_outside = quote.is_none();
        if quote == Some(*byte) {
            quote = None;
        } else if is_outside && last == b'=' && matches!(byte, b'"' | b'\'') {
            quote = Some(*byte);
        }
        if !byte.is_ascii_whitespace() {
            last = *byte;
        }
        is_outside && *byte == b'>'
    });
    // of a quote without an end
    let end = end.or_else(|| text.find('>'));
    end.map(|end| end + 1)
}

/// Returns the length of a definition of a link to nowhere, which is a comment: `[//]: # (words)`.
fn comment_length(text: &str) -> Option<usize> {
    let lines = || lines(text).take(MAX_COMMENT_LINES);
    let paragraph = || lines().take_while(|(_, line)| !line.trim().is_empty());
    let (_, first) = paragraph().next()?;
    let (label, rest) = first.strip_prefix('[')?.split_once("]:")?;
    let rest = rest.trim_start();
    let words = rest.strip_prefix('#').or_else(|| rest.strip_prefix("<>"))?;
    let words = words.trim();
    let close = match words.chars().next()? {
        '(' => ')',
        quote @ ('"' | '\'') => quote,
        _ => return None,
    };
    let is_end = |(at, line): &(usize, &str)| {
        let line = if *at == 0 { &words[1..] } else { line };
        line.trim_end().ends_with(close)
    };
    let (at, last) = paragraph().find(is_end)?;
    (!label.contains([']', '['])).then_some(at + last.len())
}

/// Returns the name of the element of a tag, in lower case.
fn tag_name(tag: &str) -> String {
    let name = tag.trim_start_matches(['<', '/']);
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next();
    name.unwrap_or_default().to_ascii_lowercase()
}

/// Returns whether a tag sets a part of a word, or does nothing by itself.
fn is_in_word(text: &str, tag: Range<usize>) -> bool {
    match tag_name(&text[tag.clone()]).as_str() {
        "wbr" | "span" | "font" => true,
        "b" | "strong" | "i" | "em" | "u" => {
            let is_end = text[tag.clone()].starts_with("</");
            is_beside_letters(text, tag, is_end)
        }
        _ => false,
    }
}

/// Returns whether letters are on both sides of a mark that begins or ends what is set off, outside
/// of it at least two: `a*b*c` is a product.
fn is_beside_letters(text: &str, mark: Range<usize>, is_end: bool) -> bool {
    let [before, after] = [&text[..mark.start], &text[mark.end..]];
    let letters_outside = if is_end {
        after.chars().take(2).filter(|c| c.is_alphabetic()).count()
    } else {
        let near = before.chars().rev().take(2);
        near.filter(|c| c.is_alphabetic()).count()
    };
    before.ends_with(char::is_alphabetic)
        && after.starts_with(char::is_alphabetic)
        && letters_outside == 2
}

/// The tables of a text while it is read.
#[derive(Default)]
struct TableReader {
    tables: Tables,
    columns: Columns,
    is_header: bool,
    /// The cells of the row that is read, with their columns.
    cells: Vec<(usize, Range<usize>)>,
    /// The words of the last cell of a header.
    name: String,
    /// The blocks of code.
    code: Vec<Range<usize>>,
    /// The end of the last table of HTML: blank lines in it end a block of HTML for Markdown.
    html_end: usize,
}

impl TableReader {
    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::TableHead => {
                self.columns = Columns::default();
                self.cells.clear();
                self.is_header = true;
            }
            Tag::TableRow => self.cells.clear(),
            Tag::TableCell => {
                self.cells.push((self.cells.len(), range));
                self.name.clear();
            }
            _ => {}
        }
    }

    /// Leaves out the marks around a part that is set off, of some bytes each, inside of a word.
    fn join_word(&mut self, part: Range<usize>, bytes: usize, text: &str) {
        let [inner_start, inner_end] = [part.start + bytes, part.end.saturating_sub(bytes)];
        let marks = [
            (part.start..inner_start, false),
            (inner_end..part.end, true),
        ];
        for (mark, is_end) in marks {
            if is_beside_letters(text, mark.clone(), is_end) {
                self.tables.leave_out(mark);
            }
        }
    }

    /// Adds the tables that begin in a block of HTML.
    fn add_html(&mut self, block: Range<usize>, text: &str) {
        const END: &str = "</table>";
        let mut at = block.start.max(self.html_end);
        while let Some(start) = find_ignoring_case(text, "<table", at..block.end) {
            let end = find_ignoring_case(text, END, start..text.len());
            at = end.map_or(block.end, |end| end + END.len());
            html::add_tables(&text[start..at], start, &mut self.tables);
            // without an end here, there is none further down either
            self.html_end = end.map_or(usize::MAX, |_| at);
        }
    }

    /// Adds the tables of a block of code.
    fn add_code(&mut self, block: Range<usize>, text: &str) {
        let code = lines(&text[block.clone()]).map(|(at, line)| (block.start + at, line));
        let code: Vec<Line<'_>> = code.collect();
        add_bar_tables(text, &code, &mut self.tables);
        self.code.push(block);
    }

    /// Leaves out the comments behind the front matter: those of Obsidian, `%% … %%`, over lines
    /// where they are alone on these, and links to nowhere.
    fn leave_out_comments(&mut self, text: &str, front_matter_end: usize) {
        const MARK: &str = "%%";
        let mut next = front_matter_end;
        for (start, line) in lines(text) {
            if start < next || is_within(&self.code, start) {
                continue;
            }
            if let Some(length) = comment_length(&text[start..]).filter(|_| line.starts_with('[')) {
                next = start + length;
                self.tables.leave_out(start..next);
                continue;
            }
            let end = start + line.len();
            let mut at = start;
            while let Some(begin) = text[at..end].find(MARK).map(|found| at + found) {
                at = begin + MARK.len();
                let is_word = text[..begin].ends_with(|c: char| c.is_alphanumeric() || c == '%');
                let is_alone = text[start..begin].trim().is_empty();
                let close = text[at..].find(MARK).map(|found| at + found);
                let close = close.filter(|close| {
                    let rest = text[close + MARK.len()..].lines().next();
                    *close < end || is_alone && rest.is_none_or(|rest| rest.trim().is_empty())
                });
                let is_code = |at: usize| is_within(&self.code, at);
                let close = close.filter(|close| !is_word && !is_code(begin) && !is_code(*close));
                if let Some(close) = close {
                    next = close + MARK.len();
                    self.tables.leave_out(begin..next);
                    at = next;
                    if at > end {
                        break;
                    }
                }
            }
        }
    }

    /// Adds the tables of Pandoc behind the front matter, which other Markdown has as paragraphs.
    fn add_pandoc(&mut self, text: &str, front_matter_end: usize) {
        let is_code = |at: usize| is_within(&self.code, at);
        let outside = lines(text).filter(|(at, _)| *at >= front_matter_end);
        let outside = outside.map(|(at, line)| (at, if is_code(at) { "" } else { line }));
        let outside: Vec<Line<'_>> = outside.collect();
        add_pandoc_tables(text, &outside, &mut self.tables);
    }

    fn add_words(&mut self, words: &str) {
        if self.is_header {
            self.name.push_str(words);
        }
    }

    fn close(&mut self, tag: TagEnd, row: Range<usize>, text: &str) {
        match tag {
            TagEnd::TableCell if self.is_header => {
                self.columns.set(self.cells.len() - 1, &self.name);
            }
            TagEnd::TableHead => {
                self.is_header = false;
                self.tables.add_row(text, row, &[], &self.columns);
            }
            TagEnd::TableRow => self.tables.add_row(text, row, &self.cells, &self.columns),
            _ => {}
        }
    }
}

/// Returns where ASCII text begins in a range of a text, in either case.
fn find_ignoring_case(text: &str, what: &str, within: Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes().get(within.clone())?;
    let mut windows = bytes.windows(what.len());
    let at = windows.position(|window| window.eq_ignore_ascii_case(what.as_bytes()))?;
    Some(within.start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_properties_of_a_note_of_joplin_are_not_its_text() {
        let note = "Lamp room\n\nThe key hangs\nid: of the door\n\nid: 0f\nparent_id: 1a\nuser_updated_time: 2024-01-31T10:04:00.000Z\nsource_url: https://a.example\ntype_: 1";
        let extract = extract(note.to_owned());
        assert_eq!(
            extract.text,
            "Lamp room\n\nThe key hangs\nid: of the door\n"
        );
        assert_eq!(extract.metadata.title.as_deref(), Some("Lamp room"));
        assert_eq!(extract.metadata.date.as_deref(), Some("2024-01-31"));

        let other = "Types\nid: a number\nand words\ntype_: a number";
        assert_eq!(super::extract(other.to_owned()).text, other);
    }

    #[test]
    fn the_title_is_above_the_sections() {
        let cases = [
            ("# A\n\n# B\n\ntext\n\n# C\n", "0 A|1 B|1 C"),
            ("---\nx: y\n---\n# A\n# B\n", "0 A|1 B"),
            ("# A\n## B\n# C\n", "1 A|2 B|1 C"),
            ("# A\ntext\n# B\n", "1 A|1 B"),
            ("text\n# A\n# B\n", "1 A|1 B"),
            ("% A\n  of\n% Ann; Bob\n% 2024-01-31\n\n# B\n", "1 B"),
            ("%A\n# B\n", "1 B"),
            ("% of them\nleft.\n", ""),
            ("% of them\n  left.\n", ""),
        ];
        for (text, expected) in cases {
            let found = extract(text.to_owned()).with_raised_title();
            let found = found.headings.into_iter();
            let found: Vec<String> = found
                .map(|heading| format!("{} {}", heading.level, heading.title))
                .collect();
            assert_eq!(found.join("|"), expected, "{text:?}");
        }
        for (text, _) in &cases[7..] {
            let begun = extract((*text).to_owned());
            assert_eq!((begun.front_matter_end, begun.metadata.title), (0, None));
        }
        let pandoc = extract(cases[5].0.to_owned());
        let Metadata {
            title,
            author,
            date,
            ..
        } = pandoc.metadata;
        let found = [title, author, date].map(Option::unwrap_or_default);
        assert_eq!(found, ["A of", "Ann; Bob", "2024-01-31"]);
        assert_eq!(&pandoc.text[pandoc.front_matter_end..], "\n\n# B\n");
    }

    #[test]
    fn headings_of_both_kinds() {
        let text = "---\ntitle: Front\n---\n# One *and* `two` {#id}\n\ntext\n\nThree\n-----\n\n```\n# no\n```\n\n- ## In a list\n";
        let found = extract(text.to_owned());
        assert_eq!(found.metadata.title.as_deref(), Some("Front"));
        let found: Vec<_> = found
            .headings
            .into_iter()
            .map(|heading| (heading.level, heading.title))
            .collect();
        assert_eq!(
            found,
            [
                (1, "One and two".to_owned()),
                (2, "Three".to_owned()),
                (2, "In a list".to_owned())
            ]
        );
    }

    #[test]
    fn headings_of_html() {
        let text = "<h1 align=\"center\"><img src=x> The *lamp*</h1>\n\n## One\n\n<details>\n<summary>Oil &amp; wick</summary>\n\ntext\n\n</details>\n\n<details><summary><h4>Two</h4></summary>x</details>\n";
        let found = extract(text.to_owned());
        let headings = found.headings.iter().map(|heading| {
            let range = found.origin.source_range(heading.range.clone());
            let words = &text[range.start as usize..range.end as usize];
            format!("{} {}: {words}", heading.level, heading.title)
        });
        assert_eq!(
            headings.collect::<Vec<_>>(),
            [
                "1 The *lamp*: The *lamp*",
                "2 One: ## One\n",
                "3 Oil & wick: Oil &amp; wick",
                "3 : ",
                "3 Two: Two",
                "3 : ",
            ]
        );
    }

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let cases = [
            (
                "| Name | **Age** |\n|---|---|\n| Ann | 7 |\n|  | 8 |\n\nafter",
                "| Name | **Age** |\n|---|---|\n| Name: Ann | Age: 7 |\n|  | Age: 8 |\n\nafter",
            ),
            // without bars at the ends, in a quotation, in a list
            (
                "Name | Age\n-|-\nAnn | 7\nafter",
                "Name | Age\n-|-\nName: Ann | Age: 7\nName: after",
            ),
            // right below a line, of a block that holds its last sign, too
            (
                "<div>café\nA | B\n---|---\n1 | 2\n",
                "<div>café\nA | B\n---|---\nA: 1 | B: 2\n",
            ),
            (
                "x\n\n    code é\nA | B\n---|---\n1 | 2\n",
                "x\n\n    code é\nA | B\n---|---\nA: 1 | B: 2\n",
            ),
            (
                "Ages, e\nof é\nName | Age\n---|---\nAnn | 7\n",
                "Ages, e\nof é\nName | Age\n---|---\nName: Ann | Age: 7\n",
            ),
            (
                "> | A | B |\n> |---|:-:|\n> | 1 | 2 |\n",
                "> | A | B |\n> |---|:-:|\n> | A: 1 | B: 2 |\n",
            ),
            (
                "- list\n\n  | A | B |\n  |---|---|\n  | 1 | `x\\|y` |\n",
                "- list\n\n  | A | B |\n  |---|---|\n  | A: 1 | B: `x\\|y` |\n",
            ),
            // a header without names, more cells than names, the words of no table
            ("| | |\n|-|-|\n| 1 | 2 |\n", "| | |\n|-|-|\n| 1 | 2 |\n"),
            (
                "| A | B |\n|-|-|\n| 1 | 2 | 3 |\n",
                "| A | B |\n|-|-|\n| A: 1 | B: 2 | 3 |\n",
            ),
            ("| A | B |\n| 1 | 2 |\n", "| A | B |\n| 1 | 2 |\n"),
            (
                "```\n| A |\n|---|\n| 1 |\n```\n",
                "```\n| A |\n|---|\n| A: 1 |\n```\n",
            ),
            // of HTML
            (
                "x\n\n<table><tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td>é &amp; 2</td></tr></table>\n\n`<table>`",
                "x\n\n<table><tr><th>A</th><th>B</th></tr>\n<tr><td>A: 1</td><td>B: é &amp; 2</td></tr></table>\n\n`<table>`",
            ),
            (
                "<TABLE>\n<tr><th>A<th>B\n\n<tr>\n  <td>1</td>\n  <td>2</td>\n</tr>\n</TABLE>\n<table><tr><td>3",
                "<TABLE>\n<tr><th>A<th>B\n\n<tr>\n  <td>A: 1</td>\n  <td>B: 2</td>\n</tr>\n</TABLE>\n<table><tr><td>3",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(extract(text.to_owned()).text, expected);
        }
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        let cases = [
            (
                "light&shy;ho&#173;use Caf&eacute; &lt;b>",
                "lighthouse Café &lt;b>",
                0,
            ),
            (
                "elec<wbr>tro<span>lys</span>is <b>D</b>rop un*bel*iev **a** `&shy;`",
                "electrolysis <b>Drop unbeliev **a** `&shy;`",
                0,
            ),
            ("a <span style=\"display:none\">b **c**</span> d", "a  d", 1),
            ("a <span hidden>b\n\nc", "a \n\nc", 1),
            (
                "<span hidden>x é\nA | B\n---|---\n1 | 2\n",
                "\nA | B\n---|---\nA: 1 | B: 2\n",
                1,
            ),
            (
                "a\n\n<p hidden>b\n\nc\n\n<p hidden={false}>d</p>",
                "a\n\n\n\nc\n\n<p hidden={false}>d</p>",
                1,
            ),
            ("a <span title=\"x > y\">word</span> b", "a word b", 0),
            (
                "24*60*60, 5*3*2. a*b*c 5**2**3 a<b>b</b>c",
                "24*60*60, 5*3*2. a*b*c 5**2**3 a<b>b</b>c",
                0,
            ),
            (
                "a\n\n<div hidden>\n\n# b\n\n<div>c</div>\n\n</div>\n\nd",
                "a\n\n\n\nd",
                1,
            ),
            (
                "a <!-- b --> c\n\n<!-- d\n\n<p> -->\ne&shy;f <template> g",
                "a  c\n\n\nef <template> g",
                0,
            ),
            (
                "a %%b%% c%% d `%%e%%`\n\n%%\nf\n\n# g\n%%\n\n%% h\ni %%x\n100 %% j\n\n```\n%% k %%\n```\n",
                "a  c%% d `%%e%%`\n\n\n\n%% h\ni %%x\n100 %% j\n\n```\n%% k %%\n```\n",
                0,
            ),
            (
                "[//]: # (a)\nb [c]\n\n[comment]: <> (d\ne)\n[x]: # \"f\"\n[c]: #d 'e'\n[c]: # g\n[//]: # (h\n\ni)",
                "\nb [c]\n\n\n\n[c]: #d 'e'\n[c]: # g\n[//]: # (h\n\ni)",
                0,
            ),
            (
                "<p title='a > b'\nhidden=\"\">c</p>\n\n<p title=it's>d</p>",
                "\n\n<p title=it's>d</p>",
                1,
            ),
            (
                "`<!-- a -->`\n\n    <p hidden>",
                "`<!-- a -->`\n\n    <p hidden>",
                0,
            ),
        ];
        for (text, expected, hidden) in cases {
            let found = extract(text.to_owned());
            assert_eq!(found.text, expected);
            assert_eq!(found.hidden, hidden, "{text}");
            assert!(found.headings.is_empty());
        }
    }

    #[test]
    fn the_front_matter_ends_behind_what_is_left_out_of_it() {
        let data = "A".repeat(30);
        let words = "é".repeat(32);
        let text = format!("---\nicon: data:image/png;base64,{data}\n---\n{words} là où été\n");
        let found = extract(text);
        assert_eq!(
            &found.text[..found.front_matter_end].trim_end(),
            &"---\nicon: \n---"
        );
    }

    #[test]
    fn headings_and_rows_keep_their_places_behind_names() {
        let text = "# One\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n# Two\n";
        let found = extract(text.to_owned());
        let rows: Vec<&str> = found
            .rows
            .iter()
            .map(|row| &found.text[row.clone()])
            .collect();
        assert_eq!(rows, ["| A | B |", "| A: 1 | B: 2 |"]);
        assert_eq!(found.text[found.headings[1].range.clone()].trim(), "# Two");
        let origin = found.origin.source_range(found.headings[1].range.clone());
        assert_eq!(&text[origin.start as usize..origin.end as usize], "# Two\n");
    }
}
