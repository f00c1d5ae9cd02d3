//! Superscripts and subscripts: exponents stay at their base (10⁶), marks of footnotes are words of
//! their own (1931 ³), so that no number is read as another.

use std::ops::Range;

/// A number of more digits before a superscript is a year or an amount with a footnote.
const MAX_BASE_DIGITS: usize = 2;
/// Units and functions that have powers.
const UNITS: &[&str] = &[
    "mm", "cm", "dm", "km", "nm", "µm", "μm", "ft", "in", "yd", "mi", "kg", "ha", "sin", "cos",
    "tan", "log", "ln",
];
const ABOVE: &str = "0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻−⁻=⁼(⁽)⁾nⁿiⁱ";
const BELOW: &str = "0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋−₋=₌(₍)₎";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptKind {
    Above,
    Below,
}

impl ScriptKind {
    /// Returns the way that the value of a property of Office files sets text: an alignment, or by
    /// how much it is raised.
    pub(super) fn from_property(value: &str) -> Option<Self> {
        match value {
            "superscript" => Some(Self::Above),
            "subscript" => Some(Self::Below),
            _ => {
                let shift: i32 = value.parse().ok()?;
                Self::from_flags(shift > 0, shift < 0)
            }
        }
    }

    /// Returns the way that text is set which is raised, or lowered.
    pub(super) fn from_flags(is_raised: bool, is_lowered: bool) -> Option<Self> {
        match (is_raised, is_lowered) {
            (true, _) => Some(Self::Above),
            (false, true) => Some(Self::Below),
            (false, false) => None,
        }
    }

    /// Returns the alignment that sets text so.
    pub(super) fn alignment(self) -> &'static str {
        match self {
            Self::Above => "superscript",
            Self::Below => "subscript",
        }
    }
}

/// Returns the character that stands behind another in a table of pairs.
pub(super) fn partner(table: &str, c: char) -> Option<char> {
    let at = table.chars().step_by(2).position(|from| from == c)?;
    table.chars().nth(at * 2 + 1)
}

/// The text of a superscript or subscript while it is read.
#[derive(Debug)]
pub(super) struct Script {
    kind: ScriptKind,
    text: String,
    source: Range<usize>,
    /// Whether it is a link, as the mark of a footnote is.
    pub(super) is_linked: bool,
    /// Whether it is known to be a power or an index: a part of a formula.
    pub(super) is_power: bool,
}

impl Script {
    pub(super) fn new(kind: ScriptKind, is_linked: bool) -> Self {
        Self {
            kind,
            text: String::new(),
            source: 0..0,
            is_linked,
            is_power: false,
        }
    }

    pub(super) fn add(&mut self, text: &str, source: Range<usize>) {
        if self.text.is_empty() {
            self.source.start = source.start;
        }
        self.text.push_str(text);
        self.source.end = source.end;
    }

    pub(super) fn source(&self) -> Range<usize> {
        self.source.clone()
    }

    pub(super) fn ends_with_space(&self) -> bool {
        self.text.ends_with(|c: char| c.is_ascii_whitespace())
    }

    /// Adds it as plain text to the text of its line, with a space where it ends with one.
    pub(super) fn push_to(&self, line: &mut String) {
        let text = self.text_after(line);
        line.extend(text);
        if self.ends_with_space() {
            line.push(' ');
        }
    }

    /// Returns it as plain text after the text of its line; `None` where it is empty.
    pub(super) fn text_after(&self, before: &str) -> Option<String> {
        let words: Vec<&str> = self.text.split_ascii_whitespace().collect();
        let text = words.join(" ");
        if text.is_empty() {
            return None;
        }
        // `[3]` is how the mark of a footnote is written where it is not raised
        let number = text.trim_start_matches('[').trim_end_matches(']');
        let is_mark = self.is_linked || number.len() < text.len();
        let inner = if is_mark { number } else { &text };

        let raised = self.raise(inner);
        let is_above = self.kind == ScriptKind::Above;
        let is_word = inner.chars().all(char::is_alphabetic) && inner.chars().nth(1).is_some();
        Some(match raised {
            Some(raised) if self.is_apart_from(before, is_mark) => format!(" {raised}"),
            Some(raised) => raised,
            None if is_mark && !before.is_empty() => format!(" {text}"),
            None if inner == "o" && is_above && before.ends_with(|c: char| c.is_ascii_digit()) => {
                "°".to_owned()
            }
            None if is_above && is_abbreviated(before, inner) => text,
            None if self.is_index(before, inner) => format!("_{inner}"),
            // 1st, Mme
            None if is_word || before.is_empty() || self.kind == ScriptKind::Below => text,
            None if inner.chars().nth(1).is_none() && inner.starts_with(char::is_alphanumeric) => {
                format!("^{inner}")
            }
            None if inner.starts_with(|c: char| c.is_alphanumeric() || "+-−".contains(c)) => {
                format!("^({inner})")
            }
            None => text,
        })
    }

