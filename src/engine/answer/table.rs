//! The rows of a table that a question asks for, by rule: those whose cells it names, and of these
//! the ones with the largest or the smallest number. A small model reads a long table wrongly where
//! it must compare its rows, and a long one is in several chunks. The rule answers only where it
//! uses every word of the question but articles and the like: "over", "to be" and "first" are
//! conditions that no cell has.

use std::collections::BTreeSet;

use crate::corpus::{language, named_cells, split_words};
use crate::event::{ChunkText, document_stem};
use crate::letters::{holds, normalise};

use super::bounds::NumberBound;
use super::cells::{read_numbers, split_number};
use super::extremes::{EXTREMES, retain_extremes};
use super::row_question::{
    GOODS, HARMLESS, OF_BOUNDS, OF_EXTREMES, PRICES, RowQuestion, STOCKS, SUPPLIERS, SUPPLYING,
    WHICH,
};
use super::scope::find_words;
use super::sources::lines;
use super::wording::{CURRENCIES, find_unit, has_digit, stems};

/// A table of fewer rows is read as it is.
const MIN_ROWS: usize = 3;
/// Values of one column that a lead names.
const MAX_VALUES: usize = 3;
/// The cells of a column that says whether, in lower case; an empty one is left out.
const YES: &[&str] = &[
    "yes", "y", "true", "x", "✓", "✔", "ja", "oui", "sí", "是", "有",
];
const NO: &[&str] = &[
    "no", "n", "false", "", "-", "–", "✗", "nein", "non", "否", "无",
];
/// First cells of a row that sums up the others, in lower case.
#[rustfmt::skip]
const TOTALS: &[&str] = &[
    "total", "totals", "sum", "grand total", "average", "summe", "gesamt", "insgesamt", "mittel",
    "somme", "moyenne", "suma", "promedio", "合计", "总计",
];

/// The rows of a table in their order, whichever chunks they are in.
pub struct Table<'c> {
    rows: Vec<Row<'c>>,
    /// The names of its columns, the first of which is the name of a row.
    pub columns: Vec<&'c str>,
    language: &'static str,
}

/// A row of a table.
pub struct Row<'c> {
    pub chunk: &'c ChunkText,
    pub lines: [u32; 2],
    pub text: &'c str,
    cells: Vec<(&'c str, &'c str)>,
}

impl<'c> Table<'c> {
    /// Reads the table of a text out of the chunks of its section, without totals; `None` where it
    /// has few rows, or one without a first cell or with no other: rows may be missing.
    pub fn read(of: &ChunkText, section: impl Iterator<Item = &'c ChunkText>) -> Option<Self> {
        let first = of.text.lines().find_map(named_cells)?.first()?.0;
        let lone = format!("{first}: ");
        let mut rows: Vec<Row<'c>> = Vec::new();
        let mut before = 0;
        for chunk in section {
            // chunks overlap: the first rows of one may be the last ones of that before it
            let known = rows.len();
            let mut end = 0;
            for text in chunk.text.split_inclusive('\n') {
                let start = end;
                end += text.len();
                let text = text.trim_end();
                let Some(cells) = named_cells(text) else {
                    if text.trim_start_matches(['|', ' ']).starts_with(&lone) {
                        return None;
                    }
                    continue;
                };
                if cells[0].0 != first {
                    return None;
                }
                let lines = lines(chunk, start..end);
                let is_same = |row: &Row| row.lines == lines && row.text == text;
                if !rows[before..known].iter().any(is_same) {
                    rows.push(Row {
                        chunk,
                        lines,
                        text,
                        cells,
                    });
                }
            }
            before = known;
        }

        let is_total = |row: &Row| {
            let first = row.cells[0].1.to_lowercase();
            let begins = |phrase: &&str| find_words(&first, phrase) == Some(0);
            first.is_empty() || TOTALS.iter().any(begins)
        };
        rows.retain(|row| !is_total(row));
        let mut columns: Vec<&str> = Vec::new();
        for (name, _) in rows.iter().flat_map(|row| &row.cells) {
            if !columns.contains(name) {
                columns.push(name);
            }
        }
        (rows.len() >= MIN_ROWS).then(|| Self {
            rows,
            columns,
            language: language(&of.text),
        })
    }

