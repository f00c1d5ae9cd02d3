//! The tables of LaTeX: a row ends with `\\`, a cell with `&`. The rows above the first rule name
//! the columns.

use std::ops::Range;

use super::columns::{Columns, Tables};
use super::unseen::is_within;
use crate::corpus::sentence::trim_range;

/// Environments whose content is a table.
#[rustfmt::skip]
const ENVIRONMENTS: [&str; 8] = [
    "tabular", "tabularx", "tabulary", "longtable", "xltabular", "supertabular", "longtabu", "tblr",
];
/// Commands between two rows, and whether they draw a rule or end the rows that are repeated.
#[rustfmt::skip]
const BETWEEN_ROWS: [(&str, bool); 13] = [
    ("hline", true), ("toprule", true), ("midrule", true), ("bottomrule", true),
    ("specialrule", true), ("endhead", true), ("endfirsthead", true), ("endfoot", true),
    ("endlastfoot", true), ("cline", false), ("cmidrule", false), ("addlinespace", false),
    ("rowcolor", false),
];
/// More rows above a rule are values.
const MAX_HEADER_ROWS: usize = 3;
/// A cell over more columns leaves the others without names.
const MAX_SPAN: usize = 100;

/// A row, with its cells and their columns.
struct Row {
    range: Range<usize>,
    cells: Vec<(usize, Range<usize>)>,
    /// The number of columns that its cells take.
    width: usize,
    /// Whether a rule is above it.
    is_below_rule: bool,
}

/// Adds the tables of a text outside of its listings. `plain` gives the words of a name without
/// commands.
pub(super) fn add_latex_tables(
    text: &str,
    listings: &[Range<usize>],
    plain: &dyn Fn(&str) -> String,
    tables: &mut Tables,
) {
    const BEGIN: &str = "\\begin{";
    let mut at = 0;
    while let Some(start) = text[at..].find(BEGIN).map(|found| at + found) {
        at = start + BEGIN.len();
        let name = text[at..].split('}').next().unwrap_or_default();
        let is_table = ENVIRONMENTS.contains(&name.trim_end_matches('*'));
        if !is_table || is_within(listings, start) {
            continue;
        }
        let end = format!("\\end{{{name}}}");
        let Some(length) = text[at..].find(&end) else {
            continue;
        };
        let begin = at + name.len() + 1;
        let body = begin + arguments_length(&text[begin..at + length])..at + length;
        add_table(text, &rows(text, body), plain, tables);
        at += length;
    }
}

fn add_table(text: &str, rows: &[Row], plain: &dyn Fn(&str) -> String, tables: &mut Tables) {
    let mut below_first = rows.iter().skip(1).take(MAX_HEADER_ROWS);
    let header_rows = below_first.position(|row| row.is_below_rule);
    let header_rows = header_rows.map_or(0, |below| below + 1);
    let name = |cell: &Range<usize>| plain(&text[cell.clone()]).trim().to_owned();
    let names =
        |row: &Row| -> Vec<String> { row.cells.iter().map(|(_, cell)| name(cell)).collect() };
    // rows with numbers above a rule are those of a sum
    let is_number = |name: &String| {
        name.contains(|c: char| c.is_ascii_digit()) && !name.contains(char::is_alphabetic)
    };
    let mut above = rows[..header_rows].iter().flat_map(names);
    let has_sum = header_rows > 1 && above.any(|name| is_number(&name));
    let header_rows = if has_sum { 0 } else { header_rows };

    let mut columns = Columns::default();
    for row in &rows[..header_rows] {
        let mut cells = row.cells.iter().peekable();
        while let Some((column, cell)) = cells.next() {
            let end = cells.peek().map_or(row.width, |(next, _)| *next);
            (*column..end).for_each(|column| columns.set_below(column, &name(cell)));
        }
    }
    let header: Vec<Vec<String>> = rows[..header_rows].iter().map(names).collect();
    for (index, row) in rows.iter().enumerate() {
        // a table over several pages repeats its header
        let is_header = index < header_rows || header.contains(&names(row));
        let cells = if is_header { &[] } else { row.cells.as_slice() };
        tables.add_row(text, row.range.clone(), cells, &columns);
    }
}

/// Returns the rows of a table that have cells.
fn rows(text: &str, body: Range<usize>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut start = body.start;
    let mut is_below_rule = false;
    while start < body.end {
        let (end, next) = row_end(text, start..body.end);
        let (begin, has_rule) = skip_commands(text, start..end);
        is_below_rule |= has_rule;
        let (cells, width) = cells(text, begin..end);
        let is_caption = text[begin..end].starts_with("\\caption");
        if cells.len() > 1 && !is_caption {
            rows.push(Row {
                range: begin..next,
                cells,
                width,
                is_below_rule: std::mem::take(&mut is_below_rule),
            });
        }
        start = next.max(start + 1);
    }
    rows
}

/// Returns where the cells of the first row end, and where the next row begins.
fn row_end(text: &str, part: Range<usize>) -> (usize, usize) {
    let text = &text[..part.end];
    let mut depth = 0_i32;
    for (at, byte) in unescaped_bytes(&text[part.start..]) {
        let at = part.start + at;
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'\\' if depth <= 0 && text[at + 1..].starts_with('\\') => {
                let rest = text[at + 2..].trim_start_matches('*');
                let space = rest.starts_with('[').then(|| rest.find(']')).flatten();
                let next = text.len() - rest.len() + space.map_or(0, |end| end + 1);
                return (at, next);
            }
            _ => {}
        }
    }
    (text.len(), text.len())
}

