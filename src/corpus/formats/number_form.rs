//! Numbers of workbooks as a reader of the sheet sees them, apart from the width of a number and
//! the language of a date: by the format of their cell (ECMA-376 part 1, 18.8.30 and 18.8.31).

use jiff::civil::{Time, date};

/// Excel's maximum number of decimals.
const MAX_DECIMALS: usize = 30;

/// The form in which the numbers of a cell style are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NumberForm {
    /// A number with all of its digits.
    General,
    Decimal(DecimalForm),
    /// A day, a time or both.
    Date,
    /// Hours, minutes and seconds, of more than a day, too.
    Duration,
}

/// A number with a fixed number of decimals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DecimalForm {
    /// The text around the number: the sign of a currency, a unit.
    before: String,
    after: String,
    decimals: usize,
    /// The number counts 10 to this power: -2 for percent, 3 for thousands.
    exponent: i32,
}

impl NumberForm {
    /// Returns the form of a built-in format; those with a currency depend on the language of
    /// Excel.
    pub fn from_built_in(id: u32) -> Self {
        match id {
            1 | 3 | 37 | 38 => Self::from_code("0"),
            2 | 4 | 39 | 40 => Self::from_code("0.00"),
            9 => Self::from_code("0%"),
            10 => Self::from_code("0.00%"),
            14..=22 | 27..=36 | 45 | 47 | 50..=58 => Self::Date,
            46 => Self::Duration,
            _ => Self::General,
        }
    }

    /// Returns the form that the first part of a format has, the one for positive numbers.
    pub fn from_code(code: &str) -> Self {
        let mut form = DecimalForm::default();
        // without texts
        let mut signs = String::new();
        let mut digits = String::new();
        let mut chars = code.chars();
        while let Some(c) = chars.next() {
            let mut text = String::new();
            match c {
                ';' => break,
                '"' => text.extend(chars.by_ref().take_while(|c| *c != '"')),
                '\\' => text.extend(chars.next()),
                // the width of a character, or one that fills the cell
                '_' | '*' => {
                    chars.next();
                }
                '[' => {
                    let inner: String = chars.by_ref().take_while(|c| *c != ']').collect();
                    let unit = inner.to_ascii_lowercase();
                    if matches!(unit.as_str(), "h" | "hh" | "m" | "mm" | "s" | "ss") {
                        return Self::Duration;
                    }
                    let currency = inner.strip_prefix('$').and_then(|of| of.split('-').next());
                    text.extend(currency);
                }
                '0' | '#' | '?' | '.' | ',' => {
                    // text between digits, as in a telephone number, needs all of the format
                    if !form.after.trim().is_empty() {
                        signs.push('@');
                    }
                    form.after.clear();
                    digits.push(c);
                }
                '%' => {
                    form.exponent -= 2;
                    text.push(c);
                }
                '$' | ' ' => text.push(c),
                _ if c.is_ascii() => signs.push(c.to_ascii_lowercase()),
                _ => text.push(c),
            }
            if digits.is_empty() {
                form.before += &text;
            } else {
                form.after += &text;
            }
        }

        if signs.contains(['y', 'd', 'h', 's', 'm']) {
            return Self::Date;
        }
        // a text, a fraction, a power of ten, the word `General`
        if digits.is_empty() || signs.contains(['@', '/', 'e']) {
            return Self::General;
        }
        let places = digits.trim_end_matches(',');
        let decimals = places.split_once('.').map_or("", |(_, decimals)| decimals);
        form.decimals = decimals.len().min(MAX_DECIMALS);
        form.exponent += 3 * (digits.len() - places.len()) as i32;
        Self::Decimal(form)
    }

    /// Returns a number in this form, whose days count from 1904 or 1900.
    pub fn text(&self, number: f64, counts_from_1904: bool) -> String {
        match self {
            Self::General => digits(number),
            Self::Decimal(form) => form.text(number),
            Self::Date => date_time(number, counts_from_1904).unwrap_or_else(|| digits(number)),
            Self::Duration => duration(number),
        }
    }
}

impl DecimalForm {
    fn text(&self, number: f64) -> String {
        let sign = if number < 0.0 { "-" } else { "" };
        let number = number.abs() / 10_f64.powi(self.exponent);
        let [before, after] = [self.before.trim_start(), self.after.trim_end()];
        format!("{sign}{before}{number:.*}{after}", self.decimals)
    }
}

