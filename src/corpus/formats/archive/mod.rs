//! Archives: each member that can be read becomes a part of one document. Nothing is written to
//! disk, and the name of a member is only ever a label.

mod gather;
mod tar;

use std::borrow::Cow;
use std::io::Cursor;

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;
use zip::result::ZipError;

use super::format::{Extract, Format, Input, Reader};
use gather::Gathered;

pub(super) const ZIP: Format = Format {
    name: "zip",
    extensions: &["zip"],
    library: "zip 9",
    place: "member",
    reader: Reader::Configured(extract),
};

pub(super) const GZIP: Format = Format {
    name: "gzip",
    extensions: &["gz", "tgz"],
    library: "flate2 1",
    place: "member",
    reader: Reader::Configured(extract),
};

pub(super) const TAR: Format = Format {
    name: "tar",
    // Joplin exports its notes as `.jex`
    extensions: &["tar", "jex"],
    library: "ragscope",
    place: "member",
    reader: Reader::Configured(extract),
};

fn extract(input: &Input<'_>) -> Result<Extract, String> {
    let format = (input.recognise)(input.path, input.bytes)?.format;
    let mut gathered = Gathered::new(input, open);
    let opened = open(format, input.path, input.bytes, &mut gathered);
    opened.ok_or("it is not an archive that can be read")??;
    gathered.finish()
}

/// Reads the members of an archive; `None` for a file of another format. `path` is its own, for the
/// name of a member without one.
fn open(
    format: &Format,
    path: &str,
    bytes: &[u8],
    gathered: &mut Gathered<'_>,
) -> Option<Result<(), String>> {
    if ![ZIP, GZIP, TAR].contains(format) {
        return None;
    }
    let opened = gathered.check_depth().and_then(|()| {
        if *format == ZIP {
            open_zip(bytes, gathered)
        } else if *format == TAR {
            tar::open(bytes, gathered)
        } else {
            open_gzip(path, bytes, gathered);
            Ok(())
        }
    });
    Some(opened)
}

fn open_zip(bytes: &[u8], gathered: &mut Gathered<'_>) -> Result<(), String> {
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|error| format!("it cannot be unpacked: {error}"))?;

    for at in 0..archive.len() {
        if !gathered.has_room() {
            break;
        }
        let label = archive.name_for_index(at).and_then(Result::ok);
        let label = label.map_or_else(|| format!("member {}", at + 1), Cow::into_owned);
        let mut member = match archive.by_index(at) {
            Ok(member) if member.is_dir() => continue,
            Ok(member) => member,
            Err(error) => {
                gathered.skip(&label, &reason(&error));
                continue;
            }
        };

        if member.is_symlink() {
            gathered.skip(&label, "a symbolic link");
            continue;
        }

        let packed = member.compressed_size();
        gathered.unpack(&label, packed, &mut member);
    }

    Ok(())
}

fn reason(error: &ZipError) -> String {
    match error {
        // the library has no variant of its own for a member that needs one
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            "it needs a password".to_owned()
        }
        other => other.to_string(),
    }
}

fn open_gzip(path: &str, bytes: &[u8], gathered: &mut Gathered<'_>) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_lowercase();
    let name = if lower.ends_with(".tgz") {
        format!("{}.tar", &name[..name.len() - 4])
    } else if lower.ends_with(".gz") {
        name[..name.len() - 3].to_owned()
    } else {
        name.to_owned()
    };

    let packed = bytes.len() as u64;
    gathered.unpack(&name, packed, &mut MultiGzDecoder::new(bytes));
}
