//! Plain text: also every file of no other format whose bytes are text.

use super::format::{Extract, Format, Reader};

pub(super) const FORMAT: Format = Format {
    name: "text",
    extensions: &["txt", "text"],
    library: "ragscope",
    place: "line",
    reader: Reader::Text(Extract::verbatim),
};