    /// Returns whether a text has rows of a table with the same first column.
    pub fn is_like(&self, text: &ChunkText) -> bool {
        let first = self.columns.first();
        let mut rows = text.text.lines().filter_map(named_cells);
        rows.any(|cells| cells.first().map(|(name, _)| name) == first)
    }

    /// Returns the rows that a question asks for; `None` where it names no cell and no column of
    /// numbers, or has a word that is none of these, nor of the table, its place and any such
    /// question.
    pub fn choose(&self, question: &RowQuestion, of: &ChunkText) -> Option<Chosen<'_, 'c>> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        let mut among = rows.len();
        let mut how = Vec::new();
        let mut used = Vec::new();
        for named in self.named_cells(question)? {
            rows.retain(|row| named.values.contains(row.value(named.column)));
            how.push(named.describe());
            used.push(named.column);
            used.extend(named.values);
            if !self.stems(named.column).is_disjoint(&self.stems(SUPPLIERS)) {
                used.extend(SUPPLYING);
            }
        }
        let denials = question.denials.iter();
        used.extend(denials.map(|(negation, _)| negation.as_str()));
        if let Some(bound) = &question.bound {
            among = rows.len();
            let (bounded, column) = self.bound_rows(&mut rows, question, bound)?;
            how.push(bounded);
            used.push(column);
            used.extend(self.units_used(bound, column));
            used.extend(OF_BOUNDS.iter().copied().chain(question.costly_words()));
        }
        if let Some((extreme, behind)) = &question.extreme {
            let near = self.near_words(question, behind);
            let (column, numbers) = self.number_column(&rows, &near, None)?;
            among = rows.len();
            retain_extremes(&mut rows, &numbers, *extreme);
            how.push(extreme.describe(column));
            used.push(column);
            used.extend(EXTREMES.iter().flat_map(|(_, words)| *words));
            used.extend(OF_EXTREMES.iter().copied().chain(question.costly_words()));
        }

        let asked = self.asked_columns(question);
        used.extend(&asked);
        let columns = match asked.as_slice() {
            [] => self.columns.clone(),
            asked => self.columns[..1].iter().chain(asked).copied().collect(),
        };