/// Returns a number with the 15 digits that Excel keeps.
fn digits(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// Returns the date, the time or both that a count of days stands for.
fn date_time(days: f64, counts_from_1904: bool) -> Option<String> {
    let seconds = (days.fract() * 86_400.0).round();
    let time = Time::midnight().saturating_add(jiff::SignedDuration::from_secs(seconds as i64));
    if (0.0..1.0).contains(&days) {
        return Some(time.to_string());
    }

    // Excel counts a 29 February 1900, which never was.
    let zero = if counts_from_1904 {
        date(1904, 1, 1)
    } else if (0.0..60.0).contains(&days) {
        date(1899, 12, 31)
    } else {
        date(1899, 12, 30)
    };
    let whole = jiff::Span::new().try_days(days.trunc() as i64).ok()?;
    let day = zero.checked_add(whole).ok()?;
    let has_time = seconds >= 1.0;
    Some(if has_time {
        format!("{day} {time}")
    } else {
        day.to_string()
    })
}

fn duration(days: f64) -> String {
    let sign = if days < 0.0 { "-" } else { "" };
    let seconds = (days.abs() * 86_400.0).round() as u64;
    let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    format!("{sign}{hours}:{minutes:02}:{seconds:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_their_format() {
        let cases = [
            (0.1 + 0.2, "General", "0.3"),
            (1e3, "General", "1000"),
            (12_345_678_901.0, "General", "12345678901"),
            (12.0, "[Blue]General", "12"),
            (7.0, "@", "7"),
            (7.0, "", "7"),
            (0.125, "0.0%", "12.5%"),
            (0.125, "0.0\\ %", "12.5 %"),
            (-0.5, "0%", "-50%"),
            (6.12345, "#,##0.00 \"days\";[Red]-0", "6.12 days"),
            (3.0, "[$-409]#,##0", "3"),
            (3.7, "0.\"", "4"),
            (1234.5, "\"$\"#,##0.00", "$1234.50"),
            (1234.5, "$#,##0.00_);($#,##0.00)", "$1234.50"),
            (-1234.5, "#,##0.00_);(#,##0.00)", "-1234.50"),
            (-99.95, "#,##0.00\\ [$€-407]", "-99.95 €"),
            (99.95, "#\\ ##0.00\\ €", "99.95 €"),
            (7.0, "_-[$£-809]* #,##0.00_-;\\-[$£-809]* 0", "£7.00"),
            (7.0, "[$CHF] 0", "CHF 7"),
            (1_234_567.0, "0.0,,\"M\"", "1.2M"),
            (12.0, "0.00E+00", "12"),
            (0.75, "# ?/?", "0.75"),
            (123_456_789.0, "000\\-00\\-0000", "123456789"),
            (45322.0, "yyyy\\-mm\\-dd", "2024-01-31"),
            (45322.5, "d/m/yyyy", "2024-01-31 12:00:00"),
            (45322.0, "mmmm", "2024-01-31"),
            (45322.0, "[$-404]e\"年\"m\"月\"", "2024-01-31"),
            (59.0, "d", "1900-02-28"),
            (61.0, "d", "1900-03-01"),
            (0.75, "h:mm AM/PM", "18:00:00"),
            (-4.0, "d", "1899-12-26"),
            (1e300, "d", &digits(1e300)),
            (27.5 / 24.0, "[h]:mm:ss", "27:30:00"),
            (0.0625, "[mm]:ss", "1:30:00"),
            (-0.5, "[Blue][HH]:mm", "-12:00:00"),
        ];
        for (number, code, text) in cases {
            let form = NumberForm::from_code(code);
            assert_eq!(form.text(number, false), text, "{number} as {code}");
        }
        assert_eq!(NumberForm::Date.text(43860.0, true), "2024-01-31");
    }

    #[test]
    fn numbers_by_built_in_formats() {
        let cases = [
            (0, "0.5"),
            (4, "0.50"),
            (9, "50%"),
            (20, "12:00:00"),
            (46, "12:00:00"),
        ];
        for (id, text) in cases {
            assert_eq!(NumberForm::from_built_in(id).text(0.5, false), text, "{id}");
        }
    }
}
