//! The dates that a text names: the path of a document (`journal/2024-02-11.md`, `2024_03_15
//! supplier.md`), a question (`7 May 2024`), a field that holds a date.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{ToSpan as _, Zoned};

use crate::letters;

/// The names of the months in lower case; `*` stands for any ending. Accents may be left out. What
/// is a word of another meaning more often is missing, as the Italian `set`.
#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "jan januar* janv janvier janeiro ene enero gen gennaio gener ianuarie ocak styczen stycznia leden ledna tammiku* янв январ* януари січень січня ιανουαρ* يناير",
    "feb februar* fev fevrier fevereiro febrero febbraio febrer subat luty lutego unor unora helmiku* фев феврал* февруари лютий лютого φεβρουαρ* فبراير",
    "mar march marz maerz marzo mars març março mart marts maart mrt marec marca marzec marcius martie brezen brezna maalisku* мар март* березень березня μαρτ* مارس",
    "apr april* avr avril abr abril nisan kwiecien kwietnia duben dubna huhtiku* апр апрел* април квітень квітня απριλ* ابريل",
    "may mai mayo maio maj maja maggio maig mei majus mayis kveten kvetna toukoku* май мая мае травень травня μαιοσ μαιου مايو",
    "jun june juni junio junho juin juny juna giugno junius iunie haziran czerwiec czerwca cerven cervna kesaku* июн* юни червень червня ιουνι* يونيو",
    "jul july juli julio julho juil juillet jula luglio juliol julius iulie temmuz lipiec lipca cervenec cervence heinaku* июл* юли липень липня ιουλι* يوليو",
    "aug august augusti augustus augusztus aout ago agosto agost agustos sierpien sierpnia srpen srpna eloku* авг август* серпень серпня αυγουστ* اغسطس",
    "sep sept septem* setembre setembro settembre septiembre eylul wrzesien wrzesnia zari syysku* сен сентябр* септември вересень вересня σεπτεμβρ* سبتمبر",
    "oct okt octob* oktob* octubre octombrie ottobre outubro ekim pazdziernik* rijen rijna lokaku* окт октябр* октомври жовтень жовтня οκτωβρ* اكتوبر",
    "nov novem* noviembre noiembrie kasim listopad* marrasku* ноя ноябр* ноември листопад* νοεμβρ* نوفمبر",
    "dec decem* dez dezem* dic diciembre dicembre desem* aralik grudzien grudnia prosinec prosince jouluku* дек декабр* декември грудень грудня δεκεμβρ* ديسمبر",
];

/// The number of each month by its whole names, and by their beginnings.
static MONTH_NAMES: LazyLock<HashMap<&str, i16>> = LazyLock::new(|| {
    let names = month_names().filter(|(name, _)| !name.ends_with('*'));
    names.collect()
});
static MONTH_BEGINNINGS: LazyLock<Vec<(&str, i16)>> = LazyLock::new(|| {
    let beginnings =
        month_names().filter_map(|(name, month)| Some((name.strip_suffix('*')?, month)));
    beginnings.collect()
});

/// Words inside a date that say nothing: `9 de abril de 2024`, `April 9th`.
const FILLERS: [&str; 12] = [
    "d", "de", "del", "den", "of", "st", "nd", "rd", "th", "er", "e", "o",
];
/// Words in front of the number of something else: `chapter_12_2020`, `ticket-198712`.
const COUNTED: [&str; 26] = [
    "article", "chapter", "ch", "din", "dsc", "en", "ieee", "img", "iso", "issue", "model", "no",
    "nr", "office", "page", "part", "port", "rfc", "room", "sec", "section", "server", "ticket",
    "top", "vol", "windows",
];
const WEEKS: [&str; 3] = ["w", "kw", "week"];

/// The years of documents: other numbers of four digits are no years where nothing else says so.
const YEARS: Range<i16> = 1900..2100;
const ALL_YEARS: Range<i16> = 1..10_000;

