//! Splits running text, lists, tables and headings into sentences.

use std::ops::Range;

/// Maximum size of the text that is split at once, so that the cost of a text without sentence ends
/// grows with its length only.
const WINDOW_BYTES: usize = 8 << 10;
/// A run of more lines than this without a sentence end is not prose but code, records or verse:
/// each line counts as a sentence.
const MAX_LINES: usize = 8;
/// The longest row that counts as a sentence: a cell of a longer one holds prose.
const MAX_ROW_BYTES: usize = 1200;
/// Lines below a cell among which the next row begins.
const MAX_CELLS: usize = 64;
/// Lines of front matter.
const MAX_FIELDS: usize = 64;
/// The beginning of a row of a list table of reStructuredText, whose other cells are items below.
const LISTED_ROW: &str = "* - ";
/// The longest abbreviation in front of a number, bytes: `approx`.
const MAX_ABBREVIATION: usize = 6;
/// Abbreviations in front of names that the splitter does not know, in lower case.
#[rustfmt::skip]
const TITLES: [&str; 13] = [
    "avda", "bldg", "col", "evtl", "exkl", "ft", "ggf", "inkl", "mt", "sra", "srta", "str", "zzgl",
];
/// German words in front of an ordinal number that are none in English.
#[rustfmt::skip]
const ORDINAL_LEADS: [&str; 10] = [
    "Am", "Der", "Die", "Im", "am", "der", "des", "im", "vom", "zum",
];
/// The longest name of a column.
const MAX_NAME_BYTES: usize = 40;

/// Splits `text` into sentences, without the white space around them. A heading, a list item, a
/// table row and a line of a code block each count as a sentence. `language` is an ISO 639-1 code.
pub fn sentences(text: &str, language: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    for block in blocks(text) {
        let row = trim_range(text, block.clone());
        if is_row(&text[row.clone()]) {
            sentences.push(row);
            continue;
        }
        for window in windows(text, block) {
            split(text, window, language, &mut sentences);
        }
    }
    sentences
}

/// Returns whether a block is a row of a table that counts as a sentence, full stops in its cells
/// or not.
fn is_row(block: &str) -> bool {
    let has_cells = block.starts_with('|') || is_named_row(block);
    // AsciiDoc has each cell of a row on a line of its own
    let is_whole = !block.contains('\n') || block.lines().all(|line| is_cell(line.trim()));
    let is_row = has_cells && is_whole || block.starts_with(LISTED_ROW);
    is_row && block.len() <= MAX_ROW_BYTES
}

/// Returns whether a line is one cell of a row.
fn is_cell(line: &str) -> bool {
    let cell = line.strip_prefix('|');
    cell.is_some_and(|cell| !cell.is_empty() && !cell.contains('|') && !cell.starts_with('='))
}

/// Returns the name of the column that stands in a cell.
fn cell_name(line: &str) -> Option<&str> {
    // it is looked at for each line
    let start = &line[..line.floor_char_boundary(MAX_NAME_BYTES)];
    start.split_once(": ").map(|(name, _)| name)
}

/// Returns the words of a text as they are written: its runs of letters and digits.
pub fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

