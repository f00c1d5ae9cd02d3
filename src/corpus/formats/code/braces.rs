//! Definitions of languages with braces: what is before a brace says what it opens.

use std::ops::Range;

use super::{end_of_section, with_comments_above};
use crate::corpus::document::Heading;
use crate::corpus::fold_white_space;

/// Maximum number of definitions inside one another.
const MAX_LEVEL: u8 = 12;
/// Maximum size of a title.
const MAX_TITLE_BYTES: usize = 100;
/// Names before a parenthesis that are neither a function nor a macro that defines one.
const NO_FUNCTIONS: &[&str] = &[
    "if",
    "for",
    "foreach",
    "while",
    "switch",
    "catch",
    "return",
    "sizeof",
    "decltype",
    "alignas",
    "using",
    "lock",
    "fixed",
    "with",
    "synchronized",
    "try",
    "do",
    "else",
    "new",
    "__attribute__",
    "defined",
    "noexcept",
    "await",
    "typeof",
    "super",
    "this",
    "match",
];

/// The keywords of a language, and the shape of its functions.
pub(super) struct Braces {
    /// The name follows, and is a title together with the keyword.
    pub types: &'static [&'static str],
    /// The name follows, and is the title.
    pub functions: &'static [&'static str],
    pub shape: Shape,
    /// Whether a line end ends a statement, as a semicolon does.
    pub ends_with_line: bool,
}

/// Where a function has no keyword, but a name and parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Never,
    /// Only in the braces of a type.
    InTypes,
    Anywhere,
}

/// What a pair of braces encloses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Function,
    Other,
}

/// An open brace.
#[derive(Debug, Clone, Copy)]
struct Scope {
    kind: Kind,
    /// Whether it is in a function, or is one.
    is_in_function: bool,
    /// Whether a definition opened it.
    is_definition: bool,
    /// Number of definitions that it is in, its own included.
    level: u8,
}

impl Scope {
    const FILE: Self = Self {
        kind: Kind::Other,
        is_in_function: false,
        is_definition: false,
        level: 0,
    };
}

/// A definition, as the text before its brace names it.
struct Definition {
    found: Found,
    title: String,
}

/// Returns the headings of the definitions of a file. `masked` is its text without comments and literals.
pub(super) fn definitions(text: &str, masked: &str, rules: &Braces) -> Vec<Heading> {
    let mut scanner = Scanner {
        text,
        masked,
        rules,
        scopes: Vec::new(),
        headings: Vec::new(),
        statement: 0,
    };
    let bytes = masked.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b';' => scanner.statement = at + 1,
            b'{' if scanner.is_empty_type(at) => at += 1,
            b'{' => scanner.open(at),
            b'}' => scanner.close(at),
            _ => {}
        }
        at += 1;
    }
    scanner.headings
}

struct Scanner<'a> {
    text: &'a str,
    masked: &'a str,
    rules: &'a Braces,
    scopes: Vec<Scope>,
    headings: Vec<Heading>,
    /// Where the statement begins that is being read.
    statement: usize,
}