/// Returns the date in the path of a document, as `2024-02-11`: that of the file name, otherwise
/// that of its folders, the last one of several. A month counts from its first day, and so does a
/// year where nothing else is named.
pub(super) fn date_in_path(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let last = |text| {
        let periods = periods(text, YEARS).into_iter();
        periods.max_by_key(Period::is_day)
    };
    let period = [name, path].into_iter().find_map(last);
    let first = period.map(|period| period.first);
    let first = first.or_else(|| [name, path].into_iter().find_map(last_year))?;
    Some(first.to_string())
}

/// Returns the first day of the last year that a path names alone: `2019/meeting.md`, `prices
/// 2022.md`. A year that is still to come is what the document is about.
fn last_year(path: &str) -> Option<Date> {
    if !may_name_year(path) {
        return None;
    }

    let text = letters::normal(path).to_lowercase();
    let tokens = tokens(&text);
    let last = YEARS.end.min(Zoned::now().year() + 2);
    let is_apart = |at: usize| {
        let year = &tokens[at];
        // a number at a sign is the rest of a version, a season or a date that is none
        let is_part = |number: &DateToken<'_>, sign: &str| {
            number.is_number() && matches!(sign, "-" | "_" | ".")
        };
        let is_free_before = at == 0 || {
            let before = &tokens[at - 1];
            let is_version = year.before.is_empty() && before.text.chars().count() < 3;
            !is_version && !is_part(before, year.before) && !is_counted(&tokens, at)
        };
        let next = tokens.get(at + 1);
        is_free_before
            && !next.is_some_and(|next| next.before.is_empty() || is_part(next, next.before))
    };
    let years = (0..tokens.len()).rev().filter(|at| is_apart(*at));
    let mut years = years.filter_map(|at| tokens[at].year());
    years
        .find(|year| (YEARS.start..last).contains(year))
        .and_then(|year| date(year, 1, 1))
}

/// Returns the first day or month that a text names, as `2024-02-11` or `2024-02`.
pub fn date_in_text(text: &str) -> Option<String> {
    named_dates(text).into_iter().next()
}

/// Returns the days and months that a text or a path names, in its order, as `2024-02-11` and
/// `2024-02`: also the days of a week and the months of a quarter.
pub fn named_dates(text: &str) -> Vec<String> {
    let mut dates: Vec<String> = Vec::new();
    for date in periods(text, YEARS).into_iter().flat_map(Period::dates) {
        if !dates.contains(&date) {
            dates.push(date);
        }
    }
    dates
}

/// Returns the day of a field that holds a date, as `2024-02-11`: the first one that it names.
pub(super) fn day_in_field(value: &str) -> Option<String> {
    let periods = periods(value, ALL_YEARS).into_iter();
    let first = periods.rev().max_by_key(Period::is_day)?;
    Some(first.first.to_string())
}

/// A part of a year.
#[derive(Debug, Clone, Copy)]
struct Period {
    first: Date,
    length: PeriodLength,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeriodLength {
    Day,
    Week,
    Month,
    Quarter,
}

impl Period {
    fn new(first: Date, length: PeriodLength) -> Self {
        Self { first, length }
    }

    fn is_day(&self) -> bool {
        self.length == PeriodLength::Day
    }

