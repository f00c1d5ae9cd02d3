//! The commands of LaTeX that stand for text: letters with accents, signs, spaces and dashes,
//! measures (`siunitx`), and those without arguments that a file defines itself. What it leaves out
//! (`comment`, `\iffalse`) stands for nothing.

use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::char::compose;

use super::columns::with_edits;
use super::latex_tables::{argument_length, unescaped_bytes};

/// Maximum size of the text that a command of a file stands for, and of all that it puts in.
const MAX_DEFINED_BYTES: usize = 200;
const MAX_ADDED_BYTES: usize = 16 << 20;
/// Maximum number of the commands that a file defines.
const MAX_COMMANDS: usize = 2_000;
/// Maximum size of an argument: a brace without an end would cost time.
const MAX_ARGUMENT_BYTES: usize = 400;
/// Maximum size of the name of a command, and of what stands before its definition on a line.
const MAX_NAME_BYTES: usize = 50;
const MAX_LINE_BYTES: usize = 1_000;

/// Commands of signs and spaces. A mark of degrees often is a formula.
#[rustfmt::skip]
const SIGNS: [(&str, &str); 22] = [
    ("\\\\", "\\\\"), ("\\$", "$"), ("\\%", "%"), ("\\&", "&"), ("\\_", "_"), ("\\#", "#"),
    ("\\{", "{"), ("\\}", "}"), ("\\,", " "), ("\\;", " "), ("\\:", " "), ("\\ ", " "), ("\\!", ""),
    ("\\@", ""), ("~", " "), ("$^\\circ$", "°"), ("$^{\\circ}$", "°"), ("^\\circ", "°"),
    ("^{\\circ}", "°"), ("$\\mu$", "µ"), ("$\\pm$", "±"), ("$\\times$", "×"),
];
/// Commands of letters and signs, of the rules of tables, and of the end of a condition.
#[rustfmt::skip]
const LETTERS: [(&str, &str); 37] = [
    ("ss", "ß"), ("o", "ø"), ("O", "Ø"), ("ae", "æ"), ("AE", "Æ"), ("oe", "œ"), ("OE", "Œ"),
    ("aa", "å"), ("AA", "Å"), ("l", "ł"), ("L", "Ł"), ("i", "ı"), ("j", "ȷ"), ("dh", "ð"),
    ("th", "þ"), ("S", "§"), ("P", "¶"), ("pounds", "£"), ("euro", "€"), ("texteuro", "€"),
    ("copyright", "©"), ("dots", "…"), ("ldots", "…"), ("textdegree", "°"), ("degree", "°"),
    ("textmu", "µ"), ("textendash", "–"), ("textemdash", "—"), ("LaTeX", "LaTeX"), ("TeX", "TeX"),
    ("quad", " "), ("qquad", " "), ("toprule", ""), ("midrule", ""), ("bottomrule", ""),
    ("hline", ""), ("fi", ""),
];
/// The signs and the letters of the commands of accents, with the marks that they set.
#[rustfmt::skip]
const ACCENTS: [(&str, char); 15] = [
    ("`", '\u{300}'), ("'", '\u{301}'), ("^", '\u{302}'), ("~", '\u{303}'), ("=", '\u{304}'),
    ("u", '\u{306}'), (".", '\u{307}'), ("\"", '\u{308}'), ("r", '\u{30a}'), ("H", '\u{30b}'),
    ("v", '\u{30c}'), ("d", '\u{323}'), ("c", '\u{327}'), ("k", '\u{328}'), ("b", '\u{331}'),
];
/// Commands that define others.
#[rustfmt::skip]
const DEFINITIONS: [&str; 5] = [
    "newcommand", "renewcommand", "providecommand", "DeclareMathOperator", "def",
];
/// Commands that set the text of a definition, and add nothing to it.
#[rustfmt::skip]
const LOOKS: [&str; 20] = [
    "emph", "textbf", "textit", "textsc", "texttt", "textsf", "textrm", "text", "mbox", "mathrm",
    "mathbf", "mathit", "mathcal", "mathbb", "ensuremath", "xspace", "bf", "it", "em", "sc",
];
/// Commands whose argument is an address or a name.
#[rustfmt::skip]
const NAMING: [&str; 12] = [
    "url", "path", "href", "label", "ref", "eqref", "pageref", "cref", "Cref", "includegraphics",
    "input", "include",
];

