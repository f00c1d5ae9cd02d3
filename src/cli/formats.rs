//! `formats`: the files that are read, and the way out for the others.

use serde_json::json;

use crate::corpus::{FORMATS, UNREAD};

use super::failure::Stopped;
use super::output::{Output, table};

/// Lists what is read with its places and its reader, and what is not read with the way out.
pub fn run(out: &mut Output) -> Result<(), Stopped> {
    out.print(&json!({ "read": FORMATS, "not_read": UNREAD }), text)
}

fn text() -> String {
    let read: Vec<[String; 3]> = FORMATS
        .iter()
        .map(|format| {
            let extensions = match format.extensions {
                [] => "by its content".to_owned(),
                extensions => extensions.join(" "),
            };
            [
                format!("  {}", format.name),
                format.place.to_owned(),
                format!("{extensions} ({})", format.library),
            ]
        })
        .collect();

    let mut text = format!(
        "Read, with the unit of a place and the reader:\n{}",
        table(&read)
    );
    text.push_str("Other files are read as text if their bytes are text.\n\nNot read:\n");
    for unread in UNREAD {
        let way_out = unread.way_out.unwrap_or("holds no text");
        let extensions = unread.extensions.join(" ");
        text.push_str(&format!("  {}: {way_out} ({extensions})\n", unread.kind));
    }
    text
}
