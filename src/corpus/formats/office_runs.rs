//! The XML of Office files as undoc reads it: Word's runs of text as they are shown, formulas
//! (Office Math) as plain runs (`x_1`, `a/b`, `n^2`), raised text of slides, and the prefixes of
//! namespaces.

use std::collections::{HashMap, HashSet};

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

use super::script::{Script, ScriptKind};
use super::xml::{Node, reason, walk_all};

/// Tags of what undoc does not read as Word shows it.
const REWRITTEN: [&str; 6] = [
    "<m:oMath",
    "<w:moveFrom ",
    "<w:vanish",
    "<w:del ",
    "<w:rt>",
    "<w:cellDel",
];
/// The namespaces whose elements undoc knows by a prefix, by their ends: strict files have other
/// beginnings. Programs may choose any prefix.
const PREFIXES: [(&str, &str); 10] = [
    ("/wordprocessingml/main", "w"),
    ("/wordprocessingml/2006/main", "w"),
    ("/presentationml/main", "p"),
    ("/presentationml/2006/main", "p"),
    ("/drawingml/main", "a"),
    ("/drawingml/2006/main", "a"),
    ("officeDocument/relationships", "r"),
    ("officeDocument/2006/relationships", "r"),
    ("officeDocument/2006/math", "m"),
    ("2006/wordprocessingDrawing", "wp"),
];

/// Values that Excel shows for cells that cannot be computed.
const ERRORS: [&str; 7] = [
    "#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!",
];

/// Returns the XML of a slide with raised and lowered runs as such; `None` where it has none.
pub(super) fn raised_runs(xml: &str) -> Result<Option<Vec<u8>>, String> {
    if !xml.contains(" baseline=\"") {
        return Ok(None);
    }

    let mut reader = Reader::from_str(xml);
    let mut writer = Writer::new(Vec::with_capacity(xml.len()));
    // the text of the paragraph so far, and how the run that is open is set
    let mut before = String::new();
    let mut kind = None;
    let mut is_text = false;
    loop {
        let event = reader.read_event().map_err(|error| reason(&error))?;
        match &event {
            Event::Eof => return Ok(Some(writer.into_inner())),
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "a:p" => before.clear(),
                "a:r" => kind = None,
                "a:rPr" => kind = baseline(tag),
                name => is_text = name == "a:t",
            },
            Event::End(_) => is_text = false,
            Event::Text(text) if is_text => {
                if let Some(kind) = kind {
                    let mut script = Script::new(kind, false);
                    script.add(text, 0..0);
                    let start = before.len();
                    script.push_to(&mut before);
                    let raised = BytesText::from_escaped(&before[start..]);
                    let written = writer.write_event(Event::Text(raised));
                    written.map_err(|error| reason(&error.into()))?;
                    continue;
                }
                before.push_str(text);
            }
            _ => {}
        }
        let written = writer.write_event(event);
        written.map_err(|error| reason(&error.into()))?;
    }
}

/// Returns how the properties of a run set it, by the thousandths that they raise it.
fn baseline(tag: &BytesStart<'_>) -> Option<ScriptKind> {
    let mut values = tag.attributes().flatten();
    let raised = values.find(|value| value.key.as_ref() == "baseline")?;
    match raised.value.parse::<i32>().ok()? {
        0 => None,
        1.. => Some(ScriptKind::Above),
        i32::MIN..=-1 => Some(ScriptKind::Below),
    }
}

/// Returns XML with the prefixes that undoc looks for, and without errors among the values of a
/// chart, for which it refuses a file; `None` where it has neither.
pub(super) fn usual_form(xml: &str) -> Option<String> {
    let declared = xml.split("xmlns:").skip(1).filter_map(|after| {
        let (prefix, after) = after.split_once('=')?;
        let namespace = after.get(1..)?.split(['"', '\'']).next()?;
        let usual = PREFIXES.iter().find(|(end, _)| namespace.ends_with(end))?.1;
        (prefix != usual).then_some((prefix, usual))
    });
    let declared: HashMap<&str, &str> = declared.collect();

    let renamed = declared.iter().flat_map(|(prefix, usual)| {
        let names = ["<", "</", " "]
            .map(|before| (format!("{before}{prefix}:"), format!("{before}{usual}:")));
        let declaration = (format!("xmlns:{prefix}="), format!("xmlns:{usual}="));
        names.into_iter().chain([declaration])
    });
    let errors = ERRORS.iter().map(|error| format!("<c:v>{error}</c:v>"));
    let errors = errors.filter(|value| xml.contains(value));
    let errors = errors.map(|value| (value, "<c:v></c:v>".to_owned()));
    renamed
        .chain(errors)
        .fold(None, |renamed: Option<String>, (from, to)| {
            Some(renamed.as_deref().unwrap_or(xml).replace(&from, &to))
        })
}

