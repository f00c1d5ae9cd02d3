//! The comments on the cells of a sheet of Excel: notes, and threads with replies. A thread is
//! stored a second time as a note for old programs, behind a text on them.

use std::collections::{HashMap, HashSet};

use super::builder::{Builder, Sheet, comment_label, named};
use super::cell_ranges::row;
use super::package::{Package, Relationship};
use super::sheet_text::SheetText;
use super::xml::{Node, walk_all};

/// The author of a note that stands for a thread begins with this.
const THREAD_AUTHOR: &str = "tc=";

/// A comment on a cell. Its author is the number of a list in a note, and the id of a list of the
/// workbook in a thread.
#[derive(Debug, PartialEq)]
struct Comment {
    cell: String,
    author: String,
    text: String,
}

/// Adds the comments as remarks on the rows of their cells. The persons are those of the workbook.
pub(super) fn add(
    package: &mut Package<'_>,
    related: &[Relationship],
    persons: &HashMap<String, String>,
    sheet: &mut Sheet,
    builder: &mut Builder,
) {
    let mut with_thread = HashSet::new();
    for part in related.iter().filter(|part| part.is("threadedComment")) {
        let (comments, _) = comments_of(package, part, builder);
        for comment in comments {
            let author = persons.get(&comment.author).map_or("", String::as_str);
            remark(&comment.cell, author, &comment.text, sheet, builder);
            with_thread.insert(comment.cell);
        }
    }

    for part in related.iter().filter(|part| part.is("comments")) {
        let (comments, authors) = comments_of(package, part, builder);
        for comment in comments {
            let author: Option<usize> = comment.author.parse().ok();
            let author = author.and_then(|number| authors.get(number));
            let author = author.map_or("", String::as_str);
            let is_thread = author.starts_with(THREAD_AUTHOR);
            if is_thread && with_thread.contains(&comment.cell) {
                continue;
            }
            let text = comment.text.trim();
            let (author, own) = if is_thread {
                // a title, a text on old programs, and a label are above the comment
                let labelled = text.splitn(3, "\n\n").nth(2);
                let own = labelled.and_then(|text| text.split_once('\n'));
                ("", own.map(|(_, own)| own))
            } else {
                // Excel begins a note with the name of its author
                let own = text.strip_prefix(author);
                (author, own.and_then(|text| text.strip_prefix(':')))
            };
            remark(&comment.cell, author, own.unwrap_or(text), sheet, builder);
        }
    }
}

fn remark(cell: &str, author: &str, text: &str, sheet: &mut Sheet, builder: &mut Builder) {
    if let Some(text) = named(text) {
        let label = comment_label(author);
        let label = label.replacen("Comment", &format!("Comment on {cell}"), 1);
        sheet.remark(row(cell).unwrap_or(1), &(label + &text), builder);
    }
}

/// Returns the comments of a part, and the authors that it lists; a damaged one is noted.
fn comments_of(
    package: &mut Package<'_>,
    part: &Relationship,
    builder: &mut Builder,
) -> (Vec<Comment>, Vec<String>) {
    let xml = package.xml(&part.path);
    let found = xml.and_then(|xml| read(&xml));
    builder.take_or_note(&part.path, found)
}

/// Returns the comments in XML, and the authors that it lists.
fn read(xml: &str) -> Result<(Vec<Comment>, Vec<String>), String> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut authors: Vec<String> = Vec::new();
    let mut text = SheetText::default();
    // the text of a thread, and the name of an author, have no runs
    let mut plain: Option<String> = None;
    let mut is_thread = false;

    walk_all(xml, &mut |node| match node {
        Node::Open(tag) => match tag.name() {
            name @ ("comment" | "threadedComment") => {
                is_thread = name == "threadedComment";
                let [cell, author, person] = tag.attributes(["ref", "authorId", "personId"]);
                comments.push(Comment {
                    cell: cell.unwrap_or_default(),
                    author: author.or(person).unwrap_or_default(),
                    text: String::new(),
                });
            }
            "author" => plain = Some(String::new()),
            "text" if is_thread => plain = Some(String::new()),
            _ => text.open(tag),
        },
        Node::Text(part) => match &mut plain {
            Some(plain) => plain.push_str(part),
            None => text.add(part),
        },
        Node::Close("author") => authors.extend(plain.take()),
        Node::Close("text") => {
            let text = plain.take().unwrap_or_else(|| text.take());
            if let Some(comment) = comments.last_mut() {
                comment.text = text;
            }
        }
        Node::Close(name) => text.close(name),
    })?;

    Ok((comments, authors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_and_threads() {
        let comment = |cell: &str, author: &str, text: &str| Comment {
            cell: cell.to_owned(),
            author: author.to_owned(),
            text: text.to_owned(),
        };
        let notes = "<comments><authors><author>Ann</author><author/></authors><commentList>\
                     <comment ref='B2' authorId='0'><text><r><t>Ann:</t></r> <r><t> wet</t></r></text></comment>\
                     <comment ref='B3' authorId='1'><text><t>dry</t></text></comment></commentList></comments>";
        let found = vec![comment("B2", "0", "Ann: wet"), comment("B3", "1", "dry")];
        let authors = vec!["Ann".to_owned(), String::new()];
        assert_eq!(read(notes), Ok((found, authors)));

        let thread = "<ThreadedComments><threadedComment ref='C4' personId='p' id='1'><text>Why?</text>\
                      </threadedComment><threadedComment ref='C4' personId='q' parentId='1'>\
                      <text>Rain</text></threadedComment></ThreadedComments>";
        let found = vec![comment("C4", "p", "Why?"), comment("C4", "q", "Rain")];
        assert_eq!(read(thread), Ok((found, Vec::new())));
    }
}
