//! LaTeX as its readers see it: the letters that commands stand for and the words in their
//! arguments, without preamble and comments. Formulas and listings stay as they are written, and
//! tables become those of Markdown.

use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::char::compose;

use super::columns::Tables;
use super::format::{Extract, Format};
use super::lines::lines;
use super::markup_lines::heading;
use super::markup_tables::add_bar_tables;
use crate::corpus::offsets::Traced;
use crate::corpus::outline::Heading;
use crate::event::{Metadata, saturating_u32};

pub(super) const FORMAT: Format = Format::for_lines("LaTeX", &["tex", "ltx", "latex"], extract);

/// Maximum size of an argument and of a formula: a brace without an end would cost time.
const MAX_ARGUMENT_BYTES: usize = 1_000;
/// Maximum size of the name of a command.
const MAX_NAME_BYTES: usize = 50;
/// Maximum size of the text that a command of a file stands for.
const MAX_DEFINED_BYTES: usize = 200;
/// More rows above a rule are values.
const MAX_HEADER_ROWS: usize = 3;
/// A cell over more columns leaves the others without names.
const MAX_SPAN: usize = 100;

/// Commands of headings with their levels.
const SECTIONS: &str = "part=1 chapter=2 section=3 subsection=4 subsubsection=5 paragraph=6";
/// Signs that stand for others. A mark of degrees often is a formula.
#[rustfmt::skip]
const SIGNS: &[(&str, &str)] = &[
    ("\\$", "$"), ("\\%", "%"), ("\\&", "&"), ("\\_", "_"), ("\\#", "#"), ("\\{", "{"),
    ("\\}", "}"), ("\\,", " "), ("\\;", " "), ("\\:", " "), ("\\ ", " "), ("\\!", ""),
    ("\\@", ""), ("\\-", ""), ("\\/", ""), ("~", " "), ("---", "—"), ("--", "–"), ("``", "“"),
    ("''", "”"), ("$^\\circ$", "°"), ("$^{\\circ}$", "°"), ("$\\mu$", "µ"), ("$\\pm$", "±"),
    ("$\\times$", "×"), ("\\cubic\\metre", "m³"), ("\\square\\metre", "m²"),
];
/// Commands with the letters, signs and units that they stand for, and those of looks.
const LETTERS: &str = "ss=ß o=ø O=Ø ae=æ AE=Æ oe=œ OE=Œ aa=å AA=Å l=ł L=Ł i=ı j=ȷ dh=ð th=þ S=§ P=¶ \
    pounds=£ euro=€ texteuro=€ copyright=© dots=… ldots=… textdegree=° degree=° textmu=µ pm=± \
    textendash=– textemdash=— LaTeX=LaTeX TeX=TeX item=- and=and quad= qquad= micro=µ milli=m \
    centi=c kilo=k mega=M giga=G metre=m meter=m second=s gram=g litre=l liter=l newton=N \
    pascal=Pa joule=J watt=W volt=V ampere=A ohm=Ω hertz=Hz kelvin=K mole=mol celsius=°C \
    degreeCelsius=°C percent=% minute=min hour=h per=/ squared=² cubed=³ maketitle= newpage= \
    tableofcontents= clearpage= centering= noindent= smallskip= medskip= bigskip= hfill= xspace= \
    protect= par= allowbreak= fi= bf= it= em= sc= tt= bfseries= itshape= scshape= ttfamily= \
    small= large= Large= footnotesize= normalsize=";
/// Commands and environments with the number of their arguments that are no words.
const LOOKS: &str = "label=1 vspace=1 hspace=1 color=1 textcolor=1 multirow=2 setlength=2 \
    setcounter=2 pagestyle=1 thispagestyle=1 bibliographystyle=1 minipage=1 multicols=1 \
    thebibliography=1 minted=1 tabular=1 tabularx=2 tabulary=2 longtable=1 xltabular=2 \
    supertabular=1 longtabu=1 tblr=1 hline=0 toprule=0 midrule=0 bottomrule=0 endhead=0 \
    endfirsthead=0 endfoot=0 endlastfoot=0 cline=1 cmidrule=1 addlinespace=1 rowcolor=1";