        let is_all = how.is_empty() && question.is_table;
        let is_all = is_all || question.bound.is_some() && !rows.is_empty();
        let is_choice = !rows.is_empty() && rows.len() < among || is_all;
        (is_choice && self.reads_all(question, of, &used)).then(|| Chosen {
            columns,
            how: match how.join(", ").as_str() {
                "" => format!("{}/{among}", rows.len()),
                how => format!("{how} ({}/{among})", rows.len()),
            },
            rows,
        })
    }

    /// Returns whether all words of a question set no condition, were used, or name what is in a
    /// row; what it counts is a row.
    fn reads_all(&self, question: &RowQuestion, of: &ChunkText, used: &[&str]) -> bool {
        let place = of.headings.iter().map(String::as_str);
        let place = place.chain([document_stem(&of.document)]);
        let place = place.flat_map(split_words).filter(|word| !has_digit(word));
        let names = self
            .columns
            .iter()
            .take(1)
            .copied()
            .chain(place)
            .chain([GOODS]);
        let names: BTreeSet<String> = names.flat_map(|name| self.stems(name)).collect();

        // another column may be a condition, "which have a discount"
        let head = question.head().map(|head| self.stems(head));
        let head = head.unwrap_or_default();
        let columns = self.columns.iter().map(|column| self.stems(column));
        let heads = columns.filter(|column| !head.is_empty() && head.is_subset(column));

        let exact = used.join("\n").to_lowercase();
        let exact: BTreeSet<&str> = split_words(&exact).collect();
        let mut known: BTreeSet<String> = used.iter().flat_map(|text| self.stems(text)).collect();
        known.extend(heads.flatten());
        known.extend(names.iter().cloned());
        let is_read = |word: &str| {
            let stems = self.stems(word);
            let is_known = !stems.is_empty() && stems.is_subset(&known);
            HARMLESS.contains(&word) || WHICH.contains(&word) || exact.contains(word) || is_known
        };

        let counts_rows = question.counted.as_ref().is_none_or(|counted| {
            let counted = self.stems(counted);
            let is_in = |column: &&str| !counted.is_disjoint(&self.stems(column));
            let rows = self.rows.iter().map(|row| row.cells[0].1);
            let is_distinct = rows.collect::<BTreeSet<_>>().len() == self.rows.len();
            let of_others = self.columns.iter().skip(1).any(is_in);
            counted.is_subset(&names) && is_distinct && !of_others
        });
        split_words(&question.text).all(is_read) && counts_rows
    }

    /// Returns the columns that a table is to have beside the first, "with their place and type":
    /// those that it names by the first of their words, "price" of "Price per night". One that says
    /// yes or no may be a condition, "with breakfast".
    fn asked_columns(&self, question: &RowQuestion) -> Vec<&'c str> {
        if !question.is_table {
            return Vec::new();
        }

        let asked = self.stems(&question.text);
        let columns = self.columns.iter().skip(1).copied();
        let is_asked = |column: &&str| {
            let first = split_words(column).next().map(|word| self.stems(word));
            let is_named = first.is_some_and(|stems| !stems.is_empty() && stems.is_subset(&asked));
            is_named && !is_flag(&self.rows.iter().map(|row| row.value(column)).collect())
        };
        columns.filter(is_asked).collect()
    }

    /// Returns the cells that a question names whole, by their column; of a yes/no column that it
    /// names, those that say so. `None` where it is unclear what it denies, which column a cell is
    /// of, or how the columns go together.
    fn named_cells(&self, question: &RowQuestion) -> Option<Vec<Named<'c>>> {
        let mut denials = question.denials.clone();
        let mut named: Vec<Named<'c>> = Vec::new();
        let mut flags = 0;
        for &column in &self.columns {
            let values: BTreeSet<&str> = self.rows.iter().map(|row| row.value(column)).collect();
            if is_flag(&values) {
                if question.is_table || !question.names(column) {
                    continue;
                }
                let of_column = column.to_lowercase();
                let before = denials.len();
                denials.retain(|(_, word)| !split_words(&of_column).any(|one| one == word));
                let wanted = if denials.len() < before { NO } else { YES };
                let values = values.into_iter().filter(|value| is_one_of(wanted, value));
                named.push(Named {
                    column,
                    values: values.collect(),
                });
                flags += 1;
                continue;
            }

            let wanted = self.named_values(question, &values)?;
            if wanted.is_empty() {
                continue;
            }
            let is_known = |one: &Named| !one.values.is_disjoint(&wanted);
            let is_unclear = self.stems(column).is_empty() || values.contains("");
            if is_unclear || named.iter().any(is_known) {
                return None;
            }
            denials.retain(|(negation, word)| {
                !wanted.iter().any(|value| {
                    holds(&normalise(value), &normalise(&format!("{negation} {word}")))
                })
            });
            named.push(Named {
                column,
                values: wanted,
            });
        }
        let is_denied = !question.denials.is_empty();
        let is_clear = denials.is_empty()
            && !(is_denied && flags > 1)
            && !(question.has_alternatives && named.len() > 1);
        is_clear.then_some(named)
    }

    /// Returns the values of a column that a question names, "New York" and not the York in it;
    /// `None` where a longer value holds one of them: it may be one of several in a cell.
    fn named_values(
        &self,
        question: &RowQuestion,
        values: &BTreeSet<&'c str>,
    ) -> Option<BTreeSet<&'c str>> {
        let is_text = |value: &str| value.chars().count() > 1 && split_number(value).is_none();
        let fits = |value: &str| value.len() <= question.text.len() && is_text(value);
        let named = values.iter().copied();
        let named = named.filter(|value| fits(value) && question.names(value));
        let named: Vec<(&str, String)> = named.map(|value| (value, normalise(value))).collect();
        let is_inside = |text: &str, of: &str| text != of && holds(of, text);
        let is_largest = |(_, text): &&(&str, String)| {
            let mut others = named.iter();
            !others.any(|(_, other)| is_inside(text, other))
        };
        let largest: Vec<&(&str, String)> = named.iter().filter(is_largest).collect();
        let is_part = |text: &str| {
            values.iter().any(|value| {
                let other = normalise(value);
                is_inside(text, &other) && !largest.iter().any(|(_, known)| *known == other)
            })
        };
        if largest.iter().any(|(_, text)| is_part(text)) {
            return None;
        }
        Some(largest.into_iter().map(|(value, _)| *value).collect())
    }

    /// Keeps the rows within the bound of a question, or where there are none those that come
    /// nearest, and says so. Returns the column of the bound, too; `None` where it is unclear.
    fn bound_rows(
        &self,
        rows: &mut Vec<&Row<'c>>,
        question: &RowQuestion,
        bound: &NumberBound,
    ) -> Option<(String, &'c str)> {
        let among = rows.len();
        let mut near = self.near_words(question, &question.text);
        near.extend(bound.unit.map(|names| names[0].to_owned()));
        if bound.is_stock {
            near.extend(self.stems(STOCKS));
        }
        let (column, numbers) = self.number_column(rows, &near, Some(bound))?;
        let mut how = bound.describe(column);

        let is_within = |number: &Option<f64>| number.is_some_and(|one| bound.holds(one));
        if !numbers.iter().any(is_within) {
            let nearest = bound.nearest()?;
            retain_extremes(rows, &numbers, nearest);
            how = format!("{how} (0/{among}), {}", nearest.describe(column));
            return Some((how, column));
        }
        let mut within = numbers.iter().map(is_within);
        rows.retain(|_| within.next().unwrap_or_default());
        Some((how, column))
    }

    /// Returns the words that name a column in the words of a question: a price is named by what is
    /// cheap.
    fn near_words(&self, question: &RowQuestion, words: &str) -> BTreeSet<String> {
        let mut near = self.stems(words);
        if question.costly_words().next().is_some() {
            near.extend(self.stems(PRICES));
        }
        near
    }

    /// Returns the column that these words name, and no other one, with the numbers of the rows;
    /// of a bound among the columns of numbers, which their unit names, too.
    fn number_column(
        &self,
        rows: &[&Row<'c>],
        near: &BTreeSet<String>,
        bound: Option<&NumberBound>,
    ) -> Option<(&'c str, Vec<Option<f64>>)> {
        let is_stock = bound.is_some_and(|bound| bound.is_stock);
        let numbers = |column: &str| {
            let values: Vec<&str> = rows.iter().map(|row| row.value(column)).collect();
            let read = read_numbers(&values, self.language);
            let is_said = is_flag(&values.iter().copied().collect());
            let said = values
                .iter()
                .map(|value| Some(f64::from(u8::from(is_one_of(YES, value)))));
            read.or_else(|| (is_stock && is_said).then(|| said.collect()))
        };
        let common = |column: &str| {
            let mut own = self.stems(column);
            own.extend(
                self.units(column)
                    .into_iter()
                    .filter(|_| bound.is_some())
                    .map(str::to_owned),
            );
            own.intersection(near).count()
        };
        let columns = self.columns.iter().skip(1).copied();
        let columns = columns.filter(|column| bound.is_none() || numbers(column).is_some());
        let columns: Vec<(&str, usize)> = columns.map(|column| (column, common(column))).collect();
        let best = columns
            .iter()
            .map(|(_, common)| *common)
            .max()
            .filter(|best| *best > 0)?;
        let mut best = columns.iter().filter(|(_, common)| *common == best);
        let (Some((column, _)), None) = (best.next(), best.next()) else {
            return None;
        };
        Some((column, numbers(column)?))
    }

    /// Returns the units in the name and in the cells of a column.
    fn units(&self, column: &str) -> BTreeSet<&'static str> {
        let cells = self
            .rows
            .iter()
            .filter_map(|row| split_number(row.value(column)));
        let units = cells.flat_map(|[sign, _, unit]| [sign.to_lowercase(), unit.to_lowercase()]);
        let named = split_words(column).map(str::to_lowercase);
        let found = units.chain(named).filter_map(|unit| find_unit(&unit));
        found.map(|names| names[0]).collect()
    }

    /// Returns the words for the unit of a bound, where the numbers of the column have it: those of
    /// a column of prices without one are in any currency.
    fn units_used(&self, bound: &NumberBound, column: &str) -> &'static [&'static str] {
        let own = self.units(column);
        let is_price = !self.stems(column).is_disjoint(&self.stems(PRICES));
        let names = bound.unit.filter(|names| {
            own.contains(names[0]) || own.is_empty() && is_price && CURRENCIES.contains(&names[0])
        });
        names.unwrap_or_default()
    }

    /// A word in capitals has two forms, and a question is in lower case.
    fn stems(&self, text: &str) -> BTreeSet<String> {
        stems(&text.to_lowercase().replace('_', " "), self.language)
    }
}

