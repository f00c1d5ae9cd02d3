//! References to cells of Excel, as in `BC23`, and the cells that reach over several rows.

use std::collections::HashMap;
use std::io::Read;

use super::package::Package;

/// Bytes of a sheet that are looked through at once, and of an element that names merged cells.
const PART_BYTES: u64 = 64 << 10;
const MERGE_BYTES: usize = 64;

/// Returns the last rows of cells that reach over several, by their rows and columns: they are
/// listed behind all rows. Who reads the rows reports what is damaged.
pub(super) fn read_merged(
    package: &mut Package<'_>,
    path: &str,
    limit: u64,
) -> HashMap<(u32, usize), u32> {
    let mut merged = HashMap::new();
    let Ok(mut sheet) = package.stream(path, limit) else {
        return merged;
    };
    let mut part = Vec::new();
    loop {
        let read = sheet.by_ref().take(PART_BYTES).read_to_end(&mut part);
        let text = String::from_utf8_lossy(&part);
        let ranges = text.split("mergeCell ref=").skip(1);
        merged
            .extend(ranges.filter_map(|after| span_of(after.get(1..)?.split(['"', '\'']).next()?)));
        if !matches!(read, Ok(1..)) {
            return merged;
        }
        // an element may reach into the next part
        part.drain(..part.len().saturating_sub(MERGE_BYTES));
    }
}

/// Returns the first row and column of a range as in `A3:A4`, and its last row, where that is
/// another.
fn span_of(range: &str) -> Option<((u32, usize), u32)> {
    let (first, last) = range.split_once(':')?;
    let rows = [row(first)?, row(last)?];
    (rows[1] > rows[0]).then_some(((rows[0], column(first)?), rows[1]))
}

/// Returns the row, from 1, of a reference as in `BC23`.
pub(super) fn row(reference: &str) -> Option<u32> {
    let digits = reference.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok()
}

/// Returns the column, from 0, of a reference as in `BC23`.
pub(super) fn column(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.take(4).fold(0, |number, letter| {
        // digits from A for 1 to Z for 26, without a zero
        number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_COLUMNS: usize = 16_384;

    #[test]
    fn columns_of_references() {
        let cases = [
            ("A1", Some(0)),
            ("Z9", Some(25)),
            ("AA1", Some(26)),
            ("XFD1048576", Some(MAX_COLUMNS - 1)),
            ("17", None),
            ("", None),
        ];
        for (reference, found) in cases {
            assert_eq!(column(reference), found, "{reference}");
        }
        assert!(column(&"Z".repeat(99)).is_some_and(|column| column > MAX_COLUMNS));
    }
}