    fn dates(self) -> impl Iterator<Item = String> {
        let (step, count, format) = match self.length {
            PeriodLength::Day => (1.day(), 1, "%Y-%m-%d"),
            PeriodLength::Week => (1.day(), 7, "%Y-%m-%d"),
            PeriodLength::Month => (1.month(), 1, "%Y-%m"),
            PeriodLength::Quarter => (1.month(), 3, "%Y-%m"),
        };
        let firsts = self.first.series(step).take(count);
        firsts.map(move |first| first.strftime(format).to_string())
    }
}

/// Returns whether a text has as many digits in a row as a year: most paths have not.
fn may_name_year(text: &str) -> bool {
    let mut digits = text.split(|c: char| !c.is_numeric());
    digits.any(|digits| digits.chars().count() >= 4)
}

/// Returns what a text names: its days, and what is longer outside of them, in order.
fn periods(text: &str, years: Range<i16>) -> Vec<Period> {
    if !may_name_year(text) {
        return Vec::new();
    }

    let text = letters::normal(text).to_lowercase();
    let tokens = tokens(&text);
    let mut is_taken = vec![false; tokens.len()];
    let mut found: Vec<(usize, Period)> = Vec::new();

    for period_at in [day_at, longer_period_at] {
        let mut at = 0;
        while at < tokens.len() {
            let period = period_at(&tokens, at).filter(|(length, period)| {
                let is_free = !is_taken[at..at + length].contains(&true);
                is_free && years.contains(&period.first.year())
            });
            let length = period.map_or(1, |(length, _)| length);
            if let Some((_, period)) = period {
                is_taken[at..at + length].fill(true);
                found.push((at, period));
            }
            at += length;
        }
    }

    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, period)| period).collect()
}

/// A number or a word, with the signs between it and the one before.
#[derive(Debug, Clone, Copy)]
struct DateToken<'t> {
    before: &'t str,
    text: &'t str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateSign {
    Digit,
    Letter,
    Other,
}

fn sign(c: char) -> DateSign {
    match c {
        '0'..='9' => DateSign::Digit,
        // they stand behind numbers: `2024年4月9日`
        '年' | '月' | '日' | '년' | '월' | '일' => DateSign::Other,
        c if c.is_alphanumeric() => DateSign::Letter,
        _ => DateSign::Other,
    }
}

/// Returns the numbers and words of a text in normal form and lower case, without the fillers.
fn tokens(text: &str) -> Vec<DateToken<'_>> {
    let mut tokens = Vec::new();
    let mut last_end = 0;
    let mut at = 0;
    while let Some(kind) = text[at..].chars().next().map(sign) {
        let length = text[at..].find(|c| sign(c) != kind);
        let end = length.map_or(text.len(), |length| at + length);
        if kind != DateSign::Other && !FILLERS.contains(&&text[at..end]) {
            let before = &text[last_end..at];
            let text = &text[at..end];
            tokens.push(DateToken { before, text });
            last_end = end;
        }
        at = end;
    }
    tokens
}

impl DateToken<'_> {
    fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns a number of these digits.
    fn number(&self, digits: Range<usize>) -> Option<i16> {
        let is_sized = self.is_number() && digits.contains(&self.text.len());
        is_sized.then(|| self.text.parse().ok())?
    }

    fn year(&self) -> Option<i16> {
        self.number(4..5)
    }

    /// Returns a number that may be a day, a month or a week.
    fn part(&self) -> Option<i16> {
        self.number(1..3)
    }

    /// Returns the number of the month with this name.
    fn month(&self) -> Option<i16> {
        if self.is_number() {
            return None;
        }
        let bare = letters::without_accents(self.text);
        let named = MONTH_NAMES.get(self.text);
        let named = named.or_else(|| MONTH_NAMES.get(bare.as_ref())).copied();
        named.or_else(|| {
            let mut beginnings = MONTH_BEGINNINGS.iter();
            let found = beginnings.find(|(beginning, _)| bare.starts_with(beginning));
            found.map(|(_, month)| *month)
        })
    }
}

/// Returns whether a word names a month.
pub fn is_month(word: &str) -> bool {
    let token = DateToken {
        text: &word.to_lowercase(),
        before: "",
    };
    token.month().is_some()
}

fn month_names() -> impl Iterator<Item = (&'static str, i16)> {
    (1..)
        .zip(MONTHS)
        .flat_map(|(month, names)| names.split(' ').map(move |name| (name, month)))
}

