//! Markdown, line by line: its marks become looks. HTML, definitions of links and whatever else has
//! no look stays as it is written.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Modifier;

use crate::tui::text::width;
use crate::tui::theme::Tone;

use super::columns::{Columns, Side};
use super::lines::{Drawn, Lines, heading, rule};
use super::styled::{Look, Piece, Row, Styled};

/// Returns every line rendered. Text that is neither code nor in a table begins a new row at the
/// `breaks`, which are places of the document.
pub fn render(lines: &Lines, breaks: &[usize], cells: usize) -> Vec<Drawn> {
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_HEADING_ATTRIBUTES;
    let mut renderer = Renderer::new(lines, cells);
    for (event, range) in Parser::new_ext(&lines.text, options).into_offset_iter() {
        renderer.event(event, range);
    }
    renderer.finish(breaks)
}

/// Returns a text in Markdown without HTML and without images, which an application that shows it
/// could load: their marks become text.
pub fn without_html(text: &str) -> String {
    let mut marks = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let open = text[range.clone()].match_indices('<');
                marks.extend(open.map(|(at, _)| range.start + at));
            }
            Event::Start(Tag::Image { .. }) => marks.push(range.start),
            _ => {}
        }
    }

    let mut harmless = String::with_capacity(text.len() + marks.len());
    for (at, c) in text.char_indices() {
        harmless.extend(marks.binary_search(&at).is_ok().then_some('\\'));
        harmless.push(c);
    }
    harmless
}

/// A line while its pieces come in.
#[derive(Debug, Clone)]
enum Line {
    /// Nothing of it was seen.
    Unknown,
    Words {
        lead: Lead,
        words: Styled,
        is_code: bool,
    },
    /// Rows that are not wrapped.
    Rows(Vec<Row>),
}

/// The text in front of the rows of a line.
#[derive(Debug, Clone, Default)]
struct Lead {
    first: String,
    /// The text in front of the rows after the first.
    rest: String,
}

/// A table while its cells come in.
#[derive(Debug, Default)]
struct Table {
    sides: Vec<Side>,
    /// The rows, each with its line from 0.
    rows: Vec<(usize, Vec<Styled>)>,
}

struct Renderer<'a> {
    lines: &'a Lines,
    cells: usize,
    drawn: Vec<Line>,
    /// The look of the text now, above those around it.
    looks: Vec<Look>,
    quotes: usize,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// Cells in front of the text of each open item.
    indents: Vec<usize>,
    /// The mark of an item whose text has not begun.
    mark: Option<String>,
    is_code: bool,
    table: Option<Table>,
}

