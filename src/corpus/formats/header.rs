//! The header of a table among its rows: one row with the names of the columns, or two, where the
//! upper one groups them (`2025` above `Plan` and `Actual`). Lines above the table have no part in
//! it, and a table below an empty row may have a header of its own. Where it is not certain that a
//! row names the columns, none does: a wrong name is worse than none.

use super::columns::Columns;

/// The header of a table is among its first rows.
pub(super) const MAX_ROWS_ABOVE_HEADER: usize = 10;
/// Rows that show whether one of the first names the columns.
const SAMPLE_ROWS: usize = 50;
const MAX_NAME_BYTES: usize = 200;

/// The cells of a row that are not empty, in the order of their columns, from 0.
pub(super) type Cells = Vec<(usize, String)>;

/// The rows of a table with the names of their columns. They wait until it is known whether their
/// block, which ends with an empty row, has a header.
#[derive(Debug)]
pub(super) struct NamedRows<T> {
    columns: Columns,
    waiting: Vec<(T, Cells)>,
    /// Whether the next rows may have a header among them.
    is_open: bool,
    /// Whether rows are above that may be those of a table.
    is_below_table: bool,
    /// Whether a table may have one column.
    can_be_list: bool,
}

/// The kind of the rows of a block.
enum Block {
    Table(Header),
    /// Labels with their values, a pair in each row.
    Pairs,
}

/// The rows that name the columns.
struct Header {
    rows: std::ops::Range<usize>,
    names: Cells,
    /// The number of cells of most rows below.
    width: usize,
    /// Whether numbers are below words: a sure sign.
    is_above_numbers: bool,
}

impl<T> NamedRows<T> {
    pub fn new(can_be_list: bool) -> Self {
        Self {
            columns: Columns::default(),
            waiting: Vec::new(),
            is_open: true,
            is_below_table: false,
            can_be_list,
        }
    }

    /// Returns whether rows wait for their names.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a row, and gives those that are complete with their lines, and whether they are a
    /// header.
    pub fn add(
        &mut self,
        row: T,
        cells: Cells,
        is_below_gap: bool,
        give: &mut impl FnMut(T, bool, String),
    ) {
        if is_below_gap {
            self.end_block(false, give);
            self.is_open = true;
        }
        if !self.is_open {
            give(row, false, line(&self.columns, &cells));
            return;
        }
        self.waiting.push((row, cells));
        if self.waiting.len() == SAMPLE_ROWS {
            self.end_block(true, give);
            self.is_open = false;
        }
    }

    /// Gives the rows that wait.
    pub fn finish(&mut self, give: &mut impl FnMut(T, bool, String)) {
        self.end_block(true, give);
    }

    /// Gives the rows of a block. Lines above the first table wait for it, but at the end.
    fn end_block(&mut self, is_end: bool, give: &mut impl FnMut(T, bool, String)) {
        let block = self.block(is_end);
        if block.is_none() && !self.is_below_table && !is_end {
            return;
        }

        let none = Columns::default();
        let waiting = std::mem::take(&mut self.waiting);
        self.is_below_table |= match &block {
            Some(Block::Table(_)) => true,
            Some(Block::Pairs) => false,
            None => waiting.iter().any(|(_, cells)| cells.len() > 1),
        };
        let header = match &block {
            Some(Block::Table(header)) => {
                self.columns = Columns::default();
                for (column, name) in &header.names {
                    self.columns.set(*column, name);
                }
                header.rows.clone()
            }
            Some(Block::Pairs) | None => 0..0,
        };

        for (at, (row, cells)) in waiting.into_iter().enumerate() {
            let line = match (&block, cells.as_slice()) {
                (Some(Block::Pairs), [(_, label), (_, value)]) => {
                    format!("{}: {value}", label.trim_end_matches(':'))
                }
                _ if at < header.end => line(&none, &cells),
                _ => line(&self.columns, &cells),
            };
            give(row, header.contains(&at), line);
        }
    }

