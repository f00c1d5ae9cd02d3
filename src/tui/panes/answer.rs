//! The answer pane: the question, the sentences with their citations, and how the run ended.

use ratatui::text::Span;

use crate::event::{AsAsked, Citation, CorpusCard, Outcome, Verdict, VerdictKind};
use crate::story::words::{self, LOST};
use crate::story::{Origin, Run, Step};
use crate::tui::offer::{Offer, model_offer};
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::view::{Action, Copied, Page, Passage, Request, Scene, Scroll, Tone, View};

use super::ready;
use super::sentences::{self, INDENT};

/// Rows of a short answer that stays in sight.
const MAX_ANSWER_ROWS: usize = 2;
/// Maximum rows of the question that stay in sight above its answer.
const MAX_HEAD_ROWS: usize = 2;

/// The answer, sentence by sentence, with replaced sentences and citations.
pub struct Answer;

impl View for Answer {
    fn write(&self, page: &mut Page<'_>, _scroll: &Scroll) {
        let scene = page.scene;
        if let Some(question) = &scene.ui.work.pending {
            question_rows(page, question);
            page.gap();
            let waits = format!("{} …{}", scene.waiting_for(), scene.elapsed_words());
            return page.text(Tone::Quiet, INDENT, &waits);
        }
        let Some(run) = scene.run else {
            return ready::rows(page);
        };

        earlier_rows(page, run);
        let start = page.content.rows.len();
        question_rows(page, &run.question);
        let asked = start..page.content.rows.len().min(start + MAX_HEAD_ROWS);
        page.content.heads.push(asked);
        page.content.start = run.outcome.as_ref().map(|_| start);
        follow_up_rows(page, run);
        page.gap();
        without_documents_row(page, run);
        let written = sentences::rows(page, run);
        match &run.outcome {
            Some(outcome) => {
                if run.steps.is_empty() {
                    whole_rows(page, run.text.trim());
                }
                page.content.wanted = written.start..page.content.rows.len();
                outcome_rows(page, run, outcome);
                changed_rows(page, run);
                practice_row(page, run);
                foot_rows(page, run);
            }
            None if !scene.ui.is_in_progress(run) => {
                note(page, Tone::Quiet, "■ the recording ends here");
            }
            None if run.steps.is_empty() => {
                let words = format!("{} …{}", run.activity(), scene.elapsed_words());
                page.text(Tone::Quiet, INDENT, &words);
            }
            None => {}
        }
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let runs = scene.state.runs.len();
        let Some(run) = scene.run.filter(|_| runs > 1) else {
            return String::new();
        };
        let number = format!("run {} of {runs}", scene.run_number(run));

        // the same question asked again is the same turn
        let thread = scene.state.thread(run.thread());
        let turns: Vec<&[&Run]> = thread
            .chunk_by(|one, next| one.question == next.question)
            .collect();
        let is_shown = |turn: &&[&Run]| turn.iter().any(|known| known.id == run.id);
        let turn = turns.iter().position(is_shown).map_or(0, |at| at + 1);
        match turns.len() {
            1 => number,
            all if all == runs => format!("turn {turn} of {all}"),
            all => format!("turn {turn} of {all}, {number}"),
        }
    }

    fn copy(&self, scene: &Scene<'_>, _scroll: &Scroll) -> Option<Copied> {
        copy_sentence(scene)
    }

    fn act(&self, action: Action, scene: &Scene<'_>, scroll: &Scroll) -> Option<Request> {
        match action {
            Action::OpenSource => cited_passage(scene).map(Request::OpenSource),
            Action::FocusInput if scene.offers_questions() => {
                Some(Request::Suggest(scroll.selected?.row))
            }
            _ => None,
        }
    }
}

