use ratatui::text::Line;

use crate::tui::keys::Action;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Scene, View};
use crate::tui::viewport::{Content, Scroll};

/// The report of the last indexing: what was read and what was skipped.
pub struct Report;

impl View for Report {
    fn title(&self, _scene: &Scene<'_>) -> String {
        "Index".to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn copied(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        let skipped = &scene.state.report.as_ref()?.skipped;
        let lines: Vec<String> = skipped
            .iter()
            .map(|file| format!("{}: {}", file.path, file.reason))
            .collect();
        Copied::lines("the skipped files", &lines)
    }
}

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    let Some(report) = &scene.state.report else {
        let update = scene.keymap.sign(Action::Reindex);
        let says = match &scene.state.indexing {
            Some(_) => {
                "The folder is being indexed; the report comes when that is done.".to_owned()
            }
            None => format!(
                "Nothing was indexed since the screen opened. {update} brings the index up to date."
            ),
        };
        content.gap();
        content.paragraph(&says, scene.style(Tone::Quiet), "   ", cells);
        return content;
    };
    let corpus = &report.corpus;
    let mut row = |name: &str, value: String| {
        let room = cells.saturating_sub(14);
        let value = scene.span(Tone::Text, text::clip(&value, room).into_owned());
        content.line(Line::from(vec![
            scene.span(Tone::Quiet, format!("  {}", text::left(name, 11))),
            value,
        ]));
    };
    row("folder", corpus.folder.clone());
    row(
        "holds",
        format!(
            "{}, {}",
            text::counted(corpus.documents, "file"),
            text::counted(corpus.chunks, "chunk")
        ),
    );
    let changes = [
        (report.added, "added"),
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (report.removed, "removed"),
    ];
    let changes: Vec<String> = changes
        .iter()
        .map(|(number, what)| format!("{} {what}", text::count(*number)))
        .collect();
    row("files", changes.join(", "));
    row(
        "vectors",
        format!(
            "{} computed, {} known already",
            text::count(report.embedded),
            text::count(report.reused)
        ),
    );
    row("took", text::duration(report.wall_ms));
    row(
        "generation",
        if corpus.read_only {
            format!(
                "{}, read only: another ragscope writes it",
                corpus.generation
            )
        } else {
            corpus.generation.to_string()
        },
    );
    content.gap();
    if report.skipped.is_empty() {
        content.line(scene.span(Tone::Good, "  ✓ no file was skipped"));
        return content;
    }
    content.line(scene.span(
        Tone::Strong,
        format!(
            "  {} skipped",
            text::counted(report.skipped.len() as u64, "file")
        ),
    ));
    let path_cells = (cells / 2).min(56);
    for file in &report.skipped {
        let path = text::clip_start(&file.path, path_cells).into_owned();
        let reason = text::clip(&file.reason, cells.saturating_sub(path_cells + 6)).into_owned();
        content.line(Line::from(vec![
            scene.span(Tone::Doubt, "  ✗ "),
            scene.span(Tone::Text, text::left(&path, path_cells)),
            scene.span(Tone::Quiet, format!("  {reason}")),
        ]));
    }
    content
}
