//! The answer pane before the first answer: the state of models and index, and the next step.

use ratatui::text::{Line, Span};

use crate::event::{CorpusCard, ModelRole, Operation};
use crate::story::words;
use crate::tui::offer::{Offer, answers_for_practice, model_offer, offers};
use crate::tui::pane::Pane;
use crate::tui::state::Model;
use crate::tui::text;
use crate::tui::view::{Action, Item, Page, Scene, Tone};

/// Cells of the name of a folder that has a remark behind it, at least.
const MIN_FOLDER: usize = 20;

/// Bytes per second of a download, where none was measured.
const ASSUMED_RATE: f64 = 1e7;

/// The words above the folders to open.
const WHAT_IT_IS: &str = "ragscope answers questions about a folder of documents with a language model, and shows how it arrived at each answer: what it was unsure of, what it searched for, and which lines support it.";

/// Questions that are answered in ways of their own.
const KINDS: &str = "Besides questions: \"What is in this folder?\", \"Summarise report.pdf\", \"Compare A with B\", \"List all invoices\".";

/// Writes what there is before the first question.
pub(super) fn rows(page: &mut Page<'_>) {
    let scene = page.scene;
    page.gap();
    let offers = offers(scene);
    if scene.state.corpus.is_none() && !offers.is_empty() {
        page.content.start = Some(0);
        page.text(Tone::Text, "   ", WHAT_IT_IS);
        page.gap();
        folder_rows(page, &offers);
        page.gap();
    }
    for (role, model) in &scene.state.models {
        page.line(model_row(page, *role, model));
    }
    if let Some(corpus) = &scene.state.corpus {
        page.line(corpus_row(page, corpus));
    }
    practice_rows(page);
    page.gap();

    last_failure(page);
    page.text(Tone::Text, "   ", &next_step(scene));
    if is_ready(scene) && !is_empty_folder(scene) {
        suggestion_rows(page);
        kind_rows(page);
    }
}

/// Writes the folders that can be opened, the one that enter takes with a sign.
fn folder_rows(page: &mut Page<'_>, offers: &[Offer]) {
    let scene = page.scene;
    let choose = scene.keymap.sign(Action::HistoryForward);
    let open = scene.keymap.sign(Action::Ask);
    let heads = format!("{choose} chooses a folder, {open} opens it:");
    page.text(Tone::Quiet, "   ", &heads);
    let taken = scene.ui.scroll(Pane::Answer).selected;
    page.content.is_marked = true;
    for (row, offer) in offers.iter().enumerate() {
        let item = Item::new(row, 0);
        let is_taken = taken.map_or(row == 0, |taken| taken == item);
        let (name, remark) = match offer {
            Offer::Recent(folder) => (folder.as_str(), "opened before"),
            Offer::Here(folder) => (folder.as_str(), "this folder"),
            Offer::Demo => ("the demo", "documents with prepared questions"),
            Offer::Other => ("another folder", "its path is typed, tab completes it"),
            // there is a folder where a model is offered
            Offer::Use(_) | Offer::Download(_) => continue,
        };
        let room = page.cells.saturating_sub(7 + text::width(remark));
        // the name comes first where there is no room for both
        let (room, remark) = if room < text::width(name).min(MIN_FOLDER) {
            (page.cells.saturating_sub(5), "")
        } else {
            (room, remark)
        };
        let mut line = choice_row(page, is_taken, &text::clip_start(name, room));
        line.push_span(page.span(Tone::Quiet, format!("  {remark}")));
        page.item(item, line);
    }
}

