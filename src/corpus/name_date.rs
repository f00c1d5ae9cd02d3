//! The date in the path of a document: `journal/2024-02-11.md`, `2024_03_15 supplier.md`; and in a
//! question: `7 May 2024`.

use jiff::civil::Date;

use super::sentence::split_words;

/// The beginnings of the names of months in English, German, French and Spanish, in lower case.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene"],
    &["feb", "fév"],
    &["mar", "mär"],
    &["apr", "avr", "abr"],
    &["may", "mai"],
    &["jun", "juin"],
    &["jul", "juil"],
    &["aug", "août", "ago"],
    &["sep"],
    &["oct", "okt"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// The signs between year, month and day; none stands for `20240315`.
const SEPARATORS: [&str; 6] = ["-", "_", ".", " ", "/", ""];

/// Returns the date in the path of a document, as `2024-02-11`: that of the file name, otherwise
/// that of its folders, the last one of several. A month counts from its first day.
pub fn date_in_path(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    [name, path]
        .into_iter()
        .find_map(|text| last(text, day_at).or_else(|| last(text, month_at)))
        .map(|date| date.to_string())
}

/// Returns the day that a text names, as `2024-02-11`: with the name of its month, or as in a path.
pub fn date_in_text(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let words = split_words(&text).filter(|word| !["de", "del", "of"].contains(word));
    let words: Vec<&str> = words.collect();
    let named = words.windows(3).find_map(|three| {
        let (day, month, year) = match month_of(three[1]) {
            Some(month) => (three[0], month, three[2]),
            None => (three[1], month_of(three[0])?, three[2]),
        };
        let day = day.trim_end_matches(|c: char| !c.is_ascii_digit());
        date([year.parse().ok()?, month, day.parse().ok()?])
    });
    named
        .map(|date| date.to_string())
        .or_else(|| date_in_path(&text))
}

fn month_of(word: &str) -> Option<i16> {
    let begins = |names: &&[&str]| names.iter().any(|name| word.starts_with(name));
    let place = MONTHS.iter().position(begins)?;
    i16::try_from(place + 1).ok()
}

/// Returns the last date that one of the positions of a text begins.
fn last(text: &str, date_at: fn(&str) -> Option<(Date, usize)>) -> Option<Date> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts = (0..text.len()).rev().filter(|at| is_digit(*at));
    // a longer number holds no date
    starts
        .filter(|at| *at == 0 || !is_digit(*at - 1))
        .find_map(|at| {
            let (date, length) = date_at(&text[at..])?;
            (!is_digit(at + length)).then_some(date)
        })
}

/// Returns the day that a text begins with, and its length.
fn day_at(text: &str) -> Option<(Date, usize)> {
    let year_first = SEPARATORS.iter().find_map(|separator| {
        let (parts, length) = numbers(text, [4, 2, 2], separator)?;
        Some((date(parts)?, length))
    });
    // as in German; with other signs the month may come first
    year_first.or_else(|| {
        let ([day, month, year], length) = numbers(text, [2, 2, 4], ".")?;
        Some((date([year, month, day])?, length))
    })
}

/// Returns the month that a text begins with, and its length. `2011-12` may be two years, and
/// `2024-02-31` is not a date.
fn month_at(text: &str) -> Option<(Date, usize)> {
    ["-", "_", "/"].into_iter().find_map(|separator| {
        let ([year, month], length) = numbers(text, [4, 2], separator)?;
        let after = text[length..].strip_prefix(separator).unwrap_or_default();
        let has_more = after.starts_with(|c: char| c.is_ascii_digit());
        // `2023-24` is a season, not a month
        let is_next_year = (year + 1) % 100 == month;
        let is_sure = separator == "/" || !has_more && !is_next_year;
        date([year, month, 1])
            .filter(|_| is_sure)
            .map(|date| (date, length))
    })
}

fn date([year, month, day]: [i16; 3]) -> Option<Date> {
    let [month, day] = [month, day].map(|part| i8::try_from(part).ok());
    let date = Date::new(year, month?, day?).ok()?;
    (1900..2100).contains(&year).then_some(date)
}

/// Returns the numbers that a text begins with, by their digits, and their length with the signs
/// between them.
fn numbers<const N: usize>(
    text: &str,
    digits: [usize; N],
    separator: &str,
) -> Option<([i16; N], usize)> {
    let mut numbers = [0; N];
    let mut rest = text;

    for (index, (number, digits)) in numbers.iter_mut().zip(digits).enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(separator)?;
        }

        let part = rest.get(..digits)?;
        if !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }

        *number = part.parse().ok()?;
        rest = &rest[digits..];
    }

    Some((numbers, text.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_in_questions() {
        let cases = [
            ("Summarise the meeting of 7 May 2024", "2024-05-07"),
            ("What happened on March 3rd, 2023?", "2023-03-03"),
            ("Was war am 7. März 2024?", "2024-03-07"),
            ("la réunion du 2 août 2021", "2021-08-02"),
            ("la reunión del 7 de mayo de 2024", "2024-05-07"),
            ("the minutes of 2024-05-07", "2024-05-07"),
            ("the 31 February 2024", ""),
            ("in May 2024", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(date_in_text(text).unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn dates_in_paths() {
        let cases = [
            ("journal/2024-02-11.md", "2024-02-11"),
            ("meetings/2024_03_15 supplier.md", "2024-03-15"),
            ("20240315.txt", "2024-03-15"),
            ("IMG_20240315_101500.eml", "2024-03-15"),
            ("Protokoll 31.12.2023.docx", "2023-12-31"),
            ("2024 02 11 über.md", "2024-02-11"),
            ("app.log.20240315", "2024-03-15"),
            ("2024/02/11.md", "2024-02-11"),
            ("2024-02-11/notes.md", "2024-02-11"),
            ("2019-01-01/2024-02-11 to 2024-02-13.md", "2024-02-13"),
            // months
            ("2024-03.md", "2024-03-01"),
            ("report_2024_03_final.md", "2024-03-01"),
            ("2020-01-02/2024-03 report.md", "2024-03-01"),
            ("2024/03/notes.md", "2024-03-01"),
            ("2011/12/notes.md", "2011-12-01"),
            ("2024-03_15.md", "2024-03-01"),
            // no dates
            ("20241399.md", ""),
            ("2024-13-05.md", ""),
            ("2024-02-31.md", ""),
            ("2023-02-29.md", ""),
            ("2011-12.md", ""),
            ("season 2023-24.md", ""),
            ("2024.md", ""),
            ("120240315.md", ""),
            ("202403151.md", ""),
            ("20240315101500.md", ""),
            ("part 3456-12-01.md", ""),
            ("11-02-2024.md", ""),
            ("v2024.1.3.md", ""),
            ("RFC 2119.md", ""),
            ("２０２４-02-11.md", ""),
            ("", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(date_in_path(path).unwrap_or_default(), expected, "{path}");
        }
    }
}
