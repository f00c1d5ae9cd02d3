//! The answer pane: the question, the sentences with their citations, and how the run ended.

use std::ops::Range;

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::event::{Citation, CorpusCard, Decision, Evidence, Outcome, Verdict, VerdictKind};
use crate::story::words::{self, LOST};
use crate::story::{Origin, Run, Step};
use crate::tui::hyperlinks::fragment;
use crate::tui::keys::Action;
use crate::tui::page::Page;
use crate::tui::pane::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::view::{Copied, Passage, Request, Scene, View};
use crate::tui::viewport::{Content, Item, Scroll, patch_line};

use super::ready;

/// Cells before a sentence: selection, number, space.
const INDENT: usize = 4;
/// Maximum rows of the question that stay in sight above its answer.
const MAX_HEAD_ROWS: usize = 2;

/// The answer, sentence by sentence, with replaced sentences and citations.
pub struct Answer;

impl View for Answer {
    fn title(&self, _scene: &Scene<'_>) -> String {
        Pane::Answer.title().to_owned()
    }

    fn content(&self, scene: &Scene<'_>, _scroll: &Scroll, cells: usize) -> Content {
        content(scene, cells)
    }

    fn note(&self, scene: &Scene<'_>) -> String {
        let runs = scene.state.runs.len();
        let Some(run) = scene.run.filter(|_| runs > 1) else {
            return String::new();
        };
        let number = format!("run {} of {runs}", scene.run_number(run));
        // the same question asked again is the same turn
        let thread = scene.state.thread(run.thread());
        let mut turns = 0;
        let mut turn = 0;
        for (at, known) in thread.iter().enumerate() {
            let is_repeated = at > 0 && thread[at - 1].question == known.question;
            turns += usize::from(!is_repeated);
            if known.id == run.id {
                turn = turns;
            }
        }
        if turns == 1 || turns == runs {
            return number;
        }
        format!("turn {turn} of {turns}, {number}")
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
    let run = scene.run?;
    let citation = match scene.ui.scroll(Pane::Answer).selected {
        Some(item) => run
            .steps
            .get(item.row)?
            .citations
            .get(item.part.saturating_sub(1)),
        None => run
            .steps
            .iter()
            .flat_map(|step| &step.citations)
            .chain(&run.citations)
            .next(),
    }?;

    Some(Passage {
        document: citation.file.clone(),
        first_line: citation.first_line,
        last_line: citation.last_line,
        place: citation.place.clone(),
        chunk: citation.chunk,
    })
}

/// The selected sentence or citation; the whole answer when nothing is selected.
pub(super) fn copy_sentence(scene: &Scene<'_>) -> Option<Copied> {
    let run = scene.run?;
    let Some(selected) = scene.ui.scroll(Pane::Answer).selected else {
        let whole = if run.text.is_empty() {
            let sentences: Vec<&str> = run.steps.iter().map(|step| step.text.as_str()).collect();
            sentences.join(" ")
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

fn content(scene: &Scene<'_>, cells: usize) -> Content {
    let mut page = Page::new(scene, cells);
    if let Some(question) = &scene.ui.work.pending {
        question_rows(&mut page, question);
        page.gap();
        let waits = format!("{}{}", ready::waiting_for(scene), scene.elapsed_words());
        page.text(Tone::Quiet, "    ", &waits);
        return page.content;
    }
    let Some(run) = scene.run else {
        return ready::content(scene, cells);
    };

    earlier_rows(&mut page, run);
    let start = page.content.rows.len();
    question_rows(&mut page, &run.question);
    let asked = start..page.content.rows.len().min(start + MAX_HEAD_ROWS);
    page.content.heads.push(asked);
    page.content.start = run.outcome.as_ref().map(|_| start);
    follow_up_rows(&mut page, run);
    page.gap();
    without_documents_row(&mut page, run);
    for (row, step) in run.steps.iter().enumerate() {
        let sentence = Sentence { run, row, step };
        sentence.rows(&mut page);
    }
    match &run.outcome {
        Some(outcome) => {
            answer_rows(&mut page, run);
            outcome_rows(&mut page, outcome);
            changed_rows(&mut page, run);
            practice_row(&mut page, run);
            verdict_rows(&mut page, run);
        }
        None if !scene.ui.is_in_progress(run) => {
            note(&mut page, Tone::Quiet, "■ the recording ends here");
        }
        None if run.steps.is_empty() => {
            let words = format!("{} …{}", run.activity(), scene.elapsed_words());
            page.text(Tone::Quiet, "    ", &words);
        }
        None => {}
    }
    page.content
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

        let turn = pair[0].turn();
        page.text(Tone::Quiet, " ", &pair[0].question);
        page.text(Tone::Quiet, "    ", &turn.answer);
        page.gap();
    }
}

/// Says what a follow-up question was understood as, or why it was used as it was asked.
fn follow_up_rows(page: &mut Page<'_>, run: &Run) {
    if let Some(words) = run.follow_up.as_ref().and_then(words::follow_up) {
        let edits = page.scene.keys_from_here(Action::EditWording);
        page.text(Tone::Quiet, "    ", &format!("{words} ({edits} edits it)"));
    }
}

/// A sentence of the answer in its run.
struct Sentence<'a> {
    run: &'a Run,
    row: usize,
    step: &'a Step,
}

impl Sentence<'_> {
    fn item(&self) -> Item {
        Item {
            row: self.row,
            part: 0,
        }
    }

    fn rows(&self, page: &mut Page<'_>) {
        let selected = page.scene.ui.scroll(Pane::Answer).selected;
        let is_selected = selected.is_some_and(|selected| selected.row == self.row);
        self.thought_rows(page, is_selected);
        for version in 0..self.step.replaced.len() {
            self.replaced_rows(page, version);
        }
        self.text_rows(page);

        if is_selected {
            for (at, citation) in self.step.citations.iter().enumerate() {
                let item = Item {
                    row: self.row,
                    part: at + 1,
                };
                let (line, location) = citation_row(page, citation);
                page.item(item, line);
                let fragment = fragment(citation.first_line, citation.place.as_ref());
                page.content.target(location, &citation.file, fragment);
            }
        }
    }

    /// The thoughts in front of the sentence: one line, and all of them while it is selected.
    fn thought_rows(&self, page: &mut Page<'_>, is_selected: bool) {
        let thoughts = self.step.thoughts.trim();
        if thoughts.is_empty() {
            return;
        }

        let words = thoughts.split_whitespace().count();
        let mark = if is_selected { "▾" } else { "▸" };
        let indent = " ".repeat(INDENT);
        page.text(
            Tone::Quiet,
            &indent,
            &format!("{mark} thoughts, {words} words"),
        );
        if is_selected {
            page.text(Tone::Quiet, &indent, thoughts);
        }
    }

    /// Returns whether the model is writing this sentence.
    fn is_being_written(&self, page: &Page<'_>) -> bool {
        self.step.uncertainty.is_none()
            && self.step.origin == Origin::Generated
            && self.row + 1 == self.run.steps.len()
            && page.scene.ui.is_in_progress(self.run)
    }

    fn gutter(&self, is_first: bool) -> String {
        if is_first {
            format!("{:>3} ", self.step.step)
        } else {
            " ".repeat(INDENT)
        }
    }

    /// The sentence with its labels, and a cursor while it is being written.
    fn text_rows(&self, page: &mut Page<'_>) {
        let is_being_written = self.is_being_written(page);
        let mut sentence = self.step.text.clone();
        let text_end = sentence.len();
        if is_being_written {
            sentence.push('▌');
        } else {
            let labels = unwritten_labels(self.step);
            let labels = match labels.as_str() {
                "" if self.run.lacks_source(self.step) => "[no source]",
                labels => labels,
            };
            if !labels.is_empty() {
                sentence.push_str("  ");
                sentence.push_str(labels);
            }
        }

        let labels = label_ranges(&sentence);
        let without_source = self
            .run
            .lacks_source(self.step)
            .then_some(text_end..sentence.len());
        let room = page.cells.saturating_sub(INDENT);
        for (at, range) in text::wrap(&sentence, room).into_iter().enumerate() {
            let mut line = Line::from(sentence[range.clone()].to_owned());
            for label in &labels {
                let style = page.scene.style(Tone::Citation);
                line = patch_line(line, within(label, &range), style);
            }
            if let Some(mark) = &without_source {
                let style = page.scene.style(Tone::Warning);
                line = patch_line(line, within(mark, &range), style);
            }
            if is_being_written {
                let cursor = within(&(text_end..sentence.len()), &range);
                line = patch_line(line, cursor, page.scene.style(Tone::Focus));
            }
            let gutter = self.gutter(at == 0 && self.step.replaced.is_empty());
            line.spans.insert(0, page.span(Tone::Quiet, gutter));
            page.item(self.item(), line);
        }
    }

    /// A sentence that this one replaced, struck through, with the reason.
    fn replaced_rows(&self, page: &mut Page<'_>, version: usize) {
        let replaced = self.step.replaced[version].text.trim();
        let struck = if page.scene.marks_struck {
            format!("~~{replaced}~~")
        } else {
            replaced.to_owned()
        };
        let style = page
            .scene
            .style(Tone::Dropped)
            .add_modifier(Modifier::CROSSED_OUT);
        let room = page.cells.saturating_sub(INDENT);
        for (at, range) in text::wrap(&struck, room).into_iter().enumerate() {
            let gutter = page.span(Tone::Quiet, self.gutter(version == 0 && at == 0));
            let row = Span::styled(struck[range].to_owned(), style);
            page.item(self.item(), Line::from(vec![gutter, row]));
        }

        let indent = " ".repeat(INDENT + 2);
        let reason = self.reason_of_replacement(version);
        page.item_text(self.item(), Tone::Quiet, &indent, &reason);
    }

    /// Returns why a sentence was regenerated, and how.
    fn reason_of_replacement(&self, version: usize) -> String {
        let versions = &self.step.replaced;
        let Some(uncertainty) = &versions[version].uncertainty else {
            return "unsure".to_owned();
        };
        let value = uncertainty.value;
        if uncertainty.decision == Decision::Expand {
            let before = version
                .checked_sub(1)
                .and_then(|at| versions[at].uncertainty.as_ref());
            let state = match before.filter(|before| value > before.value) {
                Some(before) => {
                    format!("more unsure than before ({value:.2} > {:.2})", before.value)
                }
                None => format!("still unsure ({value:.2})"),
            };
            return format!("{state}: written again with more passages");
        }

        let mut lookups = self.run.lookups.iter();
        let lookup = lookups.find(|lookup| lookup.step == self.step.step);
        let query = lookup.map_or(String::new(), |lookup| {
            format!(": searched for \"{}\"", lookup.query)
        });
        format!("unsure ({value:.2}){query}")
    }
}

/// The part of a range that lies in a row, counted from the row's start.
fn within(range: &Range<usize>, row: &Range<usize>) -> Range<usize> {
    range.start.clamp(row.start, row.end) - row.start
        ..range.end.clamp(row.start, row.end) - row.start
}

/// The labels that support a sentence and that the model did not write itself.
fn unwritten_labels(step: &Step) -> String {
    let labels = step.unwritten_labels();
    let labels: Vec<String> = labels.iter().map(|label| format!("[{label}]")).collect();
    labels.join(" ")
}

/// The byte ranges of labels such as `[12]` in a sentence.
fn label_ranges(sentence: &str) -> Vec<Range<usize>> {
    sentence
        .match_indices('[')
        .filter_map(|(start, _)| {
            let end = start + sentence[start..].find(']')?;
            let number = &sentence[start + 1..end];
            let is_label = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            is_label.then_some(start..end + 1)
        })
        .collect()
}

/// Returns the row of a citation, and the cells of its location.
fn citation_row(page: &Page<'_>, citation: &Citation) -> (Line<'static>, Range<usize>) {
    let label = format!("[{}] ", citation.label);
    let evidence = match citation.evidence {
        Evidence::Marked => "cited by the model".to_owned(),
        Evidence::Overlap { share } if share > 0.995 => "has all words of the sentence".to_owned(),
        Evidence::Overlap { share } => format!("has {:.0} % of its words", share * 100.0),
    };

    let room = page.cells.saturating_sub(INDENT + 2 + label.len());
    let location = words::citation_location(citation);
    let location = text::clip_start(&location, room).into_owned();
    let rest = room.saturating_sub(text::width(&location) + 2);
    let evidence = text::clip(&evidence, rest);
    let start = INDENT + 2 + label.len();
    let cells = start..start + text::width(&location);
    let line = Line::from(vec![
        Span::raw(" ".repeat(INDENT)),
        page.span(Tone::Quiet, "└ "),
        page.span(Tone::Citation, label),
        page.span(Tone::Text, location),
        page.span(Tone::Quiet, format!("  {evidence}")),
    ]);
    (line, cells)
}

/// The short answer, where it is not the whole text.
fn answer_rows(page: &mut Page<'_>, run: &Run) {
    let whole = run.text.trim();
    if run.steps.is_empty() && !whole.is_empty() {
        page.text(Tone::Text, "    ", whole);
    }
    if run.answer.is_empty() || run.answer == text::one_line(whole) {
        return;
    }

    page.gap();
    let name = "    answer  ";
    let room = page.cells.saturating_sub(name.len());
    for (at, range) in text::wrap(&run.answer, room).into_iter().enumerate() {
        let name = if at == 0 {
            name.to_owned()
        } else {
            " ".repeat(name.len())
        };
        page.line(Line::from(vec![
            page.span(Tone::Quiet, name),
            page.span(Tone::Strong, run.answer[range].to_owned()),
        ]));
    }
}

/// Says whether the answer can be trusted, why, and what to press next; it stays in sight.
fn verdict_rows(page: &mut Page<'_>, run: &Run) {
    let (Some(verdict), Some(words)) = (&run.verdict, run.verdict_line()) else {
        return;
    };
    let tone = match verdict.kind {
        VerdictKind::Supported => Tone::Good,
        VerdictKind::Partly | VerdictKind::Doubtful => Tone::Warning,
        VerdictKind::NotInDocuments => Tone::Strong,
    };
    let (action, what) = key_after(verdict, run);
    let next = format!("{} {what}", page.scene.keys_from_here(action));
    let next = page.span(Tone::Quiet, next);

    page.gap();
    let before = page.content.rows.len();
    let indent = " ".repeat(INDENT);
    page.text(tone, &indent, &words);
    match page.content.rows.last_mut() {
        Some(row) if row.line.width() + 3 + next.width() <= page.cells => {
            row.line.spans.extend([Span::raw("   "), next]);
        }
        Some(_) | None => page.line(vec![Span::raw(indent), next]),
    }
    page.content.foot = page.content.rows.len() - before;
}

/// Returns the action that shows most about a verdict, and what it does.
fn key_after(verdict: &Verdict, run: &Run) -> (Action, &'static str) {
    let is_cited = run.steps.iter().any(|step| !step.citations.is_empty());
    match verdict.kind {
        VerdictKind::NotInDocuments if is_cited => (Action::OpenSource, "nearest passage"),
        _ if is_cited => (Action::OpenSource, "source"),
        _ if verdict.sources == 0 => (Action::Settings, "another preset"),
        VerdictKind::Supported | VerdictKind::Partly | VerdictKind::Doubtful => {
            (Action::TracePassage, "why a passage was not used")
        }
        VerdictKind::NotInDocuments => (Action::Retrieval, "nearest passages"),
    }
}

fn outcome_rows(page: &mut Page<'_>, outcome: &Outcome) {
    match outcome {
        Outcome::Completed => {}
        Outcome::Stopped => note(page, Tone::Warning, "■ stopped; the text so far is kept"),
        Outcome::LimitReached => note(
            page,
            Tone::Warning,
            "■ a limit cut the answer off: raise answer.max_tokens or answer.max_sentences",
        ),
        Outcome::Failed(problem) => {
            let error = text::many_lines(&problem.error);
            note(page, Tone::Bad, &format!("{LOST} {error}"));
            if let Some(advice) = &problem.advice {
                page.text(Tone::Text, "      ", &text::many_lines(advice));
            }
        }
    }
}

/// Says that the answer comes without documents, and why.
fn without_documents_row(page: &mut Page<'_>, run: &Run) {
    let sign = |action| page.scene.keys_from_here(action);
    let again = sign(Action::Again);
    let now = page.scene.state.corpus.as_ref();
    let is_indexed = run.corpus.as_ref().is_some_and(CorpusCard::is_indexed);

    let words = if run.is_by_words_alone() {
        let read = run.corpus.as_ref().map_or(0, |corpus| corpus.documents);
        let files = text::counted(read, "file");
        if now.is_some_and(|now| !now.words_only) {
            format!(
                "found by words alone in {files}: the vectors are ready now, {again} asks again"
            )
        } else if now.is_some_and(|now| now.documents > read) {
            format!(
                "found by words alone in {files}: more have been read since, {again} asks again"
            )
        } else {
            format!("found by words alone in the {files} read so far, without vectors yet")
        }
    } else if !run.lacks_documents() {
        return;
    } else if is_indexed {
        let shows = sign(Action::IndexReport);
        format!("without documents: nothing in this folder can be read, {shows} says why")
    } else if now.is_some_and(|now| now.chunks > 0) {
        format!("without documents: the folder was not indexed yet; now it is, {again} asks again")
    } else {
        format!("without documents: the folder was not indexed yet, {again} asks again")
    };

    page.text(Tone::Warning, "    ", &words);
    page.gap();
}

/// Says that the answer is of a model for practice, or of none.
fn practice_row(page: &mut Page<'_>, run: &Run) {
    if let Some(remark) = run.practice_remark() {
        let models = page.scene.keys_from_here(Action::Models);
        note(
            page,
            Tone::Quiet,
            &format!("{remark}; {models} chooses another"),
        );
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
        others => format!(" and {}", text::counted(others as u64, "other document")),
    };
    let first = text::one_line(first);
    let words = format!("{first}{others} changed after this answer: {again} asks again");
    note(page, Tone::Warning, &words);
}

fn note(page: &mut Page<'_>, tone: Tone, words: &str) {
    page.gap();
    page.text(tone, "    ", words);
}
