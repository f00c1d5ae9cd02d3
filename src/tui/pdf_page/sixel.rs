//! Sixel: bands of six rows of pixels, one pass per colour of a band.

use std::io::{self, Write};

/// Levels of each of red, green and blue in the palette.
const LEVELS: usize = 6;
/// Levels of grey after the colours: most of a page is black on white.
const GREYS: usize = 32;
/// Difference of two parts of a colour up to which it counts as grey.
const GREY_SPREAD: u8 = 12;

/// Writes a portable pixmap (P6, 8 bits) at the cursor.
///
/// # Errors
/// Bytes that are no such pixmap; an output that cannot be written.
pub fn write(pixmap: &[u8], out: &mut impl Write) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "no pixmap");
    let (width, pixels) = parse(pixmap).ok_or_else(invalid)?;
    let colours: Vec<usize> = pixels.chunks_exact(3).map(colour).collect();

    // 1: pixels that are not set stay as they are
    out.write_all(b"\x1bP0;1q")?;
    for (number, [red, green, blue]) in palette().enumerate() {
        write!(out, "#{number};2;{red};{green};{blue}")?;
    }
    for band in colours.chunks(width * 6) {
        write_band(band, width, out)?;
    }
    out.write_all(b"\x1b\\")
}

/// Returns the width, and the pixels of whole rows.
fn parse(pixmap: &[u8]) -> Option<(usize, &[u8])> {
    let mut rest = pixmap.strip_prefix(b"P6")?;
    let mut numbers = [0; 3];
    for number in &mut numbers {
        rest = rest.trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        rest = &rest[digits..];
    }

    let [width, height, depth]: [usize; 3] = numbers;
    let bytes = width.checked_mul(height)?.checked_mul(3)?;
    // one white space ends the header
    let pixels = rest.get(1..)?.get(..bytes)?;
    (depth == 255 && bytes > 0).then_some((width, pixels))
}

/// Returns the colours of the palette, each part in percent.
fn palette() -> impl Iterator<Item = [usize; 3]> {
    let level = |level: usize| level * 100 / (LEVELS - 1);
    let colours = (0..LEVELS.pow(3)).map(move |number| {
        let [red, green, blue] = [
            number / LEVELS.pow(2),
            number / LEVELS % LEVELS,
            number % LEVELS,
        ];
        [level(red), level(green), level(blue)]
    });
    let greys = (0..GREYS).map(|grey| [grey * 100 / (GREYS - 1); 3]);
    colours.chain(greys)
}

/// Returns the number of the colour that is nearest to a pixel.
fn colour(pixel: &[u8]) -> usize {
    let least = pixel.iter().min().copied().unwrap_or_default();
    let most = pixel.iter().max().copied().unwrap_or_default();
    let nearest = |value: u8, levels: usize| (usize::from(value) * (levels - 1) + 127) / 255;
    if most - least <= GREY_SPREAD {
        return LEVELS.pow(3) + nearest(most, GREYS);
    }
    pixel
        .iter()
        .fold(0, |number, part| number * LEVELS + nearest(*part, LEVELS))
}

/// Writes up to six rows: each colour that occurs, over the whole width.
fn write_band(band: &[usize], width: usize, out: &mut impl Write) -> io::Result<()> {
    let mut columns = vec![Vec::<(usize, u8)>::new(); width];
    let mut occurs = [false; LEVELS.pow(3) + GREYS];
    for (row, colours) in band.chunks(width).enumerate() {
        for (column, colour) in columns.iter_mut().zip(colours) {
            occurs[*colour] = true;
            match column.iter_mut().find(|(known, _)| known == colour) {
                Some((_, rows)) => *rows |= 1 << row,
                None => column.push((*colour, 1 << row)),
            }
        }
    }

    for colour in (0..occurs.len()).filter(|colour| occurs[*colour]) {
        write!(out, "#{colour}")?;
        let rows = columns.iter().map(|column| {
            let found = column.iter().find(|(known, _)| *known == colour);
            found.map_or(0, |(_, rows)| *rows)
        });
        write_runs(rows, out)?;
        // back to the beginning of the band
        out.write_all(b"$")?;
    }
    // to the next band
    out.write_all(b"-")
}

/// Writes the rows of one colour in each column, with equal neighbours counted.
fn write_runs(rows: impl Iterator<Item = u8>, out: &mut impl Write) -> io::Result<()> {
    let mut write = |count: usize, rows: u8| {
        let sixel = char::from(b'?' + rows);
        match count {
            0 => Ok(()),
            1..=3 => write!(out, "{}", sixel.to_string().repeat(count)),
            _ => write!(out, "!{count}{sixel}"),
        }
    };
    let (mut count, mut last) = (0, 0);
    for rows in rows {
        if rows != last {
            write(count, last)?;
            count = 0;
            last = rows;
        }
        count += 1;
    }
    // what is empty to the end of the band needs nothing
    if last == 0 {
        Ok(())
    } else {
        write(count, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two columns of seven rows: red and white on the left, black on the right.
    #[test]
    fn pixels_become_bands_of_their_colours() {
        let mut pixmap = b"P6\n2 7\n255\n".to_vec();
        for row in 0..7 {
            pixmap.extend(if row < 2 { [255, 0, 0] } else { [255; 3] });
            pixmap.extend([0; 3]);
        }
        let mut out = Vec::new();
        write(&pixmap, &mut out).expect("a pixmap");

        let text = String::from_utf8(out).expect("ASCII");
        let after_palette = text
            .rsplit_once("#247;2;100;100;100")
            .expect("the palette")
            .1;
        // the last colour is white, the first grey is black
        assert_eq!(after_palette, "#180B$#216?~$#247{$-#216?@$#247@$-\x1b\\");
    }

    #[test]
    fn other_bytes_are_no_pixmap() {
        for bytes in [
            &b""[..],
            b"P6",
            b"P6 2 2 255\n123",
            b"P5 1 1 255\n1",
            b"P6 0 0 255\n",
            b"P6 99999999999999999999 1 255\n",
        ] {
            assert!(write(bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
    }
}
