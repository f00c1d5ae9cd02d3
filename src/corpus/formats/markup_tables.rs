//! The tables of markup whose rows are lines: Org, AsciiDoc, reStructuredText and the Markdown of
//! Pandoc, and of plain text that is written like them.

use std::ops::Range;

use super::columns::{Columns, Tables};
use crate::corpus::sentence::{fold_white_space, is_column_rule, trim_range};

/// Columns that have names: a rule of many signs would cost time in each row.
const MAX_COLUMNS: usize = 1_000;

/// A line without its end, with its start in the text.
pub(super) type Line<'t> = (usize, &'t str);
/// The ranges of cells in the text, with their columns.
type Cells = Vec<(usize, Range<usize>)>;

/// Adds the tables of Org or Markdown among these lines. The rows above a rule name the columns.
pub(super) fn add_bar_tables(text: &str, lines: &[Line<'_>], tables: &mut Tables) {
    let is_row = |(_, line): &Line<'_>| line.trim_start().starts_with('|');
    let is_rule = |(_, line): &Line<'_>| is_bar_rule(line);
    for table in lines.chunk_by(|line, next| is_row(line) == is_row(next)) {
        if !is_row(&table[0]) {
            continue;
        }
        let first = table.iter().take_while(|line| is_rule(line)).count();
        let rule = table[first..].iter().position(is_rule);
        let header_end = rule.map_or(first, |rule| first + rule);
        let has_values = table[header_end..].iter().any(|line| !is_rule(line));

        let mut columns = Columns::default();
        for (index, line) in table.iter().enumerate().filter(|(_, line)| !is_rule(line)) {
            let cells = bar_cells(*line);
            let row = line.0..line.0 + line.1.len();
            if has_values && index < header_end {
                for (column, name) in &cells {
                    columns.set(*column, &text[name.clone()]);
                }
                tables.add_row(text, row, &[], &columns);
            } else {
                tables.add_row(text, row, &cells, &columns);
            }
        }
    }
}

/// Returns whether a line of a table is a rule: `|---+---|` of Org, `| --- | :-: |` of Markdown.
/// The `|-` of MediaWiki is between all rows.
fn is_bar_rule(line: &str) -> bool {
    let line = line.trim();
    let is_rule = line.contains("--") && line.ends_with('|');
    is_rule && line.bytes().all(|byte| b"|-+: ".contains(&byte))
}

/// Finds the tables of plain text, with the rules of reStructuredText and with those of Markdown.
pub(super) fn plain_tables(text: &str, lines: &[Line<'_>]) -> Tables {
    let mut tables = Tables::default();
    if lines.iter().any(|(_, line)| is_grid_rule(line)) {
        add_restructured_tables(text, lines, &mut tables);
    }
    add_bar_tables(text, lines, &mut tables);
    tables
}

/// Returns the cells between the bars of a line, with their columns.
fn bar_cells((start, line): Line<'_>) -> Cells {
    let Some(bar) = line.find('|') else {
        return Vec::new();
    };
    let mut at = start + bar + 1;
    let cells = line[bar + 1..].split('|').enumerate();
    cells
        .map(|(column, cell)| {
            let range = at..at + cell.len();
            at = range.end + 1;
            (column, range)
        })
        .collect()
}

/// A cell of AsciiDoc.
struct AsciiDocCell {
    start: usize,
    content: Range<usize>,
    /// The number of columns that it takes.
    columns: usize,
}

/// Adds a table of AsciiDoc, by the lines between its delimiters and its attributes. Where a cell
/// reaches into other rows, no column is sure.
pub(super) fn add_asciidoc_table(
    text: &str,
    attributes: &str,
    lines: &[Line<'_>],
    tables: &mut Tables,
) {
    let is_set_off = lines.get(1).is_some_and(|(_, line)| line.trim().is_empty());
    let can_have_header = !attributes.contains("noheader");
    let is_named = can_have_header && attributes.contains("header");
    if let Some(separator) = asciidoc_separator(attributes) {
        let header_rows = usize::from(is_named || can_have_header && is_set_off);
        return add_values(text, lines, separator, header_rows, tables);
    }

    let Some(cells) = asciidoc_cells(lines) else {
        return;
    };
    let first = lines.first().map_or(0, |(start, line)| start + line.len());
    let in_first_line = cells.iter().take_while(|cell| cell.start < first);
    let in_first_line: usize = in_first_line.map(|cell| cell.columns).sum();
    let width = asciidoc_columns(attributes).unwrap_or(in_first_line);
    let has_header = is_named || can_have_header && is_set_off && in_first_line == width;

    let mut columns = Columns::default();
    let mut row: Cells = Vec::new();
    let mut start = 0;
    let mut column = 0;
    let mut is_header = has_header;
    for cell in cells {
        if column == 0 {
            start = cell.start;
        }
        let end = cell.content.end;
        row.push((column, cell.content));
        column += cell.columns;
        if column < width {
            continue;
        }

        if std::mem::take(&mut is_header) {
            name_columns(text, &row, &mut columns);
            tables.add_row(text, start..end, &[], &columns);
        } else {
            tables.add_row(text, start..end, &row, &columns);
        }
        row.clear();
        column = 0;
    }
}

/// Returns the sign between the values of a table whose rows are lines of values.
fn asciidoc_separator(attributes: &str) -> Option<char> {
    let value = |name: &str| attributes.split(name).nth(1);
    let format = value("format=")?.trim_start_matches('"');
    let named = value("separator=").and_then(|sign| sign.trim_start_matches('"').chars().next());
    let usual = [("csv", ','), ("tsv", '\t'), ("dsv", ':')];
    let usual = usual.iter().find(|(name, _)| format.starts_with(name));
    usual.map(|(_, separator)| named.unwrap_or(*separator))
}

/// Adds the rows of a table that are lines of values, of which the first ones name the columns.
fn add_values(
    text: &str,
    lines: &[Line<'_>],
    separator: char,
    header_rows: usize,
    tables: &mut Tables,
) {
    let split = |line: Line<'_>| value_cells(line, separator);
    let mut columns = Columns::default();
    let rows = lines.iter().filter(|(_, line)| !line.trim().is_empty());
    for (index, row) in rows.enumerate() {
        let is_header = index < header_rows;
        add_row(text, &[*row], &split, is_header, &mut columns, tables);
    }
}

/// Returns the cells of a line of values, with their columns, without the quotation marks around
/// them. A separator in quotes is text.
fn value_cells((start, line): Line<'_>, separator: char) -> Cells {
    let mut cells: Cells = Vec::new();
    let mut add = |cell: Range<usize>| {
        let mut cell = trim_range(line, cell);
        let is_quoted = cell.len() > 1 && line[cell.clone()].starts_with('"');
        if is_quoted && line[cell.clone()].ends_with('"') {
            cell = cell.start + 1..cell.end - 1;
        }
        cells.push((cells.len(), start + cell.start..start + cell.end));
    };

    let mut cell_start = 0;
    let mut is_quoted = false;
    for (at, c) in line.char_indices() {
        is_quoted ^= c == '"';
        if c == separator && !is_quoted {
            add(cell_start..at);
            cell_start = at + c.len_utf8();
        }
    }
    add(cell_start..line.len());
    cells
}

/// Returns the cells of a table, each from its bar to the next one; `None` where one reaches into
/// other rows.
fn asciidoc_cells(lines: &[Line<'_>]) -> Option<Vec<AsciiDocCell>> {
    let mut cells: Vec<AsciiDocCell> = Vec::new();
    for (start, line) in lines {
        let mut after = 0;
        for (bar, _) in line.match_indices('|') {
            let before = &line[after..bar];
            if before.ends_with('\\') {
                continue;
            }
            // the columns and the style of a cell stand before its bar: `2+|`, `a|`
            let rest = before
                .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || ".+*<>^".contains(c));
            let is_mark = rest.is_empty() || rest.ends_with([' ', '\t']);
            let mark = if is_mark { &before[rest.len()..] } else { "" };
            let number = mark.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            if number.contains('.') && number.ends_with('+') {
                return None;
            }
            let number = number.strip_suffix(['+', '*']);
            let columns = number.and_then(|number| number.parse().ok());

            let begin = start + bar - mark.len();
            if let Some(last) = cells.last_mut() {
                last.content.end = begin;
            }
            cells.push(AsciiDocCell {
                start: begin,
                content: start + bar + 1..start + line.len(),
                columns: columns.unwrap_or(1).clamp(1, MAX_COLUMNS),
            });
            after = bar + 1;
        }
        if let Some(last) = cells.last_mut() {
            last.content.end = start + line.len();
        }
    }
    Some(cells)
}

/// Returns the number of columns that the attributes of a table say: `cols="1,2"`, `cols=3*`.
fn asciidoc_columns(attributes: &str) -> Option<usize> {
    let value = attributes.split("cols=").nth(1)?;
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split([',', ']']).next()?,
    };
    let columns = value.split([',', ';']).map(|column| {
        let times = column.split_once('*');
        let times = times.and_then(|(times, _)| times.trim().parse().ok());
        times.unwrap_or(1_usize)
    });
    Some(columns.sum::<usize>().clamp(1, MAX_COLUMNS))
}

/// Adds the tables of reStructuredText: grids of signs, columns under rules of `=`, and the
/// directives `csv-table` and `list-table`.
pub(super) fn add_restructured_tables(text: &str, lines: &[Line<'_>], tables: &mut Tables) {
    let mut next = 0;
    while let Some((_, line)) = lines.get(next) {
        let rest = &lines[next..];
        next += if is_grid_rule(line) {
            add_grid(text, rest, tables)
        } else if is_column_rule(line) {
            add_columns(text, rest, tables)
        } else if line.trim_start().starts_with(".. csv-table::") {
            Directive::new(rest).add_values(text, tables)
        } else if line.trim_start().starts_with(".. list-table::") {
            Directive::new(rest).add_list(text, tables)
        } else {
            1
        };
    }
}

/// Adds the tables of Pandoc among the lines of Markdown: grids of signs, and columns under a rule
/// of `-`, with their names above it.
pub(super) fn add_pandoc_tables(text: &str, lines: &[Line<'_>], tables: &mut Tables) {
    let mut next = 0;
    while let Some((_, line)) = lines.get(next) {
        next += if is_grid_rule(line) {
            add_grid(text, &lines[next..], tables)
        } else if next > 0 && is_dashed_rule(line) && is_blank_before(lines, next - 1) {
            add_dashed_columns(text, &lines[next - 1..], tables)
        } else {
            1
        };
    }
}

/// Returns whether nothing stands above a line: names over several lines have a rule above them.
fn is_blank_before(lines: &[Line<'_>], at: usize) -> bool {
    let above = at.checked_sub(1).map(|above| lines[above].1);
    above.is_none_or(|above| above.trim().is_empty())
}

/// Returns whether a line has several runs of dashes, each of at least two.
fn is_dashed_rule(line: &str) -> bool {
    let runs = || line.split_whitespace();
    let is_run = |run: &str| run.len() > 1 && run.bytes().all(|byte| byte == b'-');
    runs().count() > 1 && runs().all(is_run)
}

/// Adds a table whose columns are under the runs of dashes on the second line, to a blank line or
/// another rule. Returns the number of the lines behind the first.
fn add_dashed_columns(text: &str, lines: &[Line<'_>], tables: &mut Tables) -> usize {
    let is_row = |(_, line): &&Line<'_>| !line.trim().is_empty() && !is_dashed_rule(line);
    let rows = lines[2..].iter().take_while(is_row).count();
    let begins = column_begins(lines[1].1, '-');
    let split = |line: Line<'_>| column_cells(line, &begins);
    // words that reach across the columns are no row
    let is_in_columns = |line: &Line<'_>| {
        let cells = split(*line);
        let mut inner = cells.iter().skip(1).map(|(_, cell)| cell.start - line.0);
        inner.all(|at| at == line.1.len() || line.1[..at].ends_with(' '))
    };
    let table = &lines[..2 + rows];
    if lines[0].1.trim().is_empty() || rows == 0 || !table.iter().all(is_in_columns) {
        return 1;
    }

    let mut columns = Columns::default();
    for (index, line) in table.iter().enumerate().filter(|(index, _)| *index != 1) {
        add_row(text, &[*line], &split, index == 0, &mut columns, tables);
    }
    // the rule that ends a table begins no other
    let next = lines.get(2 + rows);
    let is_ended = next.is_some_and(|(_, line)| is_dashed_rule(line));
    rows + 1 + usize::from(is_ended)
}

/// A table of reStructuredText by its options and the lines of its content.
struct Directive<'t, 'l> {
    options: &'l [Line<'t>],
    content: &'l [Line<'t>],
    /// The number of all its lines.
    length: usize,
}

impl<'t, 'l> Directive<'t, 'l> {
    /// Creates the directive that begins on the first of these lines.
    fn new(lines: &'l [Line<'t>]) -> Self {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let is_inside =
            |(_, line): &&Line<'_>| line.trim().is_empty() || indent(line) > indent(lines[0].1);
        let length = 1 + lines[1..].iter().take_while(is_inside).count();
        let is_option = |(_, line): &&Line<'_>| line.trim_start().starts_with(':');
        let options = lines[1..length].iter().take_while(is_option).count();
        Self {
            options: &lines[1..1 + options],
            content: &lines[1 + options..length],
            length,
        }
    }

    fn option(&self, name: &str) -> Option<Line<'t>> {
        self.options.iter().find_map(|(start, line)| {
            let (_, value) = line.split_once(':')?;
            let value = value.strip_prefix(name)?.strip_prefix(':')?;
            Some((start + line.len() - value.len(), value))
        })
    }

    fn header_rows(&self) -> usize {
        let rows = self.option("header-rows");
        rows.and_then(|(_, rows)| rows.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Adds a table whose rows are lines of values, and returns the number of its lines.
    fn add_values(&self, text: &str, tables: &mut Tables) -> usize {
        let separator = match self.option("delim").map(|(_, sign)| sign.trim()) {
            Some("tab") => '\t',
            Some(sign) => sign.chars().next().unwrap_or(','),
            None => ',',
        };
        let names = self.option("header");
        let header_rows = self.header_rows() + usize::from(names.is_some());
        let rows = names.into_iter().chain(self.content.iter().copied());
        let rows: Vec<Line<'_>> = rows.collect();
        add_values(text, &rows, separator, header_rows, tables);
        self.length
    }

    /// Adds a table whose rows are lists in a list, and returns the number of its lines.
    fn add_list(&self, text: &str, tables: &mut Tables) -> usize {
        let begins_row = |(_, line): &Line<'_>| line.trim_start().starts_with("* -");
        let above = self.content.iter().take_while(|line| !begins_row(line));
        let first = above.count();
        let mut columns = Columns::default();
        let header_rows = self.header_rows();
        let rows = self.content[first..].chunk_by(|_, next| !begins_row(next));
        for (index, row) in rows.enumerate() {
            let mut cells: Cells = Vec::new();
            for (start, line) in row {
                let words = line.trim_start();
                let words = words.strip_prefix("* ").map_or(words, str::trim_start);
                let end = start + line.len();
                if let Some(cell) = words.strip_prefix('-') {
                    cells.push((cells.len(), end - cell.len()..end));
                } else if let Some((_, cell)) = cells.last_mut() {
                    cell.end = end;
                }
            }

            let end = cells.last().map_or(row[0].0, |(_, cell)| cell.end);
            if index < header_rows {
                name_columns(text, &cells, &mut columns);
                cells.clear();
            }
            tables.add_row(text, row[0].0..end, &cells, &columns);
        }
        self.length
    }
}

/// Names the columns by the cells of a row.
fn name_columns(text: &str, cells: &Cells, columns: &mut Columns) {
    for (column, name) in cells {
        columns.set(*column, &fold_white_space(&text[name.clone()]));
    }
}

fn is_grid_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2
        && line.starts_with('+')
        && line.ends_with('+')
        && line.bytes().all(|byte| b"+-=".contains(&byte))
}

/// Adds a table of cells between `+---+` and `|`, and returns the number of its lines. Cells over
/// several rows stay without names.
fn add_grid(text: &str, lines: &[Line<'_>], tables: &mut Tables) -> usize {
    let is_line = |(_, line): &&Line<'_>| line.trim_start().starts_with(['+', '|']);
    let table = &lines[..lines.iter().take_while(is_line).count()];
    let is_simple = |(_, line): &Line<'_>| is_grid_rule(line) || !line.contains("+-");
    if !table.iter().all(is_simple) {
        return table.len();
    }

    let signs = (0..).zip(table[0].1.chars());
    let corners = signs.filter_map(|(at, c)| (c == '+').then_some(at));
    let corners: Vec<usize> = corners.take(MAX_COLUMNS).collect();
    let split = |line: Line<'_>| {
        let bytes = bytes_at(line.1, &corners);
        // a cell over several columns has no bar between them
        let bars = bytes.into_iter().enumerate();
        let bars = bars.filter(|(_, at)| line.1[*at..].starts_with('|'));
        let bars: Vec<(usize, usize)> = bars.collect();
        bars.windows(2)
            .map(|pair| (pair[0].0, line.0 + pair[0].1 + 1..line.0 + pair[1].1))
            .collect()
    };
    let is_header_rule = |(_, line): &Line<'_>| is_grid_rule(line) && line.contains('=');
    let header_rule = table.iter().position(is_header_rule);
    let mut columns = Columns::default();
    let mut at = 0;
    for row in table.split(|(_, line)| is_grid_rule(line)) {
        let is_header = header_rule.is_some_and(|rule| at < rule);
        at += row.len() + 1;
        add_row(text, row, &split, is_header, &mut columns, tables);
    }
    table.len()
}

/// Adds a table whose columns are under the signs of a rule, and returns the number of its lines.
fn add_columns(text: &str, lines: &[Line<'_>], tables: &mut Tables) -> usize {
    // without an end there is none further down either
    let Some((header_rule, end)) = column_rules(lines) else {
        return lines.len();
    };

    let begins = column_begins(lines[0].1, '=');
    let split = |line: Line<'_>| column_cells(line, &begins);
    let is_row_begin = |line: Line<'_>| {
        let first: Cells = split(line);
        !text[first[0].1.clone()].trim().is_empty()
    };
    let is_of_row = |(_, line): &Line<'_>| {
        let is_underline = line.bytes().all(|byte| b"- ".contains(&byte));
        !is_underline && !is_column_rule(line)
    };
    let mut columns = Columns::default();
    let rows = lines[1..end].iter().copied();
    let rows: Vec<Line<'_>> = rows.filter(is_of_row).collect();
    for row in rows.chunk_by(|_, next| !is_row_begin(*next)) {
        let is_header = header_rule.is_some_and(|rule| row[0].0 < lines[rule].0);
        add_row(text, row, &split, is_header, &mut columns, tables);
    }
    end + 1
}

/// Returns the numbers of the characters where the runs of a sign begin in a rule.
fn column_begins(rule: &str, sign: char) -> Vec<usize> {
    let signs: Vec<char> = rule.chars().collect();
    let begins =
        (0..signs.len()).filter(|at| signs[*at] == sign && (*at == 0 || signs[*at - 1] != sign));
    begins.take(MAX_COLUMNS).collect()
}

/// Returns the cells of a line whose columns begin at these characters.
fn column_cells((start, line): Line<'_>, begins: &[usize]) -> Cells {
    let mut bytes = bytes_at(line, begins);
    bytes.push(line.len());
    let cells = bytes.windows(2).enumerate();
    let cells = cells.map(|(column, pair)| (column, start + pair[0]..start + pair[1]));
    cells.collect()
}

/// Returns the rule below the names of the columns, if there is one, and the one before a blank
/// line that ends the table.
fn column_rules(lines: &[Line<'_>]) -> Option<(Option<usize>, usize)> {
    let is_end = |at: usize| {
        let next = lines.get(at + 1);
        next.is_none_or(|(_, line)| line.trim().is_empty())
    };
    let mut header_rule = None;
    for rule in (1..lines.len()).filter(|at| is_column_rule(lines[*at].1)) {
        if is_end(rule) {
            return Some((header_rule, rule));
        }
        header_rule = header_rule.or(Some(rule));
    }
    None
}

/// Adds a row of one or more lines, or names the columns by it.
fn add_row(
    text: &str,
    lines: &[Line<'_>],
    split: &dyn Fn(Line<'_>) -> Cells,
    is_header: bool,
    columns: &mut Columns,
    tables: &mut Tables,
) {
    let ([(start, _), ..], [.., (last, line)]) = (lines, lines) else {
        return;
    };
    let parts = lines.iter().flat_map(|line| split(*line));
    let mut cells: Vec<(usize, Range<usize>, String)> = Vec::new();
    for (column, part) in parts.filter(|(_, part)| !text[part.clone()].trim().is_empty()) {
        let words = fold_white_space(&text[part.clone()]);
        match cells.binary_search_by_key(&column, |(column, ..)| *column) {
            Ok(at) => cells[at].2 += &format!(" {words}"),
            Err(at) => cells.insert(at, (column, part, words)),
        }
    }

    let row = *start..last + line.len();
    if is_header {
        for (column, _, name) in &cells {
            columns.set(*column, name);
        }
        return tables.add_row(text, row, &[], columns);
    }
    let cells = cells.into_iter().map(|(column, part, _)| (column, part));
    let mut cells: Cells = cells.collect();
    // those of a later line come later in the text
    cells.sort_by_key(|(_, part)| part.start);
    tables.add_row(text, row, &cells, columns);
}

/// Returns the positions of characters of a line, by their numbers in ascending order; the end of
/// the line where it is shorter.
fn bytes_at(line: &str, characters: &[usize]) -> Vec<usize> {
    let mut wanted = characters.iter().peekable();
    let mut bytes = Vec::with_capacity(characters.len() + 1);
    for (number, (at, _)) in line.char_indices().enumerate() {
        if wanted.next_if_eq(&&number).is_some() {
            bytes.push(at);
        }
    }
    bytes.resize(characters.len(), line.len());
    bytes
}
