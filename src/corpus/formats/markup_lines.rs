//! Markup whose headings are lines: AsciiDoc, reStructuredText and Org, as they are in the file but
//! for comments, marks inside of words and names that stand for text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::columns::{Tables, with_edits};
use super::format::{Extract, Format};
use super::lines::lines;
use super::markup_tables::{add_asciidoc_table, add_bar_tables, add_restructured_tables};
use super::unseen::{is_within, verbatim_parts};
use crate::corpus::outline::Heading;
use crate::corpus::sentence::{adornment, field, fold_white_space};
use crate::event::Metadata;

pub(super) const ASCIIDOC: Format =
    Format::for_lines("AsciiDoc", &["adoc", "asciidoc", "asc"], asciidoc);

pub(super) const RESTRUCTURED_TEXT: Format =
    Format::for_lines("reStructuredText", &["rst", "rest"], restructured_text);

pub(super) const ORG: Format = Format::for_lines("Org", &["org"], org);

/// The marks of each that show where a word may break, or that it does not end.
const ASCIIDOC_MARKS: &[&str] = &["{zwsp}", "{wj}", "{empty}"];
const RESTRUCTURED_MARKS: &[&str] = &["\\ **", "\\ *", "**\\ ", "*\\ ", "\\ "];
const ORG_MARKS: &[&str] = &["\\shy{}", "\\-"];

/// The lines around a comment of Org.
const ORG_COMMENT: [&str; 2] = ["#+begin_comment", "#+end_comment"];

/// The signs around a name that stands for a text, in AsciiDoc and in reStructuredText.
const ATTRIBUTE: [char; 2] = ['{', '}'];
const SUBSTITUTION: [char; 2] = ['|', '|'];
/// Maximum size of such a name, and of the text.
const MAX_NAME_BYTES: usize = 60;
const MAX_VALUE_BYTES: usize = 300;

/// The fields of a document are in its first lines.
const HEADER_LINES: usize = 50;

/// Returns the range of a line with its end.
fn whole_line(text: &str, start: usize, line: &str) -> Range<usize> {
    let end = text[start + line.len()..].find('\n');
    start..end.map_or(text.len(), |end| start + line.len() + end + 1)
}

/// The names that stand for a text, with these.
type Names<'t> = HashMap<&'t str, String>;

/// Returns the parts of a line that are names between two signs, each with its text.
fn named_texts(line: &str, [open, close]: [char; 2], names: &Names<'_>) -> Vec<Edit> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(open).filter(|_| !names.is_empty()) {
        let start = at + start;
        at = start + 1;
        let rest = &line[at..line.ceil_char_boundary(at + MAX_NAME_BYTES)];
        let length = rest.find(close);
        let text = length.and_then(|length| Some((length, names.get(&rest[..length])?)));
        if let Some((length, text)) = text.filter(|_| !line[..start].ends_with('\\')) {
            at += length + 1;
            found.push((start..at, text.clone()));
        }
    }
    found
}

/// Other text in the place of a part.
type Edit = (Range<usize>, String);

