//! The refinement pane: each round with its dense semantic entropy (DSE), its chunks, and what
//! changed after it.

use crate::config::{RefinerKind, UnderstandingKind};
use crate::event::{ContextOrigin, Outcome, Part, RefinementEnd, Understanding};
use crate::story::{Round, Run};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Action, Copied, Page, Passage, Request, Scene, Scroll, Tone, View};

use super::answer_matrix::{Answers, matrix};
use super::rounds::{RoundRows, chunk_text};
use super::{absence, answer};

/// Words of a measured answer up to which another wording of it is another answer.
const MAX_SHORT_WORDS: usize = 4;

/// Context refinement, round by round.
pub struct Refinement;

impl View for Refinement {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        let Some(run) = scene.run.filter(|run| !run.refinement.rounds.is_empty()) else {
            page.remark(&nothing_measured(scene));
            if scene.run.is_some_and(|run| can_be_measured(scene, run)) {
                page.gap();
                let what = "It asks again: each chunk is rephrased, and an answer that changes shows that the model did not \
                            understand it.";
                page.text(Tone::Quiet, "   ", what);
            }
            return;
        };

        for (row, round) in run.refinement.rounds.iter().enumerate() {
            let is_rechunked = |of: &Understanding| of.origin == ContextOrigin::Rechunked;
            if round.measured.as_ref().is_ok_and(is_rechunked) {
                rechunked_rows(page, run);
            }
            RoundRows { run, row, round }.write(page);
        }
        end_rows(page, run);

        let is_selected = scene.ui.scroll(Pane::Refinement).selected.is_some();
        if !is_selected && let Some((round, understanding)) = shown_round(run) {
            other_answer_row(page, run, understanding);
            page.gap();
            page.line(page.span(Tone::Quiet, format!(" answers of round {}", round.round)));
            for line in matrix(page, round, understanding, Answers::Clipped) {
                page.line(line);
            }
        }
    }

    fn absence(&self, scene: &Scene<'_>) -> Option<String> {
        let Some(run) = scene.run else {
            return Some("how the chunks were tested and replaced, round by round".to_owned());
        };
        if !run.refinement.rounds.is_empty() {
            return None;
        }

        let keys = scene.keys_from_here(Action::MeasureContext);
        if run.settings.understanding.kind == UnderstandingKind::Off {
            let off = absence::off(scene, run, "understanding");
            return Some(if can_be_measured(scene, run) {
                format!("{off} · {keys} measures this context")
            } else {
                off
            });
        }
        if scene.ui.is_in_progress(run) {
            return None;
        }

        let reason = absence::skip_reason(run, Part::Understanding);
        Some(match run.outcome {
            Some(Outcome::Stopped) => format!("{reason} · {keys} measures again"),
            Some(_) | None => reason,
        })
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let rounds = scene.settled_run().map(|run| &run.refinement.rounds);
        let entropies: Vec<String> = rounds
            .into_iter()
            .flatten()
            .filter_map(|round| round.measured.as_ref().ok())
            .map(|measured| format!("{:.2}", measured.dse))
            .collect();
        if entropies.is_empty() {
            return String::new();
        }
        let part = scene.run.and_then(|run| run.refinement.part_words());
        let part = part.map_or_else(String::new, |part| format!(", {part}"));
        format!("rewording {}{part}", entropies.join(" → "))
    }

    /// The rephrasing of a selected chunk where it has one, else its text; the answers of a
    /// selected round.
    fn copy(&self, scene: &Scene<'_>, scroll: &Scroll) -> Option<Copied> {
        let run = scene.run?;
        let item = scroll.selected?;
        let round = run.refinement.rounds.get(item.row)?;
        let Some(at) = item.part.checked_sub(1) else {
            let answers = &round.measured.as_ref().ok()?.replies;
            return Some(Copied::new("the answers", answers.join("\n")));
        };

        let chunk = round.chunks.get(at);
        if let Some(rephrasing) = chunk.and_then(|chunk| chunk.rephrasing.as_ref()) {
            return Some(Copied::new("the rephrasing", rephrasing));
        }
        let chunk = run.refinement.chunk(item.row, item.part)?;
        Some(Copied::new("the chunk", chunk_text(run, chunk)))
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        if action != Action::OpenSource {
            return None;
        }
        let chunk = scroll.selected.filter(|item| item.part > 0);

        let passage = match chunk {
            Some(item) => {
                let run = scene.run?;
                let chunk = run.refinement.chunk(item.row, item.part)?;
                Passage::from_hit(run.hit(chunk)?)
            }
            None => answer::cited_passage(scene)?,
        };

        Some(Request::OpenSource(passage))
    }
}