/// Returns the text in one line: every run of white space becomes one space, none at the ends.
pub fn fold_white_space(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Adds the sentences of a window of running text.
fn split(text: &str, window: Range<usize>, language: &str, sentences: &mut Vec<Range<usize>>) {
    let mut mark = None;
    for found in sentencex::get_sentence_boundaries(language, &text[window.clone()]) {
        let mut sentence = trim_range(
            text,
            window.start + found.start_byte..window.start + found.end_byte,
        );
        sentence.start = mark.take().unwrap_or(sentence.start);
        // "**Waiting list.** The fee": the marks behind the stop end what came before
        let emphasis = closing_marks(&text[sentence.clone()]);
        if let Some(last) = sentences
            .last_mut()
            .filter(|last| last.end == sentence.start)
        {
            last.end += emphasis;
            sentence = trim_range(text, last.end..sentence.end);
        }

        let is_inside = |last: &&mut Range<usize>| {
            last.start >= window.start
                && is_abbreviated(&text[(*last).clone()], &text[sentence.clone()], language)
        };
        if let Some(last) = sentences.last_mut().filter(is_inside) {
            last.end = sentence.end;
            continue;
        }

        if is_mark(&text[sentence.clone()]) && !text[sentence.end..window.end].trim().is_empty() {
            mark = Some(sentence.start);
            continue;
        }

        let lines = text[sentence.clone()]
            .bytes()
            .filter(|byte| *byte == b'\n')
            .count();

        if lines < MAX_LINES {
            sentences.extend(Some(sentence).filter(|sentence| !sentence.is_empty()));
        } else {
            sentences.extend(
                lines_of(text, sentence)
                    .map(|line| trim_range(text, line))
                    .filter(|line| !line.is_empty()),
            );
        }
    }
}

/// Returns whether the full stop at the end of a text is one of an abbreviation or of an ordinal
/// number, by what comes behind: "inkl. Essen", "approx. 300", "am 3. Oktober".
fn is_abbreviated(before: &str, behind: &str, language: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let Some(last) = last.strip_suffix('.').filter(|last| *last != before) else {
        return false;
    };
    let last = last.trim_start_matches(['(', '[', '"', '“', '„']);
    let is_day = (1..=2).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_digit());
    // the language of a short text is not sure
    let is_ordinal = is_day && {
        let lead = before.split_whitespace().rev().nth(1);
        !["", "en"].contains(&language) || lead.is_some_and(|lead| ORDINAL_LEADS.contains(&lead))
    };
    match behind.chars().next() {
        // who writes in small letters begins sentences with them, too
        Some(c) if c.is_lowercase() => !before.starts_with(char::is_lowercase),
        Some(c) if c.is_ascii_digit() => {
            is_day || last.len() <= MAX_ABBREVIATION && last.chars().all(char::is_alphabetic)
        }
        Some(c) if c.is_alphabetic() => {
            let is_title = TITLES.contains(&last.to_lowercase().as_str());
            is_title || is_ordinal
        }
        _ => false,
    }
}

/// Returns the bytes of marks of emphasis at the start of a text that open nothing.
fn closing_marks(text: &str) -> usize {
    let rest = text.trim_start_matches(['*', '_']);
    if rest.is_empty() || rest.starts_with(char::is_whitespace) {
        text.len() - rest.len()
    } else {
        0
    }
}

/// Returns the parts of `text` that sentences do not cross.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    // notes of days and logs: each line with a date is an entry, the others continue it
    let mut has_entry = false;
    // a list of definitions: each has its text below it, further in
    let mut paragraph_indent = None;
    let mut last_indent = 0;
    let mut fence = open_fence(text);
    let front_matter_end = front_matter_end(text);
    // in a table of reStructuredText: where its rows begin
    let mut row_indent = None;
    let mut above = "";
    // the first line of the last block
    let mut first = "";
    // in a table of one cell a line
    let mut has_cells = false;

    let indent_of = |line: &Range<usize>| {
        let line = &text[line.clone()];
        line.len() - line.trim_start().len()
    };
    let mut lines = lines_of(text, 0..text.len()).peekable();
    while let Some(line) = lines.next() {
        let content = text[line.clone()].trim();
        let indent = indent_of(&line);
        let has_definition = lines.peek().is_some_and(|below| {
            !text[below.clone()].trim().is_empty() && indent_of(below) > indent
        });
        let mut kind = match kind(content, fence) {
            // headings of reStructuredText are underlined with the signs of a fence, too
            Line::Fence if fence.is_empty() && underlines(content, above) => Line::Underline,
            kind => kind,
        };
        if line.start < front_matter_end && kind != Line::Blank {
            kind = Line::Alone;
        }
        let continues = kind == Line::Continues;
        let is_entry = continues && begins_with_date(content);
        let is_behind = |own| open && indent <= own && own < last_indent;
        let is_next_term = has_definition && paragraph_indent.is_some_and(is_behind);
        let begins_row = row_indent.is_some_and(|own| indent <= own);
        if continues && (is_entry && has_entry || is_next_term || begins_row) {
            kind = Line::Begins;
        }
        if is_column_rule(content) && fence.is_empty() {
            kind = Line::Alone;
            let below = lines.clone().map(|line| text[line].trim());
            row_indent = has_rows(below).then_some(indent);
        }
        // one cell a line: a row ends where the name of its first column comes again
        let name = cell_name(first).filter(|_| is_cell(content) && is_cell(above));
        let comes_again = |name: &str| {
            let mut near = lines.clone().take(MAX_CELLS);
            near.any(|line| cell_name(text[line].trim()) == Some(name))
        };
        let is_next_cell = fence.is_empty()
            && name.is_some_and(|name| {
                cell_name(content) != Some(name) && (has_cells || comes_again(name))
            });
        has_cells |= is_next_cell;
        let is_listed_cell = open && content.starts_with("- ") && first.starts_with(LISTED_ROW);
        // a line of a paragraph may begin with a note
        let is_note = open && begins_reference(content) && !begins_reference(first);
        if is_next_cell || is_listed_cell && indent > 0 || is_note {
            (kind, open) = (Line::Continues, true);
        }
        above = content;
        has_entry = is_entry || (continues && has_entry);
        if !continues || !open || is_next_term {
            paragraph_indent = continues.then_some(indent);
        }
        last_indent = indent;

        fence = match kind {
            Line::Fence if fence.is_empty() => closing_fence(content),
            Line::Fence => "",
            Line::Blank | Line::Alone | Line::Begins | Line::Underline | Line::Continues => fence,
        };

        match kind {
            Line::Blank => {
                open = false;
                has_cells &= first.starts_with('|');
            }
            Line::Continues | Line::Underline if open => {
                if let Some(block) = blocks.last_mut() {
                    block.end = line.end;
                }
                open = kind == Line::Continues;
            }
            Line::Alone | Line::Fence | Line::Begins | Line::Continues | Line::Underline => {
                blocks.push(line);
                first = content;
                open = matches!(kind, Line::Begins | Line::Continues);
            }
        }
    }

    blocks
}

