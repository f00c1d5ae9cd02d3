//! What the answer pane says before there is an answer: how far the models and the index are, and what to do next.

use ratatui::text::{Line, Span};

use crate::event::{CorpusCard, ModelRole};
use crate::tui::keys::Action;
use crate::tui::pane::Pane;
use crate::tui::state::Model;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::Scene;
use crate::tui::viewport::{Content, Item};

pub(super) fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut content = Content::default();
    content.gap();
    for (role, model) in &scene.state.models {
        content.line(model_row(scene, *role, model, cells));
    }
    if let Some(corpus) = &scene.state.corpus {
        content.line(corpus_row(scene, corpus, cells));
    }
    if !content.rows.is_empty() {
        content.gap();
    }
    failure(scene, cells, &mut content);
    content.paragraph(&what_next(scene), scene.style(Tone::Text), "   ", cells);
    if ready(scene) && !nothing_to_read(scene) {
        suggestions(scene, cells, &mut content);
    }
    content
}

/// The last thing that went wrong, whole: the status line has room for its beginning only.
fn failure(scene: &Scene<'_>, cells: usize, content: &mut Content) {
    if let Some(entry) = scene.state.log.iter().rev().find(|entry| entry.failed) {
        content.paragraph(
            &format!("! {}", entry.text),
            scene.style(Tone::Bad),
            "   ",
            cells,
        );
        content.paragraph(&entry.advice, scene.style(Tone::Text), "     ", cells);
        content.gap();
    }
}

/// What a question that was asked too early waits for.
pub(super) fn waiting_for(scene: &Scene<'_>) -> &'static str {
    let loading = scene
        .state
        .models
        .values()
        .any(|model| matches!(model, Model::Loading { .. }));
    if scene.state.models.is_empty() || loading {
        "waiting for the models …"
    } else {
        "starting …"
    }
}

fn ready(scene: &Scene<'_>) -> bool {
    scene.state.models.contains_key(&ModelRole::Generator) && waiting_for(scene) == "starting …"
}

fn nothing_to_read(scene: &Scene<'_>) -> bool {
    scene.state.indexing.is_none()
        && scene
            .state
            .corpus
            .as_ref()
            .is_some_and(|corpus| corpus.documents == 0)
}

fn model_row(scene: &Scene<'_>, role: ModelRole, model: &Model, cells: usize) -> Line<'static> {
    let name = text::left(&role.name().replace('_', " "), 11);
    let room = cells.saturating_sub(36).clamp(10, 34);
    match model {
        Model::Loading { file, fraction } => {
            let [filled, rest] = scene.bar(*fraction, 12);
            let percent = format!(" {:>3.0} %", fraction * 100.0);
            let file = text::left(file, room);
            Line::from(vec![
                scene.span(Tone::Quiet, format!("   {name}")),
                scene.span(Tone::Text, format!("{file} ")),
                filled,
                rest,
                scene.span(Tone::Quiet, percent),
            ])
        }
        Model::Ready { card, wall_ms } => {
            let took = wall_ms.map_or(String::new(), |ms| format!(" in {}", text::duration(ms)));
            Line::from(vec![
                scene.span(Tone::Quiet, format!("   {name}")),
                scene.span(Tone::Text, format!("{} ", text::left(&card.file, room))),
                scene.span(Tone::Good, "✓ ready"),
                scene.span(Tone::Quiet, took),
            ])
        }
    }
}

fn corpus_row(scene: &Scene<'_>, corpus: &CorpusCard, cells: usize) -> Line<'static> {
    let room = cells.saturating_sub(36).clamp(10, 34);
    let size = format!(
        "{}, {}",
        text::counted(corpus.documents, "file"),
        text::counted(corpus.chunks, "chunk")
    );
    let name = text::left("folder", 11);
    let folder = text::clip_start(&corpus.folder, room).into_owned();
    Line::from(vec![
        scene.span(Tone::Quiet, format!("   {name}")),
        scene.span(Tone::Text, format!("{} ", text::left(&folder, room))),
        scene.span(Tone::Text, size),
        scene.span(
            Tone::Quiet,
            if corpus.read_only { ", read only" } else { "" },
        ),
    ])
}

fn what_next(scene: &Scene<'_>) -> String {
    if scene.ui.player.is_some() {
        return format!(
            "A recorded run: {} plays it, {} goes one record on.",
            sign(scene, Action::Play),
            sign(scene, Action::Step)
        );
    }
    match &scene.state.corpus {
        _ if !ready(scene) && scene.state.log.iter().any(|entry| entry.text.starts_with("load models")) => {
            "Without a generator there is no answer: start ragscope again when that is mended.".to_owned()
        }
        _ if !ready(scene) => "The models are being loaded. You can type your question already.".to_owned(),
        Some(corpus) if nothing_to_read(scene) => format!(
            "There is nothing to read in {}: {} shows what was skipped and why, {} opens another folder.",
            corpus.folder,
            sign(scene, Action::IndexReport),
            sign(scene, Action::OpenFolder)
        ),
        Some(corpus) if corpus.documents == 0 => {
            "The folder is being read for the first time. Until that is done, an answer knows nothing of it.".to_owned()
        }
        Some(_) => "Ask something about this folder, and press enter.".to_owned(),
        None => format!(
            "No folder is open: esc and {} open one. Preset closed-book ({}) answers without documents.",
            sign(scene, Action::OpenFolder),
            sign(scene, Action::Settings)
        ),
    }
}

fn sign(scene: &Scene<'_>, action: Action) -> String {
    scene.keymap.sign(action)
}

fn suggestions(scene: &Scene<'_>, cells: usize, content: &mut Content) {
    if scene.ui.question.suggestions.is_empty() {
        return;
    }
    content.gap();
    let take = format!(
        "   for example ({} takes one)",
        sign(scene, Action::HistoryOn)
    );
    content.line(scene.span(Tone::Quiet, take));
    for (row, suggestion) in scene.ui.question.suggestions.iter().enumerate() {
        let item = Item { row, part: 0 };
        let preset = format!("  {}", suggestion.preset);
        let question = text::clip(
            &suggestion.question,
            cells.saturating_sub(6 + text::width(&preset)),
        )
        .into_owned();
        let question = scene.span(Tone::Citation, format!("   · {question}"));
        content.item(
            item,
            Line::from(vec![question, scene.span(Tone::Quiet, preset)]),
        );
        if scene.ui.scroll(Pane::Answer).selected == Some(item) {
            for range in text::wrap(&suggestion.shows, cells.saturating_sub(6)) {
                let shows = scene.span(Tone::Quiet, suggestion.shows[range].to_owned());
                content.item(item, Line::from(vec![Span::raw("     "), shows]));
            }
        }
    }
}