/// Finds titles (`== Title`), outside of delimited blocks, and the fields of the header.
fn asciidoc(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut block: Option<&str> = None;
    let mut was_title = false;
    let mut was_author = false;
    let mut tables = Tables::default();
    let mut attributes = "";
    let mut names = Names::new();
    // whether the paragraph that is read is one of code
    let mut is_listing = false;
    // the lines of the block that is read
    let mut inside = Vec::new();
    for (number, (start, line)) in lines(&text).enumerate() {
        let content = line.trim_end();
        let is_delimiter = is_delimiter(content);
        if content.is_empty() || is_delimiter {
            is_listing = false;
        } else if content.starts_with('[') && block.is_none() && !is_listing {
            let styles = ["[source", "[listing", "[literal", "[,"];
            is_listing = styles.iter().any(|style| content.starts_with(style));
        }
        if !is_listing && block.is_none_or(|block| !block.starts_with(['-', '.', '+', '`'])) {
            tables.leave_out_marks(start, line, ASCIIDOC_MARKS, |_| false);
            for (part, text) in named_texts(line, ATTRIBUTE, &names) {
                tables.replace(start + part.start..start + part.end, text);
            }
        }
        let is_comment = content.starts_with("//")
            && (is_delimiter || !content.starts_with("///"))
            && !is_listing;
        if block.map_or(is_comment, |block| block.starts_with('/')) {
            tables.leave_out(whole_line(&text, start, line));
            if !is_delimiter {
                continue;
            }
        }
        if is_delimiter {
            if block == Some(content) {
                if let Some(attributes) = table_attributes(content, attributes) {
                    add_asciidoc_table(&text, &attributes, &inside, &mut tables);
                }
                inside.clear();
                block = None;
            } else {
                block = block.or(Some(content));
            }
            continue;
        }
        if block.is_some() {
            inside.push((start, line));
            continue;
        }
        if content.is_empty() || content.starts_with('[') {
            attributes = content;
        }
        let named = field(content).filter(|(name, _)| !is_listing && !name.contains(' '));
        if let Some((name, value)) = named.filter(|(_, value)| value.len() <= MAX_VALUE_BYTES) {
            let value = with_edits(value, &named_texts(value, ATTRIBUTE, &names));
            names.insert(name, value.trim().to_owned());
        }

        let title = asciidoc_title(content);
        let is_author = was_title && !content.is_empty() && !content.starts_with([':', '/', '[']);
        if let Some((marks, title)) = title {
            let title = &with_edits(title, &named_texts(title, ATTRIBUTE, &names));
            if marks == 1 {
                metadata.set("title", title);
            }
            headings.push(heading(start..start + line.len(), marks, title));
        } else if is_author {
            metadata.set("author", content.split('<').next().unwrap_or_default());
        } else if was_author
            && content
                .trim_start_matches('v')
                .starts_with(|c: char| c.is_ascii_digit())
        {
            // the line of the revision: `v1.0, 2024-01-31: first`
            metadata.set("revdate", content);
        } else if number < HEADER_LINES
            && let Some((name, value)) = field(content)
        {
            metadata.set(name, value);
        }
        was_title = title.is_some_and(|(marks, _)| marks == 1);
        was_author = is_author && title.is_none();
    }
    tables.label(Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    })
}

/// Returns the level and the title of a heading of AsciiDoc.
fn asciidoc_title(content: &str) -> Option<(usize, &str)> {
    let title = content.trim_start_matches(['=', '#']);
    let marks = content.len() - title.len();
    let is_title = (1..=6).contains(&marks) && title.starts_with(' ') && !title.trim().is_empty();
    is_title.then(|| (marks, title.trim().trim_end_matches(['=', ' '])))
}

/// Returns the attributes of a table by its delimiter and the line above; `None` for another block.
fn table_attributes<'a>(delimiter: &str, attributes: &'a str) -> Option<Cow<'a, str>> {
    match delimiter.split_once("===")?.0 {
        "|" => Some(attributes.into()),
        "," => Some(format!("{attributes} format=csv").into()),
        ":" => Some(format!("{attributes} format=dsv").into()),
        _ => None,
    }
}

/// Returns whether a line opens or closes a block of AsciiDoc whose lines are no titles.
fn is_delimiter(content: &str) -> bool {
    let is_run = |mark: &str| content.split(mark).all(str::is_empty);
    let is_of_table = |mark: &str| content.starts_with(mark);
    content.len() >= 4 && ["-", ".", "+", "/", "_", "*", "="].into_iter().any(is_run)
        || ["|===", ",===", ":==="].into_iter().any(is_of_table)
        || content.starts_with("```")
}