/// Returns whether a column with these values says yes or no.
fn is_flag(values: &BTreeSet<&str>) -> bool {
    let says = |value: &&str| is_one_of(YES, value) || is_one_of(NO, value);
    values.iter().any(|value| is_one_of(YES, value)) && values.iter().all(says)
}

/// Cells of a column that a question names.
struct Named<'c> {
    column: &'c str,
    values: BTreeSet<&'c str>,
}

impl Named<'_> {
    fn describe(&self) -> String {
        let said = self.values.iter().filter(|value| !value.is_empty());
        let shown: Vec<&str> = said.copied().take(MAX_VALUES).collect();
        let shown = match shown.as_slice() {
            [] => "–".to_owned(),
            values => values.join(", "),
        };
        let is_cut = self.values.len() > MAX_VALUES;
        let more = if is_cut { ", …" } else { "" };
        format!("{}: {shown}{more}", self.column)
    }
}

impl<'c> Row<'c> {
    /// Returns the cell of a column; readers leave an empty one out.
    fn value(&self, column: &str) -> &'c str {
        let own = self.cells.iter().find(|(name, _)| *name == column);
        own.map_or("", |(_, value)| *value)
    }
}

/// The rows that a question asks for.
pub struct Chosen<'t, 'c> {
    pub rows: Vec<&'t Row<'c>>,
    /// The columns that a table of them has.
    pub columns: Vec<&'c str>,
    /// The cells and the extreme that chose them, and among how many rows: `paid: no (85/3000)`.
    pub how: String,
}

