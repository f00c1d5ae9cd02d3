//! The rows of a table that a question asks for: those whose cells it names, and of these the one
//! with the largest or the smallest number. A small model reads a long table wrongly where it must
//! compare its rows, and a long one is in several chunks.

use std::collections::BTreeSet;
use std::slice;

use crate::corpus::{language, split_words};
use crate::event::{ChunkPart, ChunkText, document_stem};

use super::scope::{asks_for_number, asks_for_table, find_words};
use super::wording::stems;

/// A table of fewer rows is read as it is.
const MIN_ROWS: usize = 3;
/// Rows that are shown, and those where their number alone is asked for.
const MAX_SHOWN: usize = 24;
const MAX_COUNTED: usize = 6;

/// Words that ask for the largest and for the smallest number, in lower case; those behind `true`
/// say of what, so that a table with one column of numbers needs no name of it.
#[rustfmt::skip]
const EXTREMES: [(Extreme, bool, &[&str]); 4] = [
    (Extreme::Largest, true, &[
        "highest", "largest", "biggest", "longest", "tallest", "heaviest", "deepest", "greatest",
        "most expensive", "maximum", "höchste", "höchsten", "größte", "größten", "längste",
        "längsten", "schwerste", "teuerste", "teuersten", "le plus grand", "la plus grande",
        "le plus long", "le plus cher", "la plus chère", "más grande", "más alto", "más alta",
        "más largo", "más caro", "más cara", "最高", "最大", "最长", "最贵", "最重",
    ]),
    (Extreme::Smallest, true, &[
        "lowest", "smallest", "shortest", "lightest", "cheapest", "least expensive", "minimum",
        "niedrigste", "niedrigsten", "kleinste", "kleinsten", "kürzeste", "günstigste",
        "günstigsten", "billigste", "le plus petit", "la plus petite", "le moins cher",
        "la moins chère", "más pequeño", "más barato", "más barata", "最低", "最小", "最短", "最便宜",
    ]),
    (Extreme::Largest, false, &[
        "most", "meisten", "le plus", "la plus", "les plus", "mayor", "el más", "la más", "con más",
        "最多",
    ]),
    (Extreme::Smallest, false, &[
        "fewest", "least", "wenigsten", "le moins", "la moins", "les moins", "menor", "con menos",
        "最少",
    ]),
];
/// Beginnings of words that are about a price, and names of its column, in lower case.
#[rustfmt::skip]
const COSTLY: &[&str] = &[
    "expensive", "cheap", "cost", "teuer", "günstig", "billig", "koste", "cher", "chère", "coûte",
    "caro", "cara", "barat", "cuesta", "贵", "便宜",
];
const PRICES: &str = " price cost fee preis kosten gebühr prix coût precio coste 价格";
/// Words of a question for the rows without something, in lower case.
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "no", "without", "except", "nicht", "kein", "keine", "keinen", "ohne", "außer", "pas",
    "sans", "sauf", "sin", "excepto", "没有", "不",
];
/// Words of any question for rows, in lower case.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "list", "show", "make", "create", "name", "give", "table", "overview", "all", "many", "number",
    "count", "run", "come", "came", "pay", "cost", "use", "stand", "lie", "belong", "liste", "zeige",
    "nenne", "erstelle", "mache", "tabelle", "alle", "viele", "anzahl", "kommen", "kamen", "zahlt",
    "kostet", "hat", "haben", "steht", "stehen", "tableau", "fais", "nombre", "combien", "coûte",
    "tabla", "haz", "número", "cuántos", "cuesta", "tiene", "tienen",
];
/// The cells of a column that says whether, in lower case.
const YES: &[&str] = &[
    "yes", "y", "true", "x", "✓", "✔", "ja", "oui", "sí", "是", "有",
];
const NO: &[&str] = &[
    "no", "n", "false", "", "-", "–", "✗", "nein", "non", "否", "无",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Largest,
    Smallest,
}

/// A question for rows, in lower case.
pub struct RowQuestion {
    pub text: String,
    pub is_count: bool,
    is_table: bool,
    /// The kind of its extreme, whether that says of what it is, and what stands behind it.
    extreme: Option<(Extreme, bool, String)>,
    /// The words behind a negation.
    denied: Vec<String>,
}

