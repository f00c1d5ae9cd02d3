//! Markup whose headings are lines: AsciiDoc, reStructuredText and Org, as they are in the file.

use super::lines::lines;
use super::{Extract, Format, Metadata, Reader};
use crate::corpus::document::Heading;
use crate::corpus::fold_white_space;
use crate::event::{HeadingLines, MarkupLanguage, saturating_u32};

pub(super) const ASCIIDOC: Format = Format {
    name: "AsciiDoc",
    extensions: &["adoc", "asciidoc", "asc"],
    library: "ragscope",
    place: "line",
    reader: Reader::Text(asciidoc),
};

pub(super) const RESTRUCTURED_TEXT: Format = Format {
    name: "reStructuredText",
    extensions: &["rst", "rest"],
    library: "ragscope",
    place: "line",
    reader: Reader::Text(restructured_text),
};

pub(super) const ORG: Format = Format {
    name: "Org",
    extensions: &["org"],
    library: "ragscope",
    place: "line",
    reader: Reader::Text(org),
};

/// A format with its language, and the function that finds its headings.
type Language = (&'static Format, MarkupLanguage, fn(String) -> Extract);

pub(super) const LANGUAGES: [Language; 3] = [
    (&ASCIIDOC, MarkupLanguage::AsciiDoc, asciidoc),
    (
        &RESTRUCTURED_TEXT,
        MarkupLanguage::RestructuredText,
        restructured_text,
    ),
    (&ORG, MarkupLanguage::Org, org),
];

/// Returns the lines of headings of a text, in order.
pub(super) fn heading_lines(text: &str, headings: Vec<Heading>) -> Vec<HeadingLines> {
    let mut line = 1;
    let mut counted = 0;
    let mut line_at = |at: usize| {
        line += text[counted..at].matches('\n').count();
        counted = at;
        saturating_u32(line)
    };
    headings
        .into_iter()
        .map(|heading| HeadingLines {
            first_line: line_at(heading.range.start),
            last_line: line_at(heading.range.start + text[heading.range].trim_end().len()),
            level: heading.level,
            title: heading.title,
        })
        .collect()
}

/// The fields of a document are in its first lines.
const HEADER_LINES: usize = 50;

/// Finds titles (`== Title`), outside of delimited blocks, and the fields of the header.
fn asciidoc(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut block: Option<&str> = None;
    let mut was_title = false;
    for (number, (start, line)) in lines(&text).enumerate() {
        let content = line.trim_end();
        if is_delimiter(content) {
            block = match block {
                Some(open) if open == content => None,
                Some(open) => Some(open),
                None => Some(content),
            };
            continue;
        }
        if block.is_some() {
            continue;
        }

        let title = content.trim_start_matches(['=', '#']);
        let marks = content.len() - title.len();
        let is_heading =
            (1..=6).contains(&marks) && title.starts_with(' ') && !title.trim().is_empty();
        if is_heading {
            let title = title.trim().trim_end_matches(['=', ' ']);
            if marks == 1 {
                metadata.set("title", title);
            }
            headings.push(heading(start, line, marks, title));
        } else if was_title && !content.is_empty() && !content.starts_with([':', '/', '[']) {
            metadata.set("author", content.split('<').next().unwrap_or_default());
        } else if number < HEADER_LINES
            && let Some((name, value)) = field(content)
        {
            metadata.set(name, value);
        }
        was_title = is_heading && marks == 1;
    }
    Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    }
}

/// Returns whether a line opens or closes a block of AsciiDoc whose lines are no titles.
fn is_delimiter(content: &str) -> bool {
    content.len() >= 4
        && ["-", ".", "+", "/", "_", "*", "="]
            .into_iter()
            .any(|mark| content.split(mark).all(str::is_empty))
        || content.starts_with("|===")
        || content.starts_with("```")
}

/// Returns the name and the value of a field: `:name: value`.
fn field(content: &str) -> Option<(&str, &str)> {
    content.strip_prefix(':')?.split_once(':')
}

/// Finds titles by the line of signs below them, or above and below. A level is a sort of line, in the
/// order of the file.
fn restructured_text(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut styles: Vec<(u8, bool)> = Vec::new();
    let all: Vec<(usize, &str)> = lines(&text).collect();
    let mut next = 0;
    for (index, (start, line)) in all.iter().enumerate() {
        if index < HEADER_LINES
            && let Some((name, value)) = field(line)
        {
            metadata.set(name, value);
        }
        if index < next {
            continue;
        }

        let below = all.get(index + 1).map_or("", |(_, line)| line);
        let third = all.get(index + 2).map_or("", |(_, line)| line);
        let is_after_blank = index == 0 || all[index - 1].1.trim().is_empty();
        let over =
            adornment(line).filter(|sign| adornment(third) == Some(*sign) && is_title(below));
        let under = adornment(below).filter(|_| {
            is_title(line)
                && below.trim_end().chars().count() + 1 >= line.trim_end().chars().count()
        });
        let (style, title, last) = if let Some(sign) = over.filter(|_| is_after_blank) {
            ((sign, true), below, index + 2)
        } else if let Some(sign) = under.filter(|_| is_after_blank && !line.starts_with(' ')) {
            ((sign, false), *line, index + 1)
        } else {
            continue;
        };

        let known = styles.iter().position(|known| *known == style);
        let level = known.unwrap_or_else(|| {
            styles.push(style);
            styles.len() - 1
        });
        if headings.is_empty() {
            metadata.set("title", title);
        }
        headings.push(Heading {
            range: *start..all[last].0 + all[last].1.len(),
            level: u8::try_from(level + 1).unwrap_or(u8::MAX),
            title: fold_white_space(title),
        });
        next = last + 1;
    }
    Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    }
}

