//! Finds the expressions of a text: what stands together without a space, with the signs that make
//! another word of it (`C++`, `.NET`, `--force`).

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::letters;

/// Bytes before and after a word in which its line is looked at.
const LINE_BYTES: usize = 100;
/// Signs behind a word that make another one of it: `C++`.
pub(in crate::index) const SIGNS: [char; 5] = ['+', '#', '＋', '＃', '♯'];

/// Words that lose their vowel in front of another word, in French, Italian and Catalan.
const ELIDED: &[&str] = &[
    "l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "un", "dell", "all",
    "nell", "sull", "dall", "coll", "quell", "quest",
];

/// The part that apostrophes have in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitting {
    /// They stand for nothing: `geht's`.
    Joined,
    /// The same, except in front of the English `s`, which is no part of the word.
    Possessive,
    /// They divide two words: `l'homme`.
    AtApostrophes,
}

/// The expressions of a text, one after another.
pub(super) struct Expressions<'t> {
    text: &'t str,
    splitting: Splitting,
    /// The end of the last one.
    at: usize,
}

/// A word or several that stand together.
#[derive(Debug)]
pub(super) struct Expression<'t> {
    pub text: &'t str,
    pub at: Range<usize>,
    /// Whether it is of a script that writes without spaces.
    pub is_dense: bool,
    splitting: Splitting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Letter,
    /// Belongs to the letter before it.
    Mark,
    /// Joins two letters.
    Joint,
    Apostrophe,
    Dense,
    Other,
}

fn kind(c: char) -> CharacterKind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => CharacterKind::Letter,
        '\'' | '\u{2019}' | '\u{2bc}' | '\u{5f3}' | '\u{5f4}' => CharacterKind::Apostrophe,
        '_' => CharacterKind::Joint,
        c if is_joint(c) => CharacterKind::Joint,
        '\0'..='\u{7f}' => CharacterKind::Other,
        c if letters::is_dense(c) => CharacterKind::Dense,
        c if c.is_alphanumeric() => CharacterKind::Letter,
        c if letters::is_unseen(c) || is_combining_mark(c) => CharacterKind::Mark,
        _ => CharacterKind::Other,
    }
}

/// Returns whether a character joins the parts of an expression.
fn is_joint(c: char) -> bool {
    matches!(
        c,
        '-' | '.' | '@' | '&' | ','
        // the middle dot of Catalan, hyphens, the Hebrew hyphen, full width
        | '\u{b7}' | '\u{2010}' | '\u{2011}' | '\u{5be}' | '．' | '－' | '＠' | '＆' | '，'
    )
}

impl<'t> Expressions<'t> {
    pub fn new(text: &'t str, splitting: Splitting) -> Self {
        Self {
            text,
            splitting,
            at: 0,
        }
    }

    /// Returns the end of the letters from `start` on, with what joins them.
    fn letters_end(&self, start: usize) -> usize {
        let bytes = &self.text.as_bytes()[start..];
        let plain = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric());
        let mut end = start + plain.count();

        // most words end here: the rest is slower
        if matches!(self.text.as_bytes().get(end), None | Some(b' ' | b'\n')) {
            return end;
        }

        let from = end;
        let mut joint = None;

        for (offset, c) in self.text[end..].char_indices() {
            match self.kind_at(from + offset, c) {
                CharacterKind::Letter => {
                    let is_comma = matches!(joint, Some(',' | '，'));
                    if is_comma && !(c.is_numeric() && self.text[..end].ends_with(char::is_numeric))
                    {
                        break;
                    }
                    joint = None;
                }
                CharacterKind::Mark if joint.is_none() => {}
                CharacterKind::Joint if joint.is_none() => {
                    joint = Some(c);
                    continue;
                }
                CharacterKind::Apostrophe
                    if joint.is_none() && self.splitting != Splitting::AtApostrophes =>
                {
                    joint = Some(c);
                    continue;
                }
                CharacterKind::Mark
                | CharacterKind::Joint
                | CharacterKind::Apostrophe
                | CharacterKind::Dense
                | CharacterKind::Other => break,
            }
            end = from + offset + c.len_utf8();
        }

