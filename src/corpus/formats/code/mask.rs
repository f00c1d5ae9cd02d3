//! Masks what is no code: comments and literals become spaces, so that every brace, keyword and line that
//! is left is one of the program. Positions stay.

use super::Language;

/// Maximum size of a regular expression of JavaScript, and of the delimiter of a raw string: a slash or
/// a quote without an end is none.
const MAX_MARK_BYTES: usize = 1000;

/// The comments of a language.
pub(super) struct Comments {
    pub line: &'static [&'static str],
    pub block: &'static [(&'static str, &'static str)],
    /// Whether a block comment can contain others.
    pub nests: bool,
    /// Whether a line comment begins only at the start of a line or after white space.
    pub after_space: bool,
    /// Whether a line that begins with `#` is for the preprocessor.
    pub directives: bool,
}

/// A quotation mark, which also ends the literal.
pub(super) struct Quote {
    mark: &'static str,
    has_escapes: bool,
    /// Whether the literal can continue on the next line.
    has_lines: bool,
}

impl Quote {
    pub(super) const fn line(mark: &'static str) -> Self {
        Self {
            mark,
            has_escapes: true,
            has_lines: false,
        }
    }

    pub(super) const fn lines(mark: &'static str) -> Self {
        Self {
            mark,
            has_escapes: true,
            has_lines: true,
        }
    }

    pub(super) const fn raw(mark: &'static str) -> Self {
        Self {
            mark,
            has_escapes: false,
            has_lines: true,
        }
    }

    /// Returns the end of the literal whose mark begins at `at`.
    fn end(&self, text: &str, at: usize) -> usize {
        let bytes = text.as_bytes();
        let mut at = at + self.mark.len();
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if self.has_escapes => at += 1,
                b'\n' if !self.has_lines => return at,
                _ if bytes[at..].starts_with(self.mark.as_bytes()) => return at + self.mark.len(),
                _ => {}
            }
            at += 1;
        }
        bytes.len()
    }
}

/// Returns the text with spaces for every byte that is no code, except line ends.
pub(super) fn mask(text: &str, language: &Language) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut code_start = 0;
    let mut at = 0;
    while at < text.len() {
        let Some(end) = end_of_no_code(text, at, language) else {
            at += 1;
            continue;
        };
        let end = text.ceil_char_boundary(end.clamp(at + 1, text.len()));
        masked.push_str(&text[code_start..at]);
        masked.extend(text[at..end].bytes().map(|byte| match byte {
            b'\n' => '\n',
            _ => ' ',
        }));
        at = end;
        code_start = end;
    }
    masked.push_str(&text[code_start..]);
    masked
}

/// Returns the end of the comment or literal that begins at `at`.
fn end_of_no_code(text: &str, at: usize, language: &Language) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_name = bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    if !bytes[at].is_ascii() || (is_name && is_name_byte(before(bytes, at))) {
        return None;
    }
    if let Some(end) = (language.literal)(text, at) {
        return Some(end);
    }
    if is_name {
        return None;
    }

    let rest = &bytes[at..];
    let comments = &language.comments;
    for (begin, end) in comments.block {
        if rest.starts_with(begin.as_bytes()) {
            return Some(block_end(
                text,
                at + begin.len(),
                (begin, end),
                comments.nests,
            ));
        }
    }
    let begins_line = || text[..at].trim_end_matches([' ', '\t']).bytes().next_back();
    if comments.directives && rest[0] == b'#' && begins_line().is_none_or(|byte| byte == b'\n') {
        return Some(directive_end(text, at));
    }
    let can_be_comment = !comments.after_space || before(bytes, at).is_ascii_whitespace();
    if can_be_comment
        && comments
            .line
            .iter()
            .any(|mark| rest.starts_with(mark.as_bytes()))
    {
        return Some(line_end(text, at));
    }

    let quote = language
        .quotes
        .iter()
        .find(|quote| rest.starts_with(quote.mark.as_bytes()))?;
    Some(quote.end(text, at))
}

/// Returns the byte before a position; a line end at the start.
fn before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b'\n', |before| bytes[before])
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// Returns the end of a line for the preprocessor, which continues after a backslash.
fn directive_end(text: &str, at: usize) -> usize {
    let mut end = line_end(text, at);
    while text[at..end].trim_end_matches('\r').ends_with('\\') && end < text.len() {
        end = line_end(text, end + 1);
    }
    end
}