/// Commands that may be below the names of columns.
const RULES: [&str; 4] = ["hline", "midrule", "endhead", "endfirsthead"];
/// The signs and the letters of the commands of accents, with the marks that they set.
#[rustfmt::skip]
const ACCENTS: [(&str, char); 15] = [
    ("`", '\u{300}'), ("'", '\u{301}'), ("^", '\u{302}'), ("~", '\u{303}'), ("=", '\u{304}'),
    ("u", '\u{306}'), (".", '\u{307}'), ("\"", '\u{308}'), ("r", '\u{30a}'), ("H", '\u{30b}'),
    ("v", '\u{30c}'), ("d", '\u{323}'), ("c", '\u{327}'), ("k", '\u{328}'), ("b", '\u{331}'),
];
/// Environments whose content stays as it is, or is left out.
const WHOLE: &str = "verbatim=listing Verbatim=listing lstlisting=listing minted=listing \
    alltt=listing equation=formula align=formula gather=formula multline=formula \
    eqnarray=formula displaymath=formula math=formula comment=comment";
/// The signs around a formula.
const FORMULA_SIGNS: [(&str, &str); 4] = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];
/// The signs around an argument.
const BRACKETS: [(u8, u8); 3] = [(b'{', b'}'), (b'[', b']'), (b'(', b')')];

/// A source, and what is read of it so far.
#[derive(Default)]
struct Source<'t> {
    text: &'t str,
    plain: Traced,
    /// The start of the last line of the plain text, and whether it has words so far.
    line: usize,
    has_words: bool,
    headings: Vec<Heading>,
    metadata: Metadata,
    /// The commands that the file defines, where they have no arguments and are only text.
    defined: HashMap<&'t str, String>,
    /// The number of open braces.
    depth: usize,
    tables: Vec<Table>,
}

/// A table whose rows are read, each into a line.
struct Table {
    /// The start in the plain text.
    start: usize,
    /// The number of open braces around it.
    depth: usize,
    has_header: bool,
}

