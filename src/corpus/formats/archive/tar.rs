//! tar, by the `tar` crate: members that are regular files, one after another.

use tar::{Archive, EntryType};

use super::gather::Gathered;

/// Reads the members of an archive.
///
/// # Errors
/// Bytes that are not a tar archive.
pub(super) fn open(bytes: &[u8], gathered: &mut Gathered<'_>) -> Result<(), String> {
    let damaged = |_| "it cannot be unpacked: not a tar archive".to_owned();
    let mut archive = Archive::new(bytes);
    let mut is_first = true;
    for member in archive.entries().map_err(damaged)? {
        let mut member = match member {
            Ok(member) => member,
            Err(error) if is_first => return Err(damaged(error)),
            Err(_) => {
                gathered.skip("the rest", "the archive is damaged");
                return Ok(());
            }
        };
        is_first = false;
        if !gathered.has_room() {
            return Ok(());
        }

        let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
        // of a sparse file, which unpacks to zeros beyond its bytes, that is not where it ends
        let end = member.raw_file_position().saturating_add(member.size());
        if member.header().entry_type() == EntryType::Regular {
            if end > bytes.len() as u64 {
                gathered.skip(&name, "the archive ends inside it");
                return Ok(());
            }
            let packed = member.size();
            gathered.unpack(&name, packed, &mut member);
        }
    }
    Ok(())
}
