//! Plain text: also every file of no other format whose bytes are text. The rows of a table that is
//! drawn in it have the names of its columns.

use super::format::{Extract, Format};
use super::lines::lines;
use super::markup_tables::{Line, plain_tables};

pub(super) const FORMAT: Format = Format::for_lines("text", &["txt", "text"], extract);

fn extract(text: String) -> Extract {
    let lines: Vec<Line<'_>> = lines(&text).collect();
    let tables = plain_tables(&text, &lines);
    tables.label(Extract::verbatim(text))
}
