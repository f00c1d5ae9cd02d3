//! LaTeX: the prose without its commands, with sections as headings. Mathematics and listings stay as
//! they are written; comments, the preamble and layout are left out.

use unicode_normalization::UnicodeNormalization;

use super::{Extract, Format, Metadata, Reader};
use crate::corpus::document::Heading;
use crate::corpus::fold_white_space;
use crate::corpus::offsets::Traced;
use crate::event::saturating_u32;

pub(super) const FORMAT: Format = Format {
    name: "LaTeX",
    extensions: &["tex", "ltx", "latex"],
    library: "ragscope",
    place: "line",
    reader: Reader::Text(|source| extract(&source)),
};

/// Commands of headings, the outermost first.
const SECTIONS: &[&str] = &[
    "part",
    "chapter",
    "section",
    "subsection",
    "subsubsection",
    "paragraph",
];
/// Commands whose arguments are no prose.
const NO_PROSE: &[&str] = &[
    "label",
    "ref",
    "eqref",
    "pageref",
    "cite",
    "citep",
    "citet",
    "includegraphics",
    "usepackage",
    "documentclass",
    "input",
    "include",
    "bibliography",
    "bibliographystyle",
    "vspace",
    "hspace",
    "newcommand",
    "renewcommand",
    "providecommand",
    "setlength",
    "pagestyle",
    "thispagestyle",
    "index",
    "hypersetup",
    "addtocounter",
    "setcounter",
    "newenvironment",
    "graphicspath",
    "color",
    "definecolor",
    "autoref",
    "cref",
    "Cref",
    "nocite",
    "fontsize",
    "pagenumbering",
    "hyphenation",
];
/// Environments that stay as they are.
const VERBATIM: &[&str] = &["verbatim", "lstlisting", "minted", "Verbatim", "alltt"];
/// Maximum size of an argument that is a title, or is left out.
const MAX_ARGUMENT_BYTES: usize = 2000;
/// Maximum size of the options of a command.
const MAX_OPTION_BYTES: usize = 200;
/// Accents, and the characters that combine them with the letter before.
const ACCENTS: &[(char, char)] = &[
    ('\'', '\u{301}'),
    ('`', '\u{300}'),
    ('^', '\u{302}'),
    ('"', '\u{308}'),
    ('~', '\u{303}'),
    ('=', '\u{304}'),
    ('.', '\u{307}'),
    ('c', '\u{327}'),
    ('v', '\u{30c}'),
    ('u', '\u{306}'),
    ('H', '\u{30b}'),
    ('r', '\u{30a}'),
    ('k', '\u{328}'),
];
/// Commands that are a character.
const CHARACTERS: &[(&str, &str)] = &[
    ("ss", "ß"),
    ("ae", "æ"),
    ("AE", "Æ"),
    ("oe", "œ"),
    ("OE", "Œ"),
    ("o", "ø"),
    ("O", "Ø"),
    ("aa", "å"),
    ("AA", "Å"),
    ("l", "ł"),
    ("L", "Ł"),
    ("ldots", "…"),
    ("dots", "…"),
    ("textendash", "–"),
    ("textemdash", "—"),
    ("S", "§"),
    ("LaTeX", "LaTeX"),
    ("TeX", "TeX"),
    ("textbackslash", "\\"),
    ("i", "i"),
    ("euro", "€"),
    ("quad", " "),
    ("qquad", " "),
    ("copyright", "©"),
    ("item", "\n- "),
    ("par", "\n\n"),
    ("newline", "\n"),
    ("linebreak", "\n"),
];

fn extract(source: &str) -> Extract {
    let mut prose = Prose::new(source);
    let body = source.find("\\begin{document}");
    if let Some(body) = body {
        prose.fields(&source[..body]);
        prose.at = body + "\\begin{document}".len();
    } else {
        prose.fields(source);
    }
    // the last one: a listing may show it, and a command of the preamble may hold it
    let end = source[prose.at..].rfind("\\end{document}");
    prose.end = end.map_or(source.len(), |end| prose.at + end);
    while prose.at < prose.end {
        prose.step();
    }

    Extract {
        headings: prose.headings,
        origin: prose.traced.origin,
        metadata: prose.metadata,
        ..Extract::verbatim(prose.traced.text)
    }
}

