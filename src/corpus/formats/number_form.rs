//! Numbers of workbooks as a reader of the sheet sees them, apart from the width of a number and
//! the language of a date: by the format of their cell (ECMA-376 part 1, 18.8.30 and 18.8.31).

use jiff::civil::{Date, Time, date};

/// Excel's maximum number of decimals.
const MAX_DECIMALS: usize = 30;

/// The form in which the numbers of a cell style are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NumberForm {
    /// A number with all of its digits.
    General,
    Decimal(DecimalForm),
    Date(DateForm),
    Duration(DurationForm),
}

/// A number with a fixed number of decimals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DecimalForm {
    /// The text around the number: the sign of a currency, a unit.
    before: String,
    after: String,
    /// The digits before the point, with zeros in front.
    whole: usize,
    decimals: usize,
    /// The number counts 10 to this power: -2 for percent, 3 for thousands.
    exponent: i32,
}

/// A day, a time or both, by the parts that are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DateForm {
    has_year: bool,
    has_day: bool,
    /// The letters that show the month and the weekday: 3 are the beginning of the name, 4 all of
    /// it.
    month: usize,
    weekday: usize,
    has_clock: bool,
    has_seconds: bool,
}

/// Hours, minutes and seconds, of more than a day, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationForm {
    /// The largest unit, which counts on beyond its next one: `h`, `m` or `s`.
    unit: char,
    has_minutes: bool,
    has_seconds: bool,
}

impl NumberForm {
    /// The form of a day that no format describes.
    pub const DATE: Self = Self::Date(DateForm {
        has_year: true,
        has_day: true,
        month: 2,
        weekday: 0,
        has_clock: true,
        has_seconds: true,
    });
    /// The form of a duration that no format describes.
    pub const DURATION: Self = Self::Duration(DurationForm {
        unit: 'h',
        has_minutes: true,
        has_seconds: true,
    });

    /// Returns the form of a built-in format; those with a currency depend on the language of
    /// Excel.
    pub fn from_built_in(id: u32) -> Self {
        match id {
            1 | 3 | 37 | 38 => Self::from_code("0"),
            2 | 4 | 39 | 40 => Self::from_code("0.00"),
            9 => Self::from_code("0%"),
            10 => Self::from_code("0.00%"),
            17 => Self::from_code("mmm-yy"),
            18 | 20 => Self::from_code("h:mm"),
            14..=16 | 19 | 21 | 22 | 27..=36 | 45 | 47 | 50..=58 => Self::DATE,
            46 => Self::DURATION,
            _ => Self::General,
        }
    }

    /// Returns the form that the first part of a format has, the one for positive numbers.
    pub fn from_code(code: &str) -> Self {
        let CodeParts {
            mut form,
            signs,
            digits,
            unit,
        } = CodeParts::new(code);
        if let Some(unit) = unit {
            return Self::Duration(DurationForm {
                unit,
                has_minutes: unit == 'h' && signs.contains('m'),
                has_seconds: unit != 's' && signs.contains('s'),
            });
        }
        if signs.contains(['y', 'd', 'h', 's', 'm']) {
            return Self::Date(DateForm::from_signs(&signs));
        }
        // a text, a fraction, a power of ten, the word `General`
        if digits.is_empty() || signs.contains(['@', '/', 'e']) {
            return Self::General;
        }

        // a comma behind the digits divides by a thousand
        let places = digits.trim_end_matches(',');
        let (whole, decimals) = places.split_once('.').unwrap_or((places, ""));
        form.whole = whole.matches('0').count().min(MAX_DECIMALS);
        form.decimals = decimals.len().min(MAX_DECIMALS);
        form.exponent += 3 * (digits.len() - places.len()) as i32;
        Self::Decimal(form)
    }

    /// Returns a number in this form, whose days count from 1904 or 1900.
    pub fn text(&self, number: f64, counts_from_1904: bool) -> String {
        match self {
            Self::General => digits(number),
            Self::Decimal(form) => form.text(number),
            Self::Date(form) => {
                let text = form.text(number, counts_from_1904);
                text.unwrap_or_else(|| digits(number))
            }
            Self::Duration(form) => form.text(number),
        }
    }
}

/// The parts of a format code.
#[derive(Default)]
struct CodeParts {
    /// The texts around the digits, and the percent.
    form: DecimalForm,
    /// Letters and other signs, without texts.
    signs: String,
    digits: String,
    /// The unit in brackets, which counts beyond its limit: `[h]`.
    unit: Option<char>,
}

