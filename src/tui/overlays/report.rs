//! The report on the index.

use ratatui::text::{Line, Span};

use crate::event::IndexReport;
use crate::story::words;
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Scene, View};
use crate::tui::viewport::Scroll;

/// Cells of the column of names.
const NAMES: usize = 11;

/// The report of the last indexing: files read and files skipped.
pub struct Report;

impl View for Report {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Index".to_owned()
    }

    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(report) = &scene.state.report else {
            page.remark(&no_report(scene));
            return;
        };

        for (name, value) in figures(report) {
            let value = text::clip(&value, page.cells.saturating_sub(NAMES + 3)).into_owned();
            page.line(Line::from(vec![
                page.span(Tone::Quiet, format!("  {}", text::left(name, NAMES))),
                page.span(Tone::Text, value),
            ]));
        }
        page.gap();
        skipped_rows(page, report);
        if let Some(omitted) = words::omitted_files(report) {
            page.remark(&omitted);
        }
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let skipped = &scene.state.report.as_ref()?.skipped;
        let lines: Vec<String> = skipped
            .iter()
            .map(|file| format!("{}: {}", file.path, file.reason))
            .collect();
        Copied::lines("the skipped files", &lines)
    }
}

fn no_report(scene: &Scene<'_>) -> String {
    if scene.state.indexing.is_some() {
        return "Indexing is in progress; the report appears when it is done.".to_owned();
    }
    let update = scene.keymap.sign(Action::Reindex);
    format!("The folder has not been indexed since the screen opened: {update} updates the index.")
}

/// The names and values of the report.
fn figures(report: &IndexReport) -> Vec<(&'static str, String)> {
    let corpus = &report.corpus;
    let files = format!(
        "{} added, {} changed, {} unchanged, {} removed",
        text::count(report.added),
        text::count(report.changed),
        text::count(report.unchanged),
        text::count(report.removed)
    );

    let vectors = format!(
        "{} computed, {} reused",
        text::count(report.embedded),
        text::count(report.reused)
    );

    let writer = if corpus.read_only {
        ", read-only: another ragscope is writing it"
    } else {
        ""
    };

    let mut figures = vec![
        ("folder", corpus.folder.clone()),
        ("content", words::corpus_size(corpus)),
        ("files", files),
        ("vectors", vectors),
        ("took", text::duration(report.wall_ms)),
        ("generation", format!("{}{writer}", corpus.generation)),
    ];

    if let Some(neighbours) = report.neighbours {
        figures.insert(2, ("chunks", words::sentence_joins(neighbours)));
    }

    figures
}

fn skipped_rows(page: &mut Page<'_>, report: &IndexReport) {
    if report.skipped.is_empty() {
        page.line(page.span(Tone::Text, "  ✓ no file was skipped"));
    } else {
        let files = text::quantity(report.skipped.len() as u64, "file");
        page.line(page.span(Tone::Strong, format!("  {files} skipped")));
    }
    let path_cells = cells_of(page, report.skipped.iter().map(|file| file.path.as_str()));
    for file in &report.skipped {
        let sign = page.span(Tone::Warning, "  ✗ ");
        file_rows(
            page,
            sign,
            &text::clip_start(&file.path, path_cells),
            path_cells,
            &file.reason,
        );
    }

    if !report.noted.is_empty() {
        let files = text::quantity(report.noted.len() as u64, "file");
        page.gap();
        page.line(page.span(Tone::Strong, format!("  {files} read with a remark")));
    }
    let path_cells = cells_of(page, report.noted.iter().map(|file| file.path.as_str()));
    for file in &report.noted {
        let sign = page.span(Tone::Quiet, "  · ");
        file_rows(
            page,
            sign,
            &text::clip_start(&file.path, path_cells),
            path_cells,
            &file.note,
        );
    }
}

/// Returns the cells of a column of paths: those of the longest, at most half of the page.
fn cells_of<'a>(page: &Page<'_>, paths: impl Iterator<Item = &'a str>) -> usize {
    let longest = paths.map(text::width).max().unwrap_or(0);
    longest.min(page.cells / 2)
}

/// Writes a file with its remark, which is wrapped beside it.
fn file_rows(
    page: &mut Page<'_>,
    sign: Span<'static>,
    path: &str,
    path_cells: usize,
    remark: &str,
) {
    let remark_cells = page.cells.saturating_sub(path_cells + 7);
    let mut start = vec![sign, page.span(Tone::Text, text::left(path, path_cells))];

    let indent = Span::raw(" ".repeat(path_cells + 4));
    for range in text::wrap(remark, remark_cells) {
        start.push(page.span(Tone::Quiet, format!("  {}", &remark[range])));
        page.line(Line::from(std::mem::replace(
            &mut start,
            vec![indent.clone()],
        )));
    }
}