        end
    }

    /// Returns the kind of a character at a position.
    fn kind_at(&self, at: usize, c: char) -> CharacterKind {
        if c == '"' && letters::is_gershayim(self.text, at) {
            CharacterKind::Apostrophe
        } else {
            kind(c)
        }
    }

    /// Returns where the signs begin that make another word of the letters at `start`: `.NET`,
    /// `-f`, `--force`.
    fn signs_before(&self, start: usize) -> usize {
        let before = &self.text[self.at..start];
        if !before.ends_with(['.', '-', '．']) {
            return start;
        }
        let is_letter = self.text[start..].starts_with(char::is_alphabetic);
        let dot = before.strip_suffix(['.', '．']).filter(|_| is_letter);
        let dash = || {
            before
                .strip_suffix("--")
                .or_else(|| before.strip_suffix('-'))
        };
        let Some(rest) = dot.or_else(dash) else {
            return start;
        };

        let last = self.text[..self.at + rest.len()].chars().next_back();
        let is_free = last.is_none_or(|c| {
            if dot.is_some() {
                kind(c) == CharacterKind::Other && !matches!(c, ')' | ']' | '}')
            } else {
                c.is_whitespace()
                    || matches!(c, '(' | '[' | '{' | '"' | '\'' | '`' | '|' | '=' | ':')
            }
        });
        if is_free { self.at + rest.len() } else { start }
    }

    /// Returns where the signs end that make another word of these letters: `C++`, `C#`.
    fn signs_after(&self, letters: &Range<usize>) -> usize {
        let rest = &self.text[letters.end..];
        if !rest.starts_with(SIGNS) {
            return letters.end;
        }

        let is_single = self.text[letters.clone()].chars().nth(1).is_none();
        for sign in ["++", "＋＋", "#", "＃", "♯", "+", "＋"] {
            let Some(after) = rest.strip_prefix(sign) else {
                continue;
            };
            let next = after.chars().next();
            let is_end = next
                .is_none_or(|c| kind(c) != CharacterKind::Letter && !matches!(c, '+' | '#' | '='));
            // `C++17` and `C#8`, but `a+b`
            if is_end || (is_single && !matches!(sign, "+" | "＋")) {
                return self.text.len() - after.len();
            }
        }

        letters.end
    }

    fn expression(&mut self, at: Range<usize>, is_dense: bool) -> Expression<'t> {
        self.at = at.end;
        Expression {
            text: &self.text[at.clone()],
            at,
            is_dense,
            splitting: self.splitting,
        }
    }
}

impl<'t> Iterator for Expressions<'t> {
    type Item = Expression<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        let begins = |c| matches!(kind(c), CharacterKind::Letter | CharacterKind::Dense);
        let start = self.at + self.text[self.at..].find(begins)?;
        if self.text[start..].starts_with(letters::is_dense) {
            let is_over = |c| !matches!(kind(c), CharacterKind::Dense | CharacterKind::Mark);
            let length = self.text[start..].find(is_over);
            let end = length.map_or(self.text.len(), |length| start + length);
            return Some(self.expression(start..end, true));
        }

        let end = self.letters_end(start);
        let end = self.signs_after(&(start..end));
        Some(self.expression(self.signs_before(start)..end, false))
    }
}

impl Expression<'_> {
    /// Returns what makes it one word: its parts with the signs around them, joined by what stands
    /// between two digits and by nothing else. `None` for a single part.
    pub fn whole(&self) -> Option<String> {
        let text = self.normal();
        let core = trim_signs(&text);
        if !core.contains(is_joint) {
            return (core.len() < text.len()).then(|| self.without_apostrophes(&text));
        }

        let mut whole = String::new();
        for (at, c) in text.char_indices() {
            let is_outside = at < core_start(&text) || at >= core_start(&text) + core.len();
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            let next = text[at + c.len_utf8()..].chars().next();
            let is_between = is_digit(whole.chars().next_back()) && is_digit(next);
            let is_kept = if is_joint(c) {
                is_between && !is_grouped(core)
            } else {
                c != '_'
            };
            if is_outside || is_kept {
                whole.push(c);
            }
        }
        Some(self.without_apostrophes(version(&whole).unwrap_or(&whole)))
    }

    /// Returns its parts, which are identifiers. One letter with a sign has none (`C` is not
    /// `C++`), nor has an abbreviation or a number in groups; single digits of a version are none.
    /// A version behind a hyphen is a part, too: `fw-2.1.0`; so is the number of `No5`.
    pub fn parts(&self) -> Vec<String> {
        let text = self.normal();
        let core = trim_signs(&text);
        let parts: Vec<&str> = core
            .split(is_joint)
            .filter(|part| !part.is_empty())
            .collect();

        let is_letter =
            |part: &&str| part.starts_with(char::is_alphabetic) && part.chars().nth(1).is_none();
        let is_signed_letter = core.len() < text.len() && is_letter(&core);
        let is_abbreviation =
            parts.len() > 1 && parts.iter().all(is_letter) && core.contains(['.', '&']);

        if is_signed_letter || is_abbreviation || is_grouped(core) {
            return Vec::new();
        }

        let is_version = version(core).is_some();
        let parts = parts
            .into_iter()
            .filter(|part| !is_version || part.len() > 1);
        let words = parts.flat_map(|part| [Some(part), word_behind_elided(part), numero(part)]);
        let between = core.split(|c| is_joint(c) && c != '.' || c == '_');
        let versions = between.filter_map(leading_version);
        words
            .flatten()
            .chain(versions.filter(|_| !is_version))
            .chain(framework(core))
            .map(|word| self.without_apostrophes(word))
            .collect()
    }

    /// Returns the text with its letters in normal form. What is not joined in a Persian word is as
    /// if there were a hyphen.
    fn normal(&self) -> Cow<'_, str> {
        let is_arabic = |c| matches!(c, '\u{600}'..='\u{6ff}');
        if self.text.contains('\u{200c}') && self.text.starts_with(is_arabic) {
            return letters::normal(&self.text.replace('\u{200c}', "-"))
                .into_owned()
                .into();
        }
        letters::normal(self.text)
    }

    fn without_apostrophes(&self, part: &str) -> String {
        let mut word = part;
        if self.splitting == Splitting::Possessive {
            let owner = part.strip_suffix(['s', 'S']);
            word = owner
                .and_then(|owner| owner.strip_suffix(is_apostrophe))
                .unwrap_or(part);
        }
        word.replace(is_apostrophe, "")
    }
}