impl CodeParts {
    fn new(code: &str) -> Self {
        let mut parts = Self::default();
        let mut chars = code.chars();
        while let Some(c) = chars.next() {
            let mut text = String::new();
            match c {
                // the other parts are for negative numbers, zero and texts
                ';' => break,
                '"' => text.extend(chars.by_ref().take_while(|c| *c != '"')),
                '\\' => text.extend(chars.next()),
                // the width of a character, or one that fills the cell
                '_' | '*' => {
                    chars.next();
                }
                '[' => {
                    let inner: String = chars.by_ref().take_while(|c| *c != ']').collect();
                    text.extend(parts.add_bracket(&inner));
                }
                '0' | '#' | '?' | '.' | ',' => parts.add_digit(c),
                // a percent multiplies by 100, wherever it stands
                '%' => {
                    parts.form.exponent -= 2;
                    text.push(c);
                }
                '$' | ' ' => {
                    text.push(c);
                    parts.signs.push(' ');
                }
                _ if c.is_ascii() => parts.signs.push(c.to_ascii_lowercase()),
                _ => text.push(c),
            }

            if parts.digits.is_empty() {
                parts.form.before += &text;
            } else {
                parts.form.after += &text;
            }
        }
        parts
    }

    /// Takes what is in brackets, and returns the sign of a currency: `€` of `[$€-407]`.
    fn add_bracket<'a>(&mut self, inner: &'a str) -> Option<&'a str> {
        let lower = inner.to_ascii_lowercase();
        if matches!(lower.as_str(), "h" | "hh" | "m" | "mm" | "s" | "ss") {
            self.unit = lower.chars().next();
        }
        inner.strip_prefix('$').and_then(|of| of.split('-').next())
    }

    fn add_digit(&mut self, digit: char) {
        // text between digits, as in a telephone number, needs all of the format
        if !self.form.after.trim().is_empty() {
            self.signs.push('@');
        }
        self.form.after.clear();
        self.digits.push(digit);
    }
}

impl DecimalForm {
    fn text(&self, number: f64) -> String {
        let sign = if number < 0.0 { "-" } else { "" };
        let number = number.abs() / 10_f64.powi(self.exponent);
        let [before, after] = [self.before.trim_start(), self.after.trim_end()];
        let point = usize::from(self.decimals > 0);
        let width = self.whole + point + self.decimals;
        format!("{sign}{before}{number:0width$.*}{after}", self.decimals)
    }
}

