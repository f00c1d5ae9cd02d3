//! Numbers of workbooks as a reader of the sheet sees them, apart from the width of a number, the
//! marks of its thousands and the language of a date: by the format of their cell (ECMA-376 part 1,
//! 18.8.30 and 18.8.31).

use std::sync::LazyLock;

use jiff::civil::{Date, Time, date};

/// Excel's maximum length of a format, and its maximum number of decimals.
const MAX_CODE_CHARS: usize = 255;
const MAX_DECIMALS: usize = 30;
/// Marks that group the digits of a number, where a format spells it out: `#\ ##0`.
const THOUSANDS: &[&str] = &[" ", "\u{a0}", "\u{202f}", ",", ".", "'", "’"];

/// The form of a number that no format describes.
pub(super) static GENERAL: NumberForm = NumberForm {
    sections: Vec::new(),
    texts: None,
};

/// The forms of a day and of a duration that no format describes.
pub(super) static DATE: LazyLock<NumberForm> =
    LazyLock::new(|| NumberForm::from_code("yyyy-mm-dd hh:mm:ss"));
pub(super) static DURATION: LazyLock<NumberForm> =
    LazyLock::new(|| NumberForm::from_code("[h]:mm:ss"));

/// The form in which the values of a cell style are shown: by up to four sections, for positive
/// numbers, negative ones, zero and texts, or for the numbers that they name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NumberForm {
    sections: Vec<Section>,
    /// The section of texts, where there is one.
    texts: Option<Section>,
}

/// A section of a format, for the numbers that fulfil its condition.
#[derive(Debug, Clone, Default, PartialEq)]
struct Section {
    condition: Option<Condition>,
    parts: Vec<Part>,
    /// The number counts 10 to this power: -2 for percent, 3 for thousands.
    exponent: i32,
}

/// A comparison with a number, as in `[>=100]`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Condition {
    is_below: bool,
    is_equal: bool,
    is_above: bool,
    limit: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    /// The place of a digit: `0`, or `#` and `?` for one that may be left out.
    Place(char),
    Point,
    /// A number with all of its digits: the word `General`, a fraction, a power of ten.
    Whole,
    /// A part of a day or of a time by its letter, with the number of letters; `a` for AM or PM.
    Time(char, usize),
    /// The unit of a duration, which counts beyond its limit: `[h]`.
    Total(char, usize),
    /// The text of the cell.
    Words,
}

/// A day, a time or both, by the parts that are shown.
#[derive(Debug, Clone, Default, PartialEq)]
struct DateForm {
    /// The text around them.
    before: String,
    after: String,
    has_year: bool,
    has_day: bool,
    /// The letters that show the month and the weekday: 3 are the beginning of the name, 4 all of
    /// it.
    month: usize,
    weekday: usize,
    has_clock: bool,
    has_seconds: bool,
}

impl NumberForm {
    /// Returns the form of a built-in format. The currency of some is that of the reader's Excel.
    pub fn from_built_in(id: u32) -> Self {
        match id {
            1 | 3 => Self::from_code("0"),
            2 | 4 => Self::from_code("0.00"),
            5 | 6 | 37 | 38 => Self::from_code("0_);(0)"),
            7 | 8 | 39 | 40 => Self::from_code("0.00_);(0.00)"),
            9 => Self::from_code("0%"),
            10 => Self::from_code("0.00%"),
            17 => Self::from_code("mmm-yy"),
            18 | 20 => Self::from_code("h:mm"),
            14..=16 | 19 | 21 | 22 | 27..=36 | 45 | 47 | 50..=58 => DATE.clone(),
            41 | 42 => Self::from_code("0_);(0);-_)"),
            43 | 44 => Self::from_code("0.00_);(0.00);-_)"),
            46 => DURATION.clone(),
            _ => GENERAL.clone(),
        }
    }

