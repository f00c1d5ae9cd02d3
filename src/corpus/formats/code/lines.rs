//! Definitions of languages whose lines show them: Python and Ruby by keyword and indentation, shells by
//! the parentheses after a name.

use super::{end_of_section, with_comments_above};
use crate::corpus::document::Heading;
use crate::corpus::formats::lines::lines;

/// Maximum number of definitions inside one another.
const MAX_LEVEL: usize = 12;
/// Maximum size of a signature.
const MAX_SIGNATURE_BYTES: usize = 10_000;

/// The words that a line of a definition begins with.
pub(super) struct Keywords {
    /// Words that can be before the keyword.
    pub modifiers: &'static [&'static str],
    /// The title is the keyword with the name.
    pub types: &'static [&'static str],
    /// The title is the name.
    pub functions: &'static [&'static str],
}

/// A definition whose lines are being read.
struct Open {
    indentation: usize,
    level: u8,
}

/// Returns the headings of definitions that end where the indentation does.
pub(super) fn indented(text: &str, masked: &str, keywords: &Keywords) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut signature_end = 0;
    let mut bound = 0;
    for (start, line) in lines(masked) {
        let code = line.trim_start();
        if code.trim_end().is_empty() || start < signature_end {
            continue;
        }

        let indentation = line.len() - code.len();
        let outer = open.partition_point(|scope| scope.indentation < indentation);
        let ended = open.get(outer).map(|scope| scope.level);
        open.truncate(outer);

        let title = title(code, keywords).filter(|_| open.len() < MAX_LEVEL);
        if let Some(title) = title {
            let level = open.last().map_or(1, |scope| scope.level + 1);
            let code_start = start + indentation;
            signature_end = self::signature_end(masked, code_start);
            headings.push(Heading {
                range: with_comments_above(text, masked, code_start, bound)..signature_end,
                level,
                title,
            });
            open.push(Open { indentation, level });
            bound = signature_end;
        } else if let Some(level) = ended {
            headings.push(end_of_section(start, level));
            bound = start;
        }
    }
    headings
}

/// Returns the headings of the functions of a shell.
pub(super) fn shell(text: &str, masked: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    let mut bound = 0;
    let mut is_open = false;
    for (start, line) in lines(masked) {
        let code = line.trim_end();
        if let Some(name) = shell_function(code) {
            let end = start + code.len();
            headings.push(Heading {
                range: with_comments_above(text, masked, start, bound)..end,
                level: 1,
                title: name.to_owned(),
            });
            bound = end;
            is_open = true;
        } else if is_open && (code == "}" || code == ")") {
            bound = start + code.len();
            headings.push(end_of_section(bound, 1));
            is_open = false;
        }
    }
    headings
}

/// Returns the title of a line that defines something.
fn title(code: &str, keywords: &Keywords) -> Option<String> {
    let mut rest = code;
    let mut word = first_word(rest);
    while keywords.modifiers.contains(&word) {
        rest = rest[word.len()..].trim_start();
        word = first_word(rest);
    }

    let is_type = keywords.types.contains(&word);
    let after = &rest[word.len()..];
    let is_definition = is_type || keywords.functions.contains(&word);
    if !is_definition || !after.starts_with([' ', '\t']) {
        return None;
    }

    let after = after.trim_start();
    let end = after.find(|c: char| c.is_whitespace() || "(:;<[{".contains(c));
    let name = after[..end.unwrap_or(after.len())].trim_end();
    if name.is_empty() {
        return None;
    }
    Some(if is_type {
        format!("{word} {name}")
    } else {
        name.to_owned()
    })
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the end of a signature: the colon or the line end that is in no parentheses. Parentheses
/// that are never closed end with their line.
fn signature_end(masked: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    let mut first_line_end = None;
    for (at, byte) in masked[start..].bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && masked.as_bytes().get(start + at + 1) != Some(&b':') => {
                return start + at + 1;
            }
            b'\n' if depth == 0 => return start + at,
            b'\n' => {
                first_line_end.get_or_insert(start + at);
            }
            _ => {}
        }
        if at > MAX_SIGNATURE_BYTES {
            break;
        }
    }
    first_line_end.unwrap_or(masked.len())
}

/// Returns the name of the function that a line begins.
fn shell_function(code: &str) -> Option<&str> {
    let by_keyword = code.strip_prefix("function ");
    let rest = by_keyword.unwrap_or(code);
    let end = rest.find(|c: char| c.is_whitespace() || c == '(')?;
    let after = rest[end..].trim_start();
    let has_parentheses = after
        .strip_prefix('(')
        .is_some_and(|inner| inner.trim_start().starts_with(')'));
    let is_name = end > 0 && !rest[..end].contains(['=', '$', ';', '|', '&', '"']);
    let is_function = has_parentheses || (by_keyword.is_some() && after.starts_with('{'));
    (is_name && is_function).then(|| &rest[..end])
}