/// Returns where the front matter ends that a text begins with: fields between two rules.
fn front_matter_end(text: &str) -> usize {
    let rule = text.lines().next().unwrap_or_default().trim_end();
    if !["---", "+++"].contains(&rule) {
        return 0;
    }
    let mut lines = lines_of(text, 0..text.len()).skip(1).take(MAX_FIELDS);
    lines
        .find(|line| text[line.clone()].trim_end() == rule)
        .map_or(0, |line| line.end)
}

/// Returns the fence of the code block that a text begins in, as a part of a document may; empty
/// where it begins in none. A fence with words behind it opens a block, and behind the one that
/// ends a block there is usually an empty line.
fn open_fence(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut fences = Vec::new();
    let mut above = "";
    while let Some(line) = lines.next() {
        if is_fence(line) && !line.starts_with('#') && !underlines(line, above) {
            let is_set_off = lines.peek().is_none_or(|below| below.is_empty());
            fences.push((line, is_set_off));
        }
        above = line;
    }
    let opens = |line: &str| line.len() > 3;
    let has_open_end = fences
        .iter()
        .skip(1)
        .step_by(2)
        .any(|(line, _)| opens(line));
    match fences.first() {
        Some((first, is_set_off))
            if !opens(first) && (has_open_end || fences.len() % 2 == 1 && *is_set_off) =>
        {
            &first[..3]
        }
        _ => "",
    }
}

/// Returns whether a line begins or ends a code block (CommonMark, section 4.5), or begins one of
/// Org.
fn is_fence(content: &str) -> bool {
    is_code_fence(content) || begins_org_block(content)
}

/// Returns whether a line begins or ends a code block of Markdown.
pub(super) fn is_code_fence(content: &str) -> bool {
    content.starts_with("```") || content.starts_with("~~~")
}

/// Returns the start of the line that ends a code block, by the one that begins it.
fn closing_fence(content: &str) -> &str {
    if begins_org_block(content) {
        "#+end"
    } else {
        &content[..3]
    }
}

fn begins_org_block(content: &str) -> bool {
    let marks = ["#+begin_src", "#+begin_example"];
    marks.iter().any(|mark| begins_with(content, mark))
}