/// Prefixes of units and units, which may follow each other with a space.
#[rustfmt::skip]
const PREFIXES: [(&str, &str); 13] = [
    ("pico", "p"), ("nano", "n"), ("micro", "µ"), ("milli", "m"), ("centi", "c"), ("deci", "d"),
    ("deca", "da"), ("hecto", "h"), ("kilo", "k"), ("mega", "M"), ("giga", "G"), ("tera", "T"),
    ("peta", "P"),
];
#[rustfmt::skip]
const UNITS: [(&str, &str); 46] = [
    ("metre", "m"), ("meter", "m"), ("second", "s"), ("gram", "g"), ("litre", "l"), ("liter", "l"),
    ("newton", "N"), ("pascal", "Pa"), ("joule", "J"), ("watt", "W"), ("volt", "V"),
    ("ampere", "A"), ("ohm", "Ω"), ("hertz", "Hz"), ("kelvin", "K"), ("mole", "mol"),
    ("candela", "cd"), ("celsius", "°C"), ("degreeCelsius", "°C"), ("degree", "°"),
    ("percent", "%"), ("minute", "min"), ("hour", "h"), ("day", "d"), ("bar", "bar"),
    ("byte", "B"), ("bit", "bit"), ("tonne", "t"), ("hectare", "ha"), ("electronvolt", "eV"),
    ("dalton", "Da"), ("tesla", "T"), ("farad", "F"), ("coulomb", "C"), ("siemens", "S"),
    ("weber", "Wb"), ("henry", "H"), ("lumen", "lm"), ("lux", "lx"), ("becquerel", "Bq"),
    ("sievert", "Sv"), ("gray", "Gy"), ("decibel", "dB"), ("radian", "rad"), ("kg", "kg"),
    ("angstrom", "Å"),
];

/// The commands that a file defines.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// The text of each; `None` where it has arguments, or is more than text.
    defined: HashMap<String, Option<String>>,
}

impl Commands {
    /// Reads the definitions of a file.
    pub(super) fn from_source(source: &str) -> Self {
        let mut commands = Self::default();
        for (at, _) in source.match_indices('\\') {
            let Some(found) = Definition::new(&source[at..]) else {
                continue;
            };
            let near = source.ceil_char_boundary(at.saturating_sub(MAX_LINE_BYTES));
            let before = source[near..at].rsplit('\n').next().unwrap_or_default();
            if comment_start(before).is_some() {
                continue;
            }
            let text = found.body.map(|body| commands.fill(body));
            let text = text.and_then(|text| without_looks(&text));
            let text = text.filter(|text| text.len() <= MAX_DEFINED_BYTES);
            commands.defined.insert(found.name.to_owned(), text);
            if commands.defined.len() >= MAX_COMMANDS {
                break;
            }
        }
        commands
    }

    /// Returns a text with what its commands stand for.
    pub(super) fn fill(&self, text: &str) -> String {
        with_edits(text, &self.edits(text, &[]))
    }

    /// Returns the parts of a text that stand for other text, each with this, in order. Parts that
    /// are `verbatim` stay.
    pub(super) fn edits(
        &self,
        text: &str,
        verbatim: &[Range<usize>],
    ) -> Vec<(Range<usize>, String)> {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut added = 0;
        // whether what is left out may have an end further down
        let mut can_end = true;
        let mut at = 0;
        while let Some(start) = text[at..].find(['\\', '~', '-', '^', '$']) {
            let start = at + start;
            let after = verbatim.partition_point(|part| part.start <= start);
            let part = after.checked_sub(1).map(|before| &verbatim[before]);
            if let Some(part) = part.filter(|part| start < part.end) {
                at = part.end;
                continue;
            }

            let rest = &text[start..];
            let is_skipped = rest.starts_with("\\iffalse") || rest.starts_with("\\begin{comment}");
            let skipped = if is_skipped && can_end {
                let length = skipped_length(rest);
                can_end = length.is_some();
                length
            } else {
                None
            };
            let read = skipped.map_or_else(|| self.read(rest), |length| (length, Some("".into())));
            let (length, words) = read;
            at = start + length;
            if let Some(words) = words.filter(|_| added <= MAX_ADDED_BYTES) {
                added += words.len();
                let last = edits.last().map_or(0, |(part, _)| part.end);
                let part = if words.is_empty() {
                    with_line(text, start..at)
                } else {
                    with_braces(text, last, start..at)
                };
                at = part.end;
                edits.push((part, words));
            }
        }
        edits
    }

