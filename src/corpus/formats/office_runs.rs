//! The XML of Office files as undoc reads it: Word's runs of text as they are shown, formulas
//! (Office Math) as plain runs (`x_1`, `a/b`, `n^2`), raised text of slides, and the prefixes of
//! namespaces.

use std::collections::{HashMap, HashSet};

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

use super::script::{Script, ScriptKind, partner};
use super::xml::{reason, walk_tags};

/// Tags of what undoc does not read as Word shows it.
#[rustfmt::skip]
const REWRITTEN: [&str; 10] = [
    "<m:oMath", "<w:moveFrom ", "<w:vanish", "<w:del ", "<w:rt>", "<w:cellDel", "<w:position ",
    "<w:ffData", "<w:sym ", "<w:outlineLvl ",
];
/// Signs of what undoc does not read as slides show it.
#[rustfmt::skip]
const OF_SLIDES: [&str; 5] = [
    " baseline=\"", "<w:vertAlign", " hidden=\"", " show=\"", "<mc:Fallback",
];
/// The style that a paragraph has whose own properties make it a heading, before its level from 0.
pub(super) const OUTLINE_STYLE: &str = "outlineLvl ";
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

/// The characters of two fonts of symbols, each before the one that it stands for.
const SYMBOL: &str = "AΑBΒCΧDΔEΕFΦGΓHΗIΙKΚLΛMΜNΝOΟPΠQΘRΡSΣTΤUΥWΩXΞYΨZΖ\
    aαbβcχdδeεfφgγhηiιjϕkκlλmμnνoοpπqθrρsσtτuυvϖwωxξyψzζ£≤¥∞«↔¬←®→°°±±³≥´×¸÷¹≠»≈·•\
    -−\"∀$∃@≅¶∂Î∈Ö√å∑ò∫¢′²″";
const WINGDINGS: &str = "o☐q☐x☒¨☐û✗ü✓ý☒þ☑à→ß←á↑â↓l●n■";
/// Values that Excel shows for cells that cannot be computed.
const ERRORS: [&str; 7] = [
    "#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!",
];

/// The parts of a presentation that it does not show.
#[derive(Default)]
pub(super) struct HiddenParts {
    /// The paths of the slides.
    pub slides: HashSet<String>,
    /// The number of shapes on slides.
    pub shapes: u32,
}

