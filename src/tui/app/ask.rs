//! Asking: the input line, its history, runs before and after, running again.

use std::path::Path;

use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use crate::event::Command;
use crate::tui::panes::Pane;
use crate::tui::text;
use crate::tui::theme::Tone;
use crate::tui::viewport::Item;

use super::{App, Effect, Focus};

/// Questions kept for the input line.
const HISTORY: usize = 500;
/// What stands before the input.
const PROMPT: &str = " ask> ";

/// What stands before the input.
pub(in crate::tui) fn prompt() -> &'static str {
    PROMPT
}

/// The questions asked before, oldest first. No file, no history.
pub(super) fn read_history(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // one question a line, as a JSON string, since a question may have several lines
    let mut questions: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    questions.drain(..questions.len().saturating_sub(HISTORY));
    questions
}

impl App {
    pub(in crate::tui) fn ask(&mut self) {
        let question = self.ui.input.lines().join("\n").trim().to_owned();
        if question.is_empty() {
            self.tell("type a question first", true);
            return;
        }
        if !self.has_engine() {
            return;
        }
        self.ui.input = TextArea::default();
        self.ui.recalled = None;
        if self.ui.history.last() != Some(&question) {
            self.ui.history.push(question.clone());
            self.effects.push(Effect::Remember(question.clone()));
        }
        self.put(question);
    }

    pub(in crate::tui) fn again(&mut self) {
        if !self.has_engine() {
            return;
        }
        let question = self.scene().run.map(|run| run.question.clone());
        match question {
            Some(question) => self.put(question),
            None => self.tell("nothing has been asked yet", true),
        }
    }

    /// The same question with the settings as they are now; the sentences before the selected one stay.
    pub(in crate::tui) fn again_from(&mut self) {
        if !self.has_engine() {
            return;
        }
        let selected = [self.ui.pane, Pane::Answer, Pane::Uncertainty]
            .into_iter()
            .filter(|pane| matches!(pane, Pane::Answer | Pane::Uncertainty))
            .find_map(|pane| self.ui.scroll(pane).selected);
        let kept = self.scene().run.zip(selected).map(|(run, selected)| {
            let sentences = run
                .steps
                .iter()
                .take(selected.row)
                .map(|step| step.text.clone());
            (run.question.clone(), sentences.collect::<Vec<String>>())
        });
        match kept {
            Some((question, confirmed)) => self.put_with(question, confirmed, Vec::new()),
            None => self.tell(
                "select the sentence to begin with in Answer or Uncertainty",
                true,
            ),
        }
    }

    /// Hands a question over, with the settings changed on the screen; one that is being answered gives way.
    fn put(&mut self, question: String) {
        self.put_with(question, Vec::new(), Vec::new());
    }

    /// The same with further settings for this run alone, and the sentences that the answer begins with.
    pub(super) fn put_with(
        &mut self,
        question: String,
        confirmed: Vec<String>,
        settings: Vec<(String, String)>,
    ) {
        if self.running() {
            self.effects.push(Effect::Stop);
        }
        self.frozen = None;
        self.ui.overlay = None;
        self.ui.turn = None;
        self.ui.forget_places();
        self.ui.pending = Some(text::many_lines(&question));
        let overrides = [self.ui.overrides.clone(), settings].concat();
        self.send(Command::Ask {
            question,
            confirmed,
            overrides,
        });
    }

    pub(in crate::tui) fn focus_input(&mut self) {
        if self.offers()
            && let Some(selected) = self
                .ui
                .scroll(Pane::Answer)
                .selected
                .filter(|_| self.ui.pane == Pane::Answer)
        {
            self.take_suggestion(selected.row);
        }
        if self.has_engine() {
            self.ui.focus = Focus::Input;
            self.ui.zoomed = false;
        }
    }

    /// Are questions offered in the answer's place?
    fn offers(&self) -> bool {
        self.scene().run.is_none() && self.ui.pending.is_none() && !self.ui.suggestions.is_empty()
    }

    /// Puts a suggested question into the input, and its preset into the next run.
    pub(super) fn take_suggestion(&mut self, number: usize) {
        let Some(suggestion) = self.ui.suggestions.get(number).cloned() else {
            return;
        };
        self.ui.input = typed(&suggestion.question);
        if self.ui.next_setting("preset").as_ref() != Some(&suggestion.preset) {
            self.override_setting("preset", &suggestion.preset);
        }
        self.scroll_mut(Pane::Answer).selected = Some(Item {
            row: number,
            part: 0,
        });
        self.tell(suggestion.shows, false);
    }

