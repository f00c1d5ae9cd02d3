//! Plain text: also every file of no other format whose bytes are text.

use super::format::{Extract, Format};

pub(super) const FORMAT: Format = Format::for_lines("text", &["txt", "text"], Extract::verbatim);