/// Returns where a row begins behind the commands above it, and whether one of them is a rule.
fn skip_commands(text: &str, row: Range<usize>) -> (usize, bool) {
    let mut has_rule = false;
    let mut rest = text[row.clone()].trim_start();
    while let Some(command) = rest.strip_prefix('\\') {
        let length = command.find(|c: char| !c.is_ascii_alphabetic());
        let (name, after) = command.split_at(length.unwrap_or(command.len()));
        let Some((_, is_rule)) = BETWEEN_ROWS.iter().find(|(own, _)| *own == name) else {
            break;
        };
        has_rule |= is_rule;
        rest = after[arguments_length(after)..].trim_start();
    }
    (row.end - rest.len(), has_rule)
}

/// Returns the length of the arguments that a text begins with: `{lrl}`, `[t]`, `(lr)`.
fn arguments_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(argument) = argument_length(&text[length..]) {
        length += argument;
    }
    length
}

/// Returns the length of the argument that a text begins with, its brackets included; `None`
/// without one that ends.
pub(super) fn argument_length(text: &str) -> Option<usize> {
    let open = *text.as_bytes().first()?;
    let close = match open {
        b'{' => b'}',
        b'[' => b']',
        b'(' => b')',
        _ => return None,
    };
    let mut depth = 0_i32;
    let end = unescaped_bytes(text).find(|(_, byte)| {
        depth += i32::from(*byte == open) - i32::from(*byte == close);
        depth == 0
    });
    end.map(|(end, _)| end + 1)
}

/// Returns the bytes of a text that no backslash escapes, with their positions.
pub(super) fn unescaped_bytes(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut is_escaped = false;
    text.bytes().enumerate().filter(move |(_, byte)| {
        let was_escaped = is_escaped;
        is_escaped = *byte == b'\\' && !was_escaped;
        !was_escaped
    })
}

/// Returns the cells of a row with their columns, and the number of these. A cell may take several.
fn cells(text: &str, row: Range<usize>) -> (Vec<(usize, Range<usize>)>, usize) {
    let mut ends = Vec::new();
    let mut depth = 0_i32;
    for (at, byte) in unescaped_bytes(&text[row.clone()]) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'&' if depth <= 0 => ends.push(row.start + at),
            _ => {}
        }
    }
    ends.push(row.end);

    let mut cells = Vec::with_capacity(ends.len());
    let mut start = row.start;
    let mut column = 0;
    for end in ends {
        let mut cell = trim_range(text, start..end);
        let mut span = 1;
        if let Some(arguments) = text[cell.clone()].strip_prefix("\\multicolumn") {
            let number = argument_length(arguments).unwrap_or(0);
            let place = argument_length(&arguments[number..]).unwrap_or(0);
            let digits = arguments[..number].trim_matches(['{', '}']);
            span = digits.parse().unwrap_or(1).clamp(1, MAX_SPAN);
            // its number and the place of its text are no words
            cell.start = cell.end - arguments.len() + number + place;
        }
        cells.push((column, cell));
        column += span;
        start = end + 1;
    }
    (cells, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::format::Extract;

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let cases = [
            (
                "\\begin{tabular}{|l|r|}\n\\hline\n\\textbf{A} & B\\% \\\\ \\hline\n1 & 2 \\\\\n\\hline\n\\end{tabular}",
                "\\begin{tabular}{|l|r|}\n\\hline\n\\textbf{A} & B\\% \\\\ \\hline\nA: 1 & B%: 2 \\\\\n\\hline\n\\end{tabular}",
            ),
            (
                "\\begin{longtable}[c]{lr}\\caption{C}\\\\\n\\toprule A & B \\\\ \\midrule \\endfirsthead A & B \\\\ \\midrule\n\\endhead\n1 & a\\&b \\\\[2pt]\n & 3\n\\end{longtable}",
                "\\begin{longtable}[c]{lr}\\caption{C}\\\\\n\\toprule A & B \\\\ \\midrule \\endfirsthead A & B \\\\ \\midrule\n\\endhead\nA: 1 & B: a\\&b \\\\[2pt]\n & B: 3\n\\end{longtable}",
            ),
            (
                "\\begin{tabular}{lrr} & \\multicolumn{2}{c}{Fee} \\\\ \\cmidrule(lr){2-3} A & May & June \\\\ \\midrule 1 & 2 & 3 \\\\\\end{tabular}",
                "\\begin{tabular}{lrr} & \\multicolumn{2}{c}{Fee} \\\\ \\cmidrule(lr){2-3} A & May & June \\\\ \\midrule A: 1 & Fee May: 2 & Fee June: 3 \\\\\\end{tabular}",
            ),
            // rows above the rule of a sum, no header, no table, no end
            (
                "\\begin{tabular}{lr} Rent & 900 \\\\ Gas & 80 \\\\ \\midrule All & 980 \\\\\\end{tabular}",
                "\\begin{tabular}{lr} Rent & 900 \\\\ Gas & 80 \\\\ \\midrule All & 980 \\\\\\end{tabular}",
            ),
            (
                "\\begin{tabular}{ll}\\hline a & b \\\\ c & d \\\\ \\hline\\end{tabular}",
                "\\begin{tabular}{ll}\\hline a & b \\\\ c & d \\\\ \\hline\\end{tabular}",
            ),
            (
                "\\begin{align} a & b \\\\ \\end{align}",
                "\\begin{align} a & b \\\\ \\end{align}",
            ),
            (
                "\\begin{tabular}{l} a & b \\\\",
                "\\begin{tabular}{l} a & b \\\\",
            ),
        ];
        for (text, expected) in cases {
            let mut tables = Tables::default();
            let plain = |name: &str| name.replace("\\textbf", "").replace(['{', '}', '\\'], "");
            add_latex_tables(text, &[], &plain, &mut tables);
            let found = tables.label(Extract::verbatim(text.to_owned()));
            assert_eq!(found.text, expected);
        }
    }
}
