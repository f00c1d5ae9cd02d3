//! The sentences of an answer as a document: rendered as Markdown, each with a sign of its support
//! in the gutter, its labels behind it, and what it replaced above it.

use std::ops::Range;

use ratatui::text::{Line, Span};

use crate::event::{Citation, Decision, Evidence, NO_SOURCE, UncertainWord};
use crate::story::{AnswerText, Origin, Run, Step, SupportSign, part_tables, words};
use crate::tui::document::{self, Lines, Row};
use crate::tui::hyperlinks::fragment;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Item, Page, Tone};
use crate::tui::viewport::{patch_line, plain};

/// Before the text of a sentence: selection, number, sign of its support, space.
pub const INDENT: &str = "     ";

/// Cells of a label behind a row of a table.
const LABEL: usize = 6;
/// Cells before a quotation below its citation, and its maximum rows: the source viewer has it all.
const QUOTE_INDENT: usize = 2;
const MAX_QUOTE_ROWS: usize = 4;

/// Writes the sentences of an answer. Returns the rows of those that stayed, from the first on.
pub fn rows(page: &mut Page<'_>, run: &Run) -> Range<usize> {
    let mut first = None;
    // a table takes all cells that it may have, and the labels of its rows stand behind it
    let is_cited_row = |step: &Step| step.text.starts_with('|') && !step.citations.is_empty();
    let has_labels = run.steps.iter().any(is_cited_row);
    let labels = if has_labels { LABEL } else { 0 };
    let room = page.cells.saturating_sub(INDENT.len() + labels);

    let mut begun = 0;
    for (row, rows) in by_sentence(&run.answer_text(), room) {
        let Some(row) = row else {
            // quotations follow each other closely
            let next = run.steps.get(begun);
            if next.is_none_or(|step| step.origin != Origin::Given) {
                page.gap();
            }
            continue;
        };
        // a line below a heading that makes it one has no row
        for hidden in begun..row {
            Sentence::new(run, hidden).rows(page, Vec::new());
        }
        let written = Sentence::new(run, row).rows(page, rows);
        first.get_or_insert(written);
        begun = row + 1;
    }

    for row in begun..run.steps.len() {
        Sentence::new(run, row).rows(page, Vec::new());
    }
    let end = page.content.rows.len();
    first.unwrap_or(end)..end
}

/// Returns the lines of an answer whose sentences are not known.
pub fn lines(page: &Page<'_>, answer: &str, cells: usize) -> Vec<Line<'static>> {
    let lines = Lines::from_text(&part_tables(answer));
    let drawn = document::render_markdown(&lines, &[], cells);
    let rows = drawn.into_iter().flat_map(|line| line.rows);
    rows.map(|row| with_labels(page, &row)).collect()
}

/// Returns the rows of each sentence; rows between sentences have none.
fn by_sentence(answer: &AnswerText, cells: usize) -> Vec<(Option<usize>, Vec<Row>)> {
    let starts: Vec<usize> = answer.sentences.iter().map(|at| at.start).collect();
    let lines = Lines::from_text(&answer.text);
    let drawn = document::render_markdown(&lines, &starts, cells);

    let mut groups: Vec<(Option<usize>, Vec<Row>)> = Vec::new();
    let lines_drawn = drawn.into_iter().enumerate();
    for (at, row) in
        lines_drawn.flat_map(|(at, line)| line.rows.into_iter().map(move |row| (at, row)))
    {
        let written = row.iter().find(|piece| !piece.source.is_empty());
        let place = written.map_or_else(|| start_of_line(&lines, at), |piece| piece.source.start);
        let sentence = starts
            .partition_point(|start| *start <= place)
            .checked_sub(1);
        let sentence = sentence.filter(|at| place < answer.sentences[*at].end);
        match groups.last_mut() {
            Some((known, rows)) if *known == sentence => rows.push(row),
            Some(_) | None => groups.push((sentence, vec![row])),
        }
    }
    groups
}

/// Returns where the text of a line begins.
fn start_of_line(lines: &Lines, at: usize) -> usize {
    let line = lines.line(at);
    let text = &lines.text[line.clone()];
    line.end - text.trim_start().len()
}

/// A sentence of the answer in its run.
struct Sentence<'a> {
    run: &'a Run,
    row: usize,
    step: &'a Step,
}