    /// Returns the length of a command or a sign that a text begins with, and what it stands for;
    /// `None` for one that stays.
    fn read(&self, text: &str) -> (usize, Option<String>) {
        if let Some((sign, words)) = SIGNS.iter().find(|(sign, _)| text.starts_with(sign)) {
            let is_same = sign == words;
            return (sign.len(), (!is_same).then(|| (*words).to_owned()));
        }
        let dashes = text.len() - text.trim_start_matches('-').len();
        match dashes {
            0 => {}
            2 => return (2, Some("–".to_owned())),
            3 => return (3, Some("—".to_owned())),
            _ => return (dashes, None),
        }
        let Some(command) = text.strip_prefix('\\') else {
            return (1, None);
        };

        let name = command_name(command);
        let length = 1 + name.len();
        if let Some(text) = self.defined.get(name) {
            let has_braces = command[name.len()..].starts_with("{}");
            let braces = if has_braces { 2 } else { 0 };
            return match text {
                Some(text) => (length + braces, Some(text.clone())),
                None => (length, None),
            };
        }
        if let Some((accent, letter)) = read_accent(command) {
            return (1 + accent, Some(letter));
        }
        if let Some((_, letter)) = LETTERS.iter().find(|(own, _)| *own == name) {
            let rest = &command[name.len()..];
            // the spaces behind the name of a command end it
            let space = rest.len() - rest.trim_start_matches(' ').len();
            let end = if letter.is_empty() {
                0
            } else if rest.starts_with("{}") {
                2
            } else {
                space
            };
            return (length + end, Some((*letter).to_owned()));
        }
        if let Some(found) = Definition::new(text) {
            return (found.length, Some(String::new()));
        }
        if let Some((end, words)) = measure(name, &text[length..]) {
            return (length + end, Some(words));
        }
        if NAMING.contains(&name) || name.starts_with("cite") {
            let options =
                near_argument(&text[length..]).filter(|_| text[length..].starts_with('['));
            let end = length + options.unwrap_or(0);
            return (end + near_argument(&text[end..]).unwrap_or(0), None);
        }
        let next = command.chars().next().map_or(0, char::len_utf8);
        (length.max(1 + next), None)
    }
}

/// The definition of a command.
struct Definition<'a> {
    name: &'a str,
    /// The text; `None` where that has arguments.
    body: Option<&'a str>,
    length: usize,
}

impl<'a> Definition<'a> {
    /// Returns the definition that a text begins with.
    fn new(text: &'a str) -> Option<Self> {
        let kind = command_name(text.strip_prefix('\\')?);
        if !DEFINITIONS.contains(&kind) {
            return None;
        }
        let rest = text[1 + kind.len()..].trim_start_matches(['*', ' ']);
        let named = rest.trim_start_matches('{').strip_prefix('\\')?;
        let name = command_name(named);
        if name.is_empty() {
            return None;
        }
        let mut rest = named[name.len()..].trim_start_matches(['}', ' ', '\n']);
        // the number of the arguments, or how they are written
        let mut has_arguments = rest.starts_with('#');
        rest = rest.trim_start_matches(|c: char| c == '#' || c.is_ascii_digit());
        while let Some(length) = near_argument(rest).filter(|_| rest.starts_with('[')) {
            has_arguments = true;
            rest = &rest[length..];
        }
        let length = near_argument(rest).filter(|_| rest.starts_with('{'))?;
        Some(Self {
            name,
            body: Some(&rest[1..length - 1]).filter(|_| !has_arguments),
            length: text.len() - rest.len() + length,
        })
    }
}

/// Returns a text without the commands of its looks and without braces; `None` with other commands
/// or with a formula.
fn without_looks(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = command_name(part);
        if !LOOKS.contains(&name) {
            return None;
        }
        let rest = &part[name.len()..];
        plain += rest.strip_prefix(' ').unwrap_or(rest);
    }
    let plain = plain.replace(['{', '}'], "");
    (!plain.contains(['$', '#', '^', '&'])).then_some(plain)
}

/// Returns the length of the argument that a text begins with, as long as such are.
fn near_argument(text: &str) -> Option<usize> {
    argument_length(&text[..text.floor_char_boundary(MAX_ARGUMENT_BYTES)])
}

/// Returns the name of a command, behind its backslash.
fn command_name(command: &str) -> &str {
    let near = command.as_bytes().iter().take(MAX_NAME_BYTES);
    let length = near.take_while(|byte| byte.is_ascii_alphabetic()).count();
    &command[..length]
}