/// The passage of the selected citation; of the first one when no sentence is selected.
pub(super) fn cited_passage(scene: &Scene<'_>) -> Option<Passage> {
    let (step, citation) = selected_citation(scene, scene.run?)?;
    // a quotation is no sentence to compare with its source
    let statement = step.filter(|step| step.origin != Origin::Given);
    Some(Passage {
        document: citation.file.clone(),
        first_line: citation.first_line,
        last_line: citation.last_line,
        place: citation.place.clone(),
        chunk: citation.chunk,
        statement: statement.map_or_else(String::new, |step| text::one_line(step.text.trim())),
    })
}

/// The selected citation of a run, or the first one of the selected sentence, with that sentence;
/// the first one of the whole answer when no sentence is selected.
fn selected_citation<'a>(
    scene: &Scene<'_>,
    run: &'a Run,
) -> Option<(Option<&'a Step>, &'a Citation)> {
    let of_step = |step: &'a Step, at| Some((Some(step), step.citations.get(at)?));
    match scene.ui.scroll(Pane::Answer).selected {
        Some(item) => of_step(run.steps.get(item.row)?, item.part.saturating_sub(1)),
        None => {
            let first = run.steps.iter().find_map(|step| of_step(step, 0));
            first.or_else(|| Some((None, run.citations.first()?)))
        }
    }
}

/// The selected sentence or citation; the whole answer when nothing is selected.
pub(super) fn copy_sentence(scene: &Scene<'_>) -> Option<Copied> {
    let run = scene.run?;
    let Some(selected) = scene.ui.scroll(Pane::Answer).selected else {
        let whole = if run.text.is_empty() {
            run.answer_text().text
        } else {
            run.text.trim().to_owned()
        };
        return (!whole.is_empty()).then(|| Copied::new("the answer", whole));
    };

    let step = run.steps.get(selected.row)?;
    let Some(citation) = selected.part.checked_sub(1) else {
        return Some(Copied::new(format!("sentence {}", step.step), &step.text));
    };
    let citation = step.citations.get(citation)?;
    Some(Copied::new(
        format!("citation [{}]", citation.label),
        words::citation_location(citation),
    ))
}

fn question_rows(page: &mut Page<'_>, question: &str) {
    page.text(Tone::Question, " ", question);
}

/// Writes the turns of the thread before the run, each with its short answer; of a question that
/// was asked several times in succession, the last.
fn earlier_rows(page: &mut Page<'_>, run: &Run) {
    let thread = page.scene.state.thread(run.thread());

    for pair in thread.windows(2) {
        if pair[0].id == run.id {
            return;
        }
        if pair[0].question == pair[1].question {
            continue;
        }

        page.text(Tone::Quiet, " ", &pair[0].question);
        short_answer_rows(page, pair[0]);
        page.gap();
    }
}

/// Writes the short answer of an earlier turn with the sign of its verdict, and how it ended where
/// that was not by itself.
fn short_answer_rows(page: &mut Page<'_>, run: &Run) {
    let kind = run.verdict.as_ref().map(|verdict| verdict.kind);
    let (tone, sign) = kind.map_or((Tone::Quiet, " "), |kind| {
        (verdict_tone(kind), words::verdict_sign(kind))
    });
    let sign = page.span(tone, format!("{}{sign} ", &INDENT[2..]));
    let room = page.cells.saturating_sub(INDENT.len());
    let answer = run.turn().answer;
    // one that is the whole text has its lines there
    let text = run.text.trim();
    let answer = if text::one_line(text) == answer {
        text
    } else {
        &answer
    };
    if !answer.is_empty() {
        let mut before = sign;
        for line in sentences::lines(page, answer, room) {
            let mut spans = vec![std::mem::replace(&mut before, Span::raw(INDENT))];
            spans.extend(line.patch_style(page.scene.style(Tone::Quiet)).spans);
            page.line(spans);
        }
    }
    if run.outcome != Some(Outcome::Completed) {
        let ended = format!("■ {}", words::outcome(run.outcome.as_ref()));
        page.text(Tone::Warning, INDENT, &ended);
    }
}

/// Writes an answer without sentences.
fn whole_rows(page: &mut Page<'_>, answer: &str) {
    let room = page.cells.saturating_sub(INDENT.len());
    for mut line in sentences::lines(page, answer, room) {
        line.spans.insert(0, Span::raw(INDENT));
        page.line(line);
    }
}