/// Returns a number with the 15 digits that Excel keeps.
fn digits(number: f64) -> String {
    // 0.1 + 0.2 is shown as 0.3
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

impl DateForm {
    /// Returns the form of the letters of a format: `m` is a month, and minutes beside hours and
    /// seconds.
    fn from_signs(signs: &str) -> Self {
        let mut form = Self::default();
        // its letters are none of months or minutes
        let signs = signs.replace("am/pm", "").replace("a/p", "");

        let mut runs: Vec<(char, usize)> = Vec::new();
        let mut before = ' ';
        for letter in signs.chars() {
            match runs.last_mut().filter(|_| before == letter) {
                Some((_, count)) => *count += 1,
                None if "yedhms".contains(letter) => runs.push((letter, 1)),
                None => {}
            }
            before = letter;
        }

        for (at, (letter, count)) in runs.iter().enumerate() {
            let beside = |at: Option<usize>, other: char| {
                at.and_then(|at| runs.get(at))
                    .is_some_and(|run| run.0 == other)
            };
            match letter {
                'y' | 'e' => form.has_year = true,
                'd' if *count < 3 => form.has_day = true,
                'd' => form.weekday = *count,
                'h' => form.has_clock = true,
                's' => {
                    form.has_clock = true;
                    form.has_seconds = true;
                }
                _ if beside(at.checked_sub(1), 'h') || beside(Some(at + 1), 's') => {
                    form.has_clock = true;
                }
                _ => form.month = *count,
            }
        }

        form
    }

    /// Returns what a count of days stands for; `None` for one that is no day.
    fn text(&self, days: f64, counts_from_1904: bool) -> Option<String> {
        let seconds = (days.fract() * 86_400.0).round();
        let time = Time::midnight().saturating_add(jiff::SignedDuration::from_secs(seconds as i64));
        let clock = if self.has_seconds || !self.has_clock || time.second() > 0 && self.has_day {
            time.strftime("%H:%M:%S").to_string()
        } else {
            time.strftime("%H:%M").to_string()
        };
        let shows_day = self.has_year || self.has_day || self.month > 0 || self.weekday > 0;
        if (0.0..1.0).contains(&days) || !shows_day {
            return Some(clock);
        }

        let day = day(days, counts_from_1904)?;
        if !self.has_day {
            return Some(self.names(day));
        }
        let has_time = seconds >= 1.0;
        Some(if has_time {
            format!("{day} {clock}")
        } else {
            day.to_string()
        })
    }

    /// Returns a day by its names: the weekday, the month, the year.
    fn names(&self, day: Date) -> String {
        let weekday = match self.weekday {
            0 => "",
            3 => "%a",
            _ => "%A",
        };

        let month = match (self.month, self.has_year) {
            (0, true) => "%Y",
            (0, false) => "",
            (1 | 2, true) => "%Y-%m",
            (1 | 2, false) => "%-m",
            (3, true) => "%b %Y",
            (3, false) => "%b",
            (_, true) => "%B %Y",
            (_, false) => "%B",
        };

        let form = format!("{weekday} {month}");
        day.strftime(form.trim()).to_string()
    }
}

impl DurationForm {
    fn text(self, days: f64) -> String {
        let sign = if days < 0.0 { "-" } else { "" };
        let all = (days.abs() * 86_400.0).round() as u64;
        let [hours, minutes, seconds] = [all / 3600, all / 60 % 60, all % 60];

        let mut text = match self.unit {
            'h' => format!("{sign}{hours}"),
            'm' => format!("{sign}{}", all / 60),
            _ => format!("{sign}{all}"),
        };

        if self.has_minutes {
            text += &format!(":{minutes:02}");
        }
        if self.has_seconds {
            text += &format!(":{seconds:02}");
        }

        text
    }
}

/// Returns the day that a count of days stands for.
fn day(days: f64, counts_from_1904: bool) -> Option<Date> {
    // Excel counts a 29 February 1900, which never was.
    let zero = if counts_from_1904 {
        date(1904, 1, 1)
    } else if (0.0..60.0).contains(&days) {
        date(1899, 12, 31)
    } else {
        date(1899, 12, 30)
    };
    let whole = jiff::Span::new().try_days(days.trunc() as i64).ok()?;
    zero.checked_add(whole).ok()
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
            (1234.0, "00000", "01234"),
            (0.75, "# ?/?", "0.75"),
            (123_456_789.0, "000\\-00\\-0000", "123456789"),
            (45322.0, "yyyy\\-mm\\-dd", "2024-01-31"),
            (45322.5, "d/m/yyyy", "2024-01-31 12:00:00"),
            (45322.0, "mmmm", "January"),
            (45322.0, "mmm yyyy", "Jan 2024"),
            (45322.0, "mm/yyyy", "2024-01"),
            (45322.0, "dddd", "Wednesday"),
            (45322.0, "yyyy", "2024"),
            (45322.0, "ddd d mmm", "2024-01-31"),
            (45322.0, "[$-404]e\"年\"m\"月\"", "2024-01"),
            (45322.5, "yyyy-mm-dd hh:mm", "2024-01-31 12:00"),
            (59.0, "d", "1900-02-28"),
            (61.0, "d", "1900-03-01"),
            (0.75, "h:mm AM/PM", "18:00"),
            (0.75, "hh:mm:ss", "18:00:00"),
            (-4.0, "d", "1899-12-26"),
            (1e300, "d", &digits(1e300)),
            (27.5 / 24.0, "[h]:mm:ss", "27:30:00"),
            (1.5625, "[h]:mm", "37:30"),
            (0.0625, "[mm]:ss", "90:00"),
            (0.0625, "[ss]", "5400"),
            (-0.5, "[Blue][HH]:mm", "-12:00"),
        ];
        for (number, code, text) in cases {
            let form = NumberForm::from_code(code);
            assert_eq!(form.text(number, false), text, "{number} as {code}");
        }
        assert_eq!(NumberForm::DATE.text(43860.0, true), "2024-01-31");
    }

    #[test]
    fn numbers_by_built_in_formats() {
        let cases = [
            (0, "0.5"),
            (4, "0.50"),
            (9, "50%"),
            (20, "12:00"),
            (46, "12:00:00"),
        ];
        for (id, text) in cases {
            assert_eq!(NumberForm::from_built_in(id).text(0.5, false), text, "{id}");
        }
    }
}