/// Returns the length of the accent and its letter that a command is, behind its backslash, and
/// both as one: `'e`, `"{\i}`, `c c`.
fn read_accent(command: &str) -> Option<(usize, String)> {
    let name = command_name(command);
    let sign = if name.is_empty() {
        &command[..command.chars().next()?.len_utf8()]
    } else {
        name
    };
    let (_, mark) = ACCENTS.iter().find(|(own, _)| *own == sign)?;
    let rest = &command[sign.len()..];
    let inner = rest.trim_start_matches(' ');
    let braced = inner.strip_prefix('{');
    let letter = braced.unwrap_or(inner);
    let letter = letter.strip_prefix('\\').unwrap_or(letter);
    let base = letter.chars().next().filter(|c| c.is_alphabetic())?;
    let after = &letter[base.len_utf8()..];
    let after = match braced {
        Some(_) => after.strip_prefix('}')?,
        None => after,
    };
    let composed = compose(base, *mark);
    // a letter that is the name of an accent may be that of another command
    if composed.is_none() && !name.is_empty() {
        return None;
    }
    let letter = composed.map_or_else(|| format!("{base}{mark}"), String::from);
    Some((command.len() - after.len(), letter))
}

/// Returns a part with the braces around it, unless they hold the argument of a command or begin
/// before `from`.
fn with_braces(text: &str, from: usize, part: Range<usize>) -> Range<usize> {
    let before = text[from..part.start].strip_suffix('{');
    let Some(before) = before.filter(|_| text[part.end..].starts_with('}')) else {
        return part;
    };
    let near = before.len() - before.len().min(MAX_NAME_BYTES);
    let near = before.ceil_char_boundary(near);
    let name = before[near..].trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if name.ends_with(['\\', '}', ']', '*']) {
        return part;
    }
    part.start - 1..part.end + 1
}

/// Returns a part with the end of its line, where it is alone on that.
fn with_line(text: &str, part: Range<usize>) -> Range<usize> {
    let before = text[..part.start].trim_end_matches(' ');
    let after = text[part.end..].trim_start_matches(' ');
    match after.strip_prefix('\n') {
        Some(next) if before.is_empty() || before.ends_with('\n') => {
            part.start..text.len() - next.len()
        }
        _ => part,
    }
}

/// Returns the length of what a text begins with and leaves out, to its end.
fn skipped_length(text: &str) -> Option<usize> {
    const END: &str = "\\end{comment}";
    if text.starts_with("\\begin") {
        return text.find(END).map(|at| at + END.len());
    }
    let mut depth = 0_usize;
    for (at, _) in text.match_indices('\\') {
        let name = command_name(&text[at + 1..]);
        match name {
            "fi" => depth = depth.saturating_sub(1),
            "iff" | "ifthenelse" => {}
            name => depth += usize::from(name.starts_with("if")),
        }
        if depth == 0 || (depth == 1 && name == "else") {
            return Some(at + 1 + name.len());
        }
    }
    None
}

/// Returns the length of the arguments of a command of measures, and these as text.
fn measure(name: &str, text: &str) -> Option<(usize, String)> {
    let mut rest = text;
    if let Some(length) = near_argument(rest).filter(|_| rest.starts_with('[')) {
        rest = &rest[length..];
    }
    let mut argument = || {
        let length = near_argument(rest).filter(|_| rest.starts_with('{'))?;
        let inner = &rest[1..length - 1];
        rest = &rest[length..];
        Some(inner)
    };
    let number = |text: &str| text.replace("\\pm", "±");
    let words = match name {
        "SI" | "qty" => {
            let value = number(argument()?);
            format!("{value} {}", unit(argument()?))
        }
        "num" => number(argument()?),
        "si" | "unit" => unit(argument()?),
        "ang" => argument()?.to_owned() + "°",
        _ => return None,
    };
    Some((text.len() - rest.len(), words))
}

/// Returns a unit with its signs: `m/s` for `\metre\per\second`.
fn unit(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut written = parts.next().unwrap_or_default().replace('~', " ");
    let mut power = "";
    let mut needs_space = !written.is_empty();
    for part in parts {
        let name = command_name(part);
        let prefix = PREFIXES.iter().find(|(own, _)| *own == name);
        match name {
            "per" => written.push('/'),
            "square" => power = "²",
            "cubic" => power = "³",
            "squared" => written.push('²'),
            "cubed" => written.push('³'),
            _ => {
                if needs_space {
                    written.push(' ');
                }
                let unit = prefix.or_else(|| UNITS.iter().find(|(own, _)| *own == name));
                written += unit.map_or(name, |(_, sign)| sign);
                if prefix.is_none() {
                    written += std::mem::take(&mut power);
                }
            }
        }
        let is_unit = !matches!(name, "per" | "square" | "cubic") && prefix.is_none();
        needs_space = is_unit;
        written += &part[name.len()..];
    }
    written.trim().to_owned()
}