fn block_end(text: &str, at: usize, marks: (&str, &str), nests: bool) -> usize {
    let (begin, end) = marks;
    if !nests {
        return find_end(text, at, end);
    }

    let mut depth = 1;
    let mut at = at;
    while depth > 0 && at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(end.as_bytes()) {
            depth -= 1;
            at += end.len();
        } else if rest.starts_with(begin.as_bytes()) {
            depth += 1;
            at += begin.len();
        } else {
            at += 1;
        }
    }
    at
}

/// Returns one past the next `mark`; the end of the text when there is none.
fn find_end(text: &str, from: usize, mark: &str) -> usize {
    let from = from.min(text.len());
    text[from..]
        .find(mark)
        .map_or(text.len(), |found| from + found + mark.len())
}

/// Returns the end of a raw string or a character of Rust. A lifetime is no literal: its end is that
/// of its apostrophe.
pub(super) fn rust_literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if let Some(inner) = rest.strip_prefix('\'') {
        let mut characters = inner.char_indices();
        let first = characters.next().map(|(_, c)| c);
        let (second_at, second) = characters.next()?;
        return Some(match (first, second) {
            (Some('\\'), second) => {
                let from = second_at + second.len_utf8();
                let end = inner
                    .bytes()
                    .skip(from)
                    .take(12)
                    .position(|byte| byte == b'\'');
                end.map_or(at + 1, |end| at + from + end + 2)
            }
            (_, '\'') => at + second_at + 2,
            _ => at + 1,
        });
    }

    let raw = rest.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    if rest.len() - raw.len() > 2 {
        return None;
    }
    let hashes = raw
        .bytes()
        .take(MAX_MARK_BYTES)
        .take_while(|byte| *byte == b'#')
        .count();
    raw[hashes..].starts_with('"').then(|| {
        let begin = at + (rest.len() - raw.len()) + hashes + 1;
        find_end(text, begin, &format!("\"{}", "#".repeat(hashes)))
    })
}

/// Returns the end of a raw string of C++: `R"mark(text)mark"`.
pub(super) fn cpp_literal(text: &str, at: usize) -> Option<usize> {
    let raw = text[at..].strip_prefix("R\"")?;
    let mark_bytes = raw.bytes().take(16).position(|byte| byte == b'(')?;
    let end = format!("){}\"", raw.get(..mark_bytes)?);
    Some(find_end(text, at + 2 + mark_bytes, &end))
}

/// Returns the end of a verbatim string of C#: `@"text"`, in which a backslash is a character.
pub(super) fn c_sharp_literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let verbatim = ["@\"", "$@\"", "@$\""]
        .into_iter()
        .find(|mark| rest.starts_with(mark))?;
    Some(find_end(text, at + verbatim.len(), "\""))
}

/// Returns the end of a regular expression of JavaScript: a slash where a value is expected.
pub(super) fn javascript_literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    if rest[0] != b'/' || matches!(rest.get(1), None | Some(b'/' | b'*')) {
        return None;
    }
    let before = text[..at].trim_end_matches([' ', '\t']);
    let expects_value = before.ends_with("return")
        || before.is_empty()
        || before.ends_with([
            '(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '\n', '>',
        ]);
    if !expects_value {
        return None;
    }

    let mut is_in_class = false;
    let mut inner = 1;
    while inner < rest.len().min(MAX_MARK_BYTES) {
        match rest[inner] {
            b'\\' => inner += 1,
            b'\n' => return None,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => return Some(at + inner + 1),
            _ => {}
        }
        inner += 1;
    }
    None
}

/// Returns the end of text outside of `<?php ... ?>`, and of an attribute, which is no comment.
pub(super) fn php_literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let is_page = at == 0 && !rest.starts_with("<?");
    if is_page || rest.starts_with("?>") {
        return Some(find_end(text, at, "<?"));
    }
    rest.starts_with("#[").then_some(at + 1)
}

/// Returns the end of a here-document of a shell: its closing line, or else that of the file.
pub(super) fn shell_literal(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix("<<")?;
    let rest = rest
        .strip_prefix('-')
        .unwrap_or(rest)
        .trim_start_matches(' ');
    let word = rest.trim_start_matches(['\'', '"', '\\']);
    let length = word
        .bytes()
        .take(MAX_MARK_BYTES)
        .take_while(|byte| is_name_byte(*byte))
        .count();
    let mark = word.get(..length).filter(|mark| !mark.is_empty())?;

    let mut from = line_end(text, at);
    while from < text.len() {
        let end = line_end(text, from + 1);
        if text[from + 1..end].trim() == mark {
            return Some(end);
        }
        from = end;
    }
    Some(text.len())
}
