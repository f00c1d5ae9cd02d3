//! `index --explain`: what is read of one file.

use std::path::Path;

use serde::Serialize;

use crate::config::CorpusSettings;
use crate::corpus::{self, Document, ReadLine, ReadOptions};
use crate::event::Metadata;
use crate::story::text::one_line;
use crate::story::words;

use super::failure::{Failure, Stopped};
use super::output::Output;

/// A file as it is read.
#[derive(Serialize)]
struct ReadFile<'a> {
    path: &'a str,
    format: &'static str,
    library: &'static str,
    language: &'static str,
    metadata: &'a Metadata,
    /// A remark on what was left out, and on how the file was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The number of pictures whose text is not read.
    pictures: u32,
    lines: Vec<ReadLine<'a>>,
}

impl<'a> ReadFile<'a> {
    fn new(document: &'a Document) -> Self {
        Self {
            path: &document.path,
            format: document.format.name,
            library: document.format.library,
            language: document.language,
            metadata: &document.metadata,
            note: document.note.as_deref(),
            pictures: document.pictures,
            lines: document.read_lines(),
        }
    }

    fn text(&self) -> String {
        let headings: usize = self.lines.iter().map(|line| line.headings.len()).sum();
        let rows = self.lines.iter().filter(|line| line.is_row).count();
        let mut text = format!(
            "{}: {}, read by {}; {}, {}, {} of tables; language {}\n",
            one_line(self.path),
            self.format,
            self.library,
            words::quantity(self.lines.len() as u64, "line"),
            words::quantity(headings as u64, "heading"),
            words::quantity(rows as u64, "row"),
            self.language,
        );

        let about = self.metadata;
        let about = [
            ("title", &about.title),
            ("author", &about.author),
            ("date", &about.date),
        ];
        for (name, value) in about {
            if let Some(value) = value {
                text.push_str(&format!("{name}: {}\n", one_line(value)));
            }
        }
        if let Some(note) = self.note {
            text.push_str(&format!("remark: {note}\n"));
        }
        if self.pictures > 0 {
            let pictures = words::quantity(self.pictures.into(), "picture");
            text.push_str(&format!(
                "left out: {pictures} (corpus.ocr = on reads them)\n"
            ));
        }

        text.push('\n');
        self.push_lines(&mut text);
        text
    }

    /// Adds each line behind its number and its mark: `h1` for a heading, `row` for a row. A place
    /// is a line of its own where it begins.
    fn push_lines(&self, text: &mut String) {
        let last = self.lines.last().map_or(1, |line| line.line);
        let width = last.to_string().len();
        let mut before = None;
        for line in &self.lines {
            if let Some(place) = &line.place {
                let caption = words::place_caption(place, before);
                before = Some(place);
                if let Some(caption) = caption {
                    text.push_str(&format!("[{caption}]\n"));
                }
            }

            let mut mark = if line.is_row { "row" } else { "" }.to_owned();
            for heading in &line.headings {
                let level = format!("h{}", heading.level);
                if heading.is_in_text {
                    mark = level;
                } else {
                    let title = one_line(heading.title);
                    text.push_str(&format!("{:width$} {level:3} ({title})\n", ""));
                }
            }
            let shown = format!("{:width$} {mark:3} {}", line.line, line.text);
            text.push_str(shown.trim_end());
            text.push('\n');
        }
    }
}

/// Prints what is read of a file.
pub fn explain_file(
    file: &Path,
    settings: &CorpusSettings,
    out: &mut Output,
) -> Result<(), Stopped> {
    let failed = |reason: String| {
        Failure::new(
            format!("nothing is read of {}: {reason}", file.display()),
            "`ragscope formats` lists what is read, and the way out for the rest",
        )
    };
    let found = corpus::find_file(file, settings).map_err(failed)?;
    let document = corpus::read(&found, &ReadOptions::from(settings));
    let document = document.map_err(|skipped| failed(skipped.reason))?;

    let read = ReadFile::new(&document);
    out.print_line(&read, || read.text())
}