/// Returns whether a line begins with a mark, in letters of either case.
fn begins_with(content: &str, mark: &str) -> bool {
    let start = content.get(..mark.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

/// Returns whether a line sets the widths of the columns of a table of reStructuredText, as in
/// `==== =====`.
pub(super) fn is_column_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('=') && line.contains(' ') && line.bytes().all(|byte| b"= ".contains(&byte))
}

/// Returns whether rows of a table are below a rule: another one ends them. A rule alone is an
/// ornament.
fn has_rows<'t>(mut below: impl Iterator<Item = &'t str>) -> bool {
    let next = below.find(|line| line.is_empty() || is_column_rule(line));
    next.is_some_and(is_column_rule)
}

/// Returns the sign of a line that is nothing but a run of it, as above or below a title.
pub(super) fn adornment(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let sign = *line.as_bytes().first()?;
    let is_run = line.len() >= 2 && line.bytes().all(|byte| byte == sign);
    (is_run && sign.is_ascii_punctuation()).then_some(sign)
}

/// Returns whether a line is one sign over and over, as below a heading. A fence of three backticks
/// is none.
fn is_underline(content: &str) -> bool {
    adornment(content).is_some_and(|sign| {
        let least = if sign == b'`' { 4 } else { 3 };
        content.len() >= least && b"=-~`".contains(&sign)
    })
}

/// Returns whether a line underlines the one above: it is about as long.
fn underlines(content: &str, above: &str) -> bool {
    !above.is_empty() && is_underline(content) && content.len() + 1 >= above.chars().count()
}

/// The relation of a line to the block before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Blank,
    /// A block of its own: a heading, a table row, a line of code.
    Alone,
    /// The first line of a list item or a quotation.
    Begins,
    /// Continues the block, or begins a paragraph.
    Continues,
    /// The line under a heading.
    Underline,
    /// The beginning or the end of a code block.
    Fence,
}

fn kind(content: &str, fence: &str) -> Line {
    let begins_or_ends_code = match fence {
        "" => is_fence(content),
        fence => begins_with(content, fence),
    };
    // a word between colons may begin a sentence, too
    let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    let value = field(content).and_then(|(name, value)| is_name(name).then_some(value));

    if begins_or_ends_code {
        Line::Fence
    } else if content.is_empty() {
        Line::Blank
    } else if !fence.is_empty()
        || content.starts_with('|')
        || is_named_row(content)
        || is_heading(content)
        || is_keyword(content)
        // the first and the last line of a drawer of Org
        || value == Some("")
    {
        Line::Alone
    } else if is_underline(content) {
        Line::Underline
    } else if begins_item(content)
        || value.is_some_and(|value| value.starts_with(char::is_whitespace))
    {
        Line::Begins
    } else {
        Line::Continues
    }
}

/// Returns whether a line is a row of a table as readers write it, and not prose with such signs:
/// its first two cells have short names, or the two behind the name of the row.
fn is_named_row(content: &str) -> bool {
    let is_named = |cell: &str| {
        let name = cell.split_once(": ").map(|(name, _)| name);
        name.is_some_and(|name| name.len() <= MAX_NAME_BYTES)
    };
    let mut cells = content.split("; ").peekable();
    let first = cells.peek().copied().unwrap_or_default();
    if first.len() <= MAX_NAME_BYTES && !first.contains(": ") {
        cells.next();
    }
    let mut are_named = cells.take(2).map(is_named);
    are_named.next() == Some(true) && are_named.next() == Some(true)
}

/// Returns the names and the values of a row of a table as readers write it, `| name: value | … |`
/// or `name: value; …`; `None` for a line with less than two.
pub fn named_cells(line: &str) -> Option<Vec<(&str, &str)>> {
    let line = line.trim();
    let cells: Vec<&str> = match line.strip_prefix('|') {
        Some(row) => row.trim_end_matches('|').split('|').collect(),
        None => line.split("; ").collect(),
    };
    let named = cells
        .into_iter()
        .filter_map(|cell| cell.trim().split_once(": "));
    let named: Vec<(&str, &str)> = named.map(|(name, value)| (name, value.trim())).collect();
    (named.len() > 1).then_some(named)
}

/// Returns whether a line is a heading of Markdown (CommonMark, section 4.2: up to six signs, then
/// a space) or of AsciiDoc.
pub fn is_heading(content: &str) -> bool {
    ['#', '='].iter().any(|sign| {
        let title = content.trim_start_matches(*sign);
        (1..=6).contains(&(content.len() - title.len())) && title.starts_with([' ', '\t'])
    })
}

