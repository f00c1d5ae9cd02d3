//! The texts that float over a sheet: its text boxes, the titles of charts with the names of their
//! series, the nodes of diagrams (SmartArt), alternative texts of pictures.

use std::collections::BTreeMap;

use super::builder::{Builder, Sheet, named};
use super::package::{Package, Relationship};
use super::xml::{Node, Tag, walk_all};

/// Points of a series that are read.
const MAX_POINTS: usize = 1_000;

/// A drawing of a sheet.
enum Drawing {
    Text(String),
    /// The alternative text of a picture.
    Picture(String),
    /// The id of the part that holds it.
    Chart(String),
    Diagram(String),
}

/// Adds the drawings of a sheet as remarks on the rows that they begin in.
pub(super) fn add(
    package: &mut Package<'_>,
    related: &[Relationship],
    sheet: &mut Sheet,
    builder: &mut Builder,
) {
    for part in related.iter().filter(|part| part.is("drawing")) {
        let found = package.xml(&part.path);
        let found = found.and_then(|xml| read(&xml));
        let inner = package.relationships(&part.path);
        let inner = builder.take_or_note("a list of parts", inner);
        let path = |id: &str| {
            let part = inner.iter().find(|part| part.id == id);
            part.map_or("", |part| &part.path)
        };

        for (row, drawing) in builder.take_or_note(&part.path, found) {
            let (name, texts) = match drawing {
                Drawing::Text(text) => ("Text box", vec![text]),
                Drawing::Picture(text) => ("Picture", vec![text]),
                Drawing::Chart(id) => {
                    let texts = chart_texts(package, path(&id), true);
                    ("Chart", builder.take_or_note(path(&id), texts))
                }
                Drawing::Diagram(id) => {
                    let texts = package.diagram_nodes(path(&id));
                    ("Diagram", builder.take_or_note(path(&id), texts))
                }
            };

            if !texts.is_empty() {
                sheet.remark(row, &format!("{name}: {}", texts.join("; ")), builder);
            }
        }
    }
}

/// The drawings of a sheet while they are read.
#[derive(Default)]
struct Drawings {
    found: Vec<(u32, Drawing)>,
    /// The row, from 1, that the drawing begins in.
    row: u32,
    /// The text of the box so far.
    text: String,
    is_picture: bool,
    is_start: bool,
    is_row: bool,
    is_text: bool,
}

/// Returns the drawings with the rows, from 1, that they begin in.
fn read(xml: &str) -> Result<Vec<(u32, Drawing)>, String> {
    let mut drawings = Drawings {
        row: 1,
        ..Drawings::default()
    };

    walk_all(xml, &mut |node| match node {
        Node::Open(tag) => drawings.open(tag),
        Node::Text(part) if drawings.is_row => {
            // anchors count rows from 0
            let row: Option<u32> = part.trim().parse().ok();
            drawings.row = row.map_or(1, |row| row.saturating_add(1));
        }
        Node::Text(part) if drawings.is_text => drawings.text.push_str(part),
        Node::Text(_) => {}
        Node::Close(name) => drawings.close(name),
    })?;

    Ok(drawings.found)
}

impl Drawings {
    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "from" => self.is_start = true,
            "row" => self.is_row = self.is_start,
            "sp" => self.text.clear(),
            "nvPicPr" => self.is_picture = true,
            "cNvPr" if self.is_picture => {
                let text = tag.attribute("descr");
                self.add(text.and_then(|text| named(&text)).map(Drawing::Picture));
            }
            "t" => self.is_text = true,
            "chart" => self.add(tag.attribute("id").map(Drawing::Chart)),
            // the data of a diagram, beside its layout, style and colours
            "relIds" => self.add(tag.attribute("dm").map(Drawing::Diagram)),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "from" => self.is_start = false,
            "nvPicPr" => self.is_picture = false,
            "row" => self.is_row = false,
            "t" => self.is_text = false,
            "p" => self.text.push(' '),
            "sp" => self.add(named(&self.text).map(Drawing::Text)),
            _ => {}
        }
    }

    fn add(&mut self, drawing: Option<Drawing>) {
        self.found
            .extend(drawing.map(|drawing| (self.row, drawing)));
    }
}

/// Returns the titles of a chart and of its axes, and the names of its series; where a library
/// reads those, the points of a chart that has no categories, which it does not.
///
/// # Errors
/// A member that is damaged, encrypted or exceeds the limits.
pub(super) fn chart_texts(
    package: &mut Package<'_>,
    part: &str,
    with_series: bool,
) -> Result<Vec<String>, String> {
    let xml = package.xml(part)?;
    let mut texts = read_chart(&xml, with_series)?;
    if !with_series {
        texts.extend(read_points(&xml)?);
    }
    Ok(texts)
}