impl<'a> Sentence<'a> {
    fn new(run: &'a Run, row: usize) -> Self {
        let step = &run.steps[row];
        Self { run, row, step }
    }

    fn item(&self) -> Item {
        Item::new(self.row, 0)
    }

    /// Writes what was written before the sentence, the sentence, and its citations. Returns its
    /// first row.
    fn rows(&self, page: &mut Page<'_>, rows: Vec<Row>) -> usize {
        let selected = page.scene.ui.scroll(Pane::Answer).selected;
        let is_selected = selected.is_some_and(|selected| selected.row == self.row);
        self.thought_rows(page, is_selected);
        for version in 0..self.step.replaced.len() {
            self.replaced_rows(page, version, is_selected);
        }
        let first = page.content.rows.len();
        self.text_rows(page, rows);

        if is_selected {
            for (at, citation) in self.step.citations.iter().enumerate() {
                let item = Item::new(self.row, at + 1);
                citation_rows(page, item, citation);
                self.quote_rows(page, item, citation);
            }
        }
        first
    }

    /// Writes what the source of a citation says, with the words that the sentence has, too;
    /// nothing for a sentence that is the quotation itself.
    fn quote_rows(&self, page: &mut Page<'_>, item: Item, citation: &Citation) {
        let is_given = self.step.origin == Origin::Given;
        let Some(quote) = citation.quote.as_deref().filter(|_| !is_given) else {
            return;
        };
        let quote = format!("“{}”", text::one_line(quote));
        let shared = text::content_words(&self.step.text);
        let room = page.cells.saturating_sub(INDENT.len() + QUOTE_INDENT);
        for row in text::first_rows(&quote, room, MAX_QUOTE_ROWS) {
            let mut line = Line::from(" ".repeat(INDENT.len() + QUOTE_INDENT));
            let quoted = page.scene.highlight_words(&row, Tone::Text, &shared);
            line.spans.extend(quoted.spans);
            page.item(item, line);
        }
    }

    /// The thoughts in front of the sentence: one line, and all of them while it is selected.
    fn thought_rows(&self, page: &mut Page<'_>, is_selected: bool) {
        let thoughts = self.step.thoughts.trim();
        if thoughts.is_empty() {
            return;
        }

        let words = thoughts.split_whitespace().count();
        let mark = if is_selected { "▾" } else { "▸" };
        let head = format!("{mark} thoughts, {words} words");
        page.text(Tone::Quiet, INDENT, &head);
        if is_selected {
            page.text(Tone::Quiet, INDENT, thoughts);
        }
    }

    /// Returns whether the model is writing this sentence.
    fn is_being_written(&self, page: &Page<'_>) -> bool {
        self.step.uncertainty.is_none()
            && self.step.origin == Origin::Generated
            && self.row + 1 == self.run.steps.len()
            && page.scene.ui.is_in_progress(self.run)
    }