/// Finds titles by the line of signs below them, or above and below. A level is a sort of line, in
/// the order of the file.
fn restructured_text(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut styles: Vec<(u8, bool)> = Vec::new();
    let all: Vec<(usize, &str)> = lines(&text).collect();
    let names = all.iter().filter_map(|(_, line)| substitution(line));
    let names: Names<'_> = names.collect();
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
        let title = &with_edits(title, &named_texts(title, SUBSTITUTION, &names));
        if headings.is_empty() {
            metadata.set("title", title);
        }
        let end = all[last].0 + all[last].1.len();
        headings.push(heading(*start..end, level + 1, title));
        next = last + 1;
    }
    let mut tables = Tables::default();
    add_restructured_tables(&text, &all, &mut tables);
    let mut is_comment = false;
    let mut is_explicit = false;
    // the indentation of the line above a block of code
    let mut code: Option<usize> = None;
    for (index, (start, line)) in all.iter().enumerate() {
        let below = all.get(index + 1).map_or("", |(_, line)| line);
        if !line.starts_with(char::is_whitespace) && !line.is_empty() {
            let above = index.checked_sub(1).map_or("", |above| all[above].1);
            let can_begin = is_explicit || above.trim().is_empty() || adornment(above).is_some();
            let has_mark = line.trim_end() == ".." || line.starts_with(".. ");
            is_explicit = can_begin && (has_mark || line.starts_with("__ "));
            is_comment = is_explicit && is_restructured_comment(line, below);
        }
        if is_comment {
            tables.leave_out(whole_line(&text, *start, line));
        }
        let content = line.trim();
        let indentation = line.len() - line.trim_start().len();
        code = code.filter(|outside| content.is_empty() || indentation > *outside);
        if code.is_some() || content.starts_with(">>>") {
            continue;
        }
        code = begins_code(content).then_some(indentation);
        let verbatim = verbatim_parts(line, "``");
        for (part, text) in named_texts(line, SUBSTITUTION, &names) {
            if !is_within(&verbatim, part.start) {
                tables.replace(start + part.start..start + part.end, text);
            }
        }
        tables.leave_out_marks(*start, line, RESTRUCTURED_MARKS, |mark| {
            let [before, after] = [&line[..mark.start], &line[mark.end..]];
            // a role stays apart from its word
            let is_beside_role = before.ends_with('`') || after.starts_with(':');
            is_beside_role || before.trim().is_empty() || is_within(&verbatim, mark.start)
        });
    }
    tables.label(Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    })
}

/// Returns the name and the text of a substitution: `.. |name| replace:: text`.
fn substitution(line: &str) -> Option<(&str, String)> {
    let named = line.strip_prefix(".. |")?;
    let (name, text) = named.split_once("| replace::")?;
    let text = text.trim();
    (!text.is_empty() && text.len() <= MAX_VALUE_BYTES).then(|| (name, text.to_owned()))
}

/// Returns whether a line begins what is not shown: a comment or the text of a name, and no other
/// directive, note or target.
fn is_restructured_comment(line: &str, below: &str) -> bool {
    if substitution(line).is_some() {
        return true;
    }
    if line.trim_end() == ".." {
        return !below.trim().is_empty();
    }
    let Some(content) = line.strip_prefix(".. ").map(str::trim_start) else {
        return false;
    };
    let name = content.split_once("::").map_or("a b", |(name, _)| name);
    let is_directive = !name.trim_end().contains(char::is_whitespace);
    !content.starts_with(['[', '_', '|']) && !is_directive
}

/// Returns whether a line of reStructuredText begins a block of code, which is below it.
fn begins_code(content: &str) -> bool {
    let directive = content.strip_prefix(".. ").and_then(|directive| {
        let (name, _) = directive.split_once("::")?;
        Some(name.trim())
    });
    match directive {
        Some(name) => matches!(name, "code" | "code-block" | "sourcecode" | "raw" | "math"),
        None => content.ends_with("::") && !content.starts_with(".. "),
    }
}

fn is_title(line: &str) -> bool {
    !line.trim().is_empty() && adornment(line).is_none() && !line.starts_with("..")
}