/// Says what a follow-up question was understood as, or why it was used as it was asked.
fn follow_up_rows(page: &mut Page<'_>, run: &Run) {
    let Some(follow_up) = &run.follow_up else {
        return;
    };
    let words = match follow_up.as_asked {
        Some(AsAsked::StandsAlone) => return,
        // the stages and the prompts show the reason
        Some(_) => "asked by itself, not as a follow-up".to_owned(),
        None => format!("understood as: {}", follow_up.text),
    };
    let edits = page.scene.keys_from_here(Action::EditWording);
    // during the run an edit would replace it
    let edits = if follow_up.text.is_empty() || page.scene.ui.is_in_progress(run) {
        String::new()
    } else {
        format!(" ({edits} edits it)")
    };
    page.text(Tone::Quiet, INDENT, &format!("{words}{edits}"));
}

/// The short answer, where it is not the whole text, and the verdict: they stay in sight.
fn foot_rows(page: &mut Page<'_>, run: &Run) {
    let answer = run.short_answer();
    if answer.is_none() && run.verdict.is_none() {
        return;
    }

    page.gap();
    let mut start = page.content.rows.len();
    if let Some(answer) = answer {
        let name = page.span(Tone::Quiet, format!("{INDENT}answer  "));
        let room = page.cells.saturating_sub(name.width());
        page.text_behind(vec![name], Tone::Strong, answer, room);
    }
    let verdict = page.content.rows.len();
    // a long answer would leave no room for the verdict
    if verdict - start > MAX_ANSWER_ROWS {
        start = verdict;
    }
    verdict_rows(page, run);
    page.content.foot = page.content.rows.len() - start;
}

/// Says whether the answer can be trusted, why, and what to press next.
fn verdict_rows(page: &mut Page<'_>, run: &Run) {
    let (Some(verdict), Some(words)) = (&run.verdict, run.verdict_line()) else {
        return;
    };
    let tone = verdict_tone(verdict.kind);
    page.text(tone, INDENT, &words);
    let Some((action, what)) = key_after(page.scene, verdict, run) else {
        return;
    };
    let next = format!("{} {what}", page.scene.keys_from_here(action));
    let cells = text::width(&next);
    match page.content.rows.last_mut() {
        Some(row) if row.line.width() + 3 + cells <= page.cells => {
            let next = page.scene.span(Tone::Quiet, next);
            row.line.spans.extend([Span::raw("   "), next]);
        }
        Some(_) | None => page.text(Tone::Quiet, INDENT, &next),
    }
}

fn verdict_tone(kind: VerdictKind) -> Tone {
    match kind {
        VerdictKind::Supported => Tone::Good,
        VerdictKind::Partly | VerdictKind::Doubtful => Tone::Warning,
        VerdictKind::Quoted | VerdictKind::NotInDocuments => Tone::Strong,
    }
}

/// Returns the action that shows most about a verdict, and what it does; `None` where a sentence
/// without a source is selected.
fn key_after(scene: &Scene<'_>, verdict: &Verdict, run: &Run) -> Option<(Action, String)> {
    if run.has_empty_filter() {
        return Some((Action::Filter, "chooses other documents".to_owned()));
    }
    let cited = selected_citation(scene, run);
    if cited.is_none() && scene.ui.scroll(Pane::Answer).selected.is_some() {
        return None;
    }
    let (action, what) = match (verdict.kind, cited) {
        (VerdictKind::NotInDocuments, Some(_)) => (Action::OpenSource, "opens the nearest passage"),
        (_, Some((_, cited))) => {
            let what = format!("opens {}", words::citation_location(cited));
            return Some((Action::OpenSource, what));
        }
        (_, None) if verdict.sources == 0 => (Action::Settings, "chooses another preset"),
        (VerdictKind::NotInDocuments, None) => (Action::Retrieval, "shows the nearest passages"),
        (_, None) => (Action::Diagnose, "shows where it went wrong"),
    };
    Some((action, what.to_owned()))
}