    pub fn from_code(code: &str) -> Self {
        let mut sections = Section::all(code);
        let shows_text = |section: &Section| section.parts.contains(&Part::Words);
        let has_texts = sections.len() == 4 || sections.last().is_some_and(shows_text);
        let texts = if has_texts { sections.pop() } else { None };
        if sections.len() < 2 && sections.iter().all(|section| section.parts.is_empty()) {
            sections.clear();
        }

        // sections that name no numbers share them by their signs
        let above = if sections.len() > 2 { ">0" } else { ">=0" };
        if let [first, second, ..] = sections.as_mut_slice() {
            first.condition = first.condition.or(Condition::parse(above));
            let is_positive = |of: Condition| of.is_above && !of.is_below && of.limit == 0.0;
            if second.condition.is_none() && first.condition.is_some_and(is_positive) {
                second.condition = Condition::parse("<0");
            }
            // a colour alone does not say in a text that a number is negative
            let is_negative = second.condition.is_some_and(Condition::is_negative);
            if is_negative && second.parts == first.parts && second.has(Part::is_place) {
                second.parts.insert(0, Part::Text("-".to_owned()));
            }
        }
        Self { sections, texts }
    }

    /// Returns a number in this form, whose days count from 1904 or 1900.
    pub fn text(&self, number: f64, counts_from_1904: bool) -> String {
        let fits = |section: &&Section| section.condition.is_none_or(|of| of.holds(number));
        let section = self.sections.iter().find(fits).or(self.sections.last());
        section.map_or_else(
            || digits(number),
            |section| section.text(number, counts_from_1904),
        )
    }

    /// Returns the text of a cell in this form.
    pub fn words(&self, words: String) -> String {
        let changes = |of: &&Section| of.parts != [Part::Words] && !of.parts.is_empty();
        let Some(section) = self.texts.as_ref().filter(changes) else {
            return words;
        };
        texts(&section.parts, &words)
    }
}

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        let limit = text.trim_start_matches(['<', '=', '>']);
        let signs = &text[..text.len() - limit.len()];
        Some(Self {
            is_below: signs.contains('<'),
            is_equal: signs.contains('='),
            is_above: signs.contains('>'),
            limit: limit.trim().parse().ok().filter(|_| !signs.is_empty())?,
        })
    }

    fn holds(self, number: f64) -> bool {
        (self.is_below && number < self.limit)
            || (self.is_equal && number == self.limit)
            || (self.is_above && number > self.limit)
    }

    /// Returns whether it holds for negative numbers alone: the section shows that in its own way.
    fn is_negative(self) -> bool {
        let has_zero = self.is_equal && self.limit == 0.0;
        !self.is_above && self.limit <= 0.0 && !has_zero
    }
}

impl Section {
    /// Returns the sections of a format.
    fn all(code: &str) -> Vec<Self> {
        let end = code.char_indices().nth(MAX_CODE_CHARS);
        let mut chars = code[..end.map_or(code.len(), |(at, _)| at)].chars();
        let mut sections = Vec::new();
        let mut section = Self::default();
        let mut commas = 0;
        while let Some(c) = chars.next() {
            let letter = c.to_ascii_lowercase();
            let rest = chars.as_str();
            let begins = |word: &str| {
                let part = rest.get(..word.len());
                part.is_some_and(|part| part.eq_ignore_ascii_case(word))
            };
            let is_number = section.has(Part::is_place);
            // the characters behind this one that belong to it
            let mut taken = 0;
            match letter {
                ';' => sections.push(std::mem::take(&mut section).end(std::mem::take(&mut commas))),
                '"' => {
                    let text = rest.split('"').next().unwrap_or_default();
                    section.add_text(text);
                    taken = text.chars().count() + 1;
                }
                '\\' => {
                    section.add_text(&String::from_iter(rest.chars().next()));
                    taken = 1;
                }
                // the width of a character, or one that fills the cell
                '_' | '*' => taken = 1,
                '[' => {
                    let inner = rest.split(']').next().unwrap_or_default();
                    section.add_bracket(inner);
                    taken = inner.chars().count() + 1;
                }
                '0' | '#' | '?' => {
                    commas = 0;
                    section.add_place(c);
                }
                // the denominator of a fraction
                '1'..='9' if section.parts.contains(&Part::Whole) => section.add_place(c),
                '1'..='9' => {
                    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                    taken = rest.len() - digits.len();
                    section.add_text(&format!("{c}{}", &rest[..taken]));
                }
                '.' if !section.parts.contains(&Part::Point) => {
                    section.exponent += 3 * std::mem::take(&mut commas);
                    section.parts.push(Part::Point);
                }
                ',' if is_number => commas += 1,
                // a percent multiplies by 100, wherever it stands
                '%' => {
                    section.exponent -= 2;
                    section.add_text("%");
                }
                '@' => section.parts.push(Part::Words),
                '/' if is_number => section.parts.push(Part::Whole),
                'e' if rest.starts_with(['+', '-']) => {
                    section.parts.push(Part::Whole);
                    taken = 1;
                }
                'g' if begins("eneral") => {
                    section.parts.push(Part::Whole);
                    taken = "eneral".len();
                }
                'a' if begins("m/pm") || begins("/p") => {
                    section.parts.push(Part::Time(letter, 1));
                    taken = if begins("/p") { 2 } else { 4 };
                }
                'y' | 'm' | 'd' | 'h' | 's' | 'e' | 'b' => {
                    let others = rest.trim_start_matches([letter, c.to_ascii_uppercase()]);
                    taken = rest.len() - others.len();
                    section.parts.push(Part::Time(letter, taken + 1));
                }
                _ => section.add_text(&String::from(c)),
            }
            chars.by_ref().take(taken).for_each(drop);
        }
        sections.push(section.end(commas));
        sections
    }