/// Finds titles (`** Title`), outside of blocks, and the keywords of the header.
fn org(text: String) -> Extract {
    let mut headings = Vec::new();
    let mut metadata = Metadata::default();
    let mut is_in_block = false;
    let mut outside = Vec::new();
    let mut tables = Tables::default();
    let mut is_in_comment = false;
    let comments = org_comments(&text);
    for (start, line) in lines(&text) {
        let marker = line.trim();
        let is_end = marker.eq_ignore_ascii_case(ORG_COMMENT[1]);
        let begins_comment = marker.eq_ignore_ascii_case(ORG_COMMENT[0]);
        is_in_comment |= !is_in_block && comments.contains(&start);
        if is_in_comment || (!is_in_block && (marker == "#" || marker.starts_with("# "))) {
            tables.leave_out(whole_line(&text, start, line));
        }
        is_in_comment &= !is_end;
        let lower = line.trim_start().get(..8).unwrap_or_default();
        let lower = lower.to_ascii_lowercase();
        if lower.starts_with("#+begin_") {
            is_in_block |= !begins_comment || comments.contains(&start);
        } else if lower.starts_with("#+end_") {
            is_in_block = false;
        } else if let Some((name, value)) = line
            .strip_prefix("#+")
            .and_then(|rest| rest.split_once(':'))
        {
            metadata.set(name, value.trim().trim_matches(['<', '>', '[', ']']));
        }
        outside.push((start, if is_in_block { "" } else { line }));
        if is_in_block {
            continue;
        }
        let verbatim = ["=", "~"].map(|sign| verbatim_parts(line, sign));
        tables.leave_out_marks(start, line, ORG_MARKS, |mark| {
            let is_in_number = line[..mark.start].ends_with(|c: char| c.is_ascii_digit())
                && line[mark.end..].starts_with(|c: char| c.is_ascii_digit());
            let mut verbatim = verbatim.iter();
            is_in_number || verbatim.any(|parts| is_within(parts, mark.start))
        });

        let title = line.trim_start_matches('*');
        let stars = line.len() - title.len();
        if stars > 0 && title.starts_with(' ') && !title.trim().is_empty() {
            headings.push(heading(start..start + line.len(), stars, org_title(title)));
        }
    }
    add_bar_tables(&text, &outside, &mut tables);
    tables.label(Extract {
        headings,
        metadata,
        ..Extract::verbatim(text)
    })
}

/// Returns where the blocks of comments begin that end before the next title.
fn org_comments(text: &str) -> HashSet<usize> {
    let all: Vec<(usize, &str)> = lines(text).collect();
    let mut has_end = false;
    let mut found = HashSet::new();
    for (start, line) in all.into_iter().rev() {
        let marker = line.trim();
        if marker.eq_ignore_ascii_case(ORG_COMMENT[1]) {
            has_end = true;
        } else if line.trim_start_matches('*').starts_with(' ') && line.starts_with('*') {
            has_end = false;
        } else if has_end && marker.eq_ignore_ascii_case(ORG_COMMENT[0]) {
            found.insert(start);
        }
    }
    found
}

/// Returns a title of Org without the state before it and the tags after it.
fn org_title(title: &str) -> &str {
    let title = title.trim();
    let mut states = ["TODO ", "DONE "].into_iter();
    let title = states
        .find_map(|state| title.strip_prefix(state))
        .unwrap_or(title);
    // the priority: `[#A]`
    let title = title
        .strip_prefix("[#")
        .and_then(|priority| priority.split_once("] "))
        .map_or(title, |(_, title)| title);
    match title.rsplit_once(' ') {
        Some((words, tags)) if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') => {
            words.trim_end()
        }
        _ => title,
    }
}

/// Returns a heading without the marks in its title.
pub(super) fn heading(range: Range<usize>, level: usize, title: &str) -> Heading {
    let level = u8::try_from(level).unwrap_or(u8::MAX);
    Heading::new(range, level, fold_white_space(&without_marks(title)))
}