/// Returns the name and the value of a field of reStructuredText, AsciiDoc and Org: `:name: value`.
pub(super) fn field(content: &str) -> Option<(&str, &str)> {
    content.strip_prefix(':')?.split_once(':')
}

/// Returns whether a line is a keyword of Org, as in `#+title: Tides`.
fn is_keyword(content: &str) -> bool {
    let keyword = content.strip_prefix("#+");
    keyword.is_some_and(|keyword| keyword.starts_with(char::is_alphabetic))
}

/// Returns whether a line begins a list item: `- item`, `* item`, `+ item`, `• item`, `12. item`,
/// `3) item`, and `** item` of AsciiDoc, which is a heading in Org.
#[must_use]
pub fn begins_item(content: &str) -> bool {
    if content.starts_with("**") {
        return content.trim_start_matches('*').starts_with([' ', '\t']);
    }
    // CommonMark, section 5.2, and the bullet of plain text
    if let Some(rest) = content.strip_prefix(['-', '*', '+', '•']) {
        return rest.starts_with([' ', '\t']);
    }
    let mark = content.split_once([' ', '\t']);
    mark.is_some_and(|(mark, _)| is_mark(mark)) || begins_reference(content)
}

/// Returns whether a line begins an entry of a list of references with its number: `[3]`.
fn begins_reference(content: &str) -> bool {
    let mark = content.split_once([' ', '\t']);
    let number = mark.and_then(|(mark, _)| mark.strip_prefix('[')?.strip_suffix(']'));
    number.is_some_and(is_item_number)
}

/// Returns whether this is the number of a list item, which the splitter takes for a sentence.
fn is_mark(sentence: &str) -> bool {
    sentence
        .strip_suffix(['.', ')'])
        .is_some_and(is_item_number)
}

fn is_item_number(number: &str) -> bool {
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a line begins with a date in digits, as entries of notes and logs do.
fn begins_with_date(content: &str) -> bool {
    let first = content.split_whitespace().next().unwrap_or_default();
    let first = first.trim_matches(|c: char| "[](),:".contains(c));
    let day = first.split('T').next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '.', '/']).collect();
    let is_number = |part: &&str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    parts.len() == 3 && parts.iter().all(is_number)
}

/// Returns the lines with their ends.
fn lines_of(text: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> + Clone {
    let mut at = part.start;
    text[part].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..at
    })
}

/// Returns the block in parts of bounded size, split after white space where there is some.
fn windows(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut at = block.start;

    while block.end - at > WINDOW_BYTES {
        let max = text.floor_char_boundary(at + WINDOW_BYTES);
        let half = text.floor_char_boundary(at + WINDOW_BYTES / 2);
        let cut = text[half..max]
            .rfind(char::is_whitespace)
            .map_or(max, |space| text.ceil_char_boundary(half + space + 1));

        windows.push(at..cut);
        at = cut;
    }

    windows.push(at..block.end);
    windows
}