fn extract(text: String) -> Extract {
    const BEGIN: &str = "\\begin{document}";
    let begin = text.find(BEGIN).map_or(0, |at| at + BEGIN.len());
    // the last one: a listing may show it
    let end = text[begin..].rfind("\\end{document}");
    let end = end.map_or(text.len(), |end| begin + end);
    let mut preamble = Source::new(&text);
    preamble.read(0..begin);
    let mut source = Source {
        metadata: preamble.metadata,
        defined: preamble.defined,
        ..Source::new(&text)
    };
    source.read(next_word(&text[..end], begin)..end);

    let plain = Extract {
        headings: source.headings,
        metadata: source.metadata,
        ..Extract::from_traced(source.plain)
    };
    let mut tables = Tables::default();
    let lines: Vec<(usize, &str)> = lines(&plain.text).collect();
    add_bar_tables(&plain.text, &lines, &mut tables);
    tables.label(plain)
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    fn read(&mut self, part: Range<usize>) {
        let signs = [
            '\\', '%', '~', '-', '`', '\'', '{', '}', '$', '&', '\n', '\r',
        ];
        let text = &self.text[..part.end];
        let mut at = part.start;
        while at < text.len() {
            if self.begins_row() && text[at..].starts_with(char::is_whitespace) {
                at = next_word(text, at);
                continue;
            }
            let length = text[at..].find(signs).unwrap_or(text.len() - at);
            at = if length > 0 {
                self.copy(at..at + length)
            } else {
                self.read_sign(text, at)
            };
        }
    }

    /// Adds a part as it is, and returns its end.
    fn copy(&mut self, part: Range<usize>) -> usize {
        let text = self.text;
        self.put(&text[part.clone()], part)
    }

    /// Adds the words that a part stands for, and returns its end.
    fn put(&mut self, words: &str, part: Range<usize>) -> usize {
        if self.begins_row() && !words.is_empty() {
            self.plain.stand_for("| ", part.start as u64, 0);
            self.has_words = true;
        }
        if self.text[part.clone()] == *words {
            self.plain.copy(words, part.start as u64);
        } else {
            self.plain
                .stand_for(words, part.start as u64, saturating_u32(part.len()));
        }
        let last = words.rsplit('\n').next().unwrap_or_default();
        if last.len() < words.len() {
            self.line = self.plain.text.len() - last.len();
            self.has_words = false;
        }
        self.has_words |= !last.trim().is_empty();
        part.end
    }

    fn begins_row(&self) -> bool {
        !self.tables.is_empty() && self.line == self.plain.text.len()
    }

    fn is_in_row(&self) -> bool {
        self.tables
            .last()
            .is_some_and(|table| table.depth == self.depth)
    }

    /// Reads a sign or a command, and returns where it ends.
    fn read_sign(&mut self, text: &'t str, at: usize) -> usize {
        let rest = &text[at..];
        if let Some((sign, words)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            return self.put(words, at..at + sign.len());
        }
        let mut formulas = FORMULA_SIGNS.iter();
        if let Some((open, close)) = formulas.find(|(open, _)| rest.starts_with(open)) {
            return self.copy(formula(text, at, open, close));
        }

        match rest.as_bytes()[0] {
            b'\\' => return self.read_command(text, at),
            b'%' => return at + rest.find('\n').unwrap_or(rest.len()),
            b'{' => self.depth += 1,
            b'}' => {
                self.depth = self.depth.saturating_sub(1);
                // one argument is apart from the next
                if rest.starts_with("}{") {
                    self.put(" ", at..at + 1);
                }
            }
            b'&' if self.is_in_row() => {
                self.put("|", at..at + 1);
            }
            b'\n' if !self.tables.is_empty() => {
                self.put(" ", at..at + 1);
            }
            b'\n' => {
                let line = text[..at].trim_end_matches([' ', '\t', '\r']);
                // a line of commands that stand for nothing is none
                if self.has_words || line.ends_with('\n') {
                    self.copy(at..at + 1);
                }
            }
            b'\r' => {}
            _ => return self.copy(at..at + 1),
        }
        at + 1
    }

    /// Reads a command that stands for letters or for nothing, or another.
    fn read_command(&mut self, text: &'t str, at: usize) -> usize {
        let name = command_name(&text[at + 1..]);
        let end = at + 1 + name.len();
        let rest = &text[end..];
        if let Some(words) = self.defined.get(name).cloned() {
            let braces = if rest.starts_with("{}") { 2 } else { 0 };
            return self.put(&words, at..end + braces);
        }
        if let Some((length, letter)) = accent(&text[at + 1..]) {
            return self.put(&letter, at..at + 1 + length);
        }
        if let Some(letter) = value(LETTERS, name) {
            // the spaces behind the name of a command end it
            let after = rest
                .strip_prefix("{}")
                .unwrap_or(rest.trim_start_matches(' '));
            let is_apart = matches!(name, "item" | "and" | "quad" | "qquad");
            let space = if is_apart { " " } else { "" };
            return self.put(&format!("{letter}{space}"), at..text.len() - after.len());
        }
        if let Some(count) = number(LOOKS, name) {
            let next = skip_arguments(text, end, count);
            if RULES.contains(&name) && !text[next..].trim_start().starts_with("\\end{") {
                self.end_header(at);
            }
            return next;
        }
        let read = self.read_other(text, at, name);
        read.unwrap_or_else(|| self.read_argument(text, at, end))
    }

    /// Reads a command that stands for the words in its arguments. One without stays.
    fn read_argument(&mut self, text: &str, at: usize, end: usize) -> usize {
        let after = skip_arguments(text, end, 0);
        if text[after..].starts_with('{') && !text[after..].starts_with("{}") {
            return after;
        }
        let next = text[at + 1..].chars().next().map_or(0, char::len_utf8);
        self.copy(at..end.max(at + 1 + next))
    }

    /// Reads a command that is like no other; `None` for one of its arguments.
    fn read_other(&mut self, text: &'t str, at: usize, name: &'t str) -> Option<usize> {
        let end = at + 1 + name.len();
        match name {
            "" if text[at..].starts_with("\\\\") => Some(self.end_line(text, at)),
            "begin" => Some(self.begin(text, argument(text, end)?, at)),
            "end" => {
                let environment = argument(text, end)?;
                if is_table(&text[environment.clone()]) {
                    self.end_row(at..at);
                    self.tables.pop();
                }
                Some(environment.end + 1)
            }
            "verb" | "lstinline" => self.verbatim(text, end),
            "title" | "author" | "date" => {
                let words = argument(text, end)?;
                let start = self.plain.text.len();
                self.read(words.clone());
                self.metadata.set(name, &self.plain.text[start..]);
                Some(words.end + 1)
            }
            "iffalse" => {
                Some(skip_condition(text, end).unwrap_or_else(|| self.copy(at..text.len())))
            }
            "multicolumn" => {
                let columns: usize = text[argument(text, end)?].parse().ok()?;
                let words = argument(text, skip_arguments(text, end, 2))?;
                self.read(words.clone());
                let others = columns.clamp(1, MAX_SPAN) - 1;
                Some(self.put(&" |".repeat(others), words.end..words.end + 1))
            }
            "url" | "path" | "href" | "includegraphics" | "input" | "include" => {
                self.depth += 1;
                Some(self.copy(argument(text, end)?))
            }
            "footnote" | "thanks" => self.put_between(text, end, " (", ")"),
            "ang" => self.put_between(text, end, "", "°"),
            _ if name.starts_with("cite") || name.ends_with("ref") => {
                self.put_between(text, end, "[", "]")
            }
            "newcommand" | "renewcommand" | "providecommand" | "DeclareMathOperator" | "def" => {
                self.define(text, end)
            }
            _ => self.section(text, end, number(SECTIONS, name)?),
        }
    }

    /// Reads the title of a section at the start of a line.
    fn section(&mut self, text: &str, at: usize, level: usize) -> Option<usize> {
        let title = argument(text, at).filter(|_| !self.has_words)?;
        let start = self.plain.text.len();
        self.read(title.clone());
        let range = start..self.plain.text.len();
        let heading = heading(range.clone(), level, &self.plain.text[range]);
        if !heading.title.is_empty() {
            self.headings.push(heading);
        }
        Some(self.put("\n", title.end..title.end + 1))
    }

    /// Reads verbatim text between two of a sign.
    fn verbatim(&mut self, text: &str, at: usize) -> Option<usize> {
        let open = skip_arguments(text, at, 0);
        let sign = text[open..].chars().next();
        let sign = sign.filter(|sign| !sign.is_alphanumeric())?;
        let start = open + sign.len_utf8();
        let line = text[start..].lines().next()?;
        let length = line.find(if sign == '{' { '}' } else { sign })?;
        Some(self.copy(start..start + length) + sign.len_utf8())
    }

    /// Reads the argument of a command between two signs, and its options before them.
    fn put_between(&mut self, text: &str, at: usize, open: &str, close: &str) -> Option<usize> {
        let argument = argument(text, at)?;
        self.read(at..argument.start - 1);
        self.put(open, argument.start - 1..argument.start);
        self.read(argument.clone());
        Some(self.put(close, argument.end..argument.end + 1))
    }

    /// Reads the beginning of an environment, and the whole of one that stays as it is.
    fn begin(&mut self, text: &str, environment: Range<usize>, at: usize) -> usize {
        let end = environment.end + 1;
        let mark = format!("\\end{{{}}}", &text[environment.clone()]);
        let name = text[environment].trim_end_matches('*');
        let body = skip_arguments(text, end, number(LOOKS, name).unwrap_or(0));
        if let Some(kind) = value(WHOLE, name) {
            // one without an end is the rest of the file
            let close = text[end..]
                .find(&mark)
                .map_or(text.len(), |close| end + close);
            let next = text.len().min(close + mark.len());
            match kind {
                "listing" => self.copy(body.min(close)..close),
                "formula" => self.copy(at..next),
                _ => next,
            };
            return next;
        }

        if is_table(name) {
            if self.line < self.plain.text.len() {
                self.put("\n", at..at);
            }
            self.tables.push(Table {
                start: self.plain.text.len(),
                depth: self.depth,
                has_header: false,
            });
        }
        body
    }

    /// Reads the end of a line or of a row.
    fn end_line(&mut self, text: &str, at: usize) -> usize {
        let rest = &text[at + 2..];
        let space = argument_length(rest).filter(|_| rest.starts_with('['));
        let next = at + 2 + space.unwrap_or(0);
        if self.is_in_row() {
            self.end_row(at..next);
        } else {
            self.put(if self.tables.is_empty() { "\n" } else { " " }, at..next);
        }
        next
    }

    fn end_row(&mut self, part: Range<usize>) {
        if self.line < self.plain.text.len() {
            self.put("|\n", part);
        }
    }

    /// Adds a rule below the rows that name the columns. A number among several rows is the value
    /// of a sum.
    fn end_header(&mut self, at: usize) {
        let Some(table) = self.tables.last_mut().filter(|table| !table.has_header) else {
            return;
        };
        let rows = &self.plain.text[table.start..];
        let count = rows.matches('\n').take(MAX_HEADER_ROWS + 1).count();
        let mut cells = rows.split(['|', '\n']);
        let is_number = |cell: &str| {
            cell.contains(|c: char| c.is_ascii_digit()) && !cell.contains(char::is_alphabetic)
        };
        if count == 1 || (2..=MAX_HEADER_ROWS).contains(&count) && !cells.any(is_number) {
            table.has_header = true;
            self.put("---|\n", at..at);
        }
    }

    /// Takes the definition of a command.
    fn define(&mut self, text: &'t str, at: usize) -> Option<usize> {
        let named = text[at..]
            .trim_start_matches(['*', ' ', '{'])
            .strip_prefix('\\')?;
        let name = command_name(&named[..named.floor_char_boundary(MAX_NAME_BYTES)]);
        let rest = &named[name.len()..];
        let (arguments, _) = rest[..rest.floor_char_boundary(MAX_NAME_BYTES)].split_once('{')?;
        let start = text.len() - rest.len() + arguments.len() + 1;
        let end = start + argument_length(&text[start - 1..])? - 2;
        let arguments = arguments.trim_matches(['}', ' ', '\n']);

        let words = self.words(start..end);
        let is_text = arguments.is_empty()
            && !text[start..end].contains("\\begin")
            && !words.contains(['\\', '$', '#', '^', '&']);
        if is_text && words.len() <= MAX_DEFINED_BYTES {
            self.defined.insert(name, words);
        }
        Some(end + 1)
    }

    /// Returns the plain text of a part.
    fn words(&mut self, part: Range<usize>) -> String {
        let mut inner = Source {
            defined: std::mem::take(&mut self.defined),
            ..Source::new(self.text)
        };
        inner.read(part);
        self.defined = inner.defined;
        inner.plain.text
    }
}