impl<'a> Renderer<'a> {
    fn new(lines: &'a Lines, cells: usize) -> Self {
        Self {
            lines,
            cells,
            drawn: vec![Line::Unknown; lines.count()],
            looks: vec![Look::TEXT],
            quotes: 0,
            lists: Vec::new(),
            indents: Vec::new(),
            mark: None,
            is_code: false,
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(words) => self.text(&words, range, self.look()),
            Event::Code(words) | Event::InlineMath(words) | Event::DisplayMath(words) => {
                self.text(&words, range, self.look().with_tone(Tone::Code));
            }
            Event::Html(words) | Event::InlineHtml(words) => {
                self.text(&words, range, self.look().with_tone(Tone::Quiet));
            }
            Event::FootnoteReference(_) => {
                let name = &self.lines.text[range.clone()];
                self.text(name, range, self.look().with_tone(Tone::Citation));
            }
            Event::TaskListMarker(is_done) => {
                self.mark = Some(if is_done { "☑ " } else { "☐ " }.to_owned());
            }
            Event::Rule => {
                let at = self.lines.line_of(range.start);
                self.drawn[at] = Line::Rows(vec![rule(self.cells)]);
            }
            Event::SoftBreak | Event::HardBreak => {}
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or(Look::TEXT)
    }

    /// Text until the end of a tag has this look.
    fn push(&mut self, look: Look) {
        self.looks.push(look);
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let look = self.look();
        match tag {
            Tag::Heading { level, .. } => self.push(heading(level as u8)),
            Tag::Emphasis => self.push(look.with(Modifier::ITALIC)),
            Tag::Strong => self.push(look.with(Modifier::BOLD)),
            Tag::Strikethrough => self.push(look.with(Modifier::CROSSED_OUT)),
            Tag::Link { .. } => {
                self.push(look.with_tone(Tone::Citation).with(Modifier::UNDERLINED));
            }
            Tag::Image { .. } => {
                self.text("▣ ", range.start..range.start, look.with_tone(Tone::Quiet));
                self.push(look.with_tone(Tone::Quiet));
            }
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                self.push(look.with_tone(Tone::Quiet).with(Modifier::ITALIC));
            }
            Tag::MetadataBlock(_) => self.push(Look::QUIET),
            Tag::CodeBlock(kind) => self.start_code(&kind, range.start),
            Tag::List(first) => self.lists.push(first),
            Tag::Item => self.start_item(),
            Tag::FootnoteDefinition(name) => {
                self.mark = Some(format!("[^{name}]: "));
                self.indents.push(2);
            }
            Tag::Table(alignments) => {
                let sides = alignments.iter().map(side).collect();
                let rows = Vec::new();
                self.table = Some(Table { sides, rows });
            }
            Tag::TableHead => {
                self.start_row(range.start);
                self.push(Look::new(Tone::Strong));
            }
            Tag::TableRow => self.start_row(range.start),
            Tag::TableCell => {
                if let Some((_, cells)) = self.table_row() {
                    cells.push(Styled::default());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Heading(_) => {
                self.looks.pop();
                self.hide_underline(range);
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::MetadataBlock(_)
            | TagEnd::TableHead => {
                self.looks.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes -= 1;
                self.looks.pop();
            }
            TagEnd::CodeBlock => self.end_code(range),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.indents.pop();
                self.mark = None;
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn start_item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            Some(None) | None => "• ".to_owned(),
        };
        self.indents.push(width(&mark));
        self.mark = Some(mark);
    }

    /// Returns the last line of a part of the document.
    fn last_line_of(&self, range: &Range<usize>) -> usize {
        let end = range.end.saturating_sub(1);
        self.lines.line_of(end.max(range.start))
    }

    /// The fence of a code block becomes the corner of a box.
    fn start_code(&mut self, kind: &CodeBlockKind<'_>, start: usize) {
        self.is_code = true;
        self.push(Look::new(Tone::Code));
        if let CodeBlockKind::Fenced(language) = kind {
            let mut words = Styled::default();
            words.push(language, start..start, Look::QUIET);
            let lead = self.lead_with("┌ ");
            let at = self.lines.line_of(start);
            self.drawn[at] = Line::Words {
                lead,
                words,
                is_code: true,
            };
        }
    }

    fn end_code(&mut self, range: Range<usize>) {
        self.is_code = false;
        self.looks.pop();

        let last = self.last_line_of(&range);
        let is_fence = matches!(self.drawn[last], Line::Unknown);

        let line = self.lines.text[self.lines.line(last)].trim_end();
        if is_fence && line.ends_with(['`', '~']) {
            let lead = self.lead_with("└ ");
            self.drawn[last] = Line::Words {
                lead,
                words: Styled::default(),
                is_code: true,
            };
        }
    }

    /// The line below a heading that makes it one is drawn as the look of the heading.
    fn hide_underline(&mut self, range: Range<usize>) {
        let last = self.last_line_of(&range);
        if last > self.lines.line_of(range.start) && matches!(self.drawn[last], Line::Unknown) {
            self.drawn[last] = Line::Rows(Vec::new());
        }
    }

    fn table_row(&mut self) -> Option<&mut (usize, Vec<Styled>)> {
        self.table.as_mut()?.rows.last_mut()
    }

    fn start_row(&mut self, start: usize) {
        let line = self.lines.line_of(start);
        if let Some(table) = &mut self.table {
            table.rows.push((line, Vec::new()));
        }
    }

    /// Lays out a table once all of its cells are known.
    fn end_table(&mut self) {
        let Some(Table { sides, rows }) = self.table.take() else {
            return;
        };
        let natural: Vec<usize> = (0..sides.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|(_, cells)| cells.get(column));
                cells.map(Styled::width).max().unwrap_or(0)
            })
            .collect();
        let lead = self.lead().rest;
        let room = self.cells.saturating_sub(width(&lead));
        let columns = Columns::fit(&natural, sides, room);

        let behind_lead = |row: Row| [vec![Piece::sign(lead.clone())], row].concat();
        for (index, (line, cells)) in rows.iter().enumerate() {
            let drawn = columns.rows(cells, &self.lines.line(*line));
            self.drawn[*line] = Line::Rows(drawn.into_iter().map(behind_lead).collect());
            // the line of dashes is below the header
            if let Some(below) = self.drawn.get_mut(line + 1).filter(|_| index == 0) {
                *below = Line::Rows(vec![behind_lead(columns.rule())]);
            }
        }
    }

    /// Returns what stands in front of text here.
    fn lead(&self) -> Lead {
        let before = "▏ ".repeat(self.quotes);
        let indent: usize = self.indents.iter().sum();
        let rest = format!("{before}{}", " ".repeat(indent));
        let first = match &self.mark {
            Some(mark) => {
                let own = self.indents.last().copied().unwrap_or(0);
                format!("{before}{}{mark}", " ".repeat(indent - own))
            }
            None => rest.clone(),
        };
        Lead { first, rest }
    }

    fn lead_with(&mut self, sign: &str) -> Lead {
        let Lead { first, rest } = self.lead();
        self.mark = None;
        Lead {
            first: first + sign,
            rest: rest + "│ ",
        }
    }

    /// Adds text that may reach over several lines.
    fn text(&mut self, words: &str, range: Range<usize>, look: Look) {
        if let Some((_, cells)) = self.table_row() {
            if let Some(cell) = cells.last_mut() {
                cell.push(words, range, look);
            }
            return;
        }

        // text with its line breaks is that of the document
        if words.len() != range.len() {
            self.piece(words, range, look);
            return;
        }

        let mut start = range.start;
        for line in words.split_inclusive('\n') {
            let part = line.trim_end_matches(['\n', '\r']);
            self.piece(part, start..start + part.len(), look);
            start += line.len();
        }
    }

    /// Adds text to the line where it begins.
    fn piece(&mut self, words: &str, source: Range<usize>, look: Look) {
        let at = self.lines.line_of(source.start);
        if !matches!(self.drawn[at], Line::Words { .. }) {
            let lead = if self.is_code {
                self.lead_with("│ ")
            } else {
                let lead = self.lead();
                self.mark = None;
                lead
            };
            self.drawn[at] = Line::Words {
                lead,
                words: Styled::default(),
                is_code: self.is_code,
            };
        }

        if let Line::Words { words: line, .. } = &mut self.drawn[at] {
            line.push(words, source, look);
        }
    }

    fn finish(self, breaks: &[usize]) -> Vec<Drawn> {
        let rows = |(at, line): (usize, Line)| match line {
            Line::Unknown => self.lines.plain(at, Look::QUIET).wrap(self.cells),
            Line::Words {
                lead,
                words,
                is_code,
            } => {
                let breaks = if is_code { &[] } else { breaks };
                rows_behind(&lead, &words.split(breaks), self.cells)
            }
            Line::Rows(rows) => rows,
        };
        let lines = self.drawn.into_iter().enumerate();
        lines.map(|line| Drawn::new(rows(line))).collect()
    }
}

/// Returns the rows of the parts of a line behind its lead.
fn rows_behind(lead: &Lead, parts: &[Styled], cells: usize) -> Vec<Row> {
    let room = cells.saturating_sub(width(&lead.first));
    let mut rows: Vec<Row> = parts.iter().flat_map(|words| words.wrap(room)).collect();
    for (index, row) in rows.iter_mut().enumerate() {
        let lead = if index == 0 { &lead.first } else { &lead.rest };
        row.insert(0, Piece::sign(lead.clone()));
    }
    rows
}

fn side(alignment: &Alignment) -> Side {
    match alignment {
        Alignment::None | Alignment::Left => Side::Left,
        Alignment::Center => Side::Middle,
        Alignment::Right => Side::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows of each line of a document, joined with `⏎`; a hidden line is `-`.
    fn draw_rows(text: &str, cells: usize) -> Vec<String> {
        let words = |row: &Row| {
            row.iter()
                .map(|piece| piece.text.as_str())
                .collect::<String>()
        };
        render(&Lines::from_text(text), &[], cells)
            .iter()
            .map(|line| {
                let rows: Vec<String> = line.rows.iter().map(words).collect();
                if rows.is_empty() {
                    "-".to_owned()
                } else {
                    rows.join("⏎")
                }
            })
            .collect()
    }

    #[test]
    fn a_line_stays_a_line() {
        let cases: &[(&str, &[&str])] = &[
            (
                "# One *two*\n\nText **bold** and `code`.",
                &["One two", "", "Text bold and code."],
            ),
            ("Title\n=====\nText", &["Title", "-", "Text"]),
            (
                "- one\n- two\n  more\n  1. three\n  2. four",
                &["• one", "• two", "  more", "  1. three", "  2. four"],
            ),
            ("- [x] done\n- [ ] open", &["☑ done", "☐ open"]),
            (
                "> said\n> again\n\nafter",
                &["▏ said", "▏ again", "", "after"],
            ),
            (
                "```rust\nlet a = 1;\n\n  b\n```\nend",
                &["┌ rust", "│ let a = 1;", "│ ", "│   b", "└ ", "end"],
            ),
            ("    code\n\ntext", &["│ code", "", "text"]),
            (
                "see [the page](http://a.b/c) now\n\n[x]: http://d.e",
                &["see the page now", "", "[x]: http://d.e"],
            ),
            (
                "a | b\n--|--:\none | 2\n`x` | 30",
                &["a   │  b", "────┼───", "one │  2", "x   │ 30"],
            ),
            (
                "a<br>b\n<div>\nraw\n</div>",
                &["a<br>b", "<div>", "raw", "</div>"],
            ),
            ("a long line of words", &["a long⏎line⏎of⏎words"]),
            (
                "---\ntitle: T\n---\nText",
                &["---", "title: T", "---", "Text"],
            ),
            ("one\\\ntwo &amp; \\*three\\*", &["one", "two & *three*"]),
        ];
        for (text, expected) in cases {
            let cells = if text.starts_with("a long") { 6 } else { 40 };
            assert_eq!(draw_rows(text, cells), *expected, "{text:?}");
        }
    }

    #[test]
    fn html_and_images_become_text() {
        let text = "<div onclick=x>\na</div>\n\n*b* <img src=x> ![c](d) `<i>` 1 < 2";
        let shown = "\\<div onclick=x>\na\\</div>\n\n*b* \\<img src=x> \\![c](d) `<i>` 1 < 2";
        assert_eq!(without_html(text), shown);
    }

    #[test]
    fn no_entity_steers_the_terminal() {
        let rows = draw_rows("a &#27;[31m b &#x9b;2J `\\x1b` &#8238;c", 60).join("");
        assert!(
            !rows.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{rows:?}"
        );
    }
}