/// Returns the XML of a slide, or of notes, with raised and lowered runs as such, without hidden
/// shapes and without what stands for others in old programs; `None` where it has none. `path` is
/// noted where the slide is hidden.
pub(super) fn shown_runs(
    xml: &str,
    path: &str,
    hidden: &mut HiddenParts,
) -> Result<Option<Vec<u8>>, String> {
    if !OF_SLIDES.iter().any(|mark| xml.contains(mark)) {
        return Ok(None);
    }

    let mut reader = Reader::from_str(xml);
    let mut writer = Writer::new(Vec::with_capacity(xml.len()));
    // the text of the paragraph so far, and how the run that is open is set
    let mut before = String::new();
    let mut kind = None;
    let mut is_text = false;
    // the open elements, whether the shape that is open is hidden, and the level of one left out
    let mut depth = 0_usize;
    let mut is_hidden = false;
    let mut left_out = None;
    // whether the choice of programs that know more has text
    let mut has_choice = false;
    loop {
        let event = reader.read_event().map_err(|error| reason(&error))?;
        depth -= usize::from(matches!(event, Event::End(_)) && depth > 0);
        let level = depth;
        depth += usize::from(matches!(event, Event::Start(_)));
        if left_out.is_some_and(|outer| level > outer) && !matches!(event, Event::Eof) {
            continue;
        }
        left_out = None;

        match &event {
            Event::Eof => return Ok(Some(writer.into_inner())),
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "mc:AlternateContent" => has_choice = false,
                "mc:Fallback" if has_choice && depth > level => left_out = Some(level),
                "p:graphicFrame" => has_choice = true,
                "a:p" | "w:p" => before.clear(),
                "a:r" | "w:r" => kind = None,
                "a:rPr" => kind = property(tag, "baseline"),
                "w:vertAlign" => kind = property(tag, "w:val"),
                "p:sld" if value(tag, "show").is_some_and(|value| is_off(&value)) => {
                    hidden.slides.insert(path.to_owned());
                }
                "p:cNvPr" => is_hidden = value(tag, "hidden").is_some_and(|value| !is_off(&value)),
                name => {
                    is_text = matches!(name, "a:t" | "w:t");
                    has_choice |= is_text;
                }
            },
            Event::End(tag) => {
                is_text = false;
                // the properties are the first element of a shape
                let name = tag.name();
                if name.as_ref().starts_with("p:nv") && name.as_ref() != "p:nvPr" && is_hidden {
                    is_hidden = false;
                    hidden.shapes += 1;
                    left_out = level.checked_sub(1);
                }
            }
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

/// Returns the way that a property of a run sets its text.
fn property(tag: &BytesStart<'_>, name: &str) -> Option<ScriptKind> {
    ScriptKind::from_property(&value(tag, name)?)
}

/// Returns the value of an attribute by its whole name.
fn value(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut values = tag.attributes().flatten();
    let found = values.find(|value| value.key.as_ref() == name)?;
    Some(found.value.into_owned())
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

/// The styles that hide, raise or number text, by their names.
#[derive(Default)]
pub(super) struct TextStyles(HashMap<String, TextStyle>);

/// The look that a style gives to its text.
#[derive(Debug, Clone, Default, PartialEq)]
struct TextStyle {
    is_hidden: bool,
    script: Option<ScriptKind>,
    /// The list that the text is an item of.
    list: Option<ListLevel>,
}

/// A level of a list, and the number of the list.
#[derive(Debug, Clone, PartialEq)]
struct ListLevel {
    level: String,
    list: String,
}

impl TextStyles {
    /// Reads the styles of a document, with those that are based on others.
    pub fn read(xml: &str) -> Result<Self, String> {
        let mut styles: HashMap<String, TextStyle> = HashMap::new();
        let mut id = String::new();
        let mut level = String::new();
        walk_tags(xml, &mut |tag| {
            let value = || tag.attribute("val").unwrap_or_default();
            // a style follows the one that it is based on in what programs write
            let base = match tag.name() {
                "basedOn" => styles.get(&value()).cloned(),
                _ => None,
            };
            let style = styles.entry(id.clone()).or_default();
            match tag.name() {
                "style" => id = tag.attribute("styleId").unwrap_or_default(),
                "numPr" => level = "0".to_owned(),
                "ilvl" => level = value(),
                "numId" => {
                    let (level, list) = (level.clone(), value());
                    style.list = Some(ListLevel { level, list });
                }
                "vanish" => style.is_hidden = !is_off(&value()),
                "vertAlign" | "position" => style.script = ScriptKind::from_property(&value()),
                _ => {}
            }
            if let Some(base) = base {
                style.is_hidden |= base.is_hidden;
                style.script = base.script.or(style.script);
                style.list = base.list.or(style.list.take());
            }
        })?;

        styles.retain(|id, style| {
            style.list.take_if(|list| list.list == "0");
            !id.is_empty() && *style != TextStyle::default()
        });
        Ok(Self(styles))
    }

    /// Returns whether XML names one of the styles.
    fn are_in(&self, xml: &str) -> bool {
        let mut names = self.0.keys();
        names.any(|name| xml.contains(&format!("\"{name}\"")))
    }
}

impl ListLevel {
    /// Writes the property of a paragraph that makes it an item.
    fn write(&self, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
        let item = writer.create_element("w:numPr");
        item.write_inner_content(|writer| {
            write_property(writer, "w:ilvl", &self.level)?;
            write_property(writer, "w:numId", &self.list)
        })?;
        Ok(())
    }
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
    pub styles: TextStyles,
    /// Open elements.
    depth: usize,
    /// The levels of the runs, paragraphs, rows and cells that are open; a text box holds some
    /// inside of a run.
    holders: Vec<usize>,
    /// Whether the properties of the innermost one hide it, or say that it is deleted.
    is_hidden: bool,
    is_deleted: bool,
    /// The way that its style or its position sets the text of the innermost run.
    script: Option<ScriptKind>,
    /// The list of the style of the paragraph whose properties are open.
    list: Option<ListLevel>,
    /// The level of a paragraph whose style hides the runs that do not say otherwise.
    hidden_paragraph: Option<usize>,
    /// The field of a form that begins in the run that is open.
    field: Option<FormField>,
    /// The level of the element whose content is left out.
    left_out: Option<usize>,
    /// The number of hidden parts so far.
    pub hidden: u32,
}

impl PlainRuns {
    /// Begins another part. A damaged one before it may have ended in the middle.
    pub fn begin(&mut self) {
        *self = Self {
            styles: std::mem::take(&mut self.styles),
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
        if !REWRITTEN.iter().any(|tag| xml.contains(tag)) && !self.styles.are_in(xml) {
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
        let is_start = matches!(event, Event::Start(_));
        self.depth += usize::from(is_start);
        if is_inside {
            self.note_inside(&event, level);
            return Ok(());
        }

        match &event {
            Event::Start(tag) => self.open(tag, level),
            Event::Empty(tag) if tag.name().as_ref() == "w:sym" => {
                let symbol = symbol(tag);
                return Ok(write_text(writer, symbol.encode_utf8(&mut [0; 4]))?);
            }
            Event::Empty(tag) if tag.name().as_ref() == "w:outlineLvl" && self.is_own(level) => {
                let style = OUTLINE_STYLE.to_owned() + &value(tag, "w:val").unwrap_or_default();
                return Ok(write_property(writer, "w:pStyle", &style)?);
            }
            Event::Empty(tag) => self.note_property(tag, level),
            Event::End(tag) => {
                self.close(tag.name().as_ref(), level);
                match tag.name().as_ref() {
                    "w:rPr" if let Some(kind) = self.script.take() => {
                        write_property(writer, "w:vertAlign", kind.alignment())?;
                    }
                    "w:pPr"
                        if self.is_own(level + 1)
                            && let Some(list) = self.list.take() =>
                    {
                        list.write(writer)?;
                    }
                    "w:r" => {
                        self.formulas.write(event, writer)?;
                        let field = self.field.take().and_then(FormField::into_text);
                        return Ok(write_run(writer, &field.unwrap_or_default())?);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.formulas.write(event, writer)
    }

    /// Notes in a run of a hidden paragraph that its own properties show it.
    fn note_inside(&mut self, event: &Event<'_>, level: usize) {
        let outer = self.left_out.unwrap_or(level);
        match event {
            Event::Empty(tag) if tag.name().as_ref() == "w:vanish" && level == outer + 2 => {
                let value = value(tag, "w:val");
                self.is_hidden = !value.is_some_and(|value| is_off(&value));
            }
            Event::End(tag) if tag.name().as_ref() == "w:rPr" && level == outer + 1 => {
                let is_shown = self.hidden_paragraph.is_some() && !self.is_hidden;
                self.left_out = self.left_out.filter(|_| !is_shown);
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, level: usize) {
        match tag.name().as_ref() {
            "w:r" | "w:p" | "w:tr" | "w:tc" => {
                self.holders.push(level);
                self.is_hidden = false;
                self.is_deleted = false;
                self.script = None;
                self.list = None;
                if tag.name().as_ref() == "w:r" && self.hidden_paragraph.is_some() {
                    self.is_hidden = true;
                    self.left_out = Some(level);
                }
            }
            // the reading of a word stands above it
            "w:moveFrom" | "w:rt" => self.left_out = Some(level),
            // some programs leave the text of what is deleted as it was
            "w:del" => {
                self.left_out = Some(level);
                self.note_property(tag, level);
            }
            "m:oMath" if self.hidden_paragraph.is_some() => self.left_out = Some(level),
            _ => self.note_property(tag, level),
        }
    }

    fn close(&mut self, name: &str, level: usize) {
        self.left_out = self.left_out.filter(|outer| *outer != level);
        self.hidden_paragraph = self.hidden_paragraph.filter(|outer| *outer != level);
        let is_own = self.is_own(level + 1);
        match name {
            "w:r" | "w:p" | "w:tr" | "w:tc" => {
                self.holders.pop();
            }
            // the properties are the first element of what has them
            "w:rPr" | "w:pPr" | "w:trPr" | "w:tcPr" if is_own => {
                let is_hidden = std::mem::take(&mut self.is_hidden);
                let is_deleted = std::mem::take(&mut self.is_deleted);
                self.hidden += u32::from(is_hidden);
                let holder = level.checked_sub(1);
                if is_hidden && name == "w:pPr" {
                    self.hidden_paragraph = holder;
                } else if is_hidden || is_deleted {
                    self.left_out = holder;
                }
            }
            _ => {}
        }
    }

    /// Returns whether a property is one of the innermost run, paragraph, row or cell.
    fn is_own(&self, level: usize) -> bool {
        let holder = self.holders.last();
        holder.is_some_and(|holder| level == holder + 2)
    }

    /// Notes that a property hides what has it, or says that it is deleted or raised.
    fn note_property(&mut self, tag: &BytesStart<'_>, level: usize) {
        let name = tag.name();
        let value = value(tag, "w:val");
        FormField::note(&mut self.field, name.as_ref(), value.as_deref());
        if !self.is_own(level) {
            return;
        }

        let value = value.unwrap_or_default();
        match name.as_ref() {
            "w:vanish" => self.is_hidden = !is_off(&value),
            style @ ("w:rStyle" | "w:pStyle") => {
                let look = self.styles.0.get(&value).cloned().unwrap_or_default();
                self.is_hidden |= look.is_hidden;
                if style == "w:rStyle" {
                    self.script = look.script;
                } else {
                    self.list = look.list;
                }
            }
            "w:position" => self.script = ScriptKind::from_property(&value),
            // undoc knows them
            "w:vertAlign" => self.script = None,
            "w:numPr" => self.list = None,
            "w:del" | "w:cellDel" => self.is_deleted = true,
            _ => {}
        }
    }
}

/// A field of a form of Word before 2007, whose value is no text.
enum FormField {
    Box(bool),
    /// The number of the entry that is chosen, from 0, and the entries.
    List(usize, Vec<String>),
}

impl FormField {
    /// Notes an element of the properties of a field.
    fn note(field: &mut Option<Self>, name: &str, value: Option<&str>) {
        match (name, field) {
            ("w:checkBox", field) => *field = Some(Self::Box(false)),
            ("w:ddList", field) => *field = Some(Self::List(0, Vec::new())),
            ("w:default" | "w:checked", Some(Self::Box(is_ticked))) => {
                *is_ticked = !value.is_some_and(is_off);
            }
            ("w:default" | "w:result", Some(Self::List(chosen, _))) => {
                *chosen = value.and_then(|value| value.parse().ok()).unwrap_or(0);
            }
            ("w:listEntry", Some(Self::List(_, entries))) => {
                entries.extend(value.map(str::to_owned));
            }
            _ => {}
        }
    }

    fn into_text(self) -> Option<String> {
        match self {
            Self::Box(is_ticked) => Some(if is_ticked { "☒" } else { "☐" }.to_owned()),
            Self::List(chosen, entries) => entries.into_iter().nth(chosen),
        }
    }
}

/// Returns the character that a symbol of a font stands for; a space for one without meaning.
fn symbol(tag: &BytesStart<'_>) -> char {
    let [font, code] = ["w:font", "w:char"].map(|name| value(tag, name).unwrap_or_default());
    let code = u32::from_str_radix(&code, 16).unwrap_or_default();
    // fonts of symbols have their characters in an area for private use
    let own = code.checked_sub(0xf000).filter(|own| *own <= 0xff);
    let own = char::from_u32(own.unwrap_or(code)).unwrap_or(' ');

    let table = match font.as_str() {
        "Symbol" => SYMBOL,
        "Wingdings" => WINGDINGS,
        _ if own as u32 == code => return own,
        _ => return ' ',
    };
    let is_same = font == "Symbol" && own.is_ascii_graphic();
    partner(table, own).unwrap_or(if is_same { own } else { ' ' })
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
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref().strip_prefix("m:") {
                None => writer.write_event(event)?,
                Some("r") => writer.write_event(Event::Start(BytesStart::new("w:r")))?,
                Some("t") => {
                    let text = BytesStart::new("w:t").with_attributes([("xml:space", "preserve")]);
                    writer.write_event(Event::Start(text))?;
                }
                Some(part) => write_run(writer, operator(part))?,
            },
            Event::End(tag) => match tag.name().as_ref().strip_prefix("m:") {
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

/// Returns whether an element holds how a part of a formula looks.
fn is_properties(tag: &BytesStart<'_>) -> bool {
    let name = tag.name();
    name.as_ref().starts_with("m:") && name.as_ref().ends_with("Pr")
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
    let run = writer.create_element("w:r");
    run.write_inner_content(|writer| write_text(writer, text))?;
    Ok(())
}

fn write_text(writer: &mut Writer<Vec<u8>>, text: &str) -> std::io::Result<()> {
    let element = writer.create_element("w:t");
    element.write_text_content(BytesText::new(text))?;
    Ok(())
}

fn write_property(writer: &mut Writer<Vec<u8>>, name: &str, value: &str) -> std::io::Result<()> {
    let property = writer.create_element(name);
    property.with_attribute(("w:val", value)).write_empty()?;
    Ok(())
}