    fn has(&self, is_it: impl Fn(&Part) -> bool) -> bool {
        self.parts.iter().any(is_it)
    }

    fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn add_place(&mut self, place: char) {
        let is_behind_place = matches!(
            self.parts.as_slice(),
            [.., Part::Place(_), Part::Text(text)] if THOUSANDS.contains(&text.as_str())
        );
        if place == '#' && is_behind_place {
            self.parts.pop();
        }
        self.parts.push(Part::Place(place));
    }

    /// Takes what is in brackets: a unit, a condition, the sign of a currency as in `[$€-407]`. A
    /// colour is none of the text.
    fn add_bracket(&mut self, inner: &str) {
        let lower = inner.to_ascii_lowercase();
        match lower.as_str() {
            "h" | "hh" | "m" | "mm" | "s" | "ss" => {
                let unit = lower.chars().next().unwrap_or_default();
                self.parts.push(Part::Total(unit, inner.len()));
            }
            _ => match inner.strip_prefix('$') {
                Some(of) => self.add_text(of.split('-').next().unwrap_or_default()),
                None => self.condition = self.condition.or(Condition::parse(inner)),
            },
        }
    }

    /// Ends it by its last commas, which divide by a thousand each.
    fn end(mut self, commas: i32) -> Self {
        self.exponent += 3 * commas;
        self
    }

    fn text(&self, number: f64, counts_from_1904: bool) -> String {
        // what a sheet hides is read, a zero that it leaves blank is not
        if self.parts.is_empty() && number != 0.0 {
            return digits(number);
        }
        let text = if self.has(|part| matches!(part, Part::Total(..))) {
            // hours, minutes and seconds, of more than a day, too
            self.duration(number)
        } else if self.has(Part::is_time) {
            let text = DateForm::from_parts(&self.parts).text(number, counts_from_1904);
            return text.unwrap_or_else(|| digits(number));
        } else {
            self.number(number)
        };
        let is_shown = number < 0.0 && !self.condition.is_some_and(Condition::is_negative);
        // a number that is rounded to zero has no sign, and text alone has none
        let has_sign = is_shown && text.contains(|c| matches!(c, '1'..='9'));
        let sign = if has_sign { "-" } else { "" };
        format!("{sign}{}", text.trim())
    }

    /// Returns a number without its sign, its digits at their places.
    fn number(&self, number: f64) -> String {
        let number = number.abs();
        let scaled = number / 10_f64.powi(self.exponent);
        let Some((before, after)) = around(&self.parts, Part::is_place) else {
            return texts(&self.parts, "");
        };
        if !scaled.is_finite() || self.parts.contains(&Part::Whole) {
            return [texts(before, ""), digits(number), texts(after, "")].concat();
        }

        let point = self.parts.iter().position(|part| *part == Part::Point);
        let (whole, fraction) = self.parts.split_at(point.unwrap_or(self.parts.len()));
        let count = |parts: &[Part]| parts.iter().filter(|part| part.is_place()).count();
        let decimals = count(fraction).min(MAX_DECIMALS);
        let figures = round(scaled, decimals);
        let (figures, decimals) = figures.split_once('.').unwrap_or((&figures, ""));

        let decimals = fill_fraction(fraction, decimals);
        let is_less_than_one = figures == "0" && decimals.is_empty();
        let figures = if is_less_than_one { "" } else { figures };
        let text = fill_whole(whole, count(whole), figures) + &decimals;
        // places alone leave nothing of a zero
        if text.is_empty() {
            "0".to_owned()
        } else {
            text
        }
    }