/// Returns the sign of a line that is nothing but a run of it.
fn adornment(line: &str) -> Option<u8> {
    let line = line.trim_end();
    let sign = *line.as_bytes().first()?;
    let is_run = line.len() >= 2 && line.bytes().all(|byte| byte == sign);
    (is_run && sign.is_ascii_punctuation()).then_some(sign)
}

fn is_title(line: &str) -> bool {
    !line.trim().is_empty() && adornment(line).is_none() && !line.starts_with("..")
}

/// Finds titles (`** Title`), outside of blocks, and the keywords of the header.
fn org(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut is_in_block = false;
    for (start, line) in lines(&text) {
        let lower = line
            .trim_start()
            .get(..8)
            .unwrap_or_default()
            .to_ascii_lowercase();
        if lower.starts_with("#+begin_") {
            is_in_block = true;
        } else if lower.starts_with("#+end_") {
            is_in_block = false;
        } else if let Some((name, value)) = line
            .strip_prefix("#+")
            .and_then(|rest| rest.split_once(':'))
        {
            metadata.set(name, value.trim().trim_matches(['<', '>', '[', ']']));
        }
        if is_in_block {
            continue;
        }

        let title = line.trim_start_matches('*');
        let stars = line.len() - title.len();
        if stars > 0 && title.starts_with(' ') && !title.trim().is_empty() {
            headings.push(heading(start, line, stars, org_title(title)));
        }
    }
    Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    }
}

/// Returns a title of Org without the state before it and the tags after it.
fn org_title(title: &str) -> &str {
    let title = title.trim();
    let title = ["TODO ", "DONE "]
        .into_iter()
        .find_map(|state| title.strip_prefix(state))
        .unwrap_or(title);
    match title.rsplit_once(' ') {
        Some((words, tags)) if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') => {
            words.trim_end()
        }
        _ => title,
    }
}

fn heading(start: usize, line: &str, level: usize, title: &str) -> Heading {
    Heading {
        range: start..start + line.len(),
        level: u8::try_from(level).unwrap_or(u8::MAX),
        title: fold_white_space(title),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &Format, text: &str, expected: &[(u8, &str)], fields: [&str; 3]) {
        let Reader::Text(read) = format.reader else {
            panic!("{} is read as text", format.name);
        };
        let found = read(text.to_owned());
        assert_eq!(found.text, text);
        let headings: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(headings, expected, "{}", format.name);
        let metadata = found.metadata;
        let found = [metadata.title, metadata.author, metadata.date].map(Option::unwrap_or_default);
        assert_eq!(found, fields, "{}", format.name);
    }

    #[test]
    fn titles_of_asciidoc() {
        check(
            &ASCIIDOC,
            "= Guide\nAnn Lee <ann@x.org>\n:revdate: 2024-01-31\n\n== One\ntext\n----\n== no\n----\n=== Two ===\n====\n== no\n====\n==no\n",
            &[(1, "Guide"), (2, "One"), (3, "Two")],
            ["Guide", "Ann Lee", "2024-01-31"],
        );
    }

    #[test]
    fn titles_of_restructured_text() {
        check(
            &RESTRUCTURED_TEXT,
            "=====\nGuide\n=====\n\n:Author: Ann\n:Date: 2024-01-31\n\nOne\n---\n\ntext\n\nTwo\n~~~\n\nThree\n-----\n\n::\n\n  no\n  --\n\n=== ===\na   b\n=== ===\n",
            &[(1, "Guide"), (2, "One"), (3, "Two"), (2, "Three")],
            ["Guide", "Ann", "2024-01-31"],
        );
    }

    #[test]
    fn titles_of_org() {
        check(
            &ORG,
            "#+TITLE: Guide\n#+author: Ann\n#+DATE: <2024-01-31 Wed>\n* One :tag:\n** TODO Two\n#+begin_src\n* no\n#+end_src\n*bold*\n",
            &[(1, "One"), (2, "Two")],
            ["Guide", "Ann", "2024-01-31"],
        );
    }
}