/// Returns the formula that begins here, or the sign of one without an end.
fn formula(text: &str, at: usize, open: &str, close: &str) -> Range<usize> {
    let start = at + open.len();
    let near = &text[start..text.floor_char_boundary(start + MAX_ARGUMENT_BYTES)];
    let mut ends = near.match_indices(close).map(|(end, _)| end);
    let end = ends.find(|end| !near[..*end].ends_with('\\'));
    let end = end.filter(|end| !near[..*end].contains("\n\n"));
    at..end.map_or(start, |end| start + end + close.len())
}

/// Returns where what is never shown ends.
fn skip_condition(text: &str, at: usize) -> Option<usize> {
    let ends = text[at..].match_indices("\\fi");
    let mut ends = ends.map(|(found, _)| at + found);
    let end = ends.find(|end| command_name(&text[end + 1..]) == "fi")?;
    let other = text[at..end].find("\\else");
    Some(other.map_or(end + "\\fi".len(), |other| at + other + "\\else".len()))
}

/// Returns the name of a command, behind its backslash.
fn command_name(command: &str) -> &str {
    let end = command.find(|c: char| !c.is_ascii_alphabetic());
    &command[..end.unwrap_or(command.len())]
}

/// Returns the value of a name in a list.
fn value<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = list.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(own, value)| (own == name).then_some(value))
}