/// Returns the row of something to choose, with a sign before the one that enter takes.
fn choice_row(page: &Page<'_>, is_taken: bool, name: &str) -> Line<'static> {
    let sign = if is_taken { "   ▸ " } else { "   · " };
    Line::from(vec![
        page.span(Tone::Focus, sign),
        page.span(Tone::Citation, name),
    ])
}

/// Says that the generator is for practice, with the model to take in its place.
fn practice_rows(page: &mut Page<'_>) {
    let scene = page.scene;
    let is_live = scene.ui.player.is_none();
    if !is_live || scene.state.corpus.is_none() || !answers_for_practice(scene.state) {
        return;
    }

    page.gap();
    let prompt = scene.ui.next_run.config().answer.prompt;
    page.text(Tone::Text, "   ", words::practice(prompt));
    let take = scene.keymap.sign(Action::Ask);
    let take = if scene.ui.question.text.is_empty() {
        take
    } else {
        format!("{take} on an empty line")
    };
    let others = scene.keys_from_here(Action::Models);
    let offer = match model_offer(scene) {
        Some(Offer::Use(model)) => {
            let name = text::one_line(&model.name);
            format!("{take} loads {name}, which is on this machine; {others} lists others")
        }
        Some(Offer::Download(model)) => {
            let bytes = model.need.file_bytes;
            let measured = scene.state.pull_rate.filter(|rate| *rate >= 1.0);
            let rate = measured.unwrap_or(ASSUMED_RATE);
            let rate_words = match measured {
                Some(_) => "the rate measured here",
                None => "an assumed 10 MB/s",
            };
            let time = text::duration((bytes as f64 / rate * 1e3) as u64);
            let size = words::bytes(bytes);
            format!(
                "{take} downloads {} ({size}, about {time} at {rate_words}); {others} lists others",
                model.name
            )
        }
        Some(_) | None => match &scene.state.pull {
            Some(progress) => words::pull_progress(progress),
            None => format!("{others} lists models"),
        },
    };
    page.text(Tone::Notice, "   ", &offer);
}

/// Writes the last failure in full: the status line shows only its start.
fn last_failure(page: &mut Page<'_>) {
    let log = &page.scene.state.log;
    let Some(last) = log.iter().rev().find(|entry| entry.failed.is_some()) else {
        return;
    };

    page.text_with_sign(Tone::Bad, "   ! ", &last.problem.to_string());
    if let Some(advice) = &last.problem.advice {
        let keys = match last.failed {
            Some(Operation::PullModel) => pull_keys(page.scene),
            Some(_) | None => String::new(),
        };
        page.text(Tone::Text, "     ", &format!("{advice}{keys}"));
    }
    page.gap();
}

/// Returns the keys that download a model again.
fn pull_keys(scene: &Scene<'_>) -> String {
    match model_offer(scene) {
        Some(Offer::Download(_)) => format!(" ({} pulls)", scene.keymap.sign(Action::Ask)),
        Some(_) | None => format!(
            " ({} lists the models)",
            scene.keys_from_here(Action::Models)
        ),
    }
}

fn is_ready(scene: &Scene<'_>) -> bool {
    let models = &scene.state.models;
    let are_loaded = models.values().all(|model| model.card().is_some());
    are_loaded && models.contains_key(&ModelRole::Generator)
}

/// Returns whether the folder was indexed and contains no document.
fn is_empty_folder(scene: &Scene<'_>) -> bool {
    let is_empty = |corpus: &CorpusCard| corpus.is_indexed() && corpus.documents == 0;
    scene.state.indexing.is_none() && scene.state.corpus.as_ref().is_some_and(is_empty)
}

/// Cells of the column of names.
const NAME_CELLS: usize = 14;

/// Cells of the column of files where their names are short, and beside it.
const FILE_CELLS: usize = 34;
const BESIDE_FILE: usize = 33;

/// Returns the cells of the column of files: names are whole where there is room.
fn file_cells(page: &Page<'_>) -> usize {
    let models = page.scene.state.models.values();
    let names = models.map(|model| text::width(model.file()));
    let longest = names.max().unwrap_or(0).max(FILE_CELLS);
    longest.min(page.cells.saturating_sub(BESIDE_FILE).max(10))
}

fn name_span(page: &Page<'_>, name: &str) -> Span<'static> {
    let name = text::left(name, NAME_CELLS - 3);
    page.span(Tone::Quiet, format!("   {name}"))
}

fn model_row(page: &Page<'_>, role: ModelRole, model: &Model) -> Line<'static> {
    let file = text::left(model.file(), file_cells(page));
    let mut line = Line::from(vec![
        name_span(page, &role.name().replace('_', " ")),
        page.span(Tone::Text, format!("{file} ")),
    ]);
    match model {
        Model::Loading { fraction, .. } => {
            line.spans.extend(page.scene.bar(*fraction, 12));
            line.push_span(page.span(Tone::Quiet, format!(" {:>3.0} %", fraction * 100.0)));
        }
        Model::Ready { card, wall_ms } => {
            let took = format!(" in {}", text::duration(*wall_ms));
            let server = match card.server.as_str() {
                "" => String::new(),
                can_do => format!(", on {}: {can_do}", card.device),
            };
            line.push_span(page.span(Tone::Text, "✓ ready"));
            line.push_span(page.span(Tone::Quiet, took + &server));
        }
    }
    line
}

fn corpus_row(page: &Page<'_>, corpus: &CorpusCard) -> Line<'static> {
    let size = words::corpus_size(corpus);
    let beside = NAME_CELLS + 1 + text::width(&size);
    let room = file_cells(page).min(page.cells.saturating_sub(beside));
    let folder = text::left(&text::clip_start(&corpus.folder, room), room);
    let access = match (corpus.read_only, page.scene.state.is_index_stopped()) {
        (true, _) => ", read-only",
        (false, true) => ", not complete",
        (false, false) => "",
    };

    let skipped = page.scene.state.report.as_ref();
    let skipped = skipped.map_or(0, |report| report.skipped.len());
    let skipped = if skipped == 0 {
        String::new()
    } else {
        let list = page.scene.keys_from_here(Action::IndexReport);
        format!(", {} skipped ({list})", text::count(skipped as u64))
    };

    Line::from(vec![
        name_span(page, "folder"),
        page.span(Tone::Text, format!("{folder} ")),
        page.span(Tone::Text, size),
        page.span(Tone::Quiet, access),
        page.span(Tone::Warning, skipped),
    ])
}

/// Returns the next step of the user.
fn next_step(scene: &Scene<'_>) -> String {
    let sign = |action| scene.keys_from_here(action);
    if scene.ui.player.is_some() {
        return format!(
            "A recorded run: {} plays it, {} shows the next record.",
            sign(Action::Play),
            sign(Action::Step)
        );
    }
    if !is_ready(scene) {
        let mut log = scene.state.log.iter();
        let has_failed = log.any(|entry| entry.failed == Some(Operation::LoadModels));
        return if has_failed {
            "No generator is loaded: fix the error above, then restart ragscope.".to_owned()
        } else {
            "The models are loading. You can already type your question.".to_owned()
        };
    }

    match &scene.state.corpus {
        None => format!(
            "Without a folder, preset closed-book ({}) answers from what the model knows.",
            sign(Action::Settings)
        ),
        Some(corpus) if is_empty_folder(scene) => format!(
            "{} contains no readable document: {} shows the skipped files and why, {} opens another folder.",
            corpus.folder,
            sign(Action::IndexReport),
            sign(Action::OpenFolder)
        ),
        Some(corpus) if scene.state.is_index_stopped() => {
            let by = if corpus.words_only { " by its words" } else { "" };
            let update = sign(Action::Reindex);
            format!(
                "The index is not complete: {update} continues it. A question finds what has been read{by}."
            )
        }
        Some(corpus) if corpus.documents == 0 => {
            "The folder is being read for the first time. Ask at once: a question finds what has been read by its words, and by meaning when all is indexed.".to_owned()
        }
        Some(corpus) if corpus.folders.is_empty() => {
            "Ask something about this folder, and press enter.".to_owned()
        }
        Some(_) => "Ask something about these folders, and press enter.".to_owned(),
    }
}

/// Says which kinds of questions there are besides those for a fact, where none are suggested.
fn kind_rows(page: &mut Page<'_>) {
    let scene = page.scene;
    let has_scope = scene.ui.next_run.config().answer.scope;
    if scene.state.corpus.is_none() || scene.ui.question.has_prepared() || !has_scope {
        return;
    }
    page.gap();
    page.text(Tone::Quiet, "   ", KINDS);
}

/// Writes the suggested questions, with a note below the selected one.
fn suggestion_rows(page: &mut Page<'_>) {
    let scene = page.scene;
    if scene.ui.question.suggestions.is_empty() {
        return;
    }

    page.gap();
    page.content.is_marked = true;
    let next = scene.keymap.sign(Action::HistoryForward);
    page.line(page.span(Tone::Quiet, format!("   for example (press {next}):")));
    for (row, suggestion) in scene.ui.question.suggestions.iter().enumerate() {
        let item = Item::new(row, 0);
        let preset = suggestion.preset.as_ref();
        let preset = preset.map_or_else(String::new, |preset| {
            format!("  {}", words::preset_name(preset))
        });
        let room = page.cells.saturating_sub(6);
        let question = text::clip(&suggestion.question, room);
        let is_selected = scene.ui.scroll(Pane::Answer).selected == Some(item);
        let mut line = choice_row(page, is_selected, &question);
        // a question is whole before it has its preset beside it
        if text::width(&question) + text::width(&preset) <= room {
            line.push_span(page.span(Tone::Quiet, preset));
        }
        page.item(item, line);
        if is_selected && !suggestion.shows.is_empty() {
            page.item_text(item, Tone::Quiet, "     ", &suggestion.shows);
        }
    }

    page.gap();
    page.hint(Action::Tour, "shows you around in two minutes");
}
