//! tar: headers of 512 bytes, each with the bytes of a file after it (POSIX.1-2001, "pax").

use super::gather::{Gathered, Unread};

const BLOCK: usize = 512;

/// A header.
struct Header {
    name: String,
    bytes: usize,
    kind: u8,
}

/// Reads the members of an archive.
///
/// # Errors
/// Bytes that are no tar archive.
pub(super) fn open(bytes: &[u8], gathered: &mut Gathered<'_>) -> Result<(), String> {
    let mut at = 0;
    let mut long_name: Option<String> = None;
    while let Some(block) = bytes.get(at..at + BLOCK) {
        if !gathered.has_room() || block.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let Some(header) = Header::of(block) else {
            return if at == 0 {
                Err("it cannot be unpacked: not a tar archive".to_owned())
            } else {
                gathered.skip(
                    "the rest",
                    Unread::Other("the archive is damaged".to_owned()),
                );
                Ok(())
            };
        };

        let start = at + BLOCK;
        let end = start.saturating_add(header.bytes);
        let content = bytes.get(start..end);
        let name = long_name.take().unwrap_or(header.name);
        match (header.kind, content) {
            (_, None) => {
                gathered.skip(
                    &name,
                    Unread::Other("the archive ends inside it".to_owned()),
                );
                return Ok(());
            }
            // GNU tar and pax write a name that is too long as a member in front
            (b'L', Some(content)) => long_name = Some(text(content)),
            (b'x', Some(content)) => long_name = pax_path(content),
            (b'0' | 0, Some(mut content)) => {
                gathered.unpack(&name, header.bytes as u64, &mut content);
            }
            (_, Some(_)) => {}
        }
        at = end.next_multiple_of(BLOCK);
    }
    Ok(())
}

impl Header {
    /// Parses a header; `None` when its checksum is wrong.
    fn of(block: &[u8]) -> Option<Self> {
        let sum: u64 = (0..)
            .zip(block)
            .map(|(at, byte)| {
                // the checksum itself counts as blanks
                let is_sum = (148..156).contains(&at);
                u64::from(if is_sum { b' ' } else { *byte })
            })
            .sum();
        if octal(&block[148..156])? != sum {
            return None;
        }

        let name = text(&block[..100]);
        let is_ustar = &block[257..262] == b"ustar";
        let folder = text(&block[345..500]);
        Some(Self {
            name: if is_ustar && !folder.is_empty() {
                format!("{folder}/{name}")
            } else {
                name
            },
            bytes: usize::try_from(octal(&block[124..136])?).ok()?,
            kind: block[156],
        })
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).ok()
}

/// Returns a field without the zeros after it.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// Returns the path in the records of a pax header: `27 path=a/b`, one per line.
fn pax_path(records: &[u8]) -> Option<String> {
    let records = String::from_utf8_lossy(records);
    let path = records.lines().find_map(|line| {
        let (_, record) = line.split_once(' ')?;
        record.strip_prefix("path=")
    });
    path.map(str::to_owned)
}