impl RowQuestion {
    pub fn read(question: &str) -> Self {
        let text = question.to_lowercase();
        let behind = |word: &&str| Some(&text[find_words(&text, word)? + word.len()..]);
        let extreme = EXTREMES.iter().find_map(|(extreme, says_what, words)| {
            let mut behind = words.iter().find_map(behind)?.to_owned();
            if COSTLY.iter().any(|word| text.contains(word)) {
                behind.push_str(PRICES);
            }
            Some((*extreme, *says_what, behind))
        });
        let denied = NEGATIONS.iter().filter_map(behind).filter_map(|behind| {
            let next = split_words(behind).next();
            next.map(str::to_owned)
        });
        Self {
            denied: denied.collect(),
            extreme,
            is_count: asks_for_number(question),
            is_table: asks_for_table(question),
            text,
        }
    }

    pub fn asks_for_extreme(&self) -> bool {
        self.extreme.is_some()
    }

    pub fn max_rows(&self) -> usize {
        if self.is_count {
            MAX_COUNTED
        } else {
            MAX_SHOWN
        }
    }
}

/// The rows of a table in their order, whichever chunks they are in.
pub struct Table<'c> {
    rows: Vec<Row<'c>>,
    language: &'static str,
}

struct Row<'c> {
    chunk: &'c ChunkText,
    line: u32,
    text: &'c str,
    cells: Vec<(&'c str, &'c str)>,
}

impl<'c> Table<'c> {
    /// Reads the table of a text out of the chunks of its section: the rows whose first column has
    /// the same name.
    pub fn new(of: &ChunkText, section: &'c [ChunkText]) -> Self {
        let mut rows: Vec<Row<'c>> = Vec::new();
        for chunk in section {
            for (line, text) in (chunk.lines[0]..).zip(chunk.text.lines()) {
                let line = line.min(chunk.lines[1]);
                let is_known = |row: &Row| row.line == line && row.text == text;
                if let Some(cells) = cells(text).filter(|_| !rows.iter().rev().any(is_known)) {
                    rows.push(Row {
                        chunk,
                        line,
                        text,
                        cells,
                    });
                }
            }
        }

        let name = of.text.lines().find_map(cells);
        let name = name.and_then(|cells| cells.first().map(|(name, _)| (*name).to_owned()));
        rows.retain(|row| name.as_deref() == row.cells.first().map(|(name, _)| *name));
        Self {
            rows,
            language: language(&of.text),
        }
    }

    /// Returns the rows that a question asks for; `None` where it names no cell and no column, or
    /// all rows have what it names.
    pub fn choose(&self, question: &RowQuestion) -> Option<Chosen<'_>> {
        if self.rows.len() < MIN_ROWS {
            return None;
        }
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        let mut how = Vec::new();
        for (column, values) in self.named_cells(question)? {
            let is_named = |row: &&Row| row.value(column).is_some_and(|cell| values.contains(cell));
            rows.retain(is_named);
            let values: Vec<&str> = values.iter().copied().collect();
            how.push(format!("{column}: {}", values.join(", ")));
        }
        if rows.is_empty() {
            return None;
        }

