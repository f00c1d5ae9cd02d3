//! The styles of OpenDocument: which text is hidden, raised or lowered.

use std::collections::HashMap;

use super::script::ScriptKind;
use super::xml::{Tag, walk_tags};

/// The look of a text, as far as it counts for the meaning.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub is_hidden: bool,
    /// Whether it is the title of the document, by its style or by the one below that.
    pub is_title: bool,
    pub script: Option<ScriptKind>,
}

/// The looks of the styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    /// The looks by the families and the names of the styles.
    looks: HashMap<[String; 2], Look>,
    /// The style that is being read.
    style: [String; 2],
}

impl Styles {
    /// Reads the styles that the content names.
    pub fn read(&mut self, styles: &str) -> Result<(), String> {
        walk_tags(styles, &mut |tag| self.note(tag))
    }

    /// Notes the look of a style, which has that of the one that it is based on.
    pub fn note(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "style" => {
                let [family, name, parent] =
                    tag.attributes(["family", "name", "parent-style-name"]);
                let family = family.unwrap_or_default();
                let parent = parent.map(|parent| [family.clone(), parent]);
                let look = parent.map_or(Look::default(), |parent| self.look_by_name(parent));
                // the automatic styles of the margins may have the names of those of the content
                self.style = [family, name.unwrap_or_default()];
                self.looks.insert(self.style.clone(), look);
            }
            "text-properties" => {
                let [display, position] = tag.attributes(["display", "text-position"]);
                let mut look = self.looks.get(&self.style).copied().unwrap_or_default();
                look.is_hidden = display.map_or(look.is_hidden, |display| display == "none");
                look.script = position.map_or(look.script, |position| script(&position));
                self.looks.insert(self.style.clone(), look);
            }
            "drawing-page-properties" => {
                let visibility = tag.attribute("visibility");
                if let Some(look) = self.looks.get_mut(&self.style) {
                    look.is_hidden |= visibility.as_deref() == Some("hidden");
                }
            }
            _ => {}
        }
    }

    /// Returns the look of a style by its family and its name. The style of titles has one name in
    /// all languages.
    fn look_by_name(&self, style: [String; 2]) -> Look {
        let look = self.looks.get(&style).copied().unwrap_or_default();
        Look {
            is_title: look.is_title || style == ["paragraph", "Title"],
            ..look
        }
    }

    /// Returns whether a slide is not shown.
    pub fn is_hidden_page(&self, tag: &Tag<'_>) -> bool {
        let style = tag.attribute("style-name").unwrap_or_default();
        let look = self.looks.get(&["drawing-page".to_owned(), style]);
        look.is_some_and(|look| look.is_hidden)
    }

    /// Returns the look of an element of the text, by its style or by itself.
    pub fn look(&self, tag: &Tag<'_>) -> Look {
        match tag.name() {
            name @ ("p" | "h" | "span") => {
                let family = if name == "span" { "text" } else { "paragraph" };
                let style = tag.attribute("style-name").unwrap_or_default();
                self.look_by_name([family.to_owned(), style])
            }
            "section" => {
                let [display, is_hidden] = tag.attributes(["display", "is-hidden"]);
                Look {
                    is_hidden: match display.as_deref() {
                        Some("none") => true,
                        Some("condition") => is_hidden.as_deref() == Some("true"),
                        _ => false,
                    },
                    ..Look::default()
                }
            }
            "hidden-text" | "hidden-paragraph" => Look {
                is_hidden: tag.attribute("is-hidden").as_deref() != Some("false"),
                ..Look::default()
            },
            _ => Look::default(),
        }
    }
}

/// Returns the way that text is set, by the position and the size that a style names: `super 58%`.
fn script(position: &str) -> Option<ScriptKind> {
    let shift = position.split_whitespace().next()?;
    match shift {
        "super" => Some(ScriptKind::Above),
        "sub" => Some(ScriptKind::Below),
        _ => {
            let percent: f32 = shift.trim_end_matches('%').parse().ok()?;
            ScriptKind::from_flags(percent > 0.0, percent < 0.0)
        }
    }
}