fn number(list: &str, name: &str) -> Option<usize> {
    value(list, name)?.parse().ok()
}

fn is_table(environment: &str) -> bool {
    environment.contains("tabu") || matches!(environment, "longtable" | "tblr")
}

fn next_word(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start().len()
}

/// Returns the argument in braces of a command, after its star and its options.
fn argument(text: &str, at: usize) -> Option<Range<usize>> {
    let mut at = text.len() - text[at..].trim_start_matches('*').len();
    while text[at..].starts_with('[') {
        at += argument_length(&text[at..])?;
    }
    let at = next_word(text, at);
    let length = argument_length(&text[at..]).filter(|_| text[at..].starts_with('{'))?;
    Some(at + 1..at + length - 1)
}

/// Returns where the star, the settings and a number of arguments of a command end.
fn skip_arguments(text: &str, at: usize, count: usize) -> usize {
    let mut at = text.len() - text[at..].trim_start_matches('*').len();
    let mut left = count;
    while let Some(length) = argument_length(&text[at..]) {
        let inner = &text[at + 1..at + length - 1];
        match text.as_bytes()[at] {
            b'{' if left > 0 => left -= 1,
            b'[' | b'(' if left > 0 => {}
            b'[' if count == 0 && (inner.len() <= 4 || inner.contains(['=', '\\'])) => {}
            _ => break,
        }
        at += length;
    }
    at
}