/// Returns the styles whose text is hidden, and those that are based on them.
pub(super) fn hidden_styles(xml: &str) -> Result<HashSet<String>, String> {
    let mut hidden = HashSet::new();
    let mut id = String::new();
    walk_all(xml, &mut |node| {
        if let Node::Open(tag) = node {
            let value = || tag.attribute("val").unwrap_or_default();
            match tag.name() {
                "style" => id = tag.attribute("styleId").unwrap_or_default(),
                // a style follows the one that it is based on in what programs write
                "basedOn" if hidden.contains(&value()) => {
                    hidden.insert(id.clone());
                }
                "vanish" if is_off(&value()) => {
                    hidden.remove(&id);
                }
                "vanish" => {
                    hidden.insert(id.clone());
                }
                _ => {}
            }
        }
    })?;
    hidden.remove("");
    Ok(hidden)
}

/// Returns whether the value of a property turns it off.
fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false" | "off")
}

/// Writes the runs of text of a document as Word shows them: moved text once, where it is now, and
/// neither deleted rows nor hidden text.
#[derive(Default)]
pub(super) struct PlainRuns {
    formulas: Formulas,
    /// The styles whose text is hidden.
    pub hidden_styles: HashSet<String>,
    /// Open elements.
    depth: usize,
    /// The levels of the runs, paragraphs, rows and cells that are open; a text box holds some
    /// inside of a run.
    holders: Vec<usize>,
    /// Whether the properties of the innermost one hide it, or say that it is deleted.
    is_hidden: bool,
    is_deleted: bool,
    /// The level of the element whose content is left out.
    left_out: Option<usize>,
    /// The number of hidden parts so far.
    pub hidden: u32,
}

impl PlainRuns {
    /// Begins another part. A damaged one before it may have ended in the middle.
    pub fn begin(&mut self) {
        *self = Self {
            hidden_styles: std::mem::take(&mut self.hidden_styles),
            hidden: self.hidden,
            ..Self::default()
        };
    }

    /// Returns XML with plain runs of text and the prefixes that undoc looks for; `None` where it
    /// has no others.
    pub fn rewrite(&mut self, xml: &str) -> Result<Option<Vec<u8>>, String> {
        self.begin();
        let usual = usual_form(xml);
        let xml = usual.as_deref().unwrap_or(xml);
        let has_hidden_style = || {
            let mut styles = self.hidden_styles.iter();
            styles.any(|style| xml.contains(&format!("\"{style}\"")))
        };
        if !REWRITTEN.iter().any(|tag| xml.contains(tag)) && !has_hidden_style() {
            return Ok(usual.map(String::into_bytes));
        }

        let mut reader = Reader::from_str(xml);
        let mut writer = Writer::new(Vec::with_capacity(xml.len()));
        loop {
            let event = reader.read_event().map_err(|error| reason(&error))?;
            if matches!(event, Event::Eof) {
                return Ok(Some(writer.into_inner()));
            }
            let written = self.write(event, &mut writer);
            written.map_err(|error| reason(&error))?;
        }
    }

    pub fn write(
        &mut self,
        event: Event<'_>,
        writer: &mut Writer<Vec<u8>>,
    ) -> Result<(), quick_xml::Error> {
        if matches!(event, Event::End(_)) {
            self.depth = self.depth.saturating_sub(1);
        }

        let level = self.depth;
        let is_inside = self.left_out.is_some_and(|outer| level > outer);
        match &event {
            Event::Start(tag) => {
                if !is_inside {
                    self.open(tag, level);
                }
                self.depth += 1;
            }
            Event::Empty(tag) if !is_inside => self.note_property(tag),
            Event::End(tag) if !is_inside => self.close(tag.name().as_ref(), level),
            _ => {}
        }

        if is_inside {
            return Ok(());
        }
        self.formulas.write(event, writer)
    }