fn nothing_measured(scene: &Scene<'_>) -> String {
    let Some(run) = scene.run else {
        return "A refiner repairs the context in rounds: it rephrases each chunk, drops and adds chunks depending on whether the answer \
                changes, and keeps the context that the model understands best."
            .to_owned();
    };
    let absence = Refinement.absence(scene);
    absence.unwrap_or_else(|| format!("{} …", run.activity()))
}

/// Returns whether the context of a run can be measured that did not measure it.
fn can_be_measured(scene: &Scene<'_>, run: &Run) -> bool {
    let is_off = run.settings.understanding.kind == UnderstandingKind::Off;
    let is_settled = scene.ui.work.pending.is_none() && run.outcome.is_some();
    is_off && is_settled && !run.context_hits().is_empty()
}

/// Says where the answer that was measured is not the one that the user reads: the measure asks for
/// a short one, in a prompt of its own.
fn other_answer_row(page: &mut Page<'_>, run: &Run, measured: &Understanding) {
    let written = run.answer_text().text.to_lowercase();
    let reply = measured.replies.first().map_or("", |reply| reply.trim());
    let short = reply.trim_end_matches('.').to_lowercase();
    let is_short = (1..=MAX_SHORT_WORDS).contains(&short.split_whitespace().count());
    if run.outcome.is_none() || written.is_empty() || !is_short || written.contains(&short) {
        return;
    }

    let words = format!("measured with \"{reply}\", which is not in the answer");
    page.text(Tone::Warning, " ", &words);
}

/// The best round; while refinement is in progress, the last one.
fn shown_round(run: &Run) -> Option<(&Round, &Understanding)> {
    let best = run.refinement.finished.map(|(best, _)| best);
    let measured = || {
        let rounds = run.refinement.rounds.iter().rev();
        rounds.filter_map(|round| Some((round, round.measured.as_ref().ok()?)))
    };
    measured()
        .find(|(round, _)| Some(round.round) == best)
        .or_else(|| measured().next())
}

/// The documents that were re-chunked for the question, and those that could not be.
fn rechunked_rows(page: &mut Page<'_>, run: &Run) {
    let mut documents = 0;
    let mut chunks = 0;
    let mut sentences = 0;
    let rechunked = &run.refinement.rechunked;
    for document in rechunked.iter().filter(|document| document.error.is_none()) {
        documents += 1;
        chunks += u64::from(document.chunks);
        sentences += u64::from(document.sentences);
    }
    let words = format!(
        "✂ {} re-chunked by meaning: {}, {}",
        text::quantity(documents, "document"),
        text::quantity(sentences, "sentence"),
        text::quantity(chunks, "chunk")
    );
    page.text(Tone::Quiet, " ", &words);

    for document in rechunked {
        if let Some(error) = &document.error {
            let words = format!("{}: {error}", document.document);
            page.text(Tone::Warning, "   ", &words);
        }
    }
}

fn end_rows(page: &mut Page<'_>, run: &Run) {
    let last = run.refinement.rounds.last();
    let last = last.and_then(|round| round.measured.as_ref().ok());
    let is_uncertain = last.is_some_and(|measured| !measured.certain);

    let words = match run.refinement.finished {
        Some((best, end)) => format!(
            "The answer is written from round {best}: {}.",
            end_words(end)
        ),
        None if run.refinement.partial.is_some() => {
            let part = run.refinement.part_words().unwrap_or_default();
            let again = page.scene.keys_from_here(Action::MeasureContext);
            format!("Stopped after {part}: a part of the measurement; {again} measures again.")
        }
        None if !page.scene.ui.is_in_progress(run) && is_uncertain => {
            let reason = match run.settings.refiner.kind {
                RefinerKind::Off => absence::off(page.scene, run, "refiner"),
                RefinerKind::Dense => absence::skip_reason(run, Part::Refiner),
            };
            format!("Not repaired: {reason}.")
        }
        None => return,
    };

    page.gap();
    page.text(Tone::Quiet, " ", &words);
}

fn end_words(end: RefinementEnd) -> &'static str {
    match end {
        RefinementEnd::Sufficient => "it passed the sufficiency check",
        RefinementEnd::RoundLimit => "the best of all rounds that the settings allow",
        RefinementEnd::Unchanged => "no chunk was left to drop or add",
        RefinementEnd::Unmeasured => "the next context could not be measured",
    }
}