    /// The suggestion after the one in the input; None when something else is being typed.
    fn next_suggestion(&self) -> Option<usize> {
        let typed = self.ui.input.lines().join("\n");
        let selected = self.ui.scroll(Pane::Answer).selected.map(|item| item.row);
        let shown = selected
            .and_then(|row| self.ui.suggestions.get(row))
            .filter(|shown| shown.question == typed);
        let next = if shown.is_some() {
            selected.map(|row| row + 1)
        } else {
            typed.is_empty().then_some(0)
        };
        next.filter(|_| self.offers())
            .map(|next| next % self.ui.suggestions.len())
    }

    pub(in crate::tui) fn newline(&mut self) {
        self.ui.input.insert_newline();
    }

    /// Up in the text, and from its first row on to earlier questions.
    pub(in crate::tui) fn history_back(&mut self) {
        if self.ui.recalled.is_none() && self.ui.input.cursor().0 > 0 {
            self.ui.input.move_cursor(CursorMove::Up);
            return;
        }
        let (at, draft) = match self.ui.recalled.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None if self.ui.history.is_empty() => return,
            None => (self.ui.history.len() - 1, self.ui.input.lines().join("\n")),
        };
        self.ui.input = typed(&self.ui.history[at]);
        self.ui.recalled = Some((at, draft));
    }

    /// Down in the text, and through the history back to what was being typed.
    pub(in crate::tui) fn history_on(&mut self) {
        if let Some(next) = self
            .next_suggestion()
            .filter(|_| self.ui.recalled.is_none())
        {
            self.take_suggestion(next);
            return;
        }
        let Some((at, draft)) = self.ui.recalled.take() else {
            self.ui.input.move_cursor(CursorMove::Down);
            return;
        };
        match self.ui.history.get(at + 1) {
            Some(question) => {
                self.ui.input = typed(question);
                self.ui.recalled = Some((at + 1, draft));
            }
            None => self.ui.input = typed(&draft),
        }
    }

    pub(in crate::tui) fn previous_run(&mut self) {
        self.go_to_run(-1);
    }

    pub(in crate::tui) fn next_run(&mut self) {
        self.go_to_run(1);
    }

    fn go_to_run(&mut self, by: isize) {
        let shown = self.shown();
        let runs = shown.runs.len();
        let Some(at) = self.ui.turn.or(shown.latest) else {
            self.tell("nothing has been asked yet", true);
            return;
        };
        let to = at.saturating_add_signed(by).min(runs.saturating_sub(1));
        if to == at {
            self.tell(
                if by < 0 {
                    "this is the first run"
                } else {
                    "this is the last run"
                },
                false,
            );
            return;
        }
        self.ui.turn = Some(to);
        self.ui.forget_places();
    }

    pub(in crate::tui) fn reindex(&mut self) {
        self.cut_folder(false, "bringing the index up to date");
    }

    pub(in crate::tui) fn rebuild(&mut self) {
        self.cut_folder(true, "building the index anew");
    }

    fn cut_folder(&mut self, rebuild: bool, says: &str) {
        if self.has_engine() {
            self.ui.cut = self.ui.next_cut();
            self.send(Command::Reindex {
                rebuild,
                overrides: self.ui.overrides.clone(),
            });
            self.tell(says, false);
        }
    }

    /// Rows that the question takes on the screen.
    pub(super) fn input_rows(&self) -> u16 {
        let cells = usize::from(self.size.width).saturating_sub(text::width(PROMPT) + 1);
        let rows: usize = self
            .ui
            .input
            .lines()
            .iter()
            .map(|line| text::wrap(line, cells).len())
            .sum();
        u16::try_from(rows).unwrap_or(u16::MAX)
    }

    /// Gives the input the look of the theme, with a cursor only where the keys go.
    pub(super) fn dress_input(&mut self) {
        let active =
            self.ui.focus == Focus::Input && self.ui.overlay.is_none() && self.ui.field.is_none();
        let (plain, quiet) = (self.theme.style(Tone::Text), self.theme.style(Tone::Quiet));
        let cursor = if active { plain.reversed() } else { plain };
        self.ui.input.set_style(plain);
        self.ui
            .input
            .set_cursor_line_style(ratatui::style::Style::default());
        self.ui.input.set_cursor_style(cursor);
        self.ui.input.set_wrap_mode(WrapMode::WordOrGlyph);
        self.ui
            .input
            .set_placeholder_text(if active { "" } else { "i to type a question" });
        self.ui.input.set_placeholder_style(quiet);
        if let Some(field) = &mut self.ui.field {
            field.text.set_style(plain);
            field
                .text
                .set_cursor_line_style(ratatui::style::Style::default());
            field.text.set_cursor_style(plain.reversed());
        }
    }
}

/// An input that holds a text, the cursor at its end.
pub(super) fn typed(content: &str) -> TextArea<'static> {
    let mut area = TextArea::new(content.lines().map(str::to_owned).collect());
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}
