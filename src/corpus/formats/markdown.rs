//! Markdown as it is in the file, with its headings.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::format::{Extract, Format, Reader};
use crate::corpus::outline::Heading;
use crate::event::Metadata;

pub(super) const FORMAT: Format = Format {
    name: "Markdown",
    extensions: &[
        "md", "markdown", "mdown", "mkd", "mkdn", "mdx", "qmd", "rmd",
    ],
    library: "pulldown-cmark",
    place: "line",
    reader: Reader::Text(extract),
};

/// Finds the headings and the front matter, which is not a heading.
pub(super) fn extract(text: String) -> Extract {
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_TABLES
        | Options::ENABLE_HEADING_ATTRIBUTES;
    let mut headings = Vec::new();
    let mut front_matter_end = 0;
    let mut open: Option<Heading> = None;
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = Some(Heading {
                    range,
                    level: level as u8,
                    title: String::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                headings.extend(open.take().filter(|heading| !heading.title.is_empty()));
            }
            Event::Start(Tag::MetadataBlock(_)) if headings.is_empty() => {
                front_matter_end = range.end;
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    let mut metadata = Metadata::default();
    metadata.set_front_matter(&text[..front_matter_end]);
    Extract {
        headings,
        front_matter_end,
        metadata,
        ..Extract::verbatim(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_both_kinds() {
        let text = "---\ntitle: Front\n---\n# One *and* `two` {#id}\n\ntext\n\nThree\n-----\n\n```\n# no\n```\n\n- ## In a list\n";
        let found = extract(text.to_owned());
        assert_eq!(found.metadata.title.as_deref(), Some("Front"));
        let found: Vec<_> = found
            .headings
            .into_iter()
            .map(|heading| (heading.level, heading.title))
            .collect();
        assert_eq!(
            found,
            [
                (1, "One and two".to_owned()),
                (2, "Three".to_owned()),
                (2, "In a list".to_owned())
            ]
        );
    }
}
