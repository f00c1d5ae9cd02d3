//! `formats`: the files that are read, and the way out for the others.

use serde::Serialize;

use crate::corpus::{FORMATS, UNREAD};

use super::failure::{Exit, Stopped};
use super::output::Output;

#[derive(Serialize)]
struct Read {
    name: &'static str,
    extensions: &'static [&'static str],
    place: &'static str,
    library: &'static str,
}

#[derive(Serialize)]
struct NotRead {
    kind: &'static str,
    extensions: &'static [&'static str],
    way_out: Option<&'static str>,
}

/// Lists what is read with its places and its reader, and what is not read with the way out.
pub fn run(out: &mut Output) -> Result<Exit, Stopped> {
    let read: Vec<Read> = FORMATS
        .iter()
        .map(|format| Read {
            name: format.name,
            extensions: format.extensions,
            place: format.place,
            library: format.library,
        })
        .collect();
    let not_read: Vec<NotRead> = UNREAD
        .iter()
        .map(|unread| NotRead {
            kind: unread.kind,
            extensions: unread.extensions,
            way_out: unread.way_out,
        })
        .collect();

    if out.json {
        out.json_pretty(&serde_json::json!({ "read": read, "not_read": not_read }))?;
    } else {
        out.text(&text(&read, &not_read))?;
    }
    Ok(Exit::Done)
}

fn text(read: &[Read], not_read: &[NotRead]) -> String {
    let name_width = read.iter().map(|format| format.name.len()).max();
    let name_width = name_width.unwrap_or(0);
    let place_width = read.iter().map(|format| format.place.len()).max();
    let place_width = place_width.unwrap_or(0);

    let mut text = "Read, with the unit of a place and the reader:\n".to_owned();
    for format in read {
        let Read {
            name,
            place,
            library,
            ..
        } = format;
        let extensions = match format.extensions {
            [] => "by its content".to_owned(),
            extensions => extensions.join(" "),
        };
        text.push_str(&format!(
            "  {name:name_width$}  {place:place_width$}  {extensions} ({library})\n"
        ));
    }

    text.push_str("Other files are read as text if their bytes are text.\n\nNot read:\n");
    for unread in not_read {
        let way_out = unread.way_out.unwrap_or("holds no text");
        let extensions = unread.extensions.join(" ");
        text.push_str(&format!("  {}: {way_out} ({extensions})\n", unread.kind));
    }

    text
}