/// Returns a title without the marks of any markup.
fn without_marks(title: &str) -> String {
    let marks = ASCIIDOC_MARKS.iter().chain(ORG_MARKS);
    marks.fold(title.to_owned(), |title, mark| title.replace(mark, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::formats::format::Reader;

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
            "= Guide\nAnn Lee <ann@x.org>\nv1.0, 2024-01-31: first\n:revdate: 2023-01-31\n\n== One\ntext\n----\n== no\n----\n=== Two ===\n====\n== no\n====\n==no\n",
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
    fn comments_and_marks_are_left_out() {
        let cases = [
            (
                &ASCIIDOC,
                "= A\n// no\na&shy;b{zwsp}c\n////\nno\n////\n----\n// yes {wj}\n----\n",
                "= A\nabc\n----\n// yes {wj}\n----\n",
            ),
            (
                &ASCIIDOC,
                "[source,c]\n// yes\nint x;\n\n// no\nb",
                "[source,c]\n// yes\nint x;\n\nb",
            ),
            (
                &RESTRUCTURED_TEXT,
                "a\\ *b*\\ c 10\\ :sup:`6`\\ d\n\n.. no\n   no\n\n   no\n..\n   no\n.. _t:\n.. |s| image:: x\n.. note::\n   yes\n",
                "abc 10\\ :sup:`6`\\ d\n\n.. _t:\n.. |s| image:: x\n.. note::\n   yes\n",
            ),
            (
                &ASCIIDOC,
                ":a: b c\n:d: {a}!\n== {d} e {x}\n|===\n|{a} |\\{a}\n|===\n----\n{a}\n----\n",
                ":a: b c\n:d: b c!\n== b c! e {x}\n|===\n|b c |\\{a}\n|===\n----\n{a}\n----\n",
            ),
            (
                &RESTRUCTURED_TEXT,
                "|p| is ``|p|``, |q|\n\n.. |p| replace:: Sluice Ware\n.. |q| image:: x\n\n::\n\n   |p|\n",
                "Sluice Ware is ``|p|``, |q|\n\n.. |q| image:: x\n\n::\n\n   |p|\n",
            ),
            (
                &RESTRUCTURED_TEXT,
                ".. note ::\n   yes\n.. math ::\n   yes\n.. figure :: x.png\n\nwords\n.. and more of it\n",
                ".. note ::\n   yes\n.. math ::\n   yes\n.. figure :: x.png\n\nwords\n.. and more of it\n",
            ),
            (
                &RESTRUCTURED_TEXT,
                "``My\\ File`` a\\ b\n\nRun::\n\n   cd /Program\\ Files/App\n\nc\\ d\n\n>>> e\\ f\n\n.. code:: c\n\n   g\\ h\n",
                "``My\\ File`` ab\n\nRun::\n\n   cd /Program\\ Files/App\n\ncd\n\n>>> e\\ f\n\n.. code:: c\n\n   g\\ h\n",
            ),
            (
                &ORG,
                "a\\shy{}b\\-c\n# no\n#+begin_comment\nno\n#+end_comment\n#+begin_src\n# yes\n#+end_src\n",
                "abc\n#+begin_src\n# yes\n#+end_src\n",
            ),
            (
                &ORG,
                "#+begin_comment\nyes\n* a\\-b =c\\-d= ~e\\-f~ 030\\-123\n",
                "#+begin_comment\nyes\n* ab =c\\-d= ~e\\-f~ 030\\-123\n",
            ),
        ];
        for (format, text, expected) in cases {
            let Reader::Text(read) = format.reader else {
                panic!("{} is read as text", format.name);
            };
            assert_eq!(read(text.to_owned()).text, expected, "{}", format.name);
        }
    }

    #[test]
    fn titles_of_org() {
        check(
            &ORG,
            "#+TITLE: Guide\n#+author: Ann\n#+DATE: <2024-01-31 Wed>\n* One :tag:\n** TODO [#A] Two\n#+begin_src\n* no\n#+end_src\n*bold*\n",
            &[(1, "One"), (2, "Two")],
            ["Guide", "Ann", "2024-01-31"],
        );
    }
}
