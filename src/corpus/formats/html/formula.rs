//! The formulas of a page (MathML), each as one line: `10⁶`, `(a+b)/2`, `³√27`.

use std::ops::Range;

use super::super::script::{Script, ScriptKind};
use crate::corpus::sentence::fold_white_space;
use crate::corpus::terminal::is_invisible;

/// Elements of a formula that are deeper are read as a part of the one around them.
const MAX_DEPTH: usize = 64;

/// The formula that is open, if there is one.
#[derive(Debug, Default)]
pub(super) struct OpenFormula {
    /// The open elements, the innermost last.
    elements: Vec<Element>,
    source: Range<usize>,
}

#[derive(Debug)]
struct Element {
    name: String,
    /// The number of elements of the page that are open with it.
    depth: usize,
    /// The text of each element in it.
    parts: Vec<String>,
    /// Text of its own behind them.
    text: String,
}

impl OpenFormula {
    pub(super) fn is_open(&self) -> bool {
        !self.elements.is_empty()
    }

    /// Opens an element of a page, as the last of `depth` open ones.
    pub(super) fn open(&mut self, name: &str, depth: usize) {
        if self.elements.len() >= MAX_DEPTH {
            return;
        }
        match self.elements.last_mut() {
            None if name != "math" => return,
            None => self.source = 0..0,
            Some(outer) => outer.end_text(),
        }
        self.elements.push(Element {
            name: name.to_owned(),
            depth,
            parts: Vec::new(),
            text: String::new(),
        });
    }

    /// Adds an element without content, which may be the base of an index.
    pub(super) fn add_empty(&mut self) {
        if let Some(outer) = self.elements.last_mut() {
            outer.end_text();
            outer.parts.push(String::new());
        }
    }

    pub(super) fn add(&mut self, text: &str, source: Range<usize>) {
        let Some(element) = self.elements.last_mut() else {
            return;
        };
        let shown = text.chars().filter(|c| !is_invisible(*c));
        element.text.extend(shown);
        if !text.trim().is_empty() {
            if self.source.end == 0 {
                self.source.start = source.start;
            }
            self.source.end = source.end;
        }
    }

    /// Closes all elements but `depth` of the page. Returns the text of the formula, and where that
    /// is in the source, once it is closed itself.
    pub(super) fn close(&mut self, depth: usize) -> Option<(String, Range<usize>)> {
        while let Some(element) = self.elements.pop_if(|element| element.depth > depth) {
            let text = element.into_text();
            match self.elements.last_mut() {
                Some(outer) => outer.parts.push(text),
                None => return Some((text, self.source.clone())),
            }
        }
        None
    }
}

impl Element {
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        let words = fold_white_space(&text);
        if !words.is_empty() {
            // spaces around a word in a formula are its own
            let is_word = self.name == "mtext";
            self.parts.push(if is_word { text } else { words });
        }
    }

    fn into_text(mut self) -> String {
        self.end_text();
        let part = |at: usize| self.parts.get(at).map_or("", String::as_str);
        match self.name.as_str() {
            "mphantom" => String::new(),
            "mfrac" => format!("{}/{}", group(part(0)), group(part(1))),
            "msqrt" => format!("√{}", group(&join(&self.parts))),
            "mroot" => raise(String::new(), ScriptKind::Above, part(1)) + "√" + &group(part(0)),
            "msup" | "mover" => raise(group(part(0)), ScriptKind::Above, part(1)),
            "msub" | "munder" => raise(group(part(0)), ScriptKind::Below, part(1)),
            "msubsup" | "munderover" => {
                let base = raise(group(part(0)), ScriptKind::Below, part(1));
                raise(base, ScriptKind::Above, part(2))
            }
            "mfenced" => format!("({})", self.parts.join(",")),
            "mtr" | "mlabeledtr" => self.parts.join(" "),
            "mtable" => self.parts.join("; "),
            _ => join(&self.parts),
        }
    }
}

/// Joins parts of a formula, of which no two become one number.
fn join(parts: &[String]) -> String {
    let mut joined = String::new();
    for part in parts {
        if needs_space(&joined, part) {
            joined.push(' ');
        }
        joined.push_str(part);
    }
    joined
}

/// Returns whether two texts would become one number: 3 and 1/2.
pub(super) fn needs_space(before: &str, after: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    before.ends_with(is_digit) && after.starts_with(is_digit)
}

/// Adds a power or an index to its base.
fn raise(mut base: String, kind: ScriptKind, text: &str) -> String {
    let mut script = Script::new(kind, false);
    script.is_power = true;
    script.add(text, 0..0);
    script.push_to(&mut base);
    base
}

/// Returns a part in parentheses, unless it is one thing.
fn group(part: &str) -> String {
    let is_of_number = |c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '′');
    let mut depth = 0_usize;
    let mut is_one = part.starts_with('(') && part.ends_with(')');
    for (at, c) in part.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_one &= depth > 0 || at + 1 == part.len();
    }
    is_one |= part.chars().all(is_of_number) || part.chars().nth(1).is_none();
    if is_one {
        part.to_owned()
    } else {
        format!("({part})")
    }
}