/// Returns the length of the argument that a text begins with, its brackets included; `None`
/// without one that ends.
fn argument_length(text: &str) -> Option<usize> {
    let near = &text.as_bytes()[..text.len().min(MAX_ARGUMENT_BYTES)];
    let (open, close) = BRACKETS
        .iter()
        .find(|(open, _)| near.first() == Some(open))?;
    let mut depth = 0_i32;
    let mut is_escaped = false;
    let end = near.iter().position(|byte| {
        if !is_escaped {
            depth += i32::from(byte == open) - i32::from(byte == close);
        }
        is_escaped = *byte == b'\\' && !is_escaped;
        depth == 0
    });
    end.map(|end| end + 1)
}

/// Returns the length of the accent and its letter that a command is, behind its backslash, and
/// both as one: `'e`, `"{\i}`, `c c`.
fn accent(command: &str) -> Option<(usize, String)> {
    let name = command_name(command);
    let sign = if name.is_empty() {
        command.get(..1)?
    } else {
        name
    };
    let (_, mark) = ACCENTS.iter().find(|(own, _)| *own == sign)?;
    let inner = command[sign.len()..].trim_start_matches(' ');
    let braced = inner.strip_prefix('{');
    let letter = braced.unwrap_or(inner).trim_start_matches('\\');
    let base = letter.chars().next().filter(|c| c.is_alphabetic())?;
    let after = &letter[base.len_utf8()..];
    let after = if braced.is_some() {
        after.strip_prefix('}')?
    } else {
        after
    };
    // a letter that is the name of an accent may be that of another command
    let letter = match compose(base, *mark) {
        Some(letter) => letter.to_string(),
        None if name.is_empty() => format!("{base}{mark}"),
        None => return None,
    };
    Some((command.len() - after.len(), letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(extract((*text).to_owned()).text, *expected, "{text}");
        }
    }

    #[test]
    fn titles_and_text_of_latex() {
        let source = "\\title{On \\emph{Lamps}}\\author{Ann \\and Bob}\n\\date{January 31, 2024}\n\\begin{document}\n% no\n\\section*{One}\\label{s}\ntext 5\\% % no\r\n\n\\subsection[short]{Two \\& three}\n\\begin{verbatim}\n% kept\n\\section{no}\n\\end{verbatim}\n\\paragraph{Four.} \\sectionmark{no}\nmore\\end{document} no";
        let found = extract(source.to_owned());
        assert_eq!(
            found.text,
            "One\ntext 5% \n\nTwo & three\n\n% kept\n\\section{no}\nFour.\n no\nmore"
        );
        let titles: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str(), &found.text[h.range.clone()]))
            .collect();
        let expected = [(3, "One"), (4, "Two & three"), (6, "Four.")];
        assert_eq!(titles, expected.map(|(level, title)| (level, title, title)));
        assert_eq!(found.metadata.title.as_deref(), Some("On Lamps"));
        assert_eq!(found.metadata.author.as_deref(), Some("Ann and Bob"));
        assert_eq!(found.metadata.date.as_deref(), Some("2024-01-31"));
        for words in ["text", "kept", "more"] {
            let at = found.text.find(words).expect(words);
            let origin = found.origin.source_range(at..at + words.len());
            assert_eq!(&source[origin.start as usize..origin.end as usize], words);
        }
        for torn in ["\\section{never closed", "\\", "%", "\\begin{document}"] {
            assert!(extract(torn.to_owned()).headings.is_empty(), "{torn}");
        }
    }

    #[test]
    fn comments_and_marks_are_left_out() {
        check(&[
            (
                "\\newcommand{\\d}{Limpet}\\d{} is 3\\,\\% --- \\verb|a--b| \\iffalse no\\fi\n\\begin{comment}\nno\n\\section{no}\n\\end{comment}\n\\begin{verbatim}\na--b\n\\end{verbatim}",
                "Limpet is 3 % — a--b \n\na--b\n",
            ),
            (
                "a\\-b \\verb|x\\-y| \\verb*+x\\-y+ c\\-d",
                "ab x\\-y x\\-y cd",
            ),
            (
                "a\\-b\\/c \\\\- d\n\\begin{verbatim}\n\\-\n\\end{verbatim}",
                "abc \n- d\n\n\\-\n",
            ),
            (
                "a\\begin{comment}no\n\\end{comment}b\\iffalse no\\fi c\\iffalse no\\else d\\fi\\iffalse e",
                "ab c d\\iffalse e",
            ),
        ]);
    }

    #[test]
    fn commands_stand_for_text() {
        let definitions = "\\newcommand{\\dev}{\\textsc{Limpet}}\n\\newcommand*\\two{\\dev{} 2}\n\
            %\\def\\dev{no}\n\\newcommand{\\by}[1]{by #1}\n\
            \\newcommand{\\be}{\\begin{equation}}\n\\renewcommand{\\d}{day}\\begin{document}";
        let cases = [
            (
                "Caf\\'e, na\\\"ive, \\o re, Stra\\ss e \\ss., G{\\\"o}del, \\c c \\v{s} \\~n \\'{\\i} \\H{o}",
                "Café, naïve, øre, Straße ß., Gödel, ç š ñ í ő",
            ),
            ("\\foo{\\'Etat} {\\ss}\\emph{\\aa}", "État ßå"),
            (
                "5\\,\\%~a --- b, 1--2 - ``c'' \\$42 \\& \\_ \\# \\{\\} \\!",
                "5 % a — b, 1–2 - “c” $42 & _ # {} ",
            ),
            (
                "14\\,$^\\circ$C $x^\\circ_{a--b}$ \\(\\frac{1}{2}\\) $5 \\d.",
                "14 °C $x^\\circ_{a--b}$ \\(\\frac{1}{2}\\) $5 day.",
            ),
            (
                "\\begin{align*} a & b \\\\ \\end{align*} c",
                "\\begin{align*} a & b \\\\ \\end{align*} c",
            ),
            (
                "\\dev, \\dev{} is \\two. \\by{me} \\be \\other{} \\",
                "Limpet, Limpet is Limpet 2. me \\be \\other \\",
            ),
            (
                "\\url{a~b--c} \\href{http://x}{y} see \\cite[p.~1]{a} \\ref{x_1}\\footnote{z}",
                "a~b--c http://x y see [p. 1][a] [x_1] (z)",
            ),
            (
                "\\SI{4.5}{\\milli\\metre} \\qty[x=y]{1.25}{\\metre\\per\\second} \\num{3 \\pm 1} \\si{\\kilo\\gram\\per\\cubic\\metre} \\ang{30} \\SI{5}{km/h}",
                "4.5 mm 1.25 m/s 3 ±1 kg/m³ 30° 5 km/h",
            ),
            (
                "\\begin{itemize}\n\\item a\n\\item[b] \\textbf{c}\n\\end{itemize}\n\\textcolor{red}{d}\\vspace*{1cm}\\\\ e",
                "- a\n- [b] c\nd\n e",
            ),
        ];
        for (text, expected) in cases {
            let found = extract(format!("{definitions}{text}"));
            assert_eq!(found.text, expected, "{text}");
        }
    }

    #[test]
    fn rows_have_the_names_of_their_columns() {
        check(&[
            (
                "\\begin{tabular}{|l|r|}\n\\hline\n\\textbf{A} & B\\% \\\\ \\hline\n1 &\n2 \\\\ % no\n\\hline\n\\end{tabular}\na",
                "| A | B% |\n| ---|\n| A: 1 | B%: 2 |\na",
            ),
            (
                "\\begin{longtable}[c]{lr}\\caption{C}\\\\\n\\toprule A & B \\\\ \\midrule \\endfirsthead A & B \\\\ \\midrule\n\\endhead\n1 & a\\&b \\\\[2pt]\n & 3\n\\end{longtable}",
                "| C|\n| A | B |\n| ---|\n| A | B |\n| A: 1 | B: a&b |\n| | B: 3 |\n",
            ),
            (
                "\\begin{tabular}{lrr} & \\multicolumn{2}{c}{Fee} \\\\ \\cmidrule(lr){2-3} A & May & June \\\\ \\midrule 1 & 2 & 3 \\\\\\end{tabular}",
                "| | Fee | |\n| A | May | June |\n| ---|\n| A: 1 | May: 2 | June: 3 |\n",
            ),
            // rows above the rule of a sum, no header, no end
            (
                "\\begin{tabular}{lr} Rent & 900 \\\\ Gas & 80 \\\\ \\midrule All & 980 \\\\\\end{tabular}",
                "| Rent | 900 |\n| Gas | 80 |\n| All | 980 |\n",
            ),
            (
                "\\begin{tabular}{ll}\\hline a & b \\\\ c & d \\\\ \\hline\\end{tabular}",
                "| a | b |\n| c | d |\n",
            ),
            ("\\begin{tabular}{l} a & b \\\\", "| a | b |\n"),
        ]);
    }

    #[test]
    fn definitions_do_not_multiply_a_text() {
        let mut source = format!("\\def\\a{{{}}}", "x".repeat(100));
        for (name, last) in ('b'..='h').zip('a'..) {
            source += &format!("\\def\\{name}{{\\{last}\\{last}}}");
        }
        let expected = format!("{} \\c", "x".repeat(200));
        assert_eq!(extract(format!("{source}\\b{{}} \\c")).text, expected);
        for torn in [
            "\\begin{comment}",
            "\\begin{tabular}{",
            "\\iffalse",
            "\\'",
            "\\c",
            "\\SI{",
            "\\def\\x{",
            "\\( ",
        ] {
            let text = torn.repeat(30_000);
            assert!(extract(text.clone()).text.len() <= 2 * text.len());
        }
    }
}