    /// Returns whether it is a lowered word right behind a letter: the index of a variable.
    fn is_index(&self, before: &str, inner: &str) -> bool {
        self.kind == ScriptKind::Below
            && before.ends_with(char::is_alphabetic)
            && inner.chars().all(char::is_alphanumeric)
    }

    /// Returns the characters as raised or lowered ones, where each has one.
    fn raise(&self, text: &str) -> Option<String> {
        let table = match self.kind {
            ScriptKind::Above => ABOVE,
            ScriptKind::Below => BELOW,
        };
        text.chars().map(|c| partner(table, c)).collect()
    }

    /// Returns whether it is no power of the word before it, but a mark beside it.
    fn is_apart_from(&self, before: &str, is_mark: bool) -> bool {
        if self.kind == ScriptKind::Below || self.is_power {
            return false;
        }
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let word = before.rsplit(|c: char| !c.is_alphabetic()).next();
        let word = word.unwrap_or_default();
        // the charge of an ion
        if self.text.trim_end().ends_with(['+', '-', '−']) && !is_mark {
            return false;
        }
        let is_factor = before
            .trim_end_matches(word)
            .trim_end()
            .ends_with(['=', '+', '/', '·', '×']);
        let is_long_word = word.chars().nth(1).is_some() && !UNITS.contains(&word) && !is_factor;
        let ends_word = before.ends_with(|c: char| c.is_alphanumeric() || c == ')');
        (is_mark && ends_word) || digits > MAX_BASE_DIGITS || is_long_word
    }
}

/// Returns whether a raised letter ends a number or an abbreviation: XXe, no, Dr, St.
fn is_abbreviated(before: &str, letter: &str) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default();
    // a single letter of the others is a variable
    let numerals = if word.len() > 1 { "IVXLCDM" } else { "IVX" };
    let is_roman = !word.is_empty() && word.chars().all(|c| numerals.contains(c));
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match letter {
        "e" => is_roman || is_number,
        "a" | "o" if is_roman => true,
        "o" => matches!(word, "n" | "N"),
        "r" => matches!(word, "D" | "M"),
        "t" => word == "S",
        _ => false,
    }
}

/// A text while it is read, with what is raised or lowered in it.
#[derive(Debug, Default)]
pub(super) struct RaisedText {
    text: String,
    script: Option<Script>,
}

impl RaisedText {
    /// Adds a part of the text. An exponent may be several parts.
    pub(super) fn push(&mut self, part: &str, kind: Option<ScriptKind>) {
        if self.script.as_ref().map(|open| open.kind) != kind {
            self.end_script();
        }
        match kind {
            Some(kind) => {
                let script = self.script.get_or_insert_with(|| Script::new(kind, false));
                script.add(part, 0..0);
            }
            None => self.text.push_str(part),
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.end_script();
        self.text
    }

    fn end_script(&mut self) {
        if let Some(script) = self.script.take() {
            script.push_to(&mut self.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_stay_and_footnotes_stand_apart() {
        let cases = [
            ("holds 10", "6", false, "⁶"),
            ("4 × 10", "−7", false, "⁻⁷"),
            ("12 km", "2", false, "²"),
            ("E=mc", "2", false, "²"),
            ("x", "n", false, "ⁿ"),
            ("e", "-kt", false, "^(-kt)"),
            ("2", "k", false, "^k"),
            ("in 1931", "3", false, " ³"),
            ("the county", "12", false, " ¹²"),
            ("the county.", "12", false, "¹²"),
            ("in 47", "2", true, " ²"),
            ("Reeve", "[3]", false, " ³"),
            ("Reeve", "[note 3]", true, " [note 3]"),
            ("1", "st", false, "st"),
            ("M", "me", false, "me"),
            ("price", "*", false, "*"),
            ("", "3", false, "³"),
            ("XX", "e", false, "e"),
            ("le 5", "e", false, "e"),
            ("n", "o", false, "o"),
            ("20", "o", false, "°"),
            ("x", "e", false, "^e"),
            ("Ca", "2+", false, "²⁺"),
            ("Na", "+", false, "⁺"),
            ("E = mc", "2", false, "²"),
            ("sin", "2", false, "²"),
        ];
        for (before, text, is_linked, expected) in cases {
            let mut script = Script::new(ScriptKind::Above, is_linked);
            script.add(text, 0..text.len());
            let found = script.text_after(before);
            assert_eq!(found.as_deref(), Some(expected), "{before}<sup>{text}");
        }
        for (before, text, expected) in
            [("CO", "2", "₂"), ("x", "max", "_max"), ("1", "max", "max")]
        {
            let mut script = Script::new(ScriptKind::Below, false);
            script.add(text, 0..text.len());
            assert_eq!(script.text_after(before).as_deref(), Some(expected));
        }
    }
}