/// Returns each series of a scatter or a bubble chart with its points: `Cod: (1, 12), (2, 9)`.
fn read_points(xml: &str) -> Result<Vec<String>, String> {
    let mut series = Vec::new();
    let (mut name, mut text) = (None, String::new());
    let mut axes: [BTreeMap<u32, String>; 2] = Default::default();
    let (mut axis, mut index) = (None, 0);
    let mut is_text = false;

    walk_all(xml, &mut |node| match node {
        Node::Open(tag) => match tag.name() {
            "ser" => (name, axes) = (None, Default::default()),
            "xVal" => axis = Some(0),
            "yVal" => axis = Some(1),
            "pt" => {
                let number = tag.attribute("idx").and_then(|number| number.parse().ok());
                index = number.unwrap_or_default();
            }
            "tx" => text.clear(),
            "v" => is_text = true,
            _ => {}
        },
        Node::Text(part) if is_text => text.push_str(part),
        Node::Text(_) => {}
        Node::Close("v") => {
            is_text = false;
            if let Some(axis) = axis {
                axes[axis].insert(index, std::mem::take(&mut text));
            }
        }
        // labels of its points have texts, too
        Node::Close("tx") if name.is_none() => name = Some(std::mem::take(&mut text)),
        Node::Close("xVal" | "yVal") => axis = None,
        Node::Close("ser") => {
            let [x, y] = &axes;
            let points = x.iter().filter_map(|(at, x)| Some((x, y.get(at)?)));
            let points = points.take(MAX_POINTS).map(|(x, y)| format!("({x}, {y})"));
            let points: Vec<String> = points.collect();
            if !points.is_empty() {
                let name = name.take().and_then(|name| named(&name));
                let name = name.map_or(String::new(), |name| format!("{name}: "));
                series.push(name + &points.join(", "));
            }
        }
        Node::Close(_) => {}
    })?;
    Ok(series)
}

fn read_chart(xml: &str, with_series: bool) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    let mut text = String::new();
    let mut names = 0;
    let mut is_text = false;

    walk_all(xml, &mut |node| match node {
        Node::Open(tag) => match tag.name() {
            // a title holds its text in an element of the name that a series has for its own
            "title" => names += 1,
            "tx" if with_series || names > 0 => names += 1,
            "t" | "v" => is_text = names > 0,
            _ => {}
        },
        Node::Text(part) if is_text => text.push_str(part),
        Node::Close("t" | "v") => is_text = false,
        Node::Close("title" | "tx") if names > 0 => {
            names -= 1;
            if names == 0 {
                texts.extend(named(&std::mem::take(&mut text)));
            }
        }
        Node::Close(_) | Node::Text(_) => {}
    })?;

    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_have_the_rows_that_they_begin_in() {
        let anchor = |row: u32, inner: &str| {
            format!("<a><from><row>{row}</row></from><to><row>99</row></to>{inner}</a>")
        };
        let xml = [
            "<wsDr>".to_owned(),
            anchor(4, "<sp><p><t>Two</t><t>-part</t></p><p><t>box</t></p></sp>"),
            anchor(7, "<graphic><chart r:id='c'/></graphic>"),
            anchor(
                8,
                "<pic><nvPicPr><cNvPr name='x' descr='A map'/></nvPicPr></pic>",
            ),
            anchor(9, "<sp/><graphic><relIds r:dm='d'/></graphic></wsDr>"),
        ]
        .concat();
        let found: Vec<String> = read(&xml)
            .expect("sound")
            .iter()
            .map(|(row, drawing)| match drawing {
                Drawing::Text(text) | Drawing::Picture(text) => format!("{row} {text}"),
                Drawing::Chart(id) | Drawing::Diagram(id) => format!("{row} {id}"),
            })
            .collect();
        assert_eq!(found, ["5 Two-part box", "8 c", "9 A map", "10 d"]);
    }

    #[test]
    fn points_of_a_chart_without_categories() {
        let points = |axis: &str, values: [&str; 2]| {
            let [a, b] = values.map(|value| format!("><v>{value}</v></pt>"));
            let [a, b] = [format!("<pt idx='0'{a}"), format!("<pt idx='2'{b}")];
            format!("<{axis}><numRef><f>A1</f><numCache>{a}{b}</numCache></numRef></{axis}>")
        };
        let xml = format!(
            "<chart><title><tx><p><t>Depths</t></p></tx></title><ser><tx><v>Pier</v></tx>{}{}</ser>\
             <ser><tx><v>Bar</v></tx><val><pt><v>12</v></pt></val></ser></chart>",
            points("xVal", ["1", "2.5"]),
            points("yVal", ["40.25", "9"])
        );
        assert_eq!(
            read_points(&xml),
            Ok(vec!["Pier: (1, 40.25), (2.5, 9)".to_owned()])
        );
    }

    #[test]
    fn titles_and_series_of_a_chart() {
        let xml = "<chart><title><tx><rich><p><t>Catch</t><t> of</t></p></rich></tx></title>\
                   <ser><tx><strRef><f>B1</f><strCache><pt><v>Cod</v></pt></strCache></strRef></tx>\
                   <val><pt><v>12</v></pt></val></ser></chart>";
        assert_eq!(
            read_chart(xml, true),
            Ok(vec!["Catch of".to_owned(), "Cod".to_owned()])
        );
        assert_eq!(read_chart(xml, false), Ok(vec!["Catch of".to_owned()]));
    }
}