impl Scanner<'_> {
    /// Returns whether braces are those of `interface{}` or `struct{}`, which belong to a type of Go.
    fn is_empty_type(&self, at: usize) -> bool {
        let before = &self.masked[self.statement..at];
        self.masked[at..].starts_with("{}")
            && (before.ends_with("interface") || before.ends_with("struct"))
    }

    fn open(&mut self, at: usize) {
        let parent = self.scopes.last().copied().unwrap_or(Scope::FILE);
        let header = self.header(at);
        let definition = definition(self.text, self.masked, header.clone(), self.rules)
            .filter(|definition| self.can_hold(parent, definition));

        let kind = definition
            .as_ref()
            .map_or(Kind::Other, |definition| definition.found.into());
        self.scopes.push(Scope {
            kind,
            is_in_function: parent.is_in_function || kind == Kind::Function,
            is_definition: definition.is_some(),
            level: parent.level + u8::from(definition.is_some()),
        });
        if let Some(definition) = definition {
            let bound = self.headings.last().map_or(0, |last| last.range.end);
            let start = with_comments_above(self.text, self.masked, header.start, bound);
            self.headings.push(Heading {
                range: start..at + 1,
                level: parent.level + 1,
                title: definition.title,
            });
        }
        self.statement = at + 1;
    }

    fn close(&mut self, at: usize) {
        if let Some(scope) = self.scopes.pop().filter(|scope| scope.is_definition) {
            self.headings.push(end_of_section(at + 1, scope.level));
        }
        self.statement = at + 1;
    }

    /// Returns whether a definition can be where it is: a function without keyword is a call or a loop
    /// when it is in a function.
    fn can_hold(&self, parent: Scope, definition: &Definition) -> bool {
        let is_allowed = match (definition.found, self.rules.shape) {
            (Found::Type | Found::Function, _) => true,
            (Found::Shape, Shape::Never) => false,
            (Found::Shape, Shape::InTypes) => parent.kind == Kind::Type,
            (Found::Shape, Shape::Anywhere) => !parent.is_in_function,
        };
        is_allowed && parent.level < MAX_LEVEL
    }

    /// Returns the statement before a brace, without the white space at its ends.
    fn header(&self, at: usize) -> Range<usize> {
        let whole = without_label(self.masked, trimmed(self.masked, self.statement..at));
        if !self.rules.ends_with_line {
            return whole;
        }

        // the last line, and the lines before it that its parentheses close
        let bytes = self.masked.as_bytes();
        let mut open = 0_usize;
        let mut start = whole.end;
        while start > whole.start {
            match bytes[start - 1] {
                b')' | b']' => open += 1,
                b'(' | b'[' => open = open.saturating_sub(1),
                b'\n' if open == 0 => break,
                _ => {}
            }
            start -= 1;
        }
        trimmed(self.masked, start..whole.end)
    }
}

/// What shows that a header is a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The keyword of a type.
    Type,
    /// The keyword of a function.
    Function,
    /// A name with parameters.
    Shape,
}

impl From<Found> for Kind {
    fn from(found: Found) -> Self {
        match found {
            Found::Type => Self::Type,
            Found::Function | Found::Shape => Self::Function,
        }
    }
}

/// Returns the definition that a header begins.
fn definition(
    text: &str,
    masked: &str,
    header: Range<usize>,
    rules: &Braces,
) -> Option<Definition> {
    let header = without_template(masked, header);
    let outline = Outline::of(&masked[header.clone()]);
    let by_shape = || {
        shape(
            &text[header.clone()],
            &masked[header.clone()],
            &outline,
            rules,
        )
    };
    let by_keyword = || {
        keyword(
            &text[header.clone()],
            &masked[header.clone()],
            &outline,
            rules,
        )
    };
    // in C the keyword of a type can begin the result of a function
    if rules.functions.is_empty() && rules.shape == Shape::Anywhere {
        by_shape().or_else(by_keyword)
    } else {
        by_keyword().or_else(by_shape)
    }
}

/// The words of a header that are outside of parentheses and brackets, and what else is there.
struct Outline {
    words: Vec<Range<usize>>,
    /// The first parenthesis, and one past the one that closes it.
    parameters: Option<Range<usize>>,
    /// The first `=` that is neither part of an operator nor of an arrow.
    assignment: Option<usize>,
}

