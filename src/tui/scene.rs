//! The input of drawing: the state with the run on the screen, and the looks and keys of the user.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::event::{Hit, ModelRole};
use crate::story::{Run, words};

use super::keys::{Action, Keymap};
use super::options::Options;
use super::pane::Pane;
use super::state::{Model, State};
use super::text;
use super::theme::{Theme, Tone};
use super::ui::{Focus, Ui};
use super::viewport::{patch_line, plain};

/// The input of drawing.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub state: &'a State,
    /// The run on the screen.
    pub run: Option<&'a Run>,
    pub ui: &'a Ui,
    pub theme: &'a Theme,
    pub keymap: &'a Keymap,
    pub options: &'a Options,
    /// The text of the line that filters the overlay; empty where there is none.
    pub typed: &'a str,
    /// True when `state` is that of an earlier moment.
    pub frozen: bool,
    /// True where text that is struck through also needs marks: in ASCII and in saved text.
    pub marks_struck: bool,
    /// True when a recorded run is played that the list of threads started.
    pub is_played_from_list: bool,
}

impl<'a> Scene<'a> {
    /// The run on the screen; `None` while a question waits to become one.
    pub fn settled_run(&self) -> Option<&'a Run> {
        self.run.filter(|_| self.ui.work.pending.is_none())
    }

    /// Returns the number of a run on the screen: its place in the order in which keys go through
    /// the runs.
    pub fn run_number(&self, run: &Run) -> usize {
        let mut order = self.state.order().into_iter();
        let place = order.position(|at| self.state.runs[at].id == run.id);
        place.map_or(0, |place| place + 1)
    }

    /// Returns whether questions are offered in place of an answer.
    pub fn offers_questions(&self) -> bool {
        self.run.is_none()
            && self.ui.work.pending.is_none()
            && !self.ui.question.suggestions.is_empty()
    }

    /// Returns whether the run on the screen searched other folders than those that are open.
    pub fn is_over_other_folders(&self) -> bool {
        let searched = self.run.and_then(|run| run.corpus.as_ref());
        let open = self.state.corpus.as_ref();
        searched
            .zip(open)
            .is_some_and(|(searched, open)| searched.arguments() != open.arguments())
    }

    /// Returns what the engine does before the run of a question begins.
    pub fn waiting_for(&self) -> String {
        let models = &self.state.models;
        let loading = models.values().find_map(|model| match model {
            Model::Loading { file, fraction } => Some((file, fraction)),
            Model::Ready { .. } => None,
        });
        if let Some((file, fraction)) = loading {
            let file = text::one_line(file);
            return format!("loading {file}, {:.0} %", fraction * 100.0);
        }
        let Some(generator) = self.state.generator() else {
            return "loading the models".to_owned();
        };

        let corpus = self.state.corpus.as_ref();
        let completes_demo = corpus.is_some_and(|known| known.demo && known.words_only);
        if let Some(progress) = self.state.indexing.as_ref().filter(|_| completes_demo) {
            let left = progress.left_ms.map(text::time_left);
            let left = left.map_or_else(String::new, |left| format!(", {left}"));
            return format!("waiting for the vectors of the demo{left}");
        }
        let is_own = |run: &Run| {
            let of_run = run.model(ModelRole::Generator);
            of_run.is_some_and(|card| card.file == generator.file)
        };
        // a model for practice has no instructions
        if words::is_for_practice(generator, corpus) || self.state.runs.iter().any(is_own) {
            "starting".to_owned()
        } else {
            "the model reads its instructions, once".to_owned()
        }
    }

    /// Returns how long the present work takes, as ` · 12 s`; empty in its first second.
    pub fn elapsed_words(&self) -> String {
        let since = self.ui.work.since;
        let elapsed = since.map(|since| self.ui.clock.saturating_sub(since));
        let seconds = elapsed.map_or(0, |elapsed| elapsed.as_secs());
        if seconds == 0 {
            String::new()
        } else if seconds < 60 {
            format!(" · {seconds} s")
        } else {
            format!(" · {}", text::duration(seconds * 1000))
        }
    }

    /// The look of a role.
    pub fn style(&self, tone: Tone) -> Style {
        self.theme.style(tone)
    }

    /// Text in the look of a role.
    pub fn span(&self, tone: Tone, content: impl Into<String>) -> Span<'static> {
        Span::styled(content.into(), self.theme.style(tone))
    }

    /// Text in the look of a role, with the words in it that begin with one of `words` highlighted.
    pub fn highlight_words(&self, text: &str, tone: Tone, words: &[String]) -> Line<'static> {
        self.highlight(Line::from(self.span(tone, text)), words)
    }

    /// A line with the words in it that begin with one of `words` highlighted.
    pub fn highlight(&self, line: Line<'static>, words: &[String]) -> Line<'static> {
        let text = plain(&line);
        let is_word_start = |range: &Range<usize>| {
            let is_dense = text[range.clone()].starts_with(text::is_dense);
            is_dense || !text[..range.start].ends_with(char::is_alphanumeric)
        };
        let style = self.theme.style(Tone::Highlight);
        let matches = words.iter().flat_map(|word| text::matches(&text, word));
        let starts = matches.filter(is_word_start);
        starts.fold(line, |line, range| patch_line(line, range, style))
    }

    /// A bar of `cells` cells, filled to `share` in 0..=1.
    pub fn bar(&self, share: f32, cells: usize) -> [Span<'static>; 2] {
        let (filled, rest) = text::bar(share, cells);
        [self.span(Tone::Bar, filled), self.span(Tone::Track, rest)]
    }

    /// The hit that is selected in Retrieval.
    pub fn selected_hit(&self) -> Option<&'a Hit> {
        let item = self.ui.scroll(Pane::Retrieval).selected?;
        let lookup = self.run?.lookups.get(item.row)?;
        lookup.hits().get(item.part.checked_sub(1)?)
    }

    /// The keys that run an action of the panes from here: in the question line a key that leaves
    /// it, and stops nothing, comes first.
    pub fn keys_from_here(&self, action: Action) -> String {
        self.from_here(&self.keymap.sign(action))
    }

    /// A key of the panes by its sign, as [`Self::keys_from_here`] has those of an action.
    pub fn from_here(&self, sign: &str) -> String {
        let leave = match self.ui.panes.focus {
            Focus::Panes => return sign.to_owned(),
            Focus::Input if self.ui.work.is_running() || self.ui.tour.is_some() => Action::NextPane,
            Focus::Input => Action::Back,
        };
        format!("{} then {sign}", self.keymap.sign(leave))
    }

    /// The keys that run an action of the panes from an overlay, which has keys of its own.
    pub fn keys_behind(&self, action: Action) -> String {
        let [close, sign] = [Action::Back, action].map(|action| self.keymap.sign(action));
        format!("{close} then {sign}")
    }

    /// A key with what it does, as `key what it does`.
    pub fn hint(&self, action: Action, what: &str) -> [Span<'static>; 2] {
        [
            self.span(Tone::Key, self.keymap.sign(action)),
            self.span(Tone::Quiet, format!(" {what}")),
        ]
    }
}
