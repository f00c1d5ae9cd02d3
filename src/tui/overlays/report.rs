//! The report on the index.

use ratatui::text::Span;

use crate::event::IndexReport;
use crate::story::words;
use crate::tui::text;
use crate::tui::view::{Action, Copied, Page, Scene, Scroll, Tone, View};

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
            return page.remark(&no_report(scene));
        };

        for (name, value) in figures(report) {
            let value = text::clip(&value, page.cells.saturating_sub(NAMES + 3));
            page.line(vec![
                page.span(Tone::Quiet, format!("  {}", text::left(name, NAMES))),
                page.span(Tone::Text, value),
            ]);
        }
        page.gap();
        skipped_rows(page, report);
        if let Some(omitted) = words::omitted_files(&report.omitted) {
            page.remark(&omitted);
        }
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let skipped = scene.state.report.as_ref()?.skipped.iter();
        let lines = skipped.map(|file| format!("{}: {}", file.path, file.reason));
        Copied::lines("the skipped files", lines)
    }
}

fn no_report(scene: &Scene<'_>) -> String {
    if scene.state.indexing.is_some() {
        return "Indexing is in progress; the report appears when it is done.".to_owned();
    }
    let update = scene.keys_behind(Action::Reindex);
    if scene.state.is_index_stopped() {
        return format!("The index is not complete, as it was stopped: {update} continues it.");
    }
    format!("The folder has not been indexed since the screen opened: {update} updates the index.")
}

/// The names and values of the report.
fn figures(report: &IndexReport) -> Vec<(&'static str, String)> {
    let corpus = &report.corpus;
    let [added, changed, unchanged, removed, embedded, reused] = [
        report.added,
        report.changed,
        report.unchanged,
        report.removed,
        report.embedded,
        report.reused,
    ]
    .map(text::count);
    let files =
        format!("{added} added, {changed} changed, {unchanged} unchanged, {removed} removed");
    let writer = if corpus.read_only {
        ", read-only: another ragscope has it open"
    } else {
        ""
    };

    let mut figures = vec![
        ("folder", corpus.folder.clone()),
        ("content", words::corpus_size(corpus)),
        ("files", files),
        ("vectors", format!("{embedded} computed, {reused} reused")),
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
    }
    let skipped = report.skipped.iter();
    let skipped = skipped.map(|file| (file.path.as_str(), file.reason.as_str()));
    file_rows(page, "skipped", (Tone::Warning, "✗"), skipped.collect());

    if !report.noted.is_empty() {
        page.gap();
    }
    let noted = report.noted.iter();
    let noted = noted.map(|file| (file.path.as_str(), file.note.as_str()));
    file_rows(
        page,
        "read with a remark",
        (Tone::Quiet, "·"),
        noted.collect(),
    );
}

/// Writes files below their number, each with its remark, which is wrapped beside it. The column of
/// paths is as wide as the longest, at most half of the page.
fn file_rows(
    page: &mut Page<'_>,
    what: &str,
    (tone, sign): (Tone, &str),
    files: Vec<(&str, &str)>,
) {
    let Some(longest) = files.iter().map(|(path, _)| text::width(path)).max() else {
        return;
    };
    let count = text::quantity(files.len() as u64, "file");
    page.line(page.span(Tone::Strong, format!("  {count} {what}")));

    let path_cells = longest.min(page.cells / 2);
    let room = page.cells.saturating_sub(path_cells + 7);
    for (path, remark) in files {
        let path = text::clip_start(path, path_cells);
        let name = vec![
            page.span(tone, format!("  {sign} ")),
            page.span(Tone::Text, text::left(&path, path_cells)),
            Span::raw("  "),
        ];
        page.text_behind(name, Tone::Quiet, remark, room);
    }
}
