//! Numbers, durations and sizes.

/// Returns `9,118` for 9118.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns `1 file` or `2 files`.
pub fn quantity(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// Rounds to two digits; what rounds to zero has no sign.
pub fn hundredths(value: f32) -> f32 {
    (value * 100.0).round() / 100.0 + 0.0
}

/// Returns a share in 0..=1 as `42 %`.
pub fn percent(share: f32) -> String {
    let rounded = (share * 100.0).round();
    // what is neither certain nor impossible is not said to be
    let shown = if share > 0.0 && share < 1.0 {
        rounded.clamp(1.0, 99.0)
    } else {
        rounded
    };
    format!("{shown:.0} %")
}

/// Returns `.713` for a score below 1, `8.10` for others.
pub fn score(score: f32, digits: usize) -> String {
    let text = format!("{score:.digits$}");
    if score.abs() < 1.0 {
        text.replacen("0.", ".", 1)
    } else {
        text
    }
}

/// Returns two scores with at least this many digits, and with as many more as distinguish them.
pub(super) fn distinct_scores(one: f32, other: f32, digits: usize) -> [String; 2] {
    /// The digits of a single-precision number.
    const ALL: usize = 9;
    let texts = |digits| [one, other].map(|value| score(value, digits));
    (digits..ALL)
        .map(texts)
        .find(|[one, other]| one != other)
        .unwrap_or_else(|| texts(digits))
}

/// Returns a duration as `840 ms`, `1.2 s`, `1 min 15 s` or `2 h 05 min`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// Returns a place in an order: `1st`, `22nd`, `113th`.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Returns the remaining time, without fractions that jump.
pub fn time_left(ms: u64) -> String {
    match ms.div_ceil(1_000) {
        seconds @ 0..60 => format!("{seconds} s left"),
        seconds @ 60..3_600 => format!("{} min {:02} s left", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min left", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns a size as `11.7 MB`: powers of ten, as file managers count.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Returns a rate as `3.4/s` or `1,203/s`.
pub fn rate(per_s: f32) -> String {
    if per_s < 10.0 {
        format!("{per_s:.1}/s")
    } else {
        format!("{}/s", count(per_s as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(quantity(1, "file"), "1 file");
        assert_eq!(duration(840), "840 ms");
        assert_eq!(duration(75_000), "1 min 15 s");
        assert_eq!(time_left(400), "1 s left");
        assert_eq!([score(0.7134, 3), score(8.1, 2)], [".713", "8.10"]);
        assert_eq!(distinct_scores(0.3, 0.4, 2), [".30", ".40"]);
        assert_eq!(distinct_scores(0.000_12, 0.003_4, 2), [".000", ".003"]);
        assert_eq!(distinct_scores(0.5, 0.5, 2), [".50", ".50"]);
        assert_eq!(
            [bytes(900), bytes(11_700_000), bytes(4_500_000_000)],
            ["0.9 kB", "11.7 MB", "4.5 GB"]
        );
    }
}