    fn block(&self, is_end: bool) -> Option<Block> {
        let rows: Vec<&Cells> = self.waiting.iter().map(|(_, cells)| cells).collect();
        let is_list = self.can_be_list && is_end && rows.iter().all(|row| row.len() < 2);
        let least = if is_list { 1 } else { 2 };
        let last = rows.len().min(MAX_ROWS_ABOVE_HEADER + 1);
        let mut headers: Vec<Header> = (0..last)
            .flat_map(|at| {
                [
                    Header::from_two_rows(&rows, at),
                    Header::from_row(&rows, at),
                ]
            })
            .flatten()
            .filter(|header| header.names.len() >= least)
            .collect();

        if are_labelled(&rows) {
            return Some(Block::Pairs);
        }
        // labels with values above a table are narrower than its rows
        let sure = |header: &Header| header.is_above_numbers;
        let fits = |header: &Header| sure(header) && header.width <= header.names.len();
        let found = headers.iter().position(fits);
        if let Some(found) = found.or_else(|| headers.iter().position(sure)) {
            return Some(Block::Table(headers.swap_remove(found)));
        }
        if self.is_below_table {
            return None;
        }
        if are_pairs(&rows) {
            return Some(Block::Pairs);
        }
        headers
            .into_iter()
            .find(|header| header.is_likely(&rows, is_end))
            .map(Block::Table)
    }
}

impl<T> Default for NamedRows<T> {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Header {
    /// Returns the header that a row may be: it has words, more of them than each row above has
    /// cells, and enough for the rows below.
    fn from_row(rows: &[&Cells], at: usize) -> Option<Self> {
        Self::new(rows, at..at + 1, rows[at].clone())
    }

    /// Returns the header that two rows may be. The upper one names groups of columns: it has gaps
    /// where the lower one has names.
    fn from_two_rows(rows: &[&Cells], at: usize) -> Option<Self> {
        let (upper, lower) = (rows[at], rows.get(at + 1)?);
        let end = upper.last()?.0;
        let is_gap = |column: usize| column < end && cell(upper, column).is_none();
        let has_gap = lower.iter().any(|(column, _)| is_gap(*column));
        if !has_gap || !are_words(upper, &rows[at + 1..]) || !are_words(lower, &rows[at + 2..]) {
            return None;
        }

        let mut names: Cells = Vec::new();
        let count = end.max(lower.last()?.0) + 1;
        let mut group = "";
        for column in 0..count {
            group = cell(upper, column).unwrap_or(group);
            let name = match cell(lower, column) {
                Some(name) if name == group || group.is_empty() => name.to_owned(),
                Some(name) => format!("{group} {name}"),
                None => cell(upper, column).unwrap_or_default().to_owned(),
            };
            names.extend(Some((column, name)).filter(|(_, name)| !name.is_empty()));
        }
        Self::new(rows, at..at + 2, names).filter(|header| header.is_above_numbers)
    }

    fn new(rows: &[&Cells], range: std::ops::Range<usize>, names: Cells) -> Option<Self> {
        let (above, below) = (&rows[..range.start], &rows[range.end..]);
        let mut widths: Vec<usize> = below.iter().map(|row| row.len()).collect();
        widths.sort_unstable();
        let width = *widths.get(widths.len().checked_sub(1)? / 2)?;

        let is_wide = above.iter().all(|row| row.len() < names.len()) && width <= names.len() + 1;
        // a row that begins behind the first column has no name for its labels
        let is_word = |(_, name): &(usize, String)| name.contains(char::is_alphabetic);
        let has_words = names[0].0 > 0 || names.iter().any(is_word);
        let are_named = names.len() * 2 > names.last()?.0 + 1;
        let is_header = is_wide && has_words && are_named && are_words(&names, below);
        let is_sure = |(column, name): &(usize, String)| is_above_numbers(*column, name, below);
        is_header.then(|| Self {
            rows: range,
            width,
            is_above_numbers: names.iter().any(is_sure),
            names,
        })
    }