    fn open(&mut self, tag: &BytesStart<'_>, level: usize) {
        match tag.name().as_ref() {
            "w:r" | "w:p" | "w:tr" | "w:tc" => {
                self.holders.push(level);
                self.is_hidden = false;
                self.is_deleted = false;
            }
            // the reading of a word stands above it
            "w:moveFrom" | "w:rt" => self.left_out = Some(level),
            _ => self.note_property(tag),
        }
    }

    fn close(&mut self, name: &str, level: usize) {
        self.left_out = self.left_out.filter(|outer| *outer != level);
        let is_own = self
            .holders
            .last()
            .is_some_and(|holder| level == holder + 1);
        match name {
            "w:r" | "w:p" | "w:tr" | "w:tc" => {
                self.holders.pop();
            }
            // the properties are the first element of what has them
            "w:rPr" | "w:pPr" | "w:trPr" | "w:tcPr" if is_own => {
                let is_hidden = std::mem::take(&mut self.is_hidden);
                let is_deleted = std::mem::take(&mut self.is_deleted);
                self.hidden += u32::from(is_hidden);
                if is_hidden || is_deleted {
                    self.left_out = level.checked_sub(1);
                }
            }
            _ => {}
        }
    }

    /// Notes that a property hides what has it, or says that it is deleted.
    fn note_property(&mut self, tag: &BytesStart<'_>) {
        let is_own = self
            .holders
            .last()
            .is_some_and(|holder| self.depth == holder + 2);
        if !is_own {
            return;
        }
        let values = tag.attributes().flatten();
        let mut values = values.filter(|value| value.key.local_name().as_ref() == "val");
        let value = values.next().map(|value| value.value.into_owned());
        let value = value.unwrap_or_default();

        match tag.name().as_ref() {
            "w:vanish" => self.is_hidden = !is_off(&value),
            "w:rStyle" | "w:pStyle" => self.is_hidden |= self.hidden_styles.contains(&value),
            "w:del" | "w:cellDel" => self.is_deleted = true,
            _ => {}
        }
    }
}

/// Writes each run of a formula as a run of text.
#[derive(Default)]
struct Formulas {
    /// Open elements inside the properties of a part of a formula.
    properties: u32,
}

impl Formulas {
    fn write(
        &mut self,
        event: Event<'_>,
        writer: &mut Writer<Vec<u8>>,
    ) -> Result<(), quick_xml::Error> {
        match &event {
            Event::Start(tag) if self.properties > 0 || is_properties(tag) => self.properties += 1,
            Event::End(_) if self.properties > 0 => self.properties -= 1,
            _ if self.properties > 0 => {}
            Event::Empty(tag) if is_properties(tag) => {}
            Event::Start(tag) | Event::Empty(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::Start(BytesStart::new("w:r")))?,
                Some("t") => {
                    let text = BytesStart::new("w:t").with_attributes([("xml:space", "preserve")]);
                    writer.write_event(Event::Start(text))?;
                }
                Some(part) => write_run(writer, operator(part))?,
            },
            Event::End(tag) => match math_name(tag.name().as_ref()) {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::End(BytesEnd::new("w:r")))?,
                Some("t") => writer.write_event(Event::End(BytesEnd::new("w:t")))?,
                Some(_) => {}
            },
            _ => writer.write_event(event)?,
        }

        Ok(())
    }
}

/// Returns the name of an element of a formula without its prefix.
fn math_name(name: &str) -> Option<&str> {
    name.strip_prefix("m:")
}

/// Returns whether an element holds how a part of a formula looks.
fn is_properties(tag: &BytesStart<'_>) -> bool {
    let name = tag.name();
    math_name(name.as_ref()).is_some_and(|name| name.ends_with("Pr"))
}

/// Returns what stands before a part of a formula when it is written in one line.
fn operator(part: &str) -> &'static str {
    match part {
        "den" => "/",
        "sup" => "^",
        "sub" => "_",
        _ => "",
    }
}

fn write_run(writer: &mut Writer<Vec<u8>>, text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    for name in ["w:r", "w:t"] {
        writer.write_event(Event::Start(BytesStart::new(name)))?;
    }
    writer.write_event(Event::Text(BytesText::new(text)))?;
    for name in ["w:t", "w:r"] {
        writer.write_event(Event::End(BytesEnd::new(name)))?;
    }
    Ok(())
}
