//! The columns of a table of hits, as they fit its width.

use crate::event::Hit;
use crate::story::{Lookup, Run, words};
use crate::tui::text;

/// Cells before the location of a hit: selection, label or sign of a dropped one, sign of a pinned
/// or excluded one.
pub(super) const GUTTER: usize = 6;
pub(super) const BAR: usize = 6;
/// Cells of a score, and of the ranks beside the scores.
pub(super) const SCORE: usize = 7;
const RANKS: usize = 8;
/// Minimum cells of a name that has scores beside it.
const MIN_NAME: usize = 14;
/// Cells of the sign before the name of a file whose folder is left out.
const HIDDEN_FOLDER: usize = 2;
/// Minimum cells of the text of a hit, in a zoomed pane too, and of the gap before it.
const MIN_TEXT: usize = 20;
const MIN_ZOOMED_TEXT: usize = 40;
const TEXT_GAP: usize = 2;
/// Minimum cells of the details of the selected hit beside the table, and the rule before them.
const MIN_BESIDE: usize = 36;

/// The columns that fit the width.
pub(super) struct Columns {
    pub cells: usize,
    pub scores: Scores,
    pub ranks: bool,
    /// True when a dropped hit has both its bar and the reason; a narrow table has one or the
    /// other.
    pub has_both: bool,
    pub location: usize,
    /// Cells of the text of each hit; 0 for no text.
    pub text: usize,
}

impl Columns {
    /// Chooses the columns of the hits of a run.
    pub fn new(cells: usize, is_zoomed: bool, run: &Run) -> Self {
        let has_both = cells >= 90;
        let bar = if has_both { BAR + 2 } else { 0 };
        let reason = reason_cells(run);
        let longest = location_cells(run);
        let room = |scores: Scores| {
            let taken = GUTTER + scores.cells() + bar + reason + 1;
            cells.saturating_sub(taken)
        };
        // names of files are whole before there are scores of both lists, and paths before ranks
        let names = locations(run).map(|location| text::width(text::file_name(&location)));
        let usual = usual_cells(names.map(|cells| cells + HIDDEN_FOLDER)).min(longest);
        let scores = if room(Scores::All) >= usual {
            Scores::All
        } else if room(Scores::Fused) >= usual.min(MIN_NAME) {
            Scores::Fused
        } else {
            Scores::None
        };
        let location = room(scores);
        let ranks = scores == Scores::All && location >= longest + RANKS;

        let mut columns = Self {
            cells,
            scores,
            ranks,
            has_both,
            location: location - if ranks { RANKS } else { 0 },
            text: 0,
        };
        if has_both {
            // a long text in a narrow column would push the other hits out of sight
            let least = if is_zoomed { MIN_ZOOMED_TEXT } else { MIN_TEXT };
            columns.fit(run, least);
        }
        columns
    }

    /// The column at which the texts of the hits begin.
    pub fn text_start(&self) -> usize {
        self.cells.saturating_sub(self.text + 1)
    }

    /// Gives locations the cells that most of them need, and all of them where there is room; what
    /// is left goes to the texts of the hits, or to the locations when it is too little for them.
    fn fit(&mut self, run: &Run, least: usize) {
        let longest = location_cells(run);
        // one long name takes no text from the others
        let paths = locations(run).map(|location| text::width(&location));
        let usual = usual_cells(paths).max(self.cells / 4).min(longest);
        let text_beside = |location: usize| self.location.checked_sub(location + TEXT_GAP);
        let leaves_text =
            |location| text_beside(location).is_some_and(|text| text >= MIN_ZOOMED_TEXT);
        let is_cut = 2 * longest > 3 * usual && leaves_text(usual) && !leaves_text(longest);
        let location = if is_cut { usual } else { longest };

        if let Some(text) = text_beside(location).filter(|text| *text >= least) {
            self.location = location;
            self.text = text;
        } else if let Some(left) = self.location.checked_sub(longest) {
            // the numbers stay near the names
            self.location = longest + left.min(TEXT_GAP + MIN_TEXT);
        }
    }

    /// Returns whether the details of a hit stand beside the table.
    pub fn has_room_beside(&self) -> bool {
        self.text >= MIN_BESIDE
    }
}

/// The scores beside the names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scores {
    /// One per list, and the fused one.
    All,
    Fused,
    None,
}

impl Scores {
    fn cells(self) -> usize {
        match self {
            Self::All => 3 * SCORE,
            Self::Fused => SCORE,
            Self::None => 0,
        }
    }
}

/// Returns the hits of all lookups of a run, each with its lookup.
fn hits(run: &Run) -> impl Iterator<Item = (&Lookup, &Hit)> {
    let lookups = run.lookups.iter();
    lookups.flat_map(|lookup| lookup.hits().iter().map(move |hit| (lookup, hit)))
}

/// Returns the location of each hit of a run.
fn locations(run: &Run) -> impl Iterator<Item = String> {
    hits(run).map(|(_, hit)| words::hit_location(hit))
}

/// Returns the cells of the longest location of a run.
fn location_cells(run: &Run) -> usize {
    let widths = locations(run).map(|location| text::width(&location));
    widths.max().unwrap_or(0)
}

/// Returns the cells that three of four texts need.
fn usual_cells(widths: impl Iterator<Item = usize>) -> usize {
    let mut widths: Vec<usize> = widths.collect();
    widths.sort_unstable();
    widths.get(widths.len() * 3 / 4).copied().unwrap_or(0)
}

/// Returns the cells of the longest reason of a run, with the gap in front of it.
fn reason_cells(run: &Run) -> usize {
    let reasons = hits(run).filter_map(|(lookup, hit)| {
        let reason = drop_reason(run, lookup, hit.chunk.id)?;
        Some(2 + text::width(&reason))
    });
    reasons.max().unwrap_or(0).max(BAR + 2)
}

/// Returns why a chunk is not in the context of a lookup, in a few words; `None` where it is.
pub(super) fn drop_reason(run: &Run, lookup: &Lookup, chunk: u64) -> Option<String> {
    let reason = lookup.drop_reason(chunk)?;
    let seconds = run.settings.answer.first_word_seconds;
    Some(words::drop_reason(reason, chunk, lookup, seconds))
}