    fn duration(&self, days: f64) -> String {
        let all = (days.abs() * 86_400.0).round() as u64;
        let mut text = String::new();
        for part in &self.parts {
            let (number, digits) = match part {
                Part::Total('h', digits) => (all / 3600, digits),
                Part::Total('m', digits) => (all / 60, digits),
                Part::Total(_, digits) => (all, digits),
                Part::Time('h', digits) => (all / 3600 % 24, digits),
                Part::Time('m', digits) => (all / 60 % 60, digits),
                Part::Time('s', digits) => (all % 60, digits),
                Part::Text(of) => {
                    text += of;
                    continue;
                }
                _ => continue,
            };
            text += &format!("{number:0digits$}");
        }
        text
    }
}

impl Part {
    /// Returns whether digits of a number stand there.
    fn is_place(&self) -> bool {
        matches!(self, Self::Place(_) | Self::Whole)
    }

    fn is_time(&self) -> bool {
        matches!(self, Self::Time(..))
    }
}

/// Returns the parts before the first one of a kind, and those behind the last one.
fn around(parts: &[Part], is_it: fn(&Part) -> bool) -> Option<(&[Part], &[Part])> {
    let first = parts.iter().position(is_it)?;
    let last = parts.iter().rposition(is_it)?;
    Some((&parts[..first], &parts[last + 1..]))
}

/// Returns the texts of these parts, with the words of the cell.
fn texts(parts: &[Part], words: &str) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Words => words,
        _ => "",
    });
    texts.collect()
}

/// Returns the parts before the point with these digits: the first of the places takes those that
/// are too many.
fn fill_whole(parts: &[Part], mut places: usize, digits: &str) -> String {
    let mut text = String::new();
    // without a place the digits stand before the point
    let mut rest = digits;
    for part in parts {
        match part {
            Part::Text(of) => text += of,
            Part::Place(place) => {
                places -= 1;
                let (now, later) = rest.split_at(rest.len().saturating_sub(places));
                if now.is_empty() && *place == '0' {
                    text.push('0');
                }
                text += now;
                rest = later;
            }
            _ => {}
        }
    }
    text + rest
}

/// Returns the point and the parts behind it, without the zeros that may be left out.
fn fill_fraction(parts: &[Part], digits: &str) -> String {
    let places = parts.iter().filter_map(|part| match part {
        Part::Place(place) => Some(*place),
        _ => None,
    });
    let shown = places
        .zip(digits.chars())
        .enumerate()
        .filter(|(_, (place, digit))| *place == '0' || *digit != '0')
        .last();
    let shown = shown.map_or(0, |(at, _)| at + 1);

    let mut text = String::new();
    let mut digits = digits.chars().take(shown);
    for part in parts {
        match part {
            Part::Text(of) => text += of,
            Part::Point if shown > 0 => text.push('.'),
            Part::Place(_) => text.extend(digits.next()),
            _ => {}
        }
    }
    text
}

/// Returns a number with a number of decimals; a half is rounded up, as Excel does.
fn round(number: f64, decimals: usize) -> String {
    let unit = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    let shifted = number * unit;
    // a longer number is as exact as it is stored
    let number = if shifted < 1e15 {
        significant(shifted).round() / unit
    } else {
        number
    };
    format!("{number:.decimals$}")
}

/// Returns a number with the 15 digits that Excel keeps.
fn digits(number: f64) -> String {
    // 0.1 + 0.2 is shown as 0.3
    significant(number).to_string()
}