/// Returns whether a character of an expression is an apostrophe: quotation marks are in none but
/// as gershayim.
fn is_apostrophe(c: char) -> bool {
    c == '"' || kind(c) == CharacterKind::Apostrophe
}

/// Returns the word behind one that is elided: short texts may be in another language than the one
/// that they are taken for. Behind an apostrophe, a capital begins a word anyway.
fn word_behind_elided(part: &str) -> Option<&str> {
    let (elided, word) = part.split_once(is_apostrophe)?;
    let mut letters = word.chars();
    let begins = letters.next()?.is_alphabetic();
    let has_capital = word.starts_with(char::is_uppercase);
    let is_word = letters.next()?.is_uppercase() == has_capital;
    (begins && is_word && ELIDED.contains(&elided.to_lowercase().as_str())).then_some(word)
}

/// Returns the number in `No5`, which is also written `No 5` and `№5`.
fn numero(part: &str) -> Option<&str> {
    let (sign, number) = part.split_at_checked(2)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && sign.eq_ignore_ascii_case("no")).then_some(number)
}

/// Returns the `.NET` of `ASP.NET`: capitals with the dot in front.
fn framework(core: &str) -> Option<&str> {
    let dot = core.rfind('.').filter(|dot| *dot > 0)?;
    let capitals = &core[dot + 1..];
    let is_name = capitals.len() > 2 && capitals.bytes().all(|byte| byte.is_ascii_uppercase());
    is_name.then_some(&core[dot..])
}

fn core_start(text: &str) -> usize {
    text.len() - text.trim_start_matches(['.', '-']).len()
}

/// Returns an expression without the signs around it.
fn trim_signs(text: &str) -> &str {
    text[core_start(text)..].trim_end_matches(SIGNS)
}

/// Returns the numbers of a version: `1.2.3` for `v1.2.3`.
fn version(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let is_version = numbers
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_version && numbers.contains('.')).then_some(numbers)
}

/// Returns the version that a text is, but for the ending of a file: `2.1.0.md`.
fn leading_version(text: &str) -> Option<&str> {
    let is_ending = |rest: &str| {
        let ending = rest.trim_start_matches('.');
        ending.len() < rest.len() && ending.starts_with(char::is_alphabetic)
    };
    let rest = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let numbers = text[..text.len() - rest.len()].trim_end_matches('.');
    let rest = &text[numbers.len()..];
    version(numbers).filter(|_| rest.is_empty() || is_ending(rest))
}

/// Returns whether an expression is a number with its thousands apart: `18,400`.
fn is_grouped(core: &str) -> bool {
    let mut groups = core.split(',');
    let is_number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    core.contains(',')
        && groups
            .next()
            .is_some_and(|first| is_number(first) && first.len() <= 3)
        && groups.all(|group| is_number(group) && group.len() == 3)
}

/// Returns whether capitals make a content word of a stop word there: several in a line that has
/// small letters too or nothing else (`IT`), or a single one inside a sentence (`vitamin A`).
pub(super) fn is_emphasised(text: &str, at: &Range<usize>) -> bool {
    let from = text.floor_char_boundary(at.start.saturating_sub(LINE_BYTES));
    let until = text.ceil_char_boundary((at.end + LINE_BYTES).min(text.len()));
    let before = &text[from..at.start];
    let before = before.rsplit_once('\n').map_or(before, |(_, line)| line);
    let after = &text[at.end..until];
    let after = after.split_once('\n').map_or(after, |(line, _)| line);

    let has = |test: fn(char) -> bool| before.contains(test) || after.contains(test);
    let is_single = text[at.clone()].chars().nth(1).is_none();
    let begins_sentence = || {
        let end = before.trim_end_matches([' ', '"', '\'', '“', '(', '*', '_', '#', '>', '|']);
        end.is_empty() || end.ends_with(['.', '!', '?', ':', '-', '•', ';'])
    };
    // "can I" asks, and "World War I" names
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let is_numeral = last.starts_with(char::is_uppercase) && last.len() < before.trim().len();
    let is_speaker = &text[at.clone()] == "I" && !is_numeral;
    has(char::is_lowercase) && !(is_single && (is_speaker || begins_sentence()))
        || !is_single && !has(char::is_alphanumeric)
}