impl Outline {
    fn of(header: &str) -> Self {
        let mut outline = Self {
            words: Vec::new(),
            parameters: None,
            assignment: None,
        };
        let bytes = header.as_bytes();
        let mut depth = 0_usize;
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'(' | b'[' => {
                    if depth == 0 && bytes[at] == b'(' && outline.parameters.is_none() {
                        outline.parameters = Some(at..bytes.len());
                    }
                    depth += 1;
                }
                b')' | b']' => {
                    depth = depth.saturating_sub(1);
                    if let Some(open) = &mut outline.parameters
                        && depth == 0
                        && open.end == bytes.len()
                    {
                        open.end = at + 1;
                    }
                }
                b'=' if depth == 0 && is_assignment(bytes, at) => {
                    outline.assignment.get_or_insert(at);
                }
                byte if is_name(byte) => {
                    let end = name_end(bytes, at);
                    if depth == 0 {
                        outline.words.push(at..end);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        outline
    }
}

fn is_assignment(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let after = bytes.get(at + 1).copied().unwrap_or(b' ');
    !b"=!<>+-*/%&|^r".contains(&before) && !b"=>".contains(&after)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

fn name_end(bytes: &[u8], start: usize) -> usize {
    let length = bytes[start..].iter().position(|byte| !is_name(*byte));
    length.map_or(bytes.len(), |length| start + length)
}

/// Returns the definition of the first keyword that a name follows.
fn keyword(text: &str, header: &str, outline: &Outline, rules: &Braces) -> Option<Definition> {
    let bytes = header.as_bytes();
    let mut words = outline.words.iter().peekable();
    while let Some(word) = words.next() {
        let keyword = &header[word.clone()];
        let before = word
            .start
            .checked_sub(1)
            .map_or(b' ', |before| bytes[before]);
        if matches!(before, b'@' | b'.' | b'#') {
            continue;
        }
        if matches!(keyword, "new" | "return") {
            return None;
        }

        if rules.functions.contains(&keyword) {
            let name = function_name(header, word.end, outline)?;
            return Some(Definition {
                found: Found::Function,
                title: bounded(&name),
            });
        }
        let is_value = outline.assignment.is_some_and(|at| at > word.start);
        if rules.types.contains(&keyword) && !is_value {
            let next = words.peek().map_or("", |next| &header[(*next).clone()]);
            if rules.types.contains(&next) {
                continue;
            }
            let name = type_name(text, word.clone());
            return name.map(|name| Definition {
                found: Found::Type,
                title: bounded(&name),
            });
        }
    }
    arrow_name(header, outline)
        .filter(|_| rules.shape != Shape::Never)
        .map(|name| Definition {
            found: Found::Function,
            title: bounded(&name),
        })
}

/// Returns the name of a function from where its keyword ends.
fn function_name(header: &str, from: usize, outline: &Outline) -> Option<String> {
    let rest = header[from..].trim_start_matches([' ', '*', '&', '\n', '\t']);
    // type parameters of Kotlin
    let rest = match rest.strip_prefix('<') {
        Some(_) => rest
            .split_once('>')
            .map_or(rest, |(_, after)| after.trim_start()),
        None => rest,
    };
    let name = qualified_name(rest);
    if !name.is_empty() {
        return Some(name.to_owned());
    }
    if let Some(name) = assigned_name(header, outline) {
        return Some(name);
    }

    // a method of Go, with its receiver
    let inner = rest.strip_prefix('(')?;
    let (receiver, after) = inner.split_once(')')?;
    let method = qualified_name(after.trim_start());
    let holder = receiver.split_whitespace().next_back().unwrap_or_default();
    let holder = qualified_name(holder.trim_start_matches('*'));
    if method.is_empty() || holder.is_empty() {
        return None;
    }
    Some(format!("{holder}.{method}"))
}

/// Returns the name that a function without one is assigned to.
fn assigned_name(header: &str, outline: &Outline) -> Option<String> {
    let before = header[..outline.assignment?].trim_end();
    // without the type of a variable
    let before = before.split(':').next().unwrap_or(before).trim_end();
    let name = before.split_whitespace().next_back().unwrap_or_default();
    let is_plain = name.bytes().all(|byte| is_name(byte) || byte == b'.');
    (is_plain && !name.is_empty()).then(|| name.to_owned())
}

/// Returns the name of a function that is a value: an arrow, or a keyword without a name.
fn arrow_name(header: &str, outline: &Outline) -> Option<String> {
    let value = header[outline.assignment? + 1..].trim();
    let is_function = value.ends_with("=>")
        || value.starts_with("function")
        || value.starts_with("async function");
    is_function
        .then(|| assigned_name(header, outline))
        .flatten()
}

/// Returns the title of a type: its keyword and its name. For an implementation, that is all up to
/// its conditions.
fn type_name(header: &str, word: Range<usize>) -> Option<String> {
    let keyword = &header[word.clone()];
    let rest = &header[word.end..];
    if keyword == "impl" {
        let rest = match rest.strip_prefix('<') {
            Some(inner) => after_angles(inner),
            None => rest,
        };
        let rest = fold_white_space(rest);
        let rest = rest.split(" where").next().unwrap_or_default().trim();
        return (!rest.is_empty()).then(|| format!("impl {rest}"));
    }

    let is_macro = keyword == "macro_rules";
    let mark = if is_macro { "!" } else { "" };
    let rest = rest.strip_prefix(mark)?;
    let name = qualified_name(rest.trim_start());
    let is_apart = rest.starts_with(|c: char| c.is_whitespace());
    (is_apart && !name.is_empty()).then(|| format!("{keyword}{mark} {name}"))
}

/// Returns what follows the `>` that closes an open `<`. The `>` of an arrow closes none.
fn after_angles(inner: &str) -> &str {
    let mut depth = 1_usize;
    let mut before = b' ';
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if !matches!(before, b'-' | b'=') => depth -= 1,
            _ => {}
        }
        before = byte;
        if depth == 0 {
            return &inner[at + 1..];
        }
    }
    inner
}

/// Returns the name that a text begins with, with those that qualify it.
fn qualified_name(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut end = 0;
    loop {
        let next = bytes.get(end).copied().unwrap_or(b' ');
        if is_name(next) {
            end = name_end(bytes, end);
        } else if text[end..].starts_with("::") && end > 0 {
            end += 2;
        } else if matches!(next, b'.' | b'\\') && bytes.get(end + 1).is_some_and(|b| is_name(*b)) {
            end += 1;
        } else {
            return text[..end].trim_end_matches(':');
        }
    }
}

/// Returns the definition of a name with parameters that nothing but the rest of a signature follows.
fn shape(text: &str, header: &str, outline: &Outline, rules: &Braces) -> Option<Definition> {
    let parameters = outline.parameters.clone()?;
    let is_operator = header[..parameters.start].contains("operator");
    let is_value = outline.assignment.is_some_and(|at| at < parameters.start);
    if rules.shape == Shape::Never || (is_value && !is_operator) {
        return None;
    }

    let after = header[parameters.end..].trim_start();
    let ends_signature = after.is_empty()
        || after.starts_with(|c: char| c.is_alphabetic() || matches!(c, ':' | '_'))
        || after.starts_with("->")
        || (is_operator && after.starts_with('('));
    let name = name_before(header, parameters.start)?;
    let is_call = name.starts_with(|c: char| c.is_ascii_digit()) || NO_FUNCTIONS.contains(&name);
    if !ends_signature || is_call {
        return None;
    }

    let is_macro = name.len() > 1
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let title = if is_macro {
        fold_white_space(&format!("{name}{}", &text[parameters]))
    } else {
        name.to_owned()
    };
    Some(Definition {
        found: Found::Shape,
        title: bounded(&title),
    })
}

/// Returns the qualified name that ends before a position, `operator==` and `~Shape` included.
fn name_before(header: &str, at: usize) -> Option<&str> {
    let head = header[..at].trim_end();
    if let Some(operator) = head.rfind("operator") {
        let start = name_start(head, operator);
        return Some(&head[start..]);
    }

    // type parameters of a method: `Find<T>(`
    let parameters = head.ends_with('>').then(|| head.rfind('<')).flatten();
    let head = parameters.map_or(head, |open| head[..open].trim_end());
    let start = name_start(head, head.len());
    let name = &head[start..];
    (!name.is_empty() && name != "~").then_some(name)
}

/// Returns where the qualified name begins that ends at `end`.
fn name_start(head: &str, end: usize) -> usize {
    let bytes = head.as_bytes();
    let mut start = end;
    while start > 0 {
        let byte = bytes[start - 1];
        let is_qualifier = byte == b':'
            && (bytes.get(start.wrapping_sub(2)) == Some(&b':') || bytes.get(start) == Some(&b':'));
        if !is_name(byte) && byte != b'~' && byte != b'#' && !is_qualifier {
            break;
        }
        start -= 1;
    }
    start
}

/// Returns the statement without the label of C++ before it, as in `public:`.
fn without_label(masked: &str, statement: Range<usize>) -> Range<usize> {
    let text = &masked[statement.clone()];
    let labels = ["public", "private", "protected"];
    let after = labels
        .into_iter()
        .find_map(|label| text.strip_prefix(label)?.trim_start().strip_prefix(':'));
    match after.filter(|after| !after.starts_with(':')) {
        Some(after) => statement.end - after.trim_start().len()..statement.end,
        None => statement,
    }
}

/// Returns the header of C++ without the template that it begins with.
fn without_template(masked: &str, header: Range<usize>) -> Range<usize> {
    let text = &masked[header.clone()];
    let Some(inner) = text
        .strip_prefix("template")
        .and_then(|rest| rest.trim_start().strip_prefix('<'))
    else {
        return header;
    };
    let rest = after_angles(inner).trim_start();
    header.end - rest.len()..header.end
}

fn bounded(title: &str) -> String {
    let folded = fold_white_space(title);
    folded[..folded.floor_char_boundary(MAX_TITLE_BYTES)].to_owned()
}

fn trimmed(text: &str, part: Range<usize>) -> Range<usize> {
    let inner = text[part.clone()].trim_start();
    let start = part.end - inner.len();
    start..start + inner.trim_end().len()
}