fn outcome_rows(page: &mut Page<'_>, run: &Run, outcome: &Outcome) {
    let has_text = !run.steps.is_empty() || !run.text.trim().is_empty();
    match outcome {
        Outcome::Completed if !has_text => note(page, Tone::Warning, "■ nothing was written"),
        Outcome::Completed => {}
        Outcome::Stopped if !has_text => {
            note(page, Tone::Warning, "■ stopped before anything was written");
        }
        Outcome::Stopped => note(page, Tone::Warning, "■ stopped; the text so far is kept"),
        Outcome::LimitReached => {
            let continues = page.scene.keys_from_here(Action::Continue);
            let words = format!(
                "■ a limit cut the answer off (answer.max_tokens, answer.max_sentences): {continues} continues it"
            );
            note(page, Tone::Warning, &words);
        }
        Outcome::Failed(problem) => {
            let error = text::many_lines(&problem.error);
            page.gap();
            page.text_with_sign(Tone::Bad, &format!("{INDENT}{LOST} "), &error);
            if let Some(advice) = &problem.advice {
                let indent = format!("{INDENT}  ");
                page.text(Tone::Text, &indent, &text::many_lines(advice));
            }
        }
    }
}

/// Says that the answer comes without documents, and why.
fn without_documents_row(page: &mut Page<'_>, run: &Run) {
    let sign = |action| page.scene.keys_from_here(action);
    let again = sign(Action::Again);
    let now = page.scene.state.corpus.as_ref();
    let corpus = run.corpus.as_ref();

    let words = if run.is_by_words_alone() {
        let read = corpus.map_or(0, |corpus| corpus.documents);
        let files = text::quantity(read, "file");
        let rest = if now.is_some_and(|now| !now.words_only) {
            format!("{files}: the vectors are ready now, {again} asks again")
        } else if now.is_some_and(|now| now.documents > read) {
            format!("{files}: more have been read since, {again} asks again")
        } else if page.scene.state.is_index_stopped() {
            format!("{files}: {} continues the index", sign(Action::Reindex))
        } else {
            format!("the {files} read so far, without vectors yet")
        };
        format!("found by words alone in {rest}")
    } else if !run.lacks_documents() {
        return;
    } else if corpus.is_some_and(CorpusCard::is_indexed) {
        let shows = sign(Action::IndexReport);
        format!("without documents: nothing in this folder can be read, {shows} says why")
    } else if now.is_some_and(|now| now.chunks > 0) {
        format!("without documents: the folder was not indexed yet; now it is, {again} asks again")
    } else {
        format!("without documents: the folder was not indexed yet, {again} asks again")
    };
    page.text(Tone::Warning, INDENT, &words);
    page.gap();
}

/// Says that the answer is of a model for practice, or of none.
fn practice_row(page: &mut Page<'_>, run: &Run) {
    if let Some(remark) = run.practice_remark() {
        let models = page.scene.keys_from_here(Action::Models);
        let another = match model_offer(page.scene) {
            Some(Offer::Download(model)) => {
                let size = words::bytes(model.need.file_bytes);
                format!("{models} offers a model for your own documents ({size})")
            }
            Some(_) | None => format!("{models} chooses another"),
        };
        note(page, Tone::Quiet, &format!("{remark}; {another}"));
    }
}

/// The documents of the answer that changed after it.
fn changed_rows(page: &mut Page<'_>, run: &Run) {
    let changed = page.scene.state.changed_since(run);
    let Some(first) = changed.first() else {
        return;
    };
    let again = page.scene.keys_from_here(Action::Again);
    let others = match changed.len() - 1 {
        0 => String::new(),
        others => format!(" and {}", text::quantity(others as u64, "other document")),
    };
    let first = text::one_line(first);
    let words = format!("{first}{others} changed after this answer: {again} asks again");
    note(page, Tone::Warning, &words);
}

fn note(page: &mut Page<'_>, tone: Tone, words: &str) {
    page.gap();
    page.text(tone, INDENT, words);
}