/// The prose of a file up to a position.
struct Prose<'a> {
    source: &'a str,
    at: usize,
    end: usize,
    traced: Traced,
    headings: Vec<Heading>,
    metadata: Metadata,
    /// Line ends that are due before the next word.
    line_ends: usize,
    /// Whether white space is due before the next word.
    space: bool,
}

impl<'a> Prose<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            at: 0,
            end: source.len(),
            traced: Traced::with_capacity(source.len()),
            headings: Vec::new(),
            metadata: Metadata::default(),
            line_ends: 0,
            space: false,
        }
    }

    /// Takes the fields that the preamble declares.
    fn fields(&mut self, preamble: &str) {
        for name in ["title", "author", "date"] {
            let command = format!("\\{name}");
            let found = preamble
                .match_indices(&command)
                .find_map(|(at, _)| argument(preamble, at + command.len()));
            if let Some(argument) = found {
                let inner = &preamble[argument.clone()];
                let mut plain = Prose::new(inner);
                plain.end = inner.len();
                while plain.at < plain.end {
                    plain.step();
                }
                self.metadata
                    .set(name, &fold_white_space(&plain.traced.text));
            }
        }
    }

    /// Reads the next command, space or run of words.
    fn step(&mut self) {
        let rest = &self.source[self.at..self.end];
        let c = rest.chars().next().unwrap_or(' ');
        match c {
            '%' => {
                let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
                self.at += end;
            }
            '\\' => self.command(),
            '{' | '}' => self.at += 1,
            '~' => self.white_space(1, 0),
            '$' => self.mathematics(),
            c if c.is_whitespace() => {
                let length = rest.len() - rest.trim_start().len();
                let line_ends = rest[..length].bytes().filter(|byte| *byte == b'\n').count();
                self.white_space(length, if line_ends > 1 { 2 } else { 0 });
            }
            _ => {
                let end = rest.find(|c: char| "%\\{}~$".contains(c) || c.is_whitespace());
                self.copy(end.unwrap_or(rest.len()));
            }
        }
    }

    /// Reads a command with its arguments.
    fn command(&mut self) {
        let start = self.at;
        let rest = &self.source[start + 1..self.end];
        let name_length = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let name = &rest[..name_length];
        let after = start + 1 + name_length;
        let after = after + usize::from(self.source[after..self.end].starts_with('*'));

        if name.is_empty() {
            self.sign(rest);
        } else if let Some(level) = SECTIONS.iter().position(|section| *section == name) {
            self.section(level as u8 + 1, after);
        } else if name == "begin" || name == "end" {
            self.environment(after, name == "begin");
        } else if let Some((_, text)) = CHARACTERS.iter().find(|(command, _)| *command == name) {
            self.character(text.trim_start_matches('\n'), text, after);
        } else if let Some(accent) = accent(name) {
            self.accented(accent, after);
        } else if NO_PROSE.contains(&name) {
            self.at = self.after_arguments(after);
        } else if matches!(name, "title" | "author" | "date" | "maketitle") {
            self.at = self.after_arguments(after);
            self.line_ends = 2;
        } else {
            // the arguments of other commands are prose; what is in brackets are options
            let options = option_end(self.source, after, self.end);
            self.at = options.unwrap_or_else(|| {
                let spaces = self.source[after..self.end]
                    .bytes()
                    .take_while(|byte| *byte == b' ')
                    .count();
                self.space |= spaces > 0 && !self.traced.text.is_empty();
                after + spaces
            });
        }
    }

    /// Reads a backslash with a sign: a character, a line end, an accent or mathematics.
    fn sign(&mut self, rest: &str) {
        let Some(sign) = rest.chars().next() else {
            self.at += 1;
            return;
        };
        let after = self.at + 1 + sign.len_utf8();
        match sign {
            '\\' => {
                self.at = option_end(self.source, after, self.end).unwrap_or(after);
                self.line_ends = self.line_ends.max(1);
            }
            '(' | '[' => {
                let close = if sign == '(' { "\\)" } else { "\\]" };
                let end = self.source[after..self.end]
                    .find(close)
                    .map_or(after, |end| after + end);
                self.at = after;
                self.copy(end - after);
                self.at = (end + close.len()).min(self.end);
            }
            ')' | ']' | '/' | '-' => self.at = after,
            ' ' | ',' | ';' | ':' | '!' | '\n' => {
                self.space = true;
                self.at = after;
            }
            _ => match accent(rest.get(..sign.len_utf8()).unwrap_or_default()) {
                Some(mark) => self.accented(mark, after),
                None => self.character(&rest[..sign.len_utf8()], "", after),
            },
        }
    }

    /// Writes a character that a command stands for. Line ends in front of it are due before it.
    fn character(&mut self, text: &str, whole: &str, after: usize) {
        self.line_ends = self
            .line_ends
            .max(whole.len() - whole.trim_start_matches('\n').len());
        let start = self.at;
        if !text.trim().is_empty() {
            self.settle(start);
            self.traced
                .stand_for(text, start as u64, saturating_u32(after - start));
        } else {
            self.space |= !text.is_empty();
        }
        // a space after a name ends the name
        let is_named = self.source[..after].ends_with(|c: char| c.is_ascii_alphabetic());
        let rest = &self.source[after..self.end];
        let gap = if rest.starts_with("{}") {
            2
        } else {
            usize::from(is_named && rest.starts_with(' '))
        };
        self.at = after + gap;
    }

    /// Writes the letter after an accent, with it.
    fn accented(&mut self, mark: char, after: usize) {
        let rest = &self.source[after..self.end];
        let inner = rest.trim_start_matches([' ', '{', '\\']);
        let letter = inner
            .chars()
            .next()
            .filter(|c| c.is_alphabetic() && rest.len() - inner.len() <= 4);
        let Some(letter) = letter else {
            self.at = after;
            return;
        };

        let open = rest[..rest.len() - inner.len()].contains('{');
        let end = after + (rest.len() - inner.len()) + letter.len_utf8();
        let end = end + usize::from(open && self.source[end..self.end].starts_with('}'));
        let start = self.at;
        self.settle(start);
        let composed: String = [letter, mark].into_iter().nfc().collect();
        self.traced
            .stand_for(&composed, start as u64, saturating_u32(end - start));
        self.at = end;
    }

    fn section(&mut self, level: u8, after: usize) {
        let after = option_end(self.source, after, self.end).unwrap_or(after);
        let Some(title) = argument(self.source, after).filter(|title| title.end < self.end) else {
            self.at = after;
            return;
        };

        self.line_ends = 2;
        self.space = false;
        self.at = title.start;
        let before = self.traced.text.len();
        while self.at < title.end {
            self.step();
        }
        let text = self.traced.text[before..].trim();
        let start = before
            + (self.traced.text[before..].len() - self.traced.text[before..].trim_start().len());
        if !text.is_empty() {
            self.headings.push(Heading {
                range: start..start + text.len(),
                level,
                title: fold_white_space(text),
            });
        }
        self.at = self.at.max(title.end + 1);
        self.line_ends = 2;
    }

    /// Reads the begin or the end of an environment.
    fn environment(&mut self, after: usize, begins: bool) {
        self.line_ends = self.line_ends.max(1);
        let Some(name) = argument(self.source, after).filter(|name| name.end < self.end) else {
            self.at = after;
            return;
        };
        let text = &self.source[name.clone()];
        self.at = name.end + 1;
        if !begins || !VERBATIM.contains(&text) {
            if begins {
                self.at = self.after_arguments(self.at);
            }
            return;
        }

        let close = format!("\\end{{{text}}}");
        let start = option_end(self.source, self.at, self.end).unwrap_or(self.at);
        let length = self.source[start..self.end].find(&close);
        let end = length.map_or(self.end, |length| start + length);
        let inner = &self.source[start..end];
        let content = inner.trim_matches('\n');
        self.at = start + (inner.len() - inner.trim_start_matches('\n').len());
        self.copy(content.len());
        self.at = (end + close.len()).min(self.end);
        self.line_ends = 1;
    }

    /// Copies mathematics, without its marks.
    fn mathematics(&mut self) {
        let mark = if self.source[self.at..self.end].starts_with("$$") {
            "$$"
        } else {
            "$"
        };
        let start = self.at + mark.len();
        let head = &self.source[start
            ..self
                .source
                .floor_char_boundary(self.end.min(start + MAX_ARGUMENT_BYTES))];
        match head.find(mark) {
            Some(length) => {
                self.at = start;
                self.copy(length);
                self.at = start + length + mark.len();
            }
            None => self.copy(mark.len()),
        }
    }

    /// Returns the position after the options and arguments of a command.
    fn after_arguments(&self, mut at: usize) -> usize {
        for _ in 0..8 {
            let next = option_end(self.source, at, self.end)
                .or_else(|| Some(argument(self.source, at)?.end + 1))
                .filter(|next| *next <= self.end);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    fn white_space(&mut self, length: usize, line_ends: usize) {
        self.at += length;
        self.space = true;
        self.line_ends = self.line_ends.max(line_ends);
    }

    fn copy(&mut self, length: usize) {
        if length > 0 {
            self.settle(self.at);
            self.traced
                .copy(&self.source[self.at..self.at + length], self.at as u64);
            self.at += length;
        }
    }

    /// Writes the white space that is due before a word.
    fn settle(&mut self, at: usize) {
        let due = match std::mem::take(&mut self.line_ends) {
            0 if self.space => " ",
            0 => "",
            1 => "\n",
            _ => "\n\n",
        };
        self.space = false;
        if !self.traced.text.is_empty() {
            self.traced.stand_for(due, at as u64, 0);
        }
    }
}

fn accent(name: &str) -> Option<char> {
    let mut characters = name.chars();
    let sign = characters.next().filter(|_| characters.next().is_none())?;
    ACCENTS
        .iter()
        .find(|(mark, _)| *mark == sign)
        .map(|(_, combining)| *combining)
}

/// Returns the inside of the braces that begin at a position, after white space.
fn argument(source: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let rest = source.get(at..)?;
    let gap = rest
        .bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\n'))
        .take(8)
        .count();
    let inner = rest[gap..].strip_prefix('{')?;
    let start = at + gap + 1;
    let mut depth = 1;
    let mut is_escaped = false;
    for (offset, byte) in inner.bytes().enumerate().take(MAX_ARGUMENT_BYTES) {
        match byte {
            b'{' if !is_escaped => depth += 1,
            b'}' if !is_escaped => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(start..start + offset);
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    None
}

/// Returns the end of the options in brackets that begin at a position.
fn option_end(source: &str, at: usize, end: usize) -> Option<usize> {
    let inner = source.get(at..end)?.strip_prefix('[')?;
    let length = inner
        .bytes()
        .take(MAX_OPTION_BYTES)
        .position(|byte| byte == b']')?;
    Some(at + length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_without_commands() {
        let cases = [
            ("One % no\ntwo\n\nthree\\\\four", "One two\n\nthree\nfour"),
            (
                "\\emph{a} \\textbf{b \\textit{c}} \\cite[p. 1]{x} d~e",
                "a b c d e",
            ),
            (
                "na\\\"{\\i}ve caf\\'e stra\\ss{}e \\c{c}a 5\\% \\& \\{x\\}",
                "naïve café straße ça 5% & {x}",
            ),
            ("$a_1$ and $$b$$ \\(c\\) \\[d\\] $", "a_1 and b c d $"),
            (
                "\\begin{itemize}\\item one\\item two\\end{itemize}after",
                "- one\n- two\nafter",
            ),
            (
                "\\begin{verbatim}\n% \\x\n  {y}\n\\end{verbatim}z",
                "% \\x\n  {y}\nz",
            ),
            ("\\begin{tabular}{ll}a & b\\end{tabular}", "a & b"),
            ("\\unknown[o]{text} \\x", "text"),
            ("\\", ""),
            ("\\section{never closed", "never closed"),
            (
                "\\def\\x{\\end{document}}\\begin{document}one\\end{document}",
                "one",
            ),
        ];
        for (source, text) in cases {
            assert_eq!(extract(source).text, text, "{source}");
        }
    }

    #[test]
    fn sections_and_fields() {
        let source = "\\title{On \\emph{Lamps}}\\author{Ann\\thanks{x}}\n\\date{January 31, 2024}\n\\newcommand{\\x}{y}\n\\begin{document}\n\\maketitle\n\\section*{One}\\label{s}\ntext \\subsection[short]{Two \\& three}\nmore\n\\end{document} no";
        let found = extract(source);
        assert_eq!(found.text, "One\n\ntext\n\nTwo & three\n\nmore");
        let titles: Vec<_> = found
            .headings
            .iter()
            .map(|h| (h.level, h.title.as_str()))
            .collect();
        assert_eq!(titles, [(3, "One"), (4, "Two & three")]);
        assert_eq!(found.metadata.title.as_deref(), Some("On Lamps"));
        assert_eq!(found.metadata.date.as_deref(), Some("2024-01-31"));
        let at = found.text.find("more").expect("prose");
        let origin = found.origin.source_range(at..at + 4);
        assert_eq!(&source[origin.start as usize..origin.end as usize], "more");
    }
}
