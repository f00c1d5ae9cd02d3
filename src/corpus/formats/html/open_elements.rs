//! The elements of a page that are open, as far as is needed to know where a hidden one ends.

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// The maximum number of open elements among which an end tag finds its start tag.
const MAX_LOOK_BACK: usize = 500;

/// The open elements, the innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: Vec<Box<str>>,
    /// The number of open elements outside the outermost hidden one.
    hidden: Option<usize>,
}

impl OpenElements {
    /// Returns whether the content of an open element is not shown.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// Returns the name of the outermost hidden element.
    pub(super) fn hidden_name(&self) -> Option<&str> {
        Some(&self.names[self.hidden?])
    }

    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.names.len()
    }

    /// Returns the name of the innermost element.
    pub(super) fn innermost(&self) -> &str {
        self.names.last().map_or("", |name| name)
    }

    /// Returns whether an element of this name is open.
    pub(super) fn has(&self, element: &str) -> bool {
        let mut near = self.names.iter().rev().take(MAX_LOOK_BACK);
        near.any(|name| **name == *element)
    }

    /// Opens an element, and closes those that cannot hold it.
    pub(super) fn open(&mut self, element: &str, is_hidden: bool) {
        if VOID.contains(&element) {
            return;
        }

        while ends_before(self.innermost(), element) {
            self.truncate(self.names.len() - 1);
        }

        if is_hidden {
            self.hidden.get_or_insert(self.names.len());
        }
        self.names.push(element.into());
    }

    /// Closes the innermost element of this name with all that are open in it. An end tag without
    /// one closes nothing, and neither does one of an element outside a block that it is in.
    pub(super) fn close(&mut self, element: &str) {
        let is_block_end = is_block(element);
        let mut near = self.names.iter().enumerate().rev().take(MAX_LOOK_BACK);
        let found = near.find(|(_, name)| ***name == *element || (!is_block_end && is_block(name)));
        if let Some((at, _)) = found.filter(|(_, name)| ***name == *element) {
            self.truncate(at);
        }
    }

    fn truncate(&mut self, count: usize) {
        self.names.truncate(count);
        self.hidden = self.hidden.filter(|outside| count > *outside);
    }
}

/// Returns whether an open element ends where the start tag of another follows.
fn ends_before(open: &str, next: &str) -> bool {
    match open {
        "p" => is_block(next) && !matches!(next, "td" | "th" | "tr"),
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "rb" | "rt" | "rp" | "rtc" => matches!(next, "rb" | "rt" | "rp" | "rtc"),
        "option" => matches!(next, "option" | "optgroup"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "tfoot"),
        "thead" | "tbody" => matches!(next, "tbody" | "tfoot"),
        _ => false,
    }
}

fn is_block(element: &str) -> bool {
    line_ends_around(element) > 0 || matches!(element, "td" | "th")
}

/// Returns the number of line ends between an element and its neighbours: 2 for a paragraph, 1 for
/// a line.
pub(super) fn line_ends_around(element: &str) -> usize {
    match element {
        "address" | "article" | "aside" | "blockquote" | "body" | "details" | "dialog" | "div"
        | "dl" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "h1" | "h2" | "h3"
        | "h4" | "h5" | "h6" | "head" | "header" | "hr" | "html" | "main" | "menu" | "nav"
        | "ol" | "p" | "pre" | "section" | "summary" | "table" | "title" | "ul" => 2,
        "br" | "caption" | "dd" | "dt" | "li" | "option" | "tbody" | "tfoot" | "thead" | "tr" => 1,
        _ => 0,
    }
}