    /// Returns whether it names the columns of a table without numbers: each in another way, and
    /// none is a value. Before the end of the table only several columns are one.
    fn is_likely(&self, rows: &[&Cells], is_end: bool) -> bool {
        let (above, below) = (&rows[..self.rows.start], &rows[self.rows.end..]);
        let mut names: Vec<&str> = self.names.iter().map(|(_, name)| name.as_str()).collect();
        names.sort_unstable();
        let is_distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
        let is_value = |row: &&Cells| {
            let mut named = self.names.iter();
            named.any(|(column, name)| cell(row, *column) == Some(name))
        };
        let is_table = is_end || (names.len() > 2 && below.len() > 1);
        is_table
            && is_distinct
            && above.iter().all(|row| row.len() < 2)
            && !below.iter().any(is_value)
    }
}

/// Returns whether each row is a label that ends with a colon, with its value.
fn are_labelled(rows: &[&Cells]) -> bool {
    let is_labelled = |row: &&Cells| row.len() <= 2 && row[0].1.ends_with(':');
    rows.iter().all(is_labelled) && rows.iter().any(|row| row.len() == 2)
}

/// Returns whether the rows are labels with values of several kinds, below titles. A title or a
/// colon distinguishes a form from a table of two columns.
fn are_pairs(rows: &[&Cells]) -> bool {
    let is_of_form = |row: &&Cells| row.len() == 1 || row[0].1.ends_with(':');
    if !rows.iter().any(is_of_form) {
        return false;
    }
    let pairs = rows.iter().filter(|row| row.len() == 2);
    let [mut count, mut numbers] = [0, 0];
    for pair in pairs {
        if is_number(&pair[0].1) {
            return false;
        }
        count += 1;
        // a number with its unit is a value of its own kind, however long the unit is
        numbers += usize::from(pair[1].1.starts_with(|c: char| c.is_ascii_digit()));
    }
    count > 2 && numbers > 0 && numbers * 2 <= count && rows.iter().all(|row| row.len() <= 2)
}

/// Returns whether the cells are words, or name a column in digits that holds no such.
fn are_words(cells: &Cells, below: &[&Cells]) -> bool {
    cells.iter().all(|(column, name)| {
        let is_name = !is_number(name)
            || is_time_of_column(*column, cells, below)
            || is_unit_of_column(*column, cells, below);
        is_name && name.len() <= MAX_NAME_BYTES
    })
}

/// Returns whether a cell is a year, a month or a day above other values. A month in digits is one
/// of several: a single one may be a date of birth.
fn is_time_of_column(column: usize, cells: &Cells, below: &[&Cells]) -> bool {
    let name = cell(cells, column).unwrap_or_default();
    let times = cells.iter().filter(|(_, name)| is_time(name)).count();
    if is_time(name) && is_month_of_year(name) && times < 2 {
        return false;
    }
    let mut values = below.iter().filter_map(|row| cell(row, column));
    // a rate has four digits behind its point, as a year has behind its month
    let is_rate = |value: &str| {
        let parts = value.split_once('.');
        parts.is_some_and(|(_, part)| part.len() == 4)
    };
    match (is_time(name), is_period(name)) {
        (true, _) => !values.any(|value| is_time(value) || (is_rate(name) && is_rate(value))),
        (false, true) => !values.any(has_unit),
        (false, false) => false,
    }
}

/// Returns whether a cell of several, the first of which is a word, is a size, a share or an hour
/// (`10 m`, `19 %`, `08:00`): it or another of its unit is above bare numbers, or several hours are
/// above words. The same word below all hours is a value of theirs, as in `closed`.
fn is_unit_of_column(column: usize, cells: &Cells, below: &[&Cells]) -> bool {
    let Some(name) = cell(cells, column).filter(|name| has_unit(name)) else {
        return false;
    };
    let is_below_word = cell(cells, 0).is_none_or(|first| !is_number(first));
    let beside = cells.iter().filter(|(_, other)| unit(other) == unit(name));
    let beside: Vec<&(usize, String)> = beside.collect();
    let mut values = below.iter().filter_map(|row| cell(row, column));
    let has_one_value = |row: &&Cells| {
        let mut values = beside.iter().map(|(column, _)| cell(row, *column));
        let first = values.next().flatten();
        first.is_some() && values.all(|value| value == first)
    };
    let are_hours =
        || unit(name).contains(':') && beside.len() > 1 && !below.iter().any(has_one_value);
    let are_above_numbers = || {
        let mut beside = beside.iter();
        beside.any(|(column, name)| is_above_numbers(*column, name, below))
    };
    cells.len() > 2
        && is_below_word
        && !values.any(has_unit)
        && (are_above_numbers() || are_hours())
}

/// Returns whether most values of a column are numbers, and the first one is. The name itself is
/// none of them, nor is a rule of dashes.
fn is_above_numbers(column: usize, name: &str, below: &[&Cells]) -> bool {
    let values = below.iter().filter_map(|row| cell(row, column));
    let are_numbers: Vec<bool> = values
        .filter(|value| *value != name && value.contains(char::is_alphanumeric))
        .map(is_number)
        .collect();
    let numbers = are_numbers.iter().filter(|is_number| **is_number).count();
    are_numbers.first() == Some(&true) && numbers * 2 > are_numbers.len()
}

fn cell(row: &Cells, column: usize) -> Option<&str> {
    let at = row.binary_search_by_key(&column, |(column, _)| *column);
    Some(&row[at.ok()?].1)
}

fn line(columns: &Columns, cells: &Cells) -> String {
    columns.line(cells.iter().map(|(column, cell)| (*column, cell.as_str())))
}

/// Returns whether a cell is a year, or a day, a month or a span of years in digits.
fn is_time(cell: &str) -> bool {
    let parts: Vec<&str> = cell.split(['-', '–', '/', '.']).collect();
    let is_full = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_month = |part: &str| part.len() == 2 && ("01"..="12").contains(&part);
    let is_figure = match parts.as_slice() {
        [year] => is_year(year),
        [year, next] if is_year(year) => (next.len() == 2 || is_year(next)) && !cell.contains('.'),
        [month, year] => is_month(month) && is_year(year),
        parts => parts.len() == 3,
    };
    is_figure && parts.iter().all(is_full)
}

/// Returns whether a time is a month with its year, in this order.
fn is_month_of_year(time: &str) -> bool {
    let mut parts = time.split(['-', '–', '/', '.']);
    parts.next().is_some_and(|month| month.len() == 2) && parts.count() == 1
}

fn is_year(cell: &str) -> bool {
    let is_near = |year: u32| (1900..2100).contains(&year);
    cell.len() == 4 && cell.parse().is_ok_and(is_near)
}

/// Returns whether a cell is a month, a quarter or a half of a year in words.
fn is_period(cell: &str) -> bool {
    let mut words = cell.split(|c: char| !c.is_alphanumeric());
    words.any(is_year) && cell.contains(char::is_alphabetic)
}

/// Returns whether a cell has a figure that is no bare number: with a unit, a share, an hour.
fn has_unit(cell: &str) -> bool {
    let is_figure = cell.contains(|c: char| c.is_ascii_digit()) && !cell.starts_with('=');
    is_figure && !unit(cell).is_empty()
}

/// Returns the signs of a cell beside its digits.
fn unit(cell: &str) -> String {
    let is_sign = |c: &char| c.is_alphabetic() || "%‰°:<>€$£".contains(*c);
    cell.chars().filter(is_sign).collect()
}

/// Returns whether a cell is a number, with a unit, too, or a formula for one. `Q1` is none.
fn is_number(cell: &str) -> bool {
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let is_code = cell.starts_with(char::is_alphabetic) && !cell.contains(char::is_whitespace);
    let is_figure = digits * 2 >= cell.len().max(1) && digits > 0;
    cell.starts_with('=') || (is_figure && !is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a table, those of a header in brackets. An empty line is a gap.
    fn lines(table: &str) -> Vec<String> {
        let mut rows = NamedRows::new(false);
        let mut found = Vec::new();
        let mut give = |(): (), is_header: bool, line: String| {
            found.push(if is_header { format!("[{line}]") } else { line });
        };
        let mut is_below_gap = false;
        for line in table.split('\n') {
            let cells = line.split('|').map(str::to_owned).enumerate();
            let cells: Cells = cells.filter(|(_, cell)| !cell.is_empty()).collect();
            if !cells.is_empty() {
                rows.add((), cells, is_below_gap, &mut give);
            }
            is_below_gap = line.is_empty();
        }
        rows.finish(&mut give);
        found
    }

    #[test]
    fn a_header_is_found_among_the_rows() {
        let cases: [(&str, &[&str]); 37] = [
            ("Boat|Crew\nGig|7", &["[Boat; Crew]", "Boat: Gig; Crew: 7"]),
            // a table of two columns, whose second one holds a number
            (
                "Name|Phone\nBell|office\nCrow|555 0199\nDow|none\nFay|office",
                &[
                    "[Name; Phone]",
                    "Name: Bell; Phone: office",
                    "Name: Crow; Phone: 555 0199",
                    "Name: Dow; Phone: none",
                    "Name: Fay; Phone: office",
                ],
            ),
            // data without a header
            ("Gig|7\nYawl|4", &["Gig; 7", "Yawl; 4"]),
            (
                "Gig|Lorby\nYawl|Bray\nGig|Bray",
                &["Gig; Lorby", "Yawl; Bray", "Gig; Bray"],
            ),
            // repeated names, and a value that is a name
            (
                "Boat|Cost|Cost\nGig|7|8",
                &["[Boat; Cost; Cost]", "Boat: Gig; Cost: 7; Cost: 8"],
            ),
            (
                "Boat|Crew\nGig|Crew\nYawl|4",
                &["[Boat; Crew]", "Boat: Gig; Crew", "Boat: Yawl; Crew: 4"],
            ),
            (
                "Boat|Crew\n---|--\nGig|7",
                &["[Boat; Crew]", "Boat: ---; Crew: --", "Boat: Gig; Crew: 7"],
            ),
            (
                "Boat|Crew\nGig|=B1+B2\nAll|=SUM(B1:B9)",
                &[
                    "[Boat; Crew]",
                    "Boat: Gig; Crew: =B1+B2",
                    "Boat: All; Crew: =SUM(B1:B9)",
                ],
            ),
            (
                "All||12|5\nBoat|Port|Crew|Age\nGig|Bray|4|1",
                &[
                    "All; 12; 5",
                    "[Boat; Port; Crew; Age]",
                    "Boat: Gig; Port: Bray; Crew: 4; Age: 1",
                ],
            ),
            // names in digits
            (
                "Boat|1.5.2026|2.5.2026\nGig|out|in",
                &[
                    "[Boat; 1.5.2026; 2.5.2026]",
                    "Boat: Gig; 1.5.2026: out; 2.5.2026: in",
                ],
            ),
            (
                "Boat|2026-05\nGig|9",
                &["[Boat; 2026-05]", "Boat: Gig; 2026-05: 9"],
            ),
            ("Q1|T2\n12|red", &["[Q1; T2]", "Q1: 12; T2: red"]),
            (
                "Konto|Jan 2024|Q1 2024|2024 €\nGas|7|8|9\nOil|1|2|3",
                &[
                    "[Konto; Jan 2024; Q1 2024; 2024 €]",
                    "Konto: Gas; Jan 2024: 7; Q1 2024: 8; 2024 €: 9",
                    "Konto: Oil; Jan 2024: 1; Q1 2024: 2; 2024 €: 3",
                ],
            ),
            (
                "Boat|01/2024|2024/25\nGig|7|8",
                &[
                    "[Boat; 01/2024; 2024/25]",
                    "Boat: Gig; 01/2024: 7; 2024/25: 8",
                ],
            ),
            (
                "|2023|2024\nGas|7|8",
                &["[2023; 2024]", "Gas; 2023: 7; 2024: 8"],
            ),
            (
                "Net|19 %|Sum\n100|=A2*0.19|119",
                &["[Net; 19 %; Sum]", "Net: 100; 19 %: =A2*0.19; Sum: 119"],
            ),
            (
                "Pier|10 m|20 m\nBray|4,1|3",
                &["[Pier; 10 m; 20 m]", "Pier: Bray; 10 m: 4,1; 20 m: 3"],
            ),
            (
                "Day|08:00|12:00\nMon|Ida|Ann\nTue|Bo|Eli",
                &[
                    "[Day; 08:00; 12:00]",
                    "Day: Mon; 08:00: Ida; 12:00: Ann",
                    "Day: Tue; 08:00: Bo; 12:00: Eli",
                ],
            ),
            // values of a table without a header
            (
                "Mon|08:15|12:30\nTue|closed|closed\nWed|by request|closed",
                &[
                    "Mon; 08:15; 12:30",
                    "Tue; closed; closed",
                    "Wed; by request; closed",
                ],
            ),
            (
                "Bergen|35 %|55 %\nOslo|-|-\nBodo|n/a|-",
                &["Bergen; 35 %; 55 %", "Oslo; -; -", "Bodo; n/a; -"],
            ),
            (
                "Ida|01/1990\nBo|unknown\nEva|unknown",
                &["Ida; 01/1990", "Bo; unknown", "Eva; unknown"],
            ),
            // values with units, a size of a form, a rate
            (
                "Gig|7 m|08:30\nYawl|4 m|9:15",
                &["Gig; 7 m; 08:30", "Yawl; 4 m; 9:15"],
            ),
            ("Length|12 m\nCrew|4", &["Length; 12 m", "Crew; 4"]),
            (
                "Gig|12 m|May\nYawl|none|June",
                &["Gig; 12 m; May", "Yawl; none; June"],
            ),
            (
                "Krone|11.2050\nYen|0.0061",
                &["Krone; 11.2050", "Yen; 0.0061"],
            ),
            // lines above
            (
                "Log|of May\nIBAN|NO55\nSaldo|9,50|NOK\n\nNote\n\nDay|Payee|Sum|Unit\n3.5.|Kiosk|-2|NOK",
                &[
                    "Log; of May",
                    "IBAN; NO55",
                    "Saldo; 9,50; NOK",
                    "Note",
                    "[Day; Payee; Sum; Unit]",
                    "Day: 3.5.; Payee: Kiosk; Sum: -2; Unit: NOK",
                ],
            ),
            (
                "Period|May\nDay|Text|Debit\n3.5.|Tea|1.5\n4.5.|Oil|2\n5.5.|Tar|3",
                &[
                    "Period; May",
                    "[Day; Text; Debit]",
                    "Day: 3.5.; Text: Tea; Debit: 1.5",
                    "Day: 4.5.; Text: Oil; Debit: 2",
                    "Day: 5.5.; Text: Tar; Debit: 3",
                ],
            ),
            // labels with values
            (
                "Log\nBoat|Gig\nLength:|9.5 m\nPort|Bray\n\nDay|Wind\n3.5.|4",
                &[
                    "Log",
                    "Boat: Gig",
                    "Length: 9.5 m",
                    "Port: Bray",
                    "[Day; Wind]",
                    "Day: 3.5.; Wind: 4",
                ],
            ),
            (
                "Station|Oxmouth\nLatitude|54.2\nOperator|Ida\n\nTime|Level|Temp\n0:00|2.4|7.5\n1:00|2.6|7.4",
                &[
                    "Station; Oxmouth",
                    "Latitude; 54.2",
                    "Operator; Ida",
                    "[Time; Level; Temp]",
                    "Time: 0:00; Level: 2.4; Temp: 7.5",
                    "Time: 1:00; Level: 2.6; Temp: 7.4",
                ],
            ),
            (
                "Account:|12\nPeriod:|May\n\nDay|Sum\n3.5.|4",
                &[
                    "Account: 12",
                    "Period: May",
                    "[Day; Sum]",
                    "Day: 3.5.; Sum: 4",
                ],
            ),
            (
                "Date|Count\nMon|12\nTue|shut|feast\nWed|15\nThu|9",
                &[
                    "[Date; Count]",
                    "Date: Mon; Count: 12",
                    "Date: Tue; Count: shut; feast",
                    "Date: Wed; Count: 15",
                    "Date: Thu; Count: 9",
                ],
            ),
            // names of groups
            (
                "Boat|2025||2026\n|Plan|Done|Plan|Done\nGig|1|2|3|4",
                &[
                    "[Boat; 2025; 2026]",
                    "[Plan; Done; Plan; Done]",
                    "Boat: Gig; 2025 Plan: 1; 2025 Done: 2; 2026 Plan: 3; 2026 Done: 4",
                ],
            ),
            (
                "Boat|North||South\nBoat|Crew|Cook|Crew\nGig|1|2|3",
                &[
                    "[Boat; North; South]",
                    "[Boat; Crew; Cook; Crew]",
                    "Boat: Gig; North Crew: 1; North Cook: 2; South Crew: 3",
                ],
            ),
            // a second table, and a footer
            (
                "Boat|Crew\nGig|7\n\nPorts\nPort|Depth\nBray|9\n\nTotal|9\nprinted",
                &[
                    "[Boat; Crew]",
                    "Boat: Gig; Crew: 7",
                    "Ports",
                    "[Port; Depth]",
                    "Port: Bray; Depth: 9",
                    "Port: Total; Depth: 9",
                    "Port: printed",
                ],
            ),
            // a table of words
            (
                "Fleet\n\nBoat|Port\n\nGig|Bray\nYawl|Lorby",
                &[
                    "Fleet",
                    "[Boat; Port]",
                    "Boat: Gig; Port: Bray",
                    "Boat: Yawl; Port: Lorby",
                ],
            ),
            ("Fleet\nGig", &["Fleet", "Gig"]),
            ("", &[]),
        ];
        for (table, expected) in cases {
            assert_eq!(lines(table), expected, "{table}");
        }
    }

    #[test]
    fn rows_beyond_the_sample_have_names() {
        let table = format!("Boat|Crew{}", "\nGig|7".repeat(3 * SAMPLE_ROWS));
        let found = lines(&table);
        assert_eq!(found.len(), 1 + 3 * SAMPLE_ROWS);
        assert!(found[1..].iter().all(|line| line == "Boat: Gig; Crew: 7"));
    }
}