        let mut among = self.rows.len();
        if let Some((extreme, says_what, behind)) = &question.extreme {
            let column = self.number_column(&rows, &question.text, behind, *says_what)?;
            among = rows.len();
            keep_extreme(&mut rows, column, *extreme);
            how.push(match extreme {
                Extreme::Largest => format!("max {column}"),
                Extreme::Smallest => format!("min {column}"),
            });
        }
        let count = rows.len();
        let is_all = how.is_empty() && question.is_table;
        let place = format!("{} ({count}/{among})", how.join(", "));
        let place = place.trim_start().to_owned();
        (count < among || is_all).then_some(Chosen { rows, place })
    }

    /// Returns whether the words of a question are those of the cells and the columns, of the place
    /// of the table, of the extreme, or of any question.
    pub fn reads_all(&self, question: &RowQuestion, of: &ChunkText) -> bool {
        let mut left = stems(&question.text, self.language);
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let cells = cells.flat_map(|(name, value)| [*name, *value]);
        let place = of.headings.iter().map(String::as_str);
        let place = place.chain([document_stem(&of.document)]);
        let extremes = EXTREMES.iter().flat_map(|(_, _, words)| *words);
        let known = cells
            .chain(place)
            .chain(ASKING.iter().chain(extremes).copied());
        for text in known {
            let words = stems(text, self.language);
            left.retain(|word| !words.contains(word));
        }
        left.is_empty()
    }

    /// Returns the chunks that its rows are in.
    pub fn chunks(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.chunk.id)
    }

    /// Returns whether a text has rows of the same columns.
    pub fn is_like(&self, text: &ChunkText) -> bool {
        let first = self.rows.first().and_then(|row| row.cells.first());
        let mut rows = text.text.lines().filter_map(cells);
        rows.any(|cells| cells.first().map(|(name, _)| name) == first.map(|(name, _)| name))
    }

    /// Returns the cells that the words of a question name whole, by their column: all of a column
    /// that says whether, where they name that. `None` where the question denies something else.
    fn named_cells(&self, question: &RowQuestion) -> Option<Vec<(&str, BTreeSet<&str>)>> {
        let asked = &stems(&question.text, self.language);
        let mut denied: Vec<BTreeSet<String>> = Vec::new();
        for word in &question.denied {
            denied.push(stems(word, self.language));
        }

        let mut columns: Vec<&str> = Vec::new();
        let mut named = Vec::new();
        for (column, _) in self.rows.iter().flat_map(|row| &row.cells) {
            if columns.contains(column) {
                continue;
            }
            columns.push(column);
            let values = self.rows.iter().filter_map(|row| row.value(column));
            let mut values: BTreeSet<&str> = values.collect();
            if values
                .iter()
                .all(|value| says(YES, value) || says(NO, value))
            {
                let of_column = stems(column, self.language);
                let before = denied.len();
                denied.retain(|words| words.is_disjoint(&of_column));
                let wanted = if denied.len() < before { NO } else { YES };
                values.retain(|value| says(wanted, value) && self.is_named(column, asked));
            } else {
                values.retain(|value| {
                    let mut parts = value.split([',', ';']);
                    number(value).is_none() && parts.any(|part| self.is_named(part, asked))
                });
            }
            named.extend((!values.is_empty()).then_some((*column, values)));
        }
        denied.is_empty().then_some(named)
    }

    /// Returns the column of numbers in one unit that the question names best, behind its extreme
    /// before elsewhere; the only one where the extreme says of what it is.
    fn number_column<'r>(
        &self,
        rows: &[&Row<'r>],
        question: &str,
        behind: &str,
        says_what: bool,
    ) -> Option<&'r str> {
        let first = rows.first()?;
        let is_number = |column: &str| {
            let read = rows.iter().map(|row| row.value(column).and_then(number));
            let read: Option<Vec<(f64, &str)>> = read.collect();
            read.is_some_and(|read| read.windows(2).all(|two| two[0].1 == two[1].1))
        };
        let columns = first.cells.iter().map(|(name, _)| *name);
        let columns: Vec<&str> = columns.filter(|column| is_number(column)).collect();
        let [asked, near] = [question, behind].map(|text| stems(text, self.language));
        let common = |column: &&str| {
            let words = stems(column, self.language);
            let near = words.intersection(&near).count();
            (near, words.intersection(&asked).count())
        };
        match columns.as_slice() {
            [only] if says_what => Some(only),
            _ => {
                let best = columns.iter().copied().rev().max_by_key(common);
                best.filter(|column| common(column) > (0, 0))
            }
        }
    }

    /// Returns whether the words of a question name all of a text.
    fn is_named(&self, text: &str, asked: &BTreeSet<String>) -> bool {
        let words = stems(text, self.language);
        !words.is_empty() && words.is_subset(asked)
    }
}

impl<'c> Row<'c> {
    fn value(&self, column: &str) -> Option<&'c str> {
        let mut cells = self.cells.iter();
        cells
            .find(|(name, _)| *name == column)
            .map(|(_, value)| *value)
    }
}

/// The rows that a question asks for, and how they were chosen.
pub struct Chosen<'t> {
    rows: Vec<&'t Row<'t>>,
    place: String,
}

impl Chosen<'_> {
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows as one text in the place of a chunk of their table.
    pub fn chunk(&self, of: &ChunkText, max_rows: usize) -> ChunkText {
        let mut chunk = ChunkText {
            headings: [of.headings.as_slice(), slice::from_ref(&self.place)].concat(),
            text: String::new(),
            parts: Vec::new(),
            places: Vec::new(),
            ..of.clone()
        };
        for row in self.rows.iter().take(max_rows) {
            let start = chunk.text.len() as u64;
            chunk.text.push_str(row.text);
            chunk.parts.push(ChunkPart {
                chunk: row.chunk.id,
                bytes: row.chunk.bytes,
                lines: [row.line, row.line],
                text: [start, chunk.text.len() as u64],
            });
            chunk.text.push('\n');
            let new = row.chunk.places.iter();
            chunk.places.extend(
                new.filter(|from| !chunk.places.contains(from))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
        }
        if let (Some(first), Some(last)) = (chunk.parts.first(), chunk.parts.last()) {
            chunk.bytes = [first.bytes[0], last.bytes[1]];
            chunk.lines = [first.lines[0], last.lines[1]];
        }
        chunk
    }
}

