//! The formulas of a page (MathML): the parts of a power, an index or a fraction.

use super::super::script::ScriptKind;

/// The way that a part of a formula follows the part before it.
#[derive(Debug, PartialEq)]
pub(super) enum Joint {
    Script(ScriptKind),
    Fraction,
}

/// The elements that are open and divide into parts by their children, the innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenFormulas(Vec<OpenFormula>);

#[derive(Debug)]
struct OpenFormula {
    element: String,
    /// The number of elements that are open with it.
    depth: usize,
    children: usize,
}

impl OpenFormulas {
    /// Opens an element of a page, as the last of `depth` open ones, and returns how it follows the
    /// one before.
    pub(super) fn open(&mut self, element: &str, depth: usize) -> Option<Joint> {
        while self.0.last().is_some_and(|open| open.depth >= depth) {
            self.0.pop();
        }

        let outer = self.0.last_mut().filter(|open| open.depth + 1 == depth);
        let joint = outer.and_then(|outer| {
            outer.children += 1;
            match (outer.element.as_str(), outer.children) {
                ("msup" | "mover", 2) | ("msubsup" | "munderover", 3) => {
                    Some(Joint::Script(ScriptKind::Above))
                }
                ("msub" | "munder" | "msubsup" | "munderover", 2) => {
                    Some(Joint::Script(ScriptKind::Below))
                }
                ("mfrac", 2) => Some(Joint::Fraction),
                _ => None,
            }
        });

        if element.starts_with("ms")
            || element.starts_with("mu")
            || matches!(element, "mover" | "mfrac")
        {
            self.0.push(OpenFormula {
                element: element.to_owned(),
                depth,
                children: 0,
            });
        }
        joint
    }
}