    /// Returns the number of the sentence with a sign in a tone; neither for a rule or the end of a
    /// code block.
    fn gutter(&self, page: &Page<'_>, tone: Tone, sign: &str) -> Vec<Span<'static>> {
        if self.step.is_rule() {
            return vec![Span::raw(INDENT)];
        }
        let step = self.step.step.to_string();
        // an item of a list that has the same number says it itself
        let is_numbered = self.step.text.starts_with(&format!("{step}. "));
        let number = if is_numbered { "" } else { &step };
        let number = text::right(number, INDENT.len() - 2);
        vec![
            page.span(Tone::Quiet, number),
            page.span(tone, format!("{sign} ")),
        ]
    }

    /// Returns the tone and the sign of what supports the sentence.
    fn support(&self) -> (Tone, &'static str) {
        let sign = self.run.support_sign(self.step);
        let tone = match sign {
            SupportSign::Contradicted | SupportSign::Missing | SupportSign::Unsure => Tone::Warning,
            SupportSign::Unknown => Tone::Quiet,
            SupportSign::InPart | SupportSign::Held => Tone::Good,
        };
        (tone, sign.as_str())
    }

    /// Returns what stands behind the sentence: its labels, or a cursor while it is being written.
    fn tail(&self, page: &Page<'_>) -> Span<'static> {
        if self.is_being_written(page) {
            return page.span(Tone::Focus, "▌");
        }
        if self.run.lacks_source(self.step) && !self.step.text.contains(NO_SOURCE) {
            return page.span(Tone::Warning, format!("  {NO_SOURCE}"));
        }
        let labels = self.step.unwritten_labels();
        let gap = if labels.is_empty() { "" } else { "  " };
        let labels = text::join(labels.iter().map(|label| format!("[{label}]")), " ");
        page.span(Tone::Citation, format!("{gap}{labels}"))
    }

    /// The sentence in these rows, and what stands behind it.
    fn text_rows(&self, page: &mut Page<'_>, rows: Vec<Row>) {
        let room = page.cells.saturating_sub(INDENT.len());
        let mut lines: Vec<Line<'static>> = rows.iter().map(|row| with_labels(page, row)).collect();
        let mut tail = self.tail(page);
        match lines.last_mut() {
            _ if tail.width() == 0 => {}
            Some(line) if line.width() + tail.width() <= room => line.push_span(tail),
            Some(_) | None => {
                tail.content = tail.content.trim_start().to_owned().into();
                lines.push(Line::from(tail));
            }
        }

        let (tone, sign) = self.support();
        let mut unsure = self.run.word_in_question(self.step);
        for (at, line) in lines.into_iter().enumerate() {
            let marks = unsure.and_then(|word| self.marks_below(word, &line, room));
            let mut spans = if at > 0 {
                vec![Span::raw(INDENT)]
            } else if self.step.replaced.is_empty() {
                self.gutter(page, tone, sign)
            } else {
                let sign = text::right(sign, INDENT.len() - 1);
                vec![page.span(tone, format!("{sign} "))]
            };
            spans.extend(line.spans);
            page.item(self.item(), spans);
            if let Some(marks) = marks {
                let marks = page.span(Tone::Warning, text::clip(&marks, room));
                page.item(self.item(), vec![Span::raw(INDENT), marks]);
                unsure = None;
            }
        }
    }

    /// Returns the row below a row that holds a word: marks, and the words that were as likely,
    /// where there is more room for them.
    fn marks_below(&self, word: &UncertainWord, line: &Line<'_>, room: usize) -> Option<String> {
        let row = plain(line);
        let is_inside = |beside: Option<char>| {
            beside.is_some_and(|c| c.is_alphanumeric() && !text::is_dense(c))
        };
        // "he" is not in "the"
        let (at, _) = row.match_indices(&word.text).find(|(at, found)| {
            let after = row[at + found.len()..].chars().next();
            !found.is_empty() && !is_inside(row[..*at].chars().next_back()) && !is_inside(after)
        })?;
        let before = text::width(&row[..at]);
        let marks = "▂".repeat(text::width(&word.text));

        let mut tokens = self.step.tokens.iter();
        let token = tokens.find(|token| token.text.trim() == word.text);
        let others = token.map_or(&[][..], |token| &token.alternatives);
        let others = others.iter().map(|other| other.text.trim());
        let others = others.filter(|other| *other != word.text).take(2);
        let with_source = |other: &str| match self.run.source_with_word(other) {
            Some(label) => format!("{other} [{label}]"),
            None => other.to_owned(),
        };
        let mut words = words::likely(word.probability);
        for (at, other) in others.map(with_source).enumerate() {
            let before = if at == 0 { ", or " } else { ", " };
            words.push_str(&format!("{before}{other}"));
        }
        let (cells, behind) = (text::width(&words) + 1, before + text::width(&marks));
        Some(if behind + cells > room && cells <= before {
            format!("{}{words} {marks}", " ".repeat(before - cells))
        } else {
            format!("{}{marks} {words}", " ".repeat(before))
        })
    }

    /// A sentence that this one replaced, struck through, with the reason: in one row until it is
    /// selected, so that the answer stays in sight.
    fn replaced_rows(&self, page: &mut Page<'_>, version: usize, is_selected: bool) {
        let replaced = self.step.replaced[version].text.trim();
        let struck = if page.scene.marks_struck {
            format!("~~{replaced}~~")
        } else {
            replaced.to_owned()
        };
        let style = page.scene.style(Tone::Dropped).crossed_out();
        let room = page.cells.saturating_sub(INDENT.len());
        for (at, row) in text::rows(&struck, room).enumerate() {
            let mut spans = if version == 0 && at == 0 {
                self.gutter(page, Tone::Quiet, " ")
            } else {
                vec![Span::raw(INDENT)]
            };
            spans.push(Span::styled(row.to_owned(), style));
            page.item(self.item(), spans);
        }

        let mut reason = self.reason_of_replacement(version);
        let indent = format!("{INDENT}  ");
        if !is_selected {
            let room = page.cells.saturating_sub(indent.len());
            reason = text::clip(&reason, room).into_owned();
        }
        page.item_text(self.item(), Tone::Quiet, &indent, &reason);
    }

    /// Returns why a sentence was regenerated, and how.
    fn reason_of_replacement(&self, version: usize) -> String {
        let versions = &self.step.replaced;
        // one that was not surer, or that a limit cut short, was not judged any further
        let Some(uncertainty) = &versions[version].uncertainty else {
            return "no better: the sentence before it stays".to_owned();
        };
        let value = uncertainty.value;
        if uncertainty.decision == Decision::Expand {
            let before = version.checked_sub(1).map(|at| &versions[at]);
            let before = before.and_then(|before| before.uncertainty.as_ref());
            let state = match before.filter(|before| value > before.value) {
                Some(before) => {
                    format!("more unsure than before ({value:.2} > {:.2})", before.value)
                }
                None => format!("still unsure ({value:.2})"),
            };
            return format!("{state}: written again with more passages");
        }

        let mut lookups = self.run.lookups.iter();
        let lookup = lookups.find(|lookup| lookup.step == self.step.step);
        let query = lookup.map_or(String::new(), |lookup| {
            format!(": searched for \"{}\"", lookup.query)
        });
        format!("unsure ({value:.2}){query}")
    }
}

/// Returns a row with its labels in their colour, but for those in code.
fn with_labels(page: &Page<'_>, row: &Row) -> Line<'static> {
    let mut spans = Vec::new();
    let mut code: Vec<Range<usize>> = Vec::new();
    let mut end = 0;
    for piece in row {
        piece.spans(page.scene, &[], &mut spans);
        let start = end;
        end += piece.text.len();
        if piece.look.tone == Tone::Code {
            code.push(start..end);
        }
    }

    let mut line = Line::from(spans);
    for label in label_ranges(&plain(&line)) {
        if !code.iter().any(|code| code.contains(&label.start)) {
            line = patch_line(line, label, page.scene.style(Tone::Citation));
        }
    }
    line
}

/// The byte ranges of labels such as `[12]` in a sentence.
fn label_ranges(sentence: &str) -> Vec<Range<usize>> {
    let label = |(start, _): (usize, &str)| {
        let end = start + sentence[start..].find(']')?;
        let number = &sentence[start + 1..end];
        let is_label = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_label.then_some(start..end + 1)
    };
    sentence.match_indices('[').filter_map(label).collect()
}

/// Writes a citation, and the evidence for it: in a row of its own where there is no room.
fn citation_rows(page: &mut Page<'_>, item: Item, citation: &Citation) {
    let label = format!("[{}] ", citation.label);
    let evidence = match citation.evidence {
        Evidence::Marked => "cited by the model".to_owned(),
        Evidence::Overlap { .. } if !citation.is_in_part() => {
            "has all words of the sentence".to_owned()
        }
        Evidence::Overlap { share } => format!("has {:.0} % of its words", share * 100.0),
        Evidence::Judged { share } => format!("the model finds it here, {:.0} %", share * 100.0),
    };

    let start = INDENT.len() + 2 + label.len();
    let room = page.cells.saturating_sub(start);
    let location = words::citation_location(citation);
    let location = text::clip_start(&location, room).into_owned();
    let cells = start..start + text::width(&location);
    let is_wide = cells.len() + 2 + evidence.len() <= room;
    let mut line = Line::from(vec![
        Span::raw(INDENT),
        page.span(Tone::Quiet, "└ "),
        page.span(Tone::Citation, label),
        page.span(Tone::Text, location),
    ]);
    if is_wide {
        line.push_span(page.span(Tone::Quiet, format!("  {evidence}")));
    }

    page.item(item, line);
    let fragment = fragment(citation.first_line, citation.place.as_ref());
    page.content.target(cells, &citation.file, fragment);
    if !is_wide {
        page.item_text(item, Tone::Quiet, &" ".repeat(start), &evidence);
    }
}