/// Returns where the comment of a line begins: at a `%` that no backslash escapes.
pub(super) fn comment_start(line: &str) -> Option<usize> {
    let comment = unescaped_bytes(line).find(|(_, byte)| *byte == b'%');
    comment.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_for_text() {
        let source = "\\newcommand{\\dev}{\\textsc{Limpet}}\n\\newcommand*\\two{\\dev{} 2}\n\
            %\\def\\dev{no}\n\\def\\Z{\\mathbb{Z}}\\newcommand{\\by}[1]{by #1}\n\
            \\newcommand{\\be}{\\begin{equation}}\n\\renewcommand{\\d}{day}";
        let cases = [
            (
                "Caf\\'e, na\\\"ive, \\o re, Stra\\ss e \\ss., G{\\\"o}del, \\c c \\v{s} \\~n \\'{\\i} \\H{o}",
                "Café, naïve, øre, Straße ß., Gödel, ç š ñ í ő",
            ),
            (
                "\\section{\\'Etat} {\\ss}\\emph{\\aa}",
                "\\section{État} ß\\emph{å}",
            ),
            (
                "5\\,\\%~a --- b, 1--2 ---- - \\$42 \\& \\_ \\# \\{\\} \\\\- \\!",
                "5 % a — b, 1–2 ---- - $42 & _ # {} \\\\- ",
            ),
            (
                "14\\,$^\\circ$C $x^\\circ$ $\\dots$ \\d.",
                "14 °C $x°$ $…$ day.",
            ),
            (
                "\\dev, \\dev{} is \\two. \\by{me} \\be \\Z \\other{} \\",
                "Limpet, Limpet is Limpet 2. \\by{me} \\be Z \\other{} \\",
            ),
            (
                "\\url{a~b--c} \\cite[p.~1]{a--b} \\ref{x_1--2}",
                "\\url{a~b--c} \\cite[p.~1]{a--b} \\ref{x_1--2}",
            ),
            (
                "\\SI{4.5}{\\milli\\metre} \\qty[x=y]{1.25}{\\metre\\per\\second} \\num{3 \\pm 1} \\si{\\kilo\\gram\\per\\cubic\\metre} \\SI{2}{\\newton\\metre\\squared} \\ang{30} \\SI{5}{km/h} \\SI{7}",
                "4.5 mm 1.25 m/s 3 ± 1 kg/m³ 2 N m² 30° 5 km/h \\SI{7}",
            ),
            (
                "a\\begin{comment}no\n\\end{comment}b\\iffalse no \\ifx no\\fi no\\fi c\\iffalse no\\else d\\fi\\iffalse e",
                "ab c d\\iffalse e",
            ),
            (
                "\\hline\n\\toprule A & B \\\\\\midrule C\\\\ \\hline\nD",
                " A & B \\\\ C\\\\ \nD",
            ),
            (
                "a\\newcommand{\\x}[2][3]{no}b\\def\\y#1{no}c\\def",
                "abc\\def",
            ),
        ];
        let commands = Commands::from_source(source);
        for (text, expected) in cases {
            assert_eq!(commands.fill(text), expected, "{text}");
        }
    }

    #[test]
    fn verbatim_parts_stay() {
        let text = "a~b~c--d~e";
        let edits = Commands::default().edits(text, &[2..5, 8..9]);
        assert_eq!(edits, [(1..2, " ".to_owned()), (5..7, "–".to_owned())]);
    }

    #[test]
    fn definitions_do_not_multiply_a_text() {
        let mut source = format!("\\def\\a{{{}}}", "x".repeat(100));
        for (name, last) in ('b'..='h').zip('a'..) {
            source += &format!("\\def\\{name}{{\\{last}\\{last}}}");
        }
        let commands = Commands::from_source(&source);
        assert_eq!(commands.fill("\\b").len(), 200);
        assert_eq!(commands.fill("\\c"), "\\c");
        let text = "\\b".repeat(1 << 20);
        assert!(commands.fill(&text).len() < MAX_ADDED_BYTES + text.len() + 1000);
        for torn in [
            "\\begin{comment}",
            "\\iffalse",
            "\\'",
            "\\c",
            "\\SI{",
            "\\def\\x{",
        ] {
            let text = torn.repeat(100_000);
            assert!(commands.fill(&text).len() <= text.len());
        }
    }
}
