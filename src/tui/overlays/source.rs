use ratatui::text::Line;

use crate::tui::app::{Origin, SourceView};
use crate::tui::keys::Action;
use crate::tui::panes::Scene;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::{Content, Item};

/// Longer lines are cut here: a file of one line of many megabytes stays readable at its start.
const LONGEST_LINE: usize = 20_000;

pub(super) fn title(view: &SourceView) -> String {
    let wanted = &view.wanted;
    format!(
        "{}:{}",
        text::one_line(&wanted.document),
        text::lines(wanted.first_line, wanted.last_line)
    )
}

/// The document, each line with its number, wrapped; the wanted lines are one item.
pub(in crate::tui) fn rows(view: &SourceView, scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    if let Some((tone, says)) = remark(view, scene) {
        content.paragraph(&says, scene.style(tone), "  ", cells);
        content.gap();
    }
    let Some(source) = &view.source else {
        return content;
    };
    let digits = (source.from_line as usize + source.lines.len())
        .to_string()
        .len()
        .max(3);
    let room = cells.saturating_sub(digits + 5);
    for (line, number) in source.lines.iter().zip(source.from_line..) {
        let cited = (source.first_line..=source.last_line).contains(&number);
        let tone = if cited { Tone::Cited } else { Tone::Text };
        let shown = &line[..line.floor_char_boundary(LONGEST_LINE)];
        for (at, range) in text::wrap(shown, room).into_iter().enumerate() {
            let number = if at == 0 {
                number.to_string()
            } else {
                String::new()
            };
            let row = Line::from(vec![
                scene.span(Tone::Quiet, format!("  {number:>digits$} ")),
                scene.span(
                    if cited { Tone::Focus } else { Tone::Border },
                    if cited { "┃ " } else { "│ " },
                ),
                scene.span(tone, shown[range].to_owned()),
            ]);
            match cited {
                true => content.item(Item::default(), row),
                false => content.line(row),
            }
        }
        if shown.len() < line.len() {
            content.line(scene.span(
                Tone::Quiet,
                format!(
                    "  {:>digits$} │ … the line goes on for {} bytes",
                    "",
                    line.len() - shown.len()
                ),
            ));
        }
    }
    content
}

/// What must be said about the text.
fn remark(view: &SourceView, scene: &Scene<'_>) -> Option<(Tone, String)> {
    let recorded = match view.source {
        Some(_) => "The passage as the run recorded it",
        None => "The run did not record this passage",
    };
    match &view.origin {
        Origin::Waiting => Some((Tone::Quiet, format!("{recorded}; the document is being read …"))),
        Origin::Recorded(why) => Some((Tone::Quiet, format!("{recorded}; {why}."))),
        Origin::Failed(why) => Some((Tone::Doubt, format!("! {recorded}. {why}"))),
        Origin::Document => view.source.as_ref().filter(|source| source.changed).map(|_| {
            let update = scene.keymap.sign(Action::Reindex);
            let says = format!(
                "! The file may have changed since this run looked it up. {update} brings the index up to date."
            );
            (Tone::Doubt, says)
        }),
    }
}

pub(super) fn copied(view: &SourceView) -> Option<(String, String)> {
    let source = view.source.as_ref()?;
    let cited = source
        .lines
        .iter()
        .zip(source.from_line..)
        .filter(|(_, number)| (source.first_line..=source.last_line).contains(number));
    let lines: Vec<&str> = cited.map(|(line, _)| line.as_str()).collect();
    Some((
        format!("the cited lines of {}", title(view)),
        lines.join("\n"),
    ))
}
