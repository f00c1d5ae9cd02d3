//! SAKI-RAG links chunks whose sentences attend to each other.
//!
//! "SAKI-RAG: Mitigating Context Fragmentation in Long-Document RAG via Sentence-level Attention
//! Knowledge Integration" (anonymous submission to EMNLP), section 3.1: the attention between the
//! units of a document (equations 2 and 3), of which each unit keeps its strongest relatives
//! (equation 4). A unit is a chunk. The retrieval over these links (section 3.2) is the engine's.
//!
//! The paper's model reads a whole document at once. Here a document that exceeds the window is
//! read in windows that overlap by half, and only the rows of units that a later window can still
//! reach are held in memory. Two departures of this module from equation 3: a row excludes the unit
//! itself and is scaled to a mean of 1 over the units that it sees, and a link weighs the larger of
//! its two directions, since a causal model only looks back. With a sum of 1 instead, the second
//! unit of a document would give all of its attention to the first, and early units would be linked
//! with whatever follows them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::event::{Link, saturating_u32};

/// Splits the units of a document into windows of at most `max_tokens` tokens, but at least two
/// units where there are two. Each window begins where half the tokens of the one before end.
///
/// `tokens` holds the length of each unit.
pub fn windows(tokens: &[u32], max_tokens: u32) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    let mut end = 0;
    while end < tokens.len() {
        let fitting = count_within(&tokens[start..], u64::from(max_tokens));
        end = (start + fitting.max(2)).min(tokens.len());
        windows.push(start..end);

        // The last unit of a window is in the next one too, together with what follows it.
        let window = &tokens[start..end];
        let half = window.iter().map(|length| u64::from(*length)).sum::<u64>() / 2;
        let passed = count_within(window, half);
        start = (start + passed.max(1)).min(end - 1).max(start + 1);
    }
    windows
}

/// Counts the units at the front that have at most `max_tokens` tokens together.
fn count_within(tokens: &[u32], max_tokens: u64) -> usize {
    let mut sum = 0;
    tokens
        .iter()
        .take_while(|length| {
            sum += u64::from(**length);
            sum <= max_tokens
        })
        .count()
}

/// Running mean over windows of the attention of one unit to another.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f32,
    windows: u32,
}

impl Mean {
    fn value(&self) -> f32 {
        self.sum / self.windows.max(1) as f32
    }
}

/// Builds the links of a document from the attention in its windows, which are added in order.
#[derive(Debug)]
pub struct LinkMaker {
    links: usize,
    /// For each unit, the end of the last window that it was in.
    reach: Vec<usize>,
    /// Rows that a further window may add to.
    open: BTreeMap<usize, BTreeMap<usize, Mean>>,
    /// Complete rows: the lift of each other unit in the unit's attention.
    lifts: BTreeMap<usize, BTreeMap<usize, f32>>,
    made: Vec<Vec<Link>>,
}

impl LinkMaker {
    /// Creates a maker that keeps the `links` strongest links of each unit.
    pub fn new(links: usize) -> Self {
        Self {
            links,
            reach: Vec::new(),
            open: BTreeMap::new(),
            lifts: BTreeMap::new(),
            made: Vec::new(),
        }
    }

    /// Adds the next window: `rows[i][j]` is the attention that unit `first + i` pays to unit
    /// `first + j`.
    pub fn window(&mut self, first: usize, rows: &[Vec<f32>]) {
        self.settle(first);

        let end = first + rows.len();
        self.reach.resize(self.reach.len().max(end), 0);
        for (unit, row) in (first..).zip(rows) {
            self.reach[unit] = end;
            let open = self.open.entry(unit).or_default();
            for (other, attention) in (first..).zip(row).filter(|(other, _)| *other != unit) {
                let mean = open.entry(other).or_default();
                if attention.is_finite() {
                    mean.sum += attention;
                }
                mean.windows += 1;
            }
        }
    }

    /// Returns the number of rows in memory: it depends on the windows and not on the document.
    pub fn row_count(&self) -> usize {
        self.open.len() + self.lifts.len()
    }

    /// Returns the links of every unit (equation 4): strongest first, the first unit's among
    /// equals.
    pub fn finish(mut self) -> Vec<Vec<Link>> {
        self.settle(self.reach.len());
        self.made
    }

    /// Completes the rows of all units before `first`, which no further window holds, and links the
    /// units whose neighbours are all complete.
    fn settle(&mut self, first: usize) {
        let later = self.open.split_off(&first);
        for (unit, row) in std::mem::replace(&mut self.open, later) {
            self.lifts.insert(unit, lifts(&row));
        }

        while self.made.len() < first && self.reach[self.made.len()] <= first {
            let links = self.strongest(self.made.len());
            self.made.push(links);
        }

        // A row is needed as long as an unlinked unit was in a window with it.
        let next = self.made.len();
        self.lifts.retain(|unit, _| self.reach[*unit] > next);
    }

    fn strongest(&self, unit: usize) -> Vec<Link> {
        let Some(row) = self.lifts.get(&unit) else {
            return Vec::new();
        };

        let mut links = Vec::new();
        for (other, lift) in row {
            let weight = lift.max(self.lift(*other, unit));
            if weight > 0.0 {
                let to = saturating_u32(*other);
                links.push(Link { to, weight });
            }
        }
        links.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.to.cmp(&b.to)));
        links.truncate(self.links);
        links
    }

    /// Returns the lift of `to` in the attention of `from`; 0 if they were in no window together.
    fn lift(&self, from: usize, to: usize) -> f32 {
        let row = self.lifts.get(&from);
        row.and_then(|row| row.get(&to)).copied().unwrap_or(0.0)
    }
}

/// Scales a row to a mean of 1 over the units that get any attention, so that 1 is what chance
/// gives, whether a unit sees two others or two hundred.
fn lifts(row: &BTreeMap<usize, Mean>) -> BTreeMap<usize, f32> {
    let sum: f32 = row.values().map(Mean::value).sum();
    let visible = row.values().filter(|mean| mean.value() > 0.0).count() as f32;
    // without any attention there is no lift
    let scale = |mean: &Mean| {
        if sum > 0.0 {
            mean.value() / sum * visible
        } else {
            0.0
        }
    };
    row.iter()
        .map(|(unit, mean)| (*unit, scale(mean)))
        .collect()
}

/// Links each of `units` units with at most `links` around it, the nearest first: the control of
/// links by attention, whose units are mostly neighbours as well.
pub fn link_neighbours(units: usize, links: usize) -> Vec<Vec<Link>> {
    let linked = |unit: usize| {
        let reach = unit.saturating_sub(links)..units.min(unit + links + 1);
        let mut around: Vec<usize> = reach.filter(|other| *other != unit).collect();
        around.sort_by_key(|other| other.abs_diff(unit));
        around.truncate(links);
        let links = around.into_iter().map(|other| Link {
            to: saturating_u32(other),
            weight: 1.0 / other.abs_diff(unit) as f32,
        });
        links.collect()
    };
    (0..units).map(linked).collect()
}