/// Returns rows as a table of Markdown: names of columns stand above it, and in no cell.
pub fn to_markdown(columns: &[&str], rows: &[&Row<'_>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
    let head = [line(columns.to_vec()), line(vec!["---"; columns.len()])];
    let rows = rows
        .iter()
        .map(|row| line(columns.iter().map(|name| row.value(name)).collect()));
    let lines: Vec<String> = head.into_iter().chain(rows).collect();
    lines.join("\n")
}

/// Returns whether a text has rows of a table whose columns have names.
pub fn has_rows(text: &str) -> bool {
    text.lines().any(|line| named_cells(line).is_some())
}

fn is_one_of(words: &[&str], value: &str) -> bool {
    words.contains(&value.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENSORS: &[&str] = &[
        "| id: TG-01 | kind: tide gauge | place: Pier 3 | power: Mains | level: 5.40 m | solar: no |",
        "| id: TG-02 | kind: tide gauge | place: Pier 7 | power: Battery | level: 5.65 m | solar: no |",
        "| id: TG-03 | kind: tide gauge | place: Lock | power: Mains | level: 5.80 m |",
        "| id: WS-01 | kind: wind sensor | place: Pier 3 | power: Battery | level: 24 m/s | solar: yes |",
    ];
    const SHIPS: &[&str] = &[
        "Month: May; Container ships: 1,021; Ferries: 71",
        "Month: June; Container ships: 22; Ferries: 92",
        "Month: July; Container ships: 1,022; Ferries: 80",
        "Month: Total; Container ships: 2,065; Ferries: 243",
    ];
    const ORDERS: &[&str] = &[
        "order: 7; buyer: Ann Dow; from: Lima; to: Oslo; year: 2023; amount: 1.50 EUR; price: 3.125",
        "order: 8; buyer: Tam Reeve; from: Oslo; to: Lima; year: 2024; amount: 12.00 EUR; price: 2.5",
        "order: 9; buyer: Ann Dow; from: Callao; to: Oslo; year: 2024; amount: 3.00 EUR; price: 12.5",
    ];
    const GOODS_SOLD: &[&str] = &[
        "article: DS06; price_eur: 8.40; stock: 120; supplier: Kemira",
        "article: GR01; price_eur: 64.50; stock: 0; supplier: Ostrava Mills",
        "article: FT10; price_eur: 5.20; stock: 230; supplier: Kemira",
    ];
    const SOLD_OUT: &[&str] = &[
        "article: DS06; in stock: yes",
        "article: GR01; in stock: no",
        "article: FT10; in stock: yes",
    ];
    const BEDS: &[&str] = &[
        "hut: Marmot; stove: yes; beds: 40; built: 1998",
        "hut: Chough; stove: no; built: 2001",
        "hut: Kestrel; stove: yes; beds: 12; built: 1950",
    ];

    /// A document whose lines are in chunks of two.
    fn chunks(lines: &[&str]) -> Vec<ChunkText> {
        let chunk = |(at, lines): (usize, &[&str])| {
            let first = 1 + 2 * at as u32;
            ChunkText {
                id: at as u64,
                document: "table.md".to_owned(),
                headings: vec!["Sensors, orders and huts".to_owned()],
                lines: [first, first + lines.len() as u32 - 1],
                text: lines.join("\n"),
                ..ChunkText::default()
            }
        };
        lines.chunks(2).enumerate().map(chunk).collect()
    }

    #[test]
    fn a_question_is_given_its_rows_whichever_chunks_they_are_in() {
        type Case = (
            &'static [&'static str],
            &'static str,
            &'static [u32],
            &'static str,
        );
        let cases: &[Case] = &[
            (
                SENSORS,
                "Which sensors run on mains?",
                &[1, 3],
                "power: Mains (2/4)",
            ),
            (
                SENSORS,
                "Which tide gauges have battery power?",
                &[2],
                "kind: tide gauge, power: Battery (1/4)",
            ),
            (
                SENSORS,
                "How many sensors are at Pier 3?",
                &[1, 4],
                "place: Pier 3 (2/4)",
            ),
            (
                SENSORS,
                "Which sensors are at Pier 7 or the lock?",
                &[2, 3],
                "place: Lock, Pier 7 (2/4)",
            ),
            (
                SENSORS,
                "Which sensors are solar?",
                &[4],
                "solar: yes (1/4)",
            ),
            (
                SENSORS,
                "Which sensors are not solar?",
                &[1, 2, 3],
                "solar: no (3/4)",
            ),
            (
                SENSORS,
                "Which tide gauge has the highest level?",
                &[3],
                "kind: tide gauge, max level (1/3)",
            ),
            (SENSORS, "Make a table of all sensors", &[1, 2, 3, 4], "4/4"),
            (
                SHIPS,
                "In which month did most container ships come?",
                &[3],
                "max Container ships (1/3)",
            ),
            (
                SHIPS,
                "Which month has the smallest number of ferries?",
                &[1],
                "min Ferries (1/3)",
            ),
            (
                ORDERS,
                "Which order has the highest amount?",
                &[2],
                "max amount (1/3)",
            ),
            (
                ORDERS,
                "Which order costs the least?",
                &[2],
                "min price (1/3)",
            ),
            (
                ORDERS,
                "Which orders are of Ann Dow?",
                &[1, 3],
                "buyer: Ann Dow (2/3)",
            ),
            (BEDS, "Which hut has the most beds?", &[1], "max beds (1/3)"),
            (
                BEDS,
                "How many huts have a stove?",
                &[1, 3],
                "stove: yes (2/3)",
            ),
            (
                BEDS,
                "Which huts have at least 20 beds?",
                &[1],
                "beds ≥ 20 (1/3)",
            ),
            (
                BEDS,
                "How many huts have between 10 and 50 beds?",
                &[1, 3],
                "beds ≥ 10 ≤ 50 (2/3)",
            ),
            (
                BEDS,
                "Which huts with a stove have more than 100 beds?",
                &[1],
                "stove: yes, beds > 100 (0/2), max beds (1/2)",
            ),
            (
                ORDERS,
                "Which orders of Ann Dow are above 2 EUR?",
                &[3],
                "buyer: Ann Dow, amount > 2 (1/2)",
            ),
            (
                GOODS_SOLD,
                "Which articles come from Kemira?",
                &[1, 3],
                "supplier: Kemira (2/3)",
            ),
            (
                GOODS_SOLD,
                "How many products are made by Kemira?",
                &[1, 3],
                "supplier: Kemira (2/3)",
            ),
            (
                GOODS_SOLD,
                "How many articles are out of stock?",
                &[2],
                "stock = 0 (1/3)",
            ),
            (
                GOODS_SOLD,
                "Which items are cheaper than 20 euros?",
                &[1, 3],
                "price_eur < 20 (2/3)",
            ),
            (
                GOODS_SOLD,
                "Which articles cost more than 50 EUR?",
                &[2],
                "price_eur > 50 (1/3)",
            ),
            (
                SOLD_OUT,
                "Which items are sold out?",
                &[2],
                "in stock = 0 (1/3)",
            ),
        ];
        for (lines, question, expected, how) in cases {
            let chunks = chunks(lines);
            let table = Table::read(&chunks[0], chunks.iter()).expect("it has rows");
            let asked = RowQuestion::read(question).expect(question);
            let chosen = table.choose(&asked, &chunks[0]).expect(question);
            let found: Vec<u32> = chosen.rows.iter().map(|row| row.lines[0]).collect();
            assert_eq!(
                (found.as_slice(), chosen.how.as_str()),
                (*expected, *how),
                "{question}"
            );
        }
    }

    #[test]
    fn what_no_rule_reads_is_left_to_the_model() {
        let cases: &[(&[&str], &[&str])] = &[
            (
                SENSORS,
                &[
                    // in two units
                    "Which sensor has the highest level?",
                    "Which sensors run on petrol?",
                    "Which sensors are not at Pier 3?",
                    "Which sensors on mains were replaced?",
                    "Which sensors on mains are at a pier?",
                    "Which sensors are at Pier 3 or run on mains?",
                    "Which of those sensors run on mains?",
                    "Which tide gauge has the second highest level?",
                    "Which sensors on mains does IT have?",
                    "Which sensors aren't solar and are at no pier?",
                    "Which sensors from Pier 3 to Pier 7 are solar?",
                    "Which sensors on mains are in use?",
                ],
            ),
            (
                ORDERS,
                &[
                    "Which day had the most orders?",
                    "What is the price of most of the orders?",
                    "Which orders of Ann Dow were made in 2023?",
                    "Which orders are above 2 kg?",
                    "Which orders of 2023 are above 2 EUR?",
                    "Which orders cost over 2 EUR and have an amount under 9 EUR?",
                    "Which orders went from Lima to Oslo?",
                    "Which order has the highest amount and the lowest price?",
                    "How many buyers are called Ann Dow?",
                    "Welche Bestellungen von Ann Dow kamen vor Mai?",
                ],
            ),
            (
                BEDS,
                &[
                    "Which huts with a sauna have at least 20 beds?",
                    "Which huts do not have at least 20 beds?",
                    "Which hut is the highest?",
                    "Which hut has the most beds in each order?",
                    "How many beds have the huts with a stove?",
                    "Which huts have no stove and no sauna?",
                    // a column that is a condition, and stop words
                    "Which huts can have a stove?",
                    "Does the hut with the most beds have a stove?",
                    "Which year had the most huts?",
                    "A table of all huts with a stove",
                    "Which huts with a stove have beds?",
                    "Which huts with a stove were built first?",
                ],
            ),
        ];
        for (lines, questions) in cases {
            let chunks = chunks(lines);
            let table = Table::read(&chunks[0], chunks.iter()).expect("it has rows");
            for question in *questions {
                let asked = RowQuestion::read(question);
                let chosen = asked.and_then(|asked| table.choose(&asked, &chunks[0]));
                assert_eq!(chosen.map(|chosen| chosen.how), None, "{question}");
            }
        }
    }

    #[test]
    fn a_table_has_the_columns_that_its_question_names() {
        let all = &["id", "kind", "place", "power", "level", "solar"][..];
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("Make a table of all sensors.", Some(all)),
            (
                "Make a table of all sensors with their level and place",
                Some(&["id", "place", "level"]),
            ),
            (
                "Erstelle eine Tabelle: sensors, kind, power",
                Some(&["id", "kind", "power"]),
            ),
            ("A table of all sensors with price and place", None),
            ("A table of the solar sensors with their place", None),
        ];
        let chunks = chunks(SENSORS);
        let table = Table::read(&chunks[0], chunks.iter()).expect("it has rows");
        for (question, expected) in cases {
            let asked = RowQuestion::read(question).expect(question);
            let chosen = table.choose(&asked, &chunks[0]);
            let columns = chosen.map(|chosen| chosen.columns);
            assert_eq!(columns.as_deref(), *expected, "{question}");
        }
    }

    #[test]
    fn rows_of_overlapping_chunks_are_there_once_with_their_lines() {
        for (text, lines, expected) in [
            ("a: 1; b: 2\na: 3; b: 4\na: 5; b: 6", [5, 7], [5, 6, 7]),
            ("a: 1; b: 2\n\na: 3; b: 4\na: 5; b: 6", [5, 7], [5, 6, 7]),
            ("a: 1; b: 2\n\na: 3; b: 4\na: 5; b: 6", [5, 8], [5, 7, 8]),
            ("a: 1; b: 2\na: 3; b: 4\na: 5; b: 6", [5, 9], [5, 5, 5]),
        ] {
            let chunk = ChunkText {
                lines,
                text: text.to_owned(),
                ..ChunkText::default()
            };
            let table = Table::read(&chunk, [&chunk, &chunk].into_iter()).expect("it has rows");
            assert!(
                table.rows.iter().map(|row| row.lines[0]).eq(expected),
                "{text:?}"
            );
        }
        let chunks = chunks(BEDS);
        let table = Table::read(&chunks[0], chunks.iter()).expect("it has rows");
        let rows: Vec<&Row> = table.rows.iter().take(2).collect();
        assert_eq!(
            to_markdown(&table.columns, &rows),
            "| hut | stove | beds | built |\n| --- | --- | --- | --- |\n\
             | Marmot | yes | 40 | 1998 |\n| Chough | no |  | 2001 |"
        );
    }
}