fn significant(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

impl DateForm {
    /// Returns the form of the letters of a format: `m` is a month, and minutes beside hours and
    /// seconds.
    fn from_parts(parts: &[Part]) -> Self {
        let mut form = Self::default();
        // text is beside a blank; other signs belong to the parts, which are shown in another way
        if let Some((before, after)) = around(parts, Part::is_time) {
            let [before, after] = [texts(before, ""), texts(after, "")];
            if before.ends_with(' ') {
                form.before = before;
            }
            if after.starts_with(' ') {
                form.after = after;
            }
        }

        let runs = parts.iter().filter_map(|part| match part {
            Part::Time(letter, count) => Some((*letter, *count)),
            _ => None,
        });
        let runs: Vec<(char, usize)> = runs.collect();

        for (at, (letter, count)) in runs.iter().enumerate() {
            let is_at = |at: usize, other: char| runs.get(at).is_some_and(|run| run.0 == other);
            match letter {
                'y' | 'e' | 'b' => form.has_year = true,
                'd' if *count < 3 => form.has_day = true,
                'd' => form.weekday = *count,
                'h' | 's' => {
                    form.has_clock = true;
                    form.has_seconds |= *letter == 's';
                }
                'm' if is_at(at.wrapping_sub(1), 'h') || is_at(at + 1, 's') => {
                    form.has_clock = true;
                }
                'm' => form.month = *count,
                _ => {}
            }
        }

        form
    }

    /// Returns what a count of days stands for; `None` for one that is no day.
    fn text(&self, days: f64, counts_from_1904: bool) -> Option<String> {
        let text = self.day_and_clock(days, counts_from_1904)?;
        let text = [&self.before, text.as_str(), &self.after].concat();
        Some(text.trim().to_owned())
    }

    fn day_and_clock(&self, days: f64, counts_from_1904: bool) -> Option<String> {
        let seconds = (days.fract() * 86_400.0).round();
        let time = Time::midnight().saturating_add(jiff::SignedDuration::from_secs(seconds as i64));
        let has_seconds = self.has_seconds || !self.has_clock || time.second() > 0 && self.has_day;
        let form = if has_seconds { "%H:%M:%S" } else { "%H:%M" };
        let clock = time.strftime(form).to_string();
        let shows_day = self.has_year || self.has_day || self.month > 0 || self.weekday > 0;
        if (0.0..1.0).contains(&days) || !shows_day {
            return Some(clock);
        }

        let day = day(days, counts_from_1904)?;
        if !self.has_day {
            return Some(self.names(day));
        }
        let day = day.to_string();
        let has_time = seconds >= 1.0;
        Some(if has_time { day + " " + &clock } else { day })
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
            (7.0, "\"Dr \"@", "7"),
            (1.5, "General\" left\"", "1.5 left"),
            (0.125, "0.0%", "12.5%"),
            (0.125, "0.0\\ %", "12.5 %"),
            (-0.5, "0%", "-50%"),
            (6.12345, "#,##0.00 \"days\";[Red]-0", "6.12 days"),
            (-6.12345, "#,##0.00 \"days\";[Red]-0", "-6"),
            (2.5, "0", "3"),
            (1.005, "0.00", "1.01"),
            (-0.2, "0", "0"),
            (4.5, "0.##", "4.5"),
            (4.0, "0.##", "4"),
            (0.25, "#.##", "0.25"),
            (0.0, "#,###", "0"),
            (3.0, "[$-409]#,##0", "3"),
            (3.7, "0.\"", "4"),
            (1234.5, "\"$\"#,##0.00", "$1234.50"),
            (1234.5, "$#,##0.00_);($#,##0.00)", "$1234.50"),
            (-1234.5, "#,##0.00_);(#,##0.00)", "(1234.50)"),
            (-8.0, "0.0;[Red]0.0", "-8.0"),
            (0.0, "0.0;[Red]0.0;\"none\"", "none"),
            (-8.0, "0\" in\";0\" out\"", "8 out"),
            (-8.0, "\"gain\";\"loss\"", "loss"),
            (8.0, "+0;-0;0", "+8"),
            (0.0, "_-* 0.0_-;-* 0.0_-;_-* \"-\"??_-;_-@_-", "-"),
            (8.0, ";;;", "8"),
            (0.0, "0;-0;", ""),
            (-3.25, "\"yes\";;\"no\"", "-3.25"),
            (120.0, "[Red][<50]0\" kg\";[Green]0\" kg\"", "120 kg"),
            (5.0, "[Red][>=100]0;0", "5"),
            (-7.0, "[Red][>=100]0;0", "-7"),
            (-8.0, "\"on\";;\"off\"", "-8"),
            (0.0, "\"on\";;\"off\"", "off"),
            (1.0, "[=1]\"on\";[=0]\"off\";General", "on"),
            (2.0, "[=1]\"on\";[=0]\"off\";General", "2"),
            (7500.0, "[>=1000000]0.0,,\"M\";[>=1000]0.0,\"K\";0", "7.5K"),
            (-7.0, "[<10]\"shallow \"0;\"deep \"0", "-shallow 7"),
            (70.0, "[<10]\"shallow \"0;\"deep \"0", "deep 70"),
            (-7.0, "[<0]\"below \"0;0", "below 7"),
            (-99.95, "#,##0.00\\ [$€-407]", "-99.95 €"),
            (99.95, "#\\ ##0.00\\ €", "99.95 €"),
            (7.0, "_-[$£-809]* #,##0.00_-;\\-[$£-809]* 0", "£7.00"),
            (7.0, "[$CHF] 0", "CHF 7"),
            (1_234_567.0, "0.0,,\"M\"", "1.2M"),
            (12.0, "0.00E+00", "12"),
            (1234.0, "00000", "01234"),
            (0.75, "# ?/?", "0.75"),
            (0.75, "# ?/16\" in\"", "0.75 in"),
            (123_456_789.0, "000\\-00\\-0000", "123-45-6789"),
            (5_550_199.0, "(000) 000-0000", "(000) 555-0199"),
            (12_345_678.0, "0000 0000", "1234 5678"),
            (12_345_678.0, "#\\ ##0.00", "12345678.00"),
            (1_234_567_887_654_321.0, "0", "1234567887654321"),
            (12_345_678.0, "#\\.###\\.##0", "12345678"),
            (3.0, "0 \"of\" 10", "3 of 10"),
            (31.0, "\"v\"0\".\"0", "v3.1"),
            (0.5, ".00", "0.50"),
            (45322.0, "yyyy\\-mm\\-dd", "2024-01-31"),
            (45322.5, "d/m/yyyy", "2024-01-31 12:00:00"),
            (45322.0, "mmmm", "January"),
            (45322.0, "mmm yyyy", "Jan 2024"),
            (45322.0, "mm/yyyy", "2024-01"),
            (45322.0, "dddd", "Wednesday"),
            (45322.0, "yyyy", "2024"),
            (45322.0, "ddd d mmm", "2024-01-31"),
            (45322.0, "\"Week of \"d mmm", "Week of 2024-01-31"),
            (45322.0, "yyyy\"年\"m\"月\"d\"日\"", "2024-01-31"),
            (45322.0, "[$-411]ggge\"年\"m", "2024-01"),
            (45322.5, "hh:mm \"Uhr\"", "12:00 Uhr"),
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
            (1.5, "[h]\" h \"mm\" min\"", "36 h 00 min"),
            (-0.5, "[Blue][HH]:mm", "-12:00"),
        ];
        for (number, code, text) in cases {
            let form = NumberForm::from_code(code);
            assert_eq!(form.text(number, false), text, "{number} as {code}");
        }
        assert_eq!(DATE.text(43860.0, true), "2024-01-31");
        assert_eq!(GENERAL.text(0.1 + 0.2, false), "0.3");
    }

    #[test]
    fn texts_by_their_format() {
        let cases = [
            ("0", "tea"),
            ("@", "tea"),
            ("\"Tin of \"@", "Tin of tea"),
            ("0;-0;0;\"Tin of \"@", "Tin of tea"),
            (";;;", "tea"),
        ];
        for (code, text) in cases {
            let form = NumberForm::from_code(code);
            assert_eq!(form.words("tea".to_owned()), text, "{code}");
        }
    }

    #[test]
    fn hostile_formats_are_read() {
        let numbers = [
            0.0,
            -1.5,
            1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::NAN,
            f64::INFINITY,
        ];
        let signs = [
            "0", "#", "?", ".", ",", "%", ";", "/", "e+", "é", "[", "[h]", "[>", "\"", "\\", "s.",
            "@", "_", "General",
        ];
        for first in signs {
            for second in signs {
                let code = [first, second].concat().repeat(9_000);
                let form = NumberForm::from_code(&code);
                for number in numbers {
                    let text = form.text(number, false);
                    assert!(
                        text.len() < 10_000,
                        "{number} as {first}{second}: {}",
                        text.len()
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_by_built_in_formats() {
        let cases = [
            (0, "0.5"),
            (4, "0.50"),
            (7, "0.50"),
            (9, "50%"),
            (20, "12:00"),
            (46, "12:00:00"),
        ];
        for (id, text) in cases {
            assert_eq!(NumberForm::from_built_in(id).text(0.5, false), text, "{id}");
        }
    }
}