/// Returns whether a year is among the tokens from one on of which a date can consist: other texts
/// are not compared with the names of months.
fn has_year_near(tokens: &[DateToken<'_>], at: usize) -> bool {
    let near = &tokens[at..tokens.len().min(at + 3)];
    near.iter().any(|token| token.year().is_some())
}

/// Returns the day that a token begins, and the number of its tokens.
fn day_at(tokens: &[DateToken<'_>], at: usize) -> Option<(usize, Period)> {
    // `20240315`, `20240315094122`
    if let Some((day, time)) = tokens[at].text.split_at_checked(8)
        && tokens[at].is_number()
    {
        let [year, month, day] =
            [0..4, 4..6, 6..8].map(|part| day[part].parse().unwrap_or_default());
        let date = date(year, month, day).filter(|_| is_time(time))?;
        return Some((1, Period::new(date, PeriodLength::Day)));
    }

    if !has_year_near(tokens, at) {
        return None;
    }
    let [first, second, third] = *tokens[at..].first_chunk()?;
    let [year, month, day] = if first.year().is_some() {
        // `2024 April 9`
        let month = second.month();
        let month = month.or_else(|| second.part().filter(|_| is_year_first(second, third)))?;
        [first.year()?, month, third.part()?]
    } else if let Some(month) = first.month() {
        // `April 9, 2024`
        [third.year()?, month, second.part()?]
    } else {
        // a number behind a letter is a version: `v1.9.2024`
        let is_glued = at > 0 && first.before.is_empty();
        let year = third.year().filter(|_| !is_glued)?;
        let [day, month] = match second.month() {
            // `9 April 2024`
            Some(month) => [first.part()?, month],
            None => day_and_month(tokens, at)?,
        };
        [year, month, day]
    };
    Some((3, Period::new(date(year, month, day)?, PeriodLength::Day)))
}

/// Returns whether digits are hours and minutes, with or without seconds; no digits are, too.
fn is_time(digits: &str) -> bool {
    let pairs = digits.as_bytes().chunks(2).zip([b"24", b"60", b"60"]);
    matches!(digits.len(), 0 | 4 | 6) && pairs.into_iter().all(|(pair, end)| pair < &end[..])
}

/// Returns whether numbers behind a year are its month and its day, by the signs before them.
fn is_year_first(month: DateToken<'_>, day: DateToken<'_>) -> bool {
    let are_padded = month.text.len() == 2 && day.text.len() == 2;
    match (month.before.trim(), day.before.trim()) {
        ("年", "月") | ("년", "월") => true,
        _ if month.before != day.before => false,
        // `2024.1.3` is a version
        (".", ".") => are_padded || month.before == ". ",
        ("", "") => are_padded && month.before == " ",
        (separator, _) => matches!(separator, "-" | "_" | "/"),
    }
}

/// Returns the day and the month that are in front of a year, as numbers. With points the day comes
/// first, as in German; with other signs the month may come first.
fn day_and_month(tokens: &[DateToken<'_>], at: usize) -> Option<[i16; 2]> {
    let [first, second, third] = *tokens[at..].first_chunk()?;
    let [one, other] = [first.part()?, second.part()?];
    let next = tokens.get(at + 3);
    if second.before != third.before {
        return None;
    }

    match second.before {
        ". " => Some([one, other]),
        "." => {
            let are_padded = first.text.len() == 2 && second.text.len() == 2;
            let is_longer = |token: &DateToken<'_>| token.before == "." && token.is_number();
            let has_suffix = next.is_some_and(|next| next.before == "-" && !next.is_number());
            let is_version = at > 0 && first.before == "." && tokens[at - 1].is_number()
                || next.is_some_and(is_longer)
                || has_suffix && !are_padded;
            (!is_version).then_some([one, other])
        }
        "-" | "_" | "/" if other > 12 => Some([other, one]),
        "-" | "_" | "/" if one > 12 || one == other => Some([one, other]),
        _ => None,
    }
}

/// Returns the week, month or quarter that a token begins, and the number of its tokens.
fn longer_period_at(tokens: &[DateToken<'_>], at: usize) -> Option<(usize, Period)> {
    // `202403`; `201203` may be a day of 2020
    if tokens[at].is_number() && tokens[at].text.len() == 6 {
        let [year, short, month] =
            [0..4, 2..4, 4..6].map(|part| tokens[at].text[part].parse().unwrap_or_default());
        let is_month = date(YEARS.start, short, month).is_none() && !is_counted(tokens, at);
        let first = date(year, month, 1).filter(|_| is_month)?;
        return Some((1, Period::new(first, PeriodLength::Month)));
    }
    if !has_year_near(tokens, at) {
        return None;
    }
    if let Some(&[first, second, third]) = tokens[at..].first_chunk() {
        // `2024-W15`, `Q2 2024`
        let (year, name, number) = match first.year() {
            Some(year) => (Some(year), second, third),
            None => (third.year(), first, second),
        };
        if let Some(period) = year.and_then(|year| numbered_period(year, name, number)) {
            return Some((3, period));
        }
    }

    let [first, second] = *tokens[at..].first_chunk()?;
    let next = tokens.get(at + 2);
    let (year, month) = if let Some(month) = first.month() {
        // `April 2024`
        (second.year()?, month)
    } else if let Some(month) = month_before_year(tokens, at) {
        (second.year()?, month)
    } else {
        // in `2023, April 2024` the month is that of the next year
        let named = second
            .month()
            .filter(|_| next.and_then(DateToken::year).is_none());
        let month = named.or_else(|| month_behind_year(first, second, next))?;
        (first.year()?, month)
    };
    Some((2, Period::new(date(year, month, 1)?, PeriodLength::Month)))
}

/// Returns the week or the quarter of a year with this number.
fn numbered_period(year: i16, name: DateToken<'_>, number: DateToken<'_>) -> Option<Period> {
    let number = i8::try_from(number.part()?).ok()?;
    if WEEKS.contains(&name.text) {
        let week = ISOWeekDate::new(year, number, Weekday::Monday).ok()?;
        return Some(Period::new(week.date(), PeriodLength::Week));
    }
    let first_month = [1, 4, 7, 10].get(usize::try_from(number - 1).ok()?)?;
    let first = Date::new(year, *first_month, 1).ok()?;
    (name.text == "q").then(|| Period::new(first, PeriodLength::Quarter))
}

/// Returns whether the word in front of a number says that it counts something.
fn is_counted(tokens: &[DateToken<'_>], at: usize) -> bool {
    at > 0 && COUNTED.contains(&tokens[at - 1].text)
}

/// Returns the number in front of a year as its month: `03.2024`, `03/2024`.
fn month_before_year(tokens: &[DateToken<'_>], at: usize) -> Option<i16> {
    let [month, year] = *tokens[at..].first_chunk()?;
    let is_joined = |token: &DateToken<'_>| token.before == year.before;
    let next = tokens.get(at + 2);
    let has_more = next.is_some_and(|next| is_joined(next) && next.is_number());
    // a number behind a letter or another number is a part of a version
    let is_part =
        at > 0 && (month.before.is_empty() || is_joined(&month) && tokens[at - 1].is_number());
    // of a folder all of its name
    let is_whole = year.before != "/" || at == 0 || matches!(month.before, "/" | " ");
    let is_sure = matches!(year.before, "." | "-" | "_" | "/") && is_whole;
    let is_sure = is_sure && !has_more && !is_part && !is_counted(tokens, at);
    let month = month.number(2..3).filter(|_| is_sure)?;
    year.year().and(Some(month))
}

/// Returns the number behind a year as its month. `2011-12` may be two years, and `2024-02-31` is
/// not a date.
fn month_behind_year(
    year: DateToken<'_>,
    month: DateToken<'_>,
    next: Option<&DateToken<'_>>,
) -> Option<i16> {
    let separator = month.before;
    if matches!(separator.trim(), "年" | "년") {
        return month.part();
    }

    let number = month.number(2..3)?;
    // `2023-24` is a season, not a month
    let is_next_year = (year.year()? + 1) % 100 == number;
    let has_more = next.is_some_and(|next| next.before == separator && next.is_number());
    let is_sure = match separator {
        // behind a folder or in front of an extension it is
        "/" => !is_next_year || next.is_some_and(|next| matches!(next.before, "/" | ".")),
        "-" | "_" | "." => !has_more && !is_next_year,
        _ => false,
    };
    is_sure.then_some(number)
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    let month = i8::try_from(month).ok()?;
    Date::new(year, month, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_in_questions() {
        let cases: [(&str, &[&str]); 24] = [
            ("Summarise the meeting of 7 May 2024", &["2024-05-07"]),
            ("What happened on March 3rd, 2023?", &["2023-03-03"]),
            ("Was war am 7. März 2024?", &["2024-03-07"]),
            ("am 7. 3. 2024, am 8.3.2024.", &["2024-03-07", "2024-03-08"]),
            ("la réunion du 1er aou\u{302}t 2021", &["2021-08-01"]),
            ("la reunión del 7 de mayo de 2024", &["2024-05-07"]),
            ("a reunião de 7 de março de 2024", &["2024-03-07"]),
            ("встреча 9 апреля 2024 года", &["2024-04-09"]),
            ("اجتماع ٩ أبريل ٢٠٢٤", &["2024-04-09"]),
            ("2024年4月9日の会議", &["2024-04-09"]),
            ("2024년 4월 9일", &["2024-04-09"]),
            ("the minutes of 2024-05-07", &["2024-05-07"]),
            (
                "between 4/9/2024 and 31/12/2024 and 12/30/2024",
                &["2024-12-31", "2024-12-30"],
            ),
            ("in May 2024, 12 ships", &["2024-05"]),
            ("April 2024 or 2024-04-09", &["2024-04", "2024-04-09"]),
            ("2023, April 2024", &["2024-04"]),
            ("in Q2 2024", &["2024-04", "2024-05", "2024-06"]),
            (
                "week 1 of 2025",
                &[
                    "2024-12-30",
                    "2024-12-31",
                    "2025-01-01",
                    "2025-01-02",
                    "2025-01-03",
                    "2025-01-04",
                    "2025-01-05",
                ],
            ),
            ("the 31 February 2024", &["2024-02"]),
            ("Mars 2024 or the market 2024", &["2024-03"]),
            ("season 2011/12 or 2023-24", &[]),
            ("version 1.9.2024-rc and v1.9.2024", &[]),
            ("v2 may 2024.1.3", &["2024-05"]),
            ("12 of 2024 lamps", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(named_dates(text), expected, "{text}");
            let first = date_in_text(text);
            assert_eq!(first.as_deref(), expected.first().copied(), "{text}");
        }
    }

    #[test]
    fn dates_in_paths() {
        let cases = [
            ("journal/2024-02-11.md", "2024-02-11"),
            ("meetings/2024_03_15 supplier.md", "2024-03-15"),
            ("20240315.txt", "2024-03-15"),
            ("20240315094122-title.org", "2024-03-15"),
            ("202403150941 zettel.md", "2024-03-15"),
            ("IMG_20240315_101500.eml", "2024-03-15"),
            ("Protokoll 31.12.2023.docx", "2023-12-31"),
            ("2024 02 11 über.md", "2024-02-11"),
            ("app.log.20240315", "2024-03-15"),
            ("2024/02/11.md", "2024-02-11"),
            ("2024-02-11/notes.md", "2024-02-11"),
            ("2019-01-01/2024-02-11 to 2024-02-13.md", "2024-02-13"),
            ("２０２４-02-11.md", "2024-02-11"),
            ("2024-4-9.md", "2024-04-09"),
            ("9.4.2024 Sitzung.md", "2024-04-09"),
            ("Protokoll 9. Apr. 2024.md", "2024-04-09"),
            ("09_April_2024.txt", "2024-04-09"),
            ("April 9, 2024.md", "2024-04-09"),
            ("2024-Apr-09.md", "2024-04-09"),
            ("2024/apr/9.md", "2024-04-09"),
            ("protocole 9 avril 2024.md", "2024-04-09"),
            ("9 апреля 2024.md", "2024-04-09"),
            ("2024年4月9日.md", "2024-04-09"),
            ("20240409T101500.md", "2024-04-09"),
            ("31-12-2024.md", "2024-12-31"),
            ("2024/04/2024-04-09 Q2 2024.md", "2024-04-09"),
            // months
            ("2024-03.md", "2024-03-01"),
            ("2024.03 statement.txt", "2024-03-01"),
            ("Kontoauszug 03.2024.txt", "2024-03-01"),
            ("statement-03-2024.txt", "2024-03-01"),
            ("Rechnung_202403.txt", "2024-03-01"),
            ("report_2024_03_final.md", "2024-03-01"),
            ("2020-01-02/2024-03 report.md", "2024-03-01"),
            ("2024/03/notes.md", "2024-03-01"),
            ("2011/12/notes.md", "2011-12-01"),
            ("2011/12.md", "2011-12-01"),
            ("2024-03_15.md", "2024-03-01"),
            ("m/April 2024.md", "2024-04-01"),
            ("2024/apr/notes.md", "2024-04-01"),
            ("2024年4月.md", "2024-04-01"),
            ("notes/2024-W15.md", "2024-04-08"),
            ("2024/KW15 Plan.md", "2024-04-08"),
            ("2024-Q2.md", "2024-04-01"),
            ("Q4 2024.md", "2024-10-01"),
            // years
            ("2024.md", "2024-01-01"),
            ("Market 2024.md", "2024-01-01"),
            ("2024-Q5.md", "2024-01-01"),
            ("2019/meeting.md", "2019-01-01"),
            ("2019/minutes of 2021.md", "2021-01-01"),
            ("2019-05/minutes of 2021.md", "2019-05-01"),
            ("vol-07/2019/notes.md", "2019-01-01"),
            ("prices (2022).md", "2022-01-01"),
            ("Preise2022.xlsx", "2022-01-01"),
            ("budget-2019_final v2.md", "2019-01-01"),
            ("2024/ch-3.md", "2024-01-01"),
            // no dates
            ("vision 2098.md", ""),
            ("IMG_2019.jpg", ""),
            ("room 2012.md", ""),
            ("DIN EN 1992 Eurocode.md", ""),
            ("windows-2000/install.md", ""),
            ("v2019.md", ""),
            ("2019a.md", ""),
            ("20241399.md", ""),
            ("2024-13-05.md", ""),
            ("2024-02-31.md", ""),
            ("2023-02-29.md", ""),
            ("2011-12.md", ""),
            ("season 2023-24.md", ""),
            ("120240315.md", ""),
            ("202403151.md", ""),
            ("20240315259900.md", ""),
            ("201203.md", ""),
            ("v03.2024.md", ""),
            ("top-10_2023.md", ""),
            ("chapter_12_2020.md", ""),
            ("ticket-198712.md", ""),
            ("part 3456-12-01.md", ""),
            ("11-02-2024.md", ""),
            ("v2024.1.3.md", ""),
            ("2024.1.3.md", ""),
            ("1.9.2024-rc.md", ""),
            ("app 3.1.9.2024.md", ""),
            ("1.9.2024.1.md", ""),
            ("240409 notes.md", ""),
            ("24-04-09.md", ""),
            ("2024-100.md", ""),
            ("1712620800.md", ""),
            ("RFC 2119.md", ""),
            ("", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(date_in_path(path).unwrap_or_default(), expected, "{path}");
        }
    }
}