/// Returns whether a text has rows of a table whose columns have names.
pub fn has_rows(text: &str) -> bool {
    text.lines().any(|line| cells(line).is_some())
}

/// Returns the names and the values of a row as the readers write it, `| name: value | … |` or
/// `name: value; …`; `None` for another line.
fn cells(line: &str) -> Option<Vec<(&str, &str)>> {
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

fn says(words: &[&str], value: &str) -> bool {
    words.contains(&value.to_lowercase().as_str())
}

/// Keeps the rows with the largest or the smallest number of a column.
fn keep_extreme(rows: &mut Vec<&Row<'_>>, column: &str, extreme: Extreme) {
    let value = |row: &&Row| row.value(column).and_then(number).map(|(value, _)| value);
    let values = rows.iter().filter_map(value);
    let best = match extreme {
        Extreme::Largest => values.reduce(f64::max),
        Extreme::Smallest => values.reduce(f64::min),
    };
    rows.retain(|row| value(row) == best);
}

/// Returns the number that a cell is, with its unit: `18,400 EUR`, `12,40`, `-3 °C`.
fn number(cell: &str) -> Option<(f64, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || "-., '\u{a0}\u{202f}".contains(c);
    let cell = cell.trim_start_matches(['€', '$', '£', ' ']);
    let end = cell.find(|c| !is_part(c)).unwrap_or(cell.len());
    let (digits, unit) = (
        cell[..end].trim_end_matches(['.', ',', ' ']),
        cell[end..].trim(),
    );
    let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    if has_digit(unit) || !has_digit(digits) {
        return None;
    }

    let plain = |text: &str| -> String {
        text.chars()
            .filter(|c| !"., '\u{a0}\u{202f}".contains(*c))
            .collect()
    };
    let (whole, fraction) = digits
        .rsplit_once([',', '.'])
        .filter(|(whole, behind)| {
            // one sign between groups of three is that of thousands
            let other = if digits[whole.len()..].starts_with(',') {
                '.'
            } else {
                ','
            };
            behind.len() != 3 || *whole == "0" || whole.contains(other)
        })
        .unwrap_or((digits, "0"));
    let value = format!("{}.{fraction}", plain(whole)).parse().ok()?;
    Some((value, unit))
}

/// Returns rows as a table of Markdown: names of columns stand above it, and in no cell.
pub fn to_markdown<'r>(rows: impl Iterator<Item = &'r str>) -> String {
    let rows: Vec<Vec<(&str, &str)>> = rows.filter_map(cells).collect();
    let names: Vec<&str> = rows
        .first()
        .map_or_else(Vec::new, |row| row.iter().map(|(name, _)| *name).collect());
    let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
    let values = rows.iter().map(|row| {
        let value = |name: &&str| row.iter().find(|(known, _)| known == name);
        let values = names
            .iter()
            .map(|name| value(name).map_or("", |(_, value)| value));
        line(values.collect())
    });
    let head = [line(names.clone()), line(vec!["---"; names.len()])];
    let lines: Vec<String> = head.into_iter().chain(values).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENSORS: &[&str] = &[
        "| id: TG-01 | kind: tide gauge | place: Pier 3 | power: mains | threshold: 5.40 m | solar: no |",
        "| id: TG-02 | kind: tide gauge | place: Pier 7 | power: battery | threshold: 5.65 m | solar: no |",
        "| id: TG-03 | kind: tide gauge | place: Lock | power: mains | threshold: 5.80 m | solar: no |",
        "| id: WS-01 | kind: wind sensor | place: Pier 3 | power: battery | threshold: 24 m/s | solar: yes |",
    ];
    const SHIPS: &[&str] = &[
        "Month: May; Container ships: 1,021; Ferries: 71",
        "Month: June; Container ships: 22; Ferries: 92",
        "Month: July; Container ships: 1,022; Ferries: 80",
    ];

    const ORDERS: &[&str] = &[
        "order: 7; amount: 1.50 EUR; price: 3",
        "order: 8; amount: 12.00 EUR; price: 1",
        "order: 9; amount: 3.00 EUR; price: 2",
    ];

    /// A document whose lines are in chunks of two.
    fn chunks(lines: &[&str]) -> Vec<ChunkText> {
        let chunk = |(at, lines): (usize, &[&str])| {
            let first = 1 + 2 * at as u32;
            ChunkText {
                id: at as u64,
                document: "table.md".to_owned(),
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
            Option<(&'static [u32], &'static str)>,
        );
        let cases: [Case; 17] = [
            (
                SENSORS,
                "Which sensors run on mains power?",
                Some((&[1, 3], "power: mains (2/4)")),
            ),
            (
                SENSORS,
                "Which tide gauges have a battery?",
                Some((&[2], "kind: tide gauge, power: battery (1/4)")),
            ),
            (
                SENSORS,
                "How many sensors are at Pier 3?",
                Some((&[1, 4], "place: Pier 3 (2/4)")),
            ),
            (
                SENSORS,
                "Which sensors are solar?",
                Some((&[4], "solar: yes (1/4)")),
            ),
            (
                SENSORS,
                "Which tide gauge has the highest threshold?",
                Some((&[3], "kind: tide gauge, max threshold (1/3)")),
            ),
            (
                SENSORS,
                "Which sensors are not solar?",
                Some((&[1, 2, 3], "solar: no (3/4)")),
            ),
            (SENSORS, "Which sensors are not at Pier 3?", None),
            (
                SENSORS,
                "A table of the sensors",
                Some((&[1, 2, 3, 4], "(4/4)")),
            ),
            (
                ORDERS,
                "Which order has the highest amount?",
                Some((&[2], "max amount (1/3)")),
            ),
            (
                ORDERS,
                "Which order costs the least?",
                Some((&[2], "min price (1/3)")),
            ),
            // in two units
            (SENSORS, "Which sensor has the highest threshold?", None),
            (SENSORS, "Which sensors run on petrol?", None),
            (SENSORS, "Which sensors are near the lighthouse?", None),
            (
                SHIPS,
                "In which month did most container ships come?",
                Some((&[3], "max Container ships (1/3)")),
            ),
            (
                SHIPS,
                "Which month has the smallest number of ferries?",
                Some((&[1], "min Ferries (1/3)")),
            ),
            (SHIPS, "Who works most?", None),
            (&SHIPS[..2], "In which month did most ferries come?", None),
        ];
        for (lines, question, expected) in cases {
            let chunks = chunks(lines);
            let table = Table::new(&chunks[0], &chunks);
            assert_eq!(table.rows.len(), lines.len());
            let chosen = table.choose(&RowQuestion::read(question));
            let found = chosen.map(|chosen| {
                let chunk = chosen.chunk(&chunks[0], MAX_SHOWN);
                let texts: Vec<&str> = chunk.text.lines().collect();
                let rows: Vec<u32> = chunk.parts.iter().map(|part| part.lines[0]).collect();
                let of_rows: Vec<&str> =
                    rows.iter().map(|line| lines[*line as usize - 1]).collect();
                assert_eq!(texts, of_rows, "{question}");
                (rows, chosen.place)
            });
            let expected = expected.map(|(rows, place)| (rows.to_vec(), place.to_owned()));
            assert_eq!(found, expected, "{question}");
        }
    }

    #[test]
    fn a_rule_answers_where_it_reads_all_words() {
        let chunks = chunks(SENSORS);
        let table = Table::new(&chunks[0], &chunks);
        let of = ChunkText {
            headings: vec!["Sensors of the harbour".to_owned()],
            ..chunks[0].clone()
        };
        for (question, is_read) in [
            ("Which sensors run on mains power?", true),
            ("Which tide gauge has the highest threshold?", true),
            ("Make a table of all sensors", true),
            ("Which sensors on mains power were replaced?", false),
        ] {
            assert_eq!(
                table.reads_all(&RowQuestion::read(question), &of),
                is_read,
                "{question}"
            );
        }
        let table = to_markdown(ORDERS[..2].iter().copied());
        assert_eq!(
            table,
            "| order | amount | price |\n| --- | --- | --- |\n| 7 | 1.50 EUR | 3 |\n| 8 | 12.00 EUR | 1 |"
        );
    }

    #[test]
    fn cells_are_numbers_with_a_unit() {
        for (cell, expected) in [
            ("5.65 m", Some((5.65, "m"))),
            ("18,400 EUR", Some((18400.0, "EUR"))),
            ("€ 1.234,50", Some((1234.5, ""))),
            ("12,40", Some((12.4, ""))),
            ("0.125", Some((0.125, ""))),
            ("1 987", Some((1987.0, ""))),
            ("-3 °C", Some((-3.0, "°C"))),
            ("Pier 7", None),
            ("10 of 12", None),
            ("2024-05-07", None),
            ("", None),
        ] {
            assert_eq!(number(cell), expected, "{cell}");
        }
    }
}