/// Returns the part without the white space around it.
pub(super) fn trim_range(text: &str, part: Range<usize>) -> Range<usize> {
    let inner = text[part.clone()].trim();
    let start = part.start + (text[part.clone()].len() - text[part].trim_start().len());
    start..start + inner.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_lists() {
        for item in [
            "- Wait.",
            "* Wait.",
            "3. Wait 20 minutes.",
            "12) Rinse.",
            "• Rinse",
            "** Rinse",
            "[3] Rinse",
        ] {
            assert!(begins_item(item), "{item}");
        }
        for text in [
            "",
            "1908 was cold.",
            "5 double shots",
            "-20 °C is cold.",
            "...",
            "**Rinse** it.",
            "***",
            "A. Smith",
        ] {
            assert!(!begins_item(text), "{text}");
        }
    }

    #[test]
    fn rows_of_one_cell_a_line_are_whole() {
        check(
            "[1] Dry the net.\n[2] Paint it green.\n[3] Rinse it.\n\nAs Smith shows\n[3] it dries.",
            "en",
            &[
                "[1] Dry the net.",
                "[2] Paint it green.",
                "[3] Rinse it.",
                "As Smith shows\n[3] it dries.",
            ],
        );
        check(
            "| Mon: shut\n| Tue: 9 to 5\n| Wed: 10\n",
            "en",
            &["| Mon: shut", "| Tue: 9 to 5", "| Wed: 10"],
        );
        check(
            "|===\n|Gate |Width\n\n|Gate: Arvel\n|Width: 61 cm. Or so.\n|Gate: Borun\n|Width: 74\n|===",
            "en",
            &[
                "|===",
                "|Gate |Width",
                "|Gate: Arvel\n|Width: 61 cm. Or so.",
                "|Gate: Borun\n|Width: 74",
                "|===",
            ],
        );
        check(
            ".. list-table::\n\n   * - Gate\n     - Width\n   * - Gate: Arvel\n     - Width: 61\n\n- one\n  - two\n",
            "en",
            &[
                ".. list-table::",
                "* - Gate\n     - Width",
                "* - Gate: Arvel\n     - Width: 61",
                "- one",
                "- two",
            ],
        );
    }

    fn check(text: &str, language: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text, language)
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_of_many_kinds_of_text() {
        check("", "en", &[]);
        check(" \n\n ", "en", &[]);
        check(
            "Dr. Ames wrote it. It cost 3.50 pounds! Why?",
            "en",
            &["Dr. Ames wrote it.", "It cost 3.50 pounds!", "Why?"],
        );
        check(
            "A line\nthat continues. And\nanother.",
            "en",
            &["A line\nthat continues.", "And\nanother."],
        );
        check(
            "# Title\nText. More.\n\nLast",
            "en",
            &["# Title", "Text.", "More.", "Last"],
        );
        check("Title\n=====\nText.", "en", &["Title\n=====", "Text."]);
        check(
            "---\nowner: Ann\ndue: May\n---\nText.",
            "en",
            &["---", "owner: Ann", "due: May", "---", "Text."],
        );
        check(
            "Staff; 2021: 17; 2022: 19\nShips; 2021: 3; 2022: 4",
            "en",
            &["Staff; 2021: 17; 2022: 19", "Ships; 2021: 3; 2022: 4"],
        );
        for (whole, language) in [
            ("Das Konzert findet am 3. Oktober in der Aula statt.", "de"),
            ("Der Kurs kostet inkl. Essen 40 Euro.", "de"),
            ("The tank holds approx. 300 litres.", "en"),
            ("Col. Ames commanded Ft. Dunmore.", "en"),
            ("Max. load is 16 t.", "en"),
            ("Toget går kl. 7 og d. 5. juni.", "da"),
            ("Sie sitzt im 2. Stock.", ""),
            ("Bis 30. 6. 2026.", "en"),
        ] {
            check(whole, language, &[whole]);
        }
        check(
            "it rained. we left. 12 people stayed in 2012. They ate.",
            "en",
            &[
                "it rained.",
                "we left. 12 people stayed in 2012.",
                "They ate.",
            ],
        );
        check(
            "She has 12. Then she left.",
            "en",
            &["She has 12.", "Then she left."],
        );
        check(
            "vessel; per day\nvessel: Boat; per day: 12\nvessel: Ferry; per day: 310",
            "en",
            &[
                "vessel; per day",
                "vessel: Boat; per day: 12",
                "vessel: Ferry; per day: 310",
            ],
        );
        check(
            "- one\n- two. Three\n  continues\n1. four",
            "en",
            &["- one", "- two.", "Three\n  continues", "1. four"],
        );
        check(
            "1. **Waiting list.** The fee\nis 12. *New.* _Old._",
            "en",
            &[
                "1. **Waiting list.**",
                "The fee\nis 12.",
                "*New.*",
                "_Old._",
            ],
        );
        check(
            "Bike\n2025-01-03 new tyre\nand brakes\n2025-02-01 chain\n\nBuilt on\n2025-03-01 by us",
            "en",
            &[
                "Bike\n2025-01-03 new tyre\nand brakes",
                "2025-02-01 chain",
                "Built on\n2025-03-01 by us",
            ],
        );
        check(
            "0\n    Success\n1\n    Error\n    of any kind\n2\n    Restarting",
            "en",
            &[
                "0\n    Success",
                "1\n    Error\n    of any kind",
                "2\n    Restarting",
            ],
        );
        check(
            "Run the command\n    ship index\nto begin.",
            "en",
            &["Run the command\n    ship index\nto begin."],
        );
        check(
            "    A first line\nfurther in\nthan others",
            "en",
            &["A first line\nfurther in\nthan others"],
        );
        // an item without text, and white space behind it
        check("1. \t", "en", &["1."]);
        check("1. \t\nfour", "en", &["1. \t\nfour"]);
        check(
            "| a | b |\n|---|---|\n| Lines kept free. None at 0. | 5 |\nname: Ferry; text: One. Two.",
            "en",
            &[
                "| a | b |",
                "|---|---|",
                "| Lines kept free. None at 0. | 5 |",
                "name: Ferry; text: One. Two.",
            ],
        );
        check(
            "make. Then\nrun\n```\n\n> Use `git`\n> first.",
            "en",
            &["make.", "Then", "run", "```", "> Use `git`\n> first."],
        );
        check(
            "[#safe]\n== Safe mode\nIt is\nsafe.\n\n:url: x\n:name: y",
            "en",
            &[
                "[#safe]",
                "== Safe mode",
                "It is\nsafe.",
                ":url: x",
                ":name: y",
            ],
        );
        check(
            "#+title: Spell\n** Speed\n:PROPERTIES:\n:ID: 5\n:END:\nIt is\nquick. Try\n#+BEGIN_SRC lisp\n(a)\n(b)\n#+END_SRC\nMore.",
            "en",
            &[
                "#+title: Spell",
                "** Speed",
                ":PROPERTIES:",
                ":ID: 5",
                ":END:",
                "It is\nquick.",
                "Try",
                "#+BEGIN_SRC lisp",
                "(a)",
                "(b)",
                "#+END_SRC",
                "More.",
            ],
        );
        check(
            "== ====\nNo Says\n== ====\n1  It\n   ends\n2  It stops\n== ====\n\nText\ngoes on",
            "en",
            &[
                "== ====",
                "No Says",
                "== ====",
                "1  It\n   ends",
                "2  It stops",
                "== ====",
                "Text\ngoes on",
            ],
        );
        check(
            "= = =\nA line\nthat continues. And\nanother.",
            "en",
            &["= = =", "A line\nthat continues.", "And\nanother."],
        );
        check(
            "Use this:\n````\nlet a;\nfoo();\n````\n\nMore\ntext.",
            "en",
            &[
                "Use this:",
                "````",
                "let a;",
                "foo();",
                "````",
                "More\ntext.",
            ],
        );
        check(
            "It is\nquick.\n\nAPI\n~~~\n\nText\ngoes on.",
            "en",
            &["It is\nquick.", "API\n~~~", "Text\ngoes on."],
        );
        check(
            "Codes\n~~~~~\n\nA program\nends. It\nstops.\n\nMore\n~~~~\nText.",
            "en",
            &[
                "Codes\n~~~~~",
                "A program\nends.",
                "It\nstops.",
                "More\n~~~~",
                "Text.",
            ],
        );
        check(
            "```rust\nlet a = 1.0;\n\nfoo();\n```\nText.",
            "en",
            &["```rust", "let a = 1.0;", "foo();", "```", "Text."],
        );
        check(
            "灯台は古い。今も光る。",
            "ja",
            &["灯台は古い。", "今も光る。"],
        );
        check(
            "这座灯塔很旧。它还在发光！",
            "zh",
            &["这座灯塔很旧。", "它还在发光！"],
        );
        check(
            "Das ist z. B. gut. Ja.",
            "de",
            &["Das ist z. B. gut.", "Ja."],
        );
    }

    #[test]
    fn lines_without_sentence_ends_are_sentences() {
        let records = (0..20)
            .map(|n| format!("{n};name;value"))
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(sentences(&records, "en").len(), 20);
    }

    #[test]
    fn long_text_without_ends_is_split_in_bounded_time() {
        let text = "word ".repeat(200_000);
        let found = sentences(&text, "en");
        assert!(found.iter().all(|range| range.len() <= WINDOW_BYTES));
        assert_eq!(
            sentences(&"x".repeat(1_000_000), "en")
                .iter()
                .map(Range::len)
                .sum::<usize>(),
            1_000_000
        );
    }

    #[test]
    fn white_space_is_folded() {
        assert_eq!(fold_white_space(" a\n\n b\t\u{a0}c  "), "a b c");
    }
}
